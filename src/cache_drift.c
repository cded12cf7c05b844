/* Whether steps still take what the profile said. The noise of a few percent
 * that every device has is no news; a fifth, five times in a row, is. */
#include <stdlib.h>
#include "base/mem.h"
#include "base/options.h"
#include "cache.h"

static const double fits = 1.2; /* between the extremes of two ranks */

static int does_not_fit(const hdp_profile *profile, const int64_t *items,
                        const int64_t *compute_ns)
{
    double least = 0, most = 0;

    for (int32_t r = 0; r < profile->info.member_count; ++r) {
        const struct hdpi_rank_profile *rank = &profile->ranks[r];
        double predicted_ns = hdpi_profile_time(rank, items[r]);
        if (items[r] < 1 || compute_ns[r] < 1 || !(predicted_ns > 0))
            continue;
        double ratio = (double)compute_ns[r] / predicted_ns;
        least = least > 0 && least < ratio ? least : ratio;
        most = most > ratio ? most : ratio;
    }
    return most > fits * least;
}

int hdpi_cache_drifts(struct hdpi_cache_drift *drift,
                      const hdp_profile *profile, const int64_t *items,
                      const int64_t *compute_ns)
{
    if (!does_not_fit(profile, items, compute_ns)) {
        drift->steps = 0;
        return 0;
    }
    if (++drift->steps < HDPI_CACHE_DRIFT_STEPS)
        return 0;
    drift->steps = 0;
    return 1;
}

/* ---- watching ------------------------------------------------------------ */

struct hdpi_cache_watch {
    hdp_group *group; /* borrowed */
    struct hdpi_cache *cache;
    hdp_profile *profile; /* one reference */
    struct hdpi_cache_drift drift;
    int32_t forgotten;
    int64_t items[]; /* one a rank; 0: no sample */
};

static struct hdpi_cache_watch *watch_new(hdp_group *group,
                                          const hdp_calibrate_options *own,
                                          hdp_profile *profile)
{
    const struct hdpi_cache_ask ask = { .probe = own->probe,
                                        .dtype =
                                            own->dtype ? own->dtype : HDP_F32,
                                        .compute = own->compute,
                                        .items = own->items,
                                        .item_count = own->item_count };
    struct hdpi_cache_watch *watch =
        hdpi_alloc(1,
                   sizeof *watch + (size_t)profile->info.member_count *
                                       sizeof *watch->items,
                   "the eye on a cache");

    if (!watch)
        return NULL;
    watch->group = group;
    watch->cache = hdpi_cache_open(group, own->cache, &ask);
    hdpi_object_retain(&profile->object);
    watch->profile = profile;
    return watch;
}

struct hdpi_cache_watch *
hdpi_cache_watch_open(hdp_group *group, const hdp_calibrate_options *options,
                      hdp_profile *profile)
{
    hdp_error before = *hdpi_error();
    struct hdpi_cache_watch *watch = NULL;
    hdp_calibrate_options own;

    if (!options || profile->info.ended_by != HDP_ENDED_GIVEN ||
        hdpi_options_read(&own, sizeof own, options, "hdp_calibrate_options") !=
            HDP_OK ||
        !own.cache)
        return NULL;
    watch = watch_new(group, &own, profile);
    if (!watch)
        hdpi_log(&group->context->log, HDP_LOG_WARN,
                 "cache: %s: not watched: %s", own.cache, hdpi_error()->text);
    *hdpi_error() = before;
    return watch;
}

void hdpi_cache_watch_step(struct hdpi_cache_watch *watch,
                           const hdp_report *report)
{
    if (!watch || watch->forgotten)
        return;
    for (int32_t r = 0; r < watch->profile->info.member_count; ++r)
        watch->items[r] = report->first_at_share[r] ? 0 : report->items[r];
    if (!hdpi_cache_drifts(&watch->drift, watch->profile, watch->items,
                           report->compute_ns))
        return;
    watch->forgotten = 1;
    hdpi_log(&watch->group->context->log, HDP_LOG_INFO,
             "cache: forgotten: %d steps in a row took other parts of the time "
             "than it says, by more than a fifth",
             HDPI_CACHE_DRIFT_STEPS);
    hdpi_cache_forget(watch->cache);
}

void hdpi_cache_watch_close(struct hdpi_cache_watch *watch)
{
    if (!watch)
        return;
    hdpi_cache_close(watch->cache);
    hdp_profile_destroy(watch->profile);
    free(watch);
}
