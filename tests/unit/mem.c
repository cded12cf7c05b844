/* Memory: zeroed, aligned, growing, and refusing what cannot be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/mem.h"

/* A refused size is this test's subject, not a defect. */
#define SEEN __attribute__((visibility("default")))
SEEN const char *__asan_default_options(void);
SEEN const char *__tsan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}
const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static int is_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != 0)
            return 0;
    return 1;
}

static void memory_is_zeroed(void **state)
{
    (void)state;
    for (size_t count = 0; count < 300; count += 37) {
        unsigned char *memory = hdpi_alloc(count, 3, "a test");
        assert_non_null(memory);
        assert_true(is_zero(memory, count * 3));
        memset(memory, 0xff, count * 3);
        free(memory);
    }
}

static void what_wraps_is_refused(void **state)
{
    static const struct {
        size_t count, size;
        int64_t wanted;
    } rows[] = {
        { SIZE_MAX, 2, INT64_MAX },
        { (size_t)1 << 33, (size_t)1 << 33, INT64_MAX },
        { SIZE_MAX, 1, INT64_MAX },
        { (size_t)PTRDIFF_MAX, 1, PTRDIFF_MAX },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        void *memory = hdpi_alloc(rows[i].count, rows[i].size, "rows of 7");
        if (memory)
            fail_msg("%zu x %zu: expected NULL, got memory", rows[i].count,
                     rows[i].size);
        assert_int_equal(hdpi_error()->status, HDP_ERR_MEMORY);
        assert_int_equal(hdpi_error()->wanted_bytes, rows[i].wanted);
        assert_non_null(strstr(hdp_last_error(), "rows of 7"));
    }
    assert_null(hdpi_alloc_aligned(SIZE_MAX - 3, 64, "a test"));
    assert_int_equal(hdpi_error()->wanted_bytes, INT64_MAX);
}

static void alignment(void **state)
{
    (void)state;
    for (size_t align = 1; align <= 4096; align *= 2)
        for (size_t bytes = 0; bytes < 200; bytes += 33) {
            unsigned char *memory = hdpi_alloc_aligned(bytes, align, "a test");
            assert_non_null(memory);
            if ((uintptr_t)memory % align != 0)
                fail_msg("%zu bytes at %zu: got %p", bytes, align,
                         (void *)memory);
            assert_true(is_zero(memory, bytes));
            free(memory);
        }
}

static void growing_keeps_and_zeroes(void **state)
{
    (void)state;
    int32_t *array = NULL;
    size_t capacity = 0, moves = 0;
    for (size_t i = 0; i < 10000; i++) {
        size_t before = capacity;
        assert_int_equal(
            hdpi_grow(&array, &capacity, i + 1, sizeof *array, "an array"),
            HDP_OK);
        moves += capacity != before;
        if (array[i] != 0)
            fail_msg("element %zu: expected 0, got %d", i, (int)array[i]);
        array[i] = (int32_t)i + 1;
    }
    for (size_t i = 0; i < 10000; i++)
        assert_int_equal(array[i], i + 1);
    if (moves > 30)
        fail_msg("10,000 pushes: expected at most 30 moves, got %zu", moves);
    free(array);
}

static void failed_growth_changes_nothing(void **state)
{
    (void)state;
    int64_t *array = NULL, *before;
    size_t capacity = 0;
    assert_int_equal(hdpi_grow(&array, &capacity, 1, sizeof *array, "x"),
                     HDP_OK);
    array[0] = 42;
    before = array;
    assert_int_equal(
        hdpi_grow(&array, &capacity, SIZE_MAX / 4, sizeof *array, "x"),
        HDP_ERR_MEMORY);
    assert_int_equal(
        hdpi_grow(&array, &capacity, PTRDIFF_MAX / 8, sizeof *array, "x"),
        HDP_ERR_MEMORY);
    assert_ptr_equal(array, before);
    assert_int_equal(array[0], 42);
    free(array);
}

static void sums_and_products(void **state)
{
    static const struct {
        int64_t a, b, product, sum; /* -1: refused */
    } rows[] = {
        { 0, 0, 0, 0 },
        { 3, 5, 15, 8 },
        { INT64_MAX, 1, INT64_MAX, -1 },
        { 1, INT64_MAX, INT64_MAX, -1 },
        { INT64_MAX, 0, 0, INT64_MAX },
        { INT64_C(3037000499), INT64_C(3037000499),
          INT64_C(9223372030926249001), INT64_C(6074000998) },
        { INT64_C(3037000500), INT64_C(3037000500), -1, INT64_C(6074001000) },
        { INT64_C(1) << 32, INT64_C(1) << 31, -1, INT64_C(6442450944) },
        { INT64_MAX / 2, 2, INT64_MAX - 1, INT64_MAX / 2 + 2 },
        { -1, 5, -1, -1 },
        { 5, -1, -1, -1 },
        { INT64_MIN, INT64_MIN, -1, -1 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t product = -1, sum = -1;
        hdp_status status = hdpi_mul(&product, rows[i].a, rows[i].b, "bytes");
        if (product != rows[i].product || (status == HDP_OK) != (product >= 0))
            fail_msg("%lld * %lld: expected %lld, got %lld (%d)",
                     (long long)rows[i].a, (long long)rows[i].b,
                     (long long)rows[i].product, (long long)product,
                     (int)status);
        status = hdpi_add(&sum, rows[i].a, rows[i].b, "bytes");
        if (sum != rows[i].sum || (status == HDP_OK) != (sum >= 0))
            fail_msg("%lld + %lld: expected %lld, got %lld (%d)",
                     (long long)rows[i].a, (long long)rows[i].b,
                     (long long)rows[i].sum, (long long)sum, (int)status);
        if (status != HDP_OK) {
            assert_int_equal(status, HDP_ERR_ARGUMENT);
            assert_non_null(strstr(hdp_last_error(), "bytes"));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed),
        cmocka_unit_test(what_wraps_is_refused),
        cmocka_unit_test(alignment),
        cmocka_unit_test(growing_keeps_and_zeroes),
        cmocka_unit_test(failed_growth_changes_nothing),
        cmocka_unit_test(sums_and_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
