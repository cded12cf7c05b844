/* The best split that measured curves allow, found without the library: the
 * yardstick of `efficiency`. Pure. */
#ifndef BENCH_OPTIMUM_H
#define BENCH_OPTIMUM_H
#include <stdint.h>

enum { OPTIMUM_POINTS_MAX = 16 };

/* One member's measured times, by increasing items. Between two points a
 * straight line; outside, in proportion to the nearest. */
struct curve {
    int count;
    int64_t items[OPTIMUM_POINTS_MAX];
    double ns[OPTIMUM_POINTS_MAX];
};

/** Makes times non-decreasing where noise has made them dip: neighbours out of
 *  order get their mean (pool adjacent violators). */
void curve_smooth(struct curve *curve);

double curve_time(const struct curve *curve, int64_t items);

/**
 * Least time of the slowest member over every division of `total` into
 * multiples of `quantum` (the last block may be short).
 *
 * A dynamic programme over members and blocks; with more than 4096 blocks the
 * quantum is doubled until they fit, and then the division found is refined
 * quantum by quantum.
 *
 * @param out_items one a member, or NULL
 * @return the time in ns; a negative number when memory is short.
 */
double optimum_find(const struct curve *curves, int members, int64_t total,
                    int64_t quantum, int64_t *out_items);
#endif
