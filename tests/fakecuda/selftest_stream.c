/* The fake's streams and events: order, threads, work that hangs, capture, and
 * the rules about them. */
#include <pthread.h>
#include <time.h>
#include "selftest_kernel.h"

static const char *const ways[] = { "machine=twin",
                                    "machine=twin run=threads" };

/* ---- order ---------------------------------------------------------------- */

/* A number goes through a chain of streams of two devices; each link writes it
 * one higher. */
static void test_order(void **state)
{
    enum { LINKS = 60, STREAMS = 4 };
    cudaStream_t streams[STREAMS];
    int64_t *numbers[STREAMS];
    cudaEvent_t events[STREAMS];

    (void)state;
    for (int way = 0; way < 2; way++) {
        begin(ways[way]);
        for (int i = 0; i < STREAMS; i++) {
            OK(cudaSetDevice(i % 2));
            streams[i] = new_stream();
            events[i] = new_event();
            numbers[i] = pinned_memory(sizeof *numbers[i]);
        }
        *numbers[0] = 77;
        for (int i = 0; i < LINKS; i++) {
            int from = i % STREAMS, to = (i + 1) % STREAMS;
            OK(cudaSetDevice(from % 2));
            OK(cudaMemcpyAsync(numbers[to], numbers[from], 8, cudaMemcpyDefault,
                               streams[from]));
            OK(cudaMemsetAsync(numbers[from], 0, 8, streams[from]));
            OK(cudaEventRecord(events[from], streams[from]));
            OK(cudaStreamWaitEvent(streams[to], events[from], 0));
        }
        OK(cudaStreamSynchronize(streams[LINKS % STREAMS]));
        for (int i = 0; i < STREAMS; i++)
            assert_int_equal(*numbers[i], i == LINKS % STREAMS ? 77 : 0);
        for (int i = 0; i < STREAMS; i++) {
            OK(cudaSetDevice(i % 2));
            OK(cudaStreamSynchronize(streams[i]));
            OK(cudaStreamDestroy(streams[i]));
            OK(cudaEventDestroy(events[i]));
            OK(cudaFreeHost(numbers[i]));
        }
        end();
    }
}

static void add_one(void *user)
{
    ++*(int *)user;
}

static void call_cuda(void *user)
{
    *(int *)user = (int)cudaStreamQuery(NULL);
}

static void test_host_functions(void **state)
{
    cudaStream_t stream;
    int count = 0;

    (void)state;
    for (int way = 0; way < 2; way++) {
        begin(ways[way]);
        stream = new_stream();
        count = 0;
        for (int i = 0; i < 100; i++)
            OK(cudaLaunchHostFunc(stream, add_one, &count));
        OK(cudaStreamSynchronize(stream));
        assert_int_equal(count, 100);
        OK(cudaStreamDestroy(stream));
        end();
    }
    begin("");
    stream = new_stream();
    OK(cudaLaunchHostFunc(stream, call_cuda, &count));
    OK(cudaStreamSynchronize(stream));
    assert_int_equal(count, cudaErrorNotPermitted);
    broke("from a function on a stream");
}

/* Ten threads, each with its own stream of one device. */
static void *hammer(void *out)
{
    enum { ROUNDS = 50 };
    cudaStream_t stream = new_stream();
    int *number = pinned_memory(sizeof *number), sum = 0;

    *number = 0;
    for (int i = 0; i < ROUNDS; i++) {
        void *memory = device_memory(256);
        OK(cudaMemsetAsync(memory, i, 256, stream));
        OK(cudaMemcpyAsync(number, memory, 1, cudaMemcpyDeviceToHost, stream));
        OK(cudaStreamSynchronize(stream));
        sum += *number;
        OK(cudaFree(memory));
    }
    OK(cudaFreeHost(number));
    OK(cudaStreamDestroy(stream));
    *(int *)out = sum;
    return NULL;
}

