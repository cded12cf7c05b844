/* A function that never returns. The deadline ends the step, the late
 * member is named, the group is lost and says so at once and for ever; abort
 * tells when lent memory is the caller's again; nothing hangs. */
#include <stdlib.h>
#include "job.h"
#include "process.h"

enum { MEMBERS = 3, ROWS = 11, DEADLINE_NS = 200000000, TRIES = 3 };

static const int64_t shares[MEMBERS] = { 4, 4, 3 };

/* deadline + 10 % + 100 ms, and what noisy cores or a sanitizer add */
static const int64_t LATEST_NS = (int64_t)DEADLINE_NS / 10 * 11 + 100000000 +
                                 INT64_C(100000000) * (SANITIZED ? 20 : 1);
static const int64_t AT_ONCE_NS = INT64_C(500000000) * (SANITIZED ? 4 : 1);

struct stuck {
    struct job job;
    struct gate gate, end; /* before and behind its work */
    int32_t member;
    int joins; /* the others wait inside for the buckets */
};

static int32_t stand_still(const hdp_shard *shard, void *user)
{
    struct stuck *stuck = user;

    if (shard->member == stuck->member)
        gate_pass(&stuck->gate);
    else if (stuck->joins && (hdp_shard_all_reduce(shard, 0) != HDP_OK ||
                              hdp_shard_join(shard) != HDP_OK))
        return 7;
    job_compute(&stuck->job, shard);
    if (shard->member == stuck->member)
        gate_pass(&stuck->end);
    return 0;
}

ON_GPU(stand_still)

static void stuck_open(struct stuck *stuck, int32_t member, int joins)
{
    static const struct gate closed = GATE_CLOSED;

    job_open(&stuck->job, ROWS, MEMBERS);
    stuck->job.work.host = stand_still;
    stuck->job.work.cuda = stand_still_on_gpu;
    stuck->job.work.user = stuck;
    stuck->job.work.timeout_ns = DEADLINE_NS;
    memcpy(&stuck->gate, &closed, sizeof closed);
    memcpy(&stuck->end, &closed, sizeof closed);
    stuck->end.open = 1;
    stuck->member = member;
    stuck->joins = joins;
}

static void expect_late(const hdp_error *error, const struct stuck *stuck,
                        const char *where)
{
    expect_number(HDP_ERR_TIMEOUT, error->status, "%s: status", where);
    expect_number(stuck->member, error->member, "%s: member", where);
    expect_number(stuck->member, error->rank, "%s: rank", where);
    expect_number(HDP_GROUP_LOST, error->severity, "%s: severity", where);
    expect_number(1, (int64_t)error->step, "%s: step", where);
}

/* Each call of a lost group answers what ended it, at once. */
static void expect_lost(struct scene *scene, struct stuck *stuck)
{
    hdp_error error = { .size = sizeof error };
    hdp_profile *profile = NULL;
    int64_t start_ns = now_ns();
    uint64_t step = 5;
    int32_t reached = -1, i;

    for (i = 0; i < 3; ++i) {
        expect_status(HDP_ERR_TIMEOUT, hdp_group_health(&error, scene->group));
        expect_late(&error, stuck, "health");
    }
    expect_status(
        HDP_ERR_TIMEOUT,
        hdp_run_async(&step, scene->group, scene->plan, &stuck->job.work));
    expect_number(0, (int64_t)step, "step of a lost group");
    expect_status(HDP_ERR_TIMEOUT,
                  hdp_run(NULL, scene->group, scene->plan, &stuck->job.work));
    expect_ok(hdp_error_get(&error));
    expect_late(&error, stuck, "run");
    expect_status(HDP_ERR_TIMEOUT, hdp_all_reduce(scene->group, scene->plan,
                                                  &stuck->job.buckets[0]));
    expect_status(HDP_ERR_TIMEOUT,
                  hdp_broadcast(scene->group, 0, &stuck->job.buckets[0]));
    expect_status(HDP_ERR_TIMEOUT, hdp_barrier(scene->group));
    expect_status(HDP_ERR_TIMEOUT, hdp_group_trim(scene->group));
    expect_status(HDP_ERR_TIMEOUT, hdp_calibrate(&profile, scene->group, NULL));
    expect_status(HDP_ERR_TIMEOUT, hdp_group_wait(NULL, scene->group, 1));
    expect_status(HDP_ERR_TIMEOUT, hdp_group_poll(&reached, scene->group, 1,
                                                  HDP_DONE, 60000000000));
    if (now_ns() - start_ns > AT_ONCE_NS)
        fail_msg("expected refusals at once, got %lld ms",
                 (long long)((now_ns() - start_ns) / 1000000));
}

