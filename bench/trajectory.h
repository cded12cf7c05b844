/* What the steps of a learning run took and who had how much, and how soon it
 * was back at the optimum after each change. Pure: no clock, no library. */
#ifndef BENCH_TRAJECTORY_H
#define BENCH_TRAJECTORY_H
#include "optimum.h"
#include "slows.h"

enum { PHASES_MAX = SLOWS_MAX + 1, LOST_WINDOW = 20 };

/* From one change of the members' speed to the next; the first begins with the
 * run. Its optimum is the best division of the batch by the members' curves,
 * each times what it took in this phase. */
struct phase {
    int64_t begin, end; /* steps, the end excluded */
    double optimum_ns;  /* < 0: not known */
    int64_t *optimum;   /* its division */
    int64_t reached;    /* steps until shares were worth the goal; -1: never */
    int64_t resplits;
    double lost_steps; /* in the first LOST_WINDOW steps, beyond the optimum */
    double efficiency; /* optimum over the median step once reached; 0: none */
};

struct trajectory {
    int32_t members;
    int64_t total, quantum;
    int64_t kept, capacity; /* steps */
    double *step_ns;        /* one a step */
    double *member_ns;      /* [step * members + member], compute alone */
    int64_t *shares;        /* likewise */
    unsigned char *is_new;  /* likewise: first step at that share */
    const struct slow *slows;
    int slow_count;
    double goal;          /* part of the optimum to come back to */
    struct curve *curves; /* one a member */
    struct phase phases[PHASES_MAX];
    int phase_count;
};

/** Room for so many steps; 0 when memory is short. trajectory_close() in every
 *  case. */
int trajectory_open(struct trajectory *out, int32_t members, int64_t steps);
void trajectory_close(struct trajectory *trajectory);

/** Shares of a step differ from those of the step before it. */
int trajectory_resplit(const struct trajectory *trajectory, int64_t step);

/** Cuts the kept steps into phases and values them; 0 when memory is short. */
int trajectory_evaluate(struct trajectory *trajectory);
#endif
