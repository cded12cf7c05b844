/* The caller's function on one member's rows: views of the rows, calls in
 * pieces, results back. What it may call meanwhile stands in inside.c. */
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/options.h"
#include "internal.h"

/* ---- rows ------------------------------------------------------------------ */

static hdp_status reserve_tables(struct hdpi_member *member, int32_t inputs,
                                 int32_t outputs)
{
    size_t views = (size_t)(inputs + outputs);

    HDPI_RETURN_IF(hdpi_grow(&member->views, &member->view_capacity, views,
                             sizeof *member->views, "views of a shard"));
    return hdpi_grow(&member->stores, &member->store_capacity,
                     views + (size_t)outputs, sizeof *member->stores,
                     "stores of a shard");
}

/* Room for `bytes`; what was in it is lost. *fresh says that it is new. */
static hdp_status reserve_store(struct hdpi_member *member,
                                struct hdpi_store *store, int64_t bytes,
                                int *fresh)
{
    *fresh = (size_t)bytes > store->bytes;
    if (!*fresh)
        return HDP_OK;
    hdpi_member_free(member, store->memory, store->bytes);
    store->memory = NULL;
    store->bytes = 0;
    HDPI_RETURN_IF(hdpi_member_alloc(member, &store->memory, (size_t)bytes));
    store->bytes = (size_t)bytes;
    return HDP_OK;
}

/* The same in host memory: what a member keeps back. */
static hdp_status reserve_kept(struct hdpi_member *member,
                               struct hdpi_store *store, int64_t bytes)
{
    struct hdpi_device *device = member->device;
    int fresh;

    if (!device->asynchronous)
        return reserve_store(member, store, bytes, &fresh);
    if ((size_t)bytes <= store->bytes)
        return HDP_OK;
    device->ops->host_free(device, store->memory);
    store->memory = NULL;
    store->bytes = 0;
    store->host = 1;
    HDPI_RETURN_IF(
        device->ops->host_alloc(device, &store->memory, (size_t)bytes));
    store->bytes = (size_t)bytes;
    return HDP_OK;
}

/* Where this member's rows of an array begin. */
static unsigned char *rows_of(const struct hdpi_member *member,
                              const struct hdpi_array *array)
{
    const struct hdpi_step *step = member->step;

    if (array->member_data)
        return array->member_data[member->index];
    if (!array->data)
        return NULL;
    return array->data + (step->offsets[member->index] - step->offsets[0]) *
                             array->stride_bytes;
}

/* Where they are, HDPI_AT_*, as the member's device sees it. */
static int32_t place_of(const struct hdpi_member *member,
                        const struct hdpi_array *array)
{
    struct hdpi_device *device = member->device;

    if (!device->asynchronous)
        return device->host_memory || array->member_data ? HDPI_AT_MEMBER
                                                         : HDPI_AT_HOST;
    if (array->memory == HDP_MEMORY_HOST)
        return HDPI_AT_HOST;
    if (array->memory == HDP_MEMORY_MEMBER &&
        (array->member_data || array->member == member->index))
        return HDPI_AT_MEMBER;
    return device->ops->locate(device, rows_of(member, array));
}

static int lies_apart(const struct hdpi_member *member,
                      const struct hdpi_array *array)
{
    return place_of(member, array) != HDPI_AT_MEMBER;
}

/* Beside GPUs: what lies on one of them is out of the others' reach. */
static hdp_status check_reach(const struct hdpi_member *member,
                              const struct hdpi_array *array, const char *list,
                              int32_t index)
{
    const hdp_group *group = member->group;
    struct hdpi_device *gpu;

    if (group->first_gpu < 0 || member->device->asynchronous ||
        member->step->items[member->index] == 0 ||
        array->memory == HDP_MEMORY_HOST)
        return HDP_OK;
    gpu = group->members[group->first_gpu].device;
    if (gpu->ops->locate(gpu, rows_of(member, array)) == HDPI_AT_HOST)
        return HDP_OK;
    return hdpi_fail_member(HDP_ERR_UNSUPPORTED, member->index, member->rank,
                            "%s[%d] lies on a GPU, out of reach of member %d "
                            "(%s): give host memory, or member_data",
                            list, (int)index, (int)member->index,
                            member->device->row.info.spec);
}

static struct hdpi_copy between(const struct hdpi_array *array, int64_t rows,
                                int32_t direction, void *caller, void *own)
{
    struct hdpi_copy copy = { 0 };
    int in = direction == HDPI_COPY_IN;

    copy.target = in ? own : caller;
    copy.source = in ? caller : own;
    copy.rows = rows;
    copy.row_bytes = array->row_bytes;
    copy.target_stride = in ? array->row_bytes : array->stride_bytes;
    copy.source_stride = in ? array->stride_bytes : array->row_bytes;
    copy.direction = direction;
    return copy;
}

