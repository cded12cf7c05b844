/* What a text may not say, and the path in each refusal. Each case is one
 * change of a good document: the first occurrence of `old` becomes `new`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "json/json.h"
#include "unit/json_samples.h"

enum noun { TOPOLOGY, PROFILE, PLAN, REPORT };

static const char *const samples[] = { TOPOLOGY_SAMPLE, PROFILE_SAMPLE,
                                       PLAN_SAMPLE, REPORT_SAMPLE };

static hdp_status read_noun(enum noun noun, const char *text, size_t length)
{
    hdp_topology *topology = NULL;
    hdp_profile *profile = NULL;
    hdp_plan *plan = NULL;
    hdp_report *report = NULL;
    hdp_status status = HDP_OK;

    switch (noun) {
    case TOPOLOGY:
        status = hdpi_topology_read_json(&topology, text, length);
        break;
    case PROFILE:
        status = hdpi_profile_read_json(&profile, text, length);
        break;
    case PLAN:
        status = hdpi_plan_read_json(&plan, text, length);
        break;
    case REPORT:
        status = hdpi_report_read_json(&report, text, length);
        break;
    }
    int made = topology || profile || plan || report;
    assert_int_equal(made, status == HDP_OK);
    hdpi_topology_free(topology);
    hdpi_profile_free(profile);
    hdpi_plan_free(plan);
    hdpi_report_free(report);
    return status;
}

static void expect(enum noun noun, const char *text, const char *message)
{
    hdpi_fail(HDP_ERR_BUSY, "not touched");
    hdp_status status = read_noun(noun, text, strlen(text));
    hdp_status expected = message ? HDP_ERR_ARGUMENT : HDP_OK;
    if (status != expected)
        fail_msg("expected %s, got %s (%s)\n%s", hdp_status_string(expected),
                 hdp_status_string(status), hdp_last_error(), text);
    if (strcmp(hdp_last_error(), message ? message : "not touched") != 0)
        fail_msg("expected \"%s\", got \"%s\"\n%s",
                 message ? message : "not touched", hdp_last_error(), text);
}

struct change {
    enum noun noun;
    const char *old, *new, *message; /* NULL: still good */
};

static void try_change(const struct change *change)
{
    const char *sample = samples[change->noun];
    const char *at = strstr(sample, change->old);
    if (!at)
        fail_msg("the sample has no %s", change->old);
    size_t before = (size_t)(at - sample);
    size_t room = strlen(sample) + strlen(change->new) + 1;
    char *text = malloc(room);
    assert_non_null(text);
    memcpy(text, sample, before);
    strcpy(text + before, change->new);
    strcat(text, at + strlen(change->old));
    expect(change->noun, text, change->message);
    free(text);
}

static void try_changes(const struct change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        try_change(&changes[i]);
}
#define TRY(changes) try_changes(changes, sizeof(changes) / sizeof *(changes))

static void test_samples_are_good(void **state)
{
    (void)state;
    for (int noun = TOPOLOGY; noun <= REPORT; noun++)
        expect((enum noun)noun, samples[noun], NULL);
}

static void test_envelope(void **state)
{
    static const struct change changes[] = {
        { PLAN, "hdp.plan", "hdp.bench",
          "schema: expected \"hdp.plan\", got \"hdp.bench\"" },
        { PLAN, "\"schema\":\"hdp.plan\",", "",
          "schema: expected \"hdp.plan\", got nothing" },
        { PLAN, "\"schema\":\"hdp.plan\"", "\"schema\":7",
          "schema: expected \"hdp.plan\", got 7" },
        { PLAN, "\"schema_version\":1", "\"schema_version\":2",
          "schema_version: expected 1 at most (the text is newer than this "
          "library), got 2" },
        { PLAN, "\"schema_version\":1", "\"schema_version\":0",
          "schema_version: expected an integer >= 1, got 0" },
        { PLAN, "\"schema_version\":1", "\"schema_version\":1.0",
          "schema_version: expected an integer >= 1, got 1" },
        { PLAN, "\"schema_version\":1,", "",
          "schema_version: expected an integer >= 1, got nothing" },
        { PLAN, "\"rule\"", "\"added later\":{\"x\":[1]},\"rule\"", NULL },
    };
    (void)state;
    TRY(changes);
}

