/* Curves: points made monotone by padding up, straight lines between them, and
 * what can be asked of them. No rounding here depends on the compiler. */
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "core/profile.h"

static const double second_ns = 1e9;

/* ---- life ---------------------------------------------------------------- */

hdp_status hdpi_profile_new(hdp_profile **out, int32_t count)
{
    hdp_status status = HDP_ERR_MEMORY;
    hdp_profile *profile = NULL;

    *out = NULL;
    if (count < 1)
        return hdpi_fail(HDP_ERR_ARGUMENT, "a profile of %d ranks", (int)count);
    profile = hdpi_alloc(1, sizeof *profile, "a profile");
    if (!profile)
        goto out;
    profile->ranks =
        hdpi_alloc((size_t)count, sizeof *profile->ranks, "a profile's ranks");
    if (!profile->ranks)
        goto out;
    hdpi_object_init(&profile->object, HDPI_PROFILE);
    profile->info.size = sizeof profile->info;
    profile->info.member_count = count;
    for (int32_t i = 0; i < count; i++) {
        profile->ranks[i].duty_percent = 100;
        profile->ranks[i].reliable = 1;
        profile->ranks[i].weight = HDPI_WEIGHT_MIN;
    }
    *out = profile;
    profile = NULL;
    status = HDP_OK;
out:
    hdpi_profile_free(profile);
    return status;
}

void hdpi_profile_free(hdp_profile *profile)
{
    if (!profile)
        return;
    for (int32_t i = 0; profile->ranks && i < profile->info.member_count; i++) {
        free(profile->ranks[i].point_items);
        free(profile->ranks[i].samples_ns);
    }
    free(profile->ranks);
    free(profile);
}

/* ---- points -------------------------------------------------------------- */

static int is_time(double ns)
{
    return ns >= HDPI_SHORTEST_NS && ns <= HDPI_LONGEST_NS;
}

static hdp_status check_points(int32_t rank, const int64_t *items,
                               const double *ns, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (items[i] <= (i > 0 ? items[i - 1] : 0))
            return hdpi_fail(HDP_ERR_ARGUMENT,
                             "rank %d: point %lld has %lld items, which is not "
                             "above %lld",
                             (int)rank, (long long)i, (long long)items[i],
                             (long long)(i > 0 ? items[i - 1] : 0));
        if (!is_time(ns[i]))
            return hdpi_fail(HDP_ERR_ARGUMENT,
                             "rank %d: the time of point %lld is not between "
                             "1e-9 and 1e18 ns",
                             (int)rank, (long long)i);
    }
    return HDP_OK;
}

/* A last segment that falls or is flat says nothing of larger sizes: beyond it
 * as many items a time as at the last point. */
static void fill_slopes(struct hdpi_rank_profile *rank)
{
    int64_t last = rank->point_count - 1;

    for (int64_t i = 0; i < last; i++)
        rank->slope_ns[i] =
            (rank->point_ns[i + 1] - rank->point_ns[i]) /
            (double)(rank->point_items[i + 1] - rank->point_items[i]);
    rank->slope_ns[last] =
        last > 0 && rank->slope_ns[last - 1] > 0
            ? rank->slope_ns[last - 1]
            : rank->point_ns[last] / (double)rank->point_items[last];
}

hdp_status hdpi_profile_set_points(hdp_profile *profile, int32_t rank,
                                   const int64_t *items, const double *ns,
                                   int64_t count)
{
    struct hdpi_rank_profile *at = &profile->ranks[rank];
    size_t n = (size_t)count;

    if (count < 1 || !items || !ns) {
        hdpi_fail(HDP_ERR_ARGUMENT, "rank %d: no points", (int)rank);
        hdpi_error()->rank = rank;
        return HDP_ERR_ARGUMENT;
    }
    if (check_points(rank, items, ns, count) != HDP_OK) {
        hdpi_error()->rank = rank;
        return HDP_ERR_ARGUMENT;
    }
    /* one block: items, times, padded times, slopes, provenances */
    int64_t *block = hdpi_alloc(n, 4 * sizeof *block + sizeof *at->point_from,
                                "a curve's points");
    if (!block)
        return HDP_ERR_MEMORY;
    double *times = (double *)(void *)(block + n);
    memcpy(block, items, n * sizeof *items);
    memcpy(times, ns, n * sizeof *ns);
    for (size_t i = n; i-- > 0;) {
        double after = i + 1 < n ? times[n + i + 1] : DBL_MAX;
        times[n + i] = ns[i] < after ? ns[i] : after;
    }
    free(at->point_items);
    at->point_items = block;
    at->point_ns = times;
    at->monotone_ns = times + n;
    at->slope_ns = times + 2 * n;
    at->point_from = (int32_t *)(void *)(block + 4 * n);
    for (size_t i = 0; i < n; i++)
        at->point_from[i] = at->provenance;
    at->point_count = count;
    fill_slopes(at);
    at->rate = (double)items[n - 1] / ns[n - 1] * second_ns;
    return HDP_OK;
}

