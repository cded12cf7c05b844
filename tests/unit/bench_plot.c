/* Pictures: scales and numbers, text that is no XML, and the same bytes under a
 * locale whose decimal point is a comma (built here: few machines have one). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "plot.h"
#include "saved.h"
#include "scale.h"
#include "svg.h"
#include "unit/another_locale.h"

/* ---- numbers ------------------------------------------------------------- */

static void numbers(void **state)
{
    static const struct {
        double value;
        const char *text, *brief;
    } rows[] = {
        { 0, "0", "0" },           { 1234.5, "1235", "1235" },
        { 99.94, "99.9", "99.9" }, { 99.96, "100", "100" },
        { 12, "12.0", "12" },      { 2.8, "2.80", "2.8" },
        { 0.5, "0.500", "0.5" },   { 0.00123, "0.00123", "0.00123" },
        { -7.9, "-7.90", "-7.9" }, { -0.0, "0", "0" },
    };
    char text[SVG_NUMBER];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        assert_string_equal(svg_number(text, rows[i].value), rows[i].text);
        assert_string_equal(svg_short_number(text, rows[i].value),
                            rows[i].brief);
    }
    assert_string_equal(svg_decimals(text, -0.04, 1), "0.0");
    assert_string_equal(svg_decimals(text, 1e300, 1), "1000000000000.0");
}

static void units(void **state)
{
    char text[SCALE_TEXT];

    (void)state;
    assert_string_equal(scale_say_time(text, 2.8e6), "2.8 ms");
    assert_string_equal(scale_say_time(text, 29e6), "29.0 ms");
    assert_string_equal(scale_say_time(text, 999), "999 ns");
    assert_string_equal(scale_say_time(text, 1500), "1.5 \xc2\xb5s");
    assert_string_equal(scale_say_time(text, 3e9), "3 s");
    assert_string_equal(scale_say(text, 25e12, "FLOP/s"), "25.0 TFLOP/s");
    assert_string_equal(scale_say(text, 640, "items/s"), "640 items/s");
    assert_string_equal(scale_say(text, 176e3, "items/s"), "176 k items/s");
    assert_string_equal(scale_say_bytes(text, 8), "8 B");
    assert_string_equal(scale_say_bytes(text, 1000), "1000 B");
    assert_string_equal(scale_say_bytes(text, 32 << 20), "32 MiB");
}

/* ---- scales -------------------------------------------------------------- */

static void expect_ticks(struct scale scale, double least, double most,
                         int wanted, const char *labels)
{
    char all[512] = "", text[SCALE_TEXT];

    scale_fit(&scale, least, most, wanted);
    assert_true(scale.ticks <= wanted);
    for (int i = 0; i < scale.ticks; ++i) {
        double place = scale_place(&scale, scale_tick(&scale, i));
        assert_true(place >= 0 && place <= 1);
        strcat(strcat(all, i ? " " : ""), scale_label(text, &scale, i));
    }
    assert_string_equal(all, labels);
    assert_true(scale_place(&scale, least) >= 0);
    assert_true(scale_place(&scale, most) <= 1);
}

static void ticks(void **state)
{
    const struct scale plain = { .unit = 1 }, counts = { 0 },
                       ms = { .unit = 1e6 }, items = { .kind = SCALE_DECADES },
                       bytes = { .kind = SCALE_BYTES };

    (void)state;
    expect_ticks(plain, 0, 7, 8, "0 1 2 3 4 5 6 7");
    expect_ticks(plain, 0, 0.9, 6, "0.0 0.2 0.4 0.6 0.8");
    expect_ticks(plain, 0, 0.004, 5, "0.000 0.001 0.002 0.003 0.004");
    expect_ticks(ms, 0, 303e6, 8, "0 50 100 150 200 250 300");
    expect_ticks(counts, 0, 5000, 6, "0 1k 2k 3k 4k 5k");
    expect_ticks(items, 1, 228, 10, "1 10 100");
    expect_ticks(items, 1, 2, 10, "1 2");
    expect_ticks(items, 1, 1e6, 4, "1 100 10k 1M");
    expect_ticks(bytes, 8, 512, 12, "8 B 16 B 32 B 64 B 128 B 256 B 512 B");
    expect_ticks(bytes, 8, 1 << 20, 5, "8 B 256 B 8 KiB 256 KiB");
    expect_ticks(plain, 0, 0, 8, "0.0 0.2 0.4 0.6 0.8 1.0"); /* no data */
    expect_ticks(bytes, 8, 8, 12, "4 B 8 B 16 B");           /* one point */
}

