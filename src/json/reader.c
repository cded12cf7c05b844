/* jansson's tree to checked values. What a refusal says is made from the chain
 * of struct hdpi_json_at: the path costs nothing until it is needed. */
#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "json/reader.h"
#include "json/scan.h"
#include "json/writer.h"

enum { PATH_ROOM = 128, WORDS_ROOM = 160, LEVELS_MAX = 8 };

/* ---- refusals ------------------------------------------------------------ */

static void path_of(char path[PATH_ROOM], const struct hdpi_json_at *at)
{
    const struct hdpi_json_at *chain[LEVELS_MAX];
    size_t levels = 0, used = 0;

    path[0] = '\0';
    for (; at && at->up && levels < LEVELS_MAX; at = at->up)
        chain[levels++] = at;
    while (levels > 0 && used < PATH_ROOM) {
        at = chain[--levels];
        int wrote = at->key ? snprintf(path + used, PATH_ROOM - used, "%s%s",
                                       used > 0 ? "." : "", at->key)
                            : snprintf(path + used, PATH_ROOM - used, "[%zu]",
                                       at->index);
        used += (size_t)wrote;
    }
    if (path[0] == '\0')
        snprintf(path, PATH_ROOM, "the document");
}

static void words_of(char words[WORDS_ROOM], const json_t *value)
{
    char real[HDPI_REAL_ROOM];

    switch (value ? json_typeof(value) : JSON_NULL) {
    case JSON_INTEGER:
        snprintf(words, WORDS_ROOM, "%" JSON_INTEGER_FORMAT,
                 json_integer_value(value));
        return;
    case JSON_REAL:
        hdpi_json_format_real(real, json_real_value(value));
        snprintf(words, WORDS_ROOM, "%s", real);
        return;
    case JSON_STRING:
        snprintf(words, WORDS_ROOM, "\"%.64s\"%s", json_string_value(value),
                 json_string_length(value) > 64 ? "..." : "");
        return;
    case JSON_OBJECT:
        snprintf(words, WORDS_ROOM, "an object");
        return;
    case JSON_ARRAY:
        snprintf(words, WORDS_ROOM, "an array of %zu", json_array_size(value));
        return;
    case JSON_TRUE:
    case JSON_FALSE:
        snprintf(words, WORDS_ROOM, "%s",
                 json_is_true(value) ? "true" : "false");
        return;
    case JSON_NULL:
    default:
        snprintf(words, WORDS_ROOM, "%s", value ? "null" : "nothing");
    }
}

hdp_status hdpi_json_refuse(const struct hdpi_json_at *at, const char *expected)
{
    char path[PATH_ROOM], words[WORDS_ROOM];

    path_of(path, at);
    words_of(words, at->value);
    return hdpi_fail(HDP_ERR_ARGUMENT, "%s: expected %s, got %s", path,
                     expected, words);
}

hdp_status hdpi_json_complain(const struct hdpi_json_at *at, const char *what)
{
    char path[PATH_ROOM];

    path_of(path, at);
    return hdpi_fail(HDP_ERR_ARGUMENT, "%s: %s", path, what);
}

/* ---- the document -------------------------------------------------------- */

static hdp_status no_memory(void)
{
    return hdpi_fail(HDP_ERR_MEMORY, "out of memory: reading JSON");
}

/* jansson leaves no text where memory ran out, except for a string: there it
 * says that it expected what it has just read to the closing quote. */
static int is_memory(const char *what, char last)
{
    return what[0] == '\0' ||
           (last == '"' && (strcmp(what, "invalid token") == 0 ||
                            strcmp(what, "string or '}' expected") == 0));
}

/* jansson's refusal, placed in the text instead of its copy. */
static hdp_status parse_failed(const json_error_t *error, const char *copy,
                               const char *text, size_t length)
{
    /* a quotation of the copy; advice for programmers */
    static const char *const cuts[] = { " near ", " without JSON_" };
    char what[JSON_ERROR_TEXT_LENGTH];
    size_t last = error->position > 0 ? (size_t)error->position - 1 : 0;

    snprintf(what, sizeof what, "%s", error->text);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        char *cut = strstr(what, cuts[i]);
        if (cut)
            *cut = '\0';
    }
    if (is_memory(what, copy[last]))
        return no_memory();
    return hdpi_json_refuse_at(text, hdpi_json_scan_source(text, length, last),
                               what);
}

