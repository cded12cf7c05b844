/* An adapter that cannot open still has an entry in the table: it says why. */
#include "comm/adapter.h"

static hdp_status unreachable(const struct hdpi_comm *comm)
{
    return hdpi_fail(HDP_ERR_UNSUPPORTED, "%s cannot be used by this build",
                     comm->ops->name);
}

void hdpi_absent_release_id(void *id)
{
    (void)id;
}

void hdpi_absent_comm_close(struct hdpi_comm *comm)
{
    (void)comm;
}

hdp_status hdpi_absent_post(struct hdpi_comm *comm, struct hdpi_comm_call *call,
                            int64_t deadline_ns, uint64_t *out_ticket)
{
    (void)call;
    (void)deadline_ns;
    *out_ticket = 0;
    return unreachable(comm);
}

hdp_status hdpi_absent_comm_wait(struct hdpi_comm *comm, uint64_t ticket,
                                 int64_t deadline_ns)
{
    (void)ticket;
    (void)deadline_ns;
    return unreachable(comm);
}

hdp_status hdpi_absent_poll(struct hdpi_comm *comm, uint64_t *out_done)
{
    *out_done = 0;
    return unreachable(comm);
}

/* The entry of a build without nccl.h. */
static hdp_status nccl_refuse(void)
{
    return hdpi_fail(HDP_ERR_UNSUPPORTED,
                     "this build has no NCCL: it was made without nccl.h or "
                     "without the CUDA Toolkit");
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

static void nccl_describe(struct hdpi_library *out)
{
    *out = (struct hdpi_library){ .name = "nccl", .note = "built without it" };
}

const struct hdpi_comm_ops hdpi_absent_nccl_ops = {
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
