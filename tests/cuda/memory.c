/* Memory that cannot be had: whose, how much, that nothing is lost or pending,
 * and that the next call goes well (O12, F12 to F15, F24, F25). */
#include <pthread.h>
#include "gpus.h"

enum { ROWS = 16 };

struct scenario {
    struct scene scene;
    unsigned char in[ROWS * 4], out[ROWS * 4];
    hdp_array arrays[2];
    hdp_work work;
    pthread_mutex_t lock; /* of what follows */
    char log[2048];
    int warnings;
};

static void note(int32_t level, const char *line, void *user)
{
    struct scenario *own = user;

    (void)level;
    if (strncmp(line, "environment: ", 13) == 0)
        return;
    (void)pthread_mutex_lock(&own->lock); /* members warn at once */
    own->warnings++;
    (void)snprintf(own->log, sizeof own->log, "%s", line);
    (void)pthread_mutex_unlock(&own->lock);
}

static void open_as(struct scenario *own, const char *spec, int32_t threads,
                    int32_t count)
{
    const int64_t items[] = { ROWS / 2, ROWS / 2, 0 };
    const hdp_context_options context = { .size = sizeof context,
                                          .log = note,
                                          .log_user = own,
                                          .log_level = HDP_LOG_WARN };
    const hdp_group_options group = { .size = sizeof group,
                                      .threads = threads };

    memset(own, 0, sizeof *own);
    (void)pthread_mutex_init(&own->lock, NULL);
    for (int i = 0; i < ROWS * 4; ++i)
        own->in[i] = (unsigned char)(i + 1);
    own->arrays[0] = gpus_array(own->in, 4, 0);
    own->arrays[1] = gpus_array(own->out, 4, 0);
    own->work = gpus_work(gpus_copy, &own->arrays[0], &own->arrays[1]);
    expect_ok(hdp_context_create(&own->scene.context, &context));
    expect_ok(hdp_group_create_spec(&own->scene.group, own->scene.context, spec,
                                    &group));
    expect_ok(hdp_plan_create(&own->scene.plan, items, count));
}

static void open_scenario(struct scenario *own, int32_t threads)
{
    open_as(own, "cuda:0,1", threads, 2);
}

static hdp_status go(struct scenario *own)
{
    memset(own->out, 0, sizeof own->out);
    return hdp_run(NULL, own->scene.group, own->scene.plan, &own->work);
}

static void expect_copied(const struct scenario *own, const char *when)
{
    for (int i = 0; i < ROWS * 4; ++i)
        expect_number(own->in[i], own->out[i], "%s: byte %d", when, i);
}

/* ---- O12, F13 ------------------------------------------------------------- */

static void out_of_memory_and_on(void **state)
{
    struct scenario own;
    hdp_error error = { .size = sizeof error };

    (void)state;
    for (int32_t threads = HDP_THREADS_MEMBER; threads <= HDP_THREADS_CALLER;
         ++threads) {
        gpus_start("machine=desk");
        open_scenario(&own, threads);
        /* four arrays of members: the last one is member 1's or 0's */
        expect_number(0, fake_plant("fail=cudaMalloc:4"), "planted");
        expect_status(HDP_ERR_MEMORY, go(&own));
        expect_ok(hdp_error_get(&error));
        expect_number(ROWS / 2 * 4, error.wanted_bytes, "wanted bytes");
        expect_number(HDP_RETRY, error.severity, "severity");
        expect_number(2, error.vendor_code, "CUDA's own number");
        if (error.member != 0 && error.member != 1)
            fail_msg("expected a member, got %d", (int)error.member);
        if (!strstr(error.text, "32 bytes") || !strstr(error.text, "cuda:"))
            fail_msg("expected device and bytes, got: %s", error.text);
        expect_number(cudaSuccess, cudaPeekAtLastError(), "pending");
        expect_ok(go(&own));
        expect_copied(&own, "again");
        scene_close(&own.scene);
        gpus_end("O12");
    }
}

