/* The 16-bit floats against two independent readings of their definition:
 * values by ldexp(), rounding by a search for the nearest code. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "kernels.h"

/* A format by its definition: digits of the mantissa, bias, largest code. */
struct format {
    const char *name;
    int digits, bias;
    uint16_t infinity;
    double (*from)(uint16_t bits);
    uint16_t (*to)(double value);
};

static const struct format formats[] = {
    { "f16", 10, 15, 0x7c00, hdpk_from_f16, hdpk_to_f16 },
    { "bf16", 7, 127, 0x7f80, hdpk_from_bf16, hdpk_to_bf16 },
};

static double defined_value(const struct format *f, uint16_t code)
{
    int exponent = (code & 0x7fff) >> f->digits;
    int mantissa = code & ((1 << f->digits) - 1);
    double size;
    if (exponent == 0)
        size = ldexp(mantissa, 1 - f->bias - f->digits);
    else
        size =
            ldexp((1 << f->digits) + mantissa, exponent - f->bias - f->digits);
    return code & 0x8000 ? -size : size;
}

/* What comes after the largest finite code, as if the exponent went on. */
static double above(const struct format *f, uint16_t code)
{
    if (code + 1 < f->infinity)
        return defined_value(f, (uint16_t)(code + 1));
    return ldexp(1.0, f->infinity >> f->digits) * ldexp(1.0, -f->bias);
}

/* Nearest code of a positive value, ties to the even code, by bisection. */
static uint16_t nearest(const struct format *f, double value)
{
    uint16_t low = 0, high = f->infinity;
    double middle;
    while (high - low > 1) {
        uint16_t half = (uint16_t)((low + high) / 2);
        if (defined_value(f, half) <= value)
            low = half;
        else
            high = half;
    }
    middle = (defined_value(f, low) + above(f, low)) / 2; /* exact */
    if (value > middle || (value == middle && (low & 1)))
        return (uint16_t)(low + 1);
    return low;
}

static void expect_code(const struct format *f, double value, uint16_t wanted)
{
    uint16_t got = f->to(value);
    if (got != wanted)
        fail_msg("%s of %a: expected %04x, got %04x", f->name, value, wanted,
                 got);
    got = f->to(-value);
    if (got != (wanted | 0x8000))
        fail_msg("%s of %a: expected %04x, got %04x", f->name, -value,
                 wanted | 0x8000, got);
}

static void every_code_there_and_back(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; ++k)
        for (uint32_t code = 0; code < 65536; ++code) {
            const struct format *f = &formats[k];
            double value = f->from((uint16_t)code);
            uint16_t size = code & 0x7fff;
            if (size > f->infinity) {
                assert_true(isnan(value));
                assert_true((f->to(value) & 0x7fff) > f->infinity);
                continue;
            }
            if (size == f->infinity)
                assert_true(isinf(value) && !signbit(value) == !(code >> 15));
            else if (value != defined_value(f, (uint16_t)code))
                fail_msg("%s %04x: expected %a, got %a", f->name, code,
                         defined_value(f, (uint16_t)code), value);
            assert_int_equal(f->to(value), code);
        }
}

static void ties_and_their_neighbours(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; ++k)
        for (uint16_t code = 0; code < formats[k].infinity; ++code) {
            const struct format *f = &formats[k];
            uint16_t next = (uint16_t)(code + 1);
            double tie = (defined_value(f, code) + above(f, code)) / 2;
            expect_code(f, tie, code & 1 ? next : code);
            expect_code(f, nextafter(tie, 0.0), code);
            expect_code(f, nextafter(tie, INFINITY), next);
        }
}

static void any_double_goes_to_the_nearest(void **state)
{
    uint64_t random = 0x9e3779b97f4a7c15u;
    (void)state;
    for (int i = 0; i < 400000; ++i) {
        double value;
        const struct format *f = &formats[i & 1];
        random = random * 6364136223846793005u + 1442695040888963407u;
        value = ldexp(1.0 + (double)(random >> 12) * 0x1p-52,
                      (int)(random % 300) - 160);
        expect_code(f, value, nearest(f, value));
    }
}

static void the_far_ends(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; ++k) {
        const struct format *f = &formats[k];
        expect_code(f, 0.0, 0);
        expect_code(f, 0x1p-1074, 0);
        expect_code(f, 0x1.fffffffffffffp1023, f->infinity);
        expect_code(f, INFINITY, f->infinity);
        assert_true((f->to(NAN) & 0x7fff) > f->infinity);
        assert_true((f->to(-NAN) & 0x7fff) > f->infinity);
    }
    assert_int_equal(hdpk_to_f16(65504.0), 0x7bff);
    assert_int_equal(hdpk_to_f16(65519.999), 0x7bff);
    assert_int_equal(hdpk_to_f16(65520.0), 0x7c00);
    assert_int_equal(hdpk_to_f16(6e-8), 0x0001);
    assert_int_equal(hdpk_to_bf16(1.0 / 3.0), 0x3eab);
}

/* A double that rounds to a float first and then to f16 would go up. */
static void one_rounding_not_two(void **state)
{
    (void)state;
    assert_int_equal(hdpk_to_f16(1.0 + 0x1p-11 - 0x1p-40), 0x3c00);
    assert_int_equal(hdpk_to_f16(1.0 + 0x1p-11 + 0x1p-40), 0x3c01);
    assert_int_equal(hdpk_to_bf16(1.0 + 0x1p-8 + 0x1p-40), 0x3f81);
}

static void bytes_of_each_type(void **state)
{
    const size_t wanted[] = { 0, 4, 4, 2, 2, 8, 4, 8, 1, 1, 0 };
    (void)state;
    for (int32_t dtype = 0; dtype <= 10; ++dtype)
        assert_int_equal(hdpk_dtype_bytes(dtype), wanted[dtype]);
    assert_int_equal(hdpk_dtype_bytes(-1), 0);
}

static void poison_marks_floats_only(void **state)
{
    double f64[3] = { 1, 2, 3 };
    float f32[3] = { 1, 2, 3 };
    uint16_t f16[3] = { 1, 2, 3 }, bf16[3] = { 1, 2, 3 };
    int32_t i32[3] = { 1, 2, 3 };
    (void)state;
    hdpk_poison(f64, HDP_F64, 1, 1);
    hdpk_poison(f32, HDP_F32, 1, 1);
    hdpk_poison(f16, HDP_F16, 1, 1);
    hdpk_poison(bf16, HDP_BF16, 1, 1);
    hdpk_poison(i32, HDP_I32, 0, 3);
    assert_true(f64[0] == 1 && isnan(f64[1]) && f64[2] == 3);
    assert_true(f32[0] == 1 && isnan(f32[1]) && f32[2] == 3);
    assert_true(f16[0] == 1 && isnan(hdpk_from_f16(f16[1])) && f16[2] == 3);
    assert_true(bf16[0] == 1 && isnan(hdpk_from_bf16(bf16[1])) && bf16[2] == 3);
    assert_true(i32[0] == 1 && i32[1] == 2 && i32[2] == 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_there_and_back),
        cmocka_unit_test(ties_and_their_neighbours),
        cmocka_unit_test(any_double_goes_to_the_nearest),
        cmocka_unit_test(the_far_ends),
        cmocka_unit_test(one_rounding_not_two),
        cmocka_unit_test(bytes_of_each_type),
        cmocka_unit_test(poison_marks_floats_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
