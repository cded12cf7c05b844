/* What happens to a text before jansson sees it. */
#ifndef HDPI_JSON_SCAN_H
#define HDPI_JSON_SCAN_H
#include "base/status.h"

enum {
    HDPI_JSON_TOKEN_MAX = 2048,     /* bytes of a string or number */
    HDPI_JSON_VALUES_MAX = 8 << 20, /* values and keys of a text, about */
    HDPI_JSON_GUARD = 4096
};

/**
 * Copies a text for jansson as the second element of an array.
 *
 * A number with a point becomes digits and an exponent ("1.25" is 125e-2):
 * jansson asks the locale for its point, and asserts where that has several
 * bytes. The first element is a string of HDPI_JSON_GUARD letters: jansson
 * does not notice when its token buffer cannot grow and drops a byte. After
 * this string it is large enough for every token, and a shorter string is the
 * sign that memory ran out.
 *
 * @param out     Receives the copy, malloc'ed, not terminated; caller frees.
 * @return HDP_ERR_ARGUMENT ("line 3 column 9: ...") when the text is no single
 *         object, or passes a limit of size, depth, values or token length;
 *         HDP_ERR_MEMORY.
 */
hdp_status hdpi_json_scan(char **out, size_t *out_length, const char *text,
                          size_t length);

/** HDP_ERR_ARGUMENT with the line and column (in bytes) of text[at]. */
hdp_status hdpi_json_refuse_at(const char *text, size_t at, const char *what);

/** The offset in the text that byte `at` of its copy came from. */
size_t hdpi_json_scan_source(const char *text, size_t length, size_t at);
#endif
