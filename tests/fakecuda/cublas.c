/* cuBLAS handles: made on a device, bound to a stream, told how many SMs. */
#include "cublas.h"
#include "state.h"

enum {
    VERSION = 130100,
    OWN_BYTES = 8 << 20, /* device memory that each handle takes */
    CREATE_NS = 20000000
};

int fake_blas_is(cublasHandle_t handle)
{
    return handle && fake_handle_is(handle, FAKE_BLAS);
}

FAKE_API cublasStatus_t cublasCreate_v2(cublasHandle_t *out)
{
    cublasHandle_t made;
    struct fake_device *device;

    CUBLAS_ENTER("cublasCreate", CUBLAS_STATUS_NOT_INITIALIZED,
                 FAKE_CONTEXT | FAKE_UNSAFE);
    if (!out)
        CUBLAS_LEAVE(CUBLAS_STATUS_INVALID_VALUE);
    device = fake_current_device();
    if (!device)
        CUBLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED);
    if (fake_memory_free_bytes(device) < OWN_BYTES)
        CUBLAS_LEAVE(CUBLAS_STATUS_ALLOC_FAILED);
    made = fake_handle_new(FAKE_BLAS, sizeof *made, device);
    device->used_bytes += OWN_BYTES;
    fake_host_reach(fake_host_ns() + CREATE_NS);
    *out = made;
    CUBLAS_LEAVE(CUBLAS_STATUS_SUCCESS);
}

FAKE_API cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    CUBLAS_ENTER("cublasDestroy", CUBLAS_STATUS_NOT_INITIALIZED, FAKE_UNSAFE);
    if (!fake_blas_is(handle))
        CUBLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED);
    fake_capture_spoil_all(handle->handle.device); /* seen on an H200 */
    (void)fake_device_finish(handle->handle.device);
    handle->handle.device->used_bytes -= OWN_BYTES;
    fake_handle_end(handle);
    CUBLAS_LEAVE(CUBLAS_STATUS_SUCCESS);
}

FAKE_API cublasStatus_t cublasSetStream_v2(cublasHandle_t handle,
                                           cudaStream_t stream)
{
    CUstream found;

    CUBLAS_ENTER("cublasSetStream", CUBLAS_STATUS_NOT_INITIALIZED, 0);
    if (!fake_blas_is(handle))
        CUBLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED);
    if (stream && stream != cudaStreamLegacy && stream != cudaStreamPerThread) {
        found = fake_stream_of(stream);
        if (!found)
            CUBLAS_LEAVE(CUBLAS_STATUS_INVALID_VALUE);
        if (found->handle.device != handle->handle.device)
            fake_break("cublasSetStream: the handle is of device %d, the "
                       "stream of device %d",
                       handle->handle.device->number,
                       found->handle.device->number);
    }
    handle->stream = stream;
    handle->workspace = NULL; /* as the real one: back to its own */
    handle->workspace_bytes = 0;
    CUBLAS_LEAVE(CUBLAS_STATUS_SUCCESS);
}

FAKE_API cublasStatus_t cublasGetStream_v2(cublasHandle_t handle,
                                           cudaStream_t *out)
{
    CUBLAS_ENTER("cublasGetStream", CUBLAS_STATUS_NOT_INITIALIZED, 0);
    if (!fake_blas_is(handle))
        CUBLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED);
    if (!out)
        CUBLAS_LEAVE(CUBLAS_STATUS_INVALID_VALUE);
    *out = handle->stream;
    CUBLAS_LEAVE(CUBLAS_STATUS_SUCCESS);
}

FAKE_API cublasStatus_t cublasSetMathMode(cublasHandle_t handle,
                                          cublasMath_t mode)
{
    unsigned kind = (unsigned)mode & 0xf;

    CUBLAS_ENTER("cublasSetMathMode", CUBLAS_STATUS_NOT_INITIALIZED, 0);
    if (!fake_blas_is(handle))
        CUBLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED);
    if (kind > CUBLAS_TF32_TENSOR_OP_MATH)
        CUBLAS_LEAVE(CUBLAS_STATUS_INVALID_VALUE);
    handle->math = mode;
    CUBLAS_LEAVE(CUBLAS_STATUS_SUCCESS);
}

