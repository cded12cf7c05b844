/* The numbers that users' cases and the design give for splits: the rules, the
 * quantum, memory, links, and what a plan says about itself. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "unit/splits.h"

static const int64_t GiB = INT64_C(1) << 30;

/* ---- finish --------------------------------------------------------------- */

static void test_finish(void **state)
{
    (void)state;
    const struct line lines[2] = { { 500e3, 10e3 }, { 1.5e6, 50e3 } };
    hdp_profile *profile = splits_lines(lines, 2);
    hdp_plan_info info;
    hdp_plan *plan = splits_plan(&info, profile, 256, NULL);

    assert_int_equal(info.items[0], 230);
    assert_int_equal(info.items[1], 26);
    assert_int_equal(info.offsets[1], 230);
    assert_int_equal(info.step_ns, 2800000);
    assert_int_equal(info.lower_bound_ns, 2800000);
    assert_true(info.gap == 0);
    assert_true(info.weights[0] == 0.8984375);
    assert_true(info.weights[1] == 0.1015625);
    assert_int_equal(info.equal_ns, 7900000);
    assert_int_equal(info.best_single_ns, 3060000);
    assert_int_equal(info.predicted_ns[0], 2800000);
    assert_int_equal(info.predicted_ns[1], 2800000);
    assert_int_equal(info.bound_by[0], HDP_BOUND_SPEED);
    assert_int_equal(info.state[1], HDP_ACTIVE);
    assert_int_equal(info.rule, HDP_RULE_FINISH);
    assert_int_equal(info.quantum, 1);
    assert_int_equal(info.quanta[1], 1);
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
}

static void test_dropped(void **state)
{
    (void)state;
    const struct line lines[2] = { { 500e3, 10e3 }, { 4e6, 50e3 } };
    hdp_profile *profile = splits_lines(lines, 2);
    hdp_plan_info info;
    hdp_plan *plan = splits_plan(&info, profile, 256, NULL);

    assert_int_equal(info.items[0], 256);
    assert_int_equal(info.items[1], 0);
    assert_int_equal(info.step_ns, 3060000);
    assert_int_equal(info.bound_by[1], HDP_BOUND_DROPPED);
    assert_int_equal(info.state[1], HDP_EMPTY);
    assert_int_equal(info.predicted_ns[1], 0);
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
}

/* A table in which 192 items cost more than 256: they are done as 256. */
static void test_dip(void **state)
{
    (void)state;
    const int64_t items[] = { 160, 192, 224, 256, 384 };
    const double ns[] = { 30800, 32600, 33300, 26000, 37500 };
    hdp_model models[2] = { { .size = sizeof(hdp_model) },
                            { .size = sizeof(hdp_model), .item_ns = 1000 } };
    hdp_profile *profile;
    hdp_plan_info info;

    models[0].point_items = items;
    models[0].point_ns = ns;
    models[0].point_count = 5;
    assert_int_equal(hdp_profile_create(&profile, models, 2), HDP_OK);
    hdp_plan *plan = splits_plan(&info, profile, 270, NULL);
    assert_int_equal(info.items[0], 245); /* any number up to 256 does */
    assert_int_equal(info.items[1], 25);
    assert_int_equal(info.step_ns, 26000);
    hdp_plan_destroy(plan);
    plan = splits_plan(&info, profile, 200, NULL);
    assert_int_equal(info.step_ns, 26000);
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
}

static void test_links(void **state)
{
    (void)state;
    hdp_model models[2] = { { .size = sizeof(hdp_model), .item_ns = 100e3 },
                            { .size = sizeof(hdp_model), .item_ns = 100e3 } };
    hdp_split_options options = splits_options(HDP_RULE_FINISH);
    hdp_profile *profile;
    hdp_plan_info info;

    models[0].in_bytes_per_second = 24e9;
    models[1].in_bytes_per_second = 0.8e9;
    assert_int_equal(hdp_profile_create(&profile, models, 2), HDP_OK);
    options.in_bytes = 602112;
    options.overlap = 1;
    hdp_plan *plan = splits_plan(&info, profile, 256, &options);
    assert_int_equal(info.items[0], 226);
    assert_int_equal(info.step_ns, 22600000);
    assert_int_equal(info.equal_ns, 96337920);
    assert_int_equal(info.best_single_ns, 25600000);
    assert_int_equal(info.bound_by[0], HDP_BOUND_SPEED);
    assert_int_equal(info.bound_by[1], HDP_BOUND_LINK);
    hdp_plan_destroy(plan);
    options.overlap = 0;
    plan = splits_plan(&info, profile, 256, &options);
    assert_int_equal(info.items[0], 224);
    assert_int_equal(info.step_ns, 28019712);
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
}

