/* Groups: what a thread asks for between ncclGroupStart and ncclGroupEnd is
 * kept, and done at the end or not at all. A call outside is a group of one. */
#include <stdlib.h>
#include <string.h>
#include "nccl_inner.h"

/* How deep it is stands in the thread itself. */
static _Thread_local struct {
    int generation;
    ncclResult_t failed;
    struct fake_nccl_op *ops;
    int op_count, op_capacity;
    struct fake_nccl_init *inits;
    int init_count, init_capacity;
} window;

static void refresh(void)
{
    int generation = atomic_load(&fake.generation);

    if (window.generation == generation)
        return;
    window.generation = generation;
    window.failed = ncclSuccess;
    window.op_count = window.init_count = 0;
}

void fake_nccl_window_fail(ncclResult_t code)
{
    refresh();
    if (fake_self()->window > 0 && window.failed == ncclSuccess)
        window.failed = code;
}

static void *grown(void *rows, int count, int *capacity, size_t size)
{
    if (count < *capacity)
        return rows;
    *capacity = *capacity ? 2 * *capacity : 8;
    rows = realloc(rows, (size_t)*capacity * size);
    if (!rows)
        abort();
    return rows;
}

/* ---- its end -------------------------------------------------------------- */

static void clear(void)
{
    for (int i = 0; i < window.op_count; i++)
        window.ops[i].comm->window = NULL;
    free(window.ops);
    free(window.inits);
    window.ops = NULL;
    window.inits = NULL;
    window.op_count = window.op_capacity = 0;
    window.init_count = window.init_capacity = 0;
    window.failed = ncclSuccess;
}

/* -1: some do and some do not. */
static int all_block(void)
{
    int blocking = window.op_count > 0 ? window.ops[0].comm->blocking
                                       : window.inits[0].blocking;

    for (int i = 0; i < window.op_count; i++)
        if (window.ops[i].comm->blocking != blocking)
            return -1;
    for (int i = 0; i < window.init_count; i++)
        if (window.inits[i].blocking != blocking)
            return -1;
    return blocking;
}

static void postpone(ncclComm_t comm, const struct fake_nccl_op *ops, int count)
{
    comm->pending = malloc((size_t)count * sizeof ops[0]);
    if (!comm->pending)
        abort();
    memcpy(comm->pending, ops, (size_t)count * sizeof ops[0]);
    comm->pending_count = count;
    fake_nccl_begin(comm);
}

/* The operations of ops[0]'s communicator, taken out; the rest moves up. */
static int take(struct fake_nccl_op *out, struct fake_nccl_op *ops, int *count)
{
    ncclComm_t comm = ops[0].comm;
    int taken = 0, left = 0;

    for (int i = 0; i < *count; i++)
        if (ops[i].comm == comm)
            out[taken++] = ops[i];
        else
            ops[left++] = ops[i];
    *count = left;
    return taken;
}

static ncclResult_t launch(int blocking)
{
    size_t bytes = (size_t)window.op_count * sizeof window.ops[0];
    struct fake_nccl_op *own = malloc(bytes), *rest = malloc(bytes);
    int left = window.op_count, count;

    if (!own || !rest)
        abort();
    memcpy(rest, window.ops, bytes);
    fake_streams_hold(1);
    while (left > 0) {
        count = take(own, rest, &left);
        if (!own[0].comm->handle.alive) /* a breach has been noted */
            continue;
        own[0].comm->user = fake_self();
        if (blocking)
            fake_nccl_issue(own[0].comm, own, count);
        else
            postpone(own[0].comm, own, count);
    }
    fake_streams_hold(-1); /* effects may run here, without the lock */
    for (int i = 0; i < window.op_count; i++)
        window.ops[i].comm->user = NULL;
    free(own);
    free(rest);
    return blocking ? ncclSuccess : ncclInProgress;
}

