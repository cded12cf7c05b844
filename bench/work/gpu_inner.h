/* What gpu.c and gpu_load.c share: the functions found, and the members. */
#ifndef BENCH_WORK_GPU_INNER_H
#define BENCH_WORK_GPU_INNER_H
#include <cublas_v2.h>
#include <cuda.h>

#include "gpu.h"
#include "workkernels.h"

/* Of the driver that the library uses: all of CUDA 12.0. */
struct gpu_driver {
    CUresult (*error_name)(CUresult code, const char **out);
    CUresult (*context_get)(CUcontext *out);
    CUresult (*context_set)(CUcontext context);
    CUresult (*alloc)(CUdeviceptr *out, size_t bytes);
    CUresult (*free)(CUdeviceptr memory);
    CUresult (*set)(CUdeviceptr target, unsigned char value, size_t bytes,
                    CUstream stream);
    CUresult (*upload)(CUdeviceptr target, const void *source, size_t bytes,
                       CUstream stream);
    CUresult (*download)(void *target, CUdeviceptr source, size_t bytes,
                         CUstream stream);
    CUresult (*wait)(CUstream stream);
    CUresult (*load)(CUlibrary *out, const void *code, CUjit_option *options,
                     void **values, unsigned option_count,
                     CUlibraryOption *library, void **library_values,
                     unsigned library_count);
    CUresult (*unload)(CUlibrary library);
    CUresult (*kernel)(CUkernel *out, CUlibrary library, const char *name);
    CUresult (*launch)(CUfunction kernel, unsigned grid_x, unsigned grid_y,
                       unsigned grid_z, unsigned block_x, unsigned block_y,
                       unsigned block_z, unsigned shared_bytes, CUstream stream,
                       void **parameters, void **extra);
};

/* Of the cuBLAS whose handles the library makes. */
struct gpu_blas {
    cublasStatus_t (*gemm)(cublasHandle_t handle, cublasOperation_t transpose_a,
                           cublasOperation_t transpose_b, int m, int n, int k,
                           const void *alpha, const void *a,
                           cudaDataType type_a, int lda, const void *b,
                           cudaDataType type_b, int ldb, const void *beta,
                           void *c, cudaDataType type_c, int ldc,
                           cublasComputeType_t compute,
                           cublasGemmAlgo_t algorithm);
};

struct gpu_member {
    int is_gpu;
    CUcontext context;
    CUstream stream;
    cublasHandle_t blas; /* NULL: none was asked for */
    int64_t free_bytes;  /* when it was met; 0: not known */
    char reason[GPU_REASON];
};

struct gpu {
    struct gpu_driver driver;
    struct gpu_blas blas;
    CUlibrary image;
    CUkernel kernels[HDPW_KERNELS];
    int32_t members, products;
    struct gpu_member member[];
};

/** The driver's functions from the copy at `path`. 0: reason says what lacks. */
int gpu_load_driver(struct gpu_driver *out, const char *path, char *reason);
/** cuBLAS's, from the copy at `path`, or (NULL) the one that is in the process
 *  already. */
int gpu_load_blas(struct gpu_blas *out, const char *path, char *reason);
#endif
