/* Numbers from the command line, character by character: strtol and friends
 * skip blanks, stop early and follow the locale, so they are not used. */
#include "parse.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 12 }; /* of a fraction */
__extension__ typedef __int128 wide;

struct unit {
    const char *name;
    int64_t scale;
};

static const struct unit durations[] = {
    { "ns", 1 },         { "us", 1000 },       { "ms", 1000000 },
    { "s", 1000000000 }, { "m", 60000000000 }, { NULL, 0 },
};
static const struct unit sizes[] = {
    { "", 1 },
    { "B", 1 },
    { "kB", 1000 },
    { "MB", 1000000 },
    { "GB", 1000000000 },
    { "TB", 1000000000000 },
    { "KiB", (int64_t)1 << 10 },
    { "MiB", (int64_t)1 << 20 },
    { "GiB", (int64_t)1 << 30 },
    { "TiB", (int64_t)1 << 40 },
    { NULL, 0 },
};
static const struct unit letters[] = {
    { "K", (int64_t)1 << 10 },
    { "M", (int64_t)1 << 20 },
    { "G", (int64_t)1 << 30 },
    { NULL, 0 },
};

static int refuse(struct parse_error *error, int position, const char *format,
                  ...) __attribute__((format(printf, 3, 4)));

static int refuse(struct parse_error *error, int position, const char *format,
                  ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    error->position = position;
    return 0;
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int at(const char *text, const char *here)
{
    return here - text > INT_MAX - 1 ? INT_MAX : (int)(here - text) + 1;
}

int parse_int(const char *text, int64_t min, int64_t max, int64_t *out,
              struct parse_error *error)
{
    const char *p = text;
    int negative = *p == '-';
    uint64_t value = 0, limit;

    p += negative;
    if (!is_digit(*p))
        return refuse(error, at(text, p), "expected a whole number");
    limit = (uint64_t)INT64_MAX + (uint64_t)negative;
    for (; is_digit(*p); ++p) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (value > (limit - digit) / 10)
            return refuse(error, 0, "does not fit into 64 bits");
        value = value * 10 + digit;
    }
    if (*p)
        return refuse(error, at(text, p),
                      "expected the end of a whole number, found '%.16s'", p);
    int64_t result = negative ? (int64_t)(0 - value) : (int64_t)value;
    if (result < min && max == INT64_MAX)
        return refuse(error, 0, "must be at least %lld", (long long)min);
    if (result < min || result > max)
        return refuse(error, 0, "must be %lld to %lld", (long long)min,
                      (long long)max);
    *out = result;
    return 1;
}

/* whole[.fraction]unit as an exact integer of the smallest unit. */
static int scaled(const char *text, const struct unit *units, const char *hint,
                  int64_t *out, struct parse_error *error)
{
    const char *p = text, *whole = text, *fraction = NULL, *end;

    while (is_digit(*p))
        ++p;
    if (p == whole)
        return refuse(error, at(text, p), "expected a number, as in %s", hint);
    if (*p == '.') {
        fraction = ++p;
        while (is_digit(*p))
            ++p;
        if (p == fraction)
            return refuse(error, at(text, p),
                          "expected a digit after the point");
    }
    end = p;
    while (units->name && strcmp(units->name, p) != 0)
        ++units;
    if (!units->name)
        return refuse(error, at(text, p), "expected a unit, as in %s", hint);

    wide value = 0, part = 0, ten = 1;
    for (p = whole; is_digit(*p); ++p) {
        value = value * 10 + (*p - '0');
        if (value > INT64_MAX)
            return refuse(error, 0, "is too large");
    }
    while (fraction && end > fraction && end[-1] == '0')
        --end; /* 1.500 is 1.5 */
    for (p = fraction; p && p < end; ++p) {
        if (p - fraction == DIGITS_MAX)
            return refuse(error, at(text, p), "has too many digits");
        part = part * 10 + (*p - '0');
        ten *= 10;
    }
    if (part * units->scale % ten != 0)
        return refuse(error, at(text, fraction),
                      "is not a whole number of the smallest unit");
    value = value * units->scale + part * units->scale / ten;
    if (value > INT64_MAX)
        return refuse(error, 0, "is too large");
    *out = (int64_t)value;
    return 1;
}

int parse_duration(const char *text, int64_t *out_ns, struct parse_error *error)
{
    if (strcmp(text, "0") == 0) {
        *out_ns = 0;
        return 1;
    }
    return scaled(text, durations, "300ms (ns us ms s m)", out_ns, error);
}

int parse_size(const char *text, int nccl_letters, int64_t *out_bytes,
               struct parse_error *error)
{
    size_t length = strlen(text);

    if (nccl_letters && length && strchr("KMG", text[length - 1]))
        return scaled(text, letters, "128M", out_bytes, error);
    return scaled(text, sizes, "4KiB (B kB MB GB KiB MiB GiB)", out_bytes,
                  error);
}

/* Length of the decimal number at the start of `text`; 0: there is none. */
static size_t real_length(const char *text)
{
    const char *p = text;

    if (*p == '-')
        ++p;
    const char *digits = p;
    while (is_digit(*p))
        ++p;
    if (p == digits)
        return 0;
    if (*p == '.' && is_digit(p[1]))
        for (++p; is_digit(*p); ++p)
            ;
    if (*p == 'e' || *p == 'E') {
        const char *q = p + 1;
        if (*q == '+' || *q == '-')
            ++q;
        if (is_digit(*q)) {
            while (is_digit(*q))
                ++q;
            p = q;
        }
    }
    return (size_t)(p - text);
}

int parse_real(const char *text, double min, double max, double *out,
               struct parse_error *error)
{
    size_t length = real_length(text);

    if (!length)
        return refuse(error, 1, "expected a number");
    if (text[length])
        return refuse(error, at(text, text + length),
                      "expected the end of the number");
    /* This program never calls setlocale(), so the point is a point. */
    double value = strtod(text, NULL);
    if (!isfinite(value) || value < min || value > max)
        return refuse(error, 0, "must be %g to %g", min, max);
    *out = value;
    return 1;
}

int parse_ratios(const char *text, double *out, int capacity, int *out_count,
                 struct parse_error *error)
{
    const char *p = text;
    int count = 0;
    double sum = 0;

    for (;;) {
        size_t length = real_length(p);
        if (!length)
            return refuse(error, at(text, p),
                          "ratio %d: expected a number, as in 3/2", count + 1);
        if (count == capacity)
            return refuse(error, at(text, p), "more than %d ratios", capacity);
        double value = strtod(p, NULL);
        if (!isfinite(value))
            return refuse(error, at(text, p), "ratio %d is too large",
                          count + 1);
        if (value < 0)
            return refuse(error, at(text, p), "ratio %d is negative",
                          count + 1);
        out[count++] = value;
        sum += value;
        p += length;
        if (!*p)
            break;
        if (*p != '/')
            return refuse(error, at(text, p), "expected '/' or the end");
        ++p;
    }
    if (!(sum > 0))
        return refuse(error, 0, "all ratios are zero");
    *out_count = count;
    return 1;
}

int parse_choice(const char *text, const char *const *choices)
{
    for (int i = 0; choices[i]; ++i)
        if (strcmp(choices[i], text) == 0)
            return i;
    return -1;
}
