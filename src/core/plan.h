/* A plan: every rank's items of one total, and why. Pure. */
#ifndef HDPI_PLAN_H
#define HDPI_PLAN_H
#include "core/profile.h"

struct hdp_plan {
    struct hdpi_object object;
    hdp_plan_info info;
    /* One allocation holds the arrays; info points into it. */
    int64_t *items, *offsets, *predicted_ns, *quanta;
    double *weights;
    int32_t *bound_by, *state;
};

/** A plan of `count` zeroed ranks, arrays in one block. */
hdp_status hdpi_plan_new(hdp_plan **out, int32_t count);
void hdpi_plan_free(hdp_plan *plan);

/** Back to what hdpi_plan_new() gave, without allocating. */
void hdpi_plan_clear(hdp_plan *plan);

/** Offsets, weights, total and hash from the items. HDP_ERR_ARGUMENT when an
 *  item count is negative or the sum passes INT64_MAX. */
hdp_status hdpi_plan_seal(hdp_plan *plan);

/**
 * The split: options are ours (already read and complete).
 *
 * Chooses the shares by options->rule, then fills the whole plan: offsets,
 * weights, predictions, lower bound, gap, equal and single for comparison,
 * states and what bound each share.
 *
 * @return HDP_ERR_ARGUMENT (total < 0, bad minimum, ratio ... naming the
 *         rank); HDP_ERR_CAPACITY with largest_total; HDP_ERR_UNSUPPORTED;
 *         HDP_ERR_MEMORY.
 */
hdp_status hdpi_plan_split(hdp_plan **out, const hdp_profile *profile,
                           int64_t total, const hdp_split_options *options);

/** The same into an empty plan of the profile's ranks (hdpi_plan_clear()),
 *  which on an error holds nothing of use. Up to 64 ranks nothing is
 *  allocated. */
hdp_status hdpi_plan_split_into(hdp_plan *plan, const hdp_profile *profile,
                                int64_t total,
                                const hdp_split_options *options);

int hdpi_plan_is_valid(const hdp_plan *plan);
#endif
