/* The balance as an object: curves times levels, the limits now obeyed, and
 * plans of any total by one frozen belief, so that shares come back with their
 * totals; only a move (balance_move.c) thaws it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "core/balance_inner.h"
#include "core/bench.h"
#include "core/limits.h"

/* ---- life ---------------------------------------------------------------- */

/* Options that are wrong for every batch are refused now: for the largest one
 * there can be, no minimum is too much. Whether a batch fits is asked with each
 * plan. */
static hdp_status try_options(const hdp_profile *profile,
                              const hdp_split_options *split)
{
    hdp_error before = *hdpi_error();
    struct hdpi_limits limits;
    hdp_status status = hdpi_limits_init(&limits, profile, INT64_MAX, split);

    hdpi_limits_finish(&limits);
    if (status != HDP_ERR_CAPACITY)
        return status;
    *hdpi_error() = before;
    return HDP_OK;
}

static hdp_status make_tables(struct hdpi_balance *balance,
                              const hdp_split_options *split)
{
    size_t count = (size_t)balance->count;

    balance->ranks = hdpi_alloc(count, sizeof *balance->ranks, "a balance");
    balance->min_items = hdpi_alloc(count, sizeof(int64_t), "limits");
    balance->max_items = hdpi_alloc(count, sizeof(int64_t), "limits");
    balance->firsts = hdpi_alloc(count, sizeof(int32_t), "a balance");
    if (split->ratios)
        balance->ratios = hdpi_alloc(count, sizeof(double), "ratios");
    if (!balance->ranks || !balance->min_items || !balance->max_items ||
        !balance->firsts || (split->ratios && !balance->ratios))
        return HDP_ERR_MEMORY;
    if (split->ratios)
        memcpy(balance->ratios, split->ratios, count * sizeof(double));
    balance->split = *split;
    balance->split.ratios = balance->ratios;
    return HDP_OK;
}

static void start(struct hdpi_balance *balance, const hdp_split_options *split)
{
    balance->scaled = balance->confirmed = 1;
    for (int32_t r = 0; r < balance->count; r++) {
        struct hdpi_balance_rank *at = &balance->ranks[r];
        const struct hdpi_rank_profile *curve = &balance->curves->ranks[r];
        struct hdpi_lane lane;
        hdpi_lane_of(&lane, curve, (double)split->in_bytes,
                     (double)split->out_bytes, split->overlap);
        hdpi_level_start(&at->level, curve->spread);
        at->factor = 1;
        at->copy_ns = lane.copy_ns;
        at->own_max = split->max_items ? split->max_items[r] : -1;
        at->own_min = split->min_items ? split->min_items[r] : 0;
        at->limit = -1;
        balance->limited |= at->own_max >= 0 || at->own_min > 0;
        if (curve->provenance != HDPI_FROM_STEPS)
            balance->scaled = balance->confirmed = 0;
    }
    balance->trying = -1;
}

hdp_status hdpi_balance_new(struct hdpi_balance **out,
                            const hdp_profile *profile,
                            const hdp_split_options *split)
{
    struct hdpi_balance *balance = NULL;
    hdp_status status;

    *out = NULL;
    HDPI_TRY(try_options(profile, split));
    balance = hdpi_alloc(1, sizeof *balance, "a balance");
    if (!balance) {
        status = HDP_ERR_MEMORY;
        goto out;
    }
    balance->count = profile->info.member_count;
    HDPI_TRY(hdpi_profile_copy(&balance->curves, profile));
    HDPI_TRY(hdpi_profile_copy(&balance->planned, profile));
    HDPI_TRY(hdpi_profile_copy(&balance->fresh, profile));
    HDPI_TRY(make_tables(balance, split));
    for (int i = 0; i < HDPI_BALANCE_SPARES; i++)
        HDPI_TRY(hdpi_plan_new(&balance->spares[i], balance->count));
    start(balance, split);
    *out = balance;
    balance = NULL;
out:
    hdpi_balance_free(balance);
    return status;
}

static void let_go(hdp_plan *plan)
{
    if (plan && hdpi_object_release(&plan->object, HDPI_PLAN))
        hdpi_plan_free(plan);
}

