/* When steps belie what a cache answered: five in a row, beyond a fifth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "cache.h"

static hdp_profile *lines(void)
{
    const hdp_model models[] = {
        { .size = sizeof *models, .item_ns = 1000 },
        { .size = sizeof *models, .item_ns = 3000 },
        { .size = sizeof *models, .item_ns = 9000 },
    };
    hdp_profile *profile = NULL;

    assert_int_equal(hdp_profile_create(&profile, models, 3), HDP_OK);
    return profile;
}

/* The step in which it said so, 0: in none of twelve. */
static int drifts_in(const hdp_profile *profile, int64_t a, int64_t b,
                     int64_t c)
{
    static const int64_t items[] = { 90, 30, 10 };
    const int64_t took_ns[] = { a, b, c };
    struct hdpi_cache_drift drift = { 0 };

    for (int step = 1; step <= 12; ++step)
        if (hdpi_cache_drifts(&drift, profile, items, took_ns))
            return step;
    return 0;
}

static void five_steps_beyond_a_fifth(void **state)
{
    hdp_profile *profile = lines();

    (void)state;
    assert_int_equal(drifts_in(profile, 90000, 90000, 90000), 0);
    assert_int_equal(drifts_in(profile, 90000, 92700, 87300), 0);
    assert_int_equal(drifts_in(profile, 90000, 90000, 107900), 0);
    assert_int_equal(drifts_in(profile, 90000, 90000, 108100), 5);
    assert_int_equal(drifts_in(profile, 45000, 90000, 90000), 5);
    /* all alike slower: the shares are as right as before */
    assert_int_equal(drifts_in(profile, 900000, 900000, 900000), 0);
    /* one alone has nobody to be compared with */
    assert_int_equal(drifts_in(profile, 900000, -1, 0), 0);
    hdp_profile_destroy(profile);
}

static void one_good_step_begins_anew(void **state)
{
    static const int64_t items[] = { 90, 30, 10 }, idle[] = { 0, 0, 0 },
                         slow_ns[] = { 90000, 180000, 90000 },
                         good_ns[] = { 90000, 90000, 90000 };
    struct hdpi_cache_drift drift = { 0 };
    hdp_profile *profile = lines();

    (void)state;
    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < 4; ++i)
            assert_int_equal(hdpi_cache_drifts(&drift, profile, items, slow_ns),
                             0);
        assert_int_equal(hdpi_cache_drifts(&drift, profile, items, good_ns), 0);
    }
    for (int i = 0; i < 20; ++i)
        assert_int_equal(hdpi_cache_drifts(&drift, profile, idle, slow_ns), 0);
    for (int i = 1; i <= 15; ++i)
        assert_int_equal(hdpi_cache_drifts(&drift, profile, items, slow_ns),
                         i % 5 == 0);
    hdp_profile_destroy(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(five_steps_beyond_a_fifth),
        cmocka_unit_test(one_good_step_begins_anew),
    };

    return cmocka_run_group_tests_name("cache_drift", tests, NULL, NULL);
}
