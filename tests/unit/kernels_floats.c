/* Accumulate, scale and convert: the host's form against the definition, and
 * the device's twin against the host's form, bit for bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "kernels_data.h"

enum { FLOATS = 5 };
static const int32_t floats[FLOATS] = { HDP_F32, HDP_TF32, HDP_F16, HDP_BF16,
                                        HDP_F64 };

/* The nearest element as a number. */
static long double nearest(int32_t dtype, long double x)
{
    if (dtype == HDP_F64)
        return (double)x;
    if (dtype == HDP_F32 || dtype == HDP_TF32)
        return data_nearest32(x);
    return data_number16(dtype, data_nearest16(dtype, x));
}

/* What a product, or a sum, is in the type that the kernels compute in. */
static long double computed(int32_t dtype, long double x)
{
    return dtype == HDP_F64 ? (long double)(double)x
                            : (long double)data_nearest32(x);
}

static void expect(const char *what, int32_t dtype, int64_t i,
                   long double wanted, long double got)
{
    /* Long double may round a product of f64 twice. */
    long double slack = dtype == HDP_F64 ? fabsl(wanted) * 0x1p-52L : 0;
    if (isnan(wanted) ? isnan(got) : got == wanted)
        return;
    if (slack > 0 && fabsl(got - wanted) <= slack)
        return;
    fail_msg("%s, dtype %d, element %lld: expected %.21Lg, got %.21Lg", what,
             dtype, (long long)i, wanted, got);
}

static double draw_weight(void)
{
    return chance_of(20) ? 0x1p-20 : chance_real(-2, 2);
}

static void accumulate_by_definition(void **state)
{
    (void)state;
    for (int round = 0; round < 300; ++round) {
        int32_t dtype = floats[round % FLOATS];
        int64_t count = data_count();
        struct data_run source = data_make(dtype, count);
        struct data_run target = data_make(dtype, count), before;
        struct hdpk_launch_accumulate job = { .target = target.data,
                                              .source = source.data,
                                              .weight = draw_weight(),
                                              .dtype = dtype };
        long double weight = computed(dtype, job.weight);
        job.first = chance_draw(0, (int)count);
        job.count = count - job.first;
        data_draw(source.data, dtype, count);
        data_draw(target.data, dtype, count);
        before = data_copy(dtype, &target);
        hdpk_host_accumulate(&job);
        for (int64_t i = 0; i < count; ++i) {
            long double old = data_at(before.data, dtype, i), product, wanted;
            product = computed(dtype, weight * data_at(source.data, dtype, i));
            wanted = nearest(dtype, computed(dtype, old + product));
            if (i < job.first)
                wanted = old;
            if (dtype == HDP_F64 && fabsl(product + old) < fabsl(old))
                continue; /* cancels: the slack would have to be absolute */
            expect("accumulate", dtype, i, wanted,
                   data_at(target.data, dtype, i));
        }
        data_drop(&source);
        data_drop(&target);
        data_drop(&before);
    }
}

static void accumulate_on_the_device(void **state)
{
    (void)state;
    for (int round = 0; round < 1500; ++round) {
        int32_t dtype = floats[round % FLOATS];
        int64_t count = data_count(), at;
        struct data_run source = data_make(dtype, count);
        struct data_run host = data_make(dtype, count), twin;
        struct hdpk_launch_accumulate job = { .source = source.data,
                                              .weight = draw_weight(),
                                              .dtype = dtype };
        job.first = chance_draw(0, (int)count);
        job.count = chance_draw(0, (int)(count - job.first));
        data_draw(source.data, dtype, count);
        data_draw(host.data, dtype, count);
        twin = data_copy(dtype, &host);
        job.target = host.data;
        if (chance_of(20))
            job.source = host.data;
        hdpk_host_accumulate(&job);
        job.source = job.source == host.data ? twin.data : job.source;
        job.target = twin.data;
        data_launch(HDPK_ACCUMULATE, &job);
        at = data_differs(host.data, twin.data, dtype, count);
        if (at >= 0)
            fail_msg("dtype %d, element %lld of %lld: the twin's differs",
                     dtype, (long long)at, (long long)count);
        data_drop(&source);
        data_drop(&host);
        data_drop(&twin);
    }
}

