/* The runtime: versions, errors, devices, peers, the way to the driver. */
#include <stdio.h>
#include <string.h>
#include "driver.h"
#include "runtime.h"

enum {
    VALUE = cudaErrorInvalidValue,
    DEVICE = cudaErrorInvalidDevice,
    UNKNOWN = cudaErrorUnknown
};

/* Bytes a second that no slot for cards has. */
static const double NVLINK_LEAST = 64e9;

/* ---- versions and errors -------------------------------------------------- */

cudaError_t cudaDriverGetVersion(int *driverVersion)
{
    cudaError_t code = enter("cudaDriverGetVersion", VALUE, FAKE_ALWAYS);

    if (code)
        return code;
    *driverVersion = fake_driver_version();
    return leave(0);
}

cudaError_t cudaRuntimeGetVersion(int *runtimeVersion)
{
    cudaError_t code = enter("cudaRuntimeGetVersion", VALUE, FAKE_ALWAYS);

    if (code)
        return code;
    *runtimeVersion = CUDART_VERSION;
    return leave(0);
}

/* Neither poison nor the lack of a driver goes away by being read. */
static int pending(int clear)
{
    struct fake_thread *self = fake_self();
    int code = self->pending;

    if (fake.poison)
        return fake.poison;
    if (clear && code != cudaErrorInsufficientDriver)
        self->pending = 0;
    return code;
}

static cudaError_t tell_pending(const char *function, int clear)
{
    cudaError_t code = enter(function, 0, FAKE_ALWAYS | FAKE_SAFE);

    if (code)
        return code;
    code = (cudaError_t)pending(clear);
    leave(0);
    return code;
}

cudaError_t cudaGetLastError(void)
{
    return tell_pending("cudaGetLastError", 1);
}

cudaError_t cudaPeekAtLastError(void)
{
    return tell_pending("cudaPeekAtLastError", 0);
}

/* ---- devices -------------------------------------------------------------- */

cudaError_t cudaGetDeviceCount(int *count)
{
    cudaError_t code = enter("cudaGetDeviceCount", cudaErrorNoDevice, 0);

    if (code)
        return code;
    *count = fake_device_count();
    return leave(0);
}

cudaError_t cudaGetDevice(int *device)
{
    cudaError_t code = enter("cudaGetDevice", UNKNOWN, 0);

    if (code)
        return code;
    *device = fake_self()->ordinal;
    return leave(0);
}

static int make_current(int ordinal, int current)
{
    struct fake_device *device = fake_device(ordinal);
    CUcontext context;
    int code;

    if (!device)
        return cudaErrorInvalidDevice;
    fake_touch(device);
    code = fake_primary(device, &context);
    if (!code && current)
        fake_set_context(context);
    return code;
}

cudaError_t cudaSetDevice(int device)
{
    cudaError_t code = enter("cudaSetDevice", cudaErrorDevicesUnavailable, 0);

    return code ? code : leave(make_current(device, 1));
}

cudaError_t cudaInitDevice(int device, unsigned int deviceFlags,
                           unsigned int flags)
{
    cudaError_t code = enter("cudaInitDevice", cudaErrorDevicesUnavailable, 0);

    (void)deviceFlags;
    (void)flags;
    return code ? code : leave(make_current(device, 0));
}

cudaError_t cudaDeviceSynchronize(void)
{
    cudaError_t code = enter("cudaDeviceSynchronize", cudaErrorLaunchFailure,
                             FAKE_CONTEXT | FAKE_UNSAFE);

    return code ? code : leave(fake_device_finish(fake_current_device()));
}

/* ---- what a device is ----------------------------------------------------- */

static unsigned pci_part(const hdp_device *info, int part)
{
    unsigned domain = 0, bus = 0, slot = 0;

    if (sscanf(info->pci, "%x:%x:%x", &domain, &bus, &slot) < 3)
        return 0;
    return part == 0 ? domain : part == 1 ? bus : slot;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr,
                                   int device)
{
    cudaError_t code = enter("cudaDeviceGetAttribute", DEVICE, 0);
    struct fake_device *found;

    if (code)
        return code;
    found = fake_device(device);
    if (!found)
        return leave(cudaErrorInvalidDevice);
    fake_touch(found);
    return leave(fake_attribute(value, (int)attr, found));
}

static void describe(const struct fake_device *device,
                     struct cudaDeviceProp *out)
{
    const hdp_device *info = &device->info;

    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%s", info->name);
    fake_uuid((unsigned char *)out->uuid.bytes, device);
    out->totalGlobalMem = (size_t)info->memory_bytes;
    out->sharedMemPerBlock = 49152;
    out->regsPerBlock = 65536;
    out->warpSize = 32;
    out->maxThreadsPerBlock = 1024;
    out->maxThreadsDim[0] = out->maxThreadsDim[1] = 1024;
    out->maxThreadsDim[2] = 64;
    out->maxGridSize[0] = 2147483647;
    out->maxGridSize[1] = out->maxGridSize[2] = 65535;
    out->major = info->compute_major;
    out->minor = info->compute_minor;
    out->multiProcessorCount = info->sm_count;
    out->canMapHostMemory = 1;
    out->concurrentKernels = 1;
    out->pciBusID = (int)pci_part(info, 1);
    out->pciDeviceID = (int)pci_part(info, 2);
    out->pciDomainID = (int)pci_part(info, 0);
    out->asyncEngineCount = 2;
    out->unifiedAddressing = 1;
    out->maxThreadsPerMultiProcessor = 1536;
    out->hostRegisterSupported = 1;
    out->memoryPoolsSupported = 1;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    cudaError_t code = enter("cudaGetDeviceProperties", DEVICE, 0);
    struct fake_device *found;

