/* Accumulate on the device: memory bounds it, so a thread moves 16 bytes at a
 * time. Nothing is fused (-fmad=false): the bytes are those of accumulate.c. */
#include "grid.h"

template <typename F> DEVICE void accumulate(const hdpk_launch_accumulate &job)
{
    typedef typename F::type type;
    typedef typename F::work work;
    enum { LANES = chunks<type>::LANES };
    chunks<type> all = chunks_of<type>(job.target, job.first, job.count);
    work weight = (work)job.weight;
    for (int64_t n = grid_thread(); n < all.number; n += grid_threads()) {
        chunk one = chunk_of(all, n);
        type x[LANES], out[LANES];
        chunk_load(x, (const type *)job.source, one);
        chunk_load(out, (const type *)job.target, one);
        UNROLL
        for (int i = 0; i < LANES; ++i) {
            work sum = (work)F::read(out[i]) + weight * (work)F::read(x[i]);
            out[i] = F::round((double)sum);
        }
        chunk_store((type *)job.target, out, one);
    }
}

extern "C" __global__ void
hdpk_cuda_accumulate(struct hdpk_launch_accumulate job)
{
    switch (job.dtype) {
    case HDP_F32:
    case HDP_TF32:
        accumulate<float32>(job);
        break;
    case HDP_F64:
        accumulate<float64>(job);
        break;
    case HDP_F16:
        accumulate<float16>(job);
        break;
    case HDP_BF16:
        accumulate<bfloat16>(job);
        break;
    default:
        break;
    }
}
