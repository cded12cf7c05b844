/* Steps as numbers: two in flight, waited for in any order from any thread,
 * and the numbers that nobody handed out. */
#include "job.h"
#include "process.h"

enum { MEMBERS = 3, ROWS = 8 };

static const int64_t shares[MEMBERS] = { 5, 0, 3 };

/* ---- in flight ------------------------------------------------------------- */

/* Steps in the order in which member 0 saw them; each passes its gate. */
struct log {
    struct gate gates[3];
    uint64_t steps[8];
    _Atomic int32_t count;
};

static int32_t pass_and_note(const hdp_shard *shard, void *user)
{
    struct log *log = user;

    if (shard->member != 0)
        return 0;
    if (shard->step >= 1 && shard->step <= 3)
        gate_pass(&log->gates[shard->step - 1]);
    log->steps[atomic_fetch_add(&log->count, 1)] = shard->step;
    return 0;
}

static void log_open(struct log *log, hdp_work *work)
{
    static const struct log closed = {
        { GATE_CLOSED, GATE_CLOSED, GATE_CLOSED }, { 0 }, 0
    };

    memcpy(log->steps, closed.steps, sizeof log->steps);
    memcpy(log->gates, closed.gates, sizeof log->gates);
    atomic_store(&log->count, 0);
    expect_ok(hdp_options_init(work, sizeof *work));
    work->host = pass_and_note;
    work->user = log;
}

static void expect_reached(int32_t want, hdp_group *group, uint64_t step,
                           int32_t until, int64_t patience_ns)
{
    int32_t reached = -1;

    expect_ok(hdp_group_poll(&reached, group, step, until, patience_ns));
    expect_number(want, reached, "step %d reached", (int)step);
}

struct third {
    struct scene *scene;
    const hdp_work *work;
    uint64_t step;
    hdp_status status;
    _Atomic int32_t returned;
};

static void *start_third(void *arg)
{
    struct third *third = arg;

    third->status = hdp_run_async(&third->step, third->scene->group,
                                  third->scene->plan, third->work);
    atomic_store(&third->returned, 1);
    return NULL;
}

static uint64_t last_accepted(const hdp_group *group)
{
    hdp_group_info info;

    expect_ok(hdp_options_init(&info, sizeof info));
    expect_ok(hdp_group_get(&info, group));
    return info.step;
}

static void two_in_flight_a_third_waits(void **state)
{
    static const struct way way = { HDP_HOST, HDP_THREADS_MEMBER, "host" };
    enum { PATIENCE = 30 };
    struct scene scene;
    struct log log;
    struct third third = { 0 };
    pthread_t thread;
    hdp_work work;
    uint64_t first, second;

    (void)state;
    scene_open_way(&scene, &way, shares, MEMBERS);
    log_open(&log, &work);
    expect_ok(hdp_run_async(&first, scene.group, scene.plan, &work));
    expect_ok(hdp_run_async(&second, scene.group, scene.plan, &work));
    expect_number(1, (int64_t)first, "first step");
    expect_number(2, (int64_t)second, "second step");
    gate_await(&log.gates[0], &log.gates[0].came, 1);
    expect_reached(0, scene.group, first, HDP_DONE, 0);
    expect_reached(0, scene.group, first, HDP_ISSUED, 1000000);
    expect_reached(0, scene.group, second, HDP_DONE, 1000000);

    third.scene = &scene;
    third.work = &work;
    expect_number(0, pthread_create(&thread, NULL, start_third, &third),
                  "pthread_create");
    sleep_ns(30000000);
    expect_number(0, atomic_load(&third.returned), "third call returned");
    expect_number(2, (int64_t)last_accepted(scene.group), "steps accepted");

    gate_open(&log.gates[0]);
    expect_reached(HDP_DONE, scene.group, first, HDP_DONE,
                   PATIENCE * INT64_C(1000000000));
    expect_number(0, pthread_join(thread, NULL), "pthread_join");
    expect_number(HDP_OK, third.status, "third call");
    expect_number(3, (int64_t)third.step, "third step");
    expect_reached(0, scene.group, second, HDP_DONE, 0);
    gate_open(&log.gates[2]); /* order is kept all the same */
    expect_reached(0, scene.group, third.step, HDP_DONE, 1000000);
    gate_open(&log.gates[1]);
    expect_ok(hdp_group_wait(NULL, scene.group, third.step));
    expect_reached(HDP_DONE, scene.group, second, HDP_DONE, 0);
    expect_number(3, atomic_load(&log.count), "functions run");
    for (first = 0; first < 3; ++first)
        expect_number((int64_t)first + 1, (int64_t)log.steps[first],
                      "place %d of the order", (int)first);
    scene_close(&scene);
}

