/* Operators that multiply before they add. A number stands for each; what it
 * means is taken when a collective is called, so it may end right after. */
#include <stdlib.h>
#include <string.h>
#include "nccl_inner.h"

struct redop {
    struct fake_handle handle;
    int number;
    ncclComm_t comm;
    ncclDataType_t type;
    struct fake_nccl_red red;
};

static struct {
    int generation; /* of the process whose they are */
    struct redop **rows;
    int count, capacity, numbers;
} redops;

static void refresh(void)
{
    int generation = atomic_load(&fake.generation);

    if (redops.generation == generation)
        return;
    redops.generation = generation;
    redops.count = 0;
}

static struct redop **find(int number)
{
    refresh();
    for (int i = 0; i < redops.count; i++)
        if (redops.rows[i]->number == number)
            return &redops.rows[i];
    return NULL;
}

ncclResult_t fake_nccl_red_of(struct fake_nccl_red *out, ncclRedOp_t op,
                              ncclDataType_t type, ncclComm_t comm)
{
    struct redop **found;

    memset(out, 0, sizeof *out);
    out->kind = (int)op;
    if ((int)op >= 0 && (int)op < ncclNumOps)
        return ncclSuccess;
    found = find((int)op);
    if (!found) {
        fake_break("a reduction operator was used that is none, or has ended");
        return fake_nccl_say(ncclInvalidArgument, "no reduction operator %d",
                             (int)op);
    }
    if ((*found)->comm != comm || (*found)->type != type) {
        fake_break("a reduction operator was used with another communicator "
                   "or type than its own");
        return fake_nccl_say(ncclInvalidArgument,
                             "reduction operator %d is of another "
                             "communicator or type",
                             (int)op);
    }
    *out = (*found)->red;
    return ncclSuccess;
}

static void enlist(struct redop *made)
{
    refresh();
    if (redops.count == redops.capacity) {
        redops.capacity = redops.capacity ? 2 * redops.capacity : 16;
        redops.rows = realloc(redops.rows,
                              (size_t)redops.capacity * sizeof(struct redop *));
        if (!redops.rows)
            abort();
    }
    made->number = ncclNumOps + redops.numbers++ % 1000000;
    redops.rows[redops.count++] = made;
}

FAKE_API ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar,
                                               ncclDataType_t datatype,
                                               ncclScalarResidence_t residence,
                                               ncclComm_t comm)
{
    static const char name[] = "ncclRedOpCreatePreMulSum";
    size_t size = fake_nccl_size(datatype);
    struct redop *made;

    NCCL_ENTER(name, ncclInternalError, FAKE_ALWAYS, NCCL_VERSION(2, 11, 0));
    NCCL_CHECK(name, comm, FAKE_NCCL_CUDA);
    if (!op || !scalar || !fake_nccl_adds(datatype) ||
        (residence != ncclScalarDevice && residence != ncclScalarHostImmediate))
        NCCL_LEAVE(fake_nccl_say(ncclInvalidArgument, "%s: an argument", name));
    if (residence == ncclScalarDevice &&
        !fake_bytes(comm->handle.device, scalar, size)) {
        fake_break("%s: the scalar is in no memory of device %d", name,
                   comm->handle.device->number);
        NCCL_LEAVE(ncclInvalidArgument);
    }
    made = fake_handle_new(FAKE_REDOP, sizeof *made, comm->handle.device);
    made->comm = comm;
    made->type = datatype;
    made->red.kind = FAKE_NCCL_PREMUL;
    if (residence == ncclScalarDevice)
        made->red.at = scalar;
    else
        memcpy(made->red.scalar, scalar, size);
    enlist(made);
    *op = (ncclRedOp_t)made->number;
    NCCL_LEAVE(ncclSuccess);
}

static void end(struct redop **row)
{
    fake_handle_end(*row);
    *row = redops.rows[--redops.count];
}

FAKE_API ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm)
{
    static const char name[] = "ncclRedOpDestroy";
    struct redop **found;

    NCCL_ENTER(name, ncclInternalError, FAKE_ALWAYS, NCCL_VERSION(2, 11, 0));
    NCCL_CHECK(name, comm, FAKE_NCCL_READY);
    found = find((int)op);
    if (!found || (*found)->comm != comm) {
        fake_break("%s: it is none of this communicator's, or was ended twice",
                   name);
        NCCL_LEAVE(fake_nccl_say(ncclInvalidArgument, "%s: no operator %d",
                                 name, (int)op));
    }
    end(found);
    NCCL_LEAVE(ncclSuccess);
}

void fake_nccl_redops_end(ncclComm_t comm)
{
    refresh();
    for (int i = redops.count; i-- > 0;)
        if (redops.rows[i]->comm == comm)
            end(&redops.rows[i]);
}

NCCL_ALIAS(ncclRedOpCreatePreMulSum);
NCCL_ALIAS(ncclRedOpDestroy);
