/* What sums of products are kept in is part of the question: a described
 * machine answers for each, the host for the one that it has. */
#include <math.h>
#include <string.h>
#include "scene.h"
#ifdef HDP_TEST_FAKE
#include "fakecuda/fake.h"
#endif

/* A described machine: its simulated devices, or (of the fake) its GPUs. */
static const char *described(const char *machine)
{
#ifdef HDP_TEST_FAKE
    char words[64];

    (void)snprintf(words, sizeof words, "machine=%s", machine + 1);
    assert_int_equal(fake_start(words), 0);
    return "cuda:0-1";
#else
    return machine;
#endif
}

static hdp_status calibrate(hdp_profile **out, const char *spec, int32_t dtype,
                            int32_t compute)
{
    const hdp_calibrate_options options = { .size = sizeof options,
                                            .dtype = dtype,
                                            .compute = compute,
                                            .budget_ns = 10000000 };
    struct scene scene;
    hdp_status status;

    scene_open(&scene, spec, NULL, 0, NULL);
    status = hdp_calibrate(out, scene.group, &options);
    scene_close(&scene);
    return status;
}

static void expect_part(const char *spec, int32_t compute, double part)
{
    hdp_profile_info info = { .size = sizeof info };
    hdp_profile *profile = NULL;
    double ratio = 0;

    expect_ok(calibrate(&profile, spec, HDP_F16, compute));
    expect_ok(hdp_profile_get(&info, profile));
    expect_number(compute ? compute : HDP_F32, info.compute, "compute");
    expect_ok(hdp_profile_ratio(&ratio, profile, 0));
    if (!(fabs(ratio / part - 1) < 0.02))
        fail_msg("%s: expected a part of %g, got %g", spec, part, ratio);
    hdp_profile_destroy(profile);
}

/* examples/machines/turing.json: 92 and 47, 96 and 90 TFLOP/s. */
static void a_machine_has_a_profile_of_each(void **state)
{
    const char *spec = described("@turing");

    (void)state;
    expect_part(spec, 0, 92.0 / (92 + 47));
    expect_part(spec, HDP_F32, 92.0 / (92 + 47));
    expect_part(spec, HDP_F16, 96.0 / (96 + 90));
}

static void who_keeps_them_otherwise_lacks_it(void **state)
{
    hdp_profile *profile = NULL;

    (void)state;
    expect_status(HDP_ERR_UNSUPPORTED,
                  calibrate(&profile, "@twin", HDP_F16, HDP_F16));
    expect_status(HDP_ERR_UNSUPPORTED,
                  calibrate(&profile, "host:0", HDP_F16, HDP_F16));
    expect_ok(calibrate(&profile, "host:0", HDP_F16, HDP_F32));
    hdp_profile_destroy(profile);
    expect_ok(calibrate(&profile, "sim:0", HDP_F16, HDP_F16));
    hdp_profile_destroy(profile);
}

static void what_makes_no_sense_is_refused(void **state)
{
    static const int32_t pairs[][2] = {
        { HDP_F32, HDP_F16 },  { HDP_F32, HDP_F64 }, { HDP_BF16, HDP_BF16 },
        { HDP_F64, HDP_F32 },  { HDP_F16, -1 },      { HDP_TF32, HDP_F32 },
        { HDP_I8, HDP_F32 },   { 0, HDP_I32 },       { HDP_I64, HDP_I32 },
        { HDP_F16, HDP_BF16 }, { HDP_F16, 99 },
    };
    hdp_profile *profile = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; ++i) {
        expect_status(HDP_ERR_ARGUMENT,
                      calibrate(&profile, "sim:0", pairs[i][0], pairs[i][1]));
        assert_null(profile);
        assert_non_null(strstr(hdp_last_error(), "compute is "));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_has_a_profile_of_each),
        cmocka_unit_test(who_keeps_them_otherwise_lacks_it),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
