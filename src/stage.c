/* Tensors of asynchronous members reduce through pinned host memory that every
 * rank reaches: copied there before the member's part is posted, and back once
 * the collective is done. One block a member, as large as a step's buckets. */
#include <string.h>
#include "base/mem.h"
#include "internal.h"

enum { ALIGNMENT = 64, POISON_BYTES = 8192 };

static int64_t bytes_of(const struct hdpi_bucket *bucket, int32_t tensor)
{
    return bucket->elements[tensor] * hdpi_comm_dtype_bytes(bucket->dtype);
}

static size_t room_of(const struct hdpi_bucket *bucket, int32_t tensor)
{
    size_t bytes = (size_t)bytes_of(bucket, tensor);

    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* ---- the block ------------------------------------------------------------- */

void hdpi_stage_trim(struct hdpi_member *member)
{
    struct hdpi_stage *stage = &member->stage;

    if (stage->memory)
        member->device->ops->host_free(member->device, stage->memory);
    memset(stage, 0, sizeof *stage);
}

/* Room for all buckets of the step, before the first is in it. */
static hdp_status reserve(struct hdpi_member *member)
{
    const struct hdpi_step *step = member->step;
    struct hdpi_stage *stage = &member->stage;
    int64_t wanted = 0;
    int32_t b, t;

    for (b = 0; b < step->bucket_count; ++b)
        for (t = 0; t < step->buckets[b].tensor_count; ++t)
            HDPI_RETURN_IF(hdpi_add(&wanted, wanted,
                                    (int64_t)room_of(&step->buckets[b], t),
                                    "staged bytes of a step"));
    if ((size_t)wanted <= stage->bytes)
        return HDP_OK;
    hdpi_stage_trim(member);
    HDPI_RETURN_IF(member->device->ops->host_alloc(
        member->device, &stage->memory, (size_t)wanted));
    stage->bytes = (size_t)wanted;
    return HDP_OK;
}

/* ---- copies ---------------------------------------------------------------- */

static hdp_status move(struct hdpi_member *member, void *target,
                       const void *source, int64_t bytes, int32_t direction)
{
    struct hdpi_device *device = member->device;
    const struct hdpi_copy copy =
        hdpi_copy_block(target, source, bytes, direction);

    return device->ops->copy(device, &copy);
}

/* This member's row of a table of the bucket. */
static int32_t row_of(const struct hdpi_member *member,
                      const struct hdpi_bucket *bucket)
{
    return member->index * bucket->tensor_count;
}

static int contributes(const struct hdpi_member *member,
                       const struct hdpi_bucket *bucket)
{
    return bucket->kind == HDPI_COMM_BROADCAST
               ? bucket->root == member->rank
               : bucket->counts[member->index] > 0;
}

static hdp_status fill(struct hdpi_member *member,
                       const struct hdpi_bucket *bucket)
{
    int32_t row = row_of(member, bucket), t;

    for (t = 0; t < bucket->tensor_count; ++t)
        HDPI_RETURN_IF(
            move(member, bucket->staged[row + t],
                 bucket->send ? bucket->send[row + t] : bucket->recv[row + t],
                 bytes_of(bucket, t), HDPI_COPY_OUT));
    return hdpi_member_wait(member);
}

hdp_status hdpi_stage_in(struct hdpi_member *member, int32_t index)
{
    const struct hdpi_step *step = member->step;
    const struct hdpi_bucket *bucket = &step->buckets[index];
    struct hdpi_stage *stage = &member->stage;
    struct hdpi_comm_call *call =
        &step->calls[member->index * step->bucket_count + index];
    void **staged;
    int32_t t;

    if (!member->device->asynchronous)
        return HDP_OK;
    call->send = NULL;
    call->recv = NULL;
    if (index == 0)
        HDPI_RETURN_IF(reserve(member));
    staged = bucket->staged + row_of(member, bucket);
    for (t = 0; t < bucket->tensor_count; ++t) {
        if (room_of(bucket, t) > stage->bytes - stage->used)
            return HDP_OK; /* it could not be had, and the step has failed */
        if (stage->memory)
            staged[t] = (unsigned char *)stage->memory + stage->used;
        stage->used += room_of(bucket, t);
    }
    call->recv = staged;
    if (call->status != HDP_OK || !contributes(member, bucket))
        return HDP_OK;
    return fill(member, bucket);
}

/* ---- back ------------------------------------------------------------------ */

/* No staged memory could be had: the bucket has failed, and its floats say so. */
static hdp_status poison(struct hdpi_member *member,
                         const struct hdpi_bucket *bucket)
{
    unsigned char block[POISON_BYTES];
    int32_t row = row_of(member, bucket), t;
    int64_t at, left;

    if (bucket->dtype >= HDP_I32)
        return HDP_OK;
    memset(block, 0xff, sizeof block); /* is NaN in every float type */
    for (t = 0; t < bucket->tensor_count; ++t)
        for (at = 0; at < bytes_of(bucket, t); at += left) {
            left = bytes_of(bucket, t) - at;
            left = left < POISON_BYTES ? left : POISON_BYTES;
            HDPI_RETURN_IF(move(member,
                                (unsigned char *)bucket->recv[row + t] + at,
                                block, left, HDPI_COPY_IN));
        }
    return hdpi_member_wait(member); /* the block is this function's */
}

static hdp_status empty(struct hdpi_member *member,
                        const struct hdpi_bucket *bucket, int staged)
{
    int32_t row = row_of(member, bucket), t;

    if (!staged)
        return poison(member, bucket);
    for (t = 0; t < bucket->tensor_count; ++t)
        HDPI_RETURN_IF(move(member, bucket->recv[row + t],
                            bucket->staged[row + t], bytes_of(bucket, t),
                            HDPI_COPY_IN));
    return HDP_OK;
}

hdp_status hdpi_stage_out(struct hdpi_member *member)
{
    const struct hdpi_step *step = member->step;
    struct hdpi_stage *stage = &member->stage;

    if (stage->returned == member->posted)
        return HDP_OK;
    for (; stage->returned < member->posted; ++stage->returned) {
        const struct hdpi_comm_call *call =
            &step->calls[member->index * step->bucket_count + stage->returned];
        HDPI_RETURN_IF(
            empty(member, &step->buckets[stage->returned], call->recv != NULL));
    }
    return hdpi_member_wait(member);
}