static void test_form(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "", "line 1 column 1: expected an object" },
        { " \n ", "line 2 column 2: expected an object" },
        { "[]", "line 1 column 1: expected an object" },
        { "7", "line 1 column 1: expected an object" },
        { "\xef\xbb\xbf{}", "line 1 column 1: expected an object" },
        { "{", "line 1 column 2: the text ends inside the object" },
        { "{\"a", "line 1 column 2: a string that does not end" },
        { "{\"a\\\"", "line 1 column 2: a string that does not end" },
        { "{}\n{}", "line 2 column 1: text after the end of the object" },
        { "{},{}", "line 1 column 3: text after the end of the object" },
        { "{}]", "line 1 column 3: text after the end of the object" },
        { "{\"a\":1,\n \"a\":2}", "line 2 column 4: duplicate object key" },
        { "{\"a\":tru}", "line 1 column 8: invalid token" },
        { "{\"a\":NaN}", "line 1 column 8: invalid token" },
        { "{\"a\":-Infinity}", "line 1 column 6: invalid token" },
        { "{\"a\":01}", "line 1 column 6: invalid token" },
        { "{\"a\":01.5}", "line 1 column 6: invalid token" },
        { "{\"a\":1.}", "line 1 column 7: invalid token" },
        { "{\"a\":.5}", "line 1 column 6: invalid token" },
        { "{\"a\":1,}", "line 1 column 8: string or '}' expected" },
        { "{\"a\":[1,,2]}", "line 1 column 9: unexpected token" },
        { "{\"a\":1]", "line 1 column 7: '}' expected" },
        { "{\"a\":1e999}", "line 1 column 6: real number overflow" },
        { "{\"a\":0.25,\n\"b\":12.5e999}",
          "line 2 column 5: real number overflow" },
        { "{\"a\":9223372036854775808}", "line 1 column 6: too big integer" },
        { "{\"a\":\"\\q\"}", "line 1 column 8: invalid escape" },
        { "{\"a\":\"\\u0000\"}", "line 1 column 13: \\u0000 is not allowed" },
        { "{\"a\":\"\xff\"}", "line 1 column 6: unable to decode byte 0xff" },
        { "{\"a\":\"\n\"}", "line 1 column 6: unexpected newline" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(PLAN, cases[i].text, cases[i].message);
}

