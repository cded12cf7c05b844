/* A member whose device fails in the library's own workload: the calibration
 * still answers, with its last good figures, else as fast as the others, and
 * says so. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "profile_text.h"

static const char *const FAILING =
    "sim:0/fixed=500us/item=10us+sim:1/fixed=1.5ms/item=50us/fail=wait:1-";

/* ---- a group that is listened to -------------------------------------------- */

struct told { /* warnings of members */
    int count;
    char last[512];
};

static void hear(int32_t level, const char *line, void *user)
{
    struct told *told = user;

    if (level != HDP_LOG_WARN || !strstr(line, "could not be measured"))
        return;
    told->count++;
    (void)snprintf(told->last, sizeof told->last, "%s", line);
}

static void open_heard(struct scene *scene, struct told *told, const char *spec,
                       int32_t threads)
{
    hdp_context_options options;
    hdp_group_options group;

    *told = (struct told){ 0 };
    scene->plan = NULL;
    expect_ok(hdp_options_init(&options, sizeof options));
    options.log = hear;
    options.log_user = told;
    expect_ok(hdp_options_init(&group, sizeof group));
    group.threads = threads;
    expect_ok(hdp_context_create(&scene->context, &options));
    expect_ok(
        hdp_group_create_spec(&scene->group, scene->context, spec, &group));
}

static hdp_profile *calibrated(const struct scene *scene, int32_t probe)
{
    hdp_calibrate_options options;
    hdp_profile *profile;

    expect_ok(hdp_options_init(&options, sizeof options));
    options.probe = probe;
    expect_ok(hdp_calibrate(&profile, scene->group, &options));
    return profile;
}

/* ---- what a profile says ----------------------------------------------------- */

static json_t *document_of(const hdp_profile *profile)
{
    char *text = profile_text(profile);
    json_t *json = json_loads(text, 0, NULL);

    assert_non_null(json);
    free(text);
    return json;
}

/* `provenance` and `reliable` of a rank. */
static void expect_told(const hdp_profile *profile, int32_t rank,
                        const char *provenance, int reliable)
{
    json_t *json = document_of(profile);
    json_t *member =
        json_array_get(json_object_get(json, "members"), (size_t)rank);

    assert_string_equal(
        json_string_value(json_object_get(member, "provenance")), provenance);
    expect_number(reliable, json_is_true(json_object_get(member, "reliable")),
                  "reliable of rank %d", (int)rank);
    json_decref(json);
}

static double figure_of(const hdp_profile *profile, int32_t rank,
                        const char *key)
{
    json_t *json = document_of(profile);
    json_t *member =
        json_array_get(json_object_get(json, "members"), (size_t)rank);
    double value = json_number_value(json_object_get(member, key));

    json_decref(json);
    return value;
}

static void expect_ratio(double want, const hdp_profile *profile, int32_t rank)
{
    double got;

    expect_ok(hdp_profile_ratio(&got, profile, rank));
    if (fabs(got - want) > 1e-9)
        fail_msg("ratio of rank %d: expected %.9f, got %.9f", (int)rank, want,
                 got);
}

static void expect_shares(const hdp_profile *profile, int64_t first,
                          int64_t second)
{
    hdp_plan *plan;
    hdp_plan_info info;

    expect_ok(hdp_split(&plan, profile, first + second, NULL));
    expect_ok(hdp_options_init(&info, sizeof info));
    expect_ok(hdp_plan_get(&info, plan));
    expect_number(first, info.items[0], "items of rank 0");
    expect_number(second, info.items[1], "items of rank 1");
    hdp_plan_destroy(plan);
}

/* ---- without figures --------------------------------------------------------- */

static void of_a_pair_an_equal_split(void **state)
{
    struct scene scene;
    struct told told;
    hdp_profile *profile;

    (void)state;
    for (int32_t threads = 0; threads < 2; ++threads) {
        open_heard(&scene, &told, FAILING, threads);
        expect_status(HDP_ERR_ARGUMENT, hdp_split(NULL, NULL, 1, NULL));
        profile = calibrated(&scene, HDP_PROBE_GEMM);
        assert_string_equal(hdp_last_error(), "out is NULL"); /* untouched */
        expect_shares(profile, 128, 128);
        expect_told(profile, 0, "measured", 1);
        expect_told(profile, 1, "assumed", 0);
        expect_number(1, told.count, "warnings");
        assert_string_equal(told.last,
                            "member 1 could not be measured (sim:1: injected "
                            "failure of wait, call 1): it is taken to be as "
                            "fast as the others");
        hdp_profile_destroy(profile);
        hdp_error error;
        expect_ok(hdp_options_init(&error, sizeof error));
        expect_ok(hdp_group_health(&error, scene.group));
        scene_close(&scene);
    }
}

static void of_many_as_fast_as_the_middle(void **state)
{
    struct scene scene;
    struct told told;
    hdp_profile *profile;

    (void)state;
    open_heard(&scene, &told,
               "sim:0/item=10us+sim:1/item=40us+sim:2/item=5us/fail=wait:1-+"
               "sim:3/item=20us",
               0);
    profile = calibrated(&scene, HDP_PROBE_GEMM);
    expect_ratio(4 / 9., profile, 0); /* 4 : 1 : 2 : 2 */
    expect_ratio(1 / 9., profile, 1);
    expect_ratio(2 / 9., profile, 2);
    expect_ratio(2 / 9., profile, 3);
    hdp_profile_destroy(profile);
    scene_close(&scene);
}

