/* gemm, copy and mixed: one output row an item, from data whose results are
 * small integers, so that every device must give the same bytes. */
#include "work.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "crew.h"
#include "gemm.h"
#include "gpu.h"
#include "pace.h"
#include "random.h"
#include "rowsgpu.h"

enum { K = 256, N = 256, COPY_BYTES = 16384, TILE = 128 };

struct rows {
    struct workload base;
    struct gemm gemm;
    struct gpu *gpu;
    int32_t kind, members, dtype;
    struct crew **crews;   /* one a member */
    struct rowsgpu **gpus; /* likewise; NULL: on the host, or no products */
    int64_t capacity, in_bytes, out_bytes;
    float *right; /* K x N */
    char *in, *out;
    hdp_array input, output;
};

static struct rows *rows_of(struct workload *self)
{
    return (struct rows *)self;
}

static int multiplies(const struct rows *rows)
{
    return rows->kind != WORK_COPY;
}

/* A row is K floats, then (copy and mixed) COPY_BYTES to be moved. */
static size_t product_in_bytes(const struct rows *rows)
{
    return multiplies(rows) ? K * sizeof(float) : 0;
}

static size_t product_out_bytes(const struct rows *rows)
{
    return multiplies(rows) ? N * sizeof(float) : 0;
}

struct errand {
    const struct rows *rows;
    const hdp_shard *shard;
};

static void copy_rows(const struct rows *rows, const hdp_shard *shard,
                      int64_t first, int64_t end)
{
    const hdp_view *in = &shard->inputs[0], *out = &shard->outputs[0];
    size_t from = product_in_bytes(rows), to = product_out_bytes(rows);

    for (int64_t i = first; i < end; ++i)
        memcpy((char *)out->data + i * out->row_stride_bytes + to,
               (const char *)in->data + i * in->row_stride_bytes + from,
               COPY_BYTES);
}

static void multiply_rows(const struct rows *rows, const hdp_shard *shard,
                          int64_t first, int64_t end)
{
    const hdp_view *in = &shard->inputs[0], *out = &shard->outputs[0];
    int lda = (int)(in->row_stride_bytes / (int64_t)sizeof(float));
    int ldc = (int)(out->row_stride_bytes / (int64_t)sizeof(float));

    for (; first < end; first += TILE)
        gemm_f32(&rows->gemm, end - first < TILE ? (int)(end - first) : TILE, N,
                 K, (const float *)in->data + first * lda, lda, rows->right, N,
                 (float *)out->data + first * ldc, ldc);
}

static void part_rows(int index, int count, void *argument)
{
    const struct errand *errand = argument;
    const struct rows *rows = errand->rows;
    int64_t items = errand->shard->items;
    int64_t first = items / count * index + items % count * index / count;
    int64_t end =
        items / count * (index + 1) + items % count * (index + 1) / count;

    if (rows->kind != WORK_GEMM)
        copy_rows(rows, errand->shard, first, end);
    if (multiplies(rows))
        multiply_rows(rows, errand->shard, first, end);
}

static int32_t rows_step(const hdp_shard *shard, void *user)
{
    struct errand errand = { user, shard };
    const struct workload *self = &errand.rows->base;
    int64_t began_ns = pace_begin(self, shard->member);

    crew_run(errand.rows->crews[shard->member], part_rows, &errand);
    pace_end(self, shard->member, began_ns);
    return 0;
}

/* The same, enqueued; waited for only where a slowdown is declared. */
static int32_t rows_step_cuda(const hdp_shard *shard, void *user)
{
    struct rows *rows = user;
    const hdp_view *in = &shard->inputs[0], *out = &shard->outputs[0];
    int64_t began_ns = pace_begin(&rows->base, shard->member);
    int well = 1;

    if (rows->kind != WORK_GEMM)
        well =
            rowsgpu_copy(rows->gpu, shard->member, out, product_out_bytes(rows),
                         in, product_in_bytes(rows), COPY_BYTES);
    if (well && multiplies(rows))
        well = rowsgpu_multiply(rows->gpus[shard->member], out, in);
    if (well && began_ns)
        well = gpu_wait(rows->gpu, shard->member);
    if (!well)
        return gpu_give_up(rows->gpu, shard);
    pace_end(&rows->base, shard->member, began_ns);
    return 0;
}

/* Elements of a row's product that differ from sums in f64. */
static int product_differs(const struct rows *rows, int64_t row)
{
    const float *a = (const float *)(rows->in + row * rows->in_bytes);
    const float *c = (const float *)(rows->out + row * rows->out_bytes);
    double sum[N] = { 0 };

    for (int p = 0; p < K; ++p)
        for (int j = 0; j < N; ++j)
            sum[j] += (double)a[p] * (double)rows->right[p * N + j];
    for (int j = 0; j < N; ++j)
        if ((double)c[j] != sum[j])
            return 1;
    return 0;
}

static void rows_check(struct workload *self, const int64_t *items,
                       int64_t total, struct workload_check *out)
{
    struct rows *rows = rows_of(self);
    int64_t wrong = 0;

    (void)items; /* rows are where they are, whoever made them */
    out->against = "one device, exact sums in f64, every row";
    out->tolerance = 0;
    for (int64_t i = 0; i < total; ++i) {
        const char *in = rows->in + i * rows->in_bytes;
        const char *got = rows->out + i * rows->out_bytes;
        int bad = multiplies(rows) && product_differs(rows, i);
        if (!bad && rows->kind != WORK_GEMM)
            bad = memcmp(got + product_out_bytes(rows),
                         in + product_in_bytes(rows), COPY_BYTES) != 0;
        wrong += bad;
    }
    out->max_rel_error = total > 0 ? (double)wrong / (double)total : 0;
    out->ok = wrong == 0;
    memset(rows->out, 0xff, (size_t)(total * rows->out_bytes));
}

