/* A function of the caller is measured: at sizes that the library chooses or is
 * given, with rows that it makes, by threads of its own or the caller's. One
 * that fails leaves the group well; one that never returns loses it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "on_gpu.h"
#include "profile_text.h"

/* A pair of whatever this program's members are. The model of simulated ones
 * comes back; GPUs have none, and need no longer than this for what is here. */
#ifdef HDP_TEST_CUDA
static const char *const PAIR = "cuda:0,1";
enum { BUDGET_NS = 30000000, MODEL = 0 };
#else
static const char *const PAIR =
    "sim:0/fixed=500us/item=10us+sim:1/fixed=1.5ms/item=50us";
enum { BUDGET_NS = 0, MODEL = 1 };
#endif

static double model_ns(int32_t rank, int64_t items)
{
    return rank == 0 ? 500000 + 10000.0 * (double)items
                     : 1500000 + 50000.0 * (double)items;
}

static double time_of(const hdp_profile *profile, int32_t rank, int64_t items)
{
    double ns = -1;

    expect_ok(hdp_profile_time(&ns, profile, rank, items));
    return ns;
}

/* A share of `items` takes as long as `measured` items do. */
static void expect_time(const hdp_profile *profile, int32_t rank, int64_t items,
                        int64_t measured)
{
    double got = time_of(profile, rank, items);
    double want =
        MODEL ? model_ns(rank, measured) : time_of(profile, rank, measured);

    if (got != want || !(got > 0))
        fail_msg("rank %d, %lld items: expected %.17g, got %.17g", (int)rank,
                 (long long)items, want, got);
}

static void expect_model(const hdp_profile *profile)
{
    static const int64_t sizes[] = { 1, 2, 7, 12, 13, 100, 1000, 1000000 };

    for (int32_t rank = 0; rank < 2; ++rank)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
            expect_time(profile, rank, sizes[i], sizes[i]);
}

struct seen {
    _Atomic int64_t calls, wrong;
    _Atomic int64_t sizes[2]; /* bit i: given size i was called, by member */
    const int64_t *given;
    int32_t count;
};

/* Row i of the input must be there and not be all zero bytes. */
static int is_wrong(const hdp_shard *shard)
{
    const unsigned char *row = shard->inputs[0].data;
    int sum = 0;

    if (!(shard->flags & HDP_SHARD_PROBE) || shard->input_count != 1 ||
        shard->output_count != 1 || shard->inputs[0].rows != shard->items ||
        shard->outputs[0].rows != shard->items ||
        shard->inputs[0].row_bytes != 16)
        return 1;
    row += (shard->items - 1) * shard->inputs[0].row_stride_bytes;
    for (int i = 0; i < 16; ++i)
        sum |= row[i];
    memset(shard->outputs[0].data, 1, (size_t)(shard->items * 8));
    return sum == 0;
}

static int32_t look(const hdp_shard *shard, void *user)
{
    struct seen *seen = user;
    int32_t i = 0;

    atomic_fetch_add(&seen->calls, 1);
    while (i < seen->count && seen->given[i] != shard->items)
        ++i;
    if ((seen->count && i == seen->count) || is_wrong(shard))
        atomic_fetch_add(&seen->wrong, 1);
    atomic_fetch_or(&seen->sizes[shard->member], INT64_C(1) << i);
    return 0;
}

ON_GPU(look)

struct job {
    hdp_array in, out;
    hdp_work work;
    hdp_calibrate_options options;
};

static void make_job(struct job *job, hdp_work_fn host, hdp_work_fn cuda,
                     void *user)
{
    expect_ok(hdp_options_init(&job->in, sizeof job->in));
    expect_ok(hdp_options_init(&job->out, sizeof job->out));
    expect_ok(hdp_options_init(&job->work, sizeof job->work));
    expect_ok(hdp_options_init(&job->options, sizeof job->options));
    job->in.row_bytes = 16;
    job->out.row_bytes = 8;
    job->work.host = host;
    job->work.cuda = cuda;
    job->work.user = user;
    job->work.inputs = &job->in;
    job->work.input_count = 1;
    job->work.outputs = &job->out;
    job->work.output_count = 1;
    job->options.probe = HDP_PROBE_WORK;
    job->options.work = &job->work;
    job->options.budget_ns = BUDGET_NS;
}

