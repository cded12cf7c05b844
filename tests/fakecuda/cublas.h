/* What the files of the fake cuBLAS share. */
#ifndef FAKE_CUBLAS_H
#define FAKE_CUBLAS_H
#include <cublas_v2.h>
#include "inner.h"

struct cublasContext {
    struct fake_handle handle; /* handle.device: whose */
    cudaStream_t stream;       /* as it was given */
    cublasMath_t math;
    int sm_target; /* 0: all */
    void *workspace;
    size_t workspace_bytes;
};

#define CUBLAS_ENTER(name, usual, flags)                                       \
    do {                                                                       \
        int entered_ = fake_enter(name, (int)(usual), FAKE_CUBLAS | (flags));  \
        if (entered_ != 0)                                                     \
            return (cublasStatus_t)entered_;                                   \
    } while (0)
#define CUBLAS_LEAVE(code) return (cublasStatus_t)fake_leave((int)(code))

/** 1: a living handle. The lock is held. */
int fake_blas_is(cublasHandle_t handle);
#endif
