/* The library inside another program: whatever is called, and whatever fails in
 * it, the caller's current device stays, and a pending error of his too; under
 * HDP_THREADS_CALLER, where calls are made on his thread, the device (O24, F50).
 */
#include "gpus.h"

enum { ROWS = 8, ELEMENTS = 16 };

struct things {
    hdp_context *context;
    hdp_topology *topology;
    hdp_group *group;
    hdp_profile *profile;
    hdp_plan *plan;
    unsigned char in[ROWS], out[ROWS];
    hdp_array arrays[2];
    hdp_work work;
    float values[2][ELEMENTS];
    int64_t elements;
    void *recv[2];
    hdp_buffers bucket;
};

static struct {
    int32_t threads;
    int device;          /* the caller's */
    cudaError_t pending; /* his */
    const char *words;   /* what was planted */
    int fails;
} now;

static void expect_untouched(const char *call)
{
    int device = -1;
    cudaError_t pending = cudaPeekAtLastError();

    /* asked of the driver's context, so that nothing is made by asking */
    if (cudaGetDevice(&device) != cudaSuccess || device != now.device)
        fail_msg("%s, %s: expected device %d, got %d", now.words, call,
                 now.device, device);
    if (now.threads == HDP_THREADS_MEMBER && pending != now.pending)
        fail_msg("%s, %s: expected pending error %d, got %d", now.words, call,
                 (int)now.pending, (int)pending);
}

