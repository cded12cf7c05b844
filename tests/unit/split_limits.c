/* The limits of a split: what fits at most, minimums, keeping everybody, devices
 * shared by several ranks, why a share is what it is, and pure rates. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include "core/profile.h"
#include "unit/splits.h"

/* ---- capacity ------------------------------------------------------------- */

static int64_t largest(const hdp_profile *profile, int64_t total,
                       const hdp_split_options *options)
{
    hdp_error error;
    hdp_plan *plan;

    assert_int_equal(hdp_split(&plan, profile, total, options),
                     HDP_ERR_CAPACITY);
    hdp_options_init(&error, sizeof error);
    hdp_error_get(&error);
    return error.largest_total;
}

static void test_capacity(void **state)
{
    (void)state;
    hdp_profile *profile = splits_pair();
    hdp_split_options options = splits_options(HDP_RULE_FINISH);

    options.max_items = (const int64_t[]){ 7, 7 };
    assert_int_equal(largest(profile, 15, &options), 14);
    options.quantum = 8; /* neither holds a block; one may hold a remainder */
    assert_int_equal(largest(profile, 15, &options), 7);
    options.max_items = (const int64_t[]){ 17, 7 };
    assert_int_equal(largest(profile, 30, &options), 23);
    splits_expect(profile, 23, &options, (int64_t[]){ 16, 7 }, 2);
    options.max_items = (const int64_t[]){ 0, 0 };
    assert_int_equal(largest(profile, 1, &options), 0);
    options.quantum = 1;
    options.rule = HDP_RULE_SINGLE;
    options.max_items = (const int64_t[]){ 5, 9 };
    assert_int_equal(largest(profile, 10, &options), 9);
    splits_expect(profile, 9, &options, (int64_t[]){ 0, 9 }, 2);
    hdp_profile_destroy(profile);
}

/* Rows times their bytes beyond 2^63 - 1 = 9,223,372,036,854,775,807. */
static void test_bytes(void **state)
{
    (void)state;
    hdp_profile *profile = splits_pair();
    hdp_split_options options = splits_options(HDP_RULE_FINISH);
    hdp_plan *plan;

    options.in_bytes = 8000000000;
    assert_int_equal(largest(profile, 3000000001, &options), 1152921504);
    assert_int_equal(hdp_split(&plan, profile, 1152921504, &options), HDP_OK);
    hdp_plan_destroy(plan);
    assert_int_equal(largest(profile, 1152921505, &options), 1152921504);
    options.in_bytes = 1;
    options.out_bytes = 3;
    assert_int_equal(largest(profile, INT64_MAX, &options),
                     3074457345618258602);
    hdp_profile_destroy(profile);
}

/* ---- minimums, keeping everybody ------------------------------------------ */

static void test_minimum(void **state)
{
    (void)state;
    const struct line lines[3] = { { 0, 10 }, { 0, 20 }, { 5000, 1000 } };
    hdp_profile *profile = splits_lines(lines, 3);
    hdp_split_options options = splits_options(HDP_RULE_FINISH);
    hdp_plan_info info;

    options.min_items = (const int64_t[]){ 0, 0, 4 };
    hdp_plan *plan = splits_plan(&info, profile, 64, &options);
    /* the third ends at 9000 whatever the others do: they still balance */
    assert_int_equal(info.items[0], 40);
    assert_int_equal(info.items[1], 20);
    assert_int_equal(info.items[2], 4);
    assert_int_equal(info.step_ns, 9000);
    assert_int_equal(info.best_single_ns, 69000); /* only the third may */
    assert_int_equal(info.bound_by[2], HDP_BOUND_MIN);
    assert_true(info.gap == 0);
    hdp_plan_destroy(plan);
    options.rule = HDP_RULE_SINGLE;
    splits_expect(profile, 64, &options, (int64_t[]){ 0, 0, 64 }, 3);
    options.min_items = (const int64_t[]){ 1, 0, 4 };
    splits_refused(profile, 64, &options, HDP_ERR_ARGUMENT, -1, "minimums");
    options.rule = HDP_RULE_FINISH;
    plan = splits_plan(&info, profile, 64, &options);
    assert_int_equal(info.best_single_ns, -1);
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
}

