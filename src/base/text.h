/* Text in and out that no locale changes, and the snprintf rule of every
 * function that hands out a string. */
#ifndef HDPI_TEXT_H
#define HDPI_TEXT_H
#include "base/status.h"

/** A cursor over text[at..length). */
struct hdpi_text {
    const char *text;
    size_t length;
    size_t at;
};

/** Reads digits as an int64; 0 when there is none or it does not fit (the
 *  cursor then stays). No sign, no blanks. */
int hdpi_text_int(struct hdpi_text *text, int64_t *out);

/** Reads [0-9]+(.[0-9]+)?([eE][+-]?[0-9]+)? as a finite double, correctly
 *  rounded as strtod in the C locale; 0 and cursor unmoved otherwise. */
int hdpi_text_double(struct hdpi_text *text, double *out);

/** hdpi_text_double() times 10^exponent, rounded once: "4.35" at 3 is 4350
 *  exactly, which 4.35 * 1000.0 is not bound to be. */
int hdpi_text_scaled(struct hdpi_text *text, int32_t exponent, double *out);

enum { HDPI_TEXT_DOUBLE_MAX = 32 };

/** Writes the shortest decimal that reads back as `value` (finite, >= 0):
 *  "0.8", "1500", "1e300". `out` has HDPI_TEXT_DOUBLE_MAX bytes at least;
 *  returns the length. */
size_t hdpi_text_write_double(char *out, double value);

/** The same for hdpi_text_scaled() at `scale`: 0.03 at -2 is "3". */
size_t hdpi_text_write_scaled(char *out, int32_t scale, double value);

/** Copies `source` (NUL-terminated) into out[capacity], cut on a full buffer,
 *  always terminated when capacity > 0. Returns 1 when it fitted. */
int hdpi_text_copy(char *out, size_t capacity, const char *source);

/** Copies length bytes into out[capacity] as one printable line of valid
 *  UTF-8: control bytes and broken sequences become \xNN, no sequence is
 *  split, a cut text ends in "...". Always terminated when capacity > 0.
 *  Returns 1 when it fitted. */
int hdpi_text_escape(char *out, size_t capacity, const char *source,
                     size_t length);

/** Hands a finished string to a caller: writes up to capacity bytes, always
 *  terminated; *needed (may be NULL) gets length + 1. HDP_ERR_ARGUMENT when
 *  `text` is NULL with capacity > 0; HDP_ERR_CAPACITY when it was cut. NULL
 *  with capacity 0 asks for the size and is HDP_OK. */
hdp_status hdpi_text_give(const char *source, size_t length, char *text,
                          size_t capacity, size_t *needed);
#endif
