/* A function of the host, on a GPU member: its rows come to the host, the
 * function works on them there, and what it wrote goes back. So a scenario needs
 * no kernel, and the same lines run on every kind of device. */
#ifndef ON_GPU_H
#define ON_GPU_H
/* ON_GPU(f) makes f_on_gpu, for hdp_work.cuda. HDP_TEST_CUDA: the members of a
 * scenario are GPUs; HDP_TEST_CUDART: CUDA's runtime is linked, so that "auto"
 * may find some. With neither there is no GPU member, and f_on_gpu is f. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hdp/hdp.h>

/* A real driver is in this process: it has threads, descriptors and memory of
 * its own, and takes any pointer for a handle. */
static inline int on_real_gpu(void)
{
    return getenv("TEST_GPUS") != NULL;
}

/* This machine's own GPUs are found in this process, whatever the members of a
 * scenario are. The first look also makes what a process makes once. */
static inline int on_gpu_machine(void)
{
    hdp_context *context = NULL;
    hdp_topology *topology = NULL;
    hdp_device device = { .size = sizeof device };
    int32_t i;
    int found = 0;

    if (hdp_context_create(&context, NULL) == HDP_OK &&
        hdp_discover(&topology, context, NULL) == HDP_OK)
        for (i = 0; hdp_topology_device(&device, topology, i) == HDP_OK; ++i)
            found |= device.kind == HDP_CUDA;
    hdp_topology_destroy(topology);
    hdp_context_destroy(context);
    return found && !getenv("FAKE_CUDA");
}

/* "cuda:0-2"; on a machine that has not so many, parts of those that it has:
 * TEST_GPUS is "2x132" on one with two of 132 SMs. */
static inline void on_gpu_spec(char *out, size_t capacity, int32_t count)
{
    const char *machine = getenv("TEST_GPUS");
    int gpus = 0, sms = 0, i;
    size_t used = 0;

    if (!machine || sscanf(machine, "%dx%d", &gpus, &sms) != 2 || gpus >= count)
        (void)snprintf(out, capacity, "cuda:0-%d", (int)count - 1);
    else /* of a split, which keeps a rest, in eights */
        for (i = 0; i < count && used < capacity; ++i)
            used += (size_t)snprintf(
                out + used, capacity - used, "%scuda:%d/sms=%d", i ? "+" : "",
                i % gpus, (sms / 8 - 1) / ((count + gpus - 1) / gpus) * 8);
}

#if defined HDP_TEST_CUDA || defined HDP_TEST_CUDART
#include <cuda_runtime_api.h>

enum {
    ON_GPU_VIEWS = 8,
    ON_GPU_FAILED = -12345,
    ON_GPU_ROOM = 1 << 14, /* of a view; larger ones are allocated */
    ON_GPU_ROOMS = 64      /* functions at work at once */
};

/* Scenarios count what a steady step asks of malloc, and some have threads with
 * next to no stack, which is where thread-local memory stands as well. */
static _Alignas(
    16) unsigned char on_gpu_rooms[ON_GPU_ROOMS][ON_GPU_VIEWS][ON_GPU_ROOM];
static _Atomic int on_gpu_taken[ON_GPU_ROOMS];

/* A free room's number; -1: all are in use. */
static inline int on_gpu_enter(void)
{
    int i, none;

    for (i = 0; i < ON_GPU_ROOMS; ++i) {
        none = 0;
        if (atomic_compare_exchange_strong(&on_gpu_taken[i], &none, 1))
            return i;
    }
    return -1;
}

static inline void on_gpu_leave(int room)
{
    if (room >= 0)
        atomic_store(&on_gpu_taken[room], 0);
}

static inline void *on_gpu_take(int room, int32_t index, int64_t bytes)
{
    return room >= 0 && bytes <= ON_GPU_ROOM ? on_gpu_rooms[room][index]
                                             : malloc((size_t)bytes);
}

static inline void on_gpu_give(int room, int32_t index, void *memory)
{
    if (room < 0 || memory != (void *)on_gpu_rooms[room][index])
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
    int room;

    if (shard->kind != HDP_CUDA)
        return function(shard, user);
    if (count > ON_GPU_VIEWS)
        return ON_GPU_FAILED;
    room = on_gpu_enter();
    for (i = 0; i < count; ++i) {
        const hdp_view *view = i < shard->input_count
                                   ? &shard->inputs[i]
                                   : &shard->outputs[i - shard->input_count];
        views[i] = *view;
        views[i].row_stride_bytes = view->row_bytes;
        views[i].data = on_gpu_take(room, i, view->rows * view->row_bytes);
        code = code ? code : on_gpu_copy(view, &views[i], 1, stream);
    }
    own.inputs = views;
    own.outputs = views + shard->input_count;
    code = code ? code : function(&own, user);
    for (i = 0; i < count; ++i) {
        if (i >= shard->input_count && code == 0)
            code = on_gpu_copy(&shard->outputs[i - shard->input_count],
                               &views[i], 0, stream);
        on_gpu_give(room, i, views[i].data);
    }
    on_gpu_leave(room);
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
