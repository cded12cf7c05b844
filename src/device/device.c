/* The adapter table, and the life of a member from one row. What was compiled
 * in is asked here and nowhere else under src/device. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "device/adapter.h"

#if HDP_WITH_CUDA
static const struct hdpi_device_ops *const adapters[] = { &hdpi_host_ops,
                                                          &hdpi_cuda_ops,
                                                          &hdpi_sim_ops, NULL };
#else
static const struct hdpi_device_ops *const adapters[] = { &hdpi_host_ops,
                                                          &hdpi_absent_cuda_ops,
                                                          &hdpi_sim_ops, NULL };

void hdpi_cuda_describe(struct hdpi_library *out)
{
    *out =
        (struct hdpi_library){ .name = "cuda", .note = "built without CUDA" };
}

void hdpi_cuda_blas_describe(struct hdpi_library *out)
{
    *out =
        (struct hdpi_library){ .name = "cublas", .note = "built without CUDA" };
}

int32_t hdpi_cuda_build_version(void)
{
    return 0;
}
#endif

const struct hdpi_device_ops *const *hdpi_device_adapters(void)
{
    return adapters;
}

const struct hdpi_device_ops *hdpi_device_adapter(int32_t kind)
{
    for (size_t i = 0; adapters[i]; ++i)
        if (adapters[i]->kind == kind)
            return adapters[i];
    return NULL;
}

hdp_status hdpi_device_open(struct hdpi_device **out,
                            const struct hdpi_device_row *row, int32_t member,
                            int32_t rank, const struct hdpi_site *site,
                            void *lent_queue)
{
    const struct hdpi_device_ops *ops = hdpi_device_adapter(row->info.kind);
    struct hdpi_device *device;
    hdp_status status;

    *out = NULL;
    if (!ops)
        return hdpi_fail(HDP_ERR_ARGUMENT, "member %d: no adapter of kind %d",
                         member, row->info.kind);
    assert(ops->state_size >= sizeof *device);
    device = hdpi_alloc(1, ops->state_size, "the state of a member");
    if (!device)
        return HDP_ERR_MEMORY;
    device->ops = ops;
    device->row = *row;
    device->member = member;
    device->rank = rank;
    device->site = site;
    device->log = site ? site->log : NULL;
    device->lent_queue = lent_queue;
    status = ops->open(device);
    if (status != HDP_OK) {
        hdpi_device_close(device);
        return status;
    }
    *out = device;
    return HDP_OK;
}

void hdpi_device_close(struct hdpi_device *device)
{
    if (!device)
        return;
    device->ops->close(device);
    free(device);
}
