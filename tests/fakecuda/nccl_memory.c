/* Memory that NCCL gives out, and buffers that it is told of beforehand. */
#include "memory.h"
#include "nccl_inner.h"

struct region {
    struct fake_handle handle;
    ncclComm_t comm;
};

FAKE_API ncclResult_t ncclMemAlloc(void **ptr, size_t size)
{
    static const char name[] = "ncclMemAlloc";

    NCCL_ENTER(name, ncclUnhandledCudaError, FAKE_CONTEXT | FAKE_UNSAFE,
               NCCL_VERSION(2, 19, 0));
    if (!ptr || size == 0)
        NCCL_LEAVE(fake_nccl_say(ncclInvalidArgument, "%s: an argument", name));
    if (fake_memory_device(fake_current_device(), size, ptr) != 0)
        NCCL_LEAVE(fake_nccl_say(ncclUnhandledCudaError, "out of memory"));
    NCCL_LEAVE(ncclSuccess);
}

FAKE_API ncclResult_t ncclMemFree(void *ptr)
{
    NCCL_ENTER("ncclMemFree", ncclUnhandledCudaError, FAKE_UNSAFE,
               NCCL_VERSION(2, 19, 0));
    if (ptr && fake_memory_free(ptr, FAKE_DEVICE_MEMORY) != 0)
        NCCL_LEAVE(ncclInvalidArgument);
    NCCL_LEAVE(ncclSuccess);
}

FAKE_API ncclResult_t ncclCommRegister(const ncclComm_t comm, void *buff,
                                       size_t size, void **handle)
{
    static const char name[] = "ncclCommRegister";
    struct region *region;

    NCCL_ENTER(name, ncclSystemError, 0, NCCL_VERSION(2, 19, 0));
    NCCL_CHECK(name, comm, FAKE_NCCL_READY);
    if (!handle || !fake_bytes(comm->handle.device, buff, size))
        NCCL_LEAVE(fake_nccl_say(ncclInvalidArgument, "%s: an argument", name));
    region = fake_handle_new(FAKE_REGION, sizeof *region, comm->handle.device);
    region->comm = comm;
    *handle = region;
    NCCL_LEAVE(ncclSuccess);
}

FAKE_API ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle)
{
    static const char name[] = "ncclCommDeregister";
    struct region *region = handle;

    NCCL_ENTER(name, ncclSystemError, FAKE_ALWAYS, NCCL_VERSION(2, 19, 0));
    NCCL_CHECK(name, comm, FAKE_NCCL_READY);
    if (!fake_handle_is(region, FAKE_REGION) || region->comm != comm)
        NCCL_LEAVE(fake_nccl_say(ncclInvalidArgument, "%s: no buffer", name));
    fake_handle_end(region);
    NCCL_LEAVE(ncclSuccess);
}

NCCL_ALIAS(ncclMemAlloc);
NCCL_ALIAS(ncclMemFree);
NCCL_ALIAS(ncclCommRegister);
NCCL_ALIAS(ncclCommDeregister);
