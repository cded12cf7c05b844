/* A GPU as a member: its driver, context and queue are taken on a thread of the
 * library's own and given back there; a lent queue is looked at first. */
#include <stdio.h>
#include "device/cuda_inner.h"

/* ---- lent streams --------------------------------------------------------- */

static hdp_status refuse(const struct cuda *self, hdp_status status,
                         const char *why)
{
    return hdpi_fail_member(status, self->base.member, self->base.rank,
                            "member %d (%s): the stream %s",
                            (int)self->base.member, self->base.row.info.spec,
                            why);
}

static hdp_status check_capture(struct cuda *self, cudaStream_t stream)
{
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    cudaError_t code = cudaStreamIsCapturing(stream, &capture);

    /* what the driver makes of a pointer to something else: seen on an H200 */
    if (code == cudaErrorInvalidResourceHandle ||
        code == cudaErrorContextIsDestroyed ||
        code == cudaErrorDeviceUninitialized) {
        (void)cudaGetLastError();
        return refuse(self, HDP_ERR_ARGUMENT, "is none that CUDA knows");
    }
    HDPI_RETURN_IF(cuda_check(self, code, "cudaStreamIsCapturing"));
    if (capture == cudaStreamCaptureStatusNone)
        return HDP_OK;
    return refuse(self, HDP_ERR_STATE, "is capturing");
}

/* 1: of this device's primary context, and of no partition. */
static hdp_status is_whole(int *out, struct cuda *self, cudaStream_t stream)
{
    CUcontext context = NULL;
    CUgreenCtx green = NULL;

    *out = 0;
    HDPI_RETURN_IF(cuda_check_driver(
        self, self->driver.stream_context(stream, &context), "cuStreamGetCtx"));
    if (self->driver.stream_green && stream != cudaStreamLegacy)
        HDPI_RETURN_IF(
            cuda_check_driver(self, self->driver.stream_green(stream, &green),
                              "cuStreamGetGreenCtx"));
    *out = context == self->context && !green;
    return HDP_OK;
}

hdp_status cuda_stream_check(struct cuda *self, cudaStream_t stream,
                             int any_device)
{
    int whole;

    if (!stream)
        return refuse(self, HDP_ERR_ARGUMENT, "is NULL");
    if (stream == cudaStreamPerThread)
        return refuse(self, HDP_ERR_ARGUMENT,
                      "is cudaStreamPerThread, another one on each thread");
    HDPI_RETURN_IF(check_capture(self, stream));
    if (any_device)
        return HDP_OK;
    if (self->partition)
        return cuda_partition_owns(self, stream)
                   ? HDP_OK
                   : refuse(self, HDP_ERR_ARGUMENT,
                            "does not belong to its partition");
    HDPI_RETURN_IF(is_whole(&whole, self, stream));
    return whole ? HDP_OK
                 : refuse(self, HDP_ERR_ARGUMENT,
                          "belongs to another device or context");
}

/* ---- opening -------------------------------------------------------------- */

static hdp_status take_stream(struct cuda *self)
{
    cudaStream_t lent = self->base.lent_queue;

    if (self->base.row.ask.sms > 0)
        HDPI_RETURN_IF(cuda_partition_take(self));
    if (lent) {
        HDPI_RETURN_IF(cuda_stream_check(self, lent, 0));
        self->stream = lent;
        return HDP_OK;
    }
    if (self->partition)
        return HDP_OK;
    HDPI_RETURN_IF(cuda_check(
        self, cudaStreamCreateWithFlags(&self->stream, cudaStreamNonBlocking),
        "cudaStreamCreateWithFlags"));
    self->owns_stream = 1;
    return HDP_OK;
}

static hdp_status open_here(void *arg)
{
    struct cuda *self = arg;
    hdp_status status;

    if (cuda_driver_version() == 0)
        return hdpi_fail_member(HDP_ERR_NOT_FOUND, self->base.member,
                                self->base.rank, "no device: cuda:%d",
                                (int)self->base.row.info.logical_id);
    HDPI_RETURN_IF(cuda_driver_load(&self->driver));
    HDPI_RETURN_IF(cuda_kept_open(self));
    HDPI_RETURN_IF(cuda_enter(self));
    status = take_stream(self);
    cuda_leave(self);
    return status;
}

hdp_status cuda_open(struct hdpi_device *device)
{
    struct cuda *self = cuda_from(device);

    HDPI_RETURN_IF(cuda_may_call());
    self->ordinal = (int)device->row.info.logical_id;
    device->asynchronous = 1;
    return cuda_apart(open_here, self);
}

hdp_status cuda_aside(struct hdpi_device *device, hdp_status (*fn)(void *),
                      void *arg)
{
    (void)device;
    return cuda_apart(fn, arg);
}

/* ---- closing -------------------------------------------------------------- */

static hdp_status close_here(void *arg)
{
    struct cuda *self = arg;
    int entered = self->context && cuda_enter(self) == HDP_OK;

    if (cuda_may_call() == HDP_OK)
        (void)cuda_queue_end(self);
    self->stuck |= self->base.condemned;
    cuda_probe_close(&self->base);
    cuda_blas_close(self);
    if (!self->stuck && !cuda_late(self, self->ordinal))
        cuda_kernel_unload(self); /* waits for the device, however long */
    cuda_memory_close(self);
    if (self->owns_stream && cuda_may_call() == HDP_OK)
        (void)cuda_check(self, cudaStreamDestroy(self->stream),
                         "cudaStreamDestroy");
    self->stream = NULL;
    if (entered)
        cuda_leave(self);
    cuda_partition_give(self);
    return HDP_OK;
}

void cuda_close(struct hdpi_device *device)
{
    struct cuda *self = cuda_from(device);
    hdp_error before = *hdpi_error();

    if (cuda_apart(close_here, self) != HDP_OK)
        (void)close_here(self); /* no thread: rather here than never */
    *hdpi_error() = before;
}

/* ---- versions ------------------------------------------------------------- */

hdp_status cuda_software(struct hdpi_device *device, char *out, size_t capacity)
{
    int blas = cuda_blas_version(cuda_from(device));
    char versions[64];

    cuda_versions(versions, sizeof versions);
    if (blas > 0)
        snprintf(out, capacity, "%s, cuBLAS %d.%d.%d", versions, blas / 10000,
                 blas / 100 % 100, blas % 100);
    else
        snprintf(out, capacity, "%s, no cuBLAS", versions);
    return HDP_OK;
}