/* Runs into the deadline and returns how long that took. */
static int64_t run_into_deadline(struct scene *scene, struct stuck *stuck,
                                 const char *spec)
{
    hdp_error error = { .size = sizeof error };
    hdp_report *report = NULL;
    int64_t start_ns, took_ns;

    scene_open(scene, spec, shares, MEMBERS, NULL);
    start_ns = now_ns();
    expect_status(HDP_ERR_TIMEOUT, hdp_run(&report, scene->group, scene->plan,
                                           &stuck->job.work));
    took_ns = now_ns() - start_ns;
    expect_number(0, report != NULL, "a report");
    expect_ok(hdp_error_get(&error));
    expect_late(&error, stuck, spec);
    if (took_ns < DEADLINE_NS)
        fail_msg("%s: expected the deadline of %d ms, got %lld ms", spec,
                 DEADLINE_NS / 1000000, (long long)(took_ns / 1000000));
    return took_ns;
}

/* Abort, destroy and the end of the function, in that order. */
static void leave_by_abort(struct scene *scene, struct stuck *stuck)
{
    hdp_error error = { .size = sizeof error };
    double out[JOB_ROWS_MAX][JOB_WIDTH];
    int64_t start_ns = now_ns();
    hdp_status status;
    int i;

    expect_status(HDP_ERR_TIMEOUT, hdp_group_abort(scene->group));
    if (now_ns() - start_ns > 1000000000 + AT_ONCE_NS)
        fail_msg("abort: expected 1 s at most, got %lld ms",
                 (long long)((now_ns() - start_ns) / 1000000));
    expect_ok(hdp_error_get(&error));
    expect_number(stuck->member, error.member, "abort: member");
    gate_open(&stuck->gate);
    for (i = 0; i < 20; ++i) {
        status = hdp_group_abort(scene->group);
        if (status == HDP_OK)
            break;
    }
    expect_number(HDP_OK, status, "abort after the function returned");
    expect_number(1, stuck->end.went, "functions gone through");
    /* now everything is ours again: nobody writes it any more */
    memset(stuck->job.out, 0x55, sizeof stuck->job.out);
    memcpy(out, stuck->job.out, sizeof out);
    sleep_ns(20000000);
    if (memcmp(out, stuck->job.out, sizeof out) != 0)
        fail_msg("expected the outputs left alone after abort, got a write");
    expect_status(HDP_ERR_TIMEOUT, hdp_group_health(&error, scene->group));
    expect_late(&error, stuck, "health after abort");
    scene_close(scene);
}

static void await_threads(int want)
{
    int i;

    if (on_real_gpu())
        return;
    for (i = 0; i < 5000 && count_threads() > want; ++i)
        sleep_ns(1000000);
    expect_number(want, count_threads(), "threads at the end");
}

/* Destroy with the function still inside: at most 1 s; then the thread is let
 * go and clears up behind itself (the sanitizer's leak check sees it). */
static void leave_by_destroy(struct scene *scene, struct stuck *stuck)
{
    int64_t start_ns = now_ns();

    scene_close(scene);
    if (now_ns() - start_ns > 1000000000 + AT_ONCE_NS)
        fail_msg("destroy: expected 1 s at most, got %lld ms",
                 (long long)((now_ns() - start_ns) / 1000000));
    gate_open(&stuck->gate);
    gate_await(&stuck->end, &stuck->end.went, 1);
}

static void stuck_once(const char *spec, int32_t member, int joins, int destroy)
{
    struct scene scene;
    struct stuck stuck;
    int64_t took_ns = 0;
    int i, threads = count_threads();

    for (i = 0; i < TRIES; ++i) {
        stuck_open(&stuck, member, joins);
        took_ns = run_into_deadline(&scene, &stuck, spec);
        expect_lost(&scene, &stuck);
        if (destroy)
            leave_by_destroy(&scene, &stuck);
        else
            leave_by_abort(&scene, &stuck);
        await_threads(threads);
        if (took_ns <= LATEST_NS)
            return;
    }
    fail_msg("%s, member %d: expected an end after %lld ms at most, got %lld "
             "ms, %d times",
             spec, (int)member, (long long)(LATEST_NS / 1000000),
             (long long)(took_ns / 1000000), TRIES);
}

/* Two kinds of groups of MEMBERS members. */
static const char *spec_of(int i)
{
    static char spec[JOB_SPEC];

#ifdef HDP_TEST_CUDA
    job_spec(spec, sizeof spec, HDP_CUDA, i == 0 ? MEMBERS : MEMBERS - 1);
    if (i == 1)
        (void)strcat(spec, "+host:0/threads=1");
#else
    job_spec(spec, sizeof spec, i == 0 ? HDP_HOST : HDP_SIM, MEMBERS);
#endif
    return spec;
}

