/* Every hook of a simulated member made to fail, at its first call, its second,
 * and on until the scenario passes untouched; once and for good, on each member
 * in turn. Whatever is delivered with success is right. */
#include <stdlib.h>
#include "job.h"

enum { MEMBERS = 3, ROWS = 11, STEPS = 3, SITES_MAX = 60 };

static const int64_t shares[MEMBERS] = { 6, 0, 5 };

struct hook {
    const char *name;
    hdp_status want;
    int by_empty; /* 1: a member without rows comes by here as well */
};

static const struct hook hooks[] = {
    { "alloc", HDP_ERR_MEMORY, 0 },  { "copy", HDP_ERR_DEVICE, 0 },
    { "launch", HDP_ERR_DEVICE, 0 }, { "wait", HDP_ERR_DEVICE, 1 },
    { "reduce", HDP_ERR_DEVICE, 1 },
};

struct sweep {
    const struct hook *hook;
    int32_t member, threads, flags, lasting;
    int64_t piece;
    int32_t nth;
    char name[160];
};

static void open_failing(struct scene *scene, const struct sweep *sweep)
{
    hdp_group_options options;
    char spec[256];
    size_t used = 0;
    int32_t m;

    for (m = 0; m < MEMBERS; ++m) {
        used += (size_t)snprintf(spec + used, sizeof spec - used,
                                 "%ssim:%d/item=1us", m ? "+" : "", (int)m);
        if (m == sweep->member)
            used += (size_t)snprintf(
                spec + used, sizeof spec - used, "/fail=%s:%d%s",
                sweep->hook->name, (int)sweep->nth, sweep->lasting ? "-" : "");
    }
    expect_ok(hdp_options_init(&options, sizeof options));
    options.threads = sweep->threads;
    scene_open(scene, spec, shares, MEMBERS, &options);
}

/* A failed step: the documented status, who, where, and nothing handed out. */
static void check_failure(const struct sweep *sweep, hdp_status status,
                          const hdp_report *report, int32_t step,
                          const hdp_group *group)
{
    hdp_error error = { .size = sizeof error };
    hdp_error health = { .size = sizeof health };
    char text[64];

    expect_number(sweep->hook->want, status, "%s: step %d", sweep->name,
                  (int)step);
    expect_number(0, report != NULL, "%s: a report of a failed step",
                  sweep->name);
    expect_ok(hdp_error_get(&error));
    expect_number(status, error.status, "%s: status of the error", sweep->name);
    expect_number(sweep->member, error.member, "%s: member", sweep->name);
    expect_number(sweep->member, error.rank, "%s: rank", sweep->name);
    expect_number(step, (int64_t)error.step, "%s: step", sweep->name);
    expect_number(HDP_RETRY, error.severity, "%s: severity", sweep->name);
    if (status == HDP_ERR_MEMORY && error.wanted_bytes <= 0)
        fail_msg("%s: expected the bytes wanted, got %lld", sweep->name,
                 (long long)error.wanted_bytes);
    (void)snprintf(text, sizeof text, "failure of %s, call", sweep->hook->name);
    if (!strstr(error.text, text))
        fail_msg("%s: expected \"%s\" in the text, got \"%s\"", sweep->name,
                 text, error.text);
    expect_ok(hdp_group_health(&health, group));
}

/* Three steps; returns how many of them failed. */
static int32_t run_scenario(const struct sweep *sweep)
{
    struct scene scene;
    struct job job;
    int32_t step, failed = 0;

    open_failing(&scene, sweep);
    job_open(&job, ROWS, MEMBERS);
    job.work.flags = sweep->flags;
    job.work.max_piece_items = sweep->piece;
    for (step = 1; step <= STEPS; ++step) {
        hdp_report *report = NULL;
        hdp_status status;
        job_reset(&job);
        status = hdp_run(&report, scene.group, scene.plan, &job.work);
        if (status != HDP_OK) {
            check_failure(sweep, status, report, step, scene.group);
            failed++;
        } else {
            expect_right(&job, "%s, step %d", sweep->name, (int)step);
            if (sweep->lasting && failed)
                fail_msg("%s, step %d: expected the lasting failure again, got "
                         "success",
                         sweep->name, (int)step);
        }
        hdp_report_destroy(report);
    }
    if (!sweep->lasting && failed > 1)
        fail_msg("%s: expected one failed step at most, got %d", sweep->name,
                 (int)failed);
    scene_close(&scene);
    return failed;
}

/* Returns how many calls of the hook the scenario makes. */
static int32_t walk_sites(struct sweep *sweep)
{
    for (sweep->nth = 1; sweep->nth <= SITES_MAX; ++sweep->nth) {
        (void)snprintf(sweep->name, sizeof sweep->name,
                       "fail=%s:%d%s on member %d, %s, flags %d, pieces of %d",
                       sweep->hook->name, (int)sweep->nth,
                       sweep->lasting ? "-" : "", (int)sweep->member,
                       sweep->threads ? "CALLER" : "MEMBER", (int)sweep->flags,
                       (int)sweep->piece);
        if (run_scenario(sweep) == 0)
            return sweep->nth - 1;
    }
    fail_msg("%s: expected an end of the calls, got more than %d", sweep->name,
             (int)SITES_MAX);
    return 0;
}

