/* The demo's parts: what it has measured, and how that is told. */
#ifndef BENCH_DEMO_H
#define BENCH_DEMO_H
#include "lanes.h"
#include "picture.h"
#include "results.h"

enum {
    DEMO_RUNS_MAX = 3,
    DEMO_RULES = 4,
    DEMO_CAPACITY = 1 << 17, /* most items of a batch */
    DEMO_CAPACITY_GPUS = 1 << 20
};

/* One run: measured anew, split anew, checked, and its rounds. */
struct demo_run {
    hdp_profile *profile; /* of the training step */
    struct lanes *lanes;
    struct results results;
};

struct demo {
    struct bench *bench;
    struct workload *workload;
    int gpus; /* members that are GPUs; 0: the host's two halves */
    int64_t capacity;
    double gemm_ratio[PICTURE_MEMBERS_MAX];
    int64_t total;
    struct demo_run run[DEMO_RUNS_MAX];
    int runs, best; /* best: the one with the smallest spread */
    int correct[DEMO_RULES], tested; /* test images, by rule */
    int64_t training_steps;
    int64_t start_ns, budget_ns; /* 0: the default */
};

/* ---- demo_devices.c ------------------------------------------------------ */

/** Opens the group, chooses the type and says both. */
int demo_devices(struct demo *demo);

/** In words up to eight. */
const char *demo_count(int count, char text[16]);

/* ---- demo_measure.c ------------------------------------------------------ */

/** Chooses the batch by the work itself, and measures GEMM too. */
int demo_choose(struct demo *demo);

/** One run; again while the spread is too large and there is time. */
int demo_runs(struct demo *demo);

/** Trains from the same first weights under every rule. */
int demo_train(struct demo *demo);

void demo_close(struct demo *demo);

/* ---- demo_tell.c --------------------------------------------------------- */

/** The screen, the document's sections and the picture. */
int demo_tell(struct demo *demo, const char *folder);

/* ---- whatif.c ------------------------------------------------------------ */

struct whatif {
    double unslowed_ns, more_ns; /* steps, with the last member unslowed, with
                                    one more like the first */
    int64_t unslowed_items;      /* of the last member, were it not slowed */
    int64_t least_total; /* from which all members get rows; 0: none is */
};

/** What other devices or another batch would change, by the measured profile;
 *  nothing is run. */
int whatif_ask(struct bench *bench, const hdp_profile *profile, int64_t total,
               struct whatif *out);

extern const int32_t demo_rules[DEMO_RULES];
#endif
