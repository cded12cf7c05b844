/* The time of one rank as a split sees it: its compute curve, and the host
 * link where a batch has to come and go over it. */
#ifndef HDPI_LANE_H
#define HDPI_LANE_H
#include "core/profile.h"

struct hdpi_lane {
    const struct hdpi_rank_profile *rank; /* NULL: a pure rate */
    double rate;                          /* then: items in a unit of time */
    double in_ns, out_ns; /* an item over the link; 0: no copy */
    int32_t overlap;      /* 1: copies run under compute, both ways at once */
};

/* Where a share stands when time `limit` is up. */
struct hdpi_stop {
    int64_t blocks; /* largest count in time; -1: not even the offset */
    double at;      /* when that share ends */
    double next;    /* when one block more would end; DBL_MAX: never */
};

/** When a share of `items` ends; never falls as items grow. */
static inline double hdpi_lane_time(const struct hdpi_lane *lane, int64_t items)
{
    if (items <= 0)
        return 0;
    if (!lane->rank)
        return (double)items / lane->rate;
    double compute =
        lane->rank->point_count == 0
            ? lane->rank->fixed_ns + lane->rank->item_ns * (double)items
            : hdpi_profile_time(lane->rank, items);
    double in = lane->in_ns * (double)items;
    double out = lane->out_ns * (double)items;
    if (!lane->overlap)
        return compute + (in + out);
    double copy = in > out ? in : out;
    return compute > copy ? compute : copy;
}

/**
 * Finds the largest k in 0..top for which k * quantum + offset items end by
 * `limit`, exactly as hdpi_lane_time() says.
 *
 * @param offset  0 to quantum - 1; above 0 even k = 0 takes time, and
 *                blocks is -1 when that is too long.
 * @param top     Largest k allowed, -1 for none; top * quantum + offset must
 *                not overflow.
 */
void hdpi_lane_stop(struct hdpi_stop *out, const struct hdpi_lane *lane,
                    int64_t quantum, int64_t offset, int64_t top, double limit);

/** A straight line that resembles the curve, for first guesses. */
void hdpi_lane_line(const struct hdpi_lane *lane, double *fixed_ns,
                    double *item_ns);
#endif
