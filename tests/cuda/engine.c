/* An inference engine with threads, streams and cuBLAS handles of its own, which
 * takes from the library shares and a queue (client program (d)): it runs whole,
 * and nothing of the library stays on its devices. */
#include <dlfcn.h>
#include <pthread.h>
#include <cublas_v2.h>
#include "measured.h"
/* as it stands: its program would have a header of its own */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "abi/clients/d_engine.c"
#pragma GCC diagnostic pop

/* Requests of milliseconds: fixed costs, and the time that placing takes, are
 * nothing beside them. */
enum {
    REPLICAS = 3,
    REQUESTS = 60,
    TOKENS = 8192,
    WIDTH = 8192,
    TOTAL = 100000
};

/* The program names no cuBLAS: the usual search finds the fake's. */
__attribute__((visibility("default"))) void *dlopen(const char *file,
                                                    int flags);

void *dlopen(const char *file, int flags)
{
    void *(*next)(const char *, int);
    void *symbol = dlsym(RTLD_NEXT, "dlopen");

    memcpy(&next, &symbol, sizeof next);
    if (file && strstr(file, "libcublas"))
        file = getenv("HDP_FAKE_CUDA");
    return next(file, flags);
}

/* ---- the engine ------------------------------------------------------------ */

struct replica {
    int32_t index;
    int64_t first, rows; /* of the big batch */
    int count;
    uint64_t tickets[REQUESTS];
    int64_t tokens[REQUESTS];
};

static struct replica replicas[REPLICAS];

void engine_set_rows(int32_t replica, int64_t first, int64_t rows)
{
    replicas[replica].first = first;
    replicas[replica].rows = rows;
}

void engine_enqueue(int32_t replica, const Request *r, uint64_t ticket)
{
    struct replica *own = &replicas[replica];

    own->tokens[own->count] = r->tokens;
    own->tickets[own->count++] = ticket;
}

/* One request on the replica's own stream and handle. */
static void serve(cublasHandle_t handle, cudaStream_t stream, void *memory,
                  int64_t tokens, uint64_t ticket)
{
    static const float one = 1, zero = 0;
    cudaEvent_t begin, end;
    float ms = 0;

    expect_number(cudaSuccess,
                  cudaEventCreateWithFlags(&begin, cudaEventDefault), "begin");
    expect_number(cudaSuccess, cudaEventCreateWithFlags(&end, cudaEventDefault),
                  "end");
    expect_number(cudaSuccess, cudaEventRecord(begin, stream), "record");
    expect_number(CUBLAS_STATUS_SUCCESS,
                  cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, WIDTH,
                               (int)tokens, WIDTH, &one, memory, CUDA_R_16BF,
                               WIDTH, memory, CUDA_R_16BF, WIDTH, &zero, memory,
                               CUDA_R_16BF, WIDTH, CUBLAS_COMPUTE_32F,
                               CUBLAS_GEMM_DEFAULT),
                  "product");
    expect_number(cudaSuccess, cudaEventRecord(end, stream), "record");
    expect_number(cudaSuccess, cudaEventSynchronize(end), "wait");
    expect_number(cudaSuccess, cudaEventElapsedTime(&ms, begin, end), "time");
    expect_number(cudaSuccess, cudaEventDestroy(begin), "begin");
    expect_number(cudaSuccess, cudaEventDestroy(end), "end");
    engine_finished(ticket, (int64_t)((double)ms * 1e6));
}

static void *replica_main(void *arg)
{
    struct replica *own = arg;
    cublasHandle_t handle;
    cudaStream_t stream;
    void *memory;

    expect_number(cudaSuccess, cudaSetDevice(own->index), "device");
    expect_number(cudaSuccess,
                  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                  "stream");
    expect_number(cudaSuccess, cudaMalloc(&memory, (size_t)TOKENS * WIDTH * 2),
                  "memory");
    expect_number(CUBLAS_STATUS_SUCCESS, cublasCreate(&handle), "handle");
    expect_number(CUBLAS_STATUS_SUCCESS, cublasSetStream(handle, stream),
                  "stream of the handle");
    for (int i = 0; i < own->count; ++i)
        serve(handle, stream, memory, own->tokens[i], own->tickets[i]);
    expect_number(CUBLAS_STATUS_SUCCESS, cublasDestroy(handle), "handle");
    expect_number(cudaSuccess, cudaFree(memory), "memory");
    expect_number(cudaSuccess, cudaStreamDestroy(stream), "stream");
    return NULL;
}

/* As many requests as there are, and all of them served. */
static void serve_all(const char *when)
{
    const Request request = { .tokens = TOKENS };
    pthread_t threads[REPLICAS];
    int sum = 0;

    for (int32_t m = 0; m < REPLICAS; ++m) {
        replicas[m].index = m;
        replicas[m].count = 0;
    }
    for (int i = 0; i < REQUESTS; ++i)
        expect_ok(engine_request(&request));
    for (int m = 0; m < REPLICAS; ++m) {
        sum += replicas[m].count;
        expect_number(
            0, pthread_create(&threads[m], NULL, replica_main, &replicas[m]),
            "thread");
    }
    for (int m = 0; m < REPLICAS; ++m)
        expect_number(0, pthread_join(threads[m], NULL), "thread");
    expect_number(REQUESTS, sum, "%s: requests with a place", when);
    if (replicas[1].count <= replicas[0].count ||
        replicas[0].count < replicas[2].count)
        fail_msg("%s: expected most on the H100 and least on the slice, got "
                 "%d, %d, %d",
                 when, replicas[0].count, replicas[1].count, replicas[2].count);
}

/* ---- the test -------------------------------------------------------------- */

static void client_d_runs_whole(void **state)
{
    static const int32_t ids[] = { 0, 1, 2 };
    double flops[REPLICAS], all = 0;
    int64_t next = 0;

    (void)state;
    life_start("machine=lab");
    expect_ok(engine_start(ids, REPLICAS, NULL));
    life_end("started");
    expect_ok(engine_big_batch(TOTAL, REPLICAS));
    for (int m = 0; m < REPLICAS; ++m)
        all += flops[m] = measured_flops("lab", m, "bf16", "f32");
    for (int m = 0; m < REPLICAS; ++m) {
        expect_number(next, replicas[m].first, "replica %d: first row", m);
        /* the file's rates are those of full steps of its stairs */
        expect_near(TOTAL * flops[m] / all, (double)replicas[m].rows, 0.25,
                    "rows of a replica");
        next += replicas[m].rows;
    }
    expect_number(TOTAL, next, "rows in all");
    serve_all("at first");
    serve_all("once it has learned");
    hdp_balancer_destroy(balancer);
    life_end("ended");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(client_d_runs_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
