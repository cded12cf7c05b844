/* The floats from one type to another, one by one and by the array, and what an
 * element of each type takes. */
#include <math.h>
#include "kernels.h"
#include "half.h"
#include "launch.h"

double hdpk_from_f16(uint16_t bits)
{
    return (double)half_from_f16(bits);
}

double hdpk_from_bf16(uint16_t bits)
{
    return (double)half_from_bf16(bits);
}

uint16_t hdpk_to_f16(double value)
{
    return half_to_f16(value);
}

uint16_t hdpk_to_bf16(double value)
{
    return half_to_bf16(value);
}

size_t hdpk_dtype_bytes(int32_t dtype)
{
    switch (dtype) {
    case HDP_F64:
    case HDP_I64:
        return 8;
    case HDP_F32:
    case HDP_TF32:
    case HDP_I32:
        return 4;
    case HDP_F16:
    case HDP_BF16:
        return 2;
    case HDP_U8:
    case HDP_I8:
        return 1;
    default:
        return 0;
    }
}

static void fill16(uint16_t *target, int64_t count, uint16_t value)
{
    for (int64_t i = 0; i < count; ++i)
        target[i] = value;
}

void hdpk_poison(void *target, int32_t dtype, int64_t first, int64_t count)
{
    switch (dtype) {
    case HDP_F64:
        for (int64_t i = first; i < first + count; ++i)
            ((double *)target)[i] = (double)NAN;
        break;
    case HDP_F32:
    case HDP_TF32:
        for (int64_t i = first; i < first + count; ++i)
            ((float *)target)[i] = NAN;
        break;
    case HDP_F16:
        fill16((uint16_t *)target + first, count, 0x7e00);
        break;
    case HDP_BF16:
        fill16((uint16_t *)target + first, count, 0x7fc0);
        break;
    default:
        break; /* integers have no value that says "wrong" */
    }
}

HDPK_INLINE double double_of_f32(float x)
{
    return (double)x;
}

HDPK_INLINE float f32_of(double x)
{
    return (float)x;
}

HDPK_INLINE double same(double x)
{
    return x;
}

/* From one type to each; every way leads over a double, which holds all. */
#define CONVERT(name, type, read)                                              \
    static void name(const struct hdpk_launch_convert *job)                    \
    {                                                                          \
        const type *x = (const type *)job->source + job->first;                \
        switch (job->target_dtype) {                                           \
        case HDP_F32:                                                          \
        case HDP_TF32:                                                         \
            CONVERT_TO(float, read, f32_of)                                    \
        case HDP_F64:                                                          \
            CONVERT_TO(double, read, same)                                     \
        case HDP_F16:                                                          \
            CONVERT_TO(uint16_t, read, half_to_f16)                            \
        case HDP_BF16:                                                         \
            CONVERT_TO(uint16_t, read, half_to_bf16)                           \
        default:                                                               \
            break;                                                             \
        }                                                                      \
    }

#define CONVERT_TO(type, read, round)                                          \
    for (int64_t i = 0; i < job->count; ++i)                                   \
        ((type *)job->target)[job->first + i] = round((double)read(x[i]));     \
    break;

CONVERT(from_f32, float, double_of_f32)
CONVERT(from_f64, double, same)
CONVERT(from_f16, uint16_t, half_from_f16)
CONVERT(from_bf16, uint16_t, half_from_bf16)

void hdpk_host_convert(const struct hdpk_launch_convert *job)
{
    switch (job->source_dtype) {
    case HDP_F32:
    case HDP_TF32:
        from_f32(job);
        break;
    case HDP_F64:
        from_f64(job);
        break;
    case HDP_F16:
        from_f16(job);
        break;
    case HDP_BF16:
        from_bf16(job);
        break;
    default:
        break;
    }
}
