/* NCCL's calls: how each begins and ends, what it wants of a communicator, and
 * those that only ask. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "nccl_inner.h"

static struct {
    char last_error[256];
    uint64_t ids; /* unique ids given out */
} said;

/* ---- the frame of a call -------------------------------------------------- */

int fake_nccl_version(void)
{
    return fake.config.nccl_version ? fake.config.nccl_version
                                    : NCCL_VERSION_CODE;
}

ncclResult_t fake_nccl_say(ncclResult_t code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(said.last_error, sizeof said.last_error, format, arguments);
    va_end(arguments);
    return code;
}

/* A planted hang: until fake_calm(), and then the call goes on. */
static void hang(const char *function)
{
    int64_t calms = fake.calms;

    if (!fake_hangs(function))
        return;
    fake.waiters++;
    while (fake.calms == calms)
        pthread_cond_wait(&fake.moved, &fake.lock);
    if (--fake.waiters == 0)
        pthread_cond_broadcast(&fake.moved);
}

int fake_nccl_enter(const char *function, ncclResult_t usual, unsigned flags,
                    int since)
{
    int code = fake_enter(function, (int)usual, FAKE_NCCL | flags);

    if (code != 0) {
        fake_lock();
        fake_nccl_say((ncclResult_t)code, "%s failed", function);
        fake_unlock();
        fake_nccl_window_fail((ncclResult_t)code);
        return code;
    }
    if (fake.config.no_nccl)
        return (int)fake_nccl_leave(
            fake_nccl_say(ncclSystemError, "%s: nothing is there", function));
    if (since > fake_nccl_version())
        return (int)fake_nccl_leave(fake_nccl_say(
            ncclInvalidUsage, "%s is newer than this library", function));
    hang(function);
    return 0;
}

ncclResult_t fake_nccl_leave(ncclResult_t code)
{
    if (code != ncclSuccess && code != ncclInProgress)
        fake_nccl_window_fail(code);
    return (ncclResult_t)fake_leave((int)code);
}

/* ---- communicators -------------------------------------------------------- */

/* Being in two threads' hands is seen where one of them waits, or has it named
 * in a group that is open. */
static void check_thread(const char *function, ncclComm_t comm)
{
    const struct fake_thread *self = fake_self();

    if ((comm->user && comm->user != self) ||
        (comm->window && comm->window != self))
        fake_break("%s: another thread is using rank %d's communicator",
                   function, comm->rank);
}

ncclResult_t fake_nccl_check(const char *function, ncclComm_t comm,
                             enum fake_nccl_want want)
{
    if (!comm || !fake_handle_is(comm, FAKE_COMM))
        return fake_nccl_say(ncclInvalidArgument, "%s: no communicator",
                             function);
    if (want == FAKE_NCCL_ANY)
        return ncclSuccess;
    check_thread(function, comm);
    if (comm->state == ncclInProgress) {
        fake_break("%s: rank %d's communicator is still in progress", function,
                   comm->rank);
        return fake_nccl_say(ncclInvalidArgument, "%s: still in progress",
                             function);
    }
    if (!comm->clique) /* its making failed */
        return comm->state;
    if (want == FAKE_NCCL_READY)
        return ncclSuccess;
    if (fake.poison)
        return fake_nccl_say(ncclUnhandledCudaError, "%s: CUDA failure %d",
                             function, fake.poison);
    if (want == FAKE_NCCL_CUDA)
        return ncclSuccess;
    if (comm->end != FAKE_NCCL_WORKS) {
        fake_break("%s: rank %d's communicator was %s", function, comm->rank,
                   comm->end == FAKE_NCCL_FINALIZED ? "finalized" : "stopped");
        return fake_nccl_say(ncclInvalidUsage, "%s: it has ended", function);
    }
    return comm->state;
}

/* ---- asking the library --------------------------------------------------- */

