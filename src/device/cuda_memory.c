/* Memory of a GPU member, pinned memory beside it, and rows from anywhere to
 * anywhere. What was given out stands in a table, since free is told no size,
 * and since pinned memory may have turned out pageable. */
#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"
#include "device/cuda_inner.h"

enum { HOST_ALIGNMENT = 64 };

static const size_t pitch_max = INT32_MAX; /* of a copy of many rows */

/* ---- the table ------------------------------------------------------------ */

/* Made before what it will name, so that nothing is given out in vain. */
static hdp_status reserve(struct cuda *self)
{
    return hdpi_grow(&self->blocks, &self->block_capacity,
                     self->block_count + 1, sizeof *self->blocks,
                     "memory of a member");
}

static void keep(struct cuda *self, void *memory, size_t bytes, int kind)
{
    struct cuda_block *block = &self->blocks[self->block_count++];

    block->memory = memory;
    block->bytes = bytes;
    block->kind = kind;
    if (kind == CUDA_ON_DEVICE)
        self->base.held_bytes += (int64_t)bytes;
}

/* NULL: it is not in there. */
static struct cuda_block *find(struct cuda *self, const void *memory)
{
    for (size_t i = self->block_count; i-- > 0;)
        if (self->blocks[i].memory == memory)
            return &self->blocks[i];
    return NULL;
}

static struct cuda_block drop(struct cuda *self, struct cuda_block *at)
{
    struct cuda_block block = *at;

    *at = self->blocks[--self->block_count];
    if (block.kind == CUDA_ON_DEVICE)
        self->base.held_bytes -= (int64_t)block.bytes;
    return block;
}

/* Whether it is out of use and its end waits for nothing. Pinned memory is in
 * every context's reach, so its end may wait for any of them. */
static int may_end(struct cuda *self, const struct cuda_block *block)
{
    if (!cuda_queue_end(self))
        return 0;
    return block->kind == CUDA_PAGEABLE ||
           !cuda_late(self, block->kind == CUDA_ON_DEVICE ? self->ordinal : -1);
}

/* Work that has not ended may still use it: better lost than given to another.
 * A process that has lost CUDA gives nothing back but its own memory. */
static void give_back(struct cuda *self, const struct cuda_block *block)
{
    hdp_error before = *hdpi_error();
    int well = cuda_may_call() == HDP_OK, entered;

    if (well && !may_end(self, block))
        return;
    if (block->kind == CUDA_PAGEABLE) {
        free(block->memory);
    } else if (well) {
        entered = cuda_enter(self) == HDP_OK; /* if not: all the same */
        if (block->kind == CUDA_ON_DEVICE)
            (void)cuda_check(self, cudaFree(block->memory), "cudaFree");
        else
            (void)cuda_check(self, cudaFreeHost(block->memory), "cudaFreeHost");
        if (entered)
            cuda_leave(self);
    }
    *hdpi_error() = before;
}

/* While its end would wait the block stays in the table: by the time of the
 * close it may do so no more. */
static void release(struct cuda *self, const void *memory)
{
    struct cuda_block *at = find(self, memory), block;

    if (!at || (cuda_may_call() == HDP_OK && !may_end(self, at)))
        return;
    block = drop(self, at);
    give_back(self, &block);
}

void cuda_memory_close(struct cuda *self)
{
    while (self->block_count > 0) {
        struct cuda_block block =
            drop(self, &self->blocks[self->block_count - 1]);
        give_back(self, &block);
    }
    free(self->blocks);
    self->blocks = NULL;
    self->block_capacity = 0;
}

/* ---- of the device -------------------------------------------------------- */

static int64_t positive(int64_t value)
{
    return value > 0 ? value : 0;
}

/* What mem= and margin= leave; 0: no such limit. */
static int64_t cap_of(const struct cuda *self)
{
    const struct hdpi_ask *ask = &self->base.row.ask;

    if (ask->memory_bytes <= 0)
        return 0;
    return positive(ask->memory_bytes - positive(ask->margin_bytes));
}

/* How much is wanting goes with every refusal. */
static hdp_status want(hdp_status status, size_t bytes)
{
    if (status == HDP_ERR_MEMORY)
        hdpi_error()->wanted_bytes =
            bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
    return status;
}

