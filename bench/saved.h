/* A saved document, read as what anybody may have written: of bounded size and
 * depth, and with the schema that it says it has. */
#ifndef BENCH_SAVED_H
#define BENCH_SAVED_H
#include <stddef.h>

#include <jansson.h>

#include "failure.h"

enum { SAVED_DEPTH_MAX = 64, SAVED_BYTES_MAX = 64 << 20 };

/**
 * The document of a file, "-" being standard input. A saved profile (schema
 * hdp.profile) becomes a document with that section alone.
 * @return NULL on failure, which is recorded and names the file; the exit code
 *         is EXIT_ENVIRONMENT where it cannot be read, EXIT_USAGE where it is
 *         no such document.
 */
json_t *saved_read(const char *path, struct failure *failure);

/** The same of a text in memory; `name` is for messages. */
json_t *saved_parse(const char *text, size_t size, const char *name,
                    struct failure *failure);
#endif
