/* Collectives and messages, as they are called: arguments checked, and put as
 * one operation to the thread's group. */
#include <string.h>
#include "nccl_inner.h"

/* ---- arguments ------------------------------------------------------------ */

/* A stream of the communicator's device; 0 is its legacy stream, whatever
 * device is current. */
static CUstream find_stream(ncclComm_t comm, cudaStream_t stream)
{
    CUcontext before = fake_current_context(), own;
    struct fake_thread *self = fake_self();
    int ordinal = self->ordinal;
    CUstream found;

    if (fake_primary(comm->handle.device, &own) != 0)
        return NULL;
    fake_set_context(own);
    found = fake_stream_of(stream);
    fake_set_context(before);
    self->ordinal = ordinal;
    return found;
}

static int is_own(const struct fake_nccl_op *op, const void *pointer,
                  size_t bytes, const char *what)
{
    const struct fake_device *device = op->comm->handle.device;
    const struct fake_block *block = fake_block_of(pointer, bytes);

    if (block && block->memory == FAKE_DEVICE_MEMORY && block->device == device)
        return 1;
    fake_break("%s: the %zu bytes to %s are no memory of rank %d's device %d",
               op->function, bytes, what, op->comm->rank, device->number);
    return 0;
}

static ncclResult_t check(struct fake_nccl_op *op, cudaStream_t stream)
{
    int ranks = op->comm->clique->ranks;

    if (fake_nccl_size(op->type) == 0 ||
        op->count > SIZE_MAX / 16 / (size_t)ranks)
        return fake_nccl_say(ncclInvalidArgument, "%s: type %d, count %zu",
                             op->function, (int)op->type, op->count);
    if (op->root < 0 || op->root >= ranks)
        return fake_nccl_say(ncclInvalidArgument, "%s: rank %d of %d",
                             op->function, op->root, ranks);
    if (op->kind <= FAKE_NCCL_REDUCE_SCATTER && !fake_nccl_adds(op->type)) {
        fake_break("%s: the fake does not add numbers of type %d", op->function,
                   (int)op->type);
        return ncclInvalidArgument;
    }
    if (op->count == 0) /* dropped, whatever else was said */
        return ncclSuccess;
    op->stream = find_stream(op->comm, stream);
    if (!op->stream)
        return fake_nccl_say(ncclUnhandledCudaError, "%s: no stream",
                             op->function);
    if (op->stream->handle.device != op->comm->handle.device) {
        fake_break("%s: rank %d is on device %d, its stream on device %d",
                   op->function, op->comm->rank,
                   op->comm->handle.device->number,
                   op->stream->handle.device->number);
        return fake_nccl_say(ncclUnhandledCudaError,
                             "%s: the stream is of "
                             "another device",
                             op->function);
    }
    if ((op->send_bytes > 0 && !is_own(op, op->send, op->send_bytes, "send")) ||
        (op->recv_bytes > 0 &&
         !is_own(op, op->recv, op->recv_bytes, "receive")))
        return fake_nccl_say(ncclInvalidArgument, "%s: a buffer", op->function);
    return ncclSuccess;
}

/* How often `count` elements are sent, and received, by one rank. */
struct shape {
    int sends, receives;
};

static struct shape shape_of(const struct fake_nccl_op *op)
{
    int ranks = op->comm->clique->ranks, rank = op->comm->rank;

    switch (op->kind) {
    case FAKE_NCCL_REDUCE:
        return (struct shape){ 1, rank == op->root };
    case FAKE_NCCL_BROADCAST:
        return (struct shape){ rank == op->root, 1 };
    case FAKE_NCCL_REDUCE_SCATTER:
        return (struct shape){ ranks, 1 };
    case FAKE_NCCL_ALL_GATHER:
        return (struct shape){ 1, ranks };
    case FAKE_NCCL_SEND:
        return (struct shape){ 1, 0 };
    case FAKE_NCCL_RECV:
        return (struct shape){ 0, 1 };
    case FAKE_NCCL_ALL_REDUCE:
    default:
        return (struct shape){ 1, 1 };
    }
}

/* The caller has filled in all but stream and sizes. */
static ncclResult_t call(struct fake_nccl_op *op, ncclRedOp_t red,
                         cudaStream_t stream)
{
    ncclResult_t code;
    struct shape shape;
    size_t bytes;

    NCCL_ENTER(op->function, ncclUnhandledCudaError, FAKE_ALWAYS, 0);
    NCCL_CHECK(op->function, op->comm, FAKE_NCCL_WORK);
    bytes = op->count * fake_nccl_size(op->type);
    shape = shape_of(op);
    op->send_bytes = (size_t)shape.sends * bytes;
    op->recv_bytes = (size_t)shape.receives * bytes;
    op->send = op->send_bytes > 0 ? op->send : NULL;
    op->recv = op->recv_bytes > 0 ? op->recv : NULL;
    code = check(op, stream);
    if (code == ncclSuccess && op->kind <= FAKE_NCCL_REDUCE_SCATTER)
        code = fake_nccl_red_of(&op->red, red, op->type, op->comm);
    if (code != ncclSuccess || op->count == 0)
        NCCL_LEAVE(code);
    if (fake_stream_capturing(op->stream)) /* what is captured is not kept */
        NCCL_LEAVE(fake_stream_capturing(op->stream) ==
                           cudaStreamCaptureStatusActive
                       ? ncclSuccess
                       : ncclUnhandledCudaError);
    NCCL_LEAVE(fake_nccl_ask(op));
}

