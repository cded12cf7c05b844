/* Every x.cu compiled as C++, and one way to launch them. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "kernels_twin.h"
#include "accumulate.cu"
#include "combine.cu"
#include "convert.cu"
#include "fill.cu"
#include "pattern.cu"
#include "rows.cu"
#include "scale.cu"
#include "spin.cu"

plain_place gridDim, blockDim, blockIdx, threadIdx;

long long plain_now()
{
    timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (long long)at.tv_sec * 1000000000 + at.tv_nsec;
}

/* One thread of one kernel. */
#define THREAD(name)                                                           \
    static void name##_thread(const void *args)                                \
    {                                                                          \
        hdpk_launch_##name job;                                                \
        memcpy(&job, args, sizeof job);                                        \
        hdpk_cuda_##name(job);                                                 \
    }

THREAD(combine)
THREAD(accumulate)
THREAD(scale)
THREAD(convert)
THREAD(fill)
THREAD(pattern)
THREAD(check)
THREAD(rows)
THREAD(spin)

/* In the order of hdpk_kernel_id. */
static void (*const kernels[HDPK_KERNELS])(const void *) = {
    combine_thread, accumulate_thread, scale_thread,
    convert_thread, fill_thread,       pattern_thread,
    check_thread,   rows_thread,       spin_thread
};

extern "C" void twin_run(int32_t kernel, const void *args, unsigned blocks,
                         unsigned threads)
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

extern "C" void *twin_alloc(size_t bytes)
{
    void *memory = malloc(bytes > 0 ? bytes : 1);
    if (!memory)
        abort();
    return memory;
}

extern "C" void twin_free(void *memory)
{
    free(memory);
}
