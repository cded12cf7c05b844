/* The run verb: checks a work description whole, before anything happens, and
 * captures it in a step. */
#include <string.h>
#include "base/mem.h"
#include "base/options.h"
#include "internal.h"

enum { ARRAYS_MAX = 1024, BUCKETS_MAX = 65536 };

/* ---- the plan -------------------------------------------------------------- */

hdp_status hdpi_plan_capture(struct hdpi_step *step, hdp_group *group,
                             const hdp_plan *plan)
{
    hdp_plan *mine = (hdp_plan *)(uintptr_t)plan; /* for its count alone */
    int32_t rank;

    if (!plan)
        return HDP_OK;
    HDPI_RETURN_IF(hdpi_object_check(plan, HDPI_PLAN, "plan"));
    if (plan->info.rank_count != group->member_count)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "the plan is for %d ranks, the group has %d",
                         (int)plan->info.rank_count, (int)group->member_count);
    if (plan->info.fingerprint && plan->info.fingerprint != group->fingerprint)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "the plan was made for other devices than the "
                         "group's");
    for (rank = 0; rank < plan->info.rank_count; ++rank)
        if (plan->state[rank] == HDP_BENCHED)
            return hdpi_fail_member(HDP_ERR_UNSUPPORTED, -1, rank,
                                    "rank %d is benched; reducing without it "
                                    "comes in a later version",
                                    (int)rank);
    hdpi_object_retain(&mine->object);
    step->plan = mine;
    step->items = plan->items;
    step->offsets = plan->offsets;
    step->total = plan->info.total;
    return HDP_OK;
}

/* ---- arrays ---------------------------------------------------------------- */

static hdp_status check_rows(const struct hdpi_step *step,
                             const hdp_group *group, const hdp_array *array,
                             const char *list, int32_t index)
{
    int64_t bytes;
    int32_t m;

    if (array->row_bytes <= 0)
        return hdpi_fail(HDP_ERR_ARGUMENT, "%s[%d]: row_bytes is %lld", list,
                         (int)index, (long long)array->row_bytes);
    if (array->row_stride_bytes && array->row_stride_bytes < array->row_bytes)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "%s[%d]: row_stride_bytes %lld is less than row_bytes "
                         "%lld",
                         list, (int)index, (long long)array->row_stride_bytes,
                         (long long)array->row_bytes);
    if (hdpi_mul(&bytes, step->total,
                 array->row_stride_bytes ? array->row_stride_bytes
                                         : array->row_bytes,
                 "rows"))
        return hdpi_fail(
            HDP_ERR_ARGUMENT, "%s[%d]: %lld rows of %lld bytes pass 2^63", list,
            (int)index, (long long)step->total, (long long)array->row_bytes);
    if (array->data && array->member_data)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "%s[%d]: data and member_data are both given", list,
                         (int)index);
    for (m = 0; m < group->member_count; ++m)
        if (step->items[m] > 0 && !array->data &&
            (!array->member_data || !array->member_data[m]))
            return hdpi_fail(HDP_ERR_ARGUMENT,
                             "%s[%d]: no memory for member %d's rows", list,
                             (int)index, (int)m);
    return HDP_OK;
}

static hdp_status check_array(const struct hdpi_step *step,
                              const hdp_group *group, const hdp_array *array,
                              const char *list, int32_t index)
{
    int32_t m;

    if (array->memory < HDP_MEMORY_DETECT || array->memory > HDP_MEMORY_MEMBER)
        return hdpi_fail(HDP_ERR_ARGUMENT, "%s[%d]: memory is %d", list,
                         (int)index, (int)array->memory);
    if (array->memory == HDP_MEMORY_MEMBER &&
        (array->member < 0 || array->member >= group->member_count))
        return hdpi_fail(HDP_ERR_ARGUMENT, "%s[%d]: member %d of %d", list,
                         (int)index, (int)array->member,
                         (int)group->member_count);
    for (m = 0; array->stream && m < group->member_count; ++m)
        if (!group->members[m].device->asynchronous)
            return hdpi_fail(HDP_ERR_ARGUMENT,
                             "%s[%d]: a stream is given, but member %d (%s) "
                             "has none",
                             list, (int)index, (int)m,
                             group->members[m].device->row.info.spec);
    return check_rows(step, group, array, list, index);
}

static hdp_status capture_arrays(struct hdpi_array **out,
                                 struct hdpi_step *step, const hdp_group *group,
                                 const hdp_array *arrays, int32_t count,
                                 const char *list)
{
    size_t table = (size_t)group->member_count;
    struct hdpi_array *own =
        hdpi_arena_take(&step->arena, (size_t)count, sizeof *own);
    hdp_array given;
    int32_t i;

    for (i = 0; i < count; ++i) {
        HDPI_RETURN_IF(
            hdpi_options_read_at(&given, sizeof given, arrays, i, list));
        HDPI_RETURN_IF(check_array(step, group, &given, list, i));
        own[i].data = given.data;
        own[i].memory = given.memory;
        own[i].member = given.member;
        own[i].stream = given.stream;
        own[i].row_bytes = given.row_bytes;
        own[i].stride_bytes =
            given.row_stride_bytes ? given.row_stride_bytes : given.row_bytes;
        if (!given.member_data)
            continue;
        own[i].member_data =
            hdpi_arena_take(&step->arena, table, sizeof(void *));
        memcpy(own[i].member_data, given.member_data, table * sizeof(void *));
    }
    *out = own;
    return HDP_OK;
}

