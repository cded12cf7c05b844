/* How busy GPUs are, from the management library: opened when asked for, and
 * let go of at once. */
#include <string.h>
#include "leases.h"

/* Least used first; among those the one with most free memory. */
static hdp_status rank_one(struct hdpi_lease_candidate *candidate,
                           const struct hdpi_nvml *nvml)
{
    struct hdpi_gpu_state state;

    HDPI_RETURN_IF(hdpi_nvml_use(&state, nvml, candidate->info.uuid));
    candidate->rank = (double)state.use_percent + 1 -
                      (double)state.free_bytes / (double)state.memory_bytes;
    return HDP_OK;
}

/* Those whose use nobody counts. */
static hdp_status refuse(const struct hdpi_lease_choice *choice)
{
    for (int32_t i = 0; i < choice->count; ++i) {
        const hdp_device *info = &choice->candidates[i].info;
        if (info->kind == HDP_SIM)
            return hdpi_fail(HDP_ERR_UNSUPPORTED,
                             "policy idle: %s is simulated, and nobody uses it "
                             "more or less",
                             info->spec);
        if (strncmp(info->uuid, "MIG-", 4) == 0)
            return hdpi_fail(HDP_ERR_UNSUPPORTED,
                             "policy idle: %s (%s) is a MIG instance, and the "
                             "management library counts the use of whole GPUs "
                             "alone; policy memory can be had",
                             info->spec, info->uuid);
    }
    return HDP_OK;
}

hdp_status hdpi_lease_rank_idle(struct hdpi_lease_choice *choice,
                                const hdp_context *context)
{
    struct hdpi_nvml *nvml = NULL;
    hdp_status status = refuse(choice);

    if (status != HDP_OK)
        return status;
    HDPI_TRY(hdpi_nvml_open(&nvml, context->nvml_path));
    for (int32_t i = 0; i < choice->count; ++i)
        HDPI_TRY(rank_one(&choice->candidates[i], nvml));
out:
    hdpi_nvml_close(nvml);
    if (status != HDP_OK && status != HDP_ERR_MEMORY)
        hdpi_error_behind("policy idle");
    return status;
}
