/* What is said of each GPU, and which of them can be had: facts of the shipped
 * machines, generations without code, busy ones, no driver or an old one, no
 * management library; the order of numbers; links. */
#include <string.h>
#include "looked.h"

/* ---- facts ------------------------------------------------------------------ */

static void expect_text(const char *want, const char *got, const char *what)
{
    if (strcmp(want, got) != 0)
        fail_msg("%s: expected \"%s\", got \"%s\"", what, want, got);
}

/* The machine's file, read by the library as a described machine, is what the
 * driver of the fake tells of it. */
static void expect_like(const hdp_device *want, const hdp_device *got)
{
    expect_text(want->name, got->name, "name");
    expect_text(want->uuid, got->uuid, "uuid");
    expect_text(want->pci, got->pci, "pci");
    expect_number(want->sm_count, got->sm_count, "%s: SMs", got->name);
    expect_number(want->memory_bytes, got->memory_bytes, "%s: memory",
                  got->name);
    expect_number(want->compute_major * 10 + want->compute_minor,
                  got->compute_major * 10 + got->compute_minor,
                  "%s: capability", got->name);
    expect_number(want->display, got->display, "%s: display", got->name);
    expect_number(want->native_dtypes, got->native_dtypes, "%s: native",
                  got->name);
    expect_number(want->slow_dtypes, got->slow_dtypes, "%s: slow", got->name);
    expect_number(1, got->runnable, "%s: runnable", got->name);
    expect_number(100, got->duty_percent, "%s: duty", got->name);
}

static void devices_are_what_their_files_say(void **state)
{
    static const char *const machines[] = { "desk", "turing", "twin", "laptop",
                                            "lab" };
    struct looked own;
    hdp_device want, got;
    char words[32], reference[32], spec[16];

    (void)state;
    for (size_t m = 0; m < sizeof machines / sizeof *machines; ++m) {
        struct looked file;
        hdp_discover_options options = { .size = sizeof options,
                                         .machine = reference,
                                         .order = "PCI_BUS_ID" };
        (void)snprintf(words, sizeof words, "machine=%s", machines[m]);
        (void)snprintf(reference, sizeof reference, "@%s", machines[m]);
        looked_start(words, NULL);
        looked_open(&own);
        looked_context(&file);
        expect_ok(hdp_discover(&file.topology, file.context, &options));
        int count = looked_count(&own), at = 0;
        assert_true(count > 0);
        for (int32_t i = 0; i < looked_info(&file).device_count; ++i) {
            want = (hdp_device){ .size = sizeof want };
            expect_ok(hdp_topology_device(&want, file.topology, i));
            if (want.kind == HDP_HOST)
                continue;
            assert_true(looked_gpu(&got, &own, at));
            expect_like(&want, &got);
            (void)snprintf(spec, sizeof spec, "cuda:%d", at++);
            expect_text(spec, got.spec, "spec");
        }
        expect_number(at, count, "GPUs of %s", machines[m]);
        expect_number(0, fake_contexts(-1), "contexts");
        looked_close(&file);
        looked_close(&own);
    }
}

/* ---- O03 -------------------------------------------------------------------- */

/* Slot order puts the small card first, CUDA's default the big one. */
static void numbers_are_cudas_and_uuids_stay(void **state)
{
    struct looked own;
    hdp_device first, second, again;

    (void)state;
    looked_start("machine=desk", "2,1");
    looked_open(&own);
    assert_true(looked_gpu(&first, &own, 0));
    expect_text("NVIDIA GeForce GTX 1080 Ti", first.name, "by slot, 0");
    assert_true(looked_gpu(&second, &own, 1));
    expect_number(0, looked_said(&own, "CUDA_DEVICE_ORDER"), "warnings");
    looked_close(&own);

    life_variable("CUDA_VISIBLE_DEVICES", NULL);
    life_variable("CUDA_DEVICE_ORDER", NULL);
    life_start("machine=desk");
    looked_open(&own);
    expect_number(1, looked_said(&own, "CUDA_DEVICE_ORDER is not set"),
                  "warnings of unlike cards");
    for (int i = 0, found = 0; i < 3; ++i) {
        assert_true(looked_gpu(&again, &own, i));
        if (strcmp(again.name, first.name) == 0) {
            expect_text(first.uuid, again.uuid, "uuid");
            expect_text(first.pci, again.pci, "pci");
            expect_number(2, i, "place of the slowest");
            found = 1;
        }
        if (i == 2)
            expect_number(1, found, "the small card");
    }
    looked_close(&own);

    life_start("machine=twin");
    looked_open(&own);
    expect_number(0, looked_said(&own, "CUDA_DEVICE_ORDER"),
                  "warnings of like cards");
    looked_close(&own);
}

/* ---- F09: somebody else has it ---------------------------------------------- */

