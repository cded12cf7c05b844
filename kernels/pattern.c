/* A pattern whose sums are patterns: written, compared, and the offsets that
 * make members differ while their weighted mean stays a whole number. */
#include "kernels.h"
#include "half.h"
#include "launch.h"
#include "pattern.h"

int64_t hdpk_pattern_base(int64_t seed, int64_t position)
{
    return pattern_base(seed, position);
}

static double double_of_f32(float x)
{
    return (double)x;
}

static float f32_of(int64_t value)
{
    return (float)value;
}

static double double_of_f64(double x)
{
    return x;
}

static double f64_of(int64_t value)
{
    return (double)value;
}

static double double_of_f16(uint16_t x)
{
    return (double)half_from_f16(x);
}

static uint16_t f16_of(int64_t value)
{
    return half_to_f16((double)value);
}

static double double_of_bf16(uint16_t x)
{
    return (double)half_from_bf16(x);
}

static uint16_t bf16_of(int64_t value)
{
    return half_to_bf16((double)value);
}

/* Writing and comparing for one type: `of` makes an element, `read` a number
 * in which two of them compare. */
#define PATTERN(name, type, of, read)                                          \
    static void name##_write(const struct hdpk_launch_pattern *job)            \
    {                                                                          \
        type *data = job->data;                                                \
        for (int64_t i = job->first; i < job->first + job->count; ++i)         \
            data[i] = of(pattern_value(job->factor, job->offset, job->seed,    \
                                       job->origin + i));                      \
    }                                                                          \
    static void name##_check(const struct hdpk_launch_check *job)              \
    {                                                                          \
        const type *data = job->data;                                          \
        for (int64_t i = job->first; i < job->first + job->count; ++i) {       \
            type wanted = of(pattern_value(job->factor, job->offset,           \
                                           job->seed, job->origin + i));       \
            if (read(data[i]) == read(wanted))                                 \
                continue;                                                      \
            ++job->out[0];                                                     \
            if (job->origin + i < job->out[1])                                 \
                job->out[1] = job->origin + i;                                 \
        }                                                                      \
    }

PATTERN(f32, float, f32_of, double_of_f32)
PATTERN(f64, double, f64_of, double_of_f64)
PATTERN(f16, uint16_t, f16_of, double_of_f16)
PATTERN(bf16, uint16_t, bf16_of, double_of_bf16)
PATTERN(i32, int32_t, (int32_t), (int32_t))
PATTERN(i64, int64_t, (int64_t), (int64_t))
PATTERN(u8, uint8_t, (uint8_t), (uint8_t))
PATTERN(i8, int8_t, (int8_t), (int8_t))

void hdpk_host_pattern(const struct hdpk_launch_pattern *job)
{
    switch (job->dtype) {
    case HDP_F32:
    case HDP_TF32:
        f32_write(job);
        break;
    case HDP_F64:
        f64_write(job);
        break;
    case HDP_F16:
        f16_write(job);
        break;
    case HDP_BF16:
        bf16_write(job);
        break;
    case HDP_I32:
        i32_write(job);
        break;
    case HDP_I64:
        i64_write(job);
        break;
    case HDP_U8:
        u8_write(job);
        break;
    case HDP_I8:
        i8_write(job);
        break;
    default:
        break;
    }
}

void hdpk_host_check(const struct hdpk_launch_check *job)
{
    switch (job->dtype) {
    case HDP_F32:
    case HDP_TF32:
        f32_check(job);
        break;
    case HDP_F64:
        f64_check(job);
        break;
    case HDP_F16:
        f16_check(job);
        break;
    case HDP_BF16:
        bf16_check(job);
        break;
    case HDP_I32:
        i32_check(job);
        break;
    case HDP_I64:
        i64_check(job);
        break;
    case HDP_U8:
        u8_check(job);
        break;
    case HDP_I8:
        i8_check(job);
        break;
    default:
        break;
    }
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Two members with counts a and b: b / g and -a / g weigh nothing together, so
 * the mean is 0; no smaller pair does, for coprime numbers. */
int hdpk_pattern_offsets(int64_t *offsets, int64_t *out_mean,
                         const int64_t *counts, int32_t count, int64_t most)
{
    int32_t best = -1, other = -1;
    int64_t least = most;

    *out_mean = 0;
    for (int32_t i = 0; i < count; ++i)
        offsets[i] = 0;
    for (int32_t i = 0; i < count; ++i)
        for (int32_t k = i + 1; k < count && counts[i] > 0; ++k) {
            int64_t larger, divisor;
            if (counts[k] <= 0)
                continue;
            larger = counts[i] > counts[k] ? counts[i] : counts[k];
            divisor = common_divisor(counts[i], counts[k]);
            if (larger / divisor > least ||
                (best >= 0 && larger / divisor == least))
                continue;
            least = larger / divisor;
            best = i;
            other = k;
        }
    if (best < 0)
        return 0;
    least = common_divisor(counts[best], counts[other]);
    offsets[best] = counts[other] / least;
    offsets[other] = -(counts[best] / least);
    return 1;
}
