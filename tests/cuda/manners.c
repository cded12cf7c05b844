/* In somebody else's program: no context is made on a device that was not asked
 * for, and what failed for us is neither left pending nor felt the next time
 * (what the caller finds after every call: leave_alone.c). */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include "looked.h"
#include "scenario/job.h"

enum { ROWS = 12 };

struct caller {
    struct looked own;
    hdp_group *group;
    hdp_plan *plan;
    struct job job;
};

/* A life in which everything works. */
static void live(struct caller *caller, const hdp_group_options *options)
{
    static const int64_t items[] = { 5, 7 };
    hdp_calibrate_options brief = { .size = sizeof brief,
                                    .budget_ns = 1000000 };
    hdp_profile *profile = NULL;
    hdp_error health = { .size = sizeof health };

    expect_ok(hdp_discover(&caller->own.topology, caller->own.context, NULL));
    expect_ok(hdp_group_create_spec(&caller->group, caller->own.context,
                                    "cuda:0,2", options));
    expect_ok(hdp_plan_create(&caller->plan, items, 2));
    job_open(&caller->job, ROWS, 2);
    for (int i = 0; i < 2; ++i) {
        job_reset(&caller->job);
        expect_ok(
            hdp_run(NULL, caller->group, caller->plan, &caller->job.work));
        if (job_wrong(&caller->job))
            fail_msg("%s", job_wrong(&caller->job));
    }
    expect_ok(
        hdp_all_reduce(caller->group, caller->plan, &caller->job.buckets[0]));
    expect_ok(hdp_broadcast(caller->group, 0, &caller->job.buckets[1]));
    expect_ok(hdp_calibrate(&profile, caller->group, &brief));
    hdp_profile_destroy(profile);
    expect_ok(hdp_group_trim(caller->group));
    expect_ok(hdp_group_health(&health, caller->group));
    hdp_group_destroy(caller->group);
    hdp_plan_destroy(caller->plan);
    hdp_topology_destroy(caller->own.topology);
    caller->own.topology = NULL;
}

static void begin(struct caller *caller)
{
    memset(caller, 0, sizeof *caller);
    looked_start("machine=desk", NULL);
    looked_context(&caller->own);
}

/* ---- failures ------------------------------------------------------------ */

/* O12: what failed for us leaves nothing behind, and works when tried again. */
static void our_failures_leave_nothing_pending(void **state)
{
    const int32_t both[] = { 0, 1 };
    static const int64_t items[] = { 5, 7 };
    hdp_error error = { .size = sizeof error };
    struct caller caller;

    (void)state;
    begin(&caller);
    expect_ok(
        hdp_group_create(&caller.group, caller.own.context, both, 2, NULL));
    expect_ok(hdp_plan_create(&caller.plan, items, 2));
    job_open(&caller.job, ROWS, 2);
    job_reset(&caller.job);
    assert_int_equal(fake_plant("fail=cudaMalloc:1-:2"), 0);
    expect_status(HDP_ERR_MEMORY,
                  hdp_run(NULL, caller.group, caller.plan, &caller.job.work));
    expect_ok(hdp_error_get(&error));
    expect_number(HDP_VENDOR_CUDA, error.vendor, "vendor");
    expect_number(2, error.vendor_code, "vendor's code");
    assert_true(error.wanted_bytes > 0);
    assert_true(error.member == 0 || error.member == 1);
    assert_non_null(strstr(error.text, "GPU-"));
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    fake_calm();
    job_reset(&caller.job);
    expect_ok(hdp_run(NULL, caller.group, caller.plan, &caller.job.work));
    if (job_wrong(&caller.job))
        fail_msg("%s", job_wrong(&caller.job));
    hdp_plan_destroy(caller.plan);
    hdp_group_destroy(caller.group);
    looked_close(&caller.own);
}

/* ---- contexts --------------------------------------------------------------- */

static void *live_on_a_fresh_thread(void *arg)
{
    const hdp_group_options options = { .size = sizeof options,
                                        .threads = HDP_THREADS_CALLER };

    live(arg, &options);
    return NULL;
}

/* This thread has no context and never asked for one: it gets none, and device
 * 1, which is in no group, is left alone. */
static void contexts_are_made_on_members_alone(void **state)
{
    struct caller caller;
    pthread_t thread;

    (void)state;
    begin(&caller);
    assert_int_equal(
        pthread_create(&thread, NULL, live_on_a_fresh_thread, &caller), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect_number(1, fake_contexts(0), "contexts on device 0");
    expect_number(0, fake_contexts(1), "contexts on device 1");
    expect_number(1, fake_contexts(2), "contexts on device 2");
    looked_close(&caller.own);
}

/* O04: device 0 is nobody's home. */
static void any_order_and_gaps(void **state)
{
    static const int32_t pair[] = { 2, 0 }, alone[] = { 1 };
    static const int64_t items[] = { 5, 5 }, all = 10;
    struct caller caller;
    hdp_device device = { .size = sizeof device };

    (void)state;
    begin(&caller);
    life_start("machine=twin copies=2");
    expect_ok(
        hdp_group_create(&caller.group, caller.own.context, pair, 2, NULL));
    expect_ok(hdp_group_device(&device, caller.group, 0));
    expect_number(2, device.logical_id, "device of member 0");
    expect_ok(hdp_plan_create(&caller.plan, items, 2));
    job_open(&caller.job, 10, 2);
    job_reset(&caller.job);
    expect_ok(hdp_run(NULL, caller.group, caller.plan, &caller.job.work));
    if (job_wrong(&caller.job))
        fail_msg("%s", job_wrong(&caller.job));
    hdp_plan_destroy(caller.plan);
    hdp_group_destroy(caller.group);
    expect_number(0, fake_touched(1), "touches of device 1");
    expect_number(0, fake_touched(3), "touches of device 3");

    expect_ok(
        hdp_group_create(&caller.group, caller.own.context, alone, 1, NULL));
    expect_ok(hdp_plan_create(&caller.plan, &all, 1));
    job_open(&caller.job, 10, 1);
    job_reset(&caller.job);
    expect_ok(hdp_run(NULL, caller.group, caller.plan, &caller.job.work));
    hdp_plan_destroy(caller.plan);
    hdp_group_destroy(caller.group);
    expect_number(0, fake_contexts(3), "contexts on device 3");
    looked_close(&caller.own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_failures_leave_nothing_pending),
        cmocka_unit_test(contexts_are_made_on_members_alone),
        cmocka_unit_test(any_order_and_gaps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
