/* Answers to texts that are whole but made up: figures that cannot be, answers
 * to other questions, ages; and what is forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "cache.h"
#include "cache_file.h"
#include "cache_text.h"

enum { DAY_S = 86400, HOUR_S = 3600 };

static const struct hdpi_cache_ask question = { .probe = HDP_PROBE_GEMM,
                                                .dtype = HDP_F32,
                                                .budget_ns = 300000000 };
static const char spec[] = "sim:0/uuid=a/item=10us+sim:1/uuid=b/item=20us";

/* in memory where that is possible: thousands of files */
static char in_memory[] = "/dev/shm/hdp-answer-XXXXXX",
            on_disk[] = "/tmp/hdp-answer-XXXXXX";
static const char *folder;
static char path[160];
static hdp_context *context;
static hdp_group *group;
static int warnings;
static char said[4096];

static void note(int32_t level, const char *line, void *user)
{
    size_t used = strlen(said);

    (void)user;
    warnings += level <= HDP_LOG_WARN;
    (void)snprintf(said + used, sizeof said - used, "%s\n", line);
}

static int setup(void **state)
{
    const hdp_context_options options = { .size = sizeof options,
                                          .log = note,
                                          .log_level = HDP_LOG_INFO };

    (void)state;
    folder = mkdtemp(in_memory);
    if (!folder)
        folder = mkdtemp(on_disk);
    if (!folder || hdp_context_create(&context, &options) != HDP_OK ||
        hdp_group_create_spec(&group, context, spec, NULL) != HDP_OK)
        return -1;
    (void)snprintf(path, sizeof path, "%s/file", folder);
    return 0;
}