static void test_plan(void **state)
{
    static const struct change changes[] = {
        { PLAN, "\"shares\":[230,26]", "\"shares\":[230,-26]",
          "shares[1]: expected an integer >= 0, got -26" },
        { PLAN, "\"shares\":[230,26]", "\"shares\":[230,26.5]",
          "shares[1]: expected an integer >= 0, got 26.5" },
        { PLAN, "\"shares\":[230,26]", "\"shares\":[230,null]",
          "shares[1]: expected an integer >= 0, got null" },
        { PLAN, "\"shares\":[230,26]", "\"shares\":[230,\"26\"]",
          "shares[1]: expected an integer >= 0, got \"26\"" },
        { PLAN, "\"shares\":[230,26]", "\"shares\":[]",
          "shares: expected an array of 1 to 1048576, got an array of 0" },
        { PLAN, "\"shares\":[230,26],", "",
          "shares: expected an array of 1 to 1048576, got nothing" },
        { PLAN, "\"total\":256", "\"total\":257",
          "total: expected 256, got 257" },
        { PLAN, "\"offsets\":[0,230]", "\"offsets\":[0,229]",
          "offsets[1]: expected 230, got 229" },
        { PLAN, "\"offsets\":[0,230]", "\"offsets\":[0]",
          "offsets: expected an array of 2, got an array of 1" },
        { PLAN, "0.1015625]", "0.11]",
          "weights[1]: expected the share divided by the total, got 0.11" },
        { PLAN, "0.1015625]", "1.5]",
          "weights[1]: expected a number from 0 to 1, got 1.5" },
        { PLAN, "0.1015625]", "0.1015624]", NULL },
        { PLAN, "\"rule\":\"finish\"", "\"rule\":\"fnish\"",
          "rule: expected one of finish, proportional, equal, single, manual, "
          "got \"fnish\"" },
        { PLAN, "\"rule\":\"finish\"", "\"rule\":null", NULL },
        { PLAN, "\"quantum\":1", "\"quantum\":-1",
          "quantum: expected an integer >= 0, got -1" },
        { PLAN, "\"quantum\":1", "\"quantum\":0",
          "quanta: expected an array, as quantum is 0, got nothing" },
        { PLAN, "\"quantum\":1", "\"quantum\":0,\"quanta\":[10,2]", NULL },
        { PLAN, "\"quantum\":1", "\"quantum\":0,\"quanta\":[10,0]",
          "quanta[1]: expected an integer >= 1, got 0" },
        { PLAN, "\"rank_ns\":[2800000,", "\"rank_ns\":[null,", NULL },
        { PLAN, "\"rank_ns\":[2800000,", "\"rank_ns\":[-2,",
          "rank_ns[0]: expected an integer >= -1, got -2" },
        { PLAN, "\"gap\":0", "\"gap\":-0.5",
          "gap: expected a number >= 0, got -0.5" },
        { PLAN, "\"active\",\"active\"", "\"active\",\"empty\"",
          "state[1]: expected active, as it has items, got \"empty\"" },
        { PLAN, "\"state\":[\"active\",\"active\"],", "", NULL },
        { PLAN, "\"fingerprint\":\"00000000000000ff\"",
          "\"fingerprint\":\"00000000000000FF\"",
          "fingerprint: expected 16 lower-case hexadecimal digits, got "
          "\"00000000000000FF\"" },
        { PLAN, "\"fingerprint\"",
          "\"hash\":\"0000000000000001\","
          "\"fingerprint\"",
          "hash: of other shares than these" },
        { PLAN, "\"predicted_ns\":2800000", "\"predicted_ns\":{}",
          "predicted_ns: expected an integer >= 0, got an object" },
    };
    (void)state;
    TRY(changes);
    expect(PLAN,
           "{\"schema\":\"hdp.plan\",\"schema_version\":1,"
           "\"shares\":[3,0,1]}",
           NULL);
    expect(PLAN,
           "{\"schema\":\"hdp.plan\",\"schema_version\":1,"
           "\"shares\":[3,0],\"state\":[\"active\",\"active\"]}",
           "state[1]: expected empty or benched, as it has no items, got "
           "\"active\"");
}

