/* Faults of NCCL that words plant: calls that fail, come late or never come
 * back, ranks that hang, errors that polling shows. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include "selftest_nccl.h"

static const char *const two = "machine=twin";

static void open_two(struct ranks *ranks, const char *words)
{
    begin(words);
    ranks_open(ranks, 2, 64);
    for (int r = 0; r < 2; r++)
        ((float *)bytes_of(ranks->send[r]))[0] = (float)(r + 1);
}

static void test_failing(void **state)
{
    struct ranks ranks;

    (void)state;
    open_two(&ranks, "machine=twin fail=ncclAllReduce:2 fail=ncclGroupEnd:3:6");
    OK(ncclGroupStart()); /* the group fails as a whole */
    OK(ncclAllReduce(ranks.send[0], ranks.recv[0], 1, ncclFloat32, ncclSum,
                     ranks.comm[0], ranks.stream[0]));
    SAYS(ncclUnhandledCudaError,
         ncclAllReduce(ranks.send[1], ranks.recv[1], 1, ncclFloat32, ncclSum,
                       ranks.comm[1], ranks.stream[1]));
    SAYS(ncclUnhandledCudaError, ncclGroupEnd());
    OK(cudaStreamQuery(ranks.stream[0]));
    OK(ranks_sum(&ranks, 1, ncclFloat32, ncclSum));
    SAYS(ncclRemoteError, ranks_sum(&ranks, 1, ncclFloat32, ncclSum));
    OK(cudaStreamQuery(ranks.stream[0]));
    OK(ranks_sum(&ranks, 1, ncclFloat32, ncclSum));
    ranks_finish(&ranks);
    assert_true(((float *)bytes_of(ranks.recv[0]))[0] == 3);
    ranks_close(&ranks);
    end();
}

/* Each call's usual code, and no trace of what failed. */
static void test_each_call_fails(void **state)
{
    static const char *const init[] = { "ncclCommInitAll", "ncclGetUniqueId",
                                        "ncclGroupStart", "ncclGetVersion" };
    ncclComm_t comm[2];
    ncclUniqueId id;
    char words[128];
    int version;

    (void)state;
    for (int i = 0; i < 4; i++) {
        (void)snprintf(words, sizeof words, "machine=twin fail=%s:1", init[i]);
        begin(words);
        assert_int_equal(ncclCommInitAll(comm, 2, NULL) != 0, i == 0);
        assert_int_equal(ncclGetUniqueId(&id) != 0, i == 1);
        assert_int_equal(ncclGroupStart() != 0, i == 2);
        assert_int_equal(ncclGetVersion(&version) != 0, i == 3);
        if (i != 2)
            SAYS(i == 3 ? ncclInternalError : ncclSuccess, ncclGroupEnd());
        else
            SAYS(ncclInvalidUsage, ncclGroupEnd());
        for (int r = 0; r < 2 && i != 0; r++)
            OK(ncclCommDestroy(comm[r]));
        end();
    }
    assert_int_equal(fake_start("machine=twin fail=ncclNoSuchThing:1"), -1);
    assert_non_null(strstr(fake_words(), "ncclNoSuchThing"));
}

static void test_late(void **state)
{
    struct timespec from, to;
    struct ranks ranks;

    (void)state;
    open_two(&ranks, "machine=twin late=ncclGroupEnd:1:20ms");
    clock_gettime(CLOCK_MONOTONIC, &from);
    OK(ranks_sum(&ranks, 1, ncclFloat32, ncclSum));
    clock_gettime(CLOCK_MONOTONIC, &to);
    assert_true((double)(to.tv_sec - from.tv_sec) * 1e9 +
                    (double)(to.tv_nsec - from.tv_nsec) >=
                20e6);
    ranks_close(&ranks);
    end();
}

static void test_not_there(void **state)
{
    ncclComm_t comm[2];
    int version = 0;

    (void)state;
    begin("machine=twin nonccl");
    SAYS(ncclSystemError, ncclGetVersion(&version));
    SAYS(ncclSystemError, ncclCommInitAll(comm, 2, NULL));
    end();
    begin("nodriver");
    OK(ncclGetVersion(&version));
    assert_int_equal(version, NCCL_VERSION_CODE);
    SAYS(ncclUnhandledCudaError, ncclCommInitAll(comm, 2, NULL));
    end();
}

static void test_shared_memory_is_full(void **state)
{
    ncclComm_t comm[2] = { NULL };
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;

    (void)state;
    begin("machine=twin shmfull");
    SAYS(ncclSystemError, ncclCommInitAll(comm, 2, NULL));
    assert_non_null(strstr(ncclGetLastError(NULL), "shm"));
    assert_non_null(strstr(ncclGetLastError(NULL), "9637888"));
    assert_null(comm[0]);
    config.blocking = 0; /* polling shows it */
    OK(ncclGetUniqueId(&id));
    for (int r = 0; r < 2; r++) {
        OK(cudaSetDevice(r));
        SAYS(ncclInProgress,
             ncclCommInitRankConfig(&comm[r], 2, id, r, &config));
    }
    for (int r = 0; r < 2; r++) {
        polled(comm[r]);
        SAYS(ncclSystemError, async_error(comm[r]));
        OK(ncclCommAbort(comm[r]));
    }
    fake_calm();
    OK(ncclCommInitAll(comm, 2, NULL));
    OK(ncclCommDestroy(comm[0]));
    OK(ncclCommDestroy(comm[1]));
    end();
}

