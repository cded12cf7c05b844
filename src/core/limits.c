/* Options of a split turned into limits that the search can use. Everything a
 * caller can get wrong is refused here, with the rank. */
#include <stdlib.h>
#include "base/mem.h"
#include "core/limits.h"
#include "core/pools.h"
#include "core/quantum.h"

/* ---- options ------------------------------------------------------------- */

static hdp_status refuse_negative(const char *name, int64_t value)
{
    if (value >= 0)
        return HDP_OK;
    return hdpi_fail(HDP_ERR_ARGUMENT, "%s is %lld, below 0", name,
                     (long long)value);
}

static hdp_status check_ratios(const double *ratios, int32_t count)
{
    int any = 0;

    if (!ratios)
        return hdpi_fail(HDP_ERR_ARGUMENT, "the rule manual needs ratios");
    for (int32_t i = 0; i < count; i++) {
        if (!(ratios[i] - ratios[i] == 0)) /* NaN or infinite */
            return hdpi_fail_member(HDP_ERR_ARGUMENT, -1, i,
                                    "rank %d: its ratio is not a finite number",
                                    (int)i);
        if (ratios[i] < 0)
            return hdpi_fail_member(HDP_ERR_ARGUMENT, -1, i,
                                    "rank %d: its ratio is below 0", (int)i);
        any |= ratios[i] > 0;
    }
    if (!any)
        return hdpi_fail(HDP_ERR_ARGUMENT, "all %d ratios are 0", (int)count);
    return HDP_OK;
}

static hdp_status check_options(int64_t total, const hdp_split_options *options,
                                int32_t count)
{
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {
        { "total", total },
        { "item_bytes", options->item_bytes },
        { "fixed_bytes", options->fixed_bytes },
        { "keep_free_bytes", options->keep_free_bytes },
        { "in_bytes", options->in_bytes },
        { "out_bytes", options->out_bytes },
        { "reduce_bytes", options->reduce_bytes },
    };

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        HDPI_RETURN_IF(refuse_negative(counts[i].name, counts[i].value));
    if (options->rule < HDP_RULE_FINISH || options->rule > HDP_RULE_MANUAL)
        return hdpi_fail(HDP_ERR_ARGUMENT, "rule %d is none of HDP_RULE_*",
                         (int)options->rule);
    if (options->quantum < -1)
        return hdpi_fail(HDP_ERR_ARGUMENT, "quantum is %lld, below -1",
                         (long long)options->quantum);
    if (options->rule == HDP_RULE_MANUAL)
        return check_ratios(options->ratios, count);
    return HDP_OK;
}

/* ---- one rank ------------------------------------------------------------ */

int64_t hdpi_room_of(const struct hdpi_rank_profile *rank,
                     const hdp_split_options *options)
{
    if (rank->memory_bytes == 0 ||
        (options->item_bytes == 0 && options->fixed_bytes == 0))
        return INT64_MAX;
    return rank->memory_bytes - options->keep_free_bytes;
}

int64_t hdpi_items_in(int64_t bytes, const hdp_split_options *options,
                      int64_t total)
{
    if (bytes == INT64_MAX)
        return total;
    if (bytes < options->fixed_bytes)
        return 0;
    if (options->item_bytes == 0)
        return total;
    int64_t items = (bytes - options->fixed_bytes) / options->item_bytes;
    return items < total ? items : total;
}

static hdp_status check_range(const hdp_split_options *options, int32_t i,
                              int64_t low, int64_t max)
{
    if (low < 0)
        return hdpi_fail_member(HDP_ERR_ARGUMENT, -1, i,
                                "rank %d: min_items is %lld, below 0", (int)i,
                                (long long)low);
    if (max < -1)
        return hdpi_fail_member(HDP_ERR_ARGUMENT, -1, i,
                                "rank %d: max_items is %lld; -1 means no limit",
                                (int)i, (long long)max);
    if (max >= 0 && low > max)
        return hdpi_fail_member(
            HDP_ERR_ARGUMENT, -1, i,
            "rank %d: min_items %lld is above max_items %lld", (int)i,
            (long long)low, (long long)max);
    if (low > 0 && options->rule == HDP_RULE_MANUAL && options->ratios[i] == 0)
        return hdpi_fail_member(HDP_ERR_ARGUMENT, -1, i,
                                "rank %d: min_items %lld, but its ratio is 0",
                                (int)i, (long long)low);
    return HDP_OK;
}

