/* Time is searched, shares follow. A round counts what all ranks hold by a
 * time; the search jumps by the slope seen, snaps to the exact instants at
 * which somebody's next block ends, and stops when no instant lies between
 * "too early" and "enough". Blocks are quanta; the remainder rides on one rank,
 * and which one is found by the same count, over prefixes of the ranks. */
#include <float.h>
#include <string.h>
#include "core/instants.h"
#include "core/quantum.h"
#include "core/reach.h"

/* ---- the search ---------------------------------------------------------- */

/* Halves what lies between in the order of doubles: 63 times at most. */
static double middle(double low, double high)
{
    uint64_t a, b;
    memcpy(&a, &low, sizeof a);
    memcpy(&b, &high, sizeof b);
    a += (b - a) / 2;
    memcpy(&low, &a, sizeof low);
    return low;
}

/* A straight line that resembles the rank's curve; an item of a rate of 0 takes
 * forever. */
static struct hdpi_line line_of(const struct hdpi_finish *in, int32_t i)
{
    struct hdpi_line line = { 0, 1 };

    if (in->lines)
        return in->lines[i];
    if (in->lanes)
        hdpi_lane_line(&in->lanes[i], &line.fixed_ns, &line.item_ns);
    else if (in->rates)
        line.item_ns = 1 / hdpi_finish_rate(in, i);
    return line;
}

/* The time by which straight lines hold the total and half a block a rank more,
 * which is what whole blocks waste. */
static void first_guess(const struct hdpi_search *s, struct hdpi_guess *guess)
{
    enum { ROUNDS = 4 }; /* each without those that would start too late */
    const struct hdpi_finish *in = s->in;
    double start = DBL_MAX; /* the latest of those counted */

    *guess = (struct hdpi_guess){ .ns = DBL_MAX };
    for (int round = 0; round < ROUNDS && start >= guess->ns; round++) {
        double items = (double)in->total, rate = 0;
        int32_t counted = 0;
        start = 0;
        for (int32_t i = 0; i < in->count; i++) {
            const struct hdpi_line line = line_of(in, i);
            if (line.fixed_ns >= guess->ns || !(line.item_ns < DBL_MAX) ||
                (in->high && in->high[i] == 0))
                continue;
            double own = 1 / line.item_ns;
            items += line.fixed_ns * own;
            rate += own;
            start = line.fixed_ns > start ? line.fixed_ns : start;
            counted++;
        }
        if (!(rate > 0))
            break;
        guess->ns = (items + 0.5 * (double)in->quantum * counted) / rate;
        guess->rate = rate / (double)in->quantum;
    }
}

/* A time by which all is held for certain: one that is known, or the end of
 * everything that fits. -1: it never is. */
static double upper_bound(const struct hdpi_search *s)
{
    struct hdpi_reach reach;

    if (s->in->enough_ns > 0 && s->last < 0 && s->only < 0)
        return s->in->enough_ns;
    hdpi_reach_by(s, DBL_MAX, &reach);
    return reach.held < s->blocks ? -1 : reach.before;
}

/* Least time by which s->blocks are held; -1: never. It is not before `from`,
 * where the search starts unless that is 0. *below_it is the last time
 * looked at when that is earlier, with nothing between: in->items then holds
 * what there is just below the time found; else it is -1. */
static double find(const struct hdpi_search *s, double from, double guess,
                   double *below_it)
{
    enum { PATIENCE = 8 }; /* rounds of jumping before halving as well */
    double next = from, best = upper_bound(s), at = from > 0 ? from : guess;
    /* nothing but whole blocks of single ranks: each instant brings one */
    int simple =
        s->last == HDPI_NO_LAST && s->only < 0 && !s->in->low && !s->in->pools;

    *below_it = -1;
    for (int round = 0; next < best; round++) {
        struct hdpi_reach now;
        if (round >= PATIENCE && round % 2 == 1)
            at = middle(next, best);
        if (!(at > next))
            at = next;
        if (!(at < best))
            at = hdpi_below(best);
        hdpi_reach_by(s, at, &now);
        *below_it = at;
        double missing = now.held < 0 ? (double)s->blocks + 1
                                      : (double)(s->blocks - now.held);
        if (missing > 0) {
            next = now.next;
            if (missing < 1.5 && simple)
                return next; /* somebody's next block is all that is missing */
            at += missing > 1.5 ? (missing - 1) / now.density : 0;
        } else {
            *below_it = -1;
            best = now.before;
            at = best;
            at -= missing < -1.5 ? (-missing - 1) / now.density : 0;
        }
    }
    return best;
}