static void scale_both(void **state)
{
    (void)state;
    for (int round = 0; round < 1500; ++round) {
        int32_t dtype = floats[round % FLOATS];
        int64_t count = data_count(), at;
        struct data_run before = data_make(dtype, count), host, twin;
        struct hdpk_launch_scale job = { .factor = draw_weight(),
                                         .dtype = dtype };
        long double factor = computed(dtype, job.factor);
        job.first = chance_draw(0, (int)count);
        job.count = chance_draw(0, (int)(count - job.first));
        data_draw(before.data, dtype, count);
        host = data_copy(dtype, &before);
        twin = data_copy(dtype, &before);
        job.data = host.data;
        hdpk_host_scale(&job);
        job.data = twin.data;
        data_launch(HDPK_SCALE, &job);
        at = data_differs(host.data, twin.data, dtype, count);
        if (at >= 0)
            fail_msg("dtype %d, element %lld of %lld: the twin's differs",
                     dtype, (long long)at, (long long)count);
        for (int64_t i = 0; i < count; ++i) {
            long double x = data_at(before.data, dtype, i);
            if (i >= job.first && i < job.first + job.count)
                x = nearest(dtype, computed(dtype, factor * x));
            expect("scale", dtype, i, x, data_at(host.data, dtype, i));
        }
        data_drop(&before);
        data_drop(&host);
        data_drop(&twin);
    }
}

static void convert_once(int32_t from, int32_t to)
{
    int64_t count = data_count(), at;
    struct data_run source = data_make(from, count);
    struct data_run host = data_make(to, count), twin;
    struct hdpk_launch_convert job = { .source = source.data,
                                       .target = host.data,
                                       .target_dtype = to,
                                       .source_dtype = from };
    job.first = chance_draw(0, (int)count);
    job.count = chance_draw(0, (int)(count - job.first));
    data_draw(source.data, from, count);
    data_draw(host.data, to, count);
    twin = data_copy(to, &host);
    hdpk_host_convert(&job);
    job.target = twin.data;
    data_launch(HDPK_CONVERT, &job);
    at = data_differs(host.data, twin.data, to, count);
    if (at >= 0)
        fail_msg("%d to %d, element %lld of %lld: the twin's differs", from, to,
                 (long long)at, (long long)count);
    for (int64_t i = job.first; i < job.first + job.count; ++i) {
        long double wanted = nearest(to, data_at(source.data, from, i));
        long double got = data_at(host.data, to, i);
        if (isnan(wanted) ? !isnan(got)
                          : got != wanted || !signbit(got) != !signbit(wanted))
            fail_msg("%d to %d, element %lld: expected %.17Lg, got %.17Lg",
                     from, to, (long long)i, wanted, got);
    }
    data_drop(&source);
    data_drop(&host);
    data_drop(&twin);
}

static void convert_both(void **state)
{
    (void)state;
    for (int round = 0; round < 60; ++round)
        for (int from = 0; from < FLOATS; ++from)
            for (int to = 0; to < FLOATS; ++to)
                convert_once(floats[from], floats[to]);
}

/* A double that rounds to f32 first and then to 16 bits would go up. */
static void convert_rounds_once(void **state)
{
    struct data_run values = data_make(HDP_F64, 2), run = data_make(HDP_F16, 2);
    const uint16_t *got = run.data;
    struct hdpk_launch_convert job = { .source = values.data,
                                       .target = run.data,
                                       .count = 1,
                                       .target_dtype = HDP_F16,
                                       .source_dtype = HDP_F64 };
    (void)state;
    ((double *)values.data)[0] = 1.0 + 0x1p-11 - 0x1p-40;
    ((double *)values.data)[1] = 1.0 + 0x1p-8 + 0x1p-40;
    hdpk_host_convert(&job);
    job.first = 1;
    job.target_dtype = HDP_BF16;
    data_launch(HDPK_CONVERT, &job);
    assert_int_equal(got[0], 0x3c00);
    assert_int_equal(got[1], 0x3f81);
    data_drop(&values);
    data_drop(&run);
}

/* In place, between types of one size. */
static void convert_in_place(void **state)
{
    struct data_run run = data_make(HDP_F16, 100);
    uint16_t *data = run.data, codes[100];
    struct hdpk_launch_convert job = { .source = data,
                                       .target = data,
                                       .count = 100,
                                       .target_dtype = HDP_BF16,
                                       .source_dtype = HDP_F16 };
    (void)state;
    for (int i = 0; i < 100; ++i)
        codes[i] = data[i] = (uint16_t)chance_draw(0, 0x7bff);
    data_launch(HDPK_CONVERT, &job);
    for (int i = 0; i < 100; ++i)
        assert_int_equal(
            data[i], data_nearest16(HDP_BF16, data_value16(HDP_F16, codes[i])));
    data_drop(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accumulate_by_definition),
        cmocka_unit_test(accumulate_on_the_device),
        cmocka_unit_test(scale_both),
        cmocka_unit_test(convert_both),
        cmocka_unit_test(convert_rounds_once),
        cmocka_unit_test(convert_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