/* Wait may be repeated and asked of any of the last two; a report that two
 * others have followed is gone; numbers nobody handed out are refused. */
static void old_and_foreign_numbers(void **state)
{
    int w;

    (void)state;
    for (w = 0; w < WAY_COUNT; ++w) {
        struct scene scene;
        struct job job;
        hdp_report *report = NULL;
        hdp_report_info info;
        uint64_t steps[4];
        int32_t reached, i;
        scene_open_way(&scene, &ways[w], shares, MEMBERS);
        job_open(&job, ROWS, MEMBERS);
        expect_status(HDP_ERR_ARGUMENT, hdp_group_wait(NULL, scene.group, 1));
        for (i = 0; i < 4; ++i) {
            expect_ok(
                hdp_run_async(&steps[i], scene.group, scene.plan, &job.work));
            expect_number(i + 1, (int64_t)steps[i], "%s: step", ways[w].name);
        }
        for (i = 3; i >= 2; --i) {
            expect_ok(hdp_group_wait(&report, scene.group, steps[i]));
            expect_ok(hdp_options_init(&info, sizeof info));
            expect_ok(hdp_report_get(&info, report));
            expect_number((int64_t)steps[i], (int64_t)info.step,
                          "%s: step of the report", ways[w].name);
            hdp_report_destroy(report);
        }
        expect_ok(hdp_group_wait(NULL, scene.group, steps[0]));
        expect_status(HDP_ERR_NOT_FOUND,
                      hdp_group_wait(&report, scene.group, steps[1]));
        expect_number(0, report != NULL, "a report of an old step");
        expect_status(HDP_ERR_ARGUMENT, hdp_group_wait(NULL, scene.group, 0));
        expect_status(HDP_ERR_ARGUMENT, hdp_group_wait(NULL, scene.group, 5));
        expect_status(HDP_ERR_ARGUMENT,
                      hdp_group_poll(&reached, scene.group, 5, HDP_DONE, 0));
        expect_number(0, reached, "%s: reached", ways[w].name);
        expect_status(HDP_ERR_ARGUMENT,
                      hdp_group_poll(&reached, scene.group, 4, 3, 0));
        expect_status(HDP_ERR_ARGUMENT,
                      hdp_group_poll(&reached, scene.group, 4, HDP_DONE, -1));
        expect_ok(hdp_group_order(scene.group, 4, 1, NULL));
        expect_status(HDP_ERR_ARGUMENT,
                      hdp_group_order(scene.group, 4, MEMBERS, NULL));
        if (!on_real_gpu()) /* no stream at all */
            expect_status(HDP_ERR_ARGUMENT,
                          hdp_group_order(scene.group, 4, 0, &scene));
        expect_right(&job, "%s", ways[w].name);
        scene_close(&scene);
    }
}

/* ---- refused --------------------------------------------------------------- */

/* A call that was refused is no step: the two before it are still known. */
static void a_refused_call_follows_nobody(void **state)
{
    int w;

    (void)state;
    for (w = 0; w < WAY_COUNT; ++w) {
        struct scene scene;
        struct job job;
        hdp_report *report = NULL;
        uint64_t first, second, none;
        scene_open_way(&scene, &ways[w], shares, MEMBERS);
        job_open(&job, ROWS, MEMBERS);
        expect_ok(hdp_run_async(&first, scene.group, scene.plan, &job.work));
        expect_ok(hdp_run_async(&second, scene.group, scene.plan, &job.work));
        expect_status(HDP_ERR_ARGUMENT,
                      hdp_run_async(&none, scene.group, NULL, &job.work));
        expect_number(2, (int64_t)last_accepted(scene.group), "%s: accepted",
                      ways[w].name);
        expect_ok(hdp_group_wait(&report, scene.group, first));
        hdp_report_destroy(report);
        expect_ok(hdp_group_wait(NULL, scene.group, second));
        scene_close(&scene);
    }
}

