/* The driver's devices: their names, numbers and attributes. */
#include <stdio.h>
#include <string.h>
#include "driver.h"

FAKE_API CUresult cuInit(unsigned int flags)
{
    DRIVER_ENTER("cuInit", CUDA_ERROR_OPERATING_SYSTEM, 0);
    DRIVER_LEAVE(flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

FAKE_API CUresult cuDriverGetVersion(int *version)
{
    DRIVER_ENTER("cuDriverGetVersion", CUDA_ERROR_INVALID_VALUE, FAKE_ALWAYS);
    if (!version)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    *version = fake_driver_version();
    DRIVER_LEAVE(CUDA_SUCCESS);
}

FAKE_API CUresult cuDeviceGetCount(int *count)
{
    DRIVER_ENTER("cuDeviceGetCount", CUDA_ERROR_INVALID_CONTEXT, 0);
    if (!count)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    *count = fake_device_count();
    DRIVER_LEAVE(CUDA_SUCCESS);
}

FAKE_API CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    DRIVER_ENTER("cuDeviceGet", CUDA_ERROR_INVALID_DEVICE, 0);
    if (!device)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (!fake_device(ordinal))
        DRIVER_LEAVE(CUDA_ERROR_INVALID_DEVICE);
    *device = ordinal;
    DRIVER_LEAVE(CUDA_SUCCESS);
}

FAKE_API CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
    struct fake_device *found;

    DRIVER_ENTER("cuDeviceGetName", CUDA_ERROR_INVALID_DEVICE, 0);
    found = fake_device(device);
    if (!found)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_DEVICE);
    if (!name || length <= 0)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    fake_touch(found);
    (void)snprintf(name, (size_t)length, "%s", found->info.name);
    DRIVER_LEAVE(CUDA_SUCCESS);
}

static unsigned hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    return (unsigned)((c | 0x20) - 'a') + 10;
}

/* "GPU-" or "MIG-", then 32 hexadecimal digits with dashes. */
void fake_uuid(unsigned char out[16], const struct fake_device *device)
{
    const char *at = device->info.uuid;
    int digits = 0;

    memset(out, 0, 16);
    if (strncmp(at, "GPU-", 4) == 0 || strncmp(at, "MIG-", 4) == 0)
        at += 4;
    for (; *at && digits < 32; ++at) {
        unsigned digit = hex_digit(*at);
        if (*at == '-' || digit > 15)
            continue;
        out[digits / 2] =
            (unsigned char)(digits % 2 ? out[digits / 2] | digit : digit << 4);
        digits++;
    }
}

FAKE_API CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    struct fake_device *found;

    DRIVER_ENTER("cuDeviceGetUuid", CUDA_ERROR_INVALID_DEVICE, 0);
    found = fake_device(device);
    if (!found)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_DEVICE);
    if (!uuid)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    fake_touch(found);
    fake_uuid((unsigned char *)uuid->bytes, found);
    DRIVER_LEAVE(CUDA_SUCCESS);
}

/* Domain, bus, device of "0000:65:00.0". */
static int pci_part(const struct fake_device *device, int part)
{
    unsigned number[3] = { 0, 0, 0 };

    (void)sscanf(device->info.pci, "%x:%x:%x", &number[0], &number[1],
                 &number[2]);
    return (int)number[part];
}

static int threads_of_sm(const struct fake_device *device)
{
    if (device->info.compute_major == 7 && device->info.compute_minor == 5)
        return 1024;
    return device->info.compute_major == 8 && device->info.compute_minor > 0
               ? 1536
               : 2048;
}

static int identity(int *out, int attribute, const struct fake_device *device)
{
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *out = device->info.sm_count;
        return 0;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *out = device->info.compute_major;
        return 0;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *out = device->info.compute_minor;
        return 0;
    case CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT:
        *out = device->info.display;
        return 0;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
        *out = device->compute_mode;
        return 0;
    case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
        *out = pci_part(device, 0);
        return 0;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
        *out = pci_part(device, 1);
        return 0;
    case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
        *out = pci_part(device, 2);
        return 0;
    default:
        return 1;
    }
}

int fake_attribute(int *out, int attribute, const struct fake_device *device)
{
    if (identity(out, attribute, device) == 0)
        return 0;
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
        *out = 32;
        return 0;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
        *out = 1024;
        return 0;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
        *out = threads_of_sm(device);
        return 0;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
        *out = 49152;
        return 0;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
        *out = 1;
        return 0;
    case CU_DEVICE_ATTRIBUTE_INTEGRATED:
    case CU_DEVICE_ATTRIBUTE_ECC_ENABLED:
        *out = 0;
        return 0;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
        *out = 2;
        return 0;
    default:
        return 1;
    }
}

FAKE_API CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                                       CUdevice device)
{
    struct fake_device *found;

    DRIVER_ENTER("cuDeviceGetAttribute", CUDA_ERROR_INVALID_DEVICE, 0);
    found = fake_device(device);
    if (!found)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_DEVICE);
    if (!value || fake_attribute(value, (int)attribute, found) != 0)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    fake_touch(found);
    DRIVER_LEAVE(CUDA_SUCCESS);
}
