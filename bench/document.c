/* The document: sections gathered in a tree, texts gathered in memory, so that
 * stdout gets exactly one of the two and never half of it. */
#include "document.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "jsonwriter.h"
#include "render.h"

int document_open(struct document *document, const char *command,
                  struct notes *notes)
{
    memset(document, 0, sizeof *document);
    document->notes = notes;
    document->root = json_object();
    document->warnings = json_array();
    document->text = open_memstream(&document->text_data, &document->text_size);
    document_set(document, "schema", json_string("hdp.bench"));
    document_set(document, "schema_version", json_integer(1));
    document_set(document, "command", document_text_or_null(command));
    document_set(document, "status", json_string("ok"));
    return document->root && document->warnings && document->text;
}

void document_close(struct document *document)
{
    if (document->text)
        fclose(document->text);
    free(document->text_data);
    json_decref(document->warnings);
    json_decref(document->root);
    memset(document, 0, sizeof *document);
}

void document_set(struct document *document, const char *key, json_t *value)
{
    json_object_set_new(document->root, key, value);
}

static void add_warning(struct document *document, const char *code,
                        const char *text)
{
    json_t *warning = json_object();

    json_object_set_new(warning, "code", json_string(code));
    json_object_set_new(warning, "text", document_text_or_null(text));
    json_array_append_new(document->warnings, warning);
}

void document_warn(struct document *document, const char *code,
                   const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    add_warning(document, code, text);
    notes_line(document->notes, "warning", text);
}

static json_t *rank_or_null(int32_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

static json_t *error_json(const struct failure *failure)
{
    const hdp_error *error = &failure->error;
    json_t *json = json_object();

    json_object_set_new(
        json, "status",
        json_string(error->status ? failure_status_name(error->status)
                                  : failure_exit_name(failure->exit_code)));
    json_object_set_new(json, "code", json_integer(error->status));
    json_object_set_new(json, "exit_code", json_integer(failure->exit_code));
    json_object_set_new(json, "text", document_text_or_null(error->text));
    json_object_set_new(
        json, "option",
        document_text_or_null(failure->option[0] ? failure->option : NULL));
    json_object_set_new(json, "position",
                        failure->position > 0 ? json_integer(failure->position)
                                              : json_null());
    json_object_set_new(json, "member", rank_or_null(error->member));
    json_object_set_new(json, "rank", rank_or_null(error->rank));
    json_object_set_new(json, "vendor", json_integer(error->vendor));
    json_object_set_new(json, "vendor_code", json_integer(error->vendor_code));
    json_object_set_new(json, "user_code", json_integer(error->user_code));
    json_object_set_new(json, "wanted_bytes",
                        json_integer(error->wanted_bytes));
    json_object_set_new(json, "largest_total",
                        error->status == HDP_ERR_CAPACITY
                            ? json_integer(error->largest_total)
                            : json_null());
    return json;
}

void document_end(struct document *document, const struct failure *failure)
{
    document_set(document, "status",
                 json_string(failure_exit_name(failure->exit_code)));
    document_set(document, "error",
                 failure->exit_code ? error_json(failure) : json_null());
}

void document_finish(struct document *document, const struct failure *failure)
{
    for (int i = 0; i < document->notes->kept_count; ++i)
        add_warning(document, "library", document->notes->kept[i]);
    document_set(document, "warnings", json_incref(document->warnings));
    document_end(document, failure);
    if (document->text)
        fclose(document->text);
    document->text = NULL;
}

int document_write(const struct document *document, int32_t format, FILE *out)
{
    static int (*const writers[])(FILE *, json_t *) = {
        [FORMAT_JSON] = jsonwriter_write,
        [FORMAT_JSONL] = render_jsonl,
        [FORMAT_CSV] = render_csv,
        [FORMAT_MD] = render_md,
    };

    if (document->begun && out == stdout) {
        if (!render_jsonl_end(out, document->root))
            return 0;
    } else if (format != FORMAT_TABLE) {
        if (!writers[format](out, document->root))
            return 0;
    } else if (document->text_data) {
        fwrite(document->text_data, 1, document->text_size, out);
    }
    return fflush(out) == 0 && !ferror(out);
}

void document_stream(struct document *document, json_t *row)
{
    if (!document->begun)
        (void)render_jsonl_begin(stdout, document->root);
    document->begun = 1;
    (void)jsonwriter_line(stdout, row);
}

json_t *document_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *document_ns(double ns)
{
    return isfinite(ns) && fabs(ns) < 9e18 ? json_integer((json_int_t)round(ns))
                                           : json_null();
}

/* Texts may carry bytes from elsewhere that are not UTF-8: those become '?'. */
json_t *document_text_or_null(const char *text)
{
    if (!text)
        return json_null();
    json_t *json = json_string(text);
    if (json)
        return json;
    char *copy = strdup(text);
    for (char *p = copy; p && *p; ++p)
        if ((unsigned char)*p >= 0x80)
            *p = '?';
    json = copy ? json_string(copy) : NULL;
    free(copy);
    return json;
}

json_t *document_ints(const int64_t *values, int count)
{
    json_t *array = json_array();

    for (int i = 0; i < count; ++i)
        json_array_append_new(array, json_integer(values[i]));
    return array;
}

json_t *document_reals(const double *values, int count)
{
    json_t *array = json_array();

    for (int i = 0; i < count; ++i)
        json_array_append_new(array, document_real(values[i]));
    return array;
}

json_t *document_sample(const double *ns, size_t n)
{
    struct stats stats;
    json_t *json = json_object(), *samples = json_array();

    if (!stats_of(&stats, ns, n))
        memset(&stats, 0, sizeof stats);
    for (size_t i = 0; i < n; ++i)
        json_array_append_new(samples, document_ns(ns[i]));
    json_object_set_new(json, "n", json_integer((json_int_t)stats.n));
    json_object_set_new(json, "median", document_ns(stats.median));
    json_object_set_new(json, "mad", document_ns(stats.mad));
    json_object_set_new(json, "min", document_ns(stats.min));
    json_object_set_new(json, "p95", document_ns(stats.p95));
    json_object_set_new(json, "samples", samples);
    return json;
}

/* ---- members of a tree ------------------------------------------------------ */

const char *document_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

int64_t document_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_integer(value) ? (int64_t)json_integer_value(value) : -1;
}

const char *document_note(const json_t *topology, const char *adapter)
{
    const json_t *notes = json_object_get(topology, "notes");
    size_t length = strlen(adapter);

    for (size_t i = 0; i < json_array_size(notes); ++i) {
        const char *note = json_string_value(json_array_get(notes, i));
        if (note && strncmp(note, adapter, length) == 0 &&
            strncmp(note + length, ": ", 2) == 0)
            return note + length + 2;
    }
    return NULL;
}
