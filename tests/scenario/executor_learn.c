/* What the executor learns from its steps: changed members, noise, costs of new
 * shapes, drift, and work that calibration did not measure. Times are the
 * paced members' own. */
#include "learning.h"
#include "machine_files.h"

static const struct line desk[2] = { { 500000, 10000, 1 },
                                     { 1500000, 50000, 1 } };

/* ---- members change ------------------------------------------------------ */

static void equal_lines(struct line *lines, int32_t members)
{
    int32_t m;

    for (m = 0; m < members; ++m)
        lines[m] = (struct line){ 100000, 20000, 1 };
}

/* A member slows to half at step 100 and is well again at step 200. */
static void a_member_slows_and_recovers(void **state)
{
    static const struct {
        const char *spec;
        int32_t members, slowed;
        int64_t total;
        double lost;
    } cases[] = {
        { "sim:0/fixed=500us/item=10us/slow=2x@101/slow=1x@201+"
          "sim:1/fixed=1.5ms/item=50us",
          2, 0, 1024, 2.5 },
        { "sim:0/fixed=500us/item=10us+"
          "sim:1/fixed=1.5ms/item=50us/slow=2x@101/slow=1x@201",
          2, 1, 1024, 2.5 },
        { "sim:0-2/fixed=100us/item=20us+"
          "sim:3/fixed=100us/item=20us/slow=2x@101/slow=1x@201+"
          "sim:4-7/fixed=100us/item=20us",
          8, 3, 4096, 4 },
    };
    struct line lines[LEARN_MEMBERS_MAX];
    size_t c;
    int phase, steps, i;

    (void)state;
    for (c = 0; c < sizeof cases / sizeof *cases; ++c) {
        struct learner learner;
        if (cases[c].members == 2)
            memcpy(lines, desk, sizeof desk);
        else
            equal_lines(lines, cases[c].members);
        learner_open(&learner, cases[c].spec, lines, cases[c].members,
                     cases[c].total, NULL, NULL);
        for (i = 0; i < 100; ++i)
            learner_step(&learner);
        expect_number(0, learner.resplits, "%s: re-splits of a right profile",
                      cases[c].spec);
        for (phase = 0; phase < 2; ++phase) {
            learner_change(&learner, cases[c].slowed, phase ? 1 : 2);
            steps = learner_steps_to(&learner, 0.97, 4);
            for (i = steps + 1; i < 100; ++i)
                learner_step(&learner);
            print_message("%d members, %s: 0.97 after %d steps, %.2f steps "
                          "lost, %d re-splits\n",
                          (int)cases[c].members, phase ? "well" : "slow", steps,
                          learner.lost, (int)learner.resplits);
            if (steps > 4 || learner.lost > cases[c].lost ||
                learner.resplits > 3 || learner.worth < 0.97)
                fail_msg("%s: expected 0.97 of the optimum within 4 steps, "
                         "%.1f steps lost and 3 re-splits at most, got %.3f "
                         "after %d, %.2f, %d",
                         cases[c].spec, cases[c].lost, learner.worth, steps,
                         learner.lost, (int)learner.resplits);
        }
        if (learner.resplit_lines < 2)
            fail_msg("expected a line of the log a re-split, got %d",
                     learner.resplit_lines);
        learner_close(&learner);
    }
}

/* ---- noise ------------------------------------------------------------------------ */

static void run_noisy(struct learner *learner, const char *spec,
                      const struct line *lines, int32_t members, int learn)
{
    /* thousands of steps, whose members' threads a busy machine would delay */
    const hdp_group_options group = { .size = sizeof group,
                                      .threads = HDP_THREADS_CALLER };
    hdp_executor_options options = { .size = sizeof options, .group = &group };
    int i, steps;

    options.learn = learn ? 0 : -1;
    learner_open(learner, spec, lines, members, members == 2 ? 1024 : 4096,
                 NULL, &options);
    steps = learner->paced.count > 0 ? 2000 : 10000; /* GPUs take longer */
    for (i = 0; i < steps; ++i)
        learner_step(learner);
    learner_close(learner);
}

/* 3 % noise for thousands of steps moves next to nothing, and costs nothing against
 * an executor that was told to keep the right plan. */
