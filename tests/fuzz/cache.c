/* Caches from any text: as it came, and, so that what stands behind the
 * checksum is reached, as entries behind a first line that fits. What is taken
 * reads back the same, and what answers can be planned by. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cache_key.h"
#include "cache_text.h"
#include "fuzz/fuzz.h"
#include "json/json.h"

enum { NOW_S = 1800000000, HEAD_MAX = 128 };

static void check_body(const struct hdpi_cache_entry *entry)
{
    hdp_profile *profile = NULL;
    char *body = fuzz_copy((const uint8_t *)entry->body, entry->body_length, 0);
    hdp_status status =
        hdpi_profile_read_json(&profile, body, entry->body_length);

    free(body);
    if (!fuzz_taken(status, profile))
        return;
    FUZZ_CHECK(hdpi_profile_is_valid(profile), "a body that is not valid");
    hdpi_profile_free(profile);
}

/* Two keys side by side: none is read beyond its end. */
static void check_keys(const struct hdpi_cache_entry *a,
                       const struct hdpi_cache_entry *b)
{
    char *left = fuzz_copy((const uint8_t *)a->key, a->key_length, 0);
    char *right = fuzz_copy((const uint8_t *)b->key, b->key_length, 1);
    char why[HDPI_CACHE_WHY_MAX];
    int32_t alike =
        hdpi_cache_key_alike(left, a->key_length, right, b->key_length);

    FUZZ_CHECK(alike >= 0 && alike == hdpi_cache_key_alike(right, b->key_length,
                                                           left, a->key_length),
               "alike in %d lines one way only", (int)alike);
    if (b->key_length < HDPI_CACHE_KEY_MAX)
        hdpi_cache_key_why(why, sizeof why, left, a->key_length, right,
                           b->key_length);
    free(left);
    free(right);
}

static void check_list(struct hdpi_cache_list *list)
{
    struct hdpi_cache_list back = { 0 };
    size_t before = list->count, length = 0;
    char *text = NULL;

    for (size_t i = 0; i < list->count; ++i) {
        const struct hdpi_cache_entry *entry = &list->entries[i];
        const struct hdpi_cache_entry *found =
            hdpi_cache_list_find(list, entry->key, entry->key_length);
        FUZZ_CHECK(found && found->measured_s >= entry->measured_s,
                   "entry %zu is not found, or an older one", i);
        if (i < 4) {
            check_body(entry);
            check_keys(entry, &list->entries[list->count - 1 - i]);
        }
    }
    FUZZ_CHECK(hdpi_cache_write(&text, &length, list, NOW_S) == HDP_OK,
               "taken, but not written: %s", hdp_last_error());
    FUZZ_CHECK(length <= HDPI_CACHE_BYTES_MAX, "%zu bytes written", length);
    FUZZ_CHECK(list->count == before, "%zu of %zu entries dropped",
               before - list->count, before);
    FUZZ_CHECK(hdpi_cache_parse(&back, text, length) == HDP_OK,
               "its own text is refused: %s", hdp_last_error());
    FUZZ_CHECK(back.count == list->count, "%zu entries became %zu", list->count,
               back.count);
    for (size_t i = 0; i < back.count; ++i) {
        const struct hdpi_cache_entry *a = &list->entries[i];
        const struct hdpi_cache_entry *b = &back.entries[i];
        FUZZ_CHECK(a->measured_s == b->measured_s &&
                       a->budget_ns == b->budget_ns &&
                       a->key_length == b->key_length &&
                       a->body_length == b->body_length &&
                       memcmp(a->key, b->key, a->key_length) == 0 &&
                       memcmp(a->body, b->body, a->body_length) == 0,
                   "entry %zu is another one", i);
    }
    hdpi_cache_list_finish(&back);
    free(text);
}

static void check_text(const uint8_t *data, size_t size)
{
    struct hdpi_cache_list list = { 0 };
    char *text = fuzz_copy(data, size, 0);
    hdp_status status = hdpi_cache_parse(&list, text, size);

    if (status == HDP_OK) {
        check_list(&list);
    } else {
        FUZZ_CHECK(status == HDP_ERR_ARGUMENT || status == HDP_ERR_UNSUPPORTED,
                   "expected damaged or foreign, got %s",
                   hdp_status_string(status));
        FUZZ_CHECK(!list.entries && list.count == 0, "refused, with entries");
        FUZZ_CHECK(fuzz_is_clean(hdp_last_error()), "not a clean line: %s",
                   hdp_last_error());
    }
    hdpi_cache_list_finish(&list);
    free(text);
}

/* The input behind a first line of its own length and checksum. */
static void check_entries(const uint8_t *data, size_t size)
{
    uint8_t *text = malloc(size + HEAD_MAX);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    size_t head;

    FUZZ_CHECK(text, "no memory");
    head = (size_t)snprintf((char *)text, HEAD_MAX, "hdp-cache %d %zu ",
                            HDPI_CACHE_VERSION, size);
    for (size_t i = 0; i < head; ++i)
        hash = (hash ^ text[i]) * UINT64_C(0x100000001b3);
    for (size_t i = 0; i < size; ++i)
        hash = (hash ^ data[i]) * UINT64_C(0x100000001b3);
    head += (size_t)snprintf((char *)text + head, HEAD_MAX - head,
                             "%016" PRIx64 "\n", hash);
    if (size > 0)
        memcpy(text + head, data, size);
    check_text(text, head + size);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;

    check_text(data, size);
    check_entries(data, size);
    if (end) /* of a whole file, what stands behind its first line */
        check_entries(end + 1, size - (size_t)(end + 1 - data));
    return 0;
}
