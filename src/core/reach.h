/* Inner side of the split: counting what ranks hold by a time. In blocks: one
 * is a quantum of items. */
#ifndef HDPI_REACH_H
#define HDPI_REACH_H
#include <string.h>
#include "core/finish.h"

enum {
    HDPI_POOL_CHOICES = 8, /* ranks of a device among which replicas are
                            * chosen; beyond them: these, or all */
    HDPI_NO_LAST = -1,     /* no remainder */
    HDPI_ANY_LAST = -2     /* the rank that bears it is still sought */
};

/* A question: who takes part and how the remainder is borne. */
struct hdpi_search {
    const struct hdpi_finish *in;
    int64_t blocks, rest; /* total = blocks * quantum + rest */
    int32_t last;         /* bears the rest: a rank or HDPI_*_LAST */
    int32_t only;         /* lead of the one pool looked at; -1: all ranks */
    int32_t replicas;     /* the pool may have; only with `only` */
};

/* Where to begin: what straight lines say. */
struct hdpi_guess {
    double ns;   /* about when all is held */
    double rate; /* blocks a ns that come then; 0: none is known */
};

/* The answer for one time. */
struct hdpi_reach {
    int64_t held;   /* blocks, saturating; -1: not even the minimums */
    double before;  /* latest instant by which somebody's share grew */
    double next;    /* first later one; DBL_MAX: none */
    double density; /* blocks that become possible in a ns, about */
    int32_t last;   /* HDPI_ANY_LAST: lowest rank with which all is held */
};

/* What a rank's minimum makes of its stop. */
struct hdpi_least {
    int64_t blocks; /* minimum; -1: its own limits cannot meet it */
    int late;       /* the minimum ends after the time asked for */
};

/** Counts for all of `search` by `ns`; in->items is scratch. */
void hdpi_reach_by(const struct hdpi_search *search, double ns,
                   struct hdpi_reach *out);

/** Blocks rank i holds by `ns` beside `rest` items, its minimum at least; adds
 *  its instants to `reach`. */
int64_t hdpi_reach_rank(const struct hdpi_search *search, int32_t i,
                        int64_t rest, double ns, struct hdpi_reach *reach,
                        struct hdpi_least *least);

/** The same for the pool of `lead`: in->items of its ranks receives what each
 *  holds alone, the result is what they hold together; -1: not the minimums.*/
int64_t hdpi_reach_pool(const struct hdpi_search *search, int32_t lead,
                        double ns, struct hdpi_reach *reach);

/** Blocks a pool's memory leaves beside `rest` items when `replicas` ranks
 *  have items; -1: not even those. */
int64_t hdpi_quota(const struct hdpi_search *search, int32_t lead,
                   int32_t replicas, int64_t rest);

/** a + b of counts, 0 or more; INT64_MAX where they pass it. */
static inline int64_t hdpi_sum(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static inline int hdpi_leads_pool(const struct hdpi_finish *in, int32_t i)
{
    return in->pools && in->pools[i].lead == i;
}

static inline int hdpi_follows(const struct hdpi_finish *in, int32_t i)
{
    return in->pools && in->pools[i].lead >= 0 && in->pools[i].lead != i;
}

/** The double below a positive one; 0 for 0. Positive doubles are ordered as
 *  their bits are. */
static inline double hdpi_below(double ns)
{
    uint64_t bits;
    memcpy(&bits, &ns, sizeof bits);
    if (bits > 0)
        bits--;
    memcpy(&ns, &bits, sizeof ns);
    return ns;
}

/** One past the last rank that may have items. */
static inline int32_t hdpi_search_end(const struct hdpi_search *search)
{
    return search->last >= 0 ? search->last + 1 : search->in->count;
}
#endif
