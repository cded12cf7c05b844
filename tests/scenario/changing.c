/* Simulated devices that do not stay as they are: slower from a launch on,
 * drifting, fast at first, dear at new shapes. Every time is worked out by
 * hand from the grammar's words. And links, which bound a share. */
#include <stdlib.h>
#include "scene.h"

static int32_t nothing(const hdp_shard *shard, void *user)
{
    (void)shard;
    (void)user;
    return 0;
}

/* What one step of so many items takes the only member. */
static int64_t step_ns(struct scene *scene, int64_t items)
{
    hdp_report_info info;
    hdp_report *report;
    hdp_plan *plan;
    hdp_work work;

    expect_ok(hdp_options_init(&work, sizeof work));
    expect_ok(hdp_options_init(&info, sizeof info));
    work.host = nothing;
    expect_ok(hdp_plan_create(&plan, &items, 1));
    expect_ok(hdp_run(&report, scene->group, plan, &work));
    expect_ok(hdp_report_get(&info, report));
    int64_t ns = info.compute_ns[0];
    hdp_report_destroy(report);
    hdp_plan_destroy(plan);
    return ns;
}

struct step {
    int64_t items, ns;
};

static void expect_steps(const char *spec, const struct step *steps, int count)
{
    struct scene scene;

    scene_open(&scene, spec, NULL, 0, NULL);
    for (int i = 0; i < count; ++i)
        expect_number(steps[i].ns, step_ns(&scene, steps[i].items),
                      "%s, step %d of %lld items", spec, i,
                      (long long)steps[i].items);
    scene_close(&scene);
}

#define EXPECT_STEPS(spec, ...)                                                \
    do {                                                                       \
        static const struct step steps_[] = { __VA_ARGS__ };                   \
        expect_steps(spec, steps_, (int)(sizeof steps_ / sizeof *steps_));     \
    } while (0)

static void slow_from_a_launch_on_until_the_next(void **state)
{
    (void)state;
    EXPECT_STEPS("sim:0/item=10us/slow=2x@3/slow=1x@5/slow=0.5x@6",
                 { 10, 100000 }, { 10, 100000 }, { 10, 200000 }, { 20, 400000 },
                 { 10, 100000 }, { 10, 50000 }, { 10, 50000 });
    EXPECT_STEPS("sim:0/item=10us/fixed=50us/slow=3x@1", { 10, 450000 });
}

/* A tenth more for each second on the clock: the first step takes one second,
 * the second begins at 1 s, the third at 2.1 s. */
static void drift_follows_the_clock(void **state)
{
    (void)state;
    EXPECT_STEPS("sim:0/item=100ms/drift=10%", { 10, 1000000000 },
                 { 10, 1100000000 }, { 10, 1210000000 });
}

/* Half the time at 0 s, all of it from 2 s on: at 0.5 s it is 1 - 0.5 * 0.75,
 * at 1.125 s 1 - 0.5 * 0.4375, at 1.90625 s 1 - 0.5 * 0.046875. */
static void ramp_falls_to_nothing(void **state)
{
    (void)state;
    EXPECT_STEPS("sim:0/item=100ms/ramp=50%@2s", { 10, 500000000 },
                 { 10, 625000000 }, { 10, 781250000 }, { 10, 976562500 },
                 { 10, 1000000000 }, { 10, 1000000000 });
}

static void new_shapes_cost_once(void **state)
{
    (void)state;
    EXPECT_STEPS("sim:0/item=10us/newshape=300ms", { 10, 300100000 },
                 { 10, 100000 }, { 20, 300200000 }, { 10, 100000 },
                 { 20, 200000 }, { 1, 300010000 });
    /* what it costs does not slow down with the device */
    EXPECT_STEPS("sim:0/item=10us/newshape=1ms/slow=2x@1", { 10, 1200000 },
                 { 10, 200000 });
}

/* 64 counts are remembered; the 65th drives the first one out. */
static void shapes_are_forgotten(void **state)
{
    struct scene scene;

    (void)state;
    scene_open(&scene, "sim:0/item=1us/newshape=1ms", NULL, 0, NULL);
    for (int64_t items = 1; items <= 64; ++items)
        expect_number(1000000 + 1000 * items, step_ns(&scene, items),
                      "first step of %lld", (long long)items);
    expect_number(1000, step_ns(&scene, 1), "1 item, remembered");
    expect_number(1065000, step_ns(&scene, 65), "65 items, new");
    expect_number(2000, step_ns(&scene, 2), "2 items, remembered");
    expect_number(1001000, step_ns(&scene, 1), "1 item, forgotten");
    scene_close(&scene);
}

/* The ways of changing multiply: 2 times, a tenth more at 1 s. */
static void changes_come_together(void **state)
{
    (void)state;
    EXPECT_STEPS("sim:0/item=100ms/slow=2x@2/drift=10%", { 10, 1000000000 },
                 { 10, 2200000000 });
}

static void the_same_seed_changes_alike(void **state)
{
    static const char spec[] =
        "sim:0/item=10us/noise=5%/seed=8/drift=50%/ramp=20%@10ms/slow=2x@7";
    int64_t first[20];

    (void)state;
    for (int round = 0; round < 2; ++round) {
        struct scene scene;
        scene_open(&scene, spec, NULL, 0, NULL);
        for (int i = 0; i < 20; ++i) {
            int64_t ns = step_ns(&scene, 100);
            if (round == 0)
                first[i] = ns;
            expect_number(first[i], ns, "step %d again", i);
        }
        scene_close(&scene);
    }
    assert_true(first[0] != first[1]);
}

