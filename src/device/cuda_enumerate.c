/* From what was asked to devices: by number, by UUID, all of them, or parts of
 * one. Nothing here makes a context, and what was not asked for is not
 * touched where numbers suffice. */
#include <stdio.h>
#include <string.h>
#include "base/fork.h"
#include "base/text.h"
#include "device/cuda_inner.h"

enum { UUID_ROOM = 64 };

/* ---- why there is nothing -------------------------------------------------- */

/* A mask that names a device twice, or an order that CUDA does not know, makes
 * every call fail; the code says neither. */
static const char *explain_mask(const struct hdpi_site *site)
{
    const char *order = site ? site->order : NULL;

    if (order && strcmp(order, "FASTEST_FIRST") != 0 &&
        strcmp(order, "PCI_BUS_ID") != 0)
        return "CUDA_DEVICE_ORDER is neither FASTEST_FIRST nor PCI_BUS_ID";
    return site && site->mask
               ? "CUDA_VISIBLE_DEVICES names a device twice, which CUDA takes "
                 "for an error"
               : "CUDA refuses its devices";
}

static const char *explain(cudaError_t code, const struct hdpi_site *site)
{
    if (code == cudaErrorInvalidDevice)
        return explain_mask(site);
    if (code == cudaErrorNoDevice)
        return site && site->mask ? "CUDA_VISIBLE_DEVICES leaves no GPU"
                                  : "the driver has no GPU";
    return cudaGetErrorString(code);
}

/* "driver absent or too old: REASON; driver 0, built for CUDA 13.0" */
static void write_reason(char *out, size_t capacity, cudaError_t code,
                         const struct hdpi_site *site)
{
    int version = cuda_driver_version();
    char words[160], versions[64];

    if (version == 0)
        cuda_loader_words(words, sizeof words);
    else
        snprintf(words, sizeof words, "%s (%d)", explain(code, site),
                 (int)code);
    cuda_versions(versions, sizeof versions);
    snprintf(out, capacity, "%s%s; %s",
             version == 0 || code == cudaErrorInsufficientDriver ||
                     code == cudaErrorCompatNotSupportedOnDevice ||
                     code == cudaErrorSystemDriverMismatch
                 ? "driver absent or too old: "
                 : "",
             words, versions);
}

/* No driver and no device are an answer, the rest are failures. */
static int is_answer(cudaError_t code)
{
    switch ((int)code) {
    case cudaErrorInitializationError:
    case cudaErrorStubLibrary:
    case cudaErrorInsufficientDriver:
    case cudaErrorCallRequiresNewerDriver:
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorUnknown:
        return 1;
    default:
        return 0;
    }
}

static hdp_status tell_nothing(struct cuda_look *look, cudaError_t code)
{
    const struct hdpi_ask *ask =
        hdpi_ask_first(look->asks, look->ask_count, HDP_CUDA);
    char reason[256];

    (void)cudaGetLastError();
    write_reason(reason, sizeof reason, code, look->site);
    if (!ask)
        return hdpi_topology_note(look->topology, "cuda", reason);
    (void)hdpi_ask_refuse(ask, "cuda", reason);
    hdpi_error()->vendor = HDPI_VENDOR_CUDA;
    hdpi_error()->vendor_code = (int32_t)code;
    return HDP_ERR_NOT_FOUND;
}

/* ---- what is asked for ----------------------------------------------------- */

static const char *spell(char *out, size_t capacity, const struct hdpi_ask *ask)
{
    if (ask->uuid[0])
        snprintf(out, capacity, "cuda:%s", ask->uuid);
    else
        snprintf(out, capacity, "cuda:%d", (int)ask->logical_id);
    return out;
}

/* A GPU serves once, or in parts that fit into it together. */
static hdp_status check_shared(const hdp_topology *topology,
                               const struct hdpi_device_row *row)
{
    int64_t parts = row->ask.sms;
    char own[80], other[80], place[24];

    cuda_ask_place(place, sizeof place, &row->ask);
    for (const struct hdpi_device_row *at = topology->devices; at < row; ++at) {
        if (at->info.kind != HDP_CUDA ||
            at->info.logical_id != row->info.logical_id)
            continue;
        if (at->ask.sms == 0 || row->ask.sms == 0)
            return hdpi_fail(HDP_ERR_ARGUMENT,
                             "%s and %s are the same GPU or a part of it%s",
                             spell(other, sizeof other, &at->ask),
                             spell(own, sizeof own, &row->ask), place);
        parts += at->ask.sms;
    }
    /* sm_count of this row is still the whole device's */
    if (parts > row->info.sm_count)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "the parts of cuda:%d take %lld SMs, but it has %d%s",
                         (int)row->info.logical_id, (long long)parts,
                         (int)row->info.sm_count, place);
    return HDP_OK;
}

