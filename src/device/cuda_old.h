/* What the headers of CUDA 12.0 to 12.3 lack of partitions: the driver that
 * runs may be newer than the headers, so its types stand here as it has them. */
#ifndef HDPI_CUDA_OLD_H
#define HDPI_CUDA_OLD_H
#include <cuda.h>

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
#endif
