/* What a command hands back: one JSON document and one text for people, both
 * always built, one printed. */
#ifndef BENCH_DOCUMENT_H
#define BENCH_DOCUMENT_H
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "failure.h"
#include "notes.h"
#include "options.h"
#include "stats.h"

struct document {
    json_t *root, *warnings;
    FILE *text; /* the table; a memory stream */
    char *text_data;
    size_t text_size;
    struct notes *notes;
    int begun; /* document_stream() has printed */
};

/** Returns 0 when memory is short; document_close() is legal then too. */
int document_open(struct document *document, const char *command,
                  struct notes *notes);
void document_close(struct document *document);

/** Sets a section; takes over `value` (NULL is noticed when written). */
void document_set(struct document *document, const char *key, json_t *value);

/** A warning for the document and stderr; the driving thread. */
void document_warn(struct document *document, const char *code,
                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Closes the text and fills status and error from `failure`. */
void document_finish(struct document *document, const struct failure *failure);

/** Only how it ended, once more: for what fails after document_finish(). */
void document_end(struct document *document, const struct failure *failure);

/** Writes the finished document in a FORMAT_*. Returns 0 when that fails. */
int document_write(const struct document *document, int32_t format, FILE *out);

/** Prints a row of jsonl to stdout at once, behind the document's first line;
 *  document_write() then adds the last one alone. Borrows the row. */
void document_stream(struct document *document, json_t *row);

/* Values. A number that is not finite becomes null. */
json_t *document_real(double value);
json_t *document_ns(double ns); /* rounded to a whole number */
json_t *document_text_or_null(const char *text);
json_t *document_ints(const int64_t *values, int count);
json_t *document_reals(const double *values, int count);
json_t *document_sample(const double *ns, size_t n); /* n, median, mad ... */

/* Members of a tree, the library's or one's own, which live as long as it. */

/** "" where there is no such text. */
const char *document_text(const json_t *object, const char *key);
/** -1 where there is no such integer. */
int64_t document_number(const json_t *object, const char *key);
/** What a topology's notes say of an adapter; NULL: nothing. */
const char *document_note(const json_t *topology, const char *adapter);
#endif
