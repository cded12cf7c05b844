/* Masks and orders through the library: what a process on a described machine
 * would see, who it is, and what is said of each entry. */
#include <stdlib.h>
#include <string.h>
#include "scene.h"

#define A "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"
#define B "GPU-5d1a9c60-1f0b-4b1e-9d2a-7c1c5b0a6f11"
#define C "GPU-b07e5512-88aa-4c3d-b6e0-0d9f3e2a7c44"
#define THREE "sim:0/uuid=" A "+sim:1/uuid=" B "+sim:2/uuid=" C

static hdp_context *context;

static hdp_topology *look(const char *machine, const char *mask,
                          const char *order)
{
    hdp_discover_options options;
    hdp_topology *topology = NULL;

    hdp_options_init(&options, sizeof options);
    options.machine = machine;
    options.mask = mask;
    options.order = order;
    expect_ok(hdp_discover(&topology, context, &options));
    return topology;
}

static hdp_topology_info info_of(const hdp_topology *topology)
{
    hdp_topology_info info;

    hdp_options_init(&info, sizeof info);
    expect_ok(hdp_topology_get(&info, topology));
    return info;
}

static hdp_device device_of(const hdp_topology *topology, int32_t index)
{
    hdp_device device;

    hdp_options_init(&device, sizeof device);
    expect_ok(hdp_topology_device(&device, topology, index));
    return device;
}

static hdp_mask_entry entry_of(const hdp_topology *topology, int32_t index)
{
    hdp_mask_entry entry;

    hdp_options_init(&entry, sizeof entry);
    expect_ok(hdp_topology_mask(&entry, topology, index));
    return entry;
}

static char *json_of(const hdp_topology *topology)
{
    size_t needed = 0;

    expect_ok(hdp_topology_to_json(topology, NULL, 0, &needed));
    char *text = malloc(needed);
    assert_non_null(text);
    expect_ok(hdp_topology_to_json(topology, text, needed, NULL));
    return text;
}

static void expect_part(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("expected '%s' in %s", part, text);
}

/* ---- the cases -------------------------------------------------------------- */

/* The scheduler hands out GPUs in every way there is. */
static void the_schedulers_masks(void **state)
{
    static const struct {
        const char *mask;
        int32_t count;
        const char *uuids[3];
    } rows[] = {
        { NULL, 3, { A, B, C } },     { "", 0, { NULL } },
        { "-1", 0, { NULL } },        { "2,1", 2, { C, B } },
        { "0,2,-1,1", 2, { A, C } },  { "0,7,1", 1, { A } },
        { "GPU-8932f937", 1, { A } }, { "GPU-b07e,GPU-5d1a", 2, { C, B } }
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        hdp_topology *topology = look(THREE, rows[i].mask, NULL);
        hdp_topology_info info = info_of(topology);
        expect_number(rows[i].count, info.device_count, "devices of mask %zu",
                      i);
        expect_number(rows[i].mask != NULL, info.mask_set, "mask_set of %zu",
                      i);
        for (int32_t d = 0; d < rows[i].count; ++d) {
            hdp_device device = device_of(topology, d);
            assert_string_equal(device.uuid, rows[i].uuids[d]);
            expect_number(d, device.logical_id, "logical id, mask %zu", i);
        }
        hdp_topology_destroy(topology);
    }
}

/* GPU 6 is logical 5, and 6 is nobody. */
static void physical_numbers_are_refused(void **state)
{
    hdp_topology *topology = look("sim:0-7", "0,1,2,3,4,6", NULL);
    hdp_device device = device_of(topology, 5);

    (void)state;
    expect_number(6, info_of(topology).device_count, "devices");
    expect_number(5, device.logical_id, "logical id");
    assert_string_equal(device.uuid, "SIM-6");
    assert_string_equal(device.spec, "sim:6");
    expect_number(5, entry_of(topology, 5).device, "device of the last entry");
    expect_status(HDP_ERR_NOT_FOUND, hdp_topology_device(&device, topology, 6));
    expect_part(hdp_last_error(), "logical ids 0 to 5");
    expect_part(hdp_last_error(), "index is 6");
    expect_status(HDP_ERR_ARGUMENT, hdp_topology_device(&device, topology, -1));
    hdp_topology_destroy(topology);

    topology = look("sim:0-7", "-1", NULL);
    expect_status(HDP_ERR_NOT_FOUND, hdp_topology_device(&device, topology, 0));
    hdp_topology_destroy(topology);
}

