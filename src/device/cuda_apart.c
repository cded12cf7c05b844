/* Where calls are made: on threads of the library's own, or on a caller's with
 * its current context and capture mode put back. A context is noted, never the
 * runtime's number of a device: to set that would make a context there. */
#include <pthread.h>
#include <signal.h>
#include "device/cuda_inner.h"

enum { STACK_BYTES = 1 << 20 };

/* ---- a thread for one call ------------------------------------------------ */

struct errand {
    hdp_status (*fn)(void *);
    void *arg;
    hdp_error error; /* status HDP_OK: none */
};

static void run(struct errand *errand)
{
    hdp_status status = errand->fn(errand->arg);

    if (status != HDP_OK)
        errand->error = *hdpi_error();
}

static void *errand_main(void *arg)
{
    run(arg);
    return NULL;
}

hdp_status cuda_apart(hdp_status (*fn)(void *), void *arg)
{
    struct errand errand = { .fn = fn, .arg = arg };
    hdp_error before = *hdpi_error();
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, mask;
    int error;

    if (cuda_may_call() != HDP_OK) {
        *hdpi_error() = before; /* fn says so if it must */
        return fn(arg);
    }
    if (pthread_attr_init(&attributes) != 0)
        return hdpi_fail(HDP_ERR_MEMORY,
                         "no memory for a thread to call CUDA from");
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &mask);
    error = pthread_create(&thread, &attributes, errand_main, &errand);
    (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
    (void)pthread_attr_destroy(&attributes);
    if (error)
        return hdpi_fail_system(error, "no thread to call CUDA from");
    (void)pthread_join(thread, NULL);
    return hdpi_error_adopt(&errand.error);
}

/* ---- in and out of a hook ------------------------------------------------- */

/* Whether this thread of the library's has the relaxed mode already. */
static _Thread_local int relaxed;

/* By the driver: the runtime would make a context for it. */
static hdp_status relax(struct cuda *self, CUstreamCaptureMode *mode)
{
    *mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    return cuda_check_driver(self, self->driver.capture_mode(mode),
                             "cuThreadExchangeStreamCaptureMode");
}

static hdp_status note_visitor(struct cuda *self, struct cuda_visit *visit)
{
    HDPI_RETURN_IF(cuda_check_driver(
        self, self->driver.context_get(&visit->before), "cuCtxGetCurrent"));
    return relax(self, &visit->mode);
}

/* The first time makes the primary context, later ones only point at it. */
static hdp_status make_current(struct cuda *self)
{
    if (self->context)
        return cuda_check_driver(self, self->driver.context_set(self->context),
                                 "cuCtxSetCurrent");
    HDPI_RETURN_IF(
        cuda_check(self, cudaSetDevice(self->ordinal), "cudaSetDevice"));
    /* until CUDA 12 it made no context by itself */
    HDPI_RETURN_IF(cuda_check(self, cudaFree(NULL), "cudaFree"));
    return cuda_check_driver(self, self->driver.context_get(&self->context),
                             "cuCtxGetCurrent");
}

hdp_status cuda_enter(struct cuda *self)
{
    struct cuda_visit *visit = &self->visits[self->depth % CUDA_VISITS_MAX];
    int guest = self->context && (self->base.serial || self->depth > 0);
    CUstreamCaptureMode mode;
    hdp_status status;

    HDPI_RETURN_IF(cuda_may_call());
    visit->guest = 0;
    if (guest) {
        HDPI_RETURN_IF(note_visitor(self, visit));
        visit->guest = 1;
    } else if (!relaxed) {
        HDPI_RETURN_IF(relax(self, &mode));
        relaxed = 1;
    }
    self->depth++;
    status = make_current(self);
    if (status != HDP_OK)
        cuda_leave(self);
    return status;
}

void cuda_leave(struct cuda *self)
{
    struct cuda_visit *visit = &self->visits[--self->depth % CUDA_VISITS_MAX];

    if (!visit->guest)
        return;
    (void)self->driver.context_set(visit->before);
    (void)self->driver.capture_mode(&visit->mode);
}
