/* The fake driver and its kernels against the facts: entry points, images,
 * launches, partitions. */
#include "selftest.h"
#include <stdio.h>
#include "fake_kernels.h"
#include "../../kernels/launch.h"

static const char image12[] =
    "FAKEIMAGE archs=60,61,70,75,80,86,89,90,100,120 ptx=120\n";
static const char image13[] =
    "FAKEIMAGE archs=75,80,86,89,90,100,120 ptx=120\n";

static void *entry(const char *symbol, unsigned version,
                   enum cudaDriverEntryPointQueryResult *result)
{
    void *function = NULL;

    OK(cudaGetDriverEntryPointByVersion(symbol, &function, version, 0, result));
    return function;
}

/* ---- names ---------------------------------------------------------------- */

static void test_entry_points(void **state)
{
    enum cudaDriverEntryPointQueryResult result;
    CUresult (*version)(int *);
    void *function;
    int number = 0;

    (void)state;
    begin("machine=lab");
    function = entry("cuDriverGetVersion", 12000, &result);
    assert_int_equal(result, cudaDriverEntryPointSuccess);
    memcpy(&version, &function, sizeof version);
    OK(version(&number));
    assert_int_equal(number, 13000);
    assert_null(entry("cuNoSuchThing", 13000, &result));
    assert_int_equal(result, cudaDriverEntryPointSymbolNotFound);
    end();
}

static void test_green_needs_a_driver(void **state)
{
    static const char *const names[] = { "cuDevSmResourceSplitByCount",
                                         "cuGreenCtxCreate",
                                         "cuStreamGetGreenCtx" };
    enum cudaDriverEntryPointQueryResult result;

    (void)state;
    for (size_t i = 0; i < 3; ++i) {
        begin("machine=lab driver=13000");
        assert_non_null(entry(names[i], 13000, &result));
        assert_null(entry(names[i], 12000, &result));
        assert_int_equal(result, cudaDriverEntryPointVersionNotSufficent);
    }
}

/* The name alone means another function from 12.5 on. */
static void test_newer_forms(void **state)
{
    enum cudaDriverEntryPointQueryResult result;
    void *old, *new;

    (void)state;
    begin("machine=lab");
    old = entry("cuStreamGetCtx", 12000, &result);
    new = entry("cuStreamGetCtx", 13000, &result);
    assert_non_null(old);
    assert_non_null(new);
    assert_ptr_not_equal(old, new);
}

static void test_identity(void **state)
{
    struct cudaDeviceProp properties;
    const char *words = NULL;
    CUuuid uuid;
    char name[64], text[64];
    int value = 0;

    (void)state;
    begin("machine=desk");
    OK(cuDeviceGetUuid(&uuid, 0));
    for (int i = 0; i < 4; ++i)
        snprintf(text + 2 * i, 3, "%02x", (unsigned char)uuid.bytes[i]);
    assert_string_equal(text, "e2d7fd97");
    OK(cudaGetDeviceProperties(&properties, 0));
    assert_memory_equal(properties.uuid.bytes, uuid.bytes, 16);
    OK(cuDeviceGetName(name, sizeof name, 2));
    assert_string_equal(name, "NVIDIA GeForce GTX 1080 Ti");
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                            2));
    assert_int_equal(value, 28);
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT,
                            1));
    assert_int_equal(value, 1);
    SAYS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetName(name, sizeof name, 3));
    OK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &words));
    assert_string_equal(words, "CUDA_ERROR_ILLEGAL_ADDRESS");
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGetErrorName((CUresult)12345, &words));
    assert_null(words);
    assert_int_equal(fake_contexts(-1), 0);
    end();
}

static void test_contexts(void **state)
{
    CUcontext first, second, current;
    CUdevice device = -1;

    (void)state;
    begin("machine=desk");
    OK(cuCtxGetCurrent(&current));
    assert_null(current);
    OK(cuDevicePrimaryCtxRetain(&first, 0));
    OK(cuDevicePrimaryCtxRetain(&second, 2));
    OK(cuCtxSetCurrent(first));
    OK(cuCtxPushCurrent(second));
    OK(cuCtxGetDevice(&device));
    assert_int_equal(device, 2);
    OK(cuCtxPopCurrent(&current));
    assert_ptr_equal(current, second);
    OK(cuCtxGetCurrent(&current));
    assert_ptr_equal(current, first);
    assert_int_equal(fake_contexts(1), 0);
    assert_int_equal(fake_contexts(2), 1);
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuDevicePrimaryCtxRelease(2));
    end();
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(2));
    broke("nobody retains");
}

