/* One training step of an mlp: forward, backward, reduce, update, in tiles of
 * rows that stay in the cache, so that time is a straight line of the items. */
#include "mlp.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "digits.h"
#include "gemm.h"
#include "mlpreference.h"
#include "random.h"

enum {
    IN = DIGITS_PIXELS,
    HIDDEN = MLP_HIDDEN,
    OUT = DIGITS_CLASSES,
    TILE = 128,
    BUCKETS = 2 /* the output layer is reduced while the first one waits */
};
static const float learning_rate = 0.2f, momentum = 0.9f;

/* Tensors in the order of the buckets' tables. */
enum { W2, B2, W1, B1 };
static const int64_t tensor_size[MLP_TENSORS] = {
    [W2] = HIDDEN * OUT,
    [B2] = OUT,
    [W1] = IN * HIDDEN,
    [B1] = HIDDEN,
};
enum { PARAMETERS = HIDDEN * OUT + OUT + IN * HIDDEN + HIDDEN };

struct tile {
    float x[TILE * IN], hidden[TILE * HIDDEN], d_hidden[TILE * HIDDEN];
    float out[TILE * OUT];
    float w2_transposed[OUT * HIDDEN]; /* made once a shard */
    float scratch[HIDDEN * TILE + IN * HIDDEN];
};

/* Everything of a member in one aligned block of its own. */
struct replica {
    float weights[PARAMETERS], velocity[PARAMETERS];
    float gradient[PARAMETERS], reduced[PARAMETERS];
    struct tile tile;
    double loss;
};

struct mlp {
    struct workload base;
    struct gemm gemm;
    int32_t members;
    int held; /* steps leave the weights alone */
    uint64_t seed;
    int64_t capacity;
    uint8_t *pixels, *labels; /* the set, repeated up to capacity rows */
    struct replica **replicas;
    double *reference; /* gradient of reference_total rows in f64 */
    int64_t reference_total;
    hdp_array inputs[2];
    hdp_buffers buckets[BUCKETS];
    const void **send; /* [bucket][member * 2 + tensor] */
    void **recv;
};

static size_t tensor_at(int tensor)
{
    size_t at = 0;

    for (int t = 0; t < tensor; ++t)
        at += (size_t)tensor_size[t];
    return at;
}

static struct mlp *mlp_of(struct workload *self)
{
    return (struct mlp *)self;
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
                    struct tile *tile, int rows)
{
    const float *b1 = weights + tensor_at(B1), *b2 = weights + tensor_at(B2);

    gemm_f32(gemm, rows, HIDDEN, IN, tile->x, IN, weights + tensor_at(W1),
             HIDDEN, tile->hidden, HIDDEN);
    for (int i = 0; i < rows; ++i)
        relu_row(tile->hidden + i * HIDDEN, b1);
    gemm_f32(gemm, rows, OUT, HIDDEN, tile->hidden, HIDDEN,
             weights + tensor_at(W2), OUT, tile->out, OUT);
    for (int i = 0; i < rows; ++i)
        for (int k = 0; k < OUT; ++k)
            tile->out[i * OUT + k] += b2[k];
}

static void backward(const struct gemm *gemm, struct tile *tile, int rows,
                     float *gradient)
{
    gemm_f32_add_transposed(gemm, HIDDEN, OUT, rows, tile->hidden, tile->out,
                            gradient + tensor_at(W2), tile->scratch);
    for (int i = 0; i < rows; ++i)
        for (int k = 0; k < OUT; ++k)
            gradient[tensor_at(B2) + (size_t)k] += tile->out[i * OUT + k];
    gemm_f32(gemm, rows, HIDDEN, OUT, tile->out, OUT, tile->w2_transposed,
             HIDDEN, tile->d_hidden, HIDDEN);
    for (int i = 0; i < rows; ++i)
        relu_back_row(tile->d_hidden + i * HIDDEN, tile->hidden + i * HIDDEN,
                      gradient + tensor_at(B1));
    gemm_f32_add_transposed(gemm, IN, HIDDEN, rows, tile->x, tile->d_hidden,
                            gradient + tensor_at(W1), tile->scratch);
}

static void transpose_w2(struct tile *tile, const float *weights)
{
    for (int j = 0; j < HIDDEN; ++j)
        for (int k = 0; k < OUT; ++k)
            tile->w2_transposed[k * HIDDEN + j] =
                weights[tensor_at(W2) + (size_t)(j * OUT + k)];
}

static void load_pixels(float *restrict x, const uint8_t *row)
{
    for (int j = 0; j < IN; ++j)
        x[j] = (float)row[j] * (1.0f / DIGITS_LEVELS);
}

/* Mean gradient of a shard's own rows. Bytes of a probe may be anything: a
 * label is taken modulo the classes. */