static void never_returns_then_abort(void **state)
{
    int32_t member;

    (void)state;
    for (member = 0; member < MEMBERS; ++member)
        stuck_once(spec_of(member % 2), member, member != 1, 0);
}

static void never_returns_then_destroy(void **state)
{
    int32_t member;

    (void)state;
    for (member = 0; member < MEMBERS; ++member)
        stuck_once(spec_of((member + 1) % 2), member, member == 1, 1);
}

/* Destroyed with more pieces and a second step behind the stuck call: nothing
 * of them is called, not even when it returns at last. */
static void never_returns_with_two_in_flight(void **state)
{
    struct scene scene;
    struct stuck first, second;
    uint64_t step;
    int i, threads = count_threads();

    (void)state;
    for (i = 0; i < 2; ++i) {
        stuck_open(&first, 0, 1);
        stuck_open(&second, 0, 1);
        gate_open(&second.gate);
        first.job.work.max_piece_items = 1;
        scene_open(&scene, spec_of(i), shares, MEMBERS, NULL);
        expect_ok(
            hdp_run_async(&step, scene.group, scene.plan, &first.job.work));
        gate_await(&first.gate, &first.gate.came, 1);
        expect_ok(
            hdp_run_async(&step, scene.group, scene.plan, &second.job.work));
        leave_by_destroy(&scene, &first);
        await_threads(threads);
        expect_number(1, first.gate.came, "pieces of the stuck member");
        expect_number(0, second.gate.came, "functions of the second step");
    }
}

/* CALLER: the thread that makes the step is the one that is stuck. Whoever else
 * waits is told in time; so is that thread, once its function returns. */
struct driver {
    struct scene *scene;
    struct stuck *stuck;
    hdp_status status;
};

static void *run_stuck(void *arg)
{
    struct driver *driver = arg;

    driver->status = hdp_run(NULL, driver->scene->group, driver->scene->plan,
                             &driver->stuck->job.work);
    return NULL;
}

static void never_returns_to_its_caller(void **state)
{
    int i;

    (void)state;
    for (i = 0; i < 2; ++i) {
        struct scene scene;
        struct stuck stuck;
        struct driver driver = { &scene, &stuck, HDP_OK };
        hdp_group_options options = { .size = sizeof options,
                                      .threads = HDP_THREADS_CALLER };
        hdp_error error = { .size = sizeof error };
        pthread_t thread;
        stuck_open(&stuck, 1, 0);
        scene_open(&scene, spec_of(i), shares, MEMBERS, &options);
        expect_number(0, pthread_create(&thread, NULL, run_stuck, &driver),
                      "pthread_create");
        gate_await(&stuck.gate, &stuck.gate.came, 1);
        expect_status(HDP_ERR_TIMEOUT, hdp_group_wait(NULL, scene.group, 1));
        expect_lost(&scene, &stuck);
        expect_status(HDP_ERR_TIMEOUT, hdp_group_abort(scene.group));
        gate_open(&stuck.gate);
        expect_number(0, pthread_join(thread, NULL), "pthread_join");
        expect_number(HDP_ERR_TIMEOUT, driver.status, "the stuck thread's run");
        expect_ok(hdp_group_abort(scene.group));
        expect_status(HDP_ERR_TIMEOUT, hdp_group_health(&error, scene.group));
        scene_close(&scene);
    }
}

/* A function that never returns from its calibration. */
static int32_t stand_still_in_a_probe(const hdp_shard *shard, void *user)
{
    struct stuck *stuck = user;

    if (shard->member == stuck->member) {
        gate_pass(&stuck->gate);
        gate_pass(&stuck->end);
    }
    return 0;
}

ON_GPU(stand_still_in_a_probe)

static void never_returns_from_a_probe(void **state)
{
    int i, threads = count_threads();

    (void)state;
    for (i = 0; i < 4; ++i) {
        struct scene scene;
        struct stuck stuck;
        hdp_group_options options = { .size = sizeof options,
                                      .timeout_ns = DEADLINE_NS };
        hdp_calibrate_options probe = { .size = sizeof probe,
                                        .probe = HDP_PROBE_WORK };
        hdp_profile *profile = NULL;
        stuck_open(&stuck, 1, 0);
        stuck.job.work.host = stand_still_in_a_probe;
        stuck.job.work.cuda = stand_still_in_a_probe_on_gpu;
        probe.work = &stuck.job.work;
        stuck.job.work.input_count = stuck.job.work.output_count = 0;
        scene_open(&scene, spec_of(i % 2), shares, MEMBERS, &options);
        expect_status(HDP_ERR_TIMEOUT,
                      hdp_calibrate(&profile, scene.group, &probe));
        expect_number(0, profile != NULL, "a profile");
        if (i < 2)
            leave_by_destroy(&scene, &stuck);
        gate_open(&stuck.gate);
        if (i >= 2)
            scene_close(&scene);
        await_threads(threads);
    }
}

