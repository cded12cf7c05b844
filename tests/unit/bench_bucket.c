/* The bucket that works without gradients reduce: what is told from the right
 * mean, with means by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "work/bucket.h"

enum { MEMBERS = 3, ELEMENTS = 20, NUMBERS = 17 };

static const int64_t items[MEMBERS] = { 6, 1, 3 }; /* mean of m: 0.7 */

static float *values_of(const struct bucket *bucket, int member)
{
    return bucket_table(bucket)->recv[member];
}

static void put_means(struct bucket *bucket)
{
    for (int m = 0; m < MEMBERS; ++m)
        for (int i = 0; i < ELEMENTS; ++i)
            values_of(bucket, m)[i] = (float)(i % NUMBERS - 8 + 0.7);
}

static struct bucket *make(void)
{
    struct bucket *bucket = bucket_create(ELEMENTS * 4, MEMBERS, NULL);
    const hdp_buffers *table;

    assert_non_null(bucket);
    table = bucket_table(bucket);
    assert_int_equal(table->tensor_count, 1);
    assert_int_equal(table->elements[0], ELEMENTS);
    assert_int_equal(table->dtype, HDP_F32);
    assert_int_equal(table->op, HDP_OP_MEAN);
    assert_null(table->send);
    return bucket;
}

static void the_mean_is_right(void **state)
{
    struct bucket *bucket = make();

    (void)state;
    put_means(bucket);
    assert_true(bucket_error(bucket, items) < 1e-6);
    bucket_destroy(bucket);
}

static void anything_else_is_wrong(void **state)
{
    static const int64_t others[MEMBERS] = { 1, 1, 1 };
    struct bucket *bucket = make();

    (void)state;
    assert_true(bucket_error(bucket, items) > 0.05); /* not reduced */
    put_means(bucket);
    assert_true(bucket_error(bucket, others) > 0.01); /* other weights */
    for (int m = 0; m < MEMBERS; ++m)
        for (int i = 0; i < ELEMENTS; i += ELEMENTS - 1) {
            put_means(bucket);
            values_of(bucket, m)[i] += 0.001f;
            assert_true(bucket_error(bucket, items) > 1e-5);
            values_of(bucket, m)[i] = NAN;
            assert_false(bucket_error(bucket, items) <= 1e-6);
        }
    put_means(bucket);
    bucket_fill(bucket);
    assert_true(bucket_error(bucket, items) > 0.05); /* as before a step */
    bucket_destroy(bucket);
    bucket_destroy(NULL);
}

static void too_much_is_no_memory(void **state)
{
    (void)state;
    assert_null(bucket_create(INT64_MAX / 4 * 4, 1, NULL));
    assert_null(
        bucket_create(INT64_C(1) << 46, 2, NULL)); /* 64 TiB, of pages */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_is_right),
        cmocka_unit_test(anything_else_is_wrong),
        cmocka_unit_test(too_much_is_no_memory),
    };

    return cmocka_run_group_tests_name("bench_bucket", tests, NULL, NULL);
}
