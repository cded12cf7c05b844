/* Streams of the caller's: what a step comes after, and what comes after it. They
 * are looked at on a thread of the library's own, since CUDA may refuse them. */
#include <stdio.h>
#include "internal.h"

/* ---- before a step --------------------------------------------------------- */

struct joining {
    hdp_group *group;
    const struct hdpi_step *step;
};

/* A lent queue may have begun to capture since the group was made. */
static hdp_status look_at_lent(struct hdpi_device *device)
{
    if (!device->lent_queue)
        return HDP_OK;
    return device->ops->order(device, device->lent_queue, HDPI_ORDER_LOOK);
}

/* The queue after the stream; a refusal is told behind the place of it. */
static hdp_status join_one(struct hdpi_device *device, void *stream,
                           int32_t way, const char *list, int32_t index)
{
    char place[80];
    hdp_status status;

    if (!stream)
        return HDP_OK;
    status = device->ops->order(device, stream, way);
    if (status == HDP_ERR_ARGUMENT || status == HDP_ERR_STATE) {
        (void)snprintf(place, sizeof place, "%s[%d]", list, (int)index);
        hdpi_error_behind(place);
    }
    return status;
}

static hdp_status after_arrays(struct hdpi_device *device,
                               const struct hdpi_array *arrays, int32_t count,
                               const char *list)
{
    int32_t i;

    for (i = 0; i < count; ++i)
        HDPI_RETURN_IF(
            join_one(device, arrays[i].stream, HDPI_ORDER_AFTER_ANY, list, i));
    return HDP_OK;
}

static hdp_status join_member(struct hdpi_device *device, int32_t member,
                              const struct hdpi_step *step)
{
    char list[40];
    int32_t b;

    HDPI_RETURN_IF(look_at_lent(device));
    HDPI_RETURN_IF(
        after_arrays(device, step->inputs, step->input_count, "inputs"));
    HDPI_RETURN_IF(
        after_arrays(device, step->outputs, step->output_count, "outputs"));
    for (b = 0; b < step->bucket_count; ++b) {
        if (!step->buckets[b].streams)
            continue;
        (void)snprintf(list, sizeof list, "bucket %d: streams", (int)b);
        HDPI_RETURN_IF(join_one(device, step->buckets[b].streams[member],
                                HDPI_ORDER_AFTER, list, member));
    }
    return HDP_OK;
}

static hdp_status join_here(void *arg)
{
    struct joining *all = arg;
    int32_t m;

    for (m = 0; m < all->group->member_count; ++m)
        HDPI_RETURN_IF(
            join_member(all->group->members[m].device, m, all->step));
    return HDP_OK;
}

static int any_stream(const hdp_group *group, const struct hdpi_step *step)
{
    int32_t i;

    for (i = 0; i < group->member_count; ++i)
        if (group->members[i].device->lent_queue)
            return 1;
    for (i = 0; i < step->input_count; ++i)
        if (step->inputs[i].stream)
            return 1;
    for (i = 0; i < step->output_count; ++i)
        if (step->outputs[i].stream)
            return 1;
    for (i = 0; i < step->bucket_count; ++i)
        if (step->buckets[i].streams)
            return 1;
    return 0;
}

hdp_status hdpi_streams_join(hdp_group *group, struct hdpi_step *step)
{
    struct joining all = { group, step };
    struct hdpi_device *device;

    if (group->first_gpu < 0 || !any_stream(group, step))
        return HDP_OK;
    device = group->members[group->first_gpu].device;
    return device->ops->apart(device, join_here, &all);
}

/* ---- after a step ---------------------------------------------------------- */

struct ordering {
    struct hdpi_device *device;
    void *stream;
};

static hdp_status order_here(void *arg)
{
    struct ordering *one = arg;

    return one->device->ops->order(one->device, one->stream, HDPI_ORDER_BEFORE);
}

/* Waits until the step is done: so the order is there already, and what is left
 * is to refuse a stream that cannot be ordered. */
hdp_status hdp_group_order(hdp_group *group, uint64_t step, int32_t member,
                           void *stream)
{
    struct hdpi_device *device;
    struct ordering one;

    HDPI_RETURN_IF(hdpi_group_check_any(group));
    HDPI_RETURN_IF(hdpi_step_known(group, step));
    if (member < 0 || member >= group->member_count)
        return hdpi_fail(HDP_ERR_ARGUMENT, "member %d of %d", (int)member,
                         (int)group->member_count);
    device = group->members[member].device;
    if (stream && !device->asynchronous)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "member %d (%s) has no streams; stream must be NULL",
                         (int)member, device->row.info.spec);
    HDPI_RETURN_IF(hdpi_step_wait(NULL, group, step));
    if (!stream)
        return HDP_OK;
    one.device = device;
    one.stream = stream;
    return device->ops->apart(device, order_here, &one);
}
