/* A communicator as one rank's: its memory, its work that is due, its progress
 * where its calls do not block. */
#include <stdlib.h>
#include "core/machine.h"
#include "nccl_inner.h"

/* ---- cliques -------------------------------------------------------------- */

/* The whole device, of instances too: NCCL tells devices by their bus. */
static int physical(const struct ncclComm *comm)
{
    const struct fake_device *device = comm->handle.device;

    return device->parent < 0 ? device->number : device->parent;
}

/* What the machine file says of reduces, else the link that it sends on. */
static double rate_of(const struct fake_device *device,
                      const struct fake_device *next)
{
    struct hdpi_figures figures;
    int peer;

    if (hdpi_model_find(&figures, device->model, -1, 0) &&
        figures.rank->reduce_bytes_per_second > 0)
        return figures.rank->reduce_bytes_per_second;
    return fake_link(device, next, &peer);
}

static ncclResult_t judge(const struct fake_nccl_clique *clique)
{
    for (int i = 0; i < clique->ranks; i++)
        for (int k = 0; k < i; k++)
            if (physical(clique->members[i]) == physical(clique->members[k]))
                return fake_nccl_say(
                    ncclInvalidUsage,
                    "ranks %d and %d are both on the GPU at %s", k, i,
                    clique->members[i]->handle.device->info.pci);
    if (fake.config.shm_full && clique->ranks > 1)
        return fake_nccl_say(ncclSystemError,
                             "no room for shared memory: /dev/shm/nccl-fake, "
                             "%d bytes",
                             9637888);
    return ncclSuccess;
}

static void complete(struct fake_nccl_clique *clique)
{
    clique->result = judge(clique);
    for (int i = 0; i < clique->ranks; i++) {
        double rate =
            rate_of(clique->members[i]->handle.device,
                    clique->members[(i + 1) % clique->ranks]->handle.device);
        if (i == 0 || rate < clique->bytes_per_second)
            clique->bytes_per_second = rate;
    }
    clique->made = 1;
    pthread_cond_broadcast(&fake.moved);
}

/* ---- life ----------------------------------------------------------------- */

static void forget(void *handle)
{
    struct ncclComm *comm = handle;

    fake_mark_drop(comm->last);
    free(comm->pending);
    free(comm->sent);
    free(comm->received);
    free(comm->dues);
}

ncclComm_t fake_nccl_new(struct fake_device *device, int blocking)
{
    ncclComm_t comm;

    if (fake_memory_free_bytes(device) < FAKE_NCCL_COMM_BYTES) {
        fake_nccl_say(ncclUnhandledCudaError, "out of memory");
        return NULL;
    }
    comm = fake_handle_new(FAKE_COMM, sizeof *comm, device);
    comm->handle.forget = forget;
    comm->blocking = blocking;
    device->used_bytes += FAKE_NCCL_COMM_BYTES;
    return comm;
}

void fake_nccl_join(ncclComm_t comm, struct fake_nccl_clique *clique, int rank)
{
    comm->clique = clique;
    comm->rank = rank;
    clique->members[rank] = comm;
    if (++clique->joined == clique->ranks)
        complete(clique);
}

static void part(ncclComm_t comm)
{
    struct fake_nccl_clique *clique = comm->clique;

    clique->members[comm->rank] = NULL;
    if (!clique->made)
        clique->joined--; /* the others wait in vain */
}

void fake_nccl_free(ncclComm_t comm)
{
    fake_nccl_redops_end(comm);
    for (int i = 0; i < comm->due_count; i++)
        fake_meeting_drop(comm->dues[i].seat.meeting);
    comm->due_count = 0;
    free(comm->pending);
    comm->pending = NULL;
    if (comm->family)
        fake_nccl_desert(comm);
    if (comm->clique)
        part(comm);
    comm->handle.device->used_bytes -= FAKE_NCCL_COMM_BYTES;
    fake_handle_end(comm);
    pthread_cond_broadcast(&fake.moved);
}

/* ---- what is due ---------------------------------------------------------- */

void fake_nccl_stop(ncclComm_t comm)
{
    fake_streams_hold(1);
    for (int i = 0; i < comm->due_count; i++)
        if (fake_meeting_leave(&comm->dues[i].seat))
            fake_nccl_spoil(&comm->dues[i]);
    fake_streams_hold(-1);
}

static int is_through(const struct ncclComm *comm)
{
    for (int i = 0; i < comm->due_count; i++)
        if (!fake_meeting_over(&comm->dues[i].seat))
            return 0;
    return 1;
}

/* 1: whatever it is that the thread waits for will not be. */
static int is_vain(const struct ncclComm *comm, int64_t calms)
{
    return !comm->handle.alive || fake.poison || fake.calms != calms;
}

static ncclResult_t why(const struct ncclComm *comm)
{
    if (!comm->handle.alive)
        return fake_nccl_say(ncclInternalError, "aborted meanwhile");
    return fake.poison ? fake_nccl_say(ncclUnhandledCudaError,
                                       "CUDA failure %d", fake.poison)
                       : fake_nccl_say(ncclInternalError, "calmed");
}

static void wait_for_more(ncclComm_t comm)
{
    fake.waiters++;
    comm->user = fake_self();
    pthread_cond_wait(&fake.moved, &fake.lock);
    comm->user = NULL;
    if (--fake.waiters == 0)
        pthread_cond_broadcast(&fake.moved);
}

/* Nothing is left where nobody hangs any longer. */
ncclResult_t fake_nccl_flush(ncclComm_t comm)
{
    int64_t calms = fake.calms;

    while (!is_vain(comm, calms) && !is_through(comm))
        wait_for_more(comm);
    return comm->handle.alive && !fake.poison ? ncclSuccess : why(comm);
}

ncclResult_t fake_nccl_wait(ncclComm_t comm, const int *made)
{
    int64_t calms = fake.calms;

    while (!*made && !is_vain(comm, calms))
        wait_for_more(comm);
    return *made ? ncclSuccess : why(comm);
}

/* ---- progress ------------------------------------------------------------- */

void fake_nccl_begin(ncclComm_t comm)
{
    comm->state = ncclInProgress;
    comm->polls = FAKE_NCCL_POLLS;
}

static void launch(ncclComm_t comm)
{
    struct fake_nccl_op *ops = comm->pending;
    int count = comm->pending_count;

    comm->pending = NULL;
    comm->pending_count = 0;
    fake_nccl_issue(comm, ops, count);
    free(ops);
}

/* A poll while others have yet to come is none. */
void fake_nccl_progress(ncclComm_t comm)
{
    struct fake_nccl_family *family = comm->family;

    if (fake.poison) {
        comm->state = ncclUnhandledCudaError;
        return;
    }
    if (!comm->clique || !comm->clique->made || (family && !family->made) ||
        (comm->end != FAKE_NCCL_WORKS && !is_through(comm)) ||
        comm->polls-- > 0)
        return;
    comm->state = comm->clique->result;
    if (family) {
        comm->family = NULL;
        comm->state = family->result;
        *comm->child = family->children[comm->rank];
    }
    if (comm->pending)
        launch(comm);
}
