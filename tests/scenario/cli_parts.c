/* The bench's pure parts: numbers from text, statistics, the optimum over
 * curves, exact data, the digits, the JSON writer and the picture. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <hdp/hdp.h>
#include <jansson.h>

#include "exact.h"
#include "jsonwriter.h"
#include "optimum.h"
#include "options.h"
#include "parse.h"
#include "picture.h"
#include "stats.h"
#include "work/digits.h"
#include "work/random.h"

/* ---- numbers from text --------------------------------------------------- */

static void refused_at(int ok, const struct parse_error *error, int position,
                       const char *text)
{
    if (ok)
        fail_msg("'%s' was taken", text);
    if (error->position != position)
        fail_msg("'%s': position %d, expected %d (%s)", text, error->position,
                 position, error->text);
    assert_true(error->text[0] != 0);
}

static void whole_numbers(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } good[] = { { "0", 0 },
                 { "256", 256 },
                 { "-7", -7 },
                 { "9223372036854775807", INT64_MAX },
                 { "-9223372036854775808", INT64_MIN } };
    static const struct {
        const char *text;
        int position;
    } bad[] = { { "", 1 },
                { " 1", 1 },
                { "1 ", 2 },
                { "1e99", 2 },
                { "+1", 1 },
                { "0x10", 2 },
                { "--1", 2 },
                { "1.5", 2 },
                { "9223372036854775808", 0 },
                { "99999999999999999999", 0 } };
    struct parse_error error;
    int64_t value;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; ++i) {
        assert_true(
            parse_int(good[i].text, INT64_MIN, INT64_MAX, &value, &error));
        assert_int_equal(value, good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i)
        refused_at(parse_int(bad[i].text, INT64_MIN, INT64_MAX, &value, &error),
                   &error, bad[i].position, bad[i].text);
    refused_at(parse_int("-1", 0, INT64_MAX, &value, &error), &error, 0, "-1");
}

static void durations(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = { { "0", 0 },
                 { "1ns", 1 },
                 { "300ms", 300000000 },
                 { "1.5s", 1500000000 },
                 { "2m", 120000000000 },
                 { "0.25us", 250 },
                 { "1.000ns", 1 } };
    static const struct {
        const char *text;
        int position;
    } bad[] = { { "300", 4 },  { "ms", 1 },    { "-1ms", 1 },
                { "1.ms", 3 }, { "1.5ns", 3 }, { "1hour", 2 },
                { "1 ms", 2 }, { "1,5ms", 2 }, { "9999999999999999m", 0 } };
    struct parse_error error;
    int64_t ns;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; ++i) {
        assert_true(parse_duration(good[i].text, &ns, &error));
        assert_int_equal(ns, good[i].ns);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i)
        refused_at(parse_duration(bad[i].text, &ns, &error), &error,
                   bad[i].position, bad[i].text);
}

static void sizes(void **state)
{
    struct parse_error error;
    int64_t bytes;

    (void)state;
    assert_true(parse_size("4096", 0, &bytes, &error));
    assert_int_equal(bytes, 4096);
    assert_true(parse_size("1.5GiB", 0, &bytes, &error));
    assert_int_equal(bytes, 1610612736);
    assert_true(parse_size("2GB", 0, &bytes, &error));
    assert_int_equal(bytes, 2000000000);
    assert_true(parse_size("128M", 1, &bytes, &error));
    assert_int_equal(bytes, 134217728);
    refused_at(parse_size("128M", 0, &bytes, &error), &error, 4, "128M");
    refused_at(parse_size("1gb", 0, &bytes, &error), &error, 2, "1gb");
    refused_at(parse_size("0.3kB4", 0, &bytes, &error), &error, 4, "0.3kB4");
}

