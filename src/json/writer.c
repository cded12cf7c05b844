/* Documents as text, written front to back into one buffer: a tree would only
 * be thrown away. The first failure is kept and surfaces at the end, so that
 * callers write a document as one list of calls. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/text.h"
#include "json/writer.h"

struct hdpi_json {
    char *text;
    size_t length, capacity;
    hdp_error error; /* the first failure; status HDP_OK: none */
    int32_t depth;
    int32_t fresh; /* the innermost object or array has no member yet */
    char closers[HDPI_JSON_DEPTH_MAX];
};

/* ---- bytes --------------------------------------------------------------- */

static void fail(struct hdpi_json *json, hdp_status status)
{
    if (status != HDP_OK && json->error.status == HDP_OK)
        json->error = *hdpi_error();
}

static void put(struct hdpi_json *json, const char *bytes, size_t count)
{
    if (json->error.status != HDP_OK)
        return;
    size_t wanted = json->length + count + 1; /* the end's zero byte */
    if (wanted > json->capacity) {
        hdp_status status = hdpi_grow(&json->text, &json->capacity,
                                      wanted + wanted / 2, 1, "JSON text");
        fail(json, status);
        if (status != HDP_OK)
            return;
    }
    memcpy(json->text + json->length, bytes, count);
    json->length += count;
}

static void put_text(struct hdpi_json *json, const char *text)
{
    put(json, text, strlen(text));
}

/* Bytes of the UTF-8 character at `s`; 0 when there is no well-formed one. */
static size_t character(const unsigned char *s)
{
    uint32_t code;
    size_t length;

    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xc2 && s[0] < 0xe0) {
        code = s[0] & 0x1fu;
        length = 2;
    } else if (s[0] >= 0xe0 && s[0] < 0xf0) {
        code = s[0] & 0x0fu;
        length = 3;
    } else if (s[0] >= 0xf0 && s[0] < 0xf5) {
        code = s[0] & 0x07u;
        length = 4;
    } else {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0u) != 0x80u)
            return 0;
        code = code << 6 | (s[i] & 0x3fu);
    }
    if ((length == 3 && code < 0x800) || (length == 4 && code < 0x10000) ||
        code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return 0;
    return length;
}

/* Names come from drivers and files: what is no UTF-8 becomes U+FFFD. */
static void put_string(struct hdpi_json *json, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    char escape[8];

    put(json, "\"", 1);
    while (*s) {
        size_t length = character(s);
        if (length == 0) {
            put_text(json, "\\ufffd");
            length = 1;
        } else if (*s == '"' || *s == '\\') {
            escape[0] = '\\';
            escape[1] = (char)*s;
            put(json, escape, 2);
        } else if (*s < 0x20 || *s == 0x7f) {
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)*s);
            put_text(json, escape);
        } else {
            put(json, (const char *)s, length);
        }
        s += length;
    }
    put(json, "\"", 1);
}

/* What stands before a value: a comma, and the key inside an object. */
static void begin(struct hdpi_json *json, const char *key)
{
    if (!json->fresh)
        put(json, ",", 1);
    json->fresh = 0;
    if (key) {
        put_string(json, key);
        put(json, ":", 1);
    }
}

static void put_open(struct hdpi_json *json, const char *key, const char *pair)
{
    begin(json, key);
    if (json->depth == HDPI_JSON_DEPTH_MAX) {
        fail(json,
             hdpi_fail(HDP_ERR_INTERNAL, "JSON nested deeper than %d at \"%s\"",
                       HDPI_JSON_DEPTH_MAX, key ? key : ""));
        return;
    }
    put(json, pair, 1);
    json->closers[json->depth++] = pair[1];
    json->fresh = 1;
}

/* ---- one value ----------------------------------------------------------- */

void hdpi_json_text(struct hdpi_json *json, const char *key, const char *value)
{
    if (!value) {
        hdpi_json_null(json, key);
        return;
    }
    begin(json, key);
    put_string(json, value);
}

void hdpi_json_int(struct hdpi_json *json, const char *key, int64_t value)
{
    char digits[24];

    begin(json, key);
    snprintf(digits, sizeof digits, "%" PRId64, value);
    put_text(json, digits);
}

void hdpi_json_null(struct hdpi_json *json, const char *key)
{
    begin(json, key);
    put_text(json, "null");
}

void hdpi_json_format_real(char out[HDPI_REAL_ROOM], double value)
{
    if (!isfinite(value)) {
        memcpy(out, "null", sizeof "null");
    } else if (value == 0 && signbit(value)) {
        memcpy(out, "-0.0", sizeof "-0.0"); /* "-0" would be an integer */
    } else {
        *out = '-';
        hdpi_text_write_double(out + (value < 0), fabs(value));
    }
}

