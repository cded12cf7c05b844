/* The direct way between two members, tried by the one that would send. */
#include <inttypes.h>
#include "base/options.h"
#include "internal.h"

enum { PATIENCE_S = 3 }; /* for 16 MiB: what takes longer hangs */

struct trial {
    int32_t from, to;
    struct hdpi_topology_link link;
};

static hdp_status try_way(struct hdpi_member *member, void *arg)
{
    struct trial *trial = arg;
    struct hdpi_device *from = member->device, *to;
    int64_t deadline_ns = hdpi_clock_ns() + PATIENCE_S * INT64_C(1000000000);
    hdp_status status;

    if (member->index != trial->from)
        return HDP_OK;
    to = member->group->members[trial->to].device;
    if (from->ops != to->ops)
        return HDP_OK; /* nothing leads from one kind to another */
    status = from->ops->peer(from, to, deadline_ns, &trial->link);
    if (status == HDP_ERR_TIMEOUT)
        from->condemned = to->condemned = 1; /* the copy may go on for ever */
    return hdpi_member_judge(member, status);
}

static hdp_status check_member(const hdp_group *group, int32_t member,
                               const char *name)
{
    if (member >= 0 && member < group->member_count)
        return HDP_OK;
    return hdpi_fail(HDP_ERR_ARGUMENT,
                     "%s is %" PRId32 ", but the members are 0 to %" PRId32,
                     name, member, group->member_count - 1);
}

hdp_status hdp_group_link(hdp_link *out, hdp_group *group, int32_t from,
                          int32_t to)
{
    struct trial trial = { .from = from, .to = to };
    hdp_link link = { .size = sizeof link };

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "hdp_link: out is NULL");
    HDPI_RETURN_IF(hdpi_group_check(group));
    HDPI_RETURN_IF(check_member(group, from, "from"));
    HDPI_RETURN_IF(check_member(group, to, "to"));
    if (from == to)
        return hdpi_fail(HDP_ERR_ARGUMENT, "from and to are both %" PRId32, to);
    HDPI_RETURN_IF(hdpi_group_each(group, try_way, &trial, 0));
    link.peer = trial.link.peer;
    link.kind = trial.link.kind;
    link.bytes_per_second = trial.link.bytes_per_second;
    return hdpi_options_write(out, &link, sizeof link, "hdp_link");
}
