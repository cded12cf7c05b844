/* Choosing a workload, and the bucket beside it; the one that does nothing lives
 * here too. */
#include "work.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bucket.h"
#include "gpu.h"

void *workload_alloc(size_t count, size_t size)
{
    size_t bytes;
    void *p;

    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX - 64)
        return NULL;
    bytes = (bytes + 64) / 64 * 64;
    p = aligned_alloc(64, bytes);
    if (p)
        memset(p, 0, bytes);
    return p;
}

static int32_t count_gpus(const struct workload_spec *spec)
{
    int32_t count = 0;

    for (int32_t m = 0; m < spec->members; ++m)
        count += gpu_is(spec->gpu, m);
    return count;
}

const char *workload_backend(const struct workload_spec *spec, const char *host)
{
    int32_t count = count_gpus(spec);

    if (count == 0)
        return host;
    if (count == spec->members)
        return "cuBLAS";
    return strcmp(host, "OpenBLAS") == 0 ? "cuBLAS and OpenBLAS"
                                         : "cuBLAS and own kernel";
}

int workload_multiplies(int32_t kind)
{
    return kind != WORK_COPY && kind != WORK_EMPTY;
}

int workload_threads(const struct workload_spec *spec, int32_t member)
{
    int threads = spec->devices ? spec->devices[member].thread_count : 1;

    return threads > 1 ? threads : 1;
}

static int32_t nothing(const hdp_shard *shard, void *user)
{
    (void)shard;
    (void)user;
    return 0;
}

static void nothing_held(struct workload *self, int on)
{
    (void)self;
    (void)on;
}

static void nothing_to_check(struct workload *self, const int64_t *items,
                             int64_t total, struct workload_check *out)
{
    (void)self;
    (void)items;
    (void)total;
    out->ok = 1;
    out->max_rel_error = out->tolerance = 0;
    out->against = "nothing: the work function is empty";
}

static void nothing_destroy(struct workload *self)
{
    free(self);
}

static const struct workload_ops nothing_ops = {
    .hold = nothing_held,
    .check = nothing_to_check,
    .destroy = nothing_destroy,
};

static struct workload *nothing_create(void)
{
    struct workload *self = workload_alloc(1, sizeof *self);

    if (!self)
        return NULL;
    self->ops = &nothing_ops;
    self->backend = "nothing";
    hdp_options_init(&self->work, sizeof self->work);
    self->work.host = nothing;
    self->work.cuda = nothing;
    return self;
}

static struct workload *create(const struct workload_spec *spec)
{
    struct workload *self = spec->kind == WORK_EMPTY ? nothing_create()
                            : spec->kind != WORK_MLP ? rows_create(spec)
                            : spec->net.layers > 0   ? net_create(spec)
                                                     : mlp_create(spec);

    if (self)
        self->dtype = spec->dtype ? spec->dtype : HDP_F32;
    return self;
}

/* ---- with a bucket ------------------------------------------------------- */

/* Nobody says that it is ready: the library does when a function returns. */
struct workload *workload_create(const struct workload_spec *spec)
{
    struct workload *self = create(spec);

    if (!self || spec->reduce_bytes == 0)
        return self;
    self->bucket = bucket_create(spec->reduce_bytes, spec->members, spec->gpu);
    if (!self->bucket) {
        workload_destroy(self);
        return NULL;
    }
    self->work.buckets = bucket_table(self->bucket);
    self->work.bucket_count = 1;
    return self;
}

void workload_check(struct workload *workload, const int64_t *items,
                    int64_t total, struct workload_check *out)
{
    static const double tolerance = 1e-6;

    workload->ops->check(workload, items, total, out);
    if (!workload->bucket || total == 0)
        return;
    double error = bucket_error(workload->bucket, items);
    out->ok = out->ok && error <= tolerance;
    if (isnan(error) || error > out->max_rel_error)
        out->max_rel_error = error;
    out->tolerance = tolerance;
    out->against = "one device, every row exactly, the bucket in f64";
    bucket_fill(workload->bucket);
}

void workload_destroy(struct workload *workload)
{
    if (!workload)
        return;
    bucket_destroy(workload->bucket);
    workload->ops->destroy(workload);
}