/* ---- work ------------------------------------------------------------------ */

static hdp_status check_count(int32_t count, const void *list, int32_t most,
                              const char *name)
{
    if (count < 0 || count > most)
        return hdpi_fail(HDP_ERR_ARGUMENT, "%s_count is %d", name, (int)count);
    if (count > 0 && !list)
        return hdpi_fail(HDP_ERR_ARGUMENT, "%s_count is %d, but there are none",
                         name, (int)count);
    return HDP_OK;
}

hdp_status hdpi_work_check_functions(const hdp_work *work,
                                     const hdp_group *group)
{
    int32_t m;

    for (m = 0; m < group->member_count; ++m) {
        const hdp_device *info = &group->members[m].device->row.info;
        int gpu = info->kind == HDP_CUDA;
        if (!(gpu ? work->cuda : work->host))
            return hdpi_fail_member(HDP_ERR_ARGUMENT, m, m,
                                    "work.%s is NULL, and member %d is %s",
                                    gpu ? "cuda" : "host", (int)m, info->spec);
    }
    return HDP_OK;
}

static hdp_status check_work(const hdp_group *group, const hdp_work *work)
{
    const int32_t known =
        HDP_WORK_EMPTY_TOO | HDP_WORK_STAGED | HDP_WORK_REGISTER;

    HDPI_RETURN_IF(
        check_count(work->input_count, work->inputs, ARRAYS_MAX, "input"));
    HDPI_RETURN_IF(
        check_count(work->output_count, work->outputs, ARRAYS_MAX, "output"));
    HDPI_RETURN_IF(
        check_count(work->bucket_count, work->buckets, BUCKETS_MAX, "bucket"));
    if (work->flags & ~known)
        return hdpi_fail(HDP_ERR_ARGUMENT, "flags has unknown bits: 0x%x",
                         (unsigned)(work->flags & ~known));
    if (work->max_piece_items < 0)
        return hdpi_fail(HDP_ERR_ARGUMENT, "max_piece_items is %lld",
                         (long long)work->max_piece_items);
    return hdpi_work_check_functions(work, group);
}

static hdp_status reserve(struct hdpi_step *step, const hdp_group *group,
                          const hdp_work *work)
{
    size_t arrays = (size_t)(work->input_count + work->output_count);
    size_t bytes = 2 * hdpi_arena_cost(arrays, sizeof(struct hdpi_array));

    bytes +=
        arrays * hdpi_arena_cost((size_t)group->member_count, sizeof(void *));
    HDPI_RETURN_IF(hdpi_buckets_cost(&bytes, group, work->buckets,
                                     work->bucket_count, HDPI_COMM_REDUCE));
    return hdpi_arena_reserve(&step->arena, bytes);
}

static hdp_status capture(struct hdpi_step *step, hdp_group *group,
                          const hdp_plan *plan, const hdp_work *work)
{
    if (!plan)
        return hdpi_fail(HDP_ERR_ARGUMENT, "plan is NULL");
    HDPI_RETURN_IF(hdpi_plan_capture(step, group, plan));
    step->kind = HDPI_STEP_RUN;
    step->host = work->host;
    step->cuda = work->cuda;
    step->user = work->user;
    step->flags = work->flags;
    step->max_piece_items = work->max_piece_items;
    step->nothing = step->total == 0;
    HDPI_RETURN_IF(reserve(step, group, work));
    HDPI_RETURN_IF(capture_arrays(&step->inputs, step, group, work->inputs,
                                  work->input_count, "inputs"));
    step->input_count = work->input_count;
    HDPI_RETURN_IF(capture_arrays(&step->outputs, step, group, work->outputs,
                                  work->output_count, "outputs"));
    step->output_count = work->output_count;
    if (work->bucket_count > 0) {
        HDPI_RETURN_IF(hdpi_buckets_capture(step, group, work->buckets,
                                            work->bucket_count,
                                            HDPI_COMM_REDUCE, 0));
        HDPI_RETURN_IF(hdpi_group_connect(group));
    }
    return hdpi_streams_join(group, step);
}

hdp_status hdp_run_async(uint64_t *out_step, hdp_group *group,
                         const hdp_plan *plan, const hdp_work *work)
{
    struct hdpi_step *step = NULL;
    hdp_work own;
    hdp_status status;

    if (!out_step)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out_step is NULL");
    *out_step = 0;
    HDPI_RETURN_IF(hdpi_group_check(group));
    if (!work)
        return hdpi_fail(HDP_ERR_ARGUMENT, "work is NULL");
    HDPI_RETURN_IF(hdpi_options_read(&own, sizeof own, work, "hdp_work"));
    HDPI_RETURN_IF(check_work(group, &own));
    HDPI_RETURN_IF(hdpi_step_open(&step, group, own.timeout_ns));
    status = capture(step, group, plan, &own);
    if (status != HDP_OK) {
        hdpi_step_cancel(group, step);
        return status;
    }
    *out_step = hdpi_step_accept(group, step);
    return HDP_OK;
}

hdp_status hdp_run(hdp_report **out, hdp_group *group, const hdp_plan *plan,
                   const hdp_work *work)
{
    uint64_t number;

    if (out)
        *out = NULL;
    HDPI_RETURN_IF(hdp_run_async(&number, group, plan, work));
    return hdpi_step_wait(out, group, number);
}
