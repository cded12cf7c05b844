/* A lease: what is held, as descriptors, and how it is told, handed on and let
 * go of. It needs no context, so it can outlive the one it was claimed with. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/options.h"
#include "base/text.h"
#include "leases.h"

/* ---- one lease ----------------------------------------------------------- */

hdp_status hdpi_lease_new(hdp_lease **out, size_t devices)
{
    hdp_lease *lease = hdpi_alloc(1, sizeof *lease, "lease");

    if (!lease)
        return HDP_ERR_MEMORY;
    lease->folder.fd = -1;
    lease->creator = getpid();
    /* A partition locks its GPU too. */
    lease->locks = hdpi_alloc(2 * devices, sizeof *lease->locks, "its locks");
    lease->devices = hdpi_alloc(devices, sizeof *lease->devices, "its devices");
    if (!lease->locks || !lease->devices) {
        free(lease->locks);
        free(lease->devices);
        free(lease);
        return HDP_ERR_MEMORY;
    }
    hdpi_object_init(&lease->object, HDPI_LEASE);
    lease->info.size = sizeof lease->info;
    *out = lease;
    return HDP_OK;
}

void hdpi_lease_drop_all(hdp_lease *lease)
{
    for (int32_t i = lease->lock_count; i-- > 0;)
        hdpi_lease_drop(&lease->locks[i], &lease->folder);
    lease->lock_count = 0;
}

void hdpi_lease_free(hdp_lease *lease)
{
    if (lease->folder.fd >= 0)
        (void)close(lease->folder.fd);
    free(lease->locks);
    free(lease->devices);
    free(lease);
}

void hdp_lease_destroy(hdp_lease *lease)
{
    if (!hdpi_object_release((struct hdpi_object *)lease, HDPI_LEASE))
        return;
    /* A child's unlocking would drop its parent's lock, and a lease that was
     * handed over is not this process's alone: closing is enough. */
    if (lease->creator == getpid() && !atomic_load(&lease->handed))
        hdpi_lease_drop_all(lease);
    for (int32_t i = 0; i < lease->lock_count; ++i)
        if (lease->locks[i].fd >= 0)
            (void)close(lease->locks[i].fd);
    hdpi_lease_free(lease);
}

void hdpi_lease_fill_info(hdp_lease *lease)
{
    lease->info.descriptor_count = lease->lock_count + 1;
    lease->info.scope = lease->folder.scope;
    (void)hdpi_text_copy(lease->info.directory, sizeof lease->info.directory,
                         lease->folder.path);
    (void)hdpi_text_copy(lease->info.note, sizeof lease->info.note,
                         lease->folder.note);
}

/* ---- the door ------------------------------------------------------------ */

static hdp_status check(const hdp_lease *lease)
{
    HDPI_RETURN_IF(hdpi_object_check(lease, HDPI_LEASE, "lease"));
    if (lease->creator == getpid())
        return HDP_OK;
    return hdpi_fail(HDP_ERR_FORKED,
                     "a lease of process %ld, used in its forked child",
                     (long)lease->creator);
}

static hdp_status check_index(int32_t index, int32_t count)
{
    if (index < 0)
        return hdpi_fail(HDP_ERR_ARGUMENT, "index is %" PRId32, index);
    if (index >= count)
        return hdpi_fail(HDP_ERR_NOT_FOUND,
                         "index is %" PRId32 ", but there are %" PRId32, index,
                         count);
    return HDP_OK;
}

hdp_status hdp_lease_get(hdp_lease_info *out, const hdp_lease *lease)
{
    HDPI_RETURN_IF(check(lease));
    return hdpi_options_write(out, &lease->info, sizeof lease->info,
                              "hdp_lease_info");
}

hdp_status hdp_lease_device(hdp_lease_device_info *out, const hdp_lease *lease,
                            int32_t index)
{
    HDPI_RETURN_IF(check(lease));
    HDPI_RETURN_IF(check_index(index, lease->info.device_count));
    return hdpi_options_write(out, &lease->devices[index],
                              sizeof *lease->devices, "hdp_lease_device_info");
}