static void nothing_leaves_the_axes(void **state)
{
    struct scale scale = { .kind = SCALE_DECADES };

    (void)state;
    scale_fit(&scale, 1, 100, 10);
    assert_true(scale_place(&scale, 0) == 0);
    assert_true(scale_place(&scale, -1) == 0);
    assert_true(scale_place(&scale, 1e300) == 1);
}

/* ---- text ---------------------------------------------------------------- */

static void expect_escaped(const char *text, const char *want)
{
    struct svg svg;

    assert_true(svg_open(&svg));
    svg_escape(&svg, text);
    fflush(svg.body);
    assert_string_equal(svg.data, want);
    svg_close(&svg, NULL, 0, "");
}

static void text_is_xml(void **state)
{
    (void)state;
    expect_escaped("a < b & c > d", "a &lt; b &amp; c &gt; d");
    expect_escaped("tab\there\x01", "tab here ");
    expect_escaped("\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80",
                   "\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80");
    expect_escaped("\xef\xbf\xbe\xef\xbf\xbf", "??");
    expect_escaped("cut \xe4\xb8", "cut ?"); /* in the middle of one */
    expect_escaped("\xb8z\xc0\xaf", "?z?");
}

static void long_text_is_cut(void **state)
{
    char out[64];

    (void)state;
    assert_string_equal(svg_fit(out, sizeof out, "short", 13, 200), "short");
    svg_fit(out, sizeof out, "a name that is far too long for this", 13, 100);
    assert_true(svg_width_of(out, 13) <= 100 + 13);
    assert_string_equal(out + strlen(out) - 3, "\xe2\x80\xa6");
    svg_fit(out, 16, "much longer than the buffer holds", 1, 900);
    assert_true(strlen(out) < 16);
}

/* ---- the same bytes in every locale -------------------------------------- */

static const char document[] =
    "{\"schema\":\"hdp.bench\",\"schema_version\":1,\"command\":\"run\","
    "\"devices\":[{\"spec\":\"sim:0/x\",\"simulated\":true},"
    "{\"spec\":\"sim:1/x\",\"simulated\":true}],"
    "\"results\":[{\"rule\":\"equal\",\"shares\":[12345678,128],"
    "\"member_ns\":[1780000.5,7900000],\"step_ns\":{\"median\":7900000.25}}],"
    "\"profile\":{\"members\":[{\"rate\":1.5,\"rate_flops\":2.5e12,"
    "\"ratio\":0.75,\"spread\":0.015,\"points\":[[1,3.25],[100,50.5]]}]},"
    "\"scaling\":{\"total\":1234567,\"order\":[0,1],"
    "\"step_ns\":[3060000.5,2800000.25],\"ideal_ns\":[3060000.5,2520621.9]},"
    "\"reduce\":[{\"bytes\":8,\"busbw\":0.125},{\"bytes\":4096,\"busbw\":1.5}],"
    "\"steps\":{\"step_ns\":[2800000.5,3.25e6],"
    "\"resplits\":[{\"step\":1,\"shares\":[205,51]}]}}";

static char *drawn(int32_t kind)
{
    struct failure failure = { 0 };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    json_t *root =
        saved_parse(document, strlen(document), "document", &failure);

    if (!root)
        fail_msg("%s", failure.error.text);
    if (plot_draw(out, root, kind, "document", &failure) != EXIT_OK)
        fail_msg("%s: %s", plot_kind_name(kind), failure.error.text);
    fclose(out);
    json_decref(root);
    return text;
}

static void locales(void **state)
{
    char folder[] = "/tmp/hdp-plot-XXXXXX";
    char *before[PLOT_KINDS], *after;

    (void)state;
    for (int32_t kind = 0; kind < PLOT_KINDS; ++kind)
        before[kind] = drawn(kind);
    assert_non_null(mkdtemp(folder));
    int entered = another_locale(folder, "de_DE");
    for (int32_t kind = 0; kind < PLOT_KINDS; ++kind) {
        after = drawn(kind);
        if (strcmp(before[kind], after) != 0)
            fail_msg("%s: other bytes under de_DE", plot_kind_name(kind));
        free(after);
        free(before[kind]);
    }
    assert_int_equal(usual_locale(folder), 0);
    if (!entered) {
        print_message("no locale with a comma can be made here\n");
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(units),
        cmocka_unit_test(ticks),
        cmocka_unit_test(nothing_leaves_the_axes),
        cmocka_unit_test(text_is_xml),
        cmocka_unit_test(long_text_is_cut),
        cmocka_unit_test(locales),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
