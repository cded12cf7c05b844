/* Curves turned round: how many items end by a time. A formula guesses, the
 * curve itself decides, so that both directions agree to the last bit. */
#include <float.h>
#include "core/lane.h"

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Time of an item over a link; 0 without one. */
static double link_ns(double bytes, double bytes_per_second)
{
    if (bytes <= 0 || bytes_per_second <= 0)
        return 0;
    double ns = bytes / bytes_per_second * 1e9;
    return ns < 1e24 ? ns : 1e24; /* times 2^63 items stays finite */
}

void hdpi_lane_of(struct hdpi_lane *out, const struct hdpi_rank_profile *rank,
                  double in_bytes, double out_bytes, int32_t overlap)
{
    double in_ns = link_ns(in_bytes, rank->in_bytes_per_second);
    double out_ns = link_ns(out_bytes, rank->out_bytes_per_second);
    int curve = rank->point_count > 0;

    out->curve = curve ? rank : NULL;
    out->kind = curve ? HDPI_LANE_CURVE : HDPI_LANE_LINE;
    out->fixed_ns = rank->fixed_ns;
    out->item_ns = rank->item_ns;
    out->copy_ns = overlap ? larger(in_ns, out_ns) : in_ns + out_ns;
    out->overlap = overlap != 0;
}

/* About how many items a line or curve does by `limit`, each taking `extra_ns`
 * more. */
static double guess_plain(const struct hdpi_lane *lane, double limit,
                          double extra_ns)
{
    if (lane->kind == HDPI_LANE_CURVE)
        return hdpi_profile_guess(lane->curve, limit, extra_ns);
    double slope = lane->item_ns + extra_ns;
    if (slope > 0)
        return (limit - lane->fixed_ns) / slope;
    return limit >= lane->fixed_ns ? DBL_MAX : -1;
}

/* About how many items end by `limit`; may be off by rounding. */
static double guess(const struct hdpi_lane *lane, double limit)
{
    if (lane->kind == HDPI_LANE_RATE)
        return limit * lane->item_ns;
    if (!lane->overlap)
        return guess_plain(lane, limit, lane->copy_ns);
    double items = guess_plain(lane, limit, 0);
    if (lane->copy_ns > 0 && items > limit / lane->copy_ns)
        items = limit / lane->copy_ns;
    return items;
}

/* The guess missed by more than one block: doubles the stride until the limit
 * lies between, then halves. `good` ends in time, `bad` does not. */
static int64_t seek(const struct hdpi_lane *lane, int64_t quantum,
                    int64_t offset, int64_t good, int64_t bad, double limit,
                    int upwards)
{
    int64_t stride = 1;

    while (bad - good > 1) {
        int64_t k = good + (bad - good) / 2;
        if (stride < (bad - good) / 2)
            k = upwards ? good + stride : bad - stride;
        stride = stride < INT64_MAX / 2 ? 2 * stride : stride;
        int in_time = hdpi_lane_time(lane, k * quantum + offset) <= limit;
        if (in_time)
            good = k;
        else
            bad = k;
        if (in_time != upwards)
            stride = INT64_MAX; /* it lies between: halve from here */
    }
    return good;
}

static int64_t seek_up(const struct hdpi_lane *lane, int64_t quantum,
                       int64_t offset, int64_t good, int64_t top, double limit)
{
    if (hdpi_lane_time(lane, top * quantum + offset) <= limit)
        return top;
    return seek(lane, quantum, offset, good, top, limit, 1);
}

static int64_t first_block(double items, int64_t quantum, int64_t offset,
                           int64_t top)
{
    double blocks = items - (double)offset;
    if (quantum > 1)
        blocks /= (double)quantum;
    if (blocks >= (double)top)
        return top;
    if (blocks >= 0)
        return (int64_t)blocks;
    return offset > 0 ? -1 : 0; /* also for NaN */
}

void hdpi_lane_stop(struct hdpi_stop *out, const struct hdpi_lane *lane,
                    int64_t quantum, int64_t offset, int64_t top, double limit)
{
    double at = 0, next = DBL_MAX;
    int64_t k = -1;

    if (top >= 0) {
        k = first_block(guess(lane, limit), quantum, offset, top);
        if (k >= 0)
            at = hdpi_lane_time(lane, k * quantum + offset);
        if (at > limit) {
            k = seek(lane, quantum, offset, offset > 0 ? -1 : 0, k, limit, 0);
            at = k < 0 ? 0 : hdpi_lane_time(lane, k * quantum + offset);
        }
        if (k < top) {
            next = hdpi_lane_time(lane, (k + 1) * quantum + offset);
            if (next <= limit) {
                k = seek_up(lane, quantum, offset, k + 1, top, limit);
                at = hdpi_lane_time(lane, k * quantum + offset);
                next = DBL_MAX;
                if (k < top)
                    next = hdpi_lane_time(lane, (k + 1) * quantum + offset);
            }
        }
    }
    out->blocks = k;
    out->at = at;
    out->next = next;
}

void hdpi_lane_line(const struct hdpi_lane *lane, double *fixed_ns,
                    double *item_ns)
{
    if (lane->kind == HDPI_LANE_RATE) {
        *fixed_ns = 0;
        *item_ns = 1 / lane->item_ns;
        return;
    }
    if (lane->kind == HDPI_LANE_CURVE) {
        hdpi_profile_line(lane->curve, fixed_ns, item_ns);
    } else {
        *fixed_ns = lane->fixed_ns;
        *item_ns = larger(lane->item_ns, HDPI_SHORTEST_NS);
    }
    if (lane->overlap)
        *item_ns = larger(*item_ns, lane->copy_ns);
    else
        *item_ns += lane->copy_ns;
}
