/* A build with CUDA 13 has no code for Pascal: auto leaves such a card out and
 * says so, who names it is refused before anything is touched. */
#include "looked.h"

static const char reason[] = "no code for sm_61 in this build (CUDA ";

static void the_old_card_is_listed_as_it_is(void **state)
{
    struct looked own;
    hdp_device device;

    (void)state;
    looked_start("machine=desk", NULL);
    looked_open(&own);
    expect_number(3, looked_count(&own), "GPUs");
    for (int i = 0; i < 3; ++i) {
        assert_true(looked_gpu(&device, &own, i));
        expect_number(i < 2, device.runnable, "%s: runnable", device.name);
    }
    looked_close(&own);
}

static void auto_leaves_it_out_with_one_warning(void **state)
{
    hdp_group_info info = { .size = sizeof info };
    struct looked own;
    hdp_group *group;

    (void)state;
    looked_start("machine=desk", NULL);
    looked_context(&own);
    expect_ok(hdp_group_create_spec(&group, own.context, "auto", NULL));
    expect_ok(hdp_group_get(&info, group));
    expect_number(2, info.member_count, "members");
    expect_number(1, looked_said(&own, "\n"), "warnings");
    expect_number(1,
                  looked_said(&own, "auto: cuda:2 (NVIDIA GeForce GTX 1080 "
                                    "Ti) is left out: no code for sm_61"),
                  "warnings of it");
    expect_number(1, looked_said(&own, "has 75 80 86 89 90 100 120)"),
                  "lists of what there is");
    expect_number(0, fake_contexts(2), "contexts on it");
    hdp_group_destroy(group);
    looked_close(&own);
}

static void by_name_it_is_refused(void **state)
{
    static const char *const specs[] = { "cuda:2", "cuda:all", "cuda:1,2",
                                         "cuda:GPU-531f" };
    struct looked own;
    hdp_group *group;

    (void)state;
    looked_start("machine=desk", NULL);
    looked_context(&own);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; ++i)
        looked_failed(
            hdp_group_create_spec(&group, own.context, specs[i], NULL),
            HDP_ERR_UNSUPPORTED, reason);
    expect_number(0, fake_contexts(-1), "contexts");
    looked_close(&own);
}

/* Nothing else is there: the host does, as without a GPU. */
static void alone_it_leaves_the_host(void **state)
{
    hdp_device device = { .size = sizeof device };
    struct looked own;
    hdp_group *group;

    (void)state;
    looked_start("machine=desk", "2");
    looked_context(&own);
    expect_ok(hdp_group_create_spec(&group, own.context, "auto", NULL));
    expect_ok(hdp_group_device(&device, group, 0));
    expect_number(HDP_HOST, device.kind, "kind of the only member");
    expect_number(1, looked_said(&own, reason), "warnings");
    hdp_group_destroy(group);
    looked_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_old_card_is_listed_as_it_is),
        cmocka_unit_test(auto_leaves_it_out_with_one_warning),
        cmocka_unit_test(by_name_it_is_refused),
        cmocka_unit_test(alone_it_leaves_the_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
