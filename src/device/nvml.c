/* The management library (NVML): opened at run time by names of its own, since
 * its header does not come with every toolkit; a device is found by its UUID.
 * It needs no CUDA context and knows no visibility mask. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/symbols.h"
#include "base/text.h"
#include "device/device.h"

/* As its documentation gives them; kept in every version since 2013. */
struct utilization {
    unsigned gpu, memory; /* percent of the last sample period */
};
struct memory {
    unsigned long long total, free, used;
};
struct process {
    unsigned pid;
    unsigned long long bytes; /* all ones: not known */
    unsigned instances[2];
};
enum {
    SUCCESS = 0,
    TOO_SMALL = 7, /* for so many processes */
    CLOCK_SM = 1,
    CLOCK_MEMORY = 2,
    TEMPERATURE_GPU = 0
};

typedef int (*plain_fn)(void);
typedef const char *(*words_fn)(int code);
typedef int (*text_fn)(char *out, unsigned capacity);
typedef int (*handle_fn)(const char *uuid, void **device);
typedef int (*utilization_fn)(void *device, struct utilization *out);
typedef int (*memory_fn)(void *device, struct memory *out);
typedef int (*number_fn)(void *device, unsigned *out);
typedef int (*chosen_fn)(void *device, int which, unsigned *out);
typedef int (*pair_fn)(void *device, unsigned *out, unsigned *pending);
typedef int (*reasons_fn)(void *device, unsigned long long *out);
typedef int (*processes_fn)(void *device, unsigned *count, struct process *out);

struct hdpi_nvml {
    void *handle; /* NULL: the program's own copy */
    int started;
    struct hdpi_nvml_version version;
    /* without these it is of no use */
    plain_fn init, shutdown;
    handle_fn by_uuid;
    utilization_fn utilization;
    memory_fn memory;
    /* each may be NULL: then nothing is known of its matter */
    words_fn words;
    text_fn driver_version, own_version;
    chosen_fn clock, max_clock, temperature;
    reasons_fn reasons;
    number_fn power, power_limit, generation, width, max_generation, max_width,
        compute_mode, display;
    pair_fn mig;
    processes_fn processes;
};

#define AT(field) offsetof(struct hdpi_nvml, field)
static const struct hdpi_symbol symbols[] = {
    { "nvmlInit_v2", AT(init), 1 },
    { "nvmlShutdown", AT(shutdown), 1 },
    { "nvmlDeviceGetHandleByUUID", AT(by_uuid), 1 },
    { "nvmlDeviceGetUtilizationRates", AT(utilization), 1 },
    { "nvmlDeviceGetMemoryInfo", AT(memory), 1 },
    { "nvmlErrorString", AT(words), 0 },
    { "nvmlSystemGetDriverVersion", AT(driver_version), 0 },
    { "nvmlSystemGetNVMLVersion", AT(own_version), 0 },
    { "nvmlDeviceGetClockInfo", AT(clock), 0 },
    { "nvmlDeviceGetMaxClockInfo", AT(max_clock), 0 },
    { "nvmlDeviceGetTemperature", AT(temperature), 0 },
    /* one question under its former and its present name */
    { "nvmlDeviceGetCurrentClocksThrottleReasons", AT(reasons), 0 },
    { "nvmlDeviceGetCurrentClocksEventReasons", AT(reasons), 0 },
    { "nvmlDeviceGetPowerUsage", AT(power), 0 },
    { "nvmlDeviceGetEnforcedPowerLimit", AT(power_limit), 0 },
    { "nvmlDeviceGetCurrPcieLinkGeneration", AT(generation), 0 },
    { "nvmlDeviceGetCurrPcieLinkWidth", AT(width), 0 },
    { "nvmlDeviceGetMaxPcieLinkGeneration", AT(max_generation), 0 },
    { "nvmlDeviceGetMaxPcieLinkWidth", AT(max_width), 0 },
    { "nvmlDeviceGetComputeMode", AT(compute_mode), 0 },
    { "nvmlDeviceGetDisplayActive", AT(display), 0 },
    { "nvmlDeviceGetMigMode", AT(mig), 0 },
    { "nvmlDeviceGetComputeRunningProcesses_v3", AT(processes), 0 },
};
#undef AT

/* ---- opening -------------------------------------------------------------- */

static const char LIBRARY[] = "libnvidia-ml.so.1";

/* The path that was given; else a copy that the program has, under any name;
 * else the driver's. NODELETE: it may have threads. */