static ncclResult_t finish(void)
{
    int blocking;

    if (window.failed != ncclSuccess)
        return window.failed;
    if (window.op_count == 0 && window.init_count == 0)
        return ncclSuccess;
    if (window.op_count > 0 && window.init_count > 0) {
        fake_break("a group of NCCL both makes communicators and uses some");
        return fake_nccl_say(ncclInvalidUsage, "a mixed group");
    }
    if (fake.poison)
        return fake_nccl_say(ncclUnhandledCudaError, "CUDA failure %d",
                             fake.poison);
    blocking = all_block();
    if (blocking < 0)
        return fake_nccl_say(ncclInvalidArgument, "a group of communicators "
                                                  "of which some block");
    if (window.init_count > 0)
        return fake_nccl_make(window.inits, window.init_count);
    return launch(blocking);
}

void fake_nccl_window_open(void)
{
    refresh();
    fake_self()->window++;
}

ncclResult_t fake_nccl_window_close(void)
{
    ncclResult_t code;

    refresh();
    if (--fake_self()->window > 0)
        return ncclSuccess;
    code = finish();
    for (int i = 0; i < window.init_count; i++)
        if (code != ncclSuccess && code != ncclInProgress &&
            window.inits[i].comm && !window.inits[i].blocking)
            window.inits[i].comm->state = code;
    clear();
    return code;
}

/* ---- what is asked for ---------------------------------------------------- */

ncclResult_t fake_nccl_ask(const struct fake_nccl_op *op)
{
    fake_nccl_window_open();
    window.ops = grown(window.ops, window.op_count, &window.op_capacity,
                       sizeof window.ops[0]);
    window.ops[window.op_count++] = *op;
    op->comm->window = fake_self();
    return fake_nccl_window_close();
}

ncclResult_t fake_nccl_ask_init(const struct fake_nccl_init *init)
{
    fake_nccl_window_open();
    window.inits = grown(window.inits, window.init_count, &window.init_capacity,
                         sizeof window.inits[0]);
    window.inits[window.init_count++] = *init;
    return fake_nccl_window_close();
}

/* ---- calls ---------------------------------------------------------------- */

FAKE_API ncclResult_t ncclGroupStart(void)
{
    NCCL_ENTER("ncclGroupStart", ncclInternalError, FAKE_ALWAYS, 0);
    fake_nccl_window_open();
    NCCL_LEAVE(ncclSuccess);
}

/* Whatever becomes of it, the group is over. */
FAKE_API ncclResult_t ncclGroupEnd(void)
{
    int code =
        fake_nccl_enter("ncclGroupEnd", ncclUnhandledCudaError, FAKE_ALWAYS, 0);
    int failed = code != 0;

    if (failed)
        fake_lock();
    if (fake_self()->window > 0) {
        ncclResult_t result = fake_nccl_window_close();
        code = failed ? code : (int)result;
    } else if (!failed) {
        code = (int)fake_nccl_say(ncclInvalidUsage, "no group is open");
    }
    if (!failed)
        NCCL_LEAVE((ncclResult_t)code);
    fake_unlock();
    return (ncclResult_t)code;
}

/* Says how long it would take, in microseconds, and does nothing. */
FAKE_API ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *simInfo)
{
    NCCL_ENTER("ncclGroupSimulateEnd", ncclInternalError, FAKE_ALWAYS,
               NCCL_VERSION(2, 22, 0));
    if (fake_self()->window == 0)
        NCCL_LEAVE(fake_nccl_say(ncclInvalidArgument, "no group is open"));
    refresh();
    if (simInfo && window.op_count > 0)
        simInfo->estimatedTime =
            (float)(fake_nccl_cost(window.ops, window.op_count) / 1e3);
    clear();
    NCCL_LEAVE(fake_nccl_window_close());
}

NCCL_ALIAS(ncclGroupStart);
NCCL_ALIAS(ncclGroupEnd);
NCCL_ALIAS(ncclGroupSimulateEnd);