/* ---- kernels -------------------------------------------------------------- */

struct add {
    float *target;
    const float *source;
    int64_t first, count;
};

static void run_add(const void *argument)
{
    const struct add *add = argument;

    for (int64_t i = add->first; i < add->first + add->count; ++i)
        add->target[i] += add->source[i];
}

static int spans_add(struct fake_span *out, const void *argument)
{
    const struct add *add = argument;

    out[0] = (struct fake_span){ offsetof(struct add, target), 4 * add->first,
                                 4 * add->count };
    out[1] = (struct fake_span){ offsetof(struct add, source), 4 * add->first,
                                 4 * add->count };
    return 2;
}

static double cost_long(const void *argument)
{
    (void)argument;
    return 60e6;
}

static const struct fake_kernel add_kernel = { .name = "test_add",
                                               .bytes = sizeof(struct add),
                                               .run = run_add,
                                               .spans = spans_add };

static CUlibrary load(const char *image)
{
    CUlibrary library = NULL;

    OK(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    return library;
}

static CUfunction kernel(CUlibrary library, const char *name)
{
    CUkernel found = NULL;
    CUfunction function = NULL;

    OK(cuLibraryGetKernel(&found, library, name));
    OK(cuKernelGetFunction(&function, found));
    return function;
}

static CUresult launch(CUfunction function, unsigned grid, CUstream stream,
                       void *argument)
{
    void *parameters[] = { argument };

    return cuLaunchKernel(function, grid, 1, 1, 256, 1, 1, 0, stream,
                          parameters, NULL);
}

static void check_launch(const char *words)
{
    enum { COUNT = 1000 };
    CUlibrary library;
    CUdeviceptr one, other;
    struct add add;
    float *held;

    begin(words);
    OK(fake_kernel_register(&add_kernel));
    OK(cudaSetDevice(1));
    library = load(image12);
    OK(cuMemAlloc(&one, COUNT * sizeof(float)));
    OK(cuMemAlloc(&other, COUNT * sizeof(float)));
    OK(cuMemsetD32Async(one, 0x3f800000, COUNT, NULL));   /* 1 */
    OK(cuMemsetD32Async(other, 0x40400000, COUNT, NULL)); /* 3 */
    add = (struct add){ (float *)(uintptr_t)one,
                        (const float *)(uintptr_t)other, 10, COUNT - 20 };
    OK(launch(kernel(library, "test_add"), 4, NULL, &add));
    OK(cuStreamSynchronize(NULL));
    held = fake_reach((void *)(uintptr_t)one, COUNT * sizeof(float));
    for (int i = 0; i < COUNT; ++i)
        if (held[i] != (i < 10 || i >= COUNT - 10 ? 1.0f : 4.0f))
            fail_msg("element %d: expected %d, got %g", i,
                     i < 10 || i >= COUNT - 10 ? 1 : 4, (double)held[i]);
    SAYS(CUDA_ERROR_INVALID_VALUE,
         launch(kernel(library, "test_add"), 0, NULL, &add));
    OK(cuMemFree(one));
    OK(cuMemFree(other));
    OK(cuLibraryUnload(library));
    end();
}

static void test_launch(void **state)
{
    (void)state;
    check_launch("machine=twin");
    check_launch("machine=twin run=threads");
}

static void test_images(void **state)
{
    CUlibrary library = NULL;
    CUkernel found = NULL;
    struct add add = { NULL, NULL, 0, 0 };

    (void)state;
    begin("machine=desk");
    OK(fake_kernel_register(&add_kernel));
    SAYS(CUDA_ERROR_INVALID_IMAGE,
         cuLibraryLoadData(&library, "ELF", NULL, NULL, 0, NULL, NULL, 0));
    library = load(image13);
    OK(cuLibraryGetKernel(&found, library, "test_add"));
    SAYS(CUDA_ERROR_NOT_FOUND,
         cuLibraryGetKernel(&found, library, "test_no_such_kernel"));
    OK(cuLibraryGetKernel(&found, library, "test_add"));
    OK(cudaSetDevice(2)); /* capability 6.1 */
    SAYS(CUDA_ERROR_NO_BINARY_FOR_GPU,
         launch((CUfunction)(void *)found, 1, NULL, &add));
    SAYS(CUDA_ERROR_NO_BINARY_FOR_GPU,
         cuLibraryGetKernel(&found, library, "test_add"));
    OK(cudaSetDevice(0));
    OK(launch((CUfunction)(void *)found, 1, NULL, &add));
    OK(cuStreamSynchronize(NULL));
    OK(cuLibraryUnload(library));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuLibraryUnload(library));
    assert_non_null(fake_breach());
}