static hdp_status load(struct hdpi_nvml *nvml, const char *path)
{
    const char *name = path ? path : LIBRARY, *words;

    if (!path && dlsym(RTLD_DEFAULT, symbols[0].name))
        return HDP_OK;
    (void)dlerror();
    nvml->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (nvml->handle)
        return HDP_OK;
    words = dlerror();
    return hdpi_fail(HDP_ERR_UNSUPPORTED,
                     "the management library (NVML): %s cannot be loaded%s%s",
                     name, words ? ": " : "", words ? words : "");
}

static hdp_status find(struct hdpi_nvml *nvml, const char *path)
{
    void *library = nvml->handle ? nvml->handle : RTLD_DEFAULT;
    const char *lacks = hdpi_symbols_find(nvml, library, symbols,
                                          sizeof symbols / sizeof *symbols);

    if (lacks)
        return hdpi_fail(HDP_ERR_UNSUPPORTED,
                         "the management library: %s lacks what is needed "
                         "of NVML (%s)",
                         path ? path : LIBRARY, lacks);
    hdpi_symbol_file(nvml->version.path, sizeof nvml->version.path, &nvml->init,
                     "");
    return HDP_OK;
}

static hdp_status fail(const struct hdpi_nvml *nvml, int code, const char *what,
                       const char *uuid)
{
    const char *words = nvml->words ? nvml->words(code) : NULL;

    (void)hdpi_fail(HDP_ERR_UNSUPPORTED,
                    "the management library: %s%s%s: NVML error %d%s%s%s", what,
                    uuid[0] ? " of " : "", uuid, code, words ? " (" : "",
                    words ? words : "", words ? ")" : "");
    hdpi_error()->vendor = HDP_VENDOR_NVML;
    hdpi_error()->vendor_code = code;
    return HDP_ERR_UNSUPPORTED;
}

static hdp_status start(struct hdpi_nvml *nvml)
{
    struct hdpi_nvml_version *version = &nvml->version;
    int code = nvml->init();

    if (code != SUCCESS)
        return fail(nvml, code, "starting it", "");
    nvml->started = 1;
    if (!nvml->driver_version ||
        nvml->driver_version(version->driver, sizeof version->driver))
        version->driver[0] = 0;
    if (!nvml->own_version ||
        nvml->own_version(version->own, sizeof version->own))
        version->own[0] = 0;
    return HDP_OK;
}

hdp_status hdpi_nvml_open(struct hdpi_nvml **out, const char *path)
{
    struct hdpi_nvml *nvml;
    hdp_status status;

    *out = NULL;
    nvml = hdpi_alloc(1, sizeof *nvml, "NVML's functions");
    if (!nvml)
        return HDP_ERR_MEMORY;
    HDPI_TRY(load(nvml, path));
    HDPI_TRY(find(nvml, path));
    HDPI_TRY(start(nvml));
    *out = nvml;
    nvml = NULL;
out:
    hdpi_nvml_close(nvml);
    return status;
}

void hdpi_nvml_close(struct hdpi_nvml *nvml)
{
    if (!nvml)
        return;
    if (nvml->started)
        (void)nvml->shutdown();
    if (nvml->handle)
        (void)dlclose(nvml->handle);
    free(nvml);
}

const struct hdpi_nvml_version *hdpi_nvml_version(const struct hdpi_nvml *nvml)
{
    return &nvml->version;
}

/* ---- one device ------------------------------------------------------------ */

hdp_status hdpi_nvml_use(struct hdpi_gpu_state *out,
                         const struct hdpi_nvml *nvml, const char *uuid)
{
    struct utilization use = { 0, 0 };
    struct memory memory = { 0, 0, 0 };
    void *device = NULL;
    int code = nvml->by_uuid(uuid, &device);

    memset(out, 0, sizeof *out);
    if (code != SUCCESS)
        return fail(nvml, code, "finding the device", uuid);
    code = nvml->utilization(device, &use);
    if (code != SUCCESS)
        return fail(nvml, code, "asking for the use", uuid);
    code = nvml->memory(device, &memory);
    if (code != SUCCESS || memory.total == 0)
        return fail(nvml, code, "asking for the memory", uuid);
    out->use_percent = (int32_t)use.gpu;
    out->memory_bytes = (int64_t)memory.total;
    out->free_bytes = (int64_t)memory.free;
    return HDP_OK;
}

static int32_t number(number_fn ask, void *device)
{
    unsigned value = 0;

    return ask && ask(device, &value) == SUCCESS ? (int32_t)value : -1;
}

