/* In somebody else's program: the caller's current device and pending error are
 * as found after every call, good or failing, and no context is made on a
 * device that was not asked for. */
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
    int device;          /* current on this thread; -1: not looked at */
    cudaError_t pending; /* on this thread */
};

static void expect_as_found(const struct caller *caller, const char *after)
{
    int device = -7;

    if (caller->pending != cudaSuccess)
        expect_number(caller->pending, cudaPeekAtLastError(),
                      "pending error after %s", after);
    if (caller->device >= 0) {
        assert_int_equal(cudaGetDevice(&device), cudaSuccess);
        expect_number(caller->device, device, "current device after %s", after);
    }
}

#define GOOD(call)                                                             \
    do {                                                                       \
        expect_ok(call);                                                       \
        expect_as_found(caller, #call);                                        \
    } while (0)

/* A life in which everything works. */
static void live(struct caller *caller, const hdp_group_options *options)
{
    static const int64_t items[] = { 5, 7 };
    hdp_calibrate_options brief = { .size = sizeof brief,
                                    .budget_ns = 1000000 };
    hdp_profile *profile = NULL;
    hdp_error health = { .size = sizeof health };

    GOOD(hdp_discover(&caller->own.topology, caller->own.context, NULL));
    GOOD(hdp_group_create_spec(&caller->group, caller->own.context, "cuda:0,2",
                               options));
    GOOD(hdp_plan_create(&caller->plan, items, 2));
    job_open(&caller->job, ROWS, 2);
    for (int i = 0; i < 2; ++i) {
        job_reset(&caller->job);
        GOOD(hdp_run(NULL, caller->group, caller->plan, &caller->job.work));
        if (job_wrong(&caller->job))
            fail_msg("%s", job_wrong(&caller->job));
    }
    GOOD(hdp_all_reduce(caller->group, caller->plan, &caller->job.buckets[0]));
    GOOD(hdp_broadcast(caller->group, 0, &caller->job.buckets[1]));
    GOOD(hdp_calibrate(&profile, caller->group, &brief));
    hdp_profile_destroy(profile);
    expect_as_found(caller, "hdp_profile_destroy");
    GOOD(hdp_group_trim(caller->group));
    GOOD(hdp_group_health(&health, caller->group));
    hdp_group_destroy(caller->group);
    expect_as_found(caller, "hdp_group_destroy");
    hdp_plan_destroy(caller->plan);
    hdp_topology_destroy(caller->own.topology);
    caller->own.topology = NULL;
}

/* The same with one call of CUDA failing somewhere in it. */
static void fail_at(struct caller *caller, const hdp_group_options *options,
                    const char *words)
{
    static const int64_t items[] = { 5, 7 };
    hdp_status status;

    assert_int_equal(fake_plant(words), 0);
    status = hdp_discover(&caller->own.topology, caller->own.context, NULL);
    expect_as_found(caller, words);
    if (status == HDP_OK)
        status = hdp_group_create_spec(&caller->group, caller->own.context,
                                       "cuda:0,2", options);
    expect_as_found(caller, words);
    if (status == HDP_OK) {
        expect_ok(hdp_plan_create(&caller->plan, items, 2));
        job_reset(&caller->job);
        (void)hdp_run(NULL, caller->group, caller->plan, &caller->job.work);
        expect_as_found(caller, words);
        (void)hdp_all_reduce(caller->group, caller->plan,
                             &caller->job.buckets[0]);
        expect_as_found(caller, words);
        hdp_group_destroy(caller->group);
        expect_as_found(caller, words);
        hdp_plan_destroy(caller->plan);
    }
    fake_calm();
    hdp_topology_destroy(caller->own.topology);
    caller->own.topology = NULL;
}

static void fail_everywhere(struct caller *caller,
                            const hdp_group_options *options)
{
    static const char *const failures[] = {
        "fail=cudaGetDeviceCount:1",
        "fail=cudaGetDeviceProperties:2",
        "fail=cudaSetDevice:1",
        "fail=cudaSetDevice:2",
        "fail=cudaStreamCreateWithFlags:1",
        "fail=cudaStreamCreateWithFlags:2",
        "fail=cudaMalloc:1",
        "fail=cudaMalloc:2",
        "fail=cudaHostAlloc:1",
        "fail=cudaEventCreateWithFlags:1",
        "fail=cudaEventRecord:1",
        "fail=cudaMemcpyAsync:1",
        "fail=cuLibraryLoadData:1",
        "fail=cuLaunchKernel:1:701",
        "fail=cuCtxSetCurrent:1",
    };

    for (size_t i = 0; i < sizeof failures / sizeof *failures; ++i)
        fail_at(caller, options, failures[i]);
}

static void begin(struct caller *caller)
{
    *caller = (struct caller){ .device = -1 };
    looked_start("machine=desk", NULL);
    looked_context(&caller->own);
}

/* ---- O24, F50 --------------------------------------------------------------- */

static void the_current_device_stays(void **state)
{
    static const int32_t threads[] = { HDP_THREADS_MEMBER, HDP_THREADS_CALLER };
    struct caller caller;

    (void)state;
    for (int i = 0; i < 2; ++i) {
        const hdp_group_options options = { .size = sizeof options,
                                            .threads = threads[i] };
        begin(&caller);
        assert_int_equal(cudaSetDevice(1), cudaSuccess);
        caller.device = 1;
        live(&caller, &options);
        fail_everywhere(&caller, &options);
        looked_close(&caller.own);
    }
}

static void the_pending_error_stays(void **state)
{
    const hdp_group_options options = { .size = sizeof options };
    struct caller caller;

    (void)state;
    begin(&caller);
    assert_int_equal(cudaSetDevice(99), cudaErrorInvalidDevice);
    caller.pending = cudaErrorInvalidDevice;
    live(&caller, &options);
    fail_everywhere(&caller, &options);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidDevice);
    looked_close(&caller.own);
}

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
        cmocka_unit_test(the_current_device_stays),
        cmocka_unit_test(the_pending_error_stays),
        cmocka_unit_test(our_failures_leave_nothing_pending),
        cmocka_unit_test(contexts_are_made_on_members_alone),
        cmocka_unit_test(any_order_and_gaps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
