/* Random numbers that repeat by seed. */
#ifndef TEST_CHANCE_H
#define TEST_CHANCE_H
#include <stdint.h>

static uint64_t chance_bits = UINT64_C(0x9e3779b97f4a7c15);

static inline uint64_t chance_next(void)
{
    chance_bits ^= chance_bits >> 12;
    chance_bits ^= chance_bits << 25;
    chance_bits ^= chance_bits >> 27;
    return chance_bits * UINT64_C(2685821657736338717);
}

static inline int chance_draw(int low, int high)
{
    return low + (int)(chance_next() % (uint64_t)(high - low + 1));
}

static inline double chance_real(double low, double high)
{
    double part = (double)(chance_next() >> 11) / 9007199254740992.;
    return low + (high - low) * part;
}

static inline int chance_of(int percent)
{
    return chance_draw(1, 100) <= percent;
}
#endif
