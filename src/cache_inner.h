/* What the files of caches share: the question, its keys, its one warning. */
#ifndef HDPI_CACHE_INNER_H
#define HDPI_CACHE_INNER_H
#include "cache.h"
#include "cache_key.h"

struct hdpi_cache_one {
    char text[HDPI_CACHE_KEY_MAX];
    size_t length; /* 0: there is none */
};

struct hdpi_cache {
    hdp_group *group; /* borrowed */
    char *path;
    struct hdpi_cache_one *keys; /* one a member */
    struct hdpi_cache_ask ask;   /* without the sizes: keys have them */
    int32_t keyless;             /* members without a key */
    int32_t warned;              /* 1: the one warning is out */
};

/** This thread's error, told with what came of it: as a warning the first time,
 *  since of several doubts about one file only the first is news. */
void hdpi_cache_doubt(struct hdpi_cache *cache, const char *outcome);

/** How people ask for a member again. */
const char *hdpi_cache_spec(const struct hdpi_cache *cache, int32_t member);
#endif
