/* Many sources become one, for every type and operation. A block of elements
 * is read from all sources before any of it is written, so a source may be a
 * target; sources are taken in order, so the bytes never depend on who works
 * or on the instructions chosen. */
#include <float.h>
#include <math.h>
#include "kernels.h"
#include "half.h"
#include "launch.h"
#include "product.h"

enum { BLOCK = 512 };

/* One block of a job, and the operation in numbers. */
struct pass {
    const struct hdpk_combine *job;
    int64_t at;   /* first element of the block */
    int count;    /* its elements */
    int divide;   /* 1: the sum is divided by `total` */
    double total; /* as a number */
};

/* The block in the element's own type: 512 elements, of 8-byte types 256. */
union block {
    float f32[BLOCK];
    double f64[BLOCK / 2];
    uint16_t f16[BLOCK];
    int32_t i32[BLOCK];
    int64_t i64[BLOCK / 2];
    uint8_t u8[BLOCK];
    int8_t i8[BLOCK];
};

/* The weight that multiplies a source. f64 has no wider type to sum in, so
 * its weights are at most 1 and the sum stays in range. */
HDPK_INLINE double weight_of(const struct pass *pass, int source)
{
    const struct hdpk_combine *job = pass->job;
    if (job->op != HDP_OP_MEAN)
        return 1.0;
    if (job->dtype == HDP_F64)
        return (double)job->counts[source] / pass->total;
    return (double)job->counts[source];
}

HDPK_INLINE float float_of_f32(float x)
{
    return x;
}

HDPK_INLINE double double_of_f64(double x)
{
    return x;
}

HDPK_INLINE float f32_of(double x)
{
    return (float)x;
}

HDPK_INLINE double f64_of(double x)
{
    return x;
}

/* The loops of one floating type: `read` widens without loss, `round` is the
 * one rounding. Two sources, the common case, never touch the sum in memory. */
#define FLOAT_LOOPS(name, type, read, round)                                   \
    HDPK_INLINE const type *name##_at(const struct pass *pass, int source)     \
    {                                                                          \
        return (const type *)pass->job->sources[source] + pass->at;            \
    }                                                                          \
    HDPK_INLINE void name##_add(double *restrict sum, const struct pass *pass, \
                                int source)                                    \
    {                                                                          \
        const type *x = name##_at(pass, source);                               \
        double weight = weight_of(pass, source);                               \
        if (source == 0)                                                       \
            for (int i = 0; i < pass->count; ++i)                              \
                sum[i] = weight * (double)read(x[i]);                          \
        else                                                                   \
            for (int i = 0; i < pass->count; ++i)                              \
                sum[i] += weight * (double)read(x[i]);                         \
    }                                                                          \
    HDPK_INLINE void name##_min(double *restrict sum, const struct pass *pass, \
                                int source)                                    \
    {                                                                          \
        const type *x = name##_at(pass, source);                               \
        for (int i = 0; i < pass->count; ++i) {                                \
            double a = (double)read(x[i]);                                     \
            sum[i] = a < sum[i] || a != a ? a : sum[i];                        \
        }                                                                      \
    }                                                                          \
    HDPK_INLINE void name##_max(double *restrict sum, const struct pass *pass, \
                                int source)                                    \
    {                                                                          \
        const type *x = name##_at(pass, source);                               \
        for (int i = 0; i < pass->count; ++i) {                                \
            double a = (double)read(x[i]);                                     \
            sum[i] = a > sum[i] || a != a ? a : sum[i];                        \
        }                                                                      \
    }                                                                          \
    HDPK_INLINE void name##_pair(type *restrict out, const struct pass *pass)  \
    {                                                                          \
        const type *x = name##_at(pass, 0), *y = name##_at(pass, 1);           \
        double u = weight_of(pass, 0), v = weight_of(pass, 1);                 \
        double total = pass->total;                                            \
        if (pass->divide)                                                      \
            for (int i = 0; i < pass->count; ++i)                              \
                out[i] =                                                       \
                    round((u * (double)read(x[i]) + v * (double)read(y[i])) /  \
                          total);                                              \
        else                                                                   \
            for (int i = 0; i < pass->count; ++i)                              \
                out[i] =                                                       \
                    round(u * (double)read(x[i]) + v * (double)read(y[i]));    \
    }                                                                          \
    HDPK_INLINE void name##_round(type *restrict out,                          \
                                  const double *restrict sum,                  \
                                  const struct pass *pass)                     \
    {                                                                          \
        double total = pass->total;                                            \
        if (pass->divide)                                                      \
            for (int i = 0; i < pass->count; ++i)                              \
                out[i] = round(sum[i] / total);                                \
        else                                                                   \
            for (int i = 0; i < pass->count; ++i)                              \
                out[i] = round(sum[i]);                                        \
    }                                                                          \
    HDPK_INLINE void name##_block(type *restrict out, double *restrict sum,    \
                                  const struct pass *pass)                     \
    {                                                                          \
        int count = pass->job->source_count, op = pass->job->op;               \
        int order = op == HDP_OP_MIN || op == HDP_OP_MAX;                      \
        if (count == 2 && !order) {                                            \
            name##_pair(out, pass);                                            \
            return;                                                            \
        }                                                                      \
        for (int i = 0; (order || count == 0) && i < pass->count; ++i)         \
            sum[i] = op == HDP_OP_MIN   ? (double)INFINITY                     \
                     : op == HDP_OP_MAX ? -(double)INFINITY                    \
                                        : 0.0;                                 \
        for (int s = 0; s < count; ++s)                                        \
            if (op == HDP_OP_MIN)                                              \
                name##_min(sum, pass, s);                                      \
            else if (op == HDP_OP_MAX)                                         \
                name##_max(sum, pass, s);                                      \
            else                                                               \
                name##_add(sum, pass, s);                                      \
        name##_round(out, sum, pass);                                          \
    }