static void expect_devices(const struct looked *own, const char *ids)
{
    hdp_group_info info = { .size = sizeof info };
    hdp_group *group;

    expect_ok(hdp_group_create_spec(&group, own->context, "auto", NULL));
    expect_ok(hdp_group_get(&info, group));
    expect_number((int64_t)strlen(ids), info.member_count, "members of auto");
    for (int32_t m = 0; m < info.member_count; ++m) {
        hdp_device device = { .size = sizeof device };
        expect_ok(hdp_group_device(&device, group, m));
        expect_number(ids[m] - '0', device.logical_id, "member %d", (int)m);
    }
    hdp_group_destroy(group);
}

static void a_busy_device_is_left_alone_unless_named(void **state)
{
    struct looked own;
    hdp_group *group;
    hdp_error error = { .size = sizeof error };

    (void)state;
    looked_start("machine=desk busy=1", NULL);
    looked_open(&own);
    expect_number(3, looked_count(&own), "GPUs listed");
    expect_devices(&own, "02");
    expect_number(1,
                  looked_said(&own, "auto: cuda:1 (NVIDIA GeForce RTX 4070 "
                                    "Ti) is left out: busy"),
                  "warnings");
    expect_number(0, fake_contexts(1), "contexts on the busy one");
    looked_failed(hdp_group_create_spec(&group, own.context, "cuda:1", NULL),
                  HDP_ERR_BUSY, "another process has it");
    expect_ok(hdp_error_get(&error));
    expect_number(HDP_RETRY, error.severity, "severity");
    expect_number(0, fake_contexts(1), "contexts on the busy one");
    looked_close(&own);
}

/* Nobody can tell: auto takes no chances, who names it gets the driver's
 * answer. */
static void without_the_management_library(void **state)
{
    struct looked own = { 0 };
    const hdp_context_options options = { .size = sizeof options,
                                          .log = life_note,
                                          .log_user = own.log,
                                          .nvml_path = "/nowhere/libnvml.so" };
    hdp_group *group;
    hdp_device device;

    (void)state;
    looked_start("machine=desk busy=1", NULL);
    expect_ok(hdp_context_create(&own.context, &options));
    looked_again(&own);
    expect_number(3, looked_count(&own), "GPUs listed");
    assert_true(looked_gpu(&device, &own, 0));
    expect_number(0, device.free_bytes, "free bytes, not known");
    expect_number(1, looked_said(&own, "nothing is known of free memory"),
                  "warnings");
    assert_non_null(strstr(own.log, "/nowhere/libnvml.so"));
    expect_devices(&own, "02");
    expect_number(1, looked_said(&own, "nobody can tell"), "left out");
    looked_failed(hdp_group_create_spec(&group, own.context, "cuda:1", NULL),
                  HDP_ERR_BUSY, "(46)");
    looked_close(&own);
}

static void free_memory_is_told_without_a_context(void **state)
{
    struct looked own;
    hdp_device device;

    (void)state;
    looked_start("machine=twin tenant=1:8GiB", NULL);
    looked_open(&own);
    assert_true(looked_gpu(&device, &own, 1));
    expect_number(fake_free_bytes(1), device.free_bytes, "free bytes");
    assert_true(device.free_bytes <= device.memory_bytes - (INT64_C(8) << 30));
    expect_number(0, fake_contexts(-1), "contexts");
    looked_close(&own);
}

/* By name a device keeps its number. */
static void what_is_named_is_told_as_it_is(void **state)
{
    struct looked own;
    hdp_discover_options options = { .size = sizeof options,
                                     .machine = "cuda:2+cuda:1" };
    hdp_device device;

    (void)state;
    looked_start("machine=desk", NULL);
    looked_context(&own);
    expect_ok(hdp_discover(&own.topology, own.context, &options));
    expect_number(2, looked_count(&own), "GPUs named");
    for (int i = 0; i < 2; ++i) {
        assert_true(looked_gpu(&device, &own, i));
        expect_number(i + 1, device.logical_id, "id of GPU %d", i);
        expect_text(i ? "cuda:2" : "cuda:1", device.spec, "spec");
    }
    expect_number(0, looked_info(&own).mask_changed, "changed");
    hdp_topology_destroy(own.topology);
    options.machine = "cuda:7";
    looked_failed(hdp_discover(&own.topology, own.context, &options),
                  HDP_ERR_NOT_FOUND, "logical ids 0 to 2");
    looked_close(&own);
}

/* ---- F06, O23 --------------------------------------------------------------- */

