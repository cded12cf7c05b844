/* A table of batches, found by their tickets' low bits: a ticket whose place is
 * taken is passed over, so that no search is needed and none comes twice. Those
 * of a rank form a list, oldest first; its head is the one being worked on. */
#include <stdlib.h>
#include "base/mem.h"
#include "core/queue.h"

enum { FIRST_PLACES = 64, FAILURES_MAX = 10 };

static const double longest_ns = 1e15; /* eleven days */

/* All that waits behind a head may count for so much: sums never overflow. */
static const int64_t most_behind_ns = INT64_MAX / 2;

struct batch {
    uint64_t ticket;             /* 0: a free place */
    uint64_t before, after;      /* of the same rank; 0: none */
    int64_t items, predicted_ns; /* as counted */
    int32_t rank;
};

struct line { /* one rank */
    uint64_t head, tail;
    int64_t items;
    int64_t behind_ns;     /* predicted, of all but the head */
    int64_t started_ns;    /* the head, or when the last one ended */
    int64_t busy_until_ns; /* after failures */
    int32_t failures;      /* in a row */
};

struct hdpi_queue {
    struct batch *places;
    size_t place_count; /* a power of two */
    size_t used;
    uint64_t last; /* ticket */
    int32_t rank_count;
    struct line *lines;
};

hdp_status hdpi_queue_new(struct hdpi_queue **out, int32_t rank_count)
{
    struct hdpi_queue *queue = hdpi_alloc(1, sizeof *queue, "a queue");

    *out = NULL;
    if (!queue)
        return HDP_ERR_MEMORY;
    queue->rank_count = rank_count;
    queue->place_count = FIRST_PLACES;
    queue->places =
        hdpi_alloc(queue->place_count, sizeof *queue->places, "a queue");
    queue->lines =
        hdpi_alloc((size_t)rank_count, sizeof *queue->lines, "a queue");
    if (!queue->places || !queue->lines) {
        hdpi_queue_free(queue);
        return HDP_ERR_MEMORY;
    }
    *out = queue;
    return HDP_OK;
}

void hdpi_queue_free(struct hdpi_queue *queue)
{
    if (!queue)
        return;
    free(queue->places);
    free(queue->lines);
    free(queue);
}

/* Where a ticket is or would be. */
static struct batch *place_of(const struct hdpi_queue *queue, uint64_t ticket)
{
    return &queue->places[ticket & (queue->place_count - 1)];
}

/* Tickets that differ in their low bits differ in more of them too, so each
 * batch finds its own place in a larger table. */
static hdp_status grow(struct hdpi_queue *queue)
{
    size_t before = queue->place_count;
    struct batch *old = queue->places;
    struct batch *places = hdpi_alloc(2 * before, sizeof *places, "a queue");

    if (!places)
        return HDP_ERR_MEMORY;
    queue->places = places;
    queue->place_count = 2 * before;
    for (size_t i = 0; i < before; i++)
        if (old[i].ticket)
            *place_of(queue, old[i].ticket) = old[i];
    free(old);
    return HDP_OK;
}

int64_t hdpi_queue_items(const struct hdpi_queue *queue, int32_t rank)
{
    return queue->lines[rank].items;
}

double hdpi_queue_backlog(const struct hdpi_queue *queue, int32_t rank,
                          int64_t now_ns)
{
    const struct line *line = &queue->lines[rank];
    double left = 0, rest = (double)(line->busy_until_ns - now_ns);

    if (line->head)
        left = (double)(place_of(queue, line->head)->predicted_ns -
                        (now_ns - line->started_ns));
    left = (left > 0 ? left : 0) + (double)line->behind_ns;
    return left > rest ? left : rest;
}

hdp_status hdpi_queue_push(struct hdpi_queue *queue, int32_t rank,
                           int64_t items, double predicted_ns, int64_t now_ns,
                           uint64_t *ticket)
{
    struct line *line = &queue->lines[rank];
    struct batch batch = { .rank = rank, .items = items };

    if (2 * (queue->used + 1) > queue->place_count)
        HDPI_RETURN_IF(grow(queue));
    do
        batch.ticket = ++queue->last;
    while (place_of(queue, batch.ticket)->ticket);
    batch.predicted_ns =
        (int64_t)(predicted_ns < longest_ns ? predicted_ns : longest_ns);
    if (batch.predicted_ns > most_behind_ns - line->behind_ns)
        batch.predicted_ns = most_behind_ns - line->behind_ns;
    batch.before = line->tail;
    *place_of(queue, batch.ticket) = batch;
    queue->used++;
    line->items += items;
    if (line->head) {
        place_of(queue, line->tail)->after = batch.ticket;
        line->behind_ns += batch.predicted_ns;
    } else {
        line->head = batch.ticket;
        line->started_ns = now_ns;
    }
    line->tail = batch.ticket;
    *ticket = batch.ticket;
    return HDP_OK;
}

static void take_out(struct hdpi_queue *queue, const struct batch *batch,
                     int64_t now_ns)
{
    struct line *line = &queue->lines[batch->rank];

    if (batch->after)
        place_of(queue, batch->after)->before = batch->before;
    else
        line->tail = batch->before;
    if (batch->before) {
        place_of(queue, batch->before)->after = batch->after;
        line->behind_ns -= batch->predicted_ns;
        return;
    }
    line->head = batch->after;
    line->started_ns = now_ns;
    if (line->head)
        line->behind_ns -= place_of(queue, line->head)->predicted_ns;
}

hdp_status hdpi_queue_pop(struct hdpi_queue *queue, uint64_t ticket,
                          int64_t now_ns, int32_t *rank, int64_t *items)
{
    struct batch *batch = place_of(queue, ticket);

    if (ticket == 0 || batch->ticket != ticket)
        return hdpi_fail(HDP_ERR_NOT_FOUND,
                         "ticket %llu: no such batch is in flight",
                         (unsigned long long)ticket);
    take_out(queue, batch, now_ns);
    *rank = batch->rank;
    *items = batch->items;
    queue->lines[batch->rank].items -= batch->items;
    batch->ticket = 0;
    queue->used--;
    return HDP_OK;
}

void hdpi_queue_went(struct hdpi_queue *queue, int32_t rank, int failed,
                     double batch_ns, int64_t now_ns)
{
    struct line *line = &queue->lines[rank];

    if (!failed) {
        line->failures = 0;
        line->busy_until_ns = 0;
        return;
    }
    if (line->failures < FAILURES_MAX)
        line->failures++;
    double busy = (double)(1 << line->failures) * batch_ns;
    line->busy_until_ns =
        now_ns + (int64_t)(busy < longest_ns ? busy : longest_ns);
}
