/* Answers from a cache. The file is read anew each time and believed only as far
 * as it can be checked: the worst that a forged one can do is a bad split. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "base/mem.h"
#include "base/text.h"
#include "cache_file.h"
#include "cache_inner.h"
#include "cache_text.h"
#include "json/json.h"
#include "sample.h"

enum {
    DAY_S = 24 * 60 * 60,
    FRESH_DAYS = 30,
    LINES_MAX = 8 /* members of which a line tells why they miss */
};

static const double ratio_max = 1000; /* between two members */

/* ---- finding ------------------------------------------------------------- */

/* Why no entry of the key is there: the nearest one tells, of several the one
 * put in last. */
static void explain(char *why, const struct hdpi_cache_list *list,
                    const struct hdpi_cache_one *key)
{
    const struct hdpi_cache_entry *nearest = NULL;
    int32_t most = 0;

    for (size_t i = 0; i < list->count; ++i) {
        const struct hdpi_cache_entry *entry = &list->entries[i];
        int32_t count = hdpi_cache_key_alike(entry->key, entry->key_length,
                                             key->text, key->length);
        if (count > 0 && count >= most) {
            most = count;
            nearest = entry;
        }
    }
    if (nearest)
        hdpi_cache_key_why(why, HDPI_CACHE_WHY_MAX, nearest->key,
                           nearest->key_length, key->text, key->length);
    else
        (void)hdpi_text_copy(why, HDPI_CACHE_WHY_MAX, "not in it");
}

/* An hour more or less on the wall clock changes nothing. */
static int is_fresh(char *why, const struct hdpi_cache_entry *entry,
                    int64_t now_s)
{
    if (entry->measured_s > now_s && entry->measured_s - now_s > DAY_S)
        (void)hdpi_text_copy(why, HDPI_CACHE_WHY_MAX, "measured in the future");
    else if (entry->measured_s < now_s - FRESH_DAYS * DAY_S)
        (void)snprintf(why, HDPI_CACHE_WHY_MAX,
                       "measured %" PRId64 " days ago, %d are allowed",
                       (now_s - entry->measured_s) / DAY_S, FRESH_DAYS);
    else
        return 1;
    return 0;
}

static const struct hdpi_cache_entry *find(char *why, struct hdpi_cache *cache,
                                           const struct hdpi_cache_list *list,
                                           int32_t member, int64_t now_s)
{
    const struct hdpi_cache_one *key = &cache->keys[member];
    const struct hdpi_cache_entry *entry;

    entry = hdpi_cache_list_find(list, key->text, key->length);
    if (!entry) {
        explain(why, list, key);
        return NULL;
    }
    if (!is_fresh(why, entry, now_s))
        return NULL;
    if (entry->budget_ns < cache->ask.budget_ns) {
        (void)snprintf(why, HDPI_CACHE_WHY_MAX,
                       "measured within %" PRId64 " ms, %" PRId64 " are asked",
                       entry->budget_ns / 1000000,
                       cache->ask.budget_ns / 1000000);
        return NULL;
    }
    return entry;
}

/* ---- answering ----------------------------------------------------------- */

/* What no reader of profiles can know: whether it is an answer to this
 * question, and whether one may plan by it. */
static hdp_status check(const hdp_profile *one, const struct hdpi_cache *cache,
                        const struct hdpi_device_row *row)
{
    const struct hdpi_rank_profile *rank = &one->ranks[0];
    uint32_t bit = UINT32_C(1) << cache->ask.dtype;
    int absent = !((row->info.native_dtypes | row->info.slow_dtypes) & bit);
    const char *what = NULL;

    if (one->info.member_count != 1 || one->info.probe != cache->ask.probe ||
        one->info.dtype != cache->ask.dtype)
        what = "is of something else";
    else if (rank->lacks_dtype ? !absent : rank->point_count < 1)
        what = "has no figures";
    else if (!rank->reliable || (!rank->lacks_dtype && !(rank->rate > 0)))
        what = "has figures that cannot be relied on";
    else if (rank->duty_percent != row->info.duty_percent ||
             rank->provenance != HDPI_FROM_MEASURED)
        what = "was not measured so";
    if (what)
        return hdpi_fail(HDP_ERR_ARGUMENT, "its entry %s", what);
    return HDP_OK;
}

static hdp_status take_entry(hdp_profile *profile, int32_t member,
                             const struct hdpi_cache *cache,
                             const struct hdpi_cache_entry *entry)
{
    const struct hdpi_member *mine = &cache->group->members[member];
    struct hdpi_rank_profile *to = &profile->ranks[mine->rank];
    struct hdpi_rank_profile now = { 0 };
    hdp_profile *one = NULL;
    hdp_status status;

    HDPI_TRY(hdpi_profile_read_json(&one, entry->body, entry->body_length));
    HDPI_TRY(check(one, cache, &mine->device->row));
    HDPI_TRY(hdpi_profile_copy_rank(profile, mine->rank, &one->ranks[0]));
    hdpi_sample_describe(&now, mine);
    to->memory_bytes = now.memory_bytes;
    to->memory_domain = now.memory_domain;
    (void)hdpi_text_copy(to->key, sizeof to->key, now.key);
    profile->info.drifting |= one->info.drifting;
    if (!to->lacks_dtype)
        profile->info.compute = one->info.compute;
out:
    hdpi_profile_free(one);
    return status;
}