/* Device is current. */
static hdp_status allowed(struct cuda *self, size_t bytes)
{
    const struct hdpi_device *base = &self->base;
    int64_t held = base->held_bytes, cap = cap_of(self);
    int64_t margin = positive(base->row.ask.margin_bytes);
    size_t free_bytes = 0, total = 0;

    if (base->row.ask.memory_bytes > 0)
        return bytes <= (size_t)positive(cap - held)
                   ? HDP_OK
                   : hdpi_fail_member(HDP_ERR_MEMORY, base->member, base->rank,
                                      "cuda:%d: %zu bytes wanted, %lld held of "
                                      "%lld",
                                      self->ordinal, bytes, (long long)held,
                                      (long long)cap);
    if (margin == 0)
        return HDP_OK;
    HDPI_RETURN_IF(cuda_check(self, cudaMemGetInfo(&free_bytes, &total),
                              "cudaMemGetInfo"));
    if (bytes <= free_bytes && free_bytes - bytes >= (size_t)margin)
        return HDP_OK;
    return hdpi_fail_member(HDP_ERR_MEMORY, base->member, base->rank,
                            "cuda:%d: %zu bytes wanted, %zu free, and %lld are "
                            "to stay so",
                            self->ordinal, bytes, free_bytes,
                            (long long)margin);
}

/* The call as people should read it when it fails. */
static hdp_status check_bytes(struct cuda *self, cudaError_t code,
                              const char *call, size_t bytes)
{
    char text[64];

    if (code == cudaSuccess)
        return HDP_OK;
    snprintf(text, sizeof text, "%s of %zu bytes", call, bytes);
    return want(cuda_check(self, code, text), bytes);
}

hdp_status cuda_alloc(struct hdpi_device *device, void **out, size_t bytes)
{
    struct cuda *self = cuda_from(device);
    void *memory = NULL;
    hdp_status status;

    *out = NULL;
    if (bytes == 0)
        return HDP_OK;
    HDPI_RETURN_IF(reserve(self));
    HDPI_RETURN_IF(cuda_enter(self));
    status = want(allowed(self, bytes), bytes);
    if (status == HDP_OK)
        status =
            check_bytes(self, cudaMalloc(&memory, bytes), "cudaMalloc", bytes);
    cuda_leave(self);
    HDPI_RETURN_IF(status);
    keep(self, memory, bytes, CUDA_ON_DEVICE);
    *out = memory;
    return HDP_OK;
}

void cuda_free(struct hdpi_device *device, void *memory)
{
    if (memory)
        release(cuda_from(device), memory);
}

void cuda_memory(struct hdpi_device *device, int64_t *out_held,
                 int64_t *out_free)
{
    struct cuda *self = cuda_from(device);
    int64_t margin = positive(device->row.ask.margin_bytes), left;
    size_t free_bytes = 0, total = 0;
    hdp_error before = *hdpi_error();

    *out_held = device->held_bytes;
    *out_free = -1;
    if (self->stuck || cuda_enter(self) != HDP_OK) {
        *hdpi_error() = before;
        return;
    }
    if (cuda_check(self, cudaMemGetInfo(&free_bytes, &total),
                   "cudaMemGetInfo") == HDP_OK) {
        *out_free = (int64_t)free_bytes;
        left = positive(cap_of(self) - device->held_bytes);
        if (device->row.ask.memory_bytes > 0 && left < *out_free)
            *out_free = left;
        else if (device->row.ask.memory_bytes <= 0)
            *out_free = positive(*out_free - margin);
    }
    cuda_leave(self);
    *hdpi_error() = before;
}

/* ---- of the host ---------------------------------------------------------- */

/* A limit on locked memory is no reason to fail: copies are slower then. */
static hdp_status alloc_pageable(struct cuda *self, void **out, size_t bytes)
{
    if (!self->unpinned)
        hdpi_log(self->base.log, HDP_LOG_WARN,
                 "no pinned memory, pageable is used and copies are slower: %s",
                 hdpi_error()->text);
    self->unpinned = 1;
    *out = hdpi_alloc_aligned(bytes, HOST_ALIGNMENT, "memory beside a GPU");
    if (*out)
        return HDP_OK;
    hdpi_error()->member = self->base.member;
    hdpi_error()->rank = self->base.rank;
    return HDP_ERR_MEMORY;
}

hdp_status cuda_host_alloc(struct hdpi_device *device, void **out, size_t bytes)
{
    struct cuda *self = cuda_from(device);
    hdp_error before = *hdpi_error();
    void *memory = NULL;
    int kind = CUDA_PINNED;
    hdp_status status;

    *out = NULL;
    if (bytes == 0)
        return HDP_OK;
    HDPI_RETURN_IF(reserve(self));
    HDPI_RETURN_IF(cuda_enter(self));
    status =
        check_bytes(self, cudaHostAlloc(&memory, bytes, cudaHostAllocPortable),
                    "cudaHostAlloc", bytes);
    cuda_leave(self);
    if (status == HDP_ERR_FATAL)
        return status;
    if (status != HDP_OK) {
        kind = CUDA_PAGEABLE;
        HDPI_RETURN_IF(alloc_pageable(self, &memory, bytes));
        *hdpi_error() = before;
    }
    keep(self, memory, bytes, kind);
    *out = memory;
    return HDP_OK;
}

