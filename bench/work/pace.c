/* Short waits are spun, since a sleep is only right to some 50 us. */
#include "pace.h"

#include <errno.h>
#include <time.h>

enum { SPIN_BELOW_NS = 2000000, SECOND_NS = 1000000000 };

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

static int is_slowed(const struct workload *workload, int32_t member)
{
    return workload->pace && workload->pace[member] > 1;
}

int64_t pace_begin(const struct workload *workload, int32_t member)
{
    return is_slowed(workload, member) ? now_ns() : 0;
}

void pace_end(const struct workload *workload, int32_t member, int64_t began_ns)
{
    if (!is_slowed(workload, member))
        return;
    int64_t now = now_ns();
    int64_t rest =
        (int64_t)((double)(now - began_ns) * (workload->pace[member] - 1));
    int64_t until = now + rest;
    struct timespec at = { .tv_sec = (time_t)(until / SECOND_NS),
                           .tv_nsec = (long)(until % SECOND_NS) };

    if (rest >= SPIN_BELOW_NS)
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) ==
               EINTR)
            ;
    while (now_ns() < until)
        ;
}
