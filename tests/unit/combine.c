/* The combine kernel: every type and operation against plain sums written
 * here, the numbers of users' reports, and the edges of each type. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "isa.h"
#include "kernels.h"
#include "product.h"

enum { SOURCES = 8, ROOM = 1600, GUARD = 0x5a };

static uint64_t seed = 88172645463325252u;

static uint64_t noise(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static double read_at(const void *data, int32_t dtype, int64_t i)
{
    switch (dtype) {
    case HDP_F64:
        return ((const double *)data)[i];
    case HDP_F16:
        return hdpk_from_f16(((const uint16_t *)data)[i]);
    case HDP_BF16:
        return hdpk_from_bf16(((const uint16_t *)data)[i]);
    case HDP_I32:
        return ((const int32_t *)data)[i];
    case HDP_U8:
        return ((const uint8_t *)data)[i];
    case HDP_I8:
        return ((const int8_t *)data)[i];
    default:
        return (double)((const float *)data)[i];
    }
}

static void write_at(void *data, int32_t dtype, int64_t i, double value)
{
    switch (dtype) {
    case HDP_F64:
        ((double *)data)[i] = value;
        break;
    case HDP_F16:
        ((uint16_t *)data)[i] = hdpk_to_f16(value);
        break;
    case HDP_BF16:
        ((uint16_t *)data)[i] = hdpk_to_bf16(value);
        break;
    case HDP_I32:
        ((int32_t *)data)[i] = (int32_t)value;
        break;
    case HDP_U8:
        ((uint8_t *)data)[i] = (uint8_t)value;
        break;
    case HDP_I8:
        ((int8_t *)data)[i] = (int8_t)value;
        break;
    default:
        ((float *)data)[i] = (float)value;
        break;
    }
}

/* Half a unit in the last place at a value, relative to its size. */
static double rounding_of(int32_t dtype)
{
    return dtype == HDP_F16    ? 0x1p-11
           : dtype == HDP_BF16 ? 0x1p-8
           : dtype == HDP_F64  ? 0x1p-53
                               : 0x1p-24;
}

/* The smallest step of the type: what is below it may be lost. */
static double step_of(int32_t dtype)
{
    return dtype == HDP_F16    ? 0x1p-24
           : dtype == HDP_BF16 ? 0x1p-133
           : dtype == HDP_F64  ? 0x1p-1074
                               : 0x1p-149;
}

/* One element by the definition, in long double; *size sums |weight x|. */
static long double defined(const struct hdpk_combine *job, int64_t i,
                           long double *size)
{
    long double sum = 0;
    *size = 0;
    for (int s = 0; s < job->source_count; ++s) {
        long double x = read_at(job->sources[s], job->dtype, i);
        long double weight = 1;
        if (job->op == HDP_OP_MEAN)
            weight = (long double)job->counts[s] / (long double)job->total;
        if (job->op == HDP_OP_SUM_OVER_TOTAL)
            weight = 1 / (long double)job->total;
        if (job->op == HDP_OP_MIN)
            sum = s == 0 || x < sum ? x : sum;
        else if (job->op == HDP_OP_MAX)
            sum = s == 0 || x > sum ? x : sum;
        else
            sum += weight * x;
        *size += fabsl(weight * x);
    }
    return sum;
}

static void check_floats(const struct hdpk_combine *job, const void *before,
                         int64_t stride, int isa)
{
    const void *old[SOURCES];
    struct hdpk_combine copy = *job;
    int32_t dtype = job->dtype;
    for (int s = 0; s < job->source_count; ++s)
        old[s] = (const char *)before + s * stride;
    copy.sources = old;
    for (int64_t i = job->first; i < job->first + job->count; ++i) {
        long double size, wanted = defined(&copy, i, &size);
        double got = read_at(job->targets[0], dtype, i);
        int order = job->op == HDP_OP_MIN || job->op == HDP_OP_MAX;
        double units = order              ? 0
                       : dtype == HDP_F64 ? job->source_count + 1
                                          : 1.0001;
        long double bound = units * rounding_of(dtype) *
                                (dtype == HDP_F64 ? size : fabsl(wanted)) +
                            (order ? 0 : step_of(dtype)) +
                            (dtype == HDP_F64 ? 0 : size * 0x1p-49L);
        if (!(fabsl((long double)got - wanted) <= bound))
            fail_msg("level %d dtype %d op %d sources %d element %d: expected "
                     "%.17Lg +- %.3Lg, got %.17g",
                     isa, dtype, job->op, job->source_count, (int)i, wanted,
                     bound, got);
    }
}

