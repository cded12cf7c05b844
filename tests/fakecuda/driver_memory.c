/* Memory and copies by the driver's own names, as programs without the runtime
 * use them. */
#include "copy.h"
#include "driver.h"
#include "memory.h"

/* ---- giving out ----------------------------------------------------------- */

FAKE_API CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
    void *found = NULL;
    int code;

    DRIVER_ENTER("cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY,
                 FAKE_CONTEXT | FAKE_UNSAFE);
    if (!out || bytes == 0)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    code = fake_memory_device(fake_current_device(), bytes, &found);
    if (code == 0)
        *out = (CUdeviceptr)(uintptr_t)found;
    DRIVER_LEAVE(code);
}

FAKE_API CUresult cuMemFree_v2(CUdeviceptr pointer)
{
    DRIVER_ENTER("cuMemFree", CUDA_ERROR_INVALID_VALUE,
                 FAKE_CONTEXT | FAKE_UNSAFE);
    if (pointer == 0)
        DRIVER_LEAVE(CUDA_SUCCESS);
    DRIVER_LEAVE(
        fake_memory_free((void *)(uintptr_t)pointer, FAKE_DEVICE_MEMORY));
}

FAKE_API CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    const struct fake_device *device;

    DRIVER_ENTER("cuMemGetInfo", CUDA_ERROR_INVALID_CONTEXT, FAKE_CONTEXT);
    if (!free_bytes || !total)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    device = fake_current_device();
    *free_bytes = (size_t)fake_memory_free_bytes(device);
    *total = (size_t)device->info.memory_bytes;
    DRIVER_LEAVE(CUDA_SUCCESS);
}

/* ---- copies and fills ----------------------------------------------------- */

/* The lock is held. */
static int copy(void *target, const void *source, size_t bytes,
                enum cudaMemcpyKind kind, CUstream stream)
{
    const struct fake_copy asked = { target, source, bytes, bytes,
                                     bytes,  1,      kind,  stream };

    return fake_copy(&asked);
}

FAKE_API CUresult cuMemcpyAsync(CUdeviceptr target, CUdeviceptr source,
                                size_t bytes, CUstream stream)
{
    DRIVER_ENTER("cuMemcpyAsync", CUDA_ERROR_INVALID_VALUE, FAKE_CONTEXT);
    DRIVER_LEAVE(copy((void *)(uintptr_t)target,
                      (const void *)(uintptr_t)source, bytes, cudaMemcpyDefault,
                      stream));
}

FAKE_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr target, const void *source,
                                       size_t bytes, CUstream stream)
{
    DRIVER_ENTER("cuMemcpyHtoDAsync", CUDA_ERROR_INVALID_VALUE, FAKE_CONTEXT);
    DRIVER_LEAVE(copy((void *)(uintptr_t)target, source, bytes,
                      cudaMemcpyHostToDevice, stream));
}

FAKE_API CUresult cuMemcpyDtoHAsync_v2(void *target, CUdeviceptr source,
                                       size_t bytes, CUstream stream)
{
    DRIVER_ENTER("cuMemcpyDtoHAsync", CUDA_ERROR_INVALID_VALUE, FAKE_CONTEXT);
    DRIVER_LEAVE(copy(target, (const void *)(uintptr_t)source, bytes,
                      cudaMemcpyDeviceToHost, stream));
}

/* Elements of a pattern's size, which their address is a multiple of. */
static int fill(CUdeviceptr target, const void *pattern, size_t width,
                size_t count, CUstream stream)
{
    const struct fake_fill asked = { (void *)(uintptr_t)target, count * width,
                                     pattern, width, stream };

    if (target % width != 0 || count > SIZE_MAX / width)
        return CUDA_ERROR_INVALID_VALUE;
    return fake_fill(&asked);
}

FAKE_API CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char value,
                                  size_t count, CUstream stream)
{
    DRIVER_ENTER("cuMemsetD8Async", CUDA_ERROR_INVALID_VALUE, FAKE_CONTEXT);
    DRIVER_LEAVE(fill(target, &value, sizeof value, count, stream));
}

FAKE_API CUresult cuMemsetD32Async(CUdeviceptr target, unsigned value,
                                   size_t count, CUstream stream)
{
    DRIVER_ENTER("cuMemsetD32Async", CUDA_ERROR_INVALID_VALUE, FAKE_CONTEXT);
    DRIVER_LEAVE(fill(target, &value, sizeof value, count, stream));
}
