/* The host's allocator says no, at each call of a whole life, once and for
 * good; and a steady step never asks it. The program brings its own malloc,
 * so that none is missed, which a sanitizer would not bear. */
#include <stdlib.h>
#include "job.h"
#include "process.h"

enum { SKIPPED = 77 };

#if SANITIZED

int main(void)
{
    (void)printf("skipped: a sanitizer brings an allocator of its own\n");
    return SKIPPED;
}

#else

#include "allocator.h"

/* ---- a steady step --------------------------------------------------------------- */

enum { WARM_STEPS = 20, STEADY_STEPS = 1000, MEMBERS = 3, ROWS = 8 };

static const int64_t shares[MEMBERS] = { 5, 0, 3 };

static hdp_status steps(struct scene *scene, hdp_executor *executor,
                        struct job *job, int count)
{
    hdp_status status = HDP_OK;
    hdp_report *report;
    int i;

    for (i = 0; i < count && status == HDP_OK; ++i) {
        status = hdp_run(&report, scene->group, scene->plan, &job->work);
        hdp_report_destroy(report);
        if (status == HDP_OK)
            status = hdp_executor_run(&report, executor, ROWS, &job->work);
        hdp_report_destroy(report);
        if (status == HDP_OK)
            status = hdp_executor_all_reduce(executor, &job->buckets[0]);
    }
    return status;
}

static void a_steady_step_never_asks(void **state)
{
    static const int32_t flags[] = { 0, HDP_WORK_STAGED, HDP_WORK_EMPTY_TOO };
    hdp_model models[MEMBERS];
    size_t f;
    int w, i;

    (void)state;
    for (i = 0; i < MEMBERS; ++i)
        models[i] =
            (hdp_model){ .size = sizeof models[i], .item_ns = 1000 + i };
    for (w = 0; w < WAY_COUNT; ++w)
        for (f = 0; f < sizeof flags / sizeof *flags; ++f) {
            hdp_executor_options options = { .size = sizeof options };
            hdp_profile *profile = NULL;
            hdp_executor *executor = NULL;
            struct scene scene;
            struct job job;
            scene_open_way(&scene, &ways[w], shares, MEMBERS);
            expect_ok(hdp_profile_create(&profile, models, MEMBERS));
            options.profile = profile;
            /* times of real cores move shares, and a share's first step asks */
            options.learn = strncmp(ways[w].name, "host", 4) == 0 ? -1 : 0;
            expect_ok(hdp_executor_create_on(&executor, scene.group, &options));
            job_open(&job, ROWS, MEMBERS);
            job.work.flags = flags[f];
            expect_ok(steps(&scene, executor, &job, WARM_STEPS));
            arm(0, 0);
            expect_ok(steps(&scene, executor, &job, STEADY_STEPS));
            atomic_store(&armed, 0);
            expect_number(0, atomic_load(&asked),
                          "%s, flags %d: allocations in %d steps", ways[w].name,
                          (int)flags[f], 3 * STEADY_STEPS);
            hdp_executor_destroy(executor);
            hdp_profile_destroy(profile);
            scene_close(&scene);
        }
}

/* ---- each allocation fails ----------------------------------------------------------- */

#ifdef HDP_TEST_CUDA
#define LIFE_SPEC "cuda:0-2"
#else
#define LIFE_SPEC "host:0/threads=2+sim:0/item=1us+sim:1/item=1us"
#endif

struct life {
    hdp_context *context;
    hdp_topology *topology, *same;
    hdp_group *group;
    hdp_profile *profile, *measured, *read;
    hdp_plan *plan, *manual, *copy;
    hdp_report *report, *own;
    hdp_balancer *balancer;
    hdp_executor *executor, *again; /* again: with on_memory */
    struct job job;
    char text[1 << 14];
    int64_t refusals; /* calls that said so */
    char wrong[256];
};

/* One call of a life. What failed once for want of memory succeeds when it is
 * asked again; what fails for good says so each time. */
static int go(struct life *life, hdp_status status, const char *call,
              int *again)
{
    hdp_error error = { .size = sizeof error };

    if (status == HDP_OK)
        return 1;
    (void)hdp_error_get(&error);
    life->refusals++;
    if (status != HDP_ERR_MEMORY && status != HDP_ERR_SYSTEM)
        (void)snprintf(life->wrong, sizeof life->wrong,
                       "%.60s: expected success, memory or system, got %s "
                       "(%.80s)",
                       call, hdp_status_string(status), error.text);
    else if (error.status != status || error.severity != HDP_RETRY ||
             error.text[0] == '\0')
        (void)snprintf(life->wrong, sizeof life->wrong,
                       "%.60s: expected the error told, severity %d, got "
                       "status %d, severity %d, text \"%.60s\"",
                       call, HDP_RETRY, (int)error.status, (int)error.severity,
                       error.text);
    else if (fail_lasting)
        return 0;
    else if ((*again)++ == 0)
        return 0;
    else
        (void)snprintf(life->wrong, sizeof life->wrong,
                       "%.60s: expected success when asked again, got %s "
                       "(%.80s)",
                       call, hdp_status_string(status), error.text);
    return 0;
}

