/* The management library on the described machine: all its devices, whatever
 * the mask, and who else is on them. */
#include <stdio.h>
#include <string.h>
#include "nvml_inner.h"

/* Held between nvmlInit_v2() and nvmlShutdown(), of one fake_start(). */
static int references, generation;

/* The lock is held. */
static int is_started(void)
{
    return references > 0 && generation == atomic_load(&fake.generation);
}

/* A handle is the number of a device, from 1. */
static struct fake_device *device_of(nvmlDevice_t handle)
{
    return fake_device_at((int)(uintptr_t)handle - 1);
}

static nvmlDevice_t handle_of(const struct fake_device *device)
{
    return (nvmlDevice_t)(uintptr_t)(device->number + 1);
}

int fake_nvml_find(struct fake_device **out, nvmlDevice_t handle,
                   const void *to)
{
    if (!is_started())
        return NVML_ERROR_UNINITIALIZED;
    *out = device_of(handle);
    return *out && to ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

static int copy_text(char *out, unsigned length, const char *text)
{
    if (strlen(text) >= length)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(out, text, strlen(text) + 1);
    return NVML_SUCCESS;
}

/* ---- the library ---------------------------------------------------------- */

FAKE_API nvmlReturn_t nvmlInit_v2(void)
{
    NVML_ENTER("nvmlInit", NVML_ERROR_UNKNOWN);
    if (fake_driver_version() == 0)
        NVML_LEAVE(NVML_ERROR_DRIVER_NOT_LOADED);
    if (!is_started()) {
        references = 0;
        generation = atomic_load(&fake.generation);
    }
    references++;
    NVML_LEAVE(NVML_SUCCESS);
}

FAKE_API nvmlReturn_t nvmlShutdown(void)
{
    NVML_ENTER("nvmlShutdown", NVML_ERROR_UNINITIALIZED);
    if (!is_started())
        NVML_LEAVE(NVML_ERROR_UNINITIALIZED);
    references--;
    NVML_LEAVE(NVML_SUCCESS);
}

FAKE_API const char *nvmlErrorString(nvmlReturn_t code)
{
    static const char *const words[] = {
        "Success",
        "Uninitialized",
        "Invalid Argument",
        "Not Supported",
        "Insufficient Permissions",
        "Already Initialized",
        "Not Found",
        "Insufficient Size",
        "Insufficient External Power",
        "Driver Not Loaded",
        "Timeout",
        "Interrupt Request Issue",
        "NVML Shared Library Not Found",
        "Function Not Found",
        "Corrupted infoROM",
        "GPU is lost",
        "GPU requires reset",
        "Operating system has blocked the request",
        "Driver/library version mismatch",
        "In use by another client",
        "Insufficient Memory",
        "No data",
    };
    int known = code >= 0 && (size_t)code < sizeof words / sizeof words[0];

    return known ? words[code] : "Unknown Error";
}

/* The release that a version of the driver came with. */
static const char *release(int version)
{
    static const struct {
        int version;
        const char *name;
    } releases[] = {
        { 13000, "580.65.06" }, { 12090, "575.51.03" }, { 12080, "570.86.10" },
        { 12060, "560.28.03" }, { 12050, "555.42.02" }, { 12040, "550.54.14" },
        { 12030, "545.23.06" }, { 12020, "535.54.03" }, { 12010, "530.30.02" },
        { 12000, "525.60.13" },
    };

    for (size_t i = 0; i < sizeof releases / sizeof releases[0]; ++i)
        if (version >= releases[i].version)
            return releases[i].name;
    return "470.42.01";
}

static int tell_release(char *out, unsigned length, const char *prefix)
{
    char text[64];

    if (!is_started())
        return NVML_ERROR_UNINITIALIZED;
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    snprintf(text, sizeof text, "%s%s", prefix, release(fake_driver_version()));
    return copy_text(out, length, text);
}

FAKE_API nvmlReturn_t nvmlSystemGetDriverVersion(char *out, unsigned length)
{
    NVML_ENTER("nvmlSystemGetDriverVersion", NVML_ERROR_UNKNOWN);
    NVML_LEAVE(tell_release(out, length, ""));
}

FAKE_API nvmlReturn_t nvmlSystemGetNVMLVersion(char *out, unsigned length)
{
    char prefix[16];

    NVML_ENTER("nvmlSystemGetNVMLVersion", NVML_ERROR_UNKNOWN);
    snprintf(prefix, sizeof prefix, "%d.", fake_driver_version() / 1000);
    NVML_LEAVE(tell_release(out, length, prefix));
}

/* ---- devices -------------------------------------------------------------- */

FAKE_API nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count)
{
    NVML_ENTER("nvmlDeviceGetCount", NVML_ERROR_UNKNOWN);
    if (!is_started())
        NVML_LEAVE(NVML_ERROR_UNINITIALIZED);
    if (!count)
        NVML_LEAVE(NVML_ERROR_INVALID_ARGUMENT);
    *count = (unsigned)fake_device_count_all();
    NVML_LEAVE(NVML_SUCCESS);
}

