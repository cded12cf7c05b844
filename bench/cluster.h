/* How long the split takes for a cluster that is not here. */
#ifndef BENCH_CLUSTER_H
#define BENCH_CLUSTER_H
#include "bench.h"

/**
 * Times a split among options.ranks ranks: the members' speeds in turn, as
 * straight lines, each a little different, so that no two are alike.
 *
 * Fills the section `cluster_bench`: `plan` is hdp_split() and
 * hdp_plan_destroy(), `rates` is hdp_split_rates() on the same speeds without
 * their fixed costs; options.batches samples of one call each, after one that
 * does not count.
 *
 * @return An exit code; with options.strict also EXIT_CHECK when `plan` is
 *         slower than its limit.
 */
int cluster_bench(struct bench *bench, const hdp_profile *profile);
#endif
