/* What disturbs a measurement and must not change it (FAULTS F27): a first
 * product that takes long, one sample of ten times its time, clocks that fall
 * for a second, noise. And who is no member is left alone. */
#include <unistd.h>
#include "described.h"
#include "measured.h"

static const double tolerated = 0.01;

/* The pair of the file `turing`, with keys for what goes wrong on each. */
static void write_machine(char *path, size_t capacity, const char *keys0,
                          const char *keys1)
{
    json_t *root = measured_file("turing"), *faults = json_array();

    (void)snprintf(path, capacity, "/tmp/hdp-noise-%d.json", (int)getpid());
    if (*keys0)
        json_array_append_new(
            faults, json_pack("{s:i,s:s}", "device", 0, "keys", keys0));
    if (*keys1)
        json_array_append_new(
            faults, json_pack("{s:i,s:s}", "device", 1, "keys", keys1));
    json_object_set_new(root, "faults", faults);
    described_dump(path, root);
}

static void measure_with(const char *keys0, const char *keys1, const char *more,
                         double spread)
{
    char path[64], words[160];
    struct measured own;
    hdp_profile *profile;

    write_machine(path, sizeof path, keys0, keys1);
    (void)snprintf(words, sizeof words, "machine=%s %s", path, more);
    measured_open(&own, words, "cuda:all");
    profile = measured_profile(&own, HDP_PROBE_GEMM, HDP_F32, 0);
    expect_ratios(profile, "turing", 2, "f32", "f32", tolerated);
    for (int m = 0; m < 2; ++m)
        if (!(measured_figure(profile, m, "spread") >= spread))
            fail_msg("member %d: expected a spread of %g or more, got %g", m,
                     spread, measured_figure(profile, m, "spread"));
    hdp_profile_destroy(profile);
    measured_close(&own);
    (void)unlink(path);
}

static void a_slow_first_product_is_warm_up(void **state)
{
    (void)state;
    measure_with("", "", "firstproduct=150ms", 0);
}

static void one_sample_of_ten_times_its_time_is_nothing(void **state)
{
    (void)state;
    /* two of the recorded ones, on either device */
    measure_with("slow=10x@90/slow=1x@91", "slow=10x@101/slow=1x@102", "", 0);
}

/* At one time for both, so on the real clock: a virtual one is each stream's
 * own, and who gets more of this machine's cores is further on in its ramp. */
static void clocks_that_fall_for_a_second_are_the_same_for_all(void **state)
{
    (void)state;
    measure_with("ramp=20%@1s", "ramp=20%@1s", "clock=real", 0);
}

/* What a device could do before it was hot says nothing of a long run: only the
 * newer half of the budget counts, and no agreement of samples ends it before. */
static void a_clock_that_falls_at_first_is_waited_for(void **state)
{
    (void)state;
    measure_with("ramp=20%@280ms", "", "", 0);
    measure_with("", "ramp=40%@280ms", "", 0);
}

static void noise_is_averaged(void **state)
{
    (void)state;
    measure_with("noise=3%/seed=7", "noise=3%/seed=11", "", 0.01);
}

/* ---- what is said of the time --------------------------------------------- */

static hdp_profile_info measure_for(const char *keys, const char *more,
                                    int64_t budget_ns)
{
    const hdp_calibrate_options options = { .size = sizeof options,
                                            .budget_ns = budget_ns };
    hdp_profile_info info = { .size = sizeof info };
    char path[64], words[160];
    struct measured own;
    hdp_profile *profile = NULL;

    write_machine(path, sizeof path, keys, keys);
    (void)snprintf(words, sizeof words, "machine=%s %s", path, more);
    measured_open(&own, words, "cuda:0");
    expect_ok(hdp_calibrate(&profile, own.group, &options));
    expect_ok(hdp_profile_get(&info, profile));
    hdp_profile_destroy(profile);
    measured_close(&own);
    (void)unlink(path);
    return info;
}

static void warm_up_is_told_apart(void **state)
{
    hdp_profile_info info = measure_for("", "clock=real firstproduct=400ms", 0);

    (void)state;
    assert_true(info.warmup_ns >= 400000000);
    assert_true(info.elapsed_ns >= 100000000); /* the discarded ones */
    /* on a clock that other work on this machine cannot disturb */
    assert_int_equal(measure_for("", "firstproduct=400ms", 0).drifting, 0);
}

static void falling_clocks_are_told(void **state)
{
    const int64_t budget_ns = 1000000000; /* many samples on any machine */
    hdp_profile_info info = measure_for("drift=100%", "", budget_ns);

    (void)state;
    assert_int_equal(info.drifting, 1);
    assert_int_equal(info.ended_by, HDP_ENDED_BUDGET);
    assert_true(info.elapsed_ns >= budget_ns);
}

/* ---- who is left alone ---------------------------------------------------- */

static void a_busy_device_in_the_middle_is_left_alone(void **state)
{
    hdp_group *group = NULL;
    struct measured own;

    (void)state;
    measured_open(&own, "machine=desk busy=1", "cuda:0,2");
    hdp_profile_destroy(measured_profile(&own, HDP_PROBE_ALL, HDP_F32, 0));
    assert_int_equal(fake_contexts(1), 0);
    assert_int_equal(fake_touched(1), 0);
    expect_status(HDP_ERR_BUSY,
                  hdp_group_create_spec(&group, own.context, "cuda:1", NULL));
    assert_null(group);
    measured_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_first_product_is_warm_up),
        cmocka_unit_test(one_sample_of_ten_times_its_time_is_nothing),
        cmocka_unit_test(clocks_that_fall_for_a_second_are_the_same_for_all),
        cmocka_unit_test(a_clock_that_falls_at_first_is_waited_for),
        cmocka_unit_test(noise_is_averaged),
        cmocka_unit_test(warm_up_is_told_apart),
        cmocka_unit_test(falling_clocks_are_told),
        cmocka_unit_test(a_busy_device_in_the_middle_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
