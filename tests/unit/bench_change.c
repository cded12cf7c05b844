/* What the command line says would change a share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "change.h"
#include "unit/splits.h"

static const char *said(struct change *change, const hdp_profile *profile,
                        int64_t total, const hdp_split_options *options,
                        int32_t rank)
{
    static char text[CHANGE_TEXT];
    hdp_plan_info info;
    hdp_plan *plan = splits_plan(&info, profile, total, options);

    if (change_find(change, profile, total, options, plan, rank) != HDP_OK)
        fail_msg("rank %d: %s", (int)rank, hdp_last_error());
    change_say(change, info.items[rank], text);
    hdp_plan_destroy(plan);
    return text;
}

/* Two members of 100 us an item, the second behind 0.8 GB/s. */
static void test_slot(void **state)
{
    (void)state;
    hdp_model models[2] = { { .size = sizeof(hdp_model), .item_ns = 100e3 },
                            { .size = sizeof(hdp_model), .item_ns = 100e3 } };
    hdp_split_options options = splits_options(HDP_RULE_FINISH);
    struct change change;
    hdp_profile *profile;

    models[0].in_bytes_per_second = 24e9;
    models[1].in_bytes_per_second = 0.8e9;
    assert_int_equal(hdp_profile_create(&profile, models, 2), HDP_OK);
    options.in_bytes = 602112;
    options.overlap = 1;
    assert_string_equal(said(&change, profile, 256, &options, 1),
                        "in an x16 slot it would get 128");
    assert_string_equal(said(&change, profile, 256, &options, 0), "");
    hdp_profile_destroy(profile);
}

static void test_desk(void **state)
{
    (void)state;
    const double rates[3] = { 25, 33, 10.5 }, links[3] = { 24e9, 6.5e9, 3e9 };
    hdp_split_options options = splits_options(HDP_RULE_FINISH);
    struct change change;
    hdp_model models[3];
    hdp_profile *profile;

    memset(models, 0, sizeof models);
    for (int i = 0; i < 3; i++) {
        models[i].size = sizeof models[i];
        models[i].item_ns = 400e6 / 256 * 25 / rates[i];
        models[i].reduce_bytes_per_second = links[i];
    }
    assert_int_equal(hdp_profile_create(&profile, models, 3), HDP_OK);
    options.reduce_bytes = 400000000;
    options.may_bench = 1;
    const char *text = said(&change, profile, 256, &options, 2);
    /* the second card's 6.5 GB/s are then the slowest: 20.5 ms more of ring
     * against 25 ms less of compute */
    assert_int_equal(change.slot_items, 39);
    assert_in_range(change.reduce_bytes, 85000000, 95000000);
    assert_non_null(
        strstr(text, "in an x16 slot it would pay, with 39; below "));
    assert_non_null(strstr(text, " MB of gradients it would pay"));
    hdp_profile_destroy(profile);
}

static void test_memory(void **state)
{
    (void)state;
    hdp_model models[2] = { { .size = sizeof(hdp_model), .item_ns = 10 },
                            { .size = sizeof(hdp_model), .item_ns = 10 } };
    hdp_split_options options = splits_options(HDP_RULE_FINISH);
    struct change change;
    hdp_profile *profile;

    models[1].memory_bytes = 14;
    assert_int_equal(hdp_profile_create(&profile, models, 2), HDP_OK);
    options.item_bytes = 1;
    assert_string_equal(said(&change, profile, 40, &options, 1),
                        "with more memory it would get 20");
    assert_string_equal(said(&change, profile, 20, &options, 1), "");
    options.max_items = (const int64_t[]){ -1, 3 };
    assert_string_equal(said(&change, profile, 20, &options, 1), "");
    hdp_profile_destroy(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slot),
        cmocka_unit_test(test_desk),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("what would change a share", tests, NULL,
                                       NULL);
}
