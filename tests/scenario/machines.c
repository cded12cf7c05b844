/* Described machines through the public door: groups of them work, and
 * calibrating gives the file's own curves back. */
#include "machine_files.h"
#include "profile_text.h"

static const char *const names[] = { "desk", "turing", "twin", "laptop",
                                     "lab" };
enum { MACHINES = sizeof names / sizeof *names };

/* ---- groups -------------------------------------------------------------- */

static int32_t count_call(const hdp_shard *shard, void *user)
{
    int64_t *items = user;

    items[shard->member] += shard->items;
    return 0;
}

/* Devices are simulated ones that bear the file's names and identities; a step
 * takes each what the first profile of the file says. */
static void check_group(const char *spec, const json_t *json)
{
    const json_t *devices =
        json_object_get(json_object_get(json, "topology"), "devices");
    int32_t count = (int32_t)json_array_size(devices);
    int64_t items[3] = { 40, 30, 20 }, got[3] = { 0 };
    struct scene scene;
    hdp_report *report;
    hdp_report_info info;
    hdp_work work;

    scene_open(&scene, spec, items, count, NULL);
    expect_number(count, count_of(&scene), "members of %s", spec);
    for (int32_t m = 0; m < count; ++m) {
        const json_t *from = json_array_get(devices, (size_t)m);
        hdp_device device = device_of(&scene, m);
        expect_number(HDP_SIM, device.kind, "kind");
        expect_number(m, device.logical_id, "logical id");
        assert_string_equal(device.name,
                            json_string_value(json_object_get(from, "name")));
        assert_string_equal(device.uuid,
                            json_string_value(json_object_get(from, "uuid")));
        assert_string_equal(device.pci,
                            json_string_value(json_object_get(from, "pci")));
        expect_number(json_integer_value(json_object_get(from, "memory_bytes")),
                      device.memory_bytes, "memory of %s", device.name);
        expect_number(json_is_true(json_object_get(from, "display")),
                      device.display, "display of %s", device.name);
        expect_number(json_integer_value(json_object_get(from, "sms")),
                      device.sm_count, "SMs of %s", device.name);
    }
    expect_ok(hdp_options_init(&work, sizeof work));
    expect_ok(hdp_options_init(&info, sizeof info));
    work.host = count_call;
    work.user = got;
    expect_ok(hdp_run(&report, scene.group, scene.plan, &work));
    expect_ok(hdp_report_get(&info, report));
    for (int32_t m = 0; m < count; ++m) {
        expect_number(items[m], got[m], "items of member %d", (int)m);
        assert_true(info.compute_ns[m] > 100000);
    }
    hdp_report_destroy(report);
    scene_close(&scene);
}

static void each_machine_works_by_name_and_by_file(void **state)
{
    (void)state;
    for (int i = 0; i < MACHINES; ++i) {
        json_t *json = read_machine(names[i]);
        char spec[600];
        (void)snprintf(spec, sizeof spec, "@%s", names[i]);
        check_group(spec, json);
        write_machine(spec, sizeof spec, json);
        check_group(spec, json);
        (void)unlink(spec + 1);
        json_decref(json);
    }
}

/* 25, 33 and 10.5 TFLOP/s, 400 ms for 256 items of the first. */
static void the_desk_takes_what_it_should(void **state)
{
    int64_t items[3] = { 256, 256, 256 }, ignored[3] = { 0 };
    struct scene scene;
    hdp_report *report;
    hdp_report_info info;
    hdp_work work;

    (void)state;
    expect_ok(hdp_options_init(&work, sizeof work));
    expect_ok(hdp_options_init(&info, sizeof info));
    work.host = count_call;
    work.user = ignored;
    scene_open(&scene, "@desk", items, 3, NULL);
    expect_ok(hdp_run(&report, scene.group, scene.plan, &work));
    expect_ok(hdp_report_get(&info, report));
    expect_number(400000, info.compute_ns[0] / 1000, "the 3090, in us");
    expect_number(303030, info.compute_ns[1] / 1000, "the 4070 Ti, in us");
    expect_number(952380, info.compute_ns[2] / 1000, "the 1080 Ti, in us");
    hdp_report_destroy(report);
    scene_close(&scene);
}

/* ---- calibration --------------------------------------------------------- */

