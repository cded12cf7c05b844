/* What a cache keeps: not what nobody can rely on, nor what could not be told
 * from another's. */
#include "cached.h"

/* Repetitions that scatter by more than half are not kept. */
static void what_is_unreliable_is_not_kept(void **state)
{
    char spec[] = "sim:0/uuid=wild/noise=99%+sim:1/uuid=GPU-aaaa/item=90ms";
    hdp_profile *profile;
    const char *text;

    (void)state;
    profile = cached(spec, cached_path);
    expect_miss(profile, "is not kept: its figures are unreliable");
    hdp_profile_destroy(profile);
    text = cached_load(NULL, cached_path);
    assert_null(strstr(text, "wild"));
    assert_non_null(strstr(text, "GPU-aaaa"));
}

static void what_nobody_can_rely_on_makes_no_file(void **state)
{
    hdp_profile *profile = cached("sim:0/uuid=wild/noise=99%", cached_path);

    (void)state;
    expect_miss(profile, "is not kept: its figures are unreliable");
    hdp_profile_destroy(profile);
    expect_number(-1, access(cached_path, F_OK), "nothing was written");
}

/* A device that cannot be told from another is measured each time. */
static void a_device_without_an_identity_is_not_kept(void **state)
{
    static const char machine[] =
        "{\"schema\":\"hdp.machine\",\"schema_version\":1,\"name\":\"bare\","
        "\"topology\":{\"devices\":[{\"backend\":\"cuda\",\"logical_id\":0,"
        "\"name\":\"GPU\"}]},\"profiles\":[{\"members\":[{\"item_ns\":1000,"
        "\"probe\":\"gemm\",\"dtype\":\"f32\"}]}]}";
    char spec[2048] = "sim:0/name=", file[300], reference[310];
    hdp_profile *profile;

    (void)state;
    for (int i = 0; i < 120; ++i)
        strcat(spec, "x");
    for (int i = 1; i <= 8; ++i)
        (void)snprintf(spec + strlen(spec), sizeof spec - strlen(spec),
                       "/slow=1.2345678901234%dx@10000000000%d"
                       "/fail=launch:1000000000000000%d",
                       i, i, i);
    cached_path_of(file, sizeof file, "machine.json");
    cached_save(file, machine, sizeof machine - 1, 0600);
    (void)snprintf(reference, sizeof reference, "@%s", file);
    for (int i = 0; i < 2; ++i) {
        profile = cached(reference, cached_path);
        if (!strstr(said.text, "its machine's file gives it no uuid") ||
            said.hits || said.warnings)
            fail_msg("expected it not to be kept, got %s", said.text);
        hdp_profile_destroy(profile);
        profile = cached(spec, cached_path);
        if (!strstr(said.text, "its keys are too long") || said.hits ||
            said.warnings)
            fail_msg("expected it not to be kept, got %s", said.text);
        hdp_profile_destroy(profile);
    }
    expect_number(-1, access(cached_path, F_OK), "nothing was written");
}

/* Raw samples are kept as far as a file of many members has room. */
static void many_samples_are_cut(void **state)
{
    hdp_calibrate_options options = { .size = sizeof options,
                                      .budget_ns = 900000000,
                                      .cache = cached_path };
    const char *noisy = "sim:0/uuid=noisy/noise=10%";
    hdp_profile *first, *second;

    (void)state;
    first = cached_with(noisy, &options);
    second = cached_with(noisy, &options);
    expect_hit(second);
    assert_true(cached_rate(first, 0) == cached_rate(second, 0));
    hdp_profile_destroy(first);
    hdp_profile_destroy(second);
}

/* Ratios above 1000 to 1 are believed only when just measured. */
static void a_starved_member_is_measured_again(void **state)
{
    const char *near = "sim:0/uuid=f/item=1us+sim:1/uuid=s/item=999us";
    const char *far = "sim:0/uuid=f/item=1us+sim:1/uuid=t/item=1001us";
    hdp_profile *profile;

    (void)state;
    hdp_profile_destroy(cached(near, cached_path));
    profile = cached(near, cached_path);
    expect_hit(profile);
    hdp_profile_destroy(profile);
    hdp_profile_destroy(cached(far, cached_path));
    profile = cached(far, cached_path);
    expect_doubt(profile, "members differ by more than 1000 to 1");
    hdp_profile_destroy(profile);
}

/* A card of the shipped machine lacks bf16: that is known without a doubt. */
static void a_member_that_lacks_the_dtype_is_known(void **state)
{
    hdp_calibrate_options options = { .size = sizeof options,
                                      .dtype = HDP_BF16,
                                      .cache = cached_path };
    hdp_profile *profile;
    double ratio = -1;

    (void)state;
    hdp_profile_destroy(cached_with("@desk", &options));
    profile = cached_with("@desk", &options);
    expect_hit(profile);
    expect_ok(hdp_profile_ratio(&ratio, profile, 2));
    assert_true(ratio == 0);
    hdp_profile_destroy(profile);
}

int main(void)
{
#define KEPT_TEST(name) cmocka_unit_test_setup(name, cached_fresh)
    const struct CMUnitTest tests[] = {
        KEPT_TEST(what_is_unreliable_is_not_kept),
        KEPT_TEST(what_nobody_can_rely_on_makes_no_file),
        KEPT_TEST(a_device_without_an_identity_is_not_kept),
        KEPT_TEST(many_samples_are_cut),
        KEPT_TEST(a_starved_member_is_measured_again),
        KEPT_TEST(a_member_that_lacks_the_dtype_is_known),
    };

    return cmocka_run_group_tests(tests, cached_setup, cached_teardown);
}
