/* What a split's options allow each rank, checked and in items: minimum,
 * maximum, memory, and which ranks share a device. */
#ifndef HDPI_LIMITS_H
#define HDPI_LIMITS_H
#include "core/finish.h"

enum { HDPI_LIMITS_INLINE = 64 }; /* ranks that need no allocation */

struct hdpi_limits {
    struct hdpi_finish finish; /* complete but for items */
    int64_t *low, *high, *room;
    struct hdpi_pool *pools;
    void *heap; /* above HDPI_LIMITS_INLINE ranks; NULL below */
    struct {
        int64_t low[HDPI_LIMITS_INLINE], high[HDPI_LIMITS_INLINE];
        int64_t room[HDPI_LIMITS_INLINE];
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
