/* Described machines looked at, refused, and recorded: what discover and
 * calibrate wrote can be replayed. */
#include "machine_files.h"

/* ---- discovering --------------------------------------------------------- */

static hdp_status look(hdp_topology **out, hdp_context *context,
                       const char *machine, const char *mask)
{
    hdp_discover_options options;

    expect_ok(hdp_options_init(&options, sizeof options));
    options.machine = machine;
    options.mask = mask;
    options.order = "PCI_BUS_ID";
    return hdp_discover(out, context, &options);
}

/* The mask turns two cards round, and their links with them. */
static void a_mask_of_a_described_machine(void **state)
{
    hdp_context *context;
    hdp_topology *topology, *again;
    hdp_device device = { .size = sizeof device };
    hdp_link link = { .size = sizeof link };
    size_t needed = 0;

    (void)state;
    expect_ok(hdp_context_create(&context, NULL));
    expect_ok(look(&topology, context, "@lab", "1,GPU-0"));
    hdp_topology_destroy(topology);
    expect_ok(look(&topology, context, "@lab", "2,1"));
    expect_ok(hdp_topology_device(&device, topology, 0));
    assert_memory_equal(device.uuid, "MIG-", 4);
    expect_ok(hdp_topology_device(&device, topology, 1));
    assert_string_equal(device.name, "NVIDIA H100 80GB HBM3");
    expect_ok(hdp_topology_link(&link, topology, 0, 1));
    expect_number(11000000000, link.bytes_per_second, "slice to H100");
    expect_number(0, link.peer, "no peer access from a slice");
    hdp_topology_destroy(topology);
    expect_ok(look(&topology, context, "@lab", "1,0"));
    expect_ok(hdp_topology_link(&link, topology, 0, 1));
    expect_number(22000000000, link.bytes_per_second, "H100 to A100");
    expect_number(1, link.peer, "peer access");
    /* the noun survives its own text */
    (void)hdp_topology_to_json(topology, NULL, 0, &needed);
    char *text = malloc(needed);
    assert_non_null(text);
    expect_ok(hdp_topology_to_json(topology, text, needed, NULL));
    assert_non_null(strstr(text, "simulated, from published figures"));
    expect_ok(hdp_topology_from_json(&again, text, strlen(text)));
    expect_ok(hdp_topology_link(&link, again, 0, 1));
    expect_number(22000000000, link.bytes_per_second, "read back");
    free(text);
    hdp_topology_destroy(again);
    hdp_topology_destroy(topology);
    hdp_context_destroy(context);
}

static void what_is_no_machine_is_refused(void **state)
{
    hdp_context *context;
    hdp_topology *topology = (void *)1;
    hdp_group *group = (void *)1;

    (void)state;
    expect_ok(hdp_context_create(&context, NULL));
    expect_status(HDP_ERR_NOT_FOUND, look(&topology, context, "@dusk", NULL));
    assert_null(topology);
    assert_non_null(strstr(hdp_last_error(), "desk, turing, twin"));
    expect_status(HDP_ERR_NOT_FOUND,
                  hdp_group_create_spec(&group, context, "@dusk", NULL));
    assert_null(group);
    expect_status(HDP_ERR_NOT_FOUND,
                  hdp_group_create_spec(&group, context, "@./dusk", NULL));
    expect_status(HDP_ERR_SYSTEM,
                  hdp_group_create_spec(&group, context, "@/tmp", NULL));
    hdp_context_destroy(context);
}

/* ---- recording ----------------------------------------------------------- */

static json_t *json_of_topology(hdp_context *context, const char *machine)
{
    hdp_topology *topology;
    size_t needed = 0;

    expect_ok(look(&topology, context, machine, NULL));
    (void)hdp_topology_to_json(topology, NULL, 0, &needed);
    char *text = malloc(needed);
    assert_non_null(text);
    expect_ok(hdp_topology_to_json(topology, text, needed, NULL));
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    free(text);
    hdp_topology_destroy(topology);
    return json;
}

/* A machine that was simulated when it was recorded says its own speed. */
static void a_recorded_simulation_runs_again(void **state)
{
    struct scene scene;
    hdp_context *context;
    hdp_profile *profile;
    char spec[600];
    double ns;

    (void)state;
    expect_ok(hdp_context_create(&context, NULL));
    json_t *json = json_of_topology(
        context, "sim:0/item=20us/mem=8GiB+sim:1/fixed=1ms/item=50us+sim:2");
    write_machine(spec, sizeof spec, json);
    scene_open(&scene, spec, NULL, 0, NULL);
    expect_number(3, count_of(&scene), "members");
    expect_number(INT64_C(8) << 30, device_of(&scene, 0).memory_bytes, "mem");
    expect_ok(calibrate(&profile, &scene, HDP_PROBE_GEMM, HDP_F32));
    expect_ok(hdp_profile_time(&ns, profile, 0, 100));
    expect_number(2000000, (int64_t)ns, "member 0");
    expect_ok(hdp_profile_time(&ns, profile, 1, 100));
    expect_number(6000000, (int64_t)ns, "member 1");
    expect_ok(hdp_profile_time(&ns, profile, 2, 100));
    expect_number(1000000, (int64_t)ns, "member 2, with no item=");
    hdp_profile_destroy(profile);
    scene_close(&scene);
    (void)unlink(spec + 1);
    json_decref(json);
    hdp_context_destroy(context);
}

