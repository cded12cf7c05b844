/* Numbers and strings without a locale. A decimal is handed to strtod() as
 * whole digits and an exponent ("435e1"): without a point there is nothing
 * in it that a locale could change, and rounding stays the C library's. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"

/* A double half-way between two others has at most 767 digits; what follows
 * can only say "a little more". */
enum { DIGITS_MAX = 768, EXPONENT_MAX = 100000 };

/* Every power of ten up to this one is a double, and so is every integer of
 * 15 digits: one operation on two of them is rounded once. */
enum { EXACT_DIGITS = 15, EXACT_POWER = 22 };
static const double powers[EXACT_POWER + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22
};

/* digits * 10^exponent; no leading zeros, so count is 0 for zero. */
struct decimal {
    char digits[DIGITS_MAX + 16]; /* room for a sticky digit and "e-100000" */
    int count;
    int exponent;
    int sticky; /* something beyond the digits is not zero */
};

static int digit_at(const struct hdpi_text *text, size_t at)
{
    return at < text->length && text->text[at] >= '0' && text->text[at] <= '9';
}

int hdpi_text_int(struct hdpi_text *text, int64_t *out)
{
    int64_t value = 0;
    size_t at = text->at;
    for (; digit_at(text, at); at++) {
        int digit = text->text[at] - '0';
        if (value > (INT64_MAX - digit) / 10)
            return 0;
        value = value * 10 + digit;
    }
    if (at == text->at)
        return 0;
    text->at = at;
    *out = value;
    return 1;
}

/* Digits from `at` on; returns where they end. */
static size_t take_digits(struct decimal *decimal, const struct hdpi_text *text,
                          size_t at, int fraction)
{
    for (; digit_at(text, at); at++) {
        char digit = text->text[at];
        int kept = decimal->count < DIGITS_MAX;
        if (kept && (digit != '0' || decimal->count > 0))
            decimal->digits[decimal->count++] = digit;
        if (!kept && digit != '0')
            decimal->sticky = 1;
        /* a text can be longer than an int: past the limit all is the same */
        if (fraction && kept && decimal->exponent > -EXPONENT_MAX)
            decimal->exponent--;
        if (!fraction && !kept && decimal->exponent < EXPONENT_MAX)
            decimal->exponent++;
    }
    return at;
}

static size_t take_exponent(struct decimal *decimal,
                            const struct hdpi_text *text, size_t at)
{
    if (at >= text->length || (text->text[at] != 'e' && text->text[at] != 'E'))
        return at;
    size_t digit = at + 1;
    int negative = digit < text->length && text->text[digit] == '-';
    if (negative || (digit < text->length && text->text[digit] == '+'))
        digit++;
    if (!digit_at(text, digit))
        return at;
    int value = 0;
    for (; digit_at(text, digit); digit++)
        if (value < EXPONENT_MAX)
            value = value * 10 + (text->text[digit] - '0');
    decimal->exponent += negative ? -value : value;
    return digit;
}

static double value_of(struct decimal *decimal)
{
    if (decimal->count == 0)
        return 0.0;
    if (FLT_EVAL_METHOD == 0 && decimal->count <= EXACT_DIGITS &&
        abs(decimal->exponent) <= EXACT_POWER) {
        int64_t whole = 0;
        for (int i = 0; i < decimal->count; i++)
            whole = whole * 10 + (decimal->digits[i] - '0');
        return decimal->exponent < 0
                   ? (double)whole / powers[-decimal->exponent]
                   : (double)whole * powers[decimal->exponent];
    }
    if (decimal->sticky) {
        decimal->digits[decimal->count++] = '1';
        decimal->exponent--;
    }
    size_t room = sizeof decimal->digits - (size_t)decimal->count;
    snprintf(decimal->digits + decimal->count, room, "e%d", decimal->exponent);
    int saved = errno;
    double value = strtod(decimal->digits, NULL);
    errno = saved;
    return value;
}

int hdpi_text_scaled(struct hdpi_text *text, int32_t exponent, double *out)
{
    struct decimal decimal;
    decimal.count = decimal.exponent = decimal.sticky = 0;
    size_t at = take_digits(&decimal, text, text->at, 0);
    if (at == text->at)
        return 0;
    if (at < text->length && text->text[at] == '.' && digit_at(text, at + 1))
        at = take_digits(&decimal, text, at + 1, 1);
    at = take_exponent(&decimal, text, at);
    if (exponent > EXPONENT_MAX || exponent < -EXPONENT_MAX)
        return 0;
    decimal.exponent += exponent;
    double value = value_of(&decimal);
    if (!isfinite(value))
        return 0;
    text->at = at;
    *out = value;
    return 1;
}

int hdpi_text_double(struct hdpi_text *text, double *out)
{
    return hdpi_text_scaled(text, 0, out);
}

/* "d.ddde+xx", whatever stands for the point, as digits and the exponent of
 * the last of them. */