static void test_many_threads(void **state)
{
    enum { THREADS = 10 };
    pthread_t threads[THREADS];
    int sums[THREADS];

    (void)state;
    for (int way = 0; way < 2; way++) {
        begin(ways[way]);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(
                pthread_create(&threads[i], NULL, hammer, &sums[i]), 0);
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            assert_int_equal(sums[i], 49 * 50 / 2);
        }
        assert_int_equal(fake_contexts(-1), 1);
        end();
    }
}

/* ---- work that hangs ------------------------------------------------------ */

static void *calm_later(void *unused)
{
    struct timespec while_it_hangs = { 0, 50000000 };

    nanosleep(&while_it_hangs, NULL);
    fake_calm();
    return unused;
}

static void test_hang(void **state)
{
    cudaStream_t stream, other;
    int64_t *number;
    CUlibrary library;
    pthread_t thread;

    (void)state;
    for (int way = 0; way < 2; way++) {
        begin(ways[way]);
        library = tick_library();
        assert_int_equal(fake_plant("hang=tick:2"), 0);
        stream = new_stream();
        other = new_stream();
        number = pinned_memory(sizeof *number);
        OK(launch(library, stream, (struct tick){ number, 1, 0 }));
        OK(cudaStreamSynchronize(stream));
        OK(launch(library, stream, (struct tick){ number, 2, 0 }));
        OK(launch(library, stream, (struct tick){ number, 3, 0 }));
        SAYS(600, cudaStreamQuery(stream));
        assert_int_equal(*number, 1);
        OK(launch(library, other, (struct tick){ .ns = 1 }));
        OK(cudaStreamSynchronize(other));
        assert_int_equal(pthread_create(&thread, NULL, calm_later, NULL), 0);
        OK(cudaStreamSynchronize(stream));
        pthread_join(thread, NULL);
        assert_int_equal(*number, 1); /* what hung has no effect any more */
        OK(cudaFreeHost(number));
        OK(cudaStreamDestroy(stream));
        OK(cudaStreamDestroy(other));
        OK(cuLibraryUnload(library));
        end();
    }
}

static void *wait_for_it(void *stream)
{
    return cudaStreamSynchronize(stream) == cudaErrorContextIsDestroyed ? stream
                                                                        : NULL;
}

/* Whoever waits for it does not live into the next process. */
static void test_hang_and_start(void **state)
{
    struct timespec while_it_waits = { 0, 50000000 };
    cudaStream_t stream;
    CUlibrary library;
    pthread_t thread;
    void *result = NULL;

    (void)state;
    for (int way = 0; way < 2; way++) {
        begin(ways[way]);
        library = tick_library();
        assert_int_equal(fake_plant("hang=tick:1"), 0);
        stream = new_stream();
        OK(launch(library, stream, (struct tick){ .ns = 1 }));
        assert_int_equal(
            pthread_create(&thread, NULL, wait_for_it, (void *)stream), 0);
        nanosleep(&while_it_waits, NULL);
        begin("");
        pthread_join(thread, &result);
        assert_ptr_equal(result, stream);
        end();
    }
}

static void test_hanging_peers(void **state)
{
    char *one, *other;
    cudaStream_t stream;

    (void)state;
    begin("machine=twin peer=hang:0-1");
    OK(cudaSetDevice(1));
    other = device_memory(64);
    OK(cudaSetDevice(0));
    one = device_memory(64);
    stream = new_stream();
    OK(cudaMemcpyPeerAsync(other, 1, one, 0, 64, stream));
    OK(cudaStreamSynchronize(stream)); /* through the host */
    OK(cudaDeviceEnablePeerAccess(1, 0));
    OK(cudaMemcpyPeerAsync(other, 1, one, 0, 64, stream));
    SAYS(600, cudaStreamQuery(stream));
    fake_calm();
    OK(cudaStreamQuery(stream));
    OK(cudaFree(one));
    OK(cudaFree(other));
    OK(cudaStreamDestroy(stream));
    end();
}

/* ---- capture -------------------------------------------------------------- */

