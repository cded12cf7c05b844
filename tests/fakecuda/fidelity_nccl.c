/* Facts that the fake has to share with NCCL itself. Plain C on the runtime and
 * NCCL alone, so that one program says the same of both:
 *   cc fidelity_nccl.c -lnccl -lcudart -lm && NCCL_NVLS_ENABLE=0 ./a.out
 * on a machine with two GPUs; with one it says what one can. Codes of arguments are those of NCCL 2.28.9, sums
 * were computed apart from both; what else differs is for the fake to learn. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

static int facts, differences;

static void fact(const char *name, long expected, long got)
{
    facts++;
    if (expected == got)
        return;
    differences++;
    printf("%s: expected %ld, got %ld\n", name, expected, got);
}

#define GIVES(code, call) fact(#call, code, (long)(call))

enum { COUNT = 1000, BYTES = COUNT * 8 };

static int ranks; /* two, where there are so many GPUs */
static ncclComm_t comm[2];
static cudaStream_t stream[2];
static void *from[2], *to[2];

/* ---- arguments ------------------------------------------------------------ */

static void say_arguments(void)
{
    const int twice[] = { 0, 0 }, absent[] = { 0, 99 };
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclComm_t made[2] = { NULL, NULL };
    ncclUniqueId id;
    int number = -1;

    GIVES(0, ncclGetUniqueId(&id));
    GIVES(5, ncclCommInitAll(made, 2, twice));
    GIVES(1, ncclCommInitAll(made, 2, absent));
    GIVES(4, ncclCommInitRank(made, 2, id, 2));
    GIVES(4, ncclCommInitRank(made, 0, id, 0));
    config.minCTAs = 4;
    config.maxCTAs = 2;
    GIVES(4, ncclCommInitRankConfig(made, 1, id, 0, &config));
    config.magic = 0;
    GIVES(4, ncclCommInitRankConfig(made, 1, id, 0, &config));
    GIVES(0, ncclCommDestroy(NULL));
    GIVES(0, ncclCommAbort(NULL));
    GIVES(4, ncclCommCount(NULL, &number));
    GIVES(5, ncclGroupEnd());
    GIVES(0, ncclGroupStart());
    GIVES(0, ncclGroupEnd());
}

static void say_one_gpu(void)
{
    ncclComm_t made[2] = { NULL, NULL };
    ncclUniqueId id;

    GIVES(0, ncclGetUniqueId(&id));
    GIVES(0, cudaSetDevice(0));
    GIVES(0, ncclGroupStart());
    GIVES(0, ncclCommInitRank(&made[0], 2, id, 0));
    GIVES(0, ncclCommInitRank(&made[1], 2, id, 1));
    GIVES(5, ncclGroupEnd());
    printf("two ranks on one GPU leave %s\n", made[0] ? "handles" : "NULL");
}

static ncclResult_t sum(int rank, size_t count, ncclDataType_t type,
                        ncclRedOp_t op)
{
    return ncclAllReduce(from[rank], to[rank], count, type, op, comm[rank],
                         stream[rank]);
}

static ncclResult_t sum_all(size_t count, ncclDataType_t type, ncclRedOp_t op)
{
    ncclGroupStart();
    for (int r = 0; r < ranks; r++)
        sum(r, count, type, op);
    return ncclGroupEnd();
}

static void finish(void)
{
    for (int r = 0; r < ranks; r++)
        GIVES(0, cudaStreamSynchronize(stream[r]));
}

static void say_calls(void)
{
    ncclResult_t state = ncclNumResults;
    int last = ranks - 1;

    GIVES(0, ncclAllReduce(NULL, NULL, 0, ncclFloat32, ncclSum, comm[0],
                           stream[0]));
    GIVES(0, cudaStreamQuery(stream[0]));
    GIVES(4, sum(0, 1, (ncclDataType_t)77, ncclSum));
    GIVES(4, sum(0, 1, ncclFloat32, (ncclRedOp_t)77777));
    GIVES(4,
          ncclBroadcast(from[0], to[0], 1, ncclFloat32, 2, comm[0], stream[0]));
    GIVES(0, ncclGroupStart()); /* one failure is the group's */
    GIVES(0, sum(0, 1, ncclFloat32, ncclSum));
    GIVES(4, ncclBroadcast(from[last], to[last], 1, ncclFloat32, 2, comm[last],
                           stream[last]));
    GIVES(4, ncclGroupEnd());
    GIVES(0, cudaStreamQuery(stream[0]));
    GIVES(0, ncclCommGetAsyncError(comm[0], &state));
    fact("a state after a failing group", 0, state);
    GIVES(0, sum_all(1, ncclFloat32, ncclSum));
    finish();
}

/* ---- numbers -------------------------------------------------------------- */

static uint64_t host[COUNT], result[COUNT];

