/* What would change a rank's share: the same split asked again with one thing
 * changed. Needs no device, only profile, options and plan. */
#ifndef BENCH_CHANGE_H
#define BENCH_CHANGE_H
#include <hdp/hdp.h>

enum { CHANGE_TEXT = 192 };

struct change {
    int64_t slot_items;   /* in an x16 slot: its links at 24 GB/s; -1: no more,
                           * or they are as fast already */
    int64_t reduce_bytes; /* it has none; up to so many reduced it would have
                           * some; -1: not with any */
    int64_t memory_items; /* if its memory were no limit; -1: no more */
};

/**
 * Finds the changes that would give a rank of the plan more.
 * @param total, options  What the plan was split by.
 * @return As hdp_split() and the readers of profiles; HDP_ERR_MEMORY.
 */
hdp_status change_find(struct change *out, const hdp_profile *profile,
                       int64_t total, const hdp_split_options *options,
                       const hdp_plan *plan, int32_t rank);

/** In words, joined by "; "; empty where nothing helps. Returns text. */
const char *change_say(const struct change *change, int64_t items,
                       char text[CHANGE_TEXT]);
#endif