struct doomed {
    struct gate gate;
    int32_t code;
};

static int32_t fail_behind_gate(const hdp_shard *shard, void *user)
{
    struct doomed *doomed = user;

    if (shard->member != 0)
        return 0;
    gate_pass(&doomed->gate);
    return doomed->code;
}

ON_GPU(fail_behind_gate)

/* Its number goes to the next call, which did not follow the step that failed
 * meanwhile and so does not fail with it. */
static void a_refused_number_is_clean(void **state)
{
    static const struct way way = { HDP_HOST, HDP_THREADS_MEMBER, "host" };
    struct doomed doomed = { GATE_CLOSED, 5 };
    struct scene scene;
    hdp_work work;
    uint64_t first, next;

    (void)state;
    scene_open_way(&scene, &way, shares, MEMBERS);
    expect_ok(hdp_options_init(&work, sizeof work));
    work.host = fail_behind_gate;
    work.cuda = fail_behind_gate_on_gpu;
    work.user = &doomed;
    expect_ok(hdp_run_async(&first, scene.group, scene.plan, &work));
    gate_await(&doomed.gate, &doomed.gate.came, 1);
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_run_async(&next, scene.group, NULL, &work));
    gate_open(&doomed.gate);
    expect_status(HDP_ERR_CALLBACK, hdp_group_wait(NULL, scene.group, first));
    doomed.code = 0;
    expect_ok(hdp_run_async(&next, scene.group, scene.plan, &work));
    expect_number((int64_t)first + 1, (int64_t)next, "the next step");
    expect_ok(hdp_group_wait(NULL, scene.group, next));
    scene_close(&scene);
}

/* ---- many threads ----------------------------------------------------------- */

struct waiter {
    hdp_group *group;
    uint64_t step;
    hdp_status status;
    uint64_t reported;
};

static void *wait_for_step(void *arg)
{
    struct waiter *waiter = arg;
    hdp_report *report = NULL;
    hdp_report_info info = { .size = sizeof info };

    waiter->status = hdp_group_wait(&report, waiter->group, waiter->step);
    if (waiter->status == HDP_OK && hdp_report_get(&info, report) == HDP_OK)
        waiter->reported = info.step;
    hdp_report_destroy(report);
    return NULL;
}

static void many_threads_wait_at_once(void **state)
{
    enum { WAITERS = 6 };
    static const struct way way = { HDP_SIM, HDP_THREADS_MEMBER, "sim" };
    struct scene scene;
    struct log log;
    struct waiter waiters[WAITERS];
    pthread_t threads[WAITERS];
    hdp_work work;
    uint64_t steps[2];
    int i;

    (void)state;
    scene_open_way(&scene, &way, shares, MEMBERS);
    log_open(&log, &work);
    for (i = 0; i < 2; ++i)
        expect_ok(hdp_run_async(&steps[i], scene.group, scene.plan, &work));
    for (i = 0; i < WAITERS; ++i) {
        waiters[i] = (struct waiter){ scene.group, steps[i % 2], -99, 0 };
        expect_number(
            0, pthread_create(&threads[i], NULL, wait_for_step, &waiters[i]),
            "pthread_create");
    }
    sleep_ns(10000000);
    gate_open(&log.gates[1]);
    gate_open(&log.gates[0]);
    for (i = 0; i < WAITERS; ++i) {
        expect_number(0, pthread_join(threads[i], NULL), "pthread_join");
        expect_number(HDP_OK, waiters[i].status, "waiter %d", i);
        expect_number((int64_t)steps[i % 2], (int64_t)waiters[i].reported,
                      "report of waiter %d", i);
    }
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_in_flight_a_third_waits),
        cmocka_unit_test(old_and_foreign_numbers),
        cmocka_unit_test(a_refused_call_follows_nobody),
        cmocka_unit_test(a_refused_number_is_clean),
        cmocka_unit_test(many_threads_wait_at_once),
    };

    return cmocka_run_group_tests_name("steps", tests, NULL, NULL);
}
