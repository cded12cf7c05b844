/* The meaning of the network's kernels, element by element, in f32. */
#include <math.h>
#include <string.h>

#include "kernels.h"
#include "workkernels.h"

static float load(const void *from, int64_t at, int32_t dtype)
{
    switch (dtype) {
    case HDP_F16:
        return (float)hdpk_from_f16(((const uint16_t *)from)[at]);
    case HDP_BF16:
        return (float)hdpk_from_bf16(((const uint16_t *)from)[at]);
    default:
        return ((const float *)from)[at];
    }
}

static void store(void *to, int64_t at, int32_t dtype, float value)
{
    switch (dtype) {
    case HDP_F16:
        ((uint16_t *)to)[at] = hdpk_to_f16((double)value);
        break;
    case HDP_BF16:
        ((uint16_t *)to)[at] = hdpk_to_bf16((double)value);
        break;
    default:
        ((float *)to)[at] = value;
        break;
    }
}

void hdpw_host_pixels(const struct hdpw_pixels *job)
{
    for (int64_t r = 0; r < job->rows; ++r) {
        const uint8_t *row = (const uint8_t *)job->pixels +
                             (job->first + r) % job->count * job->stride;
        for (int32_t j = 0; j < job->width; ++j)
            store(job->target, r * job->width + j, job->dtype,
                  (float)row[j] * 0.0625f);
    }
}

void hdpw_host_activate(const struct hdpw_activate *job)
{
    const float *sums = job->sums, *bias = job->bias;

    for (int64_t i = 0; i < job->rows * job->width; ++i) {
        float value = sums[i] + bias[i % job->width];
        store(job->target, i, job->dtype, value > 0 ? value : 0);
    }
}

void hdpw_host_loss(const struct hdpw_loss *job)
{
    const float *bias = job->bias;

    for (int64_t r = 0; r < job->rows; ++r) {
        const float *row = (const float *)job->sums + r * job->width;
        int label =
            ((const uint8_t *)
                 job->labels)[(job->first + r) % job->count * job->stride];
        float part[16], top = row[0] + bias[0], sum = 0;
        for (int32_t j = 1; j < job->width; ++j)
            top = row[j] + bias[j] > top ? row[j] + bias[j] : top;
        for (int32_t j = 0; j < job->width; ++j)
            sum += part[j] = expf(row[j] + bias[j] - top);
        for (int32_t j = 0; j < job->width; ++j) {
            float share = part[j] / sum;
            store(job->target, r * job->width + j, job->dtype,
                  share - (j == label ? 1.0f : 0.0f));
        }
    }
}

void hdpw_host_backward(const struct hdpw_backward *job)
{
    const float *sums = job->sums;

    for (int64_t i = 0; i < job->rows * job->width; ++i)
        store(job->target, i, job->dtype,
              load(job->active, i, job->dtype) > 0 ? sums[i] : 0);
}

void hdpw_host_columns(const struct hdpw_columns *job)
{
    float *target = job->target, factor = (float)job->factor;

    for (int64_t c = 0; c * job->chunk < job->rows; ++c)
        for (int32_t j = 0; j < job->width; ++j) {
            int64_t end = job->rows - c * job->chunk < job->chunk
                              ? job->rows
                              : (c + 1) * job->chunk;
            float sum = 0;
            for (int64_t r = c * job->chunk; r < end; ++r)
                sum += load(job->source, r * job->width + j, job->dtype);
            sum *= factor;
            int64_t at = c * job->width + j;
            target[at] = job->add ? target[at] + sum : sum;
        }
}

void hdpw_host_update(const struct hdpw_update *job)
{
    float *weights = job->weights, *velocity = job->velocity;
    const float *gradient = job->gradient;
    float momentum = (float)job->momentum, rate = (float)job->rate;

    for (int64_t i = 0; i < job->count; ++i) {
        velocity[i] = momentum * velocity[i] + gradient[i];
        weights[i] -= rate * velocity[i];
    }
}

void hdpw_host_lower(const struct hdpw_lower *job)
{
    for (int64_t r = 0; r < job->rows; ++r) {
        const float *row =
            (const float *)(const void *)((const char *)job->source +
                                          r * job->stride);
        for (int32_t j = 0; j < job->width; ++j)
            store(job->target, r * job->width + j, job->dtype, row[j]);
    }
}

/* The finalizer of splitmix64: one number of a sequence without those before. */
static int drawn(int64_t seed, int64_t element)
{
    uint64_t z =
        (uint64_t)seed + ((uint64_t)element + 1) * UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return (int)(z >> 48) - 32768;
}

void hdpw_host_noise(const struct hdpw_noise *job)
{
    for (int64_t r = 0; r < job->rows; ++r) {
        int64_t row = job->first + r;
        double scale = job->base + job->slope * (double)row;
        for (int32_t j = 0; j < job->width; ++j)
            store(job->target, r * job->width + j, job->dtype,
                  (float)(drawn(job->seed, row * job->width + j) * scale));
    }
}

void hdpw_host_gate(const struct hdpw_gate *job)
{
    for (int64_t i = 0; i < job->count; ++i)
        if (!(load(job->gate, i, job->dtype) > 0))
            store(job->target, i, job->dtype, 0);
}

/* ---- by name ------------------------------------------------------------- */

#define HOST(x)                                                                \
    static void host_##x(const void *args)                                     \
    {                                                                          \
        struct hdpw_##x job;                                                   \
        memcpy(&job, args, sizeof job);                                        \
        hdpw_host_##x(&job);                                                   \
    }
HOST(pixels)
HOST(activate)
HOST(loss)
HOST(backward)
HOST(columns)
HOST(update)
HOST(lower)
HOST(noise)
HOST(gate)

static void host_rows(const void *args)
{
    struct hdpk_launch_rows job;
    memcpy(&job, args, sizeof job);
    hdpk_host_rows(&job);
}

static void host_pattern(const void *args)
{
    struct hdpk_launch_pattern job;
    memcpy(&job, args, sizeof job);
    hdpk_host_pattern(&job);
}

static void host_check(const void *args)
{
    struct hdpk_launch_check job;
    memcpy(&job, args, sizeof job);
    hdpk_host_check(&job);
}

#define ROW(x, pointers)                                                       \
    {                                                                          \
        "hdpw_cuda_" #x, sizeof(struct hdpw_##x), host_##x,                    \
        {                                                                      \
            {                                                                  \
                0, pointers                                                    \
            }                                                                  \
        }                                                                      \
    }
#define SHARED(x, pointers)                                                    \
    {                                                                          \
        "hdpk_cuda_" #x, sizeof(struct hdpk_launch_##x), host_##x,             \
        {                                                                      \
            {                                                                  \
                0, pointers                                                    \
            }                                                                  \
        }                                                                      \
    }
const struct hdpk_kernel hdpw_kernels[HDPW_KERNELS] = {
    [HDPW_PIXELS] = ROW(pixels, 2),      [HDPW_ACTIVATE] = ROW(activate, 3),
    [HDPW_LOSS] = ROW(loss, 4),          [HDPW_BACKWARD] = ROW(backward, 3),
    [HDPW_COLUMNS] = ROW(columns, 2),    [HDPW_UPDATE] = ROW(update, 3),
    [HDPW_LOWER] = ROW(lower, 2),        [HDPW_NOISE] = ROW(noise, 1),
    [HDPW_GATE] = ROW(gate, 2),          [HDPW_ROWS] = SHARED(rows, 2),
    [HDPW_PATTERN] = SHARED(pattern, 1), [HDPW_CHECK] = SHARED(check, 2),
};
