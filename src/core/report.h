/* What one step did: who had how many items, how long each computed, spans
 * for a picture. Plain data; the group recycles them. */
#ifndef HDPI_REPORT_H
#define HDPI_REPORT_H
#include "base/object.h"

struct hdp_report {
    struct hdpi_object object;
    hdp_report_info info;
    /* one block; info points into it */
    int64_t *items, *compute_ns, *held_bytes, *peak_bytes, *free_bytes;
    int32_t *first_at_share, *cause;
    hdp_span *spans;
    int32_t span_capacity;
    /* Called with the last reference instead of freeing; NULL: free. */
    void (*recycle)(hdp_report *report, void *owner);
    void *owner;
};

/** A report of `count` ranks: items 0, times and bytes -1. */
hdp_status hdpi_report_new(hdp_report **out, int32_t count,
                           int32_t span_capacity);
void hdpi_report_free(hdp_report *report);

/** Back to what hdpi_report_new() gave, without allocating: alive with one
 *  reference; the recycle hook stays. */
void hdpi_report_clear(hdp_report *report);

/** Appends a span; drops it silently when the room is full. */
void hdpi_report_span(hdp_report *report, int32_t rank, int32_t lane,
                      int32_t phase, int32_t piece, int64_t start_ns,
                      int64_t end_ns);

int hdpi_report_is_valid(const hdp_report *report);
#endif