/* What the caller still holds may be used again once let go of. */
void hdpi_balance_drop(struct hdpi_balance *balance, hdp_plan **plan)
{
    hdp_plan *last = *plan;

    *plan = NULL;
    for (int i = 0; last && i < HDPI_BALANCE_SPARES; i++) {
        hdp_plan *before = balance->spares[i];
        balance->spares[i] = last;
        last = before;
    }
    let_go(last);
}

void hdpi_balance_free(struct hdpi_balance *balance)
{
    if (!balance)
        return;
    hdpi_balance_drop(balance, &balance->plan);
    hdpi_balance_drop(balance, &balance->attempt);
    for (int i = 0; i < HDPI_BALANCE_SPARES; i++)
        let_go(balance->spares[i]);
    hdpi_profile_free(balance->curves);
    hdpi_profile_free(balance->planned);
    hdpi_profile_free(balance->fresh);
    free(balance->ranks);
    free(balance->min_items);
    free(balance->max_items);
    free(balance->firsts);
    free(balance->ratios);
    free(balance);
}

/* ---- belief -------------------------------------------------------------- */

static double within(double ns)
{
    if (ns < HDPI_SHORTEST_NS)
        return HDPI_SHORTEST_NS;
    return ns > HDPI_LONGEST_NS ? HDPI_LONGEST_NS : ns;
}

/* A rank's curve times a factor. `to` has the same points as `from`, or more
 * of them in its block, where the curve has become a line. */
static void scale(struct hdpi_rank_profile *to,
                  const struct hdpi_rank_profile *from, double factor)
{
    to->point_count = from->point_count;
    to->rate = from->rate / factor;
    to->fixed_ns = fmin(from->fixed_ns * factor, HDPI_LONGEST_NS);
    to->item_ns = from->item_ns > 0 ? within(from->item_ns * factor) : 0;
    for (int64_t i = 0; i < from->point_count; i++) {
        to->point_ns[i] = within(from->point_ns[i] * factor);
        to->monotone_ns[i] = within(from->monotone_ns[i] * factor);
        to->slope_ns[i] = from->slope_ns[i] * factor;
    }
}

static void believe(struct hdpi_balance *balance, hdp_profile *profile)
{
    for (int32_t r = 0; r < balance->count; r++)
        scale(&profile->ranks[r], &balance->curves->ranks[r],
              balance->ranks[r].factor);
}

double hdpi_balance_time(const struct hdpi_balance *balance, int32_t rank,
                         int64_t items)
{
    if (items <= 0)
        return 0;
    return hdpi_balance_lane(
        balance, &balance->ranks[rank],
        hdpi_profile_time(&balance->curves->ranks[rank], items), items);
}

static double ring_of(const struct hdpi_balance *balance, const hdp_plan *plan)
{
    const hdp_split_options *split = &balance->split;

    return hdpi_ring_ns(balance->curves, split->reduce_bytes,
                        split->may_bench ? plan->items : NULL);
}

double hdpi_balance_step(const struct hdpi_balance *balance,
                         const hdp_plan *plan)
{
    double latest = 0;

    for (int32_t r = 0; r < balance->count; r++) {
        double ns = hdpi_balance_time(balance, r, plan->items[r]);
        latest = ns > latest ? ns : latest;
    }
    return latest + ring_of(balance, plan);
}

/* ---- limits -------------------------------------------------------------- */

/* The lower of two caps, of which -1 is none. */
static int64_t lower_cap(int64_t a, int64_t b)
{
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    return a < b ? a : b;
}

int64_t hdpi_balance_cap(const struct hdpi_balance *balance, int32_t rank)
{
    const struct hdpi_balance_rank *at = &balance->ranks[rank];
    const struct hdpi_rank_profile *profile = &balance->curves->ranks[rank];
    const hdp_split_options *split = &balance->split;
    int64_t cap = lower_cap(at->own_max, at->limit);

    if (profile->lacks_dtype)
        return 0;
    if (profile->memory_bytes == 0 ||
        (split->item_bytes == 0 && split->fixed_bytes == 0))
        return cap;
    int64_t left =
        profile->memory_bytes - split->keep_free_bytes - split->fixed_bytes;
    if (left < 0)
        return 0;
    return split->item_bytes == 0 ? cap
                                  : lower_cap(cap, left / split->item_bytes);
}