FLOAT_LOOPS(f32, float, float_of_f32, f32_of)
FLOAT_LOOPS(f64, double, double_of_f64, f64_of)
FLOAT_LOOPS(f16, uint16_t, half_from_f16, half_to_f16)
FLOAT_LOOPS(bf16, uint16_t, half_from_bf16, half_to_bf16)

/* Integers: sums are taken modulo 2^bits, in the unsigned type. */
#define INTEGER_LOOPS(name, type, unsigned_type, lowest, highest)              \
    HDPK_INLINE void name##_block(type *restrict out, const struct pass *pass) \
    {                                                                          \
        const struct hdpk_combine *job = pass->job;                            \
        type start = job->op == HDP_OP_MIN   ? highest                         \
                     : job->op == HDP_OP_MAX ? lowest                          \
                                             : (type)0;                        \
        for (int i = 0; i < pass->count; ++i)                                  \
            out[i] = start;                                                    \
        for (int s = 0; s < job->source_count; ++s) {                          \
            const type *x = (const type *)job->sources[s] + pass->at;          \
            if (job->op == HDP_OP_MIN)                                         \
                for (int i = 0; i < pass->count; ++i)                          \
                    out[i] = x[i] < out[i] ? x[i] : out[i];                    \
            else if (job->op == HDP_OP_MAX)                                    \
                for (int i = 0; i < pass->count; ++i)                          \
                    out[i] = x[i] > out[i] ? x[i] : out[i];                    \
            else                                                               \
                for (int i = 0; i < pass->count; ++i)                          \
                    out[i] = (type)(unsigned_type)((unsigned_type)out[i] +     \
                                                   (unsigned_type)x[i]);       \
        }                                                                      \
    }

INTEGER_LOOPS(i32, int32_t, uint32_t, INT32_MIN, INT32_MAX)
INTEGER_LOOPS(i64, int64_t, uint64_t, INT64_MIN, INT64_MAX)
INTEGER_LOOPS(u8, uint8_t, uint8_t, 0, UINT8_MAX)
INTEGER_LOOPS(i8, int8_t, uint8_t, INT8_MIN, INT8_MAX)

/* f64 at the edge of its range: weights that round up may push a mean of
 * finite numbers past the largest one, and a sum may pass it before it is
 * divided. Such an element is summed again in quarters of its terms. */
