/* Texts from anyone: cut, flipped, nested, huge, and memory that runs out at
 * any moment. Whatever happens, the answer is a valid noun or a refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "json/json.h"
#include "unit/json_samples.h"

/* ---- one reader for all nouns -------------------------------------------- */

struct noun {
    const char *name, *sample;
    hdp_status (*read)(const char *text, size_t length);
};

static hdp_status read_topology(const char *text, size_t length)
{
    hdp_topology *topology;
    hdp_status status = hdpi_topology_read_json(&topology, text, length);
    assert_int_equal(status == HDP_OK, topology != NULL);
    if (topology)
        assert_true(hdpi_topology_is_valid(topology));
    hdpi_topology_free(topology);
    return status;
}

static hdp_status read_profile(const char *text, size_t length)
{
    hdp_profile *profile;
    hdp_status status = hdpi_profile_read_json(&profile, text, length);
    assert_int_equal(status == HDP_OK, profile != NULL);
    if (profile)
        assert_true(hdpi_profile_is_valid(profile));
    hdpi_profile_free(profile);
    return status;
}

static hdp_status read_plan(const char *text, size_t length)
{
    hdp_plan *plan;
    hdp_status status = hdpi_plan_read_json(&plan, text, length);
    assert_int_equal(status == HDP_OK, plan != NULL);
    if (plan)
        assert_true(hdpi_plan_is_valid(plan));
    hdpi_plan_free(plan);
    return status;
}

static hdp_status read_report(const char *text, size_t length)
{
    hdp_report *report;
    hdp_status status = hdpi_report_read_json(&report, text, length);
    assert_int_equal(status == HDP_OK, report != NULL);
    if (report)
        assert_true(hdpi_report_is_valid(report));
    hdpi_report_free(report);
    return status;
}

static hdp_status read_machine(const char *text, size_t length)
{
    struct hdpi_machine *machine;
    hdp_status status = hdpi_machine_read_json(&machine, text, length);
    assert_int_equal(status == HDP_OK, machine != NULL);
    if (machine)
        assert_true(hdpi_machine_is_valid(machine));
    hdpi_machine_free(machine);
    return status;
}

static const struct noun nouns[] = {
    { "topology", TOPOLOGY_SAMPLE, read_topology },
    { "profile", PROFILE_SAMPLE, read_profile },
    { "plan", PLAN_SAMPLE, read_plan },
    { "report", REPORT_SAMPLE, read_report },
    { "machine", MACHINE_SAMPLE, read_machine },
};

enum { NOUNS = sizeof nouns / sizeof *nouns };

/* The text in a block of its exact length, so that a sanitizer sees a read
 * beyond it. */
static hdp_status read_exact(const struct noun *noun, const char *text,
                             size_t length)
{
    char *exact = malloc(length ? length : 1);
    assert_non_null(exact);
    memcpy(exact, text, length);
    hdpi_fail(HDP_ERR_BUSY, "not touched");
    hdp_status status = noun->read(exact, length);
    free(exact);
    if (status != HDP_OK && status != HDP_ERR_ARGUMENT)
        fail_msg("%s: expected valid or refused, got %s", noun->name,
                 hdp_last_error());
    hdp_status told = hdpi_error()->status;
    if (told != (status == HDP_OK ? HDP_ERR_BUSY : status))
        fail_msg("%s: expected the error set only on failure, got %d after %d",
                 noun->name, (int)told, (int)status);
    return status;
}

/* ---- damage -------------------------------------------------------------- */

static void test_truncation(void **state)
{
    (void)state;
    for (size_t i = 0; i < NOUNS; i++) {
        size_t length = strlen(nouns[i].sample);
        for (size_t cut = 0; cut < length; cut++)
            if (read_exact(&nouns[i], nouns[i].sample, cut) == HDP_OK)
                fail_msg("%s cut at %zu: expected a refusal, got a noun",
                         nouns[i].name, cut);
        assert_int_equal(read_exact(&nouns[i], nouns[i].sample, length),
                         HDP_OK);
    }
}

static void test_flips(void **state)
{
    (void)state;
    for (size_t i = 0; i < NOUNS; i++) {
        size_t length = strlen(nouns[i].sample), refused = 0;
        char *text = malloc(length);
        assert_non_null(text);
        for (size_t at = 0; at < length; at++)
            for (unsigned bit = 0; bit < 8; bit++) {
                memcpy(text, nouns[i].sample, length);
                text[at] = (char)(text[at] ^ (1 << bit));
                refused +=
                    read_exact(&nouns[i], text, length) == HDP_ERR_ARGUMENT;
            }
        free(text);
        /* a digit of a number or a letter of an unknown key stays readable;
         * all else must be noticed */
        if (refused < length * 4)
            fail_msg("%s: expected most of %zu flips refused, got %zu",
                     nouns[i].name, length * 8, refused);
    }
}

static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Pieces of a text cut out, doubled, or replaced by what numbers and brackets
 * can do to a reader. */
static void test_splices(void **state)
{
    static const char *const pieces[] = {
        "1.5",
        "-",
        "1e308",
        "00.5",
        "1.7976931348623157e309",
        "[",
        "]",
        "{",
        "}",
        "\"",
        "\\",
        ",",
        "null",
        "-1",
        ".",
        "0.0",
        "9223372036854775807",
        "\\u0000",
        "1e-999",
        "\xff",
        "\\ud800",
        ":",
    };
    enum { PIECES = sizeof pieces / sizeof *pieces, ROUNDS = 4000 };
    uint64_t seed = 20261130;
    (void)state;
    for (size_t i = 0; i < NOUNS; i++) {
        size_t length = strlen(nouns[i].sample);
        char *text = malloc(2 * length + 64);
        assert_non_null(text);
        for (int round = 0; round < ROUNDS; round++) {
            size_t from = next(&seed) % length, skip = next(&seed) % 8;
            const char *piece = pieces[next(&seed) % PIECES];
            size_t rest = from + skip < length ? from + skip : length;
            size_t used = from;
            memcpy(text, nouns[i].sample, from);
            memcpy(text + used, piece, strlen(piece));
            used += strlen(piece);
            memcpy(text + used, nouns[i].sample + rest, length - rest);
            used += length - rest;
            read_exact(&nouns[i], text, used);
        }
        free(text);
    }
}