static int split_digits(char *digits, int *exponent, const char *printed)
{
    int count = 0;
    for (; *printed != 'e' && *printed != '\0'; printed++)
        if (*printed >= '0' && *printed <= '9')
            digits[count++] = *printed;
    while (count > 1 && digits[count - 1] == '0')
        count--;
    digits[count] = '\0';
    *exponent = (int)strtol(printed + 1, NULL, 10) - (count - 1);
    return count;
}

static size_t lay_out(char *out, const char *digits, int count, int exponent)
{
    int point = count + exponent; /* digits before the point */
    size_t room = HDPI_TEXT_DOUBLE_MAX;
    int length;
    if (exponent >= 0 && point <= 17)
        length = snprintf(out, room, "%s%.*s", digits, exponent,
                          "00000000000000000");
    else if (exponent < 0 && point > 0)
        length = snprintf(out, room, "%.*s.%s", point, digits, digits + point);
    else if (point <= 0 && point > -5)
        length = snprintf(out, room, "0.%.*s%s", -point, "0000", digits);
    else if (count == 1)
        length = snprintf(out, room, "%se%d", digits, point - 1);
    else
        length =
            snprintf(out, room, "%c.%se%d", digits[0], digits + 1, point - 1);
    return (size_t)length;
}

size_t hdpi_text_write_scaled(char *out, int32_t scale, double value)
{
    char printed[48], digits[24], whole[40];
    int count = 0, exponent = 0;
    for (int precision = 0; precision < DBL_DECIMAL_DIG; precision++) {
        snprintf(printed, sizeof printed, "%.*e", precision, value);
        count = split_digits(digits, &exponent, printed);
        int length = snprintf(whole, sizeof whole, "%se%d", digits, exponent);
        struct hdpi_text text = { whole, (size_t)length, 0 };
        double back;
        if (hdpi_text_double(&text, &back) && back == value)
            break;
    }
    return lay_out(out, digits, count, digits[0] == '0' ? 0 : exponent - scale);
}

size_t hdpi_text_write_double(char *out, double value)
{
    return hdpi_text_write_scaled(out, 0, value);
}

int hdpi_text_copy(char *out, size_t capacity, const char *source)
{
    size_t length = strlen(source);
    if (capacity == 0)
        return 0;
    size_t kept = length < capacity ? length : capacity - 1;
    memcpy(out, source, kept);
    out[kept] = '\0';
    return kept == length;
}

/* Length of the printable UTF-8 sequence that `at` begins with; 0: none. */
static size_t sequence(const unsigned char *at, size_t left)
{
    unsigned char first = at[0];
    if (first < 0x80)
        return first >= 0x20 && first != 0x7f;
    size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (first < 0xc2 || first > 0xf4 || length > left)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    /* over-long forms, surrogates, past U+10FFFF, and the C1 controls */
    if ((first == 0xe0 && at[1] < 0xa0) || (first == 0xed && at[1] > 0x9f) ||
        (first == 0xf0 && at[1] < 0x90) || (first == 0xf4 && at[1] > 0x8f) ||
        (first == 0xc2 && at[1] < 0xa0))
        return 0;
    return length;
}

int hdpi_text_escape(char *out, size_t capacity, const char *source,
                     size_t length)
{
    static const char hex[] = "0123456789abcdef";
    static const char cut[] = "...";
    size_t used = 0, safe = 0; /* safe: what can stand before the cut mark */
    if (capacity == 0)
        return 0;
    for (size_t i = 0; i < length;) {
        const unsigned char *at = (const unsigned char *)source + i;
        size_t whole = sequence(at, length - i);
        char escaped[4] = { '\\', 'x', hex[*at >> 4], hex[*at & 15] };
        size_t piece = whole ? whole : sizeof escaped;
        if (piece >= capacity - used) {
            out[safe] = '\0';
            if (capacity - safe >= sizeof cut)
                memcpy(out + safe, cut, sizeof cut);
            return 0;
        }
        memcpy(out + used, whole ? (const char *)at : escaped, piece);
        used += piece;
        i += whole ? whole : 1;
        if (capacity - used >= sizeof cut)
            safe = used;
    }
    out[used] = '\0';
    return 1;
}

hdp_status hdpi_text_give(const char *source, size_t length, char *text,
                          size_t capacity, size_t *needed)
{
    if (needed)
        *needed = length + 1;
    if (!text && capacity > 0)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "text is NULL, but its capacity is %zu", capacity);
    if (!text)
        return HDP_OK;
    size_t kept = length < capacity ? length : capacity ? capacity - 1 : 0;
    if (capacity > 0) {
        memcpy(text, source, kept);
        text[kept] = '\0';
    }
    if (length < capacity)
        return HDP_OK;
    return hdpi_fail(HDP_ERR_CAPACITY,
                     "the text needs %zu bytes, the buffer has %zu", length + 1,
                     capacity);
}