static void test_capture(void **state)
{
    enum cudaStreamCaptureStatus status;
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaGraph_t graph = NULL;
    cudaStream_t stream;
    char *memory, *more = NULL;

    (void)state;
    begin("");
    stream = new_stream();
    memory = device_memory(64);
    OK(cudaMemsetAsync(memory, 1, 64, stream));
    OK(cudaStreamIsCapturing(stream, &status));
    assert_int_equal(status, cudaStreamCaptureStatusNone);
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaStreamIsCapturing(stream, &status));
    assert_int_equal(status, cudaStreamCaptureStatusActive);
    OK(cudaMemsetAsync(memory, 2, 64, stream)); /* captured, not done */
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, cudaStreamCaptureModeGlobal);
    OK(cudaMalloc((void **)&more, 64)); /* the thread is relaxed */
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaStreamSynchronize(stream));
    assert_int_equal(*(char *)fake_reach(memory, 1), 1);
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    SAYS(900, cudaStreamSynchronize(stream));
    SAYS(900, cudaFree(more)); /* and the capture is spoiled */
    OK(cudaStreamIsCapturing(stream, &status));
    assert_int_equal(status, cudaStreamCaptureStatusInvalidated);
    SAYS(901, cudaStreamEndCapture(stream, &graph));
    OK(cudaStreamSynchronize(stream));
    OK(cudaFree(more));
    OK(cudaFree(memory));
    OK(cudaStreamDestroy(stream));
    end();
}

/* ---- events and rules ----------------------------------------------------- */

static void test_events(void **state)
{
    cudaEvent_t one, other, quiet = NULL;
    cudaStream_t stream;
    float ms = -1;

    (void)state;
    begin("");
    stream = new_stream();
    one = new_event();
    other = new_event();
    OK(cudaEventCreateWithFlags(&quiet, cudaEventDisableTiming));
    OK(cudaEventQuery(one)); /* never recorded */
    OK(cudaEventSynchronize(one));
    OK(cudaStreamWaitEvent(stream, one, 0));
    SAYS(400, cudaEventElapsedTime(&ms, one, other));
    OK(cudaEventRecord(one, stream));
    OK(cudaEventRecord(quiet, stream));
    SAYS(400, cudaEventElapsedTime(&ms, one, quiet));
    OK(cudaEventRecord(other, stream));
    OK(cudaEventElapsedTime(&ms, one, other));
    assert_true(ms == 0);
    OK(cudaStreamDestroy(stream));
    OK(cudaEventQuery(one)); /* outlives its stream */
    OK(cudaEventDestroy(one));
    OK(cudaEventDestroy(other));
    OK(cudaEventDestroy(quiet));
    end();
}

/* More events than are kept when they have ended. */
static void test_many_events(void **state)
{
    cudaStream_t stream;

    (void)state;
    begin("");
    stream = new_stream();
    for (int i = 0; i < 10000; i++) {
        cudaEvent_t event = new_event();
        OK(cudaEventRecord(event, stream));
        OK(cudaEventDestroy(event));
    }
    OK(cudaStreamDestroy(stream));
    end();
}

static void test_other_device(void **state)
{
    cudaStream_t stream;
    cudaEvent_t event;

    (void)state;
    begin("");
    OK(cudaSetDevice(1));
    event = new_event();
    OK(cudaSetDevice(0));
    stream = new_stream();
    SAYS(400, cudaEventRecord(event, stream));
    broke("event of device 1");
}

static void test_ended(void **state)
{
    cudaStream_t stream;
    cudaEvent_t event;

    (void)state;
    begin("");
    stream = new_stream();
    OK(cudaStreamDestroy(stream));
    SAYS(400, cudaStreamQuery(stream));
    broke("stream was used after its end");
    begin("");
    event = new_event();
    OK(cudaEventDestroy(event));
    SAYS(400, cudaEventDestroy(event));
    broke("event was used after its end");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_host_functions),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_hang),
        cmocka_unit_test(test_hang_and_start),
        cmocka_unit_test(test_hanging_peers),
        cmocka_unit_test(test_capture),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_many_events),
        cmocka_unit_test(test_other_device),
        cmocka_unit_test(test_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