static void every_call_fails_once_and_for_good(void **state)
{
    static const struct {
        int32_t threads, flags;
        int64_t piece;
    } ways_to_run[] = { { HDP_THREADS_MEMBER, 0, 0 },
                        { HDP_THREADS_CALLER, 0, 2 },
                        { HDP_THREADS_MEMBER, HDP_WORK_STAGED, 2 },
                        { HDP_THREADS_CALLER, HDP_WORK_STAGED, 0 } };
    struct sweep sweep;
    size_t h, w;
    int32_t sites[2];

    (void)state;
    for (h = 0; h < sizeof hooks / sizeof *hooks; ++h)
        for (w = 0; w < sizeof ways_to_run / sizeof *ways_to_run; ++w)
            for (sweep.member = 0; sweep.member < MEMBERS; ++sweep.member) {
                int has_rows = shares[sweep.member] > 0;
                sweep.hook = &hooks[h];
                sweep.threads = ways_to_run[w].threads;
                sweep.flags = ways_to_run[w].flags;
                sweep.piece = ways_to_run[w].piece;
                for (sweep.lasting = 0; sweep.lasting < 2; ++sweep.lasting)
                    sites[sweep.lasting] = walk_sites(&sweep);
                expect_number(sites[0], sites[1], "%s: calls", sweep.name);
                if ((has_rows || hooks[h].by_empty) && sites[0] == 0)
                    fail_msg("%s: expected calls of the hook, got none",
                             sweep.name);
                if (w == 0)
                    print_message("fail=%s, member %d: %d calls, each failed "
                                  "once and for good\n",
                                  hooks[h].name, (int)sweep.member,
                                  (int)sites[0]);
            }
}

/* Two members fail in one step: one of them is told, both are well again. */
static void two_failures_in_one_step(void **state)
{
    struct scene scene;
    struct job job;
    hdp_error error = { .size = sizeof error };

    (void)state;
    scene_open(&scene,
               "sim:0/item=1us/fail=launch:1+sim:1/item=1us+"
               "sim:2/item=1us/fail=copy:1",
               shares, MEMBERS, NULL);
    job_open(&job, ROWS, MEMBERS);
    expect_status(HDP_ERR_DEVICE,
                  hdp_run(NULL, scene.group, scene.plan, &job.work));
    expect_ok(hdp_error_get(&error));
    if (error.member != 0 && error.member != 2)
        fail_msg("expected member 0 or 2, got %d", (int)error.member);
    job_reset(&job);
    expect_ok(hdp_run(NULL, scene.group, scene.plan, &job.work));
    expect_right(&job, "after two failures");
    scene_close(&scene);
}

/* The step behind a failed one, accepted before anybody knew, ends with state;
 * so does a new one, until the failure has been told. */
static void later_steps_end_with_state(void **state)
{
    struct scene scene;
    struct job jobs[2];
    uint64_t steps[2], more;
    hdp_status second;
    int32_t reached;

    (void)state;
    scene_open(&scene, "sim:0-1/item=1us+sim:2/item=1us/fail=wait:1", shares,
               MEMBERS, NULL);
    job_open(&jobs[0], ROWS, MEMBERS);
    job_open(&jobs[1], ROWS, MEMBERS);
    expect_ok(hdp_run_async(&steps[0], scene.group, scene.plan, &jobs[0].work));
    /* the failure may already be known: then nothing is accepted */
    second = hdp_run_async(&steps[1], scene.group, scene.plan, &jobs[1].work);
    if (second == HDP_OK) {
        expect_status(HDP_ERR_STATE,
                      hdp_group_wait(NULL, scene.group, steps[1]));
        expect_status(HDP_ERR_DEVICE,
                      hdp_group_wait(NULL, scene.group, steps[0]));
    } else {
        expect_number(HDP_ERR_STATE, second, "second step");
        expect_status(HDP_ERR_STATE, hdp_run_async(&more, scene.group,
                                                   scene.plan, &jobs[1].work));
        expect_number(0, (int64_t)more, "number of a refused step");
        expect_status(HDP_ERR_DEVICE,
                      hdp_group_poll(&reached, scene.group, steps[0], HDP_DONE,
                                     1000000000));
        expect_number(HDP_DONE, reached, "a failed step reached");
    }
    job_reset(&jobs[0]);
    expect_ok(hdp_run(NULL, scene.group, scene.plan, &jobs[0].work));
    expect_right(&jobs[0], "after the failure was told");
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_fails_once_and_for_good),
        cmocka_unit_test(two_failures_in_one_step),
        cmocka_unit_test(later_steps_end_with_state),
    };

    return cmocka_run_group_tests_name("inject", tests, NULL, NULL);
}
