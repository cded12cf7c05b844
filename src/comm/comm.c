/* The adapter table, and the life of the communicators of one process. What
 * was compiled in is asked here and nowhere else under src/comm. */
#include <assert.h>
#include <stdlib.h>
#include "base/mem.h"
#include "comm/adapter.h"
#include "kernels.h"

static const struct hdpi_comm_ops *const adapters[] = { &hdpi_local_ops,
#if HDP_WITH_NCCL
                                                        &hdpi_nccl_ops,
#else
                                                        &hdpi_absent_nccl_ops,
#endif
                                                        &hdpi_world_ops, NULL };

const struct hdpi_comm_ops *const *hdpi_comm_adapters(void)
{
    return adapters;
}

const struct hdpi_comm_ops *hdpi_comm_adapter(int32_t engine)
{
    for (size_t i = 0; adapters[i]; ++i)
        if (adapters[i]->engine == engine)
            return adapters[i];
    return NULL;
}

int64_t hdpi_comm_dtype_bytes(int32_t dtype)
{
    return (int64_t)hdpk_dtype_bytes(dtype);
}

static hdp_status open_rank(struct hdpi_comm **out, int32_t rank, int32_t size,
                            const struct hdpi_comm_ops *ops, void *id,
                            const struct hdpi_comm_member *table)
{
    assert(ops->state_size >= sizeof **out);
    struct hdpi_comm *comm =
        hdpi_alloc(1, ops->state_size, "the state of a communicator");
    if (!comm)
        return HDP_ERR_MEMORY;
    comm->ops = ops;
    comm->rank = rank;
    comm->size = size;
    comm->table = *table;
    hdp_status status = ops->open(comm, id, INT64_MAX);
    if (status != HDP_OK) {
        hdpi_comm_close(comm);
        comm = NULL;
    }
    *out = comm;
    return status;
}

hdp_status hdpi_comm_open_all(struct hdpi_comm **comms, int32_t size,
                              const struct hdpi_comm_ops *ops,
                              const struct hdpi_comm_member *table)
{
    void *id = NULL;
    for (int32_t rank = 0; rank < size; ++rank)
        comms[rank] = NULL;
    hdp_status status = ops->make_id(&id, size);
    for (int32_t rank = 0; status == HDP_OK && rank < size; ++rank)
        status = open_rank(&comms[rank], rank, size, ops, id, &table[rank]);
    if (id)
        ops->release_id(id);
    for (int32_t rank = 0; status != HDP_OK && rank < size; ++rank) {
        hdpi_comm_close(comms[rank]);
        comms[rank] = NULL;
    }
    return status;
}

void hdpi_comm_close(struct hdpi_comm *comm)
{
    if (!comm)
        return;
    comm->ops->close(comm);
    free(comm);
}
