/* A split: limits from the options, shares by the rule, then the whole plan:
 * what each rank is predicted to take, what it is compared with, and why no
 * share is larger. */
#include <float.h>
#include <stdlib.h>
#include "base/mem.h"
#include "core/limits.h"
#include "core/plan.h"
#include "core/rules.h"

/* ---- life ---------------------------------------------------------------- */

hdp_status hdpi_plan_new(hdp_plan **out, int32_t count)
{
    const size_t each =
        4 * sizeof(int64_t) + sizeof(double) + 2 * sizeof(int32_t);
    size_t n = count > 0 ? (size_t)count : 0;
    size_t heads = (sizeof(hdp_plan) + each - 1) / each;

    *out = NULL;
    if (count < 1)
        return hdpi_fail(HDP_ERR_ARGUMENT, "a plan of %d ranks", (int)count);
    hdp_plan *plan = hdpi_alloc(heads + n, each, "a plan");
    if (!plan)
        return HDP_ERR_MEMORY;
    hdpi_object_init(&plan->object, HDPI_PLAN);
    plan->items = (int64_t *)(void *)((char *)plan + heads * each);
    plan->offsets = plan->items + n;
    plan->predicted_ns = plan->offsets + n;
    plan->quanta = plan->predicted_ns + n;
    plan->weights = (double *)(void *)(plan->quanta + n);
    plan->bound_by = (int32_t *)(void *)(plan->weights + n);
    plan->state = plan->bound_by + n;
    plan->info = (hdp_plan_info){ .size = sizeof plan->info,
                                  .rank_count = count,
                                  .quanta = plan->quanta,
                                  .items = plan->items,
                                  .offsets = plan->offsets,
                                  .weights = plan->weights,
                                  .predicted_ns = plan->predicted_ns,
                                  .bound_by = plan->bound_by,
                                  .state = plan->state };
    *out = plan;
    return HDP_OK;
}

void hdpi_plan_free(hdp_plan *plan)
{
    free(plan);
}

/* FNV-1a over whole counts instead of bytes, the last bits mixed once more. */
static uint64_t hash_of(const int64_t *items, int32_t count)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (int32_t i = 0; i < count; i++) {
        hash = (hash ^ (uint64_t)items[i]) * UINT64_C(1099511628211);
        hash ^= hash >> 32;
    }
    hash = (hash ^ (uint64_t)(uint32_t)count) * UINT64_C(1099511628211);
    return hash ^ (hash >> 29);
}

hdp_status hdpi_plan_seal(hdp_plan *plan)
{
    int32_t count = plan->info.rank_count;
    int64_t total = 0;

    for (int32_t i = 0; i < count; i++) {
        if (plan->items[i] < 0)
            return hdpi_fail_member(HDP_ERR_ARGUMENT, -1, i,
                                    "rank %d: %lld items, below 0", (int)i,
                                    (long long)plan->items[i]);
        if (plan->items[i] > INT64_MAX - total)
            return hdpi_fail_member(HDP_ERR_ARGUMENT, -1, i,
                                    "rank %d: the sum of the items up to it "
                                    "passes 2^63 - 1",
                                    (int)i);
        plan->offsets[i] = total;
        total += plan->items[i];
    }
    for (int32_t i = 0; i < count; i++)
        plan->weights[i] =
            total > 0 ? (double)plan->items[i] / (double)total : 0;
    plan->info.total = total;
    plan->info.hash = hash_of(plan->items, count);
    return HDP_OK;
}

int hdpi_plan_is_valid(const hdp_plan *plan)
{
    if (!plan || plan->object.tag != HDPI_PLAN || plan->info.rank_count < 1 ||
        plan->info.quantum < 0)
        return 0;
    int64_t total = 0;
    for (int32_t i = 0; i < plan->info.rank_count; i++) {
        int64_t items = plan->items[i];
        int active = plan->state[i] == HDP_ACTIVE;
        if (items < 0 || items > INT64_MAX - total || active != (items > 0) ||
            plan->offsets[i] != total || plan->quanta[i] < 1 ||
            plan->predicted_ns[i] < -1 || plan->bound_by[i] < HDP_BOUND_SPEED ||
            plan->bound_by[i] > HDP_BOUND_DROPPED ||
            plan->state[i] < HDP_ACTIVE || plan->state[i] > HDP_BENCHED)
            return 0;
        total += items;
    }
    return total == plan->info.total &&
           plan->info.hash == hash_of(plan->items, plan->info.rank_count);
}