/* Bits of numbers between 1/8 and 8 of both signs, of any float type. */
static uint64_t bits_of(ncclDataType_t type, uint64_t i)
{
    i = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    i = (i ^ i >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    i ^= i >> 32;
    switch ((int)type) {
    case ncclFloat16:
        return (i & 0x83ff) | (12 + (i >> 20) % 6) << 10;
    case ncclBfloat16:
        return (i & 0x807f) | (124 + (i >> 20) % 6) << 7;
    case ncclFloat32:
        return (i & 0x807fffff) | (124 + (i >> 40) % 6) << 23;
    default:
        return (i & UINT64_C(0x800fffffffffffff)) | (1020 + (i >> 53) % 6)
                                                        << 52;
    }
}

static size_t size_of(ncclDataType_t type)
{
    return type == ncclFloat16 || type == ncclBfloat16 ? 2
           : type == ncclFloat32                       ? 4
                                                       : 8;
}

static void give_numbers(ncclDataType_t type)
{
    size_t size = size_of(type);

    for (int r = 0; r < 2; r++) {
        for (size_t i = 0; i < COUNT; i++) {
            uint64_t bits = bits_of(type, 2 * i + (size_t)r);
            memcpy((char *)host + i * size, &bits, size);
        }
        GIVES(0,
              cudaMemcpy(from[r], host, COUNT * size, cudaMemcpyHostToDevice));
    }
}

/* Of all bits of the result on rank 1. */
static unsigned hash_of(ncclDataType_t type)
{
    size_t bytes = COUNT * size_of(type);
    unsigned hash = 2166136261u;

    finish();
    GIVES(0, cudaMemcpy(result, to[1], bytes, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ ((unsigned char *)result)[i]) * 16777619u;
    return hash;
}

static void say_sums(void)
{
    static const struct {
        ncclDataType_t type;
        ncclRedOp_t op;
        unsigned hash;
    } sums[] = {
        { ncclBfloat16, ncclSum, 3639378852u },
        { ncclBfloat16, ncclProd, 1446530002u },
        { ncclBfloat16, ncclAvg, 426995077u },
        { ncclBfloat16, ncclMax, 758559883u },
        { ncclFloat16, ncclSum, 2210601072u },
        { ncclFloat16, ncclProd, 1015209314u },
        { ncclFloat16, ncclAvg, 3064502248u },
        { ncclFloat16, ncclMin, 147649772u },
        { ncclFloat32, ncclSum, 136246174u },
        { ncclFloat32, ncclProd, 1005472115u },
        { ncclFloat64, ncclSum, 1008693730u },
        { ncclFloat64, ncclProd, 3361806135u },
    };
    char name[64];

    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
        give_numbers(sums[i].type);
        GIVES(0, sum_all(COUNT, sums[i].type, sums[i].op));
        (void)snprintf(name, sizeof name, "type %d, operator %d",
                       (int)sums[i].type, (int)sums[i].op);
        fact(name, sums[i].hash, hash_of(sums[i].type));
    }
}

static void say_weights(void)
{
    static const ncclDataType_t types[] = { ncclBfloat16, ncclFloat16,
                                            ncclFloat32, ncclFloat64 };
    static const uint64_t weights[4][2] = {
        { 0x3f2a, 0x3eab }, /* 0.664, 0.334 */
        { 0x3952, 0x3557 },
        { 0x3f2aaaab, 0x3eaaaaab },
        { UINT64_C(0x3fe5555555555555), UINT64_C(0x3fd5555555555555) }
    };
    static const unsigned hashes[4] = { 1333054124u, 1420832182u, 1540405593u,
                                        3071500008u };
    ncclRedOp_t op[2];
    char name[64];

    for (int t = 0; t < 4; t++) {
        give_numbers(types[t]);
        for (int r = 0; r < 2; r++) {
            uint64_t weight = weights[t][r];
            GIVES(0,
                  ncclRedOpCreatePreMulSum(&op[r], &weight, types[t],
                                           ncclScalarHostImmediate, comm[r]));
        }
        GIVES(0, ncclGroupStart());
        for (int r = 0; r < 2; r++) {
            GIVES(0, sum(r, COUNT, types[t], op[r]));
            GIVES(0, ncclRedOpDestroy(op[r], comm[r])); /* not needed more */
        }
        GIVES(0, ncclGroupEnd());
        (void)snprintf(name, sizeof name, "weights in type %d", (int)types[t]);
        fact(name, hashes[t], hash_of(types[t]));
    }
}

static void say_integers(void)
{
    static const int32_t ours[2] = { -5, -4 };
    int32_t got = 0;

    for (int r = 0; r < 2; r++)
        GIVES(0, cudaMemcpy(from[r], &ours[r], 4, cudaMemcpyHostToDevice));
    GIVES(0, sum_all(1, ncclInt32, ncclAvg));
    finish();
    GIVES(0, cudaMemcpy(&got, to[0], 4, cudaMemcpyDeviceToHost));
    fact("the average of -5 and -4", -4, got);
    GIVES(0, sum_all(4, ncclUint8, ncclSum)); /* FB FF FF FF + FC FF FF FF */
    finish();
    GIVES(0, cudaMemcpy(&got, to[0], 4, cudaMemcpyDeviceToHost));
    fact("a sum of bytes", (int32_t)0xFEFEFEF7, got);
}

/* ---- polling -------------------------------------------------------------- */

/* Until it is something else than in progress; ten seconds at most. */
static int poll(ncclComm_t polled)
{
    struct timespec moment = { 0, 1000000 };
    ncclResult_t state = ncclInProgress;

    for (int i = 0; i < 10000 && state == ncclInProgress; i++) {
        if (ncclCommGetAsyncError(polled, &state) != ncclSuccess)
            return -1;
        if (state == ncclInProgress)
            nanosleep(&moment, NULL);
    }
    return (int)state;
}

static void poll_all(void)
{
    for (int r = 0; r < ranks; r++)
        fact("polled", 0, poll(comm[r]));
}

static void say_polling(void)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclComm_t child[2] = { NULL, NULL };
    ncclUniqueId id;

    config.blocking = 0;
    GIVES(0, ncclGetUniqueId(&id));
    GIVES(0, ncclGroupStart());
    for (int r = 0; r < ranks; r++) {
        GIVES(0, cudaSetDevice(r));
        fact("in a group", 0,
             ncclCommInitRankConfig(&comm[r], ranks, id, r, &config));
    }
    GIVES(7, ncclGroupEnd());
    poll_all();
    GIVES(7, sum_all(1, ncclFloat32, ncclSum));
    poll_all();
    finish();
    GIVES(0, ncclGroupStart());
    for (int r = 0; r < ranks; r++)
        fact("a split in a group", 0,
             ncclCommSplit(comm[r], 0, r, &child[r], NULL));
    GIVES(7, ncclGroupEnd());
    poll_all();
    for (int r = 0; r < ranks; r++) {
        fact("a child", 1, child[r] != NULL);
        if (child[r]) {
            fact("polled, a child", 0, poll(child[r]));
            GIVES(0, ncclCommAbort(child[r]));
        }
        GIVES(7, ncclCommFinalize(comm[r]));
    }
    poll_all();
    for (int r = 0; r < ranks; r++)
        GIVES(0, ncclCommDestroy(comm[r]));
}

