/* What each code of CUDA leaves to the caller, in status, severity and words;
 * what poisons a process is told to everybody from then on. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/fate.h"
#include "device/cuda_inner.h"
#include "looked.h"

struct row {
    int code;
    hdp_status status;
};

/* FAULTS 3 and what follows from it for its neighbours. */
static const struct row rows[] = {
    { 0, HDP_OK },
    { 600, HDP_OK },
    { 704, HDP_OK },
    { 1, HDP_ERR_INTERNAL },
    { 101, HDP_ERR_INTERNAL },
    { 400, HDP_ERR_INTERNAL },
    { 2, HDP_ERR_MEMORY },
    { 3, HDP_ERR_NOT_FOUND },
    { 35, HDP_ERR_NOT_FOUND },
    { 36, HDP_ERR_NOT_FOUND },
    { 100, HDP_ERR_NOT_FOUND },
    { 803, HDP_ERR_NOT_FOUND },
    { 46, HDP_ERR_BUSY },
    { 209, HDP_ERR_UNSUPPORTED },
    { 217, HDP_ERR_UNSUPPORTED },
    { 801, HDP_ERR_UNSUPPORTED },
    { 900, HDP_ERR_STATE },
    { 304, HDP_ERR_SYSTEM },
    { 701, HDP_ERR_DEVICE },
};

static const int fatal[] = { 214, 220, 226, 700, 702, 710, 714, 715,
                             716, 717, 718, 719, 721, 810, 911 };

static struct cuda member(void)
{
    struct cuda self;

    memset(&self, 0, sizeof self);
    self.base.member = 1;
    self.base.rank = 3;
    self.base.row.info.logical_id = 2;
    strcpy(self.base.row.info.spec, "cuda:2");
    strcpy(self.base.row.info.uuid, "GPU-531f137a-e361-4a84-ae59-a295fa23ed1a");
    return self;
}

static void each_code_has_a_status(void **state)
{
    struct cuda self = member();

    (void)state;
    looked_start("machine=desk", NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        int code = rows[i].code;
        expect_number(rows[i].status,
                      cuda_check(&self, (cudaError_t)code, "cudaX"),
                      "runtime's %d", code);
        expect_number(rows[i].status,
                      cuda_check_driver(&self, (CUresult)code, "cuX"),
                      "driver's %d", code);
        expect_number(0, cuda_is_fatal((cudaError_t)code), "fatal %d", code);
        if (rows[i].status == HDP_OK)
            continue;
        expect_number(HDPI_VENDOR_DRIVER, hdpi_error()->vendor, "vendor");
        expect_number(code, hdpi_error()->vendor_code, "vendor's code");
        expect_number(1, hdpi_error()->member, "member");
        expect_number(3, hdpi_error()->rank, "rank");
    }
    expect_number(0, hdpi_fate_is_sealed(), "sealed");
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
}

static void words_name_the_device_and_the_call(void **state)
{
    struct cuda self = member();

    (void)state;
    looked_start("machine=desk", NULL);
    expect_number(HDP_ERR_MEMORY,
                  cuda_check(&self, cudaErrorMemoryAllocation, "cudaMalloc"),
                  "status");
    assert_string_equal(hdp_last_error(),
                        "cuda:2 (GPU-531f137a-e361-4a84-ae59-a295fa23ed1a): "
                        "cudaMalloc: out of memory (2)");
    expect_number(HDP_ERR_NOT_FOUND,
                  cuda_check(NULL, cudaErrorInsufficientDriver, "cudaX"),
                  "status");
    assert_non_null(strstr(hdp_last_error(), "driver 13.0, built for CUDA 1"));
}

static void cublas_has_codes_of_its_own(void **state)
{
    static const struct row blas[] = {
        { CUBLAS_STATUS_SUCCESS, HDP_OK },
        { CUBLAS_STATUS_NOT_INITIALIZED, HDP_ERR_MEMORY },
        { CUBLAS_STATUS_ALLOC_FAILED, HDP_ERR_MEMORY },
        { CUBLAS_STATUS_INVALID_VALUE, HDP_ERR_INTERNAL },
        { CUBLAS_STATUS_ARCH_MISMATCH, HDP_ERR_UNSUPPORTED },
        { CUBLAS_STATUS_NOT_SUPPORTED, HDP_ERR_UNSUPPORTED },
        { CUBLAS_STATUS_EXECUTION_FAILED, HDP_ERR_DEVICE },
        { CUBLAS_STATUS_INTERNAL_ERROR, HDP_ERR_DEVICE },
    };
    struct cuda self = member();

    (void)state;
    looked_start("machine=desk", NULL);
    for (size_t i = 0; i < sizeof blas / sizeof *blas; ++i)
        expect_number(
            blas[i].status,
            cuda_check_blas(&self, (cublasStatus_t)blas[i].code, "cublasX"),
            "cuBLAS's %d", blas[i].code);
    expect_number(HDPI_VENDOR_CUBLAS, hdpi_error()->vendor, "vendor");
}

/* ---- the driver's table ------------------------------------------------------ */

/* How often the table asks for a function: the last are those of partitions. */
static int entries(void)
{
    int64_t before = fake_calls("cudaGetDriverEntryPointByVersion");
    struct cuda_driver driver;

    expect_ok(cuda_driver_load(&driver));
    assert_non_null(driver.launch);
    assert_non_null(driver.green_stream);
    return (int)(fake_calls("cudaGetDriverEntryPointByVersion") - before);
}

