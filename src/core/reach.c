/* How much a set of ranks holds by a time: each by its own curve and limits,
 * those of one device within its memory, and the remainder of the quantum on
 * whichever rank may be the last with items. */
#include <float.h>
#include "core/quantum.h"
#include "core/reach.h"

/* ---- one rank ------------------------------------------------------------ */

double hdpi_finish_time(const struct hdpi_finish *finish, const int64_t *items)
{
    double latest = 0;
    for (int32_t i = 0; i < finish->count; i++) {
        double ns = hdpi_finish_end(finish, i, items[i]);
        latest = ns > latest ? ns : latest;
    }
    return latest;
}

/* Whole blocks in items, and blocks that cover them. */
static int64_t down(int64_t items, int64_t quantum)
{
    return quantum == 1 ? items : items / quantum;
}

static int64_t up(int64_t items, int64_t quantum)
{
    return quantum == 1 || items <= 0 ? (items > 0 ? items : 0)
                                      : (items - 1) / quantum + 1;
}

static void note(struct hdpi_reach *reach, const struct hdpi_stop *stop)
{
    if (stop->at > reach->before)
        reach->before = stop->at;
    if (stop->next < reach->next)
        reach->next = stop->next;
    if (stop->at > 0 && stop->next < DBL_MAX && stop->next > stop->at)
        reach->density += 1 / (stop->next - stop->at);
}

int64_t hdpi_reach_rank(const struct hdpi_search *s, int32_t i, int64_t rest,
                        double ns, struct hdpi_reach *reach,
                        struct hdpi_least *least)
{
    const struct hdpi_finish *in = s->in;
    int64_t high = hdpi_high(in, i);
    int64_t top = s->blocks; /* of the total, with or without the rest */
    if (high < in->total || (rest != 0 && rest != s->rest))
        top = high < rest ? -1 : down(high - rest, in->quantum);
    int64_t low = in->low ? up(in->low[i] - rest, in->quantum) : 0;
    struct hdpi_lane own;
    struct hdpi_stop stop;

    if (rest > 0 || top < 0)
        hdpi_lane_stop(&stop, hdpi_finish_lane(in, i, &own), in->quantum, rest,
                       top, ns);
    else
        hdpi_finish_stop(&stop, in, i, top, ns);
    least->blocks = low <= top ? low : -1;
    least->late = 0;
    if (stop.blocks < low && low <= top) {
        least->late = 1;
        stop.blocks = low;
        stop.at = 0;
        stop.next = hdpi_finish_end(in, i, low * in->quantum + rest);
    }
    note(reach, &stop);
    return stop.blocks;
}

/* ---- a device shared by several ranks ------------------------------------ */

int64_t hdpi_quota(const struct hdpi_search *s, int32_t lead, int32_t replicas,
                   int64_t rest)
{
    const struct hdpi_finish *in = s->in;
    int64_t bytes = in->room[lead];

    if (s->only >= 0)
        return replicas <= s->replicas ? INT64_MAX : -1;
    if (bytes == INT64_MAX) /* no limit, whatever an item takes */
        return bytes;
    if (bytes < 0 ||
        (in->fixed_bytes > 0 && bytes / in->fixed_bytes < replicas))
        return -1;
    bytes -= replicas * in->fixed_bytes;
    if (in->item_bytes == 0)
        return INT64_MAX;
    int64_t items = bytes / in->item_bytes;
    return items < rest ? -1 : down(items - rest, in->quantum);
}

struct pool {                   /* what its ranks could hold one by one */
    int64_t needed_low, needed; /* of those that must have items */
    int32_t needed_count, free_count;
    int64_t free_sum;
    int64_t best[HDPI_POOL_CHOICES]; /* the others' largest, falling */
    int32_t best_count;
};

static void pool_add(struct pool *pool, int64_t blocks, int64_t low, int must)
{
    if (must) {
        pool->needed_low = hdpi_sum(pool->needed_low, low);
        pool->needed = hdpi_sum(pool->needed, blocks);
        pool->needed_count++;
        return;
    }
    if (blocks <= 0)
        return;
    pool->free_count++;
    pool->free_sum = hdpi_sum(pool->free_sum, blocks);
    int32_t at = pool->best_count < HDPI_POOL_CHOICES ? pool->best_count++
                                                      : HDPI_POOL_CHOICES;
    for (; at > 0 && pool->best[at - 1] < blocks; at--)
        if (at < HDPI_POOL_CHOICES)
            pool->best[at] = pool->best[at - 1];
    if (at < HDPI_POOL_CHOICES)
        pool->best[at] = blocks;
}

/* Most that fits, over every choice of who has items: a replica less is room
 * for items more. -1: not even the minimums. */
