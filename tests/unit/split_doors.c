/* The doors of splits and plans: what is refused and how it is named, many
 * ranks on small stacks, what is allocated, handles. */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include "core/profile.h"
#include "unit/splits.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* ---- refusals ------------------------------------------------------------- */

static void test_options_refused(void **state)
{
    (void)state;
    hdp_profile *profile = splits_pair();
    hdp_split_options options = splits_options(HDP_RULE_FINISH);

    splits_refused(profile, -5, NULL, HDP_ERR_ARGUMENT, -1, "total is -5");
    options.rule = 5;
    splits_refused(profile, 9, &options, HDP_ERR_ARGUMENT, -1, "rule 5");
    options.rule = -1;
    splits_refused(profile, 9, &options, HDP_ERR_ARGUMENT, -1, "rule -1");
    options = splits_options(HDP_RULE_FINISH);
    options.quantum = -2;
    splits_refused(profile, 9, &options, HDP_ERR_ARGUMENT, -1, "quantum is -2");
    options.quantum = 0;
    int64_t *const bytes[] = {
        &options.item_bytes, &options.fixed_bytes, &options.keep_free_bytes,
        &options.in_bytes,   &options.out_bytes,   &options.reduce_bytes
    };
    const char *const names[] = {
        "item_bytes is -1", "fixed_bytes is -1", "keep_free_bytes is -1",
        "in_bytes is -1",   "out_bytes is -1",   "reduce_bytes is -1"
    };
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        *bytes[i] = -1;
        splits_refused(profile, 9, &options, HDP_ERR_ARGUMENT, -1, names[i]);
        *bytes[i] = 0;
    }
    hdp_profile_destroy(profile);
}

static void test_ratios_refused(void **state)
{
    (void)state;
    hdp_profile *profile = splits_pair();
    hdp_split_options options = splits_options(HDP_RULE_MANUAL);

    splits_refused(profile, 9, &options, HDP_ERR_ARGUMENT, -1, "needs ratios");
    options.ratios = (const double[]){ 1, -0.5 };
    splits_refused(profile, 9, &options, HDP_ERR_ARGUMENT, 1, "rank 1");
    options.ratios = (const double[]){ (double)NAN, 1 };
    splits_refused(profile, 9, &options, HDP_ERR_ARGUMENT, 0, "rank 0");
    options.ratios = (const double[]){ 1, (double)INFINITY };
    splits_refused(profile, 9, &options, HDP_ERR_ARGUMENT, 1, "finite");
    options.ratios = (const double[]){ 0, 0 };
    splits_refused(profile, 9, &options, HDP_ERR_ARGUMENT, -1,
                   "all 2 ratios are 0");
    options.ratios = (const double[]){ 1, 0 };
    options.min_items = (const int64_t[]){ 0, 1 };
    splits_refused(profile, 9, &options, HDP_ERR_ARGUMENT, 1, "its ratio is 0");
    options.min_items = NULL;
    options.max_items = (const int64_t[]){ 5, -1 };
    splits_refused(profile, 9, &options, HDP_ERR_CAPACITY, -1, "5 at most");
    hdp_profile_destroy(profile);
}

static void test_ranges_refused(void **state)
{
    (void)state;
    hdp_profile *profile = splits_pair();
    hdp_split_options options = splits_options(HDP_RULE_FINISH);

    options.min_items = (const int64_t[]){ 0, -1 };
    splits_refused(profile, 9, &options, HDP_ERR_ARGUMENT, 1,
                   "min_items is -1");
    options.min_items = NULL;
    options.max_items = (const int64_t[]){ -2, -1 };
    splits_refused(profile, 9, &options, HDP_ERR_ARGUMENT, 0,
                   "max_items is -2");
    options.min_items = (const int64_t[]){ 3, 5 };
    options.max_items = (const int64_t[]){ 3, 4 };
    splits_refused(profile, 9, &options, HDP_ERR_ARGUMENT, 1,
                   "min_items 5 is above max_items 4");
    options.max_items = NULL;
    options.min_items = (const int64_t[]){ 5, 5 };
    splits_refused(profile, 9, &options, HDP_ERR_ARGUMENT, 1,
                   "more than the total");
    options.min_items = (const int64_t[]){ INT64_MAX, INT64_MAX };
    splits_refused(profile, INT64_MAX, &options, HDP_ERR_ARGUMENT, 1, "add up");
    /* 3 and 3 are 8 and 8 in multiples of 8, and 10 leaves only a 2 */
    options.min_items = (const int64_t[]){ 3, 3 };
    options.quantum = 8;
    splits_refused(profile, 10, &options, HDP_ERR_ARGUMENT, -1,
                   "multiples of 8");
    splits_expect(profile, 11, &options, (int64_t[]){ 8, 3 }, 2);
    hdp_profile_destroy(profile);
}

