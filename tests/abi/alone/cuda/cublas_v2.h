/* Just enough of cuBLAS's header for hdp/cuda.h; see cuda_runtime_api.h. */
#ifndef HDP_TEST_CUBLAS_V2_H
#define HDP_TEST_CUBLAS_V2_H

typedef struct cublasContext *cublasHandle_t;

#endif
