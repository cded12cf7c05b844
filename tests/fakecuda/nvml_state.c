/* What the management library says of a device's state: load, memory, clocks,
 * power, link, modes, and the processes on it. */
#include <string.h>
#include <unistd.h>
#include "nvml_inner.h"

enum { STRANGER = 40000 }; /* process of the first other user */

/* Watt and megahertz are those of a usual card of the generation. */
static const struct {
    int major, sm_mhz, memory_mhz, watt;
} generations[] = {
    { 12, 2620, 14001, 360 }, { 10, 1965, 3996, 1000 }, { 9, 1980, 2619, 700 },
    { 8, 2100, 9501, 350 },   { 7, 1950, 7000, 260 },   { 6, 1911, 5505, 250 },
};

static int generation_of(const struct fake_device *device)
{
    int last = (int)(sizeof generations / sizeof generations[0]) - 1;

    for (int i = 0; i < last; ++i)
        if (device->info.compute_major >= generations[i].major)
            return i;
    return last;
}

static int is_shared(const struct fake_device *device)
{
    return device->busy || device->tenant_bytes > 0;
}

/* ---- load and memory ------------------------------------------------------ */

FAKE_API nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t handle,
                                                    nvmlUtilization_t *out)
{
    struct fake_device *device;
    int code;

    NVML_ENTER("nvmlDeviceGetUtilizationRates", NVML_ERROR_UNKNOWN);
    code = fake_nvml_find(&device, handle, out);
    if (code)
        NVML_LEAVE(code);
    if (device->mig || device->parent >= 0) /* nobody counts it then */
        NVML_LEAVE(NVML_ERROR_NOT_SUPPORTED);
    out->gpu = device->busy ? 97 : device->tenant_bytes > 0 ? 45 : 0;
    out->memory = out->gpu / 3;
    NVML_LEAVE(NVML_SUCCESS);
}

FAKE_API nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t handle,
                                              nvmlMemory_t *out)
{
    struct fake_device *device;
    int code;

    NVML_ENTER("nvmlDeviceGetMemoryInfo", NVML_ERROR_UNKNOWN);
    code = fake_nvml_find(&device, handle, out);
    if (code)
        NVML_LEAVE(code);
    out->total = (unsigned long long)device->info.memory_bytes;
    out->free = (unsigned long long)fake_memory_free_bytes(device);
    out->used = out->total - out->free;
    NVML_LEAVE(NVML_SUCCESS);
}

/* Ours first, then who fills the memory or keeps the device to itself. */
static unsigned processes(nvmlProcessInfo_t out[2],
                          const struct fake_device *device)
{
    unsigned count = 0;

    if (device->primary) {
        out[count].pid = (unsigned)getpid();
        out[count++].usedGpuMemory = (unsigned long long)device->used_bytes;
    }
    if (is_shared(device)) {
        out[count].pid = (unsigned)(STRANGER + device->number);
        out[count++].usedGpuMemory =
            device->tenant_bytes > 0 ? (unsigned long long)device->tenant_bytes
                                     : FAKE_CONTEXT_BYTES;
    }
    for (unsigned i = 0; i < count; ++i)
        out[i].gpuInstanceId = out[i].computeInstanceId = ~0u;
    return count;
}

FAKE_API nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(
    nvmlDevice_t handle, unsigned *count, nvmlProcessInfo_t *out)
{
    nvmlProcessInfo_t found[2];
    struct fake_device *device;
    unsigned room;
    int code;

    NVML_ENTER("nvmlDeviceGetComputeRunningProcesses", NVML_ERROR_UNKNOWN);
    code = fake_nvml_find(&device, handle, count);
    if (code)
        NVML_LEAVE(code);
    room = *count;
    memset(found, 0, sizeof found);
    *count = processes(found, device);
    if (*count > room)
        NVML_LEAVE(NVML_ERROR_INSUFFICIENT_SIZE);
    if (*count > 0 && !out)
        NVML_LEAVE(NVML_ERROR_INVALID_ARGUMENT);
    for (unsigned i = 0; i < *count; ++i)
        out[i] = found[i];
    NVML_LEAVE(NVML_SUCCESS);
}

