/* A host thread for each rank, with streams that run at the call and streams
 * that have threads of their own. */
#include <pthread.h>
#include "selftest_nccl.h"

enum { RANKS = 4, ROUNDS = 60, COUNT = 777 };

struct worker {
    pthread_t thread;
    ncclUniqueId id;
    int rank, blocking;
    int wrong; /* first round whose sum was; 0: none */
    ncclComm_t comm;
};

static void settle(const struct worker *self, ncclResult_t code)
{
    if (self->blocking) {
        OK(code);
        return;
    }
    SAYS(ncclInProgress, code);
    while (async_error(self->comm) == ncclInProgress)
        ;
    OK(async_error(self->comm));
}

static void open_rank(struct worker *self)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;

    config.blocking = self->blocking;
    settle(self, ncclCommInitRankConfig(&self->comm, RANKS, self->id,
                                        self->rank, &config));
}

static int is_right(const float *numbers, int round)
{
    float wanted = (float)(RANKS * round + RANKS * (RANKS - 1) / 2);

    for (int i = 0; i < COUNT; i++)
        if (numbers[i] != wanted)
            return 0;
    return 1;
}

static void *work(void *argument)
{
    struct worker *self = argument;
    cudaStream_t stream;
    float *memory, *host;

    OK(cudaSetDevice(self->rank));
    stream = new_stream();
    memory = device_memory(COUNT * sizeof *memory);
    host = pinned_memory(COUNT * sizeof *host);
    open_rank(self);
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < COUNT; i++)
            host[i] = (float)(round + self->rank);
        OK(cudaMemcpyAsync(memory, host, COUNT * sizeof *host,
                           cudaMemcpyHostToDevice, stream));
        settle(self, ncclAllReduce(memory, memory, COUNT, ncclFloat32, ncclSum,
                                   self->comm, stream));
        OK(cudaMemcpyAsync(host, memory, COUNT * sizeof *host,
                           cudaMemcpyDeviceToHost, stream));
        OK(cudaStreamSynchronize(stream));
        if (!is_right(host, round) && !self->wrong)
            self->wrong = round;
    }
    settle(self, ncclCommFinalize(self->comm));
    OK(ncclCommDestroy(self->comm));
    OK(cudaFree(memory));
    OK(cudaFreeHost(host));
    OK(cudaStreamDestroy(stream));
    return NULL;
}

static void run_workers(const char *words, int blocking)
{
    struct worker workers[RANKS];
    ncclUniqueId id;

    begin(words);
    OK(ncclGetUniqueId(&id));
    memset(workers, 0, sizeof workers);
    for (int r = 0; r < RANKS; r++) {
        workers[r].id = id;
        workers[r].rank = r;
        workers[r].blocking = blocking;
        assert_int_equal(
            pthread_create(&workers[r].thread, NULL, work, &workers[r]), 0);
    }
    for (int r = 0; r < RANKS; r++)
        pthread_join(workers[r].thread, NULL);
    for (int r = 0; r < RANKS; r++)
        if (workers[r].wrong)
            fail_msg("\"%s\": rank %d had a wrong sum in round %d", words, r,
                     workers[r].wrong);
    end();
}

static void test_a_thread_each(void **state)
{
    static const char *const words[] = {
        "machine=twin copies=2", "machine=twin copies=2 run=threads",
        "machine=twin copies=2 run=threads clock=real"
    };

    (void)state;
    for (int i = 0; i < 3; i++)
        for (int blocking = 0; blocking < 2; blocking++)
            run_workers(words[i], blocking);
}

/* ---- abort from elsewhere ------------------------------------------------- */

static void *wait_for(void *stream)
{
    OK(cudaStreamSynchronize(stream));
    return NULL;
}