#define TRY(call)                                                              \
    do {                                                                       \
        (void)(call);                                                          \
        expect_untouched(#call);                                               \
    } while (0)

static int32_t stray(const hdp_shard *shard, void *user)
{
    void *blas;

    (void)user;
    (void)cudaSetDevice(1 - shard->logical_id); /* and not put back */
    (void)hdp_shard_blas(&blas, shard);
    (void)hdp_shard_all_reduce(shard, 0);
    (void)hdp_shard_join(shard);
    return gpus_copy(shard, NULL);
}

static void fill(struct things *own)
{
    memset(own, 0, sizeof *own);
    own->arrays[0] = gpus_array(own->in, 1, 0);
    own->arrays[1] = gpus_array(own->out, 1, 0);
    own->work = gpus_work(stray, &own->arrays[0], &own->arrays[1]);
    own->elements = ELEMENTS;
    for (int m = 0; m < 2; ++m)
        own->recv[m] = own->values[m];
    own->bucket = (hdp_buffers){ .size = sizeof own->bucket,
                                 .dtype = HDP_F32,
                                 .op = HDP_OP_SUM,
                                 .tensor_count = 1,
                                 .elements = &own->elements,
                                 .recv = own->recv };
    own->work.buckets = &own->bucket;
    own->work.bucket_count = 1;
}

static void use_group(struct things *own)
{
    hdp_group_info info = { .size = sizeof info };
    hdp_device device = { .size = sizeof device };
    hdp_error error = { .size = sizeof error };
    hdp_report *report = NULL;
    uint64_t step = 0;
    int32_t reached;
    void *stream;

    TRY(hdp_group_get(&info, own->group));
    TRY(hdp_group_device(&device, own->group, 0));
    TRY(hdp_group_stream(&stream, own->group, 1));
    TRY(hdp_run(&report, own->group, own->plan, &own->work));
    hdp_report_destroy(report);
    TRY(hdp_run_async(&step, own->group, own->plan, &own->work));
    if (step) {
        TRY(hdp_group_poll(&reached, own->group, step, HDP_DONE, 1000000000));
        TRY(hdp_group_wait(NULL, own->group, step));
        TRY(hdp_group_order(own->group, step, 1, stream));
        TRY(hdp_group_order(own->group, step, 0, stream));
    }
    TRY(hdp_all_reduce(own->group, own->plan, &own->bucket));
    TRY(hdp_broadcast(own->group, 1, &own->bucket));
    TRY(hdp_barrier(own->group));
    TRY(hdp_group_trim(own->group));
    TRY(hdp_group_health(&error, own->group));
}

static void live(void)
{
    static const int64_t items[] = { 3, 5 };
    const hdp_context_options context = { .size = sizeof context,
                                          .cublas_path =
                                              getenv("HDP_FAKE_CUDA"),
                                          .nvml_path =
                                              getenv("HDP_FAKE_CUDA") };
    const hdp_group_options options = { .size = sizeof options,
                                        .threads = now.threads };
    const hdp_calibrate_options brief = { .size = sizeof brief,
                                          .dtype = HDP_F32,
                                          .budget_ns = 1000000 };
    static struct things own;
    hdp_group *second = NULL;

    fill(&own);
    TRY(hdp_context_create(&own.context, &context));
    TRY(hdp_discover(&own.topology, own.context, NULL));
    TRY(hdp_group_create_spec(&own.group, own.context, "cuda:1,0", &options));
    TRY(hdp_group_create_spec(&second, own.context, "cuda:0-1", &options));
    TRY(hdp_plan_create(&own.plan, items, 2));
    if (own.group) {
        if (!now.fails) /* it takes long */
            TRY(hdp_calibrate(&own.profile, own.group, &brief));
        use_group(&own);
        TRY(hdp_group_abort(own.group));
    }
    hdp_group_destroy(own.group);
    expect_untouched("hdp_group_destroy");
    hdp_group_destroy(second);
    expect_untouched("hdp_group_destroy");
    hdp_plan_destroy(own.plan);
    hdp_profile_destroy(own.profile);
    hdp_topology_destroy(own.topology);
    hdp_context_destroy(own.context);
    expect_untouched("hdp_context_destroy");
}

/* A program that works on device 1 and, as MEMBER allows it, has an error of
 * its own that it has not read yet. */
static void live_beside(const char *words, int32_t threads)
{
    gpus_start("machine=twin");
    expect_cuda(cudaSetDevice(1));
    now.threads = threads;
    now.device = 1;
    now.words = words ? words : "nothing fails";
    now.fails = words != NULL;
    now.pending = cudaSuccess;
    if (threads == HDP_THREADS_MEMBER) {
        expect_number(cudaErrorInvalidDevice, cudaSetDevice(99), "device 99");
        now.pending = cudaErrorInvalidDevice;
    }
    if (words && fake_plant(words) != 0)
        fail_msg("fake_plant(\"%s\"): %s", words, fake_words());
    live();
    fake_calm();
    (void)cudaGetLastError();
    expect_cuda(cudaSetDevice(0));
    gpus_end(now.words);
}

static void when_all_goes_well(void **state)
{
    (void)state;
    live_beside(NULL, HDP_THREADS_MEMBER);
    live_beside(NULL, HDP_THREADS_CALLER);
}

/* Out of memory, as each family says it: the usual codes of some calls would
 * end this process's use of CUDA. */
static const char *code_of(const char *name)
{
    return strncmp(name, "cublas", 6) == 0 ? ":3"
           : strncmp(name, "nvml", 4) == 0 ? ""
                                           : ":2";
}

/* Each function of CUDA in turn: at its first call, its third, and for good. */
static void when_anything_fails(void **state)
{
    static char names[256][64];
    static const char *const how[] = { "1", "4", "1-" };
    int count = 0, fallible = 0;

    (void)state;
    live_beside(NULL, HDP_THREADS_MEMBER);
    for (int i = 0; i < 256; ++i) {
        int64_t calls;
        const char *name = fake_site(i, &calls, &fallible);
        if (!name)
            break;
        /* the test asks with two of them itself, and what a call refuses to give
         * back stays alive */
        if (fallible && strcmp(name, "cudaGetDevice") != 0 &&
            strcmp(name, "cudaPeekAtLastError") != 0 &&
            !strstr(name, "Unload") && !strstr(name, "estroy") &&
            !strstr(name, "Free"))
            (void)snprintf(names[count++], sizeof names[0], "%s", name);
    }
    assert_true(count > 20);
    for (int32_t threads = HDP_THREADS_MEMBER; threads <= HDP_THREADS_CALLER;
         ++threads)
        for (int i = 0; i < count; ++i)
            for (size_t h = 0; h < sizeof how / sizeof *how; ++h) {
                char words[96];
                (void)snprintf(words, sizeof words, "fail=%.60s:%s%s", names[i],
                               how[h], code_of(names[i]));
                live_beside(words, threads);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(when_all_goes_well),
        cmocka_unit_test(when_anything_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
