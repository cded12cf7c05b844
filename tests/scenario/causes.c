/* What a report says of a changed time: a size that is new to a member, and
 * what its adapter knows; and for how long a size is remembered. */
#include "job.h"
#include "paced.h"

enum { MEMBERS = 2, STEPS = 6 };

/* One step with these shares; what it says of the first member. */
static void run(const struct scene *scene, struct job *job, int64_t first,
                int64_t second, int32_t *out_new, int32_t *out_cause)
{
    const int64_t items[MEMBERS] = { first, second };
    hdp_report_info info = { .size = sizeof info };
    hdp_report *report = NULL;
    hdp_plan *plan = NULL;

    expect_ok(hdp_plan_create(&plan, items, MEMBERS));
    job->total = first + second;
    job_reset(job);
    expect_ok(hdp_run(&report, scene->group, plan, &job->work));
    expect_right(job, "%d and %d rows", (int)first, (int)second);
    expect_ok(hdp_report_get(&info, report));
    *out_new = info.first_at_share[0];
    *out_cause = info.cause[0];
    hdp_report_destroy(report);
    hdp_plan_destroy(plan);
}

/* The last eight sizes are known; the one before them is new again. */
static void eight_sizes_are_remembered(void **state)
{
    static const struct {
        int64_t share;
        int32_t is_new;
    } steps[] = { { 5, 1 }, { 5, 0 }, { 6, 1 }, { 5, 0 }, { 0, 0 },  { 0, 0 },
                  { 5, 0 }, { 7, 1 }, { 8, 1 }, { 9, 1 }, { 10, 1 }, { 1, 1 },
                  { 2, 1 }, { 5, 0 }, { 3, 1 }, { 6, 1 }, { 5, 0 },  { 7, 1 } };
    int32_t is_new, cause;
    size_t s;
    int w;

    (void)state;
    for (w = 0; w < WAY_COUNT; ++w) {
        struct scene scene;
        struct job job;
        scene_open_way(&scene, &ways[w], NULL, MEMBERS);
        job_open(&job, 11, MEMBERS);
        for (s = 0; s < sizeof steps / sizeof *steps; ++s) {
            run(&scene, &job, steps[s].share, 4, &is_new, &cause);
            expect_number(steps[s].is_new, is_new,
                          "%s: step %d, share %d: first_at_share", ways[w].name,
                          (int)s, (int)steps[s].share);
            expect_number(is_new ? HDP_CAUSE_SHAPE : HDP_CAUSE_NONE, cause,
                          "%s: step %d: cause", ways[w].name, (int)s);
        }
        scene_close(&scene);
    }
}

PACED(job_function)

/* What a GPU's driver knows of it is not asked for in every step: there a
 * change has no cause, and neither has noise. */
static int32_t cause_of(int32_t cause)
{
    return PACED_FAKE && cause != HDP_CAUSE_SHAPE ? HDP_CAUSE_NONE : cause;
}

/* Six steps of 1 ms each at the same shares; the first is always new. */
static void paced_members_know_why(void **state)
{
    enum { N = HDP_CAUSE_NONE, H = HDP_CAUSE_HEAT, O = HDP_CAUSE_NEIGHBOUR };
    static const struct {
        const char *key;
        int32_t cause[STEPS];
    } cases[] = {
        { "", { HDP_CAUSE_SHAPE, N, N, N, N, N } },
        { "/slow=2x@3/slow=1x@5", { HDP_CAUSE_SHAPE, N, O, O, N, N } },
        { "/slow=0.5x@3", { HDP_CAUSE_SHAPE, N, N, N, N, N } },
        { "/drift=1%", { HDP_CAUSE_SHAPE, H, H, H, H, H } },
        { "/ramp=1%@2800us", { HDP_CAUSE_SHAPE, H, N, N, N, N } },
        { "/drift=1%/slow=2x@4", { HDP_CAUSE_SHAPE, H, H, O, O, O } },
        { "/noise=3%", { HDP_CAUSE_SHAPE, N, N, N, N, N } },
    };
    int32_t is_new, cause;
    size_t c;
    int step;

    (void)state;
    for (c = 0; c < sizeof cases / sizeof *cases; ++c) {
        struct paced paced;
        struct scene scene;
        struct job job;
        char spec[128];
        (void)snprintf(spec, sizeof spec, "sim:0/item=100us%s+sim:1/item=100us",
                       cases[c].key);
        paced_open(&paced, spec);
        scene_open(&scene, paced.spec, NULL, MEMBERS, NULL);
        job_open(&job, 20, MEMBERS);
        job.work.cuda = job_function_paced;
        for (step = 0; step < STEPS; ++step) {
            run(&scene, &job, 10, 10, &is_new, &cause);
            expect_number(cause_of(cases[c].cause[step]), cause,
                          "%s: cause in step %d", spec, step + 1);
        }
        scene_close(&scene);
        paced_close();
    }
}

/* A step that reduces and computes nothing took no time that could change. */
static void nothing_computed_has_no_cause(void **state)
{
    static const int64_t items[MEMBERS] = { 3, 2 };
    hdp_report_info info = { .size = sizeof info };
    hdp_report *report = NULL;
    struct paced paced;
    struct scene scene;
    struct job job;
    uint64_t step;

    (void)state;
    paced_open(&paced, "sim:0-1/item=1us/slow=9x@1");
    scene_open(&scene, paced.spec, items, MEMBERS, NULL);
    job_open(&job, 5, MEMBERS);
    expect_ok(
        hdp_all_reduce_async(&step, scene.group, scene.plan, job.buckets));
    expect_ok(hdp_group_wait(&report, scene.group, step));
    expect_ok(hdp_report_get(&info, report));
    expect_number(HDP_CAUSE_NONE, info.cause[0], "cause of a reduce");
    expect_number(0, info.first_at_share[0], "a reduce at a new share");
    hdp_report_destroy(report);
    scene_close(&scene);
    paced_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_sizes_are_remembered),
        cmocka_unit_test(paced_members_know_why),
        cmocka_unit_test(nothing_computed_has_no_cause),
    };

    return cmocka_run_group_tests_name("causes", tests, NULL, NULL);
}
