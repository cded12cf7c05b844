/* Whether steps still take what the profile said. The noise of a few percent
 * that every device has is no news; a fifth, five times in a row, is. */
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