static hdp_status view_array(struct hdpi_member *member, int32_t index,
                             const struct hdpi_array *array, int output)
{
    const struct hdpi_step *step = member->step;
    struct hdpi_device *device = member->device;
    struct hdpi_store *store = &member->stores[index];
    hdp_view *view = &member->views[index];
    int64_t rows = step->items[member->index];
    int keep = output && (step->flags & HDP_WORK_STAGED);
    int fresh;

    view->rows = rows;
    view->row_bytes = array->row_bytes;
    if (!keep && !lies_apart(member, array)) {
        view->data = rows_of(member, array);
        view->row_stride_bytes = array->stride_bytes;
        return HDP_OK;
    }
    HDPI_RETURN_IF(
        reserve_store(member, store, rows * array->row_bytes, &fresh));
    view->data = store->memory;
    view->row_stride_bytes = array->row_bytes;
    if (output || rows == 0)
        return HDP_OK;
    {
        struct hdpi_copy copy = between(array, rows, HDPI_COPY_IN,
                                        rows_of(member, array), store->memory);
        return device->ops->copy(device, &copy);
    }
}

static hdp_status scatter(struct hdpi_member *member)
{
    const struct hdpi_step *step = member->step;
    int32_t i;

    HDPI_RETURN_IF(
        reserve_tables(member, step->input_count, step->output_count));
    for (i = 0; i < step->input_count; ++i) {
        HDPI_RETURN_IF(check_reach(member, &step->inputs[i], "inputs", i));
        HDPI_RETURN_IF(view_array(member, i, &step->inputs[i], 0));
    }
    for (i = 0; i < step->output_count; ++i) {
        HDPI_RETURN_IF(check_reach(member, &step->outputs[i], "outputs", i));
        HDPI_RETURN_IF(
            view_array(member, step->input_count + i, &step->outputs[i], 1));
    }
    return HDP_OK;
}

/* Rows out of the member: to the caller's array, or with STAGED to host memory
 * of ours that hdpi_shard_deliver() empties once everybody is well. */
static hdp_status gather(struct hdpi_member *member)
{
    const struct hdpi_step *step = member->step;
    struct hdpi_device *device = member->device;
    int64_t rows = step->items[member->index];
    int32_t i;

    for (i = 0; rows > 0 && i < step->output_count; ++i) {
        const struct hdpi_array *array = &step->outputs[i];
        struct hdpi_store *store = &member->stores[step->input_count + i];
        struct hdpi_store *kept = store + step->output_count;
        struct hdpi_array packed = *array;
        struct hdpi_copy copy;
        if (!lies_apart(member, array))
            continue;
        if (step->flags & HDP_WORK_STAGED) {
            HDPI_RETURN_IF(reserve_kept(member, kept, rows * array->row_bytes));
            packed.stride_bytes = array->row_bytes;
            copy = between(&packed, rows, HDPI_COPY_OUT, kept->memory,
                           store->memory);
        } else {
            copy = between(array, rows, HDPI_COPY_OUT, rows_of(member, array),
                           store->memory);
        }
        HDPI_RETURN_IF(device->ops->copy(device, &copy));
    }
    return HDP_OK;
}

/* Rows that do not lie in host memory are the device's to write. */
static hdp_status deliver_one(struct hdpi_member *member,
                              const struct hdpi_array *array,
                              const struct hdpi_store *store)
{
    const struct hdpi_step *step = member->step;
    struct hdpi_device *device = member->device;
    int64_t rows = step->items[member->index], r;
    int32_t place = place_of(member, array);
    unsigned char *from = store->memory, *to = rows_of(member, array);

    if (place != HDPI_AT_MEMBER)
        from = store[step->output_count].memory;
    if (device->asynchronous && place != HDPI_AT_HOST) {
        struct hdpi_copy copy = between(array, rows, HDPI_COPY_OUT, to, from);
        if (place == HDPI_AT_MEMBER)
            copy.direction = HDPI_COPY_INSIDE;
        HDPI_RETURN_IF(device->ops->copy(device, &copy));
        return hdpi_member_wait(member);
    }
    for (r = 0; r < rows; ++r)
        memcpy(to + r * array->stride_bytes, from + r * array->row_bytes,
               (size_t)array->row_bytes);
    return HDP_OK;
}

