/* The builder of documents: text that any JSON reader takes, numbers that read
 * back as the same bits, and errors that wait for the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include "json/writer.h"

static char *end_of(struct hdpi_json *json)
{
    char *text;
    assert_int_equal(hdpi_json_end(json, &text), HDP_OK);
    return text;
}

static void test_nesting(void **state)
{
    (void)state;
    struct hdpi_json *json;
    assert_int_equal(hdpi_json_new(&json), HDP_OK);
    hdpi_json_text(json, "name", "x");
    hdpi_json_open_array(json, "list");
    hdpi_json_int(json, NULL, INT64_MIN);
    hdpi_json_int(json, NULL, INT64_MAX);
    hdpi_json_open_object(json, NULL);
    hdpi_json_close(json);
    hdpi_json_open_array(json, NULL);
    hdpi_json_close(json);
    hdpi_json_null(json, NULL);
    hdpi_json_close(json);
    hdpi_json_open_object(json, "inner");
    hdpi_json_bool(json, "yes", 1);
    hdpi_json_bits(json, "hash", UINT64_C(0xfedcba9876543210));
    hdpi_json_known(json, "unknown", -1);
    hdpi_json_name(json, "rule", &hdpi_rule_names, HDP_RULE_MANUAL);
    hdpi_json_name(json, "none", &hdpi_rule_names, 99);
    hdpi_json_close(json);
    hdpi_json_text(json, "absent", NULL);
    char *text = end_of(json);
    assert_string_equal(
        text, "{\"name\":\"x\",\"list\":[-9223372036854775808,"
              "9223372036854775807,{},[],null],\"inner\":{\"yes\":true,"
              "\"hash\":\"fedcba9876543210\",\"unknown\":null,"
              "\"rule\":\"manual\",\"none\":null},\"absent\":null}");
    free(text);
}

static void test_empty(void **state)
{
    (void)state;
    struct hdpi_json *json;
    assert_int_equal(hdpi_json_new(&json), HDP_OK);
    char *text = end_of(json);
    assert_string_equal(text, "{}");
    free(text);
}

static void test_strings(void **state)
{
    static const struct {
        const char *given, *written;
    } cases[] = {
        { "", "\"\"" },
        { "a\"b\\c/d", "\"a\\\"b\\\\c/d\"" },
        { "\x01\t\n\x1b[31m\x7f",
          "\"\\u0001\\u0009\\u000a\\u001b[31m\\u007f\"" },
        { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
          "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"" },
        { "a\xff"
          "b",
          "\"a\\ufffdb\"" },
        { "\xc3", "\"\\ufffd\"" },                       /* cut short */
        { "\xc0\xaf", "\"\\ufffd\\ufffd\"" },            /* over-long */
        { "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"" }, /* a surrogate */
        { "\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[128];
        struct hdpi_json *json;
        json_error_t error;
        assert_int_equal(hdpi_json_new(&json), HDP_OK);
        hdpi_json_text(json, "s", cases[i].given);
        char *text = end_of(json);
        snprintf(expected, sizeof expected, "{\"s\":%s}", cases[i].written);
        assert_string_equal(text, expected);
        json_t *parsed = json_loads(text, 0, &error);
        if (!parsed)
            fail_msg("%s: expected well-formed, got %s", text, error.text);
        json_decref(parsed);
        free(text);
    }
}

static void test_reals(void **state)
{
    static const struct {
        double value;
        const char *written;
    } cases[] = {
        { 0.0, "0" },
        { -0.0, "-0.0" },
        { 0.1, "0.1" },
        { -2.5, "-2.5" },
        { 0.8984375, "0.8984375" },
        { 2800000.0, "2800000" },
        { 1.0 / 3.0, "0.3333333333333333" },
        { 5e-324, "5e-324" },
        { DBL_MAX, "1.7976931348623157e308" },
        { 9007199254740993.0, "9007199254740992" },
        { NAN, "null" },
        { INFINITY, "null" },
        { -INFINITY, "null" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[HDPI_REAL_ROOM];
        hdpi_json_format_real(text, cases[i].value);
        assert_string_equal(text, cases[i].written);
    }
}

static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void test_reals_read_back(void **state)
{
    uint64_t seed = 1;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = next(&seed);
        double value, back;
        char text[HDPI_REAL_ROOM];
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        hdpi_json_format_real(text, value);
        back = strtod(text, NULL);
        if (memcmp(&back, &value, sizeof back) != 0)
            fail_msg("expected the bits of %a, got %s", value, text);
    }
}

static void test_defects_surface_at_the_end(void **state)
{
    (void)state;
    struct hdpi_json *json;
    char *text = (char *)&json;

    assert_int_equal(hdpi_json_new(&json), HDP_OK);
    hdpi_json_open_array(json, "open");
    hdpi_json_open_array(json, NULL);
    assert_int_equal(hdpi_json_end(json, &text), HDP_ERR_INTERNAL);
    assert_null(text);
    assert_string_equal(hdp_last_error(), "JSON ended with 2 levels open");

    assert_int_equal(hdpi_json_new(&json), HDP_OK);
    hdpi_json_close(json);
    hdpi_json_close(json);
    hdpi_json_int(json, "late", 1);
    hdpi_fail(HDP_ERR_BUSY, "something else in between");
    assert_int_equal(hdpi_json_end(json, &text), HDP_ERR_INTERNAL);
    assert_string_equal(hdp_last_error(), "JSON closed once too often");

    assert_int_equal(hdpi_json_new(&json), HDP_OK);
    for (int i = 0; i < HDPI_JSON_DEPTH_MAX; i++)
        hdpi_json_open_array(json, i == 0 ? "deep" : NULL);
    for (int i = 0; i < HDPI_JSON_DEPTH_MAX; i++)
        hdpi_json_close(json);
    assert_int_equal(hdpi_json_end(json, &text), HDP_ERR_INTERNAL);
    assert_string_equal(hdp_last_error(), "JSON nested deeper than 32 at \"\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_reals),
        cmocka_unit_test(test_reals_read_back),
        cmocka_unit_test(test_defects_surface_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
