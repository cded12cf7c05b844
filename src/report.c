/* The public door of reports. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/options.h"
#include "base/text.h"
#include "core/report.h"
#include "json/json.h"

static hdp_status check_step(const int64_t *items, const int64_t *compute_ns,
                             int32_t count)
{
    int64_t total = 0;
    if (!items || !compute_ns)
        return hdpi_fail(HDP_ERR_ARGUMENT, "%s is NULL",
                         items ? "compute_ns" : "items");
    if (count < 1)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "count is %" PRId32 ", not 1 or more", count);
    for (int32_t i = 0; i < count; i++) {
        if (items[i] < 0)
            return hdpi_fail(HDP_ERR_ARGUMENT, "items[%" PRId32 "] is %" PRId64,
                             i, items[i]);
        if (compute_ns[i] < -1)
            return hdpi_fail(HDP_ERR_ARGUMENT,
                             "compute_ns[%" PRId32 "] is %" PRId64, i,
                             compute_ns[i]);
        HDPI_RETURN_IF(hdpi_add(&total, total, items[i], "the sum of items"));
    }
    return HDP_OK;
}

hdp_status hdp_report_create(hdp_report **out, const int64_t *items,
                             const int64_t *compute_ns, int32_t count)
{
    hdp_report *report;
    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_RETURN_IF(check_step(items, compute_ns, count));
    HDPI_RETURN_IF(hdpi_report_new(&report, count, 0));
    memcpy(report->items, items, (size_t)count * sizeof *items);
    memcpy(report->compute_ns, compute_ns, (size_t)count * sizeof *compute_ns);
    /* the slowest rank is all that is known of the step's own time */
    for (int32_t i = 0; i < count; i++)
        if (compute_ns[i] > report->info.step_ns)
            report->info.step_ns = compute_ns[i];
    *out = report;
    return HDP_OK;
}

hdp_status hdp_report_get(hdp_report_info *out, const hdp_report *report)
{
    HDPI_RETURN_IF(hdpi_object_check(report, HDPI_REPORT, "report"));
    return hdpi_options_write(out, &report->info, sizeof report->info,
                              "hdp_report_info");
}

hdp_status hdp_report_to_json(const hdp_report *report, char *text,
                              size_t capacity, size_t *needed)
{
    char *json = NULL;
    HDPI_RETURN_IF(hdpi_object_check(report, HDPI_REPORT, "report"));
    HDPI_RETURN_IF(hdpi_report_write_json(&json, report));
    hdp_status status =
        hdpi_text_give(json, strlen(json), text, capacity, needed);
    free(json);
    return status;
}

hdp_status hdp_report_from_json(hdp_report **out, const char *text,
                                size_t length)
{
    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    if (!text)
        return hdpi_fail(HDP_ERR_ARGUMENT, "text is NULL");
    return hdpi_report_read_json(out, text, length);
}

void hdp_report_destroy(hdp_report *report)
{
    if (!hdpi_object_release((struct hdpi_object *)report, HDPI_REPORT))
        return;
    if (report->recycle)
        report->recycle(report, report->owner);
    else
        hdpi_report_free(report);
}