hdp_status hdpi_json_parse(json_t **out, const char *text, size_t length)
{
    char *copy;
    size_t copy_length;
    json_error_t error;
    hdp_status status = HDP_OK;

    *out = NULL;
    if (!text)
        return hdpi_fail(HDP_ERR_ARGUMENT, "text is NULL");
    HDPI_RETURN_IF(hdpi_json_scan(&copy, &copy_length, text, length));
    json_t *pair =
        json_loadb(copy, copy_length, JSON_REJECT_DUPLICATES, &error);
    if (!pair)
        status = parse_failed(&error, copy, text, length);
    else if (json_string_length(json_array_get(pair, 0)) != HDPI_JSON_GUARD)
        status = no_memory();
    else
        *out = json_incref(json_array_get(pair, 1));
    json_decref(pair);
    free(copy);
    return status;
}

hdp_status hdpi_json_need_schema(const struct hdpi_json_at *document,
                                 const char *schema)
{
    struct hdpi_json_at at = hdpi_json_member(document, "schema");
    char expected[WORDS_ROOM];

    HDPI_RETURN_IF(hdpi_json_need_object(document));
    if (!json_is_string(at.value) ||
        strcmp(json_string_value(at.value), schema) != 0) {
        snprintf(expected, sizeof expected, "\"%s\"", schema);
        return hdpi_json_refuse(&at, expected);
    }
    at = hdpi_json_member(document, "schema_version");
    if (!json_is_integer(at.value) || json_integer_value(at.value) < 1)
        return hdpi_json_refuse(&at, "an integer >= 1");
    if (json_integer_value(at.value) > HDPI_JSON_SCHEMA_VERSION) {
        snprintf(expected, sizeof expected,
                 "%d at most (the text is newer than this library)",
                 HDPI_JSON_SCHEMA_VERSION);
        return hdpi_json_refuse(&at, expected);
    }
    return HDP_OK;
}

hdp_status hdpi_json_load(json_t **out, const char *text, size_t length,
                          const char *schema)
{
    json_t *document = NULL;
    hdp_status status = HDP_OK;

    *out = NULL;
    HDPI_TRY(hdpi_json_parse(&document, text, length));
    const struct hdpi_json_at root = { .value = document };
    HDPI_TRY(hdpi_json_need_schema(&root, schema));
    *out = document;
    document = NULL;
out:
    json_decref(document);
    return status;
}

/* ---- places -------------------------------------------------------------- */

struct hdpi_json_at hdpi_json_member(const struct hdpi_json_at *object,
                                     const char *key)
{
    const json_t *value = json_object_get(object->value, key);

    return (struct hdpi_json_at){ .up = object,
                                  .key = key,
                                  .value = json_is_null(value) ? NULL : value };
}

struct hdpi_json_at hdpi_json_element(const struct hdpi_json_at *array,
                                      size_t index)
{
    return (struct hdpi_json_at){ .up = array,
                                  .index = index,
                                  .value =
                                      json_array_get(array->value, index) };
}

hdp_status hdpi_json_need_object(const struct hdpi_json_at *at)
{
    return json_is_object(at->value) ? HDP_OK
                                     : hdpi_json_refuse(at, "an object");
}

hdp_status hdpi_json_need_array(const struct hdpi_json_at *at, size_t low,
                                size_t high, size_t *out_count)
{
    char expected[WORDS_ROOM];
    size_t count = json_array_size(at->value);

    *out_count = count;
    if (!at->value && low == 0)
        return HDP_OK;
    if (json_is_array(at->value) && count >= low && count <= high)
        return HDP_OK;
    if (low == high)
        snprintf(expected, sizeof expected, "an array of %zu", low);
    else
        snprintf(expected, sizeof expected, "an array of %zu to %zu", low,
                 high);
    return hdpi_json_refuse(at, expected);
}