/* What the program left pending is his, before and after. */
static void the_programs_own_error_stays(void **state)
{
    struct scenario own;
    void *memory;

    (void)state;
    gpus_start("machine=desk");
    (void)cudaSetDevice(1);
    open_scenario(&own, HDP_THREADS_MEMBER);
    expect_number(cudaErrorInvalidDevice, cudaSetDevice(77), "cudaSetDevice");
    expect_ok(go(&own));
    expect_copied(&own, "with an error pending");
    expect_number(0, fake_plant("fail=cudaMalloc:1-"), "planted");
    expect_ok(hdp_group_trim(own.scene.group));
    expect_status(HDP_ERR_MEMORY, go(&own));
    fake_calm();
    scene_close(&own.scene);
    expect_number(cudaErrorInvalidDevice, cudaPeekAtLastError(),
                  "the program's own error");
    expect_number(cudaErrorInvalidDevice, cudaGetLastError(), "read once");
    expect_cuda(cudaMalloc(&memory, 16));
    expect_cuda(cudaFree(memory));
    gpus_end("O12, the program's");
}

/* ---- F14, O12, and what a specification allows ----------------------------- */

static void memory_that_others_took(void **state)
{
    struct scenario own;
    hdp_error error = { .size = sizeof error };

    (void)state;
    gpus_start("machine=desk");
    open_scenario(&own, HDP_THREADS_MEMBER);
    expect_number(0, fake_plant("tenant=1:12GiB"), "planted");
    expect_status(HDP_ERR_MEMORY, go(&own));
    expect_ok(hdp_error_get(&error));
    expect_number(1, error.member, "whose");
    expect_number(ROWS / 2 * 4, error.wanted_bytes, "wanted bytes");
    if (!strstr(error.text, "out of memory") || !strstr(error.text, "cuda:1"))
        fail_msg("expected what and where, got: %s", error.text);
    expect_number(cudaSuccess, cudaPeekAtLastError(), "pending");
    expect_number(0, fake_plant("tenant=1:1GiB"), "planted");
    expect_ok(go(&own));
    expect_copied(&own, "F14");
    scene_close(&own.scene);
    gpus_end("F14");
}

static void what_was_allowed(void **state)
{
    static const char *const specs[] = { "cuda:0/mem=40B+cuda:1",
                                         "cuda:0/mem=90B/margin=50B+cuda:1",
                                         "cuda:0/margin=24GiB+cuda:1" };
    struct scenario own;
    hdp_error error = { .size = sizeof error };

    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; ++i) {
        gpus_start("machine=desk");
        open_as(&own, specs[i], HDP_THREADS_MEMBER, 2);
        expect_status(HDP_ERR_MEMORY, go(&own));
        expect_ok(hdp_error_get(&error));
        expect_number(0, error.member, "%s: whose", specs[i]);
        expect_number(ROWS / 2 * 4, error.wanted_bytes, "%s: bytes", specs[i]);
        scene_close(&own.scene);
        gpus_end(specs[i]);
    }
}

/* ---- F12 ------------------------------------------------------------------ */

static void pageable_where_nothing_can_be_pinned(void **state)
{
    float values[2][3] = { { 1, 2, 3 }, { 3, 4, 5 } };
    struct scenario own;
    void *recv[2];
    int64_t elements = 3;
    hdp_buffers bucket = { .size = sizeof bucket,
                           .dtype = HDP_F32,
                           .op = HDP_OP_MEAN,
                           .tensor_count = 1,
                           .elements = &elements,
                           .recv = recv };

    (void)state;
    gpus_start("machine=desk fail=cudaHostAlloc:1-");
    open_scenario(&own, HDP_THREADS_MEMBER);
    recv[0] = gpus_alloc(0, values[0], sizeof values[0]);
    recv[1] = gpus_alloc(1, values[1], sizeof values[1]);
    for (int i = 0; i < 3; ++i) {
        expect_ok(hdp_all_reduce(own.scene.group, own.scene.plan, &bucket));
        expect_ok(hdp_group_trim(own.scene.group));
    }
    gpus_read(values[0], recv[0], sizeof values[0]);
    expect_number(2, (int64_t)values[0][0], "the mean");
    expect_number(2, own.warnings, "warnings of two members");
    if (!strstr(own.log, "pageable"))
        fail_msg("expected a warning of pageable memory, got: %s", own.log);
    expect_cuda(cudaFree(recv[0]));
    expect_cuda(cudaFree(recv[1]));
    scene_close(&own.scene);
    gpus_end("F12");
}

