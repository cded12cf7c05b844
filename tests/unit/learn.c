/* A profile corrected by reports: how far each one moves it, what it leaves
 * alone, and that none can poison it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "core/learn.h"
#include "core/report.h"

enum { RANKS = 3 };

static const int64_t sizes[] = { 8, 64, 192, 256 };
static const double times[] = { 1e5, 5e5, 16e5, 12e5 }; /* with a dip */

/* Rank 0 a table, rank 1 a line, rank 2 cannot compute in the dtype. */
static hdp_profile *start(void)
{
    hdp_profile *profile;

    assert_int_equal(hdpi_profile_new(&profile, RANKS), HDP_OK);
    profile->ranks[0].provenance = HDPI_FROM_MEASURED;
    assert_int_equal(hdpi_profile_set_points(profile, 0, sizes, times, 4),
                     HDP_OK);
    profile->ranks[0].rate_flops = 7e9;
    profile->ranks[1].fixed_ns = 1e6;
    profile->ranks[1].item_ns = 1e4;
    profile->ranks[2].lacks_dtype = 1;
    assert_true(hdpi_profile_is_valid(profile));
    return profile;
}

/* `*profile` becomes its successor. */
static void update(hdp_profile **profile, const hdp_report *report)
{
    hdp_profile *next = NULL;

    assert_int_equal(hdp_profile_update(&next, *profile, report), HDP_OK);
    assert_true(hdpi_profile_is_valid(next));
    hdp_profile_destroy(*profile);
    *profile = next;
}

/* A step of `items0` on rank 0 and `items1` on rank 1. */
static void step(hdp_profile **profile, int64_t items0, int64_t ns0,
                 int64_t items1, int64_t ns1)
{
    const int64_t items[RANKS] = { items0, items1, 5 };
    const int64_t ns[RANKS] = { ns0, ns1, 5 };
    hdp_report *report;

    assert_int_equal(hdp_report_create(&report, items, ns, RANKS), HDP_OK);
    update(profile, report);
    hdp_report_destroy(report);
}

static double time_of(const hdp_profile *profile, int32_t rank, int64_t items)
{
    return hdpi_profile_time(&profile->ranks[rank], items);
}

static void expect_time(double want, const hdp_profile *profile, int32_t rank,
                        int64_t items)
{
    double got = time_of(profile, rank, items);

    if (!(fabs(got / want - 1) < 1e-9))
        fail_msg("rank %d, %lld items: expected %.17g ns, got %.17g", (int)rank,
                 (long long)items, want, got);
}

/* Gains 1/3, 1/4, ... 1/10, 1/10, ...: what is left of the logarithm of the
 * error shrinks by 1 - gain each time. */
static void a_calibration_weighs_two_steps(void **state)
{
    hdp_profile *profile = start();
    double left = 1;

    (void)state;
    for (int k = 0; k < 20; ++k) {
        step(&profile, 256, 1800000, 1000, 16500000);
        left *= 1 - (k < 7 ? 1.0 / (3 + k) : 0.1);
        expect_time(12e5 * pow(1.5, 1 - left), profile, 0, 256);
        expect_time(11e6 * pow(1.5, 1 - left), profile, 1, 1000);
    }
    hdp_profile_destroy(profile);
}

/* Heat slows all sizes alike: the shape stays, links and memory too. */
static void the_whole_curve_moves(void **state)
{
    hdp_profile *profile = start();
    double factor = cbrt(1.2), rate = profile->ranks[0].rate;

    (void)state;
    profile->ranks[0].in_bytes_per_second = 3e9;
    step(&profile, 64, 600000, 1000, 11000000);
    for (int64_t items = 1; items < 600; ++items) {
        hdp_profile *before = start();
        expect_time(time_of(before, 0, items) * factor, profile, 0, items);
        hdp_profile_destroy(before);
    }
    expect_time(11e6, profile, 1, 1000); /* as predicted: nothing to learn */
    assert_true(fabs(profile->ranks[0].rate * factor / rate - 1) < 1e-12);
    assert_true(fabs(profile->ranks[0].rate_flops * factor / 7e9 - 1) < 1e-12);
    assert_true(profile->ranks[0].in_bytes_per_second == 3e9);
    assert_int_equal(profile->ranks[0].provenance, HDPI_FROM_STEPS);
    assert_int_equal(profile->ranks[1].provenance, HDPI_FROM_STEPS);
    hdp_profile_destroy(profile);
}

/* ---- what is no sample ---------------------------------------------------- */

static void expect_untouched(const hdp_profile *profile, int32_t rank)
{
    hdp_profile *fresh = start();
    const struct hdpi_rank_profile *a = &fresh->ranks[rank];
    const struct hdpi_rank_profile *b = &profile->ranks[rank];

    assert_int_equal(a->weight, b->weight);
    assert_int_equal(a->provenance, b->provenance);
    assert_int_equal(a->point_count, b->point_count);
    assert_true(a->rate == b->rate && a->item_ns == b->item_ns &&
                a->fixed_ns == b->fixed_ns && b->doubted == 0);
    for (int64_t i = 0; i < a->point_count; ++i)
        assert_true(a->point_items[i] == b->point_items[i] &&
                    a->point_ns[i] == b->point_ns[i] &&
                    a->point_from[i] == b->point_from[i]);
    hdp_profile_destroy(fresh);
}

static void no_sample_changes_nothing(void **state)
{
    const int64_t items[RANKS] = { 64, 1000, 5 };
    const int64_t ns[RANKS] = { 700000, 13000000, 5 };
    hdp_profile *profile = start();
    hdp_report *report;

    (void)state;
    step(&profile, 0, 700000, 1000, -1);
    step(&profile, 64, 0, 0, 5);
    expect_untouched(profile, 0);
    expect_untouched(profile, 1);
    expect_untouched(profile, 2);
    assert_int_equal(hdp_report_create(&report, items, ns, RANKS), HDP_OK);
    report->first_at_share[1] = 1;
    update(&profile, report);
    expect_untouched(profile, 1);
    assert_true(time_of(profile, 0, 64) > 5e5);
    hdp_report_destroy(report);
    hdp_profile_destroy(profile);
}

