/* One lock file: opened without trust, locked, and then proven to be still the
 * file that everybody else would lock. Nothing is written to it, ever. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/text.h"
#include "leases.h"

enum { SWAPS_MAX = 16, RACES_MAX = 16 };

/* ---- trust --------------------------------------------------------------- */

static hdp_status refuse(const struct hdpi_lease_folder *folder,
                         const char *name, int error, const char *why)
{
    (void)hdpi_fail(HDP_ERR_SYSTEM, "%s/%s: %s", folder->path, name, why);
    hdpi_error()->vendor = HDPI_VENDOR_SYSTEM;
    hdpi_error()->vendor_code = error;
    return HDP_ERR_SYSTEM;
}

/* The owner of a file can delete it while somebody holds it. In a folder that
 * only its owner and group can write to, all who can own one were admitted by
 * whoever made the folder. */
static int owner_is_trusted(uid_t owner, const struct hdpi_lease_folder *folder)
{
    return owner == 0 || owner == geteuid() || owner == folder->owner ||
           !folder->open_to_all;
}

static hdp_status check_file(int fd, const struct hdpi_lease_folder *folder,
                             const char *name)
{
    struct stat there;

    if (fstat(fd, &there) != 0)
        return hdpi_fail_system(errno, "%s/%s: looking at it", folder->path,
                                name);
    if (!S_ISREG(there.st_mode))
        return refuse(folder, name, EPERM,
                      S_ISDIR(there.st_mode)    ? "a folder, no lock file"
                      : S_ISFIFO(there.st_mode) ? "a pipe, no lock file"
                                                : "not a regular file");
    if (there.st_nlink > 1)
        return refuse(folder, name, EPERM,
                      "has a second name (a hard link): not a lock file");
    if (!owner_is_trusted(there.st_uid, folder)) {
        (void)hdpi_fail(HDP_ERR_SYSTEM,
                        "%s/%s: belongs to user %lu, who is neither this user, "
                        "root nor the owner of a folder that everybody may "
                        "write to",
                        folder->path, name, (unsigned long)there.st_uid);
        hdpi_error()->vendor = HDPI_VENDOR_SYSTEM;
        hdpi_error()->vendor_code = EPERM;
        return HDP_ERR_SYSTEM;
    }
    if (there.st_mode & S_IWOTH)
        return refuse(folder, name, EPERM, "everybody may write to it");
    return HDP_OK;
}

/* ---- opening ------------------------------------------------------------- */

enum {
    OPENING = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
    MODE = 0644 /* who may read it may lock it; nobody has to write */
};

/* -1 with errno. */
static int make_file(int folder, const char *name)
{
    int fd = openat(folder, name, OPENING | O_CREAT | O_EXCL, MODE);

    if (fd >= 0)
        (void)fchmod(fd, MODE); /* whatever the umask took */
    return fd;
}

/* Without O_CREAT first: a kernel that guards sticky folders refuses to open
 * another user's file so. Both ends may race with somebody who makes it: then
 * it is there, or for a moment its mode is not yet what it will be. */
static int open_or_make(int folder, const char *name, int make)
{
    const struct timespec moment = { 0, 1000000 };
    int fd = -1;

    for (int tries = 0; tries < RACES_MAX; ++tries) {
        fd = openat(folder, name, OPENING);
        if (fd < 0 && errno == ENOENT && make)
            fd = make_file(folder, name);
        if (fd >= 0 || (errno != EEXIST && (errno != EACCES || tries == 4)))
            break;
        if (errno == EACCES) {
            (void)nanosleep(&moment, NULL);
            errno = EACCES; /* a signal must not become the reason */
        }
    }
    return hdpi_lease_lift(fd);
}

static hdp_status explain(const struct hdpi_lease_folder *folder,
                          const char *name, int error)
{
    if (error == ELOOP)
        return refuse(folder, name, ELOOP, "a symbolic link, no lock file");
    if (error == ENXIO)
        return refuse(folder, name, EPERM, "a socket or pipe, no lock file");
    return hdpi_fail_system(error, "%s/%s: opening the lock file", folder->path,
                            name);
}

