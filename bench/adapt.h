/* run --adapt: steps by an executor that learns, while members get slower and
 * faster as --slow says. */
#ifndef BENCH_ADAPT_H
#define BENCH_ADAPT_H
#include "bench.h"
#include "trajectory.h"

/** What --steps stands for when it is not given: 100 after the last change. */
int64_t adapt_steps(const struct options *options);

/** Refuses slowdowns that cannot be brought about; before anything is
 *  measured. */
int adapt_check(struct bench *bench);

/** Runs, evaluates and tells. `profile` is what the executor begins with. */
int adapt_measure(struct bench *bench, struct workload *workload,
                  const hdp_profile *profile);

/** The `steps` section: the trajectory, its re-splits, changes and phases. */
json_t *adapt_json(const struct trajectory *trajectory,
                   const struct bench *bench);

/** A line a phase. */
void adapt_table(const struct trajectory *trajectory, struct bench *bench);
#endif
