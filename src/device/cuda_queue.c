/* A GPU member's queue: the caller's function with the device current around
 * it, events as marks, waits that look again and again until a deadline and
 * never stop the whole device, and order against streams of the caller's. */
#include <sched.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "device/cuda_inner.h"

enum {
    LOOK_NS = 50000, /* look this long without a pause, then sleep */
    NAP_MAX_NS = 500000,
    TRIES = 3,    /* looks that fail before the stream is simply waited for */
    NAP_SHARE = 8 /* of the time waited so far, so that waits end soon after */
};

static const int64_t GRACE_NS = 1000000000; /* for what must end */

/* ---- waiting -------------------------------------------------------------- */

/* What is waited for: an event, or (NULL) all that the stream has. */
static cudaError_t look(struct cuda *self, cudaEvent_t event)
{
    return event ? cudaEventQuery(event) : cudaStreamQuery(self->stream);
}

static void pause_for(int64_t waited_ns)
{
    struct timespec nap = { 0, (long)(waited_ns / NAP_SHARE) };

    if (waited_ns < LOOK_NS) {
        (void)sched_yield();
        return;
    }
    if (nap.tv_nsec > NAP_MAX_NS)
        nap.tv_nsec = NAP_MAX_NS;
    (void)nanosleep(&nap, NULL);
}

static void get_stuck(struct cuda *self)
{
    if (!self->stuck)
        cuda_late_note(self, self->stream);
    self->stuck = 1;
}

static hdp_status too_late(struct cuda *self)
{
    get_stuck(self);
    return hdpi_fail_member(HDP_ERR_TIMEOUT, self->base.member, self->base.rank,
                            "member %d (%s): the device has not finished in "
                            "time",
                            (int)self->base.member, self->base.row.info.spec);
}

/* Some versions note "not ready" as the thread's pending error. */
static void forget_not_ready(void)
{
    if (cudaPeekAtLastError() == cudaErrorNotReady)
        (void)cudaGetLastError();
}

/* Device is current. */
static hdp_status await(struct cuda *self, cudaEvent_t event,
                        int64_t deadline_ns)
{
    const char *call = event ? "cudaEventQuery" : "cudaStreamQuery";
    cudaError_t code = look(self, event);
    int64_t start_ns, now_ns, own_ns;

    if (code != cudaErrorNotReady)
        return cuda_check(self, code, call);
    start_ns = now_ns = hdpi_clock_ns();
    for (;;) {
        own_ns =
            atomic_load_explicit(&self->base.deadline_ns, memory_order_relaxed);
        if (now_ns >= deadline_ns || (own_ns && now_ns >= own_ns)) {
            forget_not_ready();
            return too_late(self);
        }
        pause_for(now_ns - start_ns);
        code = look(self, event);
        if (code != cudaErrorNotReady)
            break;
        now_ns = hdpi_clock_ns();
    }
    forget_not_ready();
    return cuda_check(self, code, call);
}

int cuda_queue_end(struct cuda *self)
{
    int64_t start_ns = hdpi_clock_ns(), waited_ns = 0;
    int failures = 0;
    cudaError_t code;

    while (self->stream && self->dirty) {
        code = failures < TRIES ? cudaStreamQuery(self->stream)
                                : cudaStreamSynchronize(self->stream);
        if (code == cudaSuccess || failures == TRIES)
            self->dirty = self->stuck = 0;
        if (code != cudaSuccess)
            (void)cudaGetLastError();
        if (cuda_is_fatal(code))
            return 0;
        if (code != cudaSuccess && code != cudaErrorNotReady)
            failures++;
        if (code != cudaErrorNotReady)
            continue;
        if (self->stuck || waited_ns > GRACE_NS) {
            get_stuck(self);
            return 0;
        }
        pause_for(waited_ns);
        waited_ns = hdpi_clock_ns() - start_ns;
    }
    return !self->stuck;
}

/* Whatever failed, the queue is seen to its end, so that what it uses can be
 * given back or used again. */
static hdp_status see_to_it(struct cuda *self, hdp_status status)
{
    hdp_error before;

    if (status == HDP_OK) {
        self->dirty = self->stuck = 0;
    } else if (status != HDP_ERR_TIMEOUT && cuda_may_call() == HDP_OK) {
        before = *hdpi_error();
        (void)cuda_queue_end(self);
        *hdpi_error() = before;
    }
    return status;
}

hdp_status cuda_wait(struct hdpi_device *device, int64_t deadline_ns)
{
    struct cuda *self = cuda_from(device);
    hdp_status status = cuda_enter(self);

    if (status == HDP_OK) {
        status = await(self, NULL, deadline_ns);
        cuda_leave(self);
    }
    return see_to_it(self, status);
}

/* ---- the caller's function ------------------------------------------------ */

/* On the member's own thread nobody else looks: a launch that was refused and
 * went unnoticed would be a wrong result. A caller's thread is his. */
static hdp_status judge(struct cuda *self, int32_t code)
{
    cudaError_t left;

    if (self->base.serial)
        return HDP_OK;
    left = cudaGetLastError();
    if (left == cudaErrorPeerAccessAlreadyEnabled ||
        (code != 0 && !cuda_is_fatal(left)))
        return HDP_OK; /* it has said itself that it failed */
    return cuda_check(self, left, "the work function, which left that behind");
}

hdp_status cuda_launch(struct hdpi_device *device, hdp_work_fn fn,
                       const hdp_shard *shard, void *user, int32_t *out_code)
{
    struct cuda *self = cuda_from(device);
    hdp_status status;

    HDPI_RETURN_IF(cuda_enter(self));
    self->dirty = 1;
    *out_code = fn(shard, user);
    status = judge(self, *out_code);
    cuda_leave(self);
    return status;
}

