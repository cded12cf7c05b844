/* Looking for devices through the public door: this machine, a described one,
 * what comes later, and every wrong question. No driver: see no_driver.c. */
#include <stdlib.h>
#include <string.h>
#include "scene.h"

static hdp_context *context;

static int make(void **state)
{
    (void)state;
    return hdp_context_create(&context, NULL) != HDP_OK;
}

static int drop(void **state)
{
    (void)state;
    hdp_context_destroy(context);
    return 0;
}

static hdp_status look(hdp_topology **out, const char *machine)
{
    hdp_discover_options options;
    expect_ok(hdp_options_init(&options, sizeof options));
    options.machine = machine;
    return hdp_discover(out, context, &options);
}

static hdp_device device_of(const hdp_topology *topology, int32_t index)
{
    hdp_device device = { .size = sizeof device };
    expect_ok(hdp_topology_device(&device, topology, index));
    return device;
}

static int32_t count_of(const hdp_topology *topology)
{
    hdp_topology_info info = { .size = sizeof info };
    expect_ok(hdp_topology_get(&info, topology));
    return info.device_count;
}

static void this_machine_has_its_host(void **state)
{
    hdp_topology *topology, *again;
    (void)state;
    expect_ok(hdp_discover(&topology, context, NULL));
    assert_true(count_of(topology) >= 1);
    hdp_device host = device_of(topology, 0);
    expect_number(HDP_HOST, host.kind, "the first device's kind");
    expect_number(100, host.duty_percent, "nothing is slowed");
    assert_true(host.thread_count >= 1);
    assert_true(host.memory_bytes > 0);
    assert_true(host.free_bytes <= host.memory_bytes);
    assert_string_equal(host.spec, "host:0");
    assert_string_not_equal(host.uuid, "");
    expect_ok(look(&again, "auto"));
    expect_number(count_of(topology), count_of(again), "devices of auto");
    hdp_topology_destroy(again);
    hdp_topology_destroy(topology);
}

/* Hosts first, then by logical id, whatever the order of the text. */
static void a_described_machine_is_in_order(void **state)
{
    static const char *const specs[] = { "host:1/threads=1/duty=50", "host:3",
                                         "sim:0", "sim:2/item=10us/uuid=U",
                                         "sim:9/fixed=1.5ms" };
    hdp_topology *topology;
    (void)state;
    expect_ok(look(&topology, "sim:2/uuid=U/item=10us+host:3;sim:9/fixed=1500us"
                              "+host:1/threads=1/duty=50+sim:0"));
    expect_number(5, count_of(topology), "devices");
    for (int32_t i = 0; i < 5; i++) {
        hdp_device device = device_of(topology, i);
        assert_string_equal(device.spec, specs[i]);
    }
    expect_number(50, device_of(topology, 0).duty_percent, "declared");
    assert_string_equal(device_of(topology, 3).uuid, "U");
    hdp_topology_destroy(topology);
}

/* What a device's spec asks for is that device. */
static void a_spec_finds_its_device_again(void **state)
{
    hdp_topology *topology, *again;
    (void)state;
    expect_ok(look(&topology, "sim:0-2/item=3.3us/noise=1.5%/mem=80GiB/"
                              "link=0.8GB+host:0/threads=1/mem=1GiB"));
    for (int32_t i = 0; i < count_of(topology); i++) {
        hdp_device first = device_of(topology, i);
        expect_ok(look(&again, first.spec));
        hdp_device second = device_of(again, 0);
        first.free_bytes = second.free_bytes = 0; /* of this moment */
        first.logical_id = second.logical_id = 0; /* of this view */
        assert_memory_equal(&first, &second, sizeof first);
        hdp_topology_destroy(again);
    }
    hdp_topology_destroy(topology);
}

static void what_comes_later_says_so(void **state)
{
    hdp_topology *topology;
    hdp_link link = { .size = sizeof link };
    (void)state;
    expect_ok(look(&topology, "sim:0-1"));
    expect_status(HDP_ERR_UNSUPPORTED,
                  hdp_topology_link(&link, topology, 0, 1));
    hdp_topology_destroy(topology);
}

