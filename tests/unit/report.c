/* Reports: made, filled, cleared, recycled; and the public door to them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "core/report.h"

static void check_fresh(const hdp_report *report, int32_t count)
{
    const hdp_report_info *info = &report->info;
    assert_int_equal(hdpi_report_is_valid(report), 1);
    assert_int_equal(info->rank_count, count);
    assert_int_equal(info->span_count, 0);
    assert_int_equal(info->step, 0);
    assert_int_equal(info->step_ns, -1);
    assert_int_equal(info->reduce_engine, HDP_ENGINE_NONE);
    for (int32_t i = 0; i < count; i++) {
        assert_int_equal(info->items[i], 0);
        assert_int_equal(info->compute_ns[i], -1);
        assert_int_equal(info->held_bytes[i], -1);
        assert_int_equal(info->peak_bytes[i], -1);
        assert_int_equal(info->free_bytes[i], -1);
        assert_int_equal(info->first_at_share[i], 0);
        assert_int_equal(info->cause[i], HDP_CAUSE_NONE);
    }
}

static void fill(hdp_report *report)
{
    for (int32_t i = 0; i < report->info.rank_count; i++) {
        report->items[i] = INT64_MAX;
        report->compute_ns[i] = 1;
        report->held_bytes[i] = 2;
        report->peak_bytes[i] = 3;
        report->free_bytes[i] = 4;
        report->first_at_share[i] = 1;
        report->cause[i] = HDP_CAUSE_SHAPE;
    }
    report->info.step = UINT64_MAX;
    report->info.step_ns = INT64_MAX;
    report->info.reduce_engine = HDP_ENGINE_WORLD;
    for (int32_t i = 0; i < report->span_capacity + 3; i++)
        hdpi_report_span(report, i % report->info.rank_count, HDP_LANE_REDUCE,
                         HDP_PHASE_WAIT, i, i, i + 1);
}

static void made_filled_and_cleared(void **state)
{
    (void)state;
    for (int32_t count = 1; count < 10; count++)
        for (int32_t spans = 0; spans < 5; spans++) {
            hdp_report *report;
            assert_int_equal(hdpi_report_new(&report, count, spans), HDP_OK);
            check_fresh(report, count);
            fill(report); /* the sanitizer watches the block's ends */
            assert_int_equal(report->info.span_count, spans);
            assert_int_equal(hdpi_report_is_valid(report), 1);
            if (spans > 0) {
                assert_int_equal(report->info.spans[spans - 1].piece,
                                 spans - 1);
                assert_int_equal(report->info.spans[spans - 1].end_ns, spans);
            }
            hdpi_report_clear(report);
            check_fresh(report, count);
            hdpi_report_free(report);
        }
    hdpi_report_free(NULL);
}

static void impossible_sizes(void **state)
{
    hdp_report *report = (void *)1;
    (void)state;
    assert_int_equal(hdpi_report_new(&report, 0, 0), HDP_ERR_ARGUMENT);
    assert_null(report);
    assert_int_equal(hdpi_report_new(&report, -1, 0), HDP_ERR_ARGUMENT);
    assert_int_equal(hdpi_report_new(&report, 1, -1), HDP_ERR_ARGUMENT);
}

