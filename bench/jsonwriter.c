/* jansson prints 0.985 as 0.98499999999999999 and every sample on a line of
 * its own; this writer prints the shortest number that reads back the same. */
#include "jsonwriter.h"

#include <stdlib.h>
#include <string.h>

enum {
    LINE_VALUES = 12,     /* a longer list is broken into several lines */
    ONE_LINE = -(1 << 20) /* a depth at which no line is ever broken */
};

static int write_value(FILE *out, json_t *value, int depth);

static int write_text(FILE *out, const char *text)
{
    json_t *json = json_string(text);
    char *quoted = json ? json_dumps(json, JSON_ENCODE_ANY) : NULL;
    int ok = quoted && fputs(quoted, out) >= 0;

    free(quoted);
    json_decref(json);
    return ok;
}

int jsonwriter_real(FILE *out, double value)
{
    char text[40];

    for (int digits = 1; digits <= 17; ++digits) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    /* A real stays a real to readers that tell them apart. */
    if (!strpbrk(text, ".e"))
        strcat(text, ".0");
    return fputs(text, out) >= 0;
}

static int is_plain(json_t *value)
{
    return !json_is_object(value) && !json_is_array(value);
}

static int all_plain(json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); ++i)
        if (!is_plain(json_array_get(array, i)))
            return 0;
    return 1;
}

static void new_line(FILE *out, int depth)
{
    if (depth < 0)
        return;
    fprintf(out, "\n%*s", depth, "");
}

static int write_array(FILE *out, json_t *array, int depth)
{
    size_t size = json_array_size(array);
    int flat = all_plain(array), pairs = size > 0;

    for (size_t i = 0; i < size; ++i) { /* [[items, ns], ...] on one line */
        json_t *item = json_array_get(array, i);
        if (!json_is_array(item) || json_array_size(item) > 2 ||
            !all_plain(item))
            pairs = 0;
    }
    fputc('[', out);
    for (size_t i = 0; i < size; ++i) {
        if (i)
            fputc(',', out);
        if (!flat && !pairs)
            new_line(out, depth + 1);
        else if (i && i % LINE_VALUES == 0)
            new_line(out, depth + 1);
        if (!write_value(out, json_array_get(array, i), depth + 1))
            return 0;
    }
    if (!flat && !pairs)
        new_line(out, depth);
    return fputc(']', out) != EOF;
}

static int write_object(FILE *out, json_t *object, int depth)
{
    const char *key;
    json_t *value;
    int first = 1;

    if (json_object_size(object) == 0)
        return fputs("{}", out) >= 0;
    fputc('{', out);
    json_object_foreach(object, key, value)
    {
        if (!first)
            fputc(',', out);
        first = 0;
        new_line(out, depth + 1);
        if (!write_text(out, key))
            return 0;
        fputc(':', out);
        if (!write_value(out, value, depth + 1))
            return 0;
    }
    new_line(out, depth);
    return fputc('}', out) != EOF;
}

static int write_value(FILE *out, json_t *value, int depth)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return write_object(out, value, depth);
    case JSON_ARRAY:
        return write_array(out, value, depth);
    case JSON_STRING:
        return write_text(out, json_string_value(value));
    case JSON_INTEGER:
        return fprintf(out, "%" JSON_INTEGER_FORMAT,
                       json_integer_value(value)) > 0;
    case JSON_REAL:
        return jsonwriter_real(out, json_real_value(value));
    case JSON_TRUE:
        return fputs("true", out) >= 0;
    case JSON_FALSE:
        return fputs("false", out) >= 0;
    case JSON_NULL:
    default:
        return fputs("null", out) >= 0;
    }
}

int jsonwriter_write(FILE *out, json_t *root)
{
    return root && write_value(out, root, 0) && fputc('\n', out) != EOF;
}

int jsonwriter_line(FILE *out, json_t *value)
{
    return value && write_value(out, value, ONE_LINE) &&
           fputc('\n', out) != EOF;
}