/* A thousand ranks without limits are spared a look at each. */
static void obey(struct hdpi_balance *balance, int drop_slow)
{
    hdp_split_options *split = &balance->split;

    split->min_items = split->max_items = NULL;
    if (!balance->limited && !drop_slow)
        return;
    split->min_items = balance->min_items;
    split->max_items = balance->max_items;
    for (int32_t r = 0; r < balance->count; r++) {
        const struct hdpi_balance_rank *at = &balance->ranks[r];
        int drop = drop_slow && at->slow_now;
        balance->min_items[r] = at->own_min;
        balance->max_items[r] = drop ? 0 : lower_cap(at->own_max, at->limit);
    }
}

int hdpi_balance_find_slow(struct hdpi_balance *balance, int64_t items)
{
    double least = 0;
    int newly = 0;

    for (int32_t r = 0; r < balance->count; r++) {
        struct hdpi_balance_rank *at = &balance->ranks[r];
        at->now_ns = hdpi_balance_time(balance, r, items);
        if ((least <= 0 || at->now_ns < least) &&
            hdpi_balance_cap(balance, r) != 0)
            least = at->now_ns;
    }
    for (int32_t r = 0; r < balance->count; r++) {
        struct hdpi_balance_rank *at = &balance->ranks[r];
        at->slow_now = least > 0 &&
                       at->now_ns > HDPI_BALANCE_TOO_SLOW * least &&
                       !balance->split.keep_all && at->own_min == 0;
        if (at->slow_now && balance->plan && balance->plan->items[r] > 0)
            newly = 1;
    }
    return newly;
}

/* ---- plans --------------------------------------------------------------- */

/* A plan that nobody else holds. With one at hand, one that the caller still
 * has, and one to be compared, a step allocates none. */
static hdp_plan *take_spare(struct hdpi_balance *balance)
{
    for (int i = 0; i < HDPI_BALANCE_SPARES; i++) {
        hdp_plan *plan = balance->spares[i];
        if (!plan || atomic_load(&plan->object.references) > 1)
            continue;
        balance->spares[i] = NULL;
        hdpi_plan_clear(plan);
        return plan;
    }
    return NULL;
}

static hdp_status split(hdp_plan **out, struct hdpi_balance *balance,
                        const hdp_profile *belief, int64_t total)
{
    hdp_plan *plan = take_spare(balance);

    *out = NULL;
    if (!plan)
        HDPI_RETURN_IF(hdpi_plan_new(&plan, balance->count));
    hdp_status status =
        hdpi_plan_split_into(plan, belief, total, &balance->split);
    if (status == HDP_OK)
        *out = plan;
    else
        hdpi_balance_drop(balance, &plan);
    return status;
}

/* Where those that are not too slow cannot hold the total, all have to. */
static hdp_status make_plan(hdp_plan **out, struct hdpi_balance *balance,
                            const hdp_profile *belief, int64_t total)
{
    hdp_error before = *hdpi_error();
    int slow = 0;

    for (int32_t r = 0; r < balance->count; r++)
        slow |= balance->ranks[r].slow_now;
    obey(balance, slow);
    hdp_status status = split(out, balance, belief, total);
    if (!slow)
        return status;
    if (status == HDP_ERR_CAPACITY || status == HDP_ERR_ARGUMENT) {
        *hdpi_error() = before;
        obey(balance, 0);
        return split(out, balance, belief, total);
    }
    for (int32_t r = 0; status == HDP_OK && r < balance->count; r++)
        if (balance->ranks[r].slow_now)
            (*out)->bound_by[r] = HDP_BOUND_DROPPED;
    return status;
}

hdp_status hdpi_balance_best(hdp_plan **out, struct hdpi_balance *balance,
                             int64_t total)
{
    believe(balance, balance->fresh);
    return make_plan(out, balance, balance->fresh, total);
}

/* What is asked of the plan at hand at each step, found once. */
static void keep_plan(struct hdpi_balance *balance, hdp_plan *plan)
{
    const hdp_plan *old = balance->plan;

    for (int32_t r = 0; r < balance->count; r++) {
        struct hdpi_balance_rank *at = &balance->ranks[r];
        at->plan_ns =
            hdpi_profile_time(&balance->curves->ranks[r], plan->items[r]);
        at->plan_part = plan->items[r] > 0 ? 1 / (double)plan->items[r] : 0;
        if (old && old->items[r] == 0)
            continue;
        at->try_wait = old ? HDPI_BALANCE_TRY_SOON : HDPI_BALANCE_TRY_FIRST;
        at->try_step = balance->step + at->try_wait;
    }
    balance->idle = 0;
    for (int32_t r = 0; r < balance->count; r++)
        balance->idle +=
            plan->items[r] == 0 && hdpi_balance_cap(balance, r) != 0;
    balance->ring_ns = ring_of(balance, plan);
    hdpi_balance_drop(balance, &balance->plan);
    hdpi_balance_drop(balance, &balance->attempt);
    balance->plan = plan;
}