/* ---- one value ----------------------------------------------------------- */

hdp_status hdpi_json_read_int(const struct hdpi_json_at *at, int64_t low,
                              int64_t high, int64_t *out)
{
    char expected[WORDS_ROOM];

    if (!at->value)
        return HDP_OK;
    if (low == -1 && json_is_null(at->value)) {
        *out = -1;
        return HDP_OK;
    }
    json_int_t value = json_integer_value(at->value);
    if (json_is_integer(at->value) && value >= low && value <= high) {
        *out = value;
        return HDP_OK;
    }
    if (low == high)
        snprintf(expected, sizeof expected, "%" PRId64, low);
    else if (high == INT64_MAX)
        snprintf(expected, sizeof expected, "an integer >= %" PRId64, low);
    else
        snprintf(expected, sizeof expected,
                 "an integer from %" PRId64 " to %" PRId64, low, high);
    return hdpi_json_refuse(at, expected);
}

hdp_status hdpi_json_read_real(const struct hdpi_json_at *at, double low,
                               double high, double *out)
{
    char expected[WORDS_ROOM], least[HDPI_REAL_ROOM], most[HDPI_REAL_ROOM];

    if (!at->value)
        return HDP_OK;
    double value = json_number_value(at->value);
    if (json_is_number(at->value) && value >= low && value <= high) {
        *out = value;
        return HDP_OK;
    }
    hdpi_json_format_real(least, low);
    hdpi_json_format_real(most, high);
    if (high < DBL_MAX)
        snprintf(expected, sizeof expected, "a number from %s to %s", least,
                 most);
    else
        snprintf(expected, sizeof expected, "a number >= %s", least);
    return hdpi_json_refuse(at, expected);
}

static hdp_status read_bool(const struct hdpi_json_at *at, int32_t *out)
{
    if (!at->value)
        return HDP_OK;
    if (!json_is_boolean(at->value))
        return hdpi_json_refuse(at, "true or false");
    *out = json_is_true(at->value);
    return HDP_OK;
}

static hdp_status refuse_name(const struct hdpi_json_at *at,
                              const struct hdpi_names *names)
{
    char expected[WORDS_ROOM];
    size_t used = 0;

    for (int32_t i = 0; i < names->count && used < sizeof expected; i++)
        if (names->texts[i])
            used += (size_t)snprintf(expected + used, sizeof expected - used,
                                     "%s%s", used > 0 ? ", " : "one of ",
                                     names->texts[i]);
    return hdpi_json_refuse(at, expected);
}

hdp_status hdpi_json_read_name(const struct hdpi_json_at *at,
                               const struct hdpi_names *names, int32_t *out)
{
    if (!at->value)
        return HDP_OK;
    const char *text = json_string_value(at->value);
    int32_t value = text ? hdpi_names_value(names, text) : -1;
    if (value < 0)
        return refuse_name(at, names);
    *out = value;
    return HDP_OK;
}

