/* What one real step says of a rank's curve. Pure; a rule for reports one by
 * one, where the balancer (core/balance.h) also knows when to act. */
#ifndef HDPI_LEARN_H
#define HDPI_LEARN_H
#include "core/profile.h"

enum { HDPI_LEARN_POINTS = 16 /* of HDPI_FROM_STEPS in one curve at most */ };

/**
 * Scales a rank's curve towards a step of `items` that took `ns`.
 *
 * By (ns / curve)^gain, where the gain is 1 / (1 + weight): 1/3 after a
 * calibration, which weighs two steps, then 1/4 down to 1/10. A step further
 * off than a factor of two is doubted and changes no time, so that one wild
 * report cannot poison; a second one in a row that agrees with it within a
 * factor of two is a change: the curve goes to the mean of both, and its
 * weight is again two. The observed size becomes a point that bears
 * HDPI_FROM_STEPS, as long as there are fewer than HDPI_LEARN_POINTS.
 *
 * @param items  Above 0.
 * @param ns     Above 0.
 * @return HDP_ERR_MEMORY; the rank is then as before.
 */
hdp_status hdpi_learn(hdp_profile *profile, int32_t rank, int64_t items,
                      double ns);
#endif
