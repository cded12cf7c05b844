/* Reproducible numbers: the same seed gives the same data on every machine. */
#ifndef BENCH_WORK_RANDOM_H
#define BENCH_WORK_RANDOM_H
#include <stdint.h>

/* splitmix64: any state is a good one, zero too. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* 0 to 1, without the 1. */
static inline double random_unit(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}
#endif
