/* The executor's smaller promises about learning: own loops and late reports,
 * being told not to learn, reduces by the plan that ran, members that are too
 * slow, and what the log says. */
#include <math.h>
#include "learning.h"

static const char spec[] = "sim:0/item=10us+sim:1/item=10us";
static const struct line equal[2] = { { 0, 10000, 1 }, { 0, 10000, 1 } };

static void plan_of(struct learner *learner, int64_t total, int64_t shares[2])
{
    hdp_plan_info info = { .size = sizeof info };
    hdp_plan *plan = NULL;

    expect_ok(hdp_executor_plan(&plan, learner->executor, total));
    expect_ok(hdp_plan_get(&info, plan));
    shares[0] = info.items[0];
    shares[1] = info.items[1];
    hdp_plan_destroy(plan);
}

/* ---- own loops ---------------------------------------------------------------- */

/* A loop of the caller's: member 1 takes three times as long as the profile
 * says. Reports come `late` steps after their step. */
static void own_loops_teach(void **state)
{
    enum { TOTAL = 1000, STEPS = 30, LATE_MOST = 2 };
    int late, i;

    (void)state;
    for (late = 0; late <= LATE_MOST; ++late) {
        int64_t items[STEPS][2], ns[STEPS][2];
        struct learner learner;
        learner_open(&learner, spec, equal, 2, TOTAL, NULL, NULL);
        for (i = 0; i < STEPS; ++i) {
            plan_of(&learner, TOTAL, items[i]);
            ns[i][0] = items[i][0] * 10000;
            ns[i][1] = items[i][1] * 30000;
            if (i >= late)
                expect_ok(hdp_executor_observe(learner.executor,
                                               items[i - late], ns[i - late]));
        }
        expect_number(500, items[0][0], "the first share");
        if (items[STEPS - 1][0] < 735 || items[STEPS - 1][0] > 765)
            fail_msg("%d steps late: expected 735 to 765 of %d items for the "
                     "faster member, got %lld",
                     late, TOTAL, (long long)items[STEPS - 1][0]);
        learner_close(&learner);
    }
}

/* What was not measured, or was nobody's work, teaches nothing. */
static void no_samples_teach_nothing(void **state)
{
    static const int64_t items[2] = { 500, 500 }, none[2] = { 0, 0 };
    static const int64_t unknown[2] = { -1, -1 }, odd[2] = { 1, 90000000 };
    int64_t shares[2];
    struct learner learner;
    int i;

    (void)state;
    learner_open(&learner, spec, equal, 2, 1000, NULL, NULL);
    for (i = 0; i < 50; ++i) {
        plan_of(&learner, 1000, shares);
        expect_number(500, shares[0], "share before observation %d", i);
        expect_ok(hdp_executor_observe(learner.executor, items, unknown));
        expect_ok(hdp_executor_observe(learner.executor, none, odd));
    }
    learner_close(&learner);
}

static void wrong_observations_are_refused(void **state)
{
    static const int64_t items[2] = { 5, 5 }, ns[2] = { 50000, 50000 };
    static const int64_t below[2] = { 5, -1 }, odd[2] = { 50000, -2 };
    static const int64_t huge[2] = { INT64_MAX, 1 };
    hdp_executor_options options = { .size = sizeof options };
    struct learner learner;
    int learn;

    (void)state;
    for (learn = -1; learn <= 0; ++learn) {
        options.learn = learn;
        learner_open(&learner, spec, equal, 2, 10, NULL, &options);
        expect_ok(hdp_executor_observe(learner.executor, items, ns));
        expect_status(HDP_ERR_ARGUMENT,
                      hdp_executor_observe(learner.executor, below, ns));
        assert_non_null(strstr(hdp_last_error(), "items[1]"));
        expect_status(HDP_ERR_ARGUMENT,
                      hdp_executor_observe(learner.executor, items, odd));
        assert_non_null(strstr(hdp_last_error(), "compute_ns[1]"));
        expect_status(HDP_ERR_ARGUMENT,
                      hdp_executor_observe(learner.executor, huge, ns));
        learner_close(&learner);
    }
}

/* ---- told not to learn ----------------------------------------------------------- */

static void the_first_profile_can_be_kept(void **state)
{
    static const int64_t items[2] = { 500, 500 }, ns[2] = { 1, 1000000000 };
    hdp_executor_options options = { .size = sizeof options };
    hdp_profile *profile = NULL;
    struct learner learner;
    double item_ns;
    int i;

    (void)state;
    options.learn = -1;
    learner_open(&learner, "sim:0/item=10us/slow=9x@5+sim:1/item=10us", equal,
                 2, 1000, NULL, &options);
    for (i = 0; i < 100; ++i) {
        learner_step(&learner);
        expect_number(500, learner.shares[0], "share in step %d", i);
        expect_ok(hdp_executor_observe(learner.executor, items, ns));
    }
    expect_ok(hdp_executor_profile(&profile, learner.executor));
    expect_ok(hdp_profile_time(&item_ns, profile, 0, 1));
    if (fabs(item_ns - 10000) > 1)
        fail_msg("expected 10,000 ns an item as given, got %g", item_ns);
    hdp_profile_destroy(profile);
    learner_close(&learner);
}

