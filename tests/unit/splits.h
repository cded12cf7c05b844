/* Short ways to make a profile, split by it and look at the plan. */
#ifndef TEST_SPLITS_H
#define TEST_SPLITS_H
#include <string.h>
#include <hdp/hdp.h>

static inline hdp_split_options splits_options(int32_t rule)
{
    hdp_split_options options;
    hdp_options_init(&options, sizeof options);
    options.rule = rule;
    return options;
}

struct line { /* time of a rank */
    double fixed_ns, item_ns;
};

static inline hdp_profile *splits_lines(const struct line *lines, int32_t count)
{
    hdp_model models[64];
    hdp_profile *profile;

    assert_in_range(count, 1, 64);
    memset(models, 0, sizeof models);
    for (int32_t i = 0; i < count; i++) {
        models[i].size = sizeof models[i];
        models[i].fixed_ns = lines[i].fixed_ns;
        models[i].item_ns = lines[i].item_ns;
    }
    if (hdp_profile_create(&profile, models, count) != HDP_OK)
        fail_msg("profile: %s", hdp_last_error());
    return profile;
}

/* Ranks without fixed cost, by speed. */
static inline hdp_profile *splits_speeds(const double *speeds, int32_t count)
{
    struct line lines[64];
    for (int32_t i = 0; i < count && i < 64; i++) {
        lines[i].fixed_ns = 0;
        lines[i].item_ns = 1e6 / speeds[i];
    }
    return splits_lines(lines, count);
}

static inline hdp_plan *splits_plan(hdp_plan_info *info,
                                    const hdp_profile *profile, int64_t total,
                                    const hdp_split_options *options)
{
    hdp_plan *plan;
    if (hdp_split(&plan, profile, total, options) != HDP_OK)
        fail_msg("split of %lld: %s", (long long)total, hdp_last_error());
    hdp_options_init(info, sizeof *info);
    assert_int_equal(hdp_plan_get(info, plan), HDP_OK);
    return plan;
}

/* The shares of a split, which must add up. */
static inline void splits_shares(int64_t *shares, const hdp_profile *profile,
                                 int64_t total,
                                 const hdp_split_options *options)
{
    hdp_plan_info info;
    hdp_plan *plan = splits_plan(&info, profile, total, options);
    int64_t sum = 0;

    for (int32_t i = 0; i < info.rank_count; i++) {
        assert_true(info.items[i] >= 0);
        assert_int_equal(info.offsets[i], sum);
        shares[i] = info.items[i];
        sum += info.items[i];
    }
    assert_int_equal(sum, total);
    assert_int_equal(info.total, total);
    hdp_plan_destroy(plan);
}

static inline void splits_expect(const hdp_profile *profile, int64_t total,
                                 const hdp_split_options *options,
                                 const int64_t *expected, int32_t count)
{
    int64_t shares[64];
    splits_shares(shares, profile, total, options);
    for (int32_t i = 0; i < count; i++)
        if (shares[i] != expected[i])
            fail_msg("%lld items, rank %d: expected %lld, got %lld",
                     (long long)total, (int)i, (long long)expected[i],
                     (long long)shares[i]);
}

/* Two ranks, the first twice as fast. */
static inline hdp_profile *splits_pair(void)
{
    return splits_speeds((const double[]){ 2, 1 }, 2);
}

/* The split is refused with that status and rank, and the text holds `part`. */
static inline void splits_refused(const hdp_profile *profile, int64_t total,
                                  const hdp_split_options *options,
                                  hdp_status status, int32_t rank,
                                  const char *part)
{
    hdp_plan *plan = (hdp_plan *)(uintptr_t)1;
    hdp_error error;

    assert_int_equal(hdp_split(&plan, profile, total, options), status);
    assert_null(plan);
    hdp_options_init(&error, sizeof error);
    assert_int_equal(hdp_error_get(&error), HDP_OK);
    assert_int_equal(error.status, status);
    if (!strstr(error.text, part))
        fail_msg("expected \"%s\" in \"%s\"", part, error.text);
    if (error.rank != rank)
        fail_msg("expected rank %d, got %d: %s", (int)rank, (int)error.rank,
                 error.text);
}
#endif
