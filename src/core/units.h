/* Numbers with a unit, exact both ways: 4.35us is 4350 ns, and what is written
 * reads back as the same number. No locale. */
#ifndef HDPI_UNITS_H
#define HDPI_UNITS_H
#include "base/text.h"

/* Each reads the whole rest of `text`, text[at..length), and returns 1; 0 when
 * it is no such number or does not fit in 63 bits. No sign, no blanks; the
 * unit is required. The cursor stays. */

/** "500us", "1.5ms", "0s": ns us ms s. Nanoseconds. */
int hdpi_read_duration(double *out_ns, const struct hdpi_text *text);
/** "80GiB", "0.8GB": B kB MB GB TB (10^3), KiB MiB GiB TiB (2^10). The part
 *  of a byte is cut; whole numbers are exact up to INT64_MAX. */
int hdpi_read_size(int64_t *out, const struct hdpi_text *text);
/** Bytes a second, spelled as a size. */
int hdpi_read_rate(double *out, const struct hdpi_text *text);
/** "3%" is 0.03. */
int hdpi_read_percent(double *out, const struct hdpi_text *text);

enum { HDPI_UNITS_TEXT_MAX = HDPI_TEXT_DOUBLE_MAX + 4 };

/* Each writes the shortest form of a value >= 0 to out[HDPI_UNITS_TEXT_MAX]. */
void hdpi_write_duration(char *out, double ns);
void hdpi_write_size(char *out, int64_t bytes);
void hdpi_write_rate(char *out, double bytes_per_second);
void hdpi_write_percent(char *out, double value);
#endif