hdp_status hdpi_json_read_text(const struct hdpi_json_at *at, char *out,
                               size_t capacity)
{
    char expected[WORDS_ROOM];

    if (!at->value)
        return HDP_OK;
    if (!json_is_string(at->value) ||
        json_string_length(at->value) >= capacity) {
        snprintf(expected, sizeof expected, "a string of at most %zu bytes",
                 capacity - 1);
        return hdpi_json_refuse(at, expected);
    }
    const char *text = json_string_value(at->value);
    for (const char *s = text; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            return hdpi_json_refuse(at, "a string without control bytes");
    memcpy(out, text, json_string_length(at->value) + 1);
    return HDP_OK;
}

/* ---- members ------------------------------------------------------------- */

hdp_status hdpi_json_take_int(const struct hdpi_json_at *object,
                              const char *key, int64_t low, int64_t high,
                              int64_t *out)
{
    struct hdpi_json_at at = hdpi_json_member(object, key);
    return hdpi_json_read_int(&at, low, high, out);
}

hdp_status hdpi_json_take_int32(const struct hdpi_json_at *object,
                                const char *key, int32_t low, int32_t high,
                                int32_t *out)
{
    int64_t value = *out;
    HDPI_RETURN_IF(hdpi_json_take_int(object, key, low, high, &value));
    *out = (int32_t)value;
    return HDP_OK;
}

hdp_status hdpi_json_take_real(const struct hdpi_json_at *object,
                               const char *key, double low, double high,
                               double *out)
{
    struct hdpi_json_at at = hdpi_json_member(object, key);
    return hdpi_json_read_real(&at, low, high, out);
}

hdp_status hdpi_json_take_bool(const struct hdpi_json_at *object,
                               const char *key, int32_t *out)
{
    struct hdpi_json_at at = hdpi_json_member(object, key);
    return read_bool(&at, out);
}

hdp_status hdpi_json_take_bits(const struct hdpi_json_at *object,
                               const char *key, uint64_t *out)
{
    struct hdpi_json_at at = hdpi_json_member(object, key);
    uint64_t bits = 0;

    if (!at.value)
        return HDP_OK;
    const char *text = json_string_value(at.value);
    if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
        return hdpi_json_refuse(&at, "16 lower-case hexadecimal digits");
    for (size_t i = 0; i < 16; i++)
        bits = bits << 4 |
               (uint64_t)(text[i] <= '9' ? text[i] - '0' : text[i] - 'a' + 10);
    *out = bits;
    return HDP_OK;
}

hdp_status hdpi_json_take_name(const struct hdpi_json_at *object,
                               const char *key, const struct hdpi_names *names,
                               int32_t *out)
{
    struct hdpi_json_at at = hdpi_json_member(object, key);
    return hdpi_json_read_name(&at, names, out);
}

hdp_status hdpi_json_take_text(const struct hdpi_json_at *object,
                               const char *key, char *out, size_t capacity)
{
    struct hdpi_json_at at = hdpi_json_member(object, key);
    return hdpi_json_read_text(&at, out, capacity);
}

/* ---- members that are arrays --------------------------------------------- */

/* Its length is `count`, or 0 when it is not there. */
static hdp_status find_array(struct hdpi_json_at *out,
                             const struct hdpi_json_at *object, const char *key,
                             size_t count, size_t *out_count)
{
    *out = hdpi_json_member(object, key);
    return hdpi_json_need_array(out, out->value ? count : 0, count, out_count);
}

hdp_status hdpi_json_take_ints(const struct hdpi_json_at *object,
                               const char *key, int64_t low, size_t count,
                               int64_t *out)
{
    struct hdpi_json_at array;

    HDPI_RETURN_IF(find_array(&array, object, key, count, &count));
    for (size_t i = 0; i < count; i++) {
        struct hdpi_json_at at = hdpi_json_element(&array, i);
        HDPI_RETURN_IF(hdpi_json_read_int(&at, low, INT64_MAX, &out[i]));
    }
    return HDP_OK;
}

hdp_status hdpi_json_take_bools(const struct hdpi_json_at *object,
                                const char *key, size_t count, int32_t *out)
{
    struct hdpi_json_at array;

    HDPI_RETURN_IF(find_array(&array, object, key, count, &count));
    for (size_t i = 0; i < count; i++) {
        struct hdpi_json_at at = hdpi_json_element(&array, i);
        HDPI_RETURN_IF(read_bool(&at, &out[i]));
    }
    return HDP_OK;
}

hdp_status hdpi_json_take_names(const struct hdpi_json_at *object,
                                const char *key, const struct hdpi_names *names,
                                size_t count, int32_t *out)
{
    struct hdpi_json_at array;

    HDPI_RETURN_IF(find_array(&array, object, key, count, &count));
    for (size_t i = 0; i < count; i++) {
        struct hdpi_json_at at = hdpi_json_element(&array, i);
        HDPI_RETURN_IF(hdpi_json_read_name(&at, names, &out[i]));
    }
    return HDP_OK;
}
