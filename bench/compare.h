/* split --add and --remove: would that old card help? The plan of the machine
 * with members changed, beside the plan of the one that is. */
#ifndef BENCH_COMPARE_H
#define BENCH_COMPARE_H
#include "bench.h"

/** The `what_if` section and one line for people, for the first rule. Measures
 *  what is added in a group of its own; nothing is run. */
int compare_members(struct bench *bench, const hdp_profile *profile);
#endif
