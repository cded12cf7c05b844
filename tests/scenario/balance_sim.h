/* A machine in a few numbers, and steps on it led by an hdp_balancer: what each
 * step took in truth, without the noise that the balancer was shown, and what
 * the best shares would have taken. Shares no code with the library. */
#ifndef BALANCE_SIM_H
#define BALANCE_SIM_H
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "scene.h"

enum { SIM_RANKS = 16, SIM_SHAPES = 64, SIM_LATE = 2, SIM_CHANGES = 64 };

/* ---- chance, repeating by seed ------------------------------------------- */

static uint64_t sim_bits = 1;

static inline void sim_seed(int seed)
{
    sim_bits = UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(seed + 1);
}

/* From low up to, not with, high. */
static inline double sim_real(double low, double high)
{
    sim_bits ^= sim_bits >> 12;
    sim_bits ^= sim_bits << 25;
    sim_bits ^= sim_bits >> 27;
    uint64_t bits = sim_bits * UINT64_C(2685821657736338717);
    return low + (high - low) * (double)(bits >> 11) / 9007199254740992.;
}

static inline int64_t sim_draw(int64_t low, int64_t high)
{
    return low + (int64_t)sim_real(0, (double)(high - low + 1));
}

static inline double sim_normal(void)
{
    double u = sim_real(1e-12, 1), v = sim_real(0, 6.283185307179586);

    return sqrt(-2 * log(u)) * cos(v);
}

/* ---- the machine --------------------------------------------------------- */

struct sim_rank {
    double fixed_ns, item_ns;   /* the truth, a line */
    const hdp_profile *profile; /* or this one's rank of the same number */
    double slow;                /* now's factor */
    int64_t shapes[SIM_SHAPES];
    int32_t shape_count;
};

struct sim {
    struct sim_rank ranks[SIM_RANKS];
    int32_t count;
    int64_t cap[SIM_RANKS]; /* of the truth's best; -1: none */
    double noise;           /* relative, of each time */
    double spike;           /* the part of steps that have one */
    double spike_by;        /* its factor, on one rank */
    int32_t spiked;         /* of this step; -1: none */
    double new_shape_ns;    /* what a size costs the first time */
    int32_t late;           /* steps after which a report is seen */
    /* what the balancer has not seen yet */
    int64_t items[SIM_LATE + 1][SIM_RANKS], ns[SIM_LATE + 1][SIM_RANKS];
    int64_t steps;
    /* of the last step */
    double truth_ns; /* of its shares, without noise, spikes, new shapes */
    double took_ns;  /* all included */
    double best_ns;
    int64_t share[SIM_RANKS];
    int moved; /* 1: other shares than before, of the same total */
    int64_t total;
    uint64_t hash;
    /* sums */
    int64_t moves;
    double truth_sum, took_sum, best_sum;
};

/* ---- truth --------------------------------------------------------------- */

static inline double sim_time(const struct sim *sim, int32_t r, int64_t items)
{
    const struct sim_rank *rank = &sim->ranks[r];
    double ns = rank->fixed_ns + rank->item_ns * (double)items;

    if (items == 0)
        return 0;
    if (rank->profile)
        expect_ok(hdp_profile_time(&ns, rank->profile, r, items));
    return ns * rank->slow;
}

static inline int64_t sim_items_by(const struct sim *sim, int32_t r, double ns,
                                   int64_t total)
{
    int64_t good = 0, bad = total + 1;

    if (sim->cap[r] >= 0 && sim->cap[r] < total)
        bad = sim->cap[r] + 1;
    while (bad - good > 1) {
        int64_t middle = good + (bad - good) / 2;
        if (sim_time(sim, r, middle) <= ns)
            good = middle;
        else
            bad = middle;
    }
    return good;
}

/* The least time at which all ranks hold the total: it is some rank's time of
 * some share, so halving ends at it. */