/* ---- times --------------------------------------------------------------- */

struct split {
    const hdp_split_options *options;
    struct hdpi_limits limits;
    hdp_plan *plan;
    double ring_ns;  /* the reduce of a step */
    double level;    /* see hdpi_finish() */
    double lower_ns; /* least time of the slowest rank, without the ring */
    double single_ns;
    int32_t single; /* best rank alone, -1: none */
};

static int64_t whole_ns(double ns)
{
    return ns < 9.2e18 ? (int64_t)(ns + 0.5) : INT64_MAX;
}

/* A ring over all ranks moves 2(n - 1)/n of the bytes over every link. */
static double ring_ns(const hdp_profile *profile,
                      const hdp_split_options *options)
{
    int32_t count = profile->info.member_count;
    double slowest = 0;

    if (options->reduce_bytes == 0 || count < 2)
        return 0;
    for (int32_t i = 0; i < count; i++) {
        double link = profile->ranks[i].reduce_bytes_per_second;
        if (link > 0 && (slowest <= 0 || link < slowest))
            slowest = link;
    }
    if (slowest <= 0)
        return 0;
    double bytes = (double)options->reduce_bytes * 2 * (count - 1) / count;
    return bytes / slowest * 1e9;
}

static double time_of(const struct split *split, int32_t i, int64_t items)
{
    struct hdpi_lane lane;
    hdpi_finish_lane(&lane, &split->limits.finish, i);
    return hdpi_lane_time(&lane, items);
}

/* ---- the rules ----------------------------------------------------------- */

static hdp_status fail_capacity(const struct hdpi_finish *in)
{
    int64_t largest = hdpi_finish_capacity(in);

    if (largest >= in->total)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "%lld items cannot be divided so that every minimum "
                         "is met in multiples of %lld",
                         (long long)in->total, (long long)in->quantum);
    hdpi_fail(HDP_ERR_CAPACITY,
              "%lld items do not fit: the ranks hold %lld at most",
              (long long)in->total, (long long)largest);
    hdpi_error()->largest_total = largest;
    return HDP_ERR_CAPACITY;
}

/* As even as the limits allow: the finish time of ranks that are all alike,
 * which needs no search where nothing limits it. */
static int divide_equally(const struct split *split, int64_t *items)
{
    struct hdpi_finish alike = split->limits.finish;
    int64_t blocks = alike.total / alike.quantum;

    if (!alike.low && !alike.high && !alike.pools &&
        alike.total % alike.quantum == 0) {
        int64_t each = blocks / alike.count, more = blocks % alike.count;
        for (int32_t i = 0; i < alike.count; i++)
            items[i] = (each + (i < more)) * alike.quantum;
        return 1;
    }
    alike.ranks = NULL;
    alike.enough_ns = split->single >= 0 ? (double)alike.total : 0;
    alike.items = items;
    return hdpi_finish(&alike, NULL);
}

static void find_single(struct split *split)
{
    const struct hdpi_finish *in = &split->limits.finish;
    int32_t bound = 0, owner = -1; /* ranks that must have items */

    split->single = -1;
    split->single_ns = -1;
    for (int32_t i = 0; in->low && i < in->count; i++)
        if (in->low[i] > 0) {
            bound++;
            owner = i;
        }
    for (int32_t i = 0; i < in->count; i++) {
        int64_t high = in->high ? in->high[i] : in->total;
        if (high < in->total || bound > 1 || (bound == 1 && owner != i))
            continue;
        double ns = time_of(split, i, in->total);
        if (split->single < 0 || ns < split->single_ns) {
            split->single = i;
            split->single_ns = ns;
        }
    }
}

static hdp_status give_single(const struct split *split)
{
    const struct hdpi_finish *in = &split->limits.finish;
    int64_t largest = 0;

    for (int32_t i = 0; i < in->count; i++) {
        int64_t high = in->high ? in->high[i] : in->total;
        largest = high > largest ? high : largest;
        split->plan->items[i] = i == split->single ? in->total : 0;
    }
    if (split->single >= 0)
        return HDP_OK;
    if (largest == in->total)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "a single rank cannot have all %lld items: other "
                         "ranks have minimums",
                         (long long)in->total);
    hdpi_fail(HDP_ERR_CAPACITY,
              "no rank holds all %lld items; the largest holds %lld",
              (long long)in->total, (long long)largest);
    hdpi_error()->largest_total = largest;
    return HDP_ERR_CAPACITY;
}

