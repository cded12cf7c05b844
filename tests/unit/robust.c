/* Medians and distances to them, against values worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "core/robust.h"

static void expect_near(double want, double got)
{
    if (!(fabs(got - want) <= 1e-12 * fabs(want)))
        fail_msg("expected %.17g, got %.17g", want, got);
}

static void the_middle_is_the_median(void **state)
{
    double none[1] = { 3 }, one[] = { 7 }, odd[] = { 9, -1, 4 },
           even[] = { 10, 2, 8, 4 }, huge[] = { 1e308, 1.5e308 };

    (void)state;
    expect_near(0, hdpi_median(none, 0));
    expect_near(7, hdpi_median(one, 1));
    expect_near(4, hdpi_median(odd, 3));
    expect_near(6, hdpi_median(even, 4));
    expect_near(1.25e308, hdpi_median(huge, 2)); /* the sum overflows */
}

static void a_spike_is_not_the_reference(void **state)
{
    double calm[] = { 100, 101, 99, 100, 102 };
    double spiked[] = { 100, 101, 99, 1e9, 102 };

    (void)state;
    expect_near(100, hdpi_median(calm, 5));
    expect_near(101, hdpi_median(spiked, 5));
}

/* Median 3, distances 2 1 0 1 6: their median is 1. */
static void the_distance_is_relative(void **state)
{
    double values[] = { 1, 2, 3, 4, 9 }, more[] = { -1, -2, -3, -4, -9 },
           around_zero[] = { -4, 0, 4 }, equal[] = { 5, 5, 5, 5 },
           one[] = { 5 };

    (void)state;
    expect_near(1.0 / 3, hdpi_relative_mad(values, 5));
    expect_near(1.0 / 3, hdpi_relative_mad(more, 5));
    expect_near(4, hdpi_relative_mad(around_zero, 3));
    expect_near(0, hdpi_relative_mad(equal, 4));
    expect_near(0, hdpi_relative_mad(one, 1));
}

/* Nine honest times around 100 among 27 spikes at most; and every other one. */
static void spikes_do_not_count(void **state)
{
    double values[40];

    (void)state;
    for (size_t spikes = 0; spikes <= 26; ++spikes) {
        for (size_t i = 0; i < 9; ++i)
            values[i] = 96 + (double)i;
        for (size_t i = 9; i < 9 + spikes; ++i)
            values[i] = 50000 + (double)i;
        assert_int_equal(9, hdpi_without_spikes(values, 9 + spikes));
        expect_near(100, hdpi_typical(values, 9 + spikes));
    }
    double pair[] = { 5000, 10 }, none[] = { 0 }, alike[] = { 10, 80 };
    expect_near(10, hdpi_typical(pair, 2));
    expect_near(0, hdpi_typical(none, 0));
    assert_int_equal(2, hdpi_without_spikes(alike, 2)); /* 8 times: just not */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_middle_is_the_median),
        cmocka_unit_test(a_spike_is_not_the_reference),
        cmocka_unit_test(the_distance_is_relative),
        cmocka_unit_test(spikes_do_not_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
