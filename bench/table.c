/* Columns as wide as their widest cell; the last one may be as long as it
 * likes. */
#include "table.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void table_open(struct table *table, const char *alignment,
                const char *const *titles)
{
    memset(table, 0, sizeof *table);
    table->alignment = alignment;
    table->columns = (int)strlen(alignment);
    for (int i = 0; titles[i]; ++i)
        table_cell(table, "%s", titles[i]);
}

void table_cell(struct table *table, const char *format, ...)
{
    va_list args;

    if (table->cells == table->capacity) {
        int capacity = table->capacity ? 2 * table->capacity : 64;
        void *text =
            realloc(table->text, (size_t)capacity * sizeof *table->text);
        if (!text)
            return;
        table->text = text;
        table->capacity = capacity;
    }
    va_start(args, format);
    vsnprintf(table->text[table->cells++], TABLE_CELL_MAX, format, args);
    va_end(args);
}

void table_close(struct table *table, FILE *out)
{
    int width[TABLE_COLUMNS_MAX] = { 0 };

    for (int i = 0; i < table->cells; ++i) {
        int length = (int)strlen(table->text[i]), column = i % table->columns;
        width[column] = length > width[column] ? length : width[column];
    }
    for (int i = 0; i < table->cells; ++i) {
        int column = i % table->columns, last = column == table->columns - 1;
        int left = table->alignment[column] == 'l';
        const char *text = table->text[i];
        if (left && last)
            fputs(text, out);
        else
            fprintf(out, left ? "%-*s" : "%*s", width[column], text);
        fputs(last || i == table->cells - 1 ? "\n" : "  ", out);
    }
    free(table->text);
    memset(table, 0, sizeof *table);
}

const char *table_ns(char *buffer, double ns)
{
    static const struct {
        double scale;
        const char *unit;
    } units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } };
    int i = 0;

    if (ns >= 9.2e18) { /* as far as the library counts */
        snprintf(buffer, 24, "> 292 years");
        return buffer;
    }
    while (i < 3 && fabs(ns) < units[i].scale)
        ++i;
    snprintf(buffer, 24, i == 3 ? "%.0f %s" : "%.3f %s", ns / units[i].scale,
             units[i].unit);
    return buffer;
}

const char *table_bytes(char *buffer, double bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    int i = 0;

    for (; i < 4 && bytes >= 1024; ++i)
        bytes /= 1024;
    snprintf(buffer, 24, "%.4g %s", bytes, units[i]);
    return buffer;
}