static hdp_status add(struct cuda_look *look, const struct hdpi_ask *ask,
                      int ordinal)
{
    struct hdpi_device_row *row = hdpi_topology_append(look->topology);

    if (!row)
        return HDP_ERR_MEMORY;
    row->ask = *ask;
    if (ask->all) {
        row->ask.all = 0;
        row->ask.logical_id = ordinal;
    }
    HDPI_RETURN_IF(cuda_row_fill(row, look, ordinal));
    HDPI_RETURN_IF(cuda_row_accept(row));
    HDPI_RETURN_IF(check_shared(look->topology, row));
    if (ask->sms > 0) /* what the driver grants may be more: open says */
        row->info.sm_count = row->info.partition_sms = ask->sms;
    if (ask->memory_bytes > 0 && ask->memory_bytes < row->info.memory_bytes)
        row->info.memory_bytes = ask->memory_bytes;
    return HDP_OK;
}

static hdp_status find_uuid(int *out, const struct cuda_look *look,
                            const struct hdpi_ask *ask)
{
    char uuid[UUID_ROOM], place[24];
    int found = -1;

    cuda_ask_place(place, sizeof place, ask);
    for (int i = 0; i < look->device_count; ++i) {
        HDPI_RETURN_IF(cuda_uuid(uuid, sizeof uuid, i));
        if (!cuda_uuid_begins(uuid, ask->uuid))
            continue;
        if (found >= 0)
            return hdpi_fail(HDP_ERR_ARGUMENT,
                             "cuda:%s: more than one GPU begins so: cuda:%d "
                             "and cuda:%d%s",
                             ask->uuid, found, i, place);
        found = i;
    }
    if (found < 0)
        return hdpi_fail(HDP_ERR_NOT_FOUND,
                         "no device: cuda:%s: none of the %d visible GPUs "
                         "begins so%s",
                         ask->uuid, look->device_count, place);
    *out = found;
    return HDP_OK;
}

static hdp_status meet(struct cuda_look *look, const struct hdpi_ask *ask)
{
    char place[24];
    int ordinal;

    if (ask->all) {
        for (int i = 0; i < look->device_count; ++i)
            HDPI_RETURN_IF(add(look, ask, i));
        return HDP_OK;
    }
    ordinal = (int)ask->logical_id;
    if (ask->logical_id < 0)
        HDPI_RETURN_IF(find_uuid(&ordinal, look, ask));
    cuda_ask_place(place, sizeof place, ask);
    if (ordinal >= look->device_count)
        return hdpi_fail(HDP_ERR_NOT_FOUND,
                         "no device: cuda:%d: there are the logical ids 0 to "
                         "%d%s",
                         ordinal, look->device_count - 1, place);
    return add(look, ask, ordinal);
}

/* ---- what is there --------------------------------------------------------- */

static hdp_status list(struct cuda_look *look)
{
    char line[384];

    for (int i = 0; i < look->device_count; ++i) {
        struct hdpi_device_row *row = hdpi_topology_append(look->topology);
        if (!row)
            return HDP_ERR_MEMORY;
        row->ask.kind = HDP_CUDA;
        row->ask.logical_id = i;
        HDPI_RETURN_IF(cuda_row_fill(row, look, i));
        if (!row->barred[0])
            continue;
        snprintf(line, sizeof line, "cuda:%d (%s): %s", i, row->info.name,
                 row->barred);
        HDPI_RETURN_IF(hdpi_topology_note(look->topology, "cuda", line));
    }
    return HDP_OK;
}

/* ---- the hook -------------------------------------------------------------- */

static hdp_status look_around(void *arg)
{
    struct cuda_look *look = arg;
    int count = 0; /* unwritten where there is no driver */
    cudaError_t code;

    HDPI_RETURN_IF(cuda_may_call());
    if (cuda_driver_version() == 0)
        return tell_nothing(look, cudaErrorInsufficientDriver);
    look->topology->driver = 1;
    hdpi_process_started(); /* from here on a child could not use CUDA */
    code = cudaGetDeviceCount(&count);
    if (is_answer(code) || (code == cudaSuccess && count == 0))
        return tell_nothing(look,
                            code == cudaSuccess ? cudaErrorNoDevice : code);
    HDPI_RETURN_IF(cuda_check(NULL, code, "cudaGetDeviceCount"));
    look->device_count = count;
    if (!look->asks)
        return list(look);
    for (int32_t i = 0; i < look->ask_count; ++i)
        if (look->asks[i].kind == HDP_CUDA)
            HDPI_RETURN_IF(meet(look, &look->asks[i]));
    return HDP_OK;
}

hdp_status cuda_enumerate(hdp_topology *topology, const struct hdpi_ask *asks,
                          int32_t count, const struct hdpi_site *site)
{
    struct cuda_look look = {
        .topology = topology, .asks = asks, .ask_count = count, .site = site
    };
    int32_t before = topology->info.device_count;
    hdp_status status;

    if (asks && !hdpi_ask_first(asks, count, HDP_CUDA))
        return HDP_OK;
    status = cuda_apart(look_around, &look);
    hdpi_nvml_close(look.nvml);
    if (status != HDP_OK)
        topology->info.device_count = before;
    return status;
}
