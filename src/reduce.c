/* The reduce verbs: weighted all-reduce, broadcast, barrier, as steps without
 * a function; and the capture of buckets that run.c shares. */
#include <string.h>
#include "base/options.h"
#include "internal.h"

enum { TENSORS_MAX = 1 << 20, WIDEST_BYTES = 8 /* of an element */ };

/* ---- checks ---------------------------------------------------------------- */

static int is_integer(int32_t dtype)
{
    return dtype >= HDP_I32 && dtype <= HDP_I8;
}

static hdp_status check_op(const hdp_buffers *given, int32_t index)
{
    if (given->op < HDP_OP_MEAN || given->op > HDP_OP_SUM_OVER_TOTAL)
        return hdpi_fail(HDP_ERR_ARGUMENT, "bucket %d: op is %d", (int)index,
                         (int)given->op);
    if (is_integer(given->dtype) &&
        (given->op == HDP_OP_MEAN || given->op == HDP_OP_SUM_OVER_TOTAL))
        return hdpi_fail(HDP_ERR_UNSUPPORTED,
                         "bucket %d: the mean of integers is not an integer; "
                         "use HDP_OP_SUM and divide",
                         (int)index);
    return HDP_OK;
}

/* Only a reduce has an operation: a broadcast leaves it at its default. */
static hdp_status check_kind(const hdp_buffers *given, int32_t index,
                             int32_t kind)
{
    if (given->dtype < HDP_F32 || given->dtype > HDP_I8)
        return hdpi_fail(HDP_ERR_ARGUMENT, "bucket %d: dtype is %d", (int)index,
                         (int)given->dtype);
    if (kind == HDPI_COMM_REDUCE)
        HDPI_RETURN_IF(check_op(given, index));
    if (given->memory < HDP_MEMORY_DETECT || given->memory > HDP_MEMORY_MEMBER)
        return hdpi_fail(HDP_ERR_ARGUMENT, "bucket %d: memory is %d",
                         (int)index, (int)given->memory);
    if (given->tensor_count < 1 || given->tensor_count > TENSORS_MAX)
        return hdpi_fail(HDP_ERR_ARGUMENT, "bucket %d: tensor_count is %d",
                         (int)index, (int)given->tensor_count);
    if (!given->elements || !given->recv)
        return hdpi_fail(HDP_ERR_ARGUMENT, "bucket %d: %s is NULL", (int)index,
                         given->elements ? "recv" : "elements");
    return HDP_OK;
}

static hdp_status check_tensors(const hdp_group *group,
                                const hdp_buffers *given, int32_t index)
{
    int32_t m, t, k = 0;
    int64_t left = INT64_MAX / WIDEST_BYTES;

    for (t = 0; t < given->tensor_count; ++t) {
        if (given->elements[t] < 0 || given->elements[t] > left)
            return hdpi_fail(
                HDP_ERR_ARGUMENT, "bucket %d: elements[%d] is %lld%s",
                (int)index, (int)t, (long long)given->elements[t],
                given->elements[t] < 0 ? ""
                                       : ", and the sum passes 2^63 bytes");
        left -= given->elements[t];
    }
    for (m = 0; m < group->member_count; ++m) {
        if (given->streams && given->streams[m] &&
            !group->members[m].device->asynchronous)
            return hdpi_fail(HDP_ERR_ARGUMENT,
                             "bucket %d: streams[%d] is given, but %s has no "
                             "streams",
                             (int)index, (int)m,
                             group->members[m].device->row.info.spec);
        for (t = 0; t < given->tensor_count; ++t, ++k)
            if (given->elements[t] > 0 &&
                (!given->recv[k] || (given->send && !given->send[k])))
                return hdpi_fail(HDP_ERR_ARGUMENT,
                                 "bucket %d: %s of member %d, tensor %d is "
                                 "NULL",
                                 (int)index, given->recv[k] ? "send" : "recv",
                                 (int)m, (int)t);
    }
    return HDP_OK;
}

/* The weights: counts given, else the plan's items, else 1 a member. */
static hdp_status weigh(struct hdpi_bucket *bucket,
                        const struct hdpi_step *step, const hdp_group *group,
                        const hdp_buffers *given, int32_t index)
{
    int needs = given->op == HDP_OP_MEAN || given->op == HDP_OP_SUM_OVER_TOTAL;
    int32_t m;

    if (needs && !given->counts && !step->items)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "bucket %d: a mean needs weights: counts or a plan",
                         (int)index);
    for (m = 0; m < group->member_count; ++m) {
        int64_t count = given->counts ? given->counts[m]
                        : step->items ? step->items[m]
                                      : 1;
        if (count < 0 || count > INT64_MAX - bucket->total)
            return hdpi_fail(HDP_ERR_ARGUMENT,
                             "bucket %d: counts[%d] is %lld%s", (int)index,
                             (int)m, (long long)count,
                             count < 0 ? "" : ", and the sum passes 2^63");
        bucket->total += count;
        bucket->counts[m] = count;
    }
    if (given->total_count && given->total_count != bucket->total)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "bucket %d: total_count is %lld, the counts add up "
                         "to %lld",
                         (int)index, (long long)given->total_count,
                         (long long)bucket->total);
    return HDP_OK;
}