/* ---- clocks, power, heat -------------------------------------------------- */

static int max_clock(const struct fake_device *device, int clock)
{
    int i = generation_of(device);

    if (clock == NVML_CLOCK_MEM)
        return generations[i].memory_mhz;
    return clock == NVML_CLOCK_GRAPHICS || clock == NVML_CLOCK_SM ||
                   clock == NVML_CLOCK_VIDEO
               ? generations[i].sm_mhz
               : 0;
}

/* Idle clocks where nobody is at work; a ramp falls to the clock that heat
 * leaves. */
static int clock_now(const struct fake_device *device, int clock)
{
    int most = max_clock(device, clock);

    if (!is_shared(device) && device->launches == 0)
        return clock == NVML_CLOCK_MEM ? 405 : 210;
    if (clock == NVML_CLOCK_MEM)
        return most;
    return (int)((double)most * (1 - 0.5 * device->faults->ramp));
}

static nvmlReturn_t tell_clock(nvmlDevice_t handle, int clock, unsigned *mhz,
                               int now)
{
    struct fake_device *device;
    int code = fake_nvml_find(&device, handle, mhz);

    if (code)
        return code;
    if (max_clock(device, clock) == 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    *mhz =
        (unsigned)(now ? clock_now(device, clock) : max_clock(device, clock));
    return NVML_SUCCESS;
}

FAKE_API nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t handle, int clock,
                                             unsigned *mhz)
{
    NVML_ENTER("nvmlDeviceGetClockInfo", NVML_ERROR_UNKNOWN);
    NVML_LEAVE(tell_clock(handle, clock, mhz, 1));
}

FAKE_API nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t handle, int clock,
                                                unsigned *mhz)
{
    NVML_ENTER("nvmlDeviceGetMaxClockInfo", NVML_ERROR_UNKNOWN);
    NVML_LEAVE(tell_clock(handle, clock, mhz, 0));
}

static nvmlReturn_t tell_reasons(nvmlDevice_t handle, unsigned long long *out)
{
    struct fake_device *device;
    int code = fake_nvml_find(&device, handle, out);

    if (code)
        return code;
    *out = 0;
    if (!is_shared(device) && device->launches == 0)
        *out |= NVML_REASON_IDLE;
    else if (device->faults->ramp > 0)
        *out |= NVML_REASON_POWER_CAP;
    if (device->faults->drift > 0)
        *out |= NVML_REASON_THERMAL;
    return NVML_SUCCESS;
}

FAKE_API nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(
    nvmlDevice_t handle, unsigned long long *reasons)
{
    NVML_ENTER("nvmlDeviceGetCurrentClocksEventReasons", NVML_ERROR_UNKNOWN);
    NVML_LEAVE(tell_reasons(handle, reasons));
}

/* The same, as it was called before. */
FAKE_API nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(
    nvmlDevice_t handle, unsigned long long *reasons)
{
    NVML_ENTER("nvmlDeviceGetCurrentClocksThrottleReasons", NVML_ERROR_UNKNOWN);
    NVML_LEAVE(tell_reasons(handle, reasons));
}

static unsigned milliwatts(const struct fake_device *device)
{
    return (unsigned)generations[generation_of(device)].watt * 1000;
}

FAKE_API nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t handle,
                                              unsigned *out)
{
    struct fake_device *device;
    int code;

    NVML_ENTER("nvmlDeviceGetPowerUsage", NVML_ERROR_UNKNOWN);
    code = fake_nvml_find(&device, handle, out);
    if (code)
        NVML_LEAVE(code);
    *out = milliwatts(device) / (is_shared(device) ? 2 : 10);
    NVML_LEAVE(NVML_SUCCESS);
}

FAKE_API nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t handle,
                                                      unsigned *out)
{
    struct fake_device *device;
    int code;

    NVML_ENTER("nvmlDeviceGetEnforcedPowerLimit", NVML_ERROR_UNKNOWN);
    code = fake_nvml_find(&device, handle, out);
    if (code)
        NVML_LEAVE(code);
    *out = milliwatts(device);
    NVML_LEAVE(NVML_SUCCESS);
}

