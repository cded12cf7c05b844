/* Calibrations in which something fails: cuBLAS (FAULTS F26), its absence
 * (F07), memory that is short (F13, F14). The group works on, the profile says
 * what is assumed, and nothing is left behind. */
#define HDP_WITH_CUBLAS_TYPES
#include <hdp/cuda.h>
#include "measured.h"

enum { MIB = 1 << 20 };

/* The first products fail for one member: it is taken to be as the other. */
static void products_that_fail_leave_an_equal_split(void **state)
{
    struct measured own;
    hdp_profile *profile;

    (void)state;
    measured_open(&own, "machine=turing fail=cublasGemmEx:1-", "cuda:all");
    profile = measured_profile(&own, HDP_PROBE_GEMM, HDP_F32, 0);
    expect_near(0.5, measured_ratio(profile, 0), 1e-9, "nobody was measured");
    assert_non_null(strstr(own.log, "could not be measured"));
    assert_non_null(strstr(own.log, "cublasGemmEx"));
    hdp_profile_destroy(profile);

    /* the same group, once it works again */
    fake_calm();
    profile = measured_profile(&own, HDP_PROBE_GEMM, HDP_F32, 0);
    expect_ratios(profile, "turing", 2, "f32", "f32", 0.01);
    hdp_profile_destroy(profile);

    /* and what is known stays when it fails again */
    fake_plant("fail=cublasGemmEx:1-");
    profile = measured_profile(&own, HDP_PROBE_GEMM, HDP_F32, 0);
    expect_ratios(profile, "turing", 2, "f32", "f32", 0.01);
    hdp_profile_destroy(profile);
    measured_close(&own);
}

static void a_handle_that_cannot_be_made_is_no_memory(void **state)
{
    const hdp_calibrate_options options = { .size = sizeof options };
    hdp_error error = { .size = sizeof error };
    struct measured own;
    hdp_profile *profile = NULL;

    (void)state;
    measured_open(&own, "machine=twin fail=cublasCreate:1", "cuda:all");
    expect_status(HDP_ERR_MEMORY, hdp_calibrate(&profile, own.group, &options));
    expect_ok(hdp_error_get(&error));
    assert_int_equal(error.vendor, HDP_VENDOR_CUBLAS);
    assert_true(error.member >= 0);
    profile = measured_profile(&own, HDP_PROBE_GEMM, HDP_F32, 0);
    hdp_profile_destroy(profile);
    measured_close(&own);
}

/* ---- memory --------------------------------------------------------------- */

/* Somebody else has all but `left` bytes of device 0. */
static void open_with_left(struct measured *own, int64_t left)
{
    char words[96];
    int64_t taken;

    measured_open(own, "machine=twin", "cuda:all");
    taken = fake_free_bytes(0) - left;
    (void)snprintf(words, sizeof words, "tenant=0:%lldMiB",
                   (long long)(taken / MIB));
    assert_int_equal(fake_plant(words), 0);
}

static void short_memory_makes_smaller_buffers(void **state)
{
    struct measured own;
    hdp_profile *profile;

    (void)state;
    open_with_left(&own, 192 * (int64_t)MIB);
    profile = measured_profile(&own, HDP_PROBE_ALL, HDP_F32, 0);
    /* more products for as many rows, each with its fixed cost */
    expect_near(0.5, measured_ratio(profile, 0), 0.03, "equal devices");
    hdp_profile_destroy(profile);
    measured_close(&own);
}

static void no_memory_is_told_and_survived(void **state)
{
    const hdp_calibrate_options options = { .size = sizeof options };
    hdp_error error = { .size = sizeof error };
    struct measured own;
    hdp_profile *profile = NULL;

    (void)state;
    open_with_left(&own, 16 * (int64_t)MIB);
    expect_status(HDP_ERR_MEMORY, hdp_calibrate(&profile, own.group, &options));
    assert_null(profile);
    expect_ok(hdp_error_get(&error));
    assert_int_equal(error.member, 0);
    assert_true(error.wanted_bytes > 0);
    assert_int_equal(error.severity, HDP_RETRY);
    assert_int_equal(fake_plant("tenant=0:0MiB"), 0);
    profile = measured_profile(&own, HDP_PROBE_GEMM, HDP_F32, 0);
    hdp_profile_destroy(profile);
    measured_close(&own);
}

