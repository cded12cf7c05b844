/* Options of a split turned into limits that the search can use. Everything a
 * caller can get wrong is refused here, with the rank. */
#include <stdlib.h>
#include "base/mem.h"
#include "core/limits.h"

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
    if (options->quantum == -1)
        return hdpi_fail(HDP_ERR_UNSUPPORTED,
                         "a quantum chosen from the curves (-1) is not in this "
                         "version: give a number");
    if (options->quantum < 0)
        return hdpi_fail(HDP_ERR_ARGUMENT, "quantum is %lld",
                         (long long)options->quantum);
    if (options->may_bench)
        return hdpi_fail(HDP_ERR_UNSUPPORTED,
                         "may_bench: leaving ranks out of the reduce is not in "
                         "this version");
    if (options->rule == HDP_RULE_MANUAL)
        return check_ratios(options->ratios, count);
    return HDP_OK;
}

/* ---- one rank ------------------------------------------------------------ */

/* Bytes for the work; INT64_MAX when memory is no limit, below 0 when the
 * margin alone is too much. */
static int64_t room_of(const struct hdpi_rank_profile *rank,
                       const hdp_split_options *options)
{
    if (rank->memory_bytes == 0 ||
        (options->item_bytes == 0 && options->fixed_bytes == 0))
        return INT64_MAX;
    return rank->memory_bytes - options->keep_free_bytes;
}