static void a_driver_may_lack_functions(void **state)
{
    struct cuda_driver driver;
    char words[80], path[256];
    int count;

    (void)state;
    looked_start("machine=desk", NULL);
    count = entries();
    (void)snprintf(words, sizeof words,
                   "fail=cudaGetDriverEntryPointByVersion:%d:500", count);
    assert_int_equal(fake_plant(words), 0);
    expect_ok(cuda_driver_load(&driver)); /* one of the newer */
    assert_null(driver.green_stream);
    assert_non_null(driver.launch);
    cuda_driver_path(path, sizeof path, &driver);
    if (!strstr(path, "libfakecuda"))
        fail_msg("expected the fake's path, got \"%s\"", path);

    fake_calm();
    assert_int_equal(fake_plant("fail=cudaGetDriverEntryPointByVersion:1:500"),
                     0);
    looked_failed(cuda_driver_load(&driver), HDP_ERR_UNSUPPORTED,
                  "the CUDA driver has no cuGetErrorString: driver 13.0");
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    fake_calm();
    assert_int_equal(fake_plant("fail=cudaGetDriverEntryPointByVersion:2:35"),
                     0);
    looked_failed(cuda_driver_load(&driver), HDP_ERR_NOT_FOUND, "(35)");
    fake_calm();
}

/* ---- what cannot be taken back: each in a process of its own ----------------- */

static int told(int ok, const char *what, int code)
{
    if (!ok)
        print_error("code %d: %s; last error: %s\n", code, what,
                    hdp_last_error());
    return !ok;
}

static int after(int code, int driver)
{
    struct cuda self = member(), other = member();
    hdp_status status =
        driver ? cuda_check_driver(&self, (CUresult)code, "cuLaunchKernel")
               : cuda_check(&self, (cudaError_t)code, "cudaStreamSynchronize");
    char first[256];
    int64_t calls;
    int bad = 0;

    bad |= told(status == HDP_ERR_FATAL, "no fatal status", code);
    bad |= told(hdpi_error()->severity == HDP_PROCESS_LOST, "severity", code);
    bad |= told(hdpi_error()->vendor_code == code, "vendor's code", code);
    bad |= told(strstr(hdp_last_error(), "GPU-531f137a") != NULL, "UUID", code);
    bad |= told(strstr(hdp_last_error(), "seen at cu") != NULL &&
                    strstr(hdp_last_error(), "caused at or before") != NULL,
                "seen apart from caused", code);
    (void)snprintf(first, sizeof first, "%s", hdp_last_error());
    calls = fake_calls(NULL);
    other.base.member = 7;
    bad |= told(cuda_enter(&other) == HDP_ERR_FATAL, "entered", code);
    bad |= told(strcmp(first, hdp_last_error()) == 0, "other words", code);
    bad |= told(cuda_may_call() == HDP_ERR_FATAL, "may call", code);
    bad |= told(fake_calls(NULL) == calls, "CUDA was called", code);
    /* a second device's failure does not replace the first */
    (void)cuda_check(&other, cudaErrorAssert, "cudaX");
    bad |= told(strcmp(first, hdp_last_error()) == 0, "replaced", code);
    return bad;
}

/* cuBLAS has a number of its own for a poisoned process. */
static int after_cublas(void)
{
    struct cuda self = member();
    int bad = 0;

    bad |= told(cudaStreamCreateWithFlags(&self.stream,
                                          cudaStreamNonBlocking) == cudaSuccess,
                "stream", 0);
    bad |= told(fake_plant("sticky=cudaStreamQuery:1:719") == 0, "plant", 0);
    bad |= told(cuda_check_blas(&self, CUBLAS_STATUS_EXECUTION_FAILED,
                                "cublasGemmEx") == HDP_ERR_FATAL,
                "no fatal status", 719);
    bad |= told(hdpi_error()->vendor == HDPI_VENDOR_CUDA &&
                    hdpi_error()->vendor_code == 719,
                "the runtime's code", 719);
    bad |= told(hdpi_fate_is_sealed(), "not sealed", 719);
    return bad;
}

static void cublas_does_not_hide_poison(void **state)
{
    int status = -1;
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    if (child == 0)
        _exit(fake_start("machine=desk") != 0 || after_cublas());
    assert_int_equal(waitpid(child, &status, 0), child);
    expect_number(0, status, "status of the process");
}

static void expect_apart(int code, int driver)
{
    int status = -1;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        _exit(fake_start("machine=desk") != 0 || after(code, driver));
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("code %d: the process ended with %x", code, status);
}

static void poison_is_sealed_and_said_to_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; ++i) {
        expect_number(1, cuda_is_fatal((cudaError_t)fatal[i]), "fatal %d",
                      fatal[i]);
        expect_apart(fatal[i], 0);
        expect_apart(fatal[i], 1);
    }
}

/* A device that falls off the bus has no code but "unknown"; before there is a
 * member that is a driver which does not start. */
static void a_lost_device_is_fatal_too(void **state)
{
    (void)state;
    expect_apart(999, 0);
    looked_start("machine=desk", NULL);
    expect_number(HDP_ERR_NOT_FOUND,
                  cuda_check(NULL, cudaErrorUnknown, "cudaGetDeviceCount"),
                  "status without a member");
    expect_number(0, hdpi_fate_is_sealed(), "sealed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_code_has_a_status),
        cmocka_unit_test(words_name_the_device_and_the_call),
        cmocka_unit_test(cublas_has_codes_of_its_own),
        cmocka_unit_test(a_driver_may_lack_functions),
        cmocka_unit_test(cublas_does_not_hide_poison),
        cmocka_unit_test(poison_is_sealed_and_said_to_all),
        cmocka_unit_test(a_lost_device_is_fatal_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
