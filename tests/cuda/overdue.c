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

/* ---- others on a device that hangs ------------------------------------------ */

static int32_t copy_with_handle(const hdp_shard *shard, void *user)
{
    void *handle;

    return hdp_shard_blas(&handle, shard) == HDP_OK ? gpus_copy(shard, user)
                                                    : 1;
}

/* Rows from the host and back, so that the group has memory, and handles. */
static void use(hdp_group *group, const hdp_plan *plan)
{
    unsigned char in[2] = { 3, 5 }, out[2] = { 0, 0 };
    hdp_array input = gpus_array(in, 1, 0), output = gpus_array(out, 1, 0);
    hdp_work work = gpus_work(copy_with_handle, &input, &output);

    expect_ok(hdp_run(NULL, group, plan, &work));
    assert_memory_equal(in, out, sizeof in);
}

static void expect_brief(int64_t start_ns, const char *what)
{
    int64_t took_ms = (now_ns() - start_ns) / MS;

    if (took_ms > 3000)
        fail_msg("%s: expected 3 s at most, took %lld ms", what,
                 (long long)took_ms);
}

/* A context with cuBLAS, and a group of it that is about to hang. */
static void open_beside(struct late *own)
{
    static char log[LIFE_LOG];
    const hdp_group_options brief = { .size = sizeof brief,
                                      .timeout_ns = 100 * MS };

    gpus_start("machine=twin hang=hdpk_cuda_combine:1");
    open_late(own, "cuda:0,1", 100);
    hdp_group_destroy(own->scene.group);
    hdp_context_destroy(own->scene.context);
    own->scene.context = life_context(log);
    expect_ok(hdp_group_create_spec(&own->scene.group, own->scene.context,
                                    "cuda:0,1", &brief));
}

/* Handles of an earlier group rest in the context; their end would wait for the
 * device that hangs. */
static void a_context_ends_beside_it(void **state)
{
    static struct late own;
    hdp_group *earlier = NULL;
    int64_t start_ns;

    (void)state;
    open_beside(&own);
    expect_ok(
        hdp_group_create_spec(&earlier, own.scene.context, "cuda:0,1", NULL));
    use(earlier, own.scene.plan);
    hdp_group_destroy(earlier);
    expect_status(HDP_ERR_TIMEOUT, reduce(&own));
    start_ns = now_ns();
    scene_close(&own.scene);
    expect_brief(start_ns, "the context's end");
    fake_calm();
}

/* How many of the two devices let a partition be made; the others say why not. */
static int devices_to_part(hdp_context *context)
{
    static const char *const parts[] = { "cuda:0/sms=16", "cuda:1/sms=16" };
    hdp_group *part = NULL;
    int made = 0;

    for (int i = 0; i < 2; ++i)
        if (hdp_group_create_spec(&part, context, parts[i], NULL) == HDP_OK) {
            hdp_group_destroy(part);
            made++;
        } else if (!strstr(hdp_last_error(), "making a partition waits for")) {
            fail_msg("expected why no partition is made, got: %s",
                     hdp_last_error());
        }
    return made;
}

/* What waits for the device is refused, or left undone, while it hangs; once it
 * does no more, all is as ever. */
static void a_group_lives_beside_it(void **state)
{
    static struct late own;
    hdp_group *other = NULL;
    int64_t start_ns, free_bytes[2];

    (void)state;
    open_beside(&own);
    expect_ok(
        hdp_group_create_spec(&other, own.scene.context, "cuda:0,1", NULL));
    use(other, own.scene.plan);
    expect_status(HDP_ERR_TIMEOUT, reduce(&own));
    start_ns = now_ns();
    use(other, own.scene.plan);
    expect_number(1, devices_to_part(own.scene.context), "devices to part");
    hdp_group_destroy(other);
    expect_brief(start_ns, "another group and its end, and partitions");
    fake_calm();
    expect_number(2, devices_to_part(own.scene.context), "devices to part");
    for (int i = 0; i < 2; ++i)
        free_bytes[i] = fake_free_bytes(i);
    expect_ok(
        hdp_group_create_spec(&other, own.scene.context, "cuda:0,1", NULL));
    use(other, own.scene.plan);
    hdp_group_destroy(other);
    for (int i = 0; i < 2; ++i)
        expect_number(free_bytes[i], fake_free_bytes(i), "free on %d", i);
    if (fake_breach())
        fail_msg("expected no broken rule, got: %s", fake_breach());
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
        cmocka_unit_test(a_context_ends_beside_it),
        cmocka_unit_test(a_group_lives_beside_it),
        cmocka_unit_test(a_function_that_sleeps_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
