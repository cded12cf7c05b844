/* Faults planted in the fake: which call they strike, how long, and what a
 * poisoned or forked process may still do. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "selftest.h"

/* ---- the words ------------------------------------------------------------ */

static void test_words(void **state)
{
    static const char *const wrong[] = {
        "machine=nosuch",
        "machine=",
        "clock=slow",
        "run=fast",
        "copies=0",
        "copies=99",
        "colour=red",
        "fail=cudaMaloc:1",
        "fail=cudaMalloc",
        "fail=cudaMalloc:0",
        "fail=cudaMalloc:1x",
        "sticky=cudaMalloc:1",
        "late=cudaMalloc:1:10",
        "tenant=0:8",
        "peer=lie:0",
        "peer=bent:0-1",
        "busy=64",
        "keys=0:noise=x",
        "keys=7:noise=1%",
        "driver=12.4",
        "hang=hdpk_cuda_combin:1",
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (fake_start(wrong[i]) == 0)
            fail_msg("\"%s\" was taken", wrong[i]);
    if (!strstr(fake_words(), "hang=hdpk_cuda_combin:1") ||
        !strstr(fake_words(), " hdpk_cuda_combine "))
        fail_msg("expected the word and the known names, got: %s",
                 fake_words());
    begin("machine=desk  copies=2 clock=virtual run=inline driver=13010 "
          "fail=cublasCreate:3-:1 sticky=cuLaunchKernel:9:700 busy=5 "
          "late=nvmlInit:2-:1ms tenant=0:8GiB peer=hang:0-5 seed=3 "
          "firstproduct=150ms hang=cublasGemmEx:1 keys=0:slow=2x@5/noise=1%");
    assert_int_equal(fake_plant("machine=desk"), -1);
    assert_int_equal(fake_plant("run=threads"), -1);
    assert_int_equal(fake_plant("fail=cudaMalloc:1 tenant=1:1GiB"), 0);
}

/* ---- calls that fail ------------------------------------------------------ */

static int malloc_fails(void)
{
    void *memory = NULL;
    int code = (int)cudaMalloc(&memory, 64);

    if (code == 0)
        OK(cudaFree(memory));
    else
        assert_null(memory);
    return code;
}

static void test_once_and_lasting(void **state)
{
    (void)state;
    begin("fail=cudaMalloc:3");
    for (int i = 1; i <= 5; i++)
        assert_int_equal(malloc_fails(), i == 3 ? 2 : 0);
    begin("fail=cudaMalloc:3-:46");
    for (int i = 1; i <= 5; i++)
        assert_int_equal(malloc_fails(), i >= 3 ? 46 : 0);
    fake_calm();
    assert_int_equal(malloc_fails(), 0);
    assert_int_equal(fake_plant("fail=cudaMalloc:2"), 0); /* from here */
    assert_int_equal(malloc_fails(), 0);
    assert_int_equal(malloc_fails(), 2);
    assert_int_equal(malloc_fails(), 0);
    end();
}

static void test_usual_codes(void **state)
{
    cudaStream_t stream = NULL;
    cudaEvent_t event = NULL;
    int count = -7;

    (void)state;
    begin("fail=cudaStreamCreateWithFlags:1 fail=cudaEventCreateWithFlags:1 "
          "fail=cudaGetDeviceCount:1 fail=cudaSetDevice:1");
    SAYS(2, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    assert_null(stream);
    SAYS(2, cudaEventCreateWithFlags(&event, 0));
    SAYS(100, cudaGetDeviceCount(&count));
    assert_int_equal(count, -7);
    SAYS(46, cudaSetDevice(1));
    assert_int_equal(fake_contexts(1), 0);
    OK(cudaSetDevice(1));
    end();
}

static void test_late(void **state)
{
    struct timespec from, to;
    int count;
    double ms;

    (void)state;
    begin("late=cudaGetDeviceCount:2:40ms");
    OK(cudaGetDeviceCount(&count));
    clock_gettime(CLOCK_MONOTONIC, &from);
    OK(cudaGetDeviceCount(&count));
    clock_gettime(CLOCK_MONOTONIC, &to);
    ms = (double)(to.tv_sec - from.tv_sec) * 1e3 +
         (double)(to.tv_nsec - from.tv_nsec) / 1e6;
    assert_true(ms >= 40);
}

/* ---- poison --------------------------------------------------------------- */

static void *elsewhere(void *out)
{
    *(int *)out = (int)cudaSetDevice(0);
    return NULL;
}

static void test_poison(void **state)
{
    cudaStream_t stream;
    pthread_t thread;
    void *memory;
    int code = 0, version = 0;

    (void)state;
    begin("machine=desk sticky=cudaStreamSynchronize:1:700");
    OK(cudaSetDevice(1));
    stream = new_stream();
    memory = device_memory(64);
    SAYS(700, cudaStreamSynchronize(stream));
    SAYS(700, cudaStreamQuery(stream));
    SAYS(700, cudaFree(memory));
    SAYS(700, cudaGetLastError());
    SAYS(700, cudaGetLastError());
    SAYS(700, cudaSetDevice(2));
    SAYS(700, cudaStreamDestroy(stream));
    assert_int_equal(pthread_create(&thread, NULL, elsewhere, &code), 0);
    pthread_join(thread, NULL);
    assert_int_equal(code, 700); /* of another device, on another thread */
    OK(cudaDriverGetVersion(&version));
    assert_string_equal(fake_alive(), "1 stream, 64 bytes of device 1");
    begin("machine=desk");
    OK(cudaSetDevice(1)); /* a new process */
    end();
}

/* ---- forks ---------------------------------------------------------------- */

static void test_fork(void **state)
{
    int status = 0, count = 0;
    pid_t child;

    (void)state;
    begin("run=threads");
    OK(cudaGetDeviceCount(&count));
    new_stream();
    child = fork();
    if (child == 0)
        _exit(cudaGetDeviceCount(&count) == cudaErrorInitializationError ? 0
                                                                         : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    broke("cudaGetDeviceCount was called in a forked child");
    begin("run=threads");
    new_stream();
    child = fork();
    if (child ==
        0) /* its own process may begin, and its breaches are its own */
        _exit(fake_start("machine=desk") == 0 &&
                      cudaGetDeviceCount(&count) == 0 && count == 3 &&
                      cudaFree(&count) == 1 && fake_breach()
                  ? 0
                  : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_null(fake_breach());
}

/* ---- counting ------------------------------------------------------------- */

static void test_sites(void **state)
{
    const char *name, *before = "";
    int64_t calls = 0, all = 0;
    int fallible = -1, found = 0, count;

    (void)state;
    begin("");
    assert_int_equal(fake_calls("cudaMalloc"), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(malloc_fails(), 0);
    cudaGetLastError();
    OK(cudaGetDeviceCount(&count));
    assert_int_equal(fake_calls("cudaMalloc"), 3);
    assert_int_equal(fake_calls(NULL), 8);
    for (int i = 0; (name = fake_site(i, &calls, &fallible)); i++) {
        assert_true(strcmp(before, name) < 0);
        before = name;
        all += calls;
        found += strcmp(name, "cudaFree") == 0 && calls == 3 && fallible;
        found += strcmp(name, "cudaGetLastError") == 0 && !fallible;
    }
    assert_int_equal(found, 2);
    assert_int_equal(all, 8);
}

/* Without fake_start() the variable describes the machine. */
static void test_environment(void **state)
{
    int status = 0, count = 0;
    pid_t child;

    (void)state;
    child = fork();
    if (child == 0) {
        setenv("FAKE_CUDA", "machine=lab", 1);
        execl("/proc/self/exe", "selftest", "count", (char *)NULL);
        _exit(99);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    count = WEXITSTATUS(status);
    assert_int_equal(count, 3);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_once_and_lasting),
        cmocka_unit_test(test_usual_codes),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_poison),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_sites),
        cmocka_unit_test(test_environment),
    };
    int count = 0;

    if (argc > 1 && strcmp(argv[1], "count") == 0)
        return cudaGetDeviceCount(&count) == 0 ? count : 99;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