/* ---- many ranks, small stacks --------------------------------------------- */

struct many {
    int32_t count;
    int done;
};

/* Runs on a thread of 64 KiB. cmocka's checks must not jump from here. */
static void *split_many(void *arg)
{
    struct many *many = arg;
    size_t count = (size_t)many->count;
    hdp_model *models = calloc(count, sizeof *models);
    int64_t *items = calloc(count, sizeof *items);
    double *rates = calloc(count, sizeof *rates);
    hdp_split_options options = splits_options(HDP_RULE_FINISH);
    hdp_profile *profile = NULL;
    hdp_plan *plan = NULL;
    int well = models && items && rates;

    for (size_t i = 0; well && i < count; i++) {
        models[i].size = sizeof *models;
        models[i].fixed_ns = (double)(i % 7) * 1000;
        models[i].item_ns = rates[i] = 10 + (double)(i % 1013) / 100;
        models[i].memory_bytes = 1 << 20;
        models[i].memory_domain = i % 3 == 0 ? 0 : 1 + (int32_t)(i / 6);
    }
    options.item_bytes = 8;
    well = well && !hdp_profile_create(&profile, models, many->count);
    for (int32_t rule = 0; well && rule <= HDP_RULE_EQUAL; rule++)
        for (int64_t q = 1; well && q < 10; q += 6) {
            options.rule = rule;
            options.quantum = q;
            options.fixed_bytes = q > 1 ? 64 : 0;
            well = !hdp_split(&plan, profile, many->count * INT64_C(97) + 3,
                              &options);
            hdp_plan_destroy(plan);
        }
    well = well && !hdp_split_rates(items, rates, many->count,
                                    many->count * INT64_C(97) + 3, 8);
    hdp_profile_destroy(profile);
    free(models);
    free(items);
    free(rates);
    many->done = well;
    return NULL;
}

static void test_many(void **state)
{
    (void)state;
    const int32_t counts[] = { 1, 63, 64, 65, 1000, 20000 };
    pthread_attr_t attributes;
    pthread_t thread;

    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(
        pthread_attr_setstacksize(&attributes, (SANITIZED ? 512 : 64) << 10),
        0);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct many many = { .count = counts[i] };
        assert_int_equal(
            pthread_create(&thread, &attributes, split_many, &many), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        if (!many.done)
            fail_msg("%d ranks on a small stack", (int)counts[i]);
    }
    pthread_attr_destroy(&attributes);
}

/* ---- allocation ----------------------------------------------------------- */

#if SANITIZED
static void test_allocation(void **state)
{
    (void)state;
    print_message("skipped: a sanitizer has its own malloc\n");
    skip();
}
#else
/* Counted at the C library's door; the program's own definition comes first. */
static int allocations;

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);

void *malloc(size_t bytes)
{
    allocations++;
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    allocations++;
    return __libc_calloc(count, bytes);
}

/* A plan is one block, and nothing else is asked for on the way to it. */
static void test_allocation(void **state)
{
    (void)state;
    double speeds[64];
    int64_t items[64];
    hdp_plan *plan;

    for (int i = 0; i < 64; i++)
        speeds[i] = 1 + i % 5;
    hdp_profile *profile = splits_speeds(speeds, 64);
    hdp_split_options options = splits_options(HDP_RULE_FINISH);
    options.item_bytes = 1;
    for (int32_t i = 0; i < 64; i++) {
        profile->ranks[i].memory_domain = 1 + i / 4;
        profile->ranks[i].memory_bytes = 1000;
    }
    for (options.rule = 0; options.rule <= HDP_RULE_EQUAL; options.rule++)
        for (options.quantum = 1; options.quantum < 9; options.quantum += 7) {
            allocations = 0;
            assert_int_equal(hdp_split(&plan, profile, 3001, &options), HDP_OK);
            int found = allocations;
            hdp_plan_destroy(plan);
            assert_int_equal(found, 1);
        }
    allocations = 0;
    assert_int_equal(hdp_split_rates(items, speeds, 64, 3001, 8), HDP_OK);
    assert_int_equal(hdp_split_rates(items, speeds, 64, -1, 8),
                     HDP_ERR_ARGUMENT);
    assert_int_equal(allocations, 0);
    hdp_profile_destroy(profile);
}
#endif

