/* A unit is a power of ten or a power of two. The first is handed to the
 * decimal before it is rounded, the second multiplies exactly. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "core/units.h"

struct unit {
    const char *name;
    int32_t power;  /* of ten */
    int32_t binary; /* power of two */
};

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof((array)[0])))

static const struct unit durations[] = {
    { "ns", 0, 0 }, { "us", 3, 0 }, { "ms", 6, 0 }, { "s", 9, 0 }
};
static const struct unit sizes[] = { { "B", 0, 0 },    { "kB", 3, 0 },
                                     { "MB", 6, 0 },   { "GB", 9, 0 },
                                     { "TB", 12, 0 },  { "KiB", 0, 10 },
                                     { "MiB", 0, 20 }, { "GiB", 0, 30 },
                                     { "TiB", 0, 40 } };
static const struct unit percents[] = { { "%", -2, 0 } };

static int64_t factor(const struct unit *unit)
{
    int64_t value = INT64_C(1) << unit->binary;
    for (int32_t i = 0; i < unit->power; i++)
        value *= 10;
    return value;
}

static const struct unit *find(const struct hdpi_text *rest,
                               const struct unit *units, int32_t count)
{
    size_t length = rest->length - rest->at;
    for (int32_t i = 0; i < count; i++)
        if (strlen(units[i].name) == length &&
            memcmp(rest->text + rest->at, units[i].name, length) == 0)
            return &units[i];
    return NULL;
}

static int read_real(double *out, const struct hdpi_text *text,
                     const struct unit *units, int32_t count)
{
    struct hdpi_text number = *text, rest = *text;
    double value;
    /* twice: the unit stands behind the number that it scales */
    if (!hdpi_text_double(&rest, &value))
        return 0;
    const struct unit *unit = find(&rest, units, count);
    if (!unit || !hdpi_text_scaled(&number, unit->power, &value))
        return 0;
    value *= (double)(INT64_C(1) << unit->binary);
    if (value >= 0x1p63)
        return 0;
    *out = value;
    return 1;
}

int hdpi_read_duration(double *out_ns, const struct hdpi_text *text)
{
    return read_real(out_ns, text, durations, COUNT(durations));
}

int hdpi_read_rate(double *out, const struct hdpi_text *text)
{
    return read_real(out, text, sizes, COUNT(sizes));
}

int hdpi_read_percent(double *out, const struct hdpi_text *text)
{
    return read_real(out, text, percents, COUNT(percents));
}

int hdpi_read_size(int64_t *out, const struct hdpi_text *text)
{
    struct hdpi_text rest = *text;
    int64_t whole;
    double value;
    const struct unit *unit;
    if (hdpi_text_int(&rest, &whole) &&
        (unit = find(&rest, sizes, COUNT(sizes))) != NULL) {
        if (whole > INT64_MAX / factor(unit))
            return 0;
        *out = whole * factor(unit);
        return 1;
    }
    if (!read_real(&value, text, sizes, COUNT(sizes)))
        return 0;
    *out = (int64_t)value;
    return 1;
}

static void write_real(char *out, double value, const struct unit *units,
                       int32_t count)
{
    size_t least = HDPI_UNITS_TEXT_MAX;
    for (int32_t i = 0; i < count; i++) {
        char text[HDPI_UNITS_TEXT_MAX];
        double scaled = value / (double)(INT64_C(1) << units[i].binary);
        size_t length = hdpi_text_write_scaled(text, units[i].power, scaled);
        size_t name = strlen(units[i].name);
        if (length + name >= least)
            continue;
        least = length + name;
        memcpy(out, text, length);
        memcpy(out + length, units[i].name, name + 1);
    }
}

void hdpi_write_duration(char *out, double ns)
{
    write_real(out, ns, durations, COUNT(durations));
}

void hdpi_write_rate(char *out, double bytes_per_second)
{
    write_real(out, bytes_per_second, sizes, COUNT(sizes));
}

void hdpi_write_percent(char *out, double value)
{
    write_real(out, value, percents, COUNT(percents));
}

void hdpi_write_size(char *out, int64_t bytes)
{
    const struct unit *best = &sizes[0];
    for (int32_t i = 1; i < COUNT(sizes); i++)
        if (bytes > 0 && bytes % factor(&sizes[i]) == 0 &&
            factor(&sizes[i]) > factor(best))
            best = &sizes[i];
    snprintf(out, HDPI_UNITS_TEXT_MAX, "%" PRId64 "%s", bytes / factor(best),
             best->name);
}