static void test_profile(void **state)
{
    static const struct change changes[] = {
        { PROFILE, "[8,200000]", "[8,-200000]",
          "members[0].points[1][1]: expected a number from 1e-9 to "
          "1e18, got -200000" },
        { PROFILE, "[8,200000]", "[8,0]",
          "members[0].points[1][1]: expected a number from 1e-9 to "
          "1e18, got 0" },
        { PROFILE, "[8,200000]", "[8,1e300]",
          "members[0].points[1][1]: expected a number from 1e-9 to "
          "1e18, got 1e300" },
        { PROFILE, "[8,200000]", "[8,null]",
          "members[0].points[1][1]: expected a number from 1e-9 to "
          "1e18, got null" },
        { PROFILE, "[8,200000]", "[1,200000]",
          "members[0].points[1][0]: expected more items than the point before, "
          "got 1" },
        { PROFILE, "[8,200000]", "[8]",
          "members[0].points[1]: expected an array of 2, got an array of 1" },
        { PROFILE, "[1,500000.25]", "[0,500000.25]",
          "members[0].points[0][0]: expected an integer >= 1, got 0" },
        { PROFILE, "[8,200000]", "[9223372036854775807,200000]",
          "members[0].points[2][0]: expected more items than the point before, "
          "got 16" },
        { PROFILE, "\"spread\":0.0125", "\"spread\":-0.0125",
          "members[0].spread: expected a number >= 0, got -0.0125" },
        { PROFILE, "\"item_ns\":100000", "\"item_ns\":0",
          "members[1]: neither points nor item_ns >= 1e-9" },
        { PROFILE, "\"item_ns\":100000", "\"item_ns\":2e18",
          "members[1].item_ns: expected a number from 0 to 1e18, got 2e18" },
        { PROFILE, "\"duty_percent\":50", "\"duty_percent\":0",
          "members[1].duty_percent: expected an integer from 1 to 100, got 0" },
        { PROFILE, "\"duty_percent\":50", "\"duty_percent\":101",
          "members[1].duty_percent: expected an integer from 1 to 100, got "
          "101" },
        { PROFILE, "\"memory_domain\":3", "\"memory_domain\":2147483648",
          "members[0].memory_domain: expected an integer from 0 to 2147483647, "
          "got 2147483648" },
        { PROFILE, "\"memory_bytes\":80000000000", "\"memory_bytes\":-1",
          "members[0].memory_bytes: expected an integer >= 0, got -1" },
        { PROFILE, "\"weight\":5", "\"weight\":10",
          "members[0].weight: expected an integer from 2 to 9, got 10" },
        { PROFILE, "\"doubted\":2.5", "\"doubted\":-2.5",
          "members[0].doubted: expected a number >= 0, got -2.5" },
        { PROFILE, "\"reliable\":false", "\"reliable\":0",
          "members[0].reliable: expected true or false, got 0" },
        { PROFILE, "[\"measured\",\"steps\",\"measured\"]", "[\"measured\"]",
          "members[0].point_provenance: expected an array of 3, got an array "
          "of 1" },
        { PROFILE, "[\"measured\",\"steps\",", "[\"measured\",\"luck\",",
          "members[0].point_provenance[1]: expected one of model, measured, "
          "steps, assumed, got \"luck\"" },
        { PROFILE, "\"launch_ns\":9400.5", "\"launch_ns\":-1",
          "members[1].launch_ns: expected a number >= 0, got -1" },
        { PROFILE, "\"copy_bytes_per_second\":2e21",
          "\"copy_bytes_per_second\":\"much\"",
          "members[1].copy_bytes_per_second: expected a number >= 0, got "
          "\"much\"" },
        { PROFILE, "\"simulated\":true", "\"simulated\":1",
          "members[0].simulated: expected true or false, got 1" },
        { PROFILE, "\"dtype\":\"bf16\"", "\"dtype\":\"f32\"",
          "members[1].dtype: expected f32, got \"bf16\"" },
        { PROFILE, "\"dtype\":\"bf16\"", "\"dtype\":\"bf32\"",
          "members[0].dtype: expected one of f32, tf32, f16, bf16, f64, i32, "
          "i64, u8, i8, got \"bf32\"" },
        { PROFILE, "\"key\":\"SIM-0\"", "\"key\":\"SIM\\u001b0\"",
          "members[0].key: expected a string without control bytes, got "
          "\"SIM\\x1b0\"" },
        { PROFILE, "[399999.5,", "[-1,",
          "members[0].samples[0]: expected a number >= 0, got -1" },
        { PROFILE, "\"ended_by\":\"budget\"", "\"ended_by\":[]",
          "ended_by: expected one of spread, budget, given, got an array of "
          "0" },
        { PROFILE, "\"elapsed_ns\":300000000", "\"elapsed_ns\":-1",
          "elapsed_ns: expected an integer >= 0, got -1" },
        { PROFILE, "\"ratio\":0.8", "\"ratio\":17", NULL }, /* derived */
    };
    (void)state;
    TRY(changes);
    expect(PROFILE,
           "{\"schema\":\"hdp.profile\",\"schema_version\":1,\"members\":"
           "[{\"item_ns\":10},3]}",
           "members[1]: expected an object, got 3");
}

