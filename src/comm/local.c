/* The adapter for ranks of one process: threads, or one thread that posts for
 * all of them. Nothing is allocated after open, nobody works for others
 * outside post, wait and poll, and results do not depend on who works. */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/mem.h"
#include "comm/adapter.h"
#include "comm/local.h"
#include "kernels.h"

/* How long a failing rank waits for others to step out of its buffers; they
 * leave after their chunk, which takes microseconds. */
static const int64_t SETTLE_NS = 1000000000;

static struct local *local_of(struct hdpi_comm *comm)
{
    return (struct local *)(void *)comm;
}

/* ---- the end ------------------------------------------------------------- */

static int is_dead(const struct local_shared *shared)
{
    return atomic_load_explicit(&shared->dead, memory_order_seq_cst);
}

/* Ends the communicator for all ranks; the first cause stays. */
static void die(struct local_shared *shared, hdp_status status, int32_t rank,
                const char *text)
{
    if (!local_fault_set(&shared->death, status, rank, "%s", text))
        return;
    atomic_store_explicit(&shared->dead, 1, memory_order_seq_cst);
    hdpi_park_signal(&shared->park);
}

/* Waits until no other rank can be inside this rank's buffers any more. */
static void settle(const struct local *self)
{
    const struct local_shared *shared = self->shared;
    int64_t deadline_ns = hdpi_deadline_ns(SETTLE_NS);
    for (int32_t r = 0; r < shared->size; ++r)
        while (r != self->base.rank &&
               atomic_load_explicit(&shared->ranks[r].working,
                                    memory_order_seq_cst) &&
               hdpi_clock_ns() < deadline_ns)
            (void)sched_yield();
}

static hdp_status tell(const struct local_fault *fault)
{
    return hdpi_fail_member(fault->status, fault->rank, fault->rank, "%s",
                            fault->text);
}

static hdp_status tell_death(const struct local *self)
{
    settle(self);
    return tell(&self->shared->death);
}

/* ---- failures of finished collectives ------------------------------------ */

/* Notes how the collectives up to ticket ended; they are finished. */
static void note(struct local *self, uint64_t ticket)
{
    for (; self->seen < ticket; ++self->seen) {
        uint64_t next = self->seen + 1;
        const struct local_fault *fault = local_fault_of(self->shared, next);
        if (fault->status == HDP_OK)
            continue;
        self->last_failed = next;
        if (self->first_failed)
            continue;
        self->first_failed = next;
        self->failed.status = fault->status;
        self->failed.rank = fault->rank;
        memcpy(self->failed.text, fault->text, sizeof fault->text);
        self->failed_own =
            local_slot_of(self->shared, next)->parts[self->base.rank].status;
    }
}

/* Tells the first failure up to ticket. When others between it and a later
 * one were not kept apart, the later tickets are all taken for failed: to
 * doubt a good result is better than to believe a bad one. */
static hdp_status report(struct local *self, uint64_t ticket)
{
    uint64_t first;

    note(self, ticket);
    first = self->first_failed;
    if (first == 0 || first > ticket)
        return HDP_OK;
    self->first_failed = self->last_failed > ticket ? ticket + 1 : 0;
    if (self->failed_own == HDP_OK)
        return tell(&self->failed);
    if (self->own_ticket == first)
        return hdpi_error_adopt(&self->own);
    return hdpi_fail_member(self->failed_own, self->base.rank, self->base.rank,
                            "rank %d had failed before this collective",
                            (int)self->base.rank);
}

/* ---- waiting ------------------------------------------------------------- */

static uint64_t done(const struct local_shared *shared)
{
    return atomic_load_explicit(&shared->done, memory_order_acquire);
}

/* The lowest rank that has not posted a ticket; -1 when all have. */
static int32_t missing(const struct local_shared *shared, uint64_t ticket)
{
    for (int32_t r = 0; r < shared->size; ++r)
        if (atomic_load_explicit(&shared->ranks[r].posted,
                                 memory_order_acquire) < ticket)
            return r;
    return -1;
}

static int32_t working(const struct local *self)
{
    for (int32_t r = 0; r < self->shared->size; ++r)
        if (r != self->base.rank &&
            atomic_load_explicit(&self->shared->ranks[r].working,
                                 memory_order_relaxed))
            return r;
    return -1;
}

static void expire(struct local *self)
{
    struct local_shared *shared = self->shared;
    uint64_t next = done(shared) + 1;
    int32_t rank = missing(shared, next);
    char text[LOCAL_TEXT];
    if (rank >= 0)
        (void)snprintf(text, sizeof text,
                       "rank %d did not come to collective %" PRIu64
                       " in time: it has posted %" PRIu64
                       ", this rank %" PRIu64,
                       (int)rank, next,
                       atomic_load_explicit(&shared->ranks[rank].posted,
                                            memory_order_relaxed),
                       self->posted);
    else {
        rank = working(self);
        if (rank < 0) /* it has just stopped, or this is it */
            rank = self->base.rank;
        (void)snprintf(text, sizeof text,
                       "rank %d did not finish its part of collective %" PRIu64
                       " in time",
                       (int)rank, next);
    }
    die(shared, HDP_ERR_TIMEOUT, rank, text);
}

