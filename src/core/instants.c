/* One count decides: all blocks are counted a little before the time that
 * straight lines promise, and the instants that follow are noted, at which
 * somebody's next block ends. The one that completes the total is the finish
 * time; a remainder waits for the instant after that at most. */
#include <float.h>
#include <string.h>
#include "core/instants.h"

enum { ROOM = 256, SEEN = 64 };

struct instant {
    double ns;
    int64_t blocks; /* that end then */
};

struct notes {
    double from, until; /* all instants after `from`, up to `until`, are here */
    int64_t held;       /* blocks by `from` */
    double next;        /* the first after `until`; DBL_MAX: none */
    double density;     /* blocks that come in a ns; 0: as guessed */
    int32_t count;
    uint8_t seen[SEEN]; /* where a time was noted, by its bits: ranks that are
                         * alike share their instants */
    struct instant at[ROOM];
};

/* ---- noting -------------------------------------------------------------- */

/* In order of time, those of one time put together. */
static void order(struct notes *notes)
{
    static const int32_t gaps[] = { 57, 23, 10, 4, 1 };
    struct instant *at = notes->at;
    int32_t kept = 0;

    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (int32_t i = gaps[g]; i < notes->count; i++) {
            struct instant moved = at[i];
            int32_t to = i;
            for (; to >= gaps[g] && at[to - gaps[g]].ns > moved.ns;
                 to -= gaps[g])
                at[to] = at[to - gaps[g]];
            at[to] = moved;
        }
    for (int32_t i = 0; i < notes->count; i++) {
        if (kept > 0 && at[kept - 1].ns == at[i].ns)
            at[kept - 1].blocks = hdpi_sum(at[kept - 1].blocks, at[i].blocks);
        else
            at[kept++] = at[i];
    }
    notes->count = kept;
}

/* No room: the later half is let go. */
static void thin(struct notes *notes)
{
    order(notes);
    if (notes->count <= ROOM / 2)
        return;
    notes->count = ROOM / 2;
    notes->until = notes->at[ROOM / 2 - 1].ns;
}

static void note(struct notes *notes, double ns, int64_t blocks)
{
    uint64_t bits;

    memcpy(&bits, &ns, sizeof bits);
    uint8_t *seen = &notes->seen[bits * UINT64_C(0x9e3779b97f4a7c15) >> 58];
    if (*seen < notes->count && notes->at[*seen].ns == ns) {
        notes->at[*seen].blocks = hdpi_sum(notes->at[*seen].blocks, blocks);
        return;
    }
    if (notes->count == ROOM)
        thin(notes);
    if (ns > notes->until)
        return;
    *seen = (uint8_t)notes->count;
    notes->at[notes->count++] = (struct instant){ ns, blocks };
}

/* ---- counting ------------------------------------------------------------ */

static int64_t top_of(const struct hdpi_search *s, int32_t i)
{
    const struct hdpi_finish *in = s->in;
    return in->high ? in->high[i] / in->quantum : s->blocks;
}

/* When one block more than `blocks` ends; DBL_MAX: there is none. */
static inline double next_of(const struct hdpi_search *s, int32_t i,
                             int64_t blocks)
{
    const struct hdpi_finish *in = s->in;

    if (blocks >= top_of(s, i))
        return DBL_MAX;
    return hdpi_finish_end(in, i, (blocks + 1) * in->quantum);
}

/* Notes rank i's instants: it holds `blocks`, and the next one ends at `ns`. */
static void follow(const struct hdpi_search *s, int32_t i, int64_t blocks,
                   double ns, struct notes *notes)
{
    while (ns <= notes->until) {
        struct hdpi_stop stop = { .blocks = blocks + 1,
                                  .next = next_of(s, i, blocks + 1) };
        if (stop.next <= ns) /* several blocks end at once */
            hdpi_finish_stop(&stop, s->in, i, top_of(s, i), ns);
        note(notes, ns, stop.blocks - blocks);
        blocks = stop.blocks;
        ns = stop.next;
    }
    notes->next = ns < notes->next ? ns : notes->next;
}

