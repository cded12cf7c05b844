/* The runtime: memory, its attributes, and copies. */
#include <stdlib.h>
#include <string.h>
#include "copy.h"
#include "memory.h"
#include "runtime.h"

enum { MEMORY = cudaErrorMemoryAllocation, VALUE = cudaErrorInvalidValue };

/* ---- giving out and taking back ------------------------------------------- */

/* Returns once nothing runs on the device, as an H200 does. Pinned memory is in
 * reach of all of them, so let it wait for all. */
static int take_back(void *pointer, enum fake_memory kind)
{
    const struct fake_block *block = fake_block_of(pointer, 0);
    struct fake_device *device = block ? block->device : NULL;
    int code = fake_memory_free(pointer, kind);

    for (int i = 0; !code && fake_device(i); ++i)
        if (kind != FAKE_DEVICE_MEMORY || fake_device(i) == device)
            code = fake_device_finish(fake_device(i));
    return code;
}

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
    cudaError_t code = enter("cudaMalloc", MEMORY, FAKE_CONTEXT | FAKE_UNSAFE);

    if (code)
        return code;
    if (!devPtr)
        return leave(cudaErrorInvalidValue);
    if (size == 0) {
        *devPtr = NULL;
        return leave(0);
    }
    return leave(fake_memory_device(fake_current_device(), size, devPtr));
}

cudaError_t cudaFree(void *devPtr)
{
    cudaError_t code = enter("cudaFree", VALUE, FAKE_CONTEXT | FAKE_UNSAFE);

    if (code)
        return code;
    return leave(devPtr ? take_back(devPtr, FAKE_DEVICE_MEMORY) : 0);
}

cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
    cudaError_t code =
        enter("cudaHostAlloc", MEMORY, FAKE_CONTEXT | FAKE_UNSAFE);

    if (code)
        return code;
    if (!pHost || flags > (cudaHostAllocPortable | cudaHostAllocMapped |
                           cudaHostAllocWriteCombined))
        return leave(cudaErrorInvalidValue);
    if (size == 0) {
        *pHost = NULL;
        return leave(0);
    }
    return leave(fake_memory_pinned(fake_current_device(), size, pHost));
}

cudaError_t cudaFreeHost(void *ptr)
{
    cudaError_t code = enter("cudaFreeHost", VALUE, FAKE_CONTEXT | FAKE_UNSAFE);

    if (code)
        return code;
    return leave(ptr ? take_back(ptr, FAKE_PINNED) : 0);
}

cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
    cudaError_t code =
        enter("cudaHostRegister", MEMORY, FAKE_CONTEXT | FAKE_UNSAFE);

    (void)flags;
    if (code)
        return code;
    if (!ptr || size == 0)
        return leave(cudaErrorInvalidValue);
    return leave(fake_memory_register(fake_current_device(), ptr, size));
}

cudaError_t cudaHostUnregister(void *ptr)
{
    cudaError_t code =
        enter("cudaHostUnregister", cudaErrorHostMemoryNotRegistered,
              FAKE_CONTEXT | FAKE_UNSAFE);
    struct fake_block *block;

    if (code)
        return code;
    block = fake_block_of(ptr, 0);
    if (!block || block->memory != FAKE_REGISTERED || block->address != ptr)
        return leave(cudaErrorHostMemoryNotRegistered);
    return leave(take_back(ptr, FAKE_REGISTERED));
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    cudaError_t code = enter("cudaMemGetInfo", cudaErrorUnknown, FAKE_CONTEXT);
    struct fake_device *device;

    if (code)
        return code;
    device = fake_current_device();
    *free = (size_t)fake_memory_free_bytes(device);
    *total = (size_t)device->info.memory_bytes;
    return leave(0);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                     const void *ptr)
{
    cudaError_t code = enter("cudaPointerGetAttributes", VALUE, 0);
    struct fake_block *block;

    if (code)
        return code;
    memset(attributes, 0, sizeof *attributes);
    block = fake_block_of(ptr, 1);
    attributes->device = cudaInvalidDeviceId;
    attributes->hostPointer = (void *)(uintptr_t)ptr;
    if (!block)
        return leave(0);
    attributes->device = block->device->visible;
    attributes->devicePointer = (void *)(uintptr_t)ptr;
    attributes->type = cudaMemoryTypeHost;
    if (block->memory == FAKE_DEVICE_MEMORY) {
        attributes->type = cudaMemoryTypeDevice;
        attributes->hostPointer = NULL;
    }
    return leave(0);
}

/* ---- copies --------------------------------------------------------------- */

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count,
                            enum cudaMemcpyKind kind, cudaStream_t stream)
{
    cudaError_t code = enter("cudaMemcpyAsync", VALUE, FAKE_CONTEXT);
    const struct fake_copy asked = { dst,   src, count, count,
                                     count, 1,   kind,  stream };

    return code ? code : leave(fake_copy(&asked));
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src,
                              size_t spitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    cudaError_t code = enter("cudaMemcpy2DAsync", VALUE, FAKE_CONTEXT);
    const struct fake_copy asked = { dst,   src,    dpitch, spitch,
                                     width, height, kind,   stream };

    return code ? code : leave(fake_copy(&asked));
}

cudaError_t cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src,
                                int srcDevice, size_t count,
                                cudaStream_t stream)
{
    cudaError_t code = enter("cudaMemcpyPeerAsync", VALUE, FAKE_CONTEXT);
    const struct fake_copy asked = {
        dst, src, count, count, count, 1, cudaMemcpyDefault, stream
    };

    if (code)
        return code;
    if (!fake_device(dstDevice) || !fake_device(srcDevice))
        return leave(cudaErrorInvalidDevice);
    return leave(fake_copy(&asked));
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t count,
                       enum cudaMemcpyKind kind)
{
    cudaError_t code = enter("cudaMemcpy", VALUE, FAKE_CONTEXT | FAKE_UNSAFE);
    const struct fake_copy asked = { dst,   src, count, count,
                                     count, 1,   kind,  NULL };
    int done;

    if (code)
        return code;
    done = fake_copy(&asked);
    return leave(done ? done : fake_stream_finish(fake_stream_of(NULL)));
}

cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count,
                            cudaStream_t stream)
{
    cudaError_t code = enter("cudaMemsetAsync", VALUE, FAKE_CONTEXT);
    const unsigned char byte = (unsigned char)value;
    const struct fake_fill asked = { devPtr, count, &byte, 1, stream };

    return code ? code : leave(fake_fill(&asked));
}
