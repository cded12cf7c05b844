/* The time of one rank as a split sees it: its compute curve, and the host
 * link where a batch has to come and go over it. */
#ifndef HDPI_LANE_H
#define HDPI_LANE_H
#include <float.h>
#include "core/profile.h"

enum {
    HDPI_LANE_LINE = 0,  /* fixed_ns + item_ns * items */
    HDPI_LANE_CURVE = 1, /* a table of points */
    HDPI_LANE_RATE = 2   /* items / rate, in some unit of time */
};

/* Small, so that a million of them stay near: see hdpi_lane_of(). */
struct hdpi_lane {
    const struct hdpi_rank_profile *curve; /* of HDPI_LANE_CURVE */
    double fixed_ns, item_ns;              /* of a line; item_ns: a rate */
    double copy_ns;      /* an item over the link; 0: no copy */
    int16_t kind;        /* HDPI_LANE_* */
    int16_t overlap;     /* 1: copies run under compute, both ways at once */
    int32_t lacks_dtype; /* 1: nothing can be asked of it */
};

/* Where a share stands when time `limit` is up. */
struct hdpi_stop {
    int64_t blocks; /* largest count in time; -1: not even the offset */
    double at;      /* when that share ends */
    double next;    /* when one block more would end; DBL_MAX: never */
};

/** The lane of a rank whose items take so many bytes over the host link; it
 *  borrows the rank where that has points. */
void hdpi_lane_of(struct hdpi_lane *out, const struct hdpi_rank_profile *rank,
                  double in_bytes, double out_bytes, int32_t overlap);

/** When a share of `items` ends; never falls as items grow. */
static inline double hdpi_lane_time(const struct hdpi_lane *lane, int64_t items)
{
    if (items <= 0)
        return 0;
    if (lane->kind == HDPI_LANE_RATE)
        return (double)items / lane->item_ns;
    double compute = lane->kind == HDPI_LANE_LINE
                         ? lane->fixed_ns + lane->item_ns * (double)items
                         : hdpi_profile_time(lane->curve, items);
    double copy = lane->copy_ns * (double)items;
    if (!lane->overlap)
        return compute + copy;
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

/** The same without an offset where a formula decides: a line without a link,
 *  `top` 0 or more. Returns 0, and nothing of use, where it must be sought. */
static inline int hdpi_lane_stop_line(struct hdpi_stop *out,
                                      const struct hdpi_lane *lane,
                                      int64_t quantum, int64_t top,
                                      double limit)
{
    double fixed_ns = lane->fixed_ns, item_ns = lane->item_ns;
    double blocks = (limit - fixed_ns) / (item_ns * (double)quantum);
    int64_t k = 0;

    if (blocks >= (double)top)
        k = top;
    else if (blocks >= 1)
        k = (int64_t)blocks;
    out->blocks = k;
    out->at = k > 0 ? fixed_ns + item_ns * (double)(k * quantum) : 0;
    out->next =
        k < top ? fixed_ns + item_ns * (double)((k + 1) * quantum) : DBL_MAX;
    return lane->kind == HDPI_LANE_LINE && !(lane->copy_ns > 0) &&
           out->at <= limit && out->next > limit;
}

/** hdpi_lane_stop() without an offset, `top` 0 or more. */
static inline void hdpi_lane_count(struct hdpi_stop *out,
                                   const struct hdpi_lane *lane,
                                   int64_t quantum, int64_t top, double limit)
{
    if (!hdpi_lane_stop_line(out, lane, quantum, top, limit))
        hdpi_lane_stop(out, lane, quantum, 0, top, limit);
}

/** A straight line that resembles the curve, for first guesses. */
void hdpi_lane_line(const struct hdpi_lane *lane, double *fixed_ns,
                    double *item_ns);
#endif
