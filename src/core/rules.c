/* Largest remainder under limits. First in real numbers, where a share that a
 * limit clips is set apart and the others are scaled to what is left; then in
 * blocks, where the largest fractions are rounded up. */
#include "core/rules.h"

struct apportion {
    const struct hdpi_finish *in;
    double *weights;
    int64_t blocks, rest;
    int32_t last;   /* bears the rest; count - 1 without one */
    double measure; /* items for a weight of 1 */
};

struct range { /* of a share, in blocks beside `rest` items */
    int64_t rest, low, high;
};

/* 0 when the rank's limits contradict each other in whole blocks. */
static int range_of(const struct apportion *a, int32_t i, struct range *out)
{
    const struct hdpi_finish *in = a->in;
    int64_t low = hdpi_low(in, i);
    int64_t high = hdpi_high(in, i);
    int64_t rest = a->rest > 0 && i == a->last ? a->rest : 0;

    *out = (struct range){ .rest = rest };
    if (i > a->last)
        return low == 0;
    if (low > rest)
        out->low = (low - rest - 1) / in->quantum + 1;
    if (high < rest)
        return 0;
    out->high = (high - rest) / in->quantum;
    return out->low <= out->high;
}

/* The rank that bears the rest: the last one, unless its part is nearer to
 * nothing than to the rest. */
static int choose_last(struct apportion *a)
{
    const struct hdpi_finish *in = a->in;
    double sum = 0;
    int32_t found = -1;

    a->last = in->count - 1;
    if (a->rest == 0)
        return 1;
    for (int32_t i = 0; i < in->count; i++)
        sum += a->weights[i];
    for (int32_t i = in->count - 1; i >= 0; i--) {
        int64_t low = hdpi_low(in, i);
        int64_t high = hdpi_high(in, i);
        double part = (double)in->total * (a->weights[i] / sum);
        if (high >= a->rest && (a->weights[i] > 0 || low > 0)) {
            found = i;
            if (2 * part > (double)a->rest)
                break;
        }
        if (low > 0)
            break;
    }
    a->last = found;
    return found >= 0;
}

/* What share i asks for at the measure, kept inside its range; items. */
static double clipped(const struct apportion *a, int32_t i,
                      const struct range *range, double *over)
{
    double quantum = (double)a->in->quantum, rest = (double)range->rest;
    double part = a->measure * a->weights[i];
    double low = (double)range->low * quantum + rest;
    double high = (double)range->high * quantum + rest;
    double kept = part < low ? low : part > high ? high : part;
    *over = kept - part;
    return kept;
}

/* One round of setting apart: with what is left for the free shares, finds
 * those outside their range and sets apart the side that is further out.
 * items holds 1 for a share set apart. Returns how many were. */
static int32_t set_apart(struct apportion *a)
{
    const struct hdpi_finish *in = a->in;
    double left = (double)in->total, sum = 0, balance = 0, over;
    struct range range;
    int32_t moved = 0;

    for (int32_t i = 0; i <= a->last; i++) {
        (void)range_of(a, i, &range);
        if (in->items[i])
            left -= clipped(a, i, &range, &over);
        else
            sum += a->weights[i];
    }
    if (!(sum > 0))
        return 0;
    a->measure = left > 0 ? left / sum : 0;
    for (int32_t i = 0; i <= a->last; i++) {
        (void)range_of(a, i, &range);
        if (!in->items[i]) {
            (void)clipped(a, i, &range, &over);
            balance += over;
        }
    }
    for (int32_t i = 0; i <= a->last; i++) {
        (void)range_of(a, i, &range);
        if (in->items[i])
            continue;
        (void)clipped(a, i, &range, &over);
        if ((over > 0 && balance >= 0) || (over < 0 && balance <= 0)) {
            in->items[i] = 1;
            moved++;
        }
    }
    return moved;
}

/* ---- rounding ------------------------------------------------------------ */

/* Rounds down into items and leaves the fractions in weights; -1 for those at
 * their limit. Returns the blocks still to give, below 0 when there are too
 * many. */
