/* What an answer of a cache holds for: the device itself, never its index, and
 * all that its figures depend on besides. */
#ifndef HDPI_CACHE_KEY_H
#define HDPI_CACHE_KEY_H
#include "cache.h"

enum { HDPI_CACHE_KEY_MAX = 2048, HDPI_CACHE_WHY_MAX = 256 };

/**
 * Lines "name=value": the device, the question, and its surroundings.
 *
 * Of other members only those on the same physical device count (the parts of
 * one GPU, the members of the host), since they contend.
 *
 * @return NULL, or why there is no key: what the figures depend on is not
 *         known. Then nothing is written.
 */
const char *hdpi_cache_key(char *out, size_t capacity, const hdp_group *group,
                           int32_t member, const struct hdpi_cache_ask *ask);

/** How many lines two keys have alike before the first that differs; 0: they
 *  are of different devices. */
int32_t hdpi_cache_key_alike(const char *a, size_t a_length, const char *b,
                             size_t b_length);

/** "driver was 550, is 560": the first line that differs. */
void hdpi_cache_key_why(char *out, size_t capacity, const char *was,
                        size_t was_length, const char *is, size_t is_length);
#endif
