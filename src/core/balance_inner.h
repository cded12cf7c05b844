/* Inner side of the balance, for balance*.c alone: what it knows of each rank,
 * and the steps from a sample to another plan. */
#ifndef HDPI_BALANCE_INNER_H
#define HDPI_BALANCE_INNER_H
#include "core/balance.h"

enum { HDPI_BALANCE_SPARES = 3 };

enum {
    HDPI_BALANCE_TRY_SOON = 8, /* steps, for one that has just lost its items */
    HDPI_BALANCE_TRY_FIRST = 64,
    HDPI_BALANCE_TRY_LAST = 4096
};

struct hdpi_balance_rank {
    struct hdpi_level level;
    struct hdpi_shapes shapes;
    double factor;     /* of the level, kept; see hdpi_balance_refactor() */
    double factor_log; /* the level that it is of */
    double now_ns;     /* scratch: a time */
    double copy_ns;    /* an item over the host link, as the split counts it */
    double fixed_variance; /* of the line's fixed part; 0: not known */
    double early[2];       /* ln(time / curve) of the first samples */
    double judged_log;     /* level at the last full look for a better plan */
    double plan_ns;        /* the curve at the share of the plan at hand */
    double plan_part;      /* 1 / that share */
    int64_t own_max;       /* the options' */
    int64_t own_min;
    int64_t limit;      /* the caller's later word; -1: none */
    int64_t last_items; /* of the last sample; 0: none yet */
    int64_t try_step;   /* when it is tried next, if it has nothing */
    int32_t try_wait;   /* steps from one try to the next */
    int32_t early_count;
    int32_t firsts;   /* steps in a row that were the first at their share */
    int32_t too_slow; /* 1: out, by the belief that plans are made from */
    int32_t slow_now; /* 1: by what is known now */
    int32_t told;     /* of being too slow */
};

struct hdpi_balance {
    int32_t count;
    hdp_split_options split; /* its arrays are own, the limits as now obeyed */
    int64_t *min_items, *max_items; /* in use where something limits */
    int32_t limited;                /* 1: options or the caller limit a rank */
    double *ratios;
    int32_t *firsts; /* scratch: first steps of the report at hand */
    struct hdpi_balance_rank *ranks;

    hdp_profile *curves;  /* what times are relative to */
    hdp_profile *planned; /* curves times levels, as plans are made from */
    hdp_profile *fresh;   /* the same by what is known now; swapped in by a
                           * move */
    hdp_plan *plan;       /* at hand; NULL: none */
    hdp_plan *spares[HDPI_BALANCE_SPARES]; /* latest first; others may still
                                            * hold them; NULL: free */
    double ring_ns;   /* of the reduce of the plan at hand */
    int32_t idle;     /* ranks that have nothing in it, and might */
    int32_t any_slow; /* 1: some rank is too slow */
    int64_t step;     /* steps observed */

    double common;     /* ln of the factor that all had */
    int32_t scaled;    /* 1: the caller's items are put in relation */
    int32_t renew;     /* 1: limits changed, the next plan is a new one */
    int32_t confirmed; /* 1: the curves were judged, right or not */
    int32_t look;      /* 1: look for a better plan whatever the screens say */

    double lost_ns;       /* by staying, since the gain passed the band */
    double move_ns;       /* what first steps at new shares cost extra */
    double judged_ns;     /* the best plan's time then; 0: not known */
    int64_t judged_items; /* and its total */
    int64_t mend_until;   /* step; see balance_move.c */
    int32_t moved;        /* 1: the first step after a move is not seen yet */

    hdp_plan *attempt; /* the plan of a try, or NULL */
    int32_t trying;    /* rank; -1: nobody */
    int32_t try_left;  /* steps until it is given up */
    double credit_ns;  /* what tries may cost */
};

/* ---- balance.c: times, plans --------------------------------------------- */

/** Time of a share whose curve alone takes `curve_ns`. */
static inline double hdpi_balance_lane(const struct hdpi_balance *balance,
                                       const struct hdpi_balance_rank *rank,
                                       double curve_ns, int64_t items)
{
    double compute = rank->factor * curve_ns;
    double copy = rank->copy_ns * (double)items;

    if (!balance->split.overlap)
        return compute + copy;
    return compute > copy ? compute : copy;
}

/** Time of a whole plan, its reduce included, by what is known now. */
double hdpi_balance_step(const struct hdpi_balance *balance,
                         const hdp_plan *plan);

/** Which ranks are 40 times slower than the fastest: slow_now. 1 when a rank
 *  that the plan at hand gives items is newly so. */
int hdpi_balance_find_slow(struct hdpi_balance *balance, int64_t items);

/** A plan by what is known now. */
hdp_status hdpi_balance_best(hdp_plan **out, struct hdpi_balance *balance,
                             int64_t total);

/** Makes `plan` the one at hand, and the belief it was made from the one that
 *  plans are made from. Takes the reference. */
void hdpi_balance_adopt(struct hdpi_balance *balance, hdp_plan *plan);

/** Lets a plan go, to be used again; NULL is allowed, and left. */
void hdpi_balance_drop(struct hdpi_balance *balance, hdp_plan **plan);

/** A plan by the belief planned with, but for one rank's share. */
hdp_status hdpi_balance_force(hdp_plan **out, struct hdpi_balance *balance,
                              int32_t rank, int64_t share);

/** Takes the level over into the factor: by a series where it moved little, an
 *  exponential a rank and step being the dearest part of a steady one. */
static inline void hdpi_balance_refactor(struct hdpi_balance_rank *rank)
{
    double by = rank->level.log - rank->factor_log;

    if (by > -1. / 64 && by < 1. / 64 && rank->level.count % 64 != 0)
        rank->factor +=
            rank->factor * by * (1 + by / 2 * (1 + by / 3 * (1 + by / 4)));
    else
        rank->factor = hdpi_level_factor(&rank->level);
    rank->factor_log = rank->level.log;
}

/* ---- balance_learn.c: samples -------------------------------------------- */

/** Takes one rank's time in; HDPI_SAMPLE_*, or -1 when it is no sample. */
int32_t hdpi_balance_take(struct hdpi_balance *balance, int32_t rank,
                          int64_t items, int64_t elapsed_ns, int first);

/** Once enough is known: the common scale, and whether the curves are of this
 *  work at all. Returns a rank that changed, or -1. */
int32_t hdpi_balance_relate(struct hdpi_balance *balance);

/* ---- balance_move.c: staying or moving ----------------------------------- */

/** Learns what a move cost from the first step after it. */
void hdpi_balance_price_move(struct hdpi_balance *balance, const int64_t *items,
                             const int64_t *compute_ns);

/** Moves when it is worth it: *moved is 1 then. */
hdp_status hdpi_balance_judge(struct hdpi_balance *balance, int *moved);

/* ---- balance_try.c: ranks without items ---------------------------------- */

/** Plans the try for a total, or ends it where it cannot be planned. */
hdp_status hdpi_balance_plan_try(struct hdpi_balance *balance);

/** After a step: ends the try under way when it has brought its sample
 *  (`sampled`), begins the next one that is due and can be paid. 1: the next
 *  plan differs. */
int hdpi_balance_try(struct hdpi_balance *balance, const int64_t *compute_ns,
                     int sampled);

/** What it costs to bring a benched rank's replica up to date, from the ranks
 *  that have items in `plan`. */
double hdpi_balance_broadcast(const struct hdpi_balance *balance,
                              const hdp_plan *plan, int32_t rank);
#endif
