/* The same for C++: interop_c.c in this folder says what for. */
#define HDP_WITH_CUBLAS_TYPES
#include <hdp/cuda.h>

int interop_alone(const hdp_shard *shard);

int interop_alone(const hdp_shard *shard)
{
    cublasHandle_t blas = NULL;

    return hdp_cuda_stream(shard) != NULL && !hdp_cuda_blas(shard, &blas);
}
