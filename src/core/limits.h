/* What a split's options allow each rank, checked and in items: minimum,
 * maximum, memory, and which ranks share a device. */
#ifndef HDPI_LIMITS_H
#define HDPI_LIMITS_H
#include "core/finish.h"

enum { HDPI_LIMITS_INLINE = 64 }; /* ranks that need no allocation */

struct hdpi_limits {
    struct hdpi_finish finish; /* complete but for items */
    const hdp_profile *profile;
    int32_t lacking; /* ranks that lack the dtype */
    /* Arrays, filled when finish points to them. */
    struct hdpi_line *lines;
    int64_t *low, *high;
    int64_t *room, *quanta;
    struct hdpi_pool *pools;
    void *heap, *lane_heap; /* above HDPI_LIMITS_INLINE ranks; NULL below */
    struct {
        struct hdpi_lane lanes[HDPI_LIMITS_INLINE];
        struct hdpi_line lines[HDPI_LIMITS_INLINE];
        int64_t low[HDPI_LIMITS_INLINE], high[HDPI_LIMITS_INLINE];
        int64_t room[HDPI_LIMITS_INLINE], quanta[HDPI_LIMITS_INLINE];
        struct hdpi_pool pools[HDPI_LIMITS_INLINE];
    } own;
};

/**
 * Reads the options of a split.
 *
 * @param out  Not to be moved afterwards; release with hdpi_limits_finish(),
 *             also after an error.
 * @return HDP_ERR_ARGUMENT and HDP_ERR_CAPACITY naming the rank;
 *         HDP_ERR_UNSUPPORTED; HDP_ERR_MEMORY.
 */
hdp_status hdpi_limits_init(struct hdpi_limits *out, const hdp_profile *profile,
                            int64_t total, const hdp_split_options *options);
void hdpi_limits_finish(struct hdpi_limits *limits);

/** Makes rank i have `low` items at least. */
void hdpi_limits_raise(struct hdpi_limits *limits, int32_t i, int64_t low);

/** Lets rank i have `high` items at most, and no more than before. */
void hdpi_limits_cap(struct hdpi_limits *limits, int32_t i, int64_t high);

/** Lets rank i have anything from 0 up to its maximum. */
static inline void hdpi_limits_free(struct hdpi_limits *limits, int32_t i)
{
    if (limits->finish.low)
        limits->low[i] = 0;
}

/** The multiple that rank i's share is of. */
static inline int64_t hdpi_limits_quantum(const struct hdpi_limits *limits,
                                          int32_t i)
{
    return limits->finish.quanta ? limits->finish.quanta[i]
                                 : limits->finish.quantum;
}

/** Items that the rank's device could hold if it had no other; total when its
 *  memory is no limit. */
int64_t hdpi_limits_memory(const struct hdpi_limits *limits,
                           const hdp_split_options *options, int32_t rank);

/** 1 when the shares fit into the memory of every shared device. */
int hdpi_limits_fit(const struct hdpi_limits *limits, const int64_t *items);

/** Bytes that these shares leave on the shared device led by `lead`. */
int64_t hdpi_limits_left(const struct hdpi_limits *limits, int32_t lead,
                         const int64_t *items);
#endif