static void ratios(void **state)
{
    static const struct {
        const char *text;
        int position;
    } bad[] = { { "", 1 },     { "nan", 1 },   { "3/nan", 3 },
                { "-1/2", 1 }, { "0/0", 0 },   { "3/", 3 },
                { "3:2", 2 },  { "inf/1", 1 }, { "1/2/3/4/5", 9 },
                { "1e999", 1 } };
    struct parse_error error;
    double out[4];
    int count;

    (void)state;
    assert_true(parse_ratios("3/2", out, 4, &count, &error));
    assert_int_equal(count, 2);
    assert_true(out[0] == 3 && out[1] == 2);
    assert_true(parse_ratios("0.5/0/1e1", out, 4, &count, &error));
    assert_int_equal(count, 3);
    assert_true(out[0] == 0.5 && out[1] == 0 && out[2] == 10);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i)
        refused_at(parse_ratios(bad[i].text, out, 4, &count, &error), &error,
                   bad[i].position, bad[i].text);
}

/* ---- options ------------------------------------------------------------- */

static int read_line(struct options *out, struct failure *failure,
                     const char **words)
{
    int count = 0;

    while (words[count])
        ++count;
    memset(failure, 0, sizeof *failure);
    return options_read(out, count, (char **)(uintptr_t)words, failure);
}

static void options_as_typed(void **state)
{
    const char *words[] = {
        "hdp_bench", "split",    "-d",   "sim:0/item=1us",
        "-dsim:1",   "-N",       "256",  "--rule=equal,manual=3/1",
        "--quantum", "auto",     "-o",   "json",
        "-vv",       "--budget", "1.5s", NULL
    };
    struct options options;
    struct failure failure;

    (void)state;
    assert_int_equal(read_line(&options, &failure, words), EXIT_OK);
    assert_int_equal(options.command, COMMAND_SPLIT);
    assert_string_equal(options.spec, "sim:0/item=1us+sim:1");
    assert_int_equal(options.total, 256);
    assert_int_equal(options.quantum, -1);
    assert_int_equal(options.rule_count, 2);
    assert_int_equal(options.rules[0], HDP_RULE_EQUAL);
    assert_int_equal(options.rules[1], HDP_RULE_MANUAL);
    assert_int_equal(options.ratio_count, 2);
    assert_int_equal(options.verbose, 2);
    assert_int_equal(options.budget_ns, 1500000000);
    assert_int_equal(options.format, FORMAT_JSON);
}

static void every_option_has_help(void **state)
{
    static const char *const told[] = { "--devices",  "--total",   "--rule",
                                        "--budget",   "--profile", "--out",
                                        "--progress", "--timeout", "\n  SPEC ",
                                        "\n  TIME ",  "\n  SIZE " };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    options_help(out, COMMAND_RUN);
    fclose(out);
    for (size_t i = 0; i < sizeof told / sizeof told[0]; ++i)
        if (!strstr(text, told[i]))
            fail_msg("the help of run lacks %s", told[i]);
    for (const char *line = text; line && *line;) {
        const char *end = strchr(line, '\n');
        assert_true(end && end - line <= 80);
        line = end + 1;
    }
    free(text);
}

/* ---- statistics ---------------------------------------------------------- */

static void medians(void **state)
{
    double odd[] = { 5, 1, 100, 3, 2 }, even[] = { 4, 1, 3, 2 };
    double twenty[20];
    struct stats stats;

    (void)state;
    assert_true(stats_of(&stats, odd, 5));
    assert_true(stats.median == 3 && stats.mad == 2 && stats.min == 1);
    assert_true(odd[0] == 5); /* the caller's samples keep their order */
    assert_true(stats_of(&stats, even, 4));
    assert_true(stats.median == 2.5 && stats.mad == 1);
    assert_true(stats.spread == 0.4);
    for (int i = 0; i < 20; ++i)
        twenty[i] = 20 - i;
    assert_true(stats_of(&stats, twenty, 20));
    assert_true(stats.p95 == 19);
    assert_true(stats_of(&stats, odd, 0));
    assert_true(stats.n == 0 && stats.median == 0);
}

/* ---- the optimum --------------------------------------------------------- */