void hdpi_balance_adopt(struct hdpi_balance *balance, hdp_plan *plan)
{
    hdp_profile *planned = balance->planned;

    balance->planned = balance->fresh;
    balance->fresh = planned;
    balance->any_slow = 0;
    for (int32_t r = 0; r < balance->count; r++) {
        balance->ranks[r].too_slow = balance->ranks[r].slow_now;
        balance->any_slow |= balance->ranks[r].too_slow;
    }
    keep_plan(balance, plan);
}

static hdp_status make_first(struct hdpi_balance *balance, int64_t total)
{
    hdp_plan *plan = NULL;

    (void)hdpi_balance_find_slow(balance, total);
    HDPI_RETURN_IF(hdpi_balance_best(&plan, balance, total));
    hdpi_balance_adopt(balance, plan);
    balance->judged_ns = 0;
    return HDP_OK;
}

static void forget_slow_now(struct hdpi_balance *balance)
{
    for (int32_t r = 0; r < balance->count; r++)
        balance->ranks[r].slow_now = balance->ranks[r].too_slow;
}

hdp_status hdpi_balance_force(hdp_plan **out, struct hdpi_balance *balance,
                              int32_t rank, int64_t share)
{
    forget_slow_now(balance);
    obey(balance, 1);
    balance->min_items[rank] = balance->max_items[rank] = share;
    return split(out, balance, balance->planned, balance->plan->info.total);
}

static hdp_status make_next(struct hdpi_balance *balance, int64_t total)
{
    hdp_plan *plan = NULL;

    forget_slow_now(balance);
    HDPI_RETURN_IF(make_plan(&plan, balance, balance->planned, total));
    keep_plan(balance, plan);
    return HDP_OK;
}

hdp_status hdpi_balance_plan(hdp_plan **out, struct hdpi_balance *balance,
                             int64_t total)
{
    *out = NULL;
    if (!balance->plan || balance->renew)
        HDPI_RETURN_IF(make_first(balance, total));
    else if (balance->plan->info.total != total)
        HDPI_RETURN_IF(make_next(balance, total));
    balance->renew = 0;
    if (balance->trying >= 0 && !balance->attempt)
        HDPI_RETURN_IF(hdpi_balance_plan_try(balance));
    *out = balance->attempt ? balance->attempt : balance->plan;
    hdpi_object_retain(&(*out)->object);
    return HDP_OK;
}

hdp_status hdpi_balance_limit(struct hdpi_balance *balance, int32_t rank,
                              int64_t max_items)
{
    struct hdpi_balance_rank *at = &balance->ranks[rank];

    if (max_items >= 0 && max_items < at->own_min)
        return hdpi_fail_member(HDP_ERR_ARGUMENT, -1, rank,
                                "rank %d: a limit of %lld is below its "
                                "min_items %lld",
                                (int)rank, (long long)max_items,
                                (long long)at->own_min);
    if (at->limit == max_items)
        return HDP_OK; /* the plan at hand obeys it */
    at->limit = max_items;
    balance->limited = 1;
    balance->renew = 1;
    balance->trying = -1;
    return HDP_OK;
}

hdp_status hdpi_balance_profile(hdp_profile **out,
                                const struct hdpi_balance *balance)
{
    static const double mad_of_sigma = 0.6745;
    hdp_profile *profile = NULL;
    hdp_status status;

    *out = NULL;
    HDPI_TRY(hdpi_profile_copy(&profile, balance->curves));
    for (int32_t r = 0; r < balance->count; r++) {
        const struct hdpi_balance_rank *at = &balance->ranks[r];
        scale(&profile->ranks[r], &balance->curves->ranks[r], at->factor);
        if (at->last_items == 0)
            continue;
        profile->ranks[r].provenance = HDPI_FROM_STEPS;
        profile->ranks[r].spread = mad_of_sigma * sqrt(at->level.noise);
    }
    *out = profile;
    profile = NULL;
out:
    hdpi_profile_free(profile);
    return status;
}