static CUresult load_on(int device, const char *image)
{
    CUkernel found = NULL;
    CUlibrary library = load(image);
    CUresult result;

    OK(cudaSetDevice(device));
    result = cuLibraryGetKernel(&found, library, "test_add");
    OK(cuLibraryUnload(library));
    return result;
}

/* Code for 8.9 is none for 8.6; PTX of 8.0 is for both, and none for 6.1. */
static void test_architectures(void **state)
{
    static const char newer[] = "FAKEIMAGE archs=89 ptx=120\n";
    static const char portable[] = "FAKEIMAGE archs=100 ptx=80\n";

    (void)state;
    begin("machine=desk");
    OK(fake_kernel_register(&add_kernel));
    SAYS(CUDA_ERROR_NO_BINARY_FOR_GPU, load_on(0, newer));
    OK(load_on(1, newer));
    OK(load_on(0, portable));
    OK(load_on(1, portable));
    SAYS(CUDA_ERROR_NO_BINARY_FOR_GPU, load_on(2, portable));
    end();
}

/* Memory of another device, without access, is an illegal address: from then
 * on every call fails, on every device. */
static void test_illegal_address(void **state)
{
    CUlibrary library;
    CUdeviceptr one, other;
    struct add add;

    (void)state;
    begin("machine=twin");
    OK(fake_kernel_register(&add_kernel));
    OK(cudaSetDevice(1));
    OK(cuMemAlloc(&other, 64));
    OK(cudaSetDevice(0));
    OK(cuMemAlloc(&one, 64));
    library = load(image12);
    add = (struct add){ (float *)(uintptr_t)one,
                        (const float *)(uintptr_t)other, 0, 16 };
    OK(launch(kernel(library, "test_add"), 1, NULL, &add));
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(NULL));
    SAYS(cudaErrorIllegalAddress, cudaSetDevice(1));
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemAlloc(&one, 64));
}

/* One element behind the end is as illegal as a megabyte. */
static void test_past_the_end(void **state)
{
    CUlibrary library;
    CUdeviceptr one;
    struct add add;

    (void)state;
    begin("machine=twin");
    OK(fake_kernel_register(&add_kernel));
    OK(cudaSetDevice(0));
    OK(cuMemAlloc(&one, 64));
    library = load(image12);
    add =
        (struct add){ (float *)(uintptr_t)one, (float *)(uintptr_t)one, 0, 17 };
    OK(launch(kernel(library, "test_add"), 1, NULL, &add));
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(NULL));
}

static void test_display(void **state)
{
    struct fake_kernel slow = add_kernel;
    CUlibrary library;
    struct add add = { NULL, NULL, 0, 0 };

    (void)state;
    begin("machine=desk");
    slow.name = "test_slow";
    slow.cost_ns = cost_long;
    slow.brief = 1;
    OK(fake_kernel_register(&slow));
    library = load(image12);
    OK(cudaSetDevice(0));
    OK(launch(kernel(library, "test_slow"), 1, NULL, &add));
    OK(cuStreamSynchronize(NULL));
    assert_null(fake_breach());
    OK(cudaSetDevice(1)); /* drives the display */
    OK(launch(kernel(library, "test_slow"), 1, NULL, &add));
    OK(cuStreamSynchronize(NULL));
    broke("display");
    OK(cuLibraryUnload(library));
}

/* ---- hdp's own kernels ---------------------------------------------------- */

