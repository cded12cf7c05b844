/* NCCL as it was found at run time: a table of its functions. Those that NCCL
 * 2.18 had are always there, newer ones may be NULL. */
#ifndef HDPI_NCCL_LOAD_H
#define HDPI_NCCL_LOAD_H
#include <nccl.h>
#include "base/symbols.h"
#include "comm/adapter.h"

struct nccl {
    void *library; /* NULL: none was found */
    int version;   /* 22803 is 2.28.3 */
    char path[256];
    ncclResult_t (*get_version)(int *version);
    ncclResult_t (*get_unique_id)(ncclUniqueId *id);
    ncclResult_t (*init)(ncclComm_t *comm, int size, ncclUniqueId id, int rank,
                         ncclConfig_t *config);
    ncclResult_t (*finalize)(ncclComm_t comm);
    ncclResult_t (*destroy)(ncclComm_t comm);
    ncclResult_t (*abort)(ncclComm_t comm);
    ncclResult_t (*async_error)(ncclComm_t comm, ncclResult_t *error);
    const char *(*error_string)(ncclResult_t code);
    const char *(*last_error)(ncclComm_t comm);
    ncclResult_t (*group_start)(void);
    ncclResult_t (*group_end)(void);
    ncclResult_t (*all_reduce)(const void *send, void *recv, size_t count,
                               ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream);
    ncclResult_t (*broadcast)(const void *send, void *recv, size_t count,
                              ncclDataType_t type, int root, ncclComm_t comm,
                              cudaStream_t stream);
    ncclResult_t (*premul_create)(ncclRedOp_t *op, void *scalar,
                                  ncclDataType_t type,
                                  ncclScalarResidence_t residence,
                                  ncclComm_t comm);
    ncclResult_t (*premul_destroy)(ncclRedOp_t op, ncclComm_t comm);
};

/** Finds it: the file that is named; else the copy in the process, the one of
 *  Python's wheels, what the loader finds. It is never unloaded.
 *  HDP_ERR_NOT_FOUND says why. Any thread. */
hdp_status nccl_load(struct nccl *out, const char *given);
/** Of the copy in the process; loads none. */
void nccl_describe(struct hdpi_library *out);
#endif
