/* Changes to an input that keep most of its form: numbers become interesting
 * ones, pieces between delimiters move, bytes change. */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H
#include <stddef.h>
#include <stdint.h>

/** The next number of a sequence (splitmix64). */
uint64_t fuzz_random(uint64_t *state);

/** Changes data[0..size) in place, at most to `room` bytes (1 or more);
 *  returns the new size. */
size_t fuzz_mutate(uint8_t *data, size_t size, size_t room, uint64_t *random);
#endif