#define TRY(call)                                                              \
    do {                                                                       \
        int again_ = 0;                                                        \
        while (!go(life, (call), #call, &again_))                              \
            if (life->wrong[0] || fail_lasting)                                \
                return;                                                        \
    } while (0)

static void lead(struct life *life)
{
    hdp_model models[MEMBERS];
    hdp_executor_options options = { .size = sizeof options };
    int i;

    for (i = 0; i < MEMBERS; ++i)
        models[i] =
            (hdp_model){ .size = sizeof models[i], .item_ns = 1000 + i };
    job_open(&life->job, ROWS, MEMBERS);
    TRY(hdp_context_create(&life->context, NULL));
    TRY(hdp_discover(&life->topology, life->context, NULL));
    TRY(hdp_topology_to_json(life->topology, life->text, sizeof life->text,
                             NULL));
    TRY(hdp_topology_from_json(&life->same, life->text, strlen(life->text)));
    TRY(hdp_group_create_spec(&life->group, life->context, LIFE_SPEC, NULL));
    TRY(hdp_profile_create(&life->profile, models, MEMBERS));
    TRY(hdp_profile_to_json(life->profile, life->text, sizeof life->text,
                            NULL));
    TRY(hdp_profile_from_json(&life->read, life->text, strlen(life->text)));
    TRY(hdp_split(&life->plan, life->read, ROWS, NULL));
    TRY(hdp_plan_create(&life->manual, shares, MEMBERS));
    TRY(hdp_plan_to_json(life->plan, life->text, sizeof life->text, NULL));
    TRY(hdp_plan_from_json(&life->copy, life->text, strlen(life->text)));
    TRY(hdp_run(&life->report, life->group, life->manual, &life->job.work));
    TRY(hdp_run(NULL, life->group, life->plan, &life->job.work));
    TRY(hdp_all_reduce(life->group, life->plan, &life->job.buckets[0]));
    TRY(hdp_report_to_json(life->report, life->text, sizeof life->text, NULL));
    TRY(hdp_report_from_json(&life->own, life->text, strlen(life->text)));
    TRY(hdp_balancer_create(&life->balancer, life->profile, NULL));
    options.profile = life->profile;
    TRY(hdp_executor_create_on(&life->executor, life->group, &options));
    job_reset(&life->job);
    TRY(hdp_executor_run(NULL, life->executor, ROWS, &life->job.work));
    if (job_wrong(&life->job))
        (void)snprintf(life->wrong, sizeof life->wrong, "%s", life->job.text);
    TRY(hdp_executor_observe(life->executor, shares, shares));
    TRY(hdp_executor_profile(&life->measured, life->executor));
    options.on_memory = 1;
    TRY(hdp_executor_create_on(&life->again, life->group, &options));
    TRY(hdp_group_trim(life->group));
    job_reset(&life->job);
    TRY(hdp_executor_run(NULL, life->again, ROWS, &life->job.work));
    if (job_wrong(&life->job))
        (void)snprintf(life->wrong, sizeof life->wrong, "%s", life->job.text);
}

static void end(struct life *life)
{
    hdp_context_destroy(life->context);
    hdp_topology_destroy(life->topology);
    hdp_topology_destroy(life->same);
    hdp_executor_destroy(life->executor);
    hdp_executor_destroy(life->again);
    hdp_balancer_destroy(life->balancer);
    hdp_group_destroy(life->group);
    hdp_profile_destroy(life->profile);
    hdp_profile_destroy(life->measured);
    hdp_profile_destroy(life->read);
    hdp_plan_destroy(life->plan);
    hdp_plan_destroy(life->manual);
    hdp_plan_destroy(life->copy);
    hdp_report_destroy(life->report);
    hdp_report_destroy(life->own);
}

#ifdef HDP_TEST_CUDA
enum { STRIDE = 4 }; /* a life of GPUs asks thousands of times */
#else
enum { STRIDE = 1 };
#endif
enum { LIVES_MAX = 6000 };

/* One life with the nth allocation refused; 0 once there are not so many. */
static int64_t live_with(int64_t nth, int lasting)
{
    static struct life life;
    int64_t before;

    memset(&life, 0, sizeof life);
    before = atomic_load(&live);
    arm(nth, lasting);
    lead(&life);
    end(&life);
    atomic_store(&armed, 0);
    if (life.wrong[0])
        fail_msg("allocation %lld%s: %s", (long long)nth, lasting ? "-" : "",
                 life.wrong);
    if (nth > 1) /* the first life also makes what a process makes once */
        expect_number(before, atomic_load(&live),
                      "blocks in use after allocation %lld%s failed",
                      (long long)nth, lasting ? "-" : "");
    return atomic_load(&failed);
}

static void every_allocation_fails(void **state)
{
    int64_t nth;
    int lasting;

    (void)state;
    if (on_gpu_machine()) { /* a driver's own calls are not ours to refuse */
        print_message("a driver is in this process: not tried\n");
        skip();
    }
    (void)live_with(0, 0);
    for (lasting = 0; lasting < 2; ++lasting) {
        for (nth = 1; nth < LIVES_MAX && live_with(nth, lasting) > 0;
             nth += STRIDE)
            continue;
        if (nth < 50 || nth >= LIVES_MAX)
            fail_msg("expected 50 to %d allocations of a life, got %lld",
                     LIVES_MAX, (long long)nth);
        print_message("%lld allocations, one in %d failed %s\n",
                      (long long)(nth - 1), STRIDE,
                      lasting ? "for good" : "once");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_steady_step_never_asks),
        cmocka_unit_test(every_allocation_fails),
    };

    return cmocka_run_group_tests_name("allocation", tests, NULL, NULL);
}
#endif