void hdpi_json_real(struct hdpi_json *json, const char *key, double value)
{
    char text[HDPI_REAL_ROOM];

    begin(json, key);
    hdpi_json_format_real(text, value);
    put_text(json, text);
}

void hdpi_json_bool(struct hdpi_json *json, const char *key, int32_t value)
{
    begin(json, key);
    put_text(json, value ? "true" : "false");
}

void hdpi_json_known(struct hdpi_json *json, const char *key, int64_t value)
{
    if (value == -1)
        hdpi_json_null(json, key);
    else
        hdpi_json_int(json, key, value);
}

void hdpi_json_bits(struct hdpi_json *json, const char *key, uint64_t value)
{
    char digits[24];

    snprintf(digits, sizeof digits, "%016" PRIx64, value);
    hdpi_json_text(json, key, digits);
}

void hdpi_json_name(struct hdpi_json *json, const char *key,
                    const struct hdpi_names *names, int32_t value)
{
    hdpi_json_text(json, key, hdpi_names_text(names, value));
}

/* ---- arrays of values ---------------------------------------------------- */

void hdpi_json_knowns(struct hdpi_json *json, const char *key,
                      const int64_t *values, int64_t count)
{
    hdpi_json_open_array(json, key);
    for (int64_t i = 0; i < count; i++)
        hdpi_json_known(json, NULL, values[i]);
    hdpi_json_close(json);
}

void hdpi_json_reals(struct hdpi_json *json, const char *key,
                     const double *values, int64_t count)
{
    hdpi_json_open_array(json, key);
    for (int64_t i = 0; i < count; i++)
        hdpi_json_real(json, NULL, values[i]);
    hdpi_json_close(json);
}

void hdpi_json_bools(struct hdpi_json *json, const char *key,
                     const int32_t *values, int64_t count)
{
    hdpi_json_open_array(json, key);
    for (int64_t i = 0; i < count; i++)
        hdpi_json_bool(json, NULL, values[i]);
    hdpi_json_close(json);
}

void hdpi_json_all_names(struct hdpi_json *json, const char *key,
                         const struct hdpi_names *names, const int32_t *values,
                         int64_t count)
{
    hdpi_json_open_array(json, key);
    for (int64_t i = 0; i < count; i++)
        hdpi_json_name(json, NULL, names, values[i]);
    hdpi_json_close(json);
}

/* ---- nesting and lifetime ------------------------------------------------ */

void hdpi_json_open_object(struct hdpi_json *json, const char *key)
{
    put_open(json, key, "{}");
}

void hdpi_json_open_array(struct hdpi_json *json, const char *key)
{
    put_open(json, key, "[]");
}

void hdpi_json_close(struct hdpi_json *json)
{
    if (json->error.status != HDP_OK)
        return; /* an open may have been refused: the levels no longer match */
    if (json->depth == 0) {
        fail(json, hdpi_fail(HDP_ERR_INTERNAL, "JSON closed once too often"));
        return;
    }
    put(json, &json->closers[--json->depth], 1);
    json->fresh = 0;
}

hdp_status hdpi_json_new(struct hdpi_json **out)
{
    struct hdpi_json *json = hdpi_alloc(1, sizeof *json, "JSON builder");

    *out = json;
    if (!json)
        return HDP_ERR_MEMORY;
    json->fresh = 1;
    hdpi_json_open_object(json, NULL);
    return HDP_OK;
}

hdp_status hdpi_json_new_document(struct hdpi_json **out, const char *schema)
{
    HDPI_RETURN_IF(hdpi_json_new(out));
    hdpi_json_text(*out, "schema", schema);
    hdpi_json_int(*out, "schema_version", HDPI_JSON_SCHEMA_VERSION);
    return HDP_OK;
}

hdp_status hdpi_json_end(struct hdpi_json *json, char **out)
{
    *out = NULL;
    hdpi_json_close(json);
    if (json->error.status == HDP_OK && json->depth != 0)
        fail(json, hdpi_fail(HDP_ERR_INTERNAL, "JSON ended with %d levels open",
                             (int)json->depth));
    hdp_status status = json->error.status;
    if (status == HDP_OK) {
        json->text[json->length] = '\0';
        *out = json->text;
    } else {
        status = hdpi_error_adopt(&json->error);
        free(json->text);
    }
    free(json);
    return status;
}
