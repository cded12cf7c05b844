/* How busy GPUs are, from the management library: loaded when asked for, by
 * its fixed name or the context's path, and let go of at once. */
#include <dlfcn.h>
#include <string.h>
#include "leases.h"

/* The few names of it that are needed, as its documentation gives them; it
 * keeps them in every version since 2013. */
struct utilization {
    unsigned gpu, memory; /* percent of the last sample period */
};
struct memory {
    unsigned long long total, free, used;
};
typedef int (*plain_fn)(void);
typedef int (*handle_fn)(const char *uuid, void **device);
typedef int (*utilization_fn)(void *device, struct utilization *out);
typedef int (*memory_fn)(void *device, struct memory *out);

struct library {
    void *handle;
    plain_fn init, shutdown;
    handle_fn by_uuid;
    utilization_fn utilization;
    memory_fn memory;
};

static int find(void *out, void *handle, const char *name)
{
    void *symbol = dlsym(handle, name);

    memcpy(out, &symbol, sizeof symbol); /* no cast from object to function */
    return symbol != NULL;
}

static hdp_status open_library(struct library *out, const char *path)
{
    const char *name = path ? path : "libnvidia-ml.so.1";

    out->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!out->handle)
        return hdpi_fail(HDP_ERR_UNSUPPORTED,
                         "policy idle needs the management library (NVML): "
                         "%s cannot be loaded",
                         name);
    if (!find(&out->init, out->handle, "nvmlInit_v2") ||
        !find(&out->shutdown, out->handle, "nvmlShutdown") ||
        !find(&out->by_uuid, out->handle, "nvmlDeviceGetHandleByUUID") ||
        !find(&out->utilization, out->handle,
              "nvmlDeviceGetUtilizationRates") ||
        !find(&out->memory, out->handle, "nvmlDeviceGetMemoryInfo"))
        return hdpi_fail(HDP_ERR_UNSUPPORTED,
                         "policy idle: %s lacks what is needed of NVML", name);
    return HDP_OK;
}

static hdp_status fail_vendor(int code, const char *what, const char *uuid)
{
    (void)hdpi_fail(HDP_ERR_UNSUPPORTED, "policy idle: %s%s%s: NVML error %d",
                    what, uuid[0] ? " of " : "", uuid, code);
    hdpi_error()->vendor = HDP_VENDOR_NVML;
    hdpi_error()->vendor_code = code;
    return HDP_ERR_UNSUPPORTED;
}

/* Least used first; among those the one with most free memory. */
static hdp_status rank_one(struct hdpi_lease_candidate *candidate,
                           const struct library *library)
{
    struct utilization use = { 0, 0 };
    struct memory memory = { 0, 0, 0 };
    const char *uuid = candidate->info.uuid;
    void *device = NULL;
    int code = library->by_uuid(uuid, &device);

    if (code != 0)
        return fail_vendor(code, "finding the device", uuid);
    code = library->utilization(device, &use);
    if (code != 0)
        return fail_vendor(code, "asking for the use", uuid);
    code = library->memory(device, &memory);
    if (code != 0 || memory.total == 0)
        return fail_vendor(code, "asking for the memory", uuid);
    candidate->rank =
        (double)use.gpu + 1 - (double)memory.free / (double)memory.total;
    return HDP_OK;
}

static hdp_status refuse_simulated(const struct hdpi_lease_choice *choice)
{
    for (int32_t i = 0; i < choice->count; ++i)
        if (choice->candidates[i].info.kind == HDP_SIM)
            return hdpi_fail(HDP_ERR_UNSUPPORTED,
                             "policy idle: %s is simulated, and nobody uses it "
                             "more or less",
                             choice->candidates[i].info.spec);
    return HDP_OK;
}

hdp_status hdpi_lease_rank_idle(struct hdpi_lease_choice *choice,
                                const hdp_context *context)
{
    struct library library = { 0 };
    hdp_status status;
    int code, started = 0;

    HDPI_TRY(refuse_simulated(choice));
    HDPI_TRY(open_library(&library, context->nvml_path));
    code = library.init();
    if (code != 0)
        HDPI_TRY(fail_vendor(code, "starting the management library", ""));
    started = 1;
    for (int32_t i = 0; i < choice->count; ++i)
        HDPI_TRY(rank_one(&choice->candidates[i], &library));
out:
    if (started)
        (void)library.shutdown();
    if (library.handle)
        (void)dlclose(library.handle);
    return status;
}
