/* The driver's functions, asked of the runtime that is linked in, so that both
 * speak of one driver and nothing is loaded twice. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "base/symbols.h"
#include "device/cuda_inner.h"

static const char LIBRARY[] = "libcuda.so.1";

/* A function in the form that it had in that version of CUDA. */
struct entry {
    const char *symbol;
    int version;
    int needed; /* 0: absent from some driver that we can work with */
    size_t at;  /* in struct cuda_driver */
};

static const struct entry entries[] = {
    { "cuGetErrorString", 12000, 1,
      offsetof(struct cuda_driver, error_string) },
    { "cuDeviceGet", 12000, 1, offsetof(struct cuda_driver, device_get) },
    { "cuDeviceGetUuid", 12000, 1, offsetof(struct cuda_driver, device_uuid) },
    { "cuCtxGetCurrent", 12000, 1, offsetof(struct cuda_driver, context_get) },
    { "cuCtxSetCurrent", 12000, 1, offsetof(struct cuda_driver, context_set) },
    { "cuDevicePrimaryCtxGetState", 12000, 0,
      offsetof(struct cuda_driver, primary_state) },
    { "cuThreadExchangeStreamCaptureMode", 12000, 1,
      offsetof(struct cuda_driver, capture_mode) },
    { "cuLibraryLoadData", 12000, 1,
      offsetof(struct cuda_driver, library_load) },
    { "cuLibraryUnload", 12000, 1,
      offsetof(struct cuda_driver, library_unload) },
    { "cuLibraryGetKernel", 12000, 1,
      offsetof(struct cuda_driver, library_kernel) },
    { "cuLaunchKernel", 12000, 1, offsetof(struct cuda_driver, launch) },
    { "cuStreamGetCtx", 12000, 1,
      offsetof(struct cuda_driver, stream_context) },
    { "cuStreamGetGreenCtx", 12040, 0,
      offsetof(struct cuda_driver, stream_green) },
    { "cuDeviceGetDevResource", 12040, 0,
      offsetof(struct cuda_driver, device_resource) },
    { "cuDevSmResourceSplitByCount", 12040, 0,
      offsetof(struct cuda_driver, split_sms) },
    { "cuDevResourceGenerateDesc", 12040, 0,
      offsetof(struct cuda_driver, make_descriptor) },
    { "cuGreenCtxCreate", 12040, 0,
      offsetof(struct cuda_driver, green_create) },
    { "cuGreenCtxDestroy", 12040, 0,
      offsetof(struct cuda_driver, green_destroy) },
    { "cuCtxFromGreenCtx", 12040, 0,
      offsetof(struct cuda_driver, green_context) },
    { "cuGreenCtxStreamCreate", 12050, 0,
      offsetof(struct cuda_driver, green_stream) },
};

enum { ENTRIES = sizeof entries / sizeof *entries };

/* *out is NULL for a function that this driver does not have. */
static cudaError_t find(void **out, const struct entry *entry)
{
    enum cudaDriverEntryPointQueryResult found =
        cudaDriverEntryPointSymbolNotFound;
    cudaError_t code;

    *out = NULL;
    code = cuda_entry_point(entry->symbol, out, (unsigned)entry->version,
                            cudaEnableDefault, &found);
    if (code == cudaErrorSymbolNotFound || code == cudaErrorNotSupported) {
        (void)cudaGetLastError();
        code = cudaSuccess;
        found = cudaDriverEntryPointSymbolNotFound;
    }
    if (code != cudaSuccess || found != cudaDriverEntryPointSuccess)
        *out = NULL;
    return code;
}

hdp_status cuda_driver_load(struct cuda_driver *out)
{
    char versions[64];

    memset(out, 0, sizeof *out);
    HDPI_RETURN_IF(cuda_may_call());
    for (size_t i = 0; i < ENTRIES; ++i) {
        void *function;
        HDPI_RETURN_IF(cuda_check(NULL, find(&function, &entries[i]),
                                  "cudaGetDriverEntryPoint"));
        if (!function && entries[i].needed) {
            cuda_versions(versions, sizeof versions);
            return hdpi_fail(HDP_ERR_UNSUPPORTED,
                             "the CUDA driver has no %s: %s", entries[i].symbol,
                             versions);
        }
        memcpy((char *)out + entries[i].at, &function, sizeof function);
    }
    return HDP_OK;
}

void cuda_driver_path(char *out, size_t capacity,
                      const struct cuda_driver *driver)
{
    hdpi_symbol_file(out, capacity, &driver->launch, "");
}

static void write_version(char *out, size_t capacity, int version)
{
    if (version == 0)
        snprintf(out, capacity, "0");
    else
        snprintf(out, capacity, "%d.%d", version / 1000, version % 1000 / 10);
}

int cuda_driver_version(void)
{
    int version = 0;

    if (cudaDriverGetVersion(&version) != cudaSuccess) {
        (void)cudaGetLastError();
        version = 0;
    }
    return version;
}

void cuda_versions(char *out, size_t capacity)
{
    char found[24], built[24];

    write_version(found, sizeof found, cuda_driver_version());
    write_version(built, sizeof built, CUDART_VERSION);
    snprintf(out, capacity, "driver %s, built for CUDA %s", found, built);
}

/* The runtime says only that there is no driver. It has looked for the same
 * file in the same places, so the loader's reason was its reason. */
void cuda_loader_words(char *out, size_t capacity)
{
    void *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    const char *text = library ? NULL : dlerror();

    if (library) {
        (void)dlclose(library);
        snprintf(out, capacity, "%s is here and does not work", LIBRARY);
    } else {
        snprintf(out, capacity, "%s",
                 text ? text : "libcuda.so.1 cannot be loaded");
    }
}