/* The group's own deadline, when the work brings none. */
static void the_groups_deadline(void **state)
{
    struct scene scene;
    struct stuck stuck;
    hdp_group_options options;
    int64_t start_ns;
    int threads = count_threads();

    (void)state;
    stuck_open(&stuck, 2, 1);
    stuck.job.work.timeout_ns = 0;
    expect_ok(hdp_options_init(&options, sizeof options));
    options.timeout_ns = DEADLINE_NS;
    scene_open(&scene, spec_of(0), shares, MEMBERS, &options);
    start_ns = now_ns();
    expect_status(HDP_ERR_TIMEOUT,
                  hdp_run(NULL, scene.group, scene.plan, &stuck.job.work));
    if (now_ns() - start_ns < DEADLINE_NS)
        fail_msg("expected %d ms, got %lld ms", DEADLINE_NS / 1000000,
                 (long long)((now_ns() - start_ns) / 1000000));
    gate_open(&stuck.gate);
    scene_close(&scene);
    await_threads(threads);
}

/* Whoever waits while another thread aborts returns with state. */
static void *abort_soon(void *group)
{
    sleep_ns(30000000);
    (void)hdp_group_abort(group);
    return NULL;
}

static void abort_wakes_who_waits(void **state)
{
    struct scene scene;
    struct stuck stuck;
    hdp_error error = { .size = sizeof error };
    pthread_t thread;
    int threads = count_threads();

    (void)state;
    stuck_open(&stuck, 0, 1);
    stuck.job.work.timeout_ns = 0;
    scene_open(&scene, spec_of(0), shares, MEMBERS, NULL);
    expect_number(0, pthread_create(&thread, NULL, abort_soon, scene.group),
                  "pthread_create");
    expect_status(HDP_ERR_STATE,
                  hdp_run(NULL, scene.group, scene.plan, &stuck.job.work));
    gate_open(&stuck.gate);
    expect_number(0, pthread_join(thread, NULL), "pthread_join");
    expect_ok(hdp_group_abort(scene.group));
    expect_ok(hdp_group_abort(scene.group));
    expect_status(HDP_ERR_STATE, hdp_group_health(&error, scene.group));
    expect_number(HDP_GROUP_LOST, error.severity, "severity after abort");
    expect_status(HDP_ERR_STATE,
                  hdp_run(NULL, scene.group, scene.plan, &stuck.job.work));
    scene_close(&scene);
    await_threads(threads);
}

/* A step that ends in good time after a long patience is no timeout. */
static void patience_is_no_deadline(void **state)
{
    struct scene scene;
    struct stuck stuck;
    uint64_t step;
    int32_t reached;

    (void)state;
    stuck_open(&stuck, 1, 0);
    stuck.job.work.timeout_ns = 60000000000;
    scene_open(&scene, spec_of(1), shares, MEMBERS, NULL);
    expect_ok(hdp_run_async(&step, scene.group, scene.plan, &stuck.job.work));
    expect_ok(hdp_group_poll(&reached, scene.group, step, HDP_DONE, 20000000));
    expect_number(0, reached, "reached while one is inside");
    gate_open(&stuck.gate);
    expect_ok(hdp_group_wait(NULL, scene.group, step));
    scene_close(&scene);
}

static void *be_brief(void *arg)
{
    return arg;
}

/* A sanitizer's own thread appears with the first one. */
static int count_in_all(void **state)
{
    pthread_t thread;

    (void)state;
    return pthread_create(&thread, NULL, be_brief, NULL) ||
           pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_returns_then_abort),
        cmocka_unit_test(never_returns_then_destroy),
        cmocka_unit_test(never_returns_with_two_in_flight),
        cmocka_unit_test(never_returns_to_its_caller),
        cmocka_unit_test(never_returns_from_a_probe),
        cmocka_unit_test(the_groups_deadline),
        cmocka_unit_test(abort_wakes_who_waits),
        cmocka_unit_test(patience_is_no_deadline),
    };

    return cmocka_run_group_tests_name("stuck", tests, count_in_all, NULL);
}
