/* Streams: queues of work, marks and waits. On the virtual clock each stream
 * has a time of its own, which work moves on by what it costs; on the real one
 * work is over when the clock says so. Effects run in the order of the queue,
 * at the call or on the stream's thread. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "device/sim_pace.h"
#include "meet.h"
#include "queue.h"

static struct {
    CUstream *rows; /* all that may still have something to do */
    size_t count, capacity;
    int dropping; /* effects are not run */
    int held;     /* nothing begins */
} streams;

/* ---- items ---------------------------------------------------------------- */

static int64_t now_ns(void)
{
    return fake.config.real_clock ? fake_monotonic_ns() - fake.zero_ns
                                  : fake_host_ns();
}

static void drop(struct fake_item *item)
{
    if (item->mark)
        fake_mark_drop(item->mark);
    free(item->argument);
    free(item);
}

static struct fake_item *push(CUstream stream, enum fake_step step)
{
    struct fake_queue *queue = stream->queue;
    struct fake_item *item = calloc(1, sizeof *item);

    if (!item)
        abort();
    item->step = step;
    item->place = ++fake.queued;
    item->issued_ns = now_ns();
    *queue->last = item;
    queue->last = &item->next;
    queue->last_place = item->place;
    return item;
}

static struct fake_mark *push_mark(CUstream stream)
{
    struct fake_mark *mark = calloc(1, sizeof *mark);

    if (!mark)
        abort();
    struct fake_item *item = push(stream, FAKE_STEP_MARK);
    mark->references = 2;
    mark->stream = stream;
    mark->place = item->place;
    item->mark = mark;
    return mark;
}

static void push_wait(CUstream stream, struct fake_mark *mark)
{
    struct fake_item *item = push(stream, FAKE_STEP_WAIT);

    mark->references++;
    item->mark = mark;
    fake_seen_link(stream, item->place, mark);
}

/* ---- running -------------------------------------------------------------- */

static double paced_ns(const struct fake_device *device,
                       const struct fake_item *item, int64_t begin_ns)
{
    const struct hdpi_ask *ask = device->faults;
    double ns = item->cost_ns;

    if (item->kind != FAKE_WORK_KERNEL)
        return ns;
    ns *= hdpi_sim_pace(ask, item->position, (double)begin_ns);
    if (ask->noise > 0)
        ns *= 1 + ask->noise * hdpi_sim_gauss(ask->seed ^ fake.config.seed,
                                              device->number,
                                              (uint64_t)item->position);
    return ns;
}

static void take_effect(const struct fake_item *item)
{
    struct fake_thread *self = fake_self();

    if (item->dropped && item->lost && !streams.dropping)
        item->lost(item->argument);
    if (!item->effect || streams.dropping || item->dropped)
        return;
    fake_unlock();
    self->inside = item->kind == FAKE_WORK_HOST;
    item->effect(item->argument ? item->argument : item->lent);
    self->inside = 0;
    fake_lock();
}

static void sleep_until(int64_t ns)
{
    int64_t at = ns + fake.zero_ns;
    struct timespec time = { at / 1000000000, at % 1000000000 };

    fake_unlock();
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0)
        ;
    fake_lock();
}

static int is_ready(const struct fake_queue *queue)
{
    const struct fake_item *item = queue->first;

    return item && !queue->running && !item->hangs &&
           (item->step != FAKE_STEP_WAIT || item->mark->done);
}

static void run(CUstream stream)
{
    struct fake_queue *queue = stream->queue;
    struct fake_item *item = queue->first;
    int64_t begin_ns =
        queue->end_ns > item->issued_ns ? queue->end_ns : item->issued_ns;

    queue->running = 1;
    queue->first = item->next;
    if (!queue->first)
        queue->last = &queue->first;
    if (item->step == FAKE_STEP_WORK) {
        take_effect(item);
        begin_ns += (int64_t)paced_ns(stream->handle.device, item, begin_ns);
    } else if (item->step == FAKE_STEP_WAIT && item->mark->time_ns > begin_ns) {
        begin_ns = item->mark->time_ns;
    }
    queue->end_ns = begin_ns;
    if (fake.config.threads && fake.config.real_clock && !streams.dropping)
        sleep_until(queue->end_ns);
    if (item->step == FAKE_STEP_MARK) {
        item->mark->time_ns = queue->end_ns;
        item->mark->done = 1;
    }
    queue->running = 0;
    drop(item);
    pthread_cond_broadcast(&fake.moved);
}

static int run_any(void)
{
    for (size_t i = 0; i < streams.count; i++)
        if (is_ready(streams.rows[i]->queue)) {
            run(streams.rows[i]);
            return 1;
        }
    return 0;
}

