/* From reports to levels: which times are samples, the factor that all the
 * caller's items have in common, and whether the curves are of this work. */
#include <math.h>
#include "core/balance_inner.h"
#include "core/logarithm.h"

enum {
    FIRSTS_IN_A_ROW = 4, /* after these a new share is the work's nature */
    EARLY = 2            /* samples of a rank before anything is concluded */
};

/* Curves that are this far from the work are of other work. */
static const double unlike = 1.1;

/* Two early samples further apart than this: one of them is a hiccup, and
 * hiccups are slow. */
static const double early_apart = 0.25;

/* How well a calibration knows the ratios of work that it has not seen. */
static const double ratio_error = 0.25;

/* Of a line that is not trusted, at most this part of a time is fixed. Guessing
 * too little only slows convergence: each step takes a/t of the error, where t
 * has a true fixed part a. Guessing more than half makes shares swing. */
static const double most_fixed = 1.0 / 3;

/* A larger share takes at least this part longer than a smaller one: of all the
 * time fixed, a rank could never have too many items. */
static const double least_rise = 0.05;

/* What is fixed may change: from one tilt of a line to the next so much of what
 * is known of it is no longer so. */
static const double forgotten = 1. / 16;

/* A move that is this much shorter than noise says nothing of a line. */
static const double too_little = 0.01;

/* ---- samples ------------------------------------------------------------- */

/* A rank whose every step is the first at its share would never be learned:
 * its totals change all the time, and so they will. */
static int counts(struct hdpi_balance_rank *at, int first)
{
    if (!first) {
        at->firsts = 0;
        return 1;
    }
    if (at->firsts == FIRSTS_IN_A_ROW)
        return 1;
    at->firsts++;
    return 0;
}

static double curve_of(const struct hdpi_balance *balance, int32_t rank,
                       int64_t items)
{
    if (balance->plan && balance->plan->items[rank] == items)
        return balance->ranks[rank].plan_ns;
    return hdpi_profile_time(&balance->curves->ranks[rank], items);
}

/* How much of what two shares say of a line's fixed part is to be believed: they
 * know it no better than noise lets them know the time of the smaller one, and
 * how well it is known already is carried along. */
static double fixed_gain(struct hdpi_balance_rank *at, double ns, double wide)
{
    double most = at->level.doubt * ns * ns;
    double error = at->level.noise * ns * ns / (wide * wide);
    double variance = at->fixed_variance * (1 + forgotten);

    if (at->fixed_variance <= 0 || variance > most)
        variance = most;
    double gain = variance / (variance + error);
    at->fixed_variance = (1 - gain) * variance;
    return gain;
}

/* A line whose fixed part is wrong shows it when a share changes: the sample is
 * off by more than noise. The line through the share before and this one would
 * put it right; it is tilted as far towards that as they are to be believed,
 * about its point at `items`, so the level stays. */
static void bend(struct hdpi_balance *balance, int32_t rank, int64_t items,
                 double log)
{
    struct hdpi_balance_rank *at = &balance->ranks[rank];
    struct hdpi_rank_profile *curve = &balance->curves->ranks[rank];
    const struct hdpi_level *level = &at->level;
    double here = (double)items, there = (double)at->last_items;

    if (here == there || curve->point_count > 0 || curve->lacks_dtype ||
        level->doubt * level->way < too_little * level->noise ||
        hdpi_level_is_outlier(level, log))
        return;
    double larger = here > there ? here : there;
    double ns = hdpi_profile_time(curve, items);
    double before = hdpi_profile_time(curve, at->last_items);
    double least_ns = ns < before ? ns : before;
    double gain = fixed_gain(at, least_ns, fabs(here - there) / larger);
    double item_ns =
        (ns - before * hdpi_exp(level->log - log)) / (here - there);
    double least = least_rise * least_ns / larger, most = ns / here;
    least = curve->item_ns < least ? curve->item_ns : least;
    item_ns = curve->item_ns + gain * (item_ns - curve->item_ns);
    item_ns = item_ns < least ? least : item_ns > most ? most : item_ns;
    if (item_ns < HDPI_SHORTEST_NS || item_ns + ns > HDPI_LONGEST_NS)
        return; /* no profile may have such a line */
    curve->item_ns = item_ns;
    curve->fixed_ns = item_ns < most ? ns - item_ns * here : 0;
    balance->judged_ns = 0;
    if (balance->plan)
        at->plan_ns = hdpi_profile_time(curve, balance->plan->items[rank]);
}

