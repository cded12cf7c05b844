/* A cache's text: what was written is read, and nothing else is, whatever was
 * cut, flipped, made up or made larger. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <hdp/hdp.h>
#include "cache_text.h"

enum { NOW_S = 1800000000 };

static struct hdpi_cache_entry entry_of(const char *key, const char *body,
                                        int64_t measured_s)
{
    return (struct hdpi_cache_entry){ measured_s,  300000000, key,
                                      strlen(key), body,      strlen(body) };
}

static char *text_of(struct hdpi_cache_list *list, size_t *length)
{
    char *text = NULL;

    if (hdpi_cache_write(&text, length, list, NOW_S) != HDP_OK)
        fail_msg("expected a text, got %s", hdp_last_error());
    return text;
}

/* Three entries, one with every byte there is. */
static char *sample(size_t *length)
{
    struct hdpi_cache_list list = { 0 };
    struct hdpi_cache_entry entry = entry_of("device=a\nx=1\n", "{}", 5);
    char *text;

    assert_int_equal(hdpi_cache_list_put(&list, &entry), HDP_OK);
    entry = entry_of("device=b\n", "entry 1 2 3 4\n", NOW_S);
    entry.budget_ns = INT64_MAX;
    assert_int_equal(hdpi_cache_list_put(&list, &entry), HDP_OK);
    entry = entry_of("", "\x01\x00\xff\n", 0);
    entry.body_length = 4;
    assert_int_equal(hdpi_cache_list_put(&list, &entry), HDP_OK);
    text = text_of(&list, length);
    hdpi_cache_list_finish(&list);
    return text;
}

/* The checksum from its own definition, so that texts can be made up. */
static char *made_up(const char *version, const char *rest, size_t rest_length,
                     int64_t claimed, size_t *length)
{
    size_t room = rest_length + 128;
    char *text = malloc(room);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    size_t head;

    assert_non_null(text);
    head = (size_t)snprintf(text, room, "hdp-cache %s %" PRId64 " ", version,
                            claimed);
    for (size_t i = 0; i < head; ++i)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    for (size_t i = 0; i < rest_length; ++i)
        hash = (hash ^ (unsigned char)rest[i]) * UINT64_C(0x100000001b3);
    head +=
        (size_t)snprintf(text + head, room - head, "%016" PRIx64 "\n", hash);
    memcpy(text + head, rest, rest_length);
    *length = head + rest_length;
    return text;
}

/* A copy of exactly these bytes, so that a sanitizer sees who reads on. */
static hdp_status parse(struct hdpi_cache_list *list, const char *text,
                        size_t length)
{
    char *copy = malloc(length + (length == 0));
    hdp_status status;

    assert_non_null(copy);
    memcpy(copy, text, length);
    memset(list, 0, sizeof *list);
    status = hdpi_cache_parse(list, copy, length);
    if (status != HDP_OK && (list->entries || list->count))
        fail_msg("refused, but %zu entries were handed out", list->count);
    hdpi_cache_list_finish(list);
    free(copy);
    return status;
}

static void expect_parse(hdp_status want, const char *words, const char *text,
                         size_t length)
{
    struct hdpi_cache_list list;
    hdp_status got = parse(&list, text, length);

    if (got != want || (want != HDP_OK && !strstr(hdp_last_error(), words)))
        fail_msg("expected %s (%s), got %s (%s)", hdp_status_string(want),
                 words, hdp_status_string(got), hdp_last_error());
}

/* ---- what was written ----------------------------------------------------- */

static void what_is_written_is_read(void **state)
{
    struct hdpi_cache_list list = { 0 };
    size_t length, again_length;
    char *text = sample(&length), *again;

    (void)state;
    assert_int_equal(hdpi_cache_parse(&list, text, length), HDP_OK);
    assert_int_equal(list.count, 3);
    assert_int_equal(list.entries[0].measured_s, 5);
    assert_int_equal(list.entries[0].budget_ns, 300000000);
    assert_int_equal(list.entries[0].key_length, 13);
    assert_memory_equal(list.entries[0].key, "device=a\nx=1\n", 13);
    assert_memory_equal(list.entries[0].body, "{}", 2);
    assert_true(list.entries[1].budget_ns == INT64_MAX);
    assert_memory_equal(list.entries[1].body, "entry 1 2 3 4\n", 14);
    assert_int_equal(list.entries[2].key_length, 0);
    assert_memory_equal(list.entries[2].body, "\x01\x00\xff\n", 4);
    again = text_of(&list, &again_length);
    assert_int_equal(again_length, length);
    assert_memory_equal(again, text, length);
    free(again);
    free(text);
    hdpi_cache_list_finish(&list);
}

static void no_entry_is_a_cache_too(void **state)
{
    struct hdpi_cache_list list = { 0 };
    size_t length;
    char *text = text_of(&list, &length);

    (void)state;
    expect_parse(HDP_OK, "", text, length);
    free(text);
}

