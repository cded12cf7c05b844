/* The fake cuBLAS: products against an independent loop in double, handles and
 * their faults. */
#include "selftest.h"
#include <cublas_v2.h>
#include <math.h>
#include <stdlib.h>

enum { M = 19, N = 13, K = 29, LD = 40, BATCH = 3, SIZE = LD * LD };

/* ---- a reference of its own ----------------------------------------------- */

/* Types of operands, of the result, and what tolerance that leaves. */
struct kind {
    const char *name;
    cudaDataType in, out;
    cublasComputeType_t compute;
    double tolerance; /* relative to the sum of magnitudes */
};

static double pow2(int exponent)
{
    return ldexp(1, exponent);
}

static uint16_t pack16(double value, int mantissa, int bias)
{
    int exponent;
    double part = frexp(fabs(value), &exponent);
    unsigned sign = value < 0 ? 0x8000u : 0;

    if (value == 0)
        return (uint16_t)sign;
    return (uint16_t)(sign | (unsigned)(exponent - 1 + bias) << mantissa |
                      ((unsigned)(part * pow2(mantissa + 1)) &
                       ((1u << mantissa) - 1)));
}

static double unpack16(uint16_t bits, int mantissa, int bias)
{
    unsigned exponent = (bits & 0x7fffu) >> mantissa;
    double value = (double)(bits & ((1u << mantissa) - 1)) / pow2(mantissa);

    if (exponent == 0)
        value = value * pow2(1 - bias);
    else
        value = (1 + value) * pow2((int)exponent - bias);
    return bits & 0x8000u ? -value : value;
}

static size_t width(cudaDataType type)
{
    return type == CUDA_R_64F                         ? 8
           : type == CUDA_R_32F || type == CUDA_R_32I ? 4
           : type == CUDA_R_8I                        ? 1
                                                      : 2;
}

/* Values that all types hold: small, with at most eight bits of mantissa. */
static double sample(int i)
{
    return (double)(i * 7919 % 127 - 63) / 8;
}

static void store(void *base, cudaDataType type, int i, double value)
{
    char *at = (char *)base + (size_t)i * width(type);
    float single = (float)value;
    int32_t integer = (int32_t)value;
    uint16_t half;

    if (type == CUDA_R_64F)
        memcpy(at, &value, sizeof value);
    else if (type == CUDA_R_32F)
        memcpy(at, &single, sizeof single);
    else if (type == CUDA_R_32I)
        memcpy(at, &integer, sizeof integer);
    else if (type == CUDA_R_8I)
        *at = (char)integer;
    else {
        half =
            type == CUDA_R_16F ? pack16(value, 10, 15) : pack16(value, 7, 127);
        memcpy(at, &half, sizeof half);
    }
}

static double fetch(const void *base, cudaDataType type, int i)
{
    const char *at = (const char *)base + (size_t)i * width(type);
    double value;
    float single;
    int32_t integer;
    uint16_t half;

    memcpy(&single, at, type == CUDA_R_32F ? 4 : 1);
    if (type == CUDA_R_32F)
        return (double)single;
    memcpy(&integer, at, type == CUDA_R_32I ? 4 : 1);
    if (type == CUDA_R_32I)
        return (double)integer;
    memcpy(&half, at, type == CUDA_R_64F ? 1 : 2);
    if (type == CUDA_R_64F) {
        memcpy(&value, at, sizeof value);
        return value;
    }
    return type == CUDA_R_16F ? unpack16(half, 10, 15) : unpack16(half, 7, 127);
}

/* ---- one product of every kind -------------------------------------------- */

struct matrices {
    double a[BATCH * SIZE], b[BATCH * SIZE], c[BATCH * SIZE];
    void *device_a, *device_b, *device_c;
    void *host;
};

static void *upload(const double *values, cudaDataType type, void *host)
{
    void *device = NULL;

    for (int i = 0; i < BATCH * SIZE; ++i)
        store(host, type, i, values[i]);
    OK(cudaMalloc(&device, BATCH * SIZE * width(type)));
    OK(cudaMemcpy(device, host, BATCH * SIZE * width(type),
                  cudaMemcpyHostToDevice));
    return device;
}

static struct matrices *prepare(const struct kind *kind)
{
    struct matrices *all = malloc(sizeof *all);
    int integers = kind->in == CUDA_R_8I;

