/* Statuses against the public header, and the life of an error detail. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/status.h"

/* ---- the list against the header ----------------------------------------- */

static FILE *open_header(void)
{
    const char *root = getenv("HDP_SOURCE_DIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/include/hdp/hdp.h", root ? root : ".");
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("cannot read %s: set HDP_SOURCE_DIR", path);
    return file;
}

/* "HDP_ERR_NOT_FOUND" is spoken "not found". */
static void spoken(char *out, size_t capacity, const char *name)
{
    static const char prefix[] = "HDP_ERR_";
    const char *from = strncmp(name, prefix, sizeof prefix - 1) == 0
                           ? name + sizeof prefix - 1
                           : name + strlen("HDP_");
    size_t i = 0;
    for (; from[i] && i + 1 < capacity; i++)
        out[i] = from[i] == '_' ? ' ' : (char)tolower((unsigned char)from[i]);
    out[i] = '\0';
}

static void names_are_the_headers(void **state)
{
    (void)state;
    FILE *file = open_header();
    char line[512], name[64], word[64];
    int value, count = 0, inside = 0;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, " HDP_%60[A-Z_] = %d", name, &value) != 2) {
            if (inside && strchr(line, '}'))
                break;
            continue;
        }
        char whole[80];
        snprintf(whole, sizeof whole, "HDP_%s", name);
        if (!inside && strcmp(whole, "HDP_OK") != 0)
            continue;
        inside = 1;
        spoken(word, sizeof word, whole);
        const char *got = hdp_status_string(value);
        size_t length = strlen(word);
        if (strncmp(got, word, length) != 0 || got[length] != ':')
            fail_msg("%s = %d: expected \"%s: ...\", got \"%s\"", whole, value,
                     word, got);
        if (value != -count)
            fail_msg("%s: expected %d, got %d", whole, -count, value);
        count++;
    }
    fclose(file);
    if (count != 18)
        fail_msg("expected 18 statuses in the header, got %d", count);
    assert_string_equal(hdp_status_string(-count), "unknown status");
    assert_string_equal(hdp_status_string(1), "unknown status");
    assert_string_equal(hdp_status_string(INT32_MIN), "unknown status");
}

/* From the header's words: intact, dead, lost. */
static void severities(void **state)
{
    static const struct {
        hdp_status status;
        int32_t severity;
    } rows[] = {
        { HDP_ERR_ARGUMENT, HDP_RETRY },
        { HDP_ERR_MEMORY, HDP_RETRY },
        { HDP_ERR_CAPACITY, HDP_RETRY },
        { HDP_ERR_UNSUPPORTED, HDP_RETRY },
        { HDP_ERR_NOT_FOUND, HDP_RETRY },
        { HDP_ERR_BUSY, HDP_RETRY },
        { HDP_ERR_STATE, HDP_RETRY },
        { HDP_ERR_CALLBACK, HDP_RETRY },
        { HDP_ERR_PEER, HDP_RETRY },
        { HDP_ERR_DEVICE, HDP_GROUP_LOST },
        { HDP_ERR_COMM, HDP_GROUP_LOST },
        { HDP_ERR_TIMEOUT, HDP_GROUP_LOST },
        { HDP_ERR_DIVERGED, HDP_RETRY },
        { HDP_ERR_SYSTEM, HDP_RETRY },
        { HDP_ERR_FORKED, HDP_PROCESS_LOST },
        { HDP_ERR_FATAL, HDP_PROCESS_LOST },
        { HDP_ERR_INTERNAL, HDP_GROUP_LOST },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hdpi_fail(rows[i].status, "x");
        if (hdpi_error()->severity != rows[i].severity)
            fail_msg("%s: expected severity %d, got %d",
                     hdp_status_string(rows[i].status), (int)rows[i].severity,
                     (int)hdpi_error()->severity);
    }
}

/* ---- the detail ---------------------------------------------------------- */

static void a_failure_replaces_everything(void **state)
{
    (void)state;
    hdpi_fail_member(HDP_ERR_MEMORY, 2, 5, "member %d: %s", 2, "no room");
    hdpi_error()->wanted_bytes = 77;
    hdpi_error()->vendor = HDPI_VENDOR_SYSTEM;
    hdpi_error()->vendor_code = ENOMEM;
    hdpi_error()->user_code = 3;
    hdpi_error()->step = 9;
    assert_string_equal(hdp_last_error(), "member 2: no room");
    assert_int_equal(hdpi_error()->member, 2);
    assert_int_equal(hdpi_error()->rank, 5);
    assert_int_equal(hdpi_fail(HDP_ERR_BUSY, "later"), HDP_ERR_BUSY);
    hdp_error got = { .size = sizeof got };
    assert_int_equal(hdp_error_get(&got), HDP_OK);
    hdp_error wanted = { .size = sizeof wanted,
                         .status = HDP_ERR_BUSY,
                         .severity = HDP_RETRY,
                         .member = -1,
                         .rank = -1,
                         .text = "later" };
    assert_memory_equal(&got, &wanted, sizeof got);
}

