/* calibrate --repeat: how well a measurement agrees with itself, and with a long
 * one. */
#ifndef BENCH_REPEAT_H
#define BENCH_REPEAT_H
#include "bench.h"

/** Measures so many times by the options, resting before each where asked, then
 *  once as long as the reference. The section `repeat` and a table; *out is the
 *  last of the short ones, destroyed by the caller. */
int repeat_measure(struct bench *bench, hdp_profile **out);
#endif
