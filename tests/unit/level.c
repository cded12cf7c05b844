/* The filter of one rank's time: gains, outliers, changes, and what it learns
 * of noise and curves, against the closed forms. */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include "chance.h"
#include "core/level.h"
#include "core/logarithm.h"
#include "core/shapes.h"

static void expect_near(double want, double got, double off, const char *what)
{
    if (!(fabs(got - want) <= off))
        fail_msg("%s: expected %.6g within %.2g, got %.6g", what, want, off,
                 got);
}

static void expect_sample(int32_t want, int32_t got, const char *what)
{
    if (want != got)
        fail_msg("%s: expected sample %d, got %d", what, (int)want, (int)got);
}

static double normal(void)
{
    double u = chance_real(1e-12, 1), v = chance_real(0, 6.283185307179586);

    return sqrt(-2 * log(u)) * cos(v);
}

/* Calibration counts for two samples, so the first weighs a third, the next a
 * quarter, and from the eighth on each weighs a tenth. */
static void gains_fall_to_a_tenth(void **state)
{
    struct hdpi_level level;

    (void)state;
    hdpi_level_start(&level, 0.5);
    for (int i = 1; i <= 20; i++) {
        double before = level.log, noise = level.noise;
        double want = i < 8 ? 1.0 / (i + 2) : 0.1;
        expect_sample(HDPI_SAMPLE_TAKEN, hdpi_level_sample(&level, before + .2),
                      "a normal sample");
        expect_near(want, (level.log - before) / .2, 1e-12, "gain");
        level.noise = noise; /* what is learned would change the gain */
    }
    expect_near(exp(level.log), hdpi_level_factor(&level), 1e-12, "factor");
}

static void one_outlier_is_a_hiccup(void **state)
{
    static const double hiccups[] = { 10, 500, 0.1 };
    struct hdpi_level level;

    (void)state;
    for (int i = 0; i < 3; i++) {
        hdpi_level_start(&level, 0);
        expect_sample(HDPI_SAMPLE_HELD,
                      hdpi_level_sample(&level, log(hiccups[i])), "a hiccup");
        expect_near(0, level.log, 0, "level after it");
        expect_sample(HDPI_SAMPLE_TAKEN, hdpi_level_sample(&level, .01),
                      "a normal one");
        expect_near(.01 / 3, level.log, 1e-12, "level after the next");
        /* the next outlier is again the first */
        expect_sample(HDPI_SAMPLE_HELD,
                      hdpi_level_sample(&level, log(hiccups[i])), "another");
    }
}

static void two_that_agree_are_a_change(void **state)
{
    struct hdpi_level level;

    (void)state;
    hdpi_level_start(&level, 0);
    expect_sample(HDPI_SAMPLE_HELD, hdpi_level_sample(&level, .70), "first");
    expect_sample(HDPI_SAMPLE_CHANGED, hdpi_level_sample(&level, .66),
                  "second");
    expect_near(.68, level.log, 1e-12, "their mean");
    expect_near(sqrt(level.noise / 2), sqrt(level.variance), 1e-12,
                "error of a mean of two");

    /* a second one elsewhere, or on the other side, is a first one */
    hdpi_level_start(&level, 0);
    expect_sample(HDPI_SAMPLE_HELD, hdpi_level_sample(&level, .7), "first");
    expect_sample(HDPI_SAMPLE_HELD, hdpi_level_sample(&level, 2), "elsewhere");
    expect_sample(HDPI_SAMPLE_HELD, hdpi_level_sample(&level, -2), "below");
    expect_sample(HDPI_SAMPLE_CHANGED, hdpi_level_sample(&level, -2), "again");
    expect_near(-2, level.log, 1e-12, "where it went");
}

/* A rank with a hiccup in twenty samples: two in a row are chance there. */
static void many_hiccups_ask_for_more(void **state)
{
    struct hdpi_level level;

    (void)state;
    hdpi_level_start(&level, 0);
    for (int i = 1; i <= 400; i++)
        expect_sample(i % 20 ? HDPI_SAMPLE_TAKEN : HDPI_SAMPLE_HELD,
                      hdpi_level_sample(&level, i % 20 ? 0 : 2.3), "sample");
    for (int i = 1; i <= 4; i++)
        expect_sample(i < 4 ? HDPI_SAMPLE_HELD : HDPI_SAMPLE_CHANGED,
                      hdpi_level_sample(&level, .7), "in a row");
    expect_near(.7, level.log, 1e-12, "where it went");
}

/* Over many runs: the noise is learned to a fifth, and what the filter says of
 * its error is what its error is, sqrt(g / (2 - g)) of the noise. */
static void noise_and_error_are_learned(void **state)
{
    static const double sigmas[] = { 0.015, 0.03, 0.1 };
    enum { RUNS = 400, STEPS = 500 };

    (void)state;
    for (int k = 0; k < 3; k++) {
        double squares = 0, said = 0, want = sqrt(.1 / 1.9) * sigmas[k];
        int near = 0;
        for (int run = 0; run < RUNS; run++) {
            struct hdpi_level level;
            hdpi_level_start(&level, 0);
            for (int i = 0; i < STEPS; i++)
                (void)hdpi_level_sample(&level, sigmas[k] * normal());
            near += fabs(sqrt(level.noise) / sigmas[k] - 1) < .2;
            squares += level.log * level.log / RUNS;
            said += sqrt(level.variance) / RUNS;
        }
        if (near < RUNS * 95 / 100)
            fail_msg("noise %.3f: expected 95 %% of the runs within a fifth, "
                     "got %d of %d",
                     sigmas[k], near, RUNS);
        expect_near(want, sqrt(squares), .1 * want, "scatter of the level");
        expect_near(want, said, .1 * want, "what it says its error is");
    }
}