/* ---- shares -------------------------------------------------------------- */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Blocks rank i holds by ns. */
static int64_t holds(const struct hdpi_search *s, int32_t i, double ns)
{
    struct hdpi_reach ignored = { 0 };
    struct hdpi_least least;
    return hdpi_reach_rank(s, i, i == s->last ? s->rest : 0, ns, &ignored,
                           &least);
}

/* 1 when the rank has time for one block more than in->items by ns. */
static int grows(const struct hdpi_search *s, int32_t i, double ns)
{
    const struct hdpi_finish *in = s->in;
    int64_t items = in->items[i] * in->quantum + (i == s->last ? s->rest : 0);

    if (items > hdpi_high(in, i) - in->quantum)
        return 0;
    return hdpi_finish_end(in, i, items + in->quantum) <= ns;
}

/* 1 for a rank that has items whatever the search finds. */
static int must(const struct hdpi_search *s, int32_t i)
{
    return i == s->last || hdpi_low(s->in, i) > 0;
}

/* Who of the pool has items: those that must, then those that hold most by
 * `ns`, ties to the lower rank. in->items becomes 1 or 0. */
static void choose(const struct hdpi_search *s, double ns)
{
    const struct hdpi_finish *in = s->in;
    int32_t end = hdpi_search_end(s), room = s->replicas, ties = 0;
    int64_t least = 0; /* what the last one chosen holds */

    for (int32_t i = s->only; i >= 0 && i < end; i = in->pools[i].next) {
        room -= must(s, i);
        in->items[i] = must(s, i) ? -1 : holds(s, i, ns);
    }
    /* the room-th largest: as many rounds as replicas are chosen among */
    int64_t under = INT64_MAX;
    for (int32_t left = room; left > 0 && under > 0;) {
        int32_t count = 0;
        least = 0;
        for (int32_t i = s->only; i >= 0 && i < end; i = in->pools[i].next) {
            int64_t mine = in->items[i];
            if (mine > least && mine < under) {
                least = mine;
                count = 0;
            }
            count += mine == least && mine > 0;
        }
        ties = left;
        left -= count;
        under = least;
    }
    for (int32_t i = s->only; i >= 0 && i < end; i = in->pools[i].next) {
        int64_t mine = in->items[i];
        in->items[i] = mine < 0 || (room > 0 && mine > least) ||
                       (mine > 0 && mine == least && ties-- > 0);
    }
}

/* Gives a pool's blocks to its ranks: over as many replicas as leave room for
 * them, by the least time of its own. */
static void give_pool(const struct hdpi_search *s, int32_t lead, int64_t blocks,
                      double guess)
{
    const struct hdpi_finish *in = s->in;
    int32_t end = hdpi_search_end(s), members = 0;
    int64_t rest = 0;
    struct hdpi_search own = *s;
    double below_it;

    for (int32_t i = lead; i >= 0 && i < end; i = in->pools[i].next) {
        members++;
        if (i == s->last)
            rest = s->rest;
    }
    own.blocks = blocks;
    own.replicas = members;
    while (own.replicas > 1 && hdpi_quota(s, lead, own.replicas, rest) < blocks)
        own.replicas--;
    own.only = lead;
    double ns = find(&own, 0, guess, &below_it);
    choose(&own, ns);
    for (int32_t i = lead; i >= 0 && i < end; i = in->pools[i].next) {
        in->items[i] = in->items[i] ? holds(s, i, hdpi_below(ns)) : -1;
        blocks -= in->items[i] > 0 ? in->items[i] : 0;
    }
    for (int32_t i = lead; i >= 0 && i < end; i = in->pools[i].next) {
        if (in->items[i] < 0) {
            in->items[i] = 0;
            continue;
        }
        int64_t more = smaller(holds(s, i, ns) - in->items[i], blocks);
        in->items[i] += more;
        blocks -= more;
    }
}

/* Gives out all blocks by the time found: what is held just below it (which
 * in->items may hold already), then, in rank order, what it adds. */
