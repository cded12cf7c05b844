/* A network of one hidden layer on the handwritten digits, trained by weighted
 * mean gradients: every member holds a replica, every replica stays the same. */
#ifndef BENCH_WORK_MLP_H
#define BENCH_WORK_MLP_H
#include "work.h"

enum { MLP_HIDDEN = 256, MLP_TENSORS = 4 };

/** Back to the first weights and no momentum, on every member. */
void mlp_reset(struct workload *self);

/** Test images that member's replica names rightly, of *out_count. */
int mlp_correct(struct workload *self, int32_t member, int *out_count);

/** What a step reduces. */
int64_t mlp_reduce_bytes(void);

/** 1 when all replicas' weights are the same, byte for byte. */
int mlp_replicas_agree(struct workload *self);
#endif
