/* Plans and reports drawn at random survive the way out and back field by
 * field, and the second text is the first one byte for byte. */
#include "unit/json_draw.h"
#include "json/json.h"
#include "unit/json_samples.h"

/* ---- plan ---------------------------------------------------------------- */

static hdp_plan *draw_plan(void)
{
    hdp_plan *plan;
    int32_t count = draw(1, 9);
    assert_int_equal(hdpi_plan_new(&plan, count), HDP_OK);
    hdp_plan_info *info = &plan->info;
    info->rule = draw(HDP_RULE_FINISH, HDP_RULE_MANUAL);
    info->quantum = draw(0, 1) ? 0 : draw(1, 64);
    for (int32_t i = 0; i < count; i++) {
        plan->items[i] = draw(0, 2) ? draw_wide() / 16 : 0;
        plan->state[i] =
            plan->items[i] > 0 ? HDP_ACTIVE : draw(HDP_EMPTY, HDP_BENCHED);
        plan->bound_by[i] = draw(HDP_BOUND_SPEED, HDP_BOUND_DROPPED);
        plan->predicted_ns[i] = draw_known();
        plan->quanta[i] = info->quantum > 0 ? info->quantum : draw(1, 64);
    }
    info->step_ns = draw_known();
    info->lower_bound_ns = draw_known();
    info->equal_ns = draw_known();
    info->best_single_ns = draw_known();
    info->gap = draw_figure();
    info->fingerprint = bits();
    assert_int_equal(hdpi_plan_seal(plan), HDP_OK);
    return plan;
}

static void same_plan(const hdp_plan *a, const hdp_plan *b)
{
    SAME_INT(a, b, info.rank_count);
    size_t count = (size_t)a->info.rank_count;
    SAME_INT(a, b, info.rule);
    SAME_INT(a, b, info.total);
    SAME_INT(a, b, info.quantum);
    SAME_INT(a, b, info.step_ns);
    SAME_INT(a, b, info.lower_bound_ns);
    SAME_INT(a, b, info.equal_ns);
    SAME_INT(a, b, info.best_single_ns);
    SAME_REAL(a, b, info.gap);
    SAME_INT(a, b, info.hash);
    SAME_INT(a, b, info.fingerprint);
    SAME_BYTES(a, b, items, count * sizeof *a->items);
    SAME_BYTES(a, b, offsets, count * sizeof *a->offsets);
    SAME_BYTES(a, b, predicted_ns, count * sizeof *a->predicted_ns);
    SAME_BYTES(a, b, quanta, count * sizeof *a->quanta);
    SAME_BYTES(a, b, weights, count * sizeof *a->weights);
    SAME_BYTES(a, b, bound_by, count * sizeof *a->bound_by);
    SAME_BYTES(a, b, state, count * sizeof *a->state);
}

static void test_plans(void **state)
{
    (void)state;
    seed = 1;
    for (int round = 0; round < ROUNDS; round++) {
        hdp_plan *plan = draw_plan(), *back;
        char *first, *second;
        assert_int_equal(hdpi_plan_write_json(&first, plan), HDP_OK);
        if (hdpi_plan_read_json(&back, first, strlen(first)) != HDP_OK)
            fail_msg("expected a plan, got %s\n%s", hdp_last_error(), first);
        same_plan(plan, back);
        assert_int_equal(hdpi_plan_write_json(&second, back), HDP_OK);
        same_text(first, second);
        hdpi_plan_free(plan);
        hdpi_plan_free(back);
    }
}

/* ---- report -------------------------------------------------------------- */

static hdp_report *draw_report(void)
{
    hdp_report *report;
    int32_t count = draw(1, 9), spans = draw(0, 20);
    assert_int_equal(hdpi_report_new(&report, count, spans + draw(0, 3)),
                     HDP_OK);
    report->info.step = bits() >> 1;
    report->info.step_ns = draw_known();
    report->info.reduce_engine = draw(HDP_ENGINE_NONE, HDP_ENGINE_WORLD);
    for (int32_t i = 0; i < count; i++) {
        report->items[i] = draw_wide();
        report->compute_ns[i] = draw_known();
        report->held_bytes[i] = draw_known();
        report->peak_bytes[i] = draw_known();
        report->free_bytes[i] = draw_known();
        report->first_at_share[i] = draw(0, 1);
        report->cause[i] = draw(HDP_CAUSE_NONE, HDP_CAUSE_SHAPE);
    }
    for (int32_t i = 0; i < spans; i++) {
        int64_t start = draw_wide() - draw_wide();
        hdpi_report_span(report, draw(0, count - 1),
                         draw(HDP_LANE_COMPUTE, HDP_LANE_REDUCE),
                         draw(HDP_PHASE_IN, HDP_PHASE_WAIT), draw(0, 99), start,
                         start > 0 ? INT64_MAX : start);
    }
    return report;
}