static void test_keep_all(void **state)
{
    (void)state;
    const struct line lines[3] = { { 0, 10 }, { 5000, 20 }, { 9000, 20 } };
    hdp_profile *profile = splits_lines(lines, 3);
    hdp_split_options options = splits_options(HDP_RULE_FINISH);

    splits_expect(profile, 64, &options, (int64_t[]){ 64, 0, 0 }, 3);
    options.keep_all = 1;
    splits_expect(profile, 64, &options, (int64_t[]){ 62, 1, 1 }, 3);
    splits_expect(profile, 3, &options, (int64_t[]){ 1, 1, 1 }, 3);
    splits_expect(profile, 2, &options, (int64_t[]){ 1, 1, 0 }, 3);
    splits_expect(profile, 1, &options, (int64_t[]){ 1, 0, 0 }, 3);
    options.quantum = 8;
    splits_expect(profile, 64, &options, (int64_t[]){ 48, 8, 8 }, 3);
    splits_expect(profile, 18, &options, (int64_t[]){ 8, 8, 2 }, 3);
    splits_expect(profile, 16, &options, (int64_t[]){ 8, 8, 0 }, 3);
    options.max_items = (const int64_t[]){ -1, 0, -1 }; /* it cannot */
    splits_expect(profile, 64, &options, (int64_t[]){ 56, 0, 8 }, 3);
    /* nobody is asked to keep a rank that a ratio of 0 leaves empty */
    hdp_plan_info info;
    options = splits_options(HDP_RULE_MANUAL);
    options.keep_all = 1;
    options.ratios = (const double[]){ 1, 0, 0 };
    hdp_plan *plan = splits_plan(&info, profile, 64, &options);
    assert_int_equal(info.items[0], 64);
    assert_int_equal(info.step_ns, 640);
    assert_int_equal(info.lower_bound_ns, 640);
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
}

/* ---- one device, several ranks -------------------------------------------- */

static hdp_profile *partitions(int32_t count, int64_t memory_bytes)
{
    hdp_model models[64];
    hdp_profile *profile;

    memset(models, 0, sizeof models);
    for (int32_t i = 0; i < count; i++) {
        models[i].size = sizeof models[i];
        models[i].item_ns = 10 + i;
        models[i].memory_bytes = memory_bytes;
        models[i].memory_domain = 7;
    }
    assert_int_equal(hdp_profile_create(&profile, models, count), HDP_OK);
    return profile;
}

static void test_shared_memory(void **state)
{
    (void)state;
    hdp_profile *profile = partitions(4, 100);
    hdp_split_options options = splits_options(HDP_RULE_FINISH);
    int64_t shares[64];

    options.item_bytes = 2;
    options.fixed_bytes = 20;
    /* 4 replicas leave 10 items, 3 leave 20, 2 leave 30, one leaves 40 */
    splits_shares(shares, profile, 10, &options);
    assert_true(shares[3] > 0);
    splits_shares(shares, profile, 20, &options);
    assert_true(shares[2] > 0 && shares[3] == 0);
    splits_expect(profile, 30, &options, (int64_t[]){ 16, 14, 0, 0 }, 4);
    splits_expect(profile, 31, &options, (int64_t[]){ 31, 0, 0, 0 }, 4);
    splits_expect(profile, 40, &options, (int64_t[]){ 40, 0, 0, 0 }, 4);
    assert_int_equal(largest(profile, 41, &options), 40);
    options.keep_free_bytes = 50;
    assert_int_equal(largest(profile, 41, &options), 15);
    options.keep_free_bytes = 90;
    assert_int_equal(largest(profile, 41, &options), 0);
    options.keep_free_bytes = 0;
    options.min_items = (const int64_t[]){ 0, 0, 0, 5 };
    splits_expect(profile, 30, &options, (int64_t[]){ 17, 0, 0, 13 }, 4);
    for (int32_t rule = HDP_RULE_PROPORTIONAL; rule <= HDP_RULE_EQUAL; rule++) {
        options.rule = rule;
        splits_shares(shares, profile, 30, &options);
        assert_true((shares[0] > 0) + (shares[1] > 0) + (shares[2] > 0) == 1);
        assert_true(shares[3] >= 5);
    }
    hdp_profile_destroy(profile);
    profile = partitions(12, 100); /* without replicas exact for any number */
    options = splits_options(HDP_RULE_FINISH);
    options.item_bytes = 2;
    splits_shares(shares, profile, 50, &options);
    assert_true(shares[11] > 0);
    assert_int_equal(largest(profile, 51, &options), 50);
    profile->ranks[5].memory_bytes = 60; /* measured apart: the smallest */
    assert_int_equal(largest(profile, 51, &options), 30);
    profile->ranks[5].memory_bytes = 0; /* not known: the others' */
    assert_int_equal(largest(profile, 51, &options), 50);
    options.fixed_bytes = 8; /* all twelve leave 2 items */
    splits_shares(shares, profile, 2, &options);
    splits_shares(shares, profile, 46, &options);
    assert_int_equal(largest(profile, 51, &options), 46);
    hdp_profile_destroy(profile);
}

