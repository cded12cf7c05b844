/* Slowdowns that the command line declares, `--slow DEV=2x@STEP`: read, matched
 * with the members, and told; adapt.c brings them about. */
#ifndef BENCH_SLOWS_H
#define BENCH_SLOWS_H
#include <stdint.h>

#include "parse.h"

struct bench;

enum { SLOWS_MAX = 16, SLOW_DEVICE_MAX = 64, SLOW_FACTOR_MAX = 24 };

struct slow {
    char device[SLOW_DEVICE_MAX];      /* as written: 0, or host:1 */
    char factor_text[SLOW_FACTOR_MAX]; /* without the x */
    double factor;
    int64_t step;   /* the first that takes so long; the first of all is 0 */
    int32_t member; /* by slows_resolve() */
};

/** Reads DEV=Fx@STEP. Pure; as parse.h. */
int slows_read(const char *text, struct slow *out, struct parse_error *error);

/** Finds the members, sorts by step, and refuses what cannot be: a member
 *  faster than it is, a step that is not run, one member twice in one step. */
int slows_resolve(struct bench *bench, struct slow *slows, int count,
                  int64_t steps);

/** 1 when some simulated member is slowed. */
int slows_simulated(const struct bench *bench, const struct slow *slows,
                    int count);

/** Says it in the `devices` section, and in a comment line each. */
void slows_declare(struct bench *bench, const struct slow *slows, int count);
#endif
