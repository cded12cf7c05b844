/* One block: the struct, then its arrays, widest first. A group makes its
 * reports once and gets each back through the recycle hook. */
#include <stdlib.h>
#include "base/mem.h"
#include "core/report.h"

static const char what[] = "a report";

/* Arrays of one entry a rank. */
enum { WIDE_ARRAYS = 5, NARROW_ARRAYS = 2 };

static hdp_status block_bytes(int64_t *out, int32_t count,
                              int32_t span_capacity)
{
    int64_t wide, narrow, spans;
    if (count < 1 || span_capacity < 0)
        return hdpi_fail(HDP_ERR_ARGUMENT, "a report of %d ranks and %d spans",
                         (int)count, (int)span_capacity);
    HDPI_RETURN_IF(
        hdpi_mul(&wide, count, WIDE_ARRAYS * (int64_t)sizeof(int64_t), what));
    HDPI_RETURN_IF(hdpi_mul(&narrow, count,
                            NARROW_ARRAYS * (int64_t)sizeof(int32_t), what));
    HDPI_RETURN_IF(
        hdpi_mul(&spans, span_capacity, (int64_t)sizeof(hdp_span), what));
    HDPI_RETURN_IF(hdpi_add(out, (int64_t)sizeof(hdp_report), wide, what));
    HDPI_RETURN_IF(hdpi_add(out, *out, spans, what));
    return hdpi_add(out, *out, narrow, what);
}

static void point_into(hdp_report *report, int32_t count, int32_t span_capacity)
{
    size_t ranks = (size_t)count;
    report->items = (int64_t *)(report + 1);
    report->compute_ns = report->items + ranks;
    report->held_bytes = report->compute_ns + ranks;
    report->peak_bytes = report->held_bytes + ranks;
    report->free_bytes = report->peak_bytes + ranks;
    report->spans = (hdp_span *)(report->free_bytes + ranks);
    report->first_at_share = (int32_t *)(report->spans + span_capacity);
    report->cause = report->first_at_share + ranks;
    report->span_capacity = span_capacity;
    report->info = (hdp_report_info){ .size = sizeof report->info,
                                      .rank_count = count,
                                      .items = report->items,
                                      .compute_ns = report->compute_ns,
                                      .spans = report->spans,
                                      .held_bytes = report->held_bytes,
                                      .peak_bytes = report->peak_bytes,
                                      .free_bytes = report->free_bytes,
                                      .first_at_share = report->first_at_share,
                                      .cause = report->cause };
}

_Static_assert(sizeof(hdp_report) % _Alignof(int64_t) == 0 &&
                   sizeof(hdp_span) % _Alignof(int64_t) == 0 &&
                   _Alignof(hdp_span) == _Alignof(int64_t),
               "the arrays of a report follow one another without gaps");

hdp_status hdpi_report_new(hdp_report **out, int32_t count,
                           int32_t span_capacity)
{
    int64_t bytes;
    *out = NULL;
    HDPI_RETURN_IF(block_bytes(&bytes, count, span_capacity));
    hdp_report *report = hdpi_alloc((size_t)bytes, 1, what);
    if (!report)
        return HDP_ERR_MEMORY;
    point_into(report, count, span_capacity);
    hdpi_report_clear(report);
    *out = report;
    return HDP_OK;
}

void hdpi_report_free(hdp_report *report)
{
    free(report);
}

void hdpi_report_clear(hdp_report *report)
{
    hdpi_object_init(&report->object, HDPI_REPORT);
    report->info.step = 0;
    report->info.step_ns = -1;
    report->info.span_count = 0;
    report->info.reduce_engine = HDP_ENGINE_NONE;
    for (int32_t i = 0; i < report->info.rank_count; i++) {
        report->items[i] = 0;
        report->compute_ns[i] = -1;
        report->held_bytes[i] = -1;
        report->peak_bytes[i] = -1;
        report->free_bytes[i] = -1;
        report->first_at_share[i] = 0;
        report->cause[i] = HDP_CAUSE_NONE;
    }
}

void hdpi_report_span(hdp_report *report, int32_t rank, int32_t lane,
                      int32_t phase, int32_t piece, int64_t start_ns,
                      int64_t end_ns)
{
    if (report->info.span_count < report->span_capacity)
        report->spans[report->info.span_count++] =
            (hdp_span){ .start_ns = start_ns,
                        .end_ns = end_ns,
                        .rank = rank,
                        .lane = lane,
                        .phase = phase,
                        .piece = piece };
}

static int within(int32_t value, int32_t least, int32_t most)
{
    return value >= least && value <= most;
}

static int valid_rank(const hdp_report *report, int32_t rank)
{
    return report->items[rank] >= 0 && report->compute_ns[rank] >= -1 &&
           report->held_bytes[rank] >= -1 && report->peak_bytes[rank] >= -1 &&
           report->free_bytes[rank] >= -1 &&
           within(report->first_at_share[rank], 0, 1) &&
           within(report->cause[rank], HDP_CAUSE_NONE, HDP_CAUSE_SHAPE);
}

int hdpi_report_is_valid(const hdp_report *report)
{
    const hdp_report_info *info = &report->info;
    if (report->object.tag != HDPI_REPORT || info->size != sizeof *info ||
        info->rank_count < 1 || info->step_ns < -1 ||
        !within(info->span_count, 0, report->span_capacity) ||
        !within(info->reduce_engine, HDP_ENGINE_NONE, HDP_ENGINE_WORLD) ||
        info->items != report->items ||
        info->compute_ns != report->compute_ns || info->spans != report->spans)
        return 0;
    for (int32_t i = 0; i < info->rank_count; i++)
        if (!valid_rank(report, i))
            return 0;
    for (int32_t i = 0; i < info->span_count; i++) {
        const hdp_span *span = &report->spans[i];
        if (!within(span->rank, 0, info->rank_count - 1) ||
            !within(span->lane, HDP_LANE_COMPUTE, HDP_LANE_REDUCE) ||
            !within(span->phase, HDP_PHASE_IN, HDP_PHASE_WAIT) ||
            span->piece < 0 || span->start_ns > span->end_ns)
            return 0;
    }
    return 1;
}