static int64_t round_down(const struct apportion *a)
{
    const struct hdpi_finish *in = a->in;
    int64_t left = a->blocks;

    for (int32_t i = 0; i < in->count; i++) {
        struct range range;
        (void)range_of(a, i, &range);
        double part = a->measure * a->weights[i] - (double)range.rest;
        part /= (double)in->quantum;
        int64_t down = range.low;
        if (part >= (double)range.high)
            down = range.high;
        else if (part > (double)range.low)
            down = (int64_t)part;
        double fraction = part - (double)down;
        a->weights[i] = fraction < -1 ? -1 : fraction > 1 ? 1 : fraction;
        in->items[i] = down;
        left -= down;
    }
    return left;
}

static int may_grow(const struct apportion *a, int32_t i)
{
    struct range range;
    (void)range_of(a, i, &range);
    return a->in->items[i] < range.high;
}

static int32_t count_above(const struct apportion *a, double bar)
{
    int32_t count = 0;
    for (int32_t i = 0; i <= a->last; i++)
        count += a->weights[i] > bar && may_grow(a, i);
    return count;
}

/* One block more for the `left` largest fractions; fewer than may grow. */
static void round_up(const struct apportion *a, int64_t left)
{
    double low = -2,
           high = 1; /* more than `left` above low, fewer above high */

    for (int round = 0; round < 60; round++) {
        double bar = low + (high - low) / 2;
        int32_t above = count_above(a, bar);
        if (above > left) {
            low = bar;
        } else {
            high = bar;
            if (above == left)
                break;
        }
    }
    for (int pass = 0; pass < 2; pass++) /* equal ones: the lower ranks */
        for (int32_t i = 0; i <= a->last && left > 0; i++) {
            double fraction = a->weights[i];
            int chosen = pass == 0 ? fraction > high
                                   : fraction > low && fraction <= high;
            if (chosen && may_grow(a, i)) {
                a->in->items[i]++;
                left--;
            }
        }
}

/* All that may grow get the same number more, while that is not too much. */
static int64_t grow_all(const struct apportion *a, int64_t left)
{
    int32_t count = count_above(a, -2);

    while (count > 0 && left >= count) {
        int64_t each = left / count;
        for (int32_t i = 0; i <= a->last; i++) {
            struct range range;
            (void)range_of(a, i, &range);
            int64_t room = range.high - a->in->items[i];
            int64_t more = room < each ? room : each;
            a->in->items[i] += more;
            left -= more;
        }
        count = count_above(a, -2);
    }
    return count > 0 || left == 0 ? left : -1;
}

/* Rounding lifted a share to its minimum or to the rest: takes a block back
 * where the fraction is smallest. 0 when there is none to take. */
static int shrink(const struct apportion *a)
{
    int32_t least = -1;
    for (int32_t i = 0; i <= a->last; i++) {
        struct range range;
        (void)range_of(a, i, &range);
        if (a->in->items[i] > range.low &&
            (least < 0 || a->weights[i] < a->weights[least]))
            least = i;
    }
    if (least < 0)
        return 0;
    a->in->items[least]--;
    a->weights[least] += 1;
    return 1;
}

int hdpi_apportion(const struct hdpi_finish *in, double *weights)
{
    enum { SHRINKS = 64 };
    struct apportion a = { .in = in,
                           .weights = weights,
                           .blocks = in->total / in->quantum,
                           .rest = in->total % in->quantum };
    struct range range;

    if (!choose_last(&a))
        return 0;
    for (int32_t i = 0; i < in->count; i++) {
        if (!range_of(&a, i, &range))
            return 0;
        in->items[i] = 0;
    }
    while (set_apart(&a) > 0)
        ;
    int64_t left = round_down(&a);
    for (int tries = 0; left < 0; tries++, left++)
        if (tries == SHRINKS || !shrink(&a))
            return 0;
    left = grow_all(&a, left);
    if (left < 0)
        return 0;
    if (left > 0)
        round_up(&a, left);
    for (int32_t i = 0; i < in->count; i++) {
        (void)range_of(&a, i, &range);
        in->items[i] = in->items[i] * in->quantum + range.rest;
    }
    return 1;
}