FAKE_API nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid,
                                                nvmlDevice_t *out)
{
    struct fake_device *device = NULL;

    NVML_ENTER("nvmlDeviceGetHandleByUUID", NVML_ERROR_NOT_FOUND);
    if (!is_started())
        NVML_LEAVE(NVML_ERROR_UNINITIALIZED);
    if (!uuid || !out)
        NVML_LEAVE(NVML_ERROR_INVALID_ARGUMENT);
    for (int i = 0; (device = fake_device_at(i)) != NULL; ++i)
        if (strcmp(device->info.uuid, uuid) == 0)
            break;
    if (!device)
        NVML_LEAVE(NVML_ERROR_NOT_FOUND);
    *out = handle_of(device);
    NVML_LEAVE(NVML_SUCCESS);
}

FAKE_API nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned i,
                                                    nvmlDevice_t *out)
{
    struct fake_device *device;

    NVML_ENTER("nvmlDeviceGetHandleByIndex", NVML_ERROR_INVALID_ARGUMENT);
    if (!is_started())
        NVML_LEAVE(NVML_ERROR_UNINITIALIZED);
    device =
        i < (unsigned)fake_device_count_all() ? fake_device_at((int)i) : NULL;
    if (!device || !out)
        NVML_LEAVE(NVML_ERROR_INVALID_ARGUMENT);
    *out = handle_of(device);
    NVML_LEAVE(NVML_SUCCESS);
}

FAKE_API nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t handle, char *out,
                                        unsigned length)
{
    struct fake_device *device;
    int code;

    NVML_ENTER("nvmlDeviceGetUUID", NVML_ERROR_UNKNOWN);
    code = fake_nvml_find(&device, handle, out);
    NVML_LEAVE(code ? code : copy_text(out, length, device->info.uuid));
}

FAKE_API nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t handle, char *out,
                                        unsigned length)
{
    struct fake_device *device;
    int code;

    NVML_ENTER("nvmlDeviceGetName", NVML_ERROR_UNKNOWN);
    code = fake_nvml_find(&device, handle, out);
    NVML_LEAVE(code ? code : copy_text(out, length, device->info.name));
}

FAKE_API nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t handle,
                                              nvmlPciInfo_t *out)
{
    struct fake_device *device;
    int code;

    NVML_ENTER("nvmlDeviceGetPciInfo", NVML_ERROR_UNKNOWN);
    code = fake_nvml_find(&device, handle, out);
    if (code)
        NVML_LEAVE(code);
    memset(out, 0, sizeof *out);
    (void)sscanf(device->info.pci, "%x:%x:%x", &out->domain, &out->bus,
                 &out->device);
    snprintf(out->busIdLegacy, sizeof out->busIdLegacy, "%04X:%02X:%02X.0",
             out->domain & 0xffff, out->bus & 0xff, out->device & 0xff);
    snprintf(out->busId, sizeof out->busId, "%08X:%02X:%02X.0", out->domain,
             out->bus & 0xff, out->device & 0xff);
    NVML_LEAVE(NVML_SUCCESS);
}
