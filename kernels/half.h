/* The two 16-bit floats as bits, inline so that loops over them vectorise:
 * no branch, no shift by a variable, no subnormal on the way in (a program
 * built with fast maths flushes those). */
#ifndef HDPK_HALF_H
#define HDPK_HALF_H
#include <stdint.h>
#include <string.h>
#include "isa.h"

HDPK_INLINE float half_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

HDPK_INLINE double half_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

HDPK_INLINE uint64_t half_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* All ones where the condition holds. Selecting by masks keeps compilers from
 * turning a choice back into a branch, which ends vectorisation. */
HDPK_INLINE uint64_t half_mask(int condition)
{
    return (uint64_t)0 - (uint64_t)condition;
}

HDPK_INLINE uint64_t half_pick(uint64_t mask, uint64_t yes, uint64_t no)
{
    return (yes & mask) | (no & ~mask);
}

/* Exact. A subnormal is read as 2^-14 plus itself, then 2^-14 is taken away. */
HDPK_INLINE float half_from_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t wide = (uint32_t)(half & 0x7fffu) << 13;
    uint32_t rebias = (127u - 15u) << 23;
    uint32_t special = 0u - (uint32_t)(wide >= 0x7c00u << 13);
    uint32_t subnormal = 0u - (uint32_t)(wide < 0x0400u << 13);
    float tiny = half_float(wide + (113u << 23)) - half_float(113u << 23);
    uint32_t tiny_bits;
    memcpy(&tiny_bits, &tiny, sizeof(tiny_bits));
    wide = wide + rebias + (rebias & special);
    return half_float(((tiny_bits & subnormal) | (wide & ~subnormal)) | sign);
}

HDPK_INLINE float half_from_bf16(uint16_t half)
{
    return half_float((uint32_t)half << 16);
}

/* One rounding to a float of `digits` mantissa bits and least exponent
 * `lowest`. Adding a power of two 52 - digits places above the value makes
 * the adder round it to nearest even at the last wanted bit; the difference
 * of the bit patterns is then the mantissa as an integer. A carry moves into
 * the exponent by itself, and what is too large lands on infinity. */
HDPK_INLINE uint16_t half_round(double value, unsigned digits, int lowest,
                                int highest)
{
    const uint64_t exponents = (uint64_t)0x7ff << 52;
    const uint64_t limit = (uint64_t)(1023 + highest + 1) << 52;
    const uint64_t least = (uint64_t)(1023 + lowest) << 52;
    const unsigned drop = 52 - digits;
    const uint64_t quiet = (uint64_t)1 << (digits - 1);
    uint64_t bits = half_bits(value);
    uint64_t sign = bits >> 48 & 0x8000u;
    uint64_t size = bits & ~((uint64_t)1 << 63);
    uint64_t nan = half_mask((int64_t)size > (int64_t)exponents);
    uint64_t held =
        half_pick(half_mask((int64_t)size > (int64_t)limit), limit, size);
    uint64_t power = held & exponents;
    uint64_t magic, sum, half;
    power = half_pick(half_mask((int64_t)power < (int64_t)least), least, power);
    magic = power + ((uint64_t)drop << 52);
    sum = half_bits(half_double(held) + half_double(magic));
    half = ((power - least) >> drop) + (sum - magic);
    half |= nan & (quiet | (size >> drop & (quiet - 1)));
    return (uint16_t)(half | sign);
}

HDPK_INLINE uint16_t half_to_f16(double value)
{
    return half_round(value, 10, -14, 15);
}

HDPK_INLINE uint16_t half_to_bf16(double value)
{
    return half_round(value, 7, -126, 127);
}
#endif
