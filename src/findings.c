/* What all members' samples say, as a profile: curves from medians, figures,
 * and what stands in for a member that could not be measured. */
#include <assert.h>
#include <math.h>
#include <string.h>
#include "base/mem.h"
#include "base/text.h"
#include "core/robust.h"
#include "json/names.h"
#include "sample.h"

enum { ASSUMED_ITEM_NS = 1000 };

static const double DRIFTING = 0.02; /* last medians against the first */
/* The distance that half of the samples keep: beyond it the middle half alone
 * lies apart by more than half of the median. */
static const double SCATTER_MAX = 0.25;

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

void hdpi_sample_describe(struct hdpi_rank_profile *out,
                          const struct hdpi_member *member)
{
    const struct hdpi_device_row *row = &member->device->row;

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
    out->memory_domain = memory_domain(member->group, member->index);
    out->simulated = member->device->virtual_time;
    out->provenance = HDPI_FROM_MEASURED;
    out->duty_percent = row->info.duty_percent;
    (void)hdpi_text_copy(out->key, sizeof out->key,
                         hdpi_group_key(member->group, member->rank));
}

/* The samples that count, in the sampler's scratch: of a patient course those of
 * the newer half. They came at the same time on all members, when the clocks
 * had fallen furthest. */
static size_t believe(struct hdpi_sampler *from,
                      const struct hdpi_series *series)
{
    int64_t count = (int64_t)hdpi_series_kept(series);

    if (hdpi_sampler_course(from)->patient && count > (series->seen + 1) / 2)
        count = (series->seen + 1) / 2;
    for (int64_t i = 0; i < count; ++i)
        from->scratch[i] =
            series->ns[(series->seen - count + i) % HDPI_SAMPLES_MAX];
    return (size_t)count;
}

/* The samples of the largest size as they came, and how far those that count
 * lie apart. */
static hdp_status keep_samples(struct hdpi_rank_profile *out,
                               struct hdpi_sampler *from)
{
    const struct hdpi_series *top = &from->series[from->size_count - 1];
    size_t count = hdpi_series_kept(top);

    out->samples_ns = hdpi_alloc(count, sizeof *out->samples_ns, "samples");
    if (!out->samples_ns)
        return HDP_ERR_MEMORY;
    memcpy(out->samples_ns, top->ns, count * sizeof *top->ns);
    out->sample_count = (int32_t)count;
    out->spread = hdpi_relative_mad(from->scratch, believe(from, top));
    out->reliable = out->spread <= SCATTER_MAX;
    return HDP_OK;
}

/* What was measured replaces what the member's row says. */
static void give_figures(struct hdpi_rank_profile *out,
                         const struct hdpi_sampler *from)
{
    const struct hdpi_figure_set *found = &from->found;

    if (found->in_bytes_per_second > 0)
        out->in_bytes_per_second = found->in_bytes_per_second;
    if (found->out_bytes_per_second > 0)
        out->out_bytes_per_second = found->out_bytes_per_second;
    out->copy_bytes_per_second = found->copy_bytes_per_second;
    out->launch_ns = found->launch_ns;
}

static hdp_status give_points(hdp_profile *profile, struct hdpi_sampler *from)
{
    struct hdpi_rank_profile *out = &profile->ranks[from->member->rank];
    int64_t items[HDPI_SIZES_MAX];
    double ns[HDPI_SIZES_MAX];

    HDPI_RETURN_IF(keep_samples(out, from));
    for (int32_t i = 0; i < from->size_count; ++i) {
        items[i] = from->series[i].items;
        ns[i] = hdpi_typical(from->scratch, believe(from, &from->series[i]));
    }
    return hdpi_profile_set_points(profile, from->member->rank, items, ns,
                                   from->size_count);
}

/* How far samples lie apart for other reasons than that they drift: in the
 * older half of them, or in the newer. */
static double noise_of(const struct hdpi_series *top)
{
    double older[HDPI_SAMPLES_MAX / 2], newer[HDPI_SAMPLES_MAX / 2];
    size_t count = hdpi_series_kept(top), half = count / 2;
    size_t first = (size_t)top->seen - count;

    for (size_t i = 0; i < half; ++i) {
        older[i] = top->ns[(first + i) % HDPI_SAMPLES_MAX];
        newer[i] = top->ns[(first + count - half + i) % HDPI_SAMPLES_MAX];
    }
    return fmax(hdpi_relative_mad(older, half), hdpi_relative_mad(newer, half));
}

