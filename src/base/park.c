/* An event count on a futex. No wake is lost because waiter and signaller
 * each write their own word before reading the other's, all in one total
 * order: either the waiter sees the new count or the signaller the sleeper;
 * a wake between that test and the sleep is caught by the kernel's compare. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/park.h"

/* The clock is read once in so many looks: a read costs about as much as a
 * pause, a yield ten times that. */
enum { LOOKS_PER_CLOCK = 64, YIELDS_PER_CLOCK = 4 };

/* The largest mask asked for; the kernel's own limit is 8,192 cores. */
enum { CORES_MAX = 1 << 16 };

static void pause_core(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield" ::: "memory");
#endif
}

static int moved(const struct hdpi_park *park, uint32_t seen)
{
    return atomic_load_explicit(&park->word, memory_order_acquire) != seen;
}

uint32_t hdpi_park_read(const struct hdpi_park *park)
{
    return atomic_load_explicit(&park->word, memory_order_acquire);
}

void hdpi_park_signal(struct hdpi_park *park)
{
    atomic_fetch_add_explicit(&park->word, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&park->sleepers, memory_order_seq_cst) == 0)
        return;
    int saved = errno;
    syscall(SYS_futex, &park->word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX,
            NULL, NULL, 0);
    errno = saved;
}

/* 1 moved, 0 the deadline passed, -1 patience is over. */
static int look(const struct hdpi_park *park, uint32_t seen,
                const struct hdpi_patience *patience, int64_t deadline_ns)
{
    int batch = patience->yield ? YIELDS_PER_CLOCK : LOOKS_PER_CLOCK;
    int64_t end_ns = -1; /* set at the first clock reading */
    for (;;) {
        for (int i = 0; i < batch; i++) {
            if (moved(park, seen))
                return 1;
            if (patience->yield)
                sched_yield();
            else
                pause_core();
        }
        int64_t now = hdpi_clock_ns();
        if (end_ns < 0)
            end_ns = patience->look_ns > INT64_MAX - now
                         ? INT64_MAX
                         : now + patience->look_ns;
        if (now >= deadline_ns)
            return moved(park, seen);
        if (now >= end_ns)
            return -1;
    }
}

static int sleep_until(struct hdpi_park *park, uint32_t seen,
                       int64_t deadline_ns)
{
    if (deadline_ns < 0)
        deadline_ns = 0;
    struct timespec at = { .tv_sec = (time_t)(deadline_ns / 1000000000),
                           .tv_nsec = (long)(deadline_ns % 1000000000) };
    struct timespec *limit = deadline_ns == INT64_MAX ? NULL : &at;
    int arrived = 1, saved = errno;
    atomic_fetch_add_explicit(&park->sleepers, 1, memory_order_seq_cst);
    while (atomic_load_explicit(&park->word, memory_order_seq_cst) == seen) {
        /* BITSET, because it takes the deadline as a point of the monotonic
         * clock: waking early by a signal then loses no time. */
        long code = syscall(SYS_futex, &park->word,
                            FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, seen, limit,
                            NULL, FUTEX_BITSET_MATCH_ANY);
        if (code == 0 || errno == EAGAIN || errno == EINTR)
            continue;
        if (errno != ETIMEDOUT)
            sched_yield(); /* a kernel that refuses futexes: look instead */
        if (deadline_ns != INT64_MAX && hdpi_clock_ns() >= deadline_ns) {
            arrived = moved(park, seen);
            break;
        }
    }
    atomic_fetch_sub_explicit(&park->sleepers, 1, memory_order_relaxed);
    errno = saved;
    return arrived;
}

int hdpi_park_wait(struct hdpi_park *park, uint32_t seen,
                   const struct hdpi_patience *patience, int64_t deadline_ns)
{
    if (moved(park, seen))
        return 1;
    if (patience && patience->look_ns > 0) {
        int result = look(park, seen, patience, deadline_ns);
        if (result >= 0)
            return result;
    }
    return sleep_until(park, seen, deadline_ns);
}

int32_t hdpi_cores_allowed(void)
{
    /* The kernel refuses a mask shorter than its own: grow until it fits. */
    for (int cores = CPU_SETSIZE; cores <= CORES_MAX; cores *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)cores);
        if (!set)
            break;
        size_t bytes = CPU_ALLOC_SIZE((size_t)cores);
        int failed = sched_getaffinity(0, bytes, set);
        int count = failed ? 0 : CPU_COUNT_S(bytes, set);
        CPU_FREE(set);
        if (count > 0)
            return count;
        if (errno != EINVAL)
            break;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online >= 1 && online <= INT32_MAX ? (int32_t)online : 1;
}
