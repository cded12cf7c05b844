/* A function of the host, on a GPU member: its rows come to the host, the
 * function works on them there, and what it wrote goes back. So a scenario needs
 * no kernel, and the same lines run on every kind of device. */
#ifndef ON_GPU_H
#define ON_GPU_H
/* ON_GPU(f) makes f_on_gpu, for hdp_work.cuda. Where the tests are built
 * without a CUDA to run on there is no GPU member, and f_on_gpu is f. */
#include <stdlib.h>
#include <string.h>
#include <hdp/hdp.h>

#ifdef HDP_TEST_CUDA
#include <cuda_runtime_api.h>

enum {
    ON_GPU_VIEWS = 8,
    ON_GPU_FAILED = -12345,
    ON_GPU_ROOM = 1 << 14 /* of a view; larger ones are allocated */
};

/* Scenarios count what a steady step asks of malloc; several groups may be at
 * work at once. */
static _Thread_local _Alignas(
    16) unsigned char on_gpu_room[ON_GPU_VIEWS][ON_GPU_ROOM];

static inline void *on_gpu_take(int32_t index, int64_t bytes)
{
    return bytes <= ON_GPU_ROOM ? on_gpu_room[index] : malloc((size_t)bytes);
}

static inline void on_gpu_give(int32_t index, void *memory)
{
    if (memory != (void *)on_gpu_room[index])
        free(memory);
}

/* A view's bytes on the host, packed; NULL when there are none. */
static inline int32_t on_gpu_copy(const hdp_view *device, const hdp_view *host,
                                  int in, cudaStream_t stream)
{
    const hdp_view *to = in ? host : device, *from = in ? device : host;

    if (device->rows == 0 || device->row_bytes == 0 || !device->data)
        return 0;
    if (cudaMemcpy2DAsync(to->data, (size_t)to->row_stride_bytes, from->data,
                          (size_t)from->row_stride_bytes,
                          (size_t)device->row_bytes, (size_t)device->rows,
                          cudaMemcpyDefault, stream) != cudaSuccess ||
        cudaStreamSynchronize(stream) != cudaSuccess)
        return ON_GPU_FAILED;
    return 0;
}

static inline int32_t on_gpu(const hdp_shard *shard, void *user,
                             hdp_work_fn function)
{
    cudaStream_t stream = (cudaStream_t)shard->stream;
    int32_t count = shard->input_count + shard->output_count, i, code = 0;
    hdp_shard own = *shard;
    hdp_view views[ON_GPU_VIEWS];

    if (shard->kind != HDP_CUDA)
        return function(shard, user);
    if (count > ON_GPU_VIEWS)
        return ON_GPU_FAILED;
    for (i = 0; i < count; ++i) {
        const hdp_view *view = i < shard->input_count
                                   ? &shard->inputs[i]
                                   : &shard->outputs[i - shard->input_count];
        views[i] = *view;
        views[i].row_stride_bytes = view->row_bytes;
        views[i].data = on_gpu_take(i, view->rows * view->row_bytes);
        code = code ? code : on_gpu_copy(view, &views[i], 1, stream);
    }
    own.inputs = views;
    own.outputs = views + shard->input_count;
    code = code ? code : function(&own, user);
    for (i = 0; i < count; ++i) {
        if (i >= shard->input_count && code == 0)
            code = on_gpu_copy(&shard->outputs[i - shard->input_count],
                               &views[i], 0, stream);
        on_gpu_give(i, views[i].data);
    }
    return code;
}
#else
static inline int32_t on_gpu(const hdp_shard *shard, void *user,
                             hdp_work_fn function)
{
    return function(shard, user);
}
#endif

#define ON_GPU(function)                                                       \
    static inline int32_t function##_on_gpu(const hdp_shard *shard,            \
                                            void *user)                        \
    {                                                                          \
        return on_gpu(shard, user, function);                                  \
    }
#endif