/* A rank that has closed never posts what the others wait for. */
static void look_for_leavers(struct local *self)
{
    struct local_shared *shared = self->shared;
    uint64_t next = done(shared) + 1;
    for (int32_t r = 0; r < shared->size; ++r) {
        char text[LOCAL_TEXT];
        if (atomic_load_explicit(&shared->ranks[r].state,
                                 memory_order_acquire) != LOCAL_LEFT ||
            atomic_load_explicit(&shared->ranks[r].posted,
                                 memory_order_relaxed) >= next)
            continue;
        (void)snprintf(text, sizeof text,
                       "rank %d closed the communicator before collective "
                       "%" PRIu64,
                       (int)r, next);
        die(shared, HDP_ERR_STATE, r, text);
        return;
    }
}

/* Works until everything up to ticket is done. Not HDP_OK: it is dead. */
static hdp_status finish(struct local *self, uint64_t ticket,
                         int64_t deadline_ns)
{
    struct local_shared *shared = self->shared;
    int late = 0;
    while (done(shared) < ticket) {
        uint32_t seen = hdpi_park_read(&shared->park);
        local_slot_work(self, ticket);
        if (done(shared) >= ticket)
            break;
        look_for_leavers(self);
        if (is_dead(shared))
            return tell_death(self);
        if (late)
            expire(self);
        else if (!hdpi_park_wait(&shared->park, seen,
                                 &self->base.table.patience, deadline_ns))
            late = 1; /* it may just have been opened: one more look */
    }
    return HDP_OK;
}

/* After an abort nothing is told but the abort. */
static int aborted(const struct local_shared *shared)
{
    return is_dead(shared) && shared->death.status == HDP_ERR_STATE;
}

/* ---- hooks --------------------------------------------------------------- */

static hdp_status check_tensors(struct local *self, struct hdpi_comm_call *call)
{
    if (call->tensor_count < 0)
        return hdpi_fail(HDP_ERR_ARGUMENT, "tensor_count is %d",
                         (int)call->tensor_count);
    if (call->tensor_count > 0 && !call->elements)
        return hdpi_fail(HDP_ERR_ARGUMENT, "elements is NULL");
    for (int32_t k = 0; k < call->tensor_count; ++k)
        HDPI_RETURN_IF(hdpi_add(&self->elements, self->elements,
                                call->elements[k], "elements"));
    HDPI_RETURN_IF(hdpi_mul(&call->bytes, self->elements,
                            (int64_t)hdpk_dtype_bytes(call->dtype),
                            "bytes of a collective"));
    if (call->tensor_count > 0 && !call->recv && call->status == HDP_OK)
        return hdpi_fail(HDP_ERR_ARGUMENT, "recv is NULL");
    return HDP_OK;
}

static hdp_status check_call(struct local *self, struct hdpi_comm_call *call)
{
    self->elements = 0;
    call->bytes = 0;
    if (call->kind == HDPI_COMM_BARRIER)
        return HDP_OK;
    if (call->kind != HDPI_COMM_REDUCE && call->kind != HDPI_COMM_BROADCAST)
        return hdpi_fail(HDP_ERR_ARGUMENT, "kind is %d", (int)call->kind);
    if (hdpk_dtype_bytes(call->dtype) == 0)
        return hdpi_fail(HDP_ERR_ARGUMENT, "dtype is %d", (int)call->dtype);
    if (call->kind == HDPI_COMM_REDUCE) {
        if (!hdpk_combine_supported(call->dtype, call->op))
            return hdpi_fail(HDP_ERR_UNSUPPORTED,
                             "op %d of dtype %d is not supported",
                             (int)call->op, (int)call->dtype);
        if (call->count < 0)
            return hdpi_fail(HDP_ERR_ARGUMENT, "count is %" PRId64,
                             call->count);
    } else if (call->root < 0 || call->root >= self->shared->size) {
        return hdpi_fail(HDP_ERR_ARGUMENT, "root is %d of %d ranks",
                         (int)call->root, (int)self->shared->size);
    }
    return check_tensors(self, call);
}

static hdp_status local_post(struct hdpi_comm *comm,
                             struct hdpi_comm_call *call, int64_t deadline_ns,
                             uint64_t *out_ticket)
{
    struct local *self = local_of(comm);
    hdp_status failed = call->status, told = HDP_OK;
    *out_ticket = 0;
    HDPI_RETURN_IF(check_call(self, call));
    if (is_dead(self->shared))
        return tell_death(self);
    if (failed == HDP_OK)
        failed = told = comm->table.ready(comm->table.member);
    if (self->posted >= LOCAL_SLOTS) {
        uint64_t before = self->posted + 1 - LOCAL_SLOTS;
        HDPI_RETURN_IF(finish(self, before, deadline_ns));
        note(self, before);
    }
    local_slot_post(self, call, failed);
    *out_ticket = self->posted;
    return told;
}