static int is_first(const hdp_lease *lease, int32_t index)
{
    for (int32_t i = 0; i < index; ++i)
        if (strcmp(lease->devices[i].uuid, lease->devices[index].uuid) == 0)
            return 0;
    return 1;
}

/* Room for every device's text and what joins it to the next. */
static hdp_status give_joined(const hdp_lease *lease,
                              size_t (*say)(char *, const hdp_lease *, int32_t),
                              char joint, char *text, size_t capacity,
                              size_t *needed)
{
    enum { ITEM_MAX = 96 };
    hdp_status status;
    char *joined = NULL;
    size_t used = 0;

    HDPI_TRY(check(lease));
    joined = hdpi_alloc((size_t)lease->info.device_count, ITEM_MAX, "devices");
    if (!joined) {
        status = HDP_ERR_MEMORY;
        goto out;
    }
    for (int32_t i = 0; i < lease->info.device_count; ++i) {
        size_t joint_at = used;
        size_t length = say(joined + used + (used > 0), lease, i);
        if (length == 0)
            continue;
        if (used > 0)
            joined[joint_at] = joint;
        used += length + (used > 0);
    }
    status = hdpi_text_give(joined, used, text, capacity, needed);
out:
    free(joined);
    return status;
}

static size_t say_uuid(char *out, const hdp_lease *lease, int32_t index)
{
    size_t length = strlen(lease->devices[index].uuid);

    if (!is_first(lease, index))
        return 0;
    memcpy(out, lease->devices[index].uuid, length);
    return length;
}

static size_t say_spec(char *out, const hdp_lease *lease, int32_t index)
{
    const hdp_lease_device_info *device = &lease->devices[index];
    const char *known = device->spec[0] ? device->spec : device->uuid;
    size_t length = strlen(known), before = device->spec[0] ? 0 : 5;

    memcpy(out, "cuda:", before);
    memcpy(out + before, known, length);
    return before + length;
}

hdp_status hdp_lease_mask(const hdp_lease *lease, char *text, size_t capacity,
                          size_t *needed)
{
    return give_joined(lease, say_uuid, ',', text, capacity, needed);
}

hdp_status hdp_lease_spec(const hdp_lease *lease, char *text, size_t capacity,
                          size_t *needed)
{
    return give_joined(lease, say_spec, '+', text, capacity, needed);
}

hdp_status hdp_lease_hand_over(hdp_lease *lease, char *text, size_t capacity,
                               size_t *needed)
{
    struct hdpi_lease_fds fds;
    hdp_status status;
    char *words = NULL;
    size_t length;

    HDPI_TRY(check(lease));
    fds.folder = lease->folder.fd;
    fds.locks = lease->locks;
    fds.count = lease->lock_count;
    length = hdpi_lease_text_write(NULL, 0, &fds);
    words = hdpi_alloc(length + 1, 1, "descriptors of a lease");
    if (!words) {
        status = HDP_ERR_MEMORY;
        goto out;
    }
    (void)hdpi_lease_text_write(words, length + 1, &fds);
    status = hdpi_text_give(words, length, text, capacity, needed);
    if (status == HDP_OK && text)
        atomic_store(&lease->handed, 1);
out:
    free(words);
    return status;
}

hdp_status hdp_lease_name_holder(hdp_lease *lease, int64_t pid)
{
    struct hdpi_lease_mark mark;

    HDPI_RETURN_IF(check(lease));
    if (pid < 1 || pid >= HDPI_LEASE_PID_MAX)
        return hdpi_fail(HDP_ERR_ARGUMENT, "pid is %" PRId64, pid);
    hdpi_lease_mark_own(&mark);
    mark.pid = (int32_t)pid;
    for (int32_t i = 0; i < lease->lock_count; ++i)
        hdpi_lease_mark_set(lease->locks[i].fd, &mark);
    return HDP_OK;
}

hdp_status hdp_lease_descriptor(int32_t *out, const hdp_lease *lease,
                                int32_t index)
{
    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = -1;
    HDPI_RETURN_IF(check(lease));
    HDPI_RETURN_IF(check_index(index, lease->info.descriptor_count));
    *out = index == 0 ? lease->folder.fd : lease->locks[index - 1].fd;
    return HDP_OK;
}