/* Counts all ranks by notes->from, into in->items, and notes what follows. */
static void count(const struct hdpi_search *s, struct notes *notes)
{
    const struct hdpi_finish *in = s->in;
    const double from = notes->from;
    double density = 0;
    int64_t held = 0;

    notes->count = 0;
    notes->next = DBL_MAX;
    for (int32_t i = 0; i < in->count; i++) {
        struct hdpi_stop stop;
        hdpi_finish_stop(&stop, in, i, top_of(s, i), from);
        in->items[i] = stop.blocks;
        held = hdpi_sum(held, stop.blocks);
        if (!in->lines && stop.at > 0 && stop.next > stop.at)
            density += 1 / (stop.next - stop.at); /* 0 where none is next */
        if (stop.next < notes->next)
            follow(s, i, stop.blocks, stop.next, notes);
    }
    notes->held = held;
    notes->density = density;
}

/* The latest instant not after the count. */
static double before(const struct hdpi_search *s)
{
    const struct hdpi_finish *in = s->in;
    double latest = 0;

    for (int32_t i = 0; i < in->count; i++) {
        double ns = hdpi_finish_end(in, i, in->items[i] * in->quantum);
        latest = ns > latest ? ns : latest;
    }
    return latest;
}

/* The instant by which `missing` blocks more are held; notes->count: none that
 * is noted. */
static int32_t completes(const struct notes *notes, int64_t missing)
{
    int32_t i = 0;
    while (i < notes->count && missing > notes->at[i].blocks)
        missing -= notes->at[i++].blocks;
    return i;
}

/* How far a count may be off what was expected: two standard deviations, about,
 * and not less. */
static double doubt(double variance)
{
    double off = 1;

    while (off * off < 4 * variance)
        off *= 2;
    return off > 2 ? (off + 4 * variance / off) / 2 : off;
}

/* Counts at a time before the one sought that is near enough for the notes to
 * hold it, and with a rest the one after it. Returns the blocks missing, 0 when
 * that fails. */
static int64_t approach(const struct hdpi_search *s,
                        const struct hdpi_guess *guess, struct notes *notes)
{
    enum { ROUNDS = 12, FEW = ROOM / 3 };
    const double rounding = s->in->count / 12.; /* of as many, as a variance */
    double early = 0, late = DBL_MAX;           /* too early; all is held */
    double rate = guess->rate;                  /* of straight lines it stays */
    double off = doubt(rounding), width = 2 * off / rate;
    double at = guess->ns - off / rate;

    for (int round = 0; round < ROUNDS; round++) {
        if (at >= late) {
            at = hdpi_below(late);
            if (s->rest > 0 && notes->next < DBL_MAX)
                width += notes->next - late; /* the one after it as well */
        }
        if (!(at > early)) {
            at = early;
            if (round > 0) /* nobody's block ended where one was expected */
                width += notes->next - notes->from;
        }
        notes->from = at;
        notes->until = at + width;
        if (!(notes->until < DBL_MAX))
            return 0;
        count(s, notes);
        int64_t missing = s->blocks - notes->held;
        if (missing > 0) {
            order(notes);
            if (completes(notes, missing + (s->rest > 0)) < notes->count)
                return missing;
            early = at;
        } else {
            late = before(s);
        }
        double jump = (double)missing;
        off = doubt(jump < 0 ? -jump : jump);
        off = off < doubt(3 * rounding) ? off : doubt(3 * rounding);
        if (notes->density > 0)
            rate = notes->density;
        width = 2 * (off < FEW ? off : FEW) / rate;
        if (notes->count > 0)
            at += (jump - off) / rate;
        else if (missing <= 0)
            at = late; /* blocks end many at a time */
    }
    return 0;
}

/* ---- shares -------------------------------------------------------------- */

/* Blocks of rank i by ns, which is not before the count. */
static int64_t held_by(const struct hdpi_search *s, int32_t i, double ns)
{
    struct hdpi_stop stop;

    if (next_of(s, i, s->in->items[i]) > ns)
        return s->in->items[i];
    hdpi_finish_stop(&stop, s->in, i, top_of(s, i), ns);
    return stop.blocks;
}

