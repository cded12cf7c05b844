/* Inner side of the limits: memory, of a rank and of ranks that share it. */
#ifndef HDPI_POOLS_H
#define HDPI_POOLS_H
#include "core/limits.h"

/** Bytes for the work; INT64_MAX when memory is no limit, below 0 when the
 *  margin alone is too much. */
int64_t hdpi_room_of(const struct hdpi_rank_profile *rank,
                     const hdp_split_options *options);

/** Items beside one replica in so many bytes, at most `total`. */
int64_t hdpi_items_in(int64_t bytes, const hdp_split_options *options,
                      int64_t total);

/** Fills the pools where ranks share a device and memory counts. */
hdp_status hdpi_pools_link(struct hdpi_limits *limits,
                           const hdp_split_options *options);

/** Fills the room of each pool and caps its ranks by it. */
void hdpi_pools_fill(struct hdpi_limits *limits,
                     const hdp_split_options *options);
#endif
