/* Convert on the device: a chunk is 16 bytes of the smaller element, so both
 * sides move in whole accesses where both lie on 16 bytes. */
#include "grid.h"

/* The narrower of two types decides the chunks. */
template <typename T, typename S, bool target_is_less> struct narrower {
    typedef T type;
};
template <typename T, typename S> struct narrower<T, S, false> {
    typedef S type;
};

template <typename T, typename S>
DEVICE void convert(const hdpk_launch_convert &job)
{
    typedef typename T::type to;
    typedef typename S::type from;
    const bool less = sizeof(to) <= sizeof(from);
    typedef typename narrower<to, from, less>::type narrow;
    chunks<narrow> all =
        chunks_of<narrow>(less ? job.target : job.source, job.first, job.count);
    for (int64_t n = grid_thread(); n < all.number; n += grid_threads()) {
        chunk one = chunk_of(all, n);
        from x[chunks<narrow>::LANES];
        to y[chunks<narrow>::LANES];
        chunk_load(x, (const from *)job.source, one);
        UNROLL
        for (int i = 0; i < chunks<narrow>::LANES; ++i)
            y[i] = T::round(S::read(x[i]));
        chunk_store((to *)job.target, y, one);
    }
}

template <typename S> DEVICE void convert_from(const hdpk_launch_convert &job)
{
    switch (job.target_dtype) {
    case HDP_F32:
    case HDP_TF32:
        convert<float32, S>(job);
        break;
    case HDP_F64:
        convert<float64, S>(job);
        break;
    case HDP_F16:
        convert<float16, S>(job);
        break;
    case HDP_BF16:
        convert<bfloat16, S>(job);
        break;
    default:
        break;
    }
}

extern "C" __global__ void hdpk_cuda_convert(struct hdpk_launch_convert job)
{
    switch (job.source_dtype) {
    case HDP_F32:
    case HDP_TF32:
        convert_from<float32>(job);
        break;
    case HDP_F64:
        convert_from<float64>(job);
        break;
    case HDP_F16:
        convert_from<float16>(job);
        break;
    case HDP_BF16:
        convert_from<bfloat16>(job);
        break;
    default:
        break;
    }
}
