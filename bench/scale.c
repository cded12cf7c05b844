/* Ticks are 1, 2 or 5 times a power of ten; of bytes, powers of two. */
#include "scale.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "svg.h"

/* ---- numbers with their units -------------------------------------------- */

const struct scale_unit *scale_time(double ns)
{
    static const struct scale_unit units[] = { { 1e9, "s", "seconds" },
                                               { 1e6, "ms", "milliseconds" },
                                               { 1e3, "\xc2\xb5s",
                                                 "microseconds" },
                                               { 1, "ns", "nanoseconds" } };
    int i = 0;

    while (i < 3 && ns < units[i].ns)
        ++i;
    return &units[i];
}

const char *scale_say_time(char *buffer, double ns)
{
    const struct scale_unit *unit = scale_time(ns);
    double count = ns / unit->ns;
    char number[SVG_NUMBER];

    if (count < 9.995)
        svg_short_number(number, count);
    else
        svg_number(number, count);
    snprintf(buffer, SCALE_TEXT, "%s %s", number, unit->name);
    return buffer;
}

double scale_prefix(double most, const char **prefix)
{
    static const char *const prefixes[] = { "", "k", "M", "G", "T", "P", "E" };
    double factor = 1;
    int i = 0;

    while (i < 6 && most >= 1000 * factor) {
        factor *= 1000;
        ++i;
    }
    *prefix = prefixes[i];
    return factor;
}

const char *scale_say(char *buffer, double value, const char *unit)
{
    char number[SVG_NUMBER];
    const char *prefix;
    double factor = scale_prefix(fabs(value) * 1.0005, &prefix);

    snprintf(buffer, SCALE_TEXT, "%s %s%s%s",
             svg_number(number, value / factor), prefix,
             *prefix && islower((unsigned char)*unit) ? " " : "", unit);
    return buffer;
}

const char *scale_say_bytes(char *buffer, double bytes)
{
    static const char *const units[] = { "B",   "KiB", "MiB", "GiB",
                                         "TiB", "PiB", "EiB" };
    char number[SVG_NUMBER];
    int i = 0;

    while (i < 6 && bytes >= 1024 && fmod(bytes, 128) == 0) {
        bytes /= 1024;
        ++i;
    }
    snprintf(buffer, SCALE_TEXT, "%s %s", svg_short_number(number, bytes),
             units[i]);
    return buffer;
}

/* ---- ticks --------------------------------------------------------------- */

static void linear_ticks(struct scale *scale, int wanted)
{
    static const double steps[] = { 1, 2, 5, 10 };
    double unit = scale->unit > 0 ? scale->unit : 1;
    double span = (scale->most - scale->least) / unit;
    double power = pow(10, floor(log10(span / wanted)));
    int i = 0;

    while (i < 3 && span / (power * steps[i]) > wanted)
        ++i;
    scale->step = power * steps[i] * unit;
    scale->first = ceil(scale->least / scale->step - 1e-9) * scale->step;
    scale->ticks =
        (int)floor((scale->most - scale->first) / scale->step + 1e-9) + 1;
}

/* Powers of `base`, every so many that `wanted` suffice. */
static void log_ticks(struct scale *scale, double base, int wanted)
{
    double low = ceil(log(scale->least) / log(base) - 1e-9);
    double high = floor(log(scale->most) / log(base) + 1e-9);
    double each = 1;

    while ((high - low) / each + 1 > wanted)
        ++each;
    scale->first = pow(base, low);
    scale->step = pow(base, each);
    scale->ticks = high < low ? 0 : (int)((high - low) / each) + 1;
}

void scale_ticks(struct scale *scale, int wanted)
{
    if (scale->kind == SCALE_LINEAR) {
        linear_ticks(scale, wanted);
        return;
    }
    log_ticks(scale, scale->kind == SCALE_BYTES ? 2 : 10, wanted);
    if (scale->kind == SCALE_DECADES && scale->ticks < 3)
        log_ticks(scale, 2, wanted);
}

void scale_fit(struct scale *scale, double least, double most, int wanted)
{
    if (scale->kind == SCALE_LINEAR) {
        scale->least = fmin(least, 0);
        scale->most = most > scale->least ? most + (most - scale->least) * 0.06
                                          : scale->least + 1;
    } else {
        double room = least > 0 && most > least ? pow(most / least, 0.03) : 2;
        scale->least = least > 0 ? least / room : 1;
        scale->most = least > 0 ? most * room : 10;
    }
    scale_ticks(scale, wanted);
}

double scale_place(const struct scale *scale, double value)
{
    double place =
        scale->kind == SCALE_LINEAR
            ? (value - scale->least) / (scale->most - scale->least)
            : log(value / scale->least) / log(scale->most / scale->least);

    return place > 0 ? fmin(place, 1) : 0; /* nothing leaves the axes */
}

double scale_tick(const struct scale *scale, int i)
{
    return scale->kind == SCALE_LINEAR ? scale->first + i * scale->step
                                       : scale->first * pow(scale->step, i);
}

const char *scale_label(char *buffer, const struct scale *scale, int i)
{
    double value = scale_tick(scale, i);
    char number[SVG_NUMBER];
    const char *prefix;

    if (scale->kind == SCALE_BYTES)
        return scale_say_bytes(buffer, value);
    if (scale->unit > 0) {
        double count = value / scale->unit, step = scale->step / scale->unit;
        int decimals = scale->kind != SCALE_LINEAR || step >= 1 ? 0
                       : step >= 0.1                            ? 1
                                                                : 2;
        while (scale->kind == SCALE_LINEAR && decimals > 1 && decimals < 6 &&
               step < pow(10, -decimals) * (1 - 1e-9))
            ++decimals;
        svg_decimals(number, count, decimals);
        snprintf(buffer, SCALE_TEXT, "%s", number);
        return buffer;
    }
    double factor = scale_prefix(value * (1 + 1e-9), &prefix);
    snprintf(buffer, SCALE_TEXT, "%s%s",
             svg_short_number(number, value / factor), prefix);
    return buffer;
}
