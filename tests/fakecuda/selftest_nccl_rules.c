/* Rules of NCCL that fail a test when they are broken, each broken here. */
#include <pthread.h>
#include "selftest_nccl.h"

static const char *const two = "machine=twin";
static struct ranks ranks;

/* A new process with two ranks. */
static void open_two(void)
{
    begin(two);
    ranks_open(&ranks, 2, 256);
}

static ncclResult_t sum_of(int r, size_t count, ncclDataType_t type,
                           ncclRedOp_t op)
{
    return ncclAllReduce(ranks.send[r], ranks.recv[r], count, type, op,
                         ranks.comm[r], ranks.stream[r]);
}

/* ---- what a group must not hold ------------------------------------------- */

static void in_a_group(int what)
{
    cudaStream_t stream;
    void *memory = NULL, *old;

    open_two();
    old = device_memory(64);
    OK(ncclGroupStart());
    OK(sum_of(0, 1, ncclFloat32, ncclSum));
    assert_null(fake_breach());
    switch (what) {
    case 0:
        (void)cudaMalloc(&memory, 64);
        break;
    case 1:
        (void)cudaFree(old);
        break;
    case 2:
        (void)cudaDeviceSynchronize();
        break;
    case 3:
        (void)cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        break;
    case 4:
        (void)cudaHostAlloc(&memory, 64, 0);
        break;
    default:
        (void)ncclMemAlloc(&memory, 64);
        break;
    }
    broke("between ncclGroupStart and ncclGroupEnd");
    OK(ncclGroupEnd());
}

static void test_groups(void **state)
{
    (void)state;
    for (int what = 0; what < 6; what++)
        in_a_group(what);
    open_two(); /* others may, and outside */
    OK(ncclGroupStart());
    OK(cudaStreamQuery(ranks.stream[0]));
    OK(cudaSetDevice(1));
    OK(ncclGroupEnd());
    OK(cudaFree(device_memory(64)));
    ranks_close(&ranks);
    end();
}

static void test_mixed_group(void **state)
{
    ncclComm_t comm;
    ncclUniqueId id;

    (void)state;
    open_two();
    OK(ncclGetUniqueId(&id));
    OK(ncclGroupStart());
    OK(sum_of(0, 1, ncclFloat32, ncclSum));
    OK(ncclCommInitRank(&comm, 1, id, 0));
    SAYS(ncclInvalidUsage, ncclGroupEnd());
    broke("both makes communicators");
}

/* ---- ranks that differ ---------------------------------------------------- */

static void test_ranks_differ(void **state)
{
    static const struct {
        size_t count;
        ncclDataType_t type;
        ncclRedOp_t op;
    } others[] = { { 2, ncclFloat32, ncclSum },
                   { 1, ncclInt32, ncclSum },
                   { 1, ncclFloat32, ncclMax } };

    (void)state;
    for (int i = 0; i < 3; i++) {
        open_two();
        OK(sum_of(0, 1, ncclFloat32, ncclSum));
        OK(sum_of(1, others[i].count, others[i].type, others[i].op));
        broke("rank 0 says ncclAllReduce of 1");
        ranks_finish(&ranks); /* nobody hangs */
    }
    open_two();
    OK(sum_of(0, 1, ncclFloat32, ncclSum));
    OK(ncclBroadcast(ranks.send[1], ranks.recv[1], 1, ncclFloat32, 0,
                     ranks.comm[1], ranks.stream[1]));
    broke("ncclBroadcast");
    open_two();
    for (int r = 0; r < 2; r++)
        OK(ncclBroadcast(ranks.send[r], ranks.recv[r], 1, ncclFloat32, r,
                         ranks.comm[r], ranks.stream[r]));
    broke("root 1");
    open_two();
    OK(ncclGroupStart());
    OK(sum_of(0, 1, ncclFloat32, ncclSum));
    OK(sum_of(0, 1, ncclFloat32, ncclSum));
    OK(sum_of(1, 1, ncclFloat32, ncclSum));
    OK(ncclGroupEnd());
    broke("operations in its group");
    open_two();
    OK(ncclGroupStart());
    for (int r = 0; r < 2; r++) { /* the other way round */
        OK(sum_of(r, r == 0 ? 1 : 2, ncclFloat32, ncclSum));
        OK(sum_of(r, r == 0 ? 2 : 1, ncclFloat32, ncclSum));
    }
    OK(ncclGroupEnd());
    broke("rank 0 says ncclAllReduce of 1");
}

/* ---- ends ----------------------------------------------------------------- */

