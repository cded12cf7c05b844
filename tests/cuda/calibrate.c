/* Calibration of GPUs: on each shipped machine the measured ratios are those of
 * its file, in every type that its devices have; sums kept in 16 bits are
 * another profile than sums kept in 32; what a device lacks is a finding, and
 * what it has without units is said to be slow. */
#include <cuda_runtime_api.h>
#include "measured.h"

static const struct {
    const char *name;
    int members;
} machines[] = {
    { "desk", 3 }, { "turing", 2 }, { "twin", 2 }, { "laptop", 1 }, { "lab", 3 }
};
enum { MACHINES = sizeof machines / sizeof *machines };

/* Between equal devices and along lines; along a staircase with dips. */
static const double exact = 0.01, loose = 0.04;

static uint32_t units_of(const struct measured *own, int member, int slow)
{
    hdp_device info = { .size = sizeof info };

    expect_ok(hdp_group_device(&info, own->group, member));
    return slow ? info.slow_dtypes : info.native_dtypes;
}

static void each(int32_t dtype, const char *name, double off)
{
    char words[64];

    for (int i = 0; i < MACHINES; ++i) {
        struct measured own;
        hdp_profile *profile;
        (void)snprintf(words, sizeof words, "machine=%s", machines[i].name);
        measured_open(&own, words, "cuda:all");
        profile = measured_profile(&own, HDP_PROBE_GEMM, dtype, 0);
        expect_ratios(profile, machines[i].name, machines[i].members, name,
                      name, off);
        hdp_profile_destroy(profile);
        measured_close(&own);
    }
}

static void ratios_in_f32_are_those_of_the_file(void **state)
{
    (void)state;
    each(HDP_F32, "f32", exact);
}

static void ratios_in_f64_are_those_of_the_file(void **state)
{
    (void)state;
    each(HDP_F64, "f64", exact);
}

static void rates_are_those_of_the_file(void **state)
{
    struct measured own;
    hdp_profile *profile;

    (void)state;
    measured_open(&own, "machine=desk", "cuda:2,0");
    profile = measured_profile(&own, HDP_PROBE_GEMM, HDP_F32, 0);
    expect_near(measured_flops("desk", 2, "f32", "f32"),
                measured_figure(profile, 0, "rate_flops"), exact, "1080 Ti");
    expect_near(measured_flops("desk", 0, "f32", "f32"),
                measured_figure(profile, 1, "rate_flops"), exact, "3090");
    hdp_profile_destroy(profile);
    measured_close(&own);
}

/* ---- types ---------------------------------------------------------------- */

/* Equal times are unequal sizes, which stand on unequal steps; at the caller's
 * sizes all stand on one. */
static void a_staircase_is_compared_at_one_size(void **state)
{
    static const int64_t rows[] = { 15360, 61440 };
    static const struct {
        int32_t dtype;
        const char *name, *compute;
    } types[] = { { HDP_BF16, "bf16", "f32" }, { HDP_TF32, "tf32", "tf32" } };
    struct measured own;

    (void)state;
    measured_open(&own, "machine=lab", "cuda:all");
    for (int i = 0; i < 2; ++i) {
        const hdp_calibrate_options options = { .size = sizeof options,
                                                .dtype = types[i].dtype,
                                                .items = rows,
                                                .item_count = 2 };
        hdp_profile *profile = NULL;
        expect_ok(hdp_calibrate(&profile, own.group, &options));
        expect_ratios(profile, "lab", 3, types[i].name, types[i].compute,
                      loose);
        hdp_profile_destroy(profile);
    }
    measured_close(&own);
}

static void sums_in_16_bits_are_another_profile(void **state)
{
    static const int32_t computes[] = { HDP_F32, HDP_F16 };
    static const char *const names[] = { "f32", "f16" };
    struct measured own;

    (void)state;
    measured_open(&own, "machine=turing", "cuda:all");
    for (int i = 0; i < 2; ++i) {
        hdp_profile_info info = { .size = sizeof info };
        hdp_profile *profile =
            measured_profile(&own, HDP_PROBE_GEMM, HDP_F16, computes[i]);
        expect_ok(hdp_profile_get(&info, profile));
        assert_int_equal(info.dtype, HDP_F16);
        assert_int_equal(info.compute, computes[i]);
        expect_ratios(profile, "turing", 2, "f16", names[i], loose);
        hdp_profile_destroy(profile);
    }
    measured_close(&own);
}

static void sums_that_nobody_has_are_refused(void **state)
{
    hdp_calibrate_options options = { .size = sizeof options,
                                      .dtype = HDP_BF16,
                                      .compute = HDP_F16 };
    hdp_profile *profile;
    struct measured own;

    (void)state;
    measured_open(&own, "machine=twin", "cuda:all");
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_calibrate(&profile, own.group, &options));
    assert_non_null(strstr(hdp_last_error(), "compute"));
    options.dtype = HDP_U8; /* cuBLAS has none */
    options.compute = 0;
    expect_status(HDP_ERR_UNSUPPORTED,
                  hdp_calibrate(&profile, own.group, &options));
    assert_non_null(strstr(hdp_last_error(), "u8"));
    measured_close(&own);
}