/* CUDA puts the fast card first unless told to go by slot. */
static void two_lists_of_one_machine(void **state)
{
    static const char pair[] = "sim:0/item=30us/name=small/uuid=" A
                               "+sim:1/item=10us/name=big/uuid=" B;
    static const struct {
        const char *order, *mask, *names[2];
    } rows[] = { { NULL, NULL, { "big", "small" } },
                 { "FASTEST_FIRST", NULL, { "big", "small" } },
                 { "PCI_BUS_ID", NULL, { "small", "big" } },
                 { NULL, "1,0", { "small", "big" } },
                 { "PCI_BUS_ID", "1,0", { "big", "small" } },
                 { NULL, "GPU-89,GPU-5d", { "small", "big" } },
                 { "PCI_BUS_ID", "GPU-89,GPU-5d", { "small", "big" } } };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        hdp_topology *topology = look(pair, rows[i].mask, rows[i].order);
        expect_number(2, info_of(topology).device_count, "devices of %zu", i);
        for (int32_t d = 0; d < 2; ++d) {
            hdp_device device = device_of(topology, d);
            if (strcmp(device.name, rows[i].names[d]) != 0)
                fail_msg("row %zu, logical %d: expected %s, got %s", i, (int)d,
                         rows[i].names[d], device.name);
            assert_string_equal(device.uuid,
                                strcmp(device.name, "small") == 0 ? A : B);
        }
        hdp_topology_destroy(topology);
    }
}

/* Equal speeds stay as the machine numbers them, however it lists them. */
static void equal_devices_keep_their_places(void **state)
{
    hdp_topology *topology = look("sim:9+sim:4+sim:7", NULL, NULL);
    char *json = json_of(topology);

    (void)state;
    assert_string_equal(device_of(topology, 0).spec, "sim:4");
    assert_string_equal(device_of(topology, 2).spec, "sim:9");
    expect_number(2, device_of(topology, 2).logical_id, "logical id");
    expect_part(json, "\"visible\":[0,1,2]");
    free(json);
    hdp_topology_destroy(topology);
}

/* What became of each entry. */
static void entries_and_errors(void **state)
{
    static const struct {
        const char *mask, *order, *error;
        int32_t count, verdicts[3];
    } rows[] = {
        { "", NULL, "\"cudaErrorNoDevice\"", 0, { 0 } },
        { "7", NULL, "\"cudaErrorNoDevice\"", 1, { HDP_MASK_RANGE } },
        { "1,7,0",
          NULL,
          "null",
          3,
          { HDP_MASK_ACCEPTED, HDP_MASK_RANGE, HDP_MASK_AFTER_CUT } },
        { "0,0",
          NULL,
          "\"cudaErrorInvalidDevice\"",
          2,
          { HDP_MASK_ACCEPTED, HDP_MASK_REPEAT } },
        { "GPU--", NULL, "\"cudaErrorNoDevice\"", 1, { HDP_MASK_AMBIGUOUS } },
        { "0," A, NULL, "null", 2, { HDP_MASK_ACCEPTED, HDP_MASK_OTHER_KIND } },
        { "MIG-0a,0",
          NULL,
          "\"cudaErrorNoDevice\"",
          2,
          { HDP_MASK_RANGE, HDP_MASK_AFTER_CUT } },
        { "void", NULL, "\"cudaErrorNoDevice\"", 1, { HDP_MASK_NOT_A_NUMBER } },
        { "1",
          "pci_bus_id",
          "\"cudaErrorInvalidDevice\"",
          1,
          { HDP_MASK_ACCEPTED } },
    };
    char want[64];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        hdp_topology *topology = look(THREE, rows[i].mask, rows[i].order);
        hdp_topology_info info = info_of(topology);
        char *json = json_of(topology);
        expect_number(rows[i].count, info.mask_count, "entries of %zu", i);
        for (int32_t e = 0; e < info.mask_count; ++e) {
            hdp_mask_entry entry = entry_of(topology, e);
            expect_number(rows[i].verdicts[e], entry.verdict,
                          "verdict %d of mask %zu", (int)e, i);
            if (entry.device >= 0)
                (void)device_of(topology, entry.device);
        }
        snprintf(want, sizeof want, "\"error\":%s}", rows[i].error);
        expect_part(json, want);
        free(json);
        hdp_topology_destroy(topology);
    }
}

/* A device that is not visible is named all the same, and all of it comes back
 * from the text. */
