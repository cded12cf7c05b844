/* Scale on the device: memory bounds it, so a thread moves 16 bytes at a
 * time. Nothing is fused (-fmad=false): the bytes are those of scale.c. */
#include "grid.h"

template <typename F> DEVICE void scale(const hdpk_launch_scale &job)
{
    typedef typename F::type type;
    typedef typename F::work work;
    enum { LANES = chunks<type>::LANES };
    chunks<type> all = chunks_of<type>(job.data, job.first, job.count);
    work factor = (work)job.factor;
    for (int64_t n = grid_thread(); n < all.number; n += grid_threads()) {
        chunk one = chunk_of(all, n);
        type x[LANES];
        chunk_load(x, (const type *)job.data, one);
        UNROLL
        for (int i = 0; i < LANES; ++i) {
            work product = factor * (work)F::read(x[i]);
            x[i] = F::round((double)product);
        }
        chunk_store((type *)job.data, x, one);
    }
}

extern "C" __global__ void hdpk_cuda_scale(struct hdpk_launch_scale job)
{
    switch (job.dtype) {
    case HDP_F32:
    case HDP_TF32:
        scale<float32>(job);
        break;
    case HDP_F64:
        scale<float64>(job);
        break;
    case HDP_F16:
        scale<float16>(job);
        break;
    case HDP_BF16:
        scale<bfloat16>(job);
        break;
    default:
        break;
    }
}
