/* The runtime: memory, its attributes, and copies. */
#include <stdlib.h>
#include <string.h>
#include "copy.h"
#include "memory.h"

enum { MEMORY = cudaErrorMemoryAllocation, VALUE = cudaErrorInvalidValue };

/* ---- giving out and taking back ------------------------------------------- */

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
    int code = fake_enter("cudaMalloc", MEMORY, FAKE_CONTEXT | FAKE_UNSAFE);

    if (code)
        return code;
    if (!devPtr)
        return fake_leave(cudaErrorInvalidValue);
    if (size == 0) {
        *devPtr = NULL;
        return fake_leave(0);
    }
    return fake_leave(fake_memory_device(fake_current_device(), size, devPtr));
}

cudaError_t cudaFree(void *devPtr)
{
    int code = fake_enter("cudaFree", VALUE, FAKE_CONTEXT | FAKE_UNSAFE);

    if (code)
        return code;
    return fake_leave(devPtr ? fake_memory_free(devPtr, FAKE_DEVICE_MEMORY)
                             : 0);
}

cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
    int code = fake_enter("cudaHostAlloc", MEMORY, FAKE_CONTEXT | FAKE_UNSAFE);

    if (code)
        return code;
    if (!pHost || flags > (cudaHostAllocPortable | cudaHostAllocMapped |
                           cudaHostAllocWriteCombined))
        return fake_leave(cudaErrorInvalidValue);
    if (size == 0) {
        *pHost = NULL;
        return fake_leave(0);
    }
    return fake_leave(fake_memory_pinned(fake_current_device(), size, pHost));
}

cudaError_t cudaFreeHost(void *ptr)
{
    int code = fake_enter("cudaFreeHost", VALUE, FAKE_CONTEXT | FAKE_UNSAFE);

    if (code)
        return code;
    return fake_leave(ptr ? fake_memory_free(ptr, FAKE_PINNED) : 0);
}

cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
    int code =
        fake_enter("cudaHostRegister", MEMORY, FAKE_CONTEXT | FAKE_UNSAFE);

    (void)flags;
    if (code)
        return code;
    if (!ptr || size == 0)
        return fake_leave(cudaErrorInvalidValue);
    return fake_leave(fake_memory_register(fake_current_device(), ptr, size));
}

cudaError_t cudaHostUnregister(void *ptr)
{
    int code =
        fake_enter("cudaHostUnregister", cudaErrorHostMemoryNotRegistered,
                   FAKE_CONTEXT | FAKE_UNSAFE);
    struct fake_block *block;

    if (code)
        return code;
    block = fake_block_of(ptr, 0);
    if (!block || block->memory != FAKE_REGISTERED || block->address != ptr)
        return fake_leave(cudaErrorHostMemoryNotRegistered);
    return fake_leave(fake_memory_free(ptr, FAKE_REGISTERED));
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    int code = fake_enter("cudaMemGetInfo", cudaErrorUnknown, FAKE_CONTEXT);
    struct fake_device *device;

    if (code)
        return code;
    device = fake_current_device();
    *free = (size_t)fake_memory_free_bytes(device);
    *total = (size_t)device->info.memory_bytes;
    return fake_leave(0);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                     const void *ptr)
{
    int code = fake_enter("cudaPointerGetAttributes", VALUE, 0);
    struct fake_block *block;

    if (code)
        return code;
    memset(attributes, 0, sizeof *attributes);
    block = fake_block_of(ptr, 1);
    attributes->device = cudaInvalidDeviceId;
    if (!block)
        return fake_leave(0);
    attributes->device = block->device->visible;
    attributes->devicePointer = (void *)(uintptr_t)ptr;
    attributes->type = cudaMemoryTypeDevice;
    if (block->memory != FAKE_DEVICE_MEMORY) {
        attributes->type = cudaMemoryTypeHost;
        attributes->hostPointer = (void *)(uintptr_t)ptr;
    }
    return fake_leave(0);
}

/* ---- copies --------------------------------------------------------------- */

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count,
                            enum cudaMemcpyKind kind, cudaStream_t stream)
{
    int code = fake_enter("cudaMemcpyAsync", VALUE, FAKE_CONTEXT);
    const struct fake_copy asked = { dst,   src, count, count,
                                     count, 1,   kind,  stream };

    return code ? code : fake_leave(fake_copy(&asked));
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src,
                              size_t spitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    int code = fake_enter("cudaMemcpy2DAsync", VALUE, FAKE_CONTEXT);
    const struct fake_copy asked = { dst,   src,    dpitch, spitch,
                                     width, height, kind,   stream };

    return code ? code : fake_leave(fake_copy(&asked));
}

cudaError_t cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src,
                                int srcDevice, size_t count,
                                cudaStream_t stream)
{
    int code = fake_enter("cudaMemcpyPeerAsync", VALUE, FAKE_CONTEXT);
    const struct fake_copy asked = {
        dst, src, count, count, count, 1, cudaMemcpyDefault, stream
    };

    if (code)
        return code;
    if (!fake_device(dstDevice) || !fake_device(srcDevice))
        return fake_leave(cudaErrorInvalidDevice);
    return fake_leave(fake_copy(&asked));
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t count,
                       enum cudaMemcpyKind kind)
{
    int code = fake_enter("cudaMemcpy", VALUE, FAKE_CONTEXT | FAKE_UNSAFE);
    const struct fake_copy asked = { dst,   src, count, count,
                                     count, 1,   kind,  NULL };

    if (code)
        return code;
    code = fake_copy(&asked);
    return fake_leave(code ? code : fake_stream_finish(fake_stream_of(NULL)));
}

cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count,
                            cudaStream_t stream)
{
    int code = fake_enter("cudaMemsetAsync", VALUE, FAKE_CONTEXT);
    const unsigned char byte = (unsigned char)value;
    const struct fake_fill asked = { devPtr, count, &byte, 1, stream };

    return code ? code : fake_leave(fake_fill(&asked));
}