/* ---- plans ---------------------------------------------------------------- */

static void test_plan(void **state)
{
    (void)state;
    const int64_t items[3] = { 5, 0, 2 };
    hdp_plan_info info, again;
    hdp_plan *plan, *copy;
    char text[4096];
    size_t needed;

    assert_int_equal(hdp_plan_create(&plan, items, 3), HDP_OK);
    hdp_options_init(&info, sizeof info);
    assert_int_equal(hdp_plan_get(&info, plan), HDP_OK);
    assert_int_equal(info.total, 7);
    assert_int_equal(info.offsets[2], 5);
    assert_int_equal(info.state[1], HDP_EMPTY);
    assert_int_equal(info.rule, HDP_RULE_MANUAL);
    assert_int_equal(info.step_ns, -1);
    assert_int_equal(info.predicted_ns[0], -1);
    assert_int_equal(hdp_plan_to_json(plan, NULL, 0, &needed), HDP_OK);
    assert_in_range(needed, 10, sizeof text);
    assert_int_equal(hdp_plan_to_json(plan, text, 10, &needed),
                     HDP_ERR_CAPACITY);
    assert_int_equal(hdp_plan_to_json(plan, text, sizeof text, &needed),
                     HDP_OK);
    assert_int_equal(hdp_plan_from_json(&copy, text, strlen(text)), HDP_OK);
    hdp_options_init(&again, sizeof again);
    assert_int_equal(hdp_plan_get(&again, copy), HDP_OK);
    assert_true(info.hash == again.hash && info.hash != 0);
    assert_int_equal(again.items[2], 2);
    hdp_plan_destroy(copy);
    hdp_plan_destroy(plan);
    const int64_t swapped[3] = { 0, 5, 2 };
    assert_int_equal(hdp_plan_create(&plan, swapped, 3), HDP_OK);
    assert_int_equal(hdp_plan_get(&again, plan), HDP_OK);
    hdp_plan_destroy(plan);
    assert_true(info.hash != again.hash);
    const int64_t negative[2] = { 1, -1 };
    assert_int_equal(hdp_plan_create(&plan, negative, 2), HDP_ERR_ARGUMENT);
    assert_non_null(strstr(hdp_last_error(), "rank 1"));
    const int64_t overflow[2] = { INT64_MAX, 1 };
    assert_int_equal(hdp_plan_create(&plan, overflow, 2), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_plan_create(&plan, items, 0), HDP_ERR_ARGUMENT);
    assert_null(plan);
}

static void test_handles(void **state)
{
    (void)state;
    const int64_t items[1] = { 1 };
    hdp_profile *profile = splits_pair();
    hdp_plan_info info;
    hdp_plan *plan, *none;

    assert_int_equal(hdp_split(NULL, profile, 1, NULL), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_split(&none, NULL, 1, NULL), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_plan_create(&none, NULL, 1), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_plan_create(NULL, items, 1), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_plan_create(&plan, items, 1), HDP_OK);
    assert_int_equal(
        hdp_split(&none, (const hdp_profile *)(void *)plan, 1, NULL),
        HDP_ERR_ARGUMENT);
    hdp_options_init(&info, sizeof info);
    assert_int_equal(hdp_plan_get(&info, NULL), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_plan_get(NULL, (hdp_plan *)(void *)profile),
                     HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_plan_from_json(&none, NULL, 0), HDP_ERR_ARGUMENT);
    assert_null(none);
    hdp_plan_destroy(plan);
    hdp_plan_destroy(NULL);
    hdp_profile_destroy(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_refused),
        cmocka_unit_test(test_ratios_refused),
        cmocka_unit_test(test_ranges_refused),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_allocation),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_handles),
    };
    return cmocka_run_group_tests_name("doors of splits", tests, NULL, NULL);
}
