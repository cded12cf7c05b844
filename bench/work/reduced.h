/* What `reduce` reduces: data on every member whose results are known exactly,
 * written and compared where the member is. */
#ifndef BENCH_WORK_REDUCED_H
#define BENCH_WORK_REDUCED_H
#include "gpu.h"

struct reduced;

struct reduced_spec {
    struct gpu *gpu; /* NULL: all members are on the host */
    int32_t members;
    int64_t bytes; /* of the largest size */
    int32_t dtype, op;
    const int64_t *counts; /* weights, one a member; stays the caller's */
};

/** Two buffers a member. NULL: out of memory, at *out_member. */
struct reduced *reduced_create(const struct reduced_spec *spec,
                               int32_t *out_member);
void reduced_destroy(struct reduced *self); /* accepts NULL */

const void *const *reduced_send(const struct reduced *self);
void *const *reduced_recv(const struct reduced *self);
/** For hdp_buffers.memory. */
int32_t reduced_memory(const struct reduced *self);
/** What results are compared with; static text. */
const char *reduced_against(const struct reduced *self);

/** Writes what is sent, and what a result never is where it goes. Returns -1,
 *  or the member whose GPU failed: see gpu_reason(). */
int32_t reduced_fill(struct reduced *self, int64_t elements);
/** Counts the elements that are not the result, over all members. Returns as
 *  reduced_fill(). */
int32_t reduced_wrong(struct reduced *self, int64_t elements,
                      int64_t *out_wrong);
#endif
