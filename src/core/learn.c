/* A step moves the whole curve of its rank by one factor: what heat, power or
 * a neighbour does to a device it does to all sizes alike. The shape stays as
 * it was measured. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "core/learn.h"
#include "core/logarithm.h"

static const double agreeing = 2; /* a factor; beyond it a step is doubted */

/* Inside HDPI_LONGEST_NS and HDPI_SHORTEST_NS, with room for the points
 * between. */
static const double longest_ns = 1e17, shortest_ns = 1e-8;

static int agree(double factor, double other)
{
    return factor <= other * agreeing && other <= factor * agreeing;
}

/* What to multiply the curve by, and the rank's belief after it; 0: nothing. */
static double believe(struct hdpi_rank_profile *rank, double factor)
{
    double doubted = rank->doubted;

    rank->doubted = 0;
    if (agree(factor, 1)) {
        double gain = 1.0 / (1 + rank->weight);
        if (rank->weight < HDPI_WEIGHT_MAX)
            rank->weight++;
        return hdpi_exp(gain * hdpi_ln(factor));
    }
    if (doubted > 0 && agree(factor, doubted)) {
        rank->weight = HDPI_WEIGHT_MIN;
        return sqrt(factor) * sqrt(doubted);
    }
    rank->doubted = factor;
    return 0;
}

static double scaled(double ns, double factor)
{
    return fmax(shortest_ns, fmin(ns * factor, longest_ns));
}

/* Position of the first point of `items` or more. */
static int64_t place_of(const struct hdpi_rank_profile *rank, int64_t items)
{
    int64_t at = 0;

    while (at < rank->point_count && rank->point_items[at] < items)
        at++;
    return at;
}

static int64_t points_from_steps(const struct hdpi_rank_profile *rank)
{
    int64_t count = 0;

    for (int64_t i = 0; i < rank->point_count; i++)
        count += rank->point_from[i] == HDPI_FROM_STEPS;
    return count;
}

/* The points scaled, with one at `items` where there is room: it lies on the
 * curve, so it changes nothing but says that this was seen. */
static hdp_status learn_points(hdp_profile *profile, int32_t index,
                               int64_t items, double factor)
{
    struct hdpi_rank_profile *rank = &profile->ranks[index];
    int64_t count = rank->point_count, at = place_of(rank, items);
    int known = at < count && rank->point_items[at] == items;
    int added = !known && points_from_steps(rank) < HDPI_LEARN_POINTS;
    size_t room = (size_t)count + 1;
    double observed = scaled(hdpi_profile_time(rank, items), factor);
    hdp_status status = HDP_OK;
    double *ns = NULL;
    int32_t *from = NULL;
    int64_t *counts = hdpi_alloc(room, sizeof *counts, "points");

    ns = counts ? hdpi_alloc(room, sizeof *ns, "points") : NULL;
    from = ns ? hdpi_alloc(room, sizeof *from, "points") : NULL;
    if (!from)
        HDPI_TRY(HDP_ERR_MEMORY);
    for (int64_t i = 0; i < count; i++) {
        int64_t to = i + (added && i >= at);
        counts[to] = rank->point_items[i];
        ns[to] = scaled(rank->point_ns[i], factor);
        from[to] = rank->point_from[i];
    }
    if (added) {
        counts[at] = items;
        ns[at] = observed;
    }
    if (added || known)
        from[at] = HDPI_FROM_STEPS;
    HDPI_TRY(hdpi_profile_set_points(profile, index, counts, ns,
                                     count + (added ? 1 : 0)));
    memcpy(rank->point_from, from,
           (size_t)rank->point_count * sizeof *rank->point_from);
out:
    free(counts);
    free(ns);
    free(from);
    return status;
}

hdp_status hdpi_learn(hdp_profile *profile, int32_t rank, int64_t items,
                      double ns)
{
    struct hdpi_rank_profile *own = &profile->ranks[rank], after = *own;
    double factor = believe(&after, ns / hdpi_profile_time(own, items));
    double rate = hdpi_profile_rate(own);

    if (factor > 0 && own->point_count > 0)
        HDPI_RETURN_IF(learn_points(profile, rank, items, factor));
    own->weight = after.weight;
    own->doubted = after.doubted;
    if (factor == 0)
        return HDP_OK;
    if (own->point_count == 0) {
        own->fixed_ns = fmin(own->fixed_ns * factor, longest_ns);
        own->item_ns = scaled(own->item_ns, factor);
    }
    own->rate = fmin(rate / factor, DBL_MAX);
    own->rate_flops = fmin(own->rate_flops / factor, DBL_MAX);
    own->provenance = HDPI_FROM_STEPS;
    return HDP_OK;
}
