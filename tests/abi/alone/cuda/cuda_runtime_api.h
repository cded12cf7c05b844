/* Just enough of CUDA's runtime header for hdp/cuda.h and the client programs
 * to be compiled where no toolkit is. Nothing of it is ever linked. */
#ifndef HDP_TEST_CUDA_RUNTIME_API_H
#define HDP_TEST_CUDA_RUNTIME_API_H

typedef struct CUstream_st *cudaStream_t;
typedef int cudaError_t;

#ifdef __cplusplus
extern "C" {
#endif
cudaError_t cudaSetDevice(int device);
#ifdef __cplusplus
}
#endif
#endif
