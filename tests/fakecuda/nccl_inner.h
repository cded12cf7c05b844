/* What the files of the fake NCCL share. A communicator is a rank of a clique;
 * what a group names is kept by its thread until ncclGroupEnd, and becomes a
 * batch of its communicator: one meeting of streams for all collectives of it,
 * and one for each pair of ranks and message. */
#ifndef FAKE_NCCL_INNER_H
#define FAKE_NCCL_INNER_H
#include <nccl.h>
#include "meet.h"

/* The header declares them without a prototype. */
FAKE_API ncclResult_t ncclGroupStart(void);
FAKE_API ncclResult_t ncclGroupEnd(void);

/* Newer than some headers that this is compiled with. */
#if NCCL_VERSION_CODE < 22700
#define NCCL_SHRINK_ABORT 0x01
FAKE_API ncclResult_t ncclCommShrink(ncclComm_t comm, int *excludeRanksList,
                                     int excludeRanksCount, ncclComm_t *newcomm,
                                     ncclConfig_t *config, int shrinkFlags);
#endif
#if NCCL_VERSION_CODE < 22809
FAKE_API ncclResult_t ncclCommRevoke(ncclComm_t comm, int revokeFlags);
#endif

enum {
    FAKE_NCCL_COMM_BYTES = 32 << 20, /* device memory of each rank */
    FAKE_NCCL_POLLS = 3,             /* answers of ncclInProgress */
    FAKE_NCCL_WIDEST = 8             /* bytes of a scalar */
};

/* ---- what is asked for ---------------------------------------------------- */

enum fake_nccl_kind {
    FAKE_NCCL_ALL_REDUCE,
    FAKE_NCCL_REDUCE,
    FAKE_NCCL_REDUCE_SCATTER,
    FAKE_NCCL_BROADCAST,
    FAKE_NCCL_ALL_GATHER,
    FAKE_NCCL_SEND,
    FAKE_NCCL_RECV
};

/* An operator, as it was when it was named. */
struct fake_nccl_red {
    int kind;                               /* ncclSum to ncclAvg, or PREMUL */
    unsigned char scalar[FAKE_NCCL_WIDEST]; /* in the data's type */
    const void *at; /* of device memory, read by the work; NULL: scalar */
};
enum { FAKE_NCCL_PREMUL = ncclNumOps };

struct fake_nccl_op {
    enum fake_nccl_kind kind;
    const char *function;
    ncclComm_t comm;
    CUstream stream;
    ncclDataType_t type;
    size_t count;
    struct fake_nccl_red red;
    int root; /* or the other end of a message */
    const void *send;
    void *recv; /* the caller's addresses; NULL: it has none */
    size_t send_bytes, recv_bytes;
};

/* One rank's part of an operation, as the work sees it. */
struct fake_nccl_part {
    const char *send;
    char *recv;
    struct fake_nccl_red red;
};

size_t fake_nccl_size(ncclDataType_t type); /* 0: no such type */
/** 1: the fake can add in it. */
int fake_nccl_adds(ncclDataType_t type);
/** Does it for all ranks; `parts` in their order. Without the lock. */
void fake_nccl_compute(const struct fake_nccl_op *op,
                       const struct fake_nccl_part *parts, int ranks,
                       int version);
/** ncclSuccess and what the operator means, or why not. */
ncclResult_t fake_nccl_red_of(struct fake_nccl_red *out, ncclRedOp_t op,
                              ncclDataType_t type, ncclComm_t comm);

/* ---- communicators -------------------------------------------------------- */

/* The ranks of a communicator, while they come together and after. */
struct fake_nccl_clique {
    struct fake_nccl_clique *next;
    ncclUniqueId id; /* zeros: split or shrunk from another */
    int ranks, joined;
    int made;                          /* all have come, or it cannot be */
    ncclResult_t result;               /* what became of it */
    ncclComm_t *members;               /* by rank; NULL: not come, or ended */
    double bytes_per_second;           /* around the ring */
    struct fake_nccl_batch *batches;   /* that some have not come to */
    struct fake_nccl_family *families; /* that come of it */
};

enum fake_nccl_end {
    FAKE_NCCL_WORKS,
    FAKE_NCCL_FINALIZED,
    FAKE_NCCL_STOPPED /* revoked, or shrunk by force */
};

/* Its part of a batch, until the stream has gone past. */
struct fake_nccl_due {
    struct fake_seat seat;
    struct fake_nccl_batch *batch;
};

struct ncclComm {
    struct fake_handle handle;
    struct fake_nccl_clique *clique; /* NULL: none yet, or never */
    int rank;
    int blocking;
    enum fake_nccl_end end;
    ncclResult_t state;           /* of ncclCommGetAsyncError */
    int polls;                    /* that still say ncclInProgress */
    struct fake_nccl_op *pending; /* enqueued when polling is over */
    int pending_count;
    struct fake_nccl_family *family; /* that it waits for, polled; or NULL */
    ncclComm_t *child;               /* where that one's is wanted */
    int64_t batches, families;       /* that it has come to */
    int64_t *sent, *received;        /* messages, by the other rank */
    struct fake_nccl_due *dues;
    int due_count, due_capacity;
    struct fake_mark *last;           /* behind its latest batch, or NULL */
    const struct fake_thread *user;   /* in a call that waits */
    const struct fake_thread *window; /* whose group names it */
};