static int teardown(void **state)
{
    char command[200];

    (void)state;
    hdp_group_destroy(group);
    hdp_context_destroy(context);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

/* A file with what was measured just now. */
static int begin(void **state)
{
    const hdp_calibrate_options options = { .size = sizeof options,
                                            .cache = path };
    hdp_profile *profile = NULL;

    (void)state;
    (void)unlink(path);
    if (hdp_calibrate(&profile, group, &options) != HDP_OK)
        return -1;
    hdp_profile_destroy(profile);
    return 0;
}

/* ---- changing the file, with a right checksum -------------------------------- */

struct edit {
    const char *old, *new; /* of each body; NULL: as it is */
    int64_t age_s;
    int64_t budget_ns; /* 0: as it is */
};

static char *replaced(const char *text, size_t length, const char *old,
                      const char *new)
{
    char *copy = malloc(length + 1), *out, *at;

    assert_non_null(copy);
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (!old)
        return copy;
    at = strstr(copy, old);
    if (!at)
        fail_msg("no %s in %s", old, copy);
    out = malloc(length + strlen(new) + 1);
    assert_non_null(out);
    (void)sprintf(out, "%.*s%s%s", (int)(at - copy), copy, new,
                  at + strlen(old));
    free(copy);
    return out;
}

static hdp_status edit(char **out, size_t *out_length, const char *text,
                       size_t length, void *arg)
{
    const struct edit *how = arg;
    struct hdpi_cache_list list = { 0 };
    int64_t now_s = (int64_t)time(NULL);
    char *bodies[16];

    assert_int_equal(hdpi_cache_parse(&list, text, length), HDP_OK);
    assert_true(list.count > 0 && list.count <= 16);
    for (size_t i = 0; i < list.count; ++i) {
        struct hdpi_cache_entry *entry = &list.entries[i];
        bodies[i] =
            replaced(entry->body, entry->body_length, how->old, how->new);
        entry->body = bodies[i];
        entry->body_length = strlen(bodies[i]);
        entry->measured_s = now_s - how->age_s;
        if (how->budget_ns)
            entry->budget_ns = how->budget_ns;
    }
    assert_int_equal(hdpi_cache_write(out, out_length, &list, now_s), HDP_OK);
    for (size_t i = 0; i < list.count; ++i)
        free(bodies[i]);
    hdpi_cache_list_finish(&list);
    return HDP_OK;
}

static void change(const struct edit *how)
{
    if (hdpi_cache_file_change(path, edit, (void *)(uintptr_t)how, 0) != HDP_OK)
        fail_msg("%s", hdp_last_error());
}

static int ask(const struct hdpi_cache_ask *about)
{
    struct hdpi_cache *cache = hdpi_cache_open(group, path, about);
    hdp_profile *profile = NULL;
    int hit;

    said[0] = '\0';
    warnings = 0;
    assert_non_null(cache);
    hit = hdpi_cache_answer(&profile, cache);
    assert_int_equal(hit, profile != NULL);
    hdpi_cache_close(cache);
    hdp_profile_destroy(profile);
    return hit;
}

static void expect_answer(int hit, int warned, const char *words)
{
    int got = ask(&question);

    if (got != hit || warnings != warned || !strstr(said, words))
        fail_msg("expected a %s with %d warnings (%s), got a %s: %s",
                 hit ? "hit" : "miss", warned, words, got ? "hit" : "miss",
                 said);
}

/* ---- made up ------------------------------------------------------------------ */

static void figures_that_cannot_be(void **state)
{
    static const struct {
        const char *old, *new;
    } edits[] = {
        { "\"rate\":", "\"rate\":-" },
        { "\"rate\":", "\"rate\":0,\"x\":" },
        { "\"rate\":", "\"rate\":NaN,\"x\":" },
        { "\"rate\":", "\"rate\":1e999,\"x\":" },
        { "\"rate\":", "\"rate\":\"fast\",\"x\":" },
        { "\"spread\":", "\"spread\":-1,\"x\":" },
        { "\"reliable\":true", "\"reliable\":false" },
        { "\"points\":[[", "\"points\":[[-1,5],[" },
        { "\"points\":[[", "\"points\":[[0,5],[" },
        { "\"points\":[[", "\"points\":[[1,-5],[" },
        { "\"points\":[[", "\"points\":[[1,0],[" },
        { "\"points\":[[", "\"points\":[[1,NaN],[" },
        { "\"points\":[[", "\"points\":[[1,1e999],[" },
        { "\"points\":[[", "\"points\":[[9999999,1],[" },
        { "\"points\":", "\"points\":[],\"x\":" },
        { "\"duty_percent\":100", "\"duty_percent\":0" },
        { "\"duty_percent\":100", "\"duty_percent\":50" },
        { "\"memory_bytes\":", "\"memory_bytes\":-1,\"x\":" },
        { "\"lacks_dtype\":false", "\"lacks_dtype\":true" },
        { "\"provenance\":\"measured\"", "\"provenance\":\"model\"" },
        { "{\"schema\"", "{\"schema" },
        { "{\"schema\"", "" },
        { "\"hdp.profile\"", "\"hdp.plan\"" },
        { "\"members\":[", "\"members\":[{\"item_ns\":1}," },
        { "\"schema_version\":1", "\"schema_version\":2" },
    };

    for (size_t i = 0; i < sizeof edits / sizeof *edits; ++i) {
        const struct edit how = { edits[i].old, edits[i].new, 0, 0 };
        assert_int_equal(begin(state), 0);
        change(&how);
        if (ask(&question) || warnings != 1 || !strstr(said, path))
            fail_msg("%s for %s: expected a miss with one warning, got: %s",
                     edits[i].new, edits[i].old, said);
    }
}

/* Entries of one question under the key of another. */
static void answers_to_another_question(void **state)
{
    static const struct {
        const char *old, *new;
    } edits[] = {
        { "\"dtype\":\"f32\"", "\"dtype\":\"f16\"" },
        { "\"probe\":\"gemm\"", "\"probe\":\"copy\"" },
    };

    for (size_t i = 0; i < sizeof edits / sizeof *edits; ++i) {
        const struct edit how = { edits[i].old, edits[i].new, 0, 0 };
        assert_int_equal(begin(state), 0);
        change(&how);
        expect_answer(0, 1, "its entry is of something else");
    }
}

/* What a forged file may do at most: its figures, within a thousand to one. */
static void a_forged_speed_is_believed(void **state)
{
    const struct edit faster = { "\"rate\":", "\"rate\":12345,\"x\":", 0, 0 };

    (void)state;
    change(&faster);
    expect_answer(1, 0, ": hit: 2 members");
}

/* ---- ages --------------------------------------------------------------------- */

static void an_age(void **state)
{
    static const struct {
        int64_t age_s;
        int hit;
        const char *words;
    } ages[] = {
        { 0, 1, ": hit: " },
        { HOUR_S, 1, ": hit: 2 members, measured 3600 s ago" },
        { -HOUR_S, 1, ": hit: 2 members, measured 0 s ago" },
        { 30 * DAY_S - HOUR_S, 1, ": hit: " },
        { 30 * DAY_S + HOUR_S, 0, "measured 30 days ago, 30 are allowed" },
        { 400 * DAY_S, 0, "measured 400 days ago, 30 are allowed" },
        { -DAY_S + HOUR_S, 1, ": hit: " },
        { -DAY_S - HOUR_S, 0, "measured in the future" },
        { -4000 * (int64_t)DAY_S, 0, "measured in the future" },
    };

    for (size_t i = 0; i < sizeof ages / sizeof *ages; ++i) {
        const struct edit how = { NULL, NULL, ages[i].age_s, 0 };
        assert_int_equal(begin(state), 0);
        change(&how);
        expect_answer(ages[i].hit, 0, ages[i].words);
    }
}

static void times_at_the_ends(void **state)
{
    static const int64_t times[] = { 0, INT64_MAX };

    for (size_t i = 0; i < 2; ++i) {
        const struct edit how = { NULL, NULL, (int64_t)time(NULL) - times[i],
                                  0 };
        assert_int_equal(begin(state), 0);
        change(&how);
        expect_answer(0, 0, times[i] ? "measured in the future" : "days ago");
    }
}

static void a_budget(void **state)
{
    const struct edit shorter = { NULL, NULL, 0, 299999999 },
                      equal = { NULL, NULL, 0, 300000000 };

    (void)state;
    change(&shorter);
    expect_answer(0, 0, "measured within 299 ms, 300 are asked");
    change(&equal);
    expect_answer(1, 0, ": hit: ");
}

/* ---- the file as a whole --------------------------------------------------------- */

static void save(const char *text, size_t length)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

/* Through the whole way in, not the parser alone. */
static void cut_or_flipped_anywhere(void **state)
{
    size_t length = 0;
    char *text = NULL;

    (void)state;
    assert_int_equal(hdpi_cache_file_read(&text, &length, path), HDP_OK);
    for (size_t cut = 0; cut < length; ++cut) {
        save(text, cut);
        if (ask(&question) || warnings != 1)
            fail_msg("cut to %zu bytes: expected a miss with one warning, got "
                     "%s",
                     cut, said);
    }
    for (size_t bit = 0; bit < 8 * length; bit += 5) {
        text[bit / 8] ^= (char)(1 << bit % 8);
        save(text, length);
        if (ask(&question) || warnings != 1)
            fail_msg("bit %zu flipped: expected a miss with one warning, got "
                     "%s",
                     bit, said);
        text[bit / 8] ^= (char)(1 << bit % 8);
    }
    save(text, length);
    expect_answer(1, 0, ": hit: ");
    free(text);
}

static void a_newer_file_stays(void **state)
{
    const char newer[] = "hdp-cache 2 3 f0e4a3b9c7d1e5a2\nnew";
    const hdp_calibrate_options options = { .size = sizeof options,
                                            .cache = path };
    hdp_profile *profile = NULL;
    size_t length = 0;
    char *text = NULL, *made;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    (void)state;
    made = strdup(newer);
    for (size_t i = 0; i < sizeof newer - 1; ++i)
        if (i < 14 || i > 30)
            hash = (hash ^ (unsigned char)newer[i]) * UINT64_C(0x100000001b3);
    (void)sprintf(made + 14, "%016llx", (unsigned long long)hash);
    made[30] = '\n';
    save(made, sizeof newer - 1);
    warnings = 0;
    said[0] = '\0';
    assert_int_equal(hdp_calibrate(&profile, group, &options), HDP_OK);
    hdp_profile_destroy(profile);
    if (warnings != 1 || !strstr(said, "of version 2, newer than 1"))
        fail_msg("expected one warning, got %d: %s", warnings, said);
    assert_int_equal(hdpi_cache_file_read(&text, &length, path), HDP_OK);
    assert_int_equal(length, sizeof newer - 1);
    assert_memory_equal(text, made, length);
    free(text);
    free(made);
}

/* ---- forgetting --------------------------------------------------------------- */

static void what_is_stale_is_forgotten(void **state)
{
    const struct hdpi_cache_ask other = { .probe = HDP_PROBE_COPY,
                                          .dtype = HDP_F32,
                                          .budget_ns = 300000000 };
    const hdp_calibrate_options options = { .size = sizeof options,
                                            .probe = HDP_PROBE_COPY,
                                            .cache = path };
    struct hdpi_cache *cache = hdpi_cache_open(group, path, &question);
    hdp_profile *profile = NULL;

    (void)state;
    assert_int_equal(hdp_calibrate(&profile, group, &options), HDP_OK);
    hdp_profile_destroy(profile);
    assert_int_equal(ask(&other), 1);
    assert_int_equal(ask(&question), 1);
    hdpi_cache_forget(cache);
    assert_int_equal(ask(&question), 0);
    assert_int_equal(ask(&other), 1);
    hdpi_cache_forget(cache); /* nothing is left to forget */
    assert_int_equal(warnings, 0);
    assert_int_equal(unlink(path), 0);
    hdpi_cache_forget(cache);
    assert_int_equal(warnings, 0);
    assert_int_equal(access(path, F_OK), -1);
    hdpi_cache_close(cache);
}

static void nothing_is_no_cache(void **state)
{
    hdp_profile *profile = (hdp_profile *)(uintptr_t)1;

    (void)state;
    assert_null(hdpi_cache_open(group, NULL, &question));
    assert_int_equal(hdpi_cache_answer(&profile, NULL), 0);
    assert_null(profile);
    hdpi_cache_keep(NULL, NULL);
    hdpi_cache_forget(NULL);
    hdpi_cache_close(NULL);
}

int main(void)
{
#define ANSWER_TEST(name) cmocka_unit_test_setup(name, begin)
    const struct CMUnitTest tests[] = {
        ANSWER_TEST(figures_that_cannot_be),
        ANSWER_TEST(answers_to_another_question),
        ANSWER_TEST(a_forged_speed_is_believed),
        ANSWER_TEST(an_age),
        ANSWER_TEST(times_at_the_ends),
        ANSWER_TEST(a_budget),
        ANSWER_TEST(cut_or_flipped_anywhere),
        ANSWER_TEST(a_newer_file_stays),
        ANSWER_TEST(what_is_stale_is_forgotten),
        ANSWER_TEST(nothing_is_no_cache),
    };

    return cmocka_run_group_tests_name("cache_answer", tests, setup, teardown);
}
