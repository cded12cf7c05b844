/* Interleaved measuring: several plans of one workload take turns, round by
 * round, so that whatever disturbs the machine disturbs all of them. */
#ifndef BENCH_LANES_H
#define BENCH_LANES_H
#include "bench.h"
#include "optimum.h"

enum { LANES_MAX = 160, LANE_CURVE_POINTS = 5 };

struct lane {
    char name[32];
    int32_t rule;         /* HDP_RULE_*; -1: a point of a curve */
    int32_t curve_member; /* whose point; -1: none */
    hdp_plan *plan;
    int64_t total;
    const int64_t *items; /* the plan's */
    double *step_ns;      /* one a round kept */
    double *member_ns;    /* [round * members + member], compute alone */
};

struct lanes {
    struct bench *bench;
    struct lane lane[LANES_MAX];
    int count, members;
    int64_t kept, capacity; /* rounds */
};

void lanes_open(struct lanes *lanes, struct bench *bench);
void lanes_close(struct lanes *lanes);

/** A lane for a rule's plan; takes the plan over, also on failure. */
int lanes_add_rule(struct lanes *lanes, int32_t rule, hdp_plan *plan);

/** Lanes in which each member works alone, at several sizes around its share
 *  in `plan`: the points of the curves that optimum_find() reads. */
int lanes_add_curves(struct lanes *lanes, const hdp_plan *plan,
                     int64_t quantum);

/** Most items that any lane hands out. */
int64_t lanes_largest_total(const struct lanes *lanes);

/** `warmup` rounds that are forgotten, then `rounds` that are added. */
int lanes_run(struct lanes *lanes, const hdp_work *work, int64_t warmup,
              int64_t rounds, const char *phase);

/** Forgets the rounds kept. */
void lanes_clear(struct lanes *lanes);

/** One step of one lane, unmeasured. */
int lanes_step(struct lanes *lanes, const struct lane *lane,
               const hdp_work *work);

const struct lane *lanes_rule(const struct lanes *lanes, int32_t rule);

/** Median of a lane's steps; of a member's compute in them. */
double lanes_median(const struct lanes *lanes, const struct lane *lane);
double lanes_member_median(const struct lanes *lanes, const struct lane *lane,
                           int32_t member);

/** The measured curves of all members; a member without points has count 0. */
void lanes_curves(const struct lanes *lanes, struct curve *out);

/** Runs `work` once under every rule, weights held, and compares. Fills the
 *  `check` section; a difference is a failed check. */
int lanes_check(struct lanes *lanes, struct workload *workload);
#endif
