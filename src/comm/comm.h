/* The communication port: how ranks combine. One table an adapter. Private.
 *
 * Common to all hooks: every rank calls the same hooks in the same order; a
 * rank's hooks are called by its member's thread (abort: any thread). After
 * an error other than HDP_ERR_ARGUMENT or a failed call's own status the
 * communicator is dead: only abort and close are legal. An adapter never
 * calls a verb. Devices are reached only through the table lent at open. */
#ifndef HDPI_COMM_H
#define HDPI_COMM_H
#include "base/log.h"
#include "base/park.h"
#include "base/symbols.h"

struct hdpi_comm_ops;
struct hdpk_combine;

/* What a communicator may do with one member, as plain functions. */
struct hdpi_comm_member {
    void *member; /* first argument of all */
    /* Combines in the member's queue; every pointer is reachable by it. */
    hdp_status (*combine)(void *member, const struct hdpk_combine *job);
    /* My data is complete in queue order. */
    hdp_status (*ready)(void *member);
    struct hdpi_patience patience;
};

/* The base of every adapter's rank state. */
struct hdpi_comm {
    const struct hdpi_comm_ops *ops;
    int32_t rank, size;
    struct hdpi_comm_member table;
};

enum { HDPI_COMM_REDUCE = 1, HDPI_COMM_BROADCAST = 2, HDPI_COMM_BARRIER = 3 };

/* One rank's part of one collective. Valid until the call has completed. */
struct hdpi_comm_call {
    int32_t kind;
    int32_t dtype, op; /* HDP_*, HDP_OP_* */
    int32_t root;      /* broadcast */
    int32_t tensor_count;
    int32_t status;          /* this rank failed before: nothing of it counts,
                                everybody's floats become NaN */
    const int64_t *elements; /* one a tensor, equal on every rank */
    const void *const *send; /* this rank's tensors; NULL: in place */
    void *const *recv;
    int64_t count;            /* this rank's weight; 0: contributes nothing */
    int64_t total;            /* of all counts */
    int64_t bytes;            /* filled by post: of its tensors */
    int64_t start_ns, end_ns; /* filled: when all were ready, when done */
};

struct hdpi_comm_ops {
    const char *name;
    int32_t engine;    /* HDP_ENGINE_* */
    size_t state_size; /* of a rank's state, base included */

    /** The library it works with: the copy in the process, if there is one;
     *  loads none. NULL: it needs none. */
    void (*describe)(struct hdpi_library *out);

    /** Opaque bytes by which `size` ranks find each other; *out is released
     *  by release_id once every rank has opened or given up. HDP_ERR_MEMORY,
     *  HDP_ERR_UNSUPPORTED (adapter absent: the text says why). */
    hdp_status (*make_id)(void **out, int32_t size);
    void (*release_id)(void *id);

    /** Joins as rank of size; base filled, rest zero. May block until all
     *  have joined, to the deadline. On error the port calls close. */
    hdp_status (*open)(struct hdpi_comm *comm, void *id, int64_t deadline_ns);

    /** Never fails, never hangs, also when a peer is dead; accepts a zeroed
     *  or half-opened state. */
    void (*close)(struct hdpi_comm *comm);

    /**
     * Says: my part of the next collective is ready. Runs the table's ready
     * first; if that fails the part is posted as failed and the status is
     * returned. Blocks only while more than the adapter's room of earlier
     * calls are unfinished (helping them along), to the deadline. *out_ticket
     * grows by one each call, from 1. The same collective must be posted by
     * every rank; weights 0 contribute nothing and receive the result.
     */
    hdp_status (*post)(struct hdpi_comm *comm, struct hdpi_comm_call *call,
                       int64_t deadline_ns, uint64_t *out_ticket);

    /** Completes every call up to ticket, doing a share of the work. Returns
     *  the status of the first failed one among them (HDP_ERR_PEER with the
     *  rank when another failed, HDP_ERR_TIMEOUT naming a rank that did not
     *  come, HDP_ERR_STATE after abort). */
    hdp_status (*wait)(struct hdpi_comm *comm, uint64_t ticket,
                       int64_t deadline_ns);

    /** Does what can be done without waiting; *out_done is the last ticket
     *  completed. */
    hdp_status (*poll)(struct hdpi_comm *comm, uint64_t *out_done);

    /** Any thread: every pending and later call returns HDP_ERR_STATE. */
    void (*abort)(struct hdpi_comm *comm);
};

/** Bytes of an element of HDP_*; 0: no such type. */
int64_t hdpi_comm_dtype_bytes(int32_t dtype);

/** Adapters of this build in order local, nccl, world; NULL ends. */
const struct hdpi_comm_ops *const *hdpi_comm_adapters(void);
const struct hdpi_comm_ops *hdpi_comm_adapter(int32_t engine);

/** Opens all `size` ranks of one process at once; comms[i] gets rank i, with
 *  table[i] as its member. All or none. */
hdp_status hdpi_comm_open_all(struct hdpi_comm **comms, int32_t size,
                              const struct hdpi_comm_ops *ops,
                              const struct hdpi_comm_member *table);
/** NULL allowed. */
void hdpi_comm_close(struct hdpi_comm *comm);
#endif
