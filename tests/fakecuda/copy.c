/* Copies and fills on streams: which memory they go to, what they cost on the
 * machine's links, and how a spoiled link spoils them. */
#include <stdlib.h>
#include <string.h>
#include "copy.h"
#include "memory.h"

/* Of copies that pinned memory has no part in, bytes a second. */
static const double pageable_rate = 8e9, host_rate = 10e9;

/* One end of a copy. */
struct end {
    struct fake_device *device; /* of device memory; NULL: the host's */
    int pageable;
    char *bytes;
};

struct move {
    char *target;
    const char *source;
    size_t target_pitch, source_pitch, width, height;
    int loses; /* a lying link: the last quarter does not arrive */
};

static size_t span(size_t pitch, size_t width, size_t height)
{
    return height == 0 ? 0 : pitch * (height - 1) + width;
}

static void run_move(void *argument)
{
    const struct move *copy = argument;
    size_t rows = copy->loses ? copy->height - copy->height / 4 : copy->height;
    size_t width = copy->loses && copy->height < 4
                       ? copy->width - (copy->width + 3) / 4
                       : copy->width;

    for (size_t i = 0; i < rows; i++)
        memmove(copy->target + i * copy->target_pitch,
                copy->source + i * copy->source_pitch, width);
}

/* 0: the pointer is in a block, but its bytes end before. */
static int find_end(struct end *out, const void *pointer, size_t bytes)
{
    struct fake_block *block = fake_block_of(pointer, bytes);

    *out = (struct end){ .pageable = 1, .bytes = (char *)(uintptr_t)pointer };
    if (!block)
        return !fake_block_of(pointer, 0) && !fake_memory_was(pointer);
    out->pageable = 0;
    out->bytes = block->bytes + ((const char *)pointer - block->address);
    if (block->memory == FAKE_DEVICE_MEMORY)
        out->device = block->device;
    return 1;
}

static int is_said(enum cudaMemcpyKind kind, const struct end *target,
                   const struct end *source)
{
    enum cudaMemcpyKind meant =
        target->device
            ? source->device ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice
        : source->device ? cudaMemcpyDeviceToHost
                         : cudaMemcpyHostToHost;

    return kind == cudaMemcpyDefault || kind == meant ||
           /* pinned memory is a device's as well */
           (!target->pageable && !source->pageable);
}

static double lower(double one, double other)
{
    return one < other ? one : other;
}

static double cost_of(const struct end *target, const struct end *source,
                      double bytes)
{
    struct fake_device *to = target->device, *from = source->device;
    int paged = target->pageable || source->pageable, peer;
    double rate;

    if (!to && !from)
        return bytes / host_rate * 1e9;
    if (to && to == from)
        return to->copy_fixed_ns + bytes / to->copy_bytes_per_second * 1e9;
    if (to && from)
        return bytes / fake_link(from, to, &peer) * 1e9;
    rate = to ? to->in_bytes_per_second : from->out_bytes_per_second;
    return bytes / (paged ? lower(rate, pageable_rate) : rate) * 1e9;
}

/* Access that was granted on a spoiled way shows only now. */
static void spoil(struct fake_work *work, struct move *copy,
                  const struct end *target, const struct end *source)
{
    const struct fake_device *to = target->device, *from = source->device;

    if (!to || !from || to == from ||
        !((to->peers >> from->number & 1) || (from->peers >> to->number & 1)))
        return;
    work->hangs = fake_peering(to, from) == FAKE_PEER_HANG;
    copy->loses = fake_peering(to, from) == FAKE_PEER_LIE;
}

/* Pageable memory is free for its owner again when the call returns. */
int fake_copy(const struct fake_copy *asked)
{
    CUstream stream = fake_stream_of(asked->stream);
    struct move copy = { .target_pitch = asked->target_pitch,
                         .source_pitch = asked->source_pitch,
                         .width = asked->width,
                         .height = asked->height };
    struct fake_work work = { .kind = FAKE_WORK_COPY,
                              .effect = run_move,
                              .argument = &copy,
                              .argument_bytes = sizeof copy,
                              .uses = { asked->target, asked->source },
                              .use_count = 2 };
    struct end target, source;
    int code;

    if (!stream)
        return cudaErrorInvalidResourceHandle;
    if (asked->width == 0 || asked->height == 0)
        return 0;
    if (asked->width > asked->target_pitch ||
        asked->width > asked->source_pitch)
        return cudaErrorInvalidPitchValue;
    if (!find_end(&target, asked->target,
                  span(asked->target_pitch, asked->width, asked->height)) ||
        !find_end(&source, asked->source,
                  span(asked->source_pitch, asked->width, asked->height)) ||
        !is_said(asked->kind, &target, &source))
        return cudaErrorInvalidValue;
    copy.target = target.bytes;
    copy.source = source.bytes;
    work.cost_ns =
        cost_of(&target, &source, (double)asked->width * (double)asked->height);
    spoil(&work, &copy, &target, &source);
    code = fake_enqueue(stream, &work);
    if (!code && (target.pageable || source.pageable))
        code = fake_stream_finish(stream);
    return code;
}

/* ---- fills ---------------------------------------------------------------- */

struct pour {
    char *target;
    size_t bytes, pattern_bytes;
    unsigned char pattern[FAKE_PATTERN_MAX];
};

static void run_pour(void *argument)
{
    const struct pour *pour = argument;

    for (size_t i = 0; i < pour->bytes; i += pour->pattern_bytes)
        memcpy(pour->target + i, pour->pattern, pour->pattern_bytes);
}

int fake_fill(const struct fake_fill *asked)
{
    CUstream stream = fake_stream_of(asked->stream);
    struct pour pour = { .bytes = asked->bytes,
                         .pattern_bytes = asked->pattern_bytes };
    struct fake_work work = { .kind = FAKE_WORK_COPY,
                              .effect = run_pour,
                              .argument = &pour,
                              .argument_bytes = sizeof pour,
                              .uses = { asked->target },
                              .use_count = 1 };
    const struct fake_device *device;
    struct end end;

    if (!stream)
        return cudaErrorInvalidResourceHandle;
    if (asked->bytes == 0)
        return 0;
    if (asked->pattern_bytes > FAKE_PATTERN_MAX ||
        asked->bytes % asked->pattern_bytes != 0 ||
        !find_end(&end, asked->target, asked->bytes) || end.pageable)
        return cudaErrorInvalidValue;
    device = stream->handle.device;
    pour.target = end.bytes;
    memcpy(pour.pattern, asked->pattern, asked->pattern_bytes);
    work.cost_ns =
        device->copy_fixed_ns +
        (double)asked->bytes / (2 * device->copy_bytes_per_second) * 1e9;
    return fake_enqueue(stream, &work);
}
