/* Who may use a device at all, and devices that are cut: compute modes, MIG
 * instances, what a mask leaves of them. */
#include <stdio.h>
#include "fake_nvml.h"
#include "selftest.h"

/* ---- compute modes -------------------------------------------------------- */

static void expect_mode(int device, int runtime, int management)
{
    nvmlDevice_t handle;
    int mode = -1;

    OK(cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, device));
    assert_int_equal(mode, runtime);
    OK(nvmlInit_v2());
    OK(nvmlDeviceGetHandleByIndex_v2((unsigned)device, &handle));
    OK(nvmlDeviceGetComputeMode(handle, &mode));
    assert_int_equal(mode, management);
    OK(nvmlShutdown());
}

static void test_prohibited(void **state)
{
    CUcontext context;

    (void)state;
    begin("machine=lab mode=1:prohibited");
    expect_mode(0, cudaComputeModeDefault, NVML_COMPUTEMODE_DEFAULT);
    expect_mode(1, cudaComputeModeProhibited, NVML_COMPUTEMODE_PROHIBITED);
    assert_int_equal(fake_refused(-1), 0);
    SAYS(cudaErrorDevicesUnavailable, cudaSetDevice(1));
    SAYS(CUDA_ERROR_DEVICE_UNAVAILABLE, cuDevicePrimaryCtxRetain(&context, 1));
    assert_int_equal(fake_refused(1), 2);
    assert_int_equal(fake_contexts(1), 0);
    SAYS(cudaErrorDevicesUnavailable, cudaGetLastError());
    OK(cudaSetDevice(0));
    OK(cudaFree(device_memory(64)));
    end();
}

static void test_exclusive(void **state)
{
    (void)state;
    begin("machine=lab mode=1:exclusive mode=0:default");
    expect_mode(1, cudaComputeModeExclusiveProcess,
                NVML_COMPUTEMODE_EXCLUSIVE_PROCESS);
    OK(cudaSetDevice(1));
    OK(cudaFree(device_memory(64)));
    assert_int_equal(fake_contexts(1), 1);
    end();
    begin("machine=lab mode=1:exclusive busy=1");
    SAYS(cudaErrorDevicesUnavailable, cudaSetDevice(1));
    assert_int_equal(fake_refused(1), 1);
    begin("machine=lab");
    assert_int_equal(fake_plant("busy=1"), 0);
    expect_mode(1, cudaComputeModeExclusiveProcess,
                NVML_COMPUTEMODE_EXCLUSIVE_PROCESS);
}

/* ---- instances ------------------------------------------------------------ */

/* "lab": an A100, an H100, and a slice that the file has. */
static const char *const cut = "machine=lab mig=0:2+3";
static const char *const first = "MIG-01fd8a00-83b0-412b-a0b3-7c6c71274861";
static const char *const second = "MIG-02fd8a00-83b0-412b-a0b3-7c6c71274861";

static void expect_shown(const char *words, const char *mask, int count,
                         const char *name)
{
    struct cudaDeviceProp found;
    int got = -1;

    if (mask)
        setenv("CUDA_VISIBLE_DEVICES", mask, 1);
    else
        unsetenv("CUDA_VISIBLE_DEVICES");
    begin(words);
    unsetenv("CUDA_VISIBLE_DEVICES");
    if (count == 0) {
        SAYS(cudaErrorNoDevice, cudaGetDeviceCount(&got));
        return;
    }
    OK(cudaGetDeviceCount(&got));
    if (got != count)
        fail_msg("mask %s: expected %d devices, got %d",
                 mask ? mask : "(unset)", count, got);
    OK(cudaGetDeviceProperties(&found, 0));
    assert_string_equal(found.name, name);
}

static void test_one_instance_a_process(void **state)
{
    const char *two = "NVIDIA A100-SXM4-80GB MIG 2g.20gb";
    const char *three = "NVIDIA A100-SXM4-80GB MIG 3g.40gb";
    const char *h100 = "NVIDIA H100 80GB HBM3";
    char both[128];

    (void)state;
    expect_shown(cut, NULL, 1, two);
    expect_shown(cut, "0", 1, two);
    expect_shown(cut, "1", 1, h100);
    expect_shown(cut, "1,2", 2, h100);
    expect_shown(cut, "1,0", 1, two);
    expect_shown(cut, "3", 0, NULL); /* no number leads to the second one */
    expect_shown(cut, first, 1, two);
    expect_shown(cut, second, 1, three);
    expect_shown(cut, "MIG-02", 1, three);
    expect_shown(cut, "MIG-03", 0, NULL);
    (void)snprintf(both, sizeof both, "%s,%s", second, first);
    expect_shown(cut, both, 1, three);
    expect_shown("machine=lab mig=0:none", NULL, 2, h100);
    expect_shown("machine=lab mig=0:none", "0", 1, h100);
}