struct fake_nccl_clique *fake_nccl_clique_new(int ranks);
/** One that is of no clique yet; NULL where memory is short. */
ncclComm_t fake_nccl_new(struct fake_device *device, int blocking);
/** It becomes a rank. With the last one the clique is made. */
void fake_nccl_join(ncclComm_t comm, struct fake_nccl_clique *clique, int rank);
/** Ends the rank; nothing of it may be due. */
void fake_nccl_free(ncclComm_t comm);
/** The operators of a communicator end with it. */
void fake_nccl_redops_end(ncclComm_t comm);
/** What it has queued is over, or will not be: streams go on. */
void fake_nccl_stop(ncclComm_t comm);
/** Waits for what it has queued: ncclSuccess, or why it did not end. */
ncclResult_t fake_nccl_flush(ncclComm_t comm);
/** It will say ncclInProgress for a while. */
void fake_nccl_begin(ncclComm_t comm);
/** One poll more; at the last of them what it stands for happens. */
void fake_nccl_progress(ncclComm_t comm);
/** In a call of a communicator, waits until *made: ncclSuccess, or why nobody
 *  waits any longer. Another thread may abort it meanwhile. */
ncclResult_t fake_nccl_wait(ncclComm_t comm, const int *made);

/* ---- making them ---------------------------------------------------------- */

enum fake_nccl_maker { FAKE_NCCL_INIT, FAKE_NCCL_SPLIT, FAKE_NCCL_SHRINK };
enum { FAKE_NCCL_RANKS_MAX = 64 };

/* A communicator asked for. */
struct fake_nccl_init {
    enum fake_nccl_maker maker;
    const char *function;
    ncclComm_t *out;
    int blocking;       /* the call, as the parent says where there is one */
    int child_blocking; /* what is made */
    ncclUniqueId id;    /* FAKE_NCCL_INIT */
    int ranks, rank;
    struct fake_device *device;
    ncclComm_t parent; /* of the others */
    int color, key;
    uint64_t without; /* FAKE_NCCL_SHRINK: ranks, as bits */
    int force;        /* what the parent has queued ends */
    ncclComm_t comm;  /* what it has come to: the rank of a clique, before the
                         group ends where it does not block */
    struct fake_nccl_family *family; /* or the parent's family */
};

/* The children of a clique that come of one call of each rank. */
struct fake_nccl_family {
    struct fake_nccl_family *next;
    int64_t number;
    int come, made;
    ncclResult_t result;
    struct fake_nccl_init *rows; /* by rank; out is NULL: not come */
    ncclComm_t *children;        /* by rank of the parent */
};

/** Makes all of them, as far as their ranks are here: what the call says. */
ncclResult_t fake_nccl_make(struct fake_nccl_init *inits, int count);
/** The parent's rank comes to its next family. */
void fake_nccl_bear(struct fake_nccl_init *init);
/** It goes before the family is complete, or its own child was handed out. */
void fake_nccl_desert(ncclComm_t parent);
void fake_nccl_new_id(ncclUniqueId *out);
/** How what is made with it behaves; without one as `inherited`. */
ncclResult_t fake_nccl_config(const ncclConfig_t *config, int inherited,
                              int *blocking);

/* ---- groups --------------------------------------------------------------- */

/** In a group, keeps it until that ends; else does it now. */
ncclResult_t fake_nccl_ask(const struct fake_nccl_op *op);
ncclResult_t fake_nccl_ask_init(const struct fake_nccl_init *init);
/** A call of the group failed, and so will its end. */
void fake_nccl_window_fail(ncclResult_t code);
void fake_nccl_window_open(void);
ncclResult_t fake_nccl_window_close(void);
/** Queues one communicator's operations of a group on their streams. */
void fake_nccl_issue(ncclComm_t comm, const struct fake_nccl_op *ops,
                     int count);
/** Nanoseconds that operations take together. */
double fake_nccl_cost(const struct fake_nccl_op *ops, int count);
/** What a rank that leaves was to receive is not to be taken for anything. */
void fake_nccl_spoil(const struct fake_nccl_due *due);

/* ---- calls ---------------------------------------------------------------- */

int fake_nccl_version(void);
/** fake_enter() and what else can keep a call from being: 0 or its code. */
int fake_nccl_enter(const char *function, ncclResult_t usual, unsigned flags,
                    int since);
ncclResult_t fake_nccl_leave(ncclResult_t code);
/** What ncclGetLastError says from now on. Returns the code. */
ncclResult_t fake_nccl_say(ncclResult_t code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What a call wants of a communicator. */
enum fake_nccl_want {
    FAKE_NCCL_ANY,   /* it is alive */
    FAKE_NCCL_READY, /* and not in progress, nor in another thread's hands */
    FAKE_NCCL_CUDA,  /* and CUDA works */
    FAKE_NCCL_WORK   /* and it takes operations */
};
/** ncclSuccess, or what the call returns; breaks the rules that are broken. */
ncclResult_t fake_nccl_check(const char *function, ncclComm_t comm,
                             enum fake_nccl_want want);
#define NCCL_ENTER(name, usual, flags, since)                                  \
    do {                                                                       \
        int entered_ = fake_nccl_enter(name, usual, flags, since);             \
        if (entered_ != 0)                                                     \
            return (ncclResult_t)entered_;                                     \
    } while (0)
#define NCCL_LEAVE(code) return fake_nccl_leave(code)
#define NCCL_CHECK(function, comm, want)                                       \
    do {                                                                       \
        ncclResult_t checked_ = fake_nccl_check(function, comm, want);         \
        if (checked_ != ncclSuccess)                                           \
            NCCL_LEAVE(checked_);                                              \
    } while (0)
/* The name under which profilers reach it behind a wrapper of their own. */
#define NCCL_ALIAS(name)                                                       \
    FAKE_API extern __typeof__(name) p##name __attribute__((alias(#name)))
#endif