/* A limit's array is filled when the first rank needs it: a million ranks
 * without limits touch none. */
void hdpi_limits_raise(struct hdpi_limits *limits, int32_t i, int64_t low)
{
    struct hdpi_finish *in = &limits->finish;

    if (!in->low)
        for (int32_t k = 0; k < in->count; k++)
            limits->low[k] = 0;
    in->low = limits->low;
    limits->low[i] = low;
}

void hdpi_limits_cap(struct hdpi_limits *limits, int32_t i, int64_t high)
{
    struct hdpi_finish *in = &limits->finish;

    if (high >= in->total)
        return;
    if (!in->high)
        for (int32_t k = 0; k < in->count; k++)
            limits->high[k] = in->total;
    in->high = limits->high;
    if (high < limits->high[i])
        limits->high[i] = high;
}

static hdp_status limit_rank(struct hdpi_limits *out,
                             const hdp_split_options *options, int32_t i)
{
    const struct hdpi_rank_profile *rank = &out->profile->ranks[i];
    int64_t total = out->finish.total;
    int64_t low = options->min_items ? options->min_items[i] : 0;
    int64_t max = options->max_items ? options->max_items[i] : -1;

    HDPI_RETURN_IF(check_range(options, i, low, max));
    int64_t memory = hdpi_items_in(hdpi_room_of(rank, options), options, total);
    if (low > 0)
        hdpi_limits_raise(out, i, low);
    if (rank->lacks_dtype && low > 0)
        return hdpi_fail_member(HDP_ERR_ARGUMENT, -1, i,
                                "rank %d: min_items %lld, but it lacks the "
                                "dtype",
                                (int)i, (long long)low);
    if (low <= total && low > memory) {
        hdpi_fail_member(HDP_ERR_CAPACITY, -1, i,
                         "rank %d: min_items %lld, but its memory holds %lld",
                         (int)i, (long long)low, (long long)memory);
        hdpi_error()->largest_total = 0;
        return HDP_ERR_CAPACITY;
    }
    hdpi_limits_cap(out, i, memory);
    if (max >= 0)
        hdpi_limits_cap(out, i, max);
    if (rank->lacks_dtype)
        hdpi_limits_cap(out, i, 0);
    return HDP_OK;
}

static hdp_status limit_ranks(struct hdpi_limits *out,
                              const hdp_split_options *options)
{
    int64_t total = out->finish.total, least = 0;
    int32_t count = out->finish.count;

    for (int32_t i = 0; i < count; i++) {
        HDPI_RETURN_IF(limit_rank(out, options, i));
        int64_t low = hdpi_low(&out->finish, i);
        if (low > total - least)
            return hdpi_fail_member(
                HDP_ERR_ARGUMENT, -1, i,
                "rank %d: the minimums up to it add up to more than the total "
                "of %lld items",
                (int)i, (long long)total);
        least += low;
    }
    if (out->lacking == count && total > 0)
        return hdpi_fail(HDP_ERR_UNSUPPORTED,
                         "no rank can compute in the profile's dtype: all %d "
                         "lack it",
                         (int)count);
    return HDP_OK;
}

/* 1 when the options limit ranks; else only a dtype that one lacks does. */
static int may_limit(const hdp_split_options *options)
{
    return options->min_items || options->max_items ||
           options->item_bytes > 0 || options->fixed_bytes > 0;
}

/* ---- speeds -------------------------------------------------------------- */

/* Lines for all ranks; 0 when one is none. What else there is to know without
 * limits is taken in the same pass: ranks are large, and read once. */
