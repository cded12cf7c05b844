/* The fake's time: what work takes by the machine file, how streams wait for
 * each other, what makes devices slower, and the real clock. */
#include <time.h>
#include "selftest_kernel.h"

static double real_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double copy_ns(void *to, const void *from, size_t bytes,
                      cudaStream_t stream)
{
    struct span span = span_begin(stream);

    OK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
    return span_ns(&span);
}

static double tick_ns(CUlibrary library, cudaStream_t stream, double ns)
{
    struct span span = span_begin(stream);

    OK(launch(library, stream, (struct tick){ .ns = ns }));
    return span_ns(&span);
}

/* ---- what work takes ------------------------------------------------------ */

static void test_copies(void **state)
{
    enum { BYTES = 8 << 20 };
    char *pinned, *memory, *second, *far, *pageable = malloc(BYTES);
    cudaStream_t stream;

    (void)state;
    begin("machine=desk");
    OK(cudaSetDevice(0));
    far = device_memory(BYTES);
    OK(cudaSetDevice(1));
    stream = new_stream();
    pinned = pinned_memory(BYTES);
    memory = device_memory(BYTES);
    second = device_memory(BYTES);
    memset(pageable, 1, BYTES);
    /* an x4 slot: 6.5 GB/s; pageable memory is no slower there */
    near("in", BYTES / 6.5, copy_ns(memory, pinned, BYTES, stream), 1e-3);
    near("out", BYTES / 6.5, copy_ns(pinned, memory, BYTES, stream), 1e-3);
    near("pageable", BYTES / 6.5, copy_ns(memory, pageable, BYTES, stream),
         1e-3);
    /* 1 MiB in 4.623 us, and 4 us more */
    near("inside", 4000 + 8 * 4623, copy_ns(second, memory, BYTES, stream),
         2e-2);
    near("from the x16 slot", BYTES / 6.5, copy_ns(memory, far, BYTES, stream),
         1e-3);
    OK(cudaSetDevice(0));
    OK(cudaStreamDestroy(stream));
    stream = new_stream();
    near("an x16 slot", BYTES / 24.0, copy_ns(far, pinned, BYTES, stream),
         2e-3);
    near("pageable there", BYTES / 8.0, copy_ns(far, pageable, BYTES, stream),
         1e-3);
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(far));
    OK(cudaFree(memory));
    OK(cudaFree(second));
    OK(cudaFreeHost(pinned));
    free(pageable);
    end();
}

static void test_launches(void **state)
{
    CUlibrary library;
    cudaStream_t stream;

    (void)state;
    begin("machine=desk");
    library = tick_library();
    stream = new_stream();
    near("an empty launch", 4000, tick_ns(library, stream, 0), 0.13);
    near("1 ms", 1004200, tick_ns(library, stream, 1e6), 1e-3);
    OK(cudaStreamDestroy(stream));
    OK(cuLibraryUnload(library));
    end();
}

/* Whole halves of a microsecond, as real events have it. */
static void test_grain(void **state)
{
    CUlibrary library;
    cudaStream_t stream;

    (void)state;
    begin("machine=desk");
    library = tick_library();
    stream = new_stream();
    for (int i = 0; i < 20; i++) {
        double halves = tick_ns(library, stream, 137.0 * i) / 500;
        double off = halves - (double)(int64_t)(halves + 0.5);
        assert_true(off > -0.01 && off < 0.01);
    }
    OK(cudaStreamDestroy(stream));
    OK(cuLibraryUnload(library));
    end();
}

/* ---- waits ---------------------------------------------------------------- */

static void test_waits(void **state)
{
    cudaStream_t one, other;
    struct span span;
    cudaEvent_t event;
    CUlibrary library;

    (void)state;
    begin("machine=twin");
    library = tick_library();
    one = new_stream();
    other = new_stream();
    event = new_event();
    span = span_begin(other);
    OK(launch(library, one, (struct tick){ .ns = 5e6 }));
    OK(cudaEventRecord(event, one));
    OK(launch(library, other, (struct tick){ .ns = 1e6 })); /* beside it */
    OK(cudaStreamWaitEvent(other, event, 0));
    OK(launch(library, other, (struct tick){ .ns = 1e6 })); /* behind it */
    near("one behind the other", 6e6, span_ns(&span), 1e-2);
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(one));
    OK(cudaStreamDestroy(other));
    OK(cuLibraryUnload(library));
    end();
}