/* ---- why ------------------------------------------------------------------ */

/* A device whose memory is not known holds any number of items, also of such
 * that more of them than 2^63 bytes hold are wanted. */
static void test_unknown_memory(void **state)
{
    (void)state;
    hdp_profile *profile = partitions(2, 0);
    hdp_split_options options = splits_options(HDP_RULE_FINISH);
    hdp_plan_info info;

    options.item_bytes = INT64_C(1) << 53;
    options.fixed_bytes = INT64_C(1) << 58;
    splits_expect(profile, 2100, &options, (int64_t[]){ 1100, 1000 }, 2);
    options.quantum = INT64_C(1) << 50;
    splits_expect(profile, 2100, &options, (int64_t[]){ 2100, 0 }, 2);
    options.quantum = 1;
    options.max_items = (const int64_t[]){ 1500, -1 };
    hdp_plan *plan = splits_plan(&info, profile, 2100, &options);
    assert_int_equal(info.bound_by[0], HDP_BOUND_SPEED);
    assert_int_equal(info.bound_by[1], HDP_BOUND_SPEED);
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
}

/* A device that the margin alone fills gets nothing, the others everything. */
static void test_full_device(void **state)
{
    (void)state;
    hdp_model models[4];
    hdp_profile *profile;
    hdp_split_options options = splits_options(HDP_RULE_FINISH);

    memset(models, 0, sizeof models);
    for (int32_t i = 0; i < 4; i++) {
        models[i].size = sizeof models[i];
        models[i].item_ns = 10;
        models[i].memory_bytes = i < 2 ? 100 : 0;
        models[i].memory_domain = i < 2 ? 7 : 0;
    }
    assert_int_equal(hdp_profile_create(&profile, models, 4), HDP_OK);
    options.item_bytes = 2;
    options.keep_free_bytes = 200;
    options.ratios = (const double[]){ 1, 1, 1, 1 };
    for (int32_t rule = HDP_RULE_FINISH; rule <= HDP_RULE_MANUAL; rule++) {
        options.rule = rule;
        if (rule == HDP_RULE_SINGLE)
            continue;
        options.quantum = 1;
        splits_expect(profile, 41, &options, (int64_t[]){ 0, 0, 21, 20 }, 4);
        options.quantum = 8;
        splits_expect(profile, 41, &options, (int64_t[]){ 0, 0, 24, 17 }, 4);
    }
    hdp_profile_destroy(profile);
}

static void test_reasons(void **state)
{
    (void)state;
    hdp_model models[4];
    hdp_split_options options = splits_options(HDP_RULE_FINISH);
    hdp_profile *profile;
    hdp_plan_info info;

    memset(models, 0, sizeof models);
    for (int i = 0; i < 4; i++) {
        models[i].size = sizeof models[i];
        models[i].item_ns = 100;
    }
    models[1].memory_bytes = 900;
    models[3].fixed_ns = 1e6;
    assert_int_equal(hdp_profile_create(&profile, models, 4), HDP_OK);
    options.item_bytes = 100;
    options.max_items = (const int64_t[]){ -1, -1, 5, -1 };
    hdp_plan *plan = splits_plan(&info, profile, 40, &options);
    const int64_t shares[] = { 26, 9, 5, 0 };
    const int32_t reasons[] = { HDP_BOUND_SPEED, HDP_BOUND_MEMORY,
                                HDP_BOUND_MAX, HDP_BOUND_DROPPED };
    for (int i = 0; i < 4; i++) {
        assert_int_equal(info.items[i], shares[i]);
        assert_int_equal(info.bound_by[i], reasons[i]);
    }
    hdp_plan_destroy(plan);
    options.fixed_bytes = 850; /* no room for a single item beside it */
    options.item_bytes = 100;
    options.max_items = (const int64_t[]){ -1, -1, 0, -1 };
    plan = splits_plan(&info, profile, 40, &options);
    assert_int_equal(info.items[0], 40);
    assert_int_equal(info.bound_by[1], HDP_BOUND_MEMORY);
    assert_int_equal(info.bound_by[2], HDP_BOUND_MAX);
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
}

