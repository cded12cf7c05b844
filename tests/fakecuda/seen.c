/* What the host knows of streams: how far it has seen each go, by waiting, by
 * asking, or because another stream waited; and which of them capture. */
#include <stdlib.h>
#include <string.h>
#include "queue.h"

/* ---- how far -------------------------------------------------------------- */

void fake_seen_link(CUstream stream, uint64_t place,
                    const struct fake_mark *mark)
{
    struct fake_queue *queue = stream->queue;

    if (mark->stream == stream)
        return;
    if (queue->link_count == queue->link_capacity) {
        queue->link_capacity =
            queue->link_capacity ? 2 * queue->link_capacity : 8;
        queue->links =
            realloc(queue->links, queue->link_capacity * sizeof *queue->links);
        if (!queue->links)
            abort();
    }
    queue->links[queue->link_count++] =
        (struct fake_link_row){ place, mark->stream, mark->place };
}

/* Links that were passed go before the others are told: two streams may wait
 * for each other in turn. */
void fake_seen_pass(CUstream stream, uint64_t place)
{
    struct fake_queue *queue = stream->queue;

    if (place <= queue->seen_place)
        return;
    queue->seen_place = place;
    for (size_t i = 0; i < queue->link_count;) {
        struct fake_link_row row = queue->links[i];
        if (row.place > place) {
            i++;
            continue;
        }
        queue->links[i] = queue->links[--queue->link_count];
        fake_seen_pass(row.other, row.other_place);
        i = 0;
    }
}

int fake_stream_passed(const struct CUstream_st *stream, uint64_t place)
{
    return stream->queue->seen_place >= place;
}

/* ---- capture -------------------------------------------------------------- */

static int ever_captured; /* most processes never do */

int fake_stream_capturing(const struct CUstream_st *stream)
{
    return stream->queue->capturing;
}

int fake_stream_capture(CUstream stream, int mode)
{
    struct fake_queue *queue = stream->queue;

    if (stream == stream->handle.device->standard)
        return cudaErrorStreamCaptureUnsupported;
    if (queue->capturing)
        return cudaErrorIllegalState;
    queue->capturing = cudaStreamCaptureStatusActive;
    queue->capture_mode = mode;
    queue->capture_thread = fake_self();
    ever_captured = 1;
    return 0;
}

int fake_capture_spoil(CUstream stream)
{
    stream->queue->capturing = cudaStreamCaptureStatusInvalidated;
    return cudaErrorStreamCaptureUnsupported;
}

int fake_stream_capture_end(CUstream stream)
{
    struct fake_queue *queue = stream->queue;
    int state = queue->capturing;

    if (state == cudaStreamCaptureStatusNone)
        return cudaErrorIllegalState;
    if (queue->capture_mode != cudaStreamCaptureModeRelaxed &&
        queue->capture_thread != fake_self())
        return cudaErrorStreamCaptureWrongThread;
    queue->capturing = cudaStreamCaptureStatusNone;
    return state == cudaStreamCaptureStatusActive
               ? 0
               : cudaErrorStreamCaptureInvalidated;
}

static int forbids(const struct fake_queue *queue,
                   const struct fake_thread *self)
{
    int own = queue->capture_thread == self;

    if (queue->capturing == cudaStreamCaptureStatusNone ||
        self->capture_mode == cudaStreamCaptureModeRelaxed)
        return 0;
    if (queue->capture_mode == cudaStreamCaptureModeThreadLocal)
        return own;
    return queue->capture_mode == cudaStreamCaptureModeGlobal &&
           (own || self->capture_mode == cudaStreamCaptureModeGlobal);
}

int fake_capture_forbids(void)
{
    const struct fake_thread *self = fake_self();
    int found = 0;

    for (struct fake_handle *at = fake.handles; ever_captured && at;
         at = at->next) {
        CUstream stream = (CUstream)(void *)at;
        if (at->kind != FAKE_STREAM || !forbids(stream->queue, self))
            continue;
        stream->queue->capturing = cudaStreamCaptureStatusInvalidated;
        found = 1;
    }
    return found;
}

/* A wait for a whole device is no wait that a capture can bear, whoever asks. */
void fake_capture_spoil_all(const struct fake_device *device)
{
    for (struct fake_handle *at = fake.handles; ever_captured && at;
         at = at->next) {
        CUstream stream = (CUstream)(void *)at;
        if (at->kind == FAKE_STREAM && at->device == device &&
            stream->queue->capturing != cudaStreamCaptureStatusNone)
            (void)fake_capture_spoil(stream);
    }
}