FAKE_API ncclResult_t ncclGetVersion(int *version)
{
    NCCL_ENTER("ncclGetVersion", ncclInternalError, FAKE_ALWAYS, 0);
    if (!version)
        NCCL_LEAVE(ncclInvalidArgument);
    *version = fake_nccl_version();
    NCCL_LEAVE(ncclSuccess);
}

FAKE_API const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const words[ncclNumResults] = {
        [ncclSuccess] = "no error",
        [ncclUnhandledCudaError] = "unhandled cuda error",
        [ncclSystemError] = "unhandled system error",
        [ncclInternalError] = "internal error",
        [ncclInvalidArgument] = "invalid argument",
        [ncclInvalidUsage] = "invalid usage",
        [ncclRemoteError] = "remote process exited or network error",
        [ncclInProgress] = "still in progress"
    };

    return (unsigned)result < ncclNumResults ? words[result]
                                             : "unknown result code";
}

FAKE_API const char *ncclGetLastError(ncclComm_t comm)
{
    static _Thread_local char copy[sizeof said.last_error];

    (void)comm; /* may be NULL, and is not looked at */
    fake_lock();
    memcpy(copy, said.last_error, sizeof copy);
    fake_unlock();
    return copy;
}

void fake_nccl_new_id(ncclUniqueId *out)
{
    memset(out, 0, sizeof *out);
    snprintf(out->internal, sizeof out->internal, "fake %d %llu",
             atomic_load(&fake.generation), (unsigned long long)++said.ids);
}

FAKE_API ncclResult_t ncclGetUniqueId(ncclUniqueId *uniqueId)
{
    NCCL_ENTER("ncclGetUniqueId", ncclSystemError, FAKE_ALWAYS, 0);
    if (!uniqueId)
        NCCL_LEAVE(ncclInvalidArgument);
    fake_nccl_new_id(uniqueId);
    NCCL_LEAVE(ncclSuccess);
}

/* ---- asking a communicator ------------------------------------------------ */

/* Other threads may ask too: watching is what it is for. */
FAKE_API ncclResult_t ncclCommGetAsyncError(ncclComm_t comm,
                                            ncclResult_t *asyncError)
{
    static const char name[] = "ncclCommGetAsyncError";

    NCCL_ENTER(name, ncclInternalError, FAKE_ALWAYS, 0);
    NCCL_CHECK(name, comm, FAKE_NCCL_ANY);
    if (!asyncError)
        NCCL_LEAVE(ncclInvalidArgument);
    if (comm->state == ncclInProgress)
        fake_nccl_progress(comm);
    *asyncError = comm->state;
    NCCL_LEAVE(ncclSuccess);
}

static ncclResult_t ask(const char *function, ncclComm_t comm, int *out,
                        int (*question)(const struct ncclComm *comm))
{
    NCCL_ENTER(function, ncclInvalidArgument, FAKE_ALWAYS, 0);
    NCCL_CHECK(function, comm, FAKE_NCCL_READY);
    if (!out)
        NCCL_LEAVE(ncclInvalidArgument);
    *out = question(comm);
    NCCL_LEAVE(ncclSuccess);
}

static int ranks_of(const struct ncclComm *comm)
{
    return comm->clique->ranks;
}

static int device_of(const struct ncclComm *comm)
{
    return comm->handle.device->visible;
}

static int rank_of(const struct ncclComm *comm)
{
    return comm->rank;
}

FAKE_API ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
    return ask("ncclCommCount", comm, count, ranks_of);
}

FAKE_API ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
    return ask("ncclCommCuDevice", comm, device, device_of);
}

FAKE_API ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
    return ask("ncclCommUserRank", comm, rank, rank_of);
}

NCCL_ALIAS(ncclGetVersion);
NCCL_ALIAS(ncclGetErrorString);
NCCL_ALIAS(ncclGetLastError);
NCCL_ALIAS(ncclGetUniqueId);
NCCL_ALIAS(ncclCommGetAsyncError);
NCCL_ALIAS(ncclCommCount);
NCCL_ALIAS(ncclCommCuDevice);
NCCL_ALIAS(ncclCommUserRank);
