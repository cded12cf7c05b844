/* The fake against the facts: drivers, devices, masks, errors, contexts,
 * peers. Numbers are those that real devices gave. */
#include <pthread.h>
#include <stdio.h>
#include "selftest.h"

/* ---- drivers -------------------------------------------------------------- */

static void test_no_driver(void **state)
{
    int count = -7, version = -7;

    (void)state;
    begin("nodriver");
    SAYS(35, cudaGetDeviceCount(&count));
    assert_int_equal(count, -7);
    SAYS(35, cudaGetLastError());
    SAYS(35, cudaGetLastError());
    OK(cudaDriverGetVersion(&version));
    assert_int_equal(version, 0);
    OK(cudaRuntimeGetVersion(&version));
    assert_int_equal(version, CUDART_VERSION);
    SAYS(35, cudaSetDevice(0));
    assert_int_equal(fake_contexts(-1), 0);
    end();
}

static void test_old_driver(void **state)
{
    int count = -7, version = 0;

    (void)state;
    begin("driver=11040");
    SAYS(35, cudaGetDeviceCount(&count));
    assert_int_equal(count, -7);
    OK(cudaDriverGetVersion(&version));
    assert_int_equal(version, 11040);
}

static void test_entry_points(void **state)
{
    enum cudaDriverEntryPointQueryResult found;
    void *function = NULL;

    (void)state;
    begin("");
    OK(cudaGetDriverEntryPointByVersion("cuLibraryLoadData", &function, 12000,
                                        cudaEnableDefault, &found));
    assert_int_equal(found, cudaDriverEntryPointSuccess);
    assert_non_null(function);
    OK(cudaGetDriverEntryPointByVersion("cuLibraryLoadData", &function, 11000,
                                        cudaEnableDefault, &found));
    assert_int_equal(found, cudaDriverEntryPointVersionNotSufficent);
    assert_null(function);
    OK(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &function, 12000,
                                        cudaEnableDefault, &found));
    assert_int_equal(found, cudaDriverEntryPointSymbolNotFound);
    assert_null(function);
}

/* ---- devices -------------------------------------------------------------- */

static void test_devices(void **state)
{
    struct cudaDeviceProp prop;
    char pci[32];
    int count = 0, value = 0;

    (void)state;
    begin("machine=desk");
    OK(cudaGetDeviceCount(&count));
    assert_int_equal(count, 3);
    OK(cudaGetDeviceProperties(&prop, 2));
    assert_string_equal(prop.name, "NVIDIA GeForce GTX 1080 Ti");
    assert_int_equal(prop.major * 10 + prop.minor, 61);
    assert_int_equal(prop.multiProcessorCount, 28);
    assert_true(prop.totalGlobalMem == 11811160064u);
    assert_int_equal((unsigned char)prop.uuid.bytes[0], 0x53);
    assert_int_equal((unsigned char)prop.uuid.bytes[15], 0x1a);
    OK(cudaDeviceGetPCIBusId(pci, sizeof pci, 1));
    assert_string_equal(pci, "0000:04:00.0");
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrKernelExecTimeout, 1));
    assert_int_equal(value, 1);
    SAYS(101,
         cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 3));
    SAYS(101, cudaGetDeviceProperties(&prop, -1));
    OK(cudaDeviceCanAccessPeer(&value, 0, 1));
    assert_int_equal(value, 0);
    assert_int_equal(fake_contexts(-1), 0);
    assert_int_equal(fake_touched(1), 3);
}

static void test_copies_of_devices(void **state)
{
    struct cudaDeviceProp one, other;
    int count = 0;

    (void)state;
    begin("machine=twin copies=4");
    OK(cudaGetDeviceCount(&count));
    assert_int_equal(count, 8);
    OK(cudaGetDeviceProperties(&one, 1));
    OK(cudaGetDeviceProperties(&other, 7));
    assert_string_equal(one.name, other.name);
    assert_memory_not_equal(one.uuid.bytes, other.uuid.bytes, 16);
    assert_int_equal(other.pciDomainID, 3);
    assert_int_equal(other.pciBusID, one.pciBusID);
}

