/* One training step of the network on every member: gradient of its rows, the
 * weighted mean of all gradients, update of its replica. */
#include "mlp.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "crew.h"
#include "gpu.h"
#include "mlpgpu.h"
#include "mlpnet.h"
#include "mlpreference.h"
#include "pace.h"
#include "random.h"

enum { BUCKETS = 2 }; /* the output layer's is ready to go first */
static const float learning_rate = 0.2f, momentum = 0.9f;

/* A member's own copy of the network, and its threads. Of a GPU's, weights and
 * reduced are what pull() brought last. */
struct replica {
    float weights[MLPNET_PARAMETERS], velocity[MLPNET_PARAMETERS];
    float gradient[MLPNET_PARAMETERS], reduced[MLPNET_PARAMETERS];
    struct mlpgpu *gpu; /* NULL: on the host */
    struct crew *crew;
    struct mlpnet_part *parts; /* one a thread */
};

/* One step of a member, for its threads. */
struct errand {
    const struct mlp *mlp;
    struct replica *replica;
    struct mlpnet_rows rows;
    int64_t items;
};

struct mlp {
    struct workload base;
    struct gemm gemm;
    struct gpu *gpu;
    int32_t members, dtype;
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

static struct mlp *mlp_of(struct workload *self)
{
    return (struct mlp *)self;
}

static void part_gradient(int index, int count, void *argument)
{
    const struct errand *errand = argument;
    int64_t items = errand->items;

    mlpnet_gradient(&errand->mlp->gemm, errand->replica->weights,
                    &errand->replica->parts[index], &errand->rows,
                    items / count * index + items % count * index / count,
                    items / count * (index + 1) +
                        items % count * (index + 1) / count);
}

/* The shard's rows; in a probe the images themselves. What a probe hands in is
 * random bytes, and a trained network answers those with numbers so small that
 * arithmetic on them is several times slower than in any real step. */
static struct mlpnet_rows rows_of(const struct mlp *mlp, const hdp_shard *shard)
{
    struct mlpnet_rows rows = { .count = shard->items };

    if (shard->flags & HDP_SHARD_PROBE) {
        rows.pixels.data = mlp->pixels;
        rows.pixels.row_stride_bytes = MLPNET_IN;
        rows.labels.data = mlp->labels;
        rows.labels.row_stride_bytes = 1;
        rows.count = mlp->capacity;
    } else {
        rows.pixels = shard->inputs[0];
        rows.labels = shard->inputs[1];
    }
    return rows;
}

/* Mean gradient of a shard's own rows, by all threads of the member. */
static void shard_gradient(const struct mlp *mlp, struct replica *replica,
                           const hdp_shard *shard)
{
    struct errand errand = { mlp, replica, rows_of(mlp, shard), shard->items };
    int threads = crew_size(replica->crew);
    float scale = 1.0f / (float)shard->items;

    crew_run(replica->crew, part_gradient, &errand);
    memcpy(replica->gradient, replica->parts[0].gradient,
           sizeof replica->gradient);
    for (int t = 1; t < threads; ++t)
        for (int i = 0; i < MLPNET_PARAMETERS; ++i)
            replica->gradient[i] += replica->parts[t].gradient[i];
    for (int i = 0; i < MLPNET_PARAMETERS; ++i)
        replica->gradient[i] *= scale;
}

static void update(struct replica *replica)
{
    for (int i = 0; i < MLPNET_PARAMETERS; ++i) {
        replica->velocity[i] =
            momentum * replica->velocity[i] + replica->reduced[i];
        replica->weights[i] -= learning_rate * replica->velocity[i];
    }
}

/* What the function is to return: 0, or 1 once it has said why. */
static int32_t reduce(const hdp_shard *shard)
{
    hdp_status status = HDP_OK;

    for (int32_t bucket = 0; !status && bucket < BUCKETS; ++bucket)
        status = hdp_shard_all_reduce(shard, bucket);
    if (!status)
        status = hdp_shard_join(shard);
    if (status)
        hdp_shard_fail(shard, HDP_ERR_CALLBACK, 0, hdp_last_error());
    return status != HDP_OK;
}

static int32_t mlp_step(const hdp_shard *shard, void *user)
{
    struct mlp *mlp = user;
    struct replica *replica = mlp->replicas[shard->member];

    int64_t began_ns = pace_begin(&mlp->base, shard->member);
    if (shard->items > 0)
        shard_gradient(mlp, replica, shard);
    pace_end(&mlp->base, shard->member, began_ns);
    if (shard->flags & HDP_SHARD_PROBE)
        return 0;
    if (reduce(shard))
        return 1;
    if (!mlp->held)
        update(replica);
    return 0;
}

/* The same, enqueued; waited for only where a slowdown is declared. */
static int32_t mlp_step_cuda(const hdp_shard *shard, void *user)
{
    struct mlp *mlp = user;
    struct mlpgpu *replica = mlp->replicas[shard->member]->gpu;

    int64_t began_ns = pace_begin(&mlp->base, shard->member);
    if (shard->items > 0 && !mlpgpu_compute(replica, shard))
        return gpu_give_up(mlp->gpu, shard);
    if (began_ns && !gpu_wait(mlp->gpu, shard->member))
        return gpu_give_up(mlp->gpu, shard);
    pace_end(&mlp->base, shard->member, began_ns);
    if (shard->flags & HDP_SHARD_PROBE)
        return 0;
    if (reduce(shard))
        return 1;
    if (!mlp->held && !mlpgpu_update(replica, learning_rate, momentum))
        return gpu_give_up(mlp->gpu, shard);
    return 0;
}

/* Also for members without items in a step: they receive the mean as well. */
static void fill_work(struct mlp *mlp)
{
    hdp_work *work = &mlp->base.work;

    hdp_options_init(work, sizeof *work);
    work->host = mlp_step;
    work->cuda = mlp_step_cuda;
    work->user = mlp;
    work->flags = HDP_WORK_EMPTY_TOO;
    work->inputs = mlp->inputs;
    work->input_count = 2;
    work->buckets = mlp->buckets;
    work->bucket_count = BUCKETS;
    for (int i = 0; i < 2; ++i)
        hdp_options_init(&mlp->inputs[i], sizeof mlp->inputs[i]);
    mlp->inputs[0].data = mlp->pixels;
    mlp->inputs[0].row_bytes = MLPNET_IN;
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
        bucket->memory = mlp->gpu ? HDP_MEMORY_DETECT : HDP_MEMORY_HOST;
        bucket->tensor_count = 2;
        bucket->elements = mlpnet_size + (size_t)b * 2;
        bucket->send = mlp->send + (size_t)b * table;
        bucket->recv = mlp->recv + (size_t)b * table;
        for (int m = 0; m < mlp->members; ++m)
            for (int t = 0; t < 2; ++t) {
                struct replica *replica = mlp->replicas[m];
                size_t at = mlpnet_at(b * 2 + t);
                size_t slot = (size_t)b * table + (size_t)(m * 2 + t);
                mlp->send[slot] = (replica->gpu ? mlpgpu_gradient(replica->gpu)
                                                : replica->gradient) +
                                  at;
                mlp->recv[slot] = (replica->gpu ? mlpgpu_reduced(replica->gpu)
                                                : replica->reduced) +
                                  at;
            }
    }
}

