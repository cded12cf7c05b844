/* The best split by other means: models as plain numbers, their times by the
 * definition, the optimum by a dynamic programme over ranks and blocks, and by
 * looking at every split there is. Shares no code with the library. */
#ifndef TEST_DP_H
#define TEST_DP_H
#include <stdint.h>
#include <string.h>

enum { DP_RANKS = 5, DP_ITEMS = 200, DP_POINTS = 6 };

static const double dp_never = 1e300;

struct dp_rank {
    double fixed_ns, item_ns; /* without points */
    int64_t point_items[DP_POINTS];
    double point_ns[DP_POINTS];
    int points;
    double in_ns, out_ns; /* an item over the link */
    int min, max;         /* items */
    int domain;           /* ranks with the same number share memory */
    int64_t room;         /* bytes of it; -1: no limit */
};

struct dp_model {
    int ranks, quantum, overlap;
    int64_t item_bytes, fixed_bytes;
    struct dp_rank rank[DP_RANKS];
    double time[DP_RANKS][DP_ITEMS + 1]; /* filled by dp_prepare() */
};

/* The curve as given: flat below the first point, straight between, the last
 * slope beyond (or, where that does not rise, the last point's own rate). */
static double dp_raw(const struct dp_rank *r, int64_t n)
{
    int last = r->points - 1;
    if (r->points == 0)
        return r->fixed_ns + r->item_ns * (double)n;
    if (n <= r->point_items[0])
        return r->point_ns[0];
    for (int i = 0; i < last; i++)
        if (n <= r->point_items[i + 1]) {
            double part = (double)(n - r->point_items[i]) /
                          (double)(r->point_items[i + 1] - r->point_items[i]);
            return r->point_ns[i] +
                   part * (r->point_ns[i + 1] - r->point_ns[i]);
        }
    double slope = r->point_ns[last] / (double)r->point_items[last];
    if (last > 0 && r->point_ns[last] > r->point_ns[last - 1])
        slope = (r->point_ns[last] - r->point_ns[last - 1]) /
                (double)(r->point_items[last] - r->point_items[last - 1]);
    return r->point_ns[last] + slope * (double)(n - r->point_items[last]);
}

/* Times of every share: the cheapest way to do at least n, and the link. */
static void dp_prepare(struct dp_model *m)
{
    for (int i = 0; i < m->ranks; i++) {
        const struct dp_rank *r = &m->rank[i];
        int64_t end = DP_ITEMS;
        if (r->points > 0 && r->point_items[r->points - 1] > end)
            end = r->point_items[r->points - 1];
        double least = dp_never;
        for (int64_t n = end; n >= 1; n--) {
            double raw = dp_raw(r, n);
            least = raw < least ? raw : least;
            if (n > DP_ITEMS)
                continue;
            double in = r->in_ns * (double)n, out = r->out_ns * (double)n;
            double t = least;
            if (!m->overlap)
                t += in + out;
            else if (in > t || out > t)
                t = in > out ? in : out;
            m->time[i][n] = t;
        }
        m->time[i][0] = 0;
    }
}

/* 1 when the shares obey every limit: sum, quantum with the remainder on the
 * last rank that has items, minimum, maximum, memory of each device. */
static inline int dp_obeys(const struct dp_model *m, const int64_t *items,
                           int64_t total)
{
    int64_t sum = 0;
    int last = -1;

    for (int i = 0; i < m->ranks; i++) {
        if (items[i] < m->rank[i].min || items[i] > m->rank[i].max)
            return 0;
        sum += items[i];
        if (items[i] > 0)
            last = i;
    }
    if (sum != total)
        return 0;
    for (int i = 0; i < m->ranks; i++)
        if (i != last && items[i] % m->quantum != 0)
            return 0;
    for (int i = 0; i < m->ranks; i++) {
        int64_t bytes = 0;
        for (int j = 0; j < m->ranks; j++)
            if (m->rank[j].domain == m->rank[i].domain && items[j] > 0)
                bytes += m->fixed_bytes + items[j] * m->item_bytes;
        if (m->rank[i].room >= 0 && bytes > m->rank[i].room)
            return 0;
    }
    return 1;
}

static inline double dp_slowest(const struct dp_model *m, const int64_t *items)
{
    double slowest = 0;
    for (int i = 0; i < m->ranks; i++)
        if (m->time[i][items[i]] > slowest)
            slowest = m->time[i][items[i]];
    return slowest;
}

/* Every split of `left` over ranks i and up; the least time in *best. */
static inline void dp_try_all(const struct dp_model *m, int i, int64_t left,
                              int64_t *items, int64_t total, double *best)
{
    if (i == m->ranks - 1) {
        items[i] = left;
        if (dp_obeys(m, items, total) && dp_slowest(m, items) < *best)
            *best = dp_slowest(m, items);
        return;
    }
    for (items[i] = 0; items[i] <= left; items[i]++)
        dp_try_all(m, i + 1, left - items[i], items, total, best);
}

