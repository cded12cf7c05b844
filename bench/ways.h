/* The direct ways between the GPUs of a group, tried one by one. */
#ifndef BENCH_WAYS_H
#define BENCH_WAYS_H
#include "bench.h"

/**
 * Tries each way between two GPU members, and switches peer access on where it
 * works. Each is told to `rows` (may be NULL): from, to (members), way:
 * "peer", "host" (the driver offers none), "wrong" (bytes are lost).
 *
 * @return EXIT_OK, EXIT_CHECK for a way that loses bytes, or what the library
 *         failed with; after a deadline the group is left alone for good.
 */
int ways_try(struct bench *bench, json_t *rows);
#endif