hdp_status hdpi_profile_copy_rank(hdp_profile *profile, int32_t rank,
                                  const struct hdpi_rank_profile *from)
{
    struct hdpi_rank_profile *to = &profile->ranks[rank];

    *to = *from;
    to->point_items = NULL;
    to->point_ns = to->monotone_ns = to->slope_ns = to->samples_ns = NULL;
    to->point_from = NULL;
    to->point_count = 0;
    to->sample_count = 0;
    if (from->point_count > 0) {
        HDPI_RETURN_IF(hdpi_profile_set_points(profile, rank, from->point_items,
                                               from->point_ns,
                                               from->point_count));
        memcpy(to->point_from, from->point_from,
               (size_t)from->point_count * sizeof *to->point_from);
    }
    to->rate = from->rate;
    if (from->sample_count == 0)
        return HDP_OK;
    size_t count = (size_t)from->sample_count;
    to->samples_ns = hdpi_alloc(count, sizeof *to->samples_ns, "samples");
    if (!to->samples_ns)
        return HDP_ERR_MEMORY;
    memcpy(to->samples_ns, from->samples_ns, count * sizeof *to->samples_ns);
    to->sample_count = from->sample_count;
    return HDP_OK;
}

hdp_status hdpi_profile_copy(hdp_profile **out, const hdp_profile *profile)
{
    hdp_profile *copy = NULL;
    hdp_status status;

    HDPI_TRY(hdpi_profile_new(&copy, profile->info.member_count));
    for (int32_t r = 0; r < profile->info.member_count; r++)
        HDPI_TRY(hdpi_profile_copy_rank(copy, r, &profile->ranks[r]));
    copy->info = profile->info;
    *out = copy;
    copy = NULL;
out:
    hdpi_profile_free(copy);
    return status;
}

/* ---- the curve ----------------------------------------------------------- */

/* Last point with at most `items` items; there is one. */
static int64_t point_before(const struct hdpi_rank_profile *rank, int64_t items)
{
    int64_t low = 0;
    for (int64_t left = rank->point_count; left > 1;) {
        int64_t half = left / 2;
        low += rank->point_items[low + half] <= items ? half : 0;
        left -= half;
    }
    return low;
}

static double time_of_points(const struct hdpi_rank_profile *rank,
                             int64_t items)
{
    if (items <= rank->point_items[0])
        return rank->monotone_ns[0];
    int64_t i = point_before(rank, items);
    int64_t past = items - rank->point_items[i];
    if (past == 0)
        return rank->monotone_ns[i];
    double ns = rank->point_ns[i] + rank->slope_ns[i] * (double)past;
    if (i == rank->point_count - 1)
        return ns;
    double padded = rank->monotone_ns[i + 1];
    return rank->slope_ns[i] > 0 && ns < padded ? ns : padded;
}

double hdpi_profile_time(const struct hdpi_rank_profile *rank, int64_t items)
{
    if (items <= 0)
        return 0;
    if (rank->point_count == 0)
        return rank->fixed_ns + rank->item_ns * (double)items;
    return time_of_points(rank, items);
}

/* Last point that ends by ns, the extra included; -1: none. */
static int64_t point_by(const struct hdpi_rank_profile *rank, double ns,
                        double extra_ns)
{
    int64_t found = -1;
    for (int64_t left = rank->point_count; left > 0;) {
        int64_t half = (left + 1) / 2;
        double by = rank->monotone_ns[found + half] +
                    extra_ns * (double)rank->point_items[found + half];
        found += by <= ns ? half : 0;
        left -= half;
    }
    return found;
}

double hdpi_profile_guess(const struct hdpi_rank_profile *rank, double ns,
                          double extra_ns)
{
    int64_t i = point_by(rank, ns, extra_ns);
    if (i < 0)
        return extra_ns > 0 ? (ns - rank->monotone_ns[0]) / extra_ns : -1;
    double base = (double)rank->point_items[i];
    double left = ns - rank->point_ns[i] - extra_ns * base;
    if (i == rank->point_count - 1)
        return base + left / (rank->slope_ns[i] + extra_ns);
    /* the segment rises to the padded time, then is flat but for the extra */
    double best = base, slope = rank->slope_ns[i];
    if (slope > 0 && left / (slope + extra_ns) > 0)
        best = base + left / (slope + extra_ns);
    if (extra_ns > 0) {
        double flat = (ns - rank->monotone_ns[i + 1]) / extra_ns;
        best = flat > best ? flat : best;
    }
    double end = (double)rank->point_items[i + 1];
    return best < end ? best : end;
}