/* 400 MB reduced over links of 24, 6.5 and 3 GB/s: nobody is left out of the
 * ring here, whatever the split. */
static void test_ring(void **state)
{
    (void)state;
    hdp_model models[3] = { { .size = sizeof(hdp_model) },
                            { .size = sizeof(hdp_model) },
                            { .size = sizeof(hdp_model) } };
    const double speeds[3] = { 25, 33, 10.5 }, links[3] = { 24e9, 6.5e9, 3e9 };
    hdp_split_options options = splits_options(HDP_RULE_FINISH);
    hdp_profile *profile;
    hdp_plan_info info;
    const int64_t ring = 177777778; /* 4/3 * 400 MB / 3 GB/s */

    for (int i = 0; i < 3; i++) {
        models[i].item_ns = 400e6 / 256 * 25 / speeds[i];
        models[i].reduce_bytes_per_second = links[i];
    }
    assert_int_equal(hdp_profile_create(&profile, models, 3), HDP_OK);
    hdp_plan *plan = splits_plan(&info, profile, 256, &options);
    int64_t step = info.step_ns, equal = info.equal_ns;
    int64_t single = info.best_single_ns;
    hdp_plan_destroy(plan);
    options.reduce_bytes = 400000000;
    plan = splits_plan(&info, profile, 256, &options);
    assert_true(llabs(info.step_ns - step - ring) <= 1);
    assert_true(llabs(info.equal_ns - equal - ring) <= 1);
    assert_true(llabs(info.best_single_ns - single - ring) <= 1);
    assert_int_equal((info.step_ns + 500000) / 1000000, 325);
    assert_int_equal((info.equal_ns + 500000) / 1000000, 494);
    assert_true(info.gap == 0);
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
}

/* ---- quantum -------------------------------------------------------------- */

static void test_quantum(void **state)
{
    (void)state;
    const double speeds[3] = { 1, 1, 1 };
    hdp_split_options options = splits_options(HDP_RULE_FINISH);
    hdp_profile *profile = splits_speeds(speeds, 2);
    hdp_plan_info info;

    options.quantum = 8;
    for (int32_t rule = HDP_RULE_FINISH; rule <= HDP_RULE_EQUAL; rule++) {
        options.rule = rule;
        splits_expect(profile, 20, &options, (int64_t[]){ 8, 12 }, 2);
        splits_expect(profile, 24, &options, (int64_t[]){ 16, 8 }, 2);
        splits_expect(profile, 5, &options, (int64_t[]){ 5, 0 }, 2);
        splits_expect(profile, 8, &options, (int64_t[]){ 8, 0 }, 2);
    }
    options.rule = HDP_RULE_FINISH;
    splits_expect(profile, 13, &options, (int64_t[]){ 8, 5 }, 2);
    hdp_plan *plan = splits_plan(&info, profile, 20, &options);
    assert_int_equal(info.bound_by[0], HDP_BOUND_QUANTUM);
    assert_int_equal(info.quantum, 8);
    assert_int_equal(info.quanta[0], 8);
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
    profile = splits_speeds(speeds, 3);
    splits_expect(profile, 20, &options, (int64_t[]){ 8, 8, 4 }, 3);
    hdp_profile_destroy(profile);
}

/* ---- nobody starves, nobody is buried ------------------------------------ */

