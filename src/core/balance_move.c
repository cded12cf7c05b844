/* Staying or moving: the plan at hand priced by what is known now, a screen
 * that spares the search for a better one, and the account of what staying
 * loses against what moving costs. */
#include <math.h>
#include "core/balance_inner.h"
#include "core/logarithm.h"

static const double least_gain = 0.01; /* of the dead band */
static const double errors = 5;        /* standard ones of the gain */

/* A move is made by a few samples. Within so many steps it may be mended once,
 * with less certainty: what it stands on is worse. */
static const int64_t steps_to_mend = 16;
static const double errors_to_mend = 2.5;

/* A step later, of what a move is taken to cost: it may have been a hiccup, and
 * moves that are rare may cost what they will. */
static const double remembered = 1 - 1.0 / 128;

/* ---- the plan at hand ---------------------------------------------------- */

struct now {
    double step_ns;  /* of the plan at hand, its reduce included */
    int32_t last;    /* the rank that ends last */
    double least_ns; /* time an item of the fastest rank with items */
    double most_ns;  /* and of the slowest that may be dropped */
    int64_t most_items;
    double band; /* a gain below this is noise */
};

static void price(struct now *out, const struct hdpi_balance *balance)
{
    const hdp_plan *plan = balance->plan;
    double latest = 0;

    *out = (struct now){ .last = -1 };
    for (int32_t r = 0; r < balance->count; r++) {
        const struct hdpi_balance_rank *at = &balance->ranks[r];
        int64_t items = plan->items[r];
        if (items == 0)
            continue;
        double ns = hdpi_balance_lane(balance, at, at->plan_ns, items);
        double item_ns = ns * at->plan_part;
        if (ns > latest) {
            latest = ns;
            out->last = r;
        }
        if (out->least_ns <= 0 || item_ns < out->least_ns)
            out->least_ns = item_ns;
        if (at->own_min == 0 && item_ns > out->most_ns)
            out->most_ns = item_ns;
        if (items > out->most_items)
            out->most_items = items;
    }
    out->step_ns = latest + balance->ring_ns;
}

/* The errors themselves are little known in the first steps. */
static double band_for(const struct hdpi_balance *balance, double variance)
{
    double trust = 1 + 4 / (double)balance->step;
    double by = balance->step < balance->mend_until ? errors_to_mend : errors;
    double band = by * trust * sqrt(variance);

    return band > least_gain ? band : least_gain;
}

/* What the gain's own error makes of it. To first order a better plan brings
 * every rank to the mean of their times, weighted by share. */
static double band_of(const struct hdpi_balance *balance, int32_t last)
{
    const hdp_plan *plan = balance->plan;
    double sum = 0;

    for (int32_t r = 0; r < balance->count; r++) {
        double weight = plan->weights[r];
        if (r == last)
            weight = 1 - weight;
        sum += weight * weight * balance->ranks[r].level.variance;
    }
    return band_for(balance, sum);
}

/* A better plan may be a block or two from rank to rank: then no mean evens the
 * errors of those two out. 0 when `plan` is further away than that. */
static double band_of_block(const struct hdpi_balance *balance, int32_t last,
                            const hdp_plan *plan)
{
    const hdp_plan *now = balance->plan;
    const int64_t few = 2;
    double most = 0;

    for (int32_t r = 0; r < balance->count; r++) {
        int64_t more = plan->items[r] - now->items[r];
        if (more > few * plan->quanta[r] || -more > few * plan->quanta[r])
            return 0;
        double variance = balance->ranks[r].level.variance;
        if (more > 0 && variance > most)
            most = variance;
    }
    return band_for(balance, balance->ranks[last].level.variance + most);
}

/* ---- the screens --------------------------------------------------------- */

/* The least time that any plan can take now: no rank became faster than by
 * `faster` since the best one was found. */
static int beaten_by_then(const struct hdpi_balance *balance, double target)
{
    double faster = 0;

    if (!(balance->judged_ns > 0) ||
        balance->judged_items != balance->plan->info.total)
        return 0;
    for (int32_t r = 0; r < balance->count; r++) {
        const struct hdpi_balance_rank *at = &balance->ranks[r];
        double by = at->judged_log - at->level.log;
        faster = by > faster ? by : faster;
    }
    return balance->judged_ns * hdpi_exp(-faster) > target;
}

/* About the items that a rank ends by `ns`, never too few. */
static double items_by(const struct hdpi_balance *balance, int32_t r, double ns)
{
    const struct hdpi_balance_rank *at = &balance->ranks[r];
    const struct hdpi_rank_profile *curve = &balance->curves->ranks[r];
    double compute = ns / at->factor, copy = at->copy_ns / at->factor, items;
    double extra = balance->split.overlap ? 0 : copy;

    if (curve->point_count > 0)
        items = hdpi_profile_guess(curve, compute, extra) + 1;
    else
        items = (compute - curve->fixed_ns) / (curve->item_ns + extra);
    if (balance->split.overlap && copy > 0 && items > compute / copy)
        items = compute / copy;
    return items > 0 ? items : 0;
}

