/* The direct way between two GPUs, tried before anybody relies on it: drivers
 * grant access on machines whose chipsets then lose bytes or never answer. A
 * pattern goes there by a peer copy and comes back through the host. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "base/mem.h"
#include "device/cuda_inner.h"

enum { BYTES = 4 << 20, UNTOUCHED = 0xa5, NAP_NS = 50000 };

struct trial {
    struct cuda *from;
    const struct cuda *to;
    int64_t deadline_ns;
    struct hdpi_topology_link *out;
    int ours;  /* 1: access was switched on here */
    int stuck; /* 1: a copy never ended: device memory, streams and events are
                  not given back */
    int wrong;
    float milliseconds;
    unsigned char *sent, *seen;
    void *source, *target;
    cudaStream_t here, there;
    cudaEvent_t begin, end;
};

/* Every byte depends on its place, and no two pages are alike. */
static void fill(unsigned char *out)
{
    uint32_t state = 0x9e3779b9u;

    for (size_t i = 0; i < BYTES; ++i) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        out[i] = (unsigned char)state;
    }
}

static hdp_status late(struct trial *trial, cudaStream_t stream)
{
    trial->stuck = 1;
    cuda_late_note(stream == trial->there ? trial->to : trial->from, stream);
    return hdpi_fail_member(
        HDP_ERR_TIMEOUT, trial->from->base.member, trial->from->base.rank,
        "peer copy from %s to %s has not ended in time and may never: leave "
        "peer access between them off",
        trial->from->base.row.info.spec, trial->to->base.row.info.spec);
}

/* Asks again and again, since to wait would be for ever. */
static hdp_status settle(struct trial *trial, cudaStream_t stream)
{
    static const struct timespec nap = { 0, NAP_NS };

    for (;;) {
        cudaError_t code = cudaStreamQuery(stream);
        if (code != cudaErrorNotReady)
            return cuda_check(trial->from, code, "cudaStreamQuery");
        (void)cudaGetLastError();
        if (hdpi_clock_ns() >= trial->deadline_ns)
            return late(trial, stream);
        (void)nanosleep(&nap, NULL);
    }
}

static hdp_status select_device(struct trial *trial, const struct cuda *which)
{
    return cuda_check(trial->from, cudaSetDevice(which->ordinal),
                      "cudaSetDevice");
}

/* 217 and 711: the driver says no, which is an answer. 704: somebody, perhaps
 * the caller, has it on. The device of `from` is current. */
static hdp_status switch_on(struct trial *trial, int *out_on)
{
    int can = 0;
    cudaError_t code;

    *out_on = 0;
    HDPI_RETURN_IF(cuda_check(
        trial->from,
        cudaDeviceCanAccessPeer(&can, trial->from->ordinal, trial->to->ordinal),
        "cudaDeviceCanAccessPeer"));
    if (!can)
        return HDP_OK;
    code = cudaDeviceEnablePeerAccess(trial->to->ordinal, 0);
    if (code == cudaErrorPeerAccessUnsupported ||
        code == cudaErrorTooManyPeers) {
        (void)cudaGetLastError();
        return HDP_OK;
    }
    HDPI_RETURN_IF(cuda_check(trial->from, code, "cudaDeviceEnablePeerAccess"));
    trial->ours = code == cudaSuccess;
    *out_on = 1;
    return HDP_OK;
}

/* ---- one trial ------------------------------------------------------------- */

static hdp_status prepare_there(struct trial *trial)
{
    struct cuda *self = trial->from;

    HDPI_RETURN_IF(select_device(trial, trial->to));
    HDPI_RETURN_IF(cuda_check(
        self, cudaStreamCreateWithFlags(&trial->there, cudaStreamNonBlocking),
        "cudaStreamCreateWithFlags"));
    HDPI_RETURN_IF(
        cuda_check(self, cudaMalloc(&trial->target, BYTES), "cudaMalloc"));
    HDPI_RETURN_IF(cuda_check(
        self, cudaMemsetAsync(trial->target, UNTOUCHED, BYTES, trial->there),
        "cudaMemsetAsync"));
    return settle(trial, trial->there);
}

static hdp_status prepare_here(struct trial *trial)
{
    struct cuda *self = trial->from;

    HDPI_RETURN_IF(select_device(trial, self));
    HDPI_RETURN_IF(cuda_check(
        self, cudaStreamCreateWithFlags(&trial->here, cudaStreamNonBlocking),
        "cudaStreamCreateWithFlags"));
    HDPI_RETURN_IF(cuda_check(self, cudaEventCreateWithFlags(&trial->begin, 0),
                              "cudaEventCreateWithFlags"));
    HDPI_RETURN_IF(cuda_check(self, cudaEventCreateWithFlags(&trial->end, 0),
                              "cudaEventCreateWithFlags"));
    HDPI_RETURN_IF(
        cuda_check(self, cudaMalloc(&trial->source, BYTES), "cudaMalloc"));
    HDPI_RETURN_IF(
        cuda_check(self,
                   cudaMemcpyAsync(trial->source, trial->sent, BYTES,
                                   cudaMemcpyHostToDevice, trial->here),
                   "cudaMemcpyAsync"));
    return settle(trial, trial->here);
}

