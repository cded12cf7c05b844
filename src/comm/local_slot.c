/* One collective from the last part posted to the last chunk finished. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/clock.h"
#include "comm/local.h"
#include "kernels.h"

/* Bytes of one rank's data in a chunk: large enough that claiming one costs
 * nothing beside the work, small enough that ranks finish together and the
 * chunks of all ranks stay in the second-level cache. */
enum { CHUNK_MIN = 16 << 10, CHUNK_MAX = 64 << 10 };

/* Waking the others costs more than doing this much alone. */
enum { ALONE_BYTES = 16 << 10 };

int local_fault_set(struct local_fault *fault, hdp_status status, int32_t rank,
                    const char *format, ...)
{
    int32_t free = 0;
    va_list arguments;
    if (!atomic_compare_exchange_strong_explicit(&fault->claimed, &free, 1,
                                                 memory_order_acq_rel,
                                                 memory_order_acquire))
        return 0;
    va_start(arguments, format);
    (void)vsnprintf(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
    fault->rank = rank;
    fault->status = status;
    return 1;
}

static void fault_clear(struct local_fault *fault)
{
    /* Mostly clear already: do not take the line from those who read it. */
    if (!atomic_load_explicit(&fault->claimed, memory_order_relaxed))
        return;
    fault->status = HDP_OK;
    atomic_store_explicit(&fault->claimed, 0, memory_order_relaxed);
}

void local_keep_error(struct local *self, uint64_t ticket, hdp_status status)
{
    const hdp_error *error = hdpi_error();
    if (error->status != status)
        return;
    self->own = *error;
    self->own_ticket = ticket;
}

/* This rank failed in the collective: by its work before it (posting), or by
 * a chunk of it (working). */
static void fail_part(struct local *self, uint64_t ticket, hdp_status status)
{
    struct local_shared *shared = self->shared;
    int32_t rank = self->base.rank;
    const char *why = hdp_status_string(status);
    local_keep_error(self, ticket, status);
    if (self->own_ticket == ticket)
        why = self->own.text;
    local_slot_of(shared, ticket)->parts[rank].status = status;
    (void)local_fault_set(local_fault_of(shared, ticket), HDP_ERR_PEER, rank,
                          "rank %d failed: %s", rank, why);
}

static void complete(struct local *self, struct local_slot *slot,
                     uint64_t ticket);

/* ---- opening ------------------------------------------------------------- */

/* One thing that must be equal: 1 when it is not. */
static int differs(struct local_fault *fault, const char *what, int64_t first,
                   int32_t rank, int64_t other)
{
    if (first == other)
        return 0;
    (void)local_fault_set(fault, HDP_ERR_DIVERGED, rank,
                          "ranks 0 and %d call different things: %s %" PRId64
                          " and %" PRId64,
                          rank, what, first, other);
    return 1;
}

static int call_differs(struct local_fault *fault,
                        const struct hdpi_comm_call *a, int32_t rank,
                        const struct hdpi_comm_call *b)
{
    if (differs(fault, "kind", a->kind, rank, b->kind))
        return 1;
    if (a->kind == HDPI_COMM_BARRIER)
        return 0;
    if (differs(fault, "dtype", a->dtype, rank, b->dtype) ||
        differs(fault, "tensor_count", a->tensor_count, rank, b->tensor_count))
        return 1;
    if (a->kind == HDPI_COMM_BROADCAST &&
        differs(fault, "root", a->root, rank, b->root))
        return 1;
    if (a->kind == HDPI_COMM_REDUCE &&
        (differs(fault, "op", a->op, rank, b->op) ||
         differs(fault, "total", a->total, rank, b->total)))
        return 1;
    for (int32_t k = 0; a->elements != b->elements && k < a->tensor_count;
         ++k) {
        char what[48];
        (void)snprintf(what, sizeof what, "elements[%" PRId32 "]", k);
        if (differs(fault, what, a->elements[k], rank, b->elements[k]))
            return 1;
    }
    return 0;
}

static void judge_weights(struct local_slot *slot, struct local_fault *fault,
                          int32_t size)
{
    const struct hdpi_comm_call *call = slot->parts[0].call;
    int64_t sum = 0;
    for (int32_t r = 0; r < size; ++r) {
        int64_t count = slot->parts[r].call->count;
        if (sum > INT64_MAX - count) {
            (void)local_fault_set(fault, HDP_ERR_ARGUMENT, r,
                                  "the counts up to rank %d pass 2^63", r);
            return;
        }
        sum += count;
    }
    slot->total = sum;
    if (sum == 0)
        (void)local_fault_set(fault, HDP_ERR_STATE, -1,
                              "nothing to reduce: every weight is 0");
    else if (call->total != 0 && call->total != sum)
        (void)local_fault_set(fault, HDP_ERR_ARGUMENT, -1,
                              "total is %" PRId64
                              ", the counts add up to %" PRId64,
                              call->total, sum);
}

/* What is to be done, by all parts together; a fault means nothing is. */
static void judge(struct local *self, struct local_slot *slot,
                  struct local_fault *fault)
{
    const struct hdpi_comm_call *call = slot->parts[0].call;
    int failed = fault->status != HDP_OK; /* set by a rank that posted so */
    slot->action = LOCAL_NOTHING;
    for (int32_t r = 1; r < self->shared->size; ++r)
        if (call_differs(fault, call, r, slot->parts[r].call)) {
            /* A failed rank's fault came first; no buffer can be trusted to
             * have the size to poison it. */
            return;
        }
    if (call->kind == HDPI_COMM_BARRIER)
        return;
    if (!failed && call->kind == HDPI_COMM_REDUCE)
        judge_weights(slot, fault, self->shared->size);
    if (failed)
        slot->action = LOCAL_POISON;
    else if (fault->status == HDP_OK)
        slot->action =
            call->kind == HDPI_COMM_REDUCE ? LOCAL_COMBINE : LOCAL_COPY;
}

static void cut(struct local *self, struct local_slot *slot)
{
    int64_t size = (int64_t)hdpk_dtype_bytes(slot->parts[0].call->dtype);
    int64_t bytes, chunk;
    slot->elements = slot->action == LOCAL_NOTHING ? 0 : self->elements;
    slot->chunks = 1;
    slot->step = slot->elements;
    if (slot->elements == 0)
        return;
    bytes = slot->elements * size; /* checked by post */
    chunk = bytes / self->shared->size;
    chunk = chunk < CHUNK_MIN   ? CHUNK_MIN
            : chunk > CHUNK_MAX ? CHUNK_MAX
                                : chunk;
    if (bytes / chunk >= INT32_MAX)
        chunk = bytes / INT32_MAX + size;
    slot->step = chunk / size;
    slot->chunks = (uint32_t)((slot->elements - 1) / slot->step + 1);
}

static void open_slot(struct local *self, uint64_t ticket)
{
    struct local_shared *shared = self->shared;
    struct local_slot *slot = local_slot_of(shared, ticket);
    int64_t now_ns = hdpi_clock_ns();
    int64_t size = (int64_t)hdpk_dtype_bytes(slot->parts[0].call->dtype);
    int next;
    for (int32_t r = 0; r < shared->size; ++r)
        slot->parts[r].call->start_ns = now_ns;
    judge(self, slot, local_fault_of(shared, ticket));
    cut(self, slot);
    atomic_store_explicit(&slot->broken, 0, memory_order_relaxed);
    next =
        atomic_load_explicit(&shared->done, memory_order_acquire) == ticket - 1;
    if (next && slot->elements == 0) {
        complete(self, slot, ticket); /* nothing to share out */
        return;
    }
    atomic_store_explicit(&slot->left, slot->chunks, memory_order_relaxed);
    atomic_store_explicit(&slot->cursor, ticket << 32 | slot->chunks,
                          memory_order_release);
    if (next && slot->elements * size <= ALONE_BYTES)
        local_slot_work(self, ticket);
    else
        hdpi_park_signal(&shared->park);
}

void local_slot_post(struct local *self, struct hdpi_comm_call *call,
                     hdp_status failed)
{
    struct local_shared *shared = self->shared;
    uint64_t ticket = ++self->posted;
    uint64_t all = ((ticket - 1) / LOCAL_SLOTS + 1) * (uint64_t)shared->size;
    struct local_slot *slot = local_slot_of(shared, ticket);
    struct local_part *part = &slot->parts[self->base.rank];
    part->call = call;
    part->status = HDP_OK;
    if (failed != HDP_OK)
        fail_part(self, ticket, failed);
    atomic_store_explicit(&shared->ranks[self->base.rank].posted, ticket,
                          memory_order_relaxed);
    if (atomic_fetch_add_explicit(&slot->posted, 1, memory_order_acq_rel) + 1 ==
        all)
        open_slot(self, ticket);
}

/* ---- working ------------------------------------------------------------- */

static const void *source_of(const struct hdpi_comm_call *call, int32_t tensor)
{
    return call->send ? call->send[tensor] : call->recv[tensor];
}

static hdp_status combine(struct local *self, const struct local_slot *slot,
                          int32_t tensor, int64_t first, int64_t count)
{
    const struct hdpi_comm_call *call = slot->parts[0].call;
    struct hdpk_combine job = { .dtype = call->dtype,
                                .op = call->op,
                                .sources = self->sources,
                                .counts = self->counts,
                                .targets = self->targets,
                                .target_count = self->shared->size,
                                .total = slot->total,
                                .first = first,
                                .count = count };
    for (int32_t r = 0; r < self->shared->size; ++r) {
        const struct hdpi_comm_call *part = slot->parts[r].call;
        self->targets[r] = part->recv[tensor];
        if (part->count == 0)
            continue;
        self->sources[job.source_count] = source_of(part, tensor);
        self->counts[job.source_count++] = part->count;
    }
    return self->base.table.combine(self->base.table.member, &job);
}

static void copy(struct local *self, const struct local_slot *slot,
                 int32_t tensor, int64_t first, int64_t count)
{
    const struct hdpi_comm_call *root =
        slot->parts[slot->parts[0].call->root].call;
    size_t size = hdpk_dtype_bytes(root->dtype);
    const char *source = source_of(root, tensor);
    for (int32_t r = 0; r < self->shared->size; ++r) {
        char *target = slot->parts[r].call->recv[tensor];
        if (target != source)
            memcpy(target + (size_t)first * size, source + (size_t)first * size,
                   (size_t)count * size);
    }
}

static void poison(struct local *self, const struct local_slot *slot,
                   int32_t tensor, int64_t first, int64_t count)
{
    for (int32_t r = 0; r < self->shared->size; ++r) {
        const struct hdpi_comm_call *call = slot->parts[r].call;
        if (call->recv) /* a failed rank may have none */
            hdpk_poison(call->recv[tensor], call->dtype, first, count);
    }
}

static hdp_status act(struct local *self, const struct local_slot *slot,
                      int32_t tensor, int64_t first, int64_t count)
{
    switch (slot->action) {
    case LOCAL_COMBINE:
        return combine(self, slot, tensor, first, count);
    case LOCAL_COPY:
        copy(self, slot, tensor, first, count);
        break;
    case LOCAL_POISON:
        poison(self, slot, tensor, first, count);
        break;
    default:
        break;
    }
    return HDP_OK;
}

/* A chunk is a range of the tensors laid end to end. A rank's chunks of one
 * slot only go forward, so it looks for the tensor from where it stood. */
static hdp_status run_chunk(struct local *self, struct local_slot *slot,
                            uint64_t ticket, uint32_t index)
{
    const int64_t *sizes = slot->parts[0].call->elements;
    int64_t at = (int64_t)index * slot->step;
    int64_t end =
        slot->elements - at < slot->step ? slot->elements : at + slot->step;
    if (self->at_ticket != ticket) {
        self->at_ticket = ticket;
        self->at_tensor = 0;
        self->at_base = 0;
    }
    while (at < end) {
        int64_t next = self->at_base + sizes[self->at_tensor];
        int64_t stop = next < end ? next : end;
        if (at < stop)
            HDPI_RETURN_IF(act(self, slot, self->at_tensor, at - self->at_base,
                               stop - at));
        if (stop == next) {
            self->at_base = next;
            self->at_tensor++;
        }
        at = at < stop ? stop : at;
    }
    return HDP_OK;
}

/* A failed combine leaves some chunks right and some not: none is believed. */
static void poison_all(struct local *self, struct local_slot *slot)
{
    const struct hdpi_comm_call *call = slot->parts[0].call;
    for (int32_t k = 0; k < call->tensor_count; ++k)
        if (call->elements[k] > 0)
            poison(self, slot, k, 0, call->elements[k]);
}

static void complete(struct local *self, struct local_slot *slot,
                     uint64_t ticket)
{
    struct local_shared *shared = self->shared;
    int64_t now_ns;
    if (atomic_load_explicit(&slot->broken, memory_order_relaxed))
        poison_all(self, slot);
    now_ns = hdpi_clock_ns();
    for (int32_t r = 0; r < shared->size; ++r)
        slot->parts[r].call->end_ns = now_ns;
    fault_clear(local_fault_of(shared, ticket + LOCAL_SLOTS));
    atomic_store_explicit(&shared->done, ticket, memory_order_release);
    hdpi_park_signal(&shared->park);
}

/* 1 with the index of a chunk of that ticket. The cursor carries the ticket,
 * so a slow rank cannot take a chunk of the slot's next use. */
static int claim(struct local_slot *slot, uint64_t ticket, uint32_t *out_index)
{
    uint64_t cursor = atomic_load_explicit(&slot->cursor, memory_order_acquire);
    do {
        if (cursor >> 32 != (ticket & UINT32_MAX) || !(cursor & UINT32_MAX))
            return 0;
    } while (!atomic_compare_exchange_weak_explicit(
        &slot->cursor, &cursor, cursor - 1, memory_order_acq_rel,
        memory_order_acquire));
    *out_index = slot->chunks - (uint32_t)(cursor & UINT32_MAX);
    return 1;
}

static int claimable(struct local_slot *slot, uint64_t ticket)
{
    uint64_t cursor = atomic_load_explicit(&slot->cursor, memory_order_acquire);
    return cursor >> 32 == (ticket & UINT32_MAX) && (cursor & UINT32_MAX);
}

static void work_on(struct local *self, struct local_slot *slot,
                    uint64_t ticket)
{
    uint32_t index;
    while (!atomic_load_explicit(&self->shared->dead, memory_order_seq_cst) &&
           claim(slot, ticket, &index)) {
        if (!atomic_load_explicit(&slot->broken, memory_order_relaxed)) {
            hdp_status status = run_chunk(self, slot, ticket, index);
            if (status != HDP_OK) {
                fail_part(self, ticket, status);
                atomic_store_explicit(&slot->broken, 1, memory_order_relaxed);
            }
        }
        if (atomic_fetch_sub_explicit(&slot->left, 1, memory_order_acq_rel) ==
            1)
            complete(self, slot, ticket);
    }
}

void local_slot_work(struct local *self, uint64_t ticket)
{
    struct local_shared *shared = self->shared;
    struct local_rank *rank = &shared->ranks[self->base.rank];
    for (;;) {
        uint64_t next =
            atomic_load_explicit(&shared->done, memory_order_acquire) + 1;
        struct local_slot *slot = local_slot_of(shared, next);
        if (next > ticket || !claimable(slot, next))
            return;
        /* `working` and `dead` are each written before the other is read, in
         * one total order: whoever kills and then sees nobody working knows
         * that nobody will touch the data again. */
        atomic_store_explicit(&rank->working, 1, memory_order_seq_cst);
        work_on(self, slot, next);
        atomic_store_explicit(&rank->working, 0, memory_order_release);
        if (atomic_load_explicit(&shared->dead, memory_order_relaxed))
            return;
    }
}