static void kick(void)
{
    if (fake.config.threads)
        pthread_cond_broadcast(&fake.moved);
    else
        while (!streams.held && run_any())
            ;
}

void fake_streams_hold(int more)
{
    streams.held += more;
    kick();
}

/* ---- threads of streams --------------------------------------------------- */

static void delist(CUstream stream)
{
    for (size_t i = 0; i < streams.count; i++)
        if (streams.rows[i] == stream) {
            streams.rows[i] = streams.rows[--streams.count];
            return;
        }
}

static void *work(void *argument)
{
    CUstream stream = argument;
    struct fake_queue *queue = stream->queue;

    fake_lock();
    while (queue->first || !queue->ended)
        if (is_ready(queue))
            run(stream);
        else
            pthread_cond_wait(&fake.moved, &fake.lock);
    fake.workers--;
    pthread_cond_broadcast(&fake.moved);
    fake_unlock();
    return NULL;
}

static void start_worker(CUstream stream)
{
    sigset_t all, before;
    pthread_t thread;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, work, stream) != 0)
        abort();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_detach(thread);
    fake.workers++;
}

/* ---- life ----------------------------------------------------------------- */

CUstream fake_stream_new(CUcontext context, unsigned flags, int sms)
{
    CUstream stream =
        fake_handle_new(FAKE_STREAM, sizeof *stream, context->handle.device);

    stream->context = context;
    stream->flags = flags;
    stream->sms = sms;
    stream->queue = calloc(1, sizeof *stream->queue);
    if (streams.count == streams.capacity) {
        streams.capacity = streams.capacity ? 2 * streams.capacity : 16;
        streams.rows =
            realloc(streams.rows, streams.capacity * sizeof *streams.rows);
    }
    if (!stream->queue || !streams.rows)
        abort();
    stream->queue->last = &stream->queue->first;
    streams.rows[streams.count++] = stream;
    if (fake.config.threads)
        start_worker(stream);
    return stream;
}

CUstream fake_stream_of(CUstream handle)
{
    struct fake_device *device = fake_current_device();

    if (handle != NULL && handle != CU_STREAM_LEGACY &&
        handle != CU_STREAM_PER_THREAD)
        return fake_handle_is(handle, FAKE_STREAM) ? handle : NULL;
    if (!device || !device->primary)
        return NULL;
    if (!device->standard) {
        device->standard =
            fake_stream_new(device->primary, 0, device->info.sm_count);
        fake.alive[FAKE_STREAM]--; /* nobody has to end it */
    }
    return device->standard;
}

void fake_stream_end(CUstream stream)
{
    stream->queue->ended = 1;
    fake_handle_end(stream);
    pthread_cond_broadcast(&fake.moved);
}

void fake_streams_calm(void)
{
    fake.calms++;
    fake.config.shm_full = 0;
    for (size_t i = 0; i < streams.count; i++) {
        struct fake_item *item = streams.rows[i]->queue->first;
        if (!item || !(item->hangs || (item->mark && item->mark->stuck)))
            continue;
        for (; item; item = item->next) {
            item->hangs = 0;
            item->dropped = 1;
        }
    }
    fake_meetings_calm();
    kick();
    pthread_cond_broadcast(&fake.moved);
}

static int is_running(void)
{
    for (size_t i = 0; i < streams.count; i++)
        if (streams.rows[i]->queue->running)
            return 1;
    return 0;
}

void fake_streams_stop(void)
{
    int forked = fake.started && atomic_load(&fake.pid) != (int)getpid();

    if (forked) /* the threads stayed with the parent */
        fake.workers = 0;
    streams.dropping = 1;
    for (size_t i = 0; i < streams.count; i++) {
        streams.rows[i]->queue->ended = 1;
        streams.rows[i]->queue->running &= !forked;
    }
    fake_meetings_end();
    fake_streams_calm();
    if (forked)
        fake.waiters = 0;
    fake.poison = cudaErrorContextIsDestroyed; /* whoever waits is to go */
    while (fake.workers > 0 || fake.waiters > 0 || is_running())
        pthread_cond_wait(&fake.moved, &fake.lock);
    for (struct fake_handle *at = fake.handles; at; at = at->next)
        if (at->kind == FAKE_STREAM) {
            CUstream stream = (CUstream)(void *)at;
            free(stream->queue->links);
            free(stream->queue);
            stream->queue = NULL;
        }
    fake_meetings_forget();
    free(streams.rows);
    memset(&streams, 0, sizeof streams);
}

/* ---- queueing ------------------------------------------------------------- */

