/* Threads of the host program at work on one group and on many: one makes
 * steps, a second one is told so, and everybody may look. */
#include <stdlib.h>
#include "job.h"
#include "process.h"

enum { MEMBERS = 3, ROWS = 8 };

static const int64_t shares[MEMBERS] = { 5, 0, 3 };

/* ---- busy ---------------------------------------------------------------- */

struct driver {
    struct scene *scene;
    struct gate gate;
    hdp_status status;
};

static int32_t hold(const hdp_shard *shard, void *user)
{
    struct driver *driver = user;

    if (shard->member == 2)
        gate_pass(&driver->gate);
    return 0;
}

ON_GPU(hold)

static void *drive(void *arg)
{
    struct driver *driver = arg;
    hdp_work work = {
        .size = sizeof work, .host = hold, .cuda = hold_on_gpu, .user = arg
    };

    driver->status =
        hdp_run(NULL, driver->scene->group, driver->scene->plan, &work);
    return NULL;
}

/* Every way to make a step is refused at once; looking is free. */
static void meet_a_busy_group(struct scene *scene, struct job *job)
{
    hdp_error health = { .size = sizeof health };
    hdp_profile *profile = NULL;
    uint64_t step = 9;
    int32_t reached = -1;

    expect_status(HDP_ERR_BUSY,
                  hdp_run(NULL, scene->group, scene->plan, &job->work));
    expect_status(HDP_ERR_BUSY,
                  hdp_run_async(&step, scene->group, scene->plan, &job->work));
    expect_number(0, (int64_t)step, "number of a refused step");
    expect_status(HDP_ERR_BUSY,
                  hdp_all_reduce(scene->group, scene->plan, &job->buckets[0]));
    expect_status(HDP_ERR_BUSY,
                  hdp_broadcast(scene->group, 0, &job->buckets[0]));
    expect_status(HDP_ERR_BUSY, hdp_barrier(scene->group));
    expect_status(HDP_ERR_BUSY, hdp_group_trim(scene->group));
    expect_status(HDP_ERR_BUSY, hdp_calibrate(&profile, scene->group, NULL));
    expect_ok(hdp_group_health(&health, scene->group));
    expect_ok(hdp_group_poll(&reached, scene->group, 1, HDP_DONE, 1000000));
    expect_number(0, reached, "step 1 reached");
}

static void a_second_thread_is_told_busy(void **state)
{
    int w;

    (void)state;
    for (w = 1; w < WAY_COUNT;
         w += 2) { /* CALLER: inside while functions run */
        struct scene scene;
        struct driver driver = { &scene, GATE_CLOSED, -99 };
        struct job job;
        pthread_t thread;
        scene_open_way(&scene, &ways[w], shares, MEMBERS);
        job_open(&job, ROWS, MEMBERS);
        expect_number(0, pthread_create(&thread, NULL, drive, &driver),
                      "pthread_create");
        gate_await(&driver.gate, &driver.gate.came, 1);
        meet_a_busy_group(&scene, &job);
        expect_number(0, atomic_load(&job.calls), "functions of refused steps");
        gate_open(&driver.gate);
        expect_ok(hdp_group_wait(NULL, scene.group, 1));
        expect_number(0, pthread_join(thread, NULL), "pthread_join");
        expect_number(HDP_OK, driver.status, "%s: the first thread",
                      ways[w].name);
        expect_ok(hdp_run(NULL, scene.group, scene.plan, &job.work));
        expect_right(&job, "%s, after busy", ways[w].name);
        scene_close(&scene);
    }
}

/* ---- many at once ------------------------------------------------------------ */

enum { THREADS = 4, TURNS = SANITIZED ? 300 : 2000 };

struct hammer {
    struct scene *scene;
    struct job job;
    int64_t done, busy;
    hdp_status bad;
    const char *wrong;
};

static void *strike(void *arg)
{
    struct hammer *hammer = arg;
    int32_t i;

    for (i = 0; i < TURNS && !hammer->wrong && hammer->bad == HDP_OK; ++i) {
        hdp_status status;
        job_reset(&hammer->job);
        status = hdp_run(NULL, hammer->scene->group, hammer->scene->plan,
                         &hammer->job.work);
        if (status == HDP_ERR_BUSY) {
            hammer->busy++;
        } else if (status != HDP_OK) {
            hammer->bad = status;
        } else {
            hammer->done++;
            hammer->wrong = job_wrong(&hammer->job);
        }
    }
    return NULL;
}

/* Several threads step one group as fast as they can: each step is either done
 * and right, or refused as busy; none is lost, none is counted twice. */
