/* Operations become meetings of streams. The ranks' calls are matched by their
 * order, and must be alike. */
#include <stdlib.h>
#include <string.h>
#include "nccl_inner.h"

enum { LATENCY_NS = 12000 };

/* All collectives of one group of each rank, or one message of two. */
struct fake_nccl_batch {
    struct fake_nccl_batch *next;
    struct fake_meeting *meeting;
    int64_t number;
    int from, to; /* of a message; -1: collectives */
    int parties, come, first_rank;
    int op_count;
    struct fake_nccl_op *ops;     /* as the first rank gave them */
    struct fake_nccl_part *parts; /* of operation 0: each party's, then 1 */
    int version, differs;
};

/* ---- what it does --------------------------------------------------------- */

static void spoil(const struct fake_nccl_batch *batch, int party)
{
    for (int i = 0; i < batch->op_count; i++) {
        const struct fake_nccl_part *part =
            &batch->parts[i * batch->parties + party];
        const struct fake_nccl_op *op = &batch->ops[i];
        size_t bytes = op->count * fake_nccl_size(op->type);
        if (op->kind == FAKE_NCCL_ALL_GATHER)
            bytes *= (size_t)batch->parties;
        if (part->recv)
            memset(part->recv, 0xFF, bytes); /* not a number */
    }
}

void fake_nccl_spoil(const struct fake_nccl_due *due)
{
    if (!due->batch->differs)
        spoil(due->batch, due->seat.party);
}

static void run(void *argument)
{
    const struct fake_nccl_batch *batch = argument;

    for (int i = 0; !batch->differs && i < batch->op_count; i++)
        fake_nccl_compute(&batch->ops[i], &batch->parts[i * batch->parties],
                          batch->parties, batch->version);
}

static void release(void *argument)
{
    struct fake_nccl_batch *batch = argument;

    free(batch->ops);
    free(batch->parts);
    free(batch);
}

/* ---- how long it takes ---------------------------------------------------- */

static double wire_ns(const struct fake_nccl_op *op)
{
    const struct fake_nccl_clique *clique = op->comm->clique;
    double ranks = clique->ranks, rate = clique->bytes_per_second;
    double bytes = (double)op->count * (double)fake_nccl_size(op->type);
    int peer;

    if (op->kind >= FAKE_NCCL_SEND) {
        ncclComm_t other = clique->members[op->root];
        if (!other || other == op->comm)
            return 0;
        return bytes /
               fake_link(op->comm->handle.device, other->handle.device, &peer) *
               1e9;
    }
    if (ranks < 2 || rate <= 0)
        return 0;
    if (op->kind == FAKE_NCCL_ALL_REDUCE)
        bytes *= 2 * (ranks - 1) / ranks;
    else if (op->kind != FAKE_NCCL_BROADCAST && op->kind != FAKE_NCCL_REDUCE)
        bytes *= ranks - 1; /* each part, to all but its owner */
    return bytes / rate * 1e9;
}

double fake_nccl_cost(const struct fake_nccl_op *ops, int count)
{
    double ns = LATENCY_NS;

    for (int i = 0; i < count; i++)
        ns += wire_ns(&ops[i]);
    return ns;
}

/* ---- matching ------------------------------------------------------------- */

static struct fake_nccl_batch *create(const struct fake_nccl_op *ops, int count,
                                      int parties)
{
    struct fake_nccl_batch *batch = calloc(1, sizeof *batch);
    struct fake_meeting_plan plan = { .parties = parties,
                                      .cost_ns = fake_nccl_cost(ops, count),
                                      .effect = run,
                                      .release = release,
                                      .argument = batch };
    struct fake_nccl_clique *clique = ops[0].comm->clique;

    if (!batch)
        abort();
    batch->meeting = fake_meeting_new(&plan);
    batch->parties = parties;
    batch->op_count = count;
    batch->version = fake_nccl_version();
    batch->first_rank = ops[0].comm->rank;
    batch->ops = calloc((size_t)count, sizeof ops[0]);
    batch->parts =
        calloc((size_t)count * (size_t)parties, sizeof batch->parts[0]);
    if (!batch->ops || !batch->parts)
        abort();
    memcpy(batch->ops, ops, (size_t)count * sizeof ops[0]);
    batch->next = clique->batches;
    clique->batches = batch;
    return batch;
}