FAKE_API nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t handle, int sensor,
                                               unsigned *celsius)
{
    struct fake_device *device;
    int code;

    NVML_ENTER("nvmlDeviceGetTemperature", NVML_ERROR_UNKNOWN);
    code = fake_nvml_find(&device, handle, celsius);
    if (code || sensor != 0)
        NVML_LEAVE(code ? code : NVML_ERROR_INVALID_ARGUMENT);
    *celsius = is_shared(device) ? 63 : 38;
    NVML_LEAVE(NVML_SUCCESS);
}

/* ---- the link ------------------------------------------------------------- */

/* Generation and lanes whose wire carries what the copies were given. */
static void link_of(const struct fake_device *device, unsigned *generation,
                    unsigned *lanes)
{
    double rate = device->in_bytes_per_second;

    *generation = rate > 30e9 ? 5 : rate > 5e9 ? 4 : 3;
    *lanes = rate > 14e9 ? 16 : rate > 7.5e9 ? 8 : 4;
}

static nvmlReturn_t tell_link(nvmlDevice_t handle, unsigned *out, int lanes,
                              int most)
{
    struct fake_device *device;
    unsigned generation, width;
    int code = fake_nvml_find(&device, handle, out);

    if (code)
        return code;
    link_of(device, &generation, &width);
    *out = lanes ? (most ? 16 : width) : generation;
    return NVML_SUCCESS;
}

FAKE_API nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t handle,
                                                          unsigned *out)
{
    NVML_ENTER("nvmlDeviceGetCurrPcieLinkGeneration", NVML_ERROR_UNKNOWN);
    NVML_LEAVE(tell_link(handle, out, 0, 0));
}

FAKE_API nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t handle,
                                                     unsigned *out)
{
    NVML_ENTER("nvmlDeviceGetCurrPcieLinkWidth", NVML_ERROR_UNKNOWN);
    NVML_LEAVE(tell_link(handle, out, 1, 0));
}

FAKE_API nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t handle,
                                                         unsigned *out)
{
    NVML_ENTER("nvmlDeviceGetMaxPcieLinkGeneration", NVML_ERROR_UNKNOWN);
    NVML_LEAVE(tell_link(handle, out, 0, 1));
}

FAKE_API nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t handle,
                                                    unsigned *out)
{
    NVML_ENTER("nvmlDeviceGetMaxPcieLinkWidth", NVML_ERROR_UNKNOWN);
    NVML_LEAVE(tell_link(handle, out, 1, 1));
}

/* ---- modes ---------------------------------------------------------------- */

FAKE_API nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t handle, int *mode)
{
    struct fake_device *device;
    int code;

    NVML_ENTER("nvmlDeviceGetComputeMode", NVML_ERROR_UNKNOWN);
    code = fake_nvml_find(&device, handle, mode);
    if (code)
        NVML_LEAVE(code);
    *mode = device->compute_mode;
    NVML_LEAVE(NVML_SUCCESS);
}

FAKE_API nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t handle,
                                                 int *active)
{
    struct fake_device *device;
    int code;

    NVML_ENTER("nvmlDeviceGetDisplayActive", NVML_ERROR_UNKNOWN);
    code = fake_nvml_find(&device, handle, active);
    if (code)
        NVML_LEAVE(code);
    *active = device->info.display;
    NVML_LEAVE(NVML_SUCCESS);
}

FAKE_API nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t handle,
                                           unsigned *current, unsigned *pending)
{
    struct fake_device *device;
    int code;

    NVML_ENTER("nvmlDeviceGetMigMode", NVML_ERROR_UNKNOWN);
    code = fake_nvml_find(&device, handle, current);
    if (code || !pending)
        NVML_LEAVE(code ? code : NVML_ERROR_INVALID_ARGUMENT);
    if (device->info.compute_major < 8)
        NVML_LEAVE(NVML_ERROR_NOT_SUPPORTED);
    *current = *pending =
        device->mig || strncmp(device->info.uuid, "MIG-", 4) == 0;
    NVML_LEAVE(NVML_SUCCESS);
}