static void test_abort_frees_a_waiter(void **state)
{
    static const char *const words[] = { "machine=twin",
                                         "machine=twin run=threads" };
    struct ranks ranks;
    pthread_t thread;

    (void)state;
    for (int i = 0; i < 2; i++) {
        begin(words[i]);
        ranks_open(&ranks, 2, 64);
        OK(ncclAllReduce(ranks.send[0], ranks.recv[0], 4, ncclFloat32, ncclSum,
                         ranks.comm[0], ranks.stream[0]));
        assert_int_equal(
            pthread_create(&thread, NULL, wait_for, ranks.stream[0]), 0);
        while (fake_calls("cudaStreamSynchronize") == 0)
            ;
        OK(ncclCommAbort(ranks.comm[0]));
        pthread_join(thread, NULL);
        OK(ncclCommAbort(ranks.comm[1]));
        ranks_free(&ranks);
        end();
    }
}

static void *split_one(void *parent)
{
    ncclComm_t child = parent;

    SAYS(ncclInternalError, ncclCommSplit(parent, 0, 0, &child, NULL));
    assert_null(child);
    return NULL;
}

/* A rank that waits for others in a call is freed as well. */
static void test_abort_frees_a_call(void **state)
{
    struct ranks ranks;
    pthread_t thread;

    (void)state;
    begin("machine=twin");
    ranks_open(&ranks, 2, 64);
    assert_int_equal(pthread_create(&thread, NULL, split_one, ranks.comm[0]),
                     0);
    while (fake_calls("ncclCommSplit") == 0)
        ;
    OK(ncclCommAbort(ranks.comm[0]));
    pthread_join(thread, NULL);
    OK(ncclCommAbort(ranks.comm[1]));
    ranks_free(&ranks);
    end();
}

/* Before, while and after the streams come to it. */
static void test_abort_at_any_time(void **state)
{
    static const char *const words[] = { "machine=twin",
                                         "machine=twin run=threads" };
    struct ranks ranks;

    (void)state;
    for (int i = 0; i < 2; i++) {
        begin(words[i]);
        ranks_open(&ranks, 2, 1 << 20);
        for (int round = 0; round < 50; round++) {
            for (int r = 0; r < 2; r++) {
                OK(cudaSetDevice(r));
                OK(cudaMemsetAsync(ranks.send[r], 0, 1 << 20, ranks.stream[r]));
                OK(ncclAllReduce(ranks.send[r], ranks.recv[r], 1 << 18,
                                 ncclFloat32, ncclSum, ranks.comm[r],
                                 ranks.stream[r]));
            }
            for (int r = 0; r < 2; r++)
                OK(ncclCommAbort(ranks.comm[(round + r) % 2]));
            ranks_finish(&ranks);
            OK(ncclCommInitAll(ranks.comm, 2, NULL));
        }
        ranks_close(&ranks);
        end();
    }
}

/* All of one thread, streams on theirs: groups of several operations. */
static void test_groups(void **state)
{
    struct ranks ranks;

    (void)state;
    begin("machine=twin copies=4 run=threads");
    ranks_open(&ranks, 8, 4096);
    for (int r = 0; r < 8; r++)
        for (int i = 0; i < 1024; i++)
            ((float *)bytes_of(ranks.send[r]))[i] = 1;
    for (int round = 0; round < 20; round++) {
        OK(ncclGroupStart());
        for (int r = 0; r < 8; r++)
            OK(ncclAllReduce(ranks.send[r], ranks.recv[r], 512, ncclFloat32,
                             ncclSum, ranks.comm[r], ranks.stream[r]));
        for (int r = 0; r < 8; r++)
            OK(ncclBroadcast((float *)ranks.recv[r] + 512,
                             (float *)ranks.recv[r] + 512, 512, ncclFloat32, 3,
                             ranks.comm[r], ranks.stream[r]));
        OK(ncclGroupEnd());
    }
    ranks_finish(&ranks);
    for (int r = 0; r < 8; r++)
        assert_true(((float *)bytes_of(ranks.recv[r]))[511] == 8);
    ranks_close(&ranks);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thread_each),
        cmocka_unit_test(test_abort_frees_a_waiter),
        cmocka_unit_test(test_abort_frees_a_call),
        cmocka_unit_test(test_abort_at_any_time),
        cmocka_unit_test(test_groups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