/* ---- the end -------------------------------------------------------------- */

static void say_shrinking(void)
{
    int without[] = { 1 }, number = -1;
    struct timespec moment = { 0, 100000000 };
    ncclComm_t child = NULL;
    ncclResult_t state = ncclNumResults;

    GIVES(4, ncclCommSplit(comm[0], -2, 0, &child, NULL));
    GIVES(0, sum(0, 1, ncclFloat32, ncclSum)); /* nobody else comes */
    nanosleep(&moment, NULL);
    GIVES(600, cudaStreamQuery(stream[0]));
    GIVES(0, ncclCommGetAsyncError(comm[0], &state));
    fact("a state while a peer is missing", 0, state);
    GIVES(0,
          ncclCommShrink(comm[0], without, 1, &child, NULL, NCCL_SHRINK_ABORT));
    GIVES(0, cudaStreamSynchronize(stream[0]));
    GIVES(0, ncclCommCount(child, &number));
    fact("ranks left", 1, number);
    GIVES(0, ncclCommDestroy(child));
    GIVES(0, ncclCommAbort(comm[0]));
    GIVES(0, ncclCommAbort(comm[1]));
    GIVES(0, ncclCommInitAll(comm, 2, NULL));
    GIVES(0, sum(1, 1, ncclFloat32, ncclSum));
    nanosleep(&moment, NULL);
    GIVES(600, cudaStreamQuery(stream[1]));
    GIVES(0, ncclCommAbort(comm[1]));
    GIVES(0, cudaStreamSynchronize(stream[1]));
    GIVES(0, ncclCommAbort(comm[0]));
}

int main(void)
{
    GIVES(0, cudaGetDeviceCount(&ranks));
    ranks = ranks > 2 ? 2 : ranks;
    for (int r = 0; r < ranks; r++) {
        GIVES(0, cudaSetDevice(r));
        GIVES(0, cudaStreamCreateWithFlags(&stream[r], cudaStreamNonBlocking));
        GIVES(0, cudaMalloc(&from[r], BYTES));
        GIVES(0, cudaMalloc(&to[r], BYTES));
        GIVES(0, cudaMemsetAsync(from[r], 0, BYTES, stream[r]));
    }
    say_arguments();
    say_one_gpu();
    GIVES(0, ncclCommInitAll(comm, ranks, NULL));
    say_calls();
    if (ranks == 2) {
        say_sums();
        say_weights();
        say_integers();
        say_shrinking();
    } else {
        GIVES(0, ncclCommFinalize(comm[0]));
        GIVES(0, ncclCommDestroy(comm[0]));
    }
    say_polling();
    printf("%d facts, %d differences\n", facts, differences);
    return differences > 0;
}
