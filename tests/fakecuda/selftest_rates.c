/* What a device of the fake cannot multiply, and how long it takes for what it
 * can, against the machine files. */
#include "selftest.h"
#include <cublas_v2.h>

struct sized {
    cudaDataType type;
    cublasComputeType_t compute;
    int rows, width;
};

/* Nanoseconds of one product of rows x width by width x width. */
static double timed_ns(const struct sized *job, cublasStatus_t *status)
{
    const float one = 1, zero = 0;
    size_t item = job->type == CUDA_R_32F ? 4 : 2, rows = (size_t)job->rows;
    size_t wide = (size_t)job->width;
    cublasHandle_t handle;
    void *a, *b, *c;
    struct span span;
    double ns;

    OK(cudaMalloc(&a, rows * wide * item));
    OK(cudaMalloc(&b, wide * wide * item));
    OK(cudaMalloc(&c, rows * wide * item));
    OK(cublasCreate(&handle));
    span = span_begin(NULL);
    *status = cublasGemmEx(
        handle, CUBLAS_OP_N, CUBLAS_OP_N, job->width, job->rows, job->width,
        &one, b, job->type, job->width, a, job->type, job->width, &zero, c,
        job->type, job->width, job->compute, CUBLAS_GEMM_DEFAULT);
    ns = span_ns(&span);
    OK(cublasDestroy(handle));
    OK(cudaFree(a));
    OK(cudaFree(b));
    OK(cudaFree(c));
    return ns;
}

static void test_absent(void **state)
{
    struct sized bf16 = { CUDA_R_16BF, CUBLAS_COMPUTE_32F, 64, 64 };
    struct sized tf32 = { CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 64, 64 };
    struct sized odd = { CUDA_R_16BF, CUBLAS_COMPUTE_16F, 64, 64 };
    cublasStatus_t status;

    (void)state;
    begin("machine=desk");
    OK(cudaSetDevice(2)); /* a GTX 1080 Ti */
    (void)timed_ns(&bf16, &status);
    assert_int_equal(status, CUBLAS_STATUS_NOT_SUPPORTED);
    (void)timed_ns(&tf32, &status);
    assert_int_equal(status, CUBLAS_STATUS_ARCH_MISMATCH);
    OK(cudaSetDevice(0));
    (void)timed_ns(&bf16, &status);
    assert_int_equal(status, CUBLAS_STATUS_SUCCESS);
    (void)timed_ns(&odd, &status);
    assert_int_equal(status, CUBLAS_STATUS_NOT_SUPPORTED);
    end();
}

/* FLOP by the rates that stand in the files. */
static void test_times(void **state)
{
    static const struct {
        const char *words;
        int device;
        struct sized job;
        double rate, tolerance;
    } rows[] = {
        { "machine=desk",
          0,
          { CUDA_R_32F, CUBLAS_COMPUTE_32F, 4096, 4096 },
          25e12,
          1e-3 },
        { "machine=desk",
          2,
          { CUDA_R_16F, CUBLAS_COMPUTE_32F, 2048, 2048 },
          170e9,
          1e-3 },
        { "machine=turing",
          1,
          { CUDA_R_16F, CUBLAS_COMPUTE_32F, 8192, 8192 },
          47e12,
          0.1 },
        { "machine=turing",
          1,
          { CUDA_R_16F, CUBLAS_COMPUTE_16F, 8192, 8192 },
          90e12,
          0.1 },
        { "machine=turing",
          0,
          { CUDA_R_16BF, CUBLAS_COMPUTE_32F, 4096, 4096 },
          9.8e12,
          1e-2 },
        { "machine=lab",
          2,
          { CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 8192, 8192 },
          36e12,
          0.1 },
    };
    cublasStatus_t status;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        const struct sized *job = &rows[i].job;
        double flops = 2.0 * job->rows * job->width * job->width;
        begin(rows[i].words);
        OK(cudaSetDevice(rows[i].device));
        near(rows[i].words, flops / rows[i].rate * 1e9, timed_ns(job, &status),
             rows[i].tolerance);
        assert_int_equal(status, CUBLAS_STATUS_SUCCESS);
        end();
    }
}

/* An item of machine twin has 2 GFLOP; 256 of them are done before 224. */
static void test_dips(void **state)
{
    static const double wanted[] = { 3625023, 5097670, 3384421 };
    static const int items[] = { 192, 224, 256 };
    struct sized job = { CUDA_R_16F, CUBLAS_COMPUTE_32F, 0, 4000 };
    cublasStatus_t status;

    (void)state;
    begin("machine=twin");
    OK(cudaSetDevice(0));
    for (int i = 0; i < 3; ++i) {
        job.rows = (int)(items[i] * 2.0e9 / (2.0 * 4000 * 4000));
        near("staircase", wanted[i], timed_ns(&job, &status), 0.03);
    }
    end();
}

static void test_first_product(void **state)
{
    struct sized job = { CUDA_R_32F, CUBLAS_COMPUTE_32F, 1024, 1024 };
    double first, second;
    cublasStatus_t status;

    (void)state;
    begin("machine=twin firstproduct=150ms");
    OK(cudaSetDevice(0));
    first = timed_ns(&job, &status);
    second = timed_ns(&job, &status);
    near("what the first product takes more", 150e6, first - second, 1e-3);
    OK(cudaSetDevice(1));
    near("the other device's first", first, timed_ns(&job, &status), 1e-3);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_dips),
        cmocka_unit_test(test_first_product),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