/* A random job at an odd offset; sources are targets too when `in_place`. */
static void random_job(int isa, int32_t dtype, int32_t op, int sources,
                       int in_place)
{
    static _Alignas(64) char data[SOURCES][ROOM * 8], out[SOURCES][ROOM * 8];
    static char before[SOURCES][ROOM * 8];
    int64_t size = (int64_t)hdpk_dtype_bytes(dtype);
    const void *from[SOURCES];
    void *to[SOURCES];
    int64_t counts[SOURCES], total = 0;
    int64_t first = (int64_t)(noise() % 5), count = (int64_t)(noise() % 1500);
    struct hdpk_combine job = { dtype,  op, sources, sources, from,
                                counts, to, 0,       first,   count };
    memset(out, GUARD, sizeof(out));
    for (int s = 0; s < sources; ++s) {
        counts[s] = 1 + (int64_t)(noise() % 1000);
        total += counts[s];
        from[s] = data[s] + size; /* aligned to an element, no more */
        to[s] = (in_place ? data[s] : out[s]) + size;
        for (int64_t i = 0; i < ROOM - 1; ++i)
            write_at(data[s] + size, dtype, i,
                     ((double)(noise() >> 11) * 0x1p-53 - 0.5) * 60000);
        memcpy(before[s], data[s], sizeof(data[s]));
    }
    job.total = total;
    hdpk_combine_at(isa, &job);
    check_floats(&job, before[0] + size, sizeof(before[0]), isa);
    for (int s = 0; s < sources; ++s) {
        char *target = to[s];
        const char *rest = in_place ? before[s] + size : out[SOURCES - 1];
        int64_t end = (first + count) * size;
        assert_memory_equal(target + first * size, (char *)to[0] + first * size,
                            (size_t)(count * size));
        assert_memory_equal(target, rest, (size_t)(first * size));
        assert_memory_equal(target + end, rest + end, 64);
        if (!in_place)
            assert_memory_equal(data[s], before[s], sizeof(data[s]));
    }
}

static void floats_against_the_definition(void **state)
{
    const int32_t dtypes[] = { HDP_F32, HDP_TF32, HDP_F16, HDP_BF16, HDP_F64 };
    (void)state;
    for (int isa = 0; isa <= (hdpk_isa() ? 1 : 0); ++isa)
        for (size_t d = 0; d < 5; ++d)
            for (int32_t op = HDP_OP_MEAN; op <= HDP_OP_SUM_OVER_TOTAL; ++op)
                for (int sources = 1; sources < SOURCES; ++sources)
                    for (int in_place = 0; in_place < 2; ++in_place) {
                        if (op == HDP_OP_SUM && dtypes[d] == HDP_F16)
                            continue; /* leaves the range: tested apart */
                        random_job(isa, dtypes[d], op, sources, in_place);
                    }
}

/* Integers by 64-bit arithmetic modulo 2^bits. */
#define INTEGER_TEST(name, type, dtype_id)                                     \
    static void name(void **state)                                             \
    {                                                                          \
        static type data[3][ROOM], out[ROOM];                                  \
        const void *from[3] = { data[0], data[1], data[2] };                   \
        void *to[1] = { out };                                                 \
        const int32_t ops[] = { HDP_OP_SUM, HDP_OP_MIN, HDP_OP_MAX };          \
        (void)state;                                                           \
        for (int i = 0; i < 3 * ROOM; ++i)                                     \
            data[i / ROOM][i % ROOM] = (type)noise();                          \
        for (int k = 0; k < 3; ++k)                                            \
            for (int isa = 0; isa <= (hdpk_isa() ? 1 : 0); ++isa) {            \
                struct hdpk_combine job = { dtype_id, ops[k], 3, 1, from,      \
                                            NULL,     to,     0, 0, ROOM };    \
                hdpk_combine_at(isa, &job);                                    \
                for (int i = 0; i < ROOM; ++i) {                               \
                    type a = data[0][i], b = data[1][i], c = data[2][i];       \
                    type low = a < b ? a : b, high = a > b ? a : b;            \
                    type wanted =                                              \
                        (type)((uint64_t)a + (uint64_t)b + (uint64_t)c);       \
                    if (k == 1)                                                \
                        wanted = low < c ? low : c;                            \
                    if (k == 2)                                                \
                        wanted = high > c ? high : c;                          \
                    assert_true(out[i] == wanted);                             \
                }                                                              \
            }                                                                  \
    }
