/* One step with everything in it: rows out and back, a function, two buckets.
 * The right results are worked out here, row by row, on one thread. */
#ifndef JOB_H
#define JOB_H
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include "on_gpu.h"
#include "scene.h"

enum {
    JOB_ROWS_MAX = 64,
    JOB_WIDTH = 3,
    JOB_MEMBERS_MAX = 16,
    JOB_SPEC = 256 /* bytes that hold any specification of members */
};

/* Bucket 0: the mean of two columns over all rows. Bucket 1: the sum of all
 * row numbers. The function says bucket 0 alone; the library says the other. */
struct job {
    int64_t total;
    int32_t members;
    double in[JOB_ROWS_MAX][JOB_WIDTH], out[JOB_ROWS_MAX][JOB_WIDTH];
    double mean[JOB_MEMBERS_MAX][2];
    int64_t sum[JOB_MEMBERS_MAX];
    int64_t elements[2];
    void *means[JOB_MEMBERS_MAX], *sums[JOB_MEMBERS_MAX];
    hdp_array arrays[2];
    hdp_buffers buckets[2];
    hdp_work work;
    _Atomic int32_t calls, empty_calls;
    int32_t bad_member, bad_code; /* this member's function returns the code */
    int64_t bad_offset;           /* only in the call of this row; -1: all */
    char text[160];               /* what job_wrong() found */
};

static inline double *job_row(const hdp_view *view, int64_t row)
{
    char *at = view->data;

    return (double *)(void *)(at + row * view->row_stride_bytes);
}

static inline void job_compute(struct job *job, const hdp_shard *shard)
{
    double *mean = job->mean[shard->member];
    int64_t *sum = &job->sum[shard->member], r;
    int c;

    if (shard->flags & HDP_SHARD_FIRST) {
        mean[0] = mean[1] = 0;
        *sum = 0;
    }
    for (r = 0; r < shard->items; ++r) {
        const double *from = job_row(&shard->inputs[0], r);
        double *to = job_row(&shard->outputs[0], r);
        for (c = 0; c < JOB_WIDTH; ++c)
            to[c] = 2 * from[c] + 1;
        for (c = 0; c < 2; ++c)
            mean[c] += from[c] / (double)shard->share_items;
        *sum += shard->offset + r;
    }
}

static inline int32_t job_function(const hdp_shard *shard, void *user)
{
    struct job *job = user;

    atomic_fetch_add(&job->calls, 1);
    if (shard->items == 0)
        atomic_fetch_add(&job->empty_calls, 1);
    job_compute(job, shard);
    if (job->bad_code && shard->member == job->bad_member &&
        (job->bad_offset < 0 || job->bad_offset == shard->offset))
        return job->bad_code;
    if (shard->flags & HDP_SHARD_LAST && shard->items > 0)
        return hdp_shard_all_reduce(shard, 0) == HDP_OK ? 0 : -99;
    return 0;
}

ON_GPU(job_function)

/* Nothing computed yet; a member without rows would spoil every result. */
static inline void job_reset(struct job *job)
{
    int64_t r;
    int32_t m;
    int c;

    for (r = 0; r < JOB_ROWS_MAX; ++r)
        for (c = 0; c < JOB_WIDTH; ++c) {
            job->in[r][c] = (double)(r * JOB_WIDTH + c);
            job->out[r][c] = -7;
        }
    for (m = 0; m < JOB_MEMBERS_MAX; ++m) {
        job->mean[m][0] = job->mean[m][1] = (double)NAN;
        job->sum[m] = INT64_MIN;
    }
    atomic_store(&job->calls, 0);
    atomic_store(&job->empty_calls, 0);
    job->text[0] = '\0';
}

static inline void job_array(hdp_array *array, void *rows)
{
    (void)hdp_options_init(array, sizeof *array);
    array->data = rows;
    array->row_bytes = JOB_WIDTH * sizeof(double);
}

static inline void job_bucket(hdp_buffers *bucket, int32_t dtype, int32_t op,
                              const int64_t *elements, void *const *recv)
{
    (void)hdp_options_init(bucket, sizeof *bucket);
    bucket->dtype = dtype;
    bucket->op = op;
    bucket->tensor_count = 1;
    bucket->elements = elements;
    bucket->recv = recv;
}

static inline void job_open(struct job *job, int64_t total, int32_t members)
{
    int32_t m;

    memset(job, 0, sizeof *job);
    job->total = total;
    job->members = members;
    job->bad_offset = -1;
    for (m = 0; m < members; ++m) {
        job->means[m] = job->mean[m];
        job->sums[m] = &job->sum[m];
    }
    job->elements[0] = 2;
    job->elements[1] = 1;
    job_array(&job->arrays[0], job->in);
    job_array(&job->arrays[1], job->out);
    job_bucket(&job->buckets[0], HDP_F64, HDP_OP_MEAN, &job->elements[0],
               job->means);
    job_bucket(&job->buckets[1], HDP_I64, HDP_OP_SUM, &job->elements[1],
               job->sums);
    (void)hdp_options_init(&job->work, sizeof job->work);
    job->work.host = job_function;
    job->work.cuda = job_function_on_gpu;
    job->work.user = job;
    job->work.inputs = &job->arrays[0];
    job->work.outputs = &job->arrays[1];
    job->work.buckets = job->buckets;
    job->work.input_count = job->work.output_count = 1;
    job->work.bucket_count = 2;
    job_reset(job);
}

