/* The other threads of a host member: they wait for a round number to change,
 * do their part of the job, and the last one through says so. */
#include <signal.h>
#include <stdlib.h>
#include "base/mem.h"
#include "device/host.h"

enum { STACK_BYTES = 512 * 1024, LOOK_NS = 50000 };

struct worker {
    struct hdpi_host_team *team;
    int32_t index;
};

/* `seen` is read before the round, so that a round that begins between the
 * two is not slept through. */
static uint32_t next_round(struct hdpi_host_team *team, uint32_t last)
{
    for (;;) {
        uint32_t seen = hdpi_park_read(&team->start);
        uint32_t round =
            atomic_load_explicit(&team->round, memory_order_acquire);
        if (round != last)
            return round;
        hdpi_park_wait(&team->start, seen, &team->patience, INT64_MAX);
    }
}

static void *work(void *arg)
{
    struct worker self = *(struct worker *)arg;
    struct hdpi_host_team *team = self.team;
    uint32_t round = 0;

    free(arg);
    for (;;) {
        round = next_round(team, round);
        if (atomic_load_explicit(&team->quit, memory_order_relaxed))
            return NULL;
        team->fn(team->arg, self.index, team->count);
        if (atomic_fetch_sub_explicit(&team->left, 1, memory_order_acq_rel) ==
            1)
            hdpi_park_signal(&team->finish);
    }
}

/* All signals are blocked around the creation and so inherited blocked: the
 * caller's handlers never run on our threads. */
static int create(pthread_t *out, struct worker *worker)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int code = pthread_attr_init(&attributes);

    if (code)
        return code;
    code = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    if (!code)
        code = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!code) {
        code = pthread_create(out, &attributes, work, worker);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
    return code;
}

static hdp_status add_worker(struct hdpi_host_team *team)
{
    struct worker *worker = hdpi_alloc(1, sizeof *worker, "a worker");
    int code;

    if (!worker)
        return HDP_ERR_MEMORY;
    worker->team = team;
    worker->index = team->made + 1;
    code = create(&team->threads[team->made], worker);
    if (code) {
        free(worker);
        return hdpi_fail_system(code, "no worker thread %d of %d",
                                team->made + 1, team->count - 1);
    }
    team->made++;
    return HDP_OK;
}

hdp_status hdpi_host_team_make(struct hdpi_host_team *team, int32_t count)
{
    hdp_status status = HDP_OK;

    if (team->count)
        return HDP_OK;
    team->count = count > 1 ? count : 1;
    team->patience.look_ns = LOOK_NS;
    team->patience.yield = team->count > hdpi_cores_allowed();
    if (team->count == 1)
        return HDP_OK;
    team->threads = hdpi_alloc((size_t)team->count - 1, sizeof *team->threads,
                               "a team of threads");
    if (!team->threads) {
        status = HDP_ERR_MEMORY;
        goto out;
    }
    while (team->made < team->count - 1)
        HDPI_TRY(add_worker(team));
out:
    if (status != HDP_OK)
        hdpi_host_team_end(team);
    return status;
}

static void begin_round(struct hdpi_host_team *team)
{
    atomic_fetch_add_explicit(&team->round, 1, memory_order_release);
    hdpi_park_signal(&team->start);
}

void hdpi_host_team_end(struct hdpi_host_team *team)
{
    atomic_store_explicit(&team->quit, 1, memory_order_relaxed);
    begin_round(team);
    while (team->made > 0)
        pthread_join(team->threads[--team->made], NULL);
    free(team->threads);
    team->threads = NULL;
    team->count = 0;
    atomic_store_explicit(&team->round, 0, memory_order_relaxed);
    atomic_store_explicit(&team->quit, 0, memory_order_relaxed);
}

void hdpi_host_team_run(struct hdpi_host_team *team, hdpi_host_part_fn fn,
                        void *arg)
{
    if (team->made == 0) {
        fn(arg, 0, 1);
        return;
    }
    team->fn = fn;
    team->arg = arg;
    atomic_store_explicit(&team->left, team->made, memory_order_relaxed);
    begin_round(team);
    fn(arg, 0, team->count);
    for (;;) {
        uint32_t seen = hdpi_park_read(&team->finish);
        if (atomic_load_explicit(&team->left, memory_order_acquire) == 0)
            return;
        hdpi_park_wait(&team->finish, seen, &team->patience, INT64_MAX);
    }
}
