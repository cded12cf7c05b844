/* Partitions of the fake against what was measured of them on two H200. */
#include "selftest.h"
#include <cublas_v2.h>

/* Device 1 of machine lab is an H100 of 132 SMs. */
enum { H100 = 1, A100 = 0, GROUPS = 20 };

static const int64_t lost = 4 << 20;

static CUdevResource whole(CUdevice device)
{
    CUdevResource resource;

    OK(cuDeviceGetDevResource(device, &resource, CU_DEV_RESOURCE_TYPE_SM));
    return resource;
}

static unsigned split(CUdevResource *groups, CUdevResource *rest,
                      CUdevice device, unsigned wanted, unsigned least)
{
    CUdevResource all = whole(device);
    unsigned count = wanted;

    OK(cuDevSmResourceSplitByCount(groups, &count, &all, rest, 0, least));
    return count;
}

static CUgreenCtx create(CUdevice device, CUdevResource *groups, unsigned count)
{
    CUdevResourceDesc descriptor;
    CUgreenCtx green = NULL;

    OK(cuDevResourceGenerateDesc(&descriptor, groups, count));
    OK(cuGreenCtxCreate(&green, descriptor, device,
                        CU_GREEN_CTX_DEFAULT_STREAM));
    return green;
}

static void test_granule(void **state)
{
    static const unsigned asked[] = { 1, 8, 44, 66 },
                          given[] = { 8, 8, 48, 72 };
    CUdevResource groups[GROUPS], rest;

    (void)state;
    begin("machine=lab");
    assert_int_equal(whole(H100).sm.smCount, 132);
#if CUDA_VERSION >= 13000
    assert_int_equal(whole(H100).sm.minSmPartitionSize, 8);
#endif
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(split(groups, &rest, H100, 1, asked[i]), 1);
        assert_int_equal(groups[0].sm.smCount, given[i]);
        assert_int_equal(rest.sm.smCount, 132 - given[i]);
    }
    assert_int_equal(split(groups, &rest, A100, 1, 7), 1);
    assert_int_equal(groups[0].sm.smCount, 8); /* multiples of 2 */
    assert_int_equal(split(groups, &rest, A100, 1, 9), 1);
    assert_int_equal(groups[0].sm.smCount, 10);
    assert_int_equal(fake_contexts(-1), 0);
    end();
}

static void test_many_groups(void **state)
{
    CUdevResource groups[GROUPS], rest, all;
    unsigned count = 0;

    (void)state;
    begin("machine=lab");
    assert_int_equal(split(groups, &rest, H100, GROUPS, 8), 15);
    for (int i = 0; i < 15; ++i)
        assert_int_equal(groups[i].sm.smCount, 8);
    assert_int_equal(rest.sm.smCount, 12);
    all = whole(H100);
    OK(cuDevSmResourceSplitByCount(NULL, &count, &all, NULL, 0, 8));
    assert_int_equal(count, 15);
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuDevSmResourceSplitByCount(groups, &count, &all, NULL, 0, 133));
    count = 1; /* a group is not split again */
    SAYS(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
         cuDevSmResourceSplitByCount(groups, &count, &rest, NULL, 0, 8));
    end();
}

static void test_joined_groups(void **state)
{
    CUdevResource groups[GROUPS], others[GROUPS], mixed[2], got;
    CUdevResourceDesc descriptor;
    CUgreenCtx green;

    (void)state;
    begin("machine=lab");
    (void)split(groups, NULL, H100, GROUPS, 8);
    (void)split(others, NULL, H100, GROUPS, 8);
    green = create(H100, groups + 2, 3);
    OK(cuGreenCtxGetDevResource(green, &got, CU_DEV_RESOURCE_TYPE_SM));
    assert_int_equal(got.sm.smCount, 24);
    mixed[0] = groups[0];
    mixed[1] = others[1];
    SAYS(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
         cuDevResourceGenerateDesc(&descriptor, mixed, 2));
    OK(cuGreenCtxDestroy(green));
    end();
}

/* The first creation makes the primary context too. */
static void test_loses_memory(void **state)
{
    CUdevResource groups[GROUPS];
    int64_t before;

    (void)state;
    begin("machine=lab");
    OK(cudaSetDevice(H100));
    before = fake_free_bytes(H100);
    (void)split(groups, NULL, H100, 1, 48);
    for (int i = 1; i <= 10; ++i) {
        OK(cuGreenCtxDestroy(create(H100, groups, 1)));
        assert_int_equal(before - fake_free_bytes(H100), i * lost);
    }
    end();
}