/* A broadcast weighs nothing, but a communicator wants no weight of 0. */
static void weigh_alike(struct hdpi_bucket *bucket, const hdp_group *group)
{
    int32_t m;

    for (m = 0; m < group->member_count; ++m)
        bucket->counts[m] = 1;
    bucket->total = group->member_count;
}

/* ---- capture --------------------------------------------------------------- */

hdp_status hdpi_buckets_cost(size_t *bytes, const hdp_group *group,
                             const hdp_buffers *buffers, int32_t count,
                             int32_t kind)
{
    size_t members = (size_t)group->member_count;
    hdp_buffers given;
    int32_t b;

    *bytes += hdpi_arena_cost((size_t)count, sizeof(struct hdpi_bucket));
    *bytes +=
        hdpi_arena_cost((size_t)count * members, sizeof(struct hdpi_comm_call));
    *bytes += hdpi_arena_cost((size_t)count * members, 1);
    *bytes += hdpi_arena_cost((size_t)count * members, sizeof(double));
    for (b = 0; b < count; ++b) {
        size_t tensors;
        HDPI_RETURN_IF(hdpi_options_read_at(&given, sizeof given, buffers, b,
                                            "hdp_buffers"));
        HDPI_RETURN_IF(check_kind(&given, b, kind));
        tensors = (size_t)given.tensor_count;
        *bytes += hdpi_arena_cost(tensors, sizeof(int64_t));
        *bytes += 2 * hdpi_arena_cost(tensors * members, sizeof(void *));
        if (group->first_gpu >= 0)
            *bytes += hdpi_arena_cost(tensors * members, sizeof(void *)) +
                      hdpi_arena_cost(members, sizeof(void *));
        *bytes += hdpi_arena_cost(members, sizeof(int64_t));
    }
    return HDP_OK;
}

static hdp_status capture_one(struct hdpi_bucket *bucket,
                              struct hdpi_step *step, const hdp_group *group,
                              const hdp_buffers *given, int32_t index)
{
    size_t members = (size_t)group->member_count;
    size_t tensors = (size_t)given->tensor_count;
    size_t table = tensors * members * sizeof(void *);

    HDPI_RETURN_IF(check_tensors(group, given, index));
    bucket->dtype = given->dtype;
    bucket->op = given->op;
    bucket->tensor_count = given->tensor_count;
    bucket->elements = hdpi_arena_take(&step->arena, tensors, sizeof(int64_t));
    memcpy(bucket->elements, given->elements, tensors * sizeof(int64_t));
    bucket->recv =
        hdpi_arena_take(&step->arena, tensors * members, sizeof(void *));
    memcpy(bucket->recv, given->recv, table);
    if (given->send) {
        bucket->send =
            hdpi_arena_take(&step->arena, tensors * members, sizeof(void *));
        memcpy(bucket->send, given->send, table);
    }
    if (group->first_gpu >= 0)
        bucket->staged =
            hdpi_arena_take(&step->arena, tensors * members, sizeof(void *));
    if (group->first_gpu >= 0 && given->streams) {
        bucket->streams =
            hdpi_arena_take(&step->arena, members, sizeof(void *));
        memcpy(bucket->streams, given->streams, members * sizeof(void *));
    }
    bucket->counts = hdpi_arena_take(&step->arena, members, sizeof(int64_t));
    if (bucket->kind == HDPI_COMM_REDUCE)
        return weigh(bucket, step, group, given, index);
    weigh_alike(bucket, group);
    return HDP_OK;
}

/* One call a member a bucket, as the communicator wants them. */
static void fill_calls(struct hdpi_step *step, const hdp_group *group)
{
    int32_t m, b;

    for (m = 0; m < group->member_count; ++m)
        for (b = 0; b < step->bucket_count; ++b) {
            const struct hdpi_bucket *bucket = &step->buckets[b];
            struct hdpi_comm_call *call =
                &step->calls[m * step->bucket_count + b];
            call->kind = bucket->kind;
            call->dtype = bucket->dtype;
            call->op = bucket->op;
            call->root = bucket->root;
            call->tensor_count = bucket->tensor_count;
            call->elements = bucket->elements;
            call->recv = bucket->recv + m * bucket->tensor_count;
            call->send =
                bucket->send ? bucket->send + m * bucket->tensor_count : NULL;
            call->count = bucket->counts[m];
            call->total = bucket->total;
        }
}

