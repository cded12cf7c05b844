/* An older NCCL, FAKE_OLD as in "2,18,5": the functions that it had and no
 * other, each handed on to the second name of the fake's own. It is linked with
 * nothing, so that looking a newer one up in it does not find the fake's. */
#include <nccl.h>

#define SHOWN __attribute__((visibility("default")))

/* The header declares them without a prototype. */
SHOWN ncclResult_t ncclGroupStart(void);
SHOWN ncclResult_t ncclGroupEnd(void);
#define VERSION_OF(...) NCCL_VERSION(__VA_ARGS__)
#define OLD VERSION_OF(FAKE_OLD)

#define HAND_ON(name, parameters, arguments)                                   \
    SHOWN ncclResult_t name parameters                                         \
    {                                                                          \
        return p##name arguments;                                              \
    }

SHOWN ncclResult_t ncclGetVersion(int *version)
{
    ncclResult_t code = pncclGetVersion(version);

    if (code == ncclSuccess)
        *version = OLD;
    return code;
}

SHOWN const char *ncclGetErrorString(ncclResult_t result)
{
    return pncclGetErrorString(result);
}

SHOWN const char *ncclGetLastError(ncclComm_t comm)
{
    return pncclGetLastError(comm);
}

/* ---- communicators -------------------------------------------------------- */

HAND_ON(ncclGetUniqueId, (ncclUniqueId * id), (id))
HAND_ON(ncclCommInitAll, (ncclComm_t * comm, int ndev, const int *devlist),
        (comm, ndev, devlist))
HAND_ON(ncclCommInitRank,
        (ncclComm_t * comm, int nranks, ncclUniqueId id, int rank),
        (comm, nranks, id, rank))
HAND_ON(ncclCommInitRankConfig,
        (ncclComm_t * comm, int nranks, ncclUniqueId id, int rank,
         ncclConfig_t *config),
        (comm, nranks, id, rank, config))
HAND_ON(ncclCommFinalize, (ncclComm_t comm), (comm))
HAND_ON(ncclCommDestroy, (ncclComm_t comm), (comm))
HAND_ON(ncclCommAbort, (ncclComm_t comm), (comm))
HAND_ON(ncclCommSplit,
        (ncclComm_t comm, int color, int key, ncclComm_t *newcomm,
         ncclConfig_t *config),
        (comm, color, key, newcomm, config))
HAND_ON(ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t *asyncError),
        (comm, asyncError))
HAND_ON(ncclCommCount, (const ncclComm_t comm, int *count), (comm, count))
HAND_ON(ncclCommCuDevice, (const ncclComm_t comm, int *device), (comm, device))
HAND_ON(ncclCommUserRank, (const ncclComm_t comm, int *rank), (comm, rank))
HAND_ON(ncclRedOpCreatePreMulSum,
        (ncclRedOp_t * op, void *scalar, ncclDataType_t datatype,
         ncclScalarResidence_t residence, ncclComm_t comm),
        (op, scalar, datatype, residence, comm))
HAND_ON(ncclRedOpDestroy, (ncclRedOp_t op, ncclComm_t comm), (op, comm))

#if OLD >= NCCL_VERSION(2, 19, 0)
HAND_ON(ncclMemAlloc, (void **ptr, size_t size), (ptr, size))
HAND_ON(ncclMemFree, (void *ptr), (ptr))
HAND_ON(ncclCommRegister,
        (const ncclComm_t comm, void *buff, size_t size, void **handle),
        (comm, buff, size, handle))
HAND_ON(ncclCommDeregister, (const ncclComm_t comm, void *handle),
        (comm, handle))
#endif
#if OLD >= NCCL_VERSION(2, 22, 0)
HAND_ON(ncclGroupSimulateEnd, (ncclSimInfo_t * simInfo), (simInfo))
#endif
#if OLD >= NCCL_VERSION(2, 27, 0) && NCCL_VERSION_CODE >= 22700
HAND_ON(ncclCommShrink,
        (ncclComm_t comm, int *ranks, int count, ncclComm_t *newcomm,
         ncclConfig_t *config, int flags),
        (comm, ranks, count, newcomm, config, flags))
#endif

/* ---- operations ----------------------------------------------------------- */

HAND_ON(ncclGroupStart, (void), ())
HAND_ON(ncclGroupEnd, (void), ())
HAND_ON(ncclAllReduce,
        (const void *send, void *recv, size_t count, ncclDataType_t datatype,
         ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream),
        (send, recv, count, datatype, op, comm, stream))
HAND_ON(ncclReduce,
        (const void *send, void *recv, size_t count, ncclDataType_t datatype,
         ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream),
        (send, recv, count, datatype, op, root, comm, stream))
HAND_ON(ncclReduceScatter,
        (const void *send, void *recv, size_t count, ncclDataType_t datatype,
         ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream),
        (send, recv, count, datatype, op, comm, stream))
HAND_ON(ncclBroadcast,
        (const void *send, void *recv, size_t count, ncclDataType_t datatype,
         int root, ncclComm_t comm, cudaStream_t stream),
        (send, recv, count, datatype, root, comm, stream))
HAND_ON(ncclAllGather,
        (const void *send, void *recv, size_t count, ncclDataType_t datatype,
         ncclComm_t comm, cudaStream_t stream),
        (send, recv, count, datatype, comm, stream))
HAND_ON(ncclSend,
        (const void *send, size_t count, ncclDataType_t datatype, int peer,
         ncclComm_t comm, cudaStream_t stream),
        (send, count, datatype, peer, comm, stream))
HAND_ON(ncclRecv,
        (void *recv, size_t count, ncclDataType_t datatype, int peer,
         ncclComm_t comm, cudaStream_t stream),
        (recv, count, datatype, peer, comm, stream))
