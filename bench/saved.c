/* Depth is counted before parsing: the parser calls itself for each level. */
#include "saved.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *refuse(struct failure *failure, const char *name,
                      const char *what)
{
    failure_usage(failure, "plot", 0, "%.128s: %s", name, what);
    return NULL;
}

/* Brackets outside of texts; what else is wrong is the parser's to say. */
static int is_too_deep(const char *text, size_t size)
{
    int depth = 0, quoted = 0;

    for (size_t i = 0; i < size; ++i) {
        char c = text[i];
        if (quoted && c == '\\')
            ++i;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '[' || c == '{') && ++depth > SAVED_DEPTH_MAX)
            return 1;
        else if (!quoted && (c == ']' || c == '}'))
            --depth;
    }
    return 0;
}

/* The document with nothing but a profile. */
static json_t *wrap(json_t *profile)
{
    json_t *root = json_object();

    json_object_set_new(root, "schema", json_string("hdp.bench"));
    json_object_set_new(root, "schema_version", json_integer(1));
    json_object_set_new(root, "command", json_string("calibrate"));
    json_object_set_new(root, "profile", profile);
    return root;
}

static json_t *check(json_t *root, const char *name, struct failure *failure)
{
    const char *schema = json_string_value(json_object_get(root, "schema"));
    json_t *version = json_object_get(root, "schema_version");
    char text[160];

    if (!schema) {
        json_decref(root);
        return refuse(failure, name,
                      "not a document of hdp_bench: it has no \"schema\"");
    }
    int bench = strcmp(schema, "hdp.bench") == 0;
    if (!bench && strcmp(schema, "hdp.profile") != 0) {
        snprintf(text, sizeof text,
                 "its schema is '%.64s'; hdp.bench and hdp.profile can be "
                 "drawn",
                 schema);
        json_decref(root);
        return refuse(failure, name, text);
    }
    if (!json_is_integer(version) || json_integer_value(version) != 1) {
        json_decref(root);
        return refuse(failure, name,
                      "\"schema_version\" is not 1, which this program reads");
    }
    return bench ? root : wrap(root);
}

json_t *saved_parse(const char *text, size_t size, const char *name,
                    struct failure *failure)
{
    json_error_t error;
    char reason[JSON_ERROR_TEXT_LENGTH + 64];

    if (is_too_deep(text, size)) {
        snprintf(reason, sizeof reason, "nested deeper than %d levels",
                 SAVED_DEPTH_MAX);
        return refuse(failure, name, reason);
    }
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        snprintf(reason, sizeof reason, "not JSON: line %d, column %d: %s",
                 error.line, error.column, error.text);
        return refuse(failure, name, reason);
    }
    return check(root, name, failure);
}

/* All of a stream that is at most `limit` long; NULL and errno else. */
static char *read_all(FILE *in, size_t limit, size_t *out_size)
{
    size_t size = 0, room = 0, got = 0;
    char *text = NULL;

    do {
        if (size + 1 >= room) {
            char *more = realloc(text, room = room ? 2 * room : 1 << 16);
            if (!more) {
                free(text);
                errno = ENOMEM;
                return NULL;
            }
            text = more;
        }
        got = fread(text + size, 1, room - size - 1, in);
        size += got;
    } while (got > 0 && size <= limit);
    if (ferror(in) || size > limit) {
        int reason = ferror(in) ? errno : EFBIG;
        free(text);
        errno = reason;
        return NULL;
    }
    *out_size = size;
    return text;
}

json_t *saved_read(const char *path, struct failure *failure)
{
    int piped = strcmp(path, "-") == 0;
    const char *name = piped ? "standard input" : path;
    FILE *in = piped ? stdin : fopen(path, "re");
    size_t size = 0;
    json_t *root = NULL;
    char *text = in ? read_all(in, SAVED_BYTES_MAX, &size) : NULL;
    int reason = errno;

    if (text)
        root = saved_parse(text, size, name, failure);
    else if (reason == EFBIG)
        failure_usage(failure, "plot", 0, "%.128s: larger than %d MiB", name,
                      SAVED_BYTES_MAX >> 20);
    else
        failure_own(failure, EXIT_ENVIRONMENT, HDP_ERR_SYSTEM, "%.128s: %s",
                    name, strerror(reason));
    free(text);
    if (in && !piped)
        fclose(in);
    return root;
}
