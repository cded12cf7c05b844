/* Streams that the caller lends: used as they are, refused where they cannot be,
 * ordered against arrays, and his again once the functions have returned. */
#include "gpus.h"

enum { ROWS = 10 };

static hdp_status create(hdp_group **out, hdp_context *context,
                         const char *spec, void *first, void *second)
{
    void *streams[] = { first, second };
    const hdp_group_options options = { .size = sizeof options,
                                        .streams = streams };

    *out = NULL;
    return hdp_group_create_spec(out, context, spec, &options);
}

static cudaStream_t stream_of(int device)
{
    cudaStream_t stream = NULL;

    expect_cuda(cudaSetDevice(device));
    expect_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    expect_cuda(cudaSetDevice(0));
    return stream;
}

static void refused_at_create(void **state)
{
    hdp_context *context = NULL;
    hdp_group *group;
    cudaGraph_t graph = NULL;
    cudaStream_t zero, one;
    int64_t contexts;

    (void)state;
    gpus_start("machine=desk");
    zero = stream_of(0);
    one = stream_of(1);
    contexts = fake_contexts(-1);
    expect_ok(hdp_context_create(&context, NULL));
    expect_status(HDP_ERR_ARGUMENT,
                  create(&group, context, "cuda:0,1", one, zero));
    if (!strstr(hdp_last_error(), "member 0") ||
        !strstr(hdp_last_error(), "another device"))
        fail_msg("expected member and reason, got: %s", hdp_last_error());
    expect_status(HDP_ERR_ARGUMENT,
                  create(&group, context, "cuda:0,1", NULL, zero));
    expect_status(HDP_ERR_ARGUMENT, create(&group, context, "cuda:0,1",
                                           cudaStreamPerThread, NULL));
    expect_status(
        HDP_ERR_ARGUMENT,
        create(&group, context, "host:0/threads=1+cuda:0", zero, NULL));
    expect_cuda(cudaStreamBeginCapture(zero, cudaStreamCaptureModeRelaxed));
    expect_status(HDP_ERR_STATE,
                  create(&group, context, "cuda:0,1", zero, one));
    expect_cuda(cudaStreamEndCapture(zero, &graph));
    expect_number(contexts, fake_contexts(-1), "contexts");
    expect_cuda(cudaStreamDestroy(zero));
    expect_cuda(cudaStreamDestroy(one));
    hdp_context_destroy(context);
    gpus_end("refused");
}

/* ---- used ----------------------------------------------------------------- */

struct seen {
    void *stream[2];
};

static int32_t note_stream(const hdp_shard *shard, void *user)
{
    struct seen *own = user;

    own->stream[shard->member] = shard->stream;
    return gpus_copy(shard, NULL);
}

static void used_as_they_are(void **state)
{
    static const int64_t items[] = { 4, 6 };
    unsigned char in[ROWS], out[ROWS];
    hdp_array input = gpus_array(in, 1, 0), output = gpus_array(out, 1, 0);
    hdp_work work = gpus_work(note_stream, &input, &output);
    struct scene scene = { 0 };
    struct seen seen = { { NULL, NULL } };
    cudaGraph_t graph = NULL;
    cudaStream_t one;
    void *got = NULL;

    (void)state;
    gpus_start("machine=desk");
    one = stream_of(1);
    expect_ok(hdp_context_create(&scene.context, NULL));
    expect_ok(
        create(&scene.group, scene.context, "cuda:0,1", cudaStreamLegacy, one));
    expect_ok(hdp_plan_create(&scene.plan, items, 2));
    for (int i = 0; i < ROWS; ++i)
        in[i] = (unsigned char)(i + 1);
    work.user = &seen;
    expect_ok(hdp_run(NULL, scene.group, scene.plan, &work));
    expect_number(0, memcmp(in, out, ROWS), "the rows differ");
    assert_ptr_equal(cudaStreamLegacy, seen.stream[0]);
    assert_ptr_equal(one, seen.stream[1]);
    expect_ok(hdp_group_stream(&got, scene.group, 1));
    assert_ptr_equal(one, got);

    /* it may begin to capture later: refused before anything happens */
    expect_cuda(cudaSetDevice(1));
    expect_cuda(cudaStreamBeginCapture(one, cudaStreamCaptureModeRelaxed));
    seen.stream[0] = NULL;
    expect_status(HDP_ERR_STATE, hdp_run(NULL, scene.group, scene.plan, &work));
    assert_null(seen.stream[0]);
    expect_cuda(cudaStreamEndCapture(one, &graph));
    expect_ok(hdp_run(NULL, scene.group, scene.plan, &work));
    scene_close(&scene);
    expect_cuda(cudaStreamDestroy(one));
    expect_cuda(cudaSetDevice(0));
    gpus_end("lent");
}

/* ---- arrays --------------------------------------------------------------- */

/* What a stream still has to do to an input comes first, whosever it is. */
static void arrays_in_stream_order(void **state)
{
    static const int64_t items[] = { 4, 6 };
    unsigned char before[ROWS] = { 0 }, *in, out[ROWS];
    hdp_array input, output = gpus_array(out, 1, 0);
    hdp_work work;
    struct scene scene;
    cudaStream_t stream;
    uint64_t step = 0;
    void *data, *pinned = NULL;

    (void)state;
    gpus_start("machine=desk run=threads");
    gpus_open(&scene, "cuda:0,1", items, 2, HDP_THREADS_MEMBER);
    expect_cuda(cudaHostAlloc(&pinned, ROWS, cudaHostAllocDefault));
    in = pinned;
    for (int i = 0; i < ROWS; ++i)
        in[i] = (unsigned char)(i + 1);
    data = gpus_alloc(1, before, ROWS);
    stream = stream_of(1);
    input = gpus_array(data, 1, 0);
    input.stream = stream;
    work = gpus_work(gpus_copy, &input, &output);
    expect_cuda(cudaLaunchHostFunc(stream, gpus_dawdle, NULL));
    expect_cuda(cudaMemcpyAsync(data, in, ROWS, cudaMemcpyDefault, stream));
    expect_ok(hdp_run_async(&step, scene.group, scene.plan, &work));
    expect_ok(hdp_group_wait(NULL, scene.group, step));
    expect_number(0, memcmp(in, out, ROWS), "the rows differ");
    input.stream = cudaStreamPerThread;
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_run(NULL, scene.group, scene.plan, &work));
    if (!strstr(hdp_last_error(), "inputs[0]"))
        fail_msg("expected the place, got: %s", hdp_last_error());
    expect_cuda(cudaStreamSynchronize(stream));
    expect_cuda(cudaFree(data));
    expect_cuda(cudaFreeHost(pinned));
    expect_cuda(cudaStreamDestroy(stream));
    scene_close(&scene);
    gpus_end("arrays");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_at_create),
        cmocka_unit_test(used_as_they_are),
        cmocka_unit_test(arrays_in_stream_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