INTEGER_TEST(i32_wraps, int32_t, HDP_I32)
INTEGER_TEST(i64_wraps, int64_t, HDP_I64)
INTEGER_TEST(u8_wraps, uint8_t, HDP_U8)
INTEGER_TEST(i8_wraps, int8_t, HDP_I8)

static double one(int32_t dtype, int32_t op, int count, const double *values,
                  const int64_t *counts)
{
    double data[SOURCES], out = 0;
    const void *from[SOURCES];
    void *to[1] = { &out };
    struct hdpk_combine job = {
        dtype, op, count, 1, from, counts, to, 0, 0, 1
    };
    for (int s = 0; s < count; ++s) {
        write_at(&data[s], dtype, 0, values[s]);
        from[s] = &data[s];
        job.total += counts ? counts[s] : 0;
    }
    hdpk_combine(&job);
    return read_at(&out, dtype, 0);
}

#define VALUES(...)                                                            \
    (const double[])                                                           \
    {                                                                          \
        __VA_ARGS__                                                            \
    }
#define COUNTS(...)                                                            \
    (const int64_t[])                                                          \
    {                                                                          \
        __VA_ARGS__                                                            \
    }

static void numbers_of_the_reports(void **state)
{
    const double big = 30000, tiny = 6e-8;
    double got;
    (void)state;
    assert_true(one(HDP_F32, HDP_OP_MEAN, 2, VALUES(2, 6), COUNTS(3, 1)) == 3);
    assert_true(
        one(HDP_F32, HDP_OP_MEAN, 3, VALUES(1, 2, 3), COUNTS(5, 2, 1)) == 1.5);
    assert_true(one(HDP_F32, HDP_OP_SUM_OVER_TOTAL, 3, VALUES(5, 4, 3),
                    COUNTS(5, 2, 1)) == 1.5);
    assert_true(one(HDP_F16, HDP_OP_MEAN, 4, VALUES(big, big, big, big),
                    COUNTS(1, 1, 1, 1)) == big);
    got = one(HDP_F16, HDP_OP_MEAN, 2, VALUES(60000, 60000), COUNTS(3, 1));
    assert_true(fabs(got - 60000) <= 32);
    assert_true(one(HDP_BF16, HDP_OP_MEAN, 2, VALUES(1, 2), COUNTS(1, 1)) ==
                1.5);
    assert_true(one(HDP_BF16, HDP_OP_MEAN, 2, VALUES(4, 8), COUNTS(1, 3)) == 7);
    got = one(HDP_F16, HDP_OP_MEAN, 4, VALUES(tiny, tiny, tiny, tiny),
              COUNTS(1, 1, 1, 1));
    assert_true(got == 0x1p-24); /* 6e-8 is the smallest f16 */
    got = one(HDP_F16, HDP_OP_MEAN, 2, VALUES(tiny, 0), COUNTS(3, 1));
    assert_true(got == 0x1p-24);
}

/* Thirds cannot be held exactly; the stated bound is (n + 1) roundings. */
static void thirds_within_the_bound(void **state)
{
    const int32_t dtypes[] = { HDP_F32, HDP_F64 };
    (void)state;
    for (int d = 0; d < 2; ++d)
        for (int i = 0; i < 2000; ++i) {
            double x[3];
            long double wanted = 0, size = 0;
            double got;
            for (int s = 0; s < 3; ++s) {
                write_at(&x[s], dtypes[d], 0, (double)(int64_t)noise() * 1e-9);
                x[s] = read_at(&x[s], dtypes[d], 0);
                wanted += (long double)x[s] / 3;
                size += fabsl((long double)x[s]) / 3;
            }
            got = one(dtypes[d], HDP_OP_MEAN, 3, x, COUNTS(1, 1, 1));
            assert_true(fabsl(got - wanted) <=
                        4 * rounding_of(dtypes[d]) * size);
        }
}