static int32_t chosen(chosen_fn ask, void *device, int which)
{
    unsigned value = 0;

    return ask && ask(device, which, &value) == SUCCESS ? (int32_t)value : -1;
}

static void ask_clocks(struct hdpi_gpu_state *out, const struct hdpi_nvml *nvml,
                       void *device)
{
    unsigned long long reasons = 0;

    out->clock_mhz = chosen(nvml->clock, device, CLOCK_SM);
    out->clock_max_mhz = chosen(nvml->max_clock, device, CLOCK_SM);
    out->memory_clock_mhz = chosen(nvml->clock, device, CLOCK_MEMORY);
    out->memory_clock_max_mhz = chosen(nvml->max_clock, device, CLOCK_MEMORY);
    out->celsius = chosen(nvml->temperature, device, TEMPERATURE_GPU);
    out->milliwatts = number(nvml->power, device);
    out->milliwatts_max = number(nvml->power_limit, device);
    out->reasons_known =
        nvml->reasons && nvml->reasons(device, &reasons) == SUCCESS;
    out->reasons = out->reasons_known ? (uint64_t)reasons : 0;
}

static void ask_modes(struct hdpi_gpu_state *out, const struct hdpi_nvml *nvml,
                      void *device)
{
    unsigned mig = 0, pending = 0;

    out->link_generation = number(nvml->generation, device);
    out->link_width = number(nvml->width, device);
    out->link_generation_max = number(nvml->max_generation, device);
    out->link_width_max = number(nvml->max_width, device);
    out->compute_mode = number(nvml->compute_mode, device);
    out->display = number(nvml->display, device);
    out->mig = nvml->mig && nvml->mig(device, &mig, &pending) == SUCCESS
                   ? (int32_t)mig
                   : -1;
}

/* The first so many of them; more change nothing in what people do. */
static void ask_processes(struct hdpi_gpu_state *out,
                          const struct hdpi_nvml *nvml, void *device)
{
    struct process found[HDPI_GPU_PROCESSES_MAX];
    unsigned count = HDPI_GPU_PROCESSES_MAX;
    int code;

    out->process_count = -1;
    if (!nvml->processes)
        return;
    code = nvml->processes(device, &count, found);
    if (code != SUCCESS) {
        if (code == TOO_SMALL)
            out->process_count = 0; /* somebody, but nobody knows who */
        return;
    }
    if (count > HDPI_GPU_PROCESSES_MAX)
        count = HDPI_GPU_PROCESSES_MAX;
    for (unsigned i = 0; i < count; ++i) {
        out->processes[i].pid = found[i].pid;
        out->processes[i].bytes = found[i].bytes > (unsigned long long)INT64_MAX
                                      ? -1
                                      : (int64_t)found[i].bytes;
    }
    out->process_count = (int32_t)count;
}

hdp_status hdpi_nvml_state(struct hdpi_gpu_state *out,
                           const struct hdpi_nvml *nvml, const char *uuid)
{
    struct utilization use = { 0, 0 };
    struct memory memory = { 0, 0, 0 };
    void *device = NULL;
    int code = nvml->by_uuid(uuid, &device);

    memset(out, 0, sizeof *out);
    if (code != SUCCESS)
        return fail(nvml, code, "finding the device", uuid);
    out->use_percent = nvml->utilization(device, &use) == SUCCESS
                           ? (int32_t)use.gpu
                           : -1; /* of a slice nobody counts it */
    if (nvml->memory(device, &memory) == SUCCESS) {
        out->memory_bytes = (int64_t)memory.total;
        out->free_bytes = (int64_t)memory.free;
    } else {
        out->memory_bytes = out->free_bytes = -1;
    }
    ask_clocks(out, nvml, device);
    ask_modes(out, nvml, device);
    ask_processes(out, nvml, device);
    return HDP_OK;
}

/* ---- words ----------------------------------------------------------------- */

const char *hdpi_nvml_reason(int32_t bit)
{
    static const char *const words[] = {
        "idle",
        "clocks set by an administrator",
        "power limit",
        "slowed by the hardware: heat or power",
        "kept in step with other GPUs",
        "heat, by the driver",
        "heat, by the hardware",
        "power brake of the machine",
        "clocks of the display",
    };

    return bit >= 0 && bit < (int32_t)(sizeof words / sizeof *words)
               ? words[bit]
               : NULL;
}

const char *hdpi_nvml_compute_mode(int32_t mode)
{
    static const char *const words[] = { "default", "exclusive_thread",
                                         "prohibited", "exclusive_process" };

    return mode >= 0 && mode < 4 ? words[mode] : NULL;
}