static void fill_rows(struct mlp *mlp)
{
    for (int64_t i = 0; i < mlp->capacity; ++i)
        mlp->labels[i] = (uint8_t)digits_image((int)(i % DIGITS_TRAIN),
                                               mlp->pixels + i * MLPNET_IN);
}

void mlp_reset(struct workload *self)
{
    struct mlp *mlp = mlp_of(self);
    struct replica *first = mlp->replicas[0];
    uint64_t state = mlp->seed;
    /* Uniform of the width that keeps a layer's outputs at its inputs' size. */
    double width1 = sqrt(6.0 / MLPNET_IN), width2 = sqrt(6.0 / MLP_HIDDEN);

    memset(first->weights, 0, sizeof first->weights);
    memset(first->velocity, 0, sizeof first->velocity);
    for (int64_t i = 0; i < mlpnet_size[MLPNET_W1]; ++i)
        first->weights[mlpnet_at(MLPNET_W1) + (size_t)i] =
            (float)((2 * random_unit(&state) - 1) * width1);
    for (int64_t i = 0; i < mlpnet_size[MLPNET_W2]; ++i)
        first->weights[mlpnet_at(MLPNET_W2) + (size_t)i] =
            (float)((2 * random_unit(&state) - 1) * width2);
    for (int32_t m = 0; m < mlp->members; ++m) {
        struct replica *replica = mlp->replicas[m];
        if (m > 0)
            memcpy(replica->weights, first->weights, sizeof first->weights);
        memset(replica->velocity, 0, sizeof replica->velocity);
        if (replica->gpu) /* a device that failed shows in the next step */
            mlpgpu_reset(replica->gpu, replica->weights);
    }
    mlp->reference_total = -1;
}

/* A GPU's tensors, for the host to look at; NaN where it does not answer. */
static void pull_weights(struct replica *replica)
{
    if (replica->gpu && !mlpgpu_weights(replica->gpu, replica->weights))
        memset(replica->weights, 0xff, sizeof replica->weights);
}

static void pull_reduced(struct replica *replica)
{
    if (replica->gpu && !mlpgpu_reduced_copy(replica->gpu, replica->reduced))
        memset(replica->reduced, 0xff, sizeof replica->reduced);
}

int mlp_correct(struct workload *self, int32_t member, int *out_count)
{
    struct mlp *mlp = mlp_of(self);
    struct replica *replica = mlp->replicas[member];
    int correct = 0;

    pull_weights(replica);
    for (int i = DIGITS_TRAIN; i < DIGITS_COUNT; ++i) {
        uint8_t pixels[DIGITS_PIXELS];
        int label = digits_image(i, pixels);
        correct += mlpnet_guess(&mlp->gemm, replica->weights, replica->parts,
                                pixels) == label;
    }
    *out_count = DIGITS_COUNT - DIGITS_TRAIN;
    return correct;
}

