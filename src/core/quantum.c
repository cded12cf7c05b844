/* Quanta of the library's own choice. A curve with steps recommends one; where
 * ranks recommend different ones, all powers of two, the search halves time and
 * asks at each step whether some rank can bear what the others' multiples
 * leave: largest multiples first, which wastes none. */
#include <float.h>
#include <string.h>
#include "core/quantum.h"
#include "core/reach.h"

/* ---- the curve's own ----------------------------------------------------- */

int64_t hdpi_quantum_of(const struct hdpi_rank_profile *rank)
{
    const double costs_nothing = 1.01;
    int64_t found = 1, count = rank->point_count;

    for (int64_t q = 2; count > 0 && q <= rank->point_items[count - 1];
         q = q < INT64_MAX / 2 ? 2 * q : INT64_MAX) {
        int free = 0;
        for (int64_t k = 0; k < count; k++) {
            int64_t items = rank->point_items[k], over = items % q;
            if (over == 0)
                continue;
            if (q - over > INT64_MAX - items)
                return found;
            double padded = hdpi_profile_time(rank, items + (q - over));
            if (padded > rank->monotone_ns[k] * costs_nothing)
                return found; /* larger ones pad even more */
            free |= padded <= rank->point_ns[k];
        }
        found = free ? q : found;
    }
    return found;
}

/* ---- one time ------------------------------------------------------------ */

enum { CLASSES = 63 }; /* quanta are 2^0 to 2^62 */

/* What the ranks below the one looked at hold, in items. */
struct below {
    int64_t least;         /* what their minimums take */
    int64_t more[CLASSES]; /* beyond them, by the class of the quantum */
    uint64_t used;         /* classes that have any */
};

static int class_of(int64_t quantum)
{
    int k = 0;
    while (quantum >> k > 1)
        k++;
    return k;
}

/* Items in multiples that cover a minimum; INT64_MAX: there are none. */
static int64_t cover(int64_t low, int64_t quantum)
{
    int64_t over = low % quantum;
    return over == 0 ? low : hdpi_sum(low, quantum - over);
}

static int64_t holds(const struct hdpi_finish *in, int32_t i, double ns)
{
    struct hdpi_lane own;
    struct hdpi_stop stop;

    hdpi_lane_stop(&stop, hdpi_finish_lane(in, i, &own), 1, 0, hdpi_high(in, i),
                   ns);
    return stop.blocks;
}

/* Takes up to `left` items out of what the ranks below hold, the most that
 * multiples allow: largest first. `taken` receives it by class. */
static int64_t take(const struct below *below, int64_t left, int64_t *taken)
{
    int64_t sum = 0;

    for (int k = CLASSES - 1; k >= 0; k--) {
        if (!(below->used >> k & 1))
            continue;
        int64_t some = below->more[k] < left ? below->more[k] : left;
        some = some >> k << k;
        left -= some;
        sum += some;
        taken[k] = some;
    }
    return sum;
}

/* Least share of rank i as the last with items; -1: there is none. */
static int64_t least_last(const struct hdpi_finish *in, int32_t i,
                          const struct below *below, int64_t *taken)
{
    int64_t low = hdpi_low(in, i) > 1 ? hdpi_low(in, i) : 1;

    if (low > in->total || below->least > in->total - low)
        return -1;
    int64_t left = in->total - below->least;
    return left - take(below, left - low, taken);
}

/* Adds rank i as one of those below; 0 when its minimum is out of reach. With
 * `late` a minimum may end after ns. */
static int add_below(const struct hdpi_finish *in, int32_t i, double ns,
                     int late, struct below *below)
{
    int64_t quantum = in->quanta[i], held = holds(in, i, ns);
    int64_t low = cover(hdpi_low(in, i), quantum);
    int k = class_of(quantum);

    if (low > hdpi_high(in, i) || (low > held && !late))
        return 0;
    below->least = hdpi_sum(below->least, low);
    held = held >> k << k;
    if (held <= low)
        return 1;
    below->used |= UINT64_C(1) << k;
    /* whole multiples also when they saturate */
    below->more[k] = hdpi_sum(below->more[k], held - low) >> k << k;
    return 1;
}

/* The first rank that can be the last with items when all end by ns; -1: none
 * can. `only` is asked alone, and minimums may then end later; -1: all. */
