/* split --bench: what a balancer takes of a step. */
#ifndef BENCH_LEARN_H
#define BENCH_LEARN_H
#include "bench.h"

/** Times plan and observe on a profile, options.batches steps of a steady
 *  machine and as many while a rank changes its speed. Fills `balancer_bench`.
 *  With options.strict EXIT_CHECK where up to 1,000 ranks take 50 us. */
int learn_time(struct bench *bench, const hdp_profile *profile,
               const hdp_split_options *split, int64_t total);
#endif
