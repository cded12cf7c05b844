/* A hand-off loop and nothing else: one number goes up, workers answer. */
#include "bare.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* The two numbers that fly between cores, a cache line each. */
struct hand_off {
    _Alignas(64) atomic_ullong begun;
    _Alignas(64) atomic_ullong answers;
    _Alignas(64) int yields;
    uint64_t last; /* the step after which workers leave */
};

static void breathe(int yields)
{
    if (yields)
        sched_yield();
#if defined(__x86_64__)
    else
        __builtin_ia32_pause();
#endif
}

static void *worker(void *argument)
{
    struct hand_off *hand = argument;

    for (uint64_t seen = 0; seen < hand->last; ++seen) {
        while (atomic_load_explicit(&hand->begun, memory_order_acquire) <= seen)
            breathe(hand->yields);
        atomic_fetch_add_explicit(&hand->answers, 1, memory_order_release);
    }
    return NULL;
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void steps(struct hand_off *hand, int workers, int64_t from, int64_t to)
{
    for (int64_t step = from; step < to; ++step) {
        uint64_t wanted = (uint64_t)(step + 1) * (uint64_t)workers;
        atomic_store_explicit(&hand->begun, (uint64_t)step + 1,
                              memory_order_release);
        while (atomic_load_explicit(&hand->answers, memory_order_acquire) <
               wanted)
            breathe(hand->yields);
    }
}

double bare_step_ns(int workers, int64_t count)
{
    enum { WARM = 64 };
    struct hand_off hand = { .yields = workers > 1,
                             .last = (uint64_t)count + WARM };
    pthread_t *threads = calloc((size_t)workers, sizeof *threads);
    int made = 0;
    double result = -1;

    atomic_init(&hand.begun, 0);
    atomic_init(&hand.answers, 0);
    while (threads && made < workers &&
           pthread_create(&threads[made], NULL, worker, &hand) == 0)
        ++made;
    if (threads && made == workers) {
        steps(&hand, workers, 0, WARM);
        int64_t start = now_ns();
        steps(&hand, workers, WARM, WARM + count);
        result = (double)(now_ns() - start) / (double)count;
    } else { /* lets the few that exist go */
        atomic_store_explicit(&hand.begun, UINT64_MAX, memory_order_release);
    }
    for (int i = 0; i < made; ++i)
        pthread_join(threads[i], NULL);
    free(threads);
    return result;
}
