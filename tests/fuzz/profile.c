/* Profiles from any text. Beyond the round trip: every curve is a time that
 * never falls, its inverse agrees with it, and a batch can be split by it. */
#include <math.h>
#include "core/lane.h"
#include "core/learn.h"
#include "core/plan.h"
#include "fuzz/noun.h"

FUZZ_NOUN(hdp_profile, profile)

/* The most items in a time are those after which one more takes longer. */
static void check_inverse(const struct hdpi_rank_profile *rank, int64_t items,
                          double ns)
{
    const int64_t limit = INT64_C(1) << 40;
    struct hdpi_lane lane;
    struct hdpi_stop stop;

    hdpi_lane_of(&lane, rank, 0, 0, 0);
    hdpi_lane_stop(&stop, &lane, 1, 0, limit, ns);
    const int64_t most = stop.blocks;
    FUZZ_CHECK(most >= (items < limit ? items : limit) && most <= limit,
               "%lld items take %a ns, in which %lld fit", (long long)items, ns,
               (long long)most);
    FUZZ_CHECK(hdpi_profile_time(rank, most) <= ns,
               "%lld items are not done in %a ns", (long long)most, ns);
    FUZZ_CHECK(most == limit || hdpi_profile_time(rank, most + 1) > ns,
               "one more than %lld items is done in %a ns too", (long long)most,
               ns);
}

static void check_curve(const struct hdpi_rank_profile *rank)
{
    static const int64_t counts[] = { 1,    2,          3,
                                      7,    8,          9,
                                      256,  4097,       INT64_C(1) << 33,
                                      1000, 3000000001, INT64_MAX };
    double before = 0;
    int64_t last = 0;

    FUZZ_CHECK(hdpi_profile_time(rank, 0) == 0, "nothing takes time");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        double ns = hdpi_profile_time(rank, counts[i]);
        FUZZ_CHECK(isfinite(ns) && ns >= 0, "%lld items take %a ns",
                   (long long)counts[i], ns);
        FUZZ_CHECK(counts[i] < last || ns >= before,
                   "%lld items take %a ns, %lld take %a", (long long)last,
                   before, (long long)counts[i], ns);
        if (counts[i] > last) {
            last = counts[i];
            before = ns;
        }
        check_inverse(rank, counts[i], ns);
    }
    double rate = hdpi_profile_rate(rank);
    FUZZ_CHECK(rate >= 0 && isfinite(rate), "rate %a", rate);
}

static void check_split(const hdp_profile *profile, int64_t total)
{
    hdp_plan *plan = NULL;
    hdp_status status = hdp_split(&plan, profile, total, NULL);

    if (status == HDP_ERR_UNSUPPORTED) {
        for (int32_t i = 0; i < profile->info.member_count; i++)
            FUZZ_CHECK(profile->ranks[i].lacks_dtype, "rank %d can: %s", (int)i,
                       hdp_last_error());
        return;
    }
    FUZZ_CHECK(status == HDP_OK, "split: %s", hdp_last_error());
    FUZZ_CHECK(hdpi_plan_is_valid(plan) && plan->info.total == total,
               "no valid plan of %lld items", (long long)total);
    hdp_plan_destroy(plan);
}

/* Steps of any kind leave a profile of curves, and the one given as it was. */
static void check_learning(const hdp_profile *profile)
{
    static const int64_t items[] = { 1, 1000, INT64_C(1) << 40 };
    static const double times[] = { 1, 1e6, 9e18 };
    hdp_profile *learned = NULL;

    FUZZ_CHECK(hdpi_profile_new(&learned, profile->info.member_count) == HDP_OK,
               "no memory");
    for (int32_t i = 0; i < profile->info.member_count; i++) {
        const struct hdpi_rank_profile *rank = &profile->ranks[i];
        FUZZ_CHECK(hdpi_profile_copy_rank(learned, i, rank) == HDP_OK,
                   "not copied: %s", hdp_last_error());
        rank_same(rank, &learned->ranks[i]);
        for (size_t k = 0; !rank->lacks_dtype && k < 9; k++) {
            FUZZ_CHECK(hdpi_learn(learned, i, items[k % 3], times[k / 3]) ==
                           HDP_OK,
                       "not learned: %s", hdp_last_error());
            check_curve(&learned->ranks[i]);
        }
    }
    FUZZ_CHECK(hdpi_profile_is_valid(learned), "not valid after steps");
    hdpi_profile_free(learned);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hdp_profile *profile = profile_taken(data, size);

    if (!profile)
        return 0;
    for (int32_t i = 0; i < profile->info.member_count; i++)
        if (!profile->ranks[i].lacks_dtype)
            check_curve(&profile->ranks[i]);
    check_learning(profile);
    check_split(profile, 256);
    check_split(profile, INT64_MAX);
    hdpi_profile_free(profile);
    return 0;
}
