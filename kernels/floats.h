/* A kernel for each float type, from one body: FLOATS(BODY) makes the functions
 * by BODY(name, type, work, read, round), in f32 or, for f64, in f64;
 * FLOATS_CALL(dtype, job) calls the one of a type, and for others does nothing. */
#ifndef HDPK_FLOATS_H
#define HDPK_FLOATS_H
#include "half.h"

HDPK_INLINE float float_of_f32(float x)
{
    return x;
}

HDPK_INLINE double double_of_f64(double x)
{
    return x;
}

/* From f32 the way to 16 bits leads over a double, which is exact. */
#define FLOATS(BODY)                                                           \
    BODY(f32, float, float, float_of_f32, float_of_f32)                        \
    BODY(f64, double, double, double_of_f64, double_of_f64)                    \
    BODY(f16, uint16_t, float, half_from_f16, half_to_f16)                     \
    BODY(bf16, uint16_t, float, half_from_bf16, half_to_bf16)

#define FLOATS_CALL(dtype, job)                                                \
    do {                                                                       \
        switch (dtype) {                                                       \
        case HDP_F32:                                                          \
        case HDP_TF32:                                                         \
            f32(job);                                                          \
            break;                                                             \
        case HDP_F64:                                                          \
            f64(job);                                                          \
            break;                                                             \
        case HDP_F16:                                                          \
            f16(job);                                                          \
            break;                                                             \
        case HDP_BF16:                                                         \
            bf16(job);                                                         \
            break;                                                             \
        default:                                                               \
            break;                                                             \
        }                                                                      \
    } while (0)
#endif
