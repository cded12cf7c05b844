/* A question to a cache, keeping what was found, and forgetting it. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/mem.h"
#include "cache_file.h"
#include "cache_inner.h"
#include "cache_text.h"
#include "json/json.h"

enum { SAMPLES_KEPT = 256 }; /* raw ones of a member; the rest is not written */

static const int64_t wait_ns = INT64_C(5000000000);
static const int64_t hardly_ns = INT64_C(50000000);

/* ---- telling ------------------------------------------------------------- */

void hdpi_cache_doubt(struct hdpi_cache *cache, const char *outcome)
{
    hdpi_log(&cache->group->context->log,
             cache->warned ? HDP_LOG_INFO : HDP_LOG_WARN, "cache: %s; %s",
             hdpi_error()->text, outcome);
    cache->warned = 1;
}

const char *hdpi_cache_spec(const struct hdpi_cache *cache, int32_t member)
{
    return cache->group->members[member].device->row.info.spec;
}

/* ---- life ---------------------------------------------------------------- */

static void make_keys(struct hdpi_cache *cache,
                      const struct hdpi_cache_ask *ask)
{
    for (int32_t m = 0; m < cache->group->member_count; ++m) {
        struct hdpi_cache_one *key = &cache->keys[m];
        const char *why =
            hdpi_cache_key(key->text, sizeof key->text, cache->group, m, ask);
        key->length = strlen(key->text);
        cache->keyless += why != NULL;
        if (why)
            hdpi_log(&cache->group->context->log, HDP_LOG_INFO,
                     "cache: %s: %s cannot be kept: %s", cache->path,
                     hdpi_cache_spec(cache, m), why);
    }
}

static struct hdpi_cache *open_it(hdp_group *group, const char *path,
                                  const struct hdpi_cache_ask *ask)
{
    struct hdpi_cache *cache = hdpi_alloc(1, sizeof *cache, "a cache");
    size_t length = strlen(path);

    if (!cache)
        return NULL;
    cache->group = group;
    cache->ask = *ask;
    cache->ask.items = NULL;
    cache->path = hdpi_alloc(length + 1, 1, "a cache");
    cache->keys = hdpi_alloc((size_t)group->member_count, sizeof *cache->keys,
                             "keys of a cache");
    if (!cache->path || !cache->keys) {
        hdpi_cache_close(cache);
        return NULL;
    }
    memcpy(cache->path, path, length);
    make_keys(cache, ask);
    return cache;
}

struct hdpi_cache *hdpi_cache_open(hdp_group *group, const char *path,
                                   const struct hdpi_cache_ask *ask)
{
    hdp_error before = *hdpi_error();
    struct hdpi_cache *cache;

    if (!path)
        return NULL;
    if (ask->probe == HDP_PROBE_WORK) {
        hdpi_log(&group->context->log, HDP_LOG_WARN,
                 "cache: %s: not asked: the caller's function is measured "
                 "each time, as nothing tells it from another",
                 path);
        return NULL;
    }
    cache = open_it(group, path, ask);
    if (!cache)
        hdpi_log(&group->context->log, HDP_LOG_WARN, "cache: %s: not asked: %s",
                 path, hdpi_error()->text);
    *hdpi_error() = before;
    return cache;
}

void hdpi_cache_close(struct hdpi_cache *cache)
{
    if (!cache)
        return;
    free(cache->path);
    free(cache->keys);
    free(cache);
}

/* ---- keeping ------------------------------------------------------------- */

struct change {
    struct hdpi_cache *cache;
    struct hdpi_cache_entry *entries; /* one a member; body NULL: not kept */
};

static hdp_status write_body(char **out, const hdp_profile *profile,
                             int32_t rank)
{
    hdp_profile *one = NULL;
    hdp_status status;

    HDPI_TRY(hdpi_profile_new(&one, 1));
    one->info = profile->info;
    one->info.member_count = 1;
    HDPI_TRY(hdpi_profile_copy_rank(one, 0, &profile->ranks[rank]));
    if (one->ranks[0].sample_count > SAMPLES_KEPT)
        one->ranks[0].sample_count = SAMPLES_KEPT;
    HDPI_TRY(hdpi_profile_write_json(out, one));
out:
    hdpi_profile_free(one);
    return status;
}