static void test_unlucky_numbers(void **state)
{
    (void)state;
    static const int rows[][4] = { { 36, 7, 6, 1 }, { 9, 8, 2, 1 },
                                   { 9, 4, 3, 1 },  { 31, 8, 4, 7 },
                                   { 38, 8, 5, 6 }, { 71, 8, 9, 7 },
                                   { 13, 5, 3, 3 } };
    const double speeds[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };

    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        hdp_profile *profile = splits_speeds(speeds, rows[k][1]);
        for (int32_t rule = HDP_RULE_FINISH; rule <= HDP_RULE_EQUAL; rule++) {
            hdp_split_options options = splits_options(rule);
            int64_t expected[8]; /* the larger shares on the lower ranks */
            for (int i = 0; i < rows[k][1]; i++)
                expected[i] = rows[k][2] - (i >= rows[k][3]);
            splits_expect(profile, rows[k][0], &options, expected, rows[k][1]);
        }
        hdp_profile_destroy(profile);
    }
}

/* Earliest possible end for these speeds: the least k / speed at which every
 * rank's whole rows by then add up. Tried row by row. */
static double earliest(const double *speeds, int count, int64_t total)
{
    int64_t have[16] = { 0 };
    double end = 0;

    for (int64_t row = 0; row < total; row++) {
        int best = 0;
        for (int i = 1; i < count; i++)
            if ((double)(have[i] + 1) / speeds[i] <
                (double)(have[best] + 1) / speeds[best])
                best = i;
        have[best]++;
        double ns = (double)have[best] / speeds[best];
        end = ns > end ? ns : end;
    }
    return end;
}

static void check_shares(int32_t rule, const int64_t *shares,
                         const double *speeds, int count, int64_t total,
                         double end)
{
    double sum = 0, slowest = 0;
    int64_t least = INT64_MAX, most = 0;

    for (int i = 0; i < count; i++)
        sum += speeds[i];
    for (int i = 0; i < count; i++) {
        double ideal = (double)total * speeds[i] / sum;
        double ns = (double)shares[i] / speeds[i];
        if (rule == HDP_RULE_PROPORTIONAL &&
            !(fabs((double)shares[i] - ideal) < 1))
            fail_msg("%" PRId64
                     " rows, rank %d of %d: ideal %.6f, got %" PRId64,
                     total, i, count, ideal, shares[i]);
        slowest = ns > slowest ? ns : slowest;
        least = shares[i] < least ? shares[i] : least;
        most = shares[i] > most ? shares[i] : most;
    }
    if (rule == HDP_RULE_EQUAL && most - least > 1)
        fail_msg("%" PRId64 " rows on %d: from %" PRId64 " to %" PRId64, total,
                 count, least, most);
    if (rule == HDP_RULE_FINISH && slowest > end * (1 + 1e-12))
        fail_msg("%" PRId64 " rows on %d end at %.17g, possible is %.17g",
                 total, count, slowest, end);
}

static void test_sweep(void **state)
{
    (void)state;
    uint64_t bits = 88172645463325252u;
    int64_t shares[16];

    for (int count = 1; count <= 16; count++) {
        for (int random = 0; random < 2; random++) {
            double speeds[16];
            for (int i = 0; i < count; i++) {
                bits ^= bits << 13;
                bits ^= bits >> 7;
                bits ^= bits << 17;
                speeds[i] = random ? 1 + (double)(bits % 9000) / 1000 : 1;
            }
            hdp_profile *profile = splits_speeds(speeds, count);
            for (int64_t total = 0; total <= 1000; total++) {
                double end = earliest(speeds, count, total);
                for (int32_t rule = 0; rule <= HDP_RULE_EQUAL; rule++) {
                    hdp_split_options options = splits_options(rule);
                    splits_shares(shares, profile, total, &options);
                    check_shares(rule, shares, speeds, count, total, end);
                }
                assert_int_equal(
                    hdp_split_rates(shares, speeds, count, total, 0), HDP_OK);
                check_shares(HDP_RULE_FINISH, shares, speeds, count, total,
                             end);
            }
            hdp_profile_destroy(profile);
        }
    }
}

/* ---- fewer rows than devices, or none ------------------------------------ */

