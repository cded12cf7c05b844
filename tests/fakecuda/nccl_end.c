/* Communicators end: after their work, or in the middle of it. */
#include "nccl_inner.h"

enum { ABORT_NS = 500000000, REVOKED_SINCE = NCCL_VERSION(2, 28, 7) };

/* 1: it takes no operations any more, and has none left. */
static ncclResult_t finalize(ncclComm_t comm)
{
    ncclResult_t code;

    if (!comm->blocking) {
        comm->end = FAKE_NCCL_FINALIZED;
        fake_nccl_begin(comm);
        return ncclInProgress;
    }
    code = fake_nccl_flush(comm);
    comm->end = FAKE_NCCL_FINALIZED;
    return code;
}

FAKE_API ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    static const char name[] = "ncclCommFinalize";

    NCCL_ENTER(name, ncclUnhandledCudaError, FAKE_ALWAYS,
               NCCL_VERSION(2, 14, 0));
    if (!comm)
        NCCL_LEAVE(ncclSuccess);
    NCCL_CHECK(name, comm, FAKE_NCCL_CUDA);
    if (comm->end != FAKE_NCCL_WORKS)
        NCCL_LEAVE(fake_nccl_say(ncclInvalidUsage, "%s: it has ended", name));
    if (comm->state != ncclSuccess)
        NCCL_LEAVE(comm->state);
    NCCL_LEAVE(finalize(comm));
}

/* One with an error is to be aborted. */
FAKE_API ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    static const char name[] = "ncclCommDestroy";
    ncclResult_t code;

    NCCL_ENTER(name, ncclUnhandledCudaError, FAKE_ALWAYS, 0);
    if (!comm)
        NCCL_LEAVE(ncclSuccess);
    NCCL_CHECK(name, comm, FAKE_NCCL_CUDA);
    if (comm->state != ncclSuccess)
        NCCL_LEAVE(comm->state);
    code = fake_nccl_flush(comm);
    if (!comm->handle.alive)
        NCCL_LEAVE(code);
    fake_nccl_free(comm);
    NCCL_LEAVE(code);
}

/* From any thread, also while another waits in a call of it; but what a group
 * names is in use until that ends. */
FAKE_API ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    static const char name[] = "ncclCommAbort";

    NCCL_ENTER(name, ncclSystemError, FAKE_ALWAYS, 0);
    if (!comm)
        NCCL_LEAVE(ncclSuccess);
    NCCL_CHECK(name, comm, FAKE_NCCL_ANY);
    if (comm->window)
        fake_break("%s: a group that is open names rank %d's communicator",
                   name, comm->rank);
    fake_nccl_stop(comm);
    if (comm->handle.alive)
        fake_nccl_free(comm);
    fake_host_reach(fake_host_ns() + ABORT_NS);
    NCCL_LEAVE(ncclSuccess);
}

FAKE_API ncclResult_t ncclCommRevoke(ncclComm_t comm, int revokeFlags)
{
    static const char name[] = "ncclCommRevoke";

    NCCL_ENTER(name, ncclSystemError, FAKE_ALWAYS, REVOKED_SINCE);
    NCCL_CHECK(name, comm, FAKE_NCCL_CUDA);
    if (revokeFlags != 0 || comm->end != FAKE_NCCL_WORKS)
        NCCL_LEAVE(fake_nccl_say(ncclInvalidArgument,
                                 "%s: flags, or it has "
                                 "ended",
                                 name));
    fake_nccl_stop(comm);
    comm->end = FAKE_NCCL_STOPPED;
    if (comm->blocking)
        NCCL_LEAVE(ncclSuccess);
    fake_nccl_begin(comm);
    NCCL_LEAVE(ncclInProgress);
}

NCCL_ALIAS(ncclCommFinalize);
NCCL_ALIAS(ncclCommDestroy);
NCCL_ALIAS(ncclCommAbort);
NCCL_ALIAS(ncclCommRevoke);
