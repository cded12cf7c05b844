/* The workloads' kernels compiled as C++: a grid's threads one after another,
 * the last first, since none may need another. */
#include <stdlib.h>
#include <string.h>
#include "work/work.cu"

plain_place gridDim, blockDim, blockIdx, threadIdx;

long long plain_now()
{
    return 0;
}

/* One thread of one kernel. */
#define THREAD(name)                                                           \
    static void name##_thread(const void *args)                                \
    {                                                                          \
        hdpw_##name job;                                                       \
        memcpy(&job, args, sizeof job);                                        \
        hdpw_cuda_##name(job);                                                 \
    }

THREAD(pixels)
THREAD(activate)
THREAD(loss)
THREAD(backward)
THREAD(columns)
THREAD(update)
THREAD(lower)
THREAD(noise)
THREAD(gate)

/* In the order of hdpw_kernel_id; the library's own are tested elsewhere. */
static void (*const kernels[])(const void *) = {
    pixels_thread,   activate_thread, loss_thread,
    backward_thread, columns_thread,  update_thread,
    lower_thread,    noise_thread,    gate_thread,
};

extern "C" void bench_twin_run(int32_t kernel, const void *args,
                               unsigned blocks, unsigned threads);

extern "C" void bench_twin_run(int32_t kernel, const void *args,
                               unsigned blocks, unsigned threads)
{
    gridDim.x = blocks;
    blockDim.x = threads;
    for (unsigned block = blocks; block-- > 0;)
        for (unsigned thread = threads; thread-- > 0;) {
            blockIdx.x = block;
            threadIdx.x = thread;
            kernels[kernel](args);
        }
}
