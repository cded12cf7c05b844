/* So much time passes. */
#include <time.h>
#include "launch.h"

static int64_t now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

void hdpk_host_spin(const struct hdpk_launch_spin *job)
{
    int64_t begin = now(), passed = 0;
    int64_t ns = job->ns < HDPK_SPIN_NS_MAX ? job->ns : HDPK_SPIN_NS_MAX;
    while (passed < ns)
        passed = now() - begin;
    if (job->out_ns)
        *job->out_ns = passed;
}