static double f64_again(const struct pass *pass, int i)
{
    const struct hdpk_combine *job = pass->job;
    double sum = 0.0;
    for (int s = 0; s < job->source_count; ++s) {
        double x = ((const double *)job->sources[s])[pass->at + i];
        double count = job->op == HDP_OP_MEAN ? (double)job->counts[s] : 1.0;
        if (!isfinite(x))
            return (double)NAN;
        sum += count / pass->total * (x * 0.25);
    }
    if (fabs(sum) <= DBL_MAX * 0.25)
        return sum * 4.0;
    /* A mean is never larger than its largest member; a sum may be. */
    return copysign(job->op == HDP_OP_MEAN ? DBL_MAX : (double)INFINITY, sum);
}

static void f64_rescue(double *out, const struct pass *pass)
{
    for (int i = 0; i < pass->count; ++i)
        if (!isfinite(out[i])) {
            double again = f64_again(pass, i);
            if (!isnan(again))
                out[i] = again;
        }
}

HDPK_INLINE void f64_whole(double *restrict out, double *restrict sum,
                           const struct pass *pass)
{
    int32_t op = pass->job->op;
    int wild = 0;
    f64_block(out, sum, pass);
    if (op != HDP_OP_MEAN && op != HDP_OP_SUM_OVER_TOTAL)
        return;
    for (int i = 0; i < pass->count; ++i)
        wild |= !(fabs(out[i]) <= DBL_MAX);
    if (wild)
        f64_rescue(out, pass);
}

HDPK_INLINE void combine_block(union block *out, double *sum,
                               const struct pass *pass)
{
    switch (pass->job->dtype) {
    case HDP_F32:
    case HDP_TF32:
        f32_block(out->f32, sum, pass);
        break;
    case HDP_F64:
        f64_whole(out->f64, sum, pass);
        break;
    case HDP_F16:
        f16_block(out->f16, sum, pass);
        break;
    case HDP_BF16:
        bf16_block(out->f16, sum, pass);
        break;
    case HDP_I32:
        i32_block(out->i32, pass);
        break;
    case HDP_I64:
        i64_block(out->i64, pass);
        break;
    case HDP_U8:
        u8_block(out->u8, pass);
        break;
    case HDP_I8:
        i8_block(out->i8, pass);
        break;
    default:
        break;
    }
}

HDPK_INLINE void combine(const struct hdpk_combine *job)
{
    union block out;
    double sum[BLOCK];
    int64_t size = (int64_t)hdpk_dtype_bytes(job->dtype);
    int64_t room = size == 8 ? BLOCK / 2 : BLOCK;
    int64_t end = job->first + job->count;
    struct pass pass = { .job = job, .total = (double)job->total };

    pass.divide = job->source_count > 0 &&
                  (job->op == HDP_OP_SUM_OVER_TOTAL ||
                   (job->op == HDP_OP_MEAN && job->dtype != HDP_F64));
    for (int64_t at = job->first; at < end; at += room) {
        int64_t count = end - at < room ? end - at : room;
        pass.at = at;
        pass.count = (int)count;
        combine_block(&out, sum, &pass);
        for (int t = 0; t < job->target_count; ++t)
            memcpy((char *)job->targets[t] + at * size, &out,
                   (size_t)(count * size));
    }
}

static void combine_base(const struct hdpk_combine *job)
{
    combine(job);
}

HDPK_FOR_AVX2 static void combine_avx2(const struct hdpk_combine *job)
{
    combine(job);
}

int hdpk_combine_supported(int32_t dtype, int32_t op)
{
    switch (op) {
    case HDP_OP_SUM:
    case HDP_OP_MIN:
    case HDP_OP_MAX:
        return hdpk_dtype_bytes(dtype) != 0;
    case HDP_OP_MEAN:
    case HDP_OP_SUM_OVER_TOTAL:
        return dtype >= HDP_F32 && dtype <= HDP_F64;
    default:
        return 0;
    }
}

void hdpk_combine_at(int isa, const struct hdpk_combine *job)
{
    /* Moving the data bounds this; still wider vectors would gain nothing. */
    if (isa >= HDPK_AVX2)
        combine_avx2(job);
    else
        combine_base(job);
}

void hdpk_combine(const struct hdpk_combine *job)
{
    hdpk_combine_at(hdpk_isa(), job);
}

void hdpk_host_combine(const struct hdpk_launch_combine *job)
{
    struct hdpk_combine all = {
        job->dtype,   job->op,     job->source_count, job->target_count,
        job->sources, job->counts, job->targets,      job->total,
        job->first,   job->count,
    };
    hdpk_combine(&all);
}
