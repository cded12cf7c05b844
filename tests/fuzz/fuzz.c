/* Checks and input bytes, for all targets. */
#include "fuzz/fuzz.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_failed(const char *file, int line, const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "%s:%d: ", file, line);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    abort();
}

char *fuzz_copy(const uint8_t *data, size_t size, int end)
{
    char *copy = malloc(size + (end ? 1 : 0) + (size == 0));

    FUZZ_CHECK(copy, "no memory for the input");
    if (size > 0)
        memcpy(copy, data, size);
    if (end)
        copy[size] = '\0';
    return copy;
}

/* Bytes of the sequence at `at`, by the table of the Unicode standard; 0: not
 * one, or a control byte. */
static size_t sequence(const unsigned char *at)
{
    unsigned char low = 0x80, high = 0xbf;
    size_t more;

    if (*at < 0x80)
        return *at >= ' ' && *at != 0x7f;
    if (*at >= 0xc2 && *at <= 0xdf)
        more = 1;
    else if (*at >= 0xe0 && *at <= 0xef)
        more = 2;
    else if (*at >= 0xf0 && *at <= 0xf4)
        more = 3;
    else
        return 0;
    low = *at == 0xe0 ? 0xa0 : *at == 0xf0 ? 0x90 : low;
    high = *at == 0xed ? 0x9f : *at == 0xf4 ? 0x8f : high;
    for (size_t i = 1; i <= more; i++, low = 0x80, high = 0xbf)
        if (at[i] < low || at[i] > high)
            return 0;
    return more + 1;
}

int fuzz_is_clean(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    while (*at) {
        size_t length = sequence(at);
        if (length == 0)
            return 0;
        at += length;
    }
    return 1;
}

int fuzz_taken(hdp_status status, const void *out)
{
    if (status == HDP_OK)
        return 1;
    FUZZ_CHECK(status == HDP_ERR_ARGUMENT, "expected argument, got %s: %s",
               hdp_status_string(status), hdp_last_error());
    FUZZ_CHECK(!out, "refused, but something was handed out");
    FUZZ_CHECK(hdp_last_error()[0], "refused without a word");
    FUZZ_CHECK(fuzz_is_clean(hdp_last_error()), "not a clean line: %s",
               hdp_last_error());
    return 0;
}

/* ---- numbers from bytes -------------------------------------------------- */

uint8_t fuzz_byte(struct fuzz_bytes *bytes)
{
    if (bytes->left == 0)
        return 0;
    bytes->left--;
    return *bytes->at++;
}

int32_t fuzz_below(struct fuzz_bytes *bytes, int32_t limit)
{
    int32_t high = fuzz_byte(bytes);
    return (high << 8 | fuzz_byte(bytes)) % limit;
}

int64_t fuzz_wide(struct fuzz_bytes *bytes)
{
    uint64_t shape = fuzz_byte(bytes), value = 0;

    if (shape < 128) /* few bits, somewhere */
        return (int64_t)((uint64_t)fuzz_byte(bytes) << (shape % 56));
    if (shape < 160) /* at an end */
        return INT64_MAX - fuzz_byte(bytes);
    for (int i = 0; i < 8; i++)
        value = value << 8 | fuzz_byte(bytes);
    return (int64_t)(value >> (1 + shape % 63));
}

double fuzz_real(struct fuzz_bytes *bytes)
{
    int exponent = fuzz_byte(bytes) % 200 - 100;
    double value = 1 + fuzz_below(bytes, 65536) / 65536.0;

    return exponent == -100 ? 0 : ldexp(value, exponent);
}