static void shard_gradient(const struct gemm *gemm, struct replica *replica,
                           const hdp_view *pixels, const hdp_view *labels,
                           int64_t items)
{
    struct tile *tile = &replica->tile;
    const char *x = pixels->data, *y = labels->data;

    memset(replica->gradient, 0, sizeof replica->gradient);
    replica->loss = 0;
    transpose_w2(tile, replica->weights);
    for (int64_t first = 0; first < items; first += TILE) {
        int rows = items - first < TILE ? (int)(items - first) : TILE;
        for (int i = 0; i < rows; ++i)
            load_pixels(
                tile->x + i * IN,
                (const uint8_t *)(x + (first + i) * pixels->row_stride_bytes));
        forward(gemm, replica->weights, tile, rows);
        for (int i = 0; i < rows; ++i) {
            uint8_t label =
                *(const uint8_t *)(y + (first + i) * labels->row_stride_bytes);
            replica->loss += softmax_loss(tile->out + i * OUT, label % OUT);
        }
        backward(gemm, tile, rows, replica->gradient);
    }
    if (items <= 0)
        return;
    float scale = 1.0f / (float)items;
    for (int i = 0; i < PARAMETERS; ++i)
        replica->gradient[i] *= scale;
    replica->loss /= (double)items;
}

static void update(struct replica *replica)
{
    for (int i = 0; i < PARAMETERS; ++i) {
        replica->velocity[i] =
            momentum * replica->velocity[i] + replica->reduced[i];
        replica->weights[i] -= learning_rate * replica->velocity[i];
    }
}

static int32_t mlp_step(const hdp_shard *shard, void *user)
{
    struct mlp *mlp = user;
    struct replica *replica = mlp->replicas[shard->member];

    if (shard->items > 0)
        shard_gradient(&mlp->gemm, replica, &shard->inputs[0],
                       &shard->inputs[1], shard->items);
    if (shard->flags & HDP_SHARD_PROBE)
        return 0;
    for (int32_t bucket = 0; bucket < BUCKETS; ++bucket)
        if (hdp_shard_all_reduce(shard, bucket) != HDP_OK)
            return 1;
    if (hdp_shard_join(shard) != HDP_OK)
        return 1;
    if (!mlp->held)
        update(replica);
    return 0;
}

/* Also for members without items in a step: they receive the mean as well. */
static void fill_work(struct mlp *mlp)
{
    hdp_work *work = &mlp->base.work;

    hdp_options_init(work, sizeof *work);
    work->host = mlp_step;
    work->user = mlp;
    work->flags = HDP_WORK_EMPTY_TOO;
    work->inputs = mlp->inputs;
    work->input_count = 2;
    work->buckets = mlp->buckets;
    work->bucket_count = BUCKETS;
    for (int i = 0; i < 2; ++i)
        hdp_options_init(&mlp->inputs[i], sizeof mlp->inputs[i]);
    mlp->inputs[0].data = mlp->pixels;
    mlp->inputs[0].row_bytes = IN;
    mlp->inputs[1].data = mlp->labels;
    mlp->inputs[1].row_bytes = 1;
    for (int i = 0; i < 2; ++i)
        mlp->inputs[i].memory = HDP_MEMORY_HOST;
}

static void fill_buckets(struct mlp *mlp)
{
    size_t table = (size_t)mlp->members * 2;

    for (int b = 0; b < BUCKETS; ++b) {
        hdp_buffers *bucket = &mlp->buckets[b];
        hdp_options_init(bucket, sizeof *bucket);
        bucket->dtype = HDP_F32;
        bucket->op = HDP_OP_MEAN;
        bucket->memory = HDP_MEMORY_HOST;
        bucket->tensor_count = 2;
        bucket->elements = tensor_size + (size_t)b * 2;
        bucket->send = mlp->send + (size_t)b * table;
        bucket->recv = mlp->recv + (size_t)b * table;
        for (int m = 0; m < mlp->members; ++m)
            for (int t = 0; t < 2; ++t) {
                size_t at = tensor_at(b * 2 + t);
                size_t slot = (size_t)b * table + (size_t)(m * 2 + t);
                mlp->send[slot] = mlp->replicas[m]->gradient + at;
                mlp->recv[slot] = mlp->replicas[m]->reduced + at;
            }
    }
}

static void fill_rows(struct mlp *mlp)
{
    for (int64_t i = 0; i < mlp->capacity; ++i)
        mlp->labels[i] = (uint8_t)digits_image((int)(i % DIGITS_TRAIN),
                                               mlp->pixels + i * IN);
}

void mlp_reset(struct workload *self)
{
    struct mlp *mlp = mlp_of(self);
    struct replica *first = mlp->replicas[0];
    uint64_t state = mlp->seed;
    /* Uniform of the width that keeps a layer's outputs at its inputs' size. */
    double width1 = sqrt(6.0 / IN), width2 = sqrt(6.0 / HIDDEN);

    memset(first->weights, 0, sizeof first->weights);
    memset(first->velocity, 0, sizeof first->velocity);
    for (int64_t i = 0; i < tensor_size[W1]; ++i)
        first->weights[tensor_at(W1) + (size_t)i] =
            (float)((2 * random_unit(&state) - 1) * width1);
    for (int64_t i = 0; i < tensor_size[W2]; ++i)
        first->weights[tensor_at(W2) + (size_t)i] =
            (float)((2 * random_unit(&state) - 1) * width2);
    for (int32_t m = 1; m < mlp->members; ++m) {
        memcpy(mlp->replicas[m]->weights, first->weights,
               sizeof first->weights);
        memset(mlp->replicas[m]->velocity, 0, sizeof first->velocity);
    }
    mlp->reference_total = -1;
}

