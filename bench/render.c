/* Three printers of one list of rows. A value is written by one function a
 * form; no printf of a real, no separator of a locale. */
#include "render.h"

#include <string.h>

#include "jsonwriter.h"
#include "rows.h"

static const char *text_at(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* Numbers and words as JSON has them; null and what is missing: nothing. */
static void put_plain(FILE *out, json_t *value)
{
    if (json_is_integer(value))
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        jsonwriter_real(out, json_real_value(value));
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "true" : "false", out);
}

/* ---- jsonl --------------------------------------------------------------- */

/* The document without its sections. */
static json_t *first_line(json_t *root)
{
    json_t *line = json_object(), *value;
    const char *key;

    json_object_set_new(line, "type", json_string("document"));
    json_object_foreach(root, key, value)
    {
        int frame = strcmp(key, "tool") == 0 || strcmp(key, "environment") == 0;
        int plain = !json_is_object(value) && !json_is_array(value);
        if (frame || (plain && strcmp(key, "error") != 0))
            json_object_set(line, key, value);
    }
    return line;
}

static json_t *last_line(json_t *root)
{
    json_t *line = json_object();

    json_object_set_new(line, "type", json_string("end"));
    json_object_set(line, "status", json_object_get(root, "status"));
    json_object_set(line, "error", json_object_get(root, "error"));
    return line;
}

static int put_line(FILE *out, json_t *line)
{
    int ok = jsonwriter_line(out, line);

    json_decref(line);
    return ok;
}

int render_jsonl_begin(FILE *out, json_t *root)
{
    return put_line(out, first_line(root));
}

int render_jsonl_end(FILE *out, json_t *root)
{
    return put_line(out, last_line(root));
}

int render_jsonl(FILE *out, json_t *root)
{
    json_t *rows = rows_all(root), *row;
    int ok = rows && render_jsonl_begin(out, root);
    size_t i;

    json_array_foreach(rows, i, row) ok = ok && jsonwriter_line(out, row);
    ok = ok && render_jsonl_end(out, root);
    json_decref(rows);
    return ok;
}

/* ---- csv ----------------------------------------------------------------- */

static void csv_text(FILE *out, const char *text)
{
    if (*text && !strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; ++text) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void csv_value(FILE *out, json_t *value)
{
    if (json_is_string(value))
        csv_text(out, json_string_value(value));
    else
        put_plain(out, value);
}

static void csv_rows(FILE *out, json_t *rows, json_t *columns)
{
    const char *key;
    json_t *row, *value;
    size_t i, c = 0;

    json_object_foreach(columns, key, value)
    {
        fputs(c++ ? "," : "", out);
        csv_text(out, key);
    }
    fputc('\n', out);
    json_array_foreach(rows, i, row)
    {
        c = 0;
        json_object_foreach(columns, key, value)
        {
            fputs(c++ ? "," : "", out);
            csv_value(out, json_object_get(row, key));
        }
        fputc('\n', out);
    }
}

/* How the command ended, where it has no rows to show. */
static json_t *ending(json_t *root)
{
    static const char *const keys[] = { "option", "position", "member", "rank",
                                        "largest_total" };
    json_t *row = json_object(), *error = json_object_get(root, "error");
    json_t *code = json_object_get(error, "exit_code");

    json_object_set(row, "command", json_object_get(root, "command"));
    json_object_set_new(row, "exit_code",
                        code ? json_incref(code) : json_integer(0));
    json_object_set_new(row, "error", json_string(text_at(error, "status")));
    json_object_set_new(row, "text", json_string(text_at(error, "text")));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i) {
        json_t *value = json_object_get(error, keys[i]);
        json_object_set_new(row, keys[i],
                            value ? json_incref(value) : json_null());
    }
    return row;
}

int render_csv(FILE *out, json_t *root)
{
    json_t *rows = rows_main(root), *row;
    size_t i;

    if (json_array_size(rows) == 0)
        json_array_append_new(rows, ending(root));
    json_array_foreach(rows, i, row)
        json_object_set(row, "status", json_object_get(root, "status"));
    json_t *columns = rows_columns(rows, 0, json_array_size(rows));
    int ok = json_object_size(columns) > 0;
    if (ok)
        csv_rows(out, rows, columns);
    json_decref(columns);
    json_decref(rows);
    return ok && !ferror(out);
}

/* ---- md ------------------------------------------------------------------ */

static void md_text(FILE *out, const char *text)
{
    for (; *text; ++text) {
        if (*text == '\n' || *text == '\r') {
            fputc(' ', out);
            continue;
        }
        if (strchr("\\`*<>[]|~", *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void md_value(FILE *out, json_t *value)
{
    if (json_is_string(value))
        md_text(out, json_string_value(value));
    else
        put_plain(out, value);
}

/* Rows of one kind: a table; a single one that is no list's: two columns. */
static void md_table(FILE *out, json_t *rows, size_t first, size_t end)
{
    json_t *columns = rows_columns(rows, first, end), *value;
    const char *key;

    fputc('|', out);
    json_object_foreach(columns, key, value)
    {
        fputc(' ', out);
        md_text(out, key);
        fputs(" |", out);
    }
    fputs("\n|", out);
    json_object_foreach(columns, key, value)
        fputs(json_is_number(value) ? " ---: |" : " --- |", out);
    fputc('\n', out);
    for (size_t i = first; i < end; ++i) {
        fputc('|', out);
        json_object_foreach(columns, key, value)
        {
            fputc(' ', out);
            md_value(out, json_object_get(json_array_get(rows, i), key));
            fputs(" |", out);
        }
        fputc('\n', out);
    }
    json_decref(columns);
}

static void md_head(FILE *out, json_t *root)
{
    json_t *error = json_object_get(root, "error");
    json_t *tool = json_object_get(root, "tool");

    fputs("# hdp_bench ", out);
    md_text(out, text_at(root, "command"));
    fputs("\n\nStatus: ", out);
    md_text(out, text_at(root, "status"));
    if (json_is_object(error)) {
        fputs(". ", out);
        md_text(out, text_at(error, "text"));
    }
    if (tool) {
        fputs("\n\nVersion ", out);
        md_text(out, text_at(tool, "version"));
        fputs(", ", out);
        md_text(out, text_at(root, "started"));
    }
    fputc('\n', out);
}

int render_md(FILE *out, json_t *root)
{
    json_t *rows = rows_flat(root);
    size_t count = json_array_size(rows);

    md_head(out, root);
    for (size_t first = 0, end; first < count; first = end) {
        const char *type = text_at(json_array_get(rows, first), "type");
        for (end = first + 1; end < count; ++end)
            if (strcmp(text_at(json_array_get(rows, end), "type"), type) != 0)
                break;
        fprintf(out, "\n## %s\n\n", type);
        md_table(out, rows, first, end);
    }
    json_decref(rows);
    return rows && !ferror(out);
}
