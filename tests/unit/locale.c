/* Numbers under a locale whose decimal point is a comma and whose thousands
 * are grouped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/text.h"
#include "core/spec.h"
#include "unit/another_locale.h"

static void the_locale_is_another(void **state)
{
    char text[16];
    (void)state;
    snprintf(text, sizeof text, "%.1f", 1.5);
    assert_string_equal(text, "1,5");
}

static void doubles(void **state)
{
    static const struct {
        const char *text;
        double value;
    } rows[] = {
        { "1.5", 1.5 },
        { "0.1", 0x1.999999999999ap-4 },
        { "123456789.123456789012345", 0x1.d6f34547e6b75p+26 },
        { "2.2250738585072011e-308", 0x0.fffffffffffffp-1022 },
        { "1234567.25", 1234567.25 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hdpi_text text = { rows[i].text, strlen(rows[i].text), 0 };
        double got = -1;
        if (!hdpi_text_double(&text, &got) || got != rows[i].value ||
            text.at != text.length)
            fail_msg("\"%s\": expected %a, got %a", rows[i].text, rows[i].value,
                     got);
        char back[HDPI_TEXT_DOUBLE_MAX];
        struct hdpi_text again = { back, 0, 0 };
        again.length = hdpi_text_write_double(back, rows[i].value);
        if (strchr(back, ',') || !hdpi_text_double(&again, &got) ||
            got != rows[i].value)
            fail_msg("%a: expected it to read back, got \"%s\"", rows[i].value,
                     back);
    }
    /* A comma ends a number here as everywhere. */
    struct hdpi_text comma = { "1,5", 3, 0 };
    double got = -1;
    assert_int_equal(hdpi_text_double(&comma, &got), 1);
    assert_true(got == 1);
    assert_int_equal(comma.at, 1);
}

static void specifications(void **state)
{
    static const char *const rows[] = {
        "sim:0/fixed=1.5ms/item=12.345us/link=812345.5kB/noise=2.5%",
        "sim:1/fixed=500us/item=0.3333333333333333ns",
        "host:0/threads=1/duty=50/mem=1234567MB",
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hdpi_spec spec = { 0 };
        char back[256];
        if (hdpi_spec_parse(&spec, rows[i]) != HDP_OK)
            fail_msg("\"%s\": expected success, got \"%s\"", rows[i],
                     hdp_last_error());
        hdpi_spec_write(back, sizeof back, &spec.asks[0]);
        hdpi_spec_finish(&spec);
        if (strchr(back, ',') || hdpi_spec_parse(&spec, back) != HDP_OK)
            fail_msg("\"%s\": expected it to read back, got \"%s\"", rows[i],
                     back);
        hdpi_spec_finish(&spec);
    }
    struct hdpi_spec spec = { 0 };
    assert_int_equal(hdpi_spec_parse(&spec, "sim:0/fixed=1,5ms"),
                     HDP_ERR_ARGUMENT);
    hdpi_spec_finish(&spec);
}

static void errors(void **state)
{
    (void)state;
    hdpi_fail(HDP_ERR_ARGUMENT, "%d items at %zu", 1234567, (size_t)7654321);
    assert_string_equal(hdp_last_error(), "1234567 items at 7654321");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_locale_is_another),
        cmocka_unit_test(doubles),
        cmocka_unit_test(specifications),
        cmocka_unit_test(errors),
    };
    char folder[] = "/tmp/hdp-locale-XXXXXX";
    int failed = 77;
    if (!mkdtemp(folder))
        return 1;
    if (another_locale(folder, "de_DE"))
        failed = cmocka_run_group_tests(tests, NULL, NULL);
    else
        printf("skipped: no locale with a comma can be made here\n");
    return usual_locale(folder) ? 1 : failed;
}
