/* Numbers to and from text, printable lines, and text handed to a caller. The
 * expected doubles are written in hexadecimal or made by exact arithmetic. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t next_random(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* ---- integers ------------------------------------------------------------ */

static void integers(void **state)
{
    static const struct {
        const char *text;
        int64_t value; /* -1: none */
        size_t at;
    } rows[] = {
        { "0", 0, 1 },
        { "42", 42, 2 },
        { "42us", 42, 2 },
        { "007", 7, 3 },
        { "9223372036854775807", INT64_MAX, 19 },
        { "9223372036854775808", -1, 0 },
        { "99999999999999999999999", -1, 0 },
        { "00000000000000000000000000001", 1, 29 },
        { "", -1, 0 },
        { "-1", -1, 0 },
        { "+1", -1, 0 },
        { " 1", -1, 0 },
        { "x", -1, 0 },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hdpi_text text = { rows[i].text, strlen(rows[i].text), 0 };
        int64_t got = -1;
        int ok = hdpi_text_int(&text, &got);
        if (got != rows[i].value || text.at != rows[i].at ||
            ok != (rows[i].value >= 0))
            fail_msg("\"%s\": expected %lld at %zu, got %lld at %zu",
                     rows[i].text, (long long)rows[i].value, rows[i].at,
                     (long long)got, text.at);
    }
    /* The end is the cursor's, not a NUL. */
    struct hdpi_text part = { "123456", 3, 1 };
    int64_t got;
    assert_int_equal(hdpi_text_int(&part, &got), 1);
    assert_int_equal(got, 23);
    assert_int_equal(part.at, 3);
}

/* ---- reading doubles ----------------------------------------------------- */

static void doubles(void **state)
{
    static const struct {
        const char *text;
        double value; /* negative: none */
        size_t at;
    } rows[] = {
        { "0", 0, 1 },
        { "0.0e5", 0, 5 },
        { "1.5ms", 1.5, 3 },
        { "1.", 1, 1 },
        { "1.x", 1, 1 },
        { "1e", 1, 1 },
        { "1e+", 1, 1 },
        { "1e5", 100000, 3 },
        { "1E-2", 0x1.47ae147ae147bp-7, 4 },
        { "0.1", 0x1.999999999999ap-4, 3 },
        { "0.3", 0x1.3333333333333p-2, 3 },
        { "123456789012345678", 0x1.b69b4ba630f35p+56, 18 },
        { "9007199254740993", 0x1p53, 16 },
        { "9007199254740993.0000000000000000000000000001", 0x1.0000000000001p53,
          45 },
        { "9007199254740992.9999999999999999999999999999", 0x1p53, 45 },
        { "9007199254740995", 0x1.0000000000002p53, 16 },
        { "1e22", 0x1.0f0cf064dd592p+73, 4 },
        { "1e23", 0x1.52d02c7e14af6p+76, 4 },
        { "8.5e22", 0x1.1ffdbf6b2b2ebp+76, 6 },
        { "2.2250738585072014e-308", 0x1p-1022, 23 },
        { "2.2250738585072011e-308", 0x0.fffffffffffffp-1022, 23 },
        { "1.7976931348623157e308", 0x1.fffffffffffffp1023, 22 },
        { "1.7976931348623159e308", -1, 0 },
        { "5e-324", 0x1p-1074, 6 },
        { "2e-324", 0, 6 },
        { "1e-400000000000000000000", 0, 24 },
        { "1e400000000000000000000", -1, 0 },
        { "0e400000000000000000000", 0, 23 },
        { "1e309", -1, 0 },
        { "", -1, 0 },
        { ".5", -1, 0 },
        { "-1", -1, 0 },
        { "nan", -1, 0 },
        { "inf", -1, 0 },
        { "0x10", 0, 1 },
        { "1,5", 1, 1 },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hdpi_text text = { rows[i].text, strlen(rows[i].text), 0 };
        double got = -1;
        int ok = hdpi_text_double(&text, &got);
        double wanted = rows[i].value < 0 ? -1 : rows[i].value;
        if (ok != (wanted >= 0) || got != wanted || text.at != rows[i].at)
            fail_msg("\"%s\": expected %a at %zu, got %a at %zu", rows[i].text,
                     wanted, rows[i].at, got, text.at);
    }
}

/* 2^-1075 lies half-way between 0 and the least double; its 752 digits are
 * those of 5^1075. Exactly half goes to even, anything more goes up, however
 * far behind it stands. */