static void wrong_questions(void **state)
{
    hdp_topology *topology = (void *)1, *none;
    hdp_device device = { .size = sizeof device };
    hdp_mask_entry entry = { .size = sizeof entry };
    hdp_topology_info info = { .size = sizeof info };
    hdp_link link = { .size = sizeof link };
    (void)state;
    expect_status(HDP_ERR_ARGUMENT, hdp_discover(NULL, context, NULL));
    expect_status(HDP_ERR_ARGUMENT, hdp_discover(&topology, NULL, NULL));
    assert_null(topology);
    expect_status(HDP_ERR_ARGUMENT, look(&topology, "sim:0/item="));
    assert_non_null(strstr(hdp_last_error(), "\"item=\" at 7"));
    assert_null(topology);
    expect_status(HDP_ERR_ARGUMENT, look(&topology, ""));
    expect_ok(look(&topology, "sim:0-1"));
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_discover(&none, (hdp_context *)topology, NULL));
    expect_status(HDP_ERR_ARGUMENT, hdp_topology_device(&device, topology, -1));
    expect_status(HDP_ERR_NOT_FOUND, hdp_topology_device(&device, topology, 2));
    expect_status(HDP_ERR_NOT_FOUND, hdp_topology_mask(&entry, topology, 0));
    expect_status(HDP_ERR_NOT_FOUND, hdp_topology_link(&link, topology, 0, 2));
    expect_status(HDP_ERR_ARGUMENT, hdp_topology_link(&link, topology, -1, 0));
    expect_status(HDP_ERR_ARGUMENT, hdp_topology_get(NULL, topology));
    expect_status(HDP_ERR_ARGUMENT, hdp_topology_get(&info, NULL));
    expect_status(HDP_ERR_ARGUMENT, hdp_topology_device(NULL, topology, 0));
    info.size = 0;
    expect_status(HDP_ERR_ARGUMENT, hdp_topology_get(&info, topology));
    expect_status(HDP_ERR_ARGUMENT, hdp_topology_get(&info, (void *)context));
    hdp_topology_destroy(topology);
    hdp_topology_destroy(NULL);
}

/* A noun outlives what it came from, and is the same after a text. */
static void a_topology_is_plain_data(void **state)
{
    hdp_context *own;
    hdp_topology *topology, *again;
    hdp_discover_options options;
    size_t needed = 0;
    (void)state;
    expect_ok(hdp_context_create(&own, NULL));
    expect_ok(hdp_options_init(&options, sizeof options));
    options.machine = "sim:0/fixed=500us/item=10us+sim:1/name=slow/item=50us";
    expect_ok(hdp_discover(&topology, own, &options));
    hdp_context_destroy(own);
    expect_ok(hdp_topology_to_json(topology, NULL, 0, &needed));
    char *text = malloc(needed), *same = malloc(needed);
    assert_non_null(text);
    assert_non_null(same);
    expect_status(HDP_ERR_CAPACITY,
                  hdp_topology_to_json(topology, text, needed - 1, NULL));
    expect_ok(hdp_topology_to_json(topology, text, needed, NULL));
    expect_ok(hdp_topology_from_json(&again, text, needed - 1));
    expect_ok(hdp_topology_to_json(again, same, needed, NULL));
    assert_string_equal(same, text);
    expect_status(HDP_ERR_ARGUMENT, hdp_topology_from_json(NULL, text, 1));
    hdp_topology_destroy(again);
    expect_status(HDP_ERR_ARGUMENT, hdp_topology_from_json(&again, NULL, 1));
    assert_null(again);
    free(text);
    free(same);
    hdp_topology_destroy(topology);
}

/* ---- what the log hears -------------------------------------------------- */

struct heard {
    int32_t lines, told;
};

static void hear(int32_t level, const char *line, void *user)
{
    struct heard *heard = user;
    (void)level;
    if (strncmp(line, "environment: ", 13) == 0)
        return; /* the tests' own variables */
    heard->lines++;
    heard->told += strstr(line, "discover: 2 devices") != NULL;
}

static void the_log_is_told_at_info(void **state)
{
    (void)state;
    for (int32_t level = 0; level <= HDP_LOG_INFO; level++) {
        struct heard heard = { 0, 0 };
        hdp_context_options with;
        hdp_discover_options options;
        hdp_topology *topology;
        hdp_context *own;
        expect_ok(hdp_options_init(&with, sizeof with));
        with.log = hear;
        with.log_user = &heard;
        with.log_level = level;
        expect_ok(hdp_context_create(&own, &with));
        expect_ok(hdp_options_init(&options, sizeof options));
        options.machine = "sim:0-1";
        expect_ok(hdp_discover(&topology, own, &options));
        expect_number(level == HDP_LOG_INFO, heard.told, "lines at level %d",
                      (int)level);
        if (level < HDP_LOG_INFO)
            expect_number(0, heard.lines, "all lines at level %d", (int)level);
        hdp_topology_destroy(topology);
        hdp_context_destroy(own);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_machine_has_its_host),
        cmocka_unit_test(a_described_machine_is_in_order),
        cmocka_unit_test(a_spec_finds_its_device_again),
        cmocka_unit_test(what_comes_later_says_so),
        cmocka_unit_test(wrong_questions),
        cmocka_unit_test(a_topology_is_plain_data),
        cmocka_unit_test(the_log_is_told_at_info),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