static hdp_status copy(struct trial *trial)
{
    return cuda_check(trial->from,
                      cudaMemcpyPeerAsync(trial->target, trial->to->ordinal,
                                          trial->source, trial->from->ordinal,
                                          BYTES, trial->here),
                      "cudaMemcpyPeerAsync");
}

/* Twice, since the first copy of a way takes several times as long. */
static hdp_status go(struct trial *trial)
{
    struct cuda *self = trial->from;

    HDPI_RETURN_IF(copy(trial));
    HDPI_RETURN_IF(cuda_check(self, cudaEventRecord(trial->begin, trial->here),
                              "cudaEventRecord"));
    HDPI_RETURN_IF(copy(trial));
    HDPI_RETURN_IF(cuda_check(self, cudaEventRecord(trial->end, trial->here),
                              "cudaEventRecord"));
    HDPI_RETURN_IF(settle(trial, trial->here));
    return cuda_check(
        self,
        cudaEventElapsedTime(&trial->milliseconds, trial->begin, trial->end),
        "cudaEventElapsedTime");
}

static hdp_status look(struct trial *trial)
{
    HDPI_RETURN_IF(select_device(trial, trial->to));
    HDPI_RETURN_IF(
        cuda_check(trial->from,
                   cudaMemcpyAsync(trial->seen, trial->target, BYTES,
                                   cudaMemcpyDeviceToHost, trial->there),
                   "cudaMemcpyAsync"));
    HDPI_RETURN_IF(settle(trial, trial->there));
    trial->wrong = memcmp(trial->sent, trial->seen, BYTES) != 0;
    return HDP_OK;
}

/* After a failure something may still be on its way. Once a copy hangs, every
 * call here would wait for it. */
static void release(struct trial *trial)
{
    if (!trial->stuck && trial->here)
        (void)settle(trial, trial->here);
    if (!trial->stuck && trial->there)
        (void)settle(trial, trial->there);
    if (trial->stuck || cuda_may_call() != HDP_OK ||
        cuda_late(trial->from, trial->from->ordinal) ||
        cuda_late(trial->to, trial->to->ordinal))
        return;
    if (trial->end)
        (void)cudaEventDestroy(trial->end);
    if (trial->begin)
        (void)cudaEventDestroy(trial->begin);
    if (trial->here)
        (void)cudaStreamDestroy(trial->here);
    if (trial->there)
        (void)cudaStreamDestroy(trial->there);
    (void)cudaFree(trial->source);
    (void)cudaFree(trial->target);
    if (trial->wrong && trial->ours &&
        cudaSetDevice(trial->from->ordinal) == cudaSuccess)
        (void)cudaDeviceDisablePeerAccess(trial->to->ordinal);
    (void)cudaGetLastError();
}

static void tell(const struct trial *trial)
{
    const struct cuda *from = trial->from;

    trial->out->peer = !trial->wrong;
    if (!trial->wrong && trial->milliseconds > 0)
        trial->out->bytes_per_second =
            (int64_t)(BYTES / (double)trial->milliseconds * 1000);
    if (trial->wrong)
        hdpi_log(from->base.log, HDP_LOG_WARN,
                 "peer copy from %s (%s) to %s (%s) says success, but the "
                 "bytes are wrong: copies between them go through the host",
                 from->base.row.info.spec, from->base.row.info.uuid,
                 trial->to->base.row.info.spec, trial->to->base.row.info.uuid);
}

static hdp_status try_way(void *arg)
{
    struct trial *trial = arg;
    hdp_error before;
    hdp_status status;
    int on;

    HDPI_TRY(cuda_may_call());
    HDPI_TRY(select_device(trial, trial->from));
    HDPI_TRY(switch_on(trial, &on));
    if (!on)
        goto out;
    HDPI_TRY(prepare_there(trial));
    HDPI_TRY(prepare_here(trial));
    HDPI_TRY(go(trial));
    HDPI_TRY(look(trial));
    tell(trial);
out:
    before = *hdpi_error();
    release(trial);
    *hdpi_error() = before;
    return status;
}

hdp_status cuda_peer(struct hdpi_device *from, const struct hdpi_device *to,
                     int64_t deadline_ns, struct hdpi_topology_link *out)
{
    struct trial trial = { .from = cuda_from(from),
                           .to = (const struct cuda *)(const void *)to,
                           .deadline_ns = deadline_ns,
                           .out = out };
    hdp_status status;

    *out = (struct hdpi_topology_link){ 0 };
    if (trial.from->ordinal == trial.to->ordinal)
        return HDP_OK; /* parts of one GPU share its memory */
    trial.sent = hdpi_alloc(BYTES, 1, "a pattern");
    trial.seen = hdpi_alloc(BYTES, 1, "a pattern read back");
    if (!trial.sent || !trial.seen) {
        status = HDP_ERR_MEMORY;
    } else {
        fill(trial.sent);
        status = cuda_apart(try_way, &trial);
    }
    /* pageable: CUDA is through with them when its calls return */
    free(trial.sent);
    free(trial.seen);
    return status;
}