static void expect_reason(const char *words, const char *versions)
{
    struct looked own;
    hdp_group *group;
    hdp_error error = { .size = sizeof error };
    size_t needed = 0;
    char *text;

    looked_start(words, NULL);
    looked_open(&own);
    expect_number(0, looked_count(&own), "GPUs: %s", words);
    (void)hdp_topology_to_json(own.topology, NULL, 0, &needed);
    text = malloc(needed);
    assert_non_null(text);
    expect_ok(hdp_topology_to_json(own.topology, text, needed, NULL));
    if (!strstr(text, "driver absent or too old: ") || !strstr(text, versions))
        fail_msg("expected the reason and \"%s\", got %s", versions, text);
    free(text);
    looked_failed(hdp_group_create_spec(&group, own.context, "cuda:0", NULL),
                  HDP_ERR_NOT_FOUND, "no device: cuda:0: driver absent or too");
    assert_non_null(strstr(hdp_last_error(), versions));
    expect_ok(hdp_error_get(&error));
    expect_number(HDP_VENDOR_CUDA, error.vendor, "vendor");
    expect_number(35, error.vendor_code, "code");
    expect_ok(hdp_group_create_spec(&group, own.context, "auto", NULL));
    hdp_group_destroy(group);
    expect_number(0, fake_contexts(-1), "contexts");
    looked_close(&own);
}

static void no_driver_or_an_old_one_is_said_with_both_versions(void **state)
{
    (void)state;
    expect_reason("machine=desk nodriver", "driver 0, built for CUDA 1");
    expect_reason("machine=desk driver=11040", "driver 11.4, built for CUDA 1");
}

static void the_runtime_says_which_driver_it_found(void **state)
{
    size_t needed = 0;
    char *text;

    (void)state;
    looked_start("machine=desk", NULL);
    (void)hdp_info(HDP_INFO_RUNTIME, NULL, 0, &needed);
    text = malloc(needed);
    assert_non_null(text);
    expect_ok(hdp_info(HDP_INFO_RUNTIME, text, needed, NULL));
    if (!strstr(text, "libfakecuda.so") || !strstr(text, "driver 13."))
        fail_msg("expected path and version of the driver, got %s", text);
    if (!strstr(text, "\"nvml\"") || !strstr(text, "\"cublas\""))
        fail_msg("expected nvml and cublas, got %s", text);
    free(text);
    expect_number(0, fake_contexts(-1), "contexts");
}

/* ---- links ------------------------------------------------------------------ */

static void links_are_what_the_driver_tells(void **state)
{
    struct looked own;
    hdp_link link = { .size = sizeof link };

    (void)state;
    looked_start("machine=lab", NULL); /* 0 the host, then A100, H100, a MIG */
    looked_open(&own);
    expect_ok(hdp_topology_link(&link, own.topology, 1, 2));
    expect_number(1, link.peer, "A100 to H100: peer");
    expect_number(2, link.kind, "A100 to H100: kind");
    expect_ok(hdp_topology_link(&link, own.topology, 3, 1));
    expect_number(0, link.peer, "MIG to A100: peer");
    expect_number(1, link.kind, "MIG to A100: kind");
    expect_ok(hdp_topology_link(&link, own.topology, 0, 1));
    expect_number(0, link.kind, "host to A100: kind");
    expect_number(0, fake_contexts(-1), "contexts");
    looked_close(&own);

    looked_start("machine=lab peer=refuse:0-1", NULL);
    looked_open(&own);
    expect_ok(hdp_topology_link(&link, own.topology, 1, 2));
    expect_number(0, link.peer, "refused: peer");
    looked_close(&own);
}

/* Each call that looking makes fails once: a status, nothing left, and the next
 * look is whole. */
static void a_failing_look_leaves_nothing(void **state)
{
    static const char *const calls[] = {
        "cudaGetDeviceCount",        "cudaGetDeviceProperties",
        "cudaDeviceGetAttribute",    "cudaDeviceCanAccessPeer",
        "cudaDeviceGetP2PAttribute", "nvmlInit_v2",
        "nvmlDeviceGetMemoryInfo",   "nvmlDeviceGetHandleByUUID",
    };
    struct looked own;
    char words[64];

    (void)state;
    looked_start("machine=lab", NULL);
    looked_context(&own);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
        hdp_status status;
        (void)snprintf(words, sizeof words, "fail=%s:1", calls[i]);
        assert_int_equal(fake_plant(words), 0);
        status = hdp_discover(&own.topology, own.context, NULL);
        if (status != HDP_OK)
            assert_null(own.topology);
        fake_calm();
        looked_again(&own);
        expect_number(3, looked_count(&own), "GPUs after %s", words);
        hdp_topology_destroy(own.topology);
        own.topology = NULL;
    }
    looked_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_what_their_files_say),
        cmocka_unit_test(numbers_are_cudas_and_uuids_stay),
        cmocka_unit_test(a_busy_device_is_left_alone_unless_named),
        cmocka_unit_test(without_the_management_library),
        cmocka_unit_test(what_is_named_is_told_as_it_is),
        cmocka_unit_test(free_memory_is_told_without_a_context),
        cmocka_unit_test(no_driver_or_an_old_one_is_said_with_both_versions),
        cmocka_unit_test(the_runtime_says_which_driver_it_found),
        cmocka_unit_test(links_are_what_the_driver_tells),
        cmocka_unit_test(a_failing_look_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