static int take_lines(struct hdpi_limits *out, const hdp_split_options *options)
{
    const struct hdpi_rank_profile *ranks = out->profile->ranks;
    const double in_bytes = (double)options->in_bytes;
    const double out_bytes = (double)options->out_bytes;
    int32_t lacking = 0;

    for (int32_t i = 0; i < out->finish.count; i++) {
        if (!hdpi_lane_is_line(&ranks[i], in_bytes, out_bytes))
            return 0;
        out->lines[i] =
            (struct hdpi_line){ ranks[i].fixed_ns, ranks[i].item_ns };
        lacking += ranks[i].lacks_dtype != 0;
    }
    out->lacking = lacking;
    out->finish.lines = out->lines;
    return 1;
}

static hdp_status take_lanes(struct hdpi_limits *out,
                             const hdp_split_options *options)
{
    const struct hdpi_rank_profile *ranks = out->profile->ranks;
    int32_t count = out->finish.count;
    struct hdpi_lane *lanes = out->own.lanes;

    if (count > HDPI_LIMITS_INLINE) {
        lanes = hdpi_alloc((size_t)count, sizeof *lanes, "a split");
        if (!lanes)
            return HDP_ERR_MEMORY;
        out->lane_heap = lanes;
    }
    out->lacking = 0;
    for (int32_t i = 0; i < count; i++) {
        hdpi_lane_of(&lanes[i], &ranks[i], (double)options->in_bytes,
                     (double)options->out_bytes, options->overlap);
        out->lacking += ranks[i].lacks_dtype != 0;
    }
    out->finish.lanes = lanes;
    return HDP_OK;
}

/* ---- shared devices ------------------------------------------------------ */

int64_t hdpi_limits_left(const struct hdpi_limits *limits, int32_t lead,
                         const int64_t *items)
{
    const struct hdpi_finish *in = &limits->finish;
    int64_t left = limits->room[lead];

    if (left == INT64_MAX)
        return left;
    for (int32_t i = lead; i >= 0 && left >= 0; i = limits->pools[i].next) {
        if (items[i] == 0)
            continue;
        left -= in->fixed_bytes;
        if (left >= 0 && in->item_bytes > 0)
            left = items[i] > left / in->item_bytes
                       ? -1
                       : left - items[i] * in->item_bytes;
    }
    return left;
}

int hdpi_limits_fit(const struct hdpi_limits *limits, const int64_t *items)
{
    const struct hdpi_finish *in = &limits->finish;
    for (int32_t i = 0; in->pools && i < in->count; i++)
        if (in->pools[i].lead == i && hdpi_limits_left(limits, i, items) < 0)
            return 0;
    return 1;
}

int64_t hdpi_limits_memory(const struct hdpi_limits *limits,
                           const hdp_split_options *options, int32_t rank)
{
    const struct hdpi_finish *in = &limits->finish;
    if (in->pools && in->pools[rank].lead >= 0)
        return hdpi_items_in(limits->room[in->pools[rank].lead], options,
                             in->total);
    return hdpi_items_in(hdpi_room_of(&limits->profile->ranks[rank], options),
                         options, in->total);
}

/* ---- keep_all ------------------------------------------------------------ */

/* 1 when this rank may be asked to have a block: its ratio is not 0, and it
 * fits beside the minimums already set on its device. */
static int can_keep(struct hdpi_limits *out, const hdp_split_options *options,
                    int32_t i)
{
    const struct hdpi_finish *in = &out->finish;
    int64_t quantum = hdpi_limits_quantum(out, i);
    int64_t block = quantum < in->total ? quantum : in->total;

    if (hdpi_high(in, i) < block)
        return 0;
    if (options->rule == HDP_RULE_MANUAL && options->ratios[i] <= 0)
        return 0;
    if (!in->pools || in->pools[i].lead < 0)
        return 1;
    int64_t before = out->low[i];
    out->low[i] = before > block ? before : block;
    int fits = hdpi_limits_left(out, in->pools[i].lead, out->low) >= 0;
    out->low[i] = before;
    return fits;
}

/* Nobody is left without items: a block for each while there are enough, else
 * no second one for anybody. */
