/* Small whole numbers: their sums are exact in every type, so that a result is
 * right or wrong and no tolerance hides a lost element. */
#include "exact.h"

#include <hdp/hdp.h>
#include <math.h>
#include <string.h>

int64_t exact_size(int32_t dtype)
{
    switch (dtype) {
    case HDP_F16:
    case HDP_BF16:
        return 2;
    case HDP_F64:
    case HDP_I64:
        return 8;
    case HDP_U8:
    case HDP_I8:
        return 1;
    default:
        return 4;
    }
}

/* 0 to 3: eight members' sums stay below 32, exact even in bf16. */
static int value_at(int64_t element, int32_t member)
{
    uint64_t x = (uint64_t)element * 2654435761u + (uint64_t)member * 40503u;

    return (int)((x ^ x >> 15) & 3);
}

static uint16_t half_of(int value)
{
    static const uint16_t table[] = { 0x0000, 0x3c00, 0x4000, 0x4200 };

    return table[value];
}

static uint16_t bfloat_of(int value)
{
    float real = (float)value;
    uint32_t bits;

    memcpy(&bits, &real, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static void store(void *out, int64_t at, int32_t dtype, int value)
{
    switch (dtype) {
    case HDP_F16:
        ((uint16_t *)out)[at] = half_of(value);
        break;
    case HDP_BF16:
        ((uint16_t *)out)[at] = bfloat_of(value);
        break;
    case HDP_F64:
        ((double *)out)[at] = value;
        break;
    case HDP_I32:
        ((int32_t *)out)[at] = value;
        break;
    case HDP_I64:
        ((int64_t *)out)[at] = value;
        break;
    case HDP_U8:
        ((uint8_t *)out)[at] = (uint8_t)value;
        break;
    case HDP_I8:
        ((int8_t *)out)[at] = (int8_t)value;
        break;
    default:
        ((float *)out)[at] = (float)value;
        break;
    }
}

static double half_to_double(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value;

    if (exponent == 31)
        value = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, -24);
    else
        value = ldexp(fraction + 1024, exponent - 25);
    return bits & 0x8000 ? -value : value;
}

static double bfloat_to_double(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &wide, sizeof value);
    return value;
}

static double load(const void *from, int64_t at, int32_t dtype)
{
    switch (dtype) {
    case HDP_F16:
        return half_to_double(((const uint16_t *)from)[at]);
    case HDP_BF16:
        return bfloat_to_double(((const uint16_t *)from)[at]);
    case HDP_F64:
        return ((const double *)from)[at];
    case HDP_I32:
        return ((const int32_t *)from)[at];
    case HDP_I64:
        return (double)((const int64_t *)from)[at];
    case HDP_U8:
        return ((const uint8_t *)from)[at];
    case HDP_I8:
        return ((const int8_t *)from)[at];
    default:
        return (double)((const float *)from)[at];
    }
}

void exact_fill(void *out, int64_t elements, int32_t dtype, int32_t member)
{
    for (int64_t i = 0; i < elements; ++i)
        store(out, i, dtype, value_at(i, member));
}

static double reduced(int64_t element, int32_t op, int32_t members,
                      const int64_t *counts)
{
    double sum = 0, weighted = 0, total = 0, least = INFINITY, most = -INFINITY;

    for (int32_t m = 0; m < members; ++m) {
        double value = value_at(element, m), weight = (double)counts[m];
        if (counts[m] == 0) /* contributes exactly nothing */
            continue;
        sum += value;
        weighted += weight * value;
        total += weight;
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    switch (op) {
    case HDP_OP_MEAN:
        return weighted / total;
    case HDP_OP_SUM_OVER_TOTAL:
        return sum / total;
    case HDP_OP_MIN:
        return least;
    case HDP_OP_MAX:
        return most;
    default:
        return sum;
    }
}

/* Relative rounding that a quotient may have suffered: a few units. */
static double tolerance_of(int32_t dtype, int32_t op)
{
    if (op != HDP_OP_MEAN && op != HDP_OP_SUM_OVER_TOTAL)
        return 0;
    switch (dtype) {
    case HDP_F16:
        return 0x1p-10;
    case HDP_BF16:
        return 0x1p-7;
    case HDP_F64:
        return 0x1p-50;
    default:
        return 0x1p-21;
    }
}

int64_t exact_wrong(const void *got, int64_t elements, int32_t dtype,
                    int32_t op, int32_t members, const int64_t *counts)
{
    double tolerance = tolerance_of(dtype, op);
    int64_t wrong = 0;

    for (int64_t i = 0; i < elements; ++i) {
        double want = reduced(i, op, members, counts);
        double error = fabs(load(got, i, dtype) - want);
        wrong += !(error <= tolerance * fabs(want)); /* NaN is wrong */
    }
    return wrong;
}
