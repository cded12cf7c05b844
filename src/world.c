/* Which process of how many this is, as the launcher's variables tell: the first
 * launcher that gave both numbers. Its other variables may be missing. */
#include <string.h>
#include "base/options.h"
#include "base/text.h"
#include "internal.h"

/* Variables as context.c lists them; 0: there is none. */
struct launcher {
    int32_t index, count, local_index, local_count;
    /* Slurm gives a batch script, which is one process, the numbers of its steps
     * to be: where the first is set, the second is too in a step alone. */
    int32_t job, step;
};

static const struct launcher launchers[] = {
    { HDPI_TORCH_RANK, HDPI_TORCH_SIZE, HDPI_TORCH_LOCAL_RANK,
      HDPI_TORCH_LOCAL_SIZE, 0, 0 },
    { HDPI_OMPI_RANK, HDPI_OMPI_SIZE, HDPI_OMPI_LOCAL_RANK,
      HDPI_OMPI_LOCAL_SIZE, 0, 0 },
    { HDPI_SLURM_RANK, HDPI_SLURM_SIZE, HDPI_SLURM_LOCAL_RANK, 0,
      HDPI_SLURM_JOB, HDPI_SLURM_STEP },
    { HDPI_PMI_RANK, HDPI_PMI_SIZE, HDPI_PMI_LOCAL_RANK, HDPI_PMI_LOCAL_SIZE, 0,
      0 },
};

/* An empty variable is none. */
static const char *value_of(int32_t which)
{
    const char *value = which ? hdpi_variable(which) : NULL;

    return value && *value ? value : NULL;
}

static int has_launched(const struct launcher *launcher)
{
    return value_of(launcher->index) && value_of(launcher->count) &&
           (!value_of(launcher->job) || value_of(launcher->step));
}

static hdp_status read_number(int32_t *out, int32_t which)
{
    const char *value = value_of(which);
    struct hdpi_text text = { value, value ? strlen(value) : 0, 0 };
    int64_t number = 0;

    *out = 0;
    if (!value)
        return HDP_OK;
    if (!hdpi_text_int(&text, &number) || text.at != text.length ||
        number > INT32_MAX)
        return hdpi_fail(HDP_ERR_ARGUMENT, "%s is '%.64s', not a number",
                         hdpi_variables[which], value);
    *out = (int32_t)number;
    return HDP_OK;
}

/* `index` counts from 0 to `count` - 1; a count of 0 is not known. */
static hdp_status check_pair(int32_t index, int32_t index_variable,
                             int32_t count, int32_t count_variable)
{
    if (!value_of(count_variable) || index < count)
        return HDP_OK;
    return hdpi_fail(HDP_ERR_ARGUMENT, "%s is %d, but %s is %d",
                     hdpi_variables[index_variable], (int)index,
                     hdpi_variables[count_variable], (int)count);
}

static hdp_status read_launcher(hdp_world *own, const struct launcher *from)
{
    HDPI_RETURN_IF(read_number(&own->process_index, from->index));
    HDPI_RETURN_IF(read_number(&own->process_count, from->count));
    HDPI_RETURN_IF(read_number(&own->local_index, from->local_index));
    HDPI_RETURN_IF(read_number(&own->local_count, from->local_count));
    HDPI_RETURN_IF(check_pair(own->process_index, from->index,
                              own->process_count, from->count));
    HDPI_RETURN_IF(check_pair(own->local_index, from->local_index,
                              own->local_count, from->local_count));
    HDPI_RETURN_IF(check_pair(own->local_index, from->local_index,
                              own->process_count, from->count));
    if (own->local_count <= own->process_count)
        return HDP_OK;
    return hdpi_fail(HDP_ERR_ARGUMENT, "%s is %d, but %s is %d",
                     hdpi_variables[from->local_count], (int)own->local_count,
                     hdpi_variables[from->count], (int)own->process_count);
}

hdp_status hdp_world_detect(hdp_world *out)
{
    const size_t count = sizeof launchers / sizeof *launchers;
    hdp_world own;
    size_t i = 0;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    HDPI_RETURN_IF(hdpi_options_read(&own, sizeof own, out, "hdp_world"));
    own.process_count = own.local_count = 1;
    own.process_index = own.local_index = 0;
    while (i < count && !has_launched(&launchers[i]))
        ++i;
    if (i < count)
        HDPI_RETURN_IF(read_launcher(&own, &launchers[i]));
    return hdpi_options_write(out, &own, sizeof own, "hdp_world");
}
