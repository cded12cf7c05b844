/* Numbers for workloads: what they are multiplied by costs power and time, so
 * zeros would measure something else. */
#ifndef HDPI_RANDOM_H
#define HDPI_RANDOM_H
#include <stdint.h>

/** Fills `count` elements of a float type or HDP_I8 with numbers spread evenly
 *  over [-1, 1), or over all that 8 bits hold. The same state gives the same
 *  numbers; it moves on. */
void hdpi_random_fill(void *out, int32_t dtype, int64_t count, uint64_t *state);
#endif