hdp_status hdpi_shard_deliver(struct hdpi_member *member)
{
    const struct hdpi_step *step = member->step;
    int32_t i;

    for (i = 0; step->items[member->index] > 0 && i < step->output_count; ++i)
        HDPI_RETURN_IF(deliver_one(member, &step->outputs[i],
                                   &member->stores[step->input_count + i]));
    return HDP_OK;
}

/* ---- calls ----------------------------------------------------------------- */

static hdp_work_fn function_of(const struct hdpi_member *member,
                               hdp_work_fn host, hdp_work_fn cuda)
{
    return member->device->row.info.kind == HDP_CUDA ? cuda : host;
}

static void describe(struct hdpi_member *member, hdp_shard *shard)
{
    const hdp_device *info = &member->device->row.info;

    memset(shard, 0, sizeof *shard);
    shard->size = sizeof *shard;
    shard->kind = info->kind;
    shard->logical_id = info->logical_id;
    shard->sm_count =
        info->partition_sms ? info->partition_sms : info->sm_count;
    shard->thread_count = info->thread_count;
    shard->member = member->index;
    shard->rank = member->rank;
    shard->rank_count = member->group->member_count;
    shard->stream = member->device->ops->native(member->device);
    shard->internal = member;
}

/* What the function or hdp_shard_fail() said went wrong. An error that a shard
 * function already noted is the reason why the function gave up. */
static hdp_status failure_of(struct hdpi_member *member, int32_t code)
{
    if (member->shard_status != HDP_OK) {
        (void)hdpi_fail_member(member->shard_status, member->index,
                               member->rank, "member %d: %s",
                               (int)member->index, member->shard_text);
        hdpi_error()->wanted_bytes = member->shard_wanted_bytes;
    } else {
        (void)hdpi_fail_member(HDP_ERR_CALLBACK, member->index, member->rank,
                               "member %d (%s): the function returned %d",
                               (int)member->index,
                               member->device->row.info.spec, (int)code);
    }
    hdpi_error()->user_code = code;
    return hdpi_error()->status;
}

/* One call of the function, timed without its waits for other members. */
static hdp_status call_function(struct hdpi_member *member, hdp_work_fn fn,
                                void *user, double *out_ns)
{
    struct hdpi_device *device = member->device;
    const struct hdpi_device_ops *ops = device->ops;
    const hdp_group *before;
    int32_t code = 0;
    double elapsed_ns;
    hdp_status status;

    member->paused_ns = 0;
    member->shard_status = HDP_OK;
    HDPI_RETURN_IF(ops->mark(device, &member->from, HDPI_MARK_TIME));
    atomic_store_explicit(&member->inside, HDPI_INSIDE_FUNCTION,
                          memory_order_relaxed);
    atomic_store_explicit(&member->live, 1, memory_order_release);
    before = hdpi_step_working_for(member->group);
    status = ops->launch(device, fn, &member->shard, user, &code);
    (void)hdpi_step_working_for(before);
    atomic_store_explicit(&member->live, 0, memory_order_release);
    atomic_store_explicit(&member->inside, HDPI_OUTSIDE, memory_order_relaxed);
    HDPI_RETURN_IF(status);
    if (code != 0 || member->shard_status != HDP_OK)
        return failure_of(member, code);
    HDPI_RETURN_IF(ops->mark(device, &member->to, HDPI_MARK_TIME));
    HDPI_RETURN_IF(
        hdpi_member_elapsed(member, &elapsed_ns, &member->from, &member->to));
    *out_ns = elapsed_ns - member->paused_ns;
    return HDP_OK;
}

static hdp_status call_piece(struct hdpi_member *member, int64_t first,
                             int64_t rows, int32_t piece)
{
    struct hdpi_step *step = member->step;
    hdp_group *group = member->group;
    hdp_shard *shard = &member->shard;
    int64_t share = step->items[member->index];
    int64_t start_ns = 0;
    double ns;
    int32_t i;

    shard->flags = (first == 0 ? HDP_SHARD_FIRST : 0) |
                   (first + rows == share ? HDP_SHARD_LAST : 0);
    shard->offset = step->offsets[member->index] + first;
    shard->items = rows;
    for (i = 0; i < step->input_count + step->output_count; ++i)
        member->views[i].rows = rows;
    if (!group->all_virtual)
        start_ns = hdpi_clock_ns() - step->accepted_ns;
    HDPI_RETURN_IF(call_function(
        member, function_of(member, step->host, step->cuda), step->user, &ns));
    if (group->all_virtual)
        start_ns = (int64_t)step->outcomes[member->index].compute_ns;
    hdpi_member_span(member, HDP_LANE_COMPUTE, HDP_PHASE_COMPUTE, piece,
                     start_ns, start_ns + (int64_t)(ns + 0.5));
    step->outcomes[member->index].compute_ns += ns;
    for (i = 0; i < step->input_count + step->output_count; ++i)
        if (member->views[i].data)
            member->views[i].data = (unsigned char *)member->views[i].data +
                                    rows * member->views[i].row_stride_bytes;
    return HDP_OK;
}

