/* By what a cache knows a device, and what it says of a difference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "cache.h"
#include "cache_key.h"

static const struct hdpi_cache_ask question = { .probe = HDP_PROBE_GEMM,
                                                .dtype = HDP_F32,
                                                .budget_ns = 300000000 };

static hdp_context *context;
static hdp_group *group;

static int setup(void **state)
{
    (void)state;
    return hdp_context_create(&context, NULL) != HDP_OK ||
           hdp_group_create_spec(&group, context,
                                 "sim:0/uuid=a/item=10us+"
                                 "sim:1/uuid=b/item=20us",
                                 NULL) != HDP_OK;
}

static int teardown(void **state)
{
    (void)state;
    hdp_group_destroy(group);
    hdp_context_destroy(context);
    return 0;
}

static void a_key_is_lines_about_the_device(void **state)
{
    static const char *const names[] = {
        "device=sim a\n",     "\nprobe=gemm\n", "\ndtype=f32\n",
        "\nsizes=chosen\n",   "\nname=",        "\ncapability=",
        "\nmultiprocessors=", "\nmemory=",      "\ndriver=none\n",
        "\nlibrary=",
    };
    char key[HDPI_CACHE_KEY_MAX];

    (void)state;
    assert_null(hdpi_cache_key(key, sizeof key, group, 0, &question));
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (!strstr(key, names[i]))
            fail_msg("expected \"%s\" in %s", names[i], key);
    assert_null(strstr(key, "sim:0"));
}

/* A name cannot forge a line. */
static void a_name_is_one_line(void **state)
{
    struct hdpi_device_row *row = &group->members[0].device->row;
    struct hdpi_device_row before = *row;
    char key[HDPI_CACHE_KEY_MAX];

    (void)state;
    (void)snprintf(row->info.name, sizeof row->info.name,
                   "x\nmemory=1\x01\xff");
    assert_null(hdpi_cache_key(key, sizeof key, group, 0, &question));
    *row = before;
    assert_null(strstr(key, "\nmemory=1"));
    assert_non_null(strstr(key, "name=x\\x0amemory=1\\x01\\xff\n"));
}

static void without_an_identity_there_is_no_key(void **state)
{
    struct hdpi_device_row *row = &group->members[0].device->row;
    struct hdpi_device_row before = *row;
    char key[HDPI_CACHE_KEY_MAX], small[64];

    (void)state;
    row->info.uuid[0] = '\0';
    assert_non_null(hdpi_cache_key(key, sizeof key, group, 0, &question));
    assert_string_equal(key, "");
    *row = before;
    row->info.kind = HDP_CUDA; /* whose libraries nobody tells yet */
    assert_non_null(hdpi_cache_key(key, sizeof key, group, 0, &question));
    assert_string_equal(key, "");
    *row = before;
    assert_non_null(hdpi_cache_key(small, sizeof small, group, 0, &question));
    assert_string_equal(small, "");
}

static void the_first_difference_is_told(void **state)
{
    static const struct {
        const char *was, *is, *why;
        int alike;
    } pairs[] = {
        { "a=1\nb=2\nc=3\n", "a=1\nb=4\nc=5\n", "b was 2, is 4", 1 },
        { "a=1\n", "b=1\n", "b was 1, is 1", 0 },
        { "a=1\n", "a=1\nb=2\n", "b was , is 2", 1 },
        { "a=1\nb=22\n", "a=1\nb=2\n", "b was 22, is 2", 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; ++i) {
        const char *was = pairs[i].was, *is = pairs[i].is;
        char why[HDPI_CACHE_WHY_MAX];
        hdpi_cache_key_why(why, sizeof why, was, strlen(was), is, strlen(is));
        assert_string_equal(why, pairs[i].why);
        assert_int_equal(hdpi_cache_key_alike(was, strlen(was), is, strlen(is)),
                         pairs[i].alike);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_lines_about_the_device),
        cmocka_unit_test(a_name_is_one_line),
        cmocka_unit_test(without_an_identity_there_is_no_key),
        cmocka_unit_test(the_first_difference_is_told),
    };

    return cmocka_run_group_tests_name("cache_key", tests, setup, teardown);
}