/* ---- size ---------------------------------------------------------------- */

static char *deep(const char *begin, char bracket, size_t count)
{
    size_t length = strlen(begin);
    char *text = malloc(length + count + 1);
    assert_non_null(text);
    memcpy(text, begin, length);
    memset(text + length, bracket, count);
    text[length + count] = '\0';
    return text;
}

static void *read_deep(void *argument)
{
    enum { LEVELS = 100000 };
    static const char begin[] = "{\"schema\":\"hdp.plan\",\"x\":";
    hdp_status *out = argument;
    char *text = deep(begin, '[', LEVELS);
    *out = HDP_ERR_ARGUMENT;
    for (size_t i = 0; i < NOUNS; i++)
        if (nouns[i].read(text, strlen(text)) != HDP_ERR_ARGUMENT ||
            strcmp(hdp_last_error(),
                   "line 1 column 57: more than 32 levels of nesting") != 0)
            *out = HDP_ERR_INTERNAL;
    free(text);
    for (size_t i = 0; i < NOUNS && *out == HDP_ERR_ARGUMENT; i++)
        if (nouns[i].read(nouns[i].sample, strlen(nouns[i].sample)) != HDP_OK)
            *out = HDP_ERR_INTERNAL;
    return NULL;
}

/* A thread's stack of 64 KiB: sanitizers need more for themselves. */
static void test_deep_on_a_small_stack(void **state)
{
    pthread_attr_t attributes;
    pthread_t thread;
    hdp_status status = HDP_OK;
    size_t stack = 64 << 10;
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    stack = 1 << 20;
#endif
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, stack), 0);
    assert_int_equal(pthread_create(&thread, &attributes, read_deep, &status),
                     0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    assert_int_equal(status, HDP_ERR_ARGUMENT);
}

static void expect_limit(const char *text, size_t length, const char *message)
{
    assert_int_equal(read_plan(text, length), HDP_ERR_ARGUMENT);
    assert_string_equal(hdp_last_error(), message);
}

static void test_limits(void **state)
{
    char *text;
    (void)state;

    text = deep("{\"", 'x', 2100);
    strcpy(text + 2100, "\"}");
    expect_limit(text, strlen(text),
                 "line 1 column 2: more than 2048 bytes in a string");
    free(text);

    text = deep("{\"a\":", '7', 2100);
    strcpy(text + 2100, "}");
    expect_limit(text, strlen(text),
                 "line 1 column 6: more than 2048 bytes in a number");
    free(text);

    text = deep("{\"a\":[1", ',', 9 << 20);
    expect_limit(text, strlen(text),
                 "line 1 column 8388613: more than 8388608 values");
    free(text);

    text = deep("{", ' ', 64 << 20);
    expect_limit(text, strlen(text),
                 "a text of 67108865 bytes; at most "
                 "67108864");
    free(text);

    expect_limit(NULL, 3, "text is NULL");
}

/* A list as long as they come is read, and not in quadratic time. */
static void test_many_ranks(void **state)
{
    enum { RANKS = 1 << 20 };
    static const char begin[] =
        "{\"schema\":\"hdp.plan\",\"schema_version\":1,\"shares\":[0";
    char *text = malloc(sizeof begin + 2 * RANKS + 3);
    (void)state;
    assert_non_null(text);
    strcpy(text, begin);
    size_t used = strlen(begin);
    for (int i = 1; i < RANKS; i++, used += 2)
        memcpy(text + used, ",5", 2);
    strcpy(text + used, "]}");
    assert_int_equal(read_plan(text, used + 2), HDP_OK);
    strcpy(text + used, ",5]}");
    expect_limit(text, used + 4,
                 "shares: expected an array of 1 to 1048576, "
                 "got an array of 1048577");
    free(text);
}

/* ---- memory -------------------------------------------------------------- */

static long allowed; /* allocations of jansson until one fails */
static int lasting;

static void *scarce_malloc(size_t size)
{
    if (allowed == 0 || (allowed < 0 && lasting)) {
        allowed = -1;
        return NULL;
    }
    if (allowed > 0)
        allowed--;
    return malloc(size);
}

/* Each allocation of the parser fails in turn, once or for good. */
static void test_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < NOUNS; i++)
        for (lasting = 0; lasting <= 1; lasting++) {
            const char *text = nouns[i].sample;
            hdp_status status = HDP_ERR_MEMORY;
            long n = 0;
            for (; status != HDP_OK; n++) {
                allowed = n;
                json_set_alloc_funcs(scarce_malloc, free);
                status = nouns[i].read(text, strlen(text));
                json_set_alloc_funcs(malloc, free);
                if (status != HDP_OK && status != HDP_ERR_MEMORY)
                    fail_msg("%s, allocation %ld: expected %s, got %s",
                             nouns[i].name, n,
                             hdp_status_string(HDP_ERR_MEMORY),
                             hdp_last_error());
                if (status == HDP_OK && allowed < 0)
                    fail_msg("%s: expected allocation %ld to be missed",
                             nouns[i].name, n);
            }
            assert_true(n > 50);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_flips),
        cmocka_unit_test(test_splices),
        cmocka_unit_test(test_deep_on_a_small_stack),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_many_ranks),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
