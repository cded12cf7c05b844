/* Deadlines never wrap: a far one is "never". */
#include <time.h>
#include "base/clock.h"

int64_t hdpi_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t hdpi_deadline_ns(int64_t timeout_ns)
{
    if (timeout_ns == INT64_MAX)
        return INT64_MAX;
    int64_t now = hdpi_clock_ns();
    if (timeout_ns <= 0)
        return now;
    return timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
}
