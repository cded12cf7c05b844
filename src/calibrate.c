/* The verb that measures: checks and captures what is asked, lets all members
 * sample at once (sample.c), and turns what they found into a profile. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/options.h"
#include "base/text.h"
#include "core/robust.h"
#include "json/names.h"
#include "sample.h"

enum {
    BUDGET_NS = 300000000, /* DESIGN 7 */
    WARM_NS = 100000000,   /* discarded, at most a third of the budget */
    ITEMS_MAX = 1 << 20,
    PROBE_BYTES_MAX = 1 << 28 /* of rows made for a caller's function */
};

static const double DRIFTING = 0.02; /* last medians against the first */

/* ---- the profile --------------------------------------------------------- */

/* Members of the host draw on one memory unless each was given its own; so do
 * the parts of one GPU. */
static int32_t memory_domain(const hdp_group *group, int32_t m)
{
    const struct hdpi_device_row *row = &group->members[m].device->row;

    for (int32_t i = 0; i < m; ++i) {
        const struct hdpi_device_row *other = &group->members[i].device->row;
        if (row->info.partition_sms && other->info.partition_sms &&
            strcmp(row->info.uuid, other->info.uuid) == 0)
            return group->members[i].rank + 1;
        if (row->info.kind == HDP_HOST && other->info.kind == HDP_HOST &&
            row->ask.memory_bytes == 0 && other->ask.memory_bytes == 0)
            return group->members[i].rank + 1; /* 0: its own */
    }
    return group->members[m].rank + 1;
}

static void describe(struct hdpi_rank_profile *out,
                     const struct hdpi_sampler *from)
{
    const hdp_group *group = from->whole->group;
    const struct hdpi_device_row *row = &from->member->device->row;

    out->in_bytes_per_second = row->in_bytes_per_second;
    out->out_bytes_per_second = row->out_bytes_per_second;
    out->reduce_bytes_per_second = row->reduce_bytes_per_second;
    out->memory_bytes = row->model && row->info.free_bytes > 0
                            ? row->info.free_bytes
                            : row->info.memory_bytes;
    if (row->ask.margin_bytes > 0 && out->memory_bytes > 0)
        out->memory_bytes = row->ask.margin_bytes < out->memory_bytes
                                ? out->memory_bytes - row->ask.margin_bytes
                                : 1; /* 0 would mean no limit */
    out->memory_domain = memory_domain(group, from->member->index);
    out->lacks_dtype = from->lacks;
    out->simulated = from->virtual_time;
    out->provenance = HDPI_FROM_MEASURED;
    out->duty_percent = row->info.duty_percent;
    (void)hdpi_text_copy(out->key, sizeof out->key,
                         hdpi_group_key(group, from->member->rank));
}

/* The samples of the largest size as they came, and how far they lie apart. */
static hdp_status keep_samples(struct hdpi_rank_profile *out,
                               const struct hdpi_series *top)
{
    double values[HDPI_SAMPLES_MAX];
    size_t count = hdpi_series_kept(top);

    out->samples_ns = hdpi_alloc(count, sizeof *out->samples_ns, "samples");
    if (!out->samples_ns)
        return HDP_ERR_MEMORY;
    memcpy(out->samples_ns, top->ns, count * sizeof *top->ns);
    out->sample_count = (int32_t)count;
    memcpy(values, top->ns, count * sizeof *top->ns);
    out->spread = hdpi_relative_mad(values, count);
    return HDP_OK;
}

static hdp_status give_points(hdp_profile *profile, struct hdpi_sampler *from)
{
    struct hdpi_rank_profile *out = &profile->ranks[from->member->rank];
    int64_t items[HDPI_SIZES_MAX];
    double ns[HDPI_SIZES_MAX];

    HDPI_RETURN_IF(keep_samples(out, &from->series[from->size_count - 1]));
    for (int32_t i = 0; i < from->size_count; ++i) {
        struct hdpi_series *series = &from->series[i];
        items[i] = series->items;
        ns[i] = hdpi_median(series->ns, hdpi_series_kept(series));
    }
    HDPI_RETURN_IF(hdpi_profile_set_points(profile, from->member->rank, items,
                                           ns, from->size_count));
    return HDP_OK;
}

/* Last medians against the first, beyond what the samples' own noise makes of
 * a median of few. */
static int drifts(const struct hdpi_sampler *from)
{
    const struct hdpi_series *top = &from->series[from->size_count - 1];
    double values[HDPI_SAMPLES_MAX], last, noise;
    size_t count = hdpi_series_kept(top);

    if (from->median_count < 2 * HDPI_BLOCKS)
        return 0;
    memcpy(values, top->ns, count * sizeof *values);
    noise = 3 * hdpi_relative_mad(values, count);
    memcpy(values, from->medians, sizeof from->medians);
    last = hdpi_median(values, HDPI_BLOCKS);
    return fabs(last / from->first_median - 1) > fmax(DRIFTING, noise);
}

/* Of a group that is simulated as a whole only virtual time is told, so that
 * equal runs give equal profiles. */