static void test_accumulate(void **state)
{
    enum { COUNT = 4096, F32 = 1 };
    float in[COUNT], start[COUNT], out[COUNT];
    struct hdpk_launch_accumulate job = { NULL, NULL, 0.375, 0, COUNT, F32, 0 };
    CUlibrary library;
    CUdeviceptr target, source;

    (void)state;
    begin("machine=desk");
    OK(cudaSetDevice(2));
    for (int i = 0; i < COUNT; ++i) {
        in[i] = (float)(i * 7919 % 1000) / 8;
        start[i] = (float)(i % 100);
    }
    OK(cuMemAlloc(&target, sizeof in));
    OK(cuMemAlloc(&source, sizeof in));
    OK(cuMemcpyHtoDAsync(target, start, sizeof start, NULL));
    OK(cuMemcpyHtoDAsync(source, in, sizeof in, NULL));
    library = load(image12);
    job.target = (void *)(uintptr_t)target;
    job.source = (void *)(uintptr_t)source;
    OK(launch(kernel(library, "hdpk_cuda_accumulate"), 8, NULL, &job));
    OK(cuMemcpyDtoHAsync(out, target, sizeof out, NULL));
    OK(cuStreamSynchronize(NULL));
    for (int i = 0; i < COUNT; ++i) /* exact in f32 */
        if ((double)out[i] != (double)start[i] + 0.375 * (double)in[i])
            fail_msg("element %d: expected %.17g, got %.17g", i,
                     (double)start[i] + 0.375 * (double)in[i], (double)out[i]);
    OK(cuMemFree(target));
    OK(cuMemFree(source));
    OK(cuLibraryUnload(library));
    end();
}

/* The last of the elements stand behind the end of the memory. */
static void test_accumulate_past_the_end(void **state)
{
    struct hdpk_launch_accumulate job = { NULL, NULL, 1, 90, 10, 1, 0 };
    CUlibrary library;
    CUdeviceptr memory;

    (void)state;
    begin("machine=desk");
    OK(cudaSetDevice(0));
    OK(cuMemAlloc(&memory, 400));
    OK(cuMemsetD8Async(memory, 0, 400, NULL));
    library = load(image12);
    job.target = (void *)(uintptr_t)memory;
    job.source = (void *)(uintptr_t)memory;
    OK(launch(kernel(library, "hdpk_cuda_accumulate"), 1, NULL, &job));
    OK(cuStreamSynchronize(NULL));
    job.first = 91;
    OK(launch(kernel(library, "hdpk_cuda_accumulate"), 1, NULL, &job));
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(NULL));
}

/* 64 MiB of its own memory by the speed of its copies, 64 MiB of the host's by
 * the link's. */
static void test_traffic(void **state)
{
    enum { BYTES = 64 << 20 };
    struct hdpk_launch_scale job = { NULL, 2, 0, BYTES / 4, 1, 0 };
    void *own, *pinned;
    CUlibrary library;
    struct span span;

    (void)state;
    begin("machine=twin");
    OK(cudaSetDevice(0));
    OK(cudaMalloc(&own, BYTES));
    OK(cudaHostAlloc(&pinned, BYTES, 0));
    library = load(image12);
    for (int i = 0; i < 2; ++i) {
        double rate = i ? 25e9 : 2.0 * (1 << 20) / 2312e-9;
        job.data = i ? pinned : own;
        span = span_begin(NULL);
        OK(launch(kernel(library, "hdpk_cuda_scale"), 64, NULL, &job));
        near(i ? "pinned memory" : "own memory", BYTES / rate * 1e9 + 3900,
             span_ns(&span), 0.01);
    }
    OK(cudaFree(own));
    OK(cudaFreeHost(pinned));
    OK(cuLibraryUnload(library));
    end();
}

static void test_spin(void **state)
{
    struct hdpk_launch_spin job = { NULL, 2000000 };
    CUlibrary library;
    struct span span;

    (void)state;
    begin("machine=twin");
    OK(cudaSetDevice(0));
    library = load(image12);
    span = span_begin(NULL);
    OK(launch(kernel(library, "hdpk_cuda_spin"), 1, NULL, &job));
    near("spin", 2e6 + 3900, span_ns(&span), 5e-4); /* and a launch */
    OK(cuLibraryUnload(library));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entry_points),
        cmocka_unit_test(test_green_needs_a_driver),
        cmocka_unit_test(test_newer_forms),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_contexts),
        cmocka_unit_test(test_launch),
        cmocka_unit_test(test_images),
        cmocka_unit_test(test_architectures),
        cmocka_unit_test(test_illegal_address),
        cmocka_unit_test(test_past_the_end),
        cmocka_unit_test(test_display),
        cmocka_unit_test(test_accumulate),
        cmocka_unit_test(test_accumulate_past_the_end),
        cmocka_unit_test(test_traffic),
        cmocka_unit_test(test_spin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
