/* Members across processes, through the callbacks the caller lends: an entry
 * that refuses until worlds of several processes exist. */
#include "comm/adapter.h"

static hdp_status world_refuse(void)
{
    return hdpi_fail(HDP_ERR_UNSUPPORTED, "worlds of more than one process "
                                          "come in a later version");
}

static hdp_status world_make_id(void **out, int32_t size)
{
    (void)size;
    *out = NULL;
    return world_refuse();
}

static hdp_status world_open(struct hdpi_comm *comm, void *id,
                             int64_t deadline_ns)
{
    (void)comm;
    (void)id;
    (void)deadline_ns;
    return world_refuse();
}

const struct hdpi_comm_ops hdpi_world_ops = {
    .name = "world",
    .engine = HDP_ENGINE_WORLD,
    .state_size = sizeof(struct hdpi_comm),
    .make_id = world_make_id,
    .release_id = hdpi_absent_release_id,
    .open = world_open,
    .close = hdpi_absent_comm_close,
    .post = hdpi_absent_post,
    .wait = hdpi_absent_comm_wait,
    .poll = hdpi_absent_poll,
    .abort = hdpi_absent_comm_close,
};
