/* One pass over a text from anyone, with constant stack: the limits hold
 * before a parser recurses, and no number needs a decimal point after it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "json/json.h"
#include "json/scan.h"

/* Past it every number of so few digits is 0 or too large either way. */
enum { EXPONENT_MAX = 99999 };

struct scan {
    const char *text;
    size_t length, at;
    char *out; /* NULL: only count */
    size_t used;
    size_t values;
    int32_t depth;
};

static hdp_status refuse(const struct scan *scan, const char *what)
{
    return hdpi_json_refuse_at(scan->text, scan->at, what);
}

static hdp_status refuse_above(const struct scan *scan, int32_t limit,
                               const char *what)
{
    char words[64];

    snprintf(words, sizeof words, "more than %d %s", (int)limit, what);
    return refuse(scan, words);
}

hdp_status hdpi_json_refuse_at(const char *text, size_t at, const char *what)
{
    size_t line = 1, start = 0;

    for (size_t i = 0; i < at; i++)
        if (text[i] == '\n') {
            line++;
            start = i + 1;
        }
    return hdpi_fail(HDP_ERR_ARGUMENT, "line %zu column %zu: %s", line,
                     at - start + 1, what);
}

static void emit(struct scan *scan, const char *bytes, size_t count)
{
    if (scan->out)
        memcpy(scan->out + scan->used, bytes, count);
    scan->used += count;
}

/* What stands before the text in the copy. */
static void emit_guard(struct scan *scan)
{
    char letters[64];

    memset(letters, 'x', sizeof letters);
    emit(scan, "[\"", 2);
    for (size_t i = 0; i < HDPI_JSON_GUARD / sizeof letters; i++)
        emit(scan, letters, sizeof letters);
    emit(scan, "\",", 2);
}

static size_t digits_from(const struct scan *scan, size_t at)
{
    while (at < scan->length && scan->text[at] >= '0' && scan->text[at] <= '9')
        at++;
    return at;
}

/* ---- numbers ------------------------------------------------------------- */

/* A number as JSON spells it; `point` and `end` equal without a fraction. */
struct number {
    size_t first, point, fraction_end, end;
    int64_t exponent;
};

static void find_exponent(struct number *number, const struct scan *scan)
{
    size_t at = number->fraction_end;
    int negative = 0;

    if (at >= scan->length || (scan->text[at] | 0x20) != 'e')
        return;
    at++;
    if (at < scan->length && (scan->text[at] == '+' || scan->text[at] == '-'))
        negative = scan->text[at++] == '-';
    size_t end = digits_from(scan, at);
    if (end == at)
        return;
    for (; at < end; at++)
        if (number->exponent < EXPONENT_MAX)
            number->exponent = number->exponent * 10 + (scan->text[at] - '0');
    if (negative)
        number->exponent = -number->exponent;
    number->end = end;
}

/* Leaves what is no proper number as it is: jansson refuses it then. */
static struct number find_number(const struct scan *scan)
{
    struct number number = { .first = scan->at };
    size_t end = digits_from(scan, scan->at);

    if (scan->text[scan->at] == '0')
        end = scan->at + 1;
    number.point = number.fraction_end = number.end = end;
    if (end < scan->length && scan->text[end] == '.') {
        number.fraction_end = digits_from(scan, end + 1);
        if (number.fraction_end == end + 1)
            number.fraction_end = end;
    }
    number.end = number.fraction_end;
    find_exponent(&number, scan);
    return number;
}

static void emit_exponent(struct scan *scan, int64_t exponent)
{
    char digits[24];
    size_t at = sizeof digits;
    int64_t rest = exponent < 0 ? -exponent : exponent;

    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (exponent < 0)
        digits[--at] = '-';
    digits[--at] = 'e';
    emit(scan, digits + at, sizeof digits - at);
}

