/* Communicators from their making to their end: ids, calls that do not block,
 * aborting, splitting, shrinking. */
#include "selftest_nccl.h"

static const char *const four = "machine=twin copies=2";

static void set_ranks(const struct ranks *ranks)
{
    for (int r = 0; r < ranks->count; r++)
        ((float *)bytes_of(ranks->send[r]))[0] = (float)(1 << r);
}

static float result_of(const struct ranks *ranks, int r)
{
    return ((float *)bytes_of(ranks->recv[r]))[0];
}

static ncclResult_t sum_on(const struct ranks *ranks, int r, ncclComm_t comm)
{
    return ncclAllReduce(ranks->send[r], ranks->recv[r], 1, ncclFloat32,
                         ncclSum, comm, ranks->stream[r]);
}

/* ---- making --------------------------------------------------------------- */

static void test_by_id(void **state)
{
    ncclUniqueId id, other;
    ncclComm_t comm[2];
    int number = -1;

    (void)state;
    begin(four);
    OK(ncclGetUniqueId(&id));
    OK(ncclGetUniqueId(&other));
    assert_memory_not_equal(&id, &other, sizeof id);
    OK(ncclGroupStart());
    for (int r = 0; r < 2; r++) {
        OK(cudaSetDevice(3 - r));
        OK(ncclCommInitRank(&comm[r], 2, id, r));
    }
    OK(ncclGroupEnd());
    OK(ncclCommCount(comm[1], &number));
    assert_int_equal(number, 2);
    OK(ncclCommUserRank(comm[1], &number));
    assert_int_equal(number, 1);
    OK(ncclCommCuDevice(comm[1], &number));
    assert_int_equal(number, 2);
    assert_string_equal(fake_alive(), "2 communicators");
    for (int r = 0; r < 2; r++) {
        OK(ncclCommFinalize(comm[r]));
        OK(ncclCommDestroy(comm[r]));
    }
    end();
}

static void test_memory_comes_back(void **state)
{
    ncclComm_t comm[2];
    int64_t before, during;

    (void)state;
    begin(four);
    OK(cudaSetDevice(0));
    before = fake_free_bytes(0);
    OK(ncclCommInitAll(comm, 2, NULL));
    during = fake_free_bytes(0);
    assert_true(during < before);
    OK(ncclCommDestroy(comm[0]));
    OK(ncclCommAbort(comm[1]));
    assert_int_equal(fake_free_bytes(0), before);
    end();
}

static void test_refused(void **state)
{
    const int twice[] = { 0, 1, 0 }, absent[] = { 0, 9 };
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclComm_t comm[3] = { NULL };
    ncclUniqueId id;

    (void)state;
    begin(four);
    SAYS(ncclInvalidUsage, ncclCommInitAll(comm, 3, twice));
    SAYS(ncclUnhandledCudaError, ncclCommInitAll(comm, 2, absent));
    SAYS(ncclInvalidArgument, ncclCommInitAll(comm, 0, NULL));
    OK(ncclGetUniqueId(&id));
    SAYS(ncclInvalidArgument, ncclCommInitRank(comm, 2, id, 2));
    config.minCTAs = 4;
    config.maxCTAs = 2;
    SAYS(ncclInvalidArgument, ncclCommInitRankConfig(comm, 1, id, 0, &config));
    config.magic = 0;
    SAYS(ncclInvalidArgument, ncclCommInitRankConfig(comm, 1, id, 0, &config));
    OK(cudaSetDevice(1)); /* two ranks on one GPU */
    OK(ncclGroupStart());
    OK(ncclCommInitRank(&comm[0], 2, id, 0));
    OK(ncclCommInitRank(&comm[1], 2, id, 1));
    SAYS(ncclInvalidUsage, ncclGroupEnd());
    assert_non_null(strstr(ncclGetLastError(NULL), "both on the GPU"));
    assert_null(comm[0]);
    assert_null(comm[1]);
    end();
}

/* ---- calls that do not block ---------------------------------------------- */

static void open_polled(struct ranks *ranks, int count)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;

    memset(ranks, 0, sizeof *ranks);
    ranks->count = count;
    config.blocking = 0;
    OK(ncclGetUniqueId(&id));
    OK(ncclGroupStart());
    for (int r = 0; r < count; r++) {
        OK(cudaSetDevice(r));
        OK(ncclCommInitRankConfig(&ranks->comm[r], count, id, r, &config));
    }
    SAYS(ncclInProgress, ncclGroupEnd());
    for (int r = 0; r < count; r++) {
        assert_true(polled(ranks->comm[r]) > 0);
        SAYS(ncclSuccess, async_error(ranks->comm[r]));
        OK(cudaSetDevice(r));
        ranks->stream[r] = new_stream();
        ranks->send[r] = device_memory(64);
        ranks->recv[r] = device_memory(64);
    }
    set_ranks(ranks);
}

