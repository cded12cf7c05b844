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

struct hdpi_lane {
    const struct hdpi_rank_profile *curve; /* of HDPI_LANE_CURVE */
    double fixed_ns, item_ns;              /* of a line; item_ns: a rate */
    double copy_ns;  /* an item over the link; 0: no copy */
    int32_t kind;    /* HDPI_LANE_* */
    int32_t overlap; /* 1: copies run under compute, both ways at once */
};

/* All there is to a lane of HDPI_LANE_LINE without copies: what a million ranks
 * may be, looked at time and again. */
struct hdpi_line {
    double fixed_ns, item_ns;
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

/** 1 where such a lane would be a line without copies. */
static inline int hdpi_lane_is_line(const struct hdpi_rank_profile *rank,
                                    double in_bytes, double out_bytes)
{
    return rank->point_count == 0 &&
           (in_bytes <= 0 || rank->in_bytes_per_second <= 0) &&
           (out_bytes <= 0 || rank->out_bytes_per_second <= 0);
}

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

/* Where a formula decides, it is quick. These are hdpi_lane_stop() without an
 * offset, `top` 0 or more; they return 0, and nothing of use, where rounding
 * moved the formula's answer and it must be sought. */

static inline int64_t hdpi_whole_blocks(double blocks, int64_t top)
{
    if (blocks >= (double)top)
        return top;
    return blocks >= 1 ? (int64_t)blocks : 0;
}

/** On a line without copies. */
static inline int hdpi_line_stop(struct hdpi_stop *out,
                                 const struct hdpi_line *line, int64_t quantum,
                                 int64_t top, double limit)
{
    double fixed_ns = line->fixed_ns, item_ns = line->item_ns;
    int64_t k = hdpi_whole_blocks(
        (limit - fixed_ns) / (item_ns * (double)quantum), top);

    out->blocks = k;
    out->at = k > 0 ? fixed_ns + item_ns * (double)(k * quantum) : 0;
    out->next =
        k < top ? fixed_ns + item_ns * (double)((k + 1) * quantum) : DBL_MAX;
    return out->at <= limit && out->next > limit;
}

/** At a rate. */
static inline int hdpi_rate_stop(struct hdpi_stop *out, double rate,
                                 int64_t quantum, int64_t top, double limit)
{
    int64_t k = hdpi_whole_blocks(limit * rate / (double)quantum, top);

    out->blocks = k;
    out->at = k > 0 ? (double)(k * quantum) / rate : 0;
    out->next = k < top ? (double)((k + 1) * quantum) / rate : DBL_MAX;
    return out->at <= limit && out->next > limit;
}

/** A straight line that resembles the curve, for first guesses. */
void hdpi_lane_line(const struct hdpi_lane *lane, double *fixed_ns,
                    double *item_ns);
#endif
