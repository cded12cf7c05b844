/* The driver's contexts and streams: what is current to a thread, and whose a
 * stream is. */
#include "driver.h"
#include "state.h"

enum { DEPTH_MAX = 16 };

/* Contexts below the current one. */
static _Thread_local CUcontext below[DEPTH_MAX];
static _Thread_local int depth;

static int is_context(CUcontext context)
{
    return context && fake_handle_is(context, FAKE_CTX);
}

FAKE_API CUresult cuCtxGetCurrent(CUcontext *context)
{
    DRIVER_ENTER("cuCtxGetCurrent", CUDA_ERROR_INVALID_CONTEXT, 0);
    if (!context)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    *context = fake_current_context();
    DRIVER_LEAVE(CUDA_SUCCESS);
}

FAKE_API CUresult cuCtxSetCurrent(CUcontext context)
{
    DRIVER_ENTER("cuCtxSetCurrent", CUDA_ERROR_INVALID_CONTEXT, 0);
    if (context && !is_context(context))
        DRIVER_LEAVE(CUDA_ERROR_INVALID_CONTEXT);
    fake_set_context(context);
    DRIVER_LEAVE(CUDA_SUCCESS);
}

/* Needs no context, unlike the runtime's. */
FAKE_API CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    struct fake_thread *self;
    int before;

    DRIVER_ENTER("cuThreadExchangeStreamCaptureMode", CUDA_ERROR_INVALID_VALUE,
                 0);
    self = fake_self();
    before = self->capture_mode;
    self->capture_mode = (int)*mode;
    *mode = (CUstreamCaptureMode)before;
    DRIVER_LEAVE(CUDA_SUCCESS);
}

FAKE_API CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    DRIVER_ENTER("cuCtxPushCurrent", CUDA_ERROR_INVALID_CONTEXT, 0);
    if (!is_context(context) || depth == DEPTH_MAX)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_CONTEXT);
    below[depth++] = fake_current_context();
    fake_set_context(context);
    DRIVER_LEAVE(CUDA_SUCCESS);
}

FAKE_API CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    CUcontext current;

    DRIVER_ENTER("cuCtxPopCurrent", CUDA_ERROR_INVALID_CONTEXT, 0);
    current = fake_current_context();
    if (!current)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_CONTEXT);
    if (context)
        *context = current;
    fake_set_context(depth > 0 ? below[--depth] : NULL);
    DRIVER_LEAVE(CUDA_SUCCESS);
}

FAKE_API CUresult cuCtxGetDevice(CUdevice *device)
{
    CUcontext current;

    DRIVER_ENTER("cuCtxGetDevice", CUDA_ERROR_INVALID_CONTEXT, 0);
    current = fake_current_context();
    if (!current)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_CONTEXT);
    if (!device)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    *device = current->handle.device->visible;
    DRIVER_LEAVE(CUDA_SUCCESS);
}

FAKE_API CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    struct fake_device *found;
    int code;

    DRIVER_ENTER("cuDevicePrimaryCtxRetain", CUDA_ERROR_OUT_OF_MEMORY, 0);
    found = fake_device(device);
    if (!found)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_DEVICE);
    if (!context)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    fake_touch(found);
    code = fake_primary(found, context);
    if (code == 0)
        found->retained++;
    DRIVER_LEAVE(code);
}

/* The runtime keeps what it uses: the context stays. */
FAKE_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    struct fake_device *found;

    DRIVER_ENTER("cuDevicePrimaryCtxRelease", CUDA_ERROR_INVALID_CONTEXT, 0);
    found = fake_device(device);
    if (!found)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_DEVICE);
    if (found->retained == 0) {
        fake_break("cuDevicePrimaryCtxRelease of device %d, which nobody "
                   "retains",
                   device);
        DRIVER_LEAVE(CUDA_ERROR_INVALID_CONTEXT);
    }
    found->retained--;
    DRIVER_LEAVE(CUDA_SUCCESS);
}

FAKE_API CUresult cuDevicePrimaryCtxGetState(CUdevice device,
                                             unsigned int *flags, int *active)
{
    struct fake_device *found;

    DRIVER_ENTER("cuDevicePrimaryCtxGetState", CUDA_ERROR_INVALID_DEVICE, 0);
    found = fake_device(device);
    if (!found)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_DEVICE);
    if (!flags || !active)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    *flags = 0;
    *active = found->primary != NULL;
    DRIVER_LEAVE(CUDA_SUCCESS);
}

/* ---- streams ------------------------------------------------------------- */

/* A special stream is of the current context, any other of its own. */
static CUresult context_of(CUstream handle, CUcontext *out)
{
    CUstream stream;

    *out = fake_current_context();
    if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
        return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
    stream = fake_stream_of(handle);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    *out = stream->context;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    DRIVER_ENTER("cuStreamGetCtx", CUDA_ERROR_INVALID_HANDLE, 0);
    if (!context)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    DRIVER_LEAVE(context_of(stream, context));
}

FAKE_API CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext *context,
                                    CUgreenCtx *green)
{
    CUresult result;

    DRIVER_ENTER("cuStreamGetCtx", CUDA_ERROR_INVALID_HANDLE, 0);
    if (!context || !green)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    result = context_of(stream, context);
    if (result == CUDA_SUCCESS) {
        *green = fake_green_of(*context);
        if (*green)
            *context = (*context)->handle.device->primary;
    }
    DRIVER_LEAVE(result);
}

FAKE_API CUresult cuStreamGetGreenCtx(CUstream stream, CUgreenCtx *green)
{
    CUcontext context;
    CUresult result;

    DRIVER_ENTER("cuStreamGetGreenCtx", CUDA_ERROR_INVALID_HANDLE, 0);
    if (!green)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    result = context_of(stream, &context);
    *green = result == CUDA_SUCCESS ? fake_green_of(context) : NULL;
    DRIVER_LEAVE(result);
}

FAKE_API CUresult cuStreamSynchronize(CUstream handle)
{
    CUstream stream;

    DRIVER_ENTER("cuStreamSynchronize", CUDA_ERROR_LAUNCH_FAILED,
                 FAKE_CONTEXT | FAKE_UNSAFE);
    stream = fake_stream_of(handle);
    if (!stream)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_HANDLE);
    DRIVER_LEAVE(fake_stream_finish(stream));
}

FAKE_API CUresult cuStreamQuery(CUstream handle)
{
    CUstream stream;

    DRIVER_ENTER("cuStreamQuery", CUDA_ERROR_LAUNCH_FAILED,
                 FAKE_CONTEXT | FAKE_UNSAFE);
    stream = fake_stream_of(handle);
    if (!stream)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_HANDLE);
    DRIVER_LEAVE(fake_stream_idle(stream) ? CUDA_SUCCESS
                                          : CUDA_ERROR_NOT_READY);
}