/* The weights of a rule, the largest of them 1: throughput, or the caller's
 * ratios. A rank whose ratio is 0 may have nothing. */
static void fill_weights(struct split *split)
{
    struct hdpi_finish *in = &split->limits.finish;
    const double *ratios = split->options->ratios;
    double *weights = split->plan->weights, largest = 0;
    int manual = split->options->rule == HDP_RULE_MANUAL;

    for (int32_t i = 0; i < in->count; i++) {
        weights[i] = manual ? ratios[i] : hdpi_profile_rate(&in->ranks[i]);
        largest = weights[i] > largest ? weights[i] : largest;
        if (weights[i] > 0)
            continue;
        split->limits.high[i] = split->limits.low[i] = 0;
        in->high = split->limits.high;
    }
    for (int32_t i = 0; i < in->count && largest > 0; i++)
        weights[i] /= largest;
}

/* Where memory that ranks share binds, or a minimum and the remainder clash,
 * largest remainder has no answer: then the finish time of ranks with these
 * weights as speeds, which is as near as the limits allow. */
static hdp_status divide_by_weights(struct split *split)
{
    struct hdpi_finish *in = &split->limits.finish;

    fill_weights(split);
    if (hdpi_apportion(in, split->plan->weights) &&
        hdpi_limits_fit(&split->limits, in->items))
        return HDP_OK;
    fill_weights(split);
    struct hdpi_finish by_weights = *in;
    by_weights.ranks = NULL;
    by_weights.rates = split->plan->weights;
    by_weights.enough_ns = 0;
    if (hdpi_finish(&by_weights, NULL))
        return HDP_OK;
    return fail_capacity(in);
}

static hdp_status follow_rule(struct split *split)
{
    hdp_plan *plan = split->plan;

    switch (split->options->rule) {
    case HDP_RULE_PROPORTIONAL:
    case HDP_RULE_MANUAL:
        return divide_by_weights(split);
    case HDP_RULE_EQUAL:
        for (int32_t i = 0; i < plan->info.rank_count; i++)
            plan->items[i] = plan->offsets[i];
        return HDP_OK;
    case HDP_RULE_SINGLE:
        return give_single(split);
    default:
        return HDP_OK; /* the shares of the finish time are there */
    }
}

/* ---- why ----------------------------------------------------------------- */

static int is_over_link(const struct split *split, int32_t i, int64_t items)
{
    struct hdpi_lane lane;
    hdpi_finish_lane(&lane, &split->limits.finish, i);
    double in = lane.in_ns * (double)items, out = lane.out_ns * (double)items;
    double copy = !lane.overlap ? in + out : in > out ? in : out;
    return copy > hdpi_profile_time(lane.rank, items);
}

static int is_memory_full(const struct split *split, int32_t i, int64_t items)
{
    const struct hdpi_limits *limits = &split->limits;
    const struct hdpi_finish *in = &limits->finish;
    int64_t more = in->quantum;

    if (items > hdpi_limits_memory(limits, split->options, i) - more)
        return 1;
    if (!in->pools || in->pools[i].lead < 0 || in->item_bytes == 0)
        return 0;
    int64_t left =
        hdpi_limits_left(limits, in->pools[i].lead, split->plan->items);
    if (left == INT64_MAX)
        return 0;
    if (items == 0)
        left -= in->fixed_bytes;
    return left / in->item_bytes < more || left < 0;
}

/* What kept rank i from a larger share, when the step takes `latest`. */
static int32_t bound_of(const struct split *split, int32_t i, double latest)
{
    const struct hdpi_finish *in = &split->limits.finish;
    const hdp_split_options *options = split->options;
    int64_t items = split->plan->items[i], quantum = in->quantum;
    int64_t max = options->max_items ? options->max_items[i] : -1;

    if (in->ranks[i].lacks_dtype)
        return HDP_BOUND_DTYPE;
    if (in->low && in->low[i] > 0 && items - in->low[i] < quantum &&
        (options->rule != HDP_RULE_FINISH ||
         time_of(split, i, items) > split->level))
        return HDP_BOUND_MIN;
    int limited = items > in->total - quantum; /* there was no more to give */
    int full = is_memory_full(split, i, items);
    int at_max = max >= 0 && items > max - quantum;
    if (!limited && (full || at_max) &&
        time_of(split, i, items + quantum) <= latest)
        return full ? HDP_BOUND_MEMORY : HDP_BOUND_MAX;
    if (items == 0) {
        int64_t least = quantum < in->total ? quantum : in->total;
        int slow = time_of(split, i, least) > latest;
        if (hdpi_limits_memory(&split->limits, options, i) == 0)
            return HDP_BOUND_MEMORY;
        if (max == 0)
            return HDP_BOUND_MAX;
        return slow ? HDP_BOUND_DROPPED : HDP_BOUND_SPEED;
    }
    if (is_over_link(split, i, items))
        return HDP_BOUND_LINK;
    if (quantum > 1 && !limited && time_of(split, i, items + 1) <= latest &&
        time_of(split, i, items + quantum) > latest)
        return HDP_BOUND_QUANTUM;
    return HDP_BOUND_SPEED;
}