/* The legacy stream and those that do not opt out wait for each other. */
static void join(CUstream stream)
{
    struct fake_device *device = stream->handle.device;
    int legacy = stream == device->standard;

    for (size_t i = 0; i < streams.count; i++) {
        CUstream other = streams.rows[i];
        if (other == stream || other->handle.device != device ||
            other->queue->ended || other->flags & CU_STREAM_NON_BLOCKING ||
            other->queue->capturing || !(legacy || other == device->standard))
            continue;
        struct fake_mark *mark = push_mark(other);
        push_wait(stream, mark);
        fake_mark_drop(mark);
    }
}

static void tidy(void)
{
    for (size_t i = streams.count; i-- > 0;) {
        const struct fake_queue *queue = streams.rows[i]->queue;
        if (queue->ended && !queue->first && !queue->running)
            delist(streams.rows[i]);
    }
}

int fake_enqueue(CUstream stream, const struct fake_work *work_asked)
{
    struct fake_device *device = stream->handle.device;
    struct fake_item *item;

    if (stream->queue->capturing)
        return stream->queue->capturing == cudaStreamCaptureStatusActive
                   ? 0
                   : cudaErrorStreamCaptureInvalidated;
    tidy();
    if (!(stream->flags & CU_STREAM_NON_BLOCKING))
        join(stream);
    item = push(stream, FAKE_STEP_WORK);
    item->kind = work_asked->kind;
    item->cost_ns = work_asked->cost_ns;
    item->effect = work_asked->effect;
    item->lost = work_asked->lost;
    item->hangs = work_asked->hangs;
    item->lent = work_asked->lent;
    if (work_asked->argument_bytes > 0) {
        item->argument = malloc(work_asked->argument_bytes);
        if (!item->argument)
            abort();
        memcpy(item->argument, work_asked->argument,
               work_asked->argument_bytes);
    }
    if (item->kind == FAKE_WORK_KERNEL) {
        item->position = ++device->launches;
        item->hangs |= fake_hangs(work_asked->name);
        if (fake.config.sick[device->number])
            fake_poison(fake.config.sick[device->number]);
    }
    for (int i = 0; i < work_asked->use_count; i++)
        fake_memory_use(work_asked->uses[i], stream, item->place);
    kick();
    return 0;
}

/* ---- waiting -------------------------------------------------------------- */

static int is_over(int64_t ns)
{
    return !fake.config.real_clock || now_ns() >= ns;
}

static int is_empty(const struct fake_queue *queue)
{
    return !queue->first && !queue->running;
}

int fake_stream_idle(CUstream stream)
{
    struct fake_queue *queue = stream->queue;

    if (!is_empty(queue) || !is_over(queue->end_ns))
        return 0;
    fake_host_reach(queue->end_ns);
    fake_seen_pass(stream, queue->last_place);
    return 1;
}

static int stop_waiting(void)
{
    if (--fake.waiters == 0)
        pthread_cond_broadcast(&fake.moved);
    return fake.poison;
}

int fake_stream_finish(CUstream stream)
{
    struct fake_queue *queue = stream->queue;

    fake.waiters++;
    while (!fake.poison && !fake_stream_idle(stream))
        if (is_empty(queue))
            sleep_until(queue->end_ns);
        else
            pthread_cond_wait(&fake.moved, &fake.lock);
    return stop_waiting();
}

int fake_device_finish(const struct fake_device *device)
{
    for (size_t i = 0; i < streams.count && !fake.poison; i++)
        if (streams.rows[i]->handle.device == device &&
            !fake_stream_idle(streams.rows[i])) {
            fake_stream_finish(streams.rows[i]);
            i = (size_t)-1; /* the list may have changed meanwhile */
        }
    return fake.poison;
}

struct fake_mark *fake_mark_new(CUstream stream)
{
    struct fake_mark *mark;

    if (!(stream->flags & CU_STREAM_NON_BLOCKING))
        join(stream);
    mark = push_mark(stream);
    kick();
    return mark;
}

void fake_mark_drop(struct fake_mark *mark)
{
    if (mark && --mark->references == 0)
        free(mark);
}

void fake_mark_wait(CUstream stream, struct fake_mark *mark)
{
    push_wait(stream, mark);
    kick();
}

int fake_mark_over(struct fake_mark *mark)
{
    if (!mark->done || !is_over(mark->time_ns))
        return 0;
    fake_host_reach(mark->time_ns);
    fake_seen_pass(mark->stream, mark->place);
    return 1;
}

int fake_mark_finish(struct fake_mark *mark)
{
    mark->references++;
    fake.waiters++;
    while (!fake.poison && !fake_mark_over(mark))
        if (mark->done)
            sleep_until(mark->time_ns);
        else
            pthread_cond_wait(&fake.moved, &fake.lock);
    fake_mark_drop(mark);
    return stop_waiting();
}