static void one_group_under_the_hammer(void **state)
{
    static struct hammer hammers[THREADS];
    int w, t;

    (void)state;
    for (w = 0; w < WAY_COUNT; ++w) {
        struct scene scene;
        pthread_t threads[THREADS];
        hdp_group_info info = { .size = sizeof info };
        int64_t done = 0;
        scene_open_way(&scene, &ways[w], shares, MEMBERS);
        for (t = 0; t < THREADS; ++t) {
            job_open(&hammers[t].job, ROWS, MEMBERS);
            hammers[t].scene = &scene;
            hammers[t].done = hammers[t].busy = 0;
            hammers[t].bad = HDP_OK;
            hammers[t].wrong = NULL;
            expect_number(
                0, pthread_create(&threads[t], NULL, strike, &hammers[t]),
                "pthread_create");
        }
        for (t = 0; t < THREADS; ++t)
            expect_number(0, pthread_join(threads[t], NULL), "pthread_join");
        for (t = 0; t < THREADS; ++t) {
            expect_number(HDP_OK, hammers[t].bad, "%s, thread %d: status",
                          ways[w].name, t);
            if (hammers[t].wrong)
                fail_msg("%s, thread %d: %s", ways[w].name, t,
                         hammers[t].wrong);
            expect_number(TURNS, hammers[t].done + hammers[t].busy,
                          "%s, thread %d: turns", ways[w].name, t);
            done += hammers[t].done;
        }
        expect_ok(hdp_group_get(&info, scene.group));
        expect_number(done, (int64_t)info.step, "%s: steps", ways[w].name);
        scene_close(&scene);
    }
}

struct loner {
    const struct way *way;
    struct job job;
    const char *wrong;
    hdp_status status;
};

/* A whole life of a group, without the harness: it may not fail off the main
 * thread. */
static hdp_status live_alone(struct loner *loner)
{
    hdp_context *context = NULL;
    hdp_group *group = NULL;
    hdp_plan *plan = NULL;
    hdp_group_options options = { .size = sizeof options,
                                  .threads = loner->way->threads };
    char spec[JOB_SPEC];
    hdp_status status;
    int i;

    job_spec(spec, sizeof spec, loner->way->kind, MEMBERS);
    status = hdp_context_create(&context, NULL);
    if (status == HDP_OK)
        status = hdp_group_create_spec(&group, context, spec, &options);
    if (status == HDP_OK)
        status = hdp_plan_create(&plan, shares, MEMBERS);
    for (i = 0; i < 50 && status == HDP_OK && !loner->wrong; ++i) {
        job_reset(&loner->job);
        status = hdp_run(NULL, group, plan, &loner->job.work);
        if (status == HDP_OK)
            loner->wrong = job_wrong(&loner->job);
    }
    hdp_context_destroy(context);
    hdp_plan_destroy(plan);
    hdp_group_destroy(group);
    return status;
}

static void *be_alone(void *arg)
{
    struct loner *loner = arg;

    loner->status = live_alone(loner);
    return NULL;
}

static void groups_are_independent(void **state)
{
    enum { LONERS = 8 };
    static struct loner loners[LONERS];
    pthread_t threads[LONERS];
    int i;

    (void)state;
    for (i = 0; i < LONERS; ++i) {
        loners[i].way = &ways[i % WAY_COUNT];
        job_open(&loners[i].job, ROWS, MEMBERS);
        expect_number(0,
                      pthread_create(&threads[i], NULL, be_alone, &loners[i]),
                      "pthread_create");
    }
    for (i = 0; i < LONERS; ++i) {
        expect_number(0, pthread_join(threads[i], NULL), "pthread_join");
        expect_number(HDP_OK, loners[i].status, "group %d: status", i);
        if (loners[i].wrong)
            fail_msg("group %d: %s", i, loners[i].wrong);
    }
}

/* ---- errors belong to a thread -------------------------------------------------- */

static void *look_at_error(void *arg)
{
    hdp_error *error = arg;

    error->size = sizeof *error;
    if (hdp_error_get(error) != HDP_OK || hdp_last_error()[0] != '\0')
        error->status = -99;
    return NULL;
}

/* Set exactly when a status is not success, kept by later successes, replaced
 * by the next failure, and nobody else's. */
static void errors_are_the_threads_own(void **state)
{
    hdp_context *context = NULL;
    hdp_group *group = NULL;
    hdp_error error = { .size = sizeof error }, other;
    char first[256];
    pthread_t thread;

    (void)state;
    expect_ok(hdp_context_create(&context, NULL));
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_group_create_spec(&group, context, "sim:0,0", NULL));
    (void)snprintf(first, sizeof first, "%s", hdp_last_error());
    expect_ok(hdp_group_create_spec(&group, context, "sim:0", NULL));
    expect_ok(hdp_barrier(group));
    expect_ok(hdp_error_get(&error));
    expect_number(HDP_ERR_ARGUMENT, error.status, "status after successes");
    assert_string_equal(first, error.text);
    assert_string_equal(first, hdp_last_error());

    expect_number(0, pthread_create(&thread, NULL, look_at_error, &other),
                  "pthread_create");
    expect_number(0, pthread_join(thread, NULL), "pthread_join");
    expect_number(HDP_OK, other.status, "status of a fresh thread");

    expect_status(HDP_ERR_ARGUMENT, hdp_group_wait(NULL, group, 77));
    expect_ok(hdp_error_get(&error));
    if (strcmp(first, error.text) == 0)
        fail_msg("expected the new failure's text, got the old one: %s", first);
    hdp_group_destroy(group);
    hdp_context_destroy(context);
    if (strcmp(error.text, hdp_last_error()) != 0)
        fail_msg("expected destroy to keep \"%s\", got \"%s\"", error.text,
                 hdp_last_error());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_thread_is_told_busy),
        cmocka_unit_test(one_group_under_the_hammer),
        cmocka_unit_test(groups_are_independent),
        cmocka_unit_test(errors_are_the_threads_own),
    };

    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