/* ---- the whole ----------------------------------------------------------- */

static hdp_status fill(struct split *split, double equal_ns)
{
    hdp_plan *plan = split->plan;
    hdp_plan_info *info = &plan->info;
    const struct hdpi_finish *in = &split->limits.finish;
    double ring = split->ring_ns, latest = 0;

    HDPI_RETURN_IF(hdpi_plan_seal(plan));
    for (int32_t i = 0; i < in->count; i++) {
        double ns = time_of(split, i, plan->items[i]);
        latest = ns > latest ? ns : latest;
        plan->predicted_ns[i] = whole_ns(ns);
        plan->quanta[i] = in->quantum;
        plan->state[i] = plan->items[i] > 0 ? HDP_ACTIVE : HDP_EMPTY;
    }
    for (int32_t i = 0; i < in->count; i++)
        plan->bound_by[i] = bound_of(split, i, latest);
    if (split->lower_ns < 0)
        split->lower_ns = latest;
    info->rule = split->options->rule;
    info->quantum = in->quantum;
    info->step_ns = whole_ns(latest + ring);
    info->lower_bound_ns = whole_ns(split->lower_ns + ring);
    info->equal_ns = whole_ns(equal_ns + ring);
    info->best_single_ns =
        split->single < 0 ? -1 : whole_ns(split->single_ns + ring);
    if (latest > split->lower_ns)
        info->gap = (latest - split->lower_ns) / (split->lower_ns + ring);
    return HDP_OK;
}

/* Nothing to divide: nobody has items and no time passes. */
static void fill_nothing(struct split *split)
{
    hdp_plan *plan = split->plan;
    const struct hdpi_finish *in = &split->limits.finish;

    for (int32_t i = 0; i < in->count; i++) {
        plan->quanta[i] = in->quantum;
        plan->state[i] = HDP_EMPTY;
        if (in->ranks[i].lacks_dtype)
            plan->bound_by[i] = HDP_BOUND_DTYPE;
    }
    plan->info.rule = split->options->rule;
    plan->info.quantum = in->quantum;
    plan->info.hash = hash_of(plan->items, in->count);
}

static hdp_status make(struct split *split)
{
    struct hdpi_finish *in = &split->limits.finish;

    if (in->total == 0) {
        fill_nothing(split);
        return HDP_OK;
    }
    in->items = split->plan->items;
    find_single(split);
    if (split->single >= 0)
        in->enough_ns = split->single_ns; /* they need not do more */
    if (!hdpi_finish(in, &split->level))
        return fail_capacity(in);
    split->lower_ns = split->options->rule == HDP_RULE_FINISH
                          ? -1 /* these shares stay: fill() times them */
                          : hdpi_finish_time(in, in->items);
    /* offsets are free until the plan is sealed */
    if (!divide_equally(split, split->plan->offsets))
        return fail_capacity(in);
    double equal_ns = hdpi_finish_time(in, split->plan->offsets);
    HDPI_RETURN_IF(follow_rule(split));
    return fill(split, equal_ns);
}

hdp_status hdpi_plan_split(hdp_plan **out, const hdp_profile *profile,
                           int64_t total, const hdp_split_options *options)
{
    struct split split;
    hdp_status status = HDP_OK;

    *out = NULL;
    split.options = options;
    split.plan = NULL;
    split.ring_ns = ring_ns(profile, options);
    HDPI_TRY(hdpi_limits_init(&split.limits, profile, total, options));
    HDPI_TRY(hdpi_plan_new(&split.plan, profile->info.member_count));
    split.plan->info.fingerprint = profile->info.fingerprint;
    HDPI_TRY(make(&split));
    *out = split.plan;
    split.plan = NULL;
out:
    hdpi_plan_free(split.plan);
    hdpi_limits_finish(&split.limits);
    return status;
}
