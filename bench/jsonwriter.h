/* Prints a JSON tree for people and programs alike: shortest exact numbers,
 * lists of plain values on one line. */
#ifndef BENCH_JSONWRITER_H
#define BENCH_JSONWRITER_H
#include <stdio.h>

#include <jansson.h>

/** One document and a newline. Returns 0 when memory or the stream fails. */
int jsonwriter_write(FILE *out, json_t *root);

/** The same on a single line, however long. */
int jsonwriter_line(FILE *out, json_t *value);

/** The shortest text that reads back as the same number; it has a dot or an
 *  exponent. */
int jsonwriter_real(FILE *out, double value);
#endif