struct mask_row {
    const char *mask, *order;
    int code, count, first; /* first: bus of the first device */
};

/* One of each rule; the whole table stands against the resolver itself. */
static void test_masks(void **state)
{
    static const struct mask_row rows[] = {
        { NULL, NULL, 0, 3, 1 },        { "2,0", NULL, 0, 2, 5 },
        { "", NULL, 100, -7, 0 },       { "-1", NULL, 100, -7, 0 },
        { "1,9,0", NULL, 0, 1, 4 },     { "0,0", NULL, 101, -7, 0 },
        { "GPU-531f", NULL, 0, 1, 5 },  { "gpu-531f", NULL, 100, -7, 0 },
        { "1", "PCI_BUS_ID", 0, 1, 4 }, { "1", "pci_bus_id", 101, -7, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct mask_row *row = &rows[i];
        int count = -7, bus = 0;
        unsetenv("CUDA_DEVICE_ORDER");
        unsetenv("CUDA_VISIBLE_DEVICES");
        if (row->mask)
            setenv("CUDA_VISIBLE_DEVICES", row->mask, 1);
        if (row->order)
            setenv("CUDA_DEVICE_ORDER", row->order, 1);
        begin("machine=desk");
        setenv("CUDA_VISIBLE_DEVICES", "1", 1); /* too late */
        int code = (int)cudaGetDeviceCount(&count);
        if (code == 0)
            OK(cudaDeviceGetAttribute(&bus, cudaDevAttrPciBusId, 0));
        if (code != row->code || count != row->count || bus != row->first)
            fail_msg("mask %s: expected %d, %d devices, bus %d; got %d, %d, %d",
                     row->mask ? row->mask : "(unset)", row->code, row->count,
                     row->first, code, count, bus);
    }
    unsetenv("CUDA_DEVICE_ORDER");
    unsetenv("CUDA_VISIBLE_DEVICES");
}

/* ---- errors --------------------------------------------------------------- */

static void *read_pending(void *out)
{
    *(int *)out = (int)cudaPeekAtLastError();
    return NULL;
}

static void test_pending(void **state)
{
    void *memory = NULL;
    int device = 0, elsewhere = -1;
    pthread_t thread;

    (void)state;
    begin("");
    SAYS(2, cudaMalloc(&memory, (size_t)1 << 50));
    assert_null(memory);
    OK(cudaGetDevice(&device)); /* does not clear */
    SAYS(2, cudaPeekAtLastError());
    assert_int_equal(pthread_create(&thread, NULL, read_pending, &elsewhere),
                     0);
    pthread_join(thread, NULL);
    assert_int_equal(elsewhere, 0);
    SAYS(101, cudaSetDevice(99)); /* overwrites */
    SAYS(101, cudaGetLastError());
    OK(cudaGetLastError());
    OK(cudaMalloc(&memory, 64));
    OK(cudaFree(memory));
    end();
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(cudaGetErrorName(cudaErrorInsufficientDriver),
                        "cudaErrorInsufficientDriver");
    assert_string_equal(cudaGetErrorName(700), "cudaErrorIllegalAddress");
    assert_string_equal(cudaGetErrorString(2), "out of memory");
    assert_string_equal(cudaGetErrorName(12345), "unrecognized error code");
}

/* ---- contexts ------------------------------------------------------------- */

static void test_contexts(void **state)
{
    int device = -1;
    size_t room = 0, total = 0, after = 0;
    void *memory;

    (void)state;
    begin("machine=desk");
    OK(cudaGetDevice(&device));
    assert_int_equal(device, 0);
    assert_int_equal(fake_contexts(-1), 0);
    assert_true(fake_free_bytes(1) == 12079595520);
    OK(cudaSetDevice(1));
    assert_int_equal(fake_contexts(1), 1);
    OK(cudaMemGetInfo(&room, &total));
    assert_true(total == 12884901888u);
    assert_true(room < 12079595520u);
    OK(cudaSetDevice(1));
    OK(cudaFree(NULL));
    assert_int_equal(fake_contexts(-1), 1);
    memory = device_memory(1000);
    OK(cudaMemGetInfo(&after, &total));
    assert_int_equal(room - after, 1024); /* whole grains */
    OK(cudaFree(memory));
    OK(cudaMemGetInfo(&after, &total));
    assert_int_equal(room, after);
    end();
}

static void test_busy(void **state)
{
    int value = -1;

    (void)state;
    begin("machine=desk busy=1");
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrComputeMode, 1));
    assert_int_equal(value, cudaComputeModeExclusiveProcess);
    SAYS(46, cudaSetDevice(1));
    SAYS(46, cudaGetLastError());
    OK(cudaSetDevice(2));
    assert_int_equal(fake_contexts(1), 0);
    assert_int_equal(fake_contexts(2), 1);
}