/* Whether the ranks together, each up to its cap, hold the total by then. */
static int held_by(const struct hdpi_balance *balance, double target)
{
    const int64_t *max_items = balance->split.max_items;
    double left = (double)balance->plan->info.total;
    double ns = balance->split.may_bench ? target : target - balance->ring_ns;

    for (int32_t r = 0; r < balance->count && left > 0; r++) {
        int64_t cap = max_items ? max_items[r] : -1;
        if (cap == 0 || balance->curves->ranks[r].lacks_dtype)
            continue;
        double items = items_by(balance, r, ns);
        left -= cap > 0 && items > (double)cap ? (double)cap : items;
    }
    return left <= 0;
}

/* ---- the account --------------------------------------------------------- */

void hdpi_balance_price_move(struct hdpi_balance *balance, const int64_t *items,
                             const int64_t *compute_ns)
{
    double extra = 0;

    balance->move_ns *= remembered;
    if (!balance->moved || !balance->plan)
        return;
    for (int32_t r = 0; r < balance->count; r++) {
        if (items[r] != balance->plan->items[r])
            return; /* a late report */
        if (!balance->firsts[r] || compute_ns[r] < 0)
            continue;
        double over =
            (double)compute_ns[r] - hdpi_balance_time(balance, r, items[r]);
        extra = over > extra ? over : extra;
    }
    balance->moved = 0;
    balance->move_ns = (balance->move_ns + extra) / 2;
}

/* Replicas that `plan` would need and that went stale. */
static double cost_of(const struct hdpi_balance *balance, const hdp_plan *plan)
{
    double cost = balance->move_ns;

    for (int32_t r = 0; balance->split.may_bench && r < balance->count; r++)
        if (plan->items[r] > 0 && balance->plan->state[r] == HDP_BENCHED) {
            double ns = hdpi_balance_broadcast(balance, plan, r);
            cost = ns + balance->move_ns > cost ? ns + balance->move_ns : cost;
        }
    return cost;
}

static void move_to(struct hdpi_balance *balance, hdp_plan *plan)
{
    int mended = balance->step < balance->mend_until;

    hdpi_balance_adopt(balance, plan);
    balance->lost_ns = 0;
    balance->moved = 1;
    balance->mend_until = mended ? 0 : balance->step + steps_to_mend;
}

/* Takes `plan` over or lets it go. */
static int weigh(struct hdpi_balance *balance, const struct now *now,
                 hdp_plan *plan, int forced)
{
    double gain = 1 - balance->judged_ns / now->step_ns;
    double band = band_of_block(balance, now->last, plan);

    band = band > now->band ? band : now->band;
    if (gain > band)
        balance->lost_ns += now->step_ns - balance->judged_ns;
    else
        balance->lost_ns = 0;
    /* those that are too slow may be needed all the same */
    int other = plan->info.hash != balance->plan->info.hash;
    if (other && (forced || (gain > band &&
                             balance->lost_ns >= cost_of(balance, plan)))) {
        move_to(balance, plan);
        return 1;
    }
    hdpi_balance_drop(balance, &plan);
    return 0;
}

hdp_status hdpi_balance_judge(struct hdpi_balance *balance, int *moved)
{
    hdp_plan *plan = NULL;
    struct now now;
    int forced = 0;

    *moved = 0;
    if (!balance->plan || balance->renew || balance->trying >= 0)
        return HDP_OK;
    price(&now, balance);
    if (now.last < 0)
        return HDP_OK;
    now.band = band_of(balance, now.last);
    double target = now.step_ns * (1 - now.band);
    if (now.most_ns > HDPI_BALANCE_TOO_SLOW * now.least_ns)
        forced = hdpi_balance_find_slow(balance, now.most_items);
    if (!forced && !balance->look &&
        (beaten_by_then(balance, target) || !held_by(balance, target))) {
        balance->lost_ns = 0;
        return HDP_OK;
    }
    if (!forced && (balance->idle > 0 || balance->any_slow))
        (void)hdpi_balance_find_slow(balance, now.most_items);
    HDPI_RETURN_IF(
        hdpi_balance_best(&plan, balance, balance->plan->info.total));
    balance->judged_ns = hdpi_balance_step(balance, plan);
    balance->judged_items = plan->info.total;
    for (int32_t r = 0; r < balance->count; r++)
        balance->ranks[r].judged_log = balance->ranks[r].level.log;
    if (balance->look && plan->info.hash == balance->plan->info.hash) {
        hdpi_balance_adopt(balance, plan); /* the same shares, timed anew */
        balance->lost_ns = 0;
    } else {
        *moved = weigh(balance, &now, plan, forced);
    }
    balance->look = 0;
    return HDP_OK;
}
