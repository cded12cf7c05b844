/* What this process holds, as the kernel and the C library count it; and time
 * and gates for functions that must not return too early. */
#ifndef PROCESS_H
#define PROCESS_H
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* Entries of a folder of /proc/self; -1 when it cannot be read. */
static inline int count_entries(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    int count = 0;

    if (!folder)
        return -1;
    while ((entry = readdir(folder)))
        count += entry->d_name[0] != '.';
    (void)closedir(folder);
    return count;
}

static inline int count_descriptors(void)
{
    return count_entries("/proc/self/fd");
}

static inline int count_threads(void)
{
    return count_entries("/proc/self/task");
}

/* Cores that this process may run on. */
static inline int count_cores(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) ? -1 : CPU_COUNT(&set);
}

static inline long status_kib(const char *field)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long value = -1;

    if (!file)
        return -1;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, field, strlen(field)) == 0)
            (void)sscanf(line + strlen(field), ": %ld", &value);
    (void)fclose(file);
    return value;
}

/* Bytes in use of the C library's heap; 0 under a sanitizer's own. */
static inline size_t heap_bytes(void)
{
    return mallinfo2().uordblks;
}

static inline int64_t now_ns(void)
{
    struct timespec at;

    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

static inline void sleep_ns(int64_t ns)
{
    struct timespec rest = { (time_t)(ns / 1000000000),
                             (long)(ns % 1000000000) };

    (void)nanosleep(&rest, NULL);
}

/* Closed until opened; whoever passes is counted, so that a test can tell when
 * somebody stands before it and when he has gone through. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int open, came, went;
};

#define GATE_CLOSED                                                            \
    {                                                                          \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0           \
    }

static inline void gate_pass(struct gate *gate)
{
    (void)pthread_mutex_lock(&gate->lock);
    gate->came++;
    (void)pthread_cond_broadcast(&gate->changed);
    while (!gate->open)
        (void)pthread_cond_wait(&gate->changed, &gate->lock);
    gate->went++;
    (void)pthread_cond_broadcast(&gate->changed);
    (void)pthread_mutex_unlock(&gate->lock);
}

static inline void gate_open(struct gate *gate)
{
    (void)pthread_mutex_lock(&gate->lock);
    gate->open = 1;
    (void)pthread_cond_broadcast(&gate->changed);
    (void)pthread_mutex_unlock(&gate->lock);
}

/* Blocks until `count` have come to it, or have gone through. */
static inline void gate_await(struct gate *gate, const int *counter, int count)
{
    (void)pthread_mutex_lock(&gate->lock);
    while (*counter < count)
        (void)pthread_cond_wait(&gate->changed, &gate->lock);
    (void)pthread_mutex_unlock(&gate->lock);
}
#endif
