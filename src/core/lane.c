/* Curves turned round: how many items end by a time. A formula guesses, the
 * curve itself decides, so that both directions agree to the last bit. */
#include <float.h>
#include "core/lane.h"

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* About how many items end by `limit`; may be off by rounding. */
static double guess(const struct hdpi_lane *lane, double limit)
{
    if (!lane->rank)
        return limit * lane->rate;
    if (!lane->overlap)
        return hdpi_profile_guess(lane->rank, limit,
                                  lane->in_ns + lane->out_ns);
    double items = hdpi_profile_guess(lane->rank, limit, 0);
    double copy_ns = larger(lane->in_ns, lane->out_ns);
    if (copy_ns > 0 && items > limit / copy_ns)
        items = limit / copy_ns;
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
    const struct hdpi_rank_profile *rank = lane->rank;

    if (!rank) {
        *fixed_ns = 0;
        *item_ns = 1 / lane->rate;
        return;
    }
    hdpi_profile_line(rank, fixed_ns, item_ns);
    if (lane->overlap)
        *item_ns = larger(*item_ns, larger(lane->in_ns, lane->out_ns));
    else
        *item_ns += lane->in_ns + lane->out_ns;
}
