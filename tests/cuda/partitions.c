/* Partitions of GPUs: as large as the driver makes them, several of one device
 * side by side, kept in the context and used again without loss. */
#include <pthread.h>
#include <stdatomic.h>
#include "gpus.h"

enum { ROWS = 12 };

static int64_t sms_of(const hdp_group *group, int32_t member)
{
    hdp_device device = { .size = sizeof device };

    expect_ok(hdp_group_device(&device, group, member));
    return device.partition_sms;
}

static void run(struct scene *scene, const int64_t *items, int32_t count)
{
    unsigned char in[ROWS], out[ROWS] = { 0 };
    hdp_array input = gpus_array(in, 1, 0), output = gpus_array(out, 1, 0);
    hdp_work work = gpus_work(gpus_copy, &input, &output);

    for (int i = 0; i < ROWS; ++i)
        in[i] = (unsigned char)(i + 1);
    if (!scene->plan)
        expect_ok(hdp_plan_create(&scene->plan, items, count));
    expect_ok(hdp_run(NULL, scene->group, scene->plan, &work));
    for (int i = 0; i < ROWS; ++i)
        expect_number(in[i], out[i], "row %d", i);
}

static void granted_sizes(void **state)
{
    static const struct {
        const char *spec;
        int64_t want;
    } cases[] = { { "cuda:1/sms=44", 48 },
                  { "cuda:1/sms=66", 72 },
                  { "cuda:1/sms=1", 8 },
                  { "cuda:1/sms=120", 120 },
                  { "cuda:1/sms=121", 132 } };
    static const int64_t items[] = { ROWS };
    struct scene scene;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        gpus_start("machine=lab");
        gpus_open(&scene, cases[i].spec, NULL, 1, HDP_THREADS_MEMBER);
        expect_number(cases[i].want, sms_of(scene.group, 0), "%s",
                      cases[i].spec);
        run(&scene, items, 1);
        scene_close(&scene);
        gpus_end(cases[i].spec);
    }
}

/* Their streams are their own, and all come from one split. */
static void three_of_one_device(void **state)
{
    static const int64_t items[] = { 5, 4, 3 };
    struct scene scene;
    int64_t splits;
    void *streams[3];

    (void)state;
    for (int32_t threads = HDP_THREADS_MEMBER; threads <= HDP_THREADS_CALLER;
         ++threads) {
        gpus_start("machine=lab");
        gpus_open(&scene, "cuda:1/sms=48+cuda:1/sms=32+cuda:1/sms=40", NULL, 3,
                  threads);
        expect_number(48, sms_of(scene.group, 0), "first");
        expect_number(32, sms_of(scene.group, 1), "second");
        expect_number(40, sms_of(scene.group, 2), "third");
        splits = fake_calls("cuDevSmResourceSplitByCount");
        expect_number(2, splits, "the question and one split");
        for (int32_t m = 0; m < 3; ++m)
            expect_ok(hdp_group_stream(&streams[m], scene.group, m));
        assert_ptr_not_equal(streams[0], streams[2]);
        run(&scene, items, 3);
        scene_close(&scene);
        gpus_end("three partitions");
    }
}

/* ---- kept ----------------------------------------------------------------- */

static void used_again_without_loss(void **state)
{
    static const int64_t items[] = { 5, 7 };
    struct scene scene = { 0 };
    hdp_context *context = NULL;
    int64_t made = 0, free_bytes = 0;

    (void)state;
    gpus_start("machine=lab");
    expect_ok(hdp_context_create(&context, NULL));
    for (int i = 0; i < 1000; ++i) {
        expect_ok(hdp_group_create_spec(&scene.group, context,
                                        "cuda:1/sms=48+cuda:1/sms=24", NULL));
        run(&scene, items, 2);
        hdp_group_destroy(scene.group);
        if (i == 0) {
            made = fake_calls("cuGreenCtxCreate");
            free_bytes = fake_free_bytes(1);
        }
    }
    expect_number(2, made, "partitions made in the first round");
    expect_number(made, fake_calls("cuGreenCtxCreate"), "made in all rounds");
    expect_number(free_bytes, fake_free_bytes(1), "free bytes");
    hdp_plan_destroy(scene.plan);
    hdp_context_destroy(context);
    gpus_end("1,000 rounds");
}

