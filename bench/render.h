/* A finished document in the forms that other programs and pages read. They
 * are made from the JSON alone, so that no form can say what another does
 * not. */
#ifndef BENCH_RENDER_H
#define BENCH_RENDER_H
#include <stdio.h>

#include <jansson.h>

/* All return 0 when memory or the stream fails. */

/** A first line of type `document`, one a row, a last one of type `end` with
 *  the status and the error. */
int render_jsonl(FILE *out, json_t *root);
/** Those two lines alone. */
int render_jsonl_begin(FILE *out, json_t *root);
int render_jsonl_end(FILE *out, json_t *root);

/** One table, the command's main rows and a last column `status`. Quoted by
 *  RFC 4180, lines end in \n; null is empty, an empty text is "". Without rows
 *  a table of one row that says how the command ended. */
int render_csv(FILE *out, json_t *root);

/** A heading and a table for each kind of row, as GitHub reads them. */
int render_md(FILE *out, json_t *root);
#endif
