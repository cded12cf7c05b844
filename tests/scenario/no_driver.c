/* A machine without a GPU driver. What needs no GPU works, for 1 to
 * 8 members; what asks for one is refused with the reason and both versions. */
#include <stdlib.h>
#include "job.h"

enum { SKIPPED = 77 };

static char *told(hdp_status (*tell)(char *, size_t, size_t *))
{
    size_t needed = 0;
    char *text;

    (void)tell(NULL, 0, &needed);
    assert_true(needed > 1);
    text = malloc(needed);
    assert_non_null(text);
    expect_ok(tell(text, needed, NULL));
    return text;
}

static hdp_status tell_runtime(char *text, size_t capacity, size_t *needed)
{
    return hdp_info(HDP_INFO_RUNTIME, text, capacity, needed);
}

static hdp_topology *found;

static hdp_status tell_topology(char *text, size_t capacity, size_t *needed)
{
    return hdp_topology_to_json(found, text, capacity, needed);
}

static int has_driver(void)
{
    char *text = told(tell_runtime);
    int here =
        !strstr(text, "libcuda.so.1: ") && !strstr(text, "built without CUDA");

    free(text);
    return here;
}

static void asking_is_no_failure(void **state)
{
    char *text = told(tell_runtime);

    (void)state;
    assert_true(hdp_version()[0] != '\0');
    assert_non_null(strstr(text, "cuda"));
    free(text);
}

static void the_list_has_no_gpu_and_says_why(void **state)
{
    hdp_context *context;
    hdp_topology_info info;
    hdp_device device;
    char *text;

    (void)state;
    expect_ok(hdp_context_create(&context, NULL));
    expect_ok(hdp_discover(&found, context, NULL));
    expect_ok(hdp_options_init(&info, sizeof info));
    expect_ok(hdp_topology_get(&info, found));
    expect_number(1, info.device_count, "devices");
    expect_ok(hdp_options_init(&device, sizeof device));
    expect_ok(hdp_topology_device(&device, found, 0));
    expect_number(HDP_HOST, device.kind, "kind");
    expect_number(100, device.duty_percent, "duty of auto's host");
    text = told(tell_topology);
    assert_true(strstr(text, "driver absent or too old: ") ||
                strstr(text, "built without CUDA"));
    free(text);
    hdp_topology_destroy(found);
    hdp_context_destroy(context);
}

/* Calibrate, split, run with rows and buckets, reduce: all as anywhere. */
static void run_through(int32_t members)
{
    hdp_calibrate_options options;
    hdp_profile *profile;
    struct scene scene;
    struct job job;
    char spec[64];

    job_spec(spec, sizeof spec, HDP_HOST, members);
    scene_open(&scene, spec, NULL, 0, NULL);
    expect_ok(hdp_options_init(&options, sizeof options));
    options.budget_ns = 10000000;
    expect_ok(hdp_calibrate(&profile, scene.group, &options));
    expect_ok(hdp_split(&scene.plan, profile, JOB_ROWS_MAX, NULL));
    hdp_profile_destroy(profile);
    job_open(&job, JOB_ROWS_MAX, members);
    for (int i = 0; i < 3; ++i) {
        job_reset(&job);
        expect_ok(hdp_run(NULL, scene.group, scene.plan, &job.work));
        expect_right(&job, "%d members, step %d", (int)members, i);
    }
    scene_close(&scene);
}

static void host_groups_work(void **state)
{
    (void)state;
    for (int32_t members = 1; members <= JOB_MEMBERS_MAX; ++members)
        run_through(members);
}

static void expect_no_device(hdp_status got, const char *start)
{
    const char *text = hdp_last_error();

    expect_number(HDP_ERR_NOT_FOUND, got, "status of %s", start);
    if (strncmp(text, start, strlen(start)) != 0)
        fail_msg("expected \"%s...\", got \"%s\"", start, text);
    assert_true((strstr(text, "driver 0, built for CUDA 1") != NULL) ||
                strstr(text, "built without CUDA") != NULL);
}

static void gpu_groups_are_refused_with_the_reason(void **state)
{
    static const int32_t ids[] = { 0, 1 };
    hdp_context *context;
    hdp_group *group = (hdp_group *)(void *)&context;

    (void)state;
    expect_ok(hdp_context_create(&context, NULL));
    expect_no_device(hdp_group_create(&group, context, ids, 2, NULL),
                     "no device: cuda:0: ");
    assert_null(group);
    expect_no_device(
        hdp_group_create_spec(&group, context, "host:0+cuda:3", NULL),
        "no device: cuda:3: ");
    expect_no_device(hdp_group_create_spec(&group, context, "cuda:all", NULL),
                     "no device: cuda:all: ");
    expect_ok(hdp_group_create_spec(&group, context, "auto", NULL));
    hdp_group_destroy(group);
    hdp_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asking_is_no_failure),
        cmocka_unit_test(the_list_has_no_gpu_and_says_why),
        cmocka_unit_test(host_groups_work),
        cmocka_unit_test(gpu_groups_are_refused_with_the_reason),
    };

    if (has_driver()) {
        printf("skipped: a GPU driver is here\n");
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
