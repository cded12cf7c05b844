/* Fork is noticed by its handler, which sets one flag in the child. */
#include "base/fork.h"
#include <pthread.h>
#include <stdatomic.h>

static pthread_once_t watch_once = PTHREAD_ONCE_INIT;
static _Atomic int32_t started;
static _Atomic int32_t forked;

static void in_child(void)
{
    if (atomic_load_explicit(&started, memory_order_relaxed))
        atomic_store_explicit(&forked, 1, memory_order_relaxed);
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, in_child);
}

void hdpi_process_started(void)
{
    (void)pthread_once(&watch_once, watch_forks);
    atomic_store_explicit(&started, 1, memory_order_relaxed);
}

int hdpi_process_forked(void)
{
    return atomic_load_explicit(&forked, memory_order_relaxed);
}

hdp_status hdpi_fork_check(void)
{
    return hdpi_process_forked()
               ? hdpi_fail(HDP_ERR_FORKED,
                           "used in a forked child; a fresh program (exec) "
                           "works")
               : HDP_OK;
}
