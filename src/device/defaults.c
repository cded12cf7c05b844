/* The hooks an adapter gets that has nothing better: host memory with a count
 * of what is held, copies by memcpy, the C kernels, no time and no handle. */
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "device/adapter.h"
#include "kernels.h"

/* The size stands in front of the block, in a line of its own so that the
 * block keeps the alignment: free() is not told how much it gives back. */
enum { ALIGNMENT = 64 };

hdp_status hdpi_default_alloc(struct hdpi_device *device, void **out,
                              size_t bytes)
{
    size_t whole = bytes > SIZE_MAX - ALIGNMENT ? SIZE_MAX : bytes + ALIGNMENT;
    char *block;

    *out = NULL;
    if (bytes == 0)
        return HDP_OK;
    block = hdpi_alloc_aligned(whole, ALIGNMENT, "memory of a member");
    if (!block) {
        hdpi_error()->member = device->member;
        hdpi_error()->rank = device->rank;
        return HDP_ERR_MEMORY;
    }
    memcpy(block, &bytes, sizeof bytes);
    device->held_bytes += (int64_t)bytes;
    *out = block + ALIGNMENT;
    return HDP_OK;
}

void hdpi_default_free(struct hdpi_device *device, void *memory)
{
    char *block = memory;
    size_t bytes;

    if (!block)
        return;
    block -= ALIGNMENT;
    memcpy(&bytes, block, sizeof bytes);
    device->held_bytes -= (int64_t)bytes;
    free(block);
}

hdp_status hdpi_default_copy(struct hdpi_device *device,
                             const struct hdpi_copy *copy)
{
    const char *source = copy->source;
    char *target = copy->target;
    size_t bytes = (size_t)copy->row_bytes;

    (void)device;
    if (copy->rows <= 0 || bytes == 0)
        return HDP_OK;
    if (copy->source_stride == copy->row_bytes &&
        copy->target_stride == copy->row_bytes) {
        memcpy(target, source, (size_t)copy->rows * bytes);
        return HDP_OK;
    }
    for (int64_t row = 0; row < copy->rows; ++row) {
        memcpy(target, source, bytes);
        target += copy->target_stride;
        source += copy->source_stride;
    }
    return HDP_OK;
}

void hdpi_default_pause(struct hdpi_device *device)
{
    (void)device;
}

void hdpi_default_unmark(struct hdpi_device *device, struct hdpi_mark *mark)
{
    (void)device;
    *mark = (struct hdpi_mark){ NULL, 0 };
}

hdp_status hdpi_default_combine(struct hdpi_device *device,
                                const struct hdpk_combine *job)
{
    (void)device;
    hdpk_combine(job);
    return HDP_OK;
}

static hdp_status lacks(const struct hdpi_device *device, const char *what)
{
    return hdpi_fail_member(HDP_ERR_UNSUPPORTED, device->member, device->rank,
                            "%s:%d has no %s", device->ops->name,
                            device->row.info.logical_id, what);
}

hdp_status hdpi_default_probe_open(struct hdpi_device *device,
                                   struct hdpi_probe *probe)
{
    (void)probe;
    return lacks(device, "probes");
}

hdp_status hdpi_default_probe(struct hdpi_device *device,
                              const struct hdpi_probe *probe)
{
    (void)probe;
    return lacks(device, "probes");
}

void hdpi_default_probe_close(struct hdpi_device *device)
{
    (void)device;
}

void *hdpi_default_native(struct hdpi_device *device)
{
    (void)device;
    return NULL;
}

hdp_status hdpi_default_blas(struct hdpi_device *device, void **out)
{
    *out = NULL;
    return lacks(device, "BLAS handle");
}

void hdpi_default_memory(struct hdpi_device *device, int64_t *out_held,
                         int64_t *out_free)
{
    *out_held = device->held_bytes;
    *out_free = -1;
}

int32_t hdpi_default_cause(struct hdpi_device *device)
{
    (void)device;
    return HDP_CAUSE_NONE;
}

void hdpi_default_idle(struct hdpi_device *device, double ns)
{
    (void)device;
    (void)ns;
}

hdp_status hdpi_default_link(struct hdpi_topology_link *out,
                             const struct hdpi_device_row *from,
                             const struct hdpi_device_row *to,
                             const struct hdpi_site *site)
{
    (void)from;
    (void)to;
    (void)site;
    memset(out, 0, sizeof *out);
    return HDP_OK;
}

hdp_status hdpi_default_peer(struct hdpi_device *from,
                             const struct hdpi_device *to, int64_t deadline_ns,
                             struct hdpi_topology_link *out)
{
    (void)from;
    (void)to;
    (void)deadline_ns;
    memset(out, 0, sizeof *out);
    return HDP_OK;
}

hdp_status hdpi_default_software(struct hdpi_device *device, char *out,
                                 size_t capacity)
{
    (void)device;
    if (capacity > 0)
        out[0] = '\0';
    return HDP_OK;
}

void hdpi_default_forget(const struct hdpi_site *site)
{
    (void)site;
}

int32_t hdpi_default_locate(struct hdpi_device *device, const void *memory)
{
    (void)device;
    (void)memory;
    return HDPI_AT_HOST;
}

hdp_status hdpi_default_apart(struct hdpi_device *device,
                              hdp_status (*fn)(void *), void *arg)
{
    (void)device;
    return fn(arg);
}

hdp_status hdpi_default_order(struct hdpi_device *device, void *stream,
                              int32_t way)
{
    (void)stream;
    (void)way;
    return hdpi_fail_member(HDP_ERR_ARGUMENT, device->member, device->rank,
                            "%s has no streams", device->row.info.spec);
}