int32_t hdpi_balance_take(struct hdpi_balance *balance, int32_t rank,
                          int64_t items, int64_t elapsed_ns, int first)
{
    struct hdpi_balance_rank *at = &balance->ranks[rank];

    if (items <= 0 || elapsed_ns <= 0 ||
        balance->curves->ranks[rank].lacks_dtype)
        return -1;
    if (!counts(at, first))
        return -1;
    double expected = curve_of(balance, rank, items) * at->factor;
    double log = at->factor_log + hdpi_ln((double)elapsed_ns / expected);
    if (at->last_items > 0 && at->last_items != items) {
        hdpi_level_moved(&at->level, at->last_items, items);
        if (balance->scaled)
            bend(balance, rank, items, log);
    }
    at->last_items = items;
    if (at->early_count < EARLY)
        at->early[at->early_count++] = log;
    if (!balance->scaled)
        return HDPI_SAMPLE_HELD; /* hdpi_balance_relate() */
    int32_t what = hdpi_level_sample(&at->level, log);
    hdpi_balance_refactor(at);
    return what;
}

/* ---- what the caller's items are ----------------------------------------- */

static double early_log(const struct hdpi_balance_rank *at)
{
    double a = at->early[0], b = at->early[at->early_count - 1];

    if (fabs(a - b) > early_apart)
        return a < b ? a : b;
    return (a + b) / 2;
}

/* By the shares, of the ranks seen. */
static double common_log(const struct hdpi_balance *balance)
{
    double sum = 0, items = 0;

    for (int32_t r = 0; r < balance->count; r++) {
        const struct hdpi_balance_rank *at = &balance->ranks[r];
        if (at->early_count == 0)
            continue;
        sum += early_log(at) * (double)at->last_items;
        items += (double)at->last_items;
    }
    return items > 0 ? sum / items : 0;
}

/* Two samples of one rank say little of its scatter, those of all ranks more:
 * they weigh against what calibration saw, which counts for two. */
static void expect_noise(struct hdpi_balance *balance)
{
    double sum = 0, weight = 2;

    for (int32_t r = 0; r < balance->count; r++) {
        const struct hdpi_balance_rank *at = &balance->ranks[r];
        double apart = at->early[1] - at->early[0];
        if (at->early_count < EARLY || fabs(apart) > early_apart)
            continue;
        sum += apart * apart / 2;
        weight++;
    }
    for (int32_t r = 0; r < balance->count; r++) {
        struct hdpi_level *level = &balance->ranks[r].level;
        level->noise = (2 * level->noise + sum) / weight;
    }
}

/* Only the ratios of a calibration are compared with the caller's steps, whose
 * items may be anything: all levels begin at the factor in common. */
static int32_t put_in_scale(struct hdpi_balance *balance)
{
    double common = common_log(balance);
    int32_t changed = -1;

    balance->scaled = balance->look = 1;
    expect_noise(balance);
    for (int32_t r = 0; r < balance->count; r++) {
        struct hdpi_balance_rank *at = &balance->ranks[r];
        hdpi_level_shift(&at->level, common, ratio_error);
        for (int32_t i = 0; i < at->early_count; i++)
            if (hdpi_level_sample(&at->level, at->early[i]) ==
                    HDPI_SAMPLE_CHANGED &&
                changed < 0)
                changed = r;
        hdpi_balance_refactor(at);
    }
    balance->common = common;
    return changed;
}

/* ---- curves of other work ------------------------------------------------ */

/* The curve as a line through its point at `items`, so the level stays. */
static void flatten(struct hdpi_rank_profile *curve, int64_t items)
{
    double fixed_ns, item_ns, ns = hdpi_profile_time(curve, items);

    hdpi_profile_line(curve, &fixed_ns, &item_ns);
    double fixed = fixed_ns / (fixed_ns + item_ns * (double)items);
    fixed = fixed < most_fixed ? fixed : most_fixed;
    curve->point_count = 0;
    curve->fixed_ns = fixed * ns;
    curve->item_ns = (1 - fixed) * ns / (double)items;
}

