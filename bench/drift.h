/* calibrate --check: what was saved against what is measured now. */
#ifndef BENCH_DRIFT_H
#define BENCH_DRIFT_H
#include "bench.h"

/** Loads the saved profile of the group's members, and asks for the probe and
 *  type that it was made with. Caller destroys it. */
int drift_open(struct bench *bench, hdp_profile **out);

/** The `check` section and a table; EXIT_CHECK when a time, a ratio or a rate
 *  moved by more than 5 % beyond what the samples scatter. The document's
 *  `profile` is `now`. */
int drift_check(struct bench *bench, const hdp_profile *then,
                const hdp_profile *now);
#endif
