/* Copies and fills as runtime and driver ask for them. Codes are the runtime's;
 * the lock is held. */
#ifndef FAKE_COPY_H
#define FAKE_COPY_H
#include "inner.h"

enum { FAKE_PATTERN_MAX = 16 };

struct fake_copy {
    void *target; /* of any memory */
    const void *source;
    size_t target_pitch, source_pitch, width, height; /* bytes, rows */
    enum cudaMemcpyKind kind; /* cudaMemcpyDefault: by the addresses */
    CUstream stream;          /* as the caller gave it */
};

/** Queues a copy. Where pageable memory takes part it has happened when this
 *  returns. 1 where the ends or the kind do not fit, 12: a pitch, 400: no stream. */
int fake_copy(const struct fake_copy *asked);

struct fake_fill {
    void *target;
    size_t bytes;
    const void *pattern; /* repeated */
    size_t pattern_bytes;
    CUstream stream;
};

int fake_fill(const struct fake_fill *asked);
#endif