/* ---- collectives ---------------------------------------------------------- */

FAKE_API ncclResult_t ncclAllReduce(const void *sendbuff, void *recvbuff,
                                    size_t count, ncclDataType_t datatype,
                                    ncclRedOp_t op, ncclComm_t comm,
                                    cudaStream_t stream)
{
    struct fake_nccl_op asked = { .kind = FAKE_NCCL_ALL_REDUCE,
                                  .function = "ncclAllReduce",
                                  .comm = comm,
                                  .type = datatype,
                                  .count = count,
                                  .send = sendbuff,
                                  .recv = recvbuff };

    return call(&asked, op, stream);
}

FAKE_API ncclResult_t ncclReduce(const void *sendbuff, void *recvbuff,
                                 size_t count, ncclDataType_t datatype,
                                 ncclRedOp_t op, int root, ncclComm_t comm,
                                 cudaStream_t stream)
{
    struct fake_nccl_op asked = { .kind = FAKE_NCCL_REDUCE,
                                  .function = "ncclReduce",
                                  .comm = comm,
                                  .type = datatype,
                                  .count = count,
                                  .root = root,
                                  .send = sendbuff,
                                  .recv = recvbuff };

    return call(&asked, op, stream);
}

FAKE_API ncclResult_t ncclReduceScatter(const void *sendbuff, void *recvbuff,
                                        size_t recvcount,
                                        ncclDataType_t datatype, ncclRedOp_t op,
                                        ncclComm_t comm, cudaStream_t stream)
{
    struct fake_nccl_op asked = { .kind = FAKE_NCCL_REDUCE_SCATTER,
                                  .function = "ncclReduceScatter",
                                  .comm = comm,
                                  .type = datatype,
                                  .count = recvcount,
                                  .send = sendbuff,
                                  .recv = recvbuff };

    return call(&asked, op, stream);
}

FAKE_API ncclResult_t ncclBroadcast(const void *sendbuff, void *recvbuff,
                                    size_t count, ncclDataType_t datatype,
                                    int root, ncclComm_t comm,
                                    cudaStream_t stream)
{
    struct fake_nccl_op asked = { .kind = FAKE_NCCL_BROADCAST,
                                  .function = "ncclBroadcast",
                                  .comm = comm,
                                  .type = datatype,
                                  .count = count,
                                  .root = root,
                                  .send = sendbuff,
                                  .recv = recvbuff };

    return call(&asked, ncclSum, stream);
}

FAKE_API ncclResult_t ncclAllGather(const void *sendbuff, void *recvbuff,
                                    size_t sendcount, ncclDataType_t datatype,
                                    ncclComm_t comm, cudaStream_t stream)
{
    struct fake_nccl_op asked = { .kind = FAKE_NCCL_ALL_GATHER,
                                  .function = "ncclAllGather",
                                  .comm = comm,
                                  .type = datatype,
                                  .count = sendcount,
                                  .send = sendbuff,
                                  .recv = recvbuff };

    return call(&asked, ncclSum, stream);
}

/* ---- messages ------------------------------------------------------------- */

FAKE_API ncclResult_t ncclSend(const void *sendbuff, size_t count,
                               ncclDataType_t datatype, int peer,
                               ncclComm_t comm, cudaStream_t stream)
{
    struct fake_nccl_op asked = { .kind = FAKE_NCCL_SEND,
                                  .function = "ncclSend",
                                  .comm = comm,
                                  .type = datatype,
                                  .count = count,
                                  .root = peer,
                                  .send = sendbuff };

    return call(&asked, ncclSum, stream);
}

FAKE_API ncclResult_t ncclRecv(void *recvbuff, size_t count,
                               ncclDataType_t datatype, int peer,
                               ncclComm_t comm, cudaStream_t stream)
{
    struct fake_nccl_op asked = { .kind = FAKE_NCCL_RECV,
                                  .function = "ncclRecv",
                                  .comm = comm,
                                  .type = datatype,
                                  .count = count,
                                  .root = peer,
                                  .recv = recvbuff };

    return call(&asked, ncclSum, stream);
}

NCCL_ALIAS(ncclAllReduce);
NCCL_ALIAS(ncclReduce);
NCCL_ALIAS(ncclReduceScatter);
NCCL_ALIAS(ncclBroadcast);
NCCL_ALIAS(ncclAllGather);
NCCL_ALIAS(ncclSend);
NCCL_ALIAS(ncclRecv);
