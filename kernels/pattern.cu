/* The pattern written and compared on the device. A thread counts what it
 * finds and tells it once, so that data all wrong is no slower. */
#include "grid.h"
#include "pattern.h"

/* An integer as an element: what C's conversion gives. */
template <typename T> struct integer {
    typedef T type;
    typedef T number;
    DEVICE T of(int64_t value)
    {
        return (T)value;
    }
    DEVICE T read(T x)
    {
        return x;
    }
};

/* A float as one, compared as a number. */
template <typename F> struct real {
    typedef typename F::type type;
    typedef double number;
    DEVICE type of(int64_t value)
    {
        return F::round((double)value);
    }
    DEVICE double read(type x)
    {
        return F::read(x);
    }
};

template <typename E> DEVICE void pattern_write(const hdpk_launch_pattern &job)
{
    typedef typename E::type type;
    enum { LANES = chunks<type>::LANES };
    chunks<type> all = chunks_of<type>(job.data, job.first, job.count);
    for (int64_t n = grid_thread(); n < all.number; n += grid_threads()) {
        chunk one = chunk_of(all, n);
        type x[LANES];
        UNROLL
        for (int i = 0; i < LANES; ++i)
            x[i] = E::of(pattern_value(job.factor, job.offset, job.seed,
                                       job.origin + one.at + i));
        chunk_store((type *)job.data, x, one);
    }
}

DEVICE void pattern_tell(int64_t *out, int64_t wrong, int64_t first)
{
#ifdef __CUDACC__
    atomicAdd((unsigned long long *)out, (unsigned long long)wrong);
    atomicMin((long long *)out + 1, (long long)first);
#else
    out[0] += wrong;
    out[1] = first < out[1] ? first : out[1];
#endif
}

template <typename E> DEVICE void pattern_check(const hdpk_launch_check &job)
{
    typedef typename E::type type;
    enum { LANES = chunks<type>::LANES };
    chunks<type> all = chunks_of<type>(job.data, job.first, job.count);
    int64_t wrong = 0, first = INT64_MAX;
    for (int64_t n = grid_thread(); n < all.number; n += grid_threads()) {
        chunk one = chunk_of(all, n);
        type x[LANES];
        chunk_load(x, (const type *)job.data, one);
        UNROLL
        for (int i = 0; i < LANES; ++i) {
            int64_t position = job.origin + one.at + i;
            type wanted = E::of(
                pattern_value(job.factor, job.offset, job.seed, position));
            if (i < one.low || i >= one.high ||
                E::read(x[i]) == E::read(wanted))
                continue;
            ++wrong;
            first = position < first ? position : first;
        }
    }
    if (wrong > 0)
        pattern_tell(job.out, wrong, first);
}

#define PATTERN_OF_TYPE(kernel, job)                                           \
    switch (job.dtype) {                                                       \
    case HDP_F32:                                                              \
    case HDP_TF32:                                                             \
        kernel<real<float32>>(job);                                            \
        break;                                                                 \
    case HDP_F64:                                                              \
        kernel<real<float64>>(job);                                            \
        break;                                                                 \
    case HDP_F16:                                                              \
        kernel<real<float16>>(job);                                            \
        break;                                                                 \
    case HDP_BF16:                                                             \
        kernel<real<bfloat16>>(job);                                           \
        break;                                                                 \
    case HDP_I32:                                                              \
        kernel<integer<int32_t>>(job);                                         \
        break;                                                                 \
    case HDP_I64:                                                              \
        kernel<integer<int64_t>>(job);                                         \
        break;                                                                 \
    case HDP_U8:                                                               \
        kernel<integer<uint8_t>>(job);                                         \
        break;                                                                 \
    case HDP_I8:                                                               \
        kernel<integer<int8_t>>(job);                                          \
        break;                                                                 \
    default:                                                                   \
        break;                                                                 \
    }

extern "C" __global__ void hdpk_cuda_pattern(struct hdpk_launch_pattern job)
{
    PATTERN_OF_TYPE(pattern_write, job)
}

extern "C" __global__ void hdpk_cuda_check(struct hdpk_launch_check job)
{
    PATTERN_OF_TYPE(pattern_check, job)
}