static void same_report(const hdp_report *a, const hdp_report *b)
{
    SAME_INT(a, b, info.rank_count);
    SAME_INT(a, b, info.span_count);
    size_t count = (size_t)a->info.rank_count;
    SAME_INT(a, b, info.step);
    SAME_INT(a, b, info.step_ns);
    SAME_INT(a, b, info.reduce_engine);
    SAME_BYTES(a, b, items, count * sizeof *a->items);
    SAME_BYTES(a, b, compute_ns, count * sizeof *a->compute_ns);
    SAME_BYTES(a, b, held_bytes, count * sizeof *a->held_bytes);
    SAME_BYTES(a, b, peak_bytes, count * sizeof *a->peak_bytes);
    SAME_BYTES(a, b, free_bytes, count * sizeof *a->free_bytes);
    SAME_BYTES(a, b, first_at_share, count * sizeof *a->first_at_share);
    SAME_BYTES(a, b, cause, count * sizeof *a->cause);
    SAME_BYTES(a, b, spans, (size_t)a->info.span_count * sizeof *a->spans);
}

static void test_reports(void **state)
{
    (void)state;
    seed = 2;
    for (int round = 0; round < ROUNDS; round++) {
        hdp_report *report = draw_report(), *back;
        char *first, *second;
        assert_int_equal(hdpi_report_write_json(&first, report), HDP_OK);
        if (hdpi_report_read_json(&back, first, strlen(first)) != HDP_OK)
            fail_msg("expected a report, got %s\n%s", hdp_last_error(), first);
        same_report(report, back);
        assert_int_equal(hdpi_report_write_json(&second, back), HDP_OK);
        same_text(first, second);
        hdpi_report_free(report);
        hdpi_report_free(back);
    }
}

/* ---- the texts themselves ------------------------------------------------ */

/* What others read: names and order of a version do not change. */
static void test_samples_word_for_word(void **state)
{
    hdp_topology *topology;
    hdp_profile *profile;
    hdp_plan *plan;
    hdp_report *report;
    char *text;
    (void)state;

    assert_int_equal(hdpi_topology_read_json(&topology, TOPOLOGY_SAMPLE,
                                             strlen(TOPOLOGY_SAMPLE)),
                     HDP_OK);
    assert_int_equal(hdpi_topology_write_json(&text, topology), HDP_OK);
    assert_string_equal(text, TOPOLOGY_SAMPLE);
    free(text);
    hdpi_topology_free(topology);

    assert_int_equal(hdpi_profile_read_json(&profile, PROFILE_SAMPLE,
                                            strlen(PROFILE_SAMPLE)),
                     HDP_OK);
    assert_int_equal(hdpi_profile_write_json(&text, profile), HDP_OK);
    assert_string_equal(text, PROFILE_SAMPLE);
    free(text);
    hdpi_profile_free(profile);

    assert_int_equal(
        hdpi_plan_read_json(&plan, PLAN_SAMPLE, strlen(PLAN_SAMPLE)), HDP_OK);
    assert_int_equal(hdpi_plan_write_json(&text, plan), HDP_OK);
    char *hash = strstr(text, "\"hash\":\"");
    assert_non_null(hash);
    memmove(hash, hash + 26, strlen(hash + 26) + 1); /* not in the sample */
    assert_string_equal(text, PLAN_SAMPLE);
    free(text);
    hdpi_plan_free(plan);

    assert_int_equal(
        hdpi_report_read_json(&report, REPORT_SAMPLE, strlen(REPORT_SAMPLE)),
        HDP_OK);
    assert_int_equal(hdpi_report_write_json(&text, report), HDP_OK);
    assert_string_equal(text, REPORT_SAMPLE);
    free(text);
    hdpi_report_free(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_reports),
        cmocka_unit_test(test_samples_word_for_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