static void test_after_the_end(void **state)
{
    ncclRedOp_t op;
    float weight = 0.5f;

    (void)state;
    open_two();
    OK(ncclCommAbort(ranks.comm[0]));
    SAYS(ncclInvalidArgument, sum_of(0, 1, ncclFloat32, ncclSum));
    broke("a communicator was used after its end");
    open_two();
    OK(ncclCommDestroy(ranks.comm[0]));
    SAYS(ncclInvalidArgument, ncclCommDestroy(ranks.comm[0]));
    broke("a communicator was used after its end");
    open_two();
    OK(ncclCommFinalize(ranks.comm[0]));
    SAYS(ncclInvalidUsage, sum_of(0, 1, ncclFloat32, ncclSum));
    broke("finalized");
    open_two();
    OK(ncclRedOpCreatePreMulSum(&op, &weight, ncclFloat32,
                                ncclScalarHostImmediate, ranks.comm[0]));
    assert_non_null(strstr(fake_alive(), "1 reduction operator"));
    OK(ncclRedOpDestroy(op, ranks.comm[0]));
    SAYS(ncclInvalidArgument, sum_of(0, 1, ncclFloat32, op));
    broke("a reduction operator was used");
    open_two();
    OK(ncclRedOpCreatePreMulSum(&op, &weight, ncclFloat32,
                                ncclScalarHostImmediate, ranks.comm[0]));
    SAYS(ncclInvalidArgument, sum_of(1, 1, ncclFloat32, op));
    broke("another communicator");
    open_two();
    OK(ncclRedOpCreatePreMulSum(&op, &weight, ncclFloat32,
                                ncclScalarHostImmediate, ranks.comm[0]));
    OK(ncclRedOpDestroy(op, ranks.comm[0]));
    SAYS(ncclInvalidArgument, ncclRedOpDestroy(op, ranks.comm[0]));
    broke("ended twice");
}

/* ---- buffers and streams -------------------------------------------------- */

static void test_buffers(void **state)
{
    float own[4];

    (void)state;
    open_two();
    SAYS(ncclInvalidArgument,
         ncclAllReduce(own, ranks.recv[0], 4, ncclFloat32, ncclSum,
                       ranks.comm[0], ranks.stream[0]));
    broke("the 16 bytes to send are no memory");
    open_two();
    SAYS(ncclInvalidArgument, sum_of(0, 65, ncclFloat32, ncclSum));
    broke("the 260 bytes to send");
    open_two();
    SAYS(ncclInvalidArgument,
         ncclAllReduce(ranks.send[0], ranks.recv[1], 4, ncclFloat32, ncclSum,
                       ranks.comm[0], ranks.stream[0]));
    broke("to receive are no memory of rank 0's device 0");
    open_two();
    SAYS(ncclUnhandledCudaError,
         ncclAllReduce(ranks.send[0], ranks.recv[0], 4, ncclFloat32, ncclSum,
                       ranks.comm[0], ranks.stream[1]));
    broke("its stream on device 1");
    open_two();
    OK(ranks_sum(&ranks, 4, ncclFloat32, ncclSum));
    OK(cudaSetDevice(0));
    OK(cudaFree(ranks.send[0]));
    broke("before the stream");
}

/* ---- threads -------------------------------------------------------------- */

static void *use_one(void *unused)
{
    int count;

    (void)unused;
    (void)ncclCommCount(ranks.comm[0], &count);
    return NULL;
}

static void *finalize_one(void *unused)
{
    (void)unused;
    (void)ncclCommFinalize(ranks.comm[0]);
    return NULL;
}

static void in_a_thread(void *(*function)(void *unused))
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, function, NULL), 0);
    pthread_join(thread, NULL);
}

static void test_two_threads(void **state)
{
    pthread_t thread;

    (void)state;
    open_two();
    in_a_thread(use_one); /* in turn */
    assert_null(fake_breach());
    OK(ncclGroupStart());
    OK(sum_of(0, 1, ncclFloat32, ncclSum));
    in_a_thread(use_one);
    broke("another thread is using rank 0's communicator");
    OK(ncclGroupEnd());
    open_two();
    OK(sum_of(0, 1, ncclFloat32, ncclSum)); /* its finalizing waits */
    assert_int_equal(pthread_create(&thread, NULL, finalize_one, NULL), 0);
    while (fake_calls("ncclCommFinalize") == 0)
        ;
    in_a_thread(use_one);
    broke("another thread is using rank 0's communicator");
    OK(ncclCommAbort(ranks.comm[0])); /* which any thread may */
    pthread_join(thread, NULL);
}

static void *abort_one(void *unused)
{
    (void)unused;
    (void)ncclCommAbort(ranks.comm[0]);
    return NULL;
}

static void test_abort_in_a_group(void **state)
{
    (void)state;
    open_two();
    OK(ncclGroupStart());
    OK(sum_of(0, 1, ncclFloat32, ncclSum));
    in_a_thread(abort_one);
    broke("a group that is open names rank 0's communicator");
    OK(ncclGroupEnd());
    OK(cudaStreamQuery(ranks.stream[0]));
}

static void test_ids(void **state)
{
    ncclComm_t comm[2];
    ncclUniqueId id;

    (void)state;
    begin(two);
    OK(cudaSetDevice(0));
    OK(ncclGetUniqueId(&id));
    OK(ncclCommInitRank(&comm[0], 1, id, 0));
    SAYS(ncclInvalidUsage, ncclCommInitRank(&comm[1], 1, id, 0));
    broke("a unique id was used twice");
    OK(ncclCommDestroy(comm[0]));
    assert_string_equal(fake_alive(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_mixed_group),
        cmocka_unit_test(test_ranks_differ),
        cmocka_unit_test(test_after_the_end),
        cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_two_threads),
        cmocka_unit_test(test_abort_in_a_group),
        cmocka_unit_test(test_ids),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
