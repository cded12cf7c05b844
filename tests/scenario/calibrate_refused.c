/* Calibrations that are refused: nothing is called, nothing is lost, and the
 * message names the place. */
#include <stdatomic.h>
#include "scene.h"

/* Of whatever this program's members are, and what is said of the first. */
#ifdef HDP_TEST_CUDA
static const char *const PAIR = "cuda:0,1";
static const char *const NO_FUNCTION =
    "work.cuda is NULL, and member 0 is cuda:0";
#else
static const char *const PAIR =
    "sim:0/fixed=500us/item=10us+sim:1/fixed=1.5ms/item=50us";
static const char *const NO_FUNCTION =
    "work.host is NULL, and member 0 is sim:0/fixed=500us/item=10us";
#endif

static void expect_refused(struct scene *scene, hdp_status want,
                           const hdp_calibrate_options *options,
                           const char *text)
{
    hdp_profile *profile = (hdp_profile *)(void *)scene;

    expect_status(want, hdp_calibrate(&profile, scene->group, options));
    assert_null(profile);
    assert_string_equal(hdp_last_error(), text);
}

static int32_t count_calls(const hdp_shard *shard, void *user)
{
    _Atomic int32_t *calls = user;

    (void)shard;
    atomic_fetch_add(calls, 1);
    return 0;
}

/* As a run would refuse it, before any function is called. */
static void wrong_work_is_refused(void **state)
{
    static _Atomic int32_t calls;
    hdp_calibrate_options options;
    hdp_array rows[2];
    hdp_work work;
    struct scene scene;

    (void)state;
    scene_open(&scene, PAIR, NULL, 0, NULL);
    expect_ok(hdp_options_init(&work, sizeof work));
    expect_ok(hdp_options_init(&rows[0], sizeof rows[0]));
    rows[0].row_bytes = 8;
    rows[1] = rows[0];
    work.inputs = work.outputs = rows;
    work.input_count = 1;
    work.output_count = 2;
    work.user = &calls;
    expect_ok(hdp_options_init(&options, sizeof options));
    options.probe = HDP_PROBE_WORK;
    options.work = &work;
    expect_refused(&scene, HDP_ERR_ARGUMENT, &options, NO_FUNCTION);
    work.host = work.cuda = count_calls;
    rows[1].row_bytes = 0;
    expect_refused(&scene, HDP_ERR_ARGUMENT, &options,
                   "outputs[1]: row_bytes is 0");
    work.inputs = NULL;
    expect_refused(&scene, HDP_ERR_ARGUMENT, &options,
                   "inputs[0] is not there");
    expect_number(0, atomic_load(&calls), "calls");
    scene_close(&scene);
}

static void wrong_calls_are_refused(void **state)
{
    static const int64_t bad[] = { 4, 0 };
    hdp_calibrate_options good, options;
    struct scene scene;
    hdp_profile *profile;

    (void)state;
    scene_open(&scene, PAIR, NULL, 0, NULL);
    expect_ok(hdp_options_init(&good, sizeof good));
    options = good;
    options.dtype = 10;
    expect_refused(&scene, HDP_ERR_ARGUMENT, &options,
                   "dtype is 10, not 0 to 9");
    options = good;
    options.probe = 6;
    expect_refused(&scene, HDP_ERR_ARGUMENT, &options,
                   "probe is 6, not 0 to 5");
    options.probe = HDP_PROBE_WORK;
    expect_refused(&scene, HDP_ERR_ARGUMENT, &options,
                   "work and HDP_PROBE_WORK go together");
    options = good;
    options.items = bad;
    options.item_count = 2;
    expect_refused(&scene, HDP_ERR_ARGUMENT, &options,
                   "items[1] is 0, below 1");
    options.item_count = 0;
    expect_refused(&scene, HDP_ERR_ARGUMENT, &options,
                   "item_count is 0, items are 1 to 256 sizes or none");
    options = good;
    options.budget_ns = -1;
    expect_refused(&scene, HDP_ERR_ARGUMENT, &options,
                   "budget_ns is out of range");
    expect_status(HDP_ERR_ARGUMENT, hdp_calibrate(NULL, scene.group, NULL));
    expect_status(HDP_ERR_ARGUMENT, hdp_calibrate(&profile, NULL, NULL));
    expect_ok(hdp_calibrate(&profile, scene.group, NULL)); /* still well */
    hdp_profile_destroy(profile);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(wrong_work_is_refused),
    };

    return cmocka_run_group_tests_name("calibrate_refused", tests, NULL, NULL);
}
