/* Reports from any text. Beyond the round trip: spans lie within the ranks and
 * do not run backwards. */
#include "core/report.h"
#include "fuzz/noun.h"

FUZZ_NOUN(hdp_report, report)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hdp_report *report = report_taken(data, size);

    if (!report)
        return 0;
    FUZZ_CHECK(report->info.span_count <= report->span_capacity,
               "%d spans in room for %d", (int)report->info.span_count,
               (int)report->span_capacity);
    for (int32_t i = 0; i < report->info.span_count; i++) {
        const hdp_span *span = &report->spans[i];
        FUZZ_CHECK(span->rank >= 0 && span->rank < report->info.rank_count,
                   "span %d is of rank %d", (int)i, (int)span->rank);
        FUZZ_CHECK(span->start_ns <= span->end_ns, "span %d: %lld to %lld",
                   (int)i, (long long)span->start_ns, (long long)span->end_ns);
    }
    hdpi_report_free(report);
    return 0;
}