static void half_way_to_the_last_digit(void **state)
{
    enum { DIGITS = 752, ZEROS = 300 };
    unsigned char digits[800] = { 1 };
    char text[DIGITS + ZEROS + 32];
    int count = 1;
    (void)state;
    for (int power = 0; power < 1075; power++) {
        int carry = 0;
        for (int i = 0; i < count; i++) {
            carry += digits[i] * 5;
            digits[i] = (unsigned char)(carry % 10);
            carry /= 10;
        }
        if (carry)
            digits[count++] = (unsigned char)carry;
    }
    assert_int_equal(count, DIGITS);
    for (int i = 0; i < count; i++)
        text[i] = (char)('0' + digits[count - 1 - i]);
    for (int more = 0; more < 2; more++) {
        int length = DIGITS;
        if (more) { /* 300 zeros and a one, as a fraction */
            length += snprintf(text + length, sizeof text - DIGITS, ".%0*d",
                               ZEROS + 1, 1);
        }
        snprintf(text + length, sizeof text - (size_t)length, "e-1075");
        struct hdpi_text cursor = { text, strlen(text), 0 };
        double got = -1, wanted = more ? 0x1p-1074 : 0;
        assert_int_equal(hdpi_text_double(&cursor, &got), 1);
        if (got != wanted)
            fail_msg("half%s: expected %a, got %a", more ? " and more" : "",
                     wanted, got);
    }
}

static void scaled(void **state)
{
    static const struct {
        const char *text;
        int32_t exponent;
        double value;
    } rows[] = {
        { "4.35", 3, 4350 },
        { "4.35", 2, 435 },
        { "1.1", 6, 1100000 },
        { "0.0000001", 9, 100 },
        { "3", -2, 0x1.eb851eb851eb8p-6 },
        { "0.8", 9, 800000000 },
        { "1e-3", 3, 1 },
        { "0", 9, 0 },
        { "0.29", 2, 29 },
        { "1.005", 3, 1005 },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hdpi_text text = { rows[i].text, strlen(rows[i].text), 0 };
        double got = -1;
        assert_int_equal(hdpi_text_scaled(&text, rows[i].exponent, &got), 1);
        if (got != rows[i].value)
            fail_msg("%s at %d: expected %a, got %a", rows[i].text,
                     (int)rows[i].exponent, rows[i].value, got);
        assert_int_equal(text.at, text.length);
    }
    struct hdpi_text far = { "1", 1, 0 };
    double got;
    assert_int_equal(hdpi_text_scaled(&far, INT32_MAX, &got), 0);
    assert_int_equal(hdpi_text_scaled(&far, INT32_MIN, &got), 0);
    assert_int_equal(hdpi_text_scaled(&far, 400, &got), 0);
}

/* Under the C locale, which a test program starts in, strtod is the judge. */
static void random_doubles_as_strtod(void **state)
{
    uint64_t seed = 20261130;
    (void)state;
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = next_random(&seed) >> 1;
        double value;
        char text[64];
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        snprintf(text, sizeof text, "%.*g", i % 21 + 1, value);
        struct hdpi_text cursor = { text, strlen(text), 0 };
        double wanted = strtod(text, NULL), got = -1;
        int ok = hdpi_text_double(&cursor, &got);
        if (isfinite(wanted) ? got != wanted || cursor.at != cursor.length : ok)
            fail_msg("seed 20261130, round %d, \"%s\": expected %a, got %a", i,
                     text, wanted, got);
    }
}

/* ---- writing doubles ----------------------------------------------------- */

static void shortest(void **state)
{
    static const struct {
        double value;
        int32_t scale;
        const char *text;
    } rows[] = {
        { 0, 0, "0" },
        { 0, 9, "0" },
        { 1, 0, "1" },
        { 1500, 0, "1500" },
        { 0.8, 0, "0.8" },
        { 4.35, 0, "4.35" },
        { 0.03, -2, "3" },
        { 0.035, -2, "3.5" },
        { 1, -2, "100" },
        { 1500000, 6, "1.5" },
        { 0.1 + 0.2, 0, "0.30000000000000004" },
        { 1.0 / 3, 0, "0.3333333333333333" },
        { 0.00012, 0, "0.00012" },
        { 0.00001, 0, "0.00001" },
        { 0.0000012, 0, "1.2e-6" },
        { 1e16, 0, "10000000000000000" },
        { 1e22, 0, "1e22" },
        { 0x1p53, 0, "9007199254740992" },
        { 0x1p-1074, 0, "5e-324" },
        { 0x1.fffffffffffffp1023, 0, "1.7976931348623157e308" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char got[HDPI_TEXT_DOUBLE_MAX];
        size_t length =
            hdpi_text_write_scaled(got, rows[i].scale, rows[i].value);
        if (strcmp(got, rows[i].text) != 0 || length != strlen(rows[i].text))
            fail_msg("%a at %d: expected \"%s\", got \"%s\" (%zu)",
                     rows[i].value, (int)rows[i].scale, rows[i].text, got,
                     length);
    }
}

static void what_is_written_reads_back(void **state)
{
    uint64_t seed = 7;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = next_random(&seed) >> 1;
        int32_t scale = (int32_t)(next_random(&seed) % 25) - 12;
        double value, got;
        char text[HDPI_TEXT_DOUBLE_MAX];
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value) || value > 1e290 || value < 1e-290)
            continue;
        struct hdpi_text cursor = { text, 0, 0 };
        cursor.length = hdpi_text_write_scaled(text, scale, value);
        assert_in_range(cursor.length, 1, HDPI_TEXT_DOUBLE_MAX - 1);
        if (!hdpi_text_scaled(&cursor, scale, &got) || got != value ||
            cursor.at != cursor.length)
            fail_msg("seed 7, round %d: expected %a at %d, got \"%s\"", i,
                     value, (int)scale, text);
    }
}