void hdpi_profile_line(const struct hdpi_rank_profile *rank, double *fixed_ns,
                       double *item_ns)
{
    *fixed_ns = rank->fixed_ns;
    *item_ns =
        rank->item_ns > HDPI_SHORTEST_NS ? rank->item_ns : HDPI_SHORTEST_NS;
    if (rank->point_count == 0)
        return;
    int64_t last = rank->point_count - 1;
    double ns = rank->monotone_ns[last],
           items = (double)rank->point_items[last];
    double rise = ns - rank->monotone_ns[0];
    *fixed_ns = 0;
    *item_ns = ns / items;
    if (rise > 0 && rise / (items - (double)rank->point_items[0]) < *item_ns) {
        *item_ns = rise / (items - (double)rank->point_items[0]);
        *fixed_ns = ns - *item_ns * items;
    }
}

double hdpi_profile_rate(const struct hdpi_rank_profile *rank)
{
    if (rank->lacks_dtype)
        return 0;
    if (rank->rate > 0)
        return rank->rate;
    if (rank->point_count == 0)
        return rank->item_ns > 0 ? second_ns / rank->item_ns : 0;
    int64_t last = rank->point_count - 1;
    return (double)rank->point_items[last] / rank->point_ns[last] * second_ns;
}

void hdpi_profile_compare_rates(hdp_profile *profile)
{
    int64_t items = 0;

    for (int32_t r = 0; r < profile->info.member_count; r++) {
        const struct hdpi_rank_profile *rank = &profile->ranks[r];
        int64_t count = rank->point_count;
        if (count > 0 && rank->point_items[count - 1] > items)
            items = rank->point_items[count - 1];
    }
    for (int32_t r = 0; r < profile->info.member_count; r++) {
        struct hdpi_rank_profile *rank = &profile->ranks[r];
        double ns = items > 0 ? hdpi_profile_time(rank, items) : 0;
        if (ns > 0 && !rank->lacks_dtype)
            rank->rate = (double)items / ns * second_ns;
        else
            rank->rate = hdpi_profile_rate(rank);
    }
}

/* ---- invariants ---------------------------------------------------------- */

static int is_figure(double value)
{
    return value >= 0 && value <= DBL_MAX;
}

static int is_origin(int32_t from)
{
    return from >= HDPI_FROM_MODEL && from <= HDPI_FROM_ASSUMED;
}

static int is_curve(const struct hdpi_rank_profile *rank)
{
    if (rank->point_count == 0)
        return rank->fixed_ns >= 0 && rank->fixed_ns <= HDPI_LONGEST_NS &&
               (is_time(rank->item_ns) ||
                (rank->lacks_dtype && rank->item_ns == 0));
    for (int64_t i = 0; i < rank->point_count; i++) {
        int64_t before = i > 0 ? rank->point_items[i - 1] : 0;
        double after = i + 1 < rank->point_count ? rank->monotone_ns[i + 1]
                                                 : rank->point_ns[i];
        if (rank->point_items[i] <= before || !is_time(rank->point_ns[i]) ||
            rank->monotone_ns[i] > after ||
            rank->monotone_ns[i] > rank->point_ns[i] ||
            !is_origin(rank->point_from[i]))
            return 0;
    }
    return 1;
}

int hdpi_profile_is_valid(const hdp_profile *profile)
{
    if (!profile || profile->object.tag != HDPI_PROFILE || !profile->ranks ||
        profile->info.member_count < 1)
        return 0;
    for (int32_t i = 0; i < profile->info.member_count; i++) {
        const struct hdpi_rank_profile *rank = &profile->ranks[i];
        if (rank->point_count < 0 || rank->memory_bytes < 0 ||
            rank->memory_domain < 0 || rank->sample_count < 0 ||
            rank->duty_percent < 1 || rank->duty_percent > 100 ||
            !is_curve(rank) || !is_figure(rank->in_bytes_per_second) ||
            !is_figure(rank->out_bytes_per_second) ||
            !is_figure(rank->reduce_bytes_per_second) ||
            !is_figure(rank->copy_bytes_per_second) ||
            !is_figure(rank->launch_ns) || !is_figure(rank->doubted) ||
            rank->weight < HDPI_WEIGHT_MIN || rank->weight > HDPI_WEIGHT_MAX ||
            !is_origin(rank->provenance) || !is_figure(rank->rate) ||
            !is_figure(rank->rate_flops) || !is_figure(rank->spread) ||
            !memchr(rank->key, 0, HDPI_KEY_MAX))
            return 0;
    }
    return 1;
}
