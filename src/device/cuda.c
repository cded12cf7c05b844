/* The CUDA adapter of this version: it opens the driver library on demand and
 * says what stands in the way. It makes no context and no member yet. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "device/adapter.h"

static const char LIBRARY[] = "libcuda.so.1";

typedef CUresult (*init_fn)(unsigned flags);
typedef CUresult (*number_fn)(int *out);
typedef CUresult (*name_fn)(CUresult code, const char **out);

/* What one look at the driver found. */
struct driver {
    int version;  /* 13000; 0: absent */
    int devices;  /* as the driver counts them */
    int32_t code; /* the driver's own; 0: none */
    char path[256];
    char reason[152]; /* why no device can be used */
};

/* A function's address as dlsym() hands it out; ISO C has no cast for it. */
static void look_up(void *out, void *library, const char *name)
{
    void *symbol = dlsym(library, name);

    memcpy(out, &symbol, sizeof symbol);
}

static void fail_call(struct driver *out, void *library, const char *call,
                      CUresult code)
{
    const char *name = NULL;
    name_fn name_of;

    look_up(&name_of, library, "cuGetErrorName");
    if (!name_of || name_of(code, &name) != CUDA_SUCCESS || !name)
        name = "error";
    out->code = (int32_t)code;
    snprintf(out->reason, sizeof out->reason, "%s: %s (%d)", call, name,
             (int)code);
}

/* Outputs are preset and believed only after success: some drivers leave them
 * unwritten. */
static void ask_driver(struct driver *out, void *library)
{
    number_fn version_of, count_of;
    init_fn init;
    CUresult code;
    int number = 0;

    look_up(&version_of, library, "cuDriverGetVersion");
    look_up(&init, library, "cuInit");
    look_up(&count_of, library, "cuDeviceGetCount");
    if (!version_of || !init || !count_of) {
        snprintf(out->reason, sizeof out->reason, "%s: %s", LIBRARY,
                 "lacks a function of the driver");
        return;
    }
    if (version_of(&number) == CUDA_SUCCESS)
        out->version = number;
    code = init(0);
    if (code != CUDA_SUCCESS) {
        fail_call(out, library, "cuInit", code);
        return;
    }
    number = 0;
    code = count_of(&number);
    if (code != CUDA_SUCCESS) {
        fail_call(out, library, "cuDeviceGetCount", code);
        return;
    }
    out->devices = number;
    if (number == 0)
        snprintf(out->reason, sizeof out->reason, "the driver has no GPU");
    else
        snprintf(out->reason, sizeof out->reason,
                 "GPUs found by the driver (%d) are not used by this version",
                 number);
}

static void note_path(struct driver *out, void *library)
{
    void *symbol = dlsym(library, "cuInit");
    Dl_info info;

    hdpi_text_copy(out->path, sizeof out->path,
                   symbol && dladdr(symbol, &info) && info.dli_fname
                       ? info.dli_fname
                       : LIBRARY);
}

/* A driver once initialised has threads of its own and must stay mapped. */
static void look(struct driver *out)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const char *text;

    memset(out, 0, sizeof *out);
    if (library) {
        note_path(out, library);
        ask_driver(out, library);
        dlclose(library);
        return;
    }
    text = dlerror();
    snprintf(out->reason, sizeof out->reason, "%s",
             text ? text : "libcuda.so.1 cannot be loaded");
}

static void write_version(char *out, size_t capacity, int version)
{
    if (version == 0)
        snprintf(out, capacity, "0");
    else
        snprintf(out, capacity, "%d.%d", version / 1000, version % 1000 / 10);
}

/* "driver absent or too old: REASON; driver 0, built for CUDA 13.0" */
static void write_reason(char *out, size_t capacity,
                         const struct driver *driver)
{
    char found[24], built[24];

    write_version(found, sizeof found, driver->version);
    write_version(built, sizeof built, CUDA_VERSION);
    snprintf(out, capacity, "%s%s; driver %s, built for CUDA %s",
             driver->version == 0 ||
                     driver->code == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH ||
                     driver->version / 1000 < CUDA_VERSION / 1000
                 ? "driver absent or too old: "
                 : "",
             driver->reason, found, built);
}

static hdp_status cuda_enumerate(hdp_topology *topology,
                                 const struct hdpi_ask *asks, int32_t count,
                                 const struct hdpi_site *site)
{
    const struct hdpi_ask *ask = hdpi_ask_first(asks, count, HDP_CUDA);
    struct driver driver;
    char reason[256];

    (void)site;
    if (asks && !ask)
        return HDP_OK;
    look(&driver);
    write_reason(reason, sizeof reason, &driver);
    if (!ask)
        return hdpi_topology_note(topology, "cuda", reason);
    hdpi_ask_refuse(ask, "cuda", reason);
    if (driver.code) {
        hdpi_error()->vendor = HDPI_VENDOR_DRIVER;
        hdpi_error()->vendor_code = driver.code;
    }
    return HDP_ERR_NOT_FOUND;
}

void hdpi_cuda_describe(struct hdpi_library *out)
{
    struct driver driver;

    look(&driver);
    memset(out, 0, sizeof *out);
    out->name = "cuda";
    hdpi_text_copy(out->path, sizeof out->path, driver.path);
    write_reason(out->note, sizeof out->note, &driver);
}

int32_t hdpi_cuda_build_version(void)
{
    return CUDA_VERSION;
}

const struct hdpi_device_ops hdpi_cuda_ops = {
    .name = "cuda",
    .kind = HDP_CUDA,
    .state_size = sizeof(struct hdpi_device),
    .enumerate = cuda_enumerate,
    .open = hdpi_absent_open,
    .close = hdpi_absent_close,
    .alloc = hdpi_default_alloc,
    .free = hdpi_default_free,
    .copy = hdpi_default_copy,
    .launch = hdpi_absent_launch,
    .pause = hdpi_default_pause,
    .resume = hdpi_default_pause,
    .mark = hdpi_absent_mark,
    .unmark = hdpi_default_unmark,
    .elapsed = hdpi_absent_elapsed,
    .combine = hdpi_default_combine,
    .probe_open = hdpi_default_probe_open,
    .probe = hdpi_default_probe,
    .probe_close = hdpi_default_probe_close,
    .wait = hdpi_absent_wait,
    .native = hdpi_default_native,
    .blas = hdpi_default_blas,
    .memory = hdpi_default_memory,
    .cause = hdpi_default_cause,
    .idle = hdpi_default_idle,
    .link = hdpi_default_link,
    .software = hdpi_default_software,
    .forget = hdpi_default_forget,
    .host_alloc = hdpi_default_alloc,
    .host_free = hdpi_default_free,
    .order = hdpi_default_order,
};