static void sum_up(hdp_profile_info *info, const struct hdpi_sampling *whole)
{
    const hdp_group *group = whole->group;

    info->dtype = whole->dtype;
    info->compute = whole->dtype;
    info->probe = whole->kind;
    info->fingerprint = group->fingerprint;
    for (int32_t m = 0; m < group->member_count; ++m) {
        const struct hdpi_sampler *from = &whole->members[m];
        int64_t elapsed_ns = llround(fmin(from->elapsed_ns, 0x1p62));
        if (from->lacks)
            continue;
        if (from->probe.compute)
            info->compute = from->probe.compute;
        if (!from->settled)
            info->ended_by = HDP_ENDED_BUDGET;
        info->drifting |= drifts(from);
        if (group->caller_mode && !from->virtual_time)
            info->elapsed_ns += elapsed_ns;
        else if (elapsed_ns > info->elapsed_ns &&
                 from->virtual_time == group->all_virtual)
            info->elapsed_ns = elapsed_ns;
        if (from->warmup_ns > info->warmup_ns && !group->all_virtual)
            info->warmup_ns = from->warmup_ns;
    }
}

static hdp_status assemble(hdp_profile **out, struct hdpi_sampling *whole)
{
    int32_t count = hdpi_group_rank_count(whole->group), lacking = 0;
    hdp_profile *profile = NULL;
    hdp_status status;

    HDPI_TRY(hdpi_profile_new(&profile, count));
    sum_up(&profile->info, whole);
    for (int32_t m = 0; m < whole->group->member_count; ++m) {
        struct hdpi_sampler *from = &whole->members[m];
        describe(&profile->ranks[from->member->rank], from);
        lacking += from->lacks;
        if (!from->lacks)
            HDPI_TRY(give_points(profile, from));
    }
    if (lacking == whole->group->member_count) {
        status = hdpi_fail(HDP_ERR_UNSUPPORTED,
                           "no member of the group computes in %s",
                           hdpi_names_text(&hdpi_dtype_names, whole->dtype));
        goto out;
    }
    hdpi_profile_compare_rates(profile);
    for (int32_t m = 0; m < whole->group->member_count; ++m) {
        const struct hdpi_sampler *from = &whole->members[m];
        struct hdpi_rank_profile *to = &profile->ranks[from->member->rank];
        to->rate_flops = to->rate * from->probe.item_flops;
    }
    assert(hdpi_profile_is_valid(profile));
    *out = profile;
    profile = NULL;
out:
    hdpi_profile_free(profile);
    return status;
}

/* ---- the verb ------------------------------------------------------------ */

static int by_items(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static hdp_status check_options(const hdp_calibrate_options *own)
{
    if (own->dtype < 0 || own->dtype > HDP_I8)
        return hdpi_fail(HDP_ERR_ARGUMENT, "dtype is %d", own->dtype);
    if (own->probe < HDP_PROBE_GEMM || own->probe > HDP_PROBE_ALL)
        return hdpi_fail(HDP_ERR_ARGUMENT, "probe is %d", own->probe);
    if (own->probe == HDP_PROBE_LINK || own->probe == HDP_PROBE_ALL)
        return hdpi_fail(HDP_ERR_UNSUPPORTED,
                         "links are measured in a later version");
    if (own->cache)
        return hdpi_fail(HDP_ERR_UNSUPPORTED,
                         "calibrations are cached in a later version");
    if ((own->probe == HDP_PROBE_WORK) != !!own->work)
        return hdpi_fail(HDP_ERR_ARGUMENT, "work and HDP_PROBE_WORK go "
                                           "together");
    if (own->item_count < 0 || own->item_count > HDPI_SIZES_MAX ||
        !own->items != !own->item_count)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "item_count is %d, items are 1 to %d sizes or none",
                         own->item_count, HDPI_SIZES_MAX);
    for (int32_t i = 0; i < own->item_count; ++i)
        if (own->items[i] < 1)
            return hdpi_fail(HDP_ERR_ARGUMENT, "items[%d] is %lld", i,
                             (long long)own->items[i]);
    if (own->budget_ns < 0 || own->reserved)
        return hdpi_fail(HDP_ERR_ARGUMENT, "%s is out of range",
                         own->reserved ? "reserved" : "budget_ns");
    return HDP_OK;
}

/* Bytes of a row of each array together, as far as they matter here. */
static hdp_status add_rows(int64_t *bytes, const hdp_array *arrays,
                           int32_t count, const char *list)
{
    hdp_array array;

    for (int32_t i = 0; i < count; ++i) {
        HDPI_RETURN_IF(
            hdpi_options_read_at(&array, sizeof array, arrays, i, list));
        if (array.row_bytes <= 0)
            return hdpi_fail(HDP_ERR_ARGUMENT, "%s[%d]: row_bytes is %lld",
                             list, (int)i, (long long)array.row_bytes);
        if (array.row_bytes < PROBE_BYTES_MAX - *bytes)
            *bytes += array.row_bytes;
        else
            *bytes = PROBE_BYTES_MAX;
    }
    return HDP_OK;
}

