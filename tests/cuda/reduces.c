/* Tensors on GPUs reduce as those of hosts do: weights, in place or not, members
 * without items, hosts between them, NaN in what failed; on any stream. */
#include <math.h>
#include "gpus.h"

enum { MEMBERS_MAX = 3, ELEMENTS = 5000 };

/* One tensor a member, f32, on its device; of a host member on the host. */
struct tensors {
    int32_t count;
    int device[MEMBERS_MAX]; /* -1: the host */
    float value[MEMBERS_MAX][ELEMENTS];
    void *send[MEMBERS_MAX], *recv[MEMBERS_MAX];
    int64_t elements;
};

static void *place(struct tensors *own, int32_t m, const float *value)
{
    size_t bytes = (size_t)own->elements * sizeof *value;
    void *memory;

    if (own->device[m] >= 0)
        return gpus_alloc(own->device[m], value, bytes);
    memory = malloc(bytes);
    memcpy(memory, value, bytes);
    return memory;
}

static void displace(struct tensors *own, int32_t m, void *memory)
{
    if (own->device[m] >= 0)
        expect_cuda(cudaFree(memory));
    else
        free(memory);
}

/* Member m has 8 * m + 1 + (i mod 4): sums and means of few of them are exact. */
static void tensors_open(struct tensors *own, const int *devices, int32_t count)
{
    static float blank[ELEMENTS];

    memset(own, 0, sizeof *own);
    own->count = count;
    own->elements = ELEMENTS;
    for (int32_t m = 0; m < count; ++m) {
        own->device[m] = devices[m];
        for (int i = 0; i < ELEMENTS; ++i)
            own->value[m][i] = (float)(8 * m + 1 + i % 4);
        own->send[m] = place(own, m, own->value[m]);
        own->recv[m] = place(own, m, blank);
    }
}

static void tensors_close(struct tensors *own)
{
    for (int32_t m = 0; m < own->count; ++m) {
        displace(own, m, own->send[m]);
        displace(own, m, own->recv[m]);
    }
}

static hdp_buffers bucket_of(struct tensors *own, int32_t op, int in_place)
{
    const hdp_buffers bucket = { .size = sizeof bucket,
                                 .dtype = HDP_F32,
                                 .op = op,
                                 .tensor_count = 1,
                                 .elements = &own->elements,
                                 .send = in_place
                                             ? NULL
                                             : (const void *const *)own->send,
                                 .recv = in_place ? own->send : own->recv };

    return bucket;
}

/* Every member has `base` + (i mod 4); NAN: no numbers at all. */
static void expect_tensor(struct tensors *own, void *const *recv, double base,
                          const char *when)
{
    static float got[ELEMENTS];

    for (int32_t m = 0; m < own->count; ++m) {
        gpus_read(got, recv[m], sizeof got);
        for (int i = 0; i < ELEMENTS; ++i) {
            double want = base + i % 4;
            if (isnan(base) ? isnan(got[i]) : (double)got[i] == want)
                continue;
            fail_msg("%s: member %d, element %d: expected %g, got %g", when,
                     (int)m, i, want, (double)got[i]);
        }
    }
}

/* ---- groups of every kind ------------------------------------------------- */

struct kind {
    const char *spec;
    int32_t count;
    int devices[MEMBERS_MAX];
};

static const struct kind kinds[] = {
    { "cuda:0-2", 3, { 0, 1, 2 } },
    { "cuda:2,0,1", 3, { 2, 0, 1 } },
    { "host:0/threads=1+cuda:1+cuda:0", 3, { -1, 1, 0 } },
    { "cuda:1+host:0/threads=1+sim:0", 3, { 1, -1, -1 } },
    { "cuda:1", 1, { 1, 0, 0 } },
};

static void try_kind(const struct kind *kind, int32_t threads)
{
    static const int64_t items[] = { 2, 0, 6 };
    static struct tensors own;
    struct scene scene;
    hdp_buffers bucket;
    int alone = kind->count == 1;

    gpus_open(&scene, kind->spec, items, kind->count, threads);
    tensors_open(&own, kind->devices, kind->count);
    bucket = bucket_of(&own, HDP_OP_MEAN, 0);
    expect_ok(hdp_all_reduce(scene.group, scene.plan, &bucket));
    expect_tensor(&own, own.recv, alone ? 1 : (2 * 1 + 6 * 17) / 8.0, "mean");
    bucket = bucket_of(&own, HDP_OP_MAX, 0);
    expect_ok(hdp_all_reduce(scene.group, NULL, &bucket));
    expect_tensor(&own, own.recv, alone ? 1 : 17, "max");
    bucket = bucket_of(&own, HDP_OP_MEAN, 0);
    expect_ok(hdp_broadcast(scene.group, kind->count - 1, &bucket));
    expect_tensor(&own, own.recv, alone ? 1 : 17, "broadcast");
    bucket = bucket_of(&own, HDP_OP_MEAN, 1);
    expect_ok(hdp_all_reduce(scene.group, scene.plan, &bucket));
    expect_tensor(&own, own.send, alone ? 1 : 13, "mean in place");
    expect_ok(hdp_group_trim(scene.group));
    expect_ok(hdp_broadcast(scene.group, 0, &bucket));
    expect_tensor(&own, own.send, alone ? 1 : 13, "broadcast in place");
    tensors_close(&own);
    scene_close(&scene);
}

