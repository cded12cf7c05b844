/* Failures of CUDA as statuses: one table of codes, which the runtime and the
 * driver number alike, and the words around them. What poisons the process is
 * sealed here, whoever sees it first. */
#include <stdio.h>
#include <string.h>
#include "base/fate.h"
#include "base/fork.h"
#include "base/text.h"
#include "device/cuda_inner.h"

enum { UNKNOWN = 999 };

struct meaning {
    int first, last; /* codes */
    hdp_status status;
};

/* What is in no row is HDP_ERR_DEVICE. A row of HDP_ERR_FATAL is a code after
 * which the header wants the process ended; HDP_ERR_NOT_FOUND that there is no
 * driver that this build can use. Arguments and handles are checked before CUDA
 * is asked, so its complaints of them are a defect of ours. */
static const struct meaning meanings[] = {
    { 1, 1, HDP_ERR_INTERNAL },      /* invalid value */
    { 2, 2, HDP_ERR_MEMORY },        /* of the device, the host or a pool */
    { 3, 3, HDP_ERR_NOT_FOUND },     /* initialisation */
    { 34, 36, HDP_ERR_NOT_FOUND },   /* stub, driver too old or absent */
    { 46, 46, HDP_ERR_BUSY },        /* exclusive mode, held by another */
    { 100, 100, HDP_ERR_NOT_FOUND }, /* no device */
    { 101, 101, HDP_ERR_INTERNAL },  /* invalid device */
    { 200, 200, HDP_ERR_UNSUPPORTED },
    { 201, 201, HDP_ERR_INTERNAL },    /* context */
    { 209, 209, HDP_ERR_UNSUPPORTED }, /* no code for the device */
    { 214, 214, HDP_ERR_FATAL },       /* ECC */
    { 217, 218, HDP_ERR_UNSUPPORTED }, /* peer access, PTX */
    { 220, 220, HDP_ERR_FATAL },       /* NVLink */
    { 221, 223, HDP_ERR_UNSUPPORTED }, /* PTX and its compiler */
    { 226, 226, HDP_ERR_FATAL },       /* contained */
    { 304, 304, HDP_ERR_SYSTEM },
    { 400, 400, HDP_ERR_INTERNAL }, /* handle */
    { 700, 700, HDP_ERR_FATAL },    /* address */
    { 702, 702, HDP_ERR_FATAL },    /* a kernel's time limit */
    { 710, 710, HDP_ERR_FATAL },    /* assertion */
    { 714, 719, HDP_ERR_FATAL },
    { 721, 721, HDP_ERR_FATAL },
    { 801, 801, HDP_ERR_UNSUPPORTED },
    { 802, 806, HDP_ERR_NOT_FOUND }, /* system, driver's parts, MPS */
    { 807, 809, HDP_ERR_BUSY },      /* MPS has no place left */
    { 810, 810, HDP_ERR_FATAL },     /* MPS ended this client */
    { 900, 908, HDP_ERR_STATE },     /* a stream that is capturing */
    { 911, 911, HDP_ERR_FATAL },     /* an external device */
};

static hdp_status status_of(int code)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; ++i)
        if (code >= meanings[i].first && code <= meanings[i].last)
            return meanings[i].status;
    return HDP_ERR_DEVICE;
}

int cuda_is_fatal(cudaError_t code)
{
    return status_of((int)code) == HDP_ERR_FATAL;
}

hdp_status cuda_may_call(void)
{
    HDPI_RETURN_IF(hdpi_fork_check());
    return hdpi_fate_check();
}

/* ---- words ---------------------------------------------------------------- */

/* What failed, for people: "cuda:1 (GPU-...)"; "CUDA" of no member. */
static void write_place(char *out, size_t capacity, const struct cuda *self)
{
    const hdp_device *info = self ? &self->base.row.info : NULL;
    char spec[64];

    if (!info) {
        hdpi_text_copy(out, capacity, "CUDA");
        return;
    }
    snprintf(spec, sizeof spec, "cuda:%d", (int)info->logical_id);
    snprintf(out, capacity, "%s%s%s%s", info->spec[0] ? info->spec : spec,
             info->uuid[0] ? " (" : "", info->uuid, info->uuid[0] ? ")" : "");
}

static hdp_status born(const struct cuda *self, hdp_status status,
                       int32_t vendor, int code)
{
    hdp_error *error = hdpi_error();

    error->vendor = vendor;
    error->vendor_code = (int32_t)code;
    if (self) {
        error->member = self->base.member;
        error->rank = self->base.rank;
    }
    return status;
}

