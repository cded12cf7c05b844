/* The controller of an uneven machine: takes in what steps took and says when
 * another division is worth its price. Pure: no device, no clock, no thread.
 *
 * Every rank's time is its curve times a learned level (core/level.h). After a
 * step the plan at hand is priced with the levels of now against the best one.
 * It is left only when
 *   - the gain passes max(1 %, 5 standard errors of that gain; to mend a move
 *     once, soon after it, half of them), and
 *   - what was lost since then by staying exceeds the cost of moving: what the
 *     first steps at new shares were seen to cost extra, and the replicas that
 *     benched ranks need before they may come back.
 * A price that cannot beat the plan's lower bound is not computed: a steady
 * step is O(ranks) and allocates nothing. */
#ifndef HDPI_BALANCE_H
#define HDPI_BALANCE_H
#include "core/level.h"
#include "core/plan.h"
#include "core/profile.h"
#include "core/shapes.h"

enum {
    HDPI_BALANCE_TOO_SLOW = 40 /* times the fastest's time an item: out */
};

struct hdpi_balance; /* opaque to all but balance*.c */

/**
 * @param profile  What calibration or the caller knows; copied.
 * @param split    Read and complete; its arrays are copied.
 * @return HDP_ERR_MEMORY, and as hdpi_plan_split() for wrong options.
 */
hdp_status hdpi_balance_new(struct hdpi_balance **out,
                            const hdp_profile *profile,
                            const hdp_split_options *split);
void hdpi_balance_free(struct hdpi_balance *balance);

/** The plan for `total`: the one at hand while total and belief stay. `*out`
 *  is a new reference. Errors as hdpi_plan_split(). */
hdp_status hdpi_balance_plan(hdp_plan **out, struct hdpi_balance *balance,
                             int64_t total);

/** Caps a rank (-1: the options' own cap again). The next plan obeys.
 *  HDP_ERR_ARGUMENT below the rank's minimum, which is never dropped. */
hdp_status hdpi_balance_limit(struct hdpi_balance *balance, int32_t rank,
                              int64_t max_items);

/* What a step changed, for a log. */
struct hdpi_change {
    int32_t changed_rank;  /* whose level started anew; -1: nobody's */
    int32_t too_slow_rank; /* newly out as 40 times slower; -1: nobody */
    int32_t replan;        /* 1: the next plan of the same total differs */
};

/**
 * Learns from a step of all ranks, also one or two steps late.
 *
 * @param items       One a rank; 0 or a time of -1 is no sample.
 * @param compute_ns  One a rank, without waits.
 * @param first       One a rank, 1: known to be the first step at its share;
 *                    NULL: not known. The balance looks for itself as well.
 * @param change      Receives what changed; may be NULL.
 */
hdp_status hdpi_balance_observe(struct hdpi_balance *balance,
                                const int64_t *items, const int64_t *compute_ns,
                                const int32_t *first,
                                struct hdpi_change *change);

/** Learns from one independent batch of a rank (hdp_balancer_done). */
void hdpi_balance_sample(struct hdpi_balance *balance, int32_t rank,
                         int64_t items, int64_t elapsed_ns);

/** Predicted time of `items` on a rank by now's belief. */
double hdpi_balance_time(const struct hdpi_balance *balance, int32_t rank,
                         int64_t items);

/** The most items that a rank could have: options, limit, memory of its own;
 *  -1: any number. Not for being too slow, which passes. */
int64_t hdpi_balance_cap(const struct hdpi_balance *balance, int32_t rank);

/** What it knows now: curves times levels, provenance HDPI_FROM_STEPS where
 *  steps were seen; a new noun. */
hdp_status hdpi_balance_profile(hdp_profile **out,
                                const struct hdpi_balance *balance);
#endif