static int32_t index_of(const json_t *name, const char *const *texts,
                        int32_t count)
{
    for (int32_t i = 0; i < count; ++i)
        if (strcmp(json_string_value(name), texts[i]) == 0)
            return i;
    return -1;
}

/* At every size the profile measured says what the file's profile says, bit
 * for bit, dips and all. */
static void check_profile(const struct scene *scene, json_t *from,
                          const char *machine)
{
    static const char *const probes[] = { "gemm", "copy", "launch" };
    static const char *const dtypes[] = { "",    "f32",  "tf32",
                                          "f16", "bf16", "f64" };
    int32_t probe = index_of(json_object_get(from, "probe"), probes, 3);
    int32_t dtype = index_of(json_object_get(from, "dtype"), dtypes, 6);
    char *text = json_dumps(from, 0);
    hdp_profile *given, *got;

    assert_true(probe >= 0 && dtype > 0);
    expect_ok(hdp_profile_from_json(&given, text, strlen(text)));
    expect_ok(calibrate(&got, scene, probe, dtype));
    for (int32_t m = 0; m < count_of(scene); ++m)
        for (int64_t items = 1; items < 10000;
             items += items < 300 ? 1 : items / 7) {
            double want = 0, is = -1, ratio = 0;
            expect_ok(hdp_profile_time(&want, given, m, items));
            expect_ok(hdp_profile_time(&is, got, m, items));
            expect_ok(hdp_profile_ratio(&ratio, got, m));
            if (json_is_true(json_object_get(
                    json_array_get(json_object_get(from, "members"), (size_t)m),
                    "lacks_dtype"))) {
                assert_true(ratio == 0); /* a finding, and no curve */
                break;
            }
            if (is != want)
                fail_msg("@%s %s %s, member %d, %lld items: expected %.17g, "
                         "got %.17g",
                         machine, probes[probe], dtypes[dtype], (int)m,
                         (long long)items, want, is);
        }
    hdp_profile_destroy(given);
    hdp_profile_destroy(got);
    free(text);
}

/* Of several profiles of one probe and dtype the first is the one. */
static int is_first(const json_t *profiles, size_t index)
{
    const json_t *own = json_array_get(profiles, index);

    for (size_t i = 0; i < index; ++i) {
        const json_t *other = json_array_get(profiles, i);
        if (json_equal(json_object_get(own, "probe"),
                       json_object_get(other, "probe")) &&
            json_equal(json_object_get(own, "dtype"),
                       json_object_get(other, "dtype")))
            return 0;
    }
    return 1;
}

static void calibrating_gives_the_file_back(void **state)
{
    (void)state;
    for (int i = 0; i < MACHINES; ++i) {
        json_t *json = read_machine(names[i]);
        json_t *profiles = json_object_get(json, "profiles"), *profile;
        size_t index;
        char spec[600];
        json_array_clear(json_object_get(json, "faults")); /* no ramp */
        write_machine(spec, sizeof spec, json);
        json_array_foreach(profiles, index, profile)
        {
            struct scene scene;
            if (!is_first(profiles, index))
                continue;
            scene_open(&scene, spec, NULL, 0, NULL);
            check_profile(&scene, profile, names[i]);
            scene_close(&scene);
        }
        (void)unlink(spec + 1);
        json_decref(json);
    }
}

/* Links, memory and flops are the file's too. */
static void a_profile_carries_links_and_memory(void **state)
{
    static const double links[] = { 24e9, 6.5e9, 3e9 };
    static const double flops[] = { 25e12, 33e12, 10.5e12 };
    static const int64_t gib[] = { 96, 45, 44 }; /* quarters; 0.75 GiB shown */
    struct scene scene;
    hdp_profile *profile;

    (void)state;
    scene_open(&scene, "@desk", NULL, 0, NULL);
    expect_ok(calibrate(&profile, &scene, HDP_PROBE_GEMM, HDP_F32));
    char *text = profile_text(profile);
    json_t *json = json_loads(text, 0, NULL);
    for (size_t m = 0; m < 3; ++m) {
        const json_t *member =
            json_array_get(json_object_get(json, "members"), m);
        const char *const keys[] = { "in_bytes_per_second",
                                     "out_bytes_per_second",
                                     "reduce_bytes_per_second" };
        for (int k = 0; k < 3; ++k)
            assert_true(json_number_value(json_object_get(member, keys[k])) ==
                        links[m]);
        expect_number(
            gib[m] << 28,
            json_integer_value(json_object_get(member, "memory_bytes")),
            "memory of member %zu", m);
        double off = json_number_value(json_object_get(member, "rate_flops")) /
                         flops[m] -
                     1;
        assert_true(off > -1e-6 && off < 1e-6);
        assert_true(json_is_true(json_object_get(member, "simulated")));
    }
    json_decref(json);
    free(text);
    hdp_profile_destroy(profile);
    scene_close(&scene);
}

