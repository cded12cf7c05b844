/* The least a step can cost: the same threads handing an empty step over and
 * back, written by hand, without the library. */
#ifndef BENCH_BARE_H
#define BENCH_BARE_H
#include <stdint.h>

/**
 * Time of one hand-over to `workers` threads and back, in ns.
 *
 * One worker: both sides spin. More: every side yields while it waits, as any
 * program must that has more threads than cores. Threads live for the call, so
 * that they disturb nothing outside it.
 *
 * @return ns a step; a negative number when threads cannot be made.
 */
double bare_step_ns(int workers, int64_t steps);
#endif
