/* Ranks without items are tried again: a share that should end with the step,
 * for the one sample that it takes to know better. Tries earn half a percent of
 * the time and spend no more. */
#include "core/balance_inner.h"
#include "core/bench.h"

enum {
    STEPS_OF_A_TRY = 2, /* the first step at a share is no sample */
    STEPS_TO_WAIT = 8   /* at most, when reports are late or lack times */
};

static const double allowance = 0.005; /* of the time, for tries */

/* Steps that the first try may cost, though not earned yet: what took the items
 * away may have been a hiccup. */
static const double loan = 16;

double hdpi_balance_broadcast(const struct hdpi_balance *balance,
                              const hdp_plan *plan, int32_t rank)
{
    const struct hdpi_rank_profile *ranks = balance->curves->ranks;
    double slowest = ranks[rank].reduce_bytes_per_second;

    for (int32_t r = 0; r < balance->count; r++) {
        double link = ranks[r].reduce_bytes_per_second;
        if (plan->items[r] > 0 && link > 0 && (slowest <= 0 || link < slowest))
            slowest = link;
    }
    if (slowest <= 0)
        return 0;
    return (double)balance->split.reduce_bytes / slowest * 1e9;
}

/* ---- a try's share ------------------------------------------------------- */

/* The largest share that should end by `ns`; a quantum at least, or 0 where
 * the rank may have nothing. */
static int64_t share_of(const struct hdpi_balance *balance, int32_t rank,
                        double ns)
{
    int64_t total = balance->plan->info.total, good = 0, bad = total;
    int64_t quantum = balance->plan->quanta[rank];
    int64_t cap = hdpi_balance_cap(balance, rank);

    if (cap >= 0 && cap < bad)
        bad = cap;
    bad = bad / quantum + 1;
    while (bad - good > 1) {
        int64_t k = good + (bad - good) / 2;
        if (hdpi_balance_time(balance, rank, k * quantum) <= ns)
            good = k;
        else
            bad = k;
    }
    if (good == 0 && (cap < 0 || cap >= quantum) && total >= quantum)
        good = 1;
    return good * quantum;
}

/* ---- when ---------------------------------------------------------------- */

/* What a try costs beyond the times of its steps: a benched rank gets the
 * replica and slows the reduce, perhaps. */
static double return_of(const struct hdpi_balance *balance, int32_t r)
{
    if (balance->plan->state[r] != HDP_BENCHED)
        return 0;
    return hdpi_balance_broadcast(balance, balance->plan, r) +
           STEPS_OF_A_TRY *
               hdpi_ring_ns(balance->curves, balance->split.reduce_bytes, NULL);
}

static double price_of(const struct hdpi_balance *balance, int32_t r,
                       double step_ns, int64_t share)
{
    double over = hdpi_balance_time(balance, r, share) - step_ns;

    return return_of(balance, r) + balance->move_ns +
           (over > 0 ? STEPS_OF_A_TRY * over : 0);
}

static int begin(struct hdpi_balance *balance, double step_ns)
{
    for (int32_t r = 0; r < balance->count; r++) {
        const struct hdpi_balance_rank *at = &balance->ranks[r];
        if (balance->plan->items[r] > 0 || balance->step < at->try_step)
            continue;
        int64_t share = share_of(balance, r, step_ns - balance->ring_ns);
        double funds = balance->credit_ns;
        if (at->try_wait == HDPI_BALANCE_TRY_SOON && funds < loan * step_ns)
            funds = loan * step_ns;
        if (share == 0 || price_of(balance, r, step_ns, share) > funds)
            continue;
        balance->credit_ns -= return_of(balance, r);
        balance->trying = r;
        balance->try_left = STEPS_TO_WAIT;
        return 1;
    }
    return 0;
}

/* A rank that is worth items gets them by a move; until then it waits twice as
 * long. */
static void end(struct hdpi_balance *balance)
{
    struct hdpi_balance_rank *at = &balance->ranks[balance->trying];

    if (at->try_wait < HDPI_BALANCE_TRY_LAST)
        at->try_wait *= 2;
    at->try_step = balance->step + at->try_wait;
    balance->trying = -1;
    balance->look = 1;
    hdpi_balance_drop(balance, &balance->attempt);
}

hdp_status hdpi_balance_plan_try(struct hdpi_balance *balance)
{
    int32_t r = balance->trying;
    hdp_error before = *hdpi_error();
    double ns = hdpi_balance_step(balance, balance->plan) - balance->ring_ns;
    int64_t share = share_of(balance, r, ns);
    hdp_status status = HDP_OK;

    if (share > 0)
        status = hdpi_balance_force(&balance->attempt, balance, r, share);
    if (status == HDP_ERR_MEMORY)
        return status;
    if (share == 0 || status != HDP_OK) {
        *hdpi_error() = before;
        end(balance); /* another time */
    }
    return HDP_OK;
}

/* How much longer a step took than it would have without a try. */
static double over_of(const struct hdpi_balance *balance,
                      const int64_t *compute_ns, double step_ns)
{
    double latest = step_ns - balance->ring_ns, over = 0;

    for (int32_t r = 0; r < balance->count; r++)
        if ((double)compute_ns[r] - latest > over)
            over = (double)compute_ns[r] - latest;
    return over;
}

int hdpi_balance_try(struct hdpi_balance *balance, const int64_t *compute_ns,
                     int sampled)
{
    if (!balance->plan || balance->idle == 0 || balance->renew ||
        balance->split.rule != HDP_RULE_FINISH)
        return 0;
    double step_ns = hdpi_balance_step(balance, balance->plan);
    if (balance->trying < 0) {
        double most = allowance * HDPI_BALANCE_TRY_LAST * step_ns;
        balance->credit_ns += allowance * step_ns;
        if (balance->credit_ns > most)
            balance->credit_ns = most;
        return begin(balance, step_ns);
    }
    balance->credit_ns -= over_of(balance, compute_ns, step_ns);
    if (!sampled && --balance->try_left > 0)
        return 0;
    end(balance);
    return 1;
}
