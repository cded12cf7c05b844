/* Subsets of ranks, each priced as its finish time and its ring. One pass tells
 * whether a subset could hold the total in what the best leaves beside the
 * ring; few can, and only those are searched. */
#include <float.h>
#include <string.h>
#include "core/bench.h"

/* ---- the ring ------------------------------------------------------------ */

struct ring { /* of the ranks added so far */
    int64_t count;
    double slowest; /* 0: no link is known */
};

static void ring_add(struct ring *ring, double link)
{
    ring->count++;
    if (link > 0 && (ring->slowest <= 0 || link < ring->slowest))
        ring->slowest = link;
}

double hdpi_ring_time(int64_t ranks, double slowest, int64_t reduce_bytes)
{
    if (ranks < 2 || slowest <= 0)
        return 0;
    double bytes =
        (double)reduce_bytes * 2 * (double)(ranks - 1) / (double)ranks;
    double ns = bytes / slowest * 1e9;
    return ns < 1e24 ? ns : 1e24;
}

static double ring_time(const struct ring *ring, int64_t reduce_bytes)
{
    return hdpi_ring_time(ring->count, ring->slowest, reduce_bytes);
}

double hdpi_ring_ns(const hdp_profile *profile, int64_t reduce_bytes,
                    const int64_t *items)
{
    struct ring ring = { 0, 0 };

    if (reduce_bytes == 0)
        return 0;
    for (int32_t i = 0; i < profile->info.member_count; i++)
        if (!items || items[i] > 0)
            ring_add(&ring, profile->ranks[i].reduce_bytes_per_second);
    return ring_time(&ring, reduce_bytes);
}

/* ---- one subset ---------------------------------------------------------- */

static int is_needed(const struct hdpi_finish *in, int32_t i)
{
    return hdpi_low(in, i) > 0;
}

/* Those of the subset may have items, as bench->high says. */
static int improve_with(struct hdpi_bench *bench)
{
    const hdp_profile *profile = bench->profile;
    struct hdpi_finish part = *bench->in;
    struct ring ring = { 0, 0 };

    for (int32_t i = 0; i < part.count; i++)
        if (bench->high[i] > 0)
            ring_add(&ring, profile->ranks[i].reduce_bytes_per_second);
    double left = bench->best_ns;
    /* a search may leave more ranks out, so the ring is no bound there */
    if (part.count <= HDPI_BENCH_EXACT)
        left -= ring_time(&ring, bench->reduce_bytes);
    part.high = bench->high;
    part.items = bench->items;
    part.enough_ns = 0;
    if (ring.count == 0 || !(left > 0) || !hdpi_finish_by(&part, left) ||
        !hdpi_finish(&part, NULL))
        return 0;
    double ns = hdpi_finish_time(&part, part.items) +
                hdpi_ring_ns(profile, bench->reduce_bytes, part.items);
    if (!(ns < bench->best_ns))
        return 0;
    memcpy(bench->best, part.items, (size_t)part.count * sizeof *part.items);
    bench->best_ns = ns;
    return 1;
}

/* ---- every subset -------------------------------------------------------- */

static void try_all(struct hdpi_bench *bench)
{
    const struct hdpi_finish *in = bench->in;
    uint32_t able = 0, needed = 0;

    for (int32_t i = 0; i < in->count; i++) {
        able |= (uint32_t)(hdpi_high(in, i) > 0) << i;
        needed |= (uint32_t)is_needed(in, i) << i;
    }
    /* from all of them down, so that of equal ones the larger is taken */
    for (uint32_t set = able; set > 0; set = (set - 1) & able) {
        if ((set & needed) != needed)
            continue;
        for (int32_t i = 0; i < in->count; i++)
            bench->high[i] = set >> i & 1 ? hdpi_high(in, i) : 0;
        (void)improve_with(bench);
    }
}

/* ---- likely subsets ------------------------------------------------------ */

/* Links count as one down to 4/5 of the fastest below `under`; returns that
 * bar, 0 when there is none. */
static double next_bar(const hdp_profile *profile, double under)
{
    double fastest = 0;

    for (int32_t i = 0; i < profile->info.member_count; i++) {
        double link = profile->ranks[i].reduce_bytes_per_second;
        if (link < under && link > fastest)
            fastest = link;
    }
    return fastest * 0.8;
}

/* Leaves out those that hold less than the mean by the best time; where all
 * hold the same, the upper half. Returns how many are left. */
static int32_t keep_the_fast(struct hdpi_bench *bench)
{
    const struct hdpi_finish *in = bench->in;
    double sum = 0;
    int32_t count = 0, left = 0;

    for (int32_t i = 0; i < in->count; i++) {
        struct hdpi_lane own;
        struct hdpi_stop stop;
        if (bench->high[i] == 0)
            continue;
        hdpi_lane_stop(&stop, hdpi_finish_lane(in, i, &own), 1, 0,
                       bench->high[i], bench->best_ns);
        bench->items[i] = stop.blocks;
        sum += (double)stop.blocks;
        count++;
    }
    for (int32_t i = 0; i < in->count; i++)
        if (bench->high[i] > 0 &&
            (is_needed(in, i) || (double)bench->items[i] * count >= sum))
            left++;
    int32_t halved = left == count ? (count + 1) / 2 : count;
    for (int32_t i = 0; i < in->count; i++) {
        if (bench->high[i] == 0)
            continue;
        int kept = left == count ? halved-- > 0
                                 : (double)bench->items[i] * count >= sum;
        if (!kept && !is_needed(in, i))
            bench->high[i] = 0;
    }
    return left == count ? (count + 1) / 2 : left;
}

/* Ranks with no link below the bar, and ever fewer of the fastest. */
static void try_links(struct hdpi_bench *bench, double bar)
{
    enum { ROUNDS = 40 };
    const struct hdpi_finish *in = bench->in;

    for (int32_t i = 0; i < in->count; i++) {
        double link = bench->profile->ranks[i].reduce_bytes_per_second;
        int kept = link <= 0 || link >= bar || is_needed(in, i);
        bench->high[i] = kept ? hdpi_high(in, i) : 0;
    }
    for (int round = 0; round < ROUNDS; round++) {
        (void)improve_with(bench);
        if (keep_the_fast(bench) <= 1)
            break;
    }
    (void)improve_with(bench);
}

/* The best so far with one rank more or less. */
static void try_neighbours(struct hdpi_bench *bench)
{
    enum { ROUNDS = 16 };
    const struct hdpi_finish *in = bench->in;
    int better = 1;

    for (int round = 0; round < ROUNDS && better; round++) {
        better = 0;
        for (int32_t i = 0; i < in->count; i++) {
            for (int32_t k = 0; k < in->count; k++)
                bench->high[k] =
                    (bench->best[k] > 0) != (k == i) || is_needed(in, k)
                        ? hdpi_high(in, k)
                        : 0;
            better |= improve_with(bench);
        }
    }
}

void hdpi_bench_improve(struct hdpi_bench *bench)
{
    enum { BARS = 24, FEW = 64 };

    if (bench->in->count <= HDPI_BENCH_EXACT) {
        try_all(bench);
        return;
    }
    double bar = next_bar(bench->profile, DBL_MAX);
    for (int k = 0; k < BARS && bar > 0; k++) {
        try_links(bench, bar);
        bar = next_bar(bench->profile, bar);
    }
    if (bench->in->count <= FEW)
        try_neighbours(bench);
}
