/* Data for reduces whose right results are known exactly, and their count of
 * wrong elements, by a reference in f64 that shares nothing with the library.
 * Pure. */
#ifndef BENCH_EXACT_H
#define BENCH_EXACT_H
#include <stdint.h>

/** Bytes of an element; HDP_F32, ... */
int64_t exact_size(int32_t dtype);

/** Fills a member's elements with small whole numbers. */
void exact_fill(void *out, int64_t elements, int32_t dtype, int32_t member);

/** Elements of `got` that differ from the reduction over `members` members
 *  with these weights. Sums, minima and maxima must be equal; quotients
 *  (mean, sum over total) within the rounding of the type. */
int64_t exact_wrong(const void *got, int64_t elements, int32_t dtype,
                    int32_t op, int32_t members, const int64_t *counts);
#endif
