/* Devices and functions that do not come back: the step ends at its deadline,
 * names who is late and loses the group; memory is the caller's again only once
 * the device has stopped; and everything can still be destroyed (F18). */
#include "gpus.h"
#include "scenario/process.h"

enum { ELEMENTS = 4096 };

static const int64_t MS = 1000000;

struct late {
    struct scene scene;
    float value[2][ELEMENTS];
    int64_t elements;
    void *recv[2];
    hdp_buffers bucket;
};

static void open_late(struct late *own, const char *spec, int64_t timeout_ms)
{
    static const int64_t items[] = { 1, 1 };
    const hdp_group_options options = { .size = sizeof options,
                                        .timeout_ns = timeout_ms * MS };

    memset(own, 0, sizeof *own);
    scene_open(&own->scene, spec, items, 2, &options);
    own->elements = ELEMENTS;
    for (int m = 0; m < 2; ++m)
        own->recv[m] = gpus_alloc(m, own->value[m], sizeof own->value[m]);
    own->bucket = (hdp_buffers){ .size = sizeof own->bucket,
                                 .dtype = HDP_F32,
                                 .op = HDP_OP_MEAN,
                                 .tensor_count = 1,
                                 .elements = &own->elements,
                                 .recv = own->recv };
}

static void close_late(struct late *own)
{
    for (int m = 0; m < 2; ++m)
        expect_cuda(cudaFree(own->recv[m]));
    scene_close(&own->scene);
}

static hdp_status reduce(struct late *own)
{
    return hdp_all_reduce(own->scene.group, own->scene.plan, &own->bucket);
}

static void a_kernel_that_never_ends(void **state)
{
    static struct late own;
    hdp_error health = { .size = sizeof health };
    int64_t start_ns, took_ns;

    (void)state;
    gpus_start("machine=twin hang=hdpk_cuda_combine:1");
    open_late(&own, "cuda:0,1", 200);
    start_ns = now_ns();
    expect_status(HDP_ERR_TIMEOUT, reduce(&own));
    took_ns = now_ns() - start_ns;
    if (took_ns < 190 * MS || took_ns > 1000 * MS)
        fail_msg("expected 200 ms, took %lld ms", (long long)(took_ns / MS));
    expect_status(HDP_ERR_TIMEOUT, hdp_group_health(&health, own.scene.group));
    expect_number(HDP_GROUP_LOST, health.severity, "severity");
    expect_status(HDP_ERR_TIMEOUT, hdp_group_abort(own.scene.group));
    fake_calm();
    expect_ok(hdp_group_abort(own.scene.group));
    expect_status(HDP_ERR_TIMEOUT, reduce(&own));
    close_late(&own);
    gpus_end("a kernel that hung");
}

/* Destroyed while it hangs: nothing waits, and what the kernel may still touch
 * is left to it. */
static void destroyed_while_it_hangs(void **state)
{
    static struct late own;
    int64_t start_ns;

    (void)state;
    gpus_start("machine=twin hang=hdpk_cuda_combine:1");
    open_late(&own, "cuda:0,1", 100);
    expect_status(HDP_ERR_TIMEOUT, reduce(&own));
    start_ns = now_ns();
    hdp_group_destroy(own.scene.group);
    own.scene.group = NULL;
    if (now_ns() - start_ns > 3000 * MS)
        fail_msg("destroying took %lld ms",
                 (long long)((now_ns() - start_ns) / MS));
    if (fake_breach())
        fail_msg("expected no broken rule, got: %s", fake_breach());
    fake_calm();
    close_late(&own);
}

/* ---- a function ----------------------------------------------------------- */

struct sleeper {
    int64_t ns;
    int32_t member;
};

static int32_t sleep_inside(const hdp_shard *shard, void *user)
{
    const struct sleeper *own = user;

    if (shard->member == own->member)
        sleep_ns(own->ns);
    return 0;
}

static void a_function_that_sleeps_too_long(void **state)
{
    static struct late own;
    struct sleeper sleeper = { 600 * MS, 1 };
    hdp_work work = gpus_work(sleep_inside, NULL, NULL);
    hdp_error error = { .size = sizeof error };

    (void)state;
    gpus_start("machine=twin");
    open_late(&own, "cuda:0,1", 100);
    work.user = &sleeper;
    expect_status(HDP_ERR_TIMEOUT,
                  hdp_run(NULL, own.scene.group, own.scene.plan, &work));
    expect_ok(hdp_error_get(&error));
    expect_number(1, error.member, "who is late");
    sleep_ns(600 * MS);
    expect_ok(hdp_group_abort(own.scene.group));
    close_late(&own);
    gpus_end("F18");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_that_never_ends),
        cmocka_unit_test(destroyed_while_it_hangs),
        cmocka_unit_test(a_function_that_sleeps_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