void *cuda_native(struct hdpi_device *device)
{
    return cuda_from(device)->stream;
}

/* ---- marks ---------------------------------------------------------------- */

static hdp_status record(struct cuda *self, struct hdpi_mark *mark)
{
    cudaEvent_t event = mark->handle;

    if (!event) {
        HDPI_RETURN_IF(
            cuda_check(self, cudaEventCreateWithFlags(&event, cudaEventDefault),
                       "cudaEventCreateWithFlags"));
        mark->handle = event;
    }
    return cuda_check(self, cudaEventRecord(event, self->stream),
                      "cudaEventRecord");
}

hdp_status cuda_mark(struct hdpi_device *device, struct hdpi_mark *mark,
                     int32_t purpose)
{
    struct cuda *self = cuda_from(device);
    hdp_status status;

    (void)purpose;
    HDPI_RETURN_IF(cuda_enter(self));
    self->dirty = 1;
    status = record(self, mark);
    cuda_leave(self);
    return status;
}

void cuda_unmark(struct hdpi_device *device, struct hdpi_mark *mark)
{
    struct cuda *self = cuda_from(device);
    hdp_error before = *hdpi_error();
    int entered;

    if (mark->handle && cuda_may_call() == HDP_OK) {
        entered = cuda_enter(self) == HDP_OK; /* if not: all the same */
        (void)cuda_check(self, cudaEventDestroy(mark->handle),
                         "cudaEventDestroy");
        if (entered)
            cuda_leave(self);
    }
    memset(mark, 0, sizeof *mark);
    *hdpi_error() = before;
}

static hdp_status between(struct cuda *self, double *out_ns, cudaEvent_t from,
                          cudaEvent_t to)
{
    float ms = 0;

    HDPI_RETURN_IF(await(self, to, INT64_MAX));
    HDPI_RETURN_IF(await(self, from, INT64_MAX));
    HDPI_RETURN_IF(cuda_check(self, cudaEventElapsedTime(&ms, from, to),
                              "cudaEventElapsedTime"));
    *out_ns = (double)ms * 1e6;
    return HDP_OK;
}

hdp_status cuda_elapsed(struct hdpi_device *device, double *out_ns,
                        const struct hdpi_mark *from,
                        const struct hdpi_mark *to)
{
    struct cuda *self = cuda_from(device);
    hdp_status status;

    HDPI_RETURN_IF(cuda_enter(self));
    status = between(self, out_ns, from->handle, to->handle);
    cuda_leave(self);
    return status;
}

/* ---- order ---------------------------------------------------------------- */

/* The member as a thread beside its own sees it: what never changes while it is
 * open. */
static void make_visitor(struct cuda *out, const struct cuda *self)
{
    memset(out, 0, sizeof *out);
    out->base.ops = self->base.ops;
    out->base.site = self->base.site;
    out->base.row.info.logical_id = self->base.row.info.logical_id;
    memcpy(out->base.row.info.spec, self->base.row.info.spec,
           sizeof out->base.row.info.spec);
    memcpy(out->base.row.info.uuid, self->base.row.info.uuid,
           sizeof out->base.row.info.uuid);
    out->base.member = self->base.member;
    out->base.rank = self->base.rank;
    out->base.serial = self->base.serial;
    out->base.log = self->base.log;
    out->ordinal = self->ordinal;
    out->stream = self->stream;
    out->partition = self->partition;
    out->driver = self->driver;
    out->context = self->context;
}

/* What `first` has so far comes before what `second` gets from now on. The
 * event is the context's that is current: the one of `first`. */
static hdp_status chain(struct cuda *self, cudaStream_t first,
                        cudaStream_t second)
{
    cudaEvent_t event = NULL;
    hdp_status status;

    HDPI_TRY(cuda_check(
        self, cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
        "cudaEventCreateWithFlags"));
    HDPI_TRY(
        cuda_check(self, cudaEventRecord(event, first), "cudaEventRecord"));
    HDPI_TRY(cuda_check(self, cudaStreamWaitEvent(second, event, 0),
                        "cudaStreamWaitEvent"));
out:
    if (event)
        (void)cudaEventDestroy(event); /* ends once it has been passed */
    return status;
}

static hdp_status after_any(struct cuda *self, cudaStream_t stream)
{
    CUcontext own = self->context, other = NULL;
    hdp_status status;

    HDPI_RETURN_IF(cuda_check_driver(
        self, self->driver.stream_context(stream, &other), "cuStreamGetCtx"));
    HDPI_RETURN_IF(cuda_check_driver(self, self->driver.context_set(other),
                                     "cuCtxSetCurrent"));
    status = chain(self, stream, self->stream);
    (void)self->driver.context_set(own);
    return status;
}

hdp_status cuda_order(struct hdpi_device *device, void *stream, int32_t way)
{
    struct cuda visitor;
    hdp_status status;

    make_visitor(&visitor, cuda_from(device));
    HDPI_RETURN_IF(cuda_enter(&visitor));
    status = cuda_stream_check(&visitor, stream, way == HDPI_ORDER_AFTER_ANY);
    if (status == HDP_OK && way == HDPI_ORDER_AFTER_ANY)
        status = after_any(&visitor, stream);
    else if (status == HDP_OK && way == HDPI_ORDER_AFTER)
        status = chain(&visitor, stream, visitor.stream);
    else if (status == HDP_OK && way == HDPI_ORDER_BEFORE)
        status = chain(&visitor, visitor.stream, stream);
    cuda_leave(&visitor);
    return status;
}
