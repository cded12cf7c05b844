/* The way between two GPUs, as the driver tells it. How fast it really is, and
 * whether it keeps every byte, only a measurement shows. */
#include "device/cuda_inner.h"

struct pair {
    struct hdpi_topology_link *out;
    int from, to;
};

/* Atomic operations go over NVLink, and over no PCI Express between GPUs. */
static hdp_status ask(void *arg)
{
    const struct pair *pair = arg;
    int access = 0, atomics = 0;

    HDPI_RETURN_IF(cuda_may_call());
    HDPI_RETURN_IF(
        cuda_check(NULL, cudaDeviceCanAccessPeer(&access, pair->from, pair->to),
                   "cudaDeviceCanAccessPeer"));
    if (access)
        HDPI_RETURN_IF(cuda_check(
            NULL,
            cudaDeviceGetP2PAttribute(&atomics,
                                      cudaDevP2PAttrNativeAtomicSupported,
                                      pair->from, pair->to),
            "cudaDeviceGetP2PAttribute"));
    pair->out->peer = access != 0;
    pair->out->kind = !access   ? HDPI_LINK_HOST
                      : atomics ? HDPI_LINK_NVLINK
                                : HDPI_LINK_PCI;
    return HDP_OK;
}

hdp_status cuda_link(struct hdpi_topology_link *out,
                     const struct hdpi_device_row *from,
                     const struct hdpi_device_row *to,
                     const struct hdpi_site *site)
{
    struct pair pair = { out, from->info.logical_id, to->info.logical_id };

    (void)site;
    *out = (struct hdpi_topology_link){ 0 };
    if (pair.from == pair.to)
        return HDP_OK; /* parts of one GPU */
    return cuda_apart(ask, &pair);
}
