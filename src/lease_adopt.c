/* A lease that another program handed over: descriptors that came through
 * exec(), believed only as far as the kernel confirms them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/text.h"
#include "leases.h"

/* An inherited descriptor came through exec(), so it has no FD_CLOEXEC; one
 * that has was opened here, or adopted before. */
static hdp_status check_inherited(int fd)
{
    int flags = fcntl(fd, F_GETFD);

    if (flags < 0)
        return hdpi_fail_system(errno, "descriptor %d of the lease", fd);
    if (flags & FD_CLOEXEC)
        return hdpi_fail(
            HDP_ERR_STATE,
            "descriptor %d is close-on-exec: it was not inherited, "
            "or is adopted already",
            fd);
    return HDP_OK;
}

static hdp_status adopt_folder(struct hdpi_lease_folder *folder, int fd)
{
    char link[64];
    ssize_t length;

    HDPI_RETURN_IF(check_inherited(fd));
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, folder->path, sizeof folder->path - 1);
    if (length > 0)
        folder->path[length] = '\0';
    else
        (void)hdpi_text_copy(folder->path, sizeof folder->path, link);
    folder->scope = HDP_LEASE_CHOSEN;
    folder->fd = fd;
    return hdpi_lease_folder_check(folder);
}

/* "GPU-ab+sms48.0.lease" is a part of GPU-ab; a lock that parts share is no
 * device of its own. */
static void adopt_device(hdp_lease *lease, const struct hdpi_lease_lock *lock)
{
    hdp_lease_device_info *device = &lease->devices[lease->info.device_count];
    size_t length = strcspn(lock->name, "+");

    if (lock->shared)
        return;
    device->size = sizeof *device;
    device->shared = lock->name[length] == '+';
    if (!device->shared)
        length -= strlen(".lease");
    if (length >= sizeof device->uuid)
        length = sizeof device->uuid - 1;
    memcpy(device->uuid, lock->name, length);
    (void)hdpi_text_copy(device->file, sizeof device->file, lock->name);
    lease->info.device_count++;
}

/* The text's descriptors are the caller's until all is well. */
static hdp_status adopt_locks(hdp_lease *lease, struct hdpi_lease_fds *fds)
{
    HDPI_RETURN_IF(adopt_folder(&lease->folder, fds->folder));
    for (int32_t i = 0; i < fds->count; ++i) {
        HDPI_RETURN_IF(check_inherited(fds->locks[i].fd));
        hdp_status status = hdpi_lease_verify(&fds->locks[i], &lease->folder);
        if (status == HDP_ERR_BUSY)
            return hdpi_fail(status, "%s/%s: another process holds it",
                             lease->folder.path, fds->locks[i].name);
        HDPI_RETURN_IF(status);
    }
    for (int32_t i = 0; i < fds->count; ++i) {
        (void)fcntl(fds->locks[i].fd, F_SETFD, FD_CLOEXEC);
        lease->locks[i] = fds->locks[i];
        adopt_device(lease, &fds->locks[i]);
    }
    (void)fcntl(fds->folder, F_SETFD, FD_CLOEXEC);
    lease->lock_count = fds->count;
    return HDP_OK;
}

static hdp_status adopt(hdp_lease **out, const char *text)
{
    struct hdpi_lease_fds fds = { 0 };
    hdp_lease *lease = NULL;
    hdp_status status;

    HDPI_TRY(hdpi_lease_text_read(&fds, text));
    HDPI_TRY(hdpi_lease_new(&lease, (size_t)fds.count));
    HDPI_TRY(adopt_locks(lease, &fds));
    atomic_store(&lease->handed, 1);
    hdpi_lease_fill_info(lease);
    lease->info.adopted = 1;
    *out = lease;
    lease = NULL;
out:
    if (lease) {
        lease->folder.fd = -1; /* not ours */
        hdpi_lease_free(lease);
    }
    free(fds.locks);
    return status;
}

hdp_status hdp_lease_adopt(hdp_lease **out, hdp_context *context,
                           const char *text)
{
    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_RETURN_IF(hdpi_context_check(context));
    if (!text)
        text = context->variables[HDPI_LEASE_FDS];
    if (!text)
        return hdpi_fail(HDP_ERR_NOT_FOUND,
                         "HDP_LEASE_FDS is not set: nobody handed a lease to "
                         "this process");
    return adopt(out, text);
}