static void test_polled(void **state)
{
    struct ranks ranks;

    (void)state;
    begin(four);
    open_polled(&ranks, 3);
    SAYS(ncclInProgress, ranks_sum(&ranks, 1, ncclFloat32, ncclSum));
    for (int r = 0; r < 3; r++) /* nothing is enqueued before the polling */
        OK(cudaStreamQuery(ranks.stream[r]));
    for (int r = 0; r < 3; r++)
        assert_true(polled(ranks.comm[r]) > 0);
    ranks_finish(&ranks);
    for (int r = 0; r < 3; r++)
        assert_true(result_of(&ranks, r) == 7);
    for (int r = 0; r < 3; r++) {
        SAYS(ncclInProgress, ncclCommFinalize(ranks.comm[r]));
        assert_true(polled(ranks.comm[r]) > 0);
        OK(ncclCommDestroy(ranks.comm[r]));
    }
    ranks_free(&ranks);
    end();
}

static void test_never_all(void **state)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclComm_t comm = NULL;
    ncclUniqueId id;

    (void)state;
    begin(four);
    config.blocking = 0;
    OK(ncclGetUniqueId(&id));
    SAYS(ncclInProgress, ncclCommInitRankConfig(&comm, 2, id, 0, &config));
    assert_int_equal(polled(comm), 1000);
    OK(ncclCommAbort(comm));
    end();
}

/* Handles that do not block are the caller's from the call on. */
static void test_a_failing_group(void **state)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclComm_t comm[2] = { NULL };
    ncclUniqueId id;
    int count;

    (void)state;
    begin("machine=twin fail=ncclCommInitRankConfig:2:2");
    config.blocking = 0;
    OK(ncclGetUniqueId(&id));
    OK(ncclGroupStart());
    OK(cudaSetDevice(0));
    OK(ncclCommInitRankConfig(&comm[0], 2, id, 0, &config));
    OK(cudaSetDevice(1));
    SAYS(ncclSystemError, ncclCommInitRankConfig(&comm[1], 2, id, 1, &config));
    SAYS(ncclSystemError, ncclGroupEnd());
    assert_non_null(comm[0]);
    assert_null(comm[1]);
    SAYS(ncclSystemError, async_error(comm[0]));
    SAYS(ncclSystemError, ncclCommCount(comm[0], &count));
    SAYS(ncclSystemError, ncclCommDestroy(comm[0]));
    assert_string_equal(fake_alive(), "1 communicator");
    OK(ncclCommAbort(comm[0]));
    end();
}

static void test_in_progress_is_left_alone(void **state)
{
    struct ranks ranks;
    int count;

    (void)state;
    begin(four);
    open_polled(&ranks, 2);
    SAYS(ncclInProgress, ranks_sum(&ranks, 1, ncclFloat32, ncclSum));
    SAYS(ncclInvalidArgument, ncclCommCount(ranks.comm[0], &count));
    broke("still in progress");
}

/* ---- aborting ------------------------------------------------------------- */

static void test_abort(void **state)
{
    struct ranks ranks;

    (void)state;
    begin(four);
    ranks_open(&ranks, 3, 64);
    set_ranks(&ranks);
    memset(bytes_of(ranks.recv[0]), 0, 64);
    OK(sum_on(&ranks, 0, ranks.comm[0]));
    OK(sum_on(&ranks, 1, ranks.comm[1])); /* rank 2 never comes */
    SAYS(cudaErrorNotReady, cudaStreamQuery(ranks.stream[0]));
    OK(ncclCommAbort(ranks.comm[0]));
    OK(cudaStreamSynchronize(ranks.stream[0]));
    assert_true(isnan(result_of(&ranks, 0)));
    SAYS(cudaErrorNotReady, cudaStreamQuery(ranks.stream[1]));
    OK(ncclCommAbort(ranks.comm[1]));
    OK(ncclCommAbort(ranks.comm[2]));
    OK(cudaSetDevice(0)); /* streams are as good as new */
    OK(cudaMemsetAsync(ranks.recv[0], 0, 64, ranks.stream[0]));
    OK(ncclCommInitAll(ranks.comm, 3, NULL));
    OK(ranks_sum(&ranks, 1, ncclFloat32, ncclSum));
    ranks_finish(&ranks);
    assert_true(result_of(&ranks, 2) == 7);
    ranks_close(&ranks);
    end();
}