/* The text itself is pinned: files outlive a version of the library. */
static void the_form_is_this(void **state)
{
    struct hdpi_cache_list list = { 0 };
    struct hdpi_cache_entry entry = entry_of("k=1\n", "{}", 7);
    size_t length, expected_length;
    char *text, *expected;

    (void)state;
    assert_int_equal(hdpi_cache_list_put(&list, &entry), HDP_OK);
    text = text_of(&list, &length);
    expected = made_up("1", "entry 7 300000000 4 2\nk=1\n{}", 28, 28,
                       &expected_length);
    assert_int_equal(length, expected_length);
    assert_memory_equal(text, expected, length);
    free(expected);
    free(text);
    hdpi_cache_list_finish(&list);
}

/* ---- what was damaged ----------------------------------------------------- */

static void cut_at_every_byte(void **state)
{
    struct hdpi_cache_list list;
    size_t length;
    char *text = sample(&length);

    (void)state;
    for (size_t cut = 0; cut < length; ++cut)
        if (parse(&list, text, cut) != HDP_ERR_ARGUMENT)
            fail_msg("cut to %zu of %zu bytes: expected damaged, got %s", cut,
                     length, hdp_last_error());
    free(text);
}

static void each_bit_flipped(void **state)
{
    struct hdpi_cache_list list;
    size_t length;
    char *text = sample(&length);

    (void)state;
    for (size_t bit = 0; bit < 8 * length; ++bit) {
        text[bit / 8] ^= (char)(1 << bit % 8);
        if (parse(&list, text, length) == HDP_OK)
            fail_msg("bit %zu of byte %zu flipped: expected a miss, got a "
                     "cache",
                     bit % 8, bit / 8);
        text[bit / 8] ^= (char)(1 << bit % 8);
    }
    expect_parse(HDP_OK, "", text, length);
    free(text);
}

static void bytes_added_at_the_end(void **state)
{
    size_t length;
    char *text = sample(&length), *more = malloc(length + 1);

    (void)state;
    memcpy(more, text, length);
    more[length] = '\n';
    expect_parse(HDP_ERR_ARGUMENT, "checksum is wrong", more, length + 1);
    free(more);
    free(text);
}

/* ---- what was made up, with a right checksum ------------------------------ */

static void entries_that_are_none(void **state)
{
    static const char *const rests[] = {
        "x",
        "entry",
        "entry 1 2 3 4",
        "entry 1 2 0 1\n",
        "entry 1 2 1 0\n",
        "entry 1 2 0 0 \n",
        "entry 1 2 0\n",
        "entry -1 2 0 0\n",
        "entry 1 2 -1 0\n",
        "entry 1 2 0 -1\n",
        "entry  1 2 0 0\n",
        "entry 1.5 2 0 0\n",
        "entry 1 nan 0 0\n",
        "entry 1 2 9223372036854775807 0\n",
        "entry 1 2 0 9223372036854775807\n",
        "entry 1 2 9223372036854775808 0\n",
        "entry 1 2 18446744073709551615 1\n",
        "entry 99999999999999999999 2 0 0\n",
        "entry 1 2 1 1\nab\n",
        "entry 1 2 1 1\nabentry 1 2 1 1\nb",
    };

    (void)state;
    for (size_t i = 0; i < sizeof rests / sizeof *rests; ++i) {
        size_t length, rest = strlen(rests[i]);
        char *text = made_up("1", rests[i], rest, (int64_t)rest, &length);
        expect_parse(HDP_ERR_ARGUMENT, "damaged: no entry at byte", text,
                     length);
        free(text);
    }
}

