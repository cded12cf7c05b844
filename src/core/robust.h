/* Statistics that one wild value cannot move: medians and distances to them.
 * Pure; a spike of the scheduler is never the reference. */
#ifndef HDPI_ROBUST_H
#define HDPI_ROBUST_H
#include <stddef.h>

/** Median; the mean of the two in the middle when count is even. Sorts
 *  `values` in place. 0 for count 0. No NaN. */
double hdpi_median(double *values, size_t count);

/** How many of these times are no spikes: at most 8 times the lower quartile.
 *  Sorts `values` in place, spikes last. */
size_t hdpi_without_spikes(double *values, size_t count);

/** Median of the times that are no spikes; the lesser of two in the middle.
 *  Other than a plain median it is not moved by how many spikes there are,
 *  while they are fewer than three quarters. Sorts; 0 for count 0. */
double hdpi_typical(double *values, size_t count);

/** Median distance to the median, relative to the median (absolute when that
 *  is 0). Changes `values`. 0 for fewer than two. */
double hdpi_relative_mad(double *values, size_t count);
#endif
