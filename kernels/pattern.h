/* The pattern's numbers, once for the host and the device. */
#ifndef HDPK_PATTERN_H
#define HDPK_PATTERN_H
#include <stdint.h>
#include "isa.h"

/* 0 to 63. Mixed twice, so that data that arrives moved, by whatever distance,
 * is wrong in 63 elements of 64. */
HDPK_INLINE int64_t pattern_base(int64_t seed, int64_t position)
{
    uint64_t x = (uint64_t)position * UINT64_C(0xd1342543de82ef95) +
                 (uint64_t)seed * UINT64_C(0xaf251af3b0f025b5);
    x ^= x >> 31;
    x *= UINT64_C(0x9fb21c651e98df25);
    x ^= x >> 29;
    x *= UINT64_C(0xd1342543de82ef95);
    return (int64_t)(x >> 58);
}

/* Wraps, as integers do, where the exact value has no room. */
HDPK_INLINE int64_t pattern_value(int64_t factor, int64_t offset, int64_t seed,
                                  int64_t position)
{
    return (int64_t)((uint64_t)factor * (uint64_t)pattern_base(seed, position) +
                     (uint64_t)offset);
}
#endif