/* What is in use is not given away; what is idle makes room. */
static void room_for_others(void **state)
{
    hdp_context *context = NULL;
    hdp_group *first = NULL, *second = NULL;

    (void)state;
    gpus_start("machine=lab");
    expect_ok(hdp_context_create(&context, NULL));
    expect_ok(hdp_group_create_spec(&first, context, "cuda:1/sms=96", NULL));
    expect_status(HDP_ERR_BUSY, hdp_group_create_spec(&second, context,
                                                      "cuda:1/sms=48", NULL));
    if (!strstr(hdp_last_error(), "132") || !strstr(hdp_last_error(), "36"))
        fail_msg("expected what there is and what is left, got: %s",
                 hdp_last_error());
    expect_ok(hdp_group_create_spec(&second, context, "cuda:1/sms=32", NULL));
    hdp_group_destroy(second);
    hdp_group_destroy(first);
    expect_ok(hdp_group_create_spec(&second, context, "cuda:1/sms=104", NULL));
    expect_number(104, sms_of(second, 0), "after the others had gone");
    hdp_group_destroy(second);
    expect_status(
        HDP_ERR_ARGUMENT,
        hdp_group_create_spec(&second, context, "cuda:1/sms=133", NULL));
    hdp_context_destroy(context);
    gpus_end("room");
}

/* ---- room made while the device works --------------------------------------- */

static int32_t take_handle(const hdp_shard *shard, void *user)
{
    return (int32_t)hdp_shard_blas(user, shard);
}

static void CUDART_CB wait_for_it(void *flag)
{
    while (!atomic_load((atomic_int *)flag))
        sleep_ns(1000000);
}

struct maker {
    hdp_context *context;
    hdp_group *group;
    hdp_status status;
};

static void *make_larger(void *arg)
{
    struct maker *own = arg;

    own->status = hdp_group_create_spec(&own->group, own->context,
                                        "cuda:1/sms=104", NULL);
    return NULL;
}

/* To end a partition's handle waits for all work on the device, and nobody else
 * waits meanwhile. */
