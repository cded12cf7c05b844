/* The size-first rule: callers older and newer than the library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/options.h"

struct own {
    size_t size;
    int64_t first, second;
};

struct newer {
    struct own own;
    int64_t third;
};

static void wants(const char *part)
{
    if (!strstr(hdp_last_error(), part))
        fail_msg("expected \"%s\" in the message, got \"%s\"", part,
                 hdp_last_error());
}

static void none_given_is_all_defaults(void **state)
{
    (void)state;
    struct own own;
    memset(&own, 0xff, sizeof own);
    assert_int_equal(hdpi_options_read(&own, sizeof own, NULL, "own"), HDP_OK);
    assert_int_equal(own.size, sizeof own);
    assert_int_equal(own.first, 0);
    assert_int_equal(own.second, 0);
}

static void sizes(void **state)
{
    static const struct {
        size_t size;
        hdp_status status;
        int64_t first, second;
    } rows[] = {
        { 0, HDP_ERR_ARGUMENT, 0, 0 },
        { sizeof(size_t) - 1, HDP_ERR_ARGUMENT, 0, 0 },
        { sizeof(size_t), HDP_OK, 0, 0 },
        { offsetof(struct own, second), HDP_OK, 11, 0 },
        { offsetof(struct own, second) + 1, HDP_OK, 11, 22 },
        { sizeof(struct own), HDP_OK, 11, 22 },
        { sizeof(struct newer), HDP_OK, 11, 22 },
        { SIZE_MAX, HDP_ERR_ARGUMENT, 0, 0 },
        { SIZE_MAX / 2, HDP_ERR_ARGUMENT, 0, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct newer given = { { rows[i].size, 11, 22 }, 0 };
        struct own own;
        hdp_status status =
            hdpi_options_read(&own, sizeof own, &given, "given");
        if (status != rows[i].status)
            fail_msg("size %zu: expected %d, got %d", rows[i].size,
                     (int)rows[i].status, (int)status);
        if (own.size != sizeof own || own.first != rows[i].first ||
            own.second != rows[i].second)
            fail_msg("size %zu: expected {%zu %d %d}, got {%zu %d %d}",
                     rows[i].size, sizeof own, (int)rows[i].first,
                     (int)rows[i].second, own.size, (int)own.first,
                     (int)own.second);
        if (status != HDP_OK)
            wants("given.size");
    }
}

static void a_newer_field_that_is_used_is_refused(void **state)
{
    (void)state;
    struct own own;
    struct newer given = { { sizeof given, 11, 22 }, 0 };
    unsigned char *last = (unsigned char *)&given + sizeof given - 1;
    *last = 1;
    assert_int_equal(hdpi_options_read(&own, sizeof own, &given, "given"),
                     HDP_ERR_ARGUMENT);
    wants("newer library");
    assert_int_equal(own.first, 0);
}

static void arrays_step_by_the_first_size(void **state)
{
    (void)state;
    struct newer array[3] = { { { sizeof *array, 1, 2 }, 0 },
                              { { sizeof *array, 3, 4 }, 0 },
                              { { sizeof *array, 5, 6 }, 7 } };
    struct own own;
    assert_int_equal(hdpi_options_read_at(&own, sizeof own, array, 1, "array"),
                     HDP_OK);
    assert_int_equal(own.first, 3);
    assert_int_equal(own.second, 4);
    assert_int_equal(hdpi_options_read_at(&own, sizeof own, array, 2, "array"),
                     HDP_ERR_ARGUMENT);
    array[2].own.size = sizeof(struct own);
    assert_int_equal(hdpi_options_read_at(&own, sizeof own, array, 2, "array"),
                     HDP_ERR_ARGUMENT);
    wants("array[2].size is 24, but array[0].size is 32");
    assert_int_equal(hdpi_options_read_at(&own, sizeof own, array, -1, "array"),
                     HDP_ERR_ARGUMENT);
    assert_int_equal(hdpi_options_read_at(&own, sizeof own, NULL, 0, "array"),
                     HDP_ERR_ARGUMENT);
}

static void results_fit_the_callers_struct(void **state)
{
    (void)state;
    struct own own = { sizeof own, 11, 22 };
    struct newer out;
    memset(&out, 0x5a, sizeof out);
    out.own.size = offsetof(struct own, second);
    assert_int_equal(hdpi_options_write(&out, &own, sizeof own, "out"), HDP_OK);
    assert_int_equal(out.own.size, offsetof(struct own, second));
    assert_int_equal(out.own.first, 11);
    assert_int_equal(out.own.second, 0x5a5a5a5a5a5a5a5a);
    out.own.size = sizeof out;
    assert_int_equal(hdpi_options_write(&out, &own, sizeof own, "out"), HDP_OK);
    assert_int_equal(out.own.size, sizeof out);
    assert_int_equal(out.own.second, 22);
    assert_int_equal(out.third, 0);
    out.own.size = 0;
    assert_int_equal(hdpi_options_write(&out, &own, sizeof own, "out"),
                     HDP_ERR_ARGUMENT);
    assert_int_equal(out.own.first, 11);
    assert_int_equal(hdpi_options_write(NULL, &own, sizeof own, "out"),
                     HDP_ERR_ARGUMENT);
}

static void init_sets_any_struct(void **state)
{
    (void)state;
    unsigned char bytes[40], zero[40 - sizeof(size_t)] = { 0 };
    size_t size;
    memset(bytes, 0x5a, sizeof bytes);
    assert_int_equal(hdp_options_init(bytes, 32), HDP_OK);
    memcpy(&size, bytes, sizeof size);
    assert_int_equal(size, 32);
    assert_memory_equal(bytes + sizeof size, zero, 32 - sizeof size);
    assert_int_equal(bytes[32], 0x5a);
    assert_int_equal(hdp_options_init(bytes, sizeof(size_t)), HDP_OK);
    assert_int_equal(hdp_options_init(NULL, 32), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_options_init(bytes, 0), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_options_init(bytes, sizeof(size_t) - 1),
                     HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_options_init(bytes, SIZE_MAX), HDP_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_given_is_all_defaults),
        cmocka_unit_test(sizes),
        cmocka_unit_test(a_newer_field_that_is_used_is_refused),
        cmocka_unit_test(arrays_step_by_the_first_size),
        cmocka_unit_test(results_fit_the_callers_struct),
        cmocka_unit_test(init_sets_any_struct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