static void what_is_not_valid(void **state)
{
    hdp_report *report;
    (void)state;
    assert_int_equal(hdpi_report_new(&report, 2, 2), HDP_OK);
    hdpi_report_span(report, 1, HDP_LANE_COMPUTE, HDP_PHASE_COMPUTE, 0, 5, 9);
#define BREAK(what, wrong)                                                     \
    do {                                                                       \
        __typeof__(what) kept_ = (what);                                       \
        (what) = (wrong);                                                      \
        if (hdpi_report_is_valid(report))                                      \
            fail_msg("%s = %s: expected not valid, got valid", #what, #wrong); \
        (what) = kept_;                                                        \
        assert_int_equal(hdpi_report_is_valid(report), 1);                     \
    } while (0)
    BREAK(report->object.tag, HDPI_PLAN);
    BREAK(report->info.size, 3);
    BREAK(report->info.rank_count, 0);
    BREAK(report->info.step_ns, -2);
    BREAK(report->info.span_count, 3);
    BREAK(report->info.span_count, -1);
    BREAK(report->info.reduce_engine, HDP_ENGINE_WORLD + 1);
    BREAK(report->info.items, report->compute_ns);
    BREAK(report->items[1], -1);
    BREAK(report->compute_ns[0], -2);
    BREAK(report->held_bytes[0], -2);
    BREAK(report->first_at_share[1], 2);
    BREAK(report->cause[1], HDP_CAUSE_SHAPE + 1);
    BREAK(report->spans[0].rank, 2);
    BREAK(report->spans[0].lane, 3);
    BREAK(report->spans[0].phase, 5);
    BREAK(report->spans[0].piece, -1);
    BREAK(report->spans[0].end_ns, 4);
    hdpi_report_free(report);
}

/* ---- the door ------------------------------------------------------------ */

static void of_a_callers_own_step(void **state)
{
    static const int64_t items[] = { 230, 26, 0 };
    static const int64_t times[] = { 2800000, 2790000, -1 };
    hdp_report *report;
    hdp_report_info info = { .size = sizeof info };
    (void)state;
    assert_int_equal(hdp_report_create(&report, items, times, 3), HDP_OK);
    assert_int_equal(hdp_report_get(&info, report), HDP_OK);
    assert_int_equal(info.rank_count, 3);
    assert_int_equal(info.step, 0);
    assert_int_equal(info.step_ns, 2800000);
    assert_memory_equal(info.items, items, sizeof items);
    assert_memory_equal(info.compute_ns, times, sizeof times);
    assert_int_equal(hdpi_report_is_valid(report), 1);
    hdp_report_destroy(report);
    hdp_report_destroy(NULL);
}

static void wrong_calls(void **state)
{
    static const int64_t good[] = { 1, 2 }, negative[] = { 1, -1 },
                         below[] = { 1, -2 }, huge[] = { INT64_MAX, 1 };
    static const struct {
        const int64_t *items, *times;
        int32_t count;
        const char *message;
    } rows[] = {
        { NULL, good, 2, "items is NULL" },
        { good, NULL, 2, "compute_ns is NULL" },
        { good, good, 0, "count is 0" },
        { good, good, -1, "count is -1" },
        { negative, good, 2, "items[1] is -1" },
        { good, below, 2, "compute_ns[1] is -2" },
        { huge, good, 2, "the sum of items" },
    };
    hdp_report *report;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        report = (void *)1;
        hdp_status status = hdp_report_create(&report, rows[i].items,
                                              rows[i].times, rows[i].count);
        if (status != HDP_ERR_ARGUMENT || report ||
            !strstr(hdp_last_error(), rows[i].message))
            fail_msg("expected \"%s\" and NULL, got %d \"%s\" and %p",
                     rows[i].message, (int)status, hdp_last_error(),
                     (void *)report);
    }
    hdp_report_info info = { .size = sizeof info };
    assert_int_equal(hdp_report_create(NULL, good, good, 2), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_report_get(&info, NULL), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_report_create(&report, good, good, 2), HDP_OK);
    assert_int_equal(hdp_report_get(NULL, report), HDP_ERR_ARGUMENT);
    info.size = 1;
    assert_int_equal(hdp_report_get(&info, report), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_report_to_json(NULL, NULL, 0, NULL), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_report_from_json(NULL, "{}", 2), HDP_ERR_ARGUMENT);
    hdp_report_destroy(report);
    assert_int_equal(hdp_report_from_json(&report, NULL, 2), HDP_ERR_ARGUMENT);
    assert_null(report);
}

/* The group's hook gets the report back instead of free(). */
static void take_back(hdp_report *report, void *owner)
{
    assert_int_equal(report->object.tag, HDPI_DEAD);
    ++*(int *)owner;
}

static void the_owner_gets_it_back(void **state)
{
    hdp_report *report;
    int returned = 0;
    (void)state;
    assert_int_equal(hdpi_report_new(&report, 2, 0), HDP_OK);
    report->recycle = take_back;
    report->owner = &returned;
    hdpi_object_retain(&report->object);
    hdp_report_destroy(report);
    assert_int_equal(returned, 0);
    hdp_report_destroy(report);
    assert_int_equal(returned, 1);
    hdpi_report_clear(report); /* alive again, and still the owner's */
    check_fresh(report, 2);
    hdp_report_destroy(report);
    assert_int_equal(returned, 2);
    hdpi_report_free(report);
}

static void there_and_back_as_json(void **state)
{
    static const int64_t items[] = { INT64_MAX - 1, 1 };
    static const int64_t times[] = { INT64_MAX, -1 };
    hdp_report *report, *again;
    hdp_report_info info = { .size = sizeof info };
    size_t needed = 0, needed_again = 0;
    (void)state;
    assert_int_equal(hdp_report_create(&report, items, times, 2), HDP_OK);
    assert_int_equal(hdp_report_to_json(report, NULL, 0, &needed), HDP_OK);
    char *text = malloc(needed), *text_again = malloc(needed);
    assert_non_null(text);
    assert_non_null(text_again);
    assert_int_equal(hdp_report_to_json(report, text, needed - 1, NULL),
                     HDP_ERR_CAPACITY);
    assert_int_equal(hdp_report_to_json(report, text, needed, NULL), HDP_OK);
    assert_int_equal(strlen(text), needed - 1);
    assert_int_equal(hdp_report_from_json(&again, text, needed - 1), HDP_OK);
    assert_int_equal(hdp_report_get(&info, again), HDP_OK);
    assert_memory_equal(info.items, items, sizeof items);
    assert_memory_equal(info.compute_ns, times, sizeof times);
    assert_int_equal(
        hdp_report_to_json(again, text_again, needed, &needed_again), HDP_OK);
    assert_string_equal(text_again, text);
    free(text);
    free(text_again);
    hdp_report_destroy(report);
    hdp_report_destroy(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_filled_and_cleared),
        cmocka_unit_test(impossible_sizes),
        cmocka_unit_test(what_is_not_valid),
        cmocka_unit_test(of_a_callers_own_step),
        cmocka_unit_test(wrong_calls),
        cmocka_unit_test(the_owner_gets_it_back),
        cmocka_unit_test(there_and_back_as_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
