/* The size-first rule of every public struct, in one place: read what the
 * caller knows, refuse what only a newer library could honour. */
#ifndef HDPI_OPTIONS_H
#define HDPI_OPTIONS_H
#include "base/status.h"

/**
 * Copies a caller's struct into ours.
 *
 * `own` is filled with zeroes, then min(size, own_size) bytes are copied and
 * its size is set to own_size. NULL `given` is all defaults. `name` is the
 * struct's name for messages.
 *
 * @return HDP_ERR_ARGUMENT when size is smaller than a size_t, or when the
 *         caller's struct is larger than ours and its tail is not zero.
 */
hdp_status hdpi_options_read(void *own, size_t own_size, const void *given,
                             const char *name);

/** The same for element `index` of an array that steps by element 0's size. */
hdp_status hdpi_options_read_at(void *own, size_t own_size, const void *array,
                                int32_t index, const char *name);

/**
 * Writes a result into a caller's struct of any age: min(out->size, own_size)
 * bytes, out->size kept, a larger struct's tail zeroed.
 */
hdp_status hdpi_options_write(void *out, const void *own, size_t own_size,
                              const char *name);
#endif
