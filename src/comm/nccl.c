/* The NCCL adapter: an entry that refuses and says which headers it knows. */
#include "comm/nccl_load.h"

static hdp_status nccl_refuse(void)
{
    return hdpi_fail(HDP_ERR_UNSUPPORTED,
                     "NCCL comes in a later version (built with headers "
                     "%d.%d.%d)",
                     NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH);
}

static hdp_status nccl_make_id(void **out, int32_t size)
{
    (void)size;
    *out = NULL;
    return nccl_refuse();
}

static hdp_status nccl_open(struct hdpi_comm *comm, void *id,
                            int64_t deadline_ns)
{
    (void)comm;
    (void)id;
    (void)deadline_ns;
    return nccl_refuse();
}

const struct hdpi_comm_ops hdpi_nccl_ops = {
    .name = "nccl",
    .engine = HDP_ENGINE_NCCL,
    .state_size = sizeof(struct hdpi_comm),
    .describe = nccl_describe,
    .make_id = nccl_make_id,
    .release_id = hdpi_absent_release_id,
    .open = nccl_open,
    .close = hdpi_absent_comm_close,
    .post = hdpi_absent_post,
    .wait = hdpi_absent_comm_wait,
    .poll = hdpi_absent_poll,
    .abort = hdpi_absent_comm_close,
};
