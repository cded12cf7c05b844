/* One GPU's replica of the mlp: its tensors and the gradient of some rows, in
 * tiles. Weights, velocity and gradients are f32; the operands of products are
 * of a type of choice, their sums f32. */
#ifndef BENCH_WORK_MLPGPU_H
#define BENCH_WORK_MLPGPU_H
#include "gpu.h"
#include "mlpnet.h"

struct mlpgpu;

/** NULL: no room on the device. `set` is what probes train on, whatever rows
 *  they bring: rows->count images, on the host. */
struct mlpgpu *mlpgpu_create(struct gpu *gpu, int32_t member, int32_t dtype,
                             int64_t capacity, const struct mlpnet_rows *set);
void mlpgpu_destroy(struct mlpgpu *self); /* accepts NULL */

/** Blocks of all tensors on the device, as mlpnet_at() says. */
float *mlpgpu_gradient(const struct mlpgpu *self);
float *mlpgpu_reduced(const struct mlpgpu *self);

/* Inside the work function; 0: it failed, see gpu_reason(). */

/** Enqueues the mean gradient of the shard's own rows, one or more. */
int mlpgpu_compute(struct mlpgpu *self, const hdp_shard *shard);
/** Enqueues the step of the weights by what was reduced. */
int mlpgpu_update(struct mlpgpu *self, float rate, float momentum);

/* Between steps; 0: it failed. */

/** New weights, no momentum. */
int mlpgpu_reset(struct mlpgpu *self, const float *weights);
int mlpgpu_weights(struct mlpgpu *self, float *out);
int mlpgpu_reduced_copy(struct mlpgpu *self, float *out);
#endif
