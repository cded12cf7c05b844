/* Combine on the device: a thread reads its chunk of every source before it
 * writes any target, so a source may be a target, and adds in the order of the
 * sources, so the bytes are those of combine.c. */
#include "grid.h"

template <typename F>
DEVICE double combine_weight(const hdpk_launch_combine &x, int source)
{
    if (x.op != HDP_OP_MEAN)
        return 1.0;
    if (sizeof(typename F::type) == 8)
        return (double)x.counts[source] / (double)x.total;
    return (double)x.counts[source];
}

/* f64 at the edge of its range, as in combine.c: once more in quarters. */
DEVICE double combine_again(const hdpk_launch_combine &job, int64_t i,
                            double out)
{
    const double most = 1.7976931348623157e308;
    bool mean = job.op == HDP_OP_MEAN;
    double sum = 0.0;
    for (int s = 0; s < job.source_count; ++s) {
        double x = ((const double *)job.sources[s])[i];
        double count = mean ? (double)job.counts[s] : 1.0;
        if (!(fabs(x) <= most))
            return out;
        sum += count / (double)job.total * (x * 0.25);
    }
    if (fabs(sum) <= most * 0.25)
        return sum * 4.0;
    return copysign(mean ? most : most * 2.0, sum);
}

template <typename F>
DEVICE void combine_add(double *sum, const hdpk_launch_combine &job,
                        const chunk &one, int source)
{
    enum { LANES = chunks<typename F::type>::LANES };
    typename F::type x[LANES];
    double weight = combine_weight<F>(job, source);
    chunk_load(x, (const typename F::type *)job.sources[source], one);
    UNROLL
    for (int i = 0; i < LANES; ++i) {
        double a = F::read(x[i]);
        if (job.op == HDP_OP_MIN)
            sum[i] = a < sum[i] || a != a ? a : sum[i];
        else if (job.op == HDP_OP_MAX)
            sum[i] = a > sum[i] || a != a ? a : sum[i];
        else
            sum[i] = source == 0 ? weight * a : sum[i] + weight * a;
    }
}

template <typename F>
DEVICE void combine_finish(typename F::type *out, const double *sum,
                           const hdpk_launch_combine &job, const chunk &one)
{
    const bool wide = sizeof(typename F::type) == 8;
    bool over = job.op == HDP_OP_SUM_OVER_TOTAL;
    bool divide =
        job.source_count > 0 && (over || (job.op == HDP_OP_MEAN && !wide));
    UNROLL
    for (int i = 0; i < chunks<typename F::type>::LANES; ++i) {
        double x = divide ? sum[i] / (double)job.total : sum[i];
        if (wide && (over || job.op == HDP_OP_MEAN) && !(x - x == 0.0) &&
            i >= one.low && i < one.high)
            x = combine_again(job, one.at + i, x);
        out[i] = F::round(x);
    }
}

template <typename F> DEVICE void combine_floats(const hdpk_launch_combine &job)
{
    typedef typename F::type type;
    enum { LANES = chunks<type>::LANES };
    chunks<type> all = chunks_of<type>(job.targets[0], job.first, job.count);
    double start = job.op == HDP_OP_MIN   ? (double)INFINITY
                   : job.op == HDP_OP_MAX ? -(double)INFINITY
                                          : 0.0;
    for (int64_t n = grid_thread(); n < all.number; n += grid_threads()) {
        chunk one = chunk_of(all, n);
        double sum[LANES];
        type out[LANES];
        UNROLL
        for (int i = 0; i < LANES; ++i)
            sum[i] = start;
        for (int s = 0; s < job.source_count; ++s)
            combine_add<F>(sum, job, one, s);
        combine_finish<F>(out, sum, job, one);
        for (int t = 0; t < job.target_count; ++t)
            chunk_store((type *)job.targets[t], out, one);
    }
}

/* Sums of integers are taken modulo 2^bits, in the unsigned type. */
template <typename T, typename U>
DEVICE void combine_integers(const hdpk_launch_combine &job, T lowest,
                             T highest)
{
    enum { LANES = chunks<T>::LANES };
    chunks<T> all = chunks_of<T>(job.targets[0], job.first, job.count);
    T start = job.op == HDP_OP_MIN   ? highest
              : job.op == HDP_OP_MAX ? lowest
                                     : T(0);
    for (int64_t n = grid_thread(); n < all.number; n += grid_threads()) {
        chunk one = chunk_of(all, n);
        T x[LANES], out[LANES];
        UNROLL
        for (int i = 0; i < LANES; ++i)
            out[i] = start;
        for (int s = 0; s < job.source_count; ++s) {
            chunk_load(x, (const T *)job.sources[s], one);
            UNROLL
            for (int i = 0; i < LANES; ++i)
                if (job.op == HDP_OP_MIN)
                    out[i] = x[i] < out[i] ? x[i] : out[i];
                else if (job.op == HDP_OP_MAX)
                    out[i] = x[i] > out[i] ? x[i] : out[i];
                else
                    out[i] = (T)(U)((U)out[i] + (U)x[i]);
        }
        for (int t = 0; t < job.target_count; ++t)
            chunk_store((T *)job.targets[t], out, one);
    }
}

extern "C" __global__ void hdpk_cuda_combine(struct hdpk_launch_combine job)
{
    if (job.target_count <= 0)
        return;
    switch (job.dtype) {
    case HDP_F32:
    case HDP_TF32:
        combine_floats<float32>(job);
        break;
    case HDP_F64:
        combine_floats<float64>(job);
        break;
    case HDP_F16:
        combine_floats<float16>(job);
        break;
    case HDP_BF16:
        combine_floats<bfloat16>(job);
        break;
    case HDP_I32:
        combine_integers<int32_t, uint32_t>(job, INT32_MIN, INT32_MAX);
        break;
    case HDP_I64:
        combine_integers<int64_t, uint64_t>(job, INT64_MIN, INT64_MAX);
        break;
    case HDP_U8:
        combine_integers<uint8_t, uint8_t>(job, 0, UINT8_MAX);
        break;
    case HDP_I8:
        combine_integers<int8_t, uint8_t>(job, INT8_MIN, INT8_MAX);
        break;
    default:
        break;
    }
}
