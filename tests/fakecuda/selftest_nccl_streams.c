/* Collectives among the other work of streams: who waits for whom, what the
 * host may free, how long it takes on the virtual clock. */
#include <time.h>
#include "selftest_nccl.h"

static const char *const two = "machine=twin";

static float first_of(const void *memory)
{
    return ((float *)bytes_of(memory))[0];
}

static void set_ones(const struct ranks *ranks)
{
    for (int r = 0; r < ranks->count; r++)
        for (int i = 0; i < 4; i++)
            ((float *)bytes_of(ranks->send[r]))[i] = (float)(r + 1);
}

static ncclResult_t sum_of(const struct ranks *ranks, int r, size_t count)
{
    return ncclAllReduce(ranks->send[r], ranks->recv[r], count, ncclFloat32,
                         ncclSum, ranks->comm[r], ranks->stream[r]);
}

static void test_late_peer(void **state)
{
    struct ranks ranks;
    void *host;

    (void)state;
    begin(two);
    ranks_open(&ranks, 2, 64);
    host = pinned_memory(64);
    set_ones(&ranks);
    memset(bytes_of(ranks.recv[0]), 0, 64);
    OK(sum_of(&ranks, 0, 4));
    OK(cudaMemcpyAsync(host, ranks.recv[0], 4, cudaMemcpyDeviceToHost,
                       ranks.stream[0]));
    SAYS(cudaErrorNotReady, cudaStreamQuery(ranks.stream[0]));
    SAYS(ncclSuccess, async_error(ranks.comm[0])); /* it knows nothing of it */
    assert_true(first_of(ranks.recv[0]) == 0);
    OK(sum_of(&ranks, 1, 4));
    OK(cudaStreamSynchronize(ranks.stream[0]));
    assert_true(*(float *)host == 3);
    assert_true(first_of(ranks.recv[1]) == 3);
    ranks_finish(&ranks);
    OK(cudaFreeHost(host));
    ranks_close(&ranks);
    end();
}

/* What stands before and behind it on each stream keeps its order. */
static void test_order(void **state)
{
    struct ranks ranks;
    cudaEvent_t event;

    (void)state;
    begin(two);
    ranks_open(&ranks, 2, 64);
    for (int r = 0; r < 2; r++) {
        OK(cudaSetDevice(r));
        OK(cudaMemsetAsync(ranks.send[r], 0, 64, ranks.stream[r]));
    }
    event = new_event();
    OK(sum_of(&ranks, 0, 4));
    OK(sum_of(&ranks, 0, 4));
    OK(cudaMemsetAsync(ranks.recv[0], 1, 64, ranks.stream[0]));
    OK(sum_of(&ranks, 1, 4));
    SAYS(cudaErrorNotReady, cudaStreamQuery(ranks.stream[0]));
    OK(cudaStreamQuery(ranks.stream[1]));
    OK(cudaEventRecord(event, ranks.stream[1]));
    OK(cudaEventSynchronize(event));
    assert_true(first_of(ranks.recv[1]) == 0);
    OK(sum_of(&ranks, 1, 4));
    ranks_finish(&ranks);
    assert_int_equal(*(unsigned char *)bytes_of(ranks.recv[0]), 1);
    OK(cudaEventDestroy(event));
    ranks_close(&ranks);
    end();
}

/* A communicator's operations go in the order of calls, on any stream. */
static void test_other_streams(void **state)
{
    cudaStream_t other[2];
    struct ranks ranks;

    (void)state;
    begin(two);
    ranks_open(&ranks, 2, 64);
    set_ones(&ranks);
    for (int r = 0; r < 2; r++) {
        OK(cudaSetDevice(r));
        other[r] = new_stream();
    }
    OK(sum_of(&ranks, 0, 4));
    OK(ncclAllReduce(ranks.recv[0], ranks.send[0], 4, ncclFloat32, ncclSum,
                     ranks.comm[0], other[0]));
    OK(sum_of(&ranks, 1, 4));
    SAYS(cudaErrorNotReady, cudaStreamQuery(other[0]));
    OK(ncclAllReduce(ranks.recv[1], ranks.send[1], 4, ncclFloat32, ncclSum,
                     ranks.comm[1], other[1]));
    for (int r = 0; r < 2; r++) {
        OK(cudaStreamSynchronize(other[r]));
        assert_true(first_of(ranks.send[r]) == 6);
    }
    OK(ncclGroupStart()); /* two streams in one group */
    for (int r = 0; r < 2; r++) {
        OK(sum_of(&ranks, r, 1));
        OK(ncclAllReduce((float *)ranks.send[r] + 1, (float *)ranks.recv[r] + 1,
                         1, ncclFloat32, ncclSum, ranks.comm[r], other[r]));
    }
    OK(ncclGroupEnd());
    for (int r = 0; r < 2; r++) {
        OK(cudaStreamSynchronize(other[r]));
        assert_true(((float *)bytes_of(ranks.recv[r]))[1] == 12);
        assert_true(first_of(ranks.recv[r]) == 12);
        OK(cudaStreamDestroy(other[r]));
    }
    ranks_close(&ranks);
    end();
}

/* ---- memory --------------------------------------------------------------- */

