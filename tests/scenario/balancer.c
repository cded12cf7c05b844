/* What a balancer is told: a profile, limits of ranks, minimums; what is wrong
 * is refused when it is handed in, and the plans go on. */
#include <math.h>
#include <string.h>
#include "scene.h"

enum { RANKS = 3 };

static hdp_profile *make_profile(void)
{
    static const double item_ns[RANKS] = { 10, 20, 40 };
    hdp_model models[RANKS];
    hdp_profile *profile;
    int32_t r;

    for (r = 0; r < RANKS; ++r) {
        expect_ok(hdp_options_init(&models[r], sizeof models[r]));
        models[r].item_ns = item_ns[r];
    }
    expect_ok(hdp_profile_create(&profile, models, RANKS));
    return profile;
}

static void expect_shares(hdp_balancer *balancer, int64_t total, int64_t a,
                          int64_t b, int64_t c)
{
    const int64_t want[RANKS] = { a, b, c };
    hdp_plan *plan;
    hdp_plan_info info = { .size = sizeof info };
    int32_t r;

    expect_ok(hdp_balancer_plan(&plan, balancer, total));
    expect_ok(hdp_plan_get(&info, plan));
    for (r = 0; r < RANKS; ++r)
        expect_number(want[r], info.items[r], "share %d of %lld", (int)r,
                      (long long)total);
    hdp_plan_destroy(plan);
}

static void limits_hold_from_the_next_plan(void **state)
{
    hdp_profile *profile = make_profile();
    hdp_balancer *balancer;
    hdp_plan *plan;

    (void)state;
    expect_ok(hdp_balancer_create(&balancer, profile, NULL));
    expect_shares(balancer, 70, 40, 20, 10);
    expect_ok(hdp_balancer_limit(balancer, 0, 10));
    expect_shares(balancer, 70, 10, 40, 20);
    expect_ok(hdp_balancer_limit(balancer, 1, 0));
    expect_shares(balancer, 30, 10, 0, 20);
    expect_ok(hdp_balancer_limit(balancer, 2, 5));
    expect_status(HDP_ERR_CAPACITY, hdp_balancer_plan(&plan, balancer, 16));
    expect_ok(hdp_balancer_limit(balancer, 0, -1));
    expect_ok(hdp_balancer_limit(balancer, 1, -1));
    expect_ok(hdp_balancer_limit(balancer, 2, -1));
    expect_shares(balancer, 70, 40, 20, 10);
    expect_status(HDP_ERR_NOT_FOUND, hdp_balancer_limit(balancer, 3, 1));
    expect_status(HDP_ERR_NOT_FOUND, hdp_balancer_limit(balancer, -1, 1));
    expect_status(HDP_ERR_ARGUMENT, hdp_balancer_limit(balancer, 0, -2));
    hdp_balancer_destroy(balancer);
    hdp_profile_destroy(profile);
}

/* A minimum is never dropped, so a limit below it could never be obeyed. */
static void a_limit_is_no_less_than_the_minimum(void **state)
{
    static const int64_t least[RANKS] = { 0, 0, 10 };
    hdp_profile *profile = make_profile();
    hdp_split_options options = HDP_SPLIT_OPTIONS_INIT;
    hdp_balancer *balancer;

    (void)state;
    options.min_items = least;
    expect_ok(hdp_balancer_create(&balancer, profile, &options));
    expect_status(HDP_ERR_ARGUMENT, hdp_balancer_limit(balancer, 2, 0));
    expect_status(HDP_ERR_ARGUMENT, hdp_balancer_limit(balancer, 2, 9));
    expect_shares(balancer, 70, 40, 20, 10);
    expect_ok(hdp_balancer_limit(balancer, 2, 10));
    expect_shares(balancer, 70, 40, 20, 10);
    hdp_balancer_destroy(balancer);
    hdp_profile_destroy(profile);
}

static void refuse(const hdp_profile *profile, const char *name,
                   const hdp_split_options *options)
{
    hdp_balancer *balancer = NULL;

    if (hdp_balancer_create(&balancer, profile, options) != HDP_ERR_ARGUMENT)
        fail_msg("%s: expected argument, got another status", name);
    expect_number(0, balancer != NULL, "%s: a balancer", name);
}

static void wrong_options_are_refused_at_once(void **state)
{
    static const double ratios[RANKS] = { 1, (double)NAN, 1 };
    static const int64_t low[RANKS] = { 0, 9, 0 }, high[RANKS] = { -1, 8, -1 };
    static const int64_t below[RANKS] = { 0, 0, -1 };
    hdp_profile *profile = make_profile();
    hdp_split_options options, fresh;

    (void)state;
    expect_ok(hdp_options_init(&fresh, sizeof fresh));
    options = fresh;
    options.rule = 5;
    refuse(profile, "an unknown rule", &options);
    options = fresh;
    options.rule = HDP_RULE_MANUAL;
    refuse(profile, "no ratios", &options);
    options.ratios = ratios;
    refuse(profile, "a ratio that is no number", &options);
    options = fresh;
    options.min_items = below;
    refuse(profile, "a minimum below 0", &options);
    options.min_items = low;
    options.max_items = high;
    refuse(profile, "a minimum above its maximum", &options);
    options = fresh;
    options.item_bytes = -1;
    refuse(profile, "bytes below 0", &options);
    hdp_profile_destroy(profile);
}

/* Six items cannot meet these minimums in whole quanta, more can: that is no
 * fault of the options. Nor is it what memory or maximums cannot hold. */
static void whether_it_fits_is_asked_later(void **state)
{
    static const int64_t low[RANKS] = { 3, 3, 0 }, high[RANKS] = { 4, 4, 0 };
    hdp_profile *profile = make_profile();
    hdp_split_options options;
    hdp_balancer *balancer;
    hdp_plan *plan;

    (void)state;
    expect_ok(hdp_options_init(&options, sizeof options));
    options.min_items = low;
    options.quantum = 4;
    expect_ok(hdp_balancer_create(&balancer, profile, &options));
    expect_shares(balancer, 12, 8, 4, 0);
    expect_status(HDP_ERR_ARGUMENT, hdp_balancer_plan(&plan, balancer, 6));
    hdp_balancer_destroy(balancer);
    options.max_items = high;
    expect_ok(hdp_balancer_create(&balancer, profile, &options));
    expect_shares(balancer, 8, 4, 4, 0);
    expect_status(HDP_ERR_CAPACITY, hdp_balancer_plan(&plan, balancer, 9));
    hdp_balancer_destroy(balancer);
    hdp_profile_destroy(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_hold_from_the_next_plan),
        cmocka_unit_test(a_limit_is_no_less_than_the_minimum),
        cmocka_unit_test(wrong_options_are_refused_at_once),
        cmocka_unit_test(whether_it_fits_is_asked_later),
    };

    return cmocka_run_group_tests_name("balancer", tests, NULL, NULL);
}