/* The library's own probes are no launches: calibrating moves no slow=. */
static void probes_count_as_no_launches(void **state)
{
    struct scene scene;
    hdp_profile *profile;
    double ns;

    (void)state;
    scene_open(&scene, "sim:0/item=10us/slow=2x@2/newshape=1ms", NULL, 0, NULL);
    expect_ok(hdp_calibrate(&profile, scene.group, NULL));
    expect_ok(hdp_profile_time(&ns, profile, 0, 10));
    expect_number(100000, (int64_t)ns, "ten items before any launch");
    expect_number(1100000, step_ns(&scene, 10), "the first launch");
    expect_number(200000, step_ns(&scene, 10), "the second launch");
    hdp_profile_destroy(profile);
    expect_ok(hdp_calibrate(&profile, scene.group, NULL));
    expect_ok(hdp_profile_time(&ns, profile, 0, 10));
    expect_number(200000, (int64_t)ns, "ten items of a slowed device");
    hdp_profile_destroy(profile);
    scene_close(&scene);
}

/* A caller's function is measured without what its first shapes cost. */
static void new_shapes_do_not_spoil_a_calibration(void **state)
{
    static const int64_t sizes[] = { 1, 16, 256 };
    struct scene scene;
    hdp_calibrate_options options;
    hdp_profile *profile;
    hdp_work work;
    double ns;

    (void)state;
    expect_ok(hdp_options_init(&work, sizeof work));
    expect_ok(hdp_options_init(&options, sizeof options));
    work.host = nothing;
    options.probe = HDP_PROBE_WORK;
    options.work = &work;
    options.items = sizes;
    options.item_count = 3;
    scene_open(&scene, "sim:0/item=10us/newshape=300ms", NULL, 0, NULL);
    expect_ok(hdp_calibrate(&profile, scene.group, &options));
    for (int i = 0; i < 3; ++i) {
        expect_ok(hdp_profile_time(&ns, profile, 0, sizes[i]));
        expect_number(10000 * sizes[i], (int64_t)ns, "%lld items",
                      (long long)sizes[i]);
    }
    hdp_profile_destroy(profile);
    scene_close(&scene);
}

/* ---- what a device says of itself ----------------------------------------- */

static void keys_show_in_the_device(void **state)
{
    struct scene scene;
    hdp_device device = { .size = sizeof device };

    (void)state;
    scene_open(&scene, "sim:0/item=1us/sms=82/display=1/compute=f32", NULL, 0,
               NULL);
    expect_ok(hdp_group_device(&device, scene.group, 0));
    expect_number(82, device.sm_count, "SMs");
    expect_number(1, device.display, "display");
    expect_number(0, device.partition_sms, "it is no partition");
    assert_string_equal(device.spec,
                        "sim:0/item=1us/sms=82/compute=f32/display=1");
    scene_close(&scene);
}

/* ---- links ----------------------------------------------------------------- */

/* Two members of 100 us an item, 602,112 bytes an item: 24 GB/s carry one in
 * 25.1 us, 0.8 GB/s in 752.64 us. Overlapped the larger of compute and copy
 * counts (226 * 100 us against 30 * 752.64), else the sum. */
static void links_bound_the_shares(void **state)
{
    static const struct {
        int32_t overlap;
        int64_t items[2];
        double step_ms, equal_ms, single_ms;
    } rows[] = { { 1, { 226, 30 }, 22.6, 96.34, 25.6 },
                 { 0, { 224, 32 }, 28.02, 109.14, 32.02 } };
    struct scene scene;
    hdp_profile *profile;

    (void)state;
    scene_open(&scene, "sim:0/item=100us/link=24GB+sim:1/item=100us/link=0.8GB",
               NULL, 0, NULL);
    expect_ok(hdp_calibrate(&profile, scene.group, NULL));
    for (int i = 0; i < 2; ++i) {
        hdp_split_options options;
        hdp_plan_info info;
        hdp_plan *plan;
        expect_ok(hdp_options_init(&options, sizeof options));
        expect_ok(hdp_options_init(&info, sizeof info));
        options.in_bytes = 602112;
        options.overlap = rows[i].overlap;
        expect_ok(hdp_split(&plan, profile, 256, &options));
        expect_ok(hdp_plan_get(&info, plan));
        expect_number(rows[i].items[0], info.items[0], "rank 0, row %d", i);
        expect_number(rows[i].items[1], info.items[1], "rank 1, row %d", i);
        /* to the hundredth of a millisecond, as the figures are given */
        expect_number((int64_t)(rows[i].step_ms * 100 + 0.5),
                      (info.step_ns + 5000) / 10000, "step, row %d", i);
        expect_number((int64_t)(rows[i].equal_ms * 100 + 0.5),
                      (info.equal_ns + 5000) / 10000, "equal, row %d", i);
        expect_number((int64_t)(rows[i].single_ms * 100 + 0.5),
                      (info.best_single_ns + 5000) / 10000, "single, row %d",
                      i);
        hdp_plan_destroy(plan);
    }
    hdp_profile_destroy(profile);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_from_a_launch_on_until_the_next),
        cmocka_unit_test(drift_follows_the_clock),
        cmocka_unit_test(ramp_falls_to_nothing),
        cmocka_unit_test(new_shapes_cost_once),
        cmocka_unit_test(shapes_are_forgotten),
        cmocka_unit_test(changes_come_together),
        cmocka_unit_test(the_same_seed_changes_alike),
        cmocka_unit_test(probes_count_as_no_launches),
        cmocka_unit_test(new_shapes_do_not_spoil_a_calibration),
        cmocka_unit_test(keys_show_in_the_device),
        cmocka_unit_test(links_bound_the_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
