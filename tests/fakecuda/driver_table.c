/* The driver's functions by name: what cudaGetDriverEntryPoint hands out, and
 * the plain names of those that the header gives a version. */
#include "driver.h"

#undef cuDeviceGetUuid
#undef cuCtxPushCurrent
#undef cuCtxPopCurrent
#undef cuDevicePrimaryCtxRelease
#undef cuMemAlloc
#undef cuMemFree
#undef cuMemGetInfo
#undef cuMemcpyHtoDAsync
#undef cuMemcpyDtoHAsync

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device);
CUresult cuCtxPushCurrent(CUcontext context);
CUresult cuCtxPopCurrent(CUcontext *context);
CUresult cuDevicePrimaryCtxRelease(CUdevice device);
CUresult cuMemAlloc(CUdeviceptr *out, size_t bytes);
CUresult cuMemFree(CUdeviceptr pointer);
CUresult cuMemGetInfo(size_t *free_bytes, size_t *total);
CUresult cuMemcpyHtoDAsync(CUdeviceptr target, const void *source, size_t bytes,
                           CUstream stream);
CUresult cuMemcpyDtoHAsync(void *target, CUdeviceptr source, size_t bytes,
                           CUstream stream);

FAKE_API CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    return cuDeviceGetUuid_v2(uuid, device);
}

FAKE_API CUresult cuCtxPushCurrent(CUcontext context)
{
    return cuCtxPushCurrent_v2(context);
}

FAKE_API CUresult cuCtxPopCurrent(CUcontext *context)
{
    return cuCtxPopCurrent_v2(context);
}

FAKE_API CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    return cuDevicePrimaryCtxRelease_v2(device);
}

FAKE_API CUresult cuMemAlloc(CUdeviceptr *out, size_t bytes)
{
    return cuMemAlloc_v2(out, bytes);
}

FAKE_API CUresult cuMemFree(CUdeviceptr pointer)
{
    return cuMemFree_v2(pointer);
}

FAKE_API CUresult cuMemGetInfo(size_t *free_bytes, size_t *total)
{
    return cuMemGetInfo_v2(free_bytes, total);
}

FAKE_API CUresult cuMemcpyHtoDAsync(CUdeviceptr target, const void *source,
                                    size_t bytes, CUstream stream)
{
    return cuMemcpyHtoDAsync_v2(target, source, bytes, stream);
}

FAKE_API CUresult cuMemcpyDtoHAsync(void *target, CUdeviceptr source,
                                    size_t bytes, CUstream stream)
{
    return cuMemcpyDtoHAsync_v2(target, source, bytes, stream);
}

#define PLAIN(name, since)                                                     \
    {                                                                          \
#name, since, (void (*)(void))name                                     \
    }
#define VERSIONED(name, since, version)                                        \
    {                                                                          \
#name, since, (void (*)(void))name##version                            \
    }

/* Of names that stand here twice, the first that is old enough is meant. */
const struct fake_entry fake_entries[] = {
    PLAIN(cuInit, 2000),
    PLAIN(cuDriverGetVersion, 2020),
    PLAIN(cuGetErrorName, 6000),
    PLAIN(cuGetErrorString, 6000),
    PLAIN(cuDeviceGetCount, 2000),
    PLAIN(cuDeviceGet, 2000),
    PLAIN(cuDeviceGetName, 2000),
    VERSIONED(cuDeviceGetUuid, 11040, _v2),
    PLAIN(cuDeviceGetAttribute, 2000),
    PLAIN(cuCtxGetCurrent, 4000),
    PLAIN(cuCtxSetCurrent, 4000),
    VERSIONED(cuCtxPushCurrent, 4000, _v2),
    VERSIONED(cuCtxPopCurrent, 4000, _v2),
    PLAIN(cuCtxGetDevice, 2000),
    PLAIN(cuDevicePrimaryCtxRetain, 7000),
    VERSIONED(cuDevicePrimaryCtxRelease, 11000, _v2),
    PLAIN(cuDevicePrimaryCtxGetState, 7000),
    PLAIN(cuLibraryLoadData, 12000),
    PLAIN(cuLibraryUnload, 12000),
    PLAIN(cuLibraryGetKernel, 12000),
    PLAIN(cuKernelGetFunction, 12000),
    PLAIN(cuLaunchKernel, 4000),
    VERSIONED(cuMemAlloc, 3020, _v2),
    VERSIONED(cuMemFree, 3020, _v2),
    VERSIONED(cuMemGetInfo, 3020, _v2),
    PLAIN(cuMemcpyAsync, 4000),
    VERSIONED(cuMemcpyHtoDAsync, 3020, _v2),
    VERSIONED(cuMemcpyDtoHAsync, 3020, _v2),
    PLAIN(cuMemsetD8Async, 3020),
    PLAIN(cuMemsetD32Async, 3020),
    PLAIN(cuThreadExchangeStreamCaptureMode, 10010),
    PLAIN(cuStreamSynchronize, 2000),
    PLAIN(cuStreamQuery, 2000),
    VERSIONED(cuStreamGetCtx, 12050, _v2),
    PLAIN(cuStreamGetCtx, 9020),
    PLAIN(cuStreamGetGreenCtx, 12040),
    PLAIN(cuDeviceGetDevResource, 12040),
    PLAIN(cuCtxGetDevResource, 12040),
    PLAIN(cuGreenCtxGetDevResource, 12040),
    PLAIN(cuDevSmResourceSplitByCount, 12040),
    PLAIN(cuDevResourceGenerateDesc, 12040),
    PLAIN(cuGreenCtxCreate, 12040),
    PLAIN(cuGreenCtxDestroy, 12040),
    PLAIN(cuCtxFromGreenCtx, 12040),
    PLAIN(cuGreenCtxRecordEvent, 12040),
    PLAIN(cuGreenCtxWaitEvent, 12040),
    PLAIN(cuGreenCtxStreamCreate, 12050),
    { NULL, 0, NULL },
};
