/* run --dynamic: independent batches of random size, each for one member alone,
 * placed where they will end first and, beside it, in turn. Simulated members
 * live on a model's clock, all others work for real. */
#ifndef BENCH_DYNAMIC_H
#define BENCH_DYNAMIC_H
#include "bench.h"

enum { DYNAMIC_BATCHES = 1000, DYNAMIC_ITEMS = 256, DYNAMIC_DEPTH = 8 };

/* What one policy made of all batches. Arrays have one entry a member. */
struct tally {
    double makespan_ns;
    int64_t *batches, *items;
    double *busy_ns;
};

struct dynamic {
    struct bench *bench;
    int32_t members;
    int64_t count;  /* batches */
    int64_t *items; /* of each */
    int simulated;
    int64_t window; /* in flight at most, DYNAMIC_DEPTH a member */
};

/**
 * The member that gets batch `index`.
 * @param balancer    NULL: members in turn.
 * @param out_member  -1: all are full, ask again once one has ended.
 */
int dynamic_choose(const struct dynamic *dynamic, hdp_balancer *balancer,
                   int64_t index, int32_t *out_member, uint64_t *out_ticket);

/** One policy on the model's clock: the batch's time is a simulated step's. */
int dynamic_model_run(const struct dynamic *dynamic, hdp_balancer *balancer,
                      struct tally *out);

/** For real: each member a group and a thread of its own. */
int dynamic_real_run(const struct dynamic *dynamic, hdp_balancer *balancer,
                     struct tally *out);

/** All of it, on members of one kind. */
int dynamic_measure(struct bench *bench, const hdp_profile *profile);
#endif