/* Blocks of s->last beside the rest; -1: not even the rest. */
static int64_t last_by(const struct hdpi_search *s, double ns)
{
    const struct hdpi_finish *in = s->in;
    int64_t high = hdpi_high(in, s->last);
    int64_t top = high < s->rest ? -1 : (high - s->rest) / in->quantum;
    struct hdpi_lane own;
    struct hdpi_stop stop;

    hdpi_lane_stop(&stop, hdpi_finish_lane(in, s->last, &own), in->quantum,
                   s->rest, top, ns);
    return stop.blocks;
}

/* When rank i has ended `blocks` and the rest; DBL_MAX: it may not. */
static double end_with_rest(const struct hdpi_search *s, int32_t i,
                            int64_t blocks)
{
    const struct hdpi_finish *in = s->in;
    int64_t items = blocks * in->quantum + s->rest;

    return items > hdpi_high(in, i) ? DBL_MAX : hdpi_finish_end(in, i, items);
}

/* Who bears the rest, and when. From `ns` on all blocks are held, but none to
 * spare before `spare_ns`: until then only the last rank with blocks and those
 * after it can, beside all they hold. Then one of those that hold enough,
 * themselves included, has a block to give for it. -1: nobody has. */
static double find_last(struct hdpi_search *s, double ns, double spare_ns)
{
    const struct hdpi_finish *in = s->in;
    double found = spare_ns;
    int64_t held = 0;

    for (int32_t i = in->count - 1; ns < spare_ns && i >= 0 && held == 0; i--) {
        held = held_by(s, i, ns);
        double end = end_with_rest(s, i, held);
        end = end > ns ? end : ns;
        if (end < spare_ns && end <= found) {
            found = end;
            s->last = i;
        }
    }
    if (s->last >= 0)
        return found;
    int64_t sum = 0;
    for (int32_t i = 0; i < in->count; i++) {
        held = held_by(s, i, spare_ns);
        sum = hdpi_sum(sum, held);
        if (sum < s->blocks)
            continue;
        if ((sum > s->blocks && held > 0) ||
            end_with_rest(s, i, held) <= spare_ns) {
            s->last = i;
            return spare_ns;
        }
    }
    return -1;
}

/* Gives out by ns: what is held just below it, then, in rank order, of what it
 * adds as much as is left. */
static void give(const struct hdpi_search *s, double ns, int64_t left)
{
    const struct hdpi_finish *in = s->in;
    const double under = hdpi_below(ns);
    int32_t others = s->last >= 0 ? s->last : in->count;

    for (int32_t i = 0; i < others; i++) {
        int64_t blocks = in->items[i], before = blocks, now = blocks + 1;
        double next = next_of(s, i, blocks);
        if (next > ns || (next == ns && left == 0))
            continue;
        if (next_of(s, i, now) <= ns) { /* several */
            before = held_by(s, i, under);
            now = held_by(s, i, ns);
        } else if (next < ns) {
            before = now;
        }
        int64_t more = now - before < left ? now - before : left;
        in->items[i] = before + more;
        left -= more;
    }
    for (int32_t i = others; i < in->count; i++)
        in->items[i] = i == s->last ? last_by(s, under) + left : 0;
}

int hdpi_instants_finish(struct hdpi_search *s, const struct hdpi_guess *guess,
                         double *level)
{
    struct notes notes;
    int64_t missing = 0;

    memset(notes.seen, 0, sizeof notes.seen);
    if (s->blocks > 0 && guess->rate > 0)
        missing = approach(s, guess, &notes);
    if (missing == 0)
        return 0;
    double ns = notes.at[completes(&notes, missing)].ns;
    if (s->rest > 0) {
        ns = find_last(s, ns, notes.at[completes(&notes, missing + 1)].ns);
        if (ns < 0)
            return 0;
    }
    for (int32_t i = 0; i < notes.count && notes.at[i].ns < ns; i++)
        missing -= notes.at[i].blocks; /* held below ns */
    if (s->last >= 0)
        missing -= last_by(s, hdpi_below(ns));
    for (int32_t i = s->last; i >= 0 && i < s->in->count; i++)
        missing += held_by(s, i, hdpi_below(ns));
    give(s, ns, missing);
    *level = ns;
    return 1;
}