static void rows_hold(struct workload *self, int on)
{
    (void)self;
    (void)on;
}

static void rows_destroy(struct workload *self)
{
    struct rows *rows = rows_of(self);

    for (int32_t m = 0; m < rows->members; ++m) {
        if (rows->crews)
            crew_destroy(rows->crews[m]);
        if (rows->gpus)
            rowsgpu_destroy(rows->gpus[m]);
    }
    free(rows->crews);
    free(rows->gpus);
    gemm_close(&rows->gemm);
    free(rows->right);
    free(rows->in);
    free(rows->out);
    free(rows);
}

static const struct workload_ops rows_ops = {
    .hold = rows_hold,
    .check = rows_check,
    .destroy = rows_destroy,
};

/* -2 to 2: sums of 256 products stay far below 2^24 and exact in f32. */
static void fill_small(float *values, size_t count, uint64_t *state)
{
    for (size_t i = 0; i < count; ++i)
        values[i] = (float)((int)(random_next(state) % 5) - 2);
}

static void fill(struct rows *rows, uint64_t seed)
{
    uint64_t state = seed;

    fill_small(rows->right, (size_t)K * N, &state);
    for (int64_t i = 0; i < rows->capacity; ++i) {
        char *row = rows->in + i * rows->in_bytes;
        if (multiplies(rows))
            fill_small((float *)row, K, &state);
        if (rows->kind != WORK_GEMM)
            for (size_t at = 0; at < COPY_BYTES; at += sizeof state) {
                uint64_t word = random_next(&state);
                memcpy(row + product_in_bytes(rows) + at, &word, sizeof word);
            }
    }
    memset(rows->out, 0xff, (size_t)(rows->capacity * rows->out_bytes));
}

static void fill_work(struct rows *rows)
{
    hdp_work *work = &rows->base.work;

    hdp_options_init(&rows->input, sizeof rows->input);
    hdp_options_init(&rows->output, sizeof rows->output);
    rows->input.data = rows->in;
    rows->input.row_bytes = rows->in_bytes;
    rows->output.data = rows->out;
    rows->output.row_bytes = rows->out_bytes;
    rows->input.memory = rows->output.memory = HDP_MEMORY_HOST;
    hdp_options_init(work, sizeof *work);
    work->host = rows_step;
    work->cuda = rows_step_cuda;
    work->user = rows;
    work->inputs = &rows->input;
    work->input_count = 1;
    work->outputs = &rows->output;
    work->output_count = 1;
}

/* 0: no room or no thread. */
static int make_member(struct rows *rows, const struct workload_spec *spec,
                       int32_t m)
{
    rows->crews[m] = crew_create(workload_threads(spec, m));
    if (!rows->crews[m] || !gpu_is(rows->gpu, m) || !multiplies(rows))
        return rows->crews[m] != NULL;
    rows->gpus[m] =
        rowsgpu_create(rows->gpu, m, rows->dtype, K, N, rows->right);
    return rows->gpus[m] != NULL;
}

struct workload *rows_create(const struct workload_spec *spec)
{
    struct rows *rows = workload_alloc(1, sizeof *rows);
    size_t copied = spec->kind == WORK_GEMM ? 0 : COPY_BYTES;

    if (!rows)
        return NULL;
    rows->base.ops = &rows_ops;
    rows->kind = spec->kind;
    rows->members = spec->members;
    rows->capacity = spec->capacity;
    rows->in_bytes = (int64_t)(product_in_bytes(rows) + copied);
    rows->out_bytes = (int64_t)(product_out_bytes(rows) + copied);
    gemm_open(&rows->gemm, multiplies(rows) ? spec->blas_path : NULL);
    rows->base.backend = multiplies(rows)
                             ? workload_backend(spec, rows->gemm.source)
                         : spec->gpu ? "copying kernel"
                                     : "memcpy";
    rows->gpu = spec->gpu;
    rows->dtype = spec->dtype ? spec->dtype : HDP_F32;
    rows->right = workload_alloc((size_t)K * N, sizeof *rows->right);
    rows->in = workload_alloc((size_t)rows->capacity, (size_t)rows->in_bytes);
    rows->out = workload_alloc((size_t)rows->capacity, (size_t)rows->out_bytes);
    rows->crews = workload_alloc((size_t)rows->members, sizeof *rows->crews);
    rows->gpus = workload_alloc((size_t)rows->members, sizeof *rows->gpus);
    int complete =
        rows->right && rows->in && rows->out && rows->crews && rows->gpus;
    if (complete)
        fill(rows, spec->seed);
    for (int32_t m = 0; complete && m < rows->members; ++m)
        complete = make_member(rows, spec, m);
    if (!complete) {
        rows_destroy(&rows->base);
        return NULL;
    }
    fill_work(rows);
    rows->base.item_flops = multiplies(rows) ? 2.0 * K * N : 0;
    rows->base.item_bytes = (double)(rows->in_bytes + rows->out_bytes);
    return &rows->base;
}
