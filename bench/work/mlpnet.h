/* The network itself: its shape, a forward pass and the gradient of some rows,
 * in tiles that stay in the cache, so that time is a straight line of the
 * rows. */
#ifndef BENCH_WORK_MLPNET_H
#define BENCH_WORK_MLPNET_H
#include <stddef.h>
#include <stdint.h>

#include <hdp/hdp.h>

#include "digits.h"
#include "gemm.h"
#include "mlp.h"

enum {
    MLPNET_IN = DIGITS_PIXELS,
    MLPNET_OUT = DIGITS_CLASSES,
    MLPNET_TILE = 128
};

/* Tensors in the order of the buckets' tables, and what all of them hold. */
enum { MLPNET_W2, MLPNET_B2, MLPNET_W1, MLPNET_B1 };
enum {
    MLPNET_PARAMETERS = MLP_HIDDEN * MLPNET_OUT + MLPNET_OUT +
                        MLPNET_IN * MLP_HIDDEN + MLP_HIDDEN
};
extern const int64_t mlpnet_size[MLP_TENSORS];

/** Where a tensor begins in a block of all. */
size_t mlpnet_at(int tensor);

/* What one thread needs for itself. */
struct mlpnet_part {
    float gradient[MLPNET_PARAMETERS]; /* sum over the rows */
    double loss;                       /* likewise */
    float x[MLPNET_TILE * MLPNET_IN];
    float hidden[MLPNET_TILE * MLP_HIDDEN];
    float d_hidden[MLPNET_TILE * MLP_HIDDEN];
    float out[MLPNET_TILE * MLPNET_OUT];
    float w2_transposed[MLPNET_OUT * MLP_HIDDEN];
    float scratch[MLP_HIDDEN * MLPNET_TILE + MLPNET_IN * MLP_HIDDEN];
};

/* Images and their labels; past `count` rows they begin again. */
struct mlpnet_rows {
    hdp_view pixels, labels;
    int64_t count;
};

/** Gradient and loss of rows first to end - 1, into the part. */
void mlpnet_gradient(const struct gemm *gemm, const float *weights,
                     struct mlpnet_part *part, const struct mlpnet_rows *rows,
                     int64_t first, int64_t end);

/** The digit that the network sees. */
int mlpnet_guess(const struct gemm *gemm, const float *weights,
                 struct mlpnet_part *part, const uint8_t *pixels);
#endif
