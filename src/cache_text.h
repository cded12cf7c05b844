/* The text of a cache: one line that says what the file is and proves that it
 * is whole, then the entries one after the other. Pure; a text from anyone is
 * safe.
 *
 *   hdp-cache VERSION LENGTH CHECKSUM      LENGTH bytes follow this line
 *   entry MEASURED BUDGET KEY BODY         seconds since 1970; ns; bytes of
 *                                          the key and of the body, which
 *                                          follow
 *
 * The checksum is FNV-1a of 64 bits, in 16 hexadecimal digits, over all that
 * stands before and behind it. The first line keeps its form in every version,
 * so that an older library knows a newer file from a damaged one. */
#ifndef HDPI_CACHE_TEXT_H
#define HDPI_CACHE_TEXT_H
#include "base/status.h"

enum { HDPI_CACHE_VERSION = 1, HDPI_CACHE_BYTES_MAX = 1 << 20 };

/* What was measured of one device. Texts are borrowed, without a NUL. */
struct hdpi_cache_entry {
    int64_t measured_s; /* wall clock, seconds since 1970 */
    int64_t budget_ns;  /* it was measured for; INT64_MAX: it had settled */
    const char *key;
    size_t key_length;
    const char *body; /* a profile of one rank, as JSON */
    size_t body_length;
};

/* Zeroed before first use. */
struct hdpi_cache_list {
    struct hdpi_cache_entry *entries;
    size_t count, capacity;
};

void hdpi_cache_list_finish(struct hdpi_cache_list *list);

/**
 * Reads a text into an empty list, whose entries point into it.
 *
 * @return HDP_ERR_ARGUMENT: a cache, but damaged or of an older version, so
 *         that nothing is lost when it is replaced (an empty text too);
 *         HDP_ERR_UNSUPPORTED: something else, or newer, and to be left alone;
 *         HDP_ERR_MEMORY. The list is then empty.
 */
hdp_status hdpi_cache_parse(struct hdpi_cache_list *list, const char *text,
                            size_t length);

/** The newest entry of that key; NULL: none. */
const struct hdpi_cache_entry *
hdpi_cache_list_find(const struct hdpi_cache_list *list, const char *key,
                     size_t key_length);

/** Appends an entry in place of all others of its key. */
hdp_status hdpi_cache_list_put(struct hdpi_cache_list *list,
                               const struct hdpi_cache_entry *entry);
/** Takes the entries of a key out; how many there were. */
size_t hdpi_cache_list_remove(struct hdpi_cache_list *list, const char *key,
                              size_t key_length);

/**
 * The text of a list, malloc'ed. What is above HDPI_CACHE_BYTES_MAX is dropped
 * from the list, the entries measured longest before or behind `now_s` first.
 */
hdp_status hdpi_cache_write(char **out, size_t *length,
                            struct hdpi_cache_list *list, int64_t now_s);
#endif