static void test_streams_belong(void **state)
{
    CUdevResource groups[GROUPS];
    CUgreenCtx green, found = NULL;
    CUcontext context = NULL, own = NULL;
    cudaStream_t plain;
    CUstream stream;

    (void)state;
    begin("machine=lab");
    OK(cudaSetDevice(H100));
    (void)split(groups, NULL, H100, 1, 48);
    green = create(H100, groups, 1);
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuGreenCtxStreamCreate(&stream, green, CU_STREAM_DEFAULT, 0));
    OK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
    OK(cudaStreamCreateWithFlags(&plain, cudaStreamNonBlocking));
    OK(cuStreamGetGreenCtx(stream, &found));
    assert_ptr_equal(found, green);
    OK(cuStreamGetGreenCtx(plain, &found));
    assert_null(found);
    OK(cuCtxFromGreenCtx(&own, green));
    OK(cuStreamGetCtx(stream, &context));
    assert_ptr_equal(context, own);
    OK(cuStreamGetCtx_v2(stream, &context, &found));
    assert_ptr_equal(found, green);
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(plain));
    OK(cuGreenCtxDestroy(green));
    end();
}

static void test_destroyed_too_early(void **state)
{
    CUdevResource groups[GROUPS];
    CUgreenCtx green;
    CUstream stream;

    (void)state;
    begin("machine=lab");
    (void)split(groups, NULL, H100, 1, 8);
    green = create(H100, groups, 1);
    OK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
    OK(cuGreenCtxDestroy(green));
    broke("before the streams");
}

/* ---- speed ---------------------------------------------------------------- */

static double product_ns(cudaStream_t stream, int target, int n)
{
    const float one = 1, zero = 0;
    size_t bytes = (size_t)n * (size_t)n * 2;
    cublasHandle_t handle;
    void *a, *b, *c;
    struct span span;
    double ns;

    OK(cudaMalloc(&a, bytes));
    OK(cudaMalloc(&b, bytes));
    OK(cudaMalloc(&c, bytes));
    OK(cublasCreate(&handle));
    OK(cublasSetStream(handle, stream));
    OK(cublasSetSmCountTarget(handle, target));
    span = span_begin(stream);
    OK(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a,
                    CUDA_R_16BF, n, b, CUDA_R_16BF, n, &zero, c, CUDA_R_16BF, n,
                    CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    ns = span_ns(&span);
    OK(cublasDestroy(handle));
    OK(cudaFree(a));
    OK(cudaFree(b));
    OK(cudaFree(c));
    return ns;
}

/* The machine's 650 TFLOP/s, and its part for 48 of 132 SMs: that is with a
 * library that was told; one that was not takes 112 us for 97. */
static void test_rate(void **state)
{
    CUdevResource groups[GROUPS];
    double all, told, untold;
    CUgreenCtx green;
    CUstream stream;
    cudaStream_t plain;

    (void)state;
    begin("machine=lab");
    OK(cudaSetDevice(H100));
    (void)split(groups, NULL, H100, 1, 48);
    green = create(H100, groups, 1);
    OK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
    OK(cudaStreamCreateWithFlags(&plain, cudaStreamNonBlocking));
    all = product_ns(plain, 0, 8192);
    told = product_ns(stream, 48, 8192);
    untold = product_ns(stream, 0, 8192);
    near("the whole device", 2 * 8192.0 * 8192 * 8192 / 650e12 * 1e9, all, 0.3);
    near("48 of 132 SMs", all * 132 / 48, told, 0.001);
    near("not told", told * 112 / 97, untold, 0.001);
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(plain));
    OK(cuGreenCtxDestroy(green));
    end();
}

static void test_events(void **state)
{
    CUdevResource groups[GROUPS];
    CUgreenCtx green;
    CUstream streams[2];
    cudaEvent_t event;
    void *memory;

    (void)state;
    begin("machine=lab");
    OK(cudaSetDevice(H100));
    (void)split(groups, NULL, H100, 1, 8);
    green = create(H100, groups, 1);
    OK(cudaMalloc(&memory, 1 << 20));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (int i = 0; i < 2; ++i) {
        OK(cuGreenCtxStreamCreate(&streams[i], green, CU_STREAM_NON_BLOCKING,
                                  0));
        OK(cudaMemsetAsync(memory, i, 1 << 20, streams[i]));
    }
    OK(cuGreenCtxRecordEvent(green, event));
    OK(cuGreenCtxWaitEvent(green, event));
    OK(cudaEventSynchronize(event));
    OK(cudaFree(memory)); /* the event is past both */
    for (int i = 0; i < 2; ++i)
        OK(cudaStreamDestroy(streams[i]));
    OK(cudaEventDestroy(event));
    OK(cuGreenCtxDestroy(green));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_granule),
        cmocka_unit_test(test_many_groups),
        cmocka_unit_test(test_joined_groups),
        cmocka_unit_test(test_loses_memory),
        cmocka_unit_test(test_streams_belong),
        cmocka_unit_test(test_destroyed_too_early),
        cmocka_unit_test(test_rate),
        cmocka_unit_test(test_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