static hdp_status make_entries(struct change *change,
                               const hdp_profile *profile)
{
    struct hdpi_cache *cache = change->cache;
    int64_t now_s = (int64_t)time(NULL);

    for (int32_t m = 0; m < cache->group->member_count; ++m) {
        struct hdpi_cache_entry *entry = &change->entries[m];
        int32_t rank = cache->group->members[m].rank;
        char *body = NULL;
        if (cache->keys[m].length == 0)
            continue;
        if (!profile->ranks[rank].reliable) {
            hdpi_log(&cache->group->context->log, HDP_LOG_INFO,
                     "cache: %s: %s is not kept: its figures are unreliable",
                     cache->path, hdpi_cache_spec(cache, m));
            continue;
        }
        HDPI_RETURN_IF(write_body(&body, profile, rank));
        entry->measured_s = now_s;
        entry->budget_ns = profile->info.ended_by == HDP_ENDED_SPREAD
                               ? INT64_MAX
                               : cache->ask.budget_ns;
        entry->key = cache->keys[m].text;
        entry->key_length = cache->keys[m].length;
        entry->body = body;
        entry->body_length = strlen(body);
    }
    return HDP_OK;
}

/* A damaged text is no loss; anything else that is no cache of ours stays. */
static hdp_status parse_old(struct hdpi_cache *cache,
                            struct hdpi_cache_list *list, const char *text,
                            size_t length)
{
    hdp_status status = text ? hdpi_cache_parse(list, text, length) : HDP_OK;

    if (status == HDP_OK)
        return HDP_OK;
    hdpi_error_behind(cache->path);
    if (status != HDP_ERR_ARGUMENT)
        return status;
    hdpi_cache_doubt(cache, "begun anew");
    return HDP_OK;
}

static hdp_status merge(char **out, size_t *out_length, const char *text,
                        size_t length, void *arg)
{
    struct change *change = arg;
    struct hdpi_cache_list list = { 0 };
    hdp_status status;
    size_t put = 0;

    HDPI_TRY(parse_old(change->cache, &list, text, length));
    for (int32_t m = 0; m < change->cache->group->member_count; ++m) {
        if (!change->entries[m].body)
            continue;
        HDPI_TRY(hdpi_cache_list_put(&list, &change->entries[m]));
        ++put;
    }
    if (put)
        HDPI_TRY(hdpi_cache_write(out, out_length, &list, (int64_t)time(NULL)));
out:
    hdpi_cache_list_finish(&list);
    return status;
}

static hdp_status keep(struct change *change, const hdp_profile *profile)
{
    int32_t kept = 0;

    HDPI_RETURN_IF(make_entries(change, profile));
    for (int32_t m = 0; m < change->cache->group->member_count; ++m)
        kept += change->entries[m].body != NULL;
    if (!kept)
        return HDP_OK;
    return hdpi_cache_file_change(change->cache->path, merge, change, wait_ns);
}

void hdpi_cache_keep(struct hdpi_cache *cache, const hdp_profile *profile)
{
    struct change change = { cache, NULL };
    hdp_error before = *hdpi_error();
    hdp_status status = HDP_ERR_MEMORY;

    if (!cache)
        return;
    change.entries = hdpi_alloc((size_t)cache->group->member_count,
                                sizeof *change.entries, "entries");
    if (change.entries)
        status = keep(&change, profile);
    if (status != HDP_OK)
        hdpi_cache_doubt(cache, "not kept");
    for (int32_t m = 0; change.entries && m < cache->group->member_count; ++m)
        free((void *)(uintptr_t)change.entries[m].body);
    free(change.entries);
    *hdpi_error() = before;
}

/* ---- forgetting ---------------------------------------------------------- */

static hdp_status strike(char **out, size_t *out_length, const char *text,
                         size_t length, void *arg)
{
    struct hdpi_cache *cache = arg;
    struct hdpi_cache_list list = { 0 };
    hdp_status status;
    size_t gone = 0;

    HDPI_TRY(hdpi_cache_parse(&list, text, length));
    for (int32_t m = 0; m < cache->group->member_count; ++m)
        if (cache->keys[m].length > 0)
            gone += hdpi_cache_list_remove(&list, cache->keys[m].text,
                                           cache->keys[m].length);
    if (gone)
        HDPI_TRY(hdpi_cache_write(out, out_length, &list, (int64_t)time(NULL)));
out:
    hdpi_cache_list_finish(&list);
    return status;
}

void hdpi_cache_forget(struct hdpi_cache *cache)
{
    hdp_error before = *hdpi_error();
    hdp_status status;
    char *text = NULL;
    size_t length = 0;

    if (!cache)
        return;
    /* nothing is made where nothing is */
    HDPI_TRY(hdpi_cache_file_read(&text, &length, cache->path));
    if (text)
        HDPI_TRY(hdpi_cache_file_change(cache->path, strike, cache, hardly_ns));
out:
    if (status != HDP_OK)
        hdpi_cache_doubt(cache, "stale answers stay");
    free(text);
    *hdpi_error() = before;
}