static int64_t pool_most(const struct hdpi_search *s, int32_t lead,
                         const struct pool *pool, int64_t rest)
{
    int64_t most = -1, sum = pool->needed;

    for (int32_t n = 0; n <= pool->best_count; n++) {
        if (n > 0)
            sum = hdpi_sum(sum, pool->best[n - 1]);
        int64_t fits = hdpi_quota(s, lead, pool->needed_count + n, rest);
        if (fits < pool->needed_low)
            return most;
        if (fits > sum)
            fits = sum;
        most = fits > most ? fits : most;
    }
    if (pool->free_count > pool->best_count) {
        int64_t all = hdpi_sum(pool->needed, pool->free_sum);
        int64_t fits =
            hdpi_quota(s, lead, pool->needed_count + pool->free_count, rest);
        if (fits >= pool->needed_low) {
            fits = fits < all ? fits : all;
            most = fits > most ? fits : most;
        }
    }
    return most;
}

/* Most that the pool's ranks below `end` hold, each alone at in->items; `last`,
 * when it is one of them, at `last_blocks` beside the rest. */
static int64_t pool_holds(const struct hdpi_search *s, int32_t lead,
                          int32_t end, int32_t last, int64_t last_blocks)
{
    const struct hdpi_finish *in = s->in;
    struct pool pool = { 0 };
    int64_t rest = 0;

    for (int32_t i = lead; i >= 0 && i < end; i = in->pools[i].next) {
        int64_t low = hdpi_low(in, i);
        if (i == last) {
            rest = s->rest;
            pool_add(&pool, last_blocks, up(low - rest, in->quantum), 1);
        } else {
            pool_add(&pool, in->items[i], up(low, in->quantum), low > 0);
        }
    }
    return pool_most(s, lead, &pool, rest);
}

int64_t hdpi_reach_pool(const struct hdpi_search *s, int32_t lead, double ns,
                        struct hdpi_reach *reach)
{
    const struct hdpi_finish *in = s->in;
    int32_t end = hdpi_search_end(s);
    struct hdpi_least least;

    for (int32_t i = lead; i >= 0 && i < end; i = in->pools[i].next) {
        int64_t rest = i == s->last ? s->rest : 0;
        in->items[i] = hdpi_reach_rank(s, i, rest, ns, reach, &least);
        if (least.blocks < 0)
            return -1;
    }
    return pool_holds(s, lead, end, s->last,
                      s->last >= 0 ? in->items[s->last] : 0);
}

/* ---- all ranks ----------------------------------------------------------- */

/* It is known who bears the rest. */
static int64_t reach_known(const struct hdpi_search *s, double ns,
                           struct hdpi_reach *reach)
{
    const struct hdpi_finish *in = s->in;
    int32_t end = hdpi_search_end(s);
    int64_t held = 0;

    if (s->only >= 0)
        return hdpi_reach_pool(s, s->only, ns, reach);
    for (int32_t i = 0; i < end; i++) {
        struct hdpi_least least = { 0, 0 };
        int64_t blocks;
        if (hdpi_follows(in, i))
            continue;
        if (hdpi_leads_pool(in, i))
            blocks = hdpi_reach_pool(s, i, ns, reach);
        else
            in->items[i] = blocks = hdpi_reach_rank(
                s, i, i == s->last ? s->rest : 0, ns, reach, &least);
        if (blocks < 0 || least.blocks < 0)
            return -1;
        held = hdpi_sum(held, blocks);
    }
    return held;
}

/* What the ranks before the one looked at hold, none of them the last. */
struct prefix {
    int64_t held, least; /* by the time; their minimums */
    int stuck;           /* one of the minimums ends late or is out of reach */
};

/* Adds rank i, which holds `blocks` by the time and does not bear the rest. */
static void prefix_add(const struct hdpi_search *s, int32_t i, int64_t blocks,
                       const struct hdpi_least *least, struct prefix *prefix)
{
    const struct hdpi_finish *in = s->in;
    int64_t before = 0;

    if (least->late || least->blocks < 0)
        prefix->stuck = 1;
    else
        prefix->least = hdpi_sum(prefix->least, least->blocks);
    if (in->pools && in->pools[i].lead >= 0) {
        int32_t lead = in->pools[i].lead;
        before = pool_holds(s, lead, i, HDPI_NO_LAST, 0);
        in->items[i] = blocks;
        blocks = pool_holds(s, lead, i + 1, HDPI_NO_LAST, 0);
        prefix->stuck |= blocks < 0;
    }
    if (!prefix->stuck && prefix->held < INT64_MAX)
        prefix->held = hdpi_sum(prefix->held - before, blocks);
}

/* Held with the rest on rank i and nothing after it; -1: impossible. */
static int64_t with_last(const struct hdpi_search *s, int32_t i, double ns,
                         struct hdpi_reach *reach, const struct prefix *prefix)
{
    const struct hdpi_finish *in = s->in;
    struct hdpi_least least;
    int64_t before = 0;

