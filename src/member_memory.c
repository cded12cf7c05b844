/* A member's workspace, from its device or the caller's allocator, and what is
 * free beside it. */
#include <string.h>
#include "base/clock.h"
#include "internal.h"

static const int64_t FREE_AGE_NS = 1000000000; /* told again, not asked */

/* ---- workspace ------------------------------------------------------------- */

hdp_status hdpi_member_alloc(struct hdpi_member *member, void **out,
                             size_t bytes)
{
    hdp_group *group = member->group;
    struct hdpi_device *device = member->device;

    *out = NULL;
    if (bytes == 0)
        return HDP_OK;
    if (group->alloc) {
        *out = group->alloc(member->index, bytes, device->ops->native(device),
                            group->alloc_user);
        if (!*out) {
            (void)hdpi_fail_member(HDP_ERR_MEMORY, member->index, member->rank,
                                   "the caller's allocator refused %zu bytes "
                                   "for member %d",
                                   bytes, (int)member->index);
            hdpi_error()->wanted_bytes = (int64_t)bytes;
            return HDP_ERR_MEMORY;
        }
    } else {
        HDPI_RETURN_IF(device->ops->alloc(device, out, bytes));
    }
    member->held_bytes += (int64_t)bytes;
    if (member->held_bytes > member->peak_bytes)
        member->peak_bytes = member->held_bytes;
    return HDP_OK;
}

void hdpi_member_free(struct hdpi_member *member, void *memory, size_t bytes)
{
    hdp_group *group = member->group;
    struct hdpi_device *device = member->device;

    if (!memory)
        return;
    if (group->free)
        group->free(member->index, memory, device->ops->native(device),
                    group->alloc_user);
    else
        device->ops->free(device, memory);
    member->held_bytes -= (int64_t)bytes;
}

void hdpi_member_trim(struct hdpi_member *member)
{
    size_t i;

    for (i = 0; i < member->store_capacity; ++i) {
        struct hdpi_store *store = &member->stores[i];
        if (store->host)
            member->device->ops->host_free(member->device, store->memory);
        else
            hdpi_member_free(member, store->memory, store->bytes);
        memset(store, 0, sizeof *store);
    }
    hdpi_stage_trim(member);
}

/* ---- what is free ---------------------------------------------------------- */

/* A driver may take longer to say what is free than a step lasts, and processes
 * wait for each other there: it is asked where the answer is another one, or
 * may be by now. */
int64_t hdpi_member_free_bytes(struct hdpi_member *member, int failed)
{
    struct hdpi_device *device = member->device;
    int64_t held = member->held_bytes + device->held_bytes, unused;
    int64_t now_ns = hdpi_clock_ns();

    if (failed || member->free_asked_ns == 0 || held != member->free_held ||
        now_ns - member->free_asked_ns >= FREE_AGE_NS) {
        device->ops->memory(device, &unused, &member->free_bytes);
        member->free_held = held;
        member->free_asked_ns = now_ns;
    }
    return member->free_bytes;
}