/* Last medians against the first, beyond what the samples' own noise makes of
 * a median of few. */
static int drifts(const struct hdpi_sampler *from)
{
    const struct hdpi_series *top = &from->series[from->size_count - 1];
    double values[HDPI_BLOCKS], last;

    if (from->median_count < 2 * HDPI_BLOCKS)
        return 0;
    memcpy(values, from->medians, sizeof from->medians);
    last = hdpi_median(values, HDPI_BLOCKS);
    return fabs(last / from->first_median - 1) >
           fmax(DRIFTING, 3 * noise_of(top));
}

/* What products showed of a type goes to the devices' own lists of types. A
 * group tells of its members to any thread, so its lock is held. */
static void correct_units(const struct hdpi_sampling *whole)
{
    const uint32_t bit = 1u << whole->dtype;
    hdp_group *group = whole->group;

    pthread_mutex_lock(&group->lock);
    for (int32_t m = 0; m < group->member_count; ++m) {
        hdp_device *info = &group->members[m].device->row.info;
        int32_t units = whole->members[m].probe.units;
        if (!units)
            continue;
        info->native_dtypes &= ~bit;
        info->slow_dtypes &= ~bit;
        if (units == HDPI_UNITS_NATIVE)
            info->native_dtypes |= bit;
        if (units == HDPI_UNITS_SLOW)
            info->slow_dtypes |= bit;
    }
    pthread_mutex_unlock(&group->lock);
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
        int64_t elapsed_ns = llround(fmin(from->measured_ns, 0x1p62));
        if (from->lacks || from->failure.status != HDP_OK)
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

/* ---- members that could not be measured ----------------------------------- */

/* The group's last calibration, if it was of the same. */
static const hdp_profile *last_good(const struct hdpi_sampling *whole)
{
    const hdp_profile *last = whole->group->calibrated;

    return last && last->info.probe == whole->kind &&
                   last->info.dtype == whole->dtype &&
                   (!whole->compute || last->info.compute == whole->compute)
               ? last
               : NULL;
}

/* The slower of the two in the middle of those that were measured; -1: none. */
static int32_t middle_of(const hdp_profile *profile)
{
    int32_t count = profile->info.member_count, measured = 0;

    for (int32_t i = 0; i < count; ++i)
        measured += profile->ranks[i].point_count > 0;
    for (int32_t i = 0; i < count; ++i) {
        double rate = hdpi_profile_rate(&profile->ranks[i]);
        int32_t faster = 0, before = 0;
        if (profile->ranks[i].point_count == 0)
            continue;
        for (int32_t k = 0; k < count; ++k) {
            double other = hdpi_profile_rate(&profile->ranks[k]);
            faster += profile->ranks[k].point_count > 0 && other > rate;
            before +=
                profile->ranks[k].point_count > 0 && other == rate && k < i;
        }
        if (faster + before == measured / 2)
            return i;
    }
    return -1;
}

/* A member whose own figures are missing gets those of the last calibration,
 * else a curve like the one in the middle, which of a pair makes an equal
 * split; of a group without any, all members are alike. */
static hdp_status assume(hdp_profile *profile, const struct hdpi_sampler *from,
                         int32_t middle)
{
    const hdp_group *group = from->whole->group;
    const hdp_profile *last = last_good(from->whole);
    int32_t rank = from->member->rank;
    struct hdpi_rank_profile *to = &profile->ranks[rank];

    hdpi_log(&group->context->log, HDP_LOG_WARN,
             "member %d could not be measured (%s): it %s",
             (int)from->member->index, from->failure.text,
             last          ? "keeps its last figures"
             : middle >= 0 ? "is taken to be as fast as the others"
                           : "is taken to be as fast as any");
    if (last) {
        HDPI_RETURN_IF(
            hdpi_profile_copy_rank(profile, rank, &last->ranks[rank]));
        hdpi_sample_describe(to, from->member);
        give_figures(to, from);
    } else {
        to->provenance = HDPI_FROM_ASSUMED;
        to->item_ns = ASSUMED_ITEM_NS;
        if (middle >= 0)
            HDPI_RETURN_IF(hdpi_profile_set_points(
                profile, rank, profile->ranks[middle].point_items,
                profile->ranks[middle].point_ns,
                profile->ranks[middle].point_count));
    }
    to->reliable = 0;
    return HDP_OK;
}

static void warn(const struct hdpi_sampling *whole,
                 const struct hdpi_rank_profile *rank,
                 const struct hdpi_sampler *from)
{
    const struct hdpi_log *log = &whole->group->context->log;

    if (from->missed.status != HDP_OK)
        hdpi_log(log, HDP_LOG_WARN,
                 "member %d: its %s could not be measured (%s)",
                 (int)from->member->index,
                 hdpi_names_text(&hdpi_probe_names, from->missed_kind),
                 from->missed.text);
    if (!rank->reliable && from->failure.status == HDP_OK)
        hdpi_log(log, HDP_LOG_WARN,
                 "member %d: half of its samples lie further than %d %% from "
                 "their median: its figures are not reliable",
                 (int)from->member->index, (int)fmin(100 * rank->spread, 1e6));
}

static hdp_status assume_all(hdp_profile *profile,
                             const struct hdpi_sampling *whole)
{
    int32_t middle = -1;

    hdpi_profile_compare_rates(profile);
    middle = middle_of(profile);
    for (int32_t m = 0; m < whole->group->member_count; ++m) {
        const struct hdpi_sampler *from = &whole->members[m];
        warn(whole, &profile->ranks[from->member->rank], from);
        if (from->failure.status != HDP_OK)
            HDPI_RETURN_IF(assume(profile, from, middle));
    }
    return HDP_OK;
}

/* Kept for members that fail in a later calibration. */
static void remember(hdp_group *group, hdp_profile *profile)
{
    hdp_profile *before;

    for (int32_t m = 0; m < group->member_count; ++m)
        if (profile->ranks[group->members[m].rank].provenance ==
            HDPI_FROM_ASSUMED)
            return;
    hdpi_object_retain(&profile->object);
    pthread_mutex_lock(&group->lock);
    before = group->calibrated;
    group->calibrated = profile;
    pthread_mutex_unlock(&group->lock);
    hdp_profile_destroy(before);
}

/* ---- all of it ------------------------------------------------------------- */

hdp_status hdpi_findings(hdp_profile **out, struct hdpi_sampling *whole)
{
    int32_t count = hdpi_group_rank_count(whole->group), lacking = 0;
    hdp_profile *profile = NULL;
    hdp_status status;

    HDPI_TRY(hdpi_profile_new(&profile, count));
    correct_units(whole);
    sum_up(&profile->info, whole);
    for (int32_t m = 0; m < whole->group->member_count; ++m) {
        struct hdpi_sampler *from = &whole->members[m];
        hdpi_sample_describe(&profile->ranks[from->member->rank], from->member);
        give_figures(&profile->ranks[from->member->rank], from);
        profile->ranks[from->member->rank].lacks_dtype = from->lacks;
        lacking += from->lacks;
        if (!from->lacks && from->failure.status == HDP_OK)
            HDPI_TRY(give_points(profile, from));
    }
    if (lacking == whole->group->member_count)
        HDPI_TRY(hdpi_fail(HDP_ERR_UNSUPPORTED,
                           "no member of the group computes in %s",
                           hdpi_names_text(&hdpi_dtype_names, whole->dtype)));
    HDPI_TRY(assume_all(profile, whole));
    hdpi_profile_compare_rates(profile);
    for (int32_t m = 0; m < whole->group->member_count; ++m) {
        const struct hdpi_sampler *from = &whole->members[m];
        struct hdpi_rank_profile *to = &profile->ranks[from->member->rank];
        if (from->failure.status == HDP_OK)
            to->rate_flops = to->rate * from->probe.item_flops;
    }
    assert(hdpi_profile_is_valid(profile));
    remember(whole->group, profile);
    *out = profile;
    profile = NULL;
out:
    hdpi_profile_free(profile);
    return status;
}