static inline double sim_best(const struct sim *sim, int64_t total)
{
    double low = 0, high = 1e18;

    for (int i = 0; i < 200 && high - low > 1e-9 * high; i++) {
        double middle =
            i < 60 && low > 0 ? sqrt(low * high) : low + (high - low) / 2;
        int64_t held = 0;
        for (int32_t r = 0; r < sim->count; r++)
            held += sim_items_by(sim, r, middle, total);
        if (held >= total)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* ---- making one ----------------------------------------------------------- */

static inline void sim_line(struct sim *sim, double fixed_ns, double item_ns)
{
    sim->ranks[sim->count] = (struct sim_rank){ .fixed_ns = fixed_ns,
                                                .item_ns = item_ns,
                                                .slow = 1 };
    sim->cap[sim->count++] = -1;
}

static inline void sim_curves(struct sim *sim, const hdp_profile *profile)
{
    hdp_profile_info info = { .size = sizeof info };

    expect_ok(hdp_profile_get(&info, profile));
    for (int32_t r = 0; r < info.member_count; r++) {
        sim_line(sim, 0, 0);
        sim->ranks[r].profile = profile;
    }
}

/* The profile that tells the truth of lines. */
static inline hdp_profile *sim_profile(const struct sim *sim)
{
    hdp_model models[SIM_RANKS];
    hdp_profile *profile;

    for (int32_t r = 0; r < sim->count; r++) {
        expect_ok(hdp_options_init(&models[r], sizeof models[r]));
        models[r].fixed_ns = sim->ranks[r].fixed_ns;
        models[r].item_ns = sim->ranks[r].item_ns;
    }
    expect_ok(hdp_profile_create(&profile, models, sim->count));
    return profile;
}

static inline hdp_balancer *sim_balancer(const struct sim *sim)
{
    hdp_profile *profile = sim_profile(sim);
    hdp_balancer *balancer;

    expect_ok(hdp_balancer_create(&balancer, profile, NULL));
    hdp_profile_destroy(profile);
    return balancer;
}

/* ---- a step -------------------------------------------------------------- */

static inline int sim_is_new(struct sim_rank *rank, int64_t items)
{
    for (int32_t i = 0; i < rank->shape_count; i++)
        if (rank->shapes[i] == items)
            return 0;
    rank->shapes[rank->shape_count++ % SIM_SHAPES] = items;
    if (rank->shape_count > SIM_SHAPES)
        rank->shape_count = SIM_SHAPES;
    return 1;
}

/* What the balancer is shown of one rank's share. */
static inline double sim_seen(struct sim *sim, int32_t r, int64_t items)
{
    double ns = sim_time(sim, r, items);

    ns *= 1 + sim->noise * sim_normal();
    if (r == sim->spiked)
        ns *= sim->spike_by;
    if (sim_is_new(&sim->ranks[r], items))
        ns += sim->new_shape_ns;
    return ns < 1 ? 1 : ns;
}

static inline void sim_report(struct sim *sim, hdp_balancer *balancer)
{
    int64_t at = sim->steps - 1 - sim->late;
    hdp_report *report;

    if (at < 0)
        return;
    expect_ok(hdp_report_create(&report, sim->items[at % (SIM_LATE + 1)],
                                sim->ns[at % (SIM_LATE + 1)], sim->count));
    expect_ok(hdp_balancer_observe(balancer, report));
    hdp_report_destroy(report);
}

static inline void sim_step(struct sim *sim, hdp_balancer *balancer,
                            int64_t total)
{
    hdp_plan_info info = { .size = sizeof info };
    int64_t at = sim->steps % (SIM_LATE + 1);
    hdp_plan *plan;

    expect_ok(hdp_balancer_plan(&plan, balancer, total));
    expect_ok(hdp_plan_get(&info, plan));
    sim->truth_ns = sim->took_ns = 0;
    sim->spiked = -1;
    if (sim->spike > 0 && sim_real(0, 1) < sim->spike)
        sim->spiked = (int32_t)sim_draw(0, sim->count - 1);
    for (int32_t r = 0; r < sim->count; r++) {
        int64_t items = sim->share[r] = sim->items[at][r] = info.items[r];
        double ns = sim_time(sim, r, items);
        double seen = items > 0 ? sim_seen(sim, r, items) : 0;
        sim->ns[at][r] = items > 0 ? (int64_t)(seen + .5) : -1;
        sim->truth_ns = ns > sim->truth_ns ? ns : sim->truth_ns;
        sim->took_ns = seen > sim->took_ns ? seen : sim->took_ns;
    }
    sim->moved =
        sim->steps > 0 && sim->total == total && sim->hash != info.hash;
    sim->total = total;
    sim->hash = info.hash;
    sim->moves += sim->moved;
    sim->steps++;
    sim->truth_sum += sim->truth_ns;
    sim->took_sum += sim->took_ns;
    hdp_plan_destroy(plan);
    sim_report(sim, balancer);
}
#endif