static void test_memory_in_use(void **state)
{
    struct ranks ranks;

    (void)state;
    begin(two);
    ranks_open(&ranks, 2, 64);
    OK(ranks_sum(&ranks, 4, ncclFloat32, ncclSum));
    OK(cudaStreamSynchronize(ranks.stream[0]));
    OK(cudaSetDevice(0));
    OK(cudaFree(ranks.recv[0]));
    OK(cudaFree(ranks.send[0]));
    assert_null(fake_breach());
    OK(cudaSetDevice(1));
    OK(cudaFree(ranks.recv[1])); /* its own stream was not waited for */
    broke("before the stream");
}

/* That rank 0 is through says that rank 1 had come, and what it did before. */
static void test_what_a_peer_did(void **state)
{
    struct ranks ranks;
    void *memory;

    (void)state;
    begin(two);
    ranks_open(&ranks, 2, 64);
    OK(cudaSetDevice(1));
    memory = device_memory(64);
    OK(cudaMemsetAsync(memory, 0, 64, ranks.stream[1]));
    OK(ranks_sum(&ranks, 4, ncclFloat32, ncclSum));
    OK(cudaStreamSynchronize(ranks.stream[0]));
    OK(cudaFree(memory));
    ranks_close(&ranks);
    end();
}

/* ---- time ----------------------------------------------------------------- */

static double reduce_ns(int ranks_count, size_t bytes, int calls)
{
    struct ranks ranks;
    struct span span;
    double ns;

    ranks_open(&ranks, ranks_count, bytes);
    OK(cudaSetDevice(0));
    span = span_begin(ranks.stream[0]);
    OK(ncclGroupStart());
    for (int i = 0; i < calls; i++)
        for (int r = 0; r < ranks_count; r++)
            OK(sum_of(&ranks, r, bytes / 4));
    OK(ncclGroupEnd());
    ns = span_ns(&span);
    ranks_close(&ranks);
    return ns;
}

/* "desk" says how fast its GPUs reduce: 24, 6.5 and 3 GB/s. */
static void test_time(void **state)
{
    (void)state;
    begin("machine=desk");
    near("64 bytes", 12000, reduce_ns(2, 64, 1), 0.1);
    near("6.5 MB of two", 12000 + 1e6, reduce_ns(2, 6500000, 1), 0.01);
    near("3 MB of three", 12000 + 4e6 / 3, reduce_ns(3, 3000000, 1), 0.01);
    near("four in one group", 12000 + 4e6, reduce_ns(2, 6500000, 4), 0.01);
    end();
}

/* It begins when the last has come, and both clocks go on from there. */
static void test_time_of_both(void **state)
{
    struct ranks ranks;
    struct span spans[2];
    void *much;
    double fill_ns;

    (void)state;
    begin("machine=desk");
    ranks_open(&ranks, 2, 64);
    OK(cudaSetDevice(1));
    much = device_memory(64 << 20);
    spans[1] = span_begin(ranks.stream[1]);
    OK(cudaMemsetAsync(much, 0, 64 << 20, ranks.stream[1]));
    fill_ns = span_ns(&spans[1]);
    for (int r = 0; r < 2; r++) {
        OK(cudaSetDevice(r));
        OK(cudaDeviceSynchronize());
        spans[r] = span_begin(ranks.stream[r]);
    }
    OK(cudaMemsetAsync(much, 0, 64 << 20, ranks.stream[1]));
    OK(ranks_sum(&ranks, 4, ncclFloat32, ncclSum));
    near("rank 0", fill_ns + 12000, span_ns(&spans[0]), 0.02);
    near("rank 1", fill_ns + 12000, span_ns(&spans[1]), 0.02);
    OK(cudaFree(much));
    ranks_close(&ranks);
    end();
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void test_real_clock(void **state)
{
    struct ranks ranks;
    int64_t ns;

    (void)state;
    begin("machine=desk clock=real");
    ranks_open(&ranks, 2, 64);
    set_ones(&ranks);
    ns = now_ns();
    for (int i = 0; i < 200; i++) /* one after the other */
        OK(ranks_sum(&ranks, 4, ncclFloat32, ncclSum));
    ranks_finish(&ranks);
    ns = now_ns() - ns;
    if (ns < 200 * 12000)
        fail_msg("expected at least %d ns, got %lld", 200 * 12000,
                 (long long)ns);
    assert_true(first_of(ranks.recv[1]) == 3);
    ranks_close(&ranks);
    end();
}

static void test_simulated(void **state)
{
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    struct ranks ranks;

    (void)state;
    begin("machine=desk");
    ranks_open(&ranks, 2, 6500000);
    OK(ncclGroupStart());
    OK(sum_of(&ranks, 0, 6500000 / 4));
    OK(ncclGroupSimulateEnd(&info));
    near("an estimate", 1012, (double)info.estimatedTime, 0.01);
    OK(cudaStreamQuery(ranks.stream[0]));
    ranks_close(&ranks);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_peer),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_other_streams),
        cmocka_unit_test(test_memory_in_use),
        cmocka_unit_test(test_what_a_peer_did),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_time_of_both),
        cmocka_unit_test(test_real_clock),
        cmocka_unit_test(test_simulated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