static void every_kind(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k)
        for (int32_t threads = HDP_THREADS_MEMBER;
             threads <= HDP_THREADS_CALLER; ++threads) {
            gpus_start("machine=desk");
            try_kind(&kinds[k], threads);
            gpus_end(kinds[k].spec);
        }
}

/* A member without items contributes nothing, whatever it holds. */
static void weight_zero_is_nothing(void **state)
{
    static const int devices[] = { 0, 1, 2 };
    static const int64_t items[] = { 4, 0, 4 };
    static float nothing[ELEMENTS];
    static struct tensors own;
    struct scene scene;
    hdp_buffers bucket;

    (void)state;
    gpus_start("machine=desk");
    gpus_open(&scene, "cuda:0-2", items, 3, HDP_THREADS_MEMBER);
    tensors_open(&own, devices, 3);
    for (int i = 0; i < ELEMENTS; ++i)
        nothing[i] = NAN;
    expect_cuda(
        cudaMemcpy(own.send[1], nothing, sizeof nothing, cudaMemcpyDefault));
    bucket = bucket_of(&own, HDP_OP_MEAN, 0);
    expect_ok(hdp_all_reduce(scene.group, scene.plan, &bucket));
    expect_tensor(&own, own.recv, 9, "weight 0");
    tensors_close(&own);
    scene_close(&scene);
    gpus_end("weight 0");
}

/* ---- inside a run --------------------------------------------------------- */

struct inside {
    int32_t bad; /* member that fails; -1: none */
    float first; /* what member 0 read after its join */
    const float *recv;
};

static int32_t reduce_inside(const hdp_shard *shard, void *user)
{
    struct inside *own = user;

    if (shard->member == own->bad)
        return 17;
    if (hdp_shard_all_reduce(shard, 0) != HDP_OK ||
        hdp_shard_join(shard) != HDP_OK)
        return 18;
    if (shard->member == 0 &&
        cudaMemcpyAsync(&own->first, own->recv, sizeof own->first,
                        cudaMemcpyDefault,
                        (cudaStream_t)shard->stream) != cudaSuccess)
        return 19;
    return 0;
}

static void from_inside_the_function(void **state)
{
    static const int devices[] = { 0, 1 };
    static const int64_t items[] = { 2, 6 };
    static struct tensors own;
    struct inside inside = { -1, 0, NULL };
    struct scene scene;
    hdp_work work = gpus_work(reduce_inside, NULL, NULL);
    hdp_buffers bucket;
    hdp_error error = { .size = sizeof error };

    (void)state;
    gpus_start("machine=twin");
    gpus_open(&scene, "cuda:0,1", items, 2, HDP_THREADS_MEMBER);
    tensors_open(&own, devices, 2);
    bucket = bucket_of(&own, HDP_OP_MEAN, 0);
    work.buckets = &bucket;
    work.bucket_count = 1;
    work.user = &inside;
    inside.recv = own.recv[0];
    expect_ok(hdp_run(NULL, scene.group, scene.plan, &work));
    expect_tensor(&own, own.recv, 7, "inside");
    expect_number(7, (int64_t)inside.first, "what follows the join");

    /* F17: the others are drained, nothing that is left looks like a result */
    inside.bad = 1;
    expect_status(HDP_ERR_CALLBACK,
                  hdp_run(NULL, scene.group, scene.plan, &work));
    expect_ok(hdp_error_get(&error));
    expect_number(17, error.user_code, "the function's code");
    expect_number(1, error.member, "who failed");
    expect_tensor(&own, own.recv, NAN, "failed");
    inside.bad = -1;
    expect_ok(hdp_run(NULL, scene.group, scene.plan, &work));
    expect_tensor(&own, own.recv, 7, "again");
    tensors_close(&own);
    scene_close(&scene);
    gpus_end("F17");
}

/* No host memory to stage in, pinned or not: the tensors say so themselves. */
static void what_cannot_be_staged_is_nan(void **state)
{
    static const int devices[] = { 0, 1 };
    static const int64_t items[] = { 2, 6 };
    static struct tensors own;
    struct scene scene;
    hdp_buffers bucket;

    (void)state;
    gpus_start("machine=twin");
    gpus_open(&scene, "cuda:0,1", items, 2, HDP_THREADS_MEMBER);
    tensors_open(&own, devices, 2);
    bucket = bucket_of(&own, HDP_OP_MEAN, 0);
    expect_ok(hdp_all_reduce(scene.group, scene.plan, &bucket));
    /* device to host is what fails, on whichever member comes second */
    expect_number(0, fake_plant("fail=cudaMemcpyAsync:2"), "planted");
    expect_status(HDP_ERR_INTERNAL,
                  hdp_all_reduce(scene.group, scene.plan, &bucket));
    fake_calm();
    expect_tensor(&own, own.recv, NAN, "copy refused");
    expect_ok(hdp_all_reduce(scene.group, scene.plan, &bucket));
    expect_tensor(&own, own.recv, 7, "afterwards");
    tensors_close(&own);
    scene_close(&scene);
    gpus_end("staging");
}

