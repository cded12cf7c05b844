/* Prints a JSON tree for people and programs alike: shortest exact numbers,
 * lists of plain values on one line. */
#ifndef BENCH_JSONWRITER_H
#define BENCH_JSONWRITER_H
#include <stdio.h>

#include <jansson.h>

/** One document and a newline. Returns 0 when memory or the stream fails. */
int jsonwriter_write(FILE *out, json_t *root);
#endif
