/* Find the finish time: the least time at which the ranks together hold the
 * total, exactly and in whole items, under every limit of a split. */
#ifndef HDPI_FINISH_H
#define HDPI_FINISH_H
#include <stddef.h>
#include "core/lane.h"

/* Ranks of one physical device share its memory: the first of them leads, the
 * others follow through `next`. */
struct hdpi_pool {
    int32_t lead; /* lowest rank of this rank's pool; -1: memory of its own */
    int32_t next; /* next rank of the pool, -1 at its end */
};

struct hdpi_finish {
    int32_t count;
    int64_t total, quantum; /* quantum 1 or more */
    const int64_t *quanta;  /* each rank's where they differ: powers of two, no
                             * pools, quantum the largest; NULL: all alike */

    /* speed: of a profile, or pure rates, or (all NULL) all alike */
    const struct hdpi_lane *lanes;
    const struct hdpi_line *lines; /* instead, where all lanes are lines */
    const double *rates;           /* 0 or more; 0 gets nothing */
    double scale;                  /* factor of the rates, a power of two */

    const int64_t *low;  /* items each gets at least; NULL: 0 */
    const int64_t *high; /* and at most, <= total; NULL: total */

    /* memory shared by several ranks; pools NULL: none */
    const struct hdpi_pool *pools;
    const int64_t *room; /* bytes, of each lead */
    int64_t fixed_bytes, item_bytes;

    double enough_ns; /* a time at which somebody's share ends and all could
                       * be held, where one is known; else 0 */
    int64_t *items;   /* receives the shares; scratch before that */
};

/**
 * Fills items with shares whose slowest rank ends as early as any split's.
 *
 * Each is a multiple of the quantum; what the total has over multiples lies on
 * the last rank that has items. What fits just below the time found goes out
 * first, what becomes possible exactly then goes to the lower ranks, so that
 * equal ranks differ by one block at most and shares never fall as the total
 * grows by multiples (unless a device must drop a replica to hold them).
 *
 * Time O(ranks) for each of a few rounds, two or three where nothing but their
 * own maximums limits the ranks; no allocation; stack below 8 KiB.
 *
 * @param level  Receives the least time at which those above their minimum
 *               hold the rest (0: nobody is); the slowest rank may end later
 *               when a minimum wants it. May be NULL.
 * @return 1; 0 when the ranks cannot hold the total (items then hold nothing
 *         of use).
 */
int hdpi_finish(const struct hdpi_finish *finish, double *level);

/** Largest total the ranks could hold, minimums set aside; at most `total`. */
int64_t hdpi_finish_capacity(const struct hdpi_finish *finish);

/** 1 when all is held by `ns`: the shares may end no later, unless a minimum
 *  ends later by itself. items is scratch. */
int hdpi_finish_by(const struct hdpi_finish *finish, double ns);

/* What a rank gets at least and at most. */
static inline int64_t hdpi_low(const struct hdpi_finish *in, int32_t i)
{
    return in->low ? in->low[i] : 0;
}

static inline int64_t hdpi_high(const struct hdpi_finish *in, int32_t i)
{
    return in->high ? in->high[i] : in->total;
}

/* The rate of a rank where finish->rates count. */
static inline double hdpi_finish_rate(const struct hdpi_finish *finish,
                                      int32_t rank)
{
    return finish->rates[rank] * finish->scale + 0; /* no -0 */
}

/** The speed of one rank as the split sees it; `own` is room for it. */
static inline const struct hdpi_lane *
hdpi_finish_lane(const struct hdpi_finish *finish, int32_t rank,
                 struct hdpi_lane *own)
{
    if (finish->lanes)
        return &finish->lanes[rank];
    *own = (struct hdpi_lane){ .kind = HDPI_LANE_RATE, .item_ns = 1 };
    if (finish->lines) {
        own->kind = HDPI_LANE_LINE;
        own->fixed_ns = finish->lines[rank].fixed_ns;
        own->item_ns = finish->lines[rank].item_ns;
    } else if (finish->rates) {
        own->item_ns = hdpi_finish_rate(finish, rank);
    }
    return own;
}

/** When a share of this rank ends: hdpi_lane_time(). */
static inline double hdpi_finish_end(const struct hdpi_finish *finish,
                                     int32_t rank, int64_t items)
{
    if (finish->lanes)
        return hdpi_lane_time(&finish->lanes[rank], items);
    if (items <= 0)
        return 0;
    if (finish->lines)
        return finish->lines[rank].fixed_ns +
               finish->lines[rank].item_ns * (double)items;
    if (finish->rates)
        return (double)items / hdpi_finish_rate(finish, rank);
    return (double)items;
}

/** Where this rank stands by `limit`: hdpi_lane_stop() in quanta, without an
 *  offset, `top` 0 or more. */
static inline void hdpi_finish_stop(struct hdpi_stop *out,
                                    const struct hdpi_finish *finish,
                                    int32_t rank, int64_t top, double limit)
{
    const int64_t quantum = finish->quantum;
    struct hdpi_lane own;
    struct hdpi_stop sought; /* whose address is taken, unlike that of *out */
    int known = 0;

    if (finish->lines)
        known = hdpi_line_stop(out, &finish->lines[rank], quantum, top, limit);
    else if (finish->rates)
        known = hdpi_rate_stop(out, hdpi_finish_rate(finish, rank), quantum,
                               top, limit);
    if (known)
        return;
    hdpi_lane_stop(&sought, hdpi_finish_lane(finish, rank, &own), quantum, 0,
                   top, limit);
    *out = sought;
}

/** When the last of these shares ends. */
double hdpi_finish_time(const struct hdpi_finish *finish, const int64_t *items);
#endif