static void test_long_texts(void **state)
{
    char text[512], key[256];
    (void)state;
    memset(key, 'k', sizeof key);
    for (size_t length = 191; length <= 192; length++) {
        snprintf(text, sizeof text,
                 "{\"schema\":\"hdp.profile\",\"schema_version\":1,"
                 "\"members\":[{\"key\":\"%.*s\",\"item_ns\":1}]}",
                 (int)length, key);
        if (length == 191)
            expect(PROFILE, text, NULL);
        else
            assert_int_equal(read_noun(PROFILE, text, strlen(text)),
                             HDP_ERR_ARGUMENT);
    }
    if (strncmp(hdp_last_error(),
                "members[0].key: expected a string of at most 191 bytes, got "
                "\"kkk",
                60) != 0)
        fail_msg("expected the path and the limit, got %s", hdp_last_error());
}

static void test_report(void **state)
{
    static const struct change changes[] = {
        { REPORT, "\"items\":[230,26]", "\"items\":[230,-1]",
          "items[1]: expected an integer >= 0, got -1" },
        { REPORT, "\"compute_ns\":[2800000,null]", "\"compute_ns\":[1]",
          "compute_ns: expected an array of 2, got an array of 1" },
        { REPORT, "\"compute_ns\":[2800000,null]", "\"compute_ns\":[1,-2]",
          "compute_ns[1]: expected an integer >= -1, got -2" },
        { REPORT, "[true,false]", "[true,0]",
          "first_at_share[1]: expected true or false, got 0" },
        { REPORT, "\"heat\"", "\"cold\"",
          "cause[1]: expected one of none, heat, power, link, neighbour, "
          "shape, got \"cold\"" },
        { REPORT, "\"rank\":1", "\"rank\":2",
          "spans[1].rank: expected an integer from 0 to 1, got 2" },
        { REPORT, "\"end_ns\":1}", "\"end_ns\":0}",
          "spans[1].end_ns: expected an integer >= 1, got 0" },
        { REPORT, ",\"end_ns\":1}", "}",
          "spans[1].end_ns: expected an integer, got nothing" },
        { REPORT, "\"piece\":1", "\"piece\":-1",
          "spans[1].piece: expected an integer from 0 to 2147483647, got -1" },
        { REPORT, "\"lane\":\"reduce\"", "\"lane\":2",
          "spans[1].lane: expected one of compute, copy, reduce, got 2" },
        { REPORT, "\"step\":3", "\"step\":-3",
          "step: expected an integer >= 0, got -3" },
        { REPORT, "\"spans\":[", "\"spans\":[4,",
          "spans[0]: expected an object, got 4" },
    };
    (void)state;
    TRY(changes);
}