static void give(const struct hdpi_search *s, double ns, int have_below)
{
    const struct hdpi_finish *in = s->in;
    double under = hdpi_below(ns);
    int32_t end = hdpi_search_end(s);
    int64_t left = s->blocks;
    struct hdpi_reach ignored = { 0 };

    for (int32_t i = 0; i < end; i++) {
        if (hdpi_leads_pool(in, i))
            left -= hdpi_reach_pool(s, i, under, &ignored);
        else if (!hdpi_follows(in, i))
            left -= in->items[i] =
                have_below ? in->items[i] : holds(s, i, under);
    }
    for (int32_t i = 0; i < end; i++) {
        if (hdpi_leads_pool(in, i)) {
            int64_t now = hdpi_reach_pool(s, i, under, &ignored);
            int64_t more = hdpi_reach_pool(s, i, ns, &ignored) - now;
            more = smaller(more, left);
            left -= more;
            give_pool(s, i, now + more, ns);
        } else if (!hdpi_follows(in, i) && left > 0 && grows(s, i, ns)) {
            int64_t more = smaller(holds(s, i, ns) - in->items[i], left);
            left -= more;
            in->items[i] += more;
        }
    }
    for (int32_t i = end; i < in->count; i++)
        in->items[i] = 0;
}

/* ---- the door ------------------------------------------------------------ */

/* Who bears the rest, and the least time by which that rank and those before
 * it hold everything; -1: nobody can. */
static double find_last(struct hdpi_search *s, double guess, double *below_it)
{
    struct hdpi_reach reach;
    double from = 0;

    if (!s->in->low && !s->in->pools) {
        /* whole blocks alone are no later, and quickly found */
        from = find(s, 0, guess, below_it);
        if (from < 0)
            return from;
    }
    s->last = HDPI_ANY_LAST;
    double ns = find(s, from, guess, below_it);
    if (ns < 0)
        return ns;
    hdpi_reach_by(s, ns, &reach);
    s->last = reach.last;
    hdpi_reach_by(s, hdpi_below(ns), &reach);
    *below_it = hdpi_below(ns);
    if (reach.held < s->blocks)
        return ns;
    /* a minimum or the rest itself made it late: the others end earlier */
    return find(s, 0, ns, below_it);
}

/* The general search: any limits. 0: the ranks cannot hold the total. */
static int search(struct hdpi_search *s, double guess, double *level)
{
    double below_it;

    if (s->in->low && s->rest == 0) {
        struct hdpi_reach least;
        hdpi_reach_by(s, 0, &least);
        if (least.held > s->blocks)
            return 0;
    }
    *level = s->rest > 0 ? find_last(s, guess, &below_it)
                         : find(s, 0, guess, &below_it);
    if (*level < 0)
        return 0;
    give(s, *level, below_it >= 0);
    return 1;
}

int hdpi_finish(const struct hdpi_finish *finish, double *level)
{
    struct hdpi_search s = { .in = finish,
                             .blocks = finish->total / finish->quantum,
                             .rest = finish->total % finish->quantum,
                             .last = HDPI_NO_LAST,
                             .only = -1 };
    struct hdpi_guess guess;
    double ns;

    if (finish->quanta)
        return hdpi_unlike_finish(finish, level);
    first_guess(&s, &guess);
    if ((finish->low || finish->pools ||
         !hdpi_instants_finish(&s, &guess, &ns)) &&
        !search(&s, guess.ns, &ns))
        return 0;
    for (int32_t i = 0; finish->quantum > 1 && i < finish->count; i++)
        finish->items[i] *= finish->quantum;
    if (s.last >= 0)
        finish->items[s.last] += s.rest;
    if (level)
        *level = ns;
    return 1;
}

int hdpi_finish_by(const struct hdpi_finish *finish, double ns)
{
    struct hdpi_search s = { .in = finish,
                             .blocks = finish->total / finish->quantum,
                             .rest = finish->total % finish->quantum,
                             .last = HDPI_NO_LAST,
                             .only = -1 };
    struct hdpi_reach reach;

    if (finish->quanta)
        return hdpi_unlike_by(finish, ns);
    if (s.rest > 0)
        s.last = HDPI_ANY_LAST;
    hdpi_reach_by(&s, ns, &reach);
    return reach.held >= s.blocks;
}