/* How many rows may be made for a caller's function before they fill memory
 * that the measurement has no claim to. */
static hdp_status limit_items(struct hdpi_sampling *whole)
{
    const hdp_work *work = &whole->own_work;
    int64_t bytes = 1;

    HDPI_RETURN_IF(add_rows(&bytes, work->inputs, work->input_count, "inputs"));
    HDPI_RETURN_IF(
        add_rows(&bytes, work->outputs, work->output_count, "outputs"));
    whole->items_max = PROBE_BYTES_MAX / bytes;
    if (whole->items_max > ITEMS_MAX)
        whole->items_max = ITEMS_MAX;
    return HDP_OK;
}

static hdp_status take_work(struct hdpi_sampling *whole,
                            const hdp_calibrate_options *own)
{
    hdp_work *work = &whole->own_work;

    if (!own->work)
        return HDP_OK;
    HDPI_RETURN_IF(
        hdpi_options_read(work, sizeof *work, own->work, "hdp_work"));
    if (work->input_count < 0 || work->output_count < 0 ||
        work->input_count > INT32_MAX - work->output_count)
        return hdpi_fail(HDP_ERR_ARGUMENT, "input_count is %d, output_count %d",
                         work->input_count, work->output_count);
    HDPI_RETURN_IF(hdpi_work_check_functions(work, whole->group));
    whole->work = work;
    return limit_items(whole);
}

/* Sizes that a member may have at most: given, chosen, or, of a machine file's
 * device, the points of its curve. */
static size_t series_room(const hdp_group *group,
                          const hdp_calibrate_options *own)
{
    size_t room = HDPI_SIZES_CHOSEN;

    if (own->item_count)
        return (size_t)own->item_count;
    for (int32_t m = 0; m < group->member_count; ++m) {
        const struct hdpi_device_row *row = &group->members[m].device->row;
        int32_t dtypes[] = { own->dtype ? own->dtype : HDP_F32,
                             row->ask.compute };
        struct hdpi_figures figures = { 0 };
        for (int i = 0; row->model && i < 2; ++i)
            if (hdpi_model_find(&figures, row->model, own->probe, dtypes[i]) &&
                (size_t)figures.size_count > room)
                room = (size_t)figures.size_count;
    }
    return room;
}

/* Everything in one block: when a deadline passes with a member still inside
 * the caller's function, the group keeps the block for as long as itself. */
static hdp_status prepare_all(struct hdpi_sampling **out, hdp_group *group,
                              const hdp_calibrate_options *own)
{
    size_t count = (size_t)group->member_count;
    size_t sizes = series_room(group, own);
    struct hdpi_sampling *whole =
        hdpi_alloc(1,
                   sizeof *whole + count * sizeof(struct hdpi_sampler) +
                       count * sizes * sizeof(struct hdpi_series),
                   "samples of a calibration");
    struct hdpi_series *series;

    if (!whole)
        return HDP_ERR_MEMORY;
    *out = whole;
    series = (struct hdpi_series *)(void *)(whole->members + count);
    whole->group = group;
    whole->kind = own->probe;
    whole->dtype = own->dtype ? own->dtype : HDP_F32;
    whole->given_count = own->item_count;
    if (own->item_count)
        memcpy(whole->given, own->items,
               (size_t)own->item_count * sizeof *own->items);
    qsort(whole->given, (size_t)whole->given_count, sizeof *whole->given,
          by_items);
    whole->budget_ns = (double)(own->budget_ns ? own->budget_ns : BUDGET_NS);
    if (group->caller_mode)
        whole->budget_ns /= (double)count;
    whole->warm_ns = fmin(WARM_NS, whole->budget_ns / 3);
    whole->begin_ns = hdpi_clock_ns();
    for (size_t m = 0; m < count; ++m) {
        whole->members[m].whole = whole;
        whole->members[m].member = &group->members[m];
        whole->members[m].series = series + m * sizes;
        if (!group->members[m].device->virtual_time)
            atomic_fetch_add(&whole->unsettled, 1);
    }
    return take_work(whole, own);
}

hdp_status hdp_calibrate(hdp_profile **out, hdp_group *group,
                         const hdp_calibrate_options *options)
{
    struct hdpi_sampling *whole = NULL;
    hdp_calibrate_options own;
    hdp_status status;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_TRY(hdpi_group_check(group));
    HDPI_TRY(
        hdpi_options_read(&own, sizeof own, options, "hdp_calibrate_options"));
    HDPI_TRY(check_options(&own));
    HDPI_TRY(prepare_all(&whole, group, &own));
    HDPI_TRY(hdpi_group_each(group, hdpi_sample_member, whole, 0));
    HDPI_TRY(assemble(out, whole));
out:
    if (whole && atomic_load_explicit(&group->lost, memory_order_acquire)) {
        hdpi_group_abandon(group, &whole->abandoned);
        whole = NULL;
    }
    free(whole);
    return status;
}