    assert_non_null(all);
    all->host = malloc(BATCH * SIZE * 8);
    assert_non_null(all->host);
    for (int i = 0; i < BATCH * SIZE; ++i) {
        all->a[i] = integers ? i * 31 % 200 - 100 : sample(i);
        all->b[i] = integers ? i * 17 % 200 - 100 : sample(3 * i + 1);
        all->c[i] = integers ? i % 50 : sample(5 * i + 2);
    }
    all->device_a = upload(all->a, kind->in, all->host);
    all->device_b = upload(all->b, kind->in, all->host);
    all->device_c = upload(all->c, kind->out, all->host);
    return all;
}

static void release(struct matrices *all)
{
    OK(cudaFree(all->device_a));
    OK(cudaFree(all->device_b));
    OK(cudaFree(all->device_c));
    free(all->host);
    free(all);
}

static void check_one(const struct kind *kind, const struct matrices *all,
                      int batch, int i, int j, int turn)
{
    int at = batch * SIZE + j * LD + i;
    double sum = 0, size = 0, got = fetch(all->host, kind->out, at), wanted;
    int integers = kind->in == CUDA_R_8I;
    double alpha = integers ? 3 : 0.5, beta = integers ? -2 : 0.25;

    for (int l = 0; l < K; ++l) {
        int row_a = turn & 1 ? l : i, column_a = turn & 1 ? i : l;
        int row_b = turn & 2 ? j : l, column_b = turn & 2 ? l : j;
        double x = all->a[batch * SIZE + column_a * LD + row_a];
        double y = all->b[batch * SIZE + column_b * LD + row_b];
        sum += x * y;
        size += fabs(x * y);
    }
    wanted = alpha * sum + beta * all->c[at];
    if (!(fabs(got - wanted) <= kind->tolerance * (size + 1)))
        fail_msg("%s, turned %d, batch %d, row %d, column %d: expected %.17g, "
                 "got %.17g",
                 kind->name, turn, batch, i, j, wanted, got);
}

static cublasStatus_t multiply(const struct kind *kind, cublasHandle_t handle,
                               const struct matrices *all, int turn)
{
    const float alpha = 0.5f, beta = 0.25f;
    const double wide_alpha = 0.5, wide_beta = 0.25;
    const int32_t whole_alpha = 3, whole_beta = -2;
    const uint16_t half_alpha = 0x3800, half_beta = 0x3400;
    const void *one = &alpha, *other = &beta;

    if (kind->compute == CUBLAS_COMPUTE_64F) {
        one = &wide_alpha;
        other = &wide_beta;
    } else if (kind->compute == CUBLAS_COMPUTE_32I) {
        one = &whole_alpha;
        other = &whole_beta;
    } else if (kind->compute == CUBLAS_COMPUTE_16F) {
        one = &half_alpha;
        other = &half_beta;
    }
    return cublasGemmStridedBatchedEx(
        handle, turn & 1 ? CUBLAS_OP_T : CUBLAS_OP_N,
        turn & 2 ? CUBLAS_OP_T : CUBLAS_OP_N, M, N, K, one, all->device_a,
        kind->in, LD, SIZE, all->device_b, kind->in, LD, SIZE, other,
        all->device_c, kind->out, LD, SIZE, BATCH, kind->compute,
        CUBLAS_GEMM_DEFAULT);
}

static void check_kind(const struct kind *kind, int turn)
{
    struct matrices *all = prepare(kind);
    cublasHandle_t handle;

    OK(cublasCreate(&handle));
    SAYS(CUBLAS_STATUS_SUCCESS, multiply(kind, handle, all, turn));
    OK(cudaMemcpy(all->host, all->device_c, BATCH * SIZE * width(kind->out),
                  cudaMemcpyDeviceToHost));
    for (int batch = 0; batch < BATCH; ++batch)
        for (int j = 0; j < N; ++j)
            for (int i = 0; i < M; ++i)
                check_one(kind, all, batch, i, j, turn);
    /* what stands between the columns stays */
    for (int i = M; i < LD; ++i)
        assert_true(fetch(all->host, kind->out, i) == all->c[i]);
    OK(cublasDestroy(handle));
    release(all);
}