static void flatten_all(struct hdpi_balance *balance)
{
    int64_t most = 1;

    for (int32_t r = 0; r < balance->count; r++)
        if (balance->ranks[r].last_items > most)
            most = balance->ranks[r].last_items;
    for (int32_t r = 0; r < balance->count; r++) {
        int64_t items = balance->ranks[r].last_items;
        struct hdpi_rank_profile *curve = &balance->curves->ranks[r];
        if (!curve->lacks_dtype)
            flatten(curve, items > 0 ? items : most);
        if (balance->plan)
            balance->ranks[r].plan_ns =
                hdpi_profile_time(curve, balance->plan->items[r]);
    }
    balance->judged_ns = 0;
    balance->look = 1;
}

/* One verdict, when every rank seen was seen twice: ratios that are those of
 * the calibration confirm its curves, and what slows down later is a slow
 * device, not another work. */
static void judge_curves(struct hdpi_balance *balance)
{
    int32_t seen = 0;
    double furthest = 0;

    for (int32_t r = 0; r < balance->count; r++) {
        const struct hdpi_balance_rank *at = &balance->ranks[r];
        if (at->early_count == 0)
            continue;
        if (at->early_count < EARLY)
            return;
        double off = fabs(early_log(at) - balance->common);
        furthest = off > furthest ? off : furthest;
        seen++;
    }
    if (seen < 2 && seen < balance->count)
        return;
    balance->confirmed = 1;
    if (furthest > hdpi_ln(unlike)) {
        flatten_all(balance);
        return;
    }
    for (int32_t r = 0; r < balance->count; r++)
        hdpi_level_trust(&balance->ranks[r].level);
}

int32_t hdpi_balance_relate(struct hdpi_balance *balance)
{
    int32_t changed = -1, ready = 0;

    for (int32_t r = 0; !balance->scaled && r < balance->count; r++)
        ready |= balance->ranks[r].early_count == EARLY;
    if (ready)
        changed = put_in_scale(balance);
    if (balance->scaled && !balance->confirmed)
        judge_curves(balance);
    return changed;
}

/* ---- a step -------------------------------------------------------------- */

static void note_change(struct hdpi_change *change, int32_t rank)
{
    if (change->changed_rank < 0)
        change->changed_rank = rank;
}

static void tell_slow(struct hdpi_balance *balance, struct hdpi_change *change)
{
    for (int32_t r = 0; balance->any_slow && r < balance->count; r++) {
        struct hdpi_balance_rank *at = &balance->ranks[r];
        if (!at->too_slow || at->told)
            continue;
        at->told = 1;
        change->too_slow_rank = r;
        return;
    }
}

hdp_status hdpi_balance_observe(struct hdpi_balance *balance,
                                const int64_t *items, const int64_t *compute_ns,
                                const int32_t *first,
                                struct hdpi_change *change)
{
    struct hdpi_change told = { .changed_rank = -1, .too_slow_rank = -1 };
    int sampled = 0, moved = 0;

    for (int32_t r = 0; r < balance->count; r++) {
        struct hdpi_balance_rank *at = &balance->ranks[r];
        int fresh = hdpi_shapes_is_new(&at->shapes, items[r]);
        balance->firsts[r] = fresh || (first && first[r]);
        int32_t what = hdpi_balance_take(balance, r, items[r], compute_ns[r],
                                         balance->firsts[r]);
        if (what == HDPI_SAMPLE_CHANGED)
            note_change(&told, r);
        if (r == balance->trying && what >= 0 && what != HDPI_SAMPLE_HELD)
            sampled = 1;
    }
    balance->step++;
    int32_t changed = hdpi_balance_relate(balance);
    if (changed >= 0)
        note_change(&told, changed);
    hdpi_balance_price_move(balance, items, compute_ns);
    told.replan = hdpi_balance_try(balance, compute_ns, sampled);
    hdp_status status = hdpi_balance_judge(balance, &moved);
    told.replan |= moved;
    tell_slow(balance, &told);
    if (change)
        *change = told;
    return status;
}

void hdpi_balance_sample(struct hdpi_balance *balance, int32_t rank,
                         int64_t items, int64_t elapsed_ns)
{
    struct hdpi_balance_rank *at = &balance->ranks[rank];
    int first = hdpi_shapes_is_new(&at->shapes, items);

    (void)hdpi_balance_take(balance, rank, items, elapsed_ns, first);
    (void)hdpi_balance_relate(balance);
}
