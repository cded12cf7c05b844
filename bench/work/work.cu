/* The network's kernels on the device: a thread a place, in strides of the whole
 * grid. Nothing is fused (-fmad=false), so that all but the loss have the bytes
 * of kernels_net.c; the library's kernels that the workloads use come along. */
#include "grid.h"
#include "pattern.cu"
#include "rows.cu"
#include "workkernels.h"

DEVICE float place_load(const void *from, int64_t at, int32_t dtype)
{
    if (dtype == HDP_F16)
        return half_from_f16(((const uint16_t *)from)[at]);
    if (dtype == HDP_BF16)
        return half_from_bf16(((const uint16_t *)from)[at]);
    return ((const float *)from)[at];
}

DEVICE void place_store(void *to, int64_t at, int32_t dtype, float value)
{
    if (dtype == HDP_F16)
        ((uint16_t *)to)[at] = half_to_f16((double)value);
    else if (dtype == HDP_BF16)
        ((uint16_t *)to)[at] = half_to_bf16((double)value);
    else
        ((float *)to)[at] = value;
}

extern "C" __global__ void hdpw_cuda_pixels(struct hdpw_pixels job)
{
    int64_t places = job.rows * job.width;
    for (int64_t i = grid_thread(); i < places; i += grid_threads()) {
        int64_t row = (job.first + i / job.width) % job.count;
        const uint8_t *pixels = (const uint8_t *)job.pixels + row * job.stride;
        place_store(job.target, i, job.dtype,
                    (float)pixels[i % job.width] * 0.0625f);
    }
}

extern "C" __global__ void hdpw_cuda_activate(struct hdpw_activate job)
{
    const float *sums = (const float *)job.sums;
    const float *bias = (const float *)job.bias;
    int64_t places = job.rows * job.width;
    for (int64_t i = grid_thread(); i < places; i += grid_threads()) {
        float value = sums[i] + bias[i % job.width];
        place_store(job.target, i, job.dtype, value > 0 ? value : 0);
    }
}

extern "C" __global__ void hdpw_cuda_loss(struct hdpw_loss job)
{
    const float *bias = (const float *)job.bias;
    for (int64_t r = grid_thread(); r < job.rows; r += grid_threads()) {
        const float *row = (const float *)job.sums + r * job.width;
        int label = ((const uint8_t *)
                         job.labels)[(job.first + r) % job.count * job.stride];
        float top = row[0] + bias[0], sum = 0;
        for (int32_t j = 1; j < job.width; ++j)
            top = row[j] + bias[j] > top ? row[j] + bias[j] : top;
        for (int32_t j = 0; j < job.width; ++j)
            sum += expf(row[j] + bias[j] - top);
        for (int32_t j = 0; j < job.width; ++j) {
            float share = expf(row[j] + bias[j] - top) / sum;
            place_store(job.target, r * job.width + j, job.dtype,
                        share - (j == label ? 1.0f : 0.0f));
        }
    }
}

extern "C" __global__ void hdpw_cuda_backward(struct hdpw_backward job)
{
    const float *sums = (const float *)job.sums;
    int64_t places = job.rows * job.width;
    for (int64_t i = grid_thread(); i < places; i += grid_threads())
        place_store(job.target, i, job.dtype,
                    place_load(job.active, i, job.dtype) > 0 ? sums[i] : 0);
}

extern "C" __global__ void hdpw_cuda_columns(struct hdpw_columns job)
{
    float *target = (float *)job.target;
    float factor = (float)job.factor;
    int64_t chunks = (job.rows + job.chunk - 1) / job.chunk;
    int64_t places = chunks * job.width;
    for (int64_t i = grid_thread(); i < places; i += grid_threads()) {
        int64_t first = i / job.width * job.chunk;
        int64_t end =
            job.rows - first < job.chunk ? job.rows : first + job.chunk;
        float sum = 0;
        for (int64_t r = first; r < end; ++r)
            sum += place_load(job.source, r * job.width + i % job.width,
                              job.dtype);
        sum *= factor;
        target[i] = job.add ? target[i] + sum : sum;
    }
}

extern "C" __global__ void hdpw_cuda_update(struct hdpw_update job)
{
    float *weights = (float *)job.weights;
    float *velocity = (float *)job.velocity;
    const float *gradient = (const float *)job.gradient;
    float momentum = (float)job.momentum, rate = (float)job.rate;
    for (int64_t i = grid_thread(); i < job.count; i += grid_threads()) {
        velocity[i] = momentum * velocity[i] + gradient[i];
        weights[i] -= rate * velocity[i];
    }
}

extern "C" __global__ void hdpw_cuda_lower(struct hdpw_lower job)
{
    int64_t places = job.rows * job.width;
    for (int64_t i = grid_thread(); i < places; i += grid_threads()) {
        const char *row = (const char *)job.source + i / job.width * job.stride;
        place_store(job.target, i, job.dtype,
                    ((const float *)row)[i % job.width]);
    }
}

extern "C" __global__ void hdpw_cuda_noise(struct hdpw_noise job)
{
    int64_t places = job.rows * job.width;
    for (int64_t i = grid_thread(); i < places; i += grid_threads()) {
        int64_t row = job.first + i / job.width;
        int64_t element = job.first * job.width + i;
        uint64_t z = (uint64_t)job.seed +
                     ((uint64_t)element + 1) * UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
        double scale = job.base + job.slope * (double)row;
        place_store(job.target, i, job.dtype,
                    (float)(((int)(z >> 48) - 32768) * scale));
    }
}

/* Lanes of `bits` bits of a word: all ones where the lane is above 0. A lane's
 * magnitude added to the largest one carries into its sign unless it is 0. */
DEVICE uint64_t gate_open(uint64_t word, uint64_t ones, int bits)
{
    uint64_t signs = ones << (bits - 1), magnitudes = signs - ones;
    uint64_t above = ((word & magnitudes) + magnitudes) & ~word & signs;
    return (above >> (bits - 1)) * ((UINT64_C(1) << bits) - 1);
}

extern "C" __global__ void hdpw_cuda_gate(struct hdpw_gate job)
{
    uint64_t *target = (uint64_t *)job.target;
    const uint64_t *gate = (const uint64_t *)job.gate;
    bool narrow = job.dtype == HDP_F16 || job.dtype == HDP_BF16;
    int bits = narrow ? 16 : 32, lanes = 64 / bits;
    uint64_t ones =
        narrow ? UINT64_C(0x0001000100010001) : UINT64_C(0x0000000100000001);
    int64_t words = (job.count + lanes - 1) / lanes;
    for (int64_t i = grid_thread(); i < words; i += grid_threads())
        target[i] &= gate_open(gate[i], ones, bits);
}