static void the_text_keeps_everything(void **state)
{
    static const char *const masks[] = { NULL,      "",      "2,0",
                                         "1,2,1,x", "0,9,1", "GPU-b0,GPU-89" };

    (void)state;
    for (size_t i = 0; i < sizeof masks / sizeof *masks; ++i) {
        hdp_topology *topology = look("host:0+" THREE, masks[i], NULL);
        hdp_topology *back = NULL;
        char *first = json_of(topology);
        expect_ok(hdp_topology_from_json(&back, first, strlen(first)));
        char *second = json_of(back);
        assert_string_equal(second, first);
        if (i == 3)
            expect_part(first, "{\"text\":\"2\",\"verdict\":\"accepted\","
                               "\"device\":\"" C "\",\"index\":null}");
        free(first);
        free(second);
        hdp_topology_destroy(back);
        hdp_topology_destroy(topology);
    }
}

static void places_that_do_not_fit_are_refused(void **state)
{
    hdp_topology *topology = look(THREE, NULL, NULL), *back = NULL;
    char *json = json_of(topology), *at = strstr(json, "[0,1,2]");

    (void)state;
    assert_non_null(at);
    memcpy(at, "[0,1  ]", 7);
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_topology_from_json(&back, json, strlen(json)));
    expect_part(hdp_last_error(), "visibility.visible");
    assert_null(back);
    free(json);
    hdp_topology_destroy(topology);
}

/* ---- beside the GPUs --------------------------------------------------------- */

/* With every GPU hidden the host works, and a GPU is "no device". */
static void the_host_works_behind_any_mask(void **state)
{
    hdp_topology *topology = look("host:0+" THREE, "-1", NULL);
    hdp_group *group = NULL;

    (void)state;
    expect_number(1, info_of(topology).device_count, "devices");
    expect_number(HDP_HOST, device_of(topology, 0).kind, "kind");
    expect_ok(hdp_group_create_spec(&group, context, "host:0/threads=1", NULL));
    hdp_group_destroy(group);
    hdp_topology_destroy(topology);

    topology = look("host:0+" THREE, "2,0", NULL);
    expect_number(3, info_of(topology).device_count, "devices");
    expect_number(1, entry_of(topology, 0).device, "index of the first entry");
    assert_string_equal(device_of(topology, 1).uuid, C);
    assert_string_equal(device_of(topology, 2).uuid, A);
    hdp_topology_destroy(topology);
}

/* This machine, with what the options say in place of the variables. */
static void this_machine(void **state)
{
    hdp_topology *plain = look(NULL, NULL, NULL);
    hdp_topology *masked = look(NULL, "x", NULL);
    hdp_topology *automatic = look("auto", "x", NULL);
    hdp_mask_entry entry;

    (void)state;
    expect_number(0, info_of(plain).mask_count, "entries, nothing asked");
    expect_number(1, info_of(masked).mask_set, "mask_set");
    expect_number(HDP_MASK_NOT_A_NUMBER, entry_of(masked, 0).verdict,
                  "verdict");
    expect_number(1, info_of(automatic).mask_count, "entries of auto");
    expect_number(HDP_HOST, device_of(masked, 0).kind, "the host is there");
    hdp_options_init(&entry, sizeof entry);
    expect_status(HDP_ERR_NOT_FOUND, hdp_topology_mask(&entry, masked, 1));
    hdp_topology_destroy(plain);
    hdp_topology_destroy(masked);
    hdp_topology_destroy(automatic);
}

static void a_machine_of_hosts_has_no_error(void **state)
{
    hdp_topology *topology = look("host:0", NULL, NULL);
    char *json = json_of(topology);

    (void)state;
    expect_part(json, "\"visible\":[],\"error\":null");
    free(json);
    hdp_topology_destroy(topology);
}

static int open_context(void **state)
{
    (void)state;
    return hdp_context_create(&context, NULL) != HDP_OK;
}

static int close_context(void **state)
{
    (void)state;
    hdp_context_destroy(context);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_schedulers_masks),
        cmocka_unit_test(physical_numbers_are_refused),
        cmocka_unit_test(two_lists_of_one_machine),
        cmocka_unit_test(equal_devices_keep_their_places),
        cmocka_unit_test(entries_and_errors),
        cmocka_unit_test(the_text_keeps_everything),
        cmocka_unit_test(places_that_do_not_fit_are_refused),
        cmocka_unit_test(the_host_works_behind_any_mask),
        cmocka_unit_test(this_machine),
        cmocka_unit_test(a_machine_of_hosts_has_no_error),
    };

    return cmocka_run_group_tests_name("visibility", tests, open_context,
                                       close_context);
}
