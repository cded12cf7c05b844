/* An adapter that is not there still has an entry: it finds nothing, says
 * why, and refuses each device asked of it. */
#include <string.h>
#include "device/adapter.h"

const struct hdpi_ask *hdpi_ask_first(const struct hdpi_ask *asks,
                                      int32_t count, int32_t kind)
{
    for (int32_t i = 0; asks && i < count; ++i)
        if (asks[i].kind == kind)
            return &asks[i];
    return NULL;
}

hdp_status hdpi_ask_refuse(const struct hdpi_ask *ask, const char *adapter,
                           const char *reason)
{
    if (ask->all)
        return hdpi_fail(HDP_ERR_NOT_FOUND, "no device: %s:all: %s", adapter,
                         reason);
    if (ask->logical_id < 0)
        return hdpi_fail(HDP_ERR_NOT_FOUND, "no device: %s:%s: %s", adapter,
                         ask->uuid, reason);
    return hdpi_fail(HDP_ERR_NOT_FOUND, "no device: %s:%d: %s", adapter,
                     ask->logical_id, reason);
}

hdp_status hdpi_absent_open(struct hdpi_device *device)
{
    return hdpi_fail_member(HDP_ERR_NOT_FOUND, device->member, device->rank,
                            "no device: %s:%d", device->ops->name,
                            device->row.info.logical_id);
}

void hdpi_absent_close(struct hdpi_device *device)
{
    (void)device;
}

static hdp_status unreachable(const struct hdpi_device *device)
{
    return hdpi_fail_member(HDP_ERR_UNSUPPORTED, device->member, device->rank,
                            "%s:%d cannot be used by this build",
                            device->ops->name, device->row.info.logical_id);
}

hdp_status hdpi_absent_launch(struct hdpi_device *device, hdp_work_fn fn,
                              const hdp_shard *shard, void *user,
                              int32_t *out_code)
{
    (void)fn;
    (void)shard;
    (void)user;
    *out_code = 0;
    return unreachable(device);
}

hdp_status hdpi_absent_mark(struct hdpi_device *device, struct hdpi_mark *mark,
                            int32_t purpose)
{
    (void)mark;
    (void)purpose;
    return unreachable(device);
}

hdp_status hdpi_absent_elapsed(struct hdpi_device *device, double *out_ns,
                               const struct hdpi_mark *from,
                               const struct hdpi_mark *to)
{
    (void)from;
    (void)to;
    *out_ns = 0;
    return unreachable(device);
}

hdp_status hdpi_absent_wait(struct hdpi_device *device, int64_t deadline_ns)
{
    (void)deadline_ns;
    return unreachable(device);
}

static hdp_status cuda_enumerate(hdp_topology *topology,
                                 const struct hdpi_ask *asks, int32_t count,
                                 const struct hdpi_site *site)
{
    static const char reason[] = "built without CUDA";
    const struct hdpi_ask *ask = hdpi_ask_first(asks, count, HDP_CUDA);

    (void)site;
    if (ask)
        return hdpi_ask_refuse(ask, "cuda", reason);
    return asks ? HDP_OK : hdpi_topology_note(topology, "cuda", reason);
}

const struct hdpi_device_ops hdpi_absent_cuda_ops = {
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
    .peer = hdpi_default_peer,
    .software = hdpi_default_software,
    .forget = hdpi_default_forget,
    .host_alloc = hdpi_default_alloc,
    .host_free = hdpi_default_free,
    .locate = hdpi_default_locate,
    .order = hdpi_default_order,
    .apart = hdpi_default_apart,
};