static void test_tenant(void **state)
{
    void *memory = NULL;

    (void)state;
    begin("machine=twin tenant=0:20GiB");
    assert_true(fake_free_bytes(0) == (int64_t)4 << 30);
    OK(cudaMalloc(&memory, (size_t)3 << 30));
    OK(cudaFree(memory));
    assert_int_equal(fake_plant("tenant=0:22GiB"), 0);
    SAYS(2, cudaMalloc(&memory, (size_t)3 << 30));
    end();
}

/* ---- peers ---------------------------------------------------------------- */

static void test_peers(void **state)
{
    int peer = -1;

    (void)state;
    begin("machine=lab");
    OK(cudaDeviceCanAccessPeer(&peer, 0, 1));
    assert_int_equal(peer, 1);
    OK(cudaDeviceCanAccessPeer(&peer, 0, 2));
    assert_int_equal(peer, 0);
    OK(cudaSetDevice(0));
    OK(cudaDeviceEnablePeerAccess(1, 0));
    SAYS(704, cudaDeviceEnablePeerAccess(1, 0));
    SAYS(704, cudaGetLastError());
    SAYS(217, cudaDeviceEnablePeerAccess(2, 0));
    SAYS(217, cudaDeviceEnablePeerAccess(0, 0));
    OK(cudaDeviceDisablePeerAccess(1));
    SAYS(705, cudaDeviceDisablePeerAccess(1));
    begin("machine=lab peer=refuse:1-0 peer=lie:0-2");
    OK(cudaDeviceCanAccessPeer(&peer, 0, 1));
    assert_int_equal(peer, 0);
    OK(cudaDeviceCanAccessPeer(&peer, 2, 0));
    assert_int_equal(peer, 1);
}

/* 1: what arrived is what was sent. */
static int send(void)
{
    enum { BYTES = 4096 };
    char *host = pinned_memory(BYTES), *back = pinned_memory(BYTES);
    void *one, *other;
    int same;

    for (int i = 0; i < BYTES; i++)
        host[i] = (char)(i * 7);
    OK(cudaSetDevice(1));
    other = device_memory(BYTES);
    OK(cudaSetDevice(0));
    one = device_memory(BYTES);
    OK(cudaMemcpy(one, host, BYTES, cudaMemcpyHostToDevice));
    OK(cudaMemcpyPeerAsync(other, 1, one, 0, BYTES, NULL));
    OK(cudaMemcpy(back, other, BYTES, cudaMemcpyDeviceToHost));
    same = memcmp(host, back, BYTES) == 0;
    OK(cudaFree(one));
    OK(cudaFree(other));
    OK(cudaFreeHost(host));
    OK(cudaFreeHost(back));
    return same;
}

static void test_lying_peers(void **state)
{
    (void)state;
    begin("machine=twin peer=lie:0-1");
    assert_true(send()); /* through the host */
    OK(cudaDeviceEnablePeerAccess(1, 0));
    assert_false(send());
    begin("machine=lab");
    OK(cudaDeviceEnablePeerAccess(1, 0));
    assert_true(send());
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_driver),
        cmocka_unit_test(test_old_driver),
        cmocka_unit_test(test_entry_points),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_copies_of_devices),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_pending),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_contexts),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_tenant),
        cmocka_unit_test(test_peers),
        cmocka_unit_test(test_lying_peers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
