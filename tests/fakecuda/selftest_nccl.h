/* What the tests of the fake NCCL have in common: the ranks of one process,
 * numbers of every type, and rounding done another way than the fake does it. */
#ifndef FAKE_SELFTEST_NCCL_H
#define FAKE_SELFTEST_NCCL_H
#include "selftest.h"
#include <math.h>
#include <nccl.h>

enum { RANKS_MAX = 8 };

struct ranks {
    int count;
    ncclComm_t comm[RANKS_MAX];
    cudaStream_t stream[RANKS_MAX];
    void *send[RANKS_MAX], *recv[RANKS_MAX];
};

/** A rank on each of the first devices, with a stream and two buffers. */
static inline void ranks_open(struct ranks *ranks, int count, size_t bytes)
{
    memset(ranks, 0, sizeof *ranks);
    ranks->count = count;
    for (int r = 0; r < count; r++) {
        OK(cudaSetDevice(r));
        ranks->stream[r] = new_stream();
        ranks->send[r] = device_memory(bytes);
        ranks->recv[r] = device_memory(bytes);
    }
    OK(ncclCommInitAll(ranks->comm, count, NULL));
}

static inline void ranks_free(struct ranks *ranks)
{
    for (int r = 0; r < ranks->count; r++) {
        OK(cudaSetDevice(r));
        OK(cudaStreamSynchronize(ranks->stream[r]));
        OK(cudaFree(ranks->send[r]));
        OK(cudaFree(ranks->recv[r]));
        OK(cudaStreamDestroy(ranks->stream[r]));
    }
}

static inline void ranks_close(struct ranks *ranks)
{
    for (int r = 0; r < ranks->count; r++)
        OK(ncclCommDestroy(ranks->comm[r]));
    ranks_free(ranks);
}

static inline void ranks_finish(const struct ranks *ranks)
{
    for (int r = 0; r < ranks->count; r++)
        OK(cudaStreamSynchronize(ranks->stream[r]));
}

/** In one group, on all ranks. */
static inline ncclResult_t ranks_sum(const struct ranks *ranks, size_t count,
                                     ncclDataType_t type, ncclRedOp_t op)
{
    OK(ncclGroupStart());
    for (int r = 0; r < ranks->count; r++)
        OK(ncclAllReduce(ranks->send[r], ranks->recv[r], count, type, op,
                         ranks->comm[r], ranks->stream[r]));
    return ncclGroupEnd();
}

static inline ncclResult_t async_error(ncclComm_t comm)
{
    ncclResult_t error = ncclNumResults;

    OK(ncclCommGetAsyncError(comm, &error));
    return error;
}

/** Polls until it is done: how often it was not. */
static inline int polled(ncclComm_t comm)
{
    int polls = 0;

    while (async_error(comm) == ncclInProgress && polls < 1000)
        polls++;
    return polls;
}

/* ---- numbers -------------------------------------------------------------- */

static inline size_t type_size(ncclDataType_t type)
{
    return type == ncclInt8 || type == ncclUint8                            ? 1
           : type == ncclFloat16 || type == ncclBfloat16                    ? 2
           : type == ncclFloat64 || type == ncclInt64 || type == ncclUint64 ? 8
                                                                            : 4;
}

/** To so many binary digits, the least of them no less than 2^least. */
static inline double rounded_to(double x, int digits, int least)
{
    int exponent;

    if (x == 0 || isnan(x) || isinf(x))
        return x;
    (void)frexp(x, &exponent);
    exponent -= digits;
    if (exponent < least)
        exponent = least;
    return ldexp(nearbyint(ldexp(x, -exponent)), exponent);
}

/** A float type's value nearest to x. */
static inline double nearest(ncclDataType_t type, double x)
{
    if (type == ncclBfloat16)
        return rounded_to(x, 8, -133);
    if (type == ncclFloat16) {
        x = rounded_to(x, 11, -24);
        return fabs(x) > 65504 ? copysign(INFINITY, x) : x;
    }
    return type == ncclFloat32 ? (double)(float)x : x;
}

static inline double value_of_f16(uint16_t bits)
{
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double value = exponent == 0   ? ldexp(mantissa, -24)
                   : exponent < 31 ? ldexp(1024 + mantissa, exponent - 25)
                   : mantissa      ? NAN
                                   : INFINITY;

    return bits & 0x8000 ? -value : value;
}

static inline double value_at(const void *numbers, ncclDataType_t type,
                              size_t i)
{
    const unsigned char *at =
        (const unsigned char *)numbers + i * type_size(type);
    uint16_t half;
    uint32_t word;
    float f32;
    double f64;

    memcpy(&half, at, type_size(type) == 2 ? 2 : 0);
    switch ((int)type) {
    case ncclFloat16:
        memcpy(&half, at, 2);
        return value_of_f16(half);
    case ncclBfloat16:
        memcpy(&half, at, 2);
        word = (uint32_t)half << 16;
        memcpy(&f32, &word, 4);
        return (double)f32;
    case ncclFloat32:
        memcpy(&f32, at, 4);
        return (double)f32;
    default:
        memcpy(&f64, at, 8);
        return f64;
    }
}

static inline uint16_t f16_of(double x)
{
    unsigned sign = signbit(x) ? 0x8000u : 0, bits;
    int exponent;
    double part = frexp(fabs(x), &exponent);

    if (isinf(x))
        bits = 0x7c00;
    else if (exponent < -13)
        bits = (unsigned)ldexp(fabs(x), 24);
    else
        bits =
            (unsigned)(exponent + 14) * 1024 + (unsigned)ldexp(part, 11) - 1024;
    return (uint16_t)(sign | bits);
}

/** x must be a value of the type. */
static inline void set_value(void *numbers, ncclDataType_t type, size_t i,
                             double x)
{
    unsigned char *at = (unsigned char *)numbers + i * type_size(type);
    float f32 = (float)x;
    uint16_t half = 0;
    uint32_t word;

    switch ((int)type) {
    case ncclFloat16:
        half = f16_of(x);
        memcpy(at, &half, 2);
        break;
    case ncclBfloat16:
        memcpy(&word, &f32, 4);
        half = (uint16_t)(word >> 16);
        memcpy(at, &half, 2);
        break;
    case ncclFloat32:
        memcpy(at, &f32, 4);
        break;
    default:
        memcpy(at, &x, 8);
        break;
    }
}

/** The i-th number of a sequence, between -1 and 1. */
static inline double noise(uint64_t i)
{
    i = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    i = (i ^ i >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    i ^= i >> 32;
    return (double)(int64_t)(i >> 11) / (double)(INT64_C(1) << 52) - 1;
}

static inline void *bytes_of(const void *memory)
{
    void *found = fake_reach(memory, 1);

    assert_non_null(found);
    return found;
}
#endif