static void test_abort_after_poison(void **state)
{
    ncclComm_t comm[2], more[2];
    void *memory;

    (void)state;
    begin(four);
    OK(ncclCommInitAll(comm, 2, NULL));
    OK(fake_plant("sticky=cudaMalloc:1:700"));
    SAYS(cudaErrorIllegalAddress, cudaMalloc(&memory, 64));
    SAYS(ncclUnhandledCudaError, ncclCommInitAll(more, 2, NULL));
    OK(ncclCommAbort(comm[0]));
    OK(ncclCommAbort(comm[1]));
    end();
}

static void test_revoke(void **state)
{
    struct ranks ranks;

    (void)state;
    begin(four);
    ranks_open(&ranks, 2, 64);
    OK(sum_on(&ranks, 0, ranks.comm[0]));
    OK(ncclCommRevoke(ranks.comm[0], 0));
    OK(cudaStreamSynchronize(ranks.stream[0]));
    SAYS(ncclInvalidUsage, ncclCommFinalize(ranks.comm[0]));
    ranks_close(&ranks);
    end();
    begin("machine=twin nccl=2.28.3");
    ranks_open(&ranks, 2, 64);
    SAYS(ncclInvalidUsage, ncclCommRevoke(ranks.comm[0], 0));
    ranks_close(&ranks);
    end();
}

/* ---- children ------------------------------------------------------------- */

static void test_split(void **state)
{
    ncclComm_t part[4] = { NULL };
    struct ranks ranks;
    int number = -1;

    (void)state;
    begin(four);
    ranks_open(&ranks, 4, 64);
    set_ranks(&ranks);
    OK(ncclGroupStart()); /* 3, 0 together in that order; 1 alone; 2 none */
    for (int r = 0; r < 4; r++)
        OK(ncclCommSplit(ranks.comm[r],
                         r == 2   ? NCCL_SPLIT_NOCOLOR
                         : r == 1 ? 5
                                  : 0,
                         10 - r, &part[r], NULL));
    OK(ncclGroupEnd());
    assert_null(part[2]);
    OK(ncclCommUserRank(part[3], &number));
    assert_int_equal(number, 0);
    OK(ncclCommUserRank(part[0], &number));
    assert_int_equal(number, 1);
    OK(ncclCommCount(part[1], &number));
    assert_int_equal(number, 1);
    OK(ncclGroupStart());
    OK(sum_on(&ranks, 0, part[0]));
    OK(sum_on(&ranks, 3, part[3]));
    OK(ncclGroupEnd());
    ranks_finish(&ranks);
    assert_true(result_of(&ranks, 0) == 9);
    assert_true(result_of(&ranks, 3) == 9);
    for (int r = 0; r < 4; r++)
        OK(ncclCommDestroy(part[r]));
    ranks_close(&ranks);
    end();
}

static void test_shrink(void **state)
{
    int without[] = { 1 }, number = -1;
    ncclComm_t left[3] = { NULL };
    struct ranks ranks;

    (void)state;
    begin(four);
    ranks_open(&ranks, 3, 64);
    set_ranks(&ranks);
    OK(sum_on(&ranks, 0, ranks.comm[0]));
    OK(sum_on(&ranks, 2, ranks.comm[2])); /* rank 1 is gone */
    SAYS(cudaErrorNotReady, cudaStreamQuery(ranks.stream[2]));
    SAYS(ncclInvalidArgument,
         ncclCommShrink(ranks.comm[1], without, 1, &left[1], NULL, 0));
    OK(ncclGroupStart());
    for (int r = 0; r < 3; r += 2)
        OK(ncclCommShrink(ranks.comm[r], without, 1, &left[r], NULL,
                          NCCL_SHRINK_ABORT));
    OK(ncclGroupEnd());
    for (int r = 0; r < 3; r += 2)
        OK(cudaStreamSynchronize(ranks.stream[r]));
    OK(ncclCommUserRank(left[2], &number));
    assert_int_equal(number, 1);
    OK(ncclGroupStart());
    for (int r = 0; r < 3; r += 2)
        OK(sum_on(&ranks, r, left[r]));
    OK(ncclGroupEnd());
    ranks_finish(&ranks);
    assert_true(result_of(&ranks, 0) == 5);
    assert_true(result_of(&ranks, 2) == 5);
    for (int r = 0; r < 3; r++) {
        OK(ncclCommAbort(ranks.comm[r]));
        OK(ncclCommAbort(left[r])); /* NULL is none */
    }
    ranks_free(&ranks);
    end();
}

