/* split: what more devices would bring, from the plans of the fastest 1, 2, 3
 * ... members. */
#ifndef BENCH_SCALING_H
#define BENCH_SCALING_H
#include "bench.h"

enum { SCALING_MEMBERS_MAX = 64 };

/** The `scaling` section: predictions, nothing is run. None is made of an
 *  empty batch or of more than SCALING_MEMBERS_MAX members. */
int scaling_section(struct bench *bench, const hdp_profile *profile);
#endif