int mlp_correct(struct workload *self, int32_t member, int *out_count)
{
    struct mlp *mlp = mlp_of(self);
    struct replica *replica = mlp->replicas[member];
    struct tile *tile = &replica->tile;
    int correct = 0;

    for (int i = DIGITS_TRAIN; i < DIGITS_COUNT; ++i) {
        uint8_t pixels[IN];
        int label = digits_image(i, pixels), best = 0;
        load_pixels(tile->x, pixels);
        forward(&mlp->gemm, replica->weights, tile, 1);
        for (int j = 1; j < OUT; ++j)
            best = tile->out[j] > tile->out[best] ? j : best;
        correct += best == label;
    }
    *out_count = DIGITS_COUNT - DIGITS_TRAIN;
    return correct;
}

double mlp_loss(struct workload *self, int32_t member)
{
    return mlp_of(self)->replicas[member]->loss;
}

int mlp_replicas_agree(struct workload *self)
{
    struct mlp *mlp = mlp_of(self);

    for (int32_t m = 1; m < mlp->members; ++m)
        if (memcmp(mlp->replicas[m]->weights, mlp->replicas[0]->weights,
                   sizeof mlp->replicas[0]->weights) != 0)
            return 0;
    return 1;
}

static void mlp_hold(struct workload *self, int on)
{
    mlp_of(self)->held = on;
    if (!on)
        mlp_of(self)->reference_total = -1; /* weights move from here on */
}

static void mlp_check(struct workload *self, int64_t total,
                      struct workload_check *out)
{
    struct mlp *mlp = mlp_of(self);

    out->against = "one device, f64 reference";
    out->tolerance = 5e-5;
    out->max_rel_error = 0;
    if (mlp->reference_total != total) {
        mlpreference_gradient(mlp->reference, mlp->replicas[0]->weights,
                              mlp->pixels, mlp->labels, total);
        mlp->reference_total = total;
    }
    for (int32_t m = 0; m < mlp->members; ++m)
        for (int t = 0; t < MLP_TENSORS; ++t) {
            double error = mlpreference_error(
                mlp->replicas[m]->reduced + tensor_at(t),
                mlp->reference + tensor_at(t), tensor_size[t]);
            /* written so that NaN counts as the worst error */
            if (!(error <= out->max_rel_error))
                out->max_rel_error = error;
        }
    out->ok = out->max_rel_error <= out->tolerance;
}

static void mlp_destroy(struct workload *self)
{
    struct mlp *mlp = mlp_of(self);

    for (int32_t m = 0; mlp->replicas && m < mlp->members; ++m)
        free(mlp->replicas[m]);
    gemm_close(&mlp->gemm);
    free(mlp->replicas);
    free(mlp->pixels);
    free(mlp->labels);
    free(mlp->reference);
    free(mlp->send);
    free(mlp->recv);
    free(mlp);
}

static const struct workload_ops mlp_ops = {
    .hold = mlp_hold,
    .check = mlp_check,
    .destroy = mlp_destroy,
};

struct workload *mlp_create(const struct workload_spec *spec)
{
    struct mlp *mlp = workload_alloc(1, sizeof *mlp);
    size_t members = (size_t)spec->members, rows = (size_t)spec->capacity;
    int complete;

    if (!mlp)
        return NULL;
    mlp->base.ops = &mlp_ops;
    mlp->members = spec->members;
    mlp->capacity = spec->capacity;
    mlp->seed = spec->seed;
    gemm_open(&mlp->gemm, spec->blas_path);
    mlp->base.backend = mlp->gemm.source;
    mlp->pixels = workload_alloc(rows, IN);
    mlp->labels = workload_alloc(rows, 1);
    mlp->reference = workload_alloc(PARAMETERS, sizeof *mlp->reference);
    mlp->send = workload_alloc(members * MLP_TENSORS, sizeof *mlp->send);
    mlp->recv = workload_alloc(members * MLP_TENSORS, sizeof *mlp->recv);
    mlp->replicas = workload_alloc(members, sizeof *mlp->replicas);
    complete = mlp->pixels && mlp->labels && mlp->reference && mlp->send &&
               mlp->recv && mlp->replicas;
    for (size_t m = 0; complete && m < members; ++m) {
        mlp->replicas[m] = workload_alloc(1, sizeof **mlp->replicas);
        complete = mlp->replicas[m] != NULL;
    }
    if (!complete) {
        mlp_destroy(&mlp->base);
        return NULL;
    }
    fill_rows(mlp);
    fill_buckets(mlp);
    fill_work(mlp);
    mlp_reset(&mlp->base);
    mlp->base.item_flops = 2.0 * (2 * IN * HIDDEN + 3 * HIDDEN * OUT);
    mlp->base.item_bytes = IN + 1;
    return &mlp->base;
}
