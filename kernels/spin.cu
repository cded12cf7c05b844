/* Spin on the device, by the timer that all multiprocessors share: its unit is
 * a nanosecond whatever the clocks do, its step a microsecond or so. */
#include "grid.h"

DEVICE int64_t spin_now()
{
#ifdef __CUDACC__
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now) : : "memory");
    return (int64_t)now;
#else
    return plain_now();
#endif
}

extern "C" __global__ void hdpk_cuda_spin(struct hdpk_launch_spin job)
{
    if (grid_thread() != 0)
        return;
    const int64_t most = HDPK_SPIN_NS_MAX;
    int64_t begin = spin_now(), passed = 0;
    int64_t ns = job.ns < most ? job.ns : most;
    while (passed < ns)
        passed = spin_now() - begin;
    if (job.out_ns)
        *job.out_ns = passed;
}