static void noise_is_not_chased(void **state)
{
    static const struct {
        const char *spec;
        int32_t members;
        int64_t most;
    } cases[] = {
        { "sim:0/fixed=500us/item=10us/noise=3%+"
          "sim:1/fixed=1.5ms/item=50us/noise=3%",
          2, 1 },
        { "sim:0-7/fixed=100us/item=20us/noise=3%", 8, 2 },
    };
    struct line lines[LEARN_MEMBERS_MAX];
    struct learner learning, frozen;
    size_t c;

    (void)state;
    for (c = 0; c < sizeof cases / sizeof *cases; ++c) {
        if (cases[c].members == 2)
            memcpy(lines, desk, sizeof desk);
        else
            equal_lines(lines, cases[c].members);
        run_noisy(&learning, cases[c].spec, lines, cases[c].members, 1);
        run_noisy(&frozen, cases[c].spec, lines, cases[c].members, 0);
        print_message("%d members, 3 %% noise, %d steps: %d re-splits, %.4f of "
                      "the frozen plan, which lost %.0f\n",
                      (int)cases[c].members, (int)learning.steps,
                      (int)learning.resplits, frozen.took_ns / learning.took_ns,
                      frozen.lost);
        if (frozen.lost < 0.005 * (double)frozen.steps)
            fail_msg("%s: expected noise, got %.1f of %d steps lost by it",
                     cases[c].spec, frozen.lost, (int)frozen.steps);
        if (learning.resplits > cases[c].most)
            fail_msg("%s: expected %d re-splits at most, got %d", cases[c].spec,
                     (int)cases[c].most, (int)learning.resplits);
        if (frozen.took_ns / learning.took_ns < 0.995)
            fail_msg("%s: expected 0.995 of the frozen plan, got %.4f",
                     cases[c].spec, frozen.took_ns / learning.took_ns);
        expect_number(0, frozen.resplits, "re-splits of the frozen plan");
    }
}

/* ---- costs of moving ---------------------------------------------------------------- */

/* A new size costs 300 ms, as many as 30 steps: a change is answered, but its
 * answer's own cost is not taken for another change. */
static void new_shapes_are_not_chased(void **state)
{
    struct learner learner;
    int i;

    (void)state;
    learner_open(&learner,
                 "sim:0/fixed=500us/item=10us/newshape=300ms/slow=2x@101+"
                 "sim:1/fixed=1.5ms/item=50us/newshape=300ms",
                 desk, 2, 1024, NULL, NULL);
    for (i = 0; i < 100; ++i)
        learner_step(&learner);
    expect_number(0, learner.resplits, "re-splits before the change");
    learner_change(&learner, 0, 2);
    for (i = 0; i < 1000; ++i) {
        int64_t before = learner.resplits;
        learner_step(&learner);
        if (learner.resplits > before &&
            (!learner.is_new[0] || learner.cause[0] != HDP_CAUSE_SHAPE))
            fail_msg("expected the first step at a new share told, cause %d, "
                     "got %d, cause %d",
                     HDP_CAUSE_SHAPE, (int)learner.is_new[0],
                     (int)learner.cause[0]);
    }
    if (learner.resplits < 1 || learner.resplits > 3 || learner.worth < 0.97)
        fail_msg("expected 1 to 3 re-splits and 0.97 of the optimum, got %d "
                 "and %.3f",
                 (int)learner.resplits, learner.worth);
    learner_close(&learner);
}

/* ---- slow changes ------------------------------------------------------------------- */

/* A GPU's clock begins before its first step: it makes a handle of cuBLAS. */
static const double opening_s = 0.02;

/* A member that takes 1 % more each second of its clock, and one whose clock
 * falls by a fifth in its first second: the plan follows. Against the optimum
 * of each moment, over all steps. */
static void drift_and_ramp_are_followed(void **state)
{
    static const struct {
        const char *spec;
        double drift, ramp; /* of member 0, a second and of the first one */
        double least;
    } cases[] = {
        { "sim:0/fixed=500us/item=10us/drift=1%+sim:1/fixed=1.5ms/item=50us",
          0.01, 0, 0.995 },
        { "sim:0/fixed=500us/item=10us/ramp=20%@1s+"
          "sim:1/fixed=1.5ms/item=50us",
          0, 0.20, 0.98 },
    };
    /* as above; the fake's one clock then sees the members in turn */
    const hdp_group_options group = { .size = sizeof group,
                                      .threads = HDP_THREADS_CALLER };
    const hdp_executor_options options = { .size = sizeof options,
                                           .group = &group };
    size_t c;
    int i;

    (void)state;
    for (c = 0; c < sizeof cases / sizeof *cases; ++c) {
        struct learner learner;
        double clock_s, optimum = 0;
        learner_open(&learner, cases[c].spec, desk, 2, 1024, NULL, &options);
        clock_s = learner.paced.count > 0 ? opening_s : 0;
        for (i = 0; i < 2000; ++i) {
            double missing = clock_s < 1 ? 1 - clock_s : 0;
            learner.truth[0].factor =
                (1 + cases[c].drift * clock_s) * (1 - cases[c].ramp * missing);
            optimum += learner_optimum(&learner);
            learner_step(&learner);
            clock_s += (double)learner.compute_ns[0] / 1e9;
            if (learner.paced.count > 0)
                clock_s += (double)learner.compute_ns[1] / 1e9;
        }
        print_message("%s: %.6f of the optimum, %d re-splits\n", cases[c].spec,
                      optimum / learner.took_ns, (int)learner.resplits);
        if (optimum / learner.took_ns < cases[c].least)
            fail_msg("%s: expected %.3f of the optimum, got %.4f",
                     cases[c].spec, cases[c].least, optimum / learner.took_ns);
        learner_close(&learner);
    }
}