/* A rank that lacks the dtype gets nothing, by a profile from elsewhere. */
static void test_dtype(void **state)
{
    (void)state;
    hdp_split_options options = splits_options(HDP_RULE_FINISH);
    hdp_profile *profile = splits_pair();
    hdp_plan_info info;
    char text[8192], *at;
    size_t needed;

    assert_int_equal(hdp_profile_to_json(profile, text, sizeof text, &needed),
                     HDP_OK);
    hdp_profile_destroy(profile);
    at = strstr(text, "\"lacks_dtype\":false");
    assert_non_null(at);
    memcpy(at, "\"lacks_dtype\":true ", 19);
    assert_int_equal(hdp_profile_from_json(&profile, text, strlen(text)),
                     HDP_OK);
    for (int32_t rule = HDP_RULE_FINISH; rule <= HDP_RULE_SINGLE; rule++) {
        options.rule = rule;
        hdp_plan *plan = splits_plan(&info, profile, 9, &options);
        assert_int_equal(info.items[0], 0);
        assert_int_equal(info.items[1], 9);
        assert_int_equal(info.bound_by[0], HDP_BOUND_DTYPE);
        hdp_plan_destroy(plan);
    }
    options.min_items = (const int64_t[]){ 1, 0 };
    splits_refused(profile, 9, &options, HDP_ERR_ARGUMENT, 0,
                   "lacks the dtype");
    hdp_profile_destroy(profile);
}

/* ---- rates ---------------------------------------------------------------- */

static void test_rates(void **state)
{
    (void)state;
    const double rates[4] = { 2, 0, 1, 1 };
    int64_t items[4];

    assert_int_equal(hdp_split_rates(items, rates, 4, 8, 0), HDP_OK);
    assert_int_equal(items[0], 4);
    assert_int_equal(items[1], 0);
    assert_int_equal(items[2], 2);
    assert_int_equal(hdp_split_rates(items, rates, 4, 20, 8), HDP_OK);
    assert_int_equal(items[0], 16);
    assert_int_equal(items[1], 0);
    assert_int_equal(items[2], 4);
    assert_int_equal(items[3], 0);
    assert_int_equal(hdp_split_rates(items, rates, 4, 0, 8), HDP_OK);
    assert_int_equal(items[0], 0);
    const double signs[3] = { -0.0, 3, -0.0 }; /* that is 0 as well */
    for (int64_t total = 1; total < INT64_MAX / 1000; total *= 1000) {
        assert_int_equal(hdp_split_rates(items, signs, 3, total, 0), HDP_OK);
        assert_int_equal(items[0], 0);
        assert_int_equal(items[1], total);
        assert_int_equal(items[2], 0);
    }
    for (int power = -1070; power <= 1020;
         power += 95) { /* only ratios count */
        const double scaled[2] = { ldexp(3, power), ldexp(1, power) };
        assert_int_equal(hdp_split_rates(items, scaled, 2, 8, 1), HDP_OK);
        assert_int_equal(items[0], 6);
    }
    assert_int_equal(hdp_split_rates(items, rates, 0, 8, 1), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_split_rates(NULL, rates, 4, 8, 1), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_split_rates(items, NULL, 4, 8, 1), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_split_rates(items, rates, 4, -8, 1), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_split_rates(items, rates, 4, 8, -1), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_split_rates(items, &rates[1], 1, 8, 1),
                     HDP_ERR_ARGUMENT);
    const double wrong[3] = { 1, -1, (double)NAN };
    for (int32_t i = 1; i < 3; i++) {
        assert_int_equal(hdp_split_rates(items, wrong + i, 1, 8, 1),
                         HDP_ERR_ARGUMENT);
        assert_non_null(strstr(hdp_last_error(), "rates[0]"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_minimum),
        cmocka_unit_test(test_keep_all),
        cmocka_unit_test(test_shared_memory),
        cmocka_unit_test(test_unknown_memory),
        cmocka_unit_test(test_full_device),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_dtype),
        cmocka_unit_test(test_rates),
    };
    return cmocka_run_group_tests_name("limits of splits", tests, NULL, NULL);
}