/* ---- lines --------------------------------------------------------------- */

static void lines_are_printable(void **state)
{
    static const struct {
        const char *source, *text;
    } rows[] = {
        { "plain", "plain" },
        { "", "" },
        { "a\tb\n", "a\\x09b\\x0a" },
        { "\x7f", "\\x7f" },
        { "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
        { "\xe2\x82\xac\xf0\x9f\x98\x80", "\xe2\x82\xac\xf0\x9f\x98\x80" },
        { "\xc3", "\\xc3" },
        { "\x80", "\\x80" },
        { "\xc0\xaf", "\\xc0\\xaf" },          /* over-long / */
        { "\xe0\x80\xaf", "\\xe0\\x80\\xaf" }, /* over-long / */
        { "\xed\xa0\x80", "\\xed\\xa0\\x80" }, /* a surrogate */
        { "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
        { "\xc2\x9b"
          "31m",
          "\\xc2\\x9b31m" }, /* an 8-bit escape */
        { "\xf0\x9f\x98", "\\xf0\\x9f\\x98" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char got[64];
        int fitted = hdpi_text_escape(got, sizeof got, rows[i].source,
                                      strlen(rows[i].source));
        if (!fitted || strcmp(got, rows[i].text) != 0)
            fail_msg("row %zu: expected \"%s\", got \"%s\"", i, rows[i].text,
                     got);
    }
    char got[8];
    assert_int_equal(hdpi_text_escape(got, sizeof got, "a\0b", 3), 1);
    assert_string_equal(got, "a\\x00b");
}

static void cuts_are_clean(void **state)
{
    static const struct {
        const char *source;
        size_t capacity;
        const char *text;
    } rows[] = {
        { "abcdefgh", 9, "abcdefgh" },
        { "abcdefgh", 8, "abcd..." },
        { "abcdefgh", 4, "..." },
        { "abcdefgh", 3, "" },
        { "abcdefgh", 1, "" },
        { "abc\xe2\x82\xac"
          "defg",
          8, "abc..." }, /* the euro does not fit */
        { "abc\n", 8, "abc\\x0a" },
        { "abc\nd", 8, "abc..." },
        { "abcd\nd", 8, "abcd..." },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char got[16];
        memset(got, 0x5a, sizeof got);
        hdpi_text_escape(got, rows[i].capacity, rows[i].source,
                         strlen(rows[i].source));
        if (strcmp(got, rows[i].text) != 0 || got[rows[i].capacity] != 0x5a)
            fail_msg("row %zu: expected \"%s\", got \"%s\"", i, rows[i].text,
                     got);
    }
    assert_int_equal(hdpi_text_escape(NULL, 0, "x", 1), 0);
}

/* ---- copies -------------------------------------------------------------- */

static void copies(void **state)
{
    char got[6];
    (void)state;
    assert_int_equal(hdpi_text_copy(got, sizeof got, "12345"), 1);
    assert_string_equal(got, "12345");
    assert_int_equal(hdpi_text_copy(got, sizeof got, "123456"), 0);
    assert_string_equal(got, "12345");
    assert_int_equal(hdpi_text_copy(got, 1, ""), 1);
    assert_string_equal(got, "");
    assert_int_equal(hdpi_text_copy(NULL, 0, "x"), 0);
}

static void giving(void **state)
{
    static const struct {
        size_t capacity;
        hdp_status status;
        const char *text;
    } rows[] = {
        { 6, HDP_OK, "hello" },
        { 100, HDP_OK, "hello" },
        { 5, HDP_ERR_CAPACITY, "hell" },
        { 1, HDP_ERR_CAPACITY, "" },
        { 0, HDP_ERR_CAPACITY, "untouched" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char got[128] = "untouched";
        size_t needed = 0;
        hdp_status status =
            hdpi_text_give("hello", 5, got, rows[i].capacity, &needed);
        if (status != rows[i].status || strcmp(got, rows[i].text) != 0 ||
            needed != 6)
            fail_msg("capacity %zu: expected %d \"%s\" 6, got %d \"%s\" %zu",
                     rows[i].capacity, (int)rows[i].status, rows[i].text,
                     (int)status, got, needed);
    }
    size_t needed = 0;
    assert_int_equal(hdpi_text_give("hello", 5, NULL, 0, &needed), HDP_OK);
    assert_int_equal(needed, 6);
    assert_int_equal(hdpi_text_give("hello", 5, NULL, 9, &needed),
                     HDP_ERR_ARGUMENT);
    char got[8];
    assert_int_equal(hdpi_text_give("hello", 5, got, sizeof got, NULL), HDP_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(doubles),
        cmocka_unit_test(half_way_to_the_last_digit),
        cmocka_unit_test(scaled),
        cmocka_unit_test(random_doubles_as_strtod),
        cmocka_unit_test(shortest),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(lines_are_printable),
        cmocka_unit_test(cuts_are_clean),
        cmocka_unit_test(copies),
        cmocka_unit_test(giving),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