void cuda_host_free(struct hdpi_device *device, void *memory)
{
    cuda_free(device, memory);
}

/* ---- where memory is ------------------------------------------------------ */

/* An address that CUDA does not know is pageable, and no failure. */
static enum cudaMemoryType type_of(const void *pointer, int *out_device)
{
    struct cudaPointerAttributes found = { 0 };

    *out_device = -1;
    if (cuda_may_call() != HDP_OK)
        return cudaMemoryTypeUnregistered;
    if (cudaPointerGetAttributes(&found, pointer) != cudaSuccess) {
        (void)cudaGetLastError();
        return cudaMemoryTypeUnregistered;
    }
    *out_device = found.device;
    return found.type;
}

int cuda_reaches(struct cuda *self, const void *pointer)
{
    int device;

    switch (type_of(pointer, &device)) {
    case cudaMemoryTypeDevice:
        return device == self->ordinal;
    case cudaMemoryTypeHost:
    case cudaMemoryTypeManaged:
        return 1;
    case cudaMemoryTypeUnregistered:
    default:
        return 0;
    }
}

int32_t cuda_locate(struct hdpi_device *device, const void *memory)
{
    hdp_error before = *hdpi_error();
    int found;
    enum cudaMemoryType type = type_of(memory, &found);

    *hdpi_error() = before;
    if (type == cudaMemoryTypeManaged)
        return HDPI_AT_MEMBER;
    if (type != cudaMemoryTypeDevice)
        return HDPI_AT_HOST;
    return found == cuda_from(device)->ordinal ? HDPI_AT_MEMBER : HDPI_AT_OTHER;
}

/* ---- copies --------------------------------------------------------------- */

static hdp_status copy_rows(struct cuda *self, const struct hdpi_copy *copy)
{
    size_t bytes = (size_t)copy->row_bytes, rows = (size_t)copy->rows;
    size_t to = (size_t)copy->target_stride, from = (size_t)copy->source_stride;
    unsigned char *target = copy->target;
    const unsigned char *source = copy->source;

    if ((to == bytes && from == bytes) || rows == 1)
        return cuda_check(self,
                          cudaMemcpyAsync(target, source, rows * bytes,
                                          cudaMemcpyDefault, self->stream),
                          "cudaMemcpyAsync");
    if (to <= pitch_max && from <= pitch_max)
        return cuda_check(self,
                          cudaMemcpy2DAsync(target, to, source, from, bytes,
                                            rows, cudaMemcpyDefault,
                                            self->stream),
                          "cudaMemcpy2DAsync");
    for (; rows > 0; --rows, target += to, source += from)
        HDPI_RETURN_IF(
            cuda_check(self,
                       cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault,
                                       self->stream),
                       "cudaMemcpyAsync"));
    return HDP_OK;
}

/* Between two devices the way is through the host: where a machine promises
 * more, bytes have been seen to arrive wrong (FAULTS F23). */
static hdp_status copy_around(struct cuda *self, const struct hdpi_copy *copy)
{
    struct hdpi_copy half = *copy;
    void *between = NULL;
    hdp_status status;

    HDPI_TRY(cuda_host_alloc(&self->base, &between,
                             (size_t)copy->rows * (size_t)copy->row_bytes));
    half.target = between;
    half.target_stride = copy->row_bytes;
    HDPI_TRY(copy_rows(self, &half));
    half = *copy;
    half.source = between;
    half.source_stride = copy->row_bytes;
    HDPI_TRY(copy_rows(self, &half));
    HDPI_TRY(cuda_wait(&self->base, INT64_MAX));
out:
    if (status != HDP_OK && status != HDP_ERR_TIMEOUT)
        (void)cuda_wait(&self->base, INT64_MAX); /* it may be under way */
    cuda_host_free(&self->base, between);
    return status;
}

hdp_status cuda_copy(struct hdpi_device *device, const struct hdpi_copy *copy)
{
    struct cuda *self = cuda_from(device);
    const void *far =
        copy->direction == HDPI_COPY_OUT ? copy->target : copy->source;
    hdp_status status;

    if (copy->rows <= 0 || copy->row_bytes <= 0)
        return HDP_OK;
    HDPI_RETURN_IF(cuda_enter(self));
    self->dirty = 1;
    if (copy->direction != HDPI_COPY_INSIDE &&
        cuda_locate(device, far) == HDPI_AT_OTHER)
        status = copy_around(self, copy);
    else
        status = copy_rows(self, copy);
    cuda_leave(self);
    return status;
}