    int64_t blocks = hdpi_reach_rank(s, i, s->rest, ns, reach, &least);
    if (prefix->stuck || least.late || least.blocks < 0 ||
        hdpi_sum(prefix->least, least.blocks) > s->blocks)
        return -1;
    if (in->pools && in->pools[i].lead >= 0) {
        int32_t lead = in->pools[i].lead;
        before = pool_holds(s, lead, i, HDPI_NO_LAST, 0);
        blocks = pool_holds(s, lead, i + 1, i, blocks);
        if (blocks < 0)
            return -1;
    }
    if (prefix->held == INT64_MAX)
        return INT64_MAX;
    return hdpi_sum(prefix->held - before, blocks);
}

/* The first of the ranks that could bear the rest with which all is held, else
 * the most with any. A rank that would not complete the total even without the
 * rest is not asked with it: some instant of a rank up to it comes first. Once
 * a minimum is late, nothing after it helps before its own instant. */
static int64_t reach_any(const struct hdpi_search *s, double ns,
                         struct hdpi_reach *reach)
{
    const struct hdpi_finish *in = s->in;
    struct prefix prefix = { 0, 0, 0 };
    int64_t most = -1;
    int32_t first = 0;

    for (int32_t i = 0; in->low && i < in->count; i++)
        if (in->low[i] > 0)
            first = i; /* nobody with a minimum may come after the last */
    for (int32_t i = 0; i < in->count && !prefix.stuck; i++) {
        struct hdpi_least least;
        int64_t blocks = hdpi_reach_rank(s, i, 0, ns, reach, &least);
        if (i >= first) {
            int64_t held = hdpi_sum(prefix.held, blocks);
            if (held >= s->blocks)
                held = with_last(s, i, ns, reach, &prefix);
            most = held > most ? held : most;
            if (held >= s->blocks) {
                reach->last = i;
                break;
            }
        }
        prefix_add(s, i, blocks, &least, &prefix);
    }
    return most;
}

void hdpi_reach_by(const struct hdpi_search *s, double ns,
                   struct hdpi_reach *out)
{
    *out = (struct hdpi_reach){ .next = DBL_MAX, .last = HDPI_NO_LAST };
    if (s->last == HDPI_ANY_LAST)
        out->held = reach_any(s, ns, out);
    else
        out->held = reach_known(s, ns, out);
}

/* ---- capacity ------------------------------------------------------------ */

/* The total with `rest` items on rank i and whole blocks before it. */
static int64_t capacity_with(const struct hdpi_search *search, int32_t i,
                             int64_t rest, const struct prefix *prefix)
{
    struct hdpi_search s = *search;
    struct hdpi_reach ignored = { .next = DBL_MAX };

    if (rest > s.in->total)
        return 0;
    s.rest = rest;
    s.blocks = down(s.in->total - rest, s.in->quantum);
    int64_t held = with_last(&s, i, DBL_MAX, &ignored, prefix);
    if (held < 0)
        return 0;
    if (held > s.blocks)
        return s.in->total;
    return held * s.in->quantum + rest;
}

/* A rank's own limit decides which remainder is best on it, or, for each number
 * of replicas, what its device's memory leaves. */
static int64_t capacity_on(const struct hdpi_search *s, int32_t i,
                           const struct prefix *prefix)
{
    const struct hdpi_finish *in = s->in;
    int64_t most = capacity_with(s, i, 0, prefix);
    int64_t more = capacity_with(s, i, hdpi_high(in, i) % in->quantum, prefix);

    most = more > most ? more : most;
    if (!in->pools || in->pools[i].lead < 0 || in->item_bytes == 0)
        return most;
    for (int32_t n = 1; n <= HDPI_POOL_CHOICES + 1; n++) {
        int64_t bytes = in->room[in->pools[i].lead];
        if (bytes < 0 || (in->fixed_bytes > 0 && bytes / in->fixed_bytes < n))
            break;
        bytes -= n * in->fixed_bytes;
        more =
            capacity_with(s, i, bytes / in->item_bytes % in->quantum, prefix);
        most = more > most ? more : most;
    }
    return most;
}

int64_t hdpi_finish_capacity(const struct hdpi_finish *finish)
{
    struct hdpi_finish in = *finish;
    const struct hdpi_search s = { .in = &in,
                                   .blocks =
                                       down(finish->total, finish->quantum),
                                   .last = HDPI_ANY_LAST,
                                   .only = -1 };
    struct prefix prefix = { 0, 0, 0 };
    int64_t most = 0;

    if (in.quanta)
        return hdpi_unlike_capacity(&in);
    in.low = NULL;
    for (int32_t i = 0; i < in.count && most < in.total; i++) {
        struct hdpi_reach ignored = { .next = DBL_MAX };
        struct hdpi_least least;
        int64_t here = capacity_on(&s, i, &prefix);
        most = here > most ? here : most;
        int64_t blocks = hdpi_reach_rank(&s, i, 0, DBL_MAX, &ignored, &least);
        prefix_add(&s, i, blocks, &least, &prefix);
    }
    return most;
}