static struct fake_nccl_batch *find(const struct fake_nccl_clique *clique,
                                    int64_t number, int from, int to)
{
    for (struct fake_nccl_batch *at = clique->batches; at; at = at->next)
        if (at->number == number && at->from == from && at->to == to)
            return at;
    return NULL;
}

static int is_message(const struct fake_nccl_op *op)
{
    return op->kind >= FAKE_NCCL_SEND;
}

static int is_alike(const struct fake_nccl_op *one,
                    const struct fake_nccl_op *other)
{
    if (one->count != other->count || one->type != other->type)
        return 0;
    return is_message(one) ||
           (one->kind == other->kind && one->root == other->root &&
            one->red.kind == other->red.kind);
}

static void compare(struct fake_nccl_batch *batch,
                    const struct fake_nccl_op *ops, int count)
{
    int i = 0;

    while (i < count && i < batch->op_count &&
           is_alike(&ops[i], &batch->ops[i]))
        i++;
    if (i == count && count == batch->op_count)
        return;
    batch->differs = 1;
    if (i == count || i == batch->op_count) {
        fake_break("rank %d has %d operations in its group, rank %d has %d",
                   ops[0].comm->rank, count, batch->first_rank,
                   batch->op_count);
        return;
    }
    fake_break("rank %d says %s of %zu elements, type %d, operator %d, root "
               "%d; rank %d says %s of %zu, type %d, operator %d, root %d",
               ops[i].comm->rank, ops[i].function, ops[i].count,
               (int)ops[i].type, ops[i].red.kind, ops[i].root,
               batch->first_rank, batch->ops[i].function, batch->ops[i].count,
               (int)batch->ops[i].type, batch->ops[i].red.kind,
               batch->ops[i].root);
}

static void *bytes_at(const void *pointer)
{
    struct fake_block *block = pointer ? fake_block_of(pointer, 0) : NULL;

    return block ? block->bytes + ((const char *)pointer - block->address)
                 : NULL;
}

/* The party's pointers, as they reach the bytes now. */
static void fill(struct fake_nccl_batch *batch, int party,
                 const struct fake_nccl_op *ops, int count)
{
    for (int i = 0; i < count && i < batch->op_count; i++) {
        struct fake_nccl_part *part = &batch->parts[i * batch->parties + party];
        part->send = bytes_at(ops[i].send);
        part->recv = bytes_at(ops[i].recv);
        part->red = ops[i].red;
        part->red.at = bytes_at(ops[i].red.at);
    }
}

static void unlist(struct fake_nccl_clique *clique,
                   struct fake_nccl_batch *batch)
{
    struct fake_nccl_batch **at = &clique->batches;

    while (*at != batch)
        at = &(*at)->next;
    *at = batch->next;
}

/* ---- what is due ---------------------------------------------------------- */

static void prune(ncclComm_t comm)
{
    int kept = 0;

    for (int i = 0; i < comm->due_count; i++)
        if (fake_meeting_over(&comm->dues[i].seat))
            fake_meeting_drop(comm->dues[i].seat.meeting);
        else
            comm->dues[kept++] = comm->dues[i];
    comm->due_count = kept;
}

static struct fake_seat *add_due(ncclComm_t comm, struct fake_nccl_batch *batch,
                                 int party)
{
    struct fake_nccl_due due = { { batch->meeting, party }, batch };

    if (comm->due_count == comm->due_capacity) {
        comm->due_capacity = comm->due_capacity ? 2 * comm->due_capacity : 8;
        comm->dues = realloc(comm->dues,
                             (size_t)comm->due_capacity * sizeof comm->dues[0]);
        if (!comm->dues)
            abort();
    }
    fake_meeting_keep(batch->meeting);
    comm->dues[comm->due_count] = due;
    return &comm->dues[comm->due_count++].seat;
}