/* ---- F15 ------------------------------------------------------------------ */

struct hungry {
    int32_t how; /* 1: says so; 2: returns 0 and leaves the error behind */
    int32_t calls[2];
};

static int32_t hungry(const hdp_shard *shard, void *user)
{
    struct hungry *own = user;
    void *memory = NULL;

    own->calls[shard->member]++;
    if (shard->member != 1 || own->how == 0)
        return gpus_copy(shard, NULL);
    if (cudaMalloc(&memory, (size_t)1 << 40) == cudaSuccess)
        return 1;
    if (own->how == 2)
        return 0;
    (void)cudaGetLastError();
    (void)hdp_shard_fail(shard, HDP_ERR_MEMORY, (int64_t)1 << 40, NULL);
    return 5;
}

static void out_of_memory_in_the_function(void **state)
{
    struct scenario own;
    struct hungry hunger = { 0, { 0, 0 } };
    hdp_error error = { .size = sizeof error };

    (void)state;
    gpus_start("machine=desk");
    open_scenario(&own, HDP_THREADS_MEMBER);
    own.work.host = own.work.cuda = hungry;
    own.work.user = &hunger;
    for (hunger.how = 1; hunger.how <= 2; ++hunger.how) {
        expect_status(HDP_ERR_MEMORY, go(&own));
        expect_ok(hdp_error_get(&error));
        expect_number(1, error.member, "whose");
        expect_number(HDP_RETRY, error.severity, "severity");
        if (hunger.how == 1)
            expect_number((int64_t)1 << 40, error.wanted_bytes, "bytes");
        expect_number(hunger.how, hunger.calls[0], "calls of the other");
    }
    hunger.how = 0;
    expect_ok(go(&own));
    expect_copied(&own, "F15");
    scene_close(&own.scene);
    gpus_end("F15");
}

/* ---- F24, F25 ------------------------------------------------------------- */

static void streams_and_events_that_cannot_be_made(void **state)
{
    static const char *const sites[] = { "fail=cudaStreamCreateWithFlags:2",
                                         "fail=cudaEventCreateWithFlags:3",
                                         "fail=cudaEventRecord:2",
                                         "fail=cudaSetDevice:2" };
    static const int64_t items[] = { ROWS / 2, ROWS / 2 };
    struct scenario own;
    hdp_status status;

    (void)state;
    for (size_t i = 0; i < sizeof sites / sizeof *sites; ++i) {
        gpus_start("machine=desk");
        memset(&own, 0, sizeof own);
        expect_ok(hdp_context_create(&own.scene.context, NULL));
        expect_ok(hdp_plan_create(&own.scene.plan, items, 2));
        expect_number(0, fake_plant(sites[i]), "planted");
        own.arrays[0] = gpus_array(own.in, 4, 0);
        own.arrays[1] = gpus_array(own.out, 4, 0);
        own.work = gpus_work(gpus_copy, &own.arrays[0], &own.arrays[1]);
        for (int round = 0; round < 2; ++round) {
            status = hdp_group_create_spec(&own.scene.group, own.scene.context,
                                           "cuda:0,1", NULL);
            if (status == HDP_OK)
                status = go(&own);
            if (round == 0 && status == HDP_OK)
                fail_msg("%s: expected a failure", sites[i]);
            if (status != HDP_OK && status != HDP_ERR_MEMORY &&
                status != HDP_ERR_DEVICE && status != HDP_ERR_BUSY &&
                status != HDP_ERR_INTERNAL)
                fail_msg("%s: got %s", sites[i], hdp_status_string(status));
            if (round == 1)
                expect_number(HDP_OK, status, "%s: the second time", sites[i]);
            hdp_group_destroy(own.scene.group);
            own.scene.group = NULL;
        }
        scene_close(&own.scene);
        gpus_end(sites[i]);
    }
}

