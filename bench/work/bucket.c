/* Member m's element i is i's own number plus m, so that the mean over the
 * members is that number plus the mean of m: no element of the result is what
 * any member had unless the weights say so. */
#include "bucket.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "gpu.h"
#include "work.h"

enum { NUMBERS = 17 }; /* -8 to 8 */

struct bucket {
    struct gpu *gpu;
    int32_t members;
    int64_t elements;
    void **values; /* one block of floats a member, as the host sees it */
    void **places; /* and where it lies: the same, or on its GPU */
    hdp_buffers buffers;
};

static int number_of(int64_t element)
{
    return (int)(element % NUMBERS) - NUMBERS / 2;
}

static size_t block_bytes(const struct bucket *bucket)
{
    return (size_t)bucket->elements * BUCKET_ELEMENT_BYTES;
}

void bucket_fill(struct bucket *bucket)
{
    for (int32_t m = 0; m < bucket->members; ++m) {
        float *values = bucket->values[m];
        for (int64_t i = 0; i < bucket->elements; ++i)
            values[i] = (float)(number_of(i) + m);
        if (gpu_is(bucket->gpu, m))
            gpu_upload(bucket->gpu, m, bucket->places[m], values,
                       block_bytes(bucket));
    }
}

double bucket_error(const struct bucket *bucket, const int64_t *items)
{
    double sum = 0, total = 0, worst = 0;

    for (int32_t m = 0; m < bucket->members; ++m) {
        sum += (double)items[m] * m;
        total += (double)items[m];
    }
    double largest = fabs(sum / total) + NUMBERS / 2;
    for (int32_t m = 0; m < bucket->members; ++m) {
        const float *values = bucket->values[m];
        if (gpu_is(bucket->gpu, m) &&
            !gpu_download(bucket->gpu, m, bucket->values[m], bucket->places[m],
                          block_bytes(bucket)))
            return NAN;
        for (int64_t i = 0; i < bucket->elements; ++i) {
            double want = number_of(i) + sum / total;
            double error = fabs((double)values[i] - want);
            /* nothing is above NaN: it stays the worst error */
            if (isnan(error) || error > worst)
                worst = error;
        }
    }
    return worst / largest;
}

const hdp_buffers *bucket_table(const struct bucket *bucket)
{
    return &bucket->buffers;
}

void bucket_destroy(struct bucket *bucket)
{
    if (!bucket)
        return;
    for (int32_t m = 0; m < bucket->members; ++m) {
        if (bucket->places && gpu_is(bucket->gpu, m))
            gpu_free(bucket->gpu, m, bucket->places[m]);
        if (bucket->values)
            free(bucket->values[m]);
    }
    free(bucket->places);
    free(bucket->values);
    free(bucket);
}

/* Asked before the pages are touched: a system that lends more memory than it
 * has ends programs that use it. */
static int is_too_much(int64_t bytes, int32_t members)
{
    double pages = (double)sysconf(_SC_PHYS_PAGES);
    double page_bytes = (double)sysconf(_SC_PAGESIZE);

    return (double)bytes * members > pages * page_bytes / 2;
}

/* 0: no room. */
static int make_block(struct bucket *bucket, int32_t m)
{
    bucket->values[m] =
        workload_alloc((size_t)bucket->elements, BUCKET_ELEMENT_BYTES);
    bucket->places[m] = gpu_is(bucket->gpu, m)
                            ? gpu_alloc(bucket->gpu, m, block_bytes(bucket))
                            : bucket->values[m];
    return bucket->values[m] && bucket->places[m];
}

struct bucket *bucket_create(int64_t bytes, int32_t members, struct gpu *gpu)
{
    if (is_too_much(bytes, members))
        return NULL;
    struct bucket *bucket = workload_alloc(1, sizeof *bucket);
    if (!bucket)
        return NULL;
    bucket->gpu = gpu;
    bucket->members = members;
    bucket->elements = bytes / BUCKET_ELEMENT_BYTES;
    bucket->values = workload_alloc((size_t)members, sizeof *bucket->values);
    bucket->places = workload_alloc((size_t)members, sizeof *bucket->places);
    int complete = bucket->values && bucket->places;
    for (int32_t m = 0; complete && m < members; ++m)
        complete = make_block(bucket, m);
    if (!complete) {
        bucket_destroy(bucket);
        return NULL;
    }
    hdp_options_init(&bucket->buffers, sizeof bucket->buffers);
    bucket->buffers.dtype = HDP_F32;
    bucket->buffers.op = HDP_OP_MEAN;
    bucket->buffers.memory = gpu ? HDP_MEMORY_DETECT : HDP_MEMORY_HOST;
    bucket->buffers.tensor_count = 1;
    bucket->buffers.elements = &bucket->elements;
    bucket->buffers.recv = bucket->places;
    bucket_fill(bucket);
    return bucket;
}
