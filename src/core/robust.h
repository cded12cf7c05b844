/* Statistics that one wild value cannot move: medians and distances to them.
 * Pure; a spike of the scheduler is never the reference. */
#ifndef HDPI_ROBUST_H
#define HDPI_ROBUST_H
#include <stddef.h>

/** Median; the mean of the two in the middle when count is even. Sorts
 *  `values` in place. 0 for count 0. No NaN. */
double hdpi_median(double *values, size_t count);

/** Median distance to the median, relative to the median (absolute when that
 *  is 0). Changes `values`. 0 for fewer than two. */
double hdpi_relative_mad(double *values, size_t count);
#endif
