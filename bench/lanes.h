/* Interleaved measuring: several plans of one workload take turns, round by
 * round, so that whatever disturbs the machine disturbs all of them. */
#ifndef BENCH_LANES_H
#define BENCH_LANES_H
#include "bench.h"
#include "optimum.h"

enum { LANES_MAX = 80, LANE_MEMBERS_ALONE_MAX = 16 };

struct lane {
    char name[32];
    int32_t rule;  /* HDP_RULE_*; -1: a point of a curve */
    int32_t alone; /* the one member that works in it; -1: all do */
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

/** Lanes for the curves that optimum_find() reads, at sizes around the shares
 *  of `plan`: all members at work, as in a step, each at the same part of its
 *  share; and each member alone, while the others idle. */
int lanes_add_curves(struct lanes *lanes, const hdp_plan *plan,
                     int64_t quantum);

/** Most items that any lane hands out. */
int64_t lanes_largest_total(const struct lanes *lanes);

/** `warmup` rounds that are forgotten, then `rounds` that are added. */
int lanes_run(struct lanes *lanes, const hdp_work *work, int64_t warmup,
              int64_t rounds, const char *phase);

/** One step of one lane, unmeasured. */
int lanes_step(struct lanes *lanes, const struct lane *lane,
               const hdp_work *work);

const struct lane *lanes_rule(const struct lanes *lanes, int32_t rule);

/** Median of a lane's steps; of a member's compute in them. */
double lanes_median(const struct lanes *lanes, const struct lane *lane);
double lanes_member_median(const struct lanes *lanes, const struct lane *lane,
                           int32_t member);

/** The round whose step of this lane is nearest to the median. */
int64_t lanes_median_round(const struct lanes *lanes, const struct lane *lane);

/**
 * The measured curves, one a member; without points its count is 0.
 *
 * @param alone  0: from lanes where all work, a member's time being its own
 *               compute and what the step took beyond the slowest; 1: from
 *               lanes where it works alone, the time of the whole step.
 */
void lanes_curves(const struct lanes *lanes, int alone, struct curve *out);

/** Runs `work` once under every rule, weights held, and compares. Fills the
 *  `check` section; a difference is a failed check. */
int lanes_check(struct lanes *lanes, struct workload *workload);
#endif
