/* A slowdown that a user declares of a member and that may change between
 * steps: its function waits after its own work for as long as a member that
 * many times slower would still have computed. */
#ifndef BENCH_WORK_PACE_H
#define BENCH_WORK_PACE_H
#include "work.h"

/** The time at which a member's own work begins; 0 where it is not slowed. */
int64_t pace_begin(const struct workload *workload, int32_t member);

/** Waits out what the work since then lacks. */
void pace_end(const struct workload *workload, int32_t member,
              int64_t began_ns);
#endif
