/* GPU members on the fake CUDA: a machine that begins and ends clean, memory
 * and figures of its devices as the caller of the library uses them. */
#ifndef GPUS_H
#define GPUS_H
#include <cuda_runtime_api.h>
#include "life.h"
#include "scenario/process.h"

/* CUDA, called by the test itself. */
#define expect_cuda(call) expect_number(cudaSuccess, (call), "%s", #call)

static inline void gpus_start(const char *words)
{
    life_start(words);
}

/* Nothing is left behind, and nothing is pending here. */
static inline void gpus_end(const char *when)
{
    expect_number(cudaSuccess, cudaPeekAtLastError(), "%s: pending error",
                  when);
    life_end(when);
}

/* A group without a plan; threads: HDP_THREADS_*. */
static inline void gpus_open(struct scene *scene, const char *spec,
                             const int64_t *items, int32_t count,
                             int32_t threads)
{
    const hdp_group_options options = { .size = sizeof options,
                                        .threads = threads };

    scene_open(scene, spec, items, count, &options);
}

/* Memory of one device, filled from the host or (NULL) as CUDA left it. */
static inline void *gpus_alloc(int device, const void *bytes, size_t count)
{
    void *memory = NULL;
    int before = 0;

    expect_cuda(cudaGetDevice(&before));
    expect_cuda(cudaSetDevice(device));
    expect_cuda(cudaMalloc(&memory, count));
    if (bytes)
        expect_cuda(cudaMemcpy(memory, bytes, count, cudaMemcpyDefault));
    expect_cuda(cudaSetDevice(before));
    return memory;
}

/* Keeps a stream busy for 50 ms; run=threads makes others wait for it or not. */
static inline void CUDART_CB gpus_dawdle(void *unused)
{
    (void)unused;
    sleep_ns(50000000);
}

static inline void gpus_read(void *out, const void *memory, size_t count)
{
    expect_cuda(cudaMemcpy(out, memory, count, cudaMemcpyDefault));
}

/* Every output row becomes the input row, whatever their strides. */
static inline int32_t gpus_copy(const hdp_shard *shard, void *user)
{
    const hdp_view *in = &shard->inputs[0], *out = &shard->outputs[0];

    (void)user;
    if (shard->kind != HDP_CUDA) {
        for (int64_t r = 0; r < shard->items; ++r)
            memcpy((char *)out->data + r * out->row_stride_bytes,
                   (const char *)in->data + r * in->row_stride_bytes,
                   (size_t)in->row_bytes);
        return 0;
    }
    if (shard->items == 0)
        return 0;
    return (int32_t)cudaMemcpy2DAsync(
        out->data, (size_t)out->row_stride_bytes, in->data,
        (size_t)in->row_stride_bytes, (size_t)in->row_bytes,
        (size_t)shard->items, cudaMemcpyDeviceToDevice,
        (cudaStream_t)shard->stream);
}

static inline hdp_array gpus_array(void *data, int64_t row_bytes,
                                   int64_t stride_bytes)
{
    const hdp_array array = { .size = sizeof array,
                              .data = data,
                              .row_bytes = row_bytes,
                              .row_stride_bytes = stride_bytes };

    return array;
}

static inline hdp_work gpus_work(hdp_work_fn function, const hdp_array *in,
                                 const hdp_array *out)
{
    const hdp_work work = { .size = sizeof work,
                            .host = function,
                            .cuda = function,
                            .inputs = in,
                            .outputs = out,
                            .input_count = in != NULL,
                            .output_count = out != NULL };

    return work;
}
#endif