static void test_out_of_memory(void **state)
{
    ncclComm_t comm[2] = { NULL };
    char words[64];
    int64_t before;

    (void)state;
    begin(two);
    OK(cudaSetDevice(0));
    before = fake_free_bytes(0);
    OK(cudaSetDevice(1));
    (void)snprintf(words, sizeof words, "tenant=1:%lldKiB",
                   (long long)(fake_free_bytes(1) >> 10) - (16 << 10));
    OK(fake_plant(words));
    SAYS(ncclUnhandledCudaError, ncclCommInitAll(comm, 2, NULL));
    assert_null(comm[0]);
    assert_int_equal(fake_free_bytes(0), before);
    end();
}

/* ---- hanging -------------------------------------------------------------- */

static void test_a_rank_hangs(void **state)
{
    struct ranks ranks;

    (void)state;
    open_two(&ranks, "machine=twin hang=nccl:0");
    OK(ranks_sum(&ranks, 1, ncclFloat32, ncclSum));
    for (int r = 0; r < 2; r++) {
        SAYS(cudaErrorNotReady, cudaStreamQuery(ranks.stream[r]));
        SAYS(ncclSuccess, async_error(ranks.comm[r]));
    }
    OK(cudaSetDevice(1));
    OK(cudaMemsetAsync(ranks.send[1], 0, 64, ranks.stream[1]));
    fake_calm(); /* without an effect, as what stands behind it */
    ranks_finish(&ranks);
    assert_true(isnan(((float *)bytes_of(ranks.recv[1]))[0]));
    OK(ranks_sum(&ranks, 1, ncclFloat32, ncclSum));
    ranks_finish(&ranks);
    assert_true(((float *)bytes_of(ranks.recv[1]))[0] == 3);
    ranks_close(&ranks);
    end();
    open_two(&ranks, "machine=twin hang=nccl:1"); /* aborted */
    OK(ranks_sum(&ranks, 1, ncclFloat32, ncclSum));
    for (int r = 0; r < 2; r++)
        OK(ncclCommAbort(ranks.comm[r]));
    ranks_finish(&ranks);
    ranks_free(&ranks);
    end();
}

static void test_an_error_while_running(void **state)
{
    struct ranks ranks;

    (void)state;
    open_two(&ranks, "machine=twin ncclerror=1:6");
    OK(ranks_sum(&ranks, 1, ncclFloat32, ncclSum));
    SAYS(ncclSuccess, async_error(ranks.comm[0]));
    SAYS(ncclRemoteError, async_error(ranks.comm[1]));
    SAYS(cudaErrorNotReady, cudaStreamQuery(ranks.stream[0]));
    SAYS(ncclRemoteError, ncclCommDestroy(ranks.comm[1]));
    for (int r = 0; r < 2; r++)
        OK(ncclCommAbort(ranks.comm[r]));
    ranks_free(&ranks);
    end();
}

static void *abort_one(void *comm)
{
    OK(ncclCommAbort(comm));
    return NULL;
}

static void test_abort_hangs(void **state)
{
    struct timespec moment = { 0, 20000000 };
    struct ranks ranks;
    pthread_t thread;

    (void)state;
    open_two(&ranks, two);
    OK(fake_plant("hang=ncclCommAbort:1"));
    assert_int_equal(pthread_create(&thread, NULL, abort_one, ranks.comm[0]),
                     0);
    while (fake_calls("ncclCommAbort") == 0)
        ;
    nanosleep(&moment, NULL);
    assert_non_null(strstr(fake_alive(), "2 communicators"));
    fake_calm();
    pthread_join(thread, NULL);
    OK(ncclCommDestroy(ranks.comm[1]));
    ranks_free(&ranks);
    end();
}

/* A process may end in the middle of all. */
static void test_new_process(void **state)
{
    struct ranks ranks;

    (void)state;
    open_two(&ranks, "machine=twin hang=nccl:0");
    OK(ranks_sum(&ranks, 1, ncclFloat32, ncclSum));
    open_two(&ranks, "machine=twin run=threads");
    OK(ncclAllReduce(ranks.send[0], ranks.recv[0], 1, ncclFloat32, ncclSum,
                     ranks.comm[0], ranks.stream[0]));
    open_two(&ranks, two);
    ranks_close(&ranks);
    end();
}

static void test_words(void **state)
{
    static const char *const wrong[] = { "nccl=2.28",   "nccl=3.1.1",
                                         "nonccl=1",    "hang=nccl:x",
                                         "ncclerror=1", "hang=ncclNothing:1",
                                         "shmfull=1" };
    int version = 0;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (fake_start(wrong[i]) == 0)
            fail_msg("expected \"%s\" to be refused", wrong[i]);
    begin("nccl=2.18.5");
    OK(ncclGetVersion(&version));
    assert_int_equal(version, 21805);
    assert_int_equal(fake_plant("nccl=2.18.5"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failing),
        cmocka_unit_test(test_each_call_fails),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_not_there),
        cmocka_unit_test(test_shared_memory_is_full),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_a_rank_hangs),
        cmocka_unit_test(test_an_error_while_running),
        cmocka_unit_test(test_abort_hangs),
        cmocka_unit_test(test_new_process),
        cmocka_unit_test(test_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
