/* A cache's text, in and out. The reader believes nothing: lengths are compared
 * with what is there, and nothing is left over. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "cache_text.h"

enum { CHECKSUM_DIGITS = 16, LINE_ROOM = 128 };

static const char magic[] = "hdp-cache ";
static const char opening[] = "entry ";

/* ---- the checksum -------------------------------------------------------- */

static void write_checksum(char digits[CHECKSUM_DIGITS + 1], const char *before,
                           size_t before_length, const char *behind,
                           size_t behind_length)
{
    uint64_t hash = hdpi_hash_bytes(HDPI_HASH_START, before, before_length);

    hash = hdpi_hash_bytes(hash, behind, behind_length);
    (void)snprintf(digits, CHECKSUM_DIGITS + 1, "%016" PRIx64, hash);
}

/* ---- the list ------------------------------------------------------------ */

void hdpi_cache_list_finish(struct hdpi_cache_list *list)
{
    free(list->entries);
    *list = (struct hdpi_cache_list){ 0 };
}

static int has_key(const struct hdpi_cache_entry *entry, const char *key,
                   size_t key_length)
{
    return entry->key_length == key_length &&
           memcmp(entry->key, key, key_length) == 0;
}

const struct hdpi_cache_entry *
hdpi_cache_list_find(const struct hdpi_cache_list *list, const char *key,
                     size_t key_length)
{
    const struct hdpi_cache_entry *found = NULL;

    for (size_t i = 0; i < list->count; ++i) {
        const struct hdpi_cache_entry *entry = &list->entries[i];
        if (has_key(entry, key, key_length) &&
            (!found || entry->measured_s > found->measured_s))
            found = entry;
    }
    return found;
}

size_t hdpi_cache_list_remove(struct hdpi_cache_list *list, const char *key,
                              size_t key_length)
{
    size_t kept = 0, before = list->count;

    for (size_t i = 0; i < before; ++i)
        if (!has_key(&list->entries[i], key, key_length))
            list->entries[kept++] = list->entries[i];
    list->count = kept;
    return before - kept;
}

static hdp_status append(struct hdpi_cache_list *list,
                         const struct hdpi_cache_entry *entry)
{
    HDPI_RETURN_IF(hdpi_grow(&list->entries, &list->capacity, list->count + 1,
                             sizeof *list->entries, "entries of a cache"));
    list->entries[list->count++] = *entry;
    return HDP_OK;
}

hdp_status hdpi_cache_list_put(struct hdpi_cache_list *list,
                               const struct hdpi_cache_entry *entry)
{
    (void)hdpi_cache_list_remove(list, entry->key, entry->key_length);
    return append(list, entry);
}

/* ---- in ------------------------------------------------------------------ */

static int skip(struct hdpi_text *at, const char *word)
{
    size_t length = strlen(word);

    if (at->length - at->at < length ||
        memcmp(at->text + at->at, word, length) != 0)
        return 0;
    at->at += length;
    return 1;
}

static int number(struct hdpi_text *at, int64_t *out, const char *end)
{
    return hdpi_text_int(at, out) && skip(at, end);
}

/* Leaves the cursor behind the first line. */
static hdp_status read_head(struct hdpi_text *at)
{
    size_t begun =
        at->length < sizeof magic - 1 ? at->length : sizeof magic - 1;
    char digits[CHECKSUM_DIGITS + 1];
    int64_t version, length;
    size_t sum_at;

    if (memcmp(at->text, magic, begun) != 0)
        return hdpi_fail(HDP_ERR_UNSUPPORTED, "not a cache of hdp");
    if (!skip(at, magic) || !number(at, &version, " ") ||
        !number(at, &length, " ") ||
        at->length - at->at < CHECKSUM_DIGITS + 1 ||
        at->text[at->at + CHECKSUM_DIGITS] != '\n')
        return hdpi_fail(HDP_ERR_ARGUMENT, "damaged in its first line");
    sum_at = at->at;
    at->at += CHECKSUM_DIGITS + 1;
    write_checksum(digits, at->text, sum_at, at->text + at->at,
                   at->length - at->at);
    if (memcmp(digits, at->text + sum_at, CHECKSUM_DIGITS) != 0)
        return hdpi_fail(HDP_ERR_ARGUMENT, "damaged: its checksum is wrong");
    if (version > HDPI_CACHE_VERSION)
        return hdpi_fail(HDP_ERR_UNSUPPORTED,
                         "of version %" PRId64 ", newer than %d", version,
                         HDPI_CACHE_VERSION);
    if (version < HDPI_CACHE_VERSION)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "of version %" PRId64 ", older than %d", version,
                         HDPI_CACHE_VERSION);
    if ((uint64_t)length != at->length - at->at)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "damaged: %zu bytes behind the first line instead of "
                         "%" PRId64,
                         at->length - at->at, length);
    return HDP_OK;
}

