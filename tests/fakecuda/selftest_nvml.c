/* The fake management library: what it says of the described machine. */
#include "selftest.h"
#include <stdlib.h>
#include <unistd.h>
#include "fake_nvml.h"

static nvmlDevice_t by_index(unsigned i)
{
    nvmlDevice_t device = NULL;

    OK(nvmlDeviceGetHandleByIndex_v2(i, &device));
    return device;
}

static void test_identity(void **state)
{
    nvmlDevice_t device = NULL;
    nvmlPciInfo_t pci;
    char text[96];
    unsigned count = 0;

    (void)state;
    begin("machine=desk");
    SAYS(NVML_ERROR_UNINITIALIZED, nvmlDeviceGetCount_v2(&count));
    OK(nvmlInit_v2());
    OK(nvmlDeviceGetCount_v2(&count));
    assert_int_equal(count, 3);
    OK(nvmlDeviceGetHandleByUUID("GPU-1c04351d-a6a1-4ad9-af74-efd6404e5c7d",
                                 &device));
    assert_ptr_equal(device, by_index(1));
    OK(nvmlDeviceGetName(device, text, sizeof text));
    assert_string_equal(text, "NVIDIA GeForce RTX 4070 Ti");
    SAYS(NVML_ERROR_INSUFFICIENT_SIZE, nvmlDeviceGetName(device, text, 4));
    OK(nvmlDeviceGetUUID(device, text, sizeof text));
    assert_string_equal(text, "GPU-1c04351d-a6a1-4ad9-af74-efd6404e5c7d");
    OK(nvmlDeviceGetPciInfo_v3(device, &pci));
    assert_int_equal(pci.bus, 4);
    assert_string_equal(pci.busId, "00000000:04:00.0");
    SAYS(NVML_ERROR_NOT_FOUND, nvmlDeviceGetHandleByUUID("GPU-0", &device));
    SAYS(NVML_ERROR_INVALID_ARGUMENT,
         nvmlDeviceGetHandleByIndex_v2(3, &device));
    OK(nvmlShutdown());
    SAYS(NVML_ERROR_UNINITIALIZED, nvmlShutdown());
    assert_int_equal(fake_contexts(-1), 0);
    end();
}

/* It knows no mask, and works where CUDA does not. */
static void test_all_devices(void **state)
{
    unsigned count = 0;
    int seen = -1;

    (void)state;
    setenv("CUDA_VISIBLE_DEVICES", "2", 1);
    begin("machine=desk");
    unsetenv("CUDA_VISIBLE_DEVICES");
    OK(cudaGetDeviceCount(&seen));
    assert_int_equal(seen, 1);
    OK(nvmlInit_v2());
    OK(nvmlDeviceGetCount_v2(&count));
    assert_int_equal(count, 3);
    OK(nvmlShutdown());
    begin("machine=desk nodriver");
    SAYS(NVML_ERROR_DRIVER_NOT_LOADED, nvmlInit_v2());
    assert_string_equal(nvmlErrorString(NVML_ERROR_DRIVER_NOT_LOADED),
                        "Driver Not Loaded");
    assert_string_equal(nvmlErrorString(777), "Unknown Error");
}