/* Items beside one replica in so many bytes. */
static int64_t items_in(int64_t bytes, const hdp_split_options *options,
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

static hdp_status limit_rank(struct hdpi_limits *out,
                             const hdp_profile *profile,
                             const hdp_split_options *options, int32_t i)
{
    const struct hdpi_rank_profile *rank = &profile->ranks[i];
    int64_t total = out->finish.total;
    int64_t low = options->min_items ? options->min_items[i] : 0;
    int64_t max = options->max_items ? options->max_items[i] : -1;

    HDPI_RETURN_IF(check_range(options, i, low, max));
    int64_t memory = items_in(room_of(rank, options), options, total);
    out->low[i] = low;
    out->high[i] = max >= 0 && max < total ? max : total;
    if (rank->lacks_dtype) {
        out->high[i] = 0;
        if (low > 0)
            return hdpi_fail_member(
                HDP_ERR_ARGUMENT, -1, i,
                "rank %d: min_items %lld, but it lacks the dtype", (int)i,
                (long long)low);
    }
    if (low <= total && low > memory) {
        hdpi_fail_member(HDP_ERR_CAPACITY, -1, i,
                         "rank %d: min_items %lld, but its memory holds %lld",
                         (int)i, (long long)low, (long long)memory);
        hdpi_error()->largest_total = 0;
        return HDP_ERR_CAPACITY;
    }
    if (memory < out->high[i])
        out->high[i] = memory;
    return HDP_OK;
}

static hdp_status limit_ranks(struct hdpi_limits *out,
                              const hdp_profile *profile,
                              const hdp_split_options *options)
{
    int64_t total = out->finish.total, least = 0;

    for (int32_t i = 0; i < out->finish.count; i++) {
        HDPI_RETURN_IF(limit_rank(out, profile, options, i));
        if (out->low[i] > total - least)
            return hdpi_fail_member(
                HDP_ERR_ARGUMENT, -1, i,
                "rank %d: the minimums up to it add up to more than the total "
                "of %lld items",
                (int)i, (long long)total);
        least += out->low[i];
    }
    return HDP_OK;
}

/* ---- shared devices ------------------------------------------------------ */

struct domain {
    int32_t number, rank;
};

static int by_number(const void *a, const void *b)
{
    const struct domain *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* `domains` in order of number, then rank: links neighbours of one number. */
static int link_pools(struct hdpi_limits *out, const struct domain *domains,
                      int32_t count)
{
    int any = 0;
    for (int32_t k = 0; k < count; k++) {
        struct hdpi_pool *pool = &out->pools[domains[k].rank];
        int follows = k > 0 && domains[k].number == domains[k - 1].number;
        int leads = k + 1 < count && domains[k].number == domains[k + 1].number;
        pool->lead = -1;
        pool->next = leads ? domains[k + 1].rank : -1;
        if (follows)
            pool->lead = out->pools[domains[k - 1].rank].lead;
        else if (leads)
            pool->lead = domains[k].rank;
        any |= leads;
    }
    return any;
}

/* Insertion for a few, where qsort() might allocate. */
static void sort_domains(struct domain *domains, int32_t count)
{
    if (count > HDPI_LIMITS_INLINE) {
        qsort(domains, (size_t)count, sizeof *domains, by_number);
        return;
    }
    for (int32_t k = 1; k < count; k++) {
        struct domain moved = domains[k];
        int32_t at = k;
        for (; at > 0 && by_number(&domains[at - 1], &moved) > 0; at--)
            domains[at] = domains[at - 1];
        domains[at] = moved;
    }
}

static hdp_status make_pools(struct hdpi_limits *out,
                             const hdp_profile *profile,
                             const hdp_split_options *options)
{
    struct domain few[HDPI_LIMITS_INLINE], *domains = few;
    int32_t count = out->finish.count, shared = 0;

    for (int32_t i = 0; i < count; i++) {
        shared += profile->ranks[i].memory_domain != 0;
        out->pools[i] = (struct hdpi_pool){ -1, -1 };
    }
    if (shared < 2 || (options->item_bytes == 0 && options->fixed_bytes == 0))
        return HDP_OK;
    if (shared > HDPI_LIMITS_INLINE) {
        domains = hdpi_alloc((size_t)shared, sizeof *domains, "a split");
        if (!domains)
            return HDP_ERR_MEMORY;
    }
    int32_t k = 0;
    for (int32_t i = 0; i < count; i++)
        if (profile->ranks[i].memory_domain != 0)
            domains[k++] =
                (struct domain){ profile->ranks[i].memory_domain, i };
    sort_domains(domains, k);
    if (link_pools(out, domains, k))
        out->finish.pools = out->pools;
    if (domains != few)
        free(domains);
    return HDP_OK;
}

/* The smallest figure known is the device's; nobody fits more than it. One that
 * the margin alone fills has room for nobody, which is no reason to refuse. */
static void fill_rooms(struct hdpi_limits *out, const hdp_profile *profile,
                       const hdp_split_options *options)
{
    int64_t total = out->finish.total;

    for (int32_t lead = 0; lead < out->finish.count; lead++) {
        int64_t room = INT64_MAX;
        if (out->pools[lead].lead != lead)
            continue;
        for (int32_t i = lead; i >= 0; i = out->pools[i].next) {
            int64_t bytes = room_of(&profile->ranks[i], options);
            room = bytes < room ? bytes : room;
        }
        if (room < 0)
            room = 0;
        out->room[lead] = room;
        int64_t items = items_in(room, options, total);
        for (int32_t i = lead; i >= 0; i = out->pools[i].next)
            if (items < out->high[i])
                out->high[i] = items;
    }
}

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
        return items_in(limits->room[in->pools[rank].lead], options, in->total);
    return items_in(room_of(&in->ranks[rank], options), options, in->total);
}

/* ---- keep_all ------------------------------------------------------------ */

/* 1 when this rank may be asked to have a block: its ratio is not 0, and it
 * fits beside the minimums already set on its device. */
static int can_keep(struct hdpi_limits *out, const hdp_split_options *options,
                    int32_t i)
{
    const struct hdpi_finish *in = &out->finish;
    int64_t block = in->quantum < in->total ? in->quantum : in->total;

    if (out->high[i] < block)
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
    int64_t quantum = in->quantum, blocks = in->total / quantum;
    int64_t wanted = 0;

    blocks += in->total % quantum > 0;
    for (int32_t i = 0; i < in->count; i++) {
        if (out->low[i] == 0 && can_keep(out, options, i))
            wanted++;
        else
            wanted += out->low[i] > 0 ? (out->low[i] - 1) / quantum + 1 : 0;
        if (wanted > blocks)
            break;
    }
    for (int32_t i = 0; i < in->count; i++) {
        if (wanted <= blocks) {
            if (out->low[i] == 0 && can_keep(out, options, i))
                out->low[i] = 1;
        } else if (out->low[i] == 0 && out->high[i] > quantum) {
            out->high[i] = quantum;
        }
    }
}

/* ---- the door ------------------------------------------------------------ */

static hdp_status place_arrays(struct hdpi_limits *out, int32_t count)
{
    size_t n = (size_t)count;
    unsigned char *at;

    out->low = out->own.low;
    out->high = out->own.high;
    out->room = out->own.room;
    out->pools = out->own.pools;
    if (count <= HDPI_LIMITS_INLINE)
        return HDP_OK;
    at = hdpi_alloc(n, 3 * sizeof(int64_t) + sizeof(struct hdpi_pool),
                    "a split");
    if (!at)
        return HDP_ERR_MEMORY;
    out->heap = at;
    out->low = out->heap;
    out->high = out->low + n;
    out->room = out->high + n;
    out->pools = (struct hdpi_pool *)(void *)(out->room + n);
    return HDP_OK;
}

/* The search is spared what limits nothing. */
static void attach(struct hdpi_limits *out)
{
    struct hdpi_finish *in = &out->finish;
    for (int32_t i = 0; i < in->count; i++) {
        if (out->low[i] > 0)
            in->low = out->low;
        if (out->high[i] < in->total)
            in->high = out->high;
    }
    in->room = out->room;
}

hdp_status hdpi_limits_init(struct hdpi_limits *out, const hdp_profile *profile,
                            int64_t total, const hdp_split_options *options)
{
    int32_t count = profile->info.member_count;

    out->heap = NULL;
    out->finish =
        (struct hdpi_finish){ .count = count,
                              .total = total,
                              .quantum =
                                  options->quantum ? options->quantum : 1,
                              .ranks = profile->ranks,
                              .in_bytes = (double)options->in_bytes,
                              .out_bytes = (double)options->out_bytes,
                              .overlap = options->overlap != 0,
                              .scale = 1,
                              .fixed_bytes = options->fixed_bytes,
                              .item_bytes = options->item_bytes };
    HDPI_RETURN_IF(check_options(total, options, count));
    HDPI_RETURN_IF(place_arrays(out, count));
    HDPI_RETURN_IF(limit_ranks(out, profile, options));
    HDPI_RETURN_IF(make_pools(out, profile, options));
    fill_rooms(out, profile, options);
    if (options->keep_all)
        keep_all(out, options);
    attach(out);
    return HDP_OK;
}

void hdpi_limits_finish(struct hdpi_limits *limits)
{
    free(limits->heap);
    limits->heap = NULL;
}
