/* What the headers of CUDA 12.0 to 12.4 lack: the driver that runs may be newer
 * than the headers, so its types stand here as it has them. The one place that
 * asks for which CUDA this is compiled. */
#ifndef HDPI_CUDA_OLD_H
#define HDPI_CUDA_OLD_H
#include <cuda.h>
#include <cuda_runtime_api.h>

#if CUDA_VERSION < 12040
typedef struct CUgreenCtx_st *CUgreenCtx;
typedef struct CUdevResourceDesc_st *CUdevResourceDesc;

typedef enum {
    CU_DEV_RESOURCE_TYPE_INVALID = 0,
    CU_DEV_RESOURCE_TYPE_SM = 1
} CUdevResourceType;

enum { CU_GREEN_CTX_DEFAULT_STREAM = 1 };

typedef struct {
    CUdevResourceType type;
    unsigned char inner[92];
    union {
        struct {
            unsigned smCount;
        } sm;
        unsigned char outer[48];
    };
} CUdevResource;
#endif

/* Older ones hand out the form that a function had in their own version. */
static inline cudaError_t
cuda_entry_point(const char *symbol, void **out, unsigned version,
                 unsigned long long flags,
                 enum cudaDriverEntryPointQueryResult *found)
{
#if CUDART_VERSION < 12050
    (void)version;
    return cudaGetDriverEntryPoint(symbol, out, flags, found);
#else
    return cudaGetDriverEntryPointByVersion(symbol, out, version, flags, found);
#endif
}
#endif