static void test_topology(void **state)
{
    static const struct change changes[] = {
        { TOPOLOGY, "\"backend\":\"sim\"", "\"backend\":\"rocm\"",
          "devices[0].backend: expected one of host, cuda, sim, got \"rocm\"" },
        { TOPOLOGY, "\"backend\":\"sim\",", "",
          "devices[0].backend: expected host, cuda or sim, got nothing" },
        { TOPOLOGY, "\"logical_id\":0", "\"logical_id\":-2",
          "devices[0].logical_id: expected an integer from -1 to 1048575, got "
          "-2" },
        { TOPOLOGY, "[\"f32\",\"f64\"]", "[\"f32\",\"f65\"]",
          "devices[0].native_dtypes[1]: expected one of f32, tf32, f16, bf16, "
          "f64, i32, i64, u8, i8, got \"f65\"" },
        { TOPOLOGY, "fail=alloc:3-", "fail=alloc:0",
          "devices[0].ask: devices: \"alloc:0\" at 45: fail is alloc, copy, "
          "launch, wait or reduce, then :N or :N- (N from 1)" },
        { TOPOLOGY, "\"ask\":\"sim:0/", "\"ask\":\"sim:0-3/",
          "devices[0].ask: expected one device of the same backend, got "
          "\"sim:0-3/fixed=500us/item=10us/noise=2.5%/fail=alloc:3-\"" },
        { TOPOLOGY, "\"ask\":\"host:1", "\"ask\":\"cuda:1",
          "devices[1].ask: devices: \"duty\" at 8: cuda has no such key; it "
          "has sms compute mem margin" },
        { TOPOLOGY, "\"ask\":\"host:1/duty=50\"", "\"ask\":\"cuda:1\"",
          "devices[1].ask: expected one device of the same backend, got "
          "\"cuda:1\"" },
        { TOPOLOGY, "\"verdict\":\"range\"", "\"verdict\":\"rang\"",
          "visibility.entries[1].verdict: expected one of accepted, range, "
          "not_a_number, repeat, ambiguous, after_cut, other_kind, got "
          "\"rang\"" },
        { TOPOLOGY, "\"index\":0", "\"index\":2",
          "visibility.entries[0].index: expected an integer from -1 to 1, got "
          "2" },
        { TOPOLOGY, "\"device\":null", "\"device\":7",
          "visibility.entries[1].device: expected a string of at most 63 "
          "bytes, got 7" },
        { TOPOLOGY, "\"visible\":[3]", "\"visible\":[-3]",
          "visibility.visible[0]: expected an integer from 0 to 1048576, got "
          "-3" },
        { TOPOLOGY, "\"visible\":[3]", "\"visible\":[3,4]",
          "visibility.visible: expected an array of 0 to 1, got an array of "
          "2" },
        { TOPOLOGY, "\"error\":null", "\"error\":\"cudaErrorNoDevices\"",
          "visibility.error: expected cudaErrorNoDevice, "
          "cudaErrorInvalidDevice or null, got \"cudaErrorNoDevices\"" },
        { TOPOLOGY, "\"error\":null", "\"error\":\"\"",
          "visibility.error: expected cudaErrorNoDevice, "
          "cudaErrorInvalidDevice or null, got \"\"" },
        { TOPOLOGY, "\"visibility\":{", "\"visibility\":7,\"x\":{",
          "visibility: expected an object, got 7" },
        { TOPOLOGY, "\"to\":1", "\"to\":2",
          "links[0].to: expected an integer from 0 to 1, got 2" },
        { TOPOLOGY, "\"from\":0,", "", "links[0]: from and to must be given" },
        { TOPOLOGY, "\"links\":[",
          "\"links\":[{\"from\":0,\"to\":1,\"kind\":1},",
          "links[1]: this link was given before" },
        { TOPOLOGY, "\"bytes_per_second\":800000000", "\"bytes_per_second\":-8",
          "links[0].bytes_per_second: expected an integer >= 0, got -8" },
        { TOPOLOGY, "cuda: libcuda", "cuda libcuda",
          NULL }, /* the reason has a colon of its own */
        { TOPOLOGY, "\"notes\":[", "\"notes\":[\"nothing\",",
          "notes[0]: expected \"adapter: reason\", got \"nothing\"" },
        { TOPOLOGY, "\"devices\":", "\"divices\":",
          "devices: expected an array, got nothing" },
    };
    (void)state;
    TRY(changes);
    /* an empty ask is none: it would come back from the spec another time */
    expect(TOPOLOGY,
           "{\"schema\":\"hdp.topology\",\"schema_version\":1,\"devices\":["
           "{\"backend\":\"host\",\"spec\":\"host:256\",\"ask\":\"\"}]}",
           "devices[0].spec: devices: \"256\" at 6: host ids are 0 to 255");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_are_good),
        cmocka_unit_test(test_envelope),
        cmocka_unit_test(test_form),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_profile),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_topology),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