static void success_leaves_it(void **state)
{
    (void)state;
    unsigned char options[64];
    hdpi_fail(HDP_ERR_STATE, "the old one");
    assert_int_equal(hdp_options_init(options, sizeof options), HDP_OK);
    assert_string_equal(hdp_last_error(), "the old one");
    assert_int_equal(hdpi_error()->status, HDP_ERR_STATE);
}

static void text_is_one_clean_line(void **state)
{
    (void)state;
    hdpi_fail(HDP_ERR_ARGUMENT, "a\nb\x1b[31m\x7f%s", "\xff\xc3\xa9");
    assert_string_equal(hdp_last_error(), "a\\x0ab\\x1b[31m\\x7f\\xff\xc3\xa9");
}

static void long_text_is_cut(void **state)
{
    (void)state;
    char word[2000];
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    hdpi_fail(HDP_ERR_ARGUMENT, "%s", word);
    const char *text = hdp_last_error();
    assert_int_equal(strlen(text), sizeof hdpi_error()->text - 1);
    assert_string_equal(text + strlen(text) - 4, "x...");
    /* An argument may be the old text itself. */
    hdpi_fail(HDP_ERR_ARGUMENT, "short");
    hdpi_fail(HDP_ERR_ARGUMENT, "again: %s", hdp_last_error());
    assert_string_equal(hdp_last_error(), "again: short");
}

static void errno_and_heap_stay(void **state)
{
    (void)state;
    hdpi_fail(HDP_ERR_ARGUMENT, "first use of this thread's detail");
    size_t before = mallinfo2().uordblks;
    errno = EXDEV;
    for (int i = 0; i < 100; i++)
        hdpi_fail(HDP_ERR_SYSTEM, "%d %s %" PRIu64, i, "text", (uint64_t)i);
    assert_int_equal(errno, EXDEV);
    assert_int_equal(mallinfo2().uordblks, before);
}

static void adopting(void **state)
{
    (void)state;
    hdp_error other = { .size = sizeof other,
                        .status = HDP_ERR_DEVICE,
                        .severity = HDP_RETRY,
                        .member = 1,
                        .rank = 3,
                        .step = 12,
                        .text = "from afar" };
    hdp_error none = { .size = sizeof none };
    assert_int_equal(hdpi_error_adopt(&other), HDP_ERR_DEVICE);
    assert_memory_equal(hdpi_error(), &other, sizeof other);
    assert_int_equal(hdpi_error_adopt(&none), HDP_OK);
    assert_memory_equal(hdpi_error(), &other, sizeof other);
    assert_int_equal(hdpi_error_adopt(hdpi_error()), HDP_ERR_DEVICE);
    assert_string_equal(hdp_last_error(), "from afar");
}

/* ---- threads ------------------------------------------------------------- */

static void *fresh_thread(void *out)
{
    hdp_error *got = out;
    got->size = sizeof *got;
    hdp_error_get(got);
    if (strcmp(hdp_last_error(), "") != 0)
        got->status = HDP_ERR_INTERNAL;
    hdpi_fail(HDP_ERR_FATAL, "of the other thread");
    return NULL;
}

static void each_thread_has_its_own(void **state)
{
    (void)state;
    pthread_t thread;
    hdp_error got;
    hdpi_fail(HDP_ERR_BUSY, "mine");
    assert_int_equal(pthread_create(&thread, NULL, fresh_thread, &got), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    hdp_error wanted = { .size = sizeof wanted, .member = -1, .rank = -1 };
    assert_memory_equal(&got, &wanted, sizeof got);
    assert_string_equal(hdp_last_error(), "mine");
}

static void reading_it_out(void **state)
{
    (void)state;
    hdpi_fail_member(HDP_ERR_COMM, 1, 4, "link down");
    struct {
        hdp_error error;
        unsigned char newer[16];
    } larger;
    memset(&larger, 0x5a, sizeof larger);
    larger.error.size = sizeof larger;
    assert_int_equal(hdp_error_get(&larger.error), HDP_OK);
    assert_int_equal(larger.error.size, sizeof larger);
    assert_int_equal(larger.error.rank, 4);
    for (size_t i = 0; i < sizeof larger.newer; i++)
        assert_int_equal(larger.newer[i], 0);
    hdp_error smaller;
    memset(&smaller, 0x5a, sizeof smaller);
    smaller.size = offsetof(hdp_error, member);
    assert_int_equal(hdp_error_get(&smaller), HDP_OK);
    assert_int_equal(smaller.status, HDP_ERR_COMM);
    assert_int_equal(smaller.member, 0x5a5a5a5a);
    smaller.size = 3;
    assert_int_equal(hdp_error_get(&smaller), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_error_get(NULL), HDP_ERR_ARGUMENT);
    assert_int_equal(hdpi_error()->status, HDP_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_the_headers),
        cmocka_unit_test(severities),
        cmocka_unit_test(a_failure_replaces_everything),
        cmocka_unit_test(success_leaves_it),
        cmocka_unit_test(text_is_one_clean_line),
        cmocka_unit_test(long_text_is_cut),
        cmocka_unit_test(errno_and_heap_stay),
        cmocka_unit_test(adopting),
        cmocka_unit_test(each_thread_has_its_own),
        cmocka_unit_test(reading_it_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