static void test_others(void **state)
{
    nvmlProcessInfo_t processes[4];
    nvmlUtilization_t use;
    nvmlMemory_t memory;
    unsigned count = 0;
    int mode = -1;

    (void)state;
    begin("machine=twin busy=0 tenant=1:8GiB");
    OK(nvmlInit_v2());
    OK(nvmlDeviceGetComputeMode(by_index(0), &mode));
    assert_int_equal(mode, NVML_COMPUTEMODE_EXCLUSIVE_PROCESS);
    OK(nvmlDeviceGetUtilizationRates(by_index(0), &use));
    assert_true(use.gpu > 90);
    OK(nvmlDeviceGetComputeMode(by_index(1), &mode));
    assert_int_equal(mode, NVML_COMPUTEMODE_DEFAULT);
    OK(nvmlDeviceGetMemoryInfo(by_index(1), &memory));
    assert_true(memory.total == 25769803776u);
    assert_true(memory.used == 8ull << 30);
    assert_true(memory.free == memory.total - memory.used);
    SAYS(NVML_ERROR_INSUFFICIENT_SIZE,
         nvmlDeviceGetComputeRunningProcesses_v3(by_index(1), &count, NULL));
    assert_int_equal(count, 1);
    OK(nvmlDeviceGetComputeRunningProcesses_v3(by_index(1), &count, processes));
    assert_true(processes[0].usedGpuMemory == 8ull << 30);
    assert_true(processes[0].pid != (unsigned)getpid());
    OK(cudaSetDevice(1));
    count = 4;
    OK(nvmlDeviceGetComputeRunningProcesses_v3(by_index(1), &count, processes));
    assert_int_equal(count, 2);
    assert_int_equal(processes[0].pid, getpid());
    OK(nvmlShutdown());
    end();
}

static void test_nobody(void **state)
{
    nvmlUtilization_t use;
    unsigned long long reasons = 0;
    unsigned count = 0, most = 0, now = 0;

    (void)state;
    begin("machine=twin");
    OK(nvmlInit_v2());
    OK(nvmlDeviceGetComputeRunningProcesses_v3(by_index(0), &count, NULL));
    assert_int_equal(count, 0);
    OK(nvmlDeviceGetUtilizationRates(by_index(0), &use));
    assert_int_equal(use.gpu, 0);
    OK(nvmlDeviceGetMaxClockInfo(by_index(0), NVML_CLOCK_SM, &most));
    OK(nvmlDeviceGetClockInfo(by_index(0), NVML_CLOCK_SM, &now));
    assert_true(now < most);
    OK(nvmlDeviceGetCurrentClocksEventReasons(by_index(0), &reasons));
    assert_true(reasons == NVML_REASON_IDLE);
    SAYS(NVML_ERROR_INVALID_ARGUMENT,
         nvmlDeviceGetClockInfo(by_index(0), 17, &now));
    OK(nvmlShutdown());
    end();
}

/* A slow slot, a display, a MIG slice. */
static void test_traits(void **state)
{
    unsigned lanes = 0, most = 0, current = 9, pending = 9;
    nvmlDevice_t device = NULL;
    int active = -1;

    (void)state;
    begin("machine=desk");
    OK(nvmlInit_v2());
    OK(nvmlDeviceGetCurrPcieLinkWidth(by_index(0), &lanes));
    assert_int_equal(lanes, 16);
    OK(nvmlDeviceGetCurrPcieLinkWidth(by_index(1), &lanes));
    OK(nvmlDeviceGetMaxPcieLinkWidth(by_index(1), &most));
    assert_int_equal(lanes, 4);
    assert_int_equal(most, 16);
    OK(nvmlDeviceGetDisplayActive(by_index(0), &active));
    assert_int_equal(active, 0);
    OK(nvmlDeviceGetDisplayActive(by_index(1), &active));
    assert_int_equal(active, 1);
    SAYS(NVML_ERROR_NOT_SUPPORTED,
         nvmlDeviceGetMigMode(by_index(2), &current, &pending));
    begin("machine=lab");
    OK(nvmlInit_v2());
    OK(nvmlDeviceGetHandleByUUID("MIG-99a86088-ab50-4aa2-ab8f-47bf97ef6903",
                                 &device));
    OK(nvmlDeviceGetMigMode(device, &current, &pending));
    assert_int_equal(current, 1);
    OK(nvmlDeviceGetMigMode(by_index(1), &current, &pending));
    assert_int_equal(current, 0);
    OK(nvmlShutdown());
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity), cmocka_unit_test(test_all_devices),
        cmocka_unit_test(test_others),   cmocka_unit_test(test_nobody),
        cmocka_unit_test(test_traits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
