/* A small program that uses NCCL, run again with each of its calls failing once
 * and from then on: nothing hangs, and an abort leaves nothing behind. */
#include <stdio.h>
#include "selftest_nccl.h"

enum { CALLS_MAX = 400 };

static ncclComm_t comm[2], half[2];
static cudaStream_t stream[2];
static void *memory[2];

static int fails(ncclResult_t code)
{
    return code != ncclSuccess && code != ncclInProgress;
}

static int is_ready(ncclComm_t polled)
{
    ncclResult_t state = ncclInProgress;

    for (int i = 0; i < 100 && state == ncclInProgress; i++)
        if (fails(ncclCommGetAsyncError(polled, &state)))
            return 0;
    return state == ncclSuccess;
}

static int make(int blocking)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;
    int failed = 0;

    config.blocking = blocking;
    if (ncclGetUniqueId(&id) || ncclGroupStart())
        return 0;
    for (int r = 0; r < 2; r++) {
        OK(cudaSetDevice(r));
        failed |= fails(ncclCommInitRankConfig(&comm[r], 2, id, r, &config));
    }
    failed |= fails(ncclGroupEnd());
    return !failed && is_ready(comm[0]) && is_ready(comm[1]);
}

static int split(void)
{
    int failed = 0;

    if (ncclGroupStart())
        return 0;
    for (int r = 0; r < 2; r++)
        failed |= fails(ncclCommSplit(comm[r], 0, 1 - r, &half[r], NULL));
    failed |= fails(ncclGroupEnd());
    return !failed && is_ready(comm[0]) && is_ready(comm[1]);
}

static int sum(ncclComm_t const *which)
{
    ncclRedOp_t op[2] = { ncclSum, ncclSum };
    float weight = 0.5f;
    int failed = 0;

    for (int r = 0; r < 2; r++)
        if (ncclRedOpCreatePreMulSum(&op[r], &weight, ncclFloat32,
                                     ncclScalarHostImmediate, which[r]))
            return 0;
    if (ncclGroupStart())
        return 0;
    for (int r = 0; r < 2; r++)
        failed |= fails(ncclAllReduce(memory[r], memory[r], 16, ncclFloat32,
                                      op[r], which[r], stream[r]));
    failed |= fails(ncclGroupEnd());
    if (failed || !is_ready(which[0]) || !is_ready(which[1]))
        return 0;
    for (int r = 0; r < 2; r++)
        if (ncclRedOpDestroy(op[r], which[r]))
            return 0;
    return 1;
}

static int finalize(ncclComm_t *which)
{
    for (int r = 0; r < 2; r++)
        if (fails(ncclCommFinalize(which[r])) || !is_ready(which[r]))
            return 0;
    for (int r = 0; r < 2; r++) {
        if (ncclCommDestroy(which[r]))
            return 0;
        which[r] = NULL;
    }
    return 1;
}

/* An abort that fails is made again. */
static void abort_all(void)
{
    fake_calm();
    for (int r = 0; r < 2; r++) {
        OK(ncclCommAbort(half[r]));
        OK(ncclCommAbort(comm[r]));
    }
}

static int run(int blocking)
{
    memset(comm, 0, sizeof comm);
    memset(half, 0, sizeof half);
    for (int r = 0; r < 2; r++) {
        OK(cudaSetDevice(r));
        stream[r] = new_stream();
        memory[r] = device_memory(64);
        ((float *)bytes_of(memory[r]))[0] = 3;
    }
    int well = make(blocking) && sum(comm) && split() && sum(half) &&
               finalize(half) && finalize(comm);
    abort_all();
    for (int r = 0; r < 2; r++) {
        OK(cudaStreamSynchronize(stream[r]));
        if (well)
            assert_true(((float *)bytes_of(memory[r]))[0] == 3);
        OK(cudaSetDevice(r));
        OK(cudaFree(memory[r]));
        OK(cudaStreamDestroy(stream[r]));
    }
    return well;
}

static void with(const char *function, int64_t nth, const char *from_then_on,
                 int blocking)
{
    char words[128];
    int well;

    (void)snprintf(words, sizeof words, "machine=twin fail=%.60s:%lld%s",
                   function, (long long)nth, from_then_on);
    begin(words);
    well = run(blocking);
    if (fake_breach() || strcmp(fake_alive(), "") != 0)
        fail_msg("%s: breach %s, alive \"%s\"", words,
                 fake_breach() ? fake_breach() : "none", fake_alive());
    if (well && strcmp(function, "ncclCommAbort") != 0)
        fail_msg("%s: expected it to be seen", words);
}

static void test_each_call(void **state)
{
    static char names[CALLS_MAX][64];
    static int64_t calls[CALLS_MAX];
    const char *name;
    int count, fallible;

    (void)state;
    for (int blocking = 0; blocking < 2; blocking++) {
        begin("machine=twin");
        assert_true(run(blocking));
        end();
        count = 0;
        for (int i = 0; (name = fake_site(i, &calls[count], &fallible)); i++)
            if (strncmp(name, "nccl", 4) == 0 && fallible)
                (void)snprintf(names[count++], sizeof names[0], "%s", name);
        assert_true(count > 8);
        for (int i = 0; i < count; i++)
            for (int64_t n = 1; n <= calls[i]; n++) {
                with(names[i], n, "", blocking);
                with(names[i], n, "-", blocking);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
