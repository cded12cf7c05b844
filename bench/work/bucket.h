/* What works without gradients reduce when asked to: one bucket of so many
 * bytes, the weighted mean of numbers that tell the members apart. */
#ifndef BENCH_WORK_BUCKET_H
#define BENCH_WORK_BUCKET_H
#include <hdp/hdp.h>

struct bucket;
struct gpu;

enum { BUCKET_ELEMENT_BYTES = 4 }; /* HDP_F32 */

/** Filled, reduced in place where each member is; `bytes` is a multiple of an
 *  element's. NULL when memory is short: at most half of the machine's is
 *  taken. gpu NULL: all are on the host. */
struct bucket *bucket_create(int64_t bytes, int32_t members, struct gpu *gpu);
void bucket_destroy(struct bucket *bucket); /* accepts NULL */

/** The table of one, for hdp_work.buckets. */
const hdp_buffers *bucket_table(const struct bucket *bucket);

/** Fills it anew, for a step whose result is looked at. */
void bucket_fill(struct bucket *bucket);

/** What the one step since then left on the members, against the mean with
 *  weights `items` in f64: the largest difference over the largest mean. */
double bucket_error(const struct bucket *bucket, const int64_t *items);
#endif
