/* The runtime: streams, events, capture. Times of events have the grain of real
 * ones. */
#include <stdlib.h>
#include "runtime.h"

enum {
    HANDLE = cudaErrorInvalidResourceHandle,
    VALUE = cudaErrorInvalidValue,
    FAILURE = cudaErrorLaunchFailure,
    TIME_GRAIN_NS = 500
};

/* ---- streams -------------------------------------------------------------- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
    cudaError_t code =
        enter("cudaStreamCreateWithFlags", cudaErrorMemoryAllocation,
              FAKE_CONTEXT | FAKE_CLOSED);
    CUcontext context;

    if (code)
        return code;
    if (!pStream || flags > cudaStreamNonBlocking)
        return leave(cudaErrorInvalidValue);
    context = fake_current_context();
    *pStream = fake_stream_new(context, flags, context->sms);
    return leave(0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    cudaError_t code = enter("cudaStreamDestroy", HANDLE, FAKE_CONTEXT);

    if (code)
        return code;
    if (!fake_handle_is(stream, FAKE_STREAM) ||
        stream == stream->handle.device->standard)
        return leave(HANDLE);
    fake_stream_end(stream);
    return leave(0);
}

static int idle(CUstream stream)
{
    return fake_stream_idle(stream) ? 0 : cudaErrorNotReady;
}

/* What may not be asked of a stream that captures. */
static cudaError_t ask(const char *function, cudaStream_t stream,
                       int (*question)(CUstream stream))
{
    cudaError_t code = enter(function, FAILURE, FAKE_CONTEXT);
    CUstream found;

    if (code)
        return code;
    found = fake_stream_of(stream);
    if (!found)
        return leave(HANDLE);
    if (fake_stream_capturing(found))
        return leave(fake_capture_spoil(found));
    return leave(question(found));
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    return ask("cudaStreamQuery", stream, idle);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    return ask("cudaStreamSynchronize", stream, fake_stream_finish);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned int flags)
{
    cudaError_t code = enter("cudaStreamWaitEvent", HANDLE, FAKE_CONTEXT);
    CUstream found;

    (void)flags;
    if (code)
        return code;
    found = fake_stream_of(stream);
    if (!found || !fake_handle_is(event, FAKE_EVENT))
        return leave(HANDLE);
    if (event->mark && !fake_stream_capturing(found))
        fake_mark_wait(found, event->mark);
    return leave(0);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn,
                               void *userData)
{
    cudaError_t code = enter("cudaLaunchHostFunc", FAILURE, FAKE_CONTEXT);
    struct fake_work work = { .kind = FAKE_WORK_HOST, .effect = fn };
    CUstream found;

    if (code)
        return code;
    found = fake_stream_of(stream);
    if (!found)
        return leave(HANDLE);
    if (!fn)
        return leave(cudaErrorInvalidValue);
    work.lent = userData;
    return leave(fake_enqueue(found, &work));
}

/* ---- capture -------------------------------------------------------------- */

cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                  enum cudaStreamCaptureStatus *pCaptureStatus)
{
    cudaError_t code = enter("cudaStreamIsCapturing", HANDLE, FAKE_CONTEXT);
    CUstream found;

    if (code)
        return code;
    found = fake_stream_of(stream);
    if (!found)
        return leave(HANDLE);
    *pCaptureStatus =
        (enum cudaStreamCaptureStatus)fake_stream_capturing(found);
    return leave(0);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
                                   enum cudaStreamCaptureMode mode)
{
    cudaError_t code = enter("cudaStreamBeginCapture", VALUE, FAKE_CONTEXT);
    CUstream found;

    if (code)
        return code;
    found = fake_stream_of(stream);
    return leave(found ? fake_stream_capture(found, (int)mode) : HANDLE);
}

/* What was captured is not kept: no graph comes of it. */
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph)
{
    cudaError_t code = enter("cudaStreamEndCapture", VALUE, FAKE_CONTEXT);
    CUstream found;

    if (code)
        return code;
    found = fake_stream_of(stream);
    *pGraph = NULL;
    return leave(found ? fake_stream_capture_end(found) : HANDLE);
}

cudaError_t
cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    cudaError_t code =
        enter("cudaThreadExchangeStreamCaptureMode", VALUE, FAKE_CONTEXT);
    struct fake_thread *self;
    int before;

    if (code)
        return code;
    self = fake_self();
    before = self->capture_mode;
    self->capture_mode = (int)*mode;
    *mode = (enum cudaStreamCaptureMode)before;
    return leave(0);
}

/* ---- events --------------------------------------------------------------- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    cudaError_t code = enter("cudaEventCreateWithFlags",
                             cudaErrorMemoryAllocation, FAKE_CONTEXT);

    if (code)
        return code;
    if (!event || flags > (cudaEventBlockingSync | cudaEventDisableTiming))
        return leave(cudaErrorInvalidValue);
    *event = fake_handle_new(FAKE_EVENT, sizeof **event, fake_current_device());
    (*event)->flags = flags;
    return leave(0);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    cudaError_t code = enter("cudaEventDestroy", HANDLE, FAKE_CONTEXT);

    if (code)
        return code;
    if (!fake_handle_is(event, FAKE_EVENT))
        return leave(HANDLE);
    fake_mark_drop(event->mark);
    event->mark = NULL;
    fake_handle_end(event);
    return leave(0);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    cudaError_t code = enter("cudaEventRecord", HANDLE, FAKE_CONTEXT);
    struct fake_mark *before;
    CUstream found;

    if (code)
        return code;
    found = fake_stream_of(stream);
    if (!found || !fake_handle_is(event, FAKE_EVENT))
        return leave(HANDLE);
    if (found->handle.device != event->handle.device) {
        fake_break("an event of device %d was recorded on a stream of device "
                   "%d",
                   event->handle.device->number, found->handle.device->number);
        return leave(HANDLE);
    }
    before = event->mark;
    event->mark = fake_stream_capturing(found) ? NULL : fake_mark_new(found);
    fake_mark_drop(before);
    return leave(0);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    cudaError_t code = enter("cudaEventQuery", FAILURE, 0);

    if (code)
        return code;
    if (!fake_handle_is(event, FAKE_EVENT))
        return leave(HANDLE);
    return leave(
        !event->mark || fake_mark_over(event->mark) ? 0 : cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    cudaError_t code = enter("cudaEventSynchronize", FAILURE, FAKE_CONTEXT);

    if (code)
        return code;
    if (!fake_handle_is(event, FAKE_EVENT))
        return leave(HANDLE);
    return leave(event->mark ? fake_mark_finish(event->mark) : 0);
}

static int has_time(const struct CUevent_st *event)
{
    return event->mark && !(event->flags & cudaEventDisableTiming);
}

static int64_t grained(int64_t ns)
{
    return ns / TIME_GRAIN_NS * TIME_GRAIN_NS;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    cudaError_t code = enter("cudaEventElapsedTime", FAILURE, FAKE_CONTEXT);

    if (code)
        return code;
    if (!fake_handle_is(start, FAKE_EVENT) || !fake_handle_is(end, FAKE_EVENT))
        return leave(HANDLE);
    if (!has_time(start) || !has_time(end) ||
        start->handle.device != end->handle.device)
        return leave(HANDLE);
    if (!fake_mark_over(start->mark) || !fake_mark_over(end->mark))
        return leave(cudaErrorNotReady);
    *ms = (float)((double)(grained(end->mark->time_ns) -
                           grained(start->mark->time_ns)) /
                  1e6);
    return leave(0);
}