static int32_t last_by(const struct hdpi_finish *in, double ns, int32_t only)
{
    struct below below;
    int64_t taken[CLASSES];
    int32_t first = 0;

    memset(&below, 0, sizeof below);
    for (int32_t i = 0; in->low && i < in->count; i++)
        if (in->low[i] > 0)
            first = i; /* nobody with a minimum may come after the last */
    for (int32_t i = 0; i < in->count; i++) {
        if (i >= first && (only < 0 || i == only)) {
            int64_t share = least_last(in, i, &below, taken);
            int64_t held = holds(in, i, ns);
            if (i == only && held < hdpi_low(in, i))
                held = hdpi_low(in, i);
            if (share > 0 && share <= held)
                return i;
        }
        if (i == only || !add_below(in, i, ns, only >= 0, &below))
            return -1;
    }
    return -1;
}

/* ---- the search ---------------------------------------------------------- */

static uint64_t bits_of(double ns)
{
    uint64_t bits;
    memcpy(&bits, &ns, sizeof bits);
    return bits;
}

static double time_of(uint64_t bits)
{
    double ns;
    memcpy(&ns, &bits, sizeof ns);
    return ns;
}

/* When everything that fits has ended. */
static double end_of_all(const struct hdpi_finish *in)
{
    double end = 0;

    for (int32_t i = 0; i < in->count; i++) {
        struct hdpi_lane own;
        int64_t high = hdpi_high(in, i);
        double ns = hdpi_lane_time(hdpi_finish_lane(in, i, &own), high);
        if (high > 0 && ns > end)
            end = ns;
    }
    return end;
}

/* Least time by `end` at which last_by() finds somebody, who does at `end`. */
static double least_time(const struct hdpi_finish *in, double end, int32_t only)
{
    uint64_t early = 0, enough = bits_of(end); /* ordered as the times are */

    if (last_by(in, 0, only) >= 0)
        return 0;
    while (enough - early > 1) {
        uint64_t middle = early + (enough - early) / 2;
        if (last_by(in, time_of(middle), only) >= 0)
            enough = middle;
        else
            early = middle;
    }
    return time_of(enough);
}

/* Of what a class may still have, gives rank i what it holds by ns. */
static void give(const struct hdpi_finish *in, int32_t i, double ns,
                 int64_t *taken)
{
    int k = class_of(in->quanta[i]);
    int64_t more = (holds(in, i, ns) >> k << k) - in->items[i];

    if (more > taken[k])
        more = taken[k];
    if (more <= 0)
        return;
    in->items[i] += more;
    taken[k] -= more;
}

int hdpi_unlike_finish(const struct hdpi_finish *in, double *level)
{
    double end = in->enough_ns > 0 ? in->enough_ns : end_of_all(in);
    int64_t taken[CLASSES] = { 0 };
    struct below below;
    int32_t last = last_by(in, end, -1);

    if (last < 0)
        return 0;
    double ns = least_time(in, end, -1);
    last = last_by(in, ns, -1);
    ns = least_time(in, ns, last); /* a minimum may have made it late */
    memset(&below, 0, sizeof below);
    for (int32_t i = 0; i < last; i++)
        (void)add_below(in, i, ns, 1, &below);
    int64_t share = least_last(in, last, &below, taken);
    for (int32_t i = 0; i < in->count; i++)
        in->items[i] = i < last ? cover(hdpi_low(in, i), in->quanta[i]) : 0;
    /* what is held just below the time found, then what it adds */
    for (int32_t i = 0; i < last && ns > 0; i++)
        give(in, i, time_of(bits_of(ns) - 1), taken);
    for (int32_t i = 0; i < last; i++)
        give(in, i, ns, taken);
    in->items[last] = share;
    if (level)
        *level = ns;
    return 1;
}

int hdpi_unlike_by(const struct hdpi_finish *in, double ns)
{
    return last_by(in, ns, -1) >= 0;
}

int64_t hdpi_unlike_capacity(const struct hdpi_finish *finish)
{
    struct hdpi_finish in = *finish;
    struct below below;
    int64_t taken[CLASSES], most = 0;

    in.low = NULL;
    memset(&below, 0, sizeof below);
    for (int32_t i = 0; i < in.count && most < in.total; i++) {
        int64_t share = least_last(&in, i, &below, taken);
        int64_t high = hdpi_high(&in, i);
        int64_t over = share > high ? share - high : 0;
        if (share > 0 && high > 0 && in.total - over > most)
            most = in.total - over;
        (void)add_below(&in, i, DBL_MAX, 0, &below);
    }
    return most;
}