hdp_status hdpi_lease_open(int *out, const struct hdpi_lease_folder *folder,
                           const char *name, int make)
{
    int fd = open_or_make(folder->fd, name, make);
    hdp_status status;

    *out = -1;
    if (fd < 0 && errno == ENOENT && !make)
        return HDP_OK;
    if (fd < 0)
        return explain(folder, name, errno);
    status = check_file(fd, folder, name);
    if (status == HDP_OK)
        *out = fd;
    else
        (void)close(fd);
    return status;
}

/* ---- locking ------------------------------------------------------------- */

static hdp_status lock_file(int fd, const struct hdpi_lease_lock *lock,
                            const struct hdpi_lease_folder *folder)
{
    int how = (lock->shared ? LOCK_SH : LOCK_EX) | LOCK_NB, error;

    while (flock(fd, how) != 0) {
        error = errno;
        if (error == EWOULDBLOCK)
            return HDP_ERR_BUSY;
        if (error == EINTR)
            continue;
        if (error == EOPNOTSUPP || error == ENOSYS || error == EINVAL)
            return hdpi_fail(HDP_ERR_UNSUPPORTED,
                             "%s/%s: this file system has no locks",
                             folder->path, lock->name);
        return hdpi_fail_system(error, "%s/%s: locking", folder->path,
                                lock->name);
    }
    return HDP_OK;
}