/* The rank comes to a batch, the first one or a later one of its parties. */
static struct fake_seat attend(const struct fake_nccl_op *ops, int count,
                               int64_t number, int from, int to)
{
    ncclComm_t comm = ops[0].comm;
    int party = from < 0 ? comm->rank : ops[0].kind == FAKE_NCCL_RECV;
    struct fake_nccl_batch *batch = find(comm->clique, number, from, to);
    struct fake_seat seat;

    if (batch) {
        compare(batch, ops, count);
    } else {
        batch = create(ops, count, from < 0 ? comm->clique->ranks : 2);
        batch->number = number;
        batch->from = from;
        batch->to = to;
    }
    fill(batch, party, ops, count);
    seat = *add_due(comm, batch, party);
    if (++batch->come == batch->parties) {
        unlist(comm->clique, batch);
        fake_meeting_drop(batch->meeting); /* it is due to its parties */
    }
    return seat;
}

/* ---- onto streams --------------------------------------------------------- */

static int64_t *messages_of(int64_t **counts, int ranks, int peer)
{
    if (!*counts)
        *counts = calloc((size_t)ranks, sizeof **counts);
    if (!*counts)
        abort();
    return &(*counts)[peer];
}

/* Messages are numbered for each pair and direction. */
static struct fake_seat attend_message(const struct fake_nccl_op *op)
{
    ncclComm_t comm = op->comm;
    int sends = op->kind == FAKE_NCCL_SEND;
    int64_t *count = messages_of(sends ? &comm->sent : &comm->received,
                                 comm->clique->ranks, op->root);

    return attend(op, 1, (*count)++, sends ? comm->rank : op->root,
                  sends ? op->root : comm->rank);
}

/* "hang=nccl:RANK" and "ncclerror=RANK:CODE". */
static int is_planted(ncclComm_t comm)
{
    for (int i = 0; i < fake.config.plant_count; i++) {
        struct fake_plant_row *row = &fake.config.plants[i];
        if (row->kind != FAKE_HANG || row->spent ||
            strcmp(row->name, "nccl") != 0 || row->nth != comm->rank + 1)
            continue;
        row->spent = 1;
        if (row->code > 0)
            comm->state = (ncclResult_t)row->code;
        return 1;
    }
    return 0;
}

/* Its meetings: one of all collectives, and one of each message. */
static int attend_all(struct fake_seat *seats, ncclComm_t comm,
                      const struct fake_nccl_op *ops, int count)
{
    struct fake_nccl_op *all = malloc((size_t)count * sizeof ops[0]);
    int collectives = 0, seat_count = 0;

    if (!all)
        abort();
    for (int i = 0; i < count; i++)
        if (is_message(&ops[i]))
            seats[seat_count++] = attend_message(&ops[i]);
        else
            all[collectives++] = ops[i];
    if (collectives > 0)
        seats[seat_count++] = attend(all, collectives, comm->batches++, -1, -1);
    free(all);
    return seat_count;
}

static int is_other(const struct fake_nccl_op *ops, int i)
{
    for (int k = 0; k < i; k++)
        if (ops[k].stream == ops[i].stream)
            return 0;
    return i > 0;
}

static void use(const struct fake_nccl_op *op, CUstream stream, uint64_t place)
{
    fake_memory_use(op->send, stream, place);
    fake_memory_use(op->recv, stream, place);
    fake_memory_use(op->red.at, stream, place);
}

void fake_nccl_issue(ncclComm_t comm, const struct fake_nccl_op *ops, int count)
{
    struct fake_seat *seats = malloc((size_t)count * sizeof *seats);
    int number = comm->handle.device->number;
    CUstream stream = ops[0].stream;

    if (!seats)
        abort();
    prune(comm);
    fake_streams_hold(1);
    if (comm->last)
        fake_mark_wait(stream, comm->last);
    for (int i = 0; i < count; i++)
        if (is_other(ops, i)) {
            struct fake_mark *before = fake_mark_new(ops[i].stream);
            fake_mark_wait(stream, before);
            fake_mark_drop(before);
        }
    fake_mark_drop(comm->last);
    comm->last = fake_meet(stream, seats, attend_all(seats, comm, ops, count),
                           is_planted(comm));
    for (int i = 0; i < count; i++) {
        if (is_other(ops, i))
            fake_mark_wait(ops[i].stream, comm->last);
        use(&ops[i], stream, comm->last->place);
    }
    if (fake.config.sick[number])
        fake_poison(fake.config.sick[number]);
    free(seats);
    fake_streams_hold(-1);
}
