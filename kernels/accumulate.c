/* A weighted source is added to a target, in f32 or, for f64, in f64. */
#include "kernels.h"
#include "half.h"
#include "launch.h"

HDPK_INLINE float float_of_f32(float x)
{
    return x;
}

HDPK_INLINE double double_of_f64(double x)
{
    return x;
}

/* From f32 the way to 16 bits leads over a double, which is exact. */
#define ACCUMULATE(name, type, work, read, round)                              \
    static void name(const struct hdpk_launch_accumulate *job)                 \
    {                                                                          \
        type *target = (type *)job->target + job->first;                       \
        const type *source = (const type *)job->source + job->first;           \
        work weight = (work)job->weight;                                       \
        for (int64_t i = 0; i < job->count; ++i)                               \
            target[i] = round(read(target[i]) + weight * read(source[i]));     \
    }

ACCUMULATE(f32, float, float, float_of_f32, float_of_f32)
ACCUMULATE(f64, double, double, double_of_f64, double_of_f64)
ACCUMULATE(f16, uint16_t, float, half_from_f16, half_to_f16)
ACCUMULATE(bf16, uint16_t, float, half_from_bf16, half_to_bf16)

void hdpk_host_accumulate(const struct hdpk_launch_accumulate *job)
{
    switch (job->dtype) {
    case HDP_F32:
    case HDP_TF32:
        f32(job);
        break;
    case HDP_F64:
        f64(job);
        break;
    case HDP_F16:
        f16(job);
        break;
    case HDP_BF16:
        bf16(job);
        break;
    default:
        break;
    }
}