static int do_nothing(const hdp_shard *shard, void *user)
{
    (void)shard;
    (void)user;
    return 0;
}

/* The message names the file and what to do about it. */
static void expect_unknown(const char *path)
{
    const char *text = hdp_last_error();

    if (!strstr(text, path) || !strstr(text, "calibrate --save"))
        fail_msg("expected the file %s and the remedy, got \"%s\"", path, text);
}

static void measure_host(hdp_profile **out, hdp_context *context)
{
    hdp_calibrate_options options;
    hdp_group *group;

    expect_ok(hdp_options_init(&options, sizeof options));
    options.probe = HDP_PROBE_LAUNCH;
    options.budget_ns = 20000000;
    expect_ok(hdp_group_create_spec(&group, context, "host:0/threads=1", NULL));
    expect_ok(hdp_calibrate(out, group, &options));
    hdp_group_destroy(group);
}

/* Of real devices only a profile tells the speed: without one a member can be
 * planned for, not probed or used; with the one that was measured it is what
 * the simulated member takes. */
static void a_recorded_machine_needs_its_profile(void **state)
{
    static const char shown[] =
        "{\"members\":[{\"points\":[[1,1000],[64,9000],[128,8000]]}]}";
    hdp_context *context;
    hdp_profile *profile, *chosen;
    struct scene scene;
    json_t *machine = json_object(), *profiles = json_array();
    char spec[600];
    double ns;

    (void)state;
    expect_ok(hdp_context_create(&context, NULL));
    json_object_set_new(machine, "schema", json_string("hdp.machine"));
    json_object_set_new(machine, "schema_version", json_integer(1));
    json_object_set_new(machine, "topology",
                        json_of_topology(context, "host:0/threads=1"));
    write_machine(spec, sizeof spec, machine);
    scene_open(&scene, spec, NULL, 0, NULL);
    expect_status(HDP_ERR_NOT_FOUND,
                  calibrate(&profile, &scene, HDP_PROBE_GEMM, HDP_F32));
    expect_unknown(spec + 1);
    const hdp_work work = { .size = sizeof work, .host = do_nothing };
    hdp_calibrate_options options;
    expect_ok(hdp_options_init(&options, sizeof options));
    options.probe = HDP_PROBE_WORK;
    options.work = &work;
    expect_status(HDP_ERR_NOT_FOUND,
                  hdp_calibrate(&profile, scene.group, &options));
    expect_unknown(spec + 1);
    /* what was measured on the machine itself is found by its identity */
    measure_host(&profile, context);
    expect_ok(hdp_profile_select(&chosen, profile, scene.group));
    hdp_profile_destroy(chosen);
    hdp_profile_destroy(profile);
    scene_close(&scene);
    (void)unlink(spec + 1);

    json_array_append_new(profiles, json_loads(shown, 0, NULL));
    json_object_set_new(machine, "profiles", profiles);
    write_machine(spec, sizeof spec, machine);
    scene_open(&scene, spec, NULL, 0, NULL);
    expect_number(HDP_SIM, device_of(&scene, 0).kind, "a host, simulated");
    expect_ok(calibrate(&profile, &scene, HDP_PROBE_GEMM, HDP_F32));
    expect_ok(hdp_profile_time(&ns, profile, 0, 64));
    expect_number(8000, (int64_t)ns, "padded up to 128");
    hdp_profile_destroy(profile);
    scene_close(&scene);
    (void)unlink(spec + 1);
    json_decref(machine);
    hdp_context_destroy(context);
}

/* A group outlives the file, the topology and the context it came from. */
static void a_group_keeps_its_machine(void **state)
{
    hdp_context *context;
    hdp_group *group;
    hdp_profile *profile;

    (void)state;
    expect_ok(hdp_context_create(&context, NULL));
    expect_ok(hdp_group_create_spec(&group, context, "@twin", NULL));
    hdp_context_destroy(context);
    expect_ok(hdp_calibrate(&profile, group, NULL));
    hdp_group_destroy(group);
    hdp_profile_destroy(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mask_of_a_described_machine),
        cmocka_unit_test(what_is_no_machine_is_refused),
        cmocka_unit_test(a_recorded_simulation_runs_again),
        cmocka_unit_test(a_recorded_machine_needs_its_profile),
        cmocka_unit_test(a_group_keeps_its_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
