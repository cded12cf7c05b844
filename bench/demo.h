/* The demo's parts: what it has measured, and how that is told. */
#ifndef BENCH_DEMO_H
#define BENCH_DEMO_H
#include "lanes.h"
#include "picture.h"
#include "results.h"

enum { DEMO_RUNS_MAX = 3, DEMO_RULES = 4 };

/* What is kept of one run of interleaved rounds. */
struct demo_run {
    struct results results;
    json_t *rules, *optimum, *curves;
    char *table; /* as results_table() printed it */
    int64_t rounds;
    /* The round drawn: the one with the median step. */
    double step_ns[2];                        /* equal, finish */
    double member_ns[2][PICTURE_MEMBERS_MAX]; /* likewise, compute alone */
};

struct demo {
    struct bench *bench;
    struct workload *workload;
    hdp_profile *profile; /* of the training step */
    double gemm_ratio[PICTURE_MEMBERS_MAX];
    int64_t total;
    struct lanes *lanes;
    struct demo_run run[DEMO_RUNS_MAX];
    int runs, best; /* best: the one with the smallest spread */
    int correct[DEMO_RULES], tested; /* test images, by rule */
    int64_t training_steps;
    int64_t start_ns, budget_ns; /* 0: the default */
};

/* ---- demo_measure.c ------------------------------------------------------ */

/** Calibrates with the work itself, chooses the batch, measures GEMM too. */
int demo_calibrate(struct demo *demo);

/** Plans of the four rules and the points of the curves. */
int demo_lanes(struct demo *demo);

/** Rounds, again while the spread is too large and there is time. */
int demo_rounds(struct demo *demo);

/** Trains from the same first weights under every rule. */
int demo_train(struct demo *demo);

void demo_close(struct demo *demo);

/* ---- demo_tell.c --------------------------------------------------------- */

/** The screen, the document's sections and the picture. */
int demo_tell(struct demo *demo, const char *folder);

/* ---- whatif.c ------------------------------------------------------------ */

struct whatif {
    double unslowed_ns, third_ns; /* steps; 0: not known */
    int64_t unslowed_items;       /* of member 1, were it not slowed */
    int64_t least_total;          /* from which both members get rows */
};

/** What other devices or another batch would change, by the measured profile;
 *  nothing is run. */
int whatif_ask(struct bench *bench, const hdp_profile *profile, int64_t total,
               struct whatif *out);

extern const int32_t demo_rules[DEMO_RULES];
#endif