static double worst_of(const struct curve *curves, int members,
                       const int64_t *items)
{
    double worst = 0;

    for (int m = 0; m < members; ++m) {
        double ns = curve_time(&curves[m], items[m]);
        worst = ns > worst ? ns : worst;
    }
    return worst;
}

/* Every division of `left` items over the members from `m` on. */
static double enumerate(const struct curve *curves, int members, int m,
                        int64_t left, int64_t *items)
{
    double best = -1;

    if (m == members - 1) {
        items[m] = left;
        return worst_of(curves, members, items);
    }
    for (int64_t x = 0; x <= left; ++x) {
        items[m] = x;
        double ns = enumerate(curves, members, m + 1, left - x, items);
        best = best < 0 || ns < best ? ns : best;
    }
    return best;
}

static void optimum_is_the_least(void **state)
{
    uint64_t seed = 7;

    (void)state;
    for (int trial = 0; trial < 300; ++trial) {
        struct curve curves[3];
        int members = 2 + (int)(random_next(&seed) % 2);
        int64_t total = 1 + (int64_t)(random_next(&seed) % 24), items[3], sum;
        memset(curves, 0, sizeof curves);
        for (int m = 0; m < members; ++m) {
            curves[m].count = 3;
            for (int i = 0; i < 3; ++i) { /* may dip */
                curves[m].items[i] = 1 + 8 * i;
                curves[m].ns[i] = (double)(1 + random_next(&seed) % 100);
            }
        }
        double found = optimum_find(curves, members, total, 1, items);
        sum = 0;
        for (int m = 0; m < members; ++m)
            sum += items[m];
        assert_int_equal(sum, total);
        assert_true(found == worst_of(curves, members, items));
        int64_t scratch[3];
        assert_true(found == enumerate(curves, members, 0, total, scratch));
    }
}

static void optimum_of_the_issue(void **state)
{
    struct curve curves[2] = {
        { 2, { 1, 256 }, { 510e3, 3060e3 } },
        { 2, { 1, 256 }, { 1550e3, 14300e3 } },
    };
    int64_t items[2];

    (void)state;
    assert_true(optimum_find(curves, 2, 256, 1, items) == 2800e3);
    assert_int_equal(items[0], 230);
    assert_int_equal(items[1], 26);
}

/* More blocks than the programme holds: refined to the quantum. */
static void optimum_of_many(void **state)
{
    struct curve curves[2] = { { 2, { 1, 2 }, { 10, 20 } },
                               { 2, { 1, 2 }, { 20, 40 } } };
    int64_t items[2];

    (void)state;
    assert_true(optimum_find(curves, 2, 300000, 1, items) == 2000000);
    assert_int_equal(items[0], 200000);
}

/* ---- exact data ---------------------------------------------------------- */

static void planted_errors_are_found(void **state)
{
    float a[64], b[64], sum[64];
    const int64_t counts[] = { 1, 1 }, silent[] = { 0, 5 };

    (void)state;
    exact_fill(a, 64, HDP_F32, 0);
    exact_fill(b, 64, HDP_F32, 1);
    assert_true(memcmp(a, b, sizeof a) != 0);
    for (int i = 0; i < 64; ++i)
        sum[i] = a[i] + b[i];
    assert_int_equal(exact_wrong(sum, 64, HDP_F32, HDP_OP_SUM, 2, counts), 0);
    sum[5] += 1;
    sum[9] = (float)strtod("nan", NULL);
    assert_int_equal(exact_wrong(sum, 64, HDP_F32, HDP_OP_SUM, 2, counts), 2);
    /* a member of weight 0 contributes nothing */
    assert_int_equal(exact_wrong(b, 64, HDP_F32, HDP_OP_MEAN, 2, silent), 0);
}

/* ---- digits -------------------------------------------------------------- */