/* What is wrong with the results, or NULL. */
static inline const char *job_wrong(struct job *job)
{
    double mean[2] = { 0, 0 };
    int64_t sum = 0, r;
    int32_t m;
    int c;

    for (r = 0; r < job->total; ++r) {
        for (c = 0; c < 2; ++c)
            mean[c] += (double)(r * JOB_WIDTH + c) / (double)job->total;
        sum += r;
    }
    for (r = 0; r < JOB_ROWS_MAX; ++r)
        for (c = 0; c < JOB_WIDTH; ++c) {
            double want =
                r < job->total ? 2 * (double)(r * JOB_WIDTH + c) + 1 : -7;
            if (job->out[r][c] == want)
                continue;
            (void)snprintf(job->text, sizeof job->text,
                           "row %d, column %d: expected %g, got %g", (int)r, c,
                           want, job->out[r][c]);
            return job->text;
        }
    for (m = 0; job->total > 0 && m < job->members; ++m) {
        for (c = 0; c < 2; ++c)
            if (!(fabs(job->mean[m][c] - mean[c]) <= 1e-12 * (1 + mean[c]))) {
                (void)snprintf(job->text, sizeof job->text,
                               "member %d, mean %d: expected %.17g, got %.17g",
                               (int)m, c, mean[c], job->mean[m][c]);
                return job->text;
            }
        if (job->sum[m] != sum) {
            (void)snprintf(job->text, sizeof job->text,
                           "member %d, sum: expected %lld, got %lld", (int)m,
                           (long long)sum, (long long)job->sum[m]);
            return job->text;
        }
    }
    return NULL;
}

/* The results are right. What comes after the job says when, as printf. */
#define expect_right(job, ...)                                                 \
    job_compare((job), __FILE__, __LINE__, __VA_ARGS__)

static inline void job_compare(struct job *job, const char *file, int line,
                               const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static inline void job_compare(struct job *job, const char *file, int line,
                               const char *format, ...)
{
    const char *wrong = job_wrong(job);
    va_list arguments;
    char text[256];

    if (!wrong)
        return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    print_error("%s: %s\n", text, wrong);
    _fail(file, line);
}

/* "host:0-3/threads=1" or "sim:0-3/item=1us", or GPUs: members of a kind. */
static inline void job_spec(char *out, size_t capacity, int32_t kind,
                            int32_t count)
{
    if (kind == HDP_CUDA)
        on_gpu_spec(out, capacity, count);
    else
        (void)snprintf(out, capacity, "%s:0-%d%s",
                       kind == HDP_HOST ? "host" : "sim", (int)count - 1,
                       kind == HDP_HOST ? "/threads=1" : "/item=1us");
}

/* Members of one kind, where a scenario needs no other. */
static inline const char *job_group(char out[JOB_SPEC], int32_t count)
{
#ifdef HDP_TEST_CUDA
    job_spec(out, JOB_SPEC, HDP_CUDA, count);
#else
    job_spec(out, JOB_SPEC, HDP_HOST, count);
#endif
    return out;
}

/* Every kind of member in every thread mode: what a loop walks over. */
struct way {
    int32_t kind, threads;
    const char *name;
};

static const struct way ways[] = {
#ifdef HDP_TEST_CUDA
    { HDP_CUDA, HDP_THREADS_MEMBER, "cuda, MEMBER" },
    { HDP_CUDA, HDP_THREADS_CALLER, "cuda, CALLER" },
#else
    { HDP_HOST, HDP_THREADS_MEMBER, "host, MEMBER" },
    { HDP_HOST, HDP_THREADS_CALLER, "host, CALLER" },
    { HDP_SIM, HDP_THREADS_MEMBER, "sim, MEMBER" },
    { HDP_SIM, HDP_THREADS_CALLER, "sim, CALLER" },
#endif
};

enum { WAY_COUNT = sizeof ways / sizeof ways[0] };

static inline void scene_open_way(struct scene *scene, const struct way *way,
                                  const int64_t *items, int32_t count)
{
    hdp_group_options options;
    char spec[JOB_SPEC];

    expect_ok(hdp_options_init(&options, sizeof options));
    options.threads = way->threads;
    job_spec(spec, sizeof spec, way->kind, count);
    scene_open(scene, spec, items, count, &options);
}
#endif