static void a_function_is_measured_at_sizes_chosen(void **state)
{
    struct seen seen = { 0 };
    struct scene scene;
    struct job job;
    hdp_profile *profile;
    hdp_profile_info info;

    (void)state;
    scene_open(&scene, PAIR, NULL, 0, NULL);
    make_job(&job, look, look_on_gpu, &seen);
    expect_ok(hdp_calibrate(&profile, scene.group, &job.options));
    expect_number(0, seen.wrong, "wrong calls");
    assert_true(seen.calls >= 2 * 8);
    expect_model(profile);
    expect_ok(hdp_options_init(&info, sizeof info));
    expect_ok(hdp_profile_get(&info, profile));
    expect_number(HDP_PROBE_WORK, info.probe, "probe");
    hdp_profile_destroy(profile);
    scene_close(&scene);
}

#if !defined HDP_TEST_CUDA
/* Each the same factor above the one before, in whole items; the largest takes
 * 0.75 ms and twice the time of one. */
static void the_sizes_chosen_are_geometric(void **state)
{
    static const struct {
        const char *spec, *sizes;
    } cases[] = {
        { "sim:0/item=10us", "1 2 4 8 16 32 64 128" },
        { "sim:0/item=1us", "1 3 7 20 53 141 380 1024" }, /* 2^(10/7) */
        { "sim:0/fixed=1ms/item=10us", "1 2 4 8 16 32 64 128" },
        { "sim:0/item=100us", "1 2 3 4 5 6 7 8" },
        { "sim:0/item=200us", "1 2 3 4" },
        { "sim:0/item=2ms", "1 2" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        struct seen seen = { 0 };
        struct scene scene;
        struct job job;
        hdp_profile *profile;
        scene_open(&scene, cases[i].spec, NULL, 0, NULL);
        make_job(&job, look, look_on_gpu, &seen);
        expect_ok(hdp_calibrate(&profile, scene.group, &job.options));
        char *text = profile_text(profile), sizes[128] = "";
        const char *at = strstr(text, "\"points\":[");
        size_t used = 0;
        assert_non_null(at);
        for (at += 10; *at == '['; at += *at == ',') {
            used += (size_t)snprintf(sizes + used, sizeof sizes - used, " %d",
                                     atoi(at + 1));
            at = strchr(at, ']') + 1;
        }
        assert_string_equal(sizes + 1, cases[i].sizes);
        free(text);
        hdp_profile_destroy(profile);
        scene_close(&scene);
    }
}
#endif

static void a_function_is_measured_at_sizes_given(void **state)
{
    static const int64_t given[] = { 64, 8, 500, 8 }; /* in any order */
    struct seen seen = { .given = given, .count = 4 };
    struct scene scene;
    struct job job;
    hdp_profile *profile;

    (void)state;
    scene_open(&scene, PAIR, NULL, 0, NULL);
    make_job(&job, look, look_on_gpu, &seen);
    job.options.items = given;
    job.options.item_count = 4;
    expect_ok(hdp_calibrate(&profile, scene.group, &job.options));
    expect_number(0, seen.wrong, "calls of other sizes, or wrong ones");
    expect_number(7, seen.sizes[0], "sizes that member 0 saw, as bits");
    expect_number(7, seen.sizes[1], "sizes that member 1 saw, as bits");
    for (int rank = 0; rank < 2; ++rank) {
        expect_time(profile, rank, 8, 8);
        expect_time(profile, rank, 1, 8);
        expect_time(profile, rank, 64, 64);
        expect_time(profile, rank, 500, 500);
    }
    hdp_profile_destroy(profile);
    scene_close(&scene);
}

/* One after the other on this thread: nobody may wait at a gate. */
static void the_calling_thread_can_do_it_all(void **state)
{
    struct seen seen = { 0 };
    hdp_group_options options;
    struct scene scene;
    struct job job;
    hdp_profile *profile;

    (void)state;
    expect_ok(hdp_options_init(&options, sizeof options));
    options.threads = HDP_THREADS_CALLER;
    scene_open(&scene, PAIR, NULL, 0, &options);
    make_job(&job, look, look_on_gpu, &seen);
    expect_ok(hdp_calibrate(&profile, scene.group, &job.options));
    expect_number(0, seen.wrong, "wrong calls");
    assert_true(seen.calls >= 2 * 8);
    expect_model(profile);
    hdp_profile_destroy(profile);
    scene_close(&scene);
}

/* ---- failures --------------------------------------------------------------- */

static int32_t fail_on_member_1(const hdp_shard *shard, void *user)
{
    (void)user;
    return shard->member == 1 && shard->items > 2 ? 4711 : 0;
}

static void a_failing_function_leaves_the_group_well(void **state)
{
    struct scene scene;
    struct job job;
    hdp_profile *profile;
    hdp_error error;

    (void)state;
    scene_open(&scene, PAIR, NULL, 0, NULL);
    make_job(&job, fail_on_member_1, fail_on_member_1, NULL);
    for (int i = 0; i < 3; ++i) {
        profile = (hdp_profile *)(void *)&scene;
        expect_status(HDP_ERR_CALLBACK,
                      hdp_calibrate(&profile, scene.group, &job.options));
        assert_null(profile);
        expect_ok(hdp_options_init(&error, sizeof error));
        expect_ok(hdp_error_get(&error));
        expect_number(1, error.member, "member");
        expect_number(4711, error.user_code, "user_code");
    }
    expect_ok(hdp_calibrate(&profile, scene.group, NULL));
    expect_model(profile);
    hdp_profile_destroy(profile);
    scene_close(&scene);
}

#if !defined HDP_TEST_CUDA
/* Each hook fails the k-th time, for every k until the call succeeds: the
 * status is the hook's, and nothing comes with it. */
static void faults_end_in_their_status(void **state)
{
    static const char *const hooks[] = { "alloc", "launch" };
    struct seen seen = { 0 };

    (void)state;
    for (int hook = 0; hook < 2; ++hook)
        for (int k = 1; k < 40; ++k) {
            struct scene scene;
            struct job job;
            hdp_profile *profile = NULL;
            hdp_status status;
            char spec[128];
            snprintf(spec, sizeof spec, "sim:0/item=10us+sim:1/fail=%s:%d",
                     hooks[hook], k);
            scene_open(&scene, spec, NULL, 0, NULL);
            make_job(&job, look, look_on_gpu, &seen);
            status = hdp_calibrate(&profile, scene.group, &job.options);
            assert_int_equal(profile != NULL, status == HDP_OK);
            if (status != HDP_OK)
                expect_status(hook ? HDP_ERR_DEVICE : HDP_ERR_MEMORY, status);
            hdp_profile_destroy(profile);
            scene_close(&scene);
            if (status == HDP_OK)
                break;
            assert_true(hook == 0 ? k < 39 : 1);
        }
}
#endif

static _Atomic int released;

static int32_t hang(const hdp_shard *shard, void *user)
{
    (void)user;
    while (shard->member == 0 && !atomic_load(&released))
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    return 0;
}

/* What the measurement needs outlives the call, for the member still inside. */
static void a_function_that_never_returns_loses_the_group(void **state)
{
    hdp_group_options options;
    struct scene scene;
    struct job job;
    hdp_profile *profile;

    (void)state;
    expect_ok(hdp_options_init(&options, sizeof options));
    options.timeout_ns = 100000000;
    scene_open(&scene, PAIR, NULL, 0, &options);
    make_job(&job, hang, hang, NULL);
    expect_status(HDP_ERR_TIMEOUT,
                  hdp_calibrate(&profile, scene.group, &job.options));
    assert_null(profile);
    expect_status(HDP_ERR_TIMEOUT, hdp_calibrate(&profile, scene.group, NULL));
    atomic_store(&released, 1);
    expect_ok(hdp_group_abort(scene.group));
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_is_measured_at_sizes_chosen),
        cmocka_unit_test(a_function_is_measured_at_sizes_given),
        cmocka_unit_test(the_calling_thread_can_do_it_all),
        cmocka_unit_test(a_failing_function_leaves_the_group_well),
        cmocka_unit_test(a_function_that_never_returns_loses_the_group),
#if !defined HDP_TEST_CUDA /* by the model, and by its keys */
        cmocka_unit_test(the_sizes_chosen_are_geometric),
        cmocka_unit_test(faults_end_in_their_status),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
