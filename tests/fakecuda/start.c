/* A process of the fake: begun with words, or with the variable FAKE_CUDA at
 * the first call; and what tests may still do to it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "state.h"

enum { DRIVER = 13000 };

struct fake_state fake = { .lock = PTHREAD_MUTEX_INITIALIZER,
                           .moved = PTHREAD_COND_INITIALIZER };

void fake_lock(void)
{
    pthread_mutex_lock(&fake.lock);
}

void fake_unlock(void)
{
    pthread_mutex_unlock(&fake.lock);
}

int64_t fake_monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- begin and end -------------------------------------------------------- */

static void forget(void)
{
    fake_streams_stop();
    fake_handles_forget();
    fake_memory_start();
    fake_machine_close();
    fake.started = 0;
    fake.site_count = 0;
    fake.all_calls = 0;
    fake.poison = 0;
    fake.queued = 0;
    memset(&fake.config, 0, sizeof fake.config);
    fake_rules_start();
}

/* Forking with a whole state: a child may begin a process of its own. */
static int start(const char *words)
{
    static int watched;
    char why[FAKE_TEXT_MAX];

    if (!watched)
        watched = pthread_atfork(fake_lock, fake_unlock, fake_unlock) == 0;

    forget();
    fake.config.copies = 1;
    fake.config.driver = DRIVER;
    snprintf(fake.config.machine, sizeof fake.config.machine, "twin");
    if (fake_words_read(&fake.config, words, 0, why) ||
        fake_machine_open(why)) {
        snprintf(fake.words, sizeof fake.words, "%s", why);
        return -1;
    }
    snprintf(fake.words, sizeof fake.words, "%s", words);
    fake_mask_read();
    fake.zero_ns = fake_monotonic_ns();
    atomic_store(&fake.pid, (int)getpid());
    atomic_fetch_add(&fake.generation, 1);
    fake.started = 1;
    return 0;
}

void fake_begin(void)
{
    const char *words = getenv("FAKE_CUDA");

    if (fake.started || start(words ? words : "") == 0)
        return;
    fprintf(stderr, "FAKE_CUDA: %s\n", fake.words);
    abort();
}

int fake_start(const char *words)
{
    int result;

    fake_lock();
    result = start(words);
    fake_unlock();
    return result;
}

const char *fake_words(void)
{
    return fake.words;
}

/* ---- in mid-flight -------------------------------------------------------- */

int fake_plant(const char *words)
{
    static struct fake_config wanted;
    char why[FAKE_TEXT_MAX];
    int result;

    fake_lock();
    fake_begin();
    wanted = fake.config;
    result = fake_words_read(&wanted, words, 1, why);
    if (result)
        snprintf(fake.words, sizeof fake.words, "%s", why);
    else
        fake.config = wanted;
    for (int i = 0; i < fake.device_count + fake.instance_count; i++)
        fake_machine_others(&fake.devices[i]);
    fake_unlock();
    return result;
}

void fake_calm(void)
{
    fake_lock();
    for (int i = 0; i < fake.config.plant_count; i++)
        fake.config.plants[i].spent = 1;
    fake_streams_calm();
    fake_unlock();
}

int64_t fake_free_bytes(int device)
{
    int64_t result = -1;

    fake_lock();
    fake_begin();
    if (fake_device_at(device))
        result = fake_memory_free_bytes(fake_device_at(device));
    fake_unlock();
    return result;
}
