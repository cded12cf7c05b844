/* The ill and the dying group: it is lost once and stays so, everybody is woken,
 * and whoever asks hears the first reason. */
#include "base/fate.h"
#include "base/options.h"
#include "internal.h"

enum { GRACE_NS = 1000000000 }; /* how long to wait for functions to return */

/* ---- losing ---------------------------------------------------------------- */

void hdpi_group_lose(hdp_group *group)
{
    int32_t m;

    (void)pthread_mutex_lock(&group->lock);
    if (!atomic_load_explicit(&group->lost, memory_order_relaxed)) {
        group->health = *hdpi_error();
        group->health.severity = HDP_GROUP_LOST;
        atomic_store_explicit(&group->lost, 1, memory_order_release);
    }
    /* under the lock, since the driving thread may be connecting */
    for (m = 0; m < group->member_count; ++m)
        if (group->members[m].comm)
            group->members[m].comm->ops->abort(group->members[m].comm);
    /* and nobody waits for a device any longer */
    for (m = 0; group->first_gpu >= 0 && m < group->member_count; ++m)
        atomic_store(&group->members[m].device->deadline_ns, 1);
    (void)pthread_mutex_unlock(&group->lock);
    for (m = 0; m < HDPI_STEPS_IN_FLIGHT; ++m)
        hdpi_park_signal(&group->steps[m].agreed);
    hdpi_park_signal(&group->outbox);
}

int hdpi_group_drained(hdp_group *group)
{
    int64_t deadline_ns = hdpi_deadline_ns(GRACE_NS);

    for (;;) {
        uint32_t seen = hdpi_park_read(&group->outbox);
        if (atomic_load_explicit(&group->done, memory_order_acquire) ==
            atomic_load_explicit(&group->accepted, memory_order_acquire))
            return 1;
        if (!hdpi_park_wait(&group->outbox, seen, &group->patience,
                            deadline_ns))
            return 0;
    }
}

static int32_t who_is_inside(const hdp_group *group)
{
    int32_t m;

    for (m = 0; m < group->member_count; ++m)
        if (atomic_load(&group->members[m].inside) != HDPI_OUTSIDE)
            return m;
    return -1;
}

struct patience {
    struct hdpi_device *device;
    int64_t grace_ns;
};

static hdp_status wait_here(void *arg)
{
    const struct patience *own = arg;

    atomic_store(&own->device->deadline_ns, 0);
    return own->device->ops->wait(own->device, hdpi_deadline_ns(own->grace_ns));
}

/* A device that was late may still write to what the caller lent. One thread at
 * a time waits for it: others find it overdue. */
static hdp_status idle(struct hdpi_member *member, int64_t grace_ns)
{
    struct hdpi_device *device = member->device;
    struct patience patience = { device, grace_ns };
    int32_t overdue = 1;
    hdp_status status = HDP_ERR_TIMEOUT;

    if (!atomic_load(&member->overdue))
        return HDP_OK;
    if (atomic_compare_exchange_strong(&member->overdue, &overdue, 2)) {
        status = device->ops->apart(device, wait_here, &patience);
        atomic_store(&member->overdue, status == HDP_ERR_TIMEOUT);
    }
    if (status != HDP_ERR_TIMEOUT)
        return HDP_OK;
    return hdpi_fail_member(HDP_ERR_TIMEOUT, member->index, member->rank,
                            "the device of member %d is still at work",
                            (int)member->index);
}

hdp_status hdpi_group_idle(hdp_group *group, int64_t grace_ns)
{
    int32_t m;

    for (m = 0; group->first_gpu >= 0 && m < group->member_count; ++m)
        HDPI_RETURN_IF(idle(&group->members[m], grace_ns));
    return HDP_OK;
}

hdp_status hdp_group_abort(hdp_group *group)
{
    int32_t late;

    HDPI_RETURN_IF(hdpi_group_check_any(group));
    if (!atomic_load_explicit(&group->lost, memory_order_acquire)) {
        hdp_error before = *hdpi_error();
        (void)hdpi_fail(HDP_ERR_STATE, "the group was aborted");
        hdpi_group_lose(group);
        *hdpi_error() = before; /* nothing failed for this caller */
    }
    if (hdpi_group_drained(group))
        return hdpi_group_idle(group, GRACE_NS);
    late = who_is_inside(group);
    if (late < 0)
        return hdpi_fail(HDP_ERR_TIMEOUT, "a step is still under way");
    return hdpi_fail_member(HDP_ERR_TIMEOUT, late, group->members[late].rank,
                            "member %d is still inside the caller's function",
                            (int)late);
}

hdp_status hdp_group_health(hdp_error *out, const hdp_group *group)
{
    hdp_error health = {
        sizeof health, HDP_OK, 0, -1, -1, 0, 0, 0, 0, 0, 0, 0, ""
    };
    hdp_group *mine = (hdp_group *)(uintptr_t)group;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    HDPI_RETURN_IF(hdpi_fork_check());
    HDPI_RETURN_IF(hdpi_object_check(group, HDPI_GROUP, "group"));
    if (hdpi_fate_check() != HDP_OK) { /* no group of this process is well */
        health = *hdpi_error();
    } else if (atomic_load_explicit(&group->lost, memory_order_acquire)) {
        (void)pthread_mutex_lock(&mine->lock);
        health = group->health;
        (void)pthread_mutex_unlock(&mine->lock);
    }
    HDPI_RETURN_IF(
        hdpi_options_write(out, &health, sizeof health, "hdp_error"));
    return hdpi_error_adopt(&health);
}