static void split_of(hdp_plan_info *info, hdp_plan **plan,
                     const hdp_profile *profile)
{
    expect_ok(hdp_options_init(info, sizeof *info));
    expect_ok(hdp_split(plan, profile, 256, NULL));
    expect_ok(hdp_plan_get(info, *plan));
}

/* The old card has no bf16: nothing for it, and why; told to compute in f32
 * instead it takes part at its f32 speed, 10.5 beside 64 and 72. */
static void a_lacking_dtype_is_a_reason(void **state)
{
    json_t *json = read_machine("desk");
    json_t *old = json_array_get(
        json_object_get(json_object_get(json, "topology"), "devices"), 2);
    struct scene scene;
    hdp_profile *profile;
    hdp_plan_info info;
    hdp_plan *plan;
    char spec[600];
    double ns;

    (void)state;
    scene_open(&scene, "@desk", NULL, 0, NULL);
    expect_ok(calibrate(&profile, &scene, HDP_PROBE_GEMM, HDP_BF16));
    split_of(&info, &plan, profile);
    expect_number(0, info.items[2], "items of the old card");
    expect_number(HDP_BOUND_DTYPE, info.bound_by[2], "its reason");
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
    expect_status(HDP_ERR_UNSUPPORTED,
                  calibrate(&profile, &scene, HDP_PROBE_GEMM, HDP_I32));
    scene_close(&scene);

    json_object_set_new(old, "ask", json_string("cuda:2/compute=f32"));
    write_machine(spec, sizeof spec, json);
    scene_open(&scene, spec, NULL, 0, NULL);
    expect_ok(calibrate(&profile, &scene, HDP_PROBE_GEMM, HDP_BF16));
    expect_ok(hdp_profile_time(&ns, profile, 2, 256));
    expect_number(952380, (int64_t)(ns / 1000), "256 items in f32, in us");
    split_of(&info, &plan, profile);
    assert_true(info.items[2] > 0);
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
    scene_close(&scene);
    (void)unlink(spec + 1);
    json_decref(json);
}

/* One that is 30 % faster in its first ten seconds is measured so. */
static void the_laptop_throttles(void **state)
{
    struct scene scene;
    hdp_profile *profile;
    int64_t items[1] = { 256 }, ignored[3] = { 0 };
    double ns;
    hdp_report *report;
    hdp_report_info info = { .size = sizeof info };
    hdp_work work;

    (void)state;
    expect_ok(hdp_options_init(&work, sizeof work));
    work.host = count_call;
    work.user = ignored;
    scene_open(&scene, "@laptop", items, 1, NULL);
    expect_ok(calibrate(&profile, &scene, HDP_PROBE_GEMM, HDP_F32));
    expect_ok(hdp_profile_time(&ns, profile, 0, 256));
    /* 30 us + 256 * 119,048 ns = 30.506 ms when hot */
    assert_true(ns > 0.7 * 30.506e6 && ns < 0.73 * 30.506e6);
    for (int step = 0; step < 400; ++step) { /* more than ten seconds */
        expect_ok(hdp_run(&report, scene.group, scene.plan, &work));
        expect_ok(hdp_report_get(&info, report));
        if (step == 399)
            expect_number(30506288, info.compute_ns[0], "the last step");
        hdp_report_destroy(report);
    }
    hdp_profile_destroy(profile);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_machine_works_by_name_and_by_file),
        cmocka_unit_test(the_desk_takes_what_it_should),
        cmocka_unit_test(calibrating_gives_the_file_back),
        cmocka_unit_test(a_profile_carries_links_and_memory),
        cmocka_unit_test(a_lacking_dtype_is_a_reason),
        cmocka_unit_test(the_laptop_throttles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
