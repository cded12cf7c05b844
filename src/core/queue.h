/* Independent batches in flight: which rank will finish the next one first.
 * Pure; time comes in with each call. */
#ifndef HDPI_QUEUE_H
#define HDPI_QUEUE_H
#include <stdint.h>
#include "base/status.h"

struct hdpi_queue;

hdp_status hdpi_queue_new(struct hdpi_queue **out, int32_t rank_count);
void hdpi_queue_free(struct hdpi_queue *queue);

/** When `rank` would be through with all it has, seen from now_ns: what the
 *  batch at its head has left (0 when overdue) and the others as predicted. */
double hdpi_queue_backlog(const struct hdpi_queue *queue, int32_t rank,
                          int64_t now_ns);
/** Items of a rank's batches in flight. */
int64_t hdpi_queue_items(const struct hdpi_queue *queue, int32_t rank);

/** Notes a batch on a rank; `*ticket` is never 0 and never given twice.
 *  HDP_ERR_MEMORY when the table cannot grow; it never shrinks, so a steady
 *  flow allocates nothing. */
hdp_status hdpi_queue_push(struct hdpi_queue *queue, int32_t rank,
                           int64_t items, double predicted_ns, int64_t now_ns,
                           uint64_t *ticket);
/** Ends it: its rank and items. HDP_ERR_NOT_FOUND for no such ticket, also for
 *  one that ended before. */
hdp_status hdpi_queue_pop(struct hdpi_queue *queue, uint64_t ticket,
                          int64_t now_ns, int32_t *rank, int64_t *items);

/** Says how a rank's last batch went. One that fails at once would be free at
 *  once and draw everything: it counts as busy for twice what `batch_ns` was
 *  predicted to take, twice as long with each failure in a row. */
void hdpi_queue_went(struct hdpi_queue *queue, int32_t rank, int failed,
                     double batch_ns, int64_t now_ns);
#endif