/* ---- streams of the caller's ---------------------------------------------- */

struct streamed {
    struct tensors tensors;
    struct scene scene;
    cudaStream_t streams[2];
    void *lent[2], *pinned[2];
    hdp_buffers bucket;
};

/* Each stream is still to write what its member sends: the other's values. */
static void streams_open(struct streamed *own)
{
    static const int devices[] = { 0, 1 };
    static const int64_t items[] = { 2, 6 };
    struct tensors *tensors = &own->tensors;
    size_t bytes = sizeof tensors->value[0];

    gpus_start("machine=twin run=threads");
    gpus_open(&own->scene, "cuda:0,1", items, 2, HDP_THREADS_MEMBER);
    tensors_open(tensors, devices, 2);
    for (int m = 0; m < 2; ++m) {
        expect_cuda(cudaSetDevice(m));
        expect_cuda(
            cudaStreamCreateWithFlags(&own->streams[m], cudaStreamNonBlocking));
        expect_cuda(
            cudaHostAlloc(&own->pinned[m], bytes, cudaHostAllocDefault));
        memcpy(own->pinned[m], tensors->value[1 - m], bytes);
        expect_cuda(cudaLaunchHostFunc(own->streams[m], gpus_dawdle, NULL));
        expect_cuda(cudaMemcpyAsync(tensors->send[m], own->pinned[m], bytes,
                                    cudaMemcpyDefault, own->streams[m]));
        own->lent[m] = own->streams[m];
    }
    own->bucket = bucket_of(tensors, HDP_OP_MEAN, 0);
    own->bucket.streams = own->lent;
}

static void streams_close(struct streamed *own)
{
    for (int m = 0; m < 2; ++m) {
        expect_cuda(cudaStreamSynchronize(own->streams[m]));
        expect_cuda(cudaStreamDestroy(own->streams[m]));
        expect_cuda(cudaFreeHost(own->pinned[m]));
    }
    tensors_close(&own->tensors);
    scene_close(&own->scene);
    expect_cuda(cudaSetDevice(0));
    gpus_end("streams");
}

static void after_what_streams_hold(void **state)
{
    static struct streamed own;
    uint64_t step = 0;

    (void)state;
    streams_open(&own);
    expect_ok(hdp_all_reduce_async(&step, own.scene.group, own.scene.plan,
                                   &own.bucket));
    for (int m = 0; m < 2; ++m)
        expect_ok(hdp_group_order(own.scene.group, step, m, own.streams[m]));
    expect_tensor(&own.tensors, own.tensors.recv, (2 * 9 + 6 * 1) / 8.0,
                  "in stream order");
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_group_order(own.scene.group, step, 0, own.streams[1]));
    streams_close(&own);
}

static void streams_that_cannot_be_used(void **state)
{
    static struct streamed own;
    cudaStream_t capturing;
    cudaGraph_t graph = NULL;

    (void)state;
    streams_open(&own);
    own.lent[0] = own.streams[1]; /* of the other device */
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_all_reduce(own.scene.group, own.scene.plan, &own.bucket));
    if (!strstr(hdp_last_error(), "bucket 0: streams[0]"))
        fail_msg("expected the place, got: %s", hdp_last_error());
    own.lent[0] = cudaStreamPerThread;
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_all_reduce(own.scene.group, own.scene.plan, &own.bucket));
    expect_cuda(cudaSetDevice(0));
    expect_cuda(cudaStreamCreateWithFlags(&capturing, cudaStreamNonBlocking));
    expect_cuda(
        cudaStreamBeginCapture(capturing, cudaStreamCaptureModeRelaxed));
    own.lent[0] = capturing;
    expect_status(HDP_ERR_STATE,
                  hdp_all_reduce(own.scene.group, own.scene.plan, &own.bucket));
    own.lent[0] = cudaStreamLegacy;
    expect_ok(hdp_all_reduce(own.scene.group, own.scene.plan, &own.bucket));
    (void)cudaStreamEndCapture(capturing, &graph); /* the graph is empty */
    expect_cuda(cudaStreamDestroy(capturing));
    streams_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind),
        cmocka_unit_test(weight_zero_is_nothing),
        cmocka_unit_test(from_inside_the_function),
        cmocka_unit_test(what_cannot_be_staged_is_nan),
        cmocka_unit_test(after_what_streams_hold),
        cmocka_unit_test(streams_that_cannot_be_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
