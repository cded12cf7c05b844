/* A cache without memory: the allocator says no at each call of an answer, a
 * keeping and a forgetting, once and for good. Then there is no answer and one
 * warning, nothing is left behind, and the file is as it was or as it was to
 * be.
 *
 * The program brings its own malloc, so that none is missed, which a sanitizer
 * would not bear. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "cache.h"
#include "cache_file.h"
#include "cache_text.h"
#include "scenario/process.h"

#if SANITIZED

int main(void)
{
    (void)printf("skipped: a sanitizer brings an allocator of its own\n");
    return 77;
}

#else

#include "scenario/allocator.h"

/* ---- a question ------------------------------------------------------------ */

static const struct hdpi_cache_ask question = { .probe = HDP_PROBE_GEMM,
                                                .dtype = HDP_F32,
                                                .budget_ns = 300000000 };

/* in memory where that is possible: thousands of fsync() */
static char in_memory[] = "/dev/shm/hdp-memory-XXXXXX",
            on_disk[] = "/tmp/hdp-memory-XXXXXX";
static const char *folder;
static char path[160];
static hdp_context *context;
static hdp_group *group;
static hdp_profile *measured;
static int warnings, hit;

static void note(int32_t level, const char *line, void *user)
{
    (void)line;
    (void)user;
    warnings += level <= HDP_LOG_WARN;
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
    if (!folder)
        return -1;
    (void)snprintf(path, sizeof path, "%s/file", folder);
    return hdp_context_create(&context, &options) != HDP_OK ||
           hdp_group_create_spec(&group, context, "sim:0/uuid=a+sim:1/uuid=b",
                                 NULL) != HDP_OK ||
           hdp_calibrate(&measured, group, NULL) != HDP_OK;
}

static int teardown(void **state)
{
    char command[200];

    (void)state;
    hdp_profile_destroy(measured);
    hdp_group_destroy(group);
    hdp_context_destroy(context);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

enum { ANSWER, KEEP, FORGET };

static void act(int what)
{
    struct hdpi_cache *cache = hdpi_cache_open(group, path, &question);
    hdp_profile *profile = NULL;

    if (what == ANSWER)
        hit = hdpi_cache_answer(&profile, cache);
    else if (what == KEEP)
        hdpi_cache_keep(cache, measured);
    else
        hdpi_cache_forget(cache);
    hdpi_cache_close(cache);
    hdp_profile_destroy(profile);
}

/* 1 when the file answers; it is whole in any case, or not there. */
static int answers(void)
{
    struct hdpi_cache_list list = { 0 };
    size_t length = 0;
    char *text = NULL;
    int there;

    assert_int_equal(hdpi_cache_file_read(&text, &length, path), HDP_OK);
    if (text && hdpi_cache_parse(&list, text, length) != HDP_OK)
        fail_msg("%s", hdp_last_error());
    there = list.count == 2;
    assert_true(list.count == 2 || list.count == 0);
    hdpi_cache_list_finish(&list);
    free(text);
    return there;
}

static void fail_each(int what, int there, int lasting)
{
    int64_t at = 1;

    for (;; ++at) {
        int before, descriptors = count_descriptors();
        int64_t blocks;
        assert_true(at < 10000);
        (void)unlink(path);
        if (there)
            act(KEEP);
        before = answers();
        assert_int_equal(before, there);
        assert_int_not_equal(hdp_context_create(NULL, NULL), HDP_OK);
        warnings = hit = 0;
        blocks = live;
        arm(at, lasting);
        act(what);
        armed = 0;
        blocks = live - blocks;
        if (blocks != 0 || count_descriptors() != descriptors)
            fail_msg("allocation %lld: expected nothing left, got %lld blocks, "
                     "%d descriptors",
                     (long long)at, (long long)blocks,
                     count_descriptors() - descriptors);
        assert_string_equal(hdp_last_error(), "out is NULL");
        if (asked < at) /* none was refused */
            break;
        if (warnings != 1 || hit)
            fail_msg("allocation %lld: expected one warning, got %d%s",
                     (long long)at, warnings, hit ? " and an answer" : "");
        (void)answers();
    }
    assert_true(at > 5);
    assert_int_equal(warnings, 0);
    if (what == ANSWER)
        assert_int_equal(hit, there);
    else
        assert_int_equal(answers(), what == KEEP);
}

static void each_allocation(void **state)
{
    (void)state;
    for (int lasting = 0; lasting < 2; ++lasting) {
        fail_each(ANSWER, 1, lasting);
        fail_each(KEEP, 0, lasting);
        fail_each(KEEP, 1, lasting);
        fail_each(FORGET, 1, lasting);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_allocation) };

    return cmocka_run_group_tests_name("cache_memory", tests, setup, teardown);
}

#endif