/* Streams that do not opt out go in turn with the legacy stream. */
static void test_legacy(void **state)
{
    cudaStream_t blocking = NULL, free_one;
    struct span span;
    CUlibrary library;

    (void)state;
    begin("machine=twin");
    library = tick_library();
    OK(cudaStreamCreateWithFlags(&blocking, cudaStreamDefault));
    free_one = new_stream();
    span = span_begin(free_one);
    OK(launch(library, NULL, (struct tick){ .ns = 3e6 }));
    OK(launch(library, free_one, (struct tick){ .ns = 1e6 }));
    near("beside the legacy stream", 1e6, span_ns(&span), 1e-2);
    span = span_begin(blocking);
    OK(launch(library, NULL, (struct tick){ .ns = 3e6 }));
    OK(launch(library, blocking, (struct tick){ .ns = 1e6 }));
    near("in turn with it", 4e6, span_ns(&span), 1e-2);
    OK(cudaStreamDestroy(blocking));
    OK(cudaStreamDestroy(free_one));
    OK(cuLibraryUnload(library));
    end();
}

/* What a thread has waited for is past for what it queues next elsewhere. */
static void test_host_time(void **state)
{
    cudaStream_t one, other;
    struct span span;
    CUlibrary library;

    (void)state;
    begin("machine=twin");
    library = tick_library();
    one = new_stream();
    other = new_stream();
    span = span_begin(other);
    OK(launch(library, one, (struct tick){ .ns = 7e6 }));
    OK(cudaStreamSynchronize(one));
    near("by the host", 7e6, span_ns(&span), 1e-2);
    OK(cudaStreamDestroy(one));
    OK(cudaStreamDestroy(other));
    OK(cuLibraryUnload(library));
    end();
}

/* ---- what makes devices slower -------------------------------------------- */

static void times(const char *words, double out[8])
{
    cudaStream_t stream;
    CUlibrary library;

    begin(words);
    library = tick_library();
    stream = new_stream();
    for (int i = 0; i < 8; i++)
        out[i] = tick_ns(library, stream, 1e8);
    OK(cudaStreamDestroy(stream));
    OK(cuLibraryUnload(library));
    end();
}

static void test_slow(void **state)
{
    double took[8];

    (void)state;
    times("machine=twin keys=0:slow=10x@3/slow=1x@4", took);
    for (int i = 0; i < 8; i++)
        near("the i-th launch", i == 2 ? 1e9 : 1e8, took[i], 1e-3);
    times("machine=twin keys=1:slow=10x@3", took);
    for (int i = 0; i < 8; i++)
        near("another device's", 1e8, took[i], 1e-3);
}

static void test_ramp(void **state)
{
    double took[8];

    (void)state;
    times("machine=twin keys=0:ramp=30%@500ms", took);
    near("at first", 0.7e8, took[0], 2e-2);
    for (int i = 1; i < 8; i++)
        assert_true(took[i] >= took[i - 1]);
    near("after the ramp", 1e8, took[7], 1e-3);
}

static void test_noise(void **state)
{
    double one[8], again[8], other[8];
    int differ = 0;

    (void)state;
    times("machine=twin keys=0:noise=5%", one);
    times("machine=twin keys=0:noise=5%", again);
    times("machine=twin keys=0:noise=5% seed=9", other);
    for (int i = 0; i < 8; i++) {
        near("noisy", 1e8, one[i], 0.31);
        assert_true(one[i] == again[i]);
        differ += one[i] != other[i];
        differ += i > 0 && one[i] != one[i - 1];
    }
    assert_true(differ >= 14);
}

/* ---- the real clock ------------------------------------------------------- */

static void paced(const char *words)
{
    cudaStream_t stream;
    cudaEvent_t event;
    double start, took;
    CUlibrary library;

    begin(words);
    library = tick_library();
    stream = new_stream();
    event = new_event();
    start = real_ns();
    OK(launch(library, stream, (struct tick){ .ns = 30e6 }));
    OK(cudaEventRecord(event, stream));
    SAYS(600, cudaEventQuery(event));
    SAYS(600, cudaStreamQuery(stream));
    OK(cudaPeekAtLastError()); /* that is no error */
    OK(cudaEventSynchronize(event));
    took = real_ns() - start;
    assert_true(took >= 30e6);
    assert_true(took < 30e6 + 2e9);
    OK(cudaEventQuery(event));
    OK(cudaStreamQuery(stream));
    start = real_ns();
    OK(launch(library, stream, (struct tick){ .ns = 20e6 }));
    OK(launch(library, stream, (struct tick){ .ns = 20e6 }));
    OK(cudaDeviceSynchronize());
    assert_true(real_ns() - start >= 40e6);
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
    OK(cuLibraryUnload(library));
    end();
}

static void test_real(void **state)
{
    (void)state;
    paced("machine=twin clock=real");
    paced("machine=twin clock=real run=threads");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies), cmocka_unit_test(test_launches),
        cmocka_unit_test(test_grain),  cmocka_unit_test(test_waits),
        cmocka_unit_test(test_legacy), cmocka_unit_test(test_host_time),
        cmocka_unit_test(test_slow),   cmocka_unit_test(test_ramp),
        cmocka_unit_test(test_noise),  cmocka_unit_test(test_real),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