static const struct kind kinds[] = {
    { "f32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1e-7 },
    { "tf32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 1e-7 },
    { "f64", CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, 1e-15 },
    { "f16", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, 1e-3 },
    { "f16 in f16", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F, 2e-3 },
    { "f16 to f32", CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1e-7 },
    { "bf16", CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 4e-3 },
    { "i8", CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, 0 },
};

static void check_kinds(const char *words)
{
    begin(words);
    OK(cudaSetDevice(1));
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i)
        for (int turn = 0; turn < 4; ++turn)
            check_kind(&kinds[i], turn);
    end();
}

static void test_products(void **state)
{
    (void)state;
    check_kinds("machine=lab");
    check_kinds("machine=lab run=threads");
}

/* ---- sizes ---------------------------------------------------------------- */

struct size {
    int m, n, k;
};

/* Whole numbers, so that sums are exact. */
static float whole(int64_t i)
{
    return (float)(i * 7919 % 17 - 8);
}

static float *filled(int64_t count)
{
    float *host = malloc((size_t)count * sizeof *host), *device = NULL;

    assert_non_null(host);
    for (int64_t i = 0; i < count; ++i)
        host[i] = whole(i);
    OK(cudaMalloc((void **)&device, (size_t)count * sizeof *host));
    OK(cudaMemcpy(device, host, (size_t)count * sizeof *host,
                  cudaMemcpyHostToDevice));
    free(host);
    return device;
}

/* a is m x k, b is given transposed, n x k. */
static float *product(const struct size *size)
{
    const float one = 1, zero = 0;
    size_t bytes = (size_t)size->m * (size_t)size->n * sizeof(float);
    float *a = filled((int64_t)size->m * size->k);
    float *b = filled((int64_t)size->n * size->k), *c, *host = malloc(bytes);
    cublasHandle_t handle;

    assert_non_null(host);
    OK(cudaMalloc((void **)&c, bytes));
    OK(cublasCreate(&handle));
    OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, size->m, size->n, size->k,
                   &one, a, size->m, b, size->n, &zero, c, size->m));
    OK(cudaMemcpy(host, c, bytes, cudaMemcpyDeviceToHost));
    OK(cublasDestroy(handle));
    OK(cudaFree(a));
    OK(cudaFree(b));
    OK(cudaFree(c));
    return host;
}

/* Just behind the blocks that products are made of, in every direction. */
static void test_blocks(void **state)
{
    static const struct size sizes[] = { { 257, 13, 513 },
                                         { 13, 257, 1025 },
                                         { 300, 300, 180 },
                                         { 1, 1, 5000 },
                                         { 5000, 3, 1 } };

    (void)state;
    begin("machine=lab");
    OK(cudaSetDevice(0));
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
        const struct size *size = &sizes[s];
        float *got = product(size);
        for (int j = 0; j < size->n; ++j)
            for (int i = 0; i < size->m; ++i) {
                int64_t sum = 0;
                for (int64_t l = 0; l < size->k; ++l)
                    sum += (int64_t)whole(l * size->m + i) *
                           (int64_t)whole(l * size->n + j);
                if (got[(int64_t)j * size->m + i] != (float)sum)
                    fail_msg("%d x %d x %d, row %d, column %d: expected %lld, "
                             "got %g",
                             size->m, size->n, size->k, i, j, (long long)sum,
                             (double)got[(int64_t)j * size->m + i]);
            }
        free(got);
    }
    end();
}

/* What is too much to compute is the same each time, and a number where it was
 * written. */
static void test_too_much(void **state)
{
    static const struct size size = { 1024, 1024, 1024 };
    float *one, *other;

    (void)state;
    begin("machine=lab");
    OK(cudaSetDevice(0));
    one = product(&size);
    other = product(&size);
    assert_memory_equal(one, other, 1024 * 1024 * sizeof(float));
    assert_true(isfinite(one[0]) && isfinite(one[1023]));
    free(one);
    free(other);
    end();
}

static double squared(cublasHandle_t handle, float in)
{
    const float one = 1, zero = 0;
    float *memory, out = 0;

    OK(cudaMalloc((void **)&memory, 8));
    OK(cudaMemcpy(memory, &in, 4, cudaMemcpyHostToDevice));
    OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, memory, 1,
                   memory, 1, &zero, memory + 1, 1));
    OK(cudaMemcpy(&out, memory + 1, 4, cudaMemcpyDeviceToHost));
    OK(cudaFree(memory));
    return (double)out;
}

/* What ten bits of mantissa do not hold, the handle's mode loses: to nearest,
 * in the middle to even. */