static void keep_all(struct hdpi_limits *out, const hdp_split_options *options)
{
    struct hdpi_finish *in = &out->finish;
    int64_t left = in->total;
    int32_t last = -1; /* it may have less than a block */

    hdpi_limits_raise(out, 0, hdpi_low(in, 0));
    for (int32_t i = 0; i < in->count; i++)
        if (out->low[i] > 0 || can_keep(out, options, i))
            last = i;
    for (int32_t i = 0; i <= last && left >= 0; i++) {
        int64_t quantum = hdpi_limits_quantum(out, i), pad = 0;
        int64_t least = out->low[i];
        if (least == 0 && can_keep(out, options, i))
            least = 1;
        if (i < last && least % quantum > 0)
            pad = quantum - least % quantum;
        left = pad > left - least ? -1 : left - least - pad;
    }
    for (int32_t i = 0; i < in->count; i++) {
        if (left < 0 && out->low[i] == 0)
            hdpi_limits_cap(out, i, hdpi_limits_quantum(out, i));
        else if (out->low[i] == 0 && can_keep(out, options, i))
            out->low[i] = 1;
    }
}

/* ---- the door ------------------------------------------------------------ */

static hdp_status place_arrays(struct hdpi_limits *out, int32_t count)
{
    const size_t each = sizeof(struct hdpi_line) + 4 * sizeof(int64_t) +
                        sizeof(struct hdpi_pool);
    size_t n = (size_t)count;

    out->lines = out->own.lines;
    out->low = out->own.low;
    out->high = out->own.high;
    out->room = out->own.room;
    out->quanta = out->own.quanta;
    out->pools = out->own.pools;
    if (count <= HDPI_LIMITS_INLINE)
        return HDP_OK;
    out->heap = hdpi_alloc(n, each, "a split");
    if (!out->heap)
        return HDP_ERR_MEMORY;
    out->lines = out->heap;
    out->low = (int64_t *)(void *)(out->lines + n);
    out->high = out->low + n;
    out->room = out->high + n;
    out->quanta = out->room + n;
    out->pools = (struct hdpi_pool *)(void *)(out->quanta + n);
    return HDP_OK;
}

/* The caller's quantum, or what the curves want. Partitions of one memory have
 * one quantum, so that what they hold together can be counted in blocks. */
static void take_quantum(struct hdpi_limits *out, int64_t asked)
{
    struct hdpi_finish *in = &out->finish;
    int64_t least = INT64_MAX, most = 1;

    in->quantum = asked > 0 ? asked : 1;
    if (asked >= 0)
        return;
    for (int32_t i = 0; i < in->count; i++) {
        const struct hdpi_rank_profile *rank = &out->profile->ranks[i];
        out->quanta[i] = 0;
        if (rank->lacks_dtype)
            continue;
        int64_t quantum = hdpi_quantum_of(rank);
        out->quanta[i] = quantum;
        least = quantum < least ? quantum : least;
        most = quantum > most ? quantum : most;
    }
    in->quantum = most;
    if (least >= most || in->pools)
        return;
    in->quanta = out->quanta;
    for (int32_t i = 0; i < in->count; i++)
        if (out->quanta[i] == 0)
            out->quanta[i] = 1; /* it has no items to divide */
}

hdp_status hdpi_limits_init(struct hdpi_limits *out, const hdp_profile *profile,
                            int64_t total, const hdp_split_options *options)
{
    int32_t count = profile->info.member_count;

    out->heap = out->lane_heap = NULL;
    out->profile = profile;
    out->finish = (struct hdpi_finish){ .count = count,
                                        .total = total,
                                        .quantum = 1,
                                        .scale = 1,
                                        .fixed_bytes = options->fixed_bytes,
                                        .item_bytes = options->item_bytes };
    HDPI_RETURN_IF(check_options(total, options, count));
    HDPI_RETURN_IF(place_arrays(out, count));
    out->finish.room = out->room;
    if (!take_lines(out, options))
        HDPI_RETURN_IF(take_lanes(out, options));
    if (may_limit(options) || out->lacking > 0)
        HDPI_RETURN_IF(limit_ranks(out, options));
    HDPI_RETURN_IF(hdpi_pools_link(out, options));
    hdpi_pools_fill(out, options);
    take_quantum(out, options->quantum);
    if (options->keep_all)
        keep_all(out, options);
    return HDP_OK;
}

void hdpi_limits_finish(struct hdpi_limits *limits)
{
    free(limits->lane_heap);
    free(limits->heap);
    limits->heap = limits->lane_heap = NULL;
}