static int take(struct hdpi_text *at, const char **out, size_t *out_length,
                int64_t length)
{
    if ((uint64_t)length > at->length - at->at)
        return 0;
    *out = at->text + at->at;
    *out_length = (size_t)length;
    at->at += (size_t)length;
    return 1;
}

static hdp_status read_entry(struct hdpi_cache_entry *out, struct hdpi_text *at)
{
    int64_t key, body;

    if (!skip(at, opening) || !number(at, &out->measured_s, " ") ||
        !number(at, &out->budget_ns, " ") || !number(at, &key, " ") ||
        !number(at, &body, "\n") ||
        !take(at, &out->key, &out->key_length, key) ||
        !take(at, &out->body, &out->body_length, body))
        return hdpi_fail(HDP_ERR_ARGUMENT, "damaged: no entry at byte %zu",
                         at->at);
    return HDP_OK;
}

hdp_status hdpi_cache_parse(struct hdpi_cache_list *list, const char *text,
                            size_t length)
{
    struct hdpi_text at = { text, length, 0 };
    hdp_status status;

    HDPI_TRY(read_head(&at));
    while (at.at < at.length) {
        struct hdpi_cache_entry entry;
        HDPI_TRY(read_entry(&entry, &at));
        HDPI_TRY(append(list, &entry));
    }
out:
    if (status != HDP_OK)
        hdpi_cache_list_finish(list);
    return status;
}

/* ---- out ----------------------------------------------------------------- */

static size_t write_opening(char line[LINE_ROOM],
                            const struct hdpi_cache_entry *entry)
{
    return (size_t)snprintf(line, LINE_ROOM,
                            "%s%" PRId64 " %" PRId64 " %zu %zu\n", opening,
                            entry->measured_s, entry->budget_ns,
                            entry->key_length, entry->body_length);
}

static size_t bytes_of(const struct hdpi_cache_entry *entry)
{
    char line[LINE_ROOM];

    return write_opening(line, entry) + entry->key_length + entry->body_length;
}

static uint64_t distance(int64_t a, int64_t b)
{
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

/* An entry from the far future would otherwise stay for ever. */
static size_t farthest(const struct hdpi_cache_list *list, int64_t now_s)
{
    size_t found = 0;

    for (size_t i = 1; i < list->count; ++i)
        if (distance(list->entries[i].measured_s, now_s) >
            distance(list->entries[found].measured_s, now_s))
            found = i;
    return found;
}

/* Bytes behind the first line once what does not fit is dropped. */
static size_t fit(struct hdpi_cache_list *list, int64_t now_s)
{
    size_t bytes = 0, most = HDPI_CACHE_BYTES_MAX - LINE_ROOM;

    for (size_t i = 0; i < list->count; ++i)
        bytes += bytes_of(&list->entries[i]);
    while (bytes > most) {
        size_t drop = farthest(list, now_s);
        bytes -= bytes_of(&list->entries[drop]);
        --list->count;
        memmove(&list->entries[drop], &list->entries[drop + 1],
                (list->count - drop) * sizeof *list->entries);
    }
    return bytes;
}

static char *put(char *to, const char *from, size_t length)
{
    memcpy(to, from, length);
    return to + length;
}

hdp_status hdpi_cache_write(char **out, size_t *length,
                            struct hdpi_cache_list *list, int64_t now_s)
{
    char digits[CHECKSUM_DIGITS + 1], line[LINE_ROOM];
    size_t bytes = fit(list, now_s), head, sum_at;
    char *text = hdpi_alloc(bytes + LINE_ROOM, 1, "the text of a cache"), *at;

    *out = NULL;
    if (!text)
        return HDP_ERR_MEMORY;
    sum_at = (size_t)snprintf(text, LINE_ROOM, "%s%d %zu ", magic,
                              HDPI_CACHE_VERSION, bytes);
    head = sum_at + CHECKSUM_DIGITS + 1;
    at = text + head;
    for (size_t i = 0; i < list->count; ++i) {
        const struct hdpi_cache_entry *entry = &list->entries[i];
        at = put(at, line, write_opening(line, entry));
        at = put(at, entry->key, entry->key_length);
        at = put(at, entry->body, entry->body_length);
    }
    write_checksum(digits, text, sum_at, text + head, bytes);
    memcpy(text + sum_at, digits, CHECKSUM_DIGITS);
    text[head - 1] = '\n';
    *out = text;
    *length = head + bytes;
    return HDP_OK;
}