static void a_type_without_units_is_slow(void **state)
{
    struct measured own;

    (void)state;
    measured_open(&own, "machine=turing", "cuda:all");
    hdp_profile_destroy(measured_profile(&own, HDP_PROBE_GEMM, HDP_F16, 0));
    hdp_profile_destroy(measured_profile(&own, HDP_PROBE_GEMM, HDP_BF16, 0));
    for (int m = 0; m < 2; ++m) {
        assert_true(units_of(&own, m, 0) & 1u << HDP_F16);
        assert_false(units_of(&own, m, 1) & 1u << HDP_F16);
        assert_true(units_of(&own, m, 1) & 1u << HDP_BF16);
        assert_false(units_of(&own, m, 0) & 1u << HDP_BF16);
    }
    measured_close(&own);
}

/* F08: named, it gets no rows, and the plan says why. */
static void a_member_that_lacks_the_type_gets_nothing(void **state)
{
    hdp_plan_info info = { .size = sizeof info };
    struct measured own;
    hdp_profile *profile;
    hdp_plan *plan = NULL;

    (void)state;
    measured_open(&own, "machine=desk", "cuda:all");
    profile = measured_profile(&own, HDP_PROBE_GEMM, HDP_BF16, 0);
    assert_true(measured_ratio(profile, 2) == 0);
    expect_near(64.0 / (64 + 72), measured_ratio(profile, 0), loose, "3090");
    expect_ok(hdp_split(&plan, profile, 136, NULL));
    expect_ok(hdp_plan_get(&info, plan));
    assert_int_equal(info.items[2], 0);
    assert_int_equal(info.bound_by[2], HDP_BOUND_DTYPE);
    assert_int_equal(info.items[0] + info.items[1], 136);
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
    measured_close(&own);
}

/* /compute=f32 computes otherwise instead. */
static void a_member_may_compute_in_another_type(void **state)
{
    struct measured own;
    hdp_profile *profile;

    (void)state;
    measured_open(&own, "machine=desk", "cuda:0+cuda:2/compute=f32");
    profile = measured_profile(&own, HDP_PROBE_GEMM, HDP_BF16, 0);
    expect_near(10.5 / (64 + 10.5), measured_ratio(profile, 1), loose,
                "1080 Ti in f32");
    hdp_profile_destroy(profile);
    measured_close(&own);
}

/* ---- the other probes ----------------------------------------------------- */

static void all_probes_find_what_the_file_says(void **state)
{
    struct measured own;
    hdp_profile *profile;

    (void)state;
    measured_open(&own, "machine=desk", "cuda:all");
    profile = measured_profile(&own, HDP_PROBE_ALL, HDP_F32, 0);
    expect_ratios(profile, "desk", 3, "f32", "f32", exact);
    for (int m = 0; m < 3; ++m) {
        expect_near(measured_line("desk", m, "gemm", "in_bytes_per_second"),
                    measured_figure(profile, m, "in_bytes_per_second"), loose,
                    "in");
        expect_near(measured_line("desk", m, "gemm", "out_bytes_per_second"),
                    measured_figure(profile, m, "out_bytes_per_second"), loose,
                    "out");
        expect_near(1048576e9 / measured_line("desk", m, "copy", "item_ns"),
                    measured_figure(profile, m, "copy_bytes_per_second"), loose,
                    "copy");
        expect_near(measured_line("desk", m, "launch", "item_ns"),
                    measured_figure(profile, m, "launch_ns"), loose, "launch");
    }
    hdp_profile_destroy(profile);
    measured_close(&own);
}

static void a_partition_is_measured_as_a_partition(void **state)
{
    struct measured own;
    hdp_profile *profile;

    (void)state;
    measured_open(&own, "machine=lab", "cuda:0+cuda:1/sms=48");
    profile = measured_profile(&own, HDP_PROBE_GEMM, HDP_F32, 0);
    expect_near(18.4 / (18.4 + 50.5 * 48 / 132), measured_ratio(profile, 0),
                loose, "A100 beside 48 SMs of an H100");
    hdp_profile_destroy(profile);
    measured_close(&own);
}

/* One after the other, on the caller's thread, which keeps its device. */
static void a_caller_may_play_all_members(void **state)
{
    const hdp_group_options options = { .size = sizeof options,
                                        .threads = HDP_THREADS_CALLER };
    struct measured own;
    hdp_profile *profile;
    int device = -1;

    (void)state;
    measured_open(&own, "machine=desk", "cuda:0");
    hdp_group_destroy(own.group);
    expect_ok(
        hdp_group_create_spec(&own.group, own.context, "cuda:2,0", &options));
    assert_int_equal(cudaSetDevice(1), cudaSuccess);
    profile = measured_profile(&own, HDP_PROBE_GEMM, HDP_F32, 0);
    expect_near(10.5 / (10.5 + 25), measured_ratio(profile, 0), exact,
                "1080 Ti beside the 3090");
    assert_int_equal(cudaGetDevice(&device), cudaSuccess);
    assert_int_equal(device, 1);
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    hdp_profile_destroy(profile);
    measured_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ratios_in_f32_are_those_of_the_file),
        cmocka_unit_test(ratios_in_f64_are_those_of_the_file),
        cmocka_unit_test(rates_are_those_of_the_file),
        cmocka_unit_test(a_staircase_is_compared_at_one_size),
        cmocka_unit_test(sums_in_16_bits_are_another_profile),
        cmocka_unit_test(sums_that_nobody_has_are_refused),
        cmocka_unit_test(a_type_without_units_is_slow),
        cmocka_unit_test(a_member_that_lacks_the_type_gets_nothing),
        cmocka_unit_test(a_member_may_compute_in_another_type),
        cmocka_unit_test(all_probes_find_what_the_file_says),
        cmocka_unit_test(a_partition_is_measured_as_a_partition),
        cmocka_unit_test(a_caller_may_play_all_members),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