/* The call in which such a failure shows may be innocent of it. */
static hdp_status fatal(const struct cuda *self, int32_t vendor, int code,
                        const char *words, const char *call)
{
    char place[136];

    write_place(place, sizeof place, self);
    (void)hdpi_fail(HDP_ERR_FATAL,
                    "%s: %s (%d), seen at %s, caused at or before it; only a "
                    "new process can use CUDA",
                    place, words, code, call);
    (void)born(self, HDP_ERR_FATAL, vendor, code);
    hdpi_fate_seal();
    hdpi_log(self ? self->base.log : NULL, HDP_LOG_ERROR, "%s",
             hdpi_error()->text);
    /* another device may have been first; all say the same */
    return hdpi_fate_is_sealed() ? hdpi_fate_check() : HDP_ERR_FATAL;
}

static hdp_status failed(const struct cuda *self, int32_t vendor, int code,
                         const char *words, const char *call)
{
    hdp_status status = status_of(code);
    char place[136], versions[64] = "";

    /* A device that is gone has no code of its own. Before there is a member it
     * means a driver that does not start. */
    if (code == UNKNOWN)
        status = self ? HDP_ERR_FATAL : HDP_ERR_NOT_FOUND;
    if (status == HDP_ERR_FATAL)
        return fatal(self, vendor, code, words, call);
    if (status == HDP_ERR_NOT_FOUND)
        cuda_versions(versions, sizeof versions);
    write_place(place, sizeof place, self);
    (void)hdpi_fail(status, "%s: %s: %s (%d)%s%s", place, call, words, code,
                    versions[0] ? "; " : "", versions);
    return born(self, status, vendor, code);
}

/* ---- the three families --------------------------------------------------- */

hdp_status cuda_check(struct cuda *self, cudaError_t code, const char *call)
{
    if (code == cudaSuccess || code == cudaErrorNotReady)
        return HDP_OK;
    if (!cuda_is_fatal(code))
        (void)cudaGetLastError();
    if (code == cudaErrorPeerAccessAlreadyEnabled)
        return HDP_OK;
    return failed(self, HDPI_VENDOR_CUDA, (int)code, cudaGetErrorString(code),
                  call);
}

hdp_status cuda_check_driver(struct cuda *self, CUresult code, const char *call)
{
    const char *words = NULL;

    if (code == CUDA_SUCCESS || code == CUDA_ERROR_NOT_READY ||
        code == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
        return HDP_OK;
    if (!self || !self->driver.error_string ||
        self->driver.error_string(code, &words) != CUDA_SUCCESS || !words)
        words = cudaGetErrorString((cudaError_t)code);
    return failed(self, HDPI_VENDOR_DRIVER, (int)code, words, call);
}

static hdp_status blas_status(cublasStatus_t code)
{
    switch ((int)code) {
    case CUBLAS_STATUS_NOT_INITIALIZED: /* what it says for want of memory */
    case CUBLAS_STATUS_ALLOC_FAILED:
        return HDP_ERR_MEMORY;
    case CUBLAS_STATUS_INVALID_VALUE:
        return HDP_ERR_INTERNAL;
    case CUBLAS_STATUS_ARCH_MISMATCH:
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return HDP_ERR_UNSUPPORTED;
    default:
        return HDP_ERR_DEVICE;
    }
}

/* cuBLAS hides a poisoned process behind its own numbers; the stream tells. */
static hdp_status ask_stream(struct cuda *self, const char *call)
{
    cudaError_t code = cudaStreamQuery(self->stream);

    return cuda_is_fatal(code) ? cuda_check(self, code, call) : HDP_OK;
}

hdp_status cuda_check_blas(struct cuda *self, cublasStatus_t code,
                           const char *call)
{
    hdp_status status;
    const char *words;
    char place[136];

    if (code == CUBLAS_STATUS_SUCCESS)
        return HDP_OK;
    if (self->stream)
        HDPI_RETURN_IF(ask_stream(self, call));
    (void)cudaGetLastError();
    status = blas_status(code);
    words = self->blas.status_string ? self->blas.status_string(code)
                                     : "cuBLAS failed";
    write_place(place, sizeof place, self);
    (void)hdpi_fail(status, "%s: %s: %s (%d)", place, call, words, (int)code);
    return born(self, status, HDPI_VENDOR_CUBLAS, (int)code);
}
