/* A split: limits from the options, shares by the rule, then the whole plan:
 * what each rank is predicted to take and what it is compared with. */
#include <string.h>
#include "core/bench.h"
#include "core/limits.h"
#include "core/plan.h"
#include "core/reasons.h"
#include "core/rules.h"

/* ---- times --------------------------------------------------------------- */

struct split {
    const hdp_split_options *options;
    struct hdpi_limits limits;
    hdp_plan *plan;
    double ring_ns;   /* the reduce of a step over all ranks */
    int benches;      /* ranks without items are out of the reduce */
    double level;     /* see hdpi_finish() */
    double lower_ns;  /* least time of a step, its ring included */
    double equal_ns;  /* likewise for equal shares; -1: impossible */
    double single_ns; /* of the best rank alone, without a ring */
    int32_t single;   /* that rank, -1: none */
};

static int64_t whole_ns(double ns)
{
    return ns < 9.2e18 ? (int64_t)(ns + 0.5) : INT64_MAX;
}

static double time_of(const struct split *split, int32_t i, int64_t items)
{
    return hdpi_finish_end(&split->limits.finish, i, items);
}

/* The reduce of a step with these shares. */
static double ring_of(const struct split *split, const int64_t *items)
{
    if (!split->benches)
        return split->ring_ns;
    return hdpi_ring_ns(split->limits.profile, split->options->reduce_bytes,
                        items);
}

/* ---- the rules ----------------------------------------------------------- */

static hdp_status fail_capacity(const struct hdpi_finish *in)
{
    int64_t largest = hdpi_finish_capacity(in);

    if (largest >= in->total)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "%lld items cannot be divided so that every minimum "
                         "is met in multiples of %s%lld",
                         (long long)in->total, in->quanta ? "up to " : "",
                         (long long)in->quantum);
    hdpi_fail(HDP_ERR_CAPACITY,
              "%lld items do not fit: the ranks hold %lld at most",
              (long long)in->total, (long long)largest);
    hdpi_error()->largest_total = largest;
    return HDP_ERR_CAPACITY;
}

/* Shares of every rank that differ by one multiple at most: what is called
 * equal when it is compared with. */
static int are_equal(const struct hdpi_finish *in, const int64_t *items)
{
    int64_t least = INT64_MAX, most = 0;

    for (int32_t i = 0; i < in->count; i++) {
        least = items[i] < least ? items[i] : least;
        most = items[i] > most ? items[i] : most;
    }
    return most - least <= in->quantum;
}

/* The finish time of ranks that are all alike, which is as even as the limits
 * allow. */
static int divide_alike(const struct hdpi_finish *in, double enough,
                        int64_t *items)
{
    struct hdpi_finish alike = *in;

    alike.lanes = NULL;
    alike.lines = NULL;
    alike.enough_ns = enough; /* one has it all: the unit is an item */
    alike.items = items;
    return hdpi_finish(&alike, NULL);
}

/* Equal shares where nothing limits them: those before `more` have a block more
 * than the others, one has the rest. */
struct even {
    int64_t each, more; /* blocks */
    int64_t rest;       /* items */
    int32_t last;       /* bears the rest, the last of all with items */
};

static struct even divide_evenly(const struct hdpi_finish *in)
{
    int64_t blocks = in->total / in->quantum;
    struct even even = { .each = blocks / in->count,
                         .more = blocks % in->count,
                         .rest = in->total % in->quantum,
                         .last = in->count - 1 };

    if (even.each == 0 && even.rest > 0)
        even.last = (int32_t)even.more;
    return even;
}

static int64_t even_items(const struct even *even, int64_t quantum, int32_t i)
{
    return (even->each + (i < even->more)) * quantum +
           (i == even->last ? even->rest : 0);
}

/* Fills the offsets, free until the plan is sealed. The rest of the quantum
 * goes to the first rank with which all is held, which may leave later ones
 * nothing; where it can lie on the last of all, that is more even. */
static int divide_within_limits(struct split *split)
{
    struct hdpi_limits *limits = &split->limits;
    int64_t *equal = split->plan->offsets, *other = split->plan->predicted_ns;
    struct hdpi_finish *in = &limits->finish;
    int32_t end = in->count - 1;
    const int64_t *low = in->low;

    if (!divide_alike(in, split->single >= 0 ? (double)in->total : 0, equal))
        return 0;
    split->equal_ns = are_equal(in, equal) ? 0 : -1;
    if (split->equal_ns < 0 && equal[end] == 0) {
        hdpi_limits_raise(limits, end, 1); /* it had no minimum */
        if (divide_alike(in, 0, other) && are_equal(in, other)) {
            memcpy(equal, other, (size_t)in->count * sizeof *equal);
            split->equal_ns = 0;
        }
        hdpi_limits_raise(limits, end, 0);
        in->low = low;
    }
    if (split->equal_ns >= 0)
        split->equal_ns = hdpi_finish_time(in, equal) + ring_of(split, equal);
    return 1;
}