hdp_status hdpi_buckets_capture(struct hdpi_step *step, hdp_group *group,
                                const hdp_buffers *buffers, int32_t count,
                                int32_t kind, int32_t root_rank)
{
    size_t calls = (size_t)count * (size_t)group->member_count;
    hdp_buffers given;
    int32_t b;

    step->buckets =
        hdpi_arena_take(&step->arena, (size_t)count, sizeof *step->buckets);
    step->calls = hdpi_arena_take(&step->arena, calls, sizeof *step->calls);
    step->said = hdpi_arena_take(&step->arena, calls, 1);
    step->ready_ns =
        hdpi_arena_take(&step->arena, calls, sizeof *step->ready_ns);
    for (b = 0; b < count; ++b) {
        HDPI_RETURN_IF(hdpi_options_read_at(&given, sizeof given, buffers, b,
                                            "hdp_buffers"));
        step->buckets[b].kind = kind;
        step->buckets[b].root = root_rank;
        HDPI_RETURN_IF(capture_one(&step->buckets[b], step, group, &given, b));
    }
    step->bucket_count = count;
    fill_calls(step, group);
    return HDP_OK;
}

/* ---- verbs ----------------------------------------------------------------- */

static hdp_status capture(struct hdpi_step *step, hdp_group *group,
                          const hdp_plan *plan, const hdp_buffers *buffers,
                          int32_t kind, int32_t root_rank)
{
    size_t bytes = 0;

    step->kind = HDPI_STEP_REDUCE;
    HDPI_RETURN_IF(hdpi_plan_capture(step, group, plan));
    HDPI_RETURN_IF(hdpi_buckets_cost(&bytes, group, buffers, 1, kind));
    HDPI_RETURN_IF(hdpi_arena_reserve(&step->arena, bytes));
    HDPI_RETURN_IF(
        hdpi_buckets_capture(step, group, buffers, 1, kind, root_rank));
    if (step->buckets[0].total == 0)
        return hdpi_fail(HDP_ERR_STATE, "nothing to reduce: every weight is 0");
    HDPI_RETURN_IF(hdpi_streams_join(group, step));
    return hdpi_group_connect(group);
}

static hdp_status reduce_async(uint64_t *out_step, hdp_group *group,
                               const hdp_plan *plan, const hdp_buffers *buffers,
                               int32_t kind, int32_t root_rank)
{
    struct hdpi_step *step = NULL;
    hdp_status status;

    if (!out_step)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out_step is NULL");
    *out_step = 0;
    HDPI_RETURN_IF(hdpi_group_check(group));
    if (!buffers)
        return hdpi_fail(HDP_ERR_ARGUMENT, "buffers is NULL");
    HDPI_RETURN_IF(hdpi_step_open(&step, group, 0));
    status = capture(step, group, plan, buffers, kind, root_rank);
    if (status != HDP_OK) {
        hdpi_step_cancel(group, step);
        return status;
    }
    *out_step = hdpi_step_accept(group, step);
    return HDP_OK;
}

hdp_status hdp_all_reduce_async(uint64_t *out_step, hdp_group *group,
                                const hdp_plan *plan,
                                const hdp_buffers *buffers)
{
    return reduce_async(out_step, group, plan, buffers, HDPI_COMM_REDUCE, 0);
}

hdp_status hdp_all_reduce(hdp_group *group, const hdp_plan *plan,
                          const hdp_buffers *buffers)
{
    uint64_t number;

    HDPI_RETURN_IF(
        reduce_async(&number, group, plan, buffers, HDPI_COMM_REDUCE, 0));
    return hdpi_step_wait(NULL, group, number);
}

hdp_status hdp_broadcast(hdp_group *group, int32_t root_rank,
                         const hdp_buffers *buffers)
{
    uint64_t number;

    HDPI_RETURN_IF(hdpi_group_check(group));
    if (root_rank < 0 || root_rank >= group->member_count)
        return hdpi_fail(HDP_ERR_ARGUMENT, "root_rank is %d of %d ranks",
                         (int)root_rank, (int)group->member_count);
    HDPI_RETURN_IF(reduce_async(&number, group, NULL, buffers,
                                HDPI_COMM_BROADCAST, root_rank));
    return hdpi_step_wait(NULL, group, number);
}

hdp_status hdp_all_gather(hdp_group *group, const hdp_plan *plan,
                          const hdp_array *rows, const hdp_array *all)
{
    (void)plan;
    (void)rows;
    (void)all;
    HDPI_RETURN_IF(hdpi_group_check(group));
    return hdpi_fail(HDP_ERR_UNSUPPORTED,
                     "all_gather comes in a later version; in one process the "
                     "outputs of a run already lie in one array");
}

/* In one process a step without work is done when every member passed it. */
hdp_status hdp_barrier(hdp_group *group)
{
    struct hdpi_step *step = NULL;
    uint64_t number;

    HDPI_RETURN_IF(hdpi_group_check(group));
    HDPI_RETURN_IF(hdpi_step_open(&step, group, 0));
    step->kind = HDPI_STEP_REDUCE;
    number = hdpi_step_accept(group, step);
    return hdpi_step_wait(NULL, group, number);
}
