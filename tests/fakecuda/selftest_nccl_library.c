/* NCCL as a program finds it that links none: a library opened by its path,
 * functions looked up one by one, the newer ones missing from older ones. */
#include <dlfcn.h>
#include "selftest_nccl.h"

static void *look(void *library, const char *name)
{
    return dlsym(library, name);
}

static int version_of(void *library)
{
    ncclResult_t (*get)(int *version);
    void *found = look(library, "ncclGetVersion");
    int version = 0;

    assert_non_null(found);
    memcpy(&get, &found, sizeof get);
    OK(get(&version));
    return version;
}

/* One sum of two ranks, with what was looked up alone. */
static void use(void *library)
{
    ncclResult_t (*init)(ncclComm_t * comm, int count, const int *devices);
    ncclResult_t (*sum)(const void *send, void *recv, size_t count,
                        ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                        cudaStream_t stream);
    ncclResult_t (*end_one)(ncclComm_t comm);
    struct ranks ranks = { .count = 2 };
    void *found = look(library, "ncclCommInitAll");

    memcpy(&init, &found, sizeof init);
    found = look(library, "ncclAllReduce");
    memcpy(&sum, &found, sizeof sum);
    found = look(library, "ncclCommDestroy");
    memcpy(&end_one, &found, sizeof end_one);
    OK(init(ranks.comm, 2, NULL));
    for (int r = 0; r < 2; r++) {
        OK(cudaSetDevice(r));
        ranks.stream[r] = new_stream();
        ranks.send[r] = device_memory(8);
        ranks.recv[r] = device_memory(8);
        *(double *)bytes_of(ranks.send[r]) = r + 0.5;
        OK(sum(ranks.send[r], ranks.recv[r], 1, ncclFloat64, ncclSum,
               ranks.comm[r], ranks.stream[r]));
    }
    ranks_finish(&ranks);
    for (int r = 0; r < 2; r++) {
        assert_true(*(double *)bytes_of(ranks.recv[r]) == 2);
        OK(end_one(ranks.comm[r]));
    }
    ranks_free(&ranks);
}

static void *open_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!library)
        fail_msg("%s", dlerror());
    return library;
}

static void test_itself(void **state)
{
    Dl_info self;
    void *library, *function;

    (void)state;
    begin("machine=twin");
    library = NULL;
    function = look(RTLD_DEFAULT, "fake_start");
    assert_true(function && dladdr(function, &self));
    library = open_library(self.dli_fname);
    assert_int_equal(version_of(library), NCCL_VERSION_CODE);
    assert_non_null(look(library, "ncclCommShrink"));
    assert_non_null(look(library, "ncclCommRevoke"));
    assert_non_null(look(library, "pncclAllReduce"));
    use(library);
    assert_int_equal(fake_calls("ncclAllReduce"), 2);
    dlclose(library);
    end();
}

static void expect_old(const char *path, int version, const char *last,
                       const char *first_missing)
{
    void *library;

    begin("machine=twin");
    library = open_library(path);
    assert_int_equal(version_of(library), version);
    if (!look(library, last))
        fail_msg("expected %s in %s", last, path);
    if (look(library, first_missing))
        fail_msg("expected no %s in %s", first_missing, path);
    assert_null(look(library, "cudaMalloc"));
    use(library);
    dlclose(library);
    end();
}

static void test_older_ones(void **state)
{
    (void)state;
    expect_old(FAKE_NCCL_2_18_5, 21805, "ncclCommSplit", "ncclMemAlloc");
    expect_old(FAKE_NCCL_2_18_5, 21805, "ncclRedOpDestroy", "ncclCommShrink");
    expect_old(FAKE_NCCL_2_28_3, 22803, "ncclCommRegister", "ncclCommRevoke");
}

static void test_words_for_people(void **state)
{
    (void)state;
    begin("machine=twin");
    assert_string_equal(ncclGetErrorString(ncclUnhandledCudaError),
                        "unhandled cuda error");
    assert_string_equal(ncclGetErrorString(ncclSuccess), "no error");
    assert_non_null(ncclGetErrorString((ncclResult_t)99));
    SAYS(ncclInvalidArgument, ncclCommInitAll(NULL, 2, NULL));
    assert_non_null(strstr(ncclGetLastError(NULL), "ncclCommInitAll"));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_itself),
        cmocka_unit_test(test_older_ones),
        cmocka_unit_test(test_words_for_people),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
