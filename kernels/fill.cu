/* Fill on the device. */
#include "grid.h"

template <typename T> DEVICE void fill(const hdpk_launch_fill &job)
{
    enum { LANES = chunks<T>::LANES };
    chunks<T> all = chunks_of<T>(job.data, job.first, job.count);
    T x[LANES];
    UNROLL
    for (int i = 0; i < LANES; ++i)
        x[i] = (T)job.bits;
    for (int64_t n = grid_thread(); n < all.number; n += grid_threads())
        chunk_store((T *)job.data, x, chunk_of(all, n));
}

extern "C" __global__ void hdpk_cuda_fill(struct hdpk_launch_fill job)
{
    switch (job.bytes) {
    case 1:
        fill<uint8_t>(job);
        break;
    case 2:
        fill<uint16_t>(job);
        break;
    case 4:
        fill<uint32_t>(job);
        break;
    case 8:
        fill<uint64_t>(job);
        break;
    default:
        break;
    }
}