static void test_tf32_rounds(void **state)
{
    static const struct {
        double in, rounded;
    } rows[] = { { 1 + 0x1p-12, 1 },
                 { 1 + 0x1p-11, 1 },
                 { 1 + 0x3p-11, 1 + 0x1p-9 },
                 { 1 + 0x7p-13, 1 + 0x1p-10 },
                 { -1 - 0x3p-11, -1 - 0x1p-9 } };
    cublasHandle_t handle;

    (void)state;
    begin("machine=twin");
    OK(cudaSetDevice(0));
    OK(cublasCreate(&handle));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        double in = rows[i].in, rounded = rows[i].rounded;
        OK(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH));
        near("f32", (double)(float)(in * in), squared(handle, (float)in), 0);
        OK(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH));
        near("tf32", (double)(float)(rounded * rounded),
             squared(handle, (float)in), 0);
    }
    OK(cublasDestroy(handle));
    end();
}

/* A C of not-a-numbers is not read where beta is 0; k 0 leaves beta c. */
static void test_beta_and_nothing(void **state)
{
    const double one = 1, zero = 0, in[2] = { 3, NAN };
    double out = 0, half = 0.5;
    cublasHandle_t handle;
    double *memory;

    (void)state;
    begin("machine=lab");
    OK(cudaSetDevice(0));
    OK(cudaMalloc((void **)&memory, sizeof in));
    OK(cudaMemcpy(memory, in, sizeof in, cudaMemcpyHostToDevice));
    OK(cublasCreate(&handle));
    OK(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, memory, 1,
                   memory, 1, &zero, memory + 1, 1));
    OK(cudaMemcpy(&out, memory + 1, 8, cudaMemcpyDeviceToHost));
    assert_true(out == 9);
    OK(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 0, &one, memory, 1,
                   memory, 1, &half, memory + 1, 1));
    OK(cudaMemcpy(&out, memory + 1, 8, cudaMemcpyDeviceToHost));
    assert_true(out == 4.5);
    SAYS(CUBLAS_STATUS_INVALID_VALUE,
         cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 1, 1, &one, memory, 1,
                     memory, 1, &zero, memory + 1, 2));
    OK(cublasDestroy(handle));
    OK(cudaFree(memory));
    end();
    SAYS(CUBLAS_STATUS_NOT_INITIALIZED, cublasDestroy(handle));
    assert_non_null(fake_breach());
}

/* ---- handles -------------------------------------------------------------- */

static void test_wrong_device(void **state)
{
    cublasHandle_t handle;
    cudaStream_t stream;

    (void)state;
    begin("machine=twin");
    OK(cudaSetDevice(0));
    OK(cublasCreate(&handle));
    OK(cudaSetDevice(1));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cublasSetStream(handle, stream));
    broke("device 0");
}

static void test_planted(void **state)
{
    cublasHandle_t handle = NULL;
    int version = 0;

    (void)state;
    begin("machine=twin fail=cublasCreate:1 fail=cublasSetStream:1:14");
    OK(cudaSetDevice(0));
    SAYS(CUBLAS_STATUS_NOT_INITIALIZED, cublasCreate(&handle));
    OK(cublasCreate(&handle));
    SAYS(CUBLAS_STATUS_INTERNAL_ERROR, cublasSetStream(handle, NULL));
    OK(cublasSetStream(handle, NULL));
    OK(cublasGetVersion(handle, &version));
    assert_true(version >= 12000);
    assert_string_equal(fake_alive()[0] ? "something" : "", "something");
    OK(cublasDestroy(handle));
    end();
    assert_string_equal(cublasGetStatusName(CUBLAS_STATUS_ARCH_MISMATCH),
                        "CUBLAS_STATUS_ARCH_MISMATCH");
}

/* A product into nothing poisons, and says so later. */
static void test_illegal_product(void **state)
{
    const float one = 1, zero = 0;
    cublasHandle_t handle;
    float *memory;

    (void)state;
    begin("machine=twin");
    OK(cudaSetDevice(0));
    OK(cudaMalloc((void **)&memory, 64));
    OK(cublasCreate(&handle));
    OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, memory, 4,
                   memory, 4, &zero, memory + 1, 4));
    SAYS(cudaErrorIllegalAddress, cudaStreamSynchronize(NULL));
    SAYS(CUBLAS_STATUS_EXECUTION_FAILED, cublasSetStream(handle, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_too_much),
        cmocka_unit_test(test_tf32_rounds),
        cmocka_unit_test(test_beta_and_nothing),
        cmocka_unit_test(test_wrong_device),
        cmocka_unit_test(test_planted),
        cmocka_unit_test(test_illegal_product),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
