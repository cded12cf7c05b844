/* What the kernels share: the walk of a grid over a run of elements in chunks
 * of 16 bytes, and the elements as numbers. A chunk lies on 16 bytes of the
 * first target; the first and the last may be cut. C++ for x.cu alone. */
#ifndef HDPK_GRID_H
#define HDPK_GRID_H
#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef __CUDACC__
#define UNROLL _Pragma("unroll")
#else
#include "plain.h"
#define UNROLL
#endif
#include <hdp/hdp.h>
#include "half.h"
#include "launch.h"

#define DEVICE static __device__ __forceinline__

DEVICE int64_t grid_thread()
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

DEVICE int64_t grid_threads()
{
    return (int64_t)gridDim.x * blockDim.x;
}

/* Elements first to first + count of T, cut where `base` + 16 n bytes lie. */
template <typename T> struct chunks {
    enum { LANES = 16 / sizeof(T) };
    int64_t first, end, start, number;
};

/* One of them: lanes low to high - 1 hold elements at + low and on. */
struct chunk {
    int64_t at;
    int low, high;
};

template <typename T>
DEVICE chunks<T> chunks_of(const void *base, int64_t first, int64_t count)
{
    const int64_t lanes = chunks<T>::LANES;
    uintptr_t address = (uintptr_t)base + (uintptr_t)first * sizeof(T);
    int64_t skew = (int64_t)((address & 15) / sizeof(T));
    chunks<T> all;
    all.first = first;
    all.end = first + count;
    all.start = first - skew;
    all.number = count > 0 ? (skew + count + lanes - 1) / lanes : 0;
    return all;
}

template <typename T> DEVICE chunk chunk_of(const chunks<T> &all, int64_t n)
{
    const int64_t lanes = chunks<T>::LANES;
    chunk one;
    one.at = all.start + n * lanes;
    one.low = one.at < all.first ? (int)(all.first - one.at) : 0;
    one.high = all.end - one.at < lanes ? (int)(all.end - one.at) : (int)lanes;
    return one;
}

/* Whether accesses of 16 bytes do. The same answer in all of a warp's threads
 * but the run's first and last, since chunks lie 16 bytes apart. */
template <typename T, int LANES>
DEVICE bool chunk_fits(const T *data, const chunk &one)
{
    return one.low == 0 && one.high == LANES &&
           ((uintptr_t)(data + one.at) & 15) == 0;
}

template <typename T, int LANES>
DEVICE void chunk_load(T (&x)[LANES], const T *data, const chunk &one)
{
    if (chunk_fits<T, LANES>(data, one)) {
        memcpy(x, __builtin_assume_aligned(data + one.at, 16), sizeof x);
        return;
    }
    UNROLL
    for (int i = 0; i < LANES; ++i)
        x[i] = i >= one.low && i < one.high ? data[one.at + i] : T(0);
}

template <typename T, int LANES>
DEVICE void chunk_store(T *data, const T (&x)[LANES], const chunk &one)
{
    if (chunk_fits<T, LANES>(data, one)) {
        memcpy(__builtin_assume_aligned(data + one.at, 16), x, sizeof x);
        return;
    }
    UNROLL
    for (int i = 0; i < LANES; ++i)
        if (i >= one.low && i < one.high)
            data[one.at + i] = x[i];
}

/* The floats: what holds one, what it is computed in, and the way to and from
 * a double, exact on the way in and rounded once on the way out. */
struct float32 {
    typedef float type;
    typedef float work;
    DEVICE double read(type x)
    {
        return (double)x;
    }
    DEVICE type round(double x)
    {
        return (type)x;
    }
};

struct float64 {
    typedef double type;
    typedef double work;
    DEVICE double read(type x)
    {
        return x;
    }
    DEVICE type round(double x)
    {
        return x;
    }
};

struct float16 {
    typedef uint16_t type;
    typedef float work;
    DEVICE double read(type x)
    {
        return (double)half_from_f16(x);
    }
    DEVICE type round(double x)
    {
        return half_to_f16(x);
    }
};

struct bfloat16 {
    typedef uint16_t type;
    typedef float work;
    DEVICE double read(type x)
    {
        return (double)half_from_bf16(x);
    }
    DEVICE type round(double x)
    {
        return half_to_bf16(x);
    }
};
#endif
