/* Robust statistics of timings. Pure: no clock, no allocation kept. */
#ifndef BENCH_STATS_H
#define BENCH_STATS_H
#include <stddef.h>

struct stats {
    size_t n;
    double median, mad; /* MAD: median of |x - median| */
    double min, p95;
    double spread; /* mad / median; 0 for an all-zero sample */
};

/** Sorts `values` in place; n = 0 gives zeroes. */
void stats_in_place(struct stats *out, double *values, size_t n);

/** The same of a copy. Returns 0 when memory is short. */
int stats_of(struct stats *out, const double *values, size_t n);

/** Median of n values, sorted in place; 0 for n = 0. */
double stats_median(double *values, size_t n);
#endif
