/* Lives of executors: on a group of the caller's, ended in any order, and of
 * members that fail while it is made. */
#include "job.h"
#include "paced.h"

static const char sim_spec[] = "sim:0/item=10ms+sim:1/item=30ms";

PACED(job_function)

static void paced_job(struct job *job, int64_t total)
{
    job_open(job, total, 2);
    job->work.cuda = job_function_paced;
}

/* On a group of the caller's, which is used beside it and outlives it. */
static void on_a_lent_group(void **state)
{
    static const int64_t items[2] = { 6, 2 };
    hdp_executor_options options = { .size = sizeof options };
    struct paced paced;
    struct scene scene;
    struct job job;
    hdp_executor *executor = NULL;
    hdp_profile *profile = NULL;
    double ratio = 0;

    (void)state;
    paced_open(&paced, sim_spec);
    profile = paced_profile(&paced);
    options.profile = profile;
    scene_open(&scene, paced.spec, items, 2, NULL);
    expect_ok(hdp_executor_create_on(&executor, scene.group, &options));
    hdp_profile_destroy(profile);
    if (hdp_executor_group(executor) != scene.group)
        fail_msg("expected the group lent, %p, got %p", (void *)scene.group,
                 (void *)hdp_executor_group(executor));
    paced_job(&job, 8);
    expect_ok(hdp_executor_run(NULL, executor, 8, &job.work));
    expect_right(&job, "by the executor");
    job_reset(&job);
    expect_ok(hdp_run(NULL, scene.group, scene.plan, &job.work));
    expect_right(&job, "beside the executor");
    expect_ok(hdp_executor_profile(&profile, executor));
    hdp_executor_destroy(executor);
    expect_ok(hdp_profile_ratio(&ratio, profile, 0));
    if (ratio < 0.7499 || ratio > 0.7501)
        fail_msg("expected a ratio of 0.75, got %g", ratio);
    hdp_profile_destroy(profile);
    job_reset(&job);
    expect_ok(hdp_run(NULL, scene.group, scene.plan, &job.work));
    expect_right(&job, "after the executor");
    scene_close(&scene);
    paced_close();
}

/* Context, group, executor, report, plan: given back in every order. */
static void destroyed_in_every_order(void **state)
{
    hdp_executor_options options = { .size = sizeof options };
    struct paced paced;
    hdp_profile *profile;
    int order, i, k;

    (void)state;
    paced_open(&paced, sim_spec);
    profile = paced_profile(&paced);
    options.profile = profile;
    for (order = 0; order < 120; ++order) {
        hdp_context *context = NULL;
        hdp_group *group = NULL;
        hdp_executor *executor = NULL;
        hdp_report *report = NULL;
        hdp_plan *plan = NULL;
        struct job job;
        int left[5] = { 0, 1, 2, 3, 4 }, rest = order;
        expect_ok(hdp_context_create(&context, NULL));
        expect_ok(hdp_group_create_spec(&group, context, paced.spec, NULL));
        expect_ok(hdp_executor_create_on(&executor, group, &options));
        paced_job(&job, 8);
        expect_ok(hdp_executor_run(&report, executor, 8, &job.work));
        expect_ok(hdp_executor_plan(&plan, executor, 8));
        for (i = 5; i > 0; --i) {
            int pick = rest % i, which = left[pick];
            rest /= i;
            for (k = pick; k < i - 1; ++k)
                left[k] = left[k + 1];
            if (which == 0)
                hdp_context_destroy(context);
            if (which == 1)
                hdp_group_destroy(group);
            if (which == 2)
                hdp_executor_destroy(executor);
            if (which == 3)
                hdp_report_destroy(report);
            if (which == 4)
                hdp_plan_destroy(plan);
        }
    }
    hdp_profile_destroy(profile);
    paced_close();
}

/* Calls of CUDA, which lack memory; or hooks of a simulated member. */
static const char *const faults[] = {
#ifdef HDP_TEST_FAKE
    "cudaMalloc",
    "cudaMemcpyAsync",
    "cuLaunchKernel",
    "cudaEventQuery",
#else
    "alloc", "copy", "launch", "wait", "reduce",
#endif
};

/* Two members, one of which will fail. */
static void fail_nth(struct paced *paced, const char *fault, int nth)
{
    char text[128];

#ifdef HDP_TEST_FAKE
    paced_open(paced, "sim:0-1/item=1us");
    (void)snprintf(text, sizeof text, "fail=%s:%d:%d", fault, nth,
                   cudaErrorMemoryAllocation);
    expect_number(0, fake_plant(text), "%s", text);
#else
    (void)snprintf(text, sizeof text,
                   "sim:0/item=1us+sim:1/item=1us/fail=%s:%d", fault, nth);
    paced_open(paced, text);
#endif
}

/* Fails in the middle of being made, at each call of each hook. */
static void made_of_failing_members(void **state)
{
    size_t f;
    int nth;

    (void)state;
    for (f = 0; f < sizeof faults / sizeof *faults; ++f)
        for (nth = 1; nth < (PACED_FAKE ? 3 : 8); ++nth) {
            hdp_context *context = NULL;
            hdp_executor *executor = NULL;
            struct paced paced;
            hdp_status status;
            fail_nth(&paced, faults[f], nth);
            expect_ok(hdp_context_create(&context, NULL));
            status = hdp_executor_create(&executor, context, paced.spec, NULL);
            if (status != HDP_OK && status != HDP_ERR_MEMORY &&
                status != HDP_ERR_DEVICE)
                fail_msg("%s:%d: expected success, memory or device, got %s "
                         "(%s)",
                         faults[f], nth, hdp_status_string(status),
                         hdp_last_error());
            if (status != HDP_OK)
                expect_number(0, executor != NULL, "%s:%d: an executor",
                              faults[f], nth);
            hdp_executor_destroy(executor);
            hdp_context_destroy(context);
            paced_close();
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_a_lent_group),
        cmocka_unit_test(destroyed_in_every_order),
        cmocka_unit_test(made_of_failing_members),
    };

    return cmocka_run_group_tests_name("executor_lives", tests, NULL, NULL);
}
