/* What a GPU needs to work on rows (rows.c): the right matrix as an operand, and
 * room for rows of another type than f32. */
#ifndef BENCH_WORK_ROWSGPU_H
#define BENCH_WORK_ROWSGPU_H
#include "gpu.h"

struct rowsgpu;

/** `right` is k x n, on the host. NULL: no room on the device. */
struct rowsgpu *rowsgpu_create(struct gpu *gpu, int32_t member, int32_t dtype,
                               int k, int n, const float *right);
void rowsgpu_destroy(struct rowsgpu *self); /* accepts NULL */

/* In the order of the member's stream; 0: it failed, see gpu_reason(). */

/** Each row of `out` becomes a row of `in` times the right matrix; both begin
 *  their rows with the floats. */
int rowsgpu_multiply(struct rowsgpu *self, const hdp_view *out,
                     const hdp_view *in);

/** `bytes` of each row, from in_at to out_at. */
int rowsgpu_copy(struct gpu *gpu, int32_t member, const hdp_view *out,
                 size_t out_at, const hdp_view *in, size_t in_at, size_t bytes);
#endif