/* Rates at one size, which entries of several measurements need not have. */
static void compare_rates(hdp_profile *profile)
{
    for (int32_t r = 0; r < profile->info.member_count; ++r) {
        struct hdpi_rank_profile *rank = &profile->ranks[r];
        if (rank->rate > 0)
            rank->rate_flops /= rank->rate; /* of an item */
    }
    hdpi_profile_compare_rates(profile);
    for (int32_t r = 0; r < profile->info.member_count; ++r)
        profile->ranks[r].rate_flops *= profile->ranks[r].rate;
}

static hdp_status check_ratio(const hdp_profile *profile)
{
    double least = 0, most = 0;

    for (int32_t r = 0; r < profile->info.member_count; ++r) {
        double rate = hdpi_profile_rate(&profile->ranks[r]);
        if (!(rate > 0))
            continue;
        least = least > 0 && least < rate ? least : rate;
        most = most > rate ? most : rate;
    }
    if (!(most > 0))
        return hdpi_fail(HDP_ERR_ARGUMENT, "nobody has figures");
    if (most > ratio_max * least)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "members differ by more than %g to 1", ratio_max);
    return HDP_OK;
}

static hdp_status build(hdp_profile **out, struct hdpi_cache *cache,
                        const struct hdpi_cache_entry *const *found)
{
    const hdp_group *group = cache->group;
    hdp_profile *profile = NULL;
    hdp_status status;

    HDPI_TRY(hdpi_profile_new(&profile, hdpi_group_rank_count(group)));
    profile->info.probe = cache->ask.probe;
    profile->info.dtype = profile->info.compute = cache->ask.dtype;
    profile->info.ended_by = HDP_ENDED_GIVEN;
    profile->info.fingerprint = group->fingerprint;
    for (int32_t m = 0; m < group->member_count; ++m)
        HDPI_TRY(take_entry(profile, m, cache, found[m]));
    compare_rates(profile);
    HDPI_TRY(check_ratio(profile));
    assert(hdpi_profile_is_valid(profile));
    *out = profile;
    profile = NULL;
out:
    hdpi_profile_free(profile);
    return status;
}

/* Entries of all members; 0 when one misses, which is told. */
static int find_all(const struct hdpi_cache_entry **found,
                    struct hdpi_cache *cache,
                    const struct hdpi_cache_list *list, int64_t now_s)
{
    char why[HDPI_CACHE_WHY_MAX];
    int32_t missing = 0;

    for (int32_t m = 0; m < cache->group->member_count; ++m) {
        found[m] = find(why, cache, list, m, now_s);
        if (found[m])
            continue;
        if (++missing <= LINES_MAX)
            hdpi_log(&cache->group->context->log, HDP_LOG_INFO,
                     "cache: %s: miss: %s: %s", cache->path,
                     hdpi_cache_spec(cache, m), why);
    }
    return missing == 0;
}

static void tell_hit(const struct hdpi_cache *cache,
                     const struct hdpi_cache_entry *const *found, int64_t now_s)
{
    int32_t count = cache->group->member_count;
    int64_t oldest_s = now_s;

    for (int32_t m = 0; m < count; ++m)
        if (found[m]->measured_s < oldest_s)
            oldest_s = found[m]->measured_s;
    hdpi_log(&cache->group->context->log, HDP_LOG_INFO,
             "cache: %s: hit: %d %s, measured %" PRId64 " s ago%s", cache->path,
             (int)count, count == 1 ? "member" : "members", now_s - oldest_s,
             count == 1 ? "" : " at most");
}

static hdp_status answer_from(hdp_profile **out, struct hdpi_cache *cache,
                              const char *text, size_t length)
{
    size_t count = (size_t)cache->group->member_count;
    const struct hdpi_cache_entry **found = NULL;
    struct hdpi_cache_list list = { 0 };
    int64_t now_s = (int64_t)time(NULL);
    hdp_status status;

    HDPI_TRY(hdpi_cache_parse(&list, text, length));
    found = hdpi_alloc(count, sizeof(struct hdpi_cache_entry *), "entries");
    if (!found)
        HDPI_TRY(HDP_ERR_MEMORY);
    if (!find_all(found, cache, &list, now_s))
        goto out;
    HDPI_TRY(build(out, cache, found));
    tell_hit(cache, found, now_s);
out:
    if (status != HDP_OK)
        hdpi_error_behind(cache->path);
    hdpi_cache_list_finish(&list);
    free(found);
    return status;
}

int hdpi_cache_answer(hdp_profile **out, struct hdpi_cache *cache)
{
    hdp_error before = *hdpi_error();
    hdp_status status;
    char *text = NULL;
    size_t length = 0;

    *out = NULL;
    if (!cache || cache->keyless)
        return 0;
    HDPI_TRY(hdpi_cache_file_read(&text, &length, cache->path));
    if (text)
        HDPI_TRY(answer_from(out, cache, text, length));
    else
        hdpi_log(&cache->group->context->log, HDP_LOG_INFO,
                 "cache: %s: miss: no such file yet", cache->path);
out:
    if (status != HDP_OK)
        hdpi_cache_doubt(cache, "measured instead");
    free(text);
    *hdpi_error() = before;
    return *out != NULL;
}