/* Equal shares and their time; the shares themselves are kept, in the offsets,
 * only where a rule asks for them. */
static int divide_equally(struct split *split)
{
    /* above it a double does not tell neighbours apart, nor does the search */
    const int64_t exact = INT64_C(1) << 52;
    const struct hdpi_finish *in = &split->limits.finish;
    int kept = split->benches || split->options->rule == HDP_RULE_EQUAL;
    double latest = 0;

    if (in->low || in->high || in->pools || in->quanta)
        return divide_within_limits(split);
    const struct even even = divide_evenly(in);
    if (even.rest > 0 && even.each >= exact / in->quantum)
        return divide_within_limits(split);
    for (int32_t i = 0; i < in->count; i++) {
        int64_t items = even_items(&even, in->quantum, i);
        double ns = time_of(split, i, items);
        latest = ns > latest ? ns : latest;
        if (kept)
            split->plan->offsets[i] = items;
    }
    split->equal_ns = latest;
    split->equal_ns +=
        kept ? ring_of(split, split->plan->offsets) : split->ring_ns;
    return 1;
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
        int64_t high = hdpi_high(in, i);
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
        int64_t high = hdpi_high(in, i);
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
        weights[i] = manual
                         ? ratios[i]
                         : hdpi_profile_rate(&split->limits.profile->ranks[i]);
        largest = weights[i] > largest ? weights[i] : largest;
        if (weights[i] > 0)
            continue;
        hdpi_limits_cap(&split->limits, i, 0);
        hdpi_limits_free(&split->limits, i);
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
    if (!in->quanta && hdpi_apportion(in, split->plan->weights) &&
        hdpi_limits_fit(&split->limits, in->items))
        return HDP_OK;
    fill_weights(split);
    struct hdpi_finish by_weights = *in;
    by_weights.lanes = NULL;
    by_weights.lines = NULL;
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

/* ---- the whole ----------------------------------------------------------- */

/* When the last share ends: as was searched, where neither a minimum nor the
 * rest may have ended later. */
static double latest_end(const struct split *split)
{
    const struct hdpi_finish *in = &split->limits.finish;

    if (split->options->rule == HDP_RULE_FINISH && !split->benches &&
        !in->low && !in->quanta && in->total % in->quantum == 0)
        return split->level;
    return hdpi_finish_time(in, split->plan->items);
}

/* A rank's part of the plan beside its items. */
static void fill_ranks(const struct split *split, double latest)
{
    const hdp_plan *plan = split->plan;
    int32_t idle = split->benches ? HDP_BENCHED : HDP_EMPTY;
    const struct hdpi_reasons reasons = { .options = split->options,
                                          .limits = &split->limits,
                                          .items = plan->items,
                                          .level = split->level,
                                          .latest = latest,
                                          .benches = split->benches };

    for (int32_t i = 0; i < plan->info.rank_count; i++) {
        int64_t items = plan->items[i];
        plan->predicted_ns[i] = whole_ns(time_of(split, i, items));
        plan->quanta[i] = hdpi_limits_quantum(&split->limits, i);
        plan->state[i] = items > 0 ? HDP_ACTIVE : idle;
    }
    hdpi_reasons_fill(&reasons, plan->bound_by);
}

static hdp_status fill(struct split *split)
{
    hdp_plan *plan = split->plan;
    hdp_plan_info *info = &plan->info;

    HDPI_RETURN_IF(hdpi_plan_seal(plan));
    const double latest = latest_end(split);
    fill_ranks(split, latest);
    double step_ns = latest + ring_of(split, plan->items);
    if (split->lower_ns < 0)
        split->lower_ns = step_ns;
    info->step_ns = whole_ns(step_ns);
    info->lower_bound_ns = whole_ns(split->lower_ns);
    info->equal_ns = split->equal_ns < 0 ? -1 : whole_ns(split->equal_ns);
    info->best_single_ns =
        split->single < 0 ? -1
                          : whole_ns(split->single_ns +
                                     (split->benches ? 0 : split->ring_ns));
    if (step_ns > split->lower_ns)
        info->gap = (step_ns - split->lower_ns) / split->lower_ns;
    return HDP_OK;
}

/* Nothing to divide: nobody has items and no time passes. */
static hdp_status fill_nothing(struct split *split)
{
    hdp_plan *plan = split->plan;

    for (int32_t i = 0; i < plan->info.rank_count; i++) {
        plan->quanta[i] = hdpi_limits_quantum(&split->limits, i);
        plan->state[i] = HDP_EMPTY;
        if (split->limits.profile->ranks[i].lacks_dtype)
            plan->bound_by[i] = HDP_BOUND_DTYPE;
    }
    return hdpi_plan_seal(plan);
}

/* Replaces the best shares of all ranks by those of the ranks that are worth
 * their place in the ring. */
static double improve_by_benching(struct split *split)
{
    hdp_plan *plan = split->plan;
    const struct hdpi_finish *in = &split->limits.finish;
    size_t bytes = (size_t)in->count * sizeof *plan->items;
    struct hdpi_bench bench = {
        .in = in,
        .profile = split->limits.profile,
        .reduce_bytes = split->options->reduce_bytes,
        .best = plan->items,
        .best_ns =
            hdpi_finish_time(in, plan->items) + ring_of(split, plan->items),
        .items = plan->predicted_ns, /* free until the plan is filled */
        .high = plan->quanta
    };

    if (split->single >= 0 && split->single_ns < bench.best_ns) {
        memset(plan->items, 0, bytes);
        plan->items[split->single] = in->total;
        bench.best_ns = split->single_ns;
    }
    hdpi_bench_improve(&bench);
    return bench.best_ns;
}

static hdp_status make(struct split *split)
{
    struct hdpi_finish *in = &split->limits.finish;

    in->items = split->plan->items;
    find_single(split);
    if (split->single >= 0)
        in->enough_ns = split->single_ns; /* they need not do more */
    if (!hdpi_finish(in, &split->level))
        return fail_capacity(in);
    if (split->benches)
        split->lower_ns = improve_by_benching(split);
    else if (split->options->rule == HDP_RULE_FINISH)
        split->lower_ns = -1; /* these shares stay: fill() times them */
    else
        split->lower_ns = hdpi_finish_time(in, in->items) + split->ring_ns;
    if (!divide_equally(split))
        return fail_capacity(in);
    HDPI_RETURN_IF(follow_rule(split));
    return fill(split);
}

/* A batch whose bytes nobody could count is none, whatever the ranks hold. */
static hdp_status check_bytes(const hdp_split_options *options, int64_t total)
{
    const int64_t bytes[] = { options->in_bytes, options->out_bytes };
    static const char *const names[] = { "in_bytes", "out_bytes" };

    for (int i = 0; i < 2; i++) {
        if (bytes[i] == 0 || total <= INT64_MAX / bytes[i])
            continue;
        hdpi_fail(HDP_ERR_CAPACITY,
                  "%s: %lld items of %lld bytes are 2^63 bytes or more",
                  names[i], (long long)total, (long long)bytes[i]);
        hdpi_error()->largest_total = INT64_MAX / bytes[i];
        return HDP_ERR_CAPACITY;
    }
    return HDP_OK;
}

hdp_status hdpi_plan_split_into(hdp_plan *plan, const hdp_profile *profile,
                                int64_t total, const hdp_split_options *options)
{
    struct split split;
    hdp_status status = HDP_OK;

    split.options = options;
    split.plan = plan;
    HDPI_TRY(hdpi_limits_init(&split.limits, profile, total, options));
    split.ring_ns = hdpi_ring_ns(profile, options->reduce_bytes, NULL);
    split.benches = options->may_bench && split.ring_ns > 0;
    plan->info.fingerprint = profile->info.fingerprint;
    plan->info.rule = options->rule;
    plan->info.quantum =
        split.limits.finish.quanta ? 0 : split.limits.finish.quantum;
    HDPI_TRY(total == 0 ? fill_nothing(&split) : make(&split));
    HDPI_TRY(check_bytes(options, total));
out:
    hdpi_limits_finish(&split.limits);
    return status;
}

hdp_status hdpi_plan_split(hdp_plan **out, const hdp_profile *profile,
                           int64_t total, const hdp_split_options *options)
{
    hdp_plan *plan = NULL;
    hdp_status status = HDP_OK;

    *out = NULL;
    HDPI_TRY(hdpi_plan_new(&plan, profile->info.member_count));
    HDPI_TRY(hdpi_plan_split_into(plan, profile, total, options));
    *out = plan;
    plan = NULL;
out:
    hdpi_plan_free(plan);
    return status;
}