/* What it has learned is what it hands out as a profile. */
static void the_profile_is_what_it_knows(void **state)
{
    hdp_profile *profile = NULL;
    struct learner learner;
    double ratio;
    int i;

    (void)state;
    learner_open(&learner, "sim:0/item=10us/slow=3x@10+sim:1/item=10us", equal,
                 2, 1000, NULL, NULL);
    for (i = 0; i < 60; ++i)
        learner_step(&learner);
    expect_ok(hdp_executor_profile(&profile, learner.executor));
    expect_ok(hdp_profile_ratio(&ratio, profile, 0));
    if (fabs(ratio - 0.25) > 0.005)
        fail_msg("expected a ratio of 0.25 after a slowdown of 3, got %.4f",
                 ratio);
    hdp_profile_destroy(profile);
    learner_close(&learner);
}

/* ---- reduces ---------------------------------------------------------------------- */

/* After a step whose report asks for another division, a mean is still weighted
 * by the rows that ran. */
static void reduces_by_the_plan_that_ran(void **state)
{
    static const int64_t elements[1] = { 1 };
    struct learner learner;
    double values[2];
    void *tensors[2] = { &values[0], &values[1] };
    hdp_buffers mean = { .size = sizeof mean };
    int i;

    (void)state;
    mean.dtype = HDP_F64;
    mean.op = HDP_OP_MEAN;
    mean.tensor_count = 1;
    mean.elements = elements;
    mean.recv = tensors;
    learner_open(&learner, "sim:0/item=10us/slow=3x@10+sim:1/item=10us", equal,
                 2, 1000, NULL, NULL);
    for (i = 0; i < 40; ++i) {
        learner_step(&learner);
        values[0] = 1;
        values[1] = 2;
        expect_ok(hdp_executor_all_reduce(learner.executor, &mean));
        double want =
            (double)(learner.shares[0] + 2 * learner.shares[1]) / 1000;
        if (fabs(values[0] - want) > 1e-12 || values[0] != values[1])
            fail_msg("step %d, shares %lld and %lld: expected a mean of %g, "
                     "got %g and %g",
                     i, (long long)learner.shares[0],
                     (long long)learner.shares[1], want, values[0], values[1]);
    }
    if (learner.resplits == 0)
        fail_msg("expected a re-split in between, got none");
    learner_close(&learner);
}

/* ---- too slow --------------------------------------------------------------------- */

/* A member 100 times slower than the other from step 10 on gets nothing, with
 * one warning; well again, it is found by a try. */
static void too_slow_members_are_left_out(void **state)
{
    static const struct line fast[2] = { { 0, 10000, 1 }, { 0, 10000, 1 } };
    struct learner learner;
    int i, back = 0;

    (void)state;
    learner_open(&learner,
                 "sim:0/item=10us+sim:1/item=10us/slow=100x@11/slow=1x@60",
                 fast, 2, 1000, NULL, NULL);
    for (i = 0; i < 40; ++i)
        learner_step(&learner);
    expect_number(0, learner.shares[1], "share of a member 100 times slower");
    expect_number(1, learner.slow_lines, "warnings");
    if (!strstr(learner.warning,
                learner.paced.count > 0 ? "rank 1 (cuda:1" : "rank 1 (sim:1"))
        fail_msg("expected rank 1 named, got \"%s\"", learner.warning);
    for (; i < 600; ++i) {
        learner_step(&learner);
        back += learner.shares[1] >= 450;
    }
    if (back < 300)
        fail_msg("expected the member back at work for 300 of 560 steps, got "
                 "%d",
                 back);
    expect_number(1, learner.slow_lines, "warnings at the end");
    learner_close(&learner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_loops_teach),
        cmocka_unit_test(no_samples_teach_nothing),
        cmocka_unit_test(wrong_observations_are_refused),
        cmocka_unit_test(the_first_profile_can_be_kept),
        cmocka_unit_test(the_profile_is_what_it_knows),
        cmocka_unit_test(reduces_by_the_plan_that_ran),
        cmocka_unit_test(too_slow_members_are_left_out),
    };

    return cmocka_run_group_tests_name("executor_observe", tests, NULL, NULL);
}