int64_t mlp_reduce_bytes(void)
{
    return MLPNET_PARAMETERS * (int64_t)sizeof(float);
}

int mlp_replicas_agree(struct workload *self)
{
    struct mlp *mlp = mlp_of(self);

    for (int32_t m = 0; m < mlp->members; ++m)
        pull_weights(mlp->replicas[m]);
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

/* Of a tensor's largest element. What rounds operands turns the sign of a few
 * sums, and with each a unit of one row is on or off. */
static double tolerance_of(int32_t dtype)
{
    switch (dtype) {
    case HDP_TF32:
    case HDP_F16:
        return 2e-2;
    case HDP_BF16:
        return 8e-2;
    default:
        return 5e-5;
    }
}

static void mlp_check(struct workload *self, const int64_t *items,
                      int64_t total, struct workload_check *out)
{
    struct mlp *mlp = mlp_of(self);

    (void)items; /* the mean does not depend on them */
    out->against = "one device, f64 reference";
    out->tolerance = tolerance_of(mlp->dtype);
    out->max_rel_error = 0;
    if (mlp->reference_total != total) {
        pull_weights(mlp->replicas[0]);
        mlpreference_gradient(mlp->reference, mlp->replicas[0]->weights,
                              mlp->pixels, mlp->labels, total, DIGITS_TRAIN);
        mlp->reference_total = total;
    }
    for (int32_t m = 0; m < mlp->members; ++m) {
        pull_reduced(mlp->replicas[m]);
        for (int t = 0; t < MLP_TENSORS; ++t) {
            double error = mlpreference_error(
                mlp->replicas[m]->reduced + mlpnet_at(t),
                mlp->reference + mlpnet_at(t), mlpnet_size[t]);
            /* nothing is above NaN: it stays the worst error */
            if (isnan(error) || error > out->max_rel_error)
                out->max_rel_error = error;
        }
    }
    out->ok = out->max_rel_error <= out->tolerance;
}

static void replica_destroy(struct replica *replica)
{
    if (!replica)
        return;
    mlpgpu_destroy(replica->gpu);
    crew_destroy(replica->crew);
    free(replica->parts);
    free(replica);
}

static struct replica *replica_create(int threads)
{
    struct replica *replica = workload_alloc(1, sizeof *replica);

    if (!replica)
        return NULL;
    replica->crew = crew_create(threads);
    if (replica->crew)
        replica->parts = workload_alloc((size_t)crew_size(replica->crew),
                                        sizeof *replica->parts);
    if (replica->parts)
        return replica;
    replica_destroy(replica);
    return NULL;
}

static void mlp_destroy(struct workload *self)
{
    struct mlp *mlp = mlp_of(self);

    for (int32_t m = 0; mlp->replicas && m < mlp->members; ++m)
        replica_destroy(mlp->replicas[m]);
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

/* 0: no room, on the host or on the device. */
static int make_replica(struct mlp *mlp, const struct workload_spec *spec,
                        int32_t m)
{
    struct mlpnet_rows set = { .count = mlp->capacity < DIGITS_TRAIN
                                            ? mlp->capacity
                                            : DIGITS_TRAIN };
    struct replica *replica = replica_create(workload_threads(spec, m));

    mlp->replicas[m] = replica;
    if (!replica || !gpu_is(mlp->gpu, m))
        return replica != NULL;
    set.pixels.data = mlp->pixels;
    set.labels.data = mlp->labels;
    replica->gpu = mlpgpu_create(mlp->gpu, m, mlp->dtype, mlp->capacity, &set);
    return replica->gpu != NULL;
}

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
    mlp->base.backend = workload_backend(spec, mlp->gemm.source);
    mlp->gpu = spec->gpu;
    mlp->dtype = spec->dtype ? spec->dtype : HDP_F32;
    mlp->pixels = workload_alloc(rows, MLPNET_IN);
    mlp->labels = workload_alloc(rows, 1);
    mlp->reference = workload_alloc(MLPNET_PARAMETERS, sizeof *mlp->reference);
    mlp->send = workload_alloc(members * MLP_TENSORS, sizeof *mlp->send);
    mlp->recv = workload_alloc(members * MLP_TENSORS, sizeof *mlp->recv);
    mlp->replicas = workload_alloc(members, sizeof *mlp->replicas);
    complete = mlp->pixels && mlp->labels && mlp->reference && mlp->send &&
               mlp->recv && mlp->replicas;
    if (complete)
        fill_rows(mlp);
    for (int32_t m = 0; complete && m < mlp->members; ++m)
        complete = make_replica(mlp, spec, m);
    if (!complete) {
        mlp_destroy(&mlp->base);
        return NULL;
    }
    fill_buckets(mlp);
    fill_work(mlp);
    mlp_reset(&mlp->base);
    mlp->base.item_flops =
        2.0 * (2 * MLPNET_IN * MLP_HIDDEN + 3 * MLP_HIDDEN * MLPNET_OUT);
    mlp->base.item_bytes = MLPNET_IN + 1;
    return &mlp->base;
}