/* From a rank that was steady to 3 % of noise: known to a third in 30 steps. */
static void noise_that_begins_is_seen(void **state)
{
    int near = 0, changes = 0;

    (void)state;
    for (int run = 0; run < 400; run++) {
        struct hdpi_level level;
        hdpi_level_start(&level, 0);
        for (int i = 0; i < 300; i++)
            (void)hdpi_level_sample(&level, 0);
        for (int i = 0; i < 30; i++)
            changes += hdpi_level_sample(&level, .03 * normal()) ==
                       HDPI_SAMPLE_CHANGED;
        near += level.noise > .02 * .02;
    }
    if (near < 280 || changes > 8)
        fail_msg("expected 280 of 400 runs above 2 %%, and 8 changes at most, "
                 "got %d and %d",
                 near, changes);
}

/* ---- moves -------------------------------------------------------------------- */

/* To half the items and a quarter of ln 2 of doubt: the next sample counts
 * nearly whole. */
static void after_a_move_a_sample_counts(void **state)
{
    struct hdpi_level level;

    (void)state;
    hdpi_level_start(&level, 0);
    for (int i = 0; i < 100; i++)
        (void)hdpi_level_sample(&level, 0);
    hdpi_level_moved(&level, 200, 100);
    expect_near(.25 * log(2), sqrt(level.variance), .001, "error");
    expect_sample(HDPI_SAMPLE_TAKEN, hdpi_level_sample(&level, .2), "sample");
    expect_near(.2, level.log, .002, "level");
}

/* Moves that are right a dozen times are trusted, those that are off by a
 * quarter of the way are not. */
static void curves_are_trusted_as_they_prove(void **state)
{
    (void)state;
    for (int bad = 0; bad <= 1; bad++) {
        struct hdpi_level level;
        hdpi_level_start(&level, 0);
        for (int i = 0; i < 100; i++)
            (void)hdpi_level_sample(&level, 0);
        for (int i = 0; i < 12; i++) {
            hdpi_level_moved(&level, i & 1 ? 200 : 100, i & 1 ? 100 : 200);
            for (int k = 0; k < 10; k++)
                (void)hdpi_level_sample(&level,
                                        bad && (i & 1) ? .25 * log(2) : 0);
        }
        double doubt = sqrt(level.doubt);
        if (bad ? doubt < .15 || doubt > .35 : doubt > .05)
            fail_msg("curve %s: expected a doubt of %s, got %.3f",
                     bad ? "off by a quarter" : "right",
                     bad ? "0.15 to 0.35" : "0.05 at most", doubt);
    }
}

static void a_shift_moves_what_is_held(void **state)
{
    struct hdpi_level level;

    (void)state;
    hdpi_level_start(&level, 0);
    (void)hdpi_level_sample(&level, .7);
    hdpi_level_shift(&level, 4.6, 0);
    expect_near(4.6, level.log, 1e-12, "level");
    expect_sample(HDPI_SAMPLE_CHANGED, hdpi_level_sample(&level, 5.3),
                  "the second outlier");
    expect_near(5.3, level.log, 1e-12, "changed level");
}

/* ---- beside it ------------------------------------------------------------------ */

static void logarithms_are_right(void **state)
{
    (void)state;
    expect_near(0, hdpi_ln(1), 0, "ln 1");
    expect_near(1, hdpi_exp(0), 0, "exp 0");
    for (int i = 0; i < 100000; i++) {
        double x = chance_real(-60, 60), value = exp(x);
        expect_near(log(value), hdpi_ln(value), 2e-14, "ln");
        expect_near(1, hdpi_exp(x) / value, 4e-14, "exp");
    }
    expect_near(log(1e-300), hdpi_ln(1e-300), 1e-12, "ln of little");
    expect_near(1, hdpi_exp(800) / exp(700), 1e-11, "exp of much");
    expect_near(exp(-700), hdpi_exp(-1e9), 1e-300, "exp of very little");
}

static void the_last_eight_sizes_are_known(void **state)
{
    struct hdpi_shapes shapes = { { 0 } };

    (void)state;
    assert_int_equal(hdpi_shapes_is_new(&shapes, 0), 0);
    for (int64_t n = 1; n <= 8; n++)
        assert_int_equal(hdpi_shapes_is_new(&shapes, n), 1);
    assert_int_equal(hdpi_shapes_is_new(&shapes, 1), 0); /* latest again */
    assert_int_equal(hdpi_shapes_is_new(&shapes, 9), 1); /* drives 2 out */
    assert_int_equal(hdpi_shapes_is_new(&shapes, 1), 0);
    assert_int_equal(hdpi_shapes_is_new(&shapes, 2), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gains_fall_to_a_tenth),
        cmocka_unit_test(one_outlier_is_a_hiccup),
        cmocka_unit_test(two_that_agree_are_a_change),
        cmocka_unit_test(many_hiccups_ask_for_more),
        cmocka_unit_test(noise_and_error_are_learned),
        cmocka_unit_test(noise_that_begins_is_seen),
        cmocka_unit_test(after_a_move_a_sample_counts),
        cmocka_unit_test(curves_are_trusted_as_they_prove),
        cmocka_unit_test(a_shift_moves_what_is_held),
        cmocka_unit_test(logarithms_are_right),
        cmocka_unit_test(the_last_eight_sizes_are_known),
    };

    return cmocka_run_group_tests_name("level", tests, NULL, NULL);
}