static void test_few(void **state)
{
    (void)state;
    const double equal[4] = { 1, 1, 1, 1 }, unequal[2] = { 3, 1 };
    hdp_profile *profile = splits_speeds(equal, 4);
    hdp_plan_info info;

    hdp_plan *plan = splits_plan(&info, profile, 3, NULL);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(info.items[i], i < 3);
        assert_int_equal(info.state[i], i < 3 ? HDP_ACTIVE : HDP_EMPTY);
        assert_true(info.weights[i] == (i < 3 ? 1.0 / 3 : 0));
    }
    hdp_plan_destroy(plan);
    plan = splits_plan(&info, profile, 0, NULL);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(info.items[i], 0);
        assert_int_equal(info.state[i], HDP_EMPTY);
        assert_true(info.weights[i] == 0);
    }
    assert_int_equal(info.step_ns, 0);
    assert_true(info.gap == 0);
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
    profile = splits_speeds(unequal, 2);
    for (int32_t rule = HDP_RULE_FINISH; rule <= HDP_RULE_SINGLE; rule++) {
        hdp_split_options options = splits_options(rule);
        splits_expect(profile, 1, &options, (int64_t[]){ 1, 0 }, 2);
        splits_expect(profile, 0, &options, (int64_t[]){ 0, 0 }, 2);
    }
    hdp_profile_destroy(profile);
}

/* ---- near the asked ratio ------------------------------------------------ */

static void test_ratios(void **state)
{
    (void)state;
    const double speeds[3] = { 1, 1, 1 };
    hdp_split_options options = splits_options(HDP_RULE_MANUAL);
    hdp_profile *profile = splits_speeds(speeds, 2);
    hdp_plan_info info;

    options.quantum = 128;
    options.ratios = (const double[]){ 0.49, 0.51 };
    splits_expect(profile, 2048, &options, (int64_t[]){ 1024, 1024 }, 2);
    options.quantum = 1;
    options.ratios = (const double[]){ 3, 1 };
    splits_expect(profile, 7, &options, (int64_t[]){ 5, 2 }, 2);
    hdp_plan *plan = splits_plan(&info, profile, 7, &options);
    assert_true(info.weights[0] == 5.0 / 7);
    assert_int_equal(info.rule, HDP_RULE_MANUAL);
    assert_true(info.gap == 0.25); /* 5 rows against 4 */
    hdp_plan_destroy(plan);
    options.ratios = (const double[]){ 230, 26 }; /* sizes are ratios too */
    splits_expect(profile, 256, &options, (int64_t[]){ 230, 26 }, 2);
    options.ratios = (const double[]){ 1e308, 1e308 };
    splits_expect(profile, 9, &options, (int64_t[]){ 5, 4 }, 2);
    options.ratios = (const double[]){ 0, 1e-300 };
    splits_expect(profile, 9, &options, (int64_t[]){ 0, 9 }, 2);
    hdp_profile_destroy(profile);
    profile = splits_speeds(speeds, 3);
    options.ratios = (const double[]){ 2, 0, 1 };
    splits_expect(profile, 8, &options, (int64_t[]){ 5, 0, 3 }, 3);
    hdp_profile_destroy(profile);
}

/* What a limit takes from one is divided among the others by their ratios. */
static void test_clipped(void **state)
{
    (void)state;
    const double speeds[4] = { 8, 4, 2, 2 };
    hdp_profile *profile = splits_speeds(speeds, 4);
    hdp_split_options options = splits_options(HDP_RULE_PROPORTIONAL);

    options.max_items = (const int64_t[]){ 40, -1, -1, -1 };
    splits_expect(profile, 160, &options, (int64_t[]){ 40, 60, 30, 30 }, 4);
    options.max_items = (const int64_t[]){ 40, 50, -1, -1 };
    splits_expect(profile, 160, &options, (int64_t[]){ 40, 50, 35, 35 }, 4);
    options.max_items = NULL;
    options.min_items = (const int64_t[]){ 0, 0, 0, 60 };
    splits_expect(profile, 160, &options, (int64_t[]){ 57, 29, 14, 60 }, 4);
    options.max_items = (const int64_t[]){ 30, -1, -1, -1 };
    splits_expect(profile, 160, &options, (int64_t[]){ 30, 47, 23, 60 }, 4);
    options.quantum = 8;
    splits_expect(profile, 160, &options, (int64_t[]){ 24, 48, 24, 64 }, 4);
    hdp_profile_destroy(profile);
}