static void table_is_the_data(void **state)
{
    const char *root = getenv("HDP_SOURCE_DIR");
    char path[1024], line[128];
    int row = 0;

    (void)state;
    if (!root)
        fail_msg("HDP_SOURCE_DIR is not set");
    snprintf(path, sizeof path, "%s/examples/data/digits.txt", root);
    FILE *in = fopen(path, "r");
    if (!in)
        fail_msg("%s: cannot be read", path);
    for (; fgets(line, sizeof line, in); ++row) {
        line[strcspn(line, "\n")] = 0;
        assert_true(row < DIGITS_COUNT);
        assert_string_equal(line, digits_table[row]);
    }
    fclose(in);
    assert_int_equal(row, DIGITS_COUNT);
}

static void digits_look_like_digits(void **state)
{
    int labels[DIGITS_CLASSES] = { 0 };
    long ink = 0;

    (void)state;
    for (int i = 0; i < DIGITS_COUNT; ++i) {
        uint8_t pixels[DIGITS_PIXELS];
        int label = digits_image(i, pixels);
        assert_in_range(label, 0, 9);
        labels[label]++;
        for (int j = 0; j < DIGITS_PIXELS; ++j) {
            assert_in_range(pixels[j], 0, DIGITS_LEVELS);
            ink += pixels[j];
        }
    }
    /* As the data set's description counts them. */
    static const int known[] = { 178, 182, 177, 183, 181,
                                 182, 181, 179, 174, 180 };
    for (int i = 0; i < DIGITS_CLASSES; ++i)
        assert_int_equal(labels[i], known[i]);
    assert_int_equal(ink, 561718);
}

/* ---- what is written ----------------------------------------------------- */

static void numbers_are_short_and_exact(void **state)
{
    json_t *json =
        json_pack("{s:f, s:f, s:I, s:[f,f]}", "a", 0.985, "b", 0.8984375, "n",
                  (json_int_t)2800000, "list", 1.0, 0.1);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    assert_true(jsonwriter_write(out, json));
    fclose(out);
    assert_string_equal(text, "{\n \"a\":0.985,\n \"b\":0.8984375,\n "
                              "\"n\":2800000,\n \"list\":[1.0,0.1]\n}\n");
    json_t *back = json_loads(text, 0, NULL);
    assert_true(json_equal(json, back));
    json_decref(back);
    json_decref(json);
    free(text);
}

static char *drawn(void)
{
    struct picture picture = {
        .title = "a < b & c",
        .subtitle = "s",
        .footer = { "f", NULL },
        .unit = "rows",
        .device = { "sim:0", "sim:1" },
        .members = 2,
        .panels = 2,
        .panel = { { "equal",
                     "x",
                     7.9e6,
                     { { 128, 1.78e6, 0 }, { 128, 7.9e6, 0 } } },
                   { "finish",
                     "y",
                     2.8e6,
                     { { 230, 2.8e6, 0 }, { 26, 2.8e6, 0 } } } },
    };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_true(picture_write(out, &picture));
    fclose(out);
    return text;
}

static void picture_is_stable_and_whole(void **state)
{
    char *first = drawn(), *second = drawn();

    (void)state;
    assert_string_equal(first, second);
    assert_non_null(strstr(first, "a &lt; b &amp; c"));
    assert_non_null(strstr(first, "url(#idle)"));
    assert_non_null(strstr(first, "7.9 ms"));
    assert_non_null(strstr(first, "</svg>"));
    assert_null(strstr(first, "href"));
    assert_null(strstr(first, "nan"));
    assert_true(strstr(first, ">equal<") < strstr(first, ">finish<"));
    free(first);
    free(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers),
        cmocka_unit_test(durations),
        cmocka_unit_test(sizes),
        cmocka_unit_test(ratios),
        cmocka_unit_test(options_as_typed),
        cmocka_unit_test(every_option_has_help),
        cmocka_unit_test(medians),
        cmocka_unit_test(optimum_is_the_least),
        cmocka_unit_test(optimum_of_the_issue),
        cmocka_unit_test(optimum_of_many),
        cmocka_unit_test(planted_errors_are_found),
        cmocka_unit_test(table_is_the_data),
        cmocka_unit_test(digits_look_like_digits),
        cmocka_unit_test(numbers_are_short_and_exact),
        cmocka_unit_test(picture_is_stable_and_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