/* Totals that change with every step teach as well. */
static void any_totals_teach(void **state)
{
    static const struct line wrong[2] = { { 500000, 10000, 1 },
                                          { 500000, 10000, 1 } };
    struct learner learner;
    double worst = 1;
    int i;

    (void)state;
    learner_open(&learner,
                 "sim:0/fixed=500us/item=10us+sim:1/fixed=1.5ms/item=50us",
                 desk, 2, 0, wrong, NULL);
    for (i = 0; i < 60; ++i) {
        learner.total = 1000 + (i * 7919) % 500; /* none twice in a row */
        learner_step(&learner);
        if (i >= 20)
            worst = learner.worth < worst ? learner.worth : worst;
    }
    if (worst < 0.95)
        fail_msg("totals that change: expected 0.95 of the optimum from step "
                 "20 on, got %.3f",
                 worst);
    learner_close(&learner);
}

/* ---- unlike the calibration ---------------------------------------------------------- */

/* The file's profile of copies comes first: that is what its work is. */
static int make_copy_bound(json_t *machine)
{
    json_t *profiles = json_object_get(machine, "profiles"), *copy = NULL;
    size_t i;

    for (i = 0; i < json_array_size(profiles) && !copy; ++i)
        if (!strcmp(json_string_value(
                        json_object_get(json_array_get(profiles, i), "probe")),
                    "copy"))
            copy = json_incref(json_array_get(profiles, i));
    return copy && json_array_insert_new(profiles, 0, copy) == 0;
}

/* Work bound by copies on machines that were calibrated by products. After
 * ten steps, against the best division by the true figures. */
static void work_unlike_the_calibration(void **state)
{
    static const char *const names[] = { "desk", "lab", "turing", "twin" };
    enum { ROWS = 1000000 };
    size_t n;
    int i;

    (void)state;
    for (n = 0; n < sizeof names / sizeof *names; ++n) {
        hdp_calibrate_options copies = { .size = sizeof copies };
        hdp_plan_info best = { .size = sizeof best };
        hdp_report_info info = { .size = sizeof info };
        hdp_work work = { .size = sizeof work, .host = learner_nothing };
        hdp_executor *executor = NULL;
        hdp_profile *truth = NULL;
        hdp_plan *plan = NULL;
        hdp_report *report = NULL;
        struct scene scene;
        double ratio;
        char spec[64];
        json_t *machine = read_machine(names[n]);
        assert_true(make_copy_bound(machine));
        write_machine(spec, sizeof spec, machine);
        json_decref(machine);
        scene_open(&scene, spec, NULL, 0, NULL);
        copies.probe = HDP_PROBE_COPY;
        expect_ok(hdp_calibrate(&truth, scene.group, &copies));
        expect_ok(hdp_split(&plan, truth, ROWS, NULL));
        expect_ok(hdp_plan_get(&best, plan));
        expect_ok(hdp_executor_create_on(&executor, scene.group, NULL));
        for (i = 0; i < 11; ++i) {
            hdp_report_destroy(report);
            expect_ok(hdp_executor_run(&report, executor, ROWS, &work));
        }
        expect_ok(hdp_report_get(&info, report));
        ratio = (double)best.step_ns / (double)info.step_ns;
        print_message("%s: %.4f of the optimum after ten steps\n", names[n],
                      ratio);
        if (ratio < 0.95)
            fail_msg("%s: expected 0.95 of the optimum after ten steps, got "
                     "%.3f",
                     names[n], ratio);
        hdp_report_destroy(report);
        hdp_plan_destroy(plan);
        hdp_profile_destroy(truth);
        hdp_executor_destroy(executor);
        scene_close(&scene);
        (void)unlink(spec + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_slows_and_recovers),
        cmocka_unit_test(noise_is_not_chased),
        cmocka_unit_test(new_shapes_are_not_chased),
        cmocka_unit_test(drift_and_ramp_are_followed),
        cmocka_unit_test(any_totals_teach),
        cmocka_unit_test(work_unlike_the_calibration),
    };

    return cmocka_run_group_tests_name("executor_learn", tests, NULL, NULL);
}