/* 0.0125e3 -> 125e-1, the same number exactly. */
static hdp_status number_step(struct scan *scan)
{
    struct number number = find_number(scan);
    const char *text = scan->text;

    if (number.end - number.first > HDPI_JSON_TOKEN_MAX)
        return refuse_above(scan, HDPI_JSON_TOKEN_MAX, "bytes in a number");
    scan->at = number.end;
    if (number.fraction_end == number.point) {
        emit(scan, text + number.first, number.end - number.first);
        return HDP_OK;
    }
    size_t fraction = number.point + 1;
    if (text[number.first] != '0') {
        emit(scan, text + number.first, number.point - number.first);
    } else {
        while (fraction + 1 < number.fraction_end && text[fraction] == '0')
            fraction++;
    }
    emit(scan, text + fraction, number.fraction_end - fraction);
    emit_exponent(scan, number.exponent -
                            (int64_t)(number.fraction_end - number.point - 1));
    return HDP_OK;
}

/* ---- everything else ----------------------------------------------------- */

static hdp_status string_step(struct scan *scan)
{
    size_t at = scan->at + 1;

    while (at < scan->length && scan->text[at] != '"')
        at += scan->text[at] == '\\' ? 2 : 1;
    if (at >= scan->length)
        return refuse(scan, "a string that does not end");
    if (at - scan->at > HDPI_JSON_TOKEN_MAX)
        return refuse_above(scan, HDPI_JSON_TOKEN_MAX, "bytes in a string");
    emit(scan, scan->text + scan->at, at + 1 - scan->at);
    scan->at = at + 1;
    return HDP_OK;
}

static hdp_status byte_step(struct scan *scan, char byte)
{
    if (byte == '{' || byte == '[') {
        if (scan->depth == HDPI_JSON_DEPTH_MAX)
            return refuse_above(scan, HDPI_JSON_DEPTH_MAX, "levels of nesting");
        scan->depth++;
    } else if (byte == '}' || byte == ']') {
        scan->depth--;
    }
    if (strchr("{[,:", byte) && ++scan->values > HDPI_JSON_VALUES_MAX)
        return refuse_above(scan, HDPI_JSON_VALUES_MAX, "values");
    emit(scan, &byte, 1);
    scan->at++;
    return HDP_OK;
}

static int is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

/* One token or byte. */
static hdp_status step(struct scan *scan)
{
    char byte = scan->text[scan->at];

    if (scan->depth == 0 && !is_blank(byte)) {
        if (scan->values > 0)
            return refuse(scan, "text after the end of the object");
        if (byte != '{')
            return refuse(scan, "expected an object");
    }
    if (byte == '"')
        return string_step(scan);
    if (byte >= '0' && byte <= '9')
        return number_step(scan);
    return byte_step(scan, byte);
}

hdp_status hdpi_json_scan(char **out, size_t *out_length, const char *text,
                          size_t length)
{
    hdp_status status = HDP_OK;
    struct scan scan = { .text = text, .length = length };

    *out = NULL;
    *out_length = 0;
    if (length > HDPI_JSON_BYTES_MAX)
        return hdpi_fail(HDP_ERR_ARGUMENT, "a text of %zu bytes; at most %d",
                         length, HDPI_JSON_BYTES_MAX);
    /* The worst that can be: 1.1 becomes 11e-1. */
    scan.out = hdpi_alloc(2 * length + HDPI_JSON_GUARD + 5, 1, "JSON text");
    if (!scan.out)
        return HDP_ERR_MEMORY;
    emit_guard(&scan);
    while (scan.at < length)
        HDPI_TRY(step(&scan));
    if (scan.values == 0)
        HDPI_TRY(refuse(&scan, "expected an object"));
    if (scan.depth > 0)
        HDPI_TRY(refuse(&scan, "the text ends inside the object"));
    emit(&scan, "]", 1);
    *out = scan.out;
    *out_length = scan.used;
    scan.out = NULL;
out:
    free(scan.out);
    return status;
}

size_t hdpi_json_scan_source(const char *text, size_t length, size_t at)
{
    struct scan scan = { .text = text, .length = length };
    size_t token = 0, began;

    emit_guard(&scan);
    began = scan.used;
    if (at < began)
        return 0;
    while (scan.at < length && scan.used <= at) {
        token = scan.at;
        began = scan.used;
        if (step(&scan) != HDP_OK)
            break;
    }
    if (scan.used <= at)
        return length;
    /* Inside a number the copy is another text: its first byte stands for
     * all of it. */
    return text[token] >= '0' && text[token] <= '9' ? token
                                                    : token + (at - began);
}