FAKE_API cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle,
                                                cublasPointerMode_t mode)
{
    CUBLAS_ENTER("cublasSetPointerMode", CUBLAS_STATUS_NOT_INITIALIZED, 0);
    if (!fake_blas_is(handle))
        CUBLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED);
    if (mode != CUBLAS_POINTER_MODE_HOST) /* products read scalars here */
        CUBLAS_LEAVE(CUBLAS_STATUS_NOT_SUPPORTED);
    CUBLAS_LEAVE(CUBLAS_STATUS_SUCCESS);
}

FAKE_API cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int count)
{
    CUBLAS_ENTER("cublasSetSmCountTarget", CUBLAS_STATUS_NOT_INITIALIZED, 0);
    if (!fake_blas_is(handle))
        CUBLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED);
    if (count < 0 || count > handle->handle.device->info.sm_count)
        CUBLAS_LEAVE(CUBLAS_STATUS_INVALID_VALUE);
    handle->sm_target = count;
    CUBLAS_LEAVE(CUBLAS_STATUS_SUCCESS);
}

FAKE_API cublasStatus_t cublasGetSmCountTarget(cublasHandle_t handle, int *out)
{
    CUBLAS_ENTER("cublasGetSmCountTarget", CUBLAS_STATUS_NOT_INITIALIZED,
                 FAKE_ALWAYS);
    if (!fake_blas_is(handle))
        CUBLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED);
    *out = handle->sm_target;
    CUBLAS_LEAVE(CUBLAS_STATUS_SUCCESS);
}

FAKE_API cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle,
                                              void *workspace, size_t bytes)
{
    CUBLAS_ENTER("cublasSetWorkspace", CUBLAS_STATUS_NOT_INITIALIZED, 0);
    if (!fake_blas_is(handle))
        CUBLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED);
    if (((uintptr_t)workspace & 255) != 0 ||
        (workspace && !fake_bytes(handle->handle.device, workspace, bytes)))
        CUBLAS_LEAVE(CUBLAS_STATUS_INVALID_VALUE);
    handle->workspace = workspace;
    handle->workspace_bytes = bytes;
    CUBLAS_LEAVE(CUBLAS_STATUS_SUCCESS);
}

FAKE_API cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *out)
{
    CUBLAS_ENTER("cublasGetVersion", CUBLAS_STATUS_NOT_INITIALIZED,
                 FAKE_ALWAYS);
    (void)handle; /* NULL is allowed */
    if (!out)
        CUBLAS_LEAVE(CUBLAS_STATUS_INVALID_VALUE);
    *out = VERSION;
    CUBLAS_LEAVE(CUBLAS_STATUS_SUCCESS);
}

/* ---- names ---------------------------------------------------------------- */

static const struct {
    cublasStatus_t code;
    const char *name, *words;
} names[] = {
    { CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success" },
    { CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED",
      "the library was not initialized" },
    { CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED",
      "the resource allocation failed" },
    { CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE",
      "an unsupported value or parameter was passed to the function" },
    { CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH",
      "the function requires an architectural feature absent from the "
      "device" },
    { CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR",
      "an access to GPU memory space failed" },
    { CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED",
      "the function failed to launch on the GPU" },
    { CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR",
      "an internal operation failed" },
    { CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED",
      "the requested functionality is not supported" },
    { CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR",
      "the license check failed" },
};

static const char unknown[] = "unrecognized status";

FAKE_API const char *cublasGetStatusName(cublasStatus_t status)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (names[i].code == status)
            return names[i].name;
    return unknown;
}

FAKE_API const char *cublasGetStatusString(cublasStatus_t status)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (names[i].code == status)
            return names[i].words;
    return unknown;
}
