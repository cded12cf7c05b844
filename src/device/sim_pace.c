/* slow=, drift=, ramp= and noise= of a simulated device, by arithmetic alone. */
#include "device/sim_pace.h"

/* The last slow= that these launches have reached. */
static double slow_factor(const struct hdpi_ask *ask, int64_t launches)
{
    double factor = 1;

    for (int32_t i = 0; i < ask->slow_count; ++i)
        if (launches >= ask->slows[i].nth)
            factor = ask->slows[i].factor;
    return factor;
}

double hdpi_sim_pace(const struct hdpi_ask *ask, int64_t launches,
                     double clock_ns)
{
    double pace = slow_factor(ask, launches);

    pace *= 1 + ask->drift * (clock_ns / 1e9);
    if (clock_ns < ask->ramp_ns)
        pace *= 1 - ask->ramp * (1 - clock_ns / ask->ramp_ns);
    return pace;
}

/* A slow= stands for another's work on the device; clocks that fall, in a drift
 * or a ramp, fall because of heat. */
int32_t hdpi_sim_cause(const struct hdpi_ask *ask, int64_t launches,
                       double clock_ns)
{
    if (slow_factor(ask, launches) > 1)
        return HDP_CAUSE_NEIGHBOUR;
    if (ask->drift > 0 || clock_ns < ask->ramp_ns)
        return HDP_CAUSE_HEAT;
    return HDP_CAUSE_NONE;
}

static uint64_t scramble(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The sum of twelve uniforms less six: additions alone, so that every machine
 * draws the same. */
double hdpi_sim_gauss(uint64_t seed, int32_t device, uint64_t position)
{
    uint64_t state = scramble(seed + 1);
    double sum = -6;

    state = scramble(state ^ ((uint64_t)device + 1));
    state = scramble(state ^ position);
    for (int i = 0; i < 12; ++i) {
        state += UINT64_C(0x9e3779b97f4a7c15);
        sum += (double)(scramble(state) >> 11) * 0x1p-53;
    }
    return sum;
}
