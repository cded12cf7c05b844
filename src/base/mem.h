/* Host memory and sizes that cannot wrap. */
#ifndef HDPI_MEM_H
#define HDPI_MEM_H
#include "base/status.h"

/** Zeroed array of count elements; NULL with this thread's error set to
 *  HDP_ERR_MEMORY (wanted_bytes filled; INT64_MAX when the product wraps).
 *  count 0 gives a valid pointer. Release with free(). */
void *hdpi_alloc(size_t count, size_t size, const char *what);

/** hdpi_alloc() with an alignment (a power of two); release with free(). */
void *hdpi_alloc_aligned(size_t bytes, size_t alignment, const char *what);

/** Grows *array to hold `wanted` elements at least, keeping the content; the
 *  new part is zeroed. Leaves everything as it was on HDP_ERR_MEMORY. */
hdp_status hdpi_grow(void *array, size_t *capacity, size_t wanted, size_t size,
                     const char *what);

/** a * b and a + b for counts >= 0; HDP_ERR_ARGUMENT naming `what` when the
 *  result passes INT64_MAX or an operand is negative. */
hdp_status hdpi_mul(int64_t *out, int64_t a, int64_t b, const char *what);
hdp_status hdpi_add(int64_t *out, int64_t a, int64_t b, const char *what);
#endif