    if (code)
        return code;
    found = fake_device(device);
    if (!found)
        return leave(cudaErrorInvalidDevice);
    fake_touch(found);
    describe(found, prop);
    return leave(0);
}

cudaError_t cudaDeviceGetPCIBusId(char *pciBusId, int len, int device)
{
    cudaError_t code = enter("cudaDeviceGetPCIBusId", DEVICE, 0);
    struct fake_device *found;

    if (code)
        return code;
    found = fake_device(device);
    if (!found)
        return leave(cudaErrorInvalidDevice);
    if (!pciBusId || len < (int)strlen(found->info.pci) + 1)
        return leave(cudaErrorInvalidValue);
    fake_touch(found);
    snprintf(pciBusId, (size_t)len, "%s", found->info.pci);
    return leave(0);
}

/* ---- peers ---------------------------------------------------------------- */

cudaError_t cudaDeviceCanAccessPeer(int *canAccessPeer, int device,
                                    int peerDevice)
{
    cudaError_t code = enter("cudaDeviceCanAccessPeer", DEVICE, 0);
    struct fake_device *one, *other;

    if (code)
        return code;
    one = fake_device(device);
    other = fake_device(peerDevice);
    if (!one || !other)
        return leave(cudaErrorInvalidDevice);
    fake_touch(one);
    fake_touch(other);
    *canAccessPeer = 0;
    if (one != other)
        fake_link(one, other, canAccessPeer);
    return leave(0);
}

/* Atomics cross NVLink alone, and no slot is as fast as that. */
cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attr,
                                      int srcDevice, int dstDevice)
{
    cudaError_t code = enter("cudaDeviceGetP2PAttribute", DEVICE, 0);
    struct fake_device *one, *other;
    double speed;
    int peer = 0;

    if (code)
        return code;
    one = fake_device(srcDevice);
    other = fake_device(dstDevice);
    if (!one || !other || one == other)
        return leave(cudaErrorInvalidDevice);
    fake_touch(one);
    fake_touch(other);
    speed = fake_link(one, other, &peer);
    if (attr == cudaDevP2PAttrAccessSupported)
        *value = peer;
    else if (attr == cudaDevP2PAttrNativeAtomicSupported)
        *value = peer && speed > NVLINK_LEAST;
    else
        return leave(cudaErrorInvalidValue);
    return leave(0);
}

cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
    cudaError_t code = enter("cudaDeviceEnablePeerAccess",
                             cudaErrorPeerAccessUnsupported, FAKE_CONTEXT);
    struct fake_device *own, *other;
    CUcontext context;
    int peer = 0, made;

    if (code)
        return code;
    own = fake_current_device();
    other = fake_device(peerDevice);
    if (!other)
        return leave(cudaErrorInvalidDevice);
    if (flags != 0)
        return leave(cudaErrorInvalidValue);
    fake_touch(other);
    fake_link(own, other, &peer);
    if (!peer || other == own)
        return leave(cudaErrorPeerAccessUnsupported);
    if (own->peers >> other->number & 1)
        return leave(cudaErrorPeerAccessAlreadyEnabled);
    made = fake_primary(other, &context);
    if (!made)
        own->peers |= UINT64_C(1) << other->number;
    return leave(made);
}

cudaError_t cudaDeviceDisablePeerAccess(int peerDevice)
{
    cudaError_t code = enter("cudaDeviceDisablePeerAccess",
                             cudaErrorPeerAccessNotEnabled, FAKE_CONTEXT);
    struct fake_device *own, *other;

    if (code)
        return code;
    own = fake_current_device();
    other = fake_device(peerDevice);
    if (!other)
        return leave(cudaErrorInvalidDevice);
    if (!(own->peers >> other->number & 1))
        return leave(cudaErrorPeerAccessNotEnabled);
    own->peers &= ~(UINT64_C(1) << other->number);
    return leave(0);
}

/* ---- the driver's functions ----------------------------------------------- */

static void look_up(const char *symbol, void **out, unsigned version,
                    enum cudaDriverEntryPointQueryResult *status)
{
    enum cudaDriverEntryPointQueryResult result =
        cudaDriverEntryPointSymbolNotFound;

    *out = NULL;
    for (const struct fake_entry *at = fake_entries; at->symbol; at++)
        if (strcmp(at->symbol, symbol) == 0) {
            if (at->since > (int)version || at->since > fake_driver_version()) {
                result = cudaDriverEntryPointVersionNotSufficent;
                continue; /* an older form may follow */
            }
            memcpy(out, &at->function, sizeof *out);
            result = cudaDriverEntryPointSuccess;
            break;
        }
    if (status)
        *status = result;
}

static cudaError_t entry_point(const char *function, const char *symbol,
                               void **out, unsigned version,
                               enum cudaDriverEntryPointQueryResult *status)
{
    cudaError_t code = enter(function, cudaErrorNotSupported, 0);

    if (code)
        return code;
    if (!symbol || !out)
        return leave(cudaErrorInvalidValue);
    look_up(symbol, out, version, status);
    return leave(0);
}

cudaError_t cudaGetDriverEntryPointByVersion(
    const char *symbol, void **funcPtr, unsigned int cudaVersion,
    unsigned long long flags,
    enum cudaDriverEntryPointQueryResult *driverStatus)
{
    (void)flags;
    return entry_point("cudaGetDriverEntryPointByVersion", symbol, funcPtr,
                       cudaVersion, driverStatus);
}

cudaError_t
cudaGetDriverEntryPoint(const char *symbol, void **funcPtr,
                        unsigned long long flags,
                        enum cudaDriverEntryPointQueryResult *driverStatus)
{
    (void)flags;
    return entry_point("cudaGetDriverEntryPoint", symbol, funcPtr,
                       CUDART_VERSION, driverStatus);
}
