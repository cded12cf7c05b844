/* Data for the kernels' tests: runs of elements at odd places in memory of
 * exactly their size, with every kind of value in them, and the floats by their
 * definition. */
#ifndef KERNELS_DATA_H
#define KERNELS_DATA_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "chance.h"
#include "kernels.h"
#include "kernels_twin.h"
#include "launch.h"

/* ---- floats by definition -------------------------------------------------- */

static inline int data_digits(int32_t dtype)
{
    return dtype == HDP_F16 ? 10 : 7;
}

static inline int data_bias(int32_t dtype)
{
    return dtype == HDP_F16 ? 15 : 127;
}

static inline uint16_t data_infinity(int32_t dtype)
{
    return dtype == HDP_F16 ? 0x7c00 : 0x7f80;
}

/* A 16-bit code as a number; past the largest as if the exponent went on. */
static inline long double data_value16(int32_t dtype, uint16_t code)
{
    int digits = data_digits(dtype), bias = data_bias(dtype);
    int exponent = (code & 0x7fff) >> digits;
    int mantissa = code & ((1 << digits) - 1);
    long double size = exponent == 0 ? ldexpl(mantissa, 1 - bias - digits)
                                     : ldexpl((1 << digits) + mantissa,
                                              exponent - bias - digits);
    return code & 0x8000 ? -size : size;
}

/* The same with what stands past the largest: infinity and NaN. */
static inline long double data_number16(int32_t dtype, uint16_t code)
{
    uint16_t size = code & 0x7fff;
    if (size < data_infinity(dtype))
        return data_value16(dtype, code);
    if (size > data_infinity(dtype))
        return (long double)NAN;
    return code & 0x8000 ? -(long double)INFINITY : (long double)INFINITY;
}

/* The nearest code, ties to the even one, by bisection. */
static inline uint16_t data_nearest16(int32_t dtype, long double x)
{
    uint16_t low = 0, high = data_infinity(dtype);
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    long double middle, size = fabsl(x);
    if (isnan(x))
        return (uint16_t)(data_infinity(dtype) + 1);
    while (high - low > 1) {
        uint16_t half = (uint16_t)((low + high) / 2);
        if (data_value16(dtype, half) <= size)
            low = half;
        else
            high = half;
    }
    middle = (data_value16(dtype, low) + data_value16(dtype, high)) / 2;
    if (size > middle || (size == middle && (low & 1)))
        low = high;
    return low | sign;
}

/* The nearest f32, ties to the even one, among a guess and its neighbours. */
static inline float data_nearest32(long double x)
{
    float best = (float)x, near[2];
    if (isnan(x) || isinf(x) || fabsl(x) >= 0x1.ffffffp127L)
        return isnan(x) ? NAN : copysignf(INFINITY, x > 0 ? 1.0F : -1.0F);
    near[0] = nextafterf(best, -INFINITY);
    near[1] = nextafterf(best, INFINITY);
    for (int k = 0; k < 2; ++k) {
        long double now = fabsl(x - best), then = fabsl(x - near[k]);
        uint32_t bits;
        memcpy(&bits, &near[k], sizeof bits);
        if (!isinf(near[k]) && (then < now || (then == now && !(bits & 1))))
            best = near[k];
    }
    return best == 0 ? copysignf(best, signbit(x) ? -1.0F : 1.0F) : best;
}

static inline long double data_at(const void *data, int32_t dtype, int64_t i)
{
    switch (dtype) {
    case HDP_F64:
        return ((const double *)data)[i];
    case HDP_F16:
    case HDP_BF16:
        return data_number16(dtype, ((const uint16_t *)data)[i]);
    case HDP_I32:
        return ((const int32_t *)data)[i];
    case HDP_I64:
        return ((const int64_t *)data)[i];
    case HDP_U8:
        return ((const uint8_t *)data)[i];
    case HDP_I8:
        return ((const int8_t *)data)[i];
    default:
        return ((const float *)data)[i];
    }
}

/* ---- runs of elements ------------------------------------------------------ */

struct data_run {
    unsigned char *memory;
    void *data; /* element 0 */
    size_t bytes;
};

/* `count` elements that begin at some multiple of their size behind 16 bytes;
 * what is before and behind them is not ours. */
static inline struct data_run data_make(int32_t dtype, int64_t count)
{
    size_t size = hdpk_dtype_bytes(dtype);
    size_t lead = (size_t)chance_draw(0, (int)(16 / size) - 1) * size;
    struct data_run run;
    run.bytes = (size_t)count * size;
    run.memory = twin_alloc(lead + run.bytes);
    run.data = run.memory + lead;
    return run;
}

static inline void data_drop(struct data_run *run)
{
    twin_free(run->memory);
    run->memory = NULL;
}

static inline struct data_run data_copy(int32_t dtype,
                                        const struct data_run *from)
{
    struct data_run run =
        data_make(dtype, (int64_t)(from->bytes / hdpk_dtype_bytes(dtype)));
    memcpy(run.data, from->data, run.bytes);
    return run;
}

/* Half of the elements are of moderate size, some are zeros of either sign,
 * the ends of the range, infinities; the rest any bits, NaN and subnormals
 * among them. */
static inline void data_draw(void *data, int32_t dtype, int64_t count)
{
    static const double ends[] = { 0.0,
                                   -0.0,
                                   INFINITY,
                                   -INFINITY,
                                   1.0,
                                   -1.0,
                                   0x1p-149,
                                   0x1p-24,
                                   65504.0,
                                   0x1.fffffep127,
                                   0x1.fffffffffffffp1023 };
    size_t size = hdpk_dtype_bytes(dtype);
    for (int64_t i = 0; i < count; ++i) {
        unsigned char *at = (unsigned char *)data + (size_t)i * size;
        double value =
            chance_of(30) ? ends[chance_draw(0, 10)] : chance_real(-1000, 1000);
        float single = (float)value;
        uint64_t bits = chance_next();
        int any = chance_of(30) ||
                  (dtype != HDP_F32 && dtype != HDP_TF32 && dtype != HDP_F64 &&
                   dtype != HDP_F16 && dtype != HDP_BF16);
        if (!any && dtype == HDP_F64)
            memcpy(&bits, &value, 8);
        else if (!any && (dtype == HDP_F32 || dtype == HDP_TF32))
            memcpy(&bits, &single, 4);
        else if (!any)
            bits = data_nearest16(dtype, value);
        memcpy(at, &bits, size); /* little-endian */
    }
}

/* The first element that differs, or -1; any NaN is as good as another. */
static inline int64_t data_differs(const void *a, const void *b, int32_t dtype,
                                   int64_t count)
{
    size_t size = hdpk_dtype_bytes(dtype);
    for (int64_t i = 0; i < count; ++i)
        if (memcmp((const char *)a + (size_t)i * size,
                   (const char *)b + (size_t)i * size, size) != 0 &&
            !(isnan(data_at(a, dtype, i)) && isnan(data_at(b, dtype, i))))
            return i;
    return -1;
}

/* A count that is small, ragged or long, and part of it. */
static inline int64_t data_count(void)
{
    return chance_of(50) ? chance_draw(0, 40) : chance_draw(41, 700);
}

static inline void data_launch(int32_t kernel, const void *args)
{
    twin_run(kernel, args, (unsigned)chance_draw(1, 3),
             (unsigned)chance_draw(1, 40));
}
#endif