/* ---- time ----------------------------------------------------------------- */

/* The deadline holds in a calibration too; a new group works. */
static void a_product_that_never_ends_meets_the_deadline(void **state)
{
    hdp_error health = { .size = sizeof health };
    hdp_group_options options = { .size = sizeof options,
                                  .timeout_ns = 500000000 };
    hdp_profile *profile = NULL;
    struct measured own;

    (void)state;
    measured_open(&own, "machine=twin", "cuda:0");
    hdp_group_destroy(own.group);
    expect_ok(
        hdp_group_create_spec(&own.group, own.context, "cuda:0,1", &options));
    assert_int_equal(fake_plant("hang=cublasGemmEx:20"), 0);
    expect_status(HDP_ERR_TIMEOUT, hdp_calibrate(&profile, own.group, NULL));
    assert_null(profile);
    expect_status(HDP_ERR_TIMEOUT, hdp_group_health(&health, own.group));
    assert_int_equal(health.severity, HDP_GROUP_LOST);
    fake_calm();
    hdp_group_destroy(own.group);
    options.timeout_ns = 0;
    expect_ok(
        hdp_group_create_spec(&own.group, own.context, "cuda:0,1", &options));
    profile = measured_profile(&own, HDP_PROBE_GEMM, HDP_F32, 0);
    expect_near(0.5, measured_ratio(profile, 0), 0.01, "equal devices");
    hdp_profile_destroy(profile);
    measured_close(&own);
}

/* ---- a function of the caller's ------------------------------------------- */

enum { WIDE = 4096 };

struct left {
    float *memory;
    void *stream;
};

/* Leaves large products in the queue, and fails. */
static int32_t leave_and_fail(const hdp_shard *shard, void *user)
{
    const float one = 1, zero = 0;
    struct left *left = user;
    void *handle;

    left->stream = hdp_cuda_stream(shard);
    if (hdp_shard_blas(&handle, shard) != HDP_OK)
        return 2;
    for (int i = 0; i < 100; ++i)
        if (cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, WIDE, WIDE, WIDE,
                        &one, left->memory, WIDE, left->memory, WIDE, &zero,
                        left->memory, WIDE) != CUBLAS_STATUS_SUCCESS)
            return 3;
    return 1;
}

/* Who fails frees what it worked on, so nothing may be at work there. */
static void what_a_failing_function_left_is_done(void **state)
{
    struct measured own;
    struct left left;
    hdp_work work = { .size = sizeof work,
                      .cuda = leave_and_fail,
                      .user = &left };
    const hdp_calibrate_options options = { .size = sizeof options,
                                            .probe = HDP_PROBE_WORK,
                                            .work = &work };
    hdp_profile *profile = NULL;

    (void)state;
    measured_open(&own, "machine=twin clock=real", "cuda:1");
    assert_int_equal(cudaSetDevice(1), cudaSuccess);
    assert_int_equal(cudaMalloc((void **)&left.memory, 64 * MIB), cudaSuccess);
    expect_status(HDP_ERR_CALLBACK,
                  hdp_calibrate(&profile, own.group, &options));
    assert_int_equal(cudaStreamQuery(left.stream), cudaSuccess);
    assert_int_equal(cudaFree(left.memory), cudaSuccess);
    measured_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_that_fail_leave_an_equal_split),
        cmocka_unit_test(a_handle_that_cannot_be_made_is_no_memory),
        cmocka_unit_test(short_memory_makes_smaller_buffers),
        cmocka_unit_test(no_memory_is_told_and_survived),
        cmocka_unit_test(a_product_that_never_ends_meets_the_deadline),
        cmocka_unit_test(what_a_failing_function_left_is_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
