/* The blocked product against the plain triple loop, byte for byte: the order
 * of every element's sum is promised, so no tolerance is needed. */
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

static uint64_t seed = 88172645463325252u;

static double noise(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(int64_t)seed * 0x1p-63;
}

enum { SIZES = 13, DEPTHS = 6, MOST = 65, DEEPEST = 300, GAP = 3, GUARD = 77 };

/* Shapes around every tile and panel edge, and strides wider than rows. */
static const int sizes[SIZES] = {
    1, 2, 5, 6, 7, 11, 12, 13, 16, 31, 33, 64, 65
};
static const int depths[DEPTHS] = { 1, 3, 127, 128, 129, 300 };

#define GEMM_TEST(name, type, kind)                                            \
    static void name##_case(int isa, struct hdpk_product_##kind x)             \
    {                                                                          \
        for (int64_t i = 0; i < x.m * x.ldc; ++i)                              \
            x.c[i] = GUARD;                                                    \
        hdpk_product_##kind##_at(isa, &x);                                     \
        for (int64_t at = 0; at < x.m * x.ldc; ++at) {                         \
            int64_t i = at / x.ldc, j = at % x.ldc;                            \
            type wanted = j < x.n ? 0 : GUARD;                                 \
            for (int64_t p = 0; j < x.n && p < x.k; ++p)                       \
                wanted += x.a[i * x.lda + p] * x.b[p * x.ldb + j];             \
            if (x.c[at] != wanted)                                             \
                fail_msg("level %d, %dx%dx%d, row %d column %d: expected %a, " \
                         "got %a",                                             \
                         isa, (int)x.m, (int)x.n, (int)x.k, (int)i, (int)j,    \
                         (double)wanted, (double)x.c[at]);                     \
        }                                                                      \
    }                                                                          \
    static void name(void **state)                                             \
    {                                                                          \
        static type a[MOST * (DEEPEST + GAP)], b[DEEPEST * (MOST + GAP)];      \
        static type c[MOST * (MOST + GAP)];                                    \
        (void)state;                                                           \
        for (size_t i = 0; i < sizeof(a) / sizeof(*a); ++i)                    \
            a[i] = (type)noise();                                              \
        for (size_t i = 0; i < sizeof(b) / sizeof(*b); ++i)                    \
            b[i] = (type)noise();                                              \
        for (int isa = 0; isa <= hdpk_isa(); ++isa)                            \
            for (int i = 0; i < SIZES; ++i)                                    \
                for (int j = 0; j < SIZES; ++j)                                \
                    for (int k = 0; k < DEPTHS; ++k) {                         \
                        struct hdpk_product_##kind x = {                       \
                            .m = sizes[i],                                     \
                            .n = sizes[j],                                     \
                            .k = depths[k],                                    \
                            .lda = depths[k] + GAP,                            \
                            .a = a,                                            \
                            .b = b,                                            \
                            .c = c,                                            \
                            .ldb = sizes[j] + GAP,                             \
                            .ldc = sizes[j] + GAP                              \
                        };                                                     \
                        name##_case(isa, x);                                   \
                    }                                                          \
    }

GEMM_TEST(f32_equals_the_triple_loop, float, f32)
GEMM_TEST(f64_equals_the_triple_loop, double, f64)

/* Integers small enough are exact, so the right value is known in closed
 * form: row i of ones times i, column j of j, over k terms. */
static void a_product_known_in_closed_form(void **state)
{
    enum { M = 37, N = 41, K = 500 };
    static float a[M * K], b[K * N], c[M * N];
    (void)state;
    for (int i = 0; i < M * K; ++i)
        a[i] = (float)(i / K);
    for (int i = 0; i < K * N; ++i)
        b[i] = (float)(i % N);
    hdpk_gemm_f32(M, N, K, a, K, b, N, c, N);
    for (int i = 0; i < M * N; ++i)
        assert_int_equal((int)c[i], (i / N) * (i % N) * K);
}

static void nothing_to_sum_is_zero(void **state)
{
    float c[6] = { 1, 1, 1, 1, 1, 1 };
    double d[2] = { 1, 1 };
    (void)state;
    hdpk_gemm_f32(2, 2, 0, NULL, 0, NULL, 2, c, 3);
    assert_true(c[0] == 0 && c[1] == 0 && c[2] == 1);
    assert_true(c[3] == 0 && c[4] == 0 && c[5] == 1);
    hdpk_gemm_f64(1, 1, 0, NULL, 0, NULL, 1, d, 1);
    assert_true(d[0] == 0 && d[1] == 1);
    hdpk_gemm_f32(0, 2, 3, NULL, 3, NULL, 2, c, 3);
    hdpk_gemm_f32(2, 0, 0, NULL, 0, NULL, 0, c, 3);
    assert_true(c[2] == 1);
}

static void nan_is_not_multiplied_away(void **state)
{
    float a[2] = { 0, 1 }, b[2] = { NAN, 1 }, c[1];
    (void)state;
    hdpk_gemm_f32(1, 1, 2, a, 2, b, 1, c, 1);
    assert_true(isnan(c[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_equals_the_triple_loop),
        cmocka_unit_test(f64_equals_the_triple_loop),
        cmocka_unit_test(a_product_known_in_closed_form),
        cmocka_unit_test(nothing_to_sum_is_zero),
        cmocka_unit_test(nan_is_not_multiplied_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
