/* How long products take, by the curves of the machine file. */
#ifndef FAKE_RATES_H
#define FAKE_RATES_H
#include "inner.h"

/** 1: the device can multiply in the type (HDP_*), fast or slowly. */
int fake_can(const struct fake_device *device, int dtype);

/**
 * Nanoseconds of products with so many FLOP, the staircase and its dips
 * included.
 *
 * @param compute  HDP_*: what sums are kept in.
 * @param sms      That the stream may use: the rate is that part of the whole.
 * @param target   The SM count that the library was told; 0: none. Kernels
 *                 chosen for the whole device waste a partition.
 */
double fake_product_ns(const struct fake_device *device, int dtype, int compute,
                       double flops, int sms, int target);
#endif