static inline double dp_enumerate(const struct dp_model *m, int64_t total)
{
    int64_t items[DP_RANKS];
    double best = dp_never;
    dp_try_all(m, 0, total, items, total, &best);
    return best;
}

/* ---- the programme -------------------------------------------------------- */

struct dp_row { /* least time of the slowest for k blocks */
    double best[DP_ITEMS + 1];
};

static inline void dp_clear(struct dp_row *row)
{
    for (int k = 0; k <= DP_ITEMS; k++)
        row->best[k] = dp_never;
}

/* One more rank: `ns(k)` for k blocks of it, between low and high. */
static inline void dp_add(struct dp_row *row, const double *ns, int low,
                          int high, int blocks)
{
    static struct dp_row next;
    dp_clear(&next);
    for (int have = 0; have <= blocks; have++) {
        if (row->best[have] >= dp_never)
            continue;
        for (int k = low; k <= high && have + k <= blocks; k++) {
            double t = row->best[have] > ns[k] ? row->best[have] : ns[k];
            if (t < next.best[have + k])
                next.best[have + k] = t;
        }
    }
    *row = next;
}

/* Blocks a device's memory leaves with so many replicas, -1: none. */
static inline int64_t dp_quota(const struct dp_model *m, int64_t room,
                               int replicas, int rest, int blocks)
{
    if (room < 0)
        return blocks;
    int64_t bytes = room - replicas * m->fixed_bytes;
    if (bytes < 0)
        return -1;
    if (m->item_bytes == 0)
        return blocks;
    int64_t items = bytes / m->item_bytes - rest;
    return items < 0 ? -1 : items / m->quantum;
}

/* The ranks of one device; those of `set` (bit i) have items, or, unless
 * exact, may have. */
static inline void dp_device(const struct dp_model *m, int device, unsigned set,
                             int exact, int last, int rest, int blocks,
                             struct dp_row *row)
{
    int replicas = 0, beside = 0;
    int64_t room = -1;

    dp_clear(row);
    row->best[0] = 0;
    for (int i = 0; i < m->ranks; i++) {
        const struct dp_rank *r = &m->rank[i];
        double ns[DP_ITEMS + 1];
        if (r->domain != device || !(set >> i & 1))
            continue;
        room = r->room;
        replicas++;
        int offset = i == last ? rest : 0, high = -1;
        beside += offset;
        for (int k = 0; k * m->quantum + offset <= r->max && k <= blocks; k++) {
            high = k;
            ns[k] = m->time[i][k * m->quantum + offset];
        }
        int low = 0;
        while (low * m->quantum + offset < r->min ||
               (exact && low * m->quantum + offset == 0))
            low++;
        dp_add(row, ns, low, high, blocks);
    }
    int64_t quota = dp_quota(m, room, replicas, beside, blocks);
    for (int k = 0; replicas > 0 && k <= blocks; k++)
        if (k > quota)
            row->best[k] = dp_never;
}

/* The ranks of `set` have items, or may have; `last` bears the rest. */
static inline double dp_with(const struct dp_model *m, int64_t total,
                             unsigned set, int exact, int last)
{
    int blocks = (int)(total / m->quantum), rest = (int)(total % m->quantum);
    static struct dp_row all, device;

    dp_clear(&all);
    all.best[0] = 0;
    for (int i = 0; i < m->ranks; i++) {
        int first = 1;
        if (!(set >> i & 1) && m->rank[i].min > 0)
            return dp_never;
        for (int j = 0; j < i; j++)
            first &= m->rank[j].domain != m->rank[i].domain;
        if (!first)
            continue;
        dp_device(m, m->rank[i].domain, set, exact, last, rest, blocks,
                  &device);
        dp_add(&all, device.best, 0, blocks, blocks);
    }
    return all.best[blocks];
}

/* Least time of the slowest rank; dp_never when nothing obeys the limits. A
 * replica's fixed bytes make it matter exactly who has items; else it is enough
 * to say who is the last that may. */
static inline double dp_optimum(const struct dp_model *m, int64_t total)
{
    int exact = m->fixed_bytes > 0;
    double best = dp_never;

    for (unsigned set = 1; set < 1u << m->ranks; set++) {
        int last = 0;
        for (int i = 0; i < m->ranks; i++)
            if (set >> i & 1)
                last = i;
        if (!exact && set != (2u << last) - 1)
            continue;
        double t = dp_with(m, total, set, exact, last);
        best = t < best ? t : best;
    }
    return total == 0 ? 0 : best;
}
#endif