static void peer_access_refused_or_on(void **state)
{
    struct scenario own;

    (void)state;
    for (int i = 0; i < 2; ++i) {
        gpus_start(i == 0 ? "machine=lab peer=refuse:0-1" : "machine=lab");
        if (i == 1) {
            expect_cuda(cudaSetDevice(0));
            expect_cuda(cudaDeviceEnablePeerAccess(1, 0));
        }
        open_scenario(&own, HDP_THREADS_MEMBER);
        own.arrays[0].data = gpus_alloc(0, own.in, sizeof own.in);
        expect_ok(go(&own));
        expect_copied(&own, "F24");
        expect_cuda(cudaFree(own.arrays[0].data));
        scene_close(&own.scene);
        gpus_end("F24");
    }
}

/* ---- what is free --------------------------------------------------------- */

/* The driver is asked when memory was given out or has run out, and each second
 * in between, so that no steady step waits for its answer. */
static void steady_steps_ask_nothing(void **state)
{
    enum { STEPS = 200, SECOND_NS = 1000000000 };
    const char *call = "cudaMemGetInfo";
    struct scenario own;
    int64_t calls, begin_ns, seconds;

    (void)state;
    for (int32_t threads = HDP_THREADS_MEMBER; threads <= HDP_THREADS_CALLER;
         ++threads) {
        gpus_start("machine=desk");
        open_scenario(&own, threads);
        begin_ns = now_ns();
        expect_ok(go(&own));
        expect_number(2, fake_calls(call), "one question a member");
        for (int i = 0; i < STEPS; ++i)
            expect_ok(go(&own));
        expect_copied(&own, "steady");
        seconds = (now_ns() - begin_ns) / SECOND_NS;
        if (fake_calls(call) > 2 + 2 * seconds)
            fail_msg("%s: %lld calls of two members in %d steps and %lld s",
                     call, (long long)fake_calls(call), STEPS + 1,
                     (long long)seconds);
        calls = fake_calls(call);
        expect_number(0, fake_plant("fail=cudaMemcpyAsync:1:2"), "planted");
        expect_status(HDP_ERR_MEMORY, go(&own));
        if (fake_calls(call) <= calls)
            fail_msg("nobody asked what is free once it was not enough");
        scene_close(&own.scene);
        gpus_end("steady");
    }
}

/* ---- groups that come and go ---------------------------------------------- */

static void a_thousand_rounds(void **state)
{
    struct scenario own;
    hdp_group *group = NULL;

    (void)state;
    gpus_start("machine=desk");
    open_scenario(&own, HDP_THREADS_MEMBER);
    hdp_group_destroy(own.scene.group);
    own.scene.group = NULL;
    for (int i = 0; i < 1000; ++i) {
        expect_ok(
            hdp_group_create_spec(&group, own.scene.context, "cuda:0,1", NULL));
        own.scene.group = group;
        expect_ok(go(&own));
        hdp_group_destroy(group);
        own.scene.group = NULL;
        if (fake_alive()[0])
            fail_msg("round %d: alive: %s", i, fake_alive());
    }
    expect_number(2, fake_contexts(-1), "contexts");
    scene_close(&own.scene);
    gpus_end("1,000 rounds");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(out_of_memory_and_on),
        cmocka_unit_test(the_programs_own_error_stays),
        cmocka_unit_test(memory_that_others_took),
        cmocka_unit_test(what_was_allowed),
        cmocka_unit_test(pageable_where_nothing_can_be_pinned),
        cmocka_unit_test(out_of_memory_in_the_function),
        cmocka_unit_test(streams_and_events_that_cannot_be_made),
        cmocka_unit_test(peer_access_refused_or_on),
        cmocka_unit_test(steady_steps_ask_nothing),
        cmocka_unit_test(a_thousand_rounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
