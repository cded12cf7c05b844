/* Forward, backward, tile by tile. */
#include "mlpnet.h"

#include <math.h>
#include <string.h>

enum {
    IN = MLPNET_IN,
    HIDDEN = MLP_HIDDEN,
    OUT = MLPNET_OUT,
    TILE = MLPNET_TILE,
    W2 = MLPNET_W2,
    B2 = MLPNET_B2,
    W1 = MLPNET_W1,
    B1 = MLPNET_B1
};

const int64_t mlpnet_size[MLP_TENSORS] = {
    [MLPNET_W2] = HIDDEN * OUT,
    [MLPNET_B2] = OUT,
    [MLPNET_W1] = IN * HIDDEN,
    [MLPNET_B1] = HIDDEN,
};

size_t mlpnet_at(int tensor)
{
    size_t at = 0;

    for (int t = 0; t < tensor; ++t)
        at += (size_t)mlpnet_size[t];
    return at;
}

/* Softmax in place; the gradient of the mean loss remains, times the rows. */
static double softmax_loss(float *row, int label)
{
    float top = row[0], sum = 0;

    for (int j = 1; j < OUT; ++j)
        top = row[j] > top ? row[j] : top;
    for (int j = 0; j < OUT; ++j)
        sum += row[j] = expf(row[j] - top);
    for (int j = 0; j < OUT; ++j)
        row[j] /= sum;
    double loss = -log(row[label] > 1e-30f ? row[label] : 1e-30f);
    row[label] -= 1;
    return loss;
}

/* Loops of a row have a width the compiler knows, so that it makes vectors of
 * them at every level of optimisation. */
static void relu_row(float *restrict row, const float *restrict bias)
{
    for (int j = 0; j < HIDDEN; ++j) {
        float value = row[j] + bias[j];
        row[j] = value > 0 ? value : 0;
    }
}

static void relu_back_row(float *restrict d_row, const float *restrict row,
                          float *restrict sum)
{
    for (int j = 0; j < HIDDEN; ++j) {
        d_row[j] = row[j] > 0 ? d_row[j] : 0;
        sum[j] += d_row[j];
    }
}

static void forward(const struct gemm *gemm, const float *weights,
                    struct mlpnet_part *tile, int rows)
{
    const float *b1 = weights + mlpnet_at(B1), *b2 = weights + mlpnet_at(B2);

    gemm_f32(gemm, rows, HIDDEN, IN, tile->x, IN, weights + mlpnet_at(W1),
             HIDDEN, tile->hidden, HIDDEN);
    for (int i = 0; i < rows; ++i)
        relu_row(tile->hidden + i * HIDDEN, b1);
    gemm_f32(gemm, rows, OUT, HIDDEN, tile->hidden, HIDDEN,
             weights + mlpnet_at(W2), OUT, tile->out, OUT);
    for (int i = 0; i < rows; ++i)
        for (int k = 0; k < OUT; ++k)
            tile->out[i * OUT + k] += b2[k];
}

static void backward(const struct gemm *gemm, struct mlpnet_part *tile,
                     int rows, float *gradient)
{
    gemm_f32_add_transposed(gemm, HIDDEN, OUT, rows, tile->hidden, tile->out,
                            gradient + mlpnet_at(W2), tile->scratch);
    for (int i = 0; i < rows; ++i)
        for (int k = 0; k < OUT; ++k)
            gradient[mlpnet_at(B2) + (size_t)k] += tile->out[i * OUT + k];
    gemm_f32(gemm, rows, HIDDEN, OUT, tile->out, OUT, tile->w2_transposed,
             HIDDEN, tile->d_hidden, HIDDEN);
    for (int i = 0; i < rows; ++i)
        relu_back_row(tile->d_hidden + i * HIDDEN, tile->hidden + i * HIDDEN,
                      gradient + mlpnet_at(B1));
    gemm_f32_add_transposed(gemm, IN, HIDDEN, rows, tile->x, tile->d_hidden,
                            gradient + mlpnet_at(W1), tile->scratch);
}

static void transpose_w2(struct mlpnet_part *tile, const float *weights)
{
    for (int j = 0; j < HIDDEN; ++j)
        for (int k = 0; k < OUT; ++k)
            tile->w2_transposed[k * HIDDEN + j] =
                weights[mlpnet_at(W2) + (size_t)(j * OUT + k)];
}

static void load_pixels(float *restrict x, const uint8_t *row)
{
    for (int j = 0; j < IN; ++j)
        x[j] = (float)row[j] * (1.0f / DIGITS_LEVELS);
}

static const uint8_t *row_of(const hdp_view *view, int64_t row, int64_t count)
{
    return (const uint8_t *)view->data + row % count * view->row_stride_bytes;
}

void mlpnet_gradient(const struct gemm *gemm, const float *weights,
                     struct mlpnet_part *part, const struct mlpnet_rows *rows,
                     int64_t first, int64_t end)
{
    memset(part->gradient, 0, sizeof part->gradient);
    part->loss = 0;
    transpose_w2(part, weights);
    for (; first < end; first += TILE) {
        int count = end - first < TILE ? (int)(end - first) : TILE;
        for (int i = 0; i < count; ++i)
            load_pixels(part->x + i * IN,
                        row_of(&rows->pixels, first + i, rows->count));
        forward(gemm, weights, part, count);
        for (int i = 0; i < count; ++i)
            part->loss +=
                softmax_loss(part->out + i * OUT,
                             *row_of(&rows->labels, first + i, rows->count));
        backward(gemm, part, count, part->gradient);
    }
}

int mlpnet_guess(const struct gemm *gemm, const float *weights,
                 struct mlpnet_part *part, const uint8_t *pixels)
{
    int best = 0;

    load_pixels(part->x, pixels);
    forward(gemm, weights, part, 1);
    for (int j = 1; j < OUT; ++j)
        best = part->out[j] > part->out[best] ? j : best;
    return best;
}
