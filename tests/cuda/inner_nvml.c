/* The management library: what it tells of a GPU, why clocks are low in words,
 * and its absence or another version, which stop nothing (FAULTS F10). */
#include <stdio.h>
#include <string.h>
#include "device/device.h"
#include "looked.h"

static void first_uuid(char out[64], int which)
{
    struct looked own;
    hdp_device device;

    looked_open(&own);
    assert_int_equal(looked_gpu(&device, &own, which), 1);
    (void)snprintf(out, 64, "%s", device.uuid);
    looked_close(&own);
}

static void expect_reason(uint64_t reasons, const char *words)
{
    for (int32_t bit = 0; hdpi_nvml_reason(bit); ++bit)
        if (reasons >> bit & 1 && strstr(hdpi_nvml_reason(bit), words))
            return;
    fail_msg("expected \"%s\" in %llx", words, (unsigned long long)reasons);
}

static void what_it_tells(void **state)
{
    struct hdpi_gpu_state told;
    struct hdpi_nvml *nvml;
    char uuid[64];

    (void)state;
    looked_start("machine=twin tenant=1:8GiB", NULL);
    first_uuid(uuid, 1);
    expect_ok(hdpi_nvml_open(&nvml, getenv("HDP_FAKE_CUDA")));
    assert_string_not_equal(hdpi_nvml_version(nvml)->driver, "");
    assert_non_null(strstr(hdpi_nvml_version(nvml)->path, "libfakecuda"));
    expect_ok(hdpi_nvml_state(&told, nvml, uuid));
    assert_int_equal(told.use_percent, 45);
    assert_int_equal(told.clock_mhz, told.clock_max_mhz);
    assert_int_equal(told.process_count, 1);
    assert_int_equal(told.processes[0].bytes, INT64_C(8) << 30);
    assert_int_equal(told.mig, 0);
    assert_string_equal(hdpi_nvml_compute_mode(told.compute_mode), "default");
    assert_int_equal(told.link_width_max, 16);
    assert_true(told.milliwatts > 0 && told.milliwatts < told.milliwatts_max);
    assert_int_equal(hdpi_nvml_state(&told, nvml, "GPU-of-nobody"),
                     HDP_ERR_UNSUPPORTED);
    hdpi_nvml_close(nvml);
}

static void why_clocks_are_low(void **state)
{
    struct hdpi_gpu_state told;
    struct hdpi_nvml *nvml;
    char uuid[64];

    (void)state;
    looked_start("machine=twin", NULL);
    first_uuid(uuid, 0);
    expect_ok(hdpi_nvml_open(&nvml, NULL)); /* the program's own copy */
    expect_ok(hdpi_nvml_state(&told, nvml, uuid));
    assert_true(told.clock_mhz < told.clock_max_mhz);
    expect_reason(told.reasons, "idle");
    hdpi_nvml_close(nvml);
    expect_reason(0x4, "power limit");
    expect_reason(0x8, "hardware");
    expect_reason(0x20, "heat");
    expect_reason(0x40, "heat");
    expect_reason(0x80, "power brake");
    expect_reason(0x2, "administrator");
    assert_null(hdpi_nvml_reason(9));
    assert_null(hdpi_nvml_reason(-1));
    assert_null(hdpi_nvml_compute_mode(4));
}

/* A member of what is not known is -1, and the rest is told. */
static void what_it_refuses_to_tell(void **state)
{
    static const char *const calls[] = {
        "nvmlDeviceGetUtilizationRates", "nvmlDeviceGetMemoryInfo",
        "nvmlDeviceGetTemperature",      "nvmlDeviceGetPowerUsage",
        "nvmlDeviceGetComputeMode",      "nvmlDeviceGetMigMode",
    };
    struct hdpi_gpu_state told;
    struct hdpi_nvml *nvml;
    char uuid[64], words[96];

    (void)state;
    looked_start("machine=twin", NULL);
    first_uuid(uuid, 0);
    expect_ok(hdpi_nvml_open(&nvml, NULL));
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
        (void)snprintf(words, sizeof words, "fail=%s:1:3", calls[i]);
        assert_int_equal(fake_plant(words), 0);
        expect_ok(hdpi_nvml_state(&told, nvml, uuid));
        const int64_t values[] = { told.use_percent,  told.memory_bytes,
                                   told.celsius,      told.milliwatts,
                                   told.compute_mode, told.mig };
        for (size_t k = 0; k < sizeof calls / sizeof *calls; ++k)
            assert_int_equal(values[k] == -1, k == i);
    }
    hdpi_nvml_close(nvml);
}

static void expect_refused(const char *path, int code, const char *part)
{
    struct hdpi_nvml *nvml = NULL;

    assert_int_equal(hdpi_nvml_open(&nvml, path), HDP_ERR_UNSUPPORTED);
    assert_null(nvml);
    assert_int_equal(hdpi_error()->vendor_code, code);
    if (!strstr(hdp_last_error(), part))
        fail_msg("expected \"%s\", got: %s", part, hdp_last_error());
}

static void f10_absent_or_another(void **state)
{
    struct looked own;
    char text[32768];

    (void)state;
    expect_refused("/no/such/libnvidia-ml.so.1", 0, "/no/such");
    expect_refused("libm.so.6", 0, "nvmlInit_v2");
    looked_start("machine=twin fail=nvmlInit:1-:18", NULL);
    expect_refused(NULL, 18, "18");
    /* all else works, and the reason is told once */
    looked_open(&own);
    assert_int_equal(looked_count(&own), 2);
    expect_ok(hdp_info(HDP_INFO_DEVICES, text, sizeof text, NULL));
    assert_non_null(strstr(text, "\"path\":null"));
    assert_non_null(strstr(text, "NVML error 18"));
    assert_non_null(strstr(text, "\"spec\":\"cuda:1\""));
    looked_close(&own);
}

static void info_of_devices(void **state)
{
    char text[32768], little[16];
    size_t needed = 0;

    (void)state;
    looked_start("machine=twin tenant=1:8GiB busy=0", NULL);
    expect_ok(hdp_info(HDP_INFO_DEVICES, text, sizeof text, &needed));
    assert_int_equal(needed, strlen(text) + 1);
    assert_non_null(strstr(text, "\"low_because\":["));
    assert_non_null(strstr(text, "\"bytes\":8589934592"));
    assert_non_null(strstr(text, "exclusive_process"));
    assert_int_equal(hdp_info(HDP_INFO_DEVICES, little, sizeof little, &needed),
                     HDP_ERR_CAPACITY);
    assert_int_equal(fake_contexts(-1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_tells),
        cmocka_unit_test(why_clocks_are_low),
        cmocka_unit_test(what_it_refuses_to_tell),
        cmocka_unit_test(f10_absent_or_another),
        cmocka_unit_test(info_of_devices),
    };

    return cmocka_run_group_tests_name("nvml", tests, NULL, NULL);
}