hdp_status hdpi_shard_run(struct hdpi_member *member)
{
    struct hdpi_step *step = member->step;
    int64_t share = step->items[member->index];
    int64_t most = step->max_piece_items ? step->max_piece_items : share;
    int64_t first = 0, rows;
    int32_t piece = 0;

    if (share == 0 && !(step->flags & HDP_WORK_EMPTY_TOO))
        return HDP_OK;
    HDPI_RETURN_IF(scatter(member));
    describe(member, &member->shard);
    member->shard.share_items = share;
    member->shard.total_items = step->total;
    member->shard.step = step->number;
    member->shard.inputs = member->views;
    member->shard.outputs =
        member->views ? member->views + step->input_count : NULL;
    member->shard.input_count = step->input_count;
    member->shard.output_count = step->output_count;
    do {
        rows = share - first < most ? share - first : most;
        HDPI_RETURN_IF(call_piece(member, first, rows, piece));
        /* A lost group calls nothing more and leaves the outputs alone. */
        HDPI_RETURN_IF(hdpi_group_well(member->group));
        first += rows;
        piece++;
    } while (first < share);
    return gather(member);
}

/* ---- measuring the function ------------------------------------------------ */

/* Finite small numbers whatever float type the function reads them as: the
 * sign and the low exponent bits vary, the top of the exponent does not. */
static void fill_random(void *memory, size_t bytes, uint64_t seed)
{
    unsigned char *at = memory;
    size_t i;

    for (i = 0; i < bytes; ++i) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        at[i] = (unsigned char)(i % 2 ? 0x30u | (seed & 0x8fu) : seed);
    }
}

static hdp_status invent_rows(struct hdpi_member *member, int32_t index,
                              const hdp_array *arrays, int32_t which,
                              int64_t items, int output)
{
    struct hdpi_store *store = &member->stores[index];
    struct hdpi_device *device = member->device;
    hdp_array own;
    int64_t bytes;
    void *filled = NULL;
    int fresh;
    hdp_status status;

    HDPI_TRY(
        hdpi_options_read_at(&own, sizeof own, arrays, which, "hdp_array"));
    HDPI_TRY(hdpi_mul(&bytes, items, own.row_bytes, "rows of a probe"));
    HDPI_TRY(reserve_store(member, store, bytes, &fresh));
    member->views[index].data = store->memory;
    member->views[index].rows = items;
    member->views[index].row_bytes = own.row_bytes;
    member->views[index].row_stride_bytes = own.row_bytes;
    if (!fresh || output)
        goto out;
    if (device->host_memory) {
        fill_random(store->memory, (size_t)bytes, 88172645463325252u);
    } else {
        struct hdpi_copy copy;
        filled = hdpi_alloc((size_t)bytes, 1, "rows of a probe");
        if (!filled) {
            status = HDP_ERR_MEMORY;
            goto out;
        }
        fill_random(filled, (size_t)bytes, 88172645463325252u);
        copy = hdpi_copy_block(store->memory, filled, bytes, HDPI_COPY_IN);
        HDPI_TRY(device->ops->copy(device, &copy));
        HDPI_TRY(hdpi_member_wait(member)); /* what it is filled from goes */
    }
out:
    free(filled);
    return status;
}

hdp_status hdpi_member_probe_work(struct hdpi_member *member,
                                  const hdp_work *work, int64_t items,
                                  double *out_ns)
{
    hdp_shard *shard = &member->shard;
    hdp_work_fn fn = function_of(member, work->host, work->cuda);
    int32_t i;

    HDPI_RETURN_IF(
        reserve_tables(member, work->input_count, work->output_count));
    for (i = 0; i < work->input_count; ++i)
        HDPI_RETURN_IF(invent_rows(member, i, work->inputs, i, items, 0));
    for (i = 0; i < work->output_count; ++i)
        HDPI_RETURN_IF(invent_rows(member, work->input_count + i, work->outputs,
                                   i, items, 1));
    describe(member, shard);
    shard->flags = HDP_SHARD_PROBE | HDP_SHARD_FIRST | HDP_SHARD_LAST;
    shard->items = shard->share_items = shard->total_items = items;
    shard->inputs = member->views;
    shard->outputs = member->views ? member->views + work->input_count : NULL;
    shard->input_count = work->input_count;
    shard->output_count = work->output_count;
    return call_function(member, fn, work->user, out_ns);
}