static void other_versions(void **state)
{
    static const struct {
        const char *version;
        hdp_status status;
        const char *words;
    } versions[] = {
        { "0", HDP_ERR_ARGUMENT, "of version 0, older than 1" },
        { "2", HDP_ERR_UNSUPPORTED, "of version 2, newer than 1" },
        { "9223372036854775807", HDP_ERR_UNSUPPORTED, "newer than 1" },
        { "9223372036854775808", HDP_ERR_ARGUMENT, "in its first line" },
        { "-1", HDP_ERR_ARGUMENT, "in its first line" },
        { "", HDP_ERR_ARGUMENT, "in its first line" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; ++i) {
        size_t length;
        char *text =
            made_up(versions[i].version, "new things", 10, 10, &length);
        expect_parse(versions[i].status, versions[i].words, text, length);
        free(text);
    }
}

/* A newer file that is damaged as well is no reason for respect. */
static void a_damaged_newer_version(void **state)
{
    size_t length;
    char *text = made_up("2", "new things", 10, 10, &length);

    (void)state;
    text[length - 1] ^= 1;
    expect_parse(HDP_ERR_ARGUMENT, "checksum is wrong", text, length);
    free(text);
}

static void lengths_that_are_wrong(void **state)
{
    static const int64_t claims[] = { 0, 27, 29, INT64_MAX };

    (void)state;
    for (size_t i = 0; i < sizeof claims / sizeof *claims; ++i) {
        size_t length;
        char *text = made_up("1", "entry 7 300000000 4 2\nk=1\n{}", 28,
                             claims[i], &length);
        expect_parse(HDP_ERR_ARGUMENT, "28 bytes behind the first line", text,
                     length);
        free(text);
    }
}

static void what_is_no_cache_is_left_alone(void **state)
{
    static const char *const others[] = { "hdp-cach1", "{\"schema\":1}", "\n",
                                          "HDP-CACHE 1 0 ", "x" };

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
        expect_parse(HDP_ERR_UNSUPPORTED, "not a cache of hdp", others[i],
                     strlen(others[i]));
}

/* ---- the list ------------------------------------------------------------- */

static void the_newest_of_a_key_is_found(void **state)
{
    struct hdpi_cache_list list = { 0 };
    const struct hdpi_cache_entry *found;
    const char *rest = "entry 5 1 2 1\nk\nb"
                       "entry 9 1 2 1\nk\nc"
                       "entry 7 1 2 1\nk\nd"
                       "entry 10 1 2 1\nl\ne";
    size_t length;
    char *text =
        made_up("1", rest, strlen(rest), (int64_t)strlen(rest), &length);

    (void)state;
    assert_int_equal(hdpi_cache_parse(&list, text, length), HDP_OK);
    found = hdpi_cache_list_find(&list, "k\n", 2);
    assert_non_null(found);
    assert_int_equal(found->measured_s, 9);
    assert_null(hdpi_cache_list_find(&list, "k", 1));
    assert_null(hdpi_cache_list_find(&list, "m\n", 2));
    assert_int_equal(hdpi_cache_list_remove(&list, "k\n", 2), 3);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.entries[0].measured_s, 10);
    hdpi_cache_list_finish(&list);
    free(text);
}

static void an_entry_takes_the_place_of_its_key(void **state)
{
    struct hdpi_cache_list list = { 0 };
    struct hdpi_cache_entry entry = entry_of("k\n", "old", 5);

    (void)state;
    assert_int_equal(hdpi_cache_list_put(&list, &entry), HDP_OK);
    entry = entry_of("l\n", "other", 5);
    assert_int_equal(hdpi_cache_list_put(&list, &entry), HDP_OK);
    entry = entry_of("k\n", "new", 4); /* the clock went back */
    assert_int_equal(hdpi_cache_list_put(&list, &entry), HDP_OK);
    assert_int_equal(list.count, 2);
    assert_int_equal(hdpi_cache_list_find(&list, "k\n", 2)->measured_s, 4);
    hdpi_cache_list_finish(&list);
}

/* 1 MiB at most: the oldest go first, and those from a far future. */
static void what_does_not_fit_is_dropped(void **state)
{
    enum { BODY = 4096, ENTRIES = 400 };
    static char body[BODY + 1], keys[ENTRIES][16];
    struct hdpi_cache_list list = { 0 };
    size_t length;
    char *text;

    (void)state;
    memset(body, 'x', BODY);
    for (int k = 0; k < ENTRIES; ++k) {
        int i = k * 149 % ENTRIES; /* in no order */
        int64_t measured_s = NOW_S - ENTRIES + i;
        (void)snprintf(keys[i], sizeof keys[i], "k=%d\n", i);
        if (i == 0)
            measured_s = INT64_MAX;
        struct hdpi_cache_entry entry = entry_of(keys[i], body, measured_s);
        assert_int_equal(hdpi_cache_list_put(&list, &entry), HDP_OK);
    }
    text = text_of(&list, &length);
    if (length > HDPI_CACHE_BYTES_MAX ||
        length < HDPI_CACHE_BYTES_MAX - 2 * BODY)
        fail_msg("expected just below %d bytes, got %zu", HDPI_CACHE_BYTES_MAX,
                 length);
    hdpi_cache_list_finish(&list);
    assert_int_equal(hdpi_cache_parse(&list, text, length), HDP_OK);
    assert_null(hdpi_cache_list_find(&list, "k=0\n", 4));
    assert_null(hdpi_cache_list_find(&list, "k=1\n", 4));
    for (int i = ENTRIES - (int)list.count; i < ENTRIES; ++i)
        if (!hdpi_cache_list_find(&list, keys[i], strlen(keys[i])))
            fail_msg("expected the newest %zu, but %d is not there", list.count,
                     i);
    hdpi_cache_list_finish(&list);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(no_entry_is_a_cache_too),
        cmocka_unit_test(the_form_is_this),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(each_bit_flipped),
        cmocka_unit_test(bytes_added_at_the_end),
        cmocka_unit_test(entries_that_are_none),
        cmocka_unit_test(other_versions),
        cmocka_unit_test(a_damaged_newer_version),
        cmocka_unit_test(lengths_that_are_wrong),
        cmocka_unit_test(what_is_no_cache_is_left_alone),
        cmocka_unit_test(the_newest_of_a_key_is_found),
        cmocka_unit_test(an_entry_takes_the_place_of_its_key),
        cmocka_unit_test(what_does_not_fit_is_dropped),
    };

    return cmocka_run_group_tests_name("cache_text", tests, NULL, NULL);
}