static void the_profile_given_stays(void **state)
{
    const int64_t items[RANKS] = { 64, 1000, 5 };
    const int64_t ns[RANKS] = { 700000, 13000000, 5 };
    hdp_profile *profile = start(), *next = NULL;
    hdp_report *report;

    (void)state;
    assert_int_equal(hdp_report_create(&report, items, ns, RANKS), HDP_OK);
    assert_int_equal(hdp_profile_update(&next, profile, report), HDP_OK);
    for (int32_t rank = 0; rank < RANKS; ++rank)
        expect_untouched(profile, rank);
    hdp_profile_destroy(next);
    hdp_report_destroy(report);
    hdp_profile_destroy(profile);
}

/* ---- wild reports --------------------------------------------------------- */

static void one_wild_report_is_doubted(void **state)
{
    hdp_profile *profile = start();

    (void)state;
    step(&profile, 64, 500 * 500000, 1000, 11000000 / 500);
    expect_time(5e5, profile, 0, 64);
    expect_time(11e6, profile, 1, 1000);
    assert_true(profile->ranks[0].doubted == 500);
    step(&profile, 64, 500000, 1000, 11000000); /* normal again */
    expect_time(5e5, profile, 0, 64);
    expect_time(11e6, profile, 1, 1000);
    assert_true(profile->ranks[0].doubted == 0);
    step(&profile, 64, 500 * 500000, 1000, 500LL * 11000000);
    step(&profile, 64, 500, 1000, 100); /* wild the other way: no agreement */
    expect_time(5e5, profile, 0, 64);
    expect_time(11e6, profile, 1, 1000);
    hdp_profile_destroy(profile);
}

static void two_that_agree_are_a_change(void **state)
{
    hdp_profile *profile = start();

    (void)state;
    step(&profile, 64, 4 * 500000, 1000, 11000000 / 4);
    step(&profile, 64, 5 * 500000, 1000, 11000000 / 4);
    expect_time(5e5 * sqrt(20), profile, 0, 64);
    expect_time(11e6 / 4, profile, 1, 1000);
    assert_int_equal(profile->ranks[0].weight, HDPI_WEIGHT_MIN);
    hdp_profile_destroy(profile);
}

/* Every fifth report 500 times too slow, in any place, never two in a row:
 * within 2 % of a device that is a tenth slower than calibrated. */
static void a_fifth_of_wild_reports(void **state)
{
    (void)state;
    for (int phase = 0; phase < 5; ++phase) {
        hdp_profile *profile = start();
        for (int k = 0; k < 40; ++k) {
            int64_t wild = k % 5 == phase ? 500 : 1;
            step(&profile, 64, wild * 550000, 1000, 11000000);
        }
        double ratio = time_of(profile, 0, 64) / time_of(profile, 1, 1000);
        double error = ratio / (5.5e5 / 11e6) - 1;
        if (fabs(error) > 0.02)
            fail_msg("phase %d: the ratio is off by %.2f %%", phase,
                     100 * error);
        hdp_profile_destroy(profile);
    }
}

/* ---- points --------------------------------------------------------------- */

static void observed_sizes_become_points(void **state)
{
    hdp_profile *profile = start();
    const struct hdpi_rank_profile *rank;
    int64_t seen = 0;

    (void)state;
    step(&profile, 64, 500000, 1000, 11000000);
    step(&profile, 100, llround(time_of(profile, 0, 100)), 0, 0);
    rank = &profile->ranks[0];
    assert_int_equal(rank->point_count, 5);
    assert_int_equal(rank->point_items[2], 100);
    assert_int_equal(rank->point_from[0], HDPI_FROM_MEASURED);
    assert_int_equal(rank->point_from[1], HDPI_FROM_STEPS);
    assert_int_equal(rank->point_from[2], HDPI_FROM_STEPS);
    assert_int_equal(rank->point_from[3], HDPI_FROM_MEASURED);
    assert_int_equal(profile->ranks[1].point_count, 0); /* a line stays one */
    for (int64_t items = 300; items < 340; ++items)
        step(&profile, items, llround(time_of(profile, 0, items)), 0, 0);
    rank = &profile->ranks[0];
    for (int64_t i = 0; i < rank->point_count; ++i)
        seen += rank->point_from[i] == HDPI_FROM_STEPS;
    assert_int_equal(seen, HDPI_LEARN_POINTS);
    hdp_profile_destroy(profile);
}

static void extreme_times_stay_times(void **state)
{
    hdp_profile *profile = start();

    (void)state;
    for (int k = 0; k < 40; ++k)
        step(&profile, 64, INT64_MAX, 1000, INT64_MAX);
    for (int k = 0; k < 200; ++k)
        step(&profile, INT64_MAX / 4, 1, INT64_MAX / 4, 1);
    assert_true(hdpi_profile_is_valid(profile));
    hdp_profile_destroy(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_calibration_weighs_two_steps),
        cmocka_unit_test(the_whole_curve_moves),
        cmocka_unit_test(no_sample_changes_nothing),
        cmocka_unit_test(the_profile_given_stays),
        cmocka_unit_test(one_wild_report_is_doubted),
        cmocka_unit_test(two_that_agree_are_a_change),
        cmocka_unit_test(a_fifth_of_wild_reports),
        cmocka_unit_test(observed_sizes_become_points),
        cmocka_unit_test(extreme_times_stay_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
