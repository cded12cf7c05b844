/* Reports. An item count is the only thing every rank must have; what was not
 * known where the report was made is null, and -1 here. */
#include "json/reader.h"
#include "json/writer.h"

static const char schema[] = "hdp.report";

/* ---- writing ------------------------------------------------------------- */

static void write_spans(struct hdpi_json *json, const hdp_report_info *info)
{
    hdpi_json_open_array(json, "spans");
    for (int32_t i = 0; i < info->span_count; i++) {
        const hdp_span *span = &info->spans[i];
        hdpi_json_open_object(json, NULL);
        hdpi_json_int(json, "rank", span->rank);
        hdpi_json_name(json, "lane", &hdpi_lane_names, span->lane);
        hdpi_json_name(json, "phase", &hdpi_phase_names, span->phase);
        hdpi_json_int(json, "piece", span->piece);
        hdpi_json_int(json, "start_ns", span->start_ns);
        hdpi_json_int(json, "end_ns", span->end_ns);
        hdpi_json_close(json);
    }
    hdpi_json_close(json);
}

hdp_status hdpi_report_write_json(char **out, const hdp_report *report)
{
    const hdp_report_info *info = &report->info;
    int32_t count = info->rank_count;
    struct hdpi_json *json;

    *out = NULL;
    HDPI_RETURN_IF(hdpi_json_new_document(&json, schema));
    hdpi_json_int(json, "step", (int64_t)info->step);
    hdpi_json_known(json, "step_ns", info->step_ns);
    hdpi_json_name(json, "reduce_engine", &hdpi_engine_names,
                   info->reduce_engine);
    hdpi_json_knowns(json, "items", info->items, count);
    hdpi_json_knowns(json, "compute_ns", info->compute_ns, count);
    hdpi_json_knowns(json, "held_bytes", info->held_bytes, count);
    hdpi_json_knowns(json, "peak_bytes", info->peak_bytes, count);
    hdpi_json_knowns(json, "free_bytes", info->free_bytes, count);
    hdpi_json_bools(json, "first_at_share", info->first_at_share, count);
    hdpi_json_all_names(json, "cause", &hdpi_cause_names, info->cause, count);
    write_spans(json, info);
    return hdpi_json_end(json, out);
}

/* ---- reading ------------------------------------------------------------- */

static hdp_status read_span(hdp_report *report, const struct hdpi_json_at *at)
{
    hdp_span span = { 0 };
    const struct hdpi_json_at end = hdpi_json_member(at, "end_ns");

    HDPI_RETURN_IF(hdpi_json_need_object(at));
    HDPI_RETURN_IF(hdpi_json_take_int32(
        at, "rank", 0, report->info.rank_count - 1, &span.rank));
    HDPI_RETURN_IF(
        hdpi_json_take_name(at, "lane", &hdpi_lane_names, &span.lane));
    HDPI_RETURN_IF(
        hdpi_json_take_name(at, "phase", &hdpi_phase_names, &span.phase));
    HDPI_RETURN_IF(
        hdpi_json_take_int32(at, "piece", 0, INT32_MAX, &span.piece));
    HDPI_RETURN_IF(hdpi_json_take_int(at, "start_ns", INT64_MIN, INT64_MAX,
                                      &span.start_ns));
    if (!end.value)
        return hdpi_json_refuse(&end, "an integer");
    HDPI_RETURN_IF(
        hdpi_json_read_int(&end, span.start_ns, INT64_MAX, &span.end_ns));
    hdpi_report_span(report, span.rank, span.lane, span.phase, span.piece,
                     span.start_ns, span.end_ns);
    return HDP_OK;
}

static hdp_status read_arrays(hdp_report *report,
                              const struct hdpi_json_at *root)
{
    size_t count = (size_t)report->info.rank_count;

    HDPI_RETURN_IF(hdpi_json_take_ints(root, "items", 0, count, report->items));
    HDPI_RETURN_IF(
        hdpi_json_take_ints(root, "compute_ns", -1, count, report->compute_ns));
    HDPI_RETURN_IF(
        hdpi_json_take_ints(root, "held_bytes", -1, count, report->held_bytes));
    HDPI_RETURN_IF(
        hdpi_json_take_ints(root, "peak_bytes", -1, count, report->peak_bytes));
    HDPI_RETURN_IF(
        hdpi_json_take_ints(root, "free_bytes", -1, count, report->free_bytes));
    HDPI_RETURN_IF(hdpi_json_take_bools(root, "first_at_share", count,
                                        report->first_at_share));
    return hdpi_json_take_names(root, "cause", &hdpi_cause_names, count,
                                report->cause);
}

static hdp_status read_report(hdp_report *report,
                              const struct hdpi_json_at *root)
{
    hdp_report_info *info = &report->info;
    const struct hdpi_json_at spans = hdpi_json_member(root, "spans");
    int64_t step = 0;
    size_t count;

    HDPI_RETURN_IF(hdpi_json_take_int(root, "step", 0, INT64_MAX, &step));
    info->step = (uint64_t)step;
    info->step_ns = -1;
    HDPI_RETURN_IF(
        hdpi_json_take_int(root, "step_ns", 0, INT64_MAX, &info->step_ns));
    HDPI_RETURN_IF(hdpi_json_take_name(
        root, "reduce_engine", &hdpi_engine_names, &info->reduce_engine));
    HDPI_RETURN_IF(read_arrays(report, root));
    HDPI_RETURN_IF(
        hdpi_json_need_array(&spans, 0, HDPI_JSON_RANKS_MAX, &count));
    for (size_t i = 0; i < count; i++) {
        struct hdpi_json_at at = hdpi_json_element(&spans, i);
        HDPI_RETURN_IF(read_span(report, &at));
    }
    if (!hdpi_report_is_valid(report))
        return hdpi_json_complain(root, "not a report: its parts disagree");
    return HDP_OK;
}

hdp_status hdpi_report_read_json(hdp_report **out, const char *text,
                                 size_t length)
{
    hdp_status status = HDP_OK;
    json_t *document = NULL;
    hdp_report *report = NULL;
    size_t count, spans;

    *out = NULL;
    HDPI_TRY(hdpi_json_load(&document, text, length, schema));
    const struct hdpi_json_at root = { .value = document };
    const struct hdpi_json_at items = hdpi_json_member(&root, "items");
    HDPI_TRY(hdpi_json_need_array(&items, 1, HDPI_JSON_RANKS_MAX, &count));
    spans = json_array_size(json_object_get(document, "spans"));
    if (spans > HDPI_JSON_RANKS_MAX)
        spans = 0; /* refused with its path later on */
    HDPI_TRY(hdpi_report_new(&report, (int32_t)count, (int32_t)spans));
    HDPI_TRY(read_report(report, &root));
    *out = report;
    report = NULL;
out:
    hdpi_report_free(report);
    json_decref(document);
    return status;
}
