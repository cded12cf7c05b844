/* What makes a simulated device slower or faster than its model, and what the
 * reason stands for. Pure: all of it follows from what was asked, from how many
 * functions were launched and from how far the device's clock has run. */
#ifndef HDPI_SIM_PACE_H
#define HDPI_SIM_PACE_H
#include "core/topology.h"

/** What a time is to be multiplied by, without its noise. */
double hdpi_sim_pace(const struct hdpi_ask *ask, int64_t launches,
                     double clock_ns);

/** HDP_CAUSE_* behind that. */
int32_t hdpi_sim_cause(const struct hdpi_ask *ask, int64_t launches,
                       double clock_ns);

/** Noise: mean 0, deviation 1, never beyond 6; the same on every machine. */
double hdpi_sim_gauss(uint64_t seed, int32_t device, uint64_t position);
#endif
