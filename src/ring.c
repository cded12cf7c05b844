/* What reduces take on virtual clocks. They run in table order, each once every
 * member is ready, as a ring over the slowest link, which is how the planner
 * prices them: so a simulated step takes what its plan has said. */
#include "core/bench.h"
#include "internal.h"

static double slowest_link(const hdp_group *group)
{
    double slowest = 0; /* no link is known */

    for (int32_t m = 0; m < group->member_count; ++m) {
        double link = group->members[m].device->row.reduce_bytes_per_second;
        if (link > 0 && (slowest <= 0 || link < slowest))
            slowest = link;
    }
    return slowest;
}

/* A broadcast passes each byte on once, half of what a reduce does. */
static double call_ns(const hdp_group *group, const struct hdpi_comm_call *call)
{
    double ns =
        hdpi_ring_time(group->member_count, slowest_link(group), call->bytes);

    return call->kind == HDPI_COMM_REDUCE      ? ns
           : call->kind == HDPI_COMM_BROADCAST ? ns / 2
                                               : 0;
}

/* From the step's beginning, on every member's clock alike. */
static double end_ns(const struct hdpi_member *member)
{
    const struct hdpi_step *step = member->step;
    const hdp_group *group = member->group;
    double end = 0;

    for (int32_t b = 0; b < member->posted; ++b) {
        for (int32_t m = 0; m < group->member_count; ++m) {
            double ready = step->ready_ns[m * step->bucket_count + b];
            end = ready > end ? ready : end;
        }
        end += call_ns(group,
                       &step->calls[member->index * step->bucket_count + b]);
    }
    return end;
}

hdp_status hdpi_ring_ready(struct hdpi_member *member)
{
    struct hdpi_device *device = member->device;
    struct hdpi_step *step = member->step;

    if (!member->group->all_virtual)
        return HDP_OK;
    return device->ops->elapsed(
        device,
        &step->ready_ns[member->index * step->bucket_count + member->posted],
        &member->begin, &member->ready);
}

hdp_status hdpi_ring_idle(struct hdpi_member *member)
{
    struct hdpi_device *device = member->device;
    double now_ns, until_ns;

    if (!member->group->all_virtual || member->posted == 0)
        return HDP_OK;
    until_ns = end_ns(member);
    HDPI_RETURN_IF(device->ops->mark(device, &member->ready, HDPI_MARK_TIME));
    HDPI_RETURN_IF(
        device->ops->elapsed(device, &now_ns, &member->begin, &member->ready));
    if (until_ns > now_ns)
        device->ops->idle(device, until_ns - now_ns);
    return HDP_OK;
}