/* Whether the name still leads to what the descriptor is. */
static int is_still(int fd, const struct hdpi_lease_folder *folder,
                    const char *name)
{
    struct stat mine, there;

    return fstat(fd, &mine) == 0 &&
           fstatat(folder->fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

/* After the flock: says so in the folder, then asks whether anybody else has.
 * Both sides say before they ask, so of two who hold different files of one
 * name at most one passes. */
static hdp_status guard(const struct hdpi_lease_lock *lock,
                        const struct hdpi_lease_folder *folder)
{
    hdpi_lease_guard_set(folder->fd, lock->name, lock->shared);
    if (hdpi_lease_guarded(folder->fd, lock->name, lock->shared) != 1)
        return HDP_OK;
    hdpi_lease_guard_clear(folder->fd, lock->name, lock->shared);
    return HDP_ERR_BUSY;
}

static hdp_status take_once(int *out, int *swapped,
                            const struct hdpi_lease_lock *lock,
                            const struct hdpi_lease_folder *folder)
{
    hdp_status status;
    int fd = -1;

    *out = -1;
    *swapped = 0;
    HDPI_TRY(hdpi_lease_open(&fd, folder, lock->name, 1));
    HDPI_TRY(lock_file(fd, lock, folder));
    *swapped = !is_still(fd, folder, lock->name);
    if (*swapped)
        goto out;
    HDPI_TRY(guard(lock, folder));
    *out = fd;
    fd = -1;
out:
    if (fd >= 0) {
        /* A child that is just being forked may have a copy. */
        (void)flock(fd, LOCK_UN);
        (void)close(fd);
    }
    return status;
}

hdp_status hdpi_lease_take(struct hdpi_lease_lock *lock,
                           const struct hdpi_lease_folder *folder)
{
    struct hdpi_lease_mark mark;
    int swapped = 1;

    for (int tries = 0; swapped && tries < SWAPS_MAX; ++tries)
        HDPI_RETURN_IF(take_once(&lock->fd, &swapped, lock, folder));
    if (swapped)
        return refuse(folder, lock->name, EAGAIN,
                      "is replaced again and again");
    hdpi_lease_mark_own(&mark);
    hdpi_lease_mark_set(lock->fd, &mark);
    return HDP_OK;
}

hdp_status hdpi_lease_verify(struct hdpi_lease_lock *lock,
                             const struct hdpi_lease_folder *folder)
{
    struct hdpi_lease_mark mark;

    HDPI_RETURN_IF(check_file(lock->fd, folder, lock->name));
    if (!is_still(lock->fd, folder, lock->name))
        return refuse(folder, lock->name, EPERM,
                      "descriptor and lock file are not the same");
    HDPI_RETURN_IF(lock_file(lock->fd, lock, folder));
    HDPI_RETURN_IF(guard(lock, folder));
    hdpi_lease_mark_own(&mark);
    hdpi_lease_mark_set(lock->fd, &mark);
    return HDP_OK;
}

void hdpi_lease_drop(struct hdpi_lease_lock *lock,
                     const struct hdpi_lease_folder *folder)
{
    if (lock->fd < 0)
        return;
    /* The guard first: a free lock under a standing guard is only busy. */
    hdpi_lease_guard_clear(folder->fd, lock->name, lock->shared);
    hdpi_lease_mark_clear(lock->fd);
    (void)flock(lock->fd, LOCK_UN);
    (void)close(lock->fd);
    lock->fd = -1;
}

/* ---- looking ------------------------------------------------------------- */

/* Only a process of our own pid namespace has a name that can be read. */
static void name_process(hdp_lease_entry *out)
{
    char path[64], line[sizeof out->command];
    ssize_t got = -1;
    int fd;

    if (kill((pid_t)out->pid, 0) != 0 && errno == ESRCH) {
        out->gone = 1;
        return;
    }
    (void)snprintf(path, sizeof path, "/proc/%d/comm", (int)out->pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    do
        got = read(fd, line, sizeof line);
    while (got < 0 && errno == EINTR);
    (void)close(fd);
    if (got > 0 && line[got - 1] == '\n')
        --got;
    if (got > 0)
        (void)hdpi_text_escape(out->command, sizeof out->command, line,
                               (size_t)got);
}

static void tell_holder(hdp_lease_entry *out,
                        const struct hdpi_lease_mark *mark)
{
    struct hdpi_lease_mark own;

    if (mark->pid == 0)
        return;
    hdpi_lease_mark_own(&own);
    out->pid = mark->pid;
    out->uid = (int64_t)mark->uid;
    out->since_s = mark->since_s;
    out->elsewhere = mark->space != own.space;
    hdpi_lease_time(out->since, mark->since_s);
    if (!out->elsewhere)
        name_process(out);
}

/* How it stands for one who shares it, and for one who wants it alone. */
int32_t hdpi_lease_state(const struct hdpi_lease_folder *folder,
                         const char *name, int shared)
{
    int alone = hdpi_lease_guarded(folder->fd, name, 1);
    int any = shared ? alone : hdpi_lease_guarded(folder->fd, name, 0);

    if (alone < 0 || any < 0)
        return HDP_LEASE_UNKNOWN;
    return alone ? HDP_LEASE_HELD : any ? HDP_LEASE_PARTLY : HDP_LEASE_FREE;
}

void hdpi_lease_look(hdp_lease_entry *out,
                     const struct hdpi_lease_folder *folder, const char *name,
                     int shared)
{
    struct hdpi_lease_mark mark = { 0 };
    hdp_error before = *hdpi_error(); /* looking does not fail */
    int fd = -1;

    memset(out, 0, sizeof *out);
    out->size = sizeof *out;
    out->uid = -1;
    (void)hdpi_text_copy(out->file, sizeof out->file, name);
    if (hdpi_lease_open(&fd, folder, name, 0) != HDP_OK) {
        out->state = HDP_LEASE_REFUSED;
        (void)hdpi_text_copy(out->reason, sizeof out->reason,
                             hdpi_error()->text);
        *hdpi_error() = before;
        return;
    }
    out->state = hdpi_lease_state(folder, name, shared);
    if (out->state == HDP_LEASE_UNKNOWN)
        (void)hdpi_text_copy(out->reason, sizeof out->reason,
                             "this kernel does not tell of locks");
    if (fd < 0)
        return;
    if (out->state != HDP_LEASE_FREE && hdpi_lease_mark_get(fd, &mark) == 1)
        tell_holder(out, &mark);
    (void)close(fd);
}
