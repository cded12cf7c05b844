/* Numbers with units: the exact value of each form, and the shortest form of
 * each value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "core/units.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct hdpi_text cursor(const char *text)
{
    return (struct hdpi_text){ text, strlen(text), 0 };
}

static void durations(void **state)
{
    static const struct {
        const char *text;
        double ns; /* -1: none */
    } rows[] = {
        { "500us", 500000 },  { "1.5ms", 1500000 },   { "10us", 10000 },
        { "2s", 2000000000 }, { "7ns", 7 },           { "4.35us", 4350 },
        { "0.29us", 290 },    { "1.005ms", 1005000 }, { "0s", 0 },
        { "1e3us", 1000000 }, { "0.0001ns", 0.0001 }, { "9e9s", 9e18 },
        { "1e10s", -1 },      { "1e400ns", -1 },      { "10", -1 },
        { "us", -1 },         { "10 us", -1 },        { "10US", -1 },
        { "10m", -1 },        { "10usx", -1 },        { "-1us", -1 },
        { "+1us", -1 },       { ".5us", -1 },         { "5.us", -1 },
        { "1,5us", -1 },      { "1.2.3us", -1 },      { "", -1 },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hdpi_text text = cursor(rows[i].text);
        double got = -1;
        int ok = hdpi_read_duration(&got, &text);
        if (got != rows[i].ns || ok != (rows[i].ns >= 0))
            fail_msg("\"%s\": expected %a, got %a", rows[i].text, rows[i].ns,
                     got);
    }
}

static void sizes(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes; /* -1: none */
    } rows[] = {
        { "0B", 0 },
        { "1B", 1 },
        { "1kB", 1000 },
        { "1KiB", 1024 },
        { "1MB", 1000000 },
        { "1MiB", 1048576 },
        { "0.8GB", 800000000 },
        { "80GiB", INT64_C(85899345920) },
        { "1TB", INT64_C(1000000000000) },
        { "1TiB", INT64_C(1099511627776) },
        { "1.5GiB", 1610612736 },
        { "0.1KiB", 102 }, /* 102.4 */
        { "9007199254740993B", INT64_C(9007199254740993) },
        { "9223372036854775807B", INT64_MAX },
        { "8388607TiB", INT64_C(9223370937343148032) },
        { "8388608TiB", -1 },
        { "9223372036854775808B", -1 },
        { "9223372036854776kB", -1 },
        { "1e18B", INT64_C(1000000000000000000) },
        { "1e19B", -1 },
        { "10", -1 },
        { "10gb", -1 },
        { "10G", -1 },
        { "10KB", -1 },
        { "10kiB", -1 },
        { "-1B", -1 },
        { "1B ", -1 },
        { "B", -1 },
        { "", -1 },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hdpi_text text = cursor(rows[i].text);
        int64_t got = -1;
        int ok = hdpi_read_size(&got, &text);
        if (got != rows[i].bytes || ok != (rows[i].bytes >= 0))
            fail_msg("\"%s\": expected %lld, got %lld", rows[i].text,
                     (long long)rows[i].bytes, (long long)got);
    }
}

static void rates_and_percents(void **state)
{
    struct hdpi_text rate = cursor("0.8GB"), binary = cursor("1.5KiB"),
                     percent = cursor("3%"), none = cursor("3");
    double got;
    (void)state;
    assert_int_equal(hdpi_read_rate(&got, &rate), 1);
    assert_true(got == 800000000);
    assert_int_equal(hdpi_read_rate(&got, &binary), 1);
    assert_true(got == 1536);
    assert_int_equal(hdpi_read_percent(&got, &percent), 1);
    assert_true(got == 0.03);
    assert_int_equal(hdpi_read_percent(&got, &none), 0);
    assert_int_equal(hdpi_read_rate(&got, &none), 0);
}

/* A value may stand in the middle of a text, and ends where it is told to. */
static void parts_of_a_text(void **state)
{
    struct hdpi_text part = { "x=1500us/y", 8, 2 };
    double got = 0;
    (void)state;
    assert_int_equal(hdpi_read_duration(&got, &part), 1);
    assert_true(got == 1500000);
    assert_int_equal(part.at, 2);
}

static void shortest_forms(void **state)
{
    static const struct {
        double value;
        const char *duration, *rate;
    } rows[] = {
        { 0, "0s", "0B" },
        { 1, "1ns", "1B" },
        { 500000, "500us", "500kB" },
        { 1500000, "1.5ms", "1.5MB" },
        { 4350, "4350ns", "4350B" },
        { 12345, "12345ns", "12345B" },
        { 2e9, "2s", "2GB" },
        { 1e15, "1000000s", "1000TB" },
        { 1073741824, "1073741824ns", "1GiB" },
        { 0.25, "0.25ns", "0.25B" },
    };
    static const struct {
        int64_t bytes;
        const char *text;
    } exact[] = {
        { 0, "0B" },
        { 999, "999B" },
        { 1000, "1kB" },
        { 1024, "1KiB" },
        { 1536, "1536B" },
        { 3000000, "3MB" },
        { INT64_C(85899345920), "80GiB" },
        { INT64_C(1000000000000), "1TB" },
        { INT64_MAX, "9223372036854775807B" },
    };
    char got[HDPI_UNITS_TEXT_MAX];
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        hdpi_write_duration(got, rows[i].value);
        if (strcmp(got, rows[i].duration) != 0)
            fail_msg("%g ns: expected %s, got %s", rows[i].value,
                     rows[i].duration, got);
        hdpi_write_rate(got, rows[i].value);
        if (strcmp(got, rows[i].rate) != 0)
            fail_msg("%g B/s: expected %s, got %s", rows[i].value, rows[i].rate,
                     got);
    }
    for (size_t i = 0; i < COUNT(exact); i++) {
        hdpi_write_size(got, exact[i].bytes);
        if (strcmp(got, exact[i].text) != 0)
            fail_msg("%lld: expected %s, got %s", (long long)exact[i].bytes,
                     exact[i].text, got);
    }
    hdpi_write_percent(got, 0.03);
    assert_string_equal(got, "3%");
    hdpi_write_percent(got, 0.125);
    assert_string_equal(got, "12.5%");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations),          cmocka_unit_test(sizes),
        cmocka_unit_test(rates_and_percents), cmocka_unit_test(parts_of_a_text),
        cmocka_unit_test(shortest_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