static void test_an_instance_is_small(void **state)
{
    struct cudaDeviceProp found;
    size_t free_bytes = 0, total = 0;

    (void)state;
    expect_shown(cut, second, 1, "NVIDIA A100-SXM4-80GB MIG 3g.40gb");
    OK(cudaGetDeviceProperties(&found, 0));
    assert_int_equal(found.multiProcessorCount, 42);
    assert_int_equal(found.uuid.bytes[0], 2);
    OK(cudaMemGetInfo(&free_bytes, &total));
    assert_true(total == (size_t)40 << 30);
    assert_true(free_bytes <= total);
    assert_int_equal(fake_contexts(-1), 1);
    assert_int_equal(fake_contexts(0), 0);
    end();
}

/* The lab has three devices, so the first instance is number 3. */
static void test_instances_of_others(void **state)
{
    size_t before = 0, after = 0, total = 0;

    (void)state;
    expect_shown("machine=lab mig=0:2+3 busy=3", NULL, 1,
                 "NVIDIA A100-SXM4-80GB MIG 2g.20gb");
    SAYS(cudaErrorDevicesUnavailable, cudaSetDevice(0));
    assert_int_equal(fake_refused(3), 1);
    expect_shown("machine=lab mig=0:2+3 tenant=3:8GiB", NULL, 1,
                 "NVIDIA A100-SXM4-80GB MIG 2g.20gb");
    OK(cudaMemGetInfo(&before, &total));
    assert_true(before <= total - ((size_t)8 << 30));

    expect_shown(cut, NULL, 1, "NVIDIA A100-SXM4-80GB MIG 2g.20gb");
    OK(cudaMemGetInfo(&before, &total));
    assert_int_equal(fake_plant("tenant=3:8GiB"), 0);
    OK(cudaMemGetInfo(&after, &total));
    assert_true(before - after == (size_t)8 << 30);
    end();
    expect_shown(cut, NULL, 1, "NVIDIA A100-SXM4-80GB MIG 2g.20gb");
    assert_int_equal(fake_plant("busy=4"), 0); /* another instance */
    assert_int_equal(fake_plant("busy=3"), 0);
    SAYS(cudaErrorDevicesUnavailable, cudaSetDevice(0));
    assert_int_equal(fake_refused(4), 0);
}

static void test_management_of_instances(void **state)
{
    unsigned count = 0, current = 9, pending = 9;
    nvmlDevice_t whole, instance;
    nvmlUtilization_t use;
    nvmlMemory_t memory;
    char text[96];

    (void)state;
    begin("machine=lab mig=0:2+3 mode=0:exclusive");
    OK(nvmlInit_v2());
    OK(nvmlDeviceGetCount_v2(&count));
    assert_int_equal(count, 3); /* whole ones alone have a number */
    SAYS(NVML_ERROR_INVALID_ARGUMENT,
         nvmlDeviceGetHandleByIndex_v2(3, &instance));
    OK(nvmlDeviceGetHandleByIndex_v2(0, &whole));
    OK(nvmlDeviceGetMigMode(whole, &current, &pending));
    assert_int_equal(current, 1);
    SAYS(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceGetUtilizationRates(whole, &use));
    OK(nvmlDeviceGetHandleByUUID(second, &instance));
    OK(nvmlDeviceGetName(instance, text, sizeof text));
    assert_string_equal(text, "NVIDIA A100-SXM4-80GB MIG 3g.40gb");
    OK(nvmlDeviceGetMemoryInfo(instance, &memory));
    assert_true(memory.total == (unsigned long long)40 << 30);
    SAYS(NVML_ERROR_NOT_SUPPORTED,
         nvmlDeviceGetUtilizationRates(instance, &use));
    OK(nvmlDeviceGetComputeMode(instance, &(int){ -1 }));
    OK(nvmlShutdown());
    end();
}

static void test_wrong_words(void **state)
{
    static const char *const wrong[] = {
        "mode=1",
        "mode=1:closed",
        "mode=64:default",
        "mig=0",
        "mig=0:",
        "mig=0:5",
        "mig=0:4+4",
        "mig=0:2+",
        "mig=0:1g",
        "mig=9:1",
        "mig=0:0",
        "machine=lab mig=2:1",
        "machine=desk mig=2:1",
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (fake_start(wrong[i]) == 0)
            fail_msg("\"%s\" was taken", wrong[i]);
    begin("machine=lab mig=0:7 mig=1:1+1+1+1+1+1+1");
    assert_int_equal(fake_plant("mig=0:1"), -1);
    assert_int_equal(fake_plant("mode=0:default"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prohibited),
        cmocka_unit_test(test_exclusive),
        cmocka_unit_test(test_one_instance_a_process),
        cmocka_unit_test(test_an_instance_is_small),
        cmocka_unit_test(test_instances_of_others),
        cmocka_unit_test(test_management_of_instances),
        cmocka_unit_test(test_wrong_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
