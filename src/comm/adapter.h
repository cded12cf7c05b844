/* What the adapters share and nobody else sees: their tables, and the hooks
 * of one that cannot open. All tables are constants. */
#ifndef HDPI_COMM_ADAPTER_H
#define HDPI_COMM_ADAPTER_H
#include "comm/comm.h"

extern const struct hdpi_comm_ops hdpi_local_ops;
extern const struct hdpi_comm_ops hdpi_nccl_ops;
extern const struct hdpi_comm_ops hdpi_absent_nccl_ops;
extern const struct hdpi_comm_ops hdpi_world_ops;

/* make_id and open refuse, so the others are never reached by a caller that
 * obeys the port; they answer HDP_ERR_UNSUPPORTED all the same. */
void hdpi_absent_release_id(void *id);
void hdpi_absent_comm_close(struct hdpi_comm *comm); /* also abort */
hdp_status hdpi_absent_post(struct hdpi_comm *comm, struct hdpi_comm_call *call,
                            int64_t deadline_ns, uint64_t *out_ticket);
hdp_status hdpi_absent_comm_wait(struct hdpi_comm *comm, uint64_t ticket,
                                 int64_t deadline_ns);
hdp_status hdpi_absent_poll(struct hdpi_comm *comm, uint64_t *out_done);
#endif
