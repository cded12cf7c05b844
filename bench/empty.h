/* run --work empty: what a step costs by itself. */
#ifndef BENCH_EMPTY_H
#define BENCH_EMPTY_H
#include "bench.h"

/** Steps that do nothing against a bare hand-off loop, batch by batch; steps
 *  < 0: by default. Fills `empty`. */
int empty_measure(struct bench *bench, int64_t steps);
#endif