static void where_all_fail_all_are_alike(void **state)
{
    struct scene scene;
    struct told told;
    hdp_profile *profile;

    (void)state;
    open_heard(&scene, &told, "sim:0/fail=wait:3-+sim:1/fail=wait:5-", 0);
    profile = calibrated(&scene, HDP_PROBE_GEMM);
    expect_shares(profile, 50, 50);
    expect_told(profile, 0, "assumed", 0);
    expect_told(profile, 1, "assumed", 0);
    expect_number(2, told.count, "warnings");
    hdp_profile_destroy(profile);
    scene_close(&scene);
}

/* ---- with figures ------------------------------------------------------------ */

/* Whole calibrations pass until the failure comes; then the last one counts,
 * and only for the member that fails. */
static void last_good_figures_come_first(void **state)
{
    struct scene scene;
    struct told told;
    int good = 0;

    (void)state;
    open_heard(&scene, &told,
               "sim:0/fixed=500us/item=10us+"
               "sim:1/fixed=1.5ms/item=50us/fail=wait:300-",
               0);
    for (int i = 0; i < 10 && !told.count; ++i) {
        hdp_profile *profile = calibrated(&scene, HDP_PROBE_GEMM);
        expect_shares(profile, 230, 26);
        expect_told(profile, 0, "measured", 1);
        expect_told(profile, 1, "measured", told.count == 0);
        good += told.count == 0;
        hdp_profile_destroy(profile);
    }
    assert_true(good > 0);
    expect_number(1, told.count, "warnings");
    assert_non_null(strstr(told.last, "it keeps its last figures"));
    /* those of another probe are no figures for this one */
    hdp_profile *profile = calibrated(&scene, HDP_PROBE_COPY);
    expect_told(profile, 1, "assumed", 0);
    hdp_profile_destroy(profile);
    scene_close(&scene);
}

/* ---- several probes ---------------------------------------------------------- */

static void a_figure_that_fails_is_not_known(void **state)
{
    struct scene scene;
    struct told told;
    hdp_profile *profile;

    (void)state;
    open_heard(&scene, &told,
               "sim:0/fixed=500us/item=10us/link=8GB+"
               "sim:1/fixed=1.5ms/item=50us/link=2GB/fail=copy:1-",
               0);
    profile = calibrated(&scene, HDP_PROBE_ALL);
    expect_number(1, told.count, "warnings");
    assert_string_equal(told.last, "member 1: its link could not be measured "
                                   "(sim:1: injected failure of copy, call 1)");
    expect_shares(profile, 230, 26);
    expect_told(profile, 1, "measured", 1);
    expect_number(8000000000,
                  llround(figure_of(profile, 0, "in_bytes_per_second")), "in");
    expect_number(8000000000,
                  llround(figure_of(profile, 0, "out_bytes_per_second")),
                  "out");
    expect_number(500000, llround(figure_of(profile, 0, "launch_ns")),
                  "launch");
    /* 150 MiB in 2 ms */
    expect_number(78643200000,
                  llround(figure_of(profile, 0, "copy_bytes_per_second")),
                  "copy");
    /* the model's, since its own could not be measured */
    expect_number(2000000000,
                  llround(figure_of(profile, 1, "in_bytes_per_second")),
                  "in of the one that fails");
    hdp_profile_destroy(profile);
    profile = calibrated(&scene, HDP_PROBE_LINK);
    expect_told(profile, 0, "measured", 1);
    expect_told(profile, 1, "assumed", 0);
    hdp_profile_destroy(profile);
    scene_close(&scene);
}

/* The parts of the budget, the probe's name, no items needed. */
static void all_probes_share_a_budget(void **state)
{
    static const int64_t budgets[] = { 0, 60000000 };
    hdp_calibrate_options options;
    hdp_profile_info info;
    struct scene scene;
    hdp_profile *profile;

    (void)state;
    for (int i = 0; i < 2; ++i) {
        scene_open(&scene,
                   "sim:0/item=10us/noise=20%/fixed=20us+"
                   "sim:1/item=30us/noise=20%/fixed=20us/link=1GB",
                   NULL, 0, NULL);
        expect_ok(hdp_options_init(&options, sizeof options));
        options.probe = HDP_PROBE_ALL;
        options.budget_ns = budgets[i];
        expect_ok(hdp_calibrate(&profile, scene.group, &options));
        expect_ok(hdp_options_init(&info, sizeof info));
        expect_ok(hdp_profile_get(&info, profile));
        expect_number(HDP_PROBE_ALL, info.probe, "probe");
        expect_number(HDP_ENDED_BUDGET, info.ended_by, "ended_by");
        int64_t budget = budgets[i] ? budgets[i] : 300000000;
        /* a course ends with the sample, or the first cycle, after its part */
        if (info.elapsed_ns > budget + 60000000)
            fail_msg("%lld ns of %lld", (long long)info.elapsed_ns,
                     (long long)budget);
        hdp_profile_destroy(profile);
        scene_close(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_pair_an_equal_split),
        cmocka_unit_test(of_many_as_fast_as_the_middle),
        cmocka_unit_test(where_all_fail_all_are_alike),
        cmocka_unit_test(last_good_figures_come_first),
        cmocka_unit_test(a_figure_that_fails_is_not_known),
        cmocka_unit_test(all_probes_share_a_budget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