/* ---- more than 2^31 rows ------------------------------------------------- */

static void test_huge(void **state)
{
    (void)state;
    const double speeds[3] = { 2, 1, 1 };
    hdp_profile *profile = splits_speeds(speeds, 2);
    int64_t items[3];

    for (int32_t rule = 0; rule <= HDP_RULE_PROPORTIONAL; rule++) {
        hdp_split_options options = splits_options(rule);
        splits_expect(profile, INT64_C(3000000001), &options,
                      (int64_t[]){ 2000000001, 1000000000 }, 2);
    }
    assert_int_equal(hdp_split_rates(items, speeds, 2, INT64_C(3000000001), 1),
                     HDP_OK);
    assert_int_equal(items[0], 2000000001);
    hdp_profile_destroy(profile);
    profile = splits_speeds(speeds, 3);
    for (int64_t less = 0; less < 3; less++)
        for (int32_t rule = 0; rule <= HDP_RULE_SINGLE; rule++) {
            hdp_split_options options = splits_options(rule);
            for (options.quantum = 1; options.quantum < 1000;
                 options.quantum += 333)
                splits_shares(items, profile, INT64_MAX - less, &options);
        }
    hdp_profile_destroy(profile);
}

/* ---- 24 GiB next to 8 GiB ------------------------------------------------ */

static hdp_profile *two_cards(int64_t first, int64_t second)
{
    hdp_model models[2] = { { .size = sizeof(hdp_model), .item_ns = 1e6 },
                            { .size = sizeof(hdp_model), .item_ns = 1e6 } };
    hdp_profile *profile;
    models[0].memory_bytes = first;
    models[1].memory_bytes = second;
    assert_int_equal(hdp_profile_create(&profile, models, 2), HDP_OK);
    return profile;
}

static void test_memory(void **state)
{
    (void)state;
    static const int64_t rows[][3] = { { 20, 10, 10 },
                                       { 40, 26, 14 },
                                       { 60, 46, 14 } };
    hdp_profile *profile = two_cards(24 * GiB, 8 * GiB);
    hdp_plan_info info;
    hdp_error error;
    hdp_plan *plan;

    for (int32_t rule = HDP_RULE_FINISH; rule <= HDP_RULE_EQUAL; rule++) {
        hdp_split_options options = splits_options(rule);
        options.item_bytes = GiB / 2;
        options.keep_free_bytes = GiB;
        for (int k = 0; k < 3; k++)
            splits_expect(profile, rows[k][0], &options, rows[k] + 1, 2);
        plan = splits_plan(&info, profile, 40, &options);
        assert_int_equal(info.bound_by[0], HDP_BOUND_SPEED);
        assert_int_equal(info.bound_by[1], HDP_BOUND_MEMORY);
        hdp_plan_destroy(plan);
        hdp_options_init(&error, sizeof error);
        assert_int_equal(hdp_split(&plan, profile, 61, &options),
                         HDP_ERR_CAPACITY);
        assert_null(plan);
        assert_int_equal(hdp_error_get(&error), HDP_OK);
        assert_int_equal(error.largest_total, 60);
        assert_non_null(strstr(error.text, "60"));
    }
    hdp_profile_destroy(profile);
    profile = two_cards(24 * GiB, 4 * GiB); /* its free memory dropped */
    hdp_split_options options = splits_options(HDP_RULE_FINISH);
    options.item_bytes = GiB / 2;
    options.keep_free_bytes = GiB;
    splits_expect(profile, 40, &options, (int64_t[]){ 34, 6 }, 2);
    splits_expect(profile, 52, &options, (int64_t[]){ 46, 6 }, 2);
    options.fixed_bytes = GiB; /* a replica on each takes two rows' room */
    splits_expect(profile, 40, &options, (int64_t[]){ 36, 4 }, 2);
    hdp_profile_destroy(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finish),
        cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_dip),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_quantum),
        cmocka_unit_test(test_unlucky_numbers),
        cmocka_unit_test(test_sweep),
        cmocka_unit_test(test_few),
        cmocka_unit_test(test_ratios),
        cmocka_unit_test(test_clipped),
        cmocka_unit_test(test_huge),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("splits", tests, NULL, NULL);
}