static void test_polled_shrink(void **state)
{
    ncclComm_t left[3] = { NULL };
    struct ranks ranks;
    int without[] = { 0 };

    (void)state;
    begin(four);
    open_polled(&ranks, 3);
    for (int r = 1; r < 3; r++)
        SAYS(ncclInProgress, ncclCommShrink(ranks.comm[r], without, 1, &left[r],
                                            NULL, NCCL_SHRINK_ABORT));
    for (int r = 1; r < 3; r++) {
        assert_null(left[r]); /* until its parent's polling is over */
        assert_true(polled(ranks.comm[r]) > 0);
        assert_non_null(left[r]);
        SAYS(ncclSuccess, async_error(left[r]));
    }
    OK(ncclGroupStart());
    for (int r = 1; r < 3; r++)
        OK(sum_on(&ranks, r, left[r]));
    SAYS(ncclInProgress, ncclGroupEnd());
    for (int r = 1; r < 3; r++)
        polled(left[r]);
    ranks_finish(&ranks);
    assert_true(result_of(&ranks, 1) == 6);
    for (int r = 0; r < 3; r++) {
        OK(ncclCommAbort(ranks.comm[r]));
        OK(ncclCommAbort(left[r]));
    }
    ranks_free(&ranks);
    end();
}

/* ---- partitions ----------------------------------------------------------- */

/* Two ranks on parts of one GPU are two on it; one works on a part's stream. */
static void test_partitions(void **state)
{
    CUdevResource all, groups[2], rest;
    CUdevResourceDesc descriptor;
    CUgreenCtx green[2];
    CUcontext context;
    struct ranks ranks;
    unsigned count = 2;
    cudaStream_t whole;
    ncclUniqueId id;

    (void)state;
    begin("machine=lab");
    ranks_open(&ranks, 2, 64);
    set_ranks(&ranks);
    OK(cuDeviceGetDevResource(1, &all, CU_DEV_RESOURCE_TYPE_SM));
    OK(cuDevSmResourceSplitByCount(groups, &count, &all, &rest, 0, 48));
    for (int i = 0; i < 2; i++) {
        OK(cuDevResourceGenerateDesc(&descriptor, &groups[i], 1));
        OK(cuGreenCtxCreate(&green[i], descriptor, 1,
                            CU_GREEN_CTX_DEFAULT_STREAM));
    }
    whole = ranks.stream[1];
    OK(cuGreenCtxStreamCreate(&ranks.stream[1], green[0],
                              CU_STREAM_NON_BLOCKING, 0));
    OK(ranks_sum(&ranks, 1, ncclFloat32, ncclSum));
    ranks_finish(&ranks);
    assert_true(result_of(&ranks, 1) == 3);
    OK(ncclGetUniqueId(&id));
    OK(ncclGroupStart());
    for (int i = 0; i < 2; i++) {
        OK(cuCtxFromGreenCtx(&context, green[i]));
        OK(cuCtxSetCurrent(context));
        OK(ncclCommInitRank(&ranks.comm[2 + i], 2, id, i));
    }
    SAYS(ncclInvalidUsage, ncclGroupEnd());
    OK(cudaSetDevice(1));
    OK(cudaStreamDestroy(ranks.stream[1]));
    ranks.stream[1] = whole;
    for (int i = 0; i < 2; i++)
        OK(cuGreenCtxDestroy(green[i]));
    ranks_close(&ranks);
    end();
}

/* ---- memory --------------------------------------------------------------- */

static void test_registered(void **state)
{
    struct ranks ranks;
    void *region, *memory;

    (void)state;
    begin(four);
    ranks_open(&ranks, 2, 64);
    OK(cudaSetDevice(0));
    OK(ncclMemAlloc(&memory, 4096));
    OK(ncclCommRegister(ranks.comm[0], memory, 4096, &region));
    assert_non_null(strstr(fake_alive(), "1 registered buffer"));
    OK(ncclCommDeregister(ranks.comm[0], region));
    OK(ncclMemFree(memory));
    ranks_close(&ranks);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_id),
        cmocka_unit_test(test_memory_comes_back),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_polled),
        cmocka_unit_test(test_never_all),
        cmocka_unit_test(test_a_failing_group),
        cmocka_unit_test(test_in_progress_is_left_alone),
        cmocka_unit_test(test_abort),
        cmocka_unit_test(test_abort_after_poison),
        cmocka_unit_test(test_revoke),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_shrink),
        cmocka_unit_test(test_polled_shrink),
        cmocka_unit_test(test_partitions),
        cmocka_unit_test(test_registered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