static hdp_status local_wait(struct hdpi_comm *comm, uint64_t ticket,
                             int64_t deadline_ns)
{
    struct local *self = local_of(comm);
    if (ticket > self->posted)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "ticket %" PRIu64 " is beyond the last, %" PRIu64,
                         ticket, self->posted);
    if (aborted(self->shared))
        return tell_death(self);
    HDPI_RETURN_IF(finish(self, ticket, deadline_ns));
    return report(self, ticket);
}

static hdp_status local_poll(struct hdpi_comm *comm, uint64_t *out_done)
{
    struct local *self = local_of(comm);
    local_slot_work(self, self->posted);
    *out_done = done(self->shared);
    return is_dead(self->shared) ? tell_death(self) : HDP_OK;
}

static void local_abort(struct hdpi_comm *comm)
{
    die(local_of(comm)->shared, HDP_ERR_STATE, -1,
        "the communicator was aborted");
}

/* ---- life ---------------------------------------------------------------- */

static void release(struct local_shared *shared)
{
    if (atomic_fetch_sub_explicit(&shared->references, 1,
                                  memory_order_acq_rel) != 1)
        return;
    for (int32_t i = 0; i < LOCAL_SLOTS; ++i)
        free(shared->slots[i].parts);
    free(shared->ranks);
    free(shared);
}

static void local_release_id(void *id)
{
    if (id)
        release(id);
}

static hdp_status local_make_id(void **out, int32_t size)
{
    hdp_status status = HDP_ERR_MEMORY;
    *out = NULL;
    if (size < 1 || size > HDPK_SOURCES_MAX)
        return hdpi_fail(HDP_ERR_ARGUMENT, "%d ranks, of 1 to %d", (int)size,
                         HDPK_SOURCES_MAX);
    struct local_shared *shared =
        hdpi_alloc_aligned(sizeof *shared, LOCAL_LINE, "a communicator");
    if (!shared)
        return status;
    atomic_init(&shared->references, 1);
    shared->size = size;
    shared->ranks = hdpi_alloc_aligned((size_t)size * sizeof *shared->ranks,
                                       LOCAL_LINE, "the ranks");
    if (!shared->ranks)
        goto out;
    for (int32_t i = 0; i < LOCAL_SLOTS; ++i) {
        struct local_slot *slot = &shared->slots[i];
        slot->parts = hdpi_alloc((size_t)size, sizeof *slot->parts, "a slot");
        if (!slot->parts)
            goto out;
    }
    *out = shared;
    shared = NULL;
    status = HDP_OK;
out:
    local_release_id(shared);
    return status;
}

static hdp_status local_open(struct hdpi_comm *comm, void *id,
                             int64_t deadline_ns)
{
    struct local *self = local_of(comm);
    struct local_shared *shared = id;
    size_t size = (size_t)shared->size;
    int32_t absent = LOCAL_ABSENT;
    (void)deadline_ns; /* nobody is waited for: a late rank is seen by wait */
    if (comm->size != shared->size || comm->rank < 0 ||
        comm->rank >= shared->size)
        return hdpi_fail(HDP_ERR_ARGUMENT, "rank %d of %d, the id is for %d",
                         (int)comm->rank, (int)comm->size, (int)shared->size);
    self->sources = hdpi_alloc(size, sizeof *self->sources, "a rank");
    self->targets = hdpi_alloc(size, sizeof *self->targets, "a rank");
    self->counts = hdpi_alloc(size, sizeof *self->counts, "a rank");
    if (!self->sources || !self->targets || !self->counts)
        return HDP_ERR_MEMORY;
    if (!atomic_compare_exchange_strong(&shared->ranks[comm->rank].state,
                                        &absent, LOCAL_JOINED))
        return hdpi_fail(HDP_ERR_ARGUMENT, "rank %d is taken", (int)comm->rank);
    atomic_fetch_add_explicit(&shared->references, 1, memory_order_relaxed);
    self->shared = shared;
    return HDP_OK;
}

/* A rank may leave while others are inside: they are told by their wait, and
 * once this returns nobody is in this rank's buffers. */
static void local_close(struct hdpi_comm *comm)
{
    struct local *self = local_of(comm);
    struct local_shared *shared = self->shared;
    if (shared) {
        if (self->posted > done(shared))
            die(shared, HDP_ERR_STATE, comm->rank,
                "a rank closed the communicator with collectives pending");
        atomic_store_explicit(&shared->ranks[comm->rank].state, LOCAL_LEFT,
                              memory_order_release);
        hdpi_park_signal(&shared->park);
        settle(self);
        release(shared);
        self->shared = NULL;
    }
    free(self->sources);
    free(self->targets);
    free(self->counts);
    self->sources = NULL;
    self->targets = NULL;
    self->counts = NULL;
}

const struct hdpi_comm_ops hdpi_local_ops = {
    .name = "local",
    .engine = HDP_ENGINE_LOCAL,
    .state_size = sizeof(struct local),
    .make_id = local_make_id,
    .release_id = local_release_id,
    .open = local_open,
    .close = local_close,
    .post = local_post,
    .wait = local_wait,
    .poll = local_poll,
    .abort = local_abort,
};