/* A mean of numbers in range is in range. */
static void nothing_overflows_that_the_mean_would_not(void **state)
{
    const double most = DBL_MAX;
    double ten[8];
    int64_t counts[8];
    (void)state;
    for (int s = 0; s < 8; ++s) {
        ten[s] = most;
        counts[s] = 10 + s;
    }
    for (int n = 1; n <= 8; ++n) {
        double got = one(HDP_F64, HDP_OP_MEAN, n, ten, counts);
        assert_true(got <= most && got >= most * (1 - 1e-15));
        got = one(HDP_F32, HDP_OP_MEAN, n,
                  VALUES(FLT_MAX, FLT_MAX, FLT_MAX, FLT_MAX, FLT_MAX, FLT_MAX,
                         FLT_MAX, FLT_MAX),
                  counts);
        assert_true(got == FLT_MAX);
    }
    /* The sum passes the range before it is divided. */
    assert_true(one(HDP_F64, HDP_OP_SUM_OVER_TOTAL, 2, VALUES(most, most),
                    COUNTS(1, 1)) == most);
    assert_true(one(HDP_F64, HDP_OP_SUM_OVER_TOTAL, 2, VALUES(-most, -most),
                    COUNTS(3, 1)) == -most / 2);
    assert_true(
        isinf(one(HDP_F64, HDP_OP_SUM, 2, VALUES(most, most), COUNTS(1, 1))));
    assert_true(isinf(one(HDP_F16, HDP_OP_SUM, 3, VALUES(30000, 30000, 30000),
                          COUNTS(1, 1, 1))));
}

static void nan_and_infinity_stay_visible(void **state)
{
    const int32_t dtypes[] = { HDP_F32, HDP_F16, HDP_BF16, HDP_F64 };
    (void)state;
    for (int d = 0; d < 4; ++d)
        for (int32_t op = HDP_OP_MEAN; op <= HDP_OP_SUM_OVER_TOTAL; ++op)
            for (int at = 0; at < 3; ++at) {
                double x[3] = { 1, 2, 3 };
                x[at] = NAN;
                assert_true(isnan(one(dtypes[d], op, 3, x, COUNTS(3, 1, 2))));
                assert_true(isnan(one(dtypes[d], op, 2, x, COUNTS(3, 1))) ==
                            (at < 2));
            }
    assert_true(one(HDP_F64, HDP_OP_MEAN, 2, VALUES(INFINITY, 1),
                    COUNTS(1, 1)) == INFINITY);
    assert_true(one(HDP_F32, HDP_OP_MIN, 2, VALUES(-INFINITY, 1),
                    COUNTS(1, 1)) == -INFINITY);
}

static void without_sources_comes_the_identity(void **state)
{
    const int32_t floats[] = { HDP_F32, HDP_F16, HDP_BF16, HDP_F64 };
    (void)state;
    for (int d = 0; d < 4; ++d) {
        assert_true(one(floats[d], HDP_OP_MEAN, 0, NULL, NULL) == 0);
        assert_true(one(floats[d], HDP_OP_SUM, 0, NULL, NULL) == 0);
        assert_true(one(floats[d], HDP_OP_SUM_OVER_TOTAL, 0, NULL, NULL) == 0);
        assert_true(one(floats[d], HDP_OP_MIN, 0, NULL, NULL) == INFINITY);
        assert_true(one(floats[d], HDP_OP_MAX, 0, NULL, NULL) == -INFINITY);
    }
    assert_true(one(HDP_I32, HDP_OP_SUM, 0, NULL, NULL) == 0);
    assert_true(one(HDP_I32, HDP_OP_MIN, 0, NULL, NULL) == INT32_MAX);
    assert_true(one(HDP_I8, HDP_OP_MAX, 0, NULL, NULL) == INT8_MIN);
    assert_true(one(HDP_U8, HDP_OP_MIN, 0, NULL, NULL) == UINT8_MAX);
}

static void what_is_supported(void **state)
{
    (void)state;
    for (int32_t dtype = -1; dtype <= 11; ++dtype)
        for (int32_t op = -1; op <= 6; ++op) {
            int known = dtype >= HDP_F32 && dtype <= HDP_I8;
            int mean = op == HDP_OP_MEAN || op == HDP_OP_SUM_OVER_TOTAL;
            int wanted = known && op >= 0 && op <= HDP_OP_SUM_OVER_TOTAL &&
                         !(mean && dtype >= HDP_I32);
            assert_int_equal(hdpk_combine_supported(dtype, op), wanted);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_against_the_definition),
        cmocka_unit_test(i32_wraps),
        cmocka_unit_test(i64_wraps),
        cmocka_unit_test(u8_wraps),
        cmocka_unit_test(i8_wraps),
        cmocka_unit_test(numbers_of_the_reports),
        cmocka_unit_test(thirds_within_the_bound),
        cmocka_unit_test(nothing_overflows_that_the_mean_would_not),
        cmocka_unit_test(nan_and_infinity_stay_visible),
        cmocka_unit_test(without_sources_comes_the_identity),
        cmocka_unit_test(what_is_supported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
