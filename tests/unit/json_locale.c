/* Documents do not know the locale: with a comma for a point, and with a point
 * of several bytes, where jansson alone would assert. The locales are made
 * here, since few machines have them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "json/json.h"
#include "json/writer.h"
#include "unit/another_locale.h"
#include "unit/json_samples.h"

static char folder[] = "/tmp/hdp-locale-XXXXXX";
static int skipped;

static void expect_text(char *text, const char *expected)
{
    assert_string_equal(text, expected);
    free(text);
}

static void round_trips(void)
{
    hdp_topology *topology;
    hdp_profile *profile;
    hdp_report *report;
    char *text;
    assert_int_equal(hdpi_topology_read_json(&topology, TOPOLOGY_SAMPLE,
                                             strlen(TOPOLOGY_SAMPLE)),
                     HDP_OK);
    assert_true(topology->devices[0].ask.noise == 0.025);
    assert_int_equal(hdpi_topology_write_json(&text, topology), HDP_OK);
    expect_text(text, TOPOLOGY_SAMPLE);
    hdpi_topology_free(topology);

    assert_int_equal(hdpi_profile_read_json(&profile, PROFILE_SAMPLE,
                                            strlen(PROFILE_SAMPLE)),
                     HDP_OK);
    assert_true(profile->ranks[0].point_ns[0] == 500000.25);
    assert_true(profile->ranks[1].out_bytes_per_second == 0.125);
    assert_int_equal(hdpi_profile_write_json(&text, profile), HDP_OK);
    expect_text(text, PROFILE_SAMPLE);
    hdpi_profile_free(profile);

    assert_int_equal(
        hdpi_report_read_json(&report, REPORT_SAMPLE, strlen(REPORT_SAMPLE)),
        HDP_OK);
    assert_int_equal(hdpi_report_write_json(&text, report), HDP_OK);
    expect_text(text, REPORT_SAMPLE);
    hdpi_report_free(report);
}

static double read_real(const char *number)
{
    char text[256];
    hdp_profile *profile;
    snprintf(text, sizeof text,
             "{\"schema\":\"hdp.profile\",\"schema_version\":1,\"members\":"
             "[{\"item_ns\":1,\"rate\":%s}]}",
             number);
    if (hdpi_profile_read_json(&profile, text, strlen(text)) != HDP_OK)
        fail_msg("%s: expected a number, got %s", number, hdp_last_error());
    double value = profile->ranks[0].rate;
    hdpi_profile_free(profile);
    return value;
}

/* The values are the compiler's, not strtod()'s of this locale. */
static void spellings(void)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        { "0", 0 },
        { "0.0", 0 },
        { "0.1", 0.1 },
        { "1.5", 1.5 },
        { "12.50", 12.5 },
        { "0.0078125", 0.0078125 },
        { "1.25e3", 1.25e3 },
        { "1.25E+3", 1.25e3 },
        { "1.25e-3", 1.25e-3 },
        { "125e-2", 1.25 },
        { "10.0e-1", 1 },
        { "0.000e5", 0 },
        { "3.3e-320", 3.3e-320 },
        { "1.7976931348623157e308", 1.7976931348623157e308 },
        { "1797693134862315.7e293", 1797693134862315.7e293 },
        { "0.3333333333333333148296162562473909929394721984863281250",
          0.3333333333333333148296162562473909929394721984863281250 },
        { "1.5e-99999999999999999999", 0 },
        { "0.0e99999999999999999999", 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = read_real(cases[i].text);
        if (memcmp(&value, &cases[i].value, sizeof value) != 0)
            fail_msg("%s: expected %a, got %a", cases[i].text, cases[i].value,
                     value);
    }
}

static void under(const char *name)
{
    if (name && !another_locale(folder, name)) {
        print_message("skipped: localedef makes no %s here\n", name);
        skipped = 1;
        skip();
    }
    round_trips();
    spellings();
    setlocale(LC_ALL, "C");
}

static void test_c(void **state)
{
    (void)state;
    under(NULL);
}

static void test_comma(void **state)
{
    (void)state;
    under("de_DE");
}

static void test_point_of_several_bytes(void **state)
{
    (void)state;
    under("ps_AF");
}

static int prepare(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int clean_up(void **state)
{
    (void)state;
    return usual_locale(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_c),
        cmocka_unit_test(test_comma),
        cmocka_unit_test(test_point_of_several_bytes),
    };
    int failed = cmocka_run_group_tests(tests, prepare, clean_up);
    return failed == 0 && skipped ? 77 : failed;
}