static void room_is_awaited_alone(void **state)
{
    static char log[LIFE_LOG];
    static const int64_t items[] = { 1 };
    struct scene first = { .context = NULL };
    struct maker maker = { .context = NULL };
    hdp_group *other = NULL;
    void *handle = NULL;
    hdp_work work = gpus_work(take_handle, NULL, NULL);
    atomic_int over = 0;
    cudaStream_t stream;
    pthread_t thread;

    (void)state;
    gpus_start("machine=lab run=threads");
    first.context = maker.context = life_context(log);
    work.user = &handle;
    expect_ok(hdp_plan_create(&first.plan, items, 1));
    expect_ok(hdp_group_create_spec(&first.group, first.context,
                                    "cuda:1/sms=96", NULL));
    expect_ok(hdp_run(NULL, first.group, first.plan, &work));
    hdp_group_destroy(first.group);
    expect_cuda(cudaSetDevice(1));
    expect_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    expect_cuda(cudaLaunchHostFunc(stream, wait_for_it, &over));
    assert_int_equal(pthread_create(&thread, NULL, make_larger, &maker), 0);
    while (fake_calls("cublasDestroy") == 0)
        sleep_ns(1000000);
    expect_ok(
        hdp_group_create_spec(&other, first.context, "cuda:0/sms=16", NULL));
    expect_number(0, fake_calls("cuGreenCtxDestroy"), "partitions ended");
    atomic_store(&over, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect_number(HDP_OK, maker.status, "the larger partition");
    expect_number(104, sms_of(maker.group, 0), "the larger partition");
    expect_cuda(cudaStreamSynchronize(stream));
    expect_cuda(cudaStreamDestroy(stream));
    hdp_group_destroy(other);
    first.group = maker.group;
    scene_close(&first);
    expect_cuda(cudaSetDevice(0));
    gpus_end("room made while the device works");
}

/* A driver that lacks one of the functions, each in turn. */
static void old_drivers_are_told(void **state)
{
    static const char call[] = "cudaGetDriverEntryPointByVersion";
    enum { CALLS_MAX = 80 }; /* more than looking and opening make */
    int64_t told = 0;

    (void)state;
    for (int n = 1; n <= CALLS_MAX; ++n) {
        hdp_context *context = NULL;
        hdp_group *group = NULL;
        char words[96];
        (void)snprintf(words, sizeof words, "machine=lab fail=%s:%d:500", call,
                       n);
        gpus_start(words);
        expect_ok(hdp_context_create(&context, NULL));
        if (hdp_group_create_spec(&group, context, "cuda:1/sms=48", NULL) !=
                HDP_OK &&
            strstr(hdp_last_error(), "partitions need a driver of CUDA 12.5"))
            told++;
        hdp_group_destroy(group);
        hdp_context_destroy(context);
        assert_true(fake_calls(call) < CALLS_MAX);
        gpus_end("an old driver");
    }
    expect_number(8, told, "functions whose lack was told");
}

/* ---- lent streams --------------------------------------------------------- */

static void only_streams_of_its_own(void **state)
{
    static const int64_t items[] = { ROWS };
    struct scene scene;
    hdp_group *group = NULL;
    void *own = NULL, *lent[1];
    cudaStream_t whole;
    const hdp_group_options options = { .size = sizeof options,
                                        .streams = lent };

    (void)state;
    gpus_start("machine=lab");
    gpus_open(&scene, "cuda:1/sms=48", NULL, 1, HDP_THREADS_MEMBER);
    expect_ok(hdp_group_stream(&own, scene.group, 0));
    expect_cuda(cudaSetDevice(1));
    expect_cuda(cudaStreamCreateWithFlags(&whole, cudaStreamNonBlocking));
    lent[0] = whole; /* of the device, not of the partition */
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_group_create_spec(&group, scene.context, "cuda:1/sms=48",
                                        &options));
    lent[0] = cudaStreamLegacy;
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_group_create_spec(&group, scene.context, "cuda:1/sms=48",
                                        &options));
    lent[0] = own; /* of a partition, not of the whole device */
    expect_status(HDP_ERR_ARGUMENT, hdp_group_create_spec(&group, scene.context,
                                                          "cuda:1", &options));
    expect_ok(hdp_group_create_spec(&group, scene.context, "cuda:1/sms=48",
                                    &options));
    hdp_group_destroy(group);
    run(&scene, items, 1);
    expect_cuda(cudaStreamDestroy(whole));
    scene_close(&scene);
    expect_cuda(cudaSetDevice(0));
    gpus_end("streams of partitions");
}

/* Each call that makes a partition fails once: refused, then made. */
static void each_step_may_fail(void **state)
{
    static const char *const sites[] = {
        "cuDeviceGetDevResource:1",
        "cuDevSmResourceSplitByCount:1",
        "cuDevSmResourceSplitByCount:2",
        "cuDevResourceGenerateDesc:1",
        "cuGreenCtxCreate:1",
        "cuCtxFromGreenCtx:1",
        "cuGreenCtxStreamCreate:1",
    };
    static const int64_t items[] = { ROWS };

    (void)state;
    for (size_t i = 0; i < sizeof sites / sizeof *sites; ++i) {
        struct scene scene = { 0 };
        char words[96];
        gpus_start("machine=lab");
        (void)snprintf(words, sizeof words, "fail=%s", sites[i]);
        expect_number(0, fake_plant(words), "planted");
        expect_ok(hdp_context_create(&scene.context, NULL));
        if (hdp_group_create_spec(&scene.group, scene.context, "cuda:1/sms=48",
                                  NULL) == HDP_OK)
            fail_msg("%s: expected a failure", sites[i]);
        expect_ok(hdp_group_create_spec(&scene.group, scene.context,
                                        "cuda:1/sms=48", NULL));
        run(&scene, items, 1);
        scene_close(&scene);
        gpus_end(sites[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(granted_sizes),
        cmocka_unit_test(three_of_one_device),
        cmocka_unit_test(used_again_without_loss),
        cmocka_unit_test(room_for_others),
        cmocka_unit_test(room_is_awaited_alone),
        cmocka_unit_test(old_drivers_are_told),
        cmocka_unit_test(only_streams_of_its_own),
        cmocka_unit_test(each_step_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
