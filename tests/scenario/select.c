/* A profile follows its devices by identity: into a group of some of them, in
 * another order, and never by position. */
#include <string.h>
#include "scenario/scene.h"

/* Devices of unlike speeds; the third and the first under other numbers; one,
 * and one beside it that is not in its profile. */
#ifdef HDP_TEST_FAKE
#define ALL "cuda:0-2"
#define TURNED "cuda:2,0"
#define ONE "cuda:0"
#define MORE "cuda:0,1"
#else
#define ALL                                                                    \
    "sim:0/item=10us/uuid=GPU-a+sim:1/item=20us/uuid=GPU-b+"                   \
    "sim:2/item=40us/uuid=GPU-c"
#define TURNED "sim:7/item=1us/uuid=GPU-c+sim:9/item=1us/uuid=GPU-a"
#define ONE "sim:0/item=10us/uuid=GPU-a"
#define MORE "sim:0/item=10us/uuid=GPU-a+sim:1/uuid=GPU-x"
#endif

static double time_of(const hdp_profile *profile, int32_t rank, int64_t items)
{
    double ns = -1;
    expect_ok(hdp_profile_time(&ns, profile, rank, items));
    return ns;
}

static void open_group(struct scene *scene, const char *spec)
{
    scene->context = NULL;
    scene->group = NULL;
    scene->plan = NULL;
    expect_ok(hdp_context_create(&scene->context, NULL));
    expect_ok(hdp_group_create_spec(&scene->group, scene->context, spec, NULL));
}

static void close_group(struct scene *scene)
{
    hdp_group_destroy(scene->group);
    hdp_context_destroy(scene->context);
}

static hdp_profile *calibrated(const char *spec)
{
    struct scene scene;
    hdp_profile *profile = NULL;

    open_group(&scene, spec);
    expect_ok(hdp_calibrate(&profile, scene.group, NULL));
    close_group(&scene);
    return profile;
}

static void test_by_identity(void **state)
{
    (void)state;
    hdp_profile *all = calibrated(ALL);
    hdp_profile *some = NULL;
    hdp_profile_info info;
    hdp_group_info group;
    struct scene scene;

    open_group(&scene, TURNED);
    expect_ok(hdp_profile_select(&some, all, scene.group));
    assert_true(time_of(some, 0, 256) == time_of(all, 2, 256));
    assert_true(time_of(some, 1, 256) == time_of(all, 0, 256));
    hdp_options_init(&info, sizeof info);
    hdp_options_init(&group, sizeof group);
    expect_ok(hdp_profile_get(&info, some));
    expect_ok(hdp_group_get(&group, scene.group));
    expect_number(2, info.member_count, "ranks selected");
    assert_true(info.fingerprint == group.fingerprint);
    hdp_profile_destroy(some);
    close_group(&scene);
    hdp_profile_destroy(all);
}

static void test_absent(void **state)
{
    (void)state;
    hdp_profile *all = calibrated(ONE);
    hdp_profile *none = all;
    hdp_device device = { .size = sizeof device };
    hdp_error error;
    struct scene scene;

    open_group(&scene, MORE);
    expect_status(HDP_ERR_NOT_FOUND,
                  hdp_profile_select(&none, all, scene.group));
    assert_null(none);
    hdp_options_init(&error, sizeof error);
    expect_ok(hdp_error_get(&error));
    expect_number(1, error.rank, "rank that is not in the profile");
    expect_ok(hdp_group_device(&device, scene.group, 1));
    if (!strstr(error.text, device.uuid))
        fail_msg("the text does not name %s: %s", device.uuid, error.text);
    close_group(&scene);
    hdp_profile_destroy(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_identity),
        cmocka_unit_test(test_absent),
    };
    return cmocka_run_group_tests_name("profiles follow devices", tests, NULL,
                                       NULL);
}
