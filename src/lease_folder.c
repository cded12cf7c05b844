/* The folder of lock files: which one, and whether it can be trusted. A folder
 * that anybody could rearrange is no place for a lock. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "base/text.h"
#include "leases.h"

/* The same for every build, however it was configured: they must agree. It
 * outlives a restart, unlike /run, so it has to be made only once; the locks
 * are in the kernel, so old files in it mean nothing. */
static const char SYSTEM_FOLDER[] = "/var/lib/hdp/lease";
/* Not /run/user, which a logout takes away while a job still runs. */
static const char OWN_FOLDER[] = "/var/tmp/hdp-lease-";

void hdpi_lease_wish_make(struct hdpi_lease_wish *wish,
                          const hdp_context *context, const char *option)
{
    const char *const *set = (const char *const *)context->variables;

    wish->option = option;
    wish->variable = set[HDPI_LEASE_DIR];
    wish->scheduler = set[HDPI_SLURM_JOB_GPUS] || set[HDPI_SLURM_STEP_GPUS]
                          ? "Slurm"
                      : set[HDPI_KUBERNETES_HOST] ? "Kubernetes"
                                                  : NULL;
    wish->system = SYSTEM_FOLDER;
    wish->own = OWN_FOLDER;
}

/* ---- checks -------------------------------------------------------------- */

const char *hdpi_lease_network(uint64_t type)
{
    static const struct {
        uint32_t type;
        const char *name;
    } known[] = {
        { 0x6969, "NFS" },          { 0x517b, "SMB" },
        { 0xff534d42, "CIFS" },     { 0xfe534d42, "SMB2" },
        { 0x5346414f, "AFS" },      { 0x6b414653, "AFS" },
        { 0x73757245, "Coda" },     { 0x564c, "NCP" },
        { 0x01021997, "9P" },       { 0x00c36400, "Ceph" },
        { 0x0bd00bd0, "Lustre" },   { 0x47504653, "GPFS" },
        { 0x65735546, "FUSE" },     { 0x7461636f, "OCFS2" },
        { 0x01161970, "GFS2" },     { 0xaad7aaea, "PanFS" },
        { 0x19830326, "BeeGFS" },   { 0x786f4256, "VirtualBox" },
        { 0x20030528, "OrangeFS" },
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
        if (known[i].type == (uint32_t)type)
            return known[i].name;
    return NULL;
}

static hdp_status refuse(const struct hdpi_lease_folder *folder,
                         const char *why)
{
    (void)hdpi_fail(HDP_ERR_SYSTEM, "%s: %s", folder->path, why);
    hdpi_error()->vendor = HDPI_VENDOR_SYSTEM;
    hdpi_error()->vendor_code = EPERM;
    return HDP_ERR_SYSTEM;
}

hdp_status hdpi_lease_folder_check(struct hdpi_lease_folder *folder)
{
    struct stat there;
    struct statfs system;

    if (fstat(folder->fd, &there) != 0 || fstatfs(folder->fd, &system) != 0)
        return hdpi_fail_system(errno, "%s: looking at it", folder->path);
    if (!S_ISDIR(there.st_mode))
        return refuse(folder, "not a folder");
    if (there.st_mode & S_IWOTH && !(there.st_mode & S_ISVTX))
        return refuse(folder, "a folder that everybody may write to without "
                              "the sticky bit: anybody could swap its files");
    const char *network = hdpi_lease_network((uint64_t)system.f_type);
    if (network)
        return hdpi_fail(HDP_ERR_UNSUPPORTED,
                         "%s: on %s; locks of a file system that is not this "
                         "kernel's alone are not relied on",
                         folder->path, network);
    folder->owner = there.st_uid;
    folder->open_to_all = (there.st_mode & S_IWOTH) != 0;
    return HDP_OK;
}

hdp_status hdpi_lease_folder_still(const struct hdpi_lease_folder *folder)
{
    struct stat mine, there;

    if (fstat(folder->fd, &mine) == 0 && lstat(folder->path, &there) == 0 &&
        mine.st_dev == there.st_dev && mine.st_ino == there.st_ino)
        return HDP_OK;
    return refuse(folder, "was moved or replaced since it was opened; others "
                          "may hold leases in the new one");
}

/* ---- opening ------------------------------------------------------------- */

enum { CLEAR_OF = 64 };

int hdpi_lease_lift(int fd)
{
    int moved, error;

    if (fd < 0 || fd >= CLEAR_OF)
        return fd;
    moved = fcntl(fd, F_DUPFD_CLOEXEC, CLEAR_OF);
    if (moved < 0 && fd > STDERR_FILENO)
        return fd; /* so many are not allowed */
    if (moved < 0)
        moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    error = errno;
    (void)close(fd);
    errno = error;
    return moved;
}

/* With a slash at its end a symbolic link would be followed. */
static hdp_status take_path(struct hdpi_lease_folder *folder, const char *path)
{
    size_t length = strlen(path);

    if (length == 0)
        return hdpi_fail(HDP_ERR_ARGUMENT, "the lease folder's path is empty");
    if (!hdpi_text_copy(folder->path, sizeof folder->path, path))
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "the lease folder's path is longer than %d bytes",
                         HDPI_LEASE_PATH_MAX - 1);
    while (length > 1 && folder->path[length - 1] == '/')
        folder->path[--length] = '\0';
    return HDP_OK;
}

/* A relative one means another folder to a job that has gone elsewhere. Left
 * as it is where there is no /proc or no room. */
static void make_absolute(struct hdpi_lease_folder *folder)
{
    char link[64], path[HDPI_LEASE_PATH_MAX];
    ssize_t length;

    if (folder->path[0] == '/')
        return;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", folder->fd);
    length = readlink(link, path, sizeof path);
    if (length > 0 && (size_t)length < sizeof path) {
        memcpy(folder->path, path, (size_t)length);
        folder->path[length] = '\0';
    }
}

static hdp_status open_folder(struct hdpi_lease_folder *folder,
                              const char *path)
{
    HDPI_RETURN_IF(take_path(folder, path));
    folder->fd = hdpi_lease_lift(
        open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (folder->fd >= 0) {
        make_absolute(folder);
        return hdpi_lease_folder_check(folder);
    }
    int error = errno;
    struct stat there;
    if (lstat(folder->path, &there) == 0 && S_ISLNK(there.st_mode))
        return refuse(folder, "a symbolic link, no folder");
    return hdpi_fail_system(error, "%s: opening the lease folder",
                            folder->path);
}

/* ---- the user's own ------------------------------------------------------ */

/* Readable for nobody else, so nobody else can lock in it either. */
static hdp_status check_own(struct hdpi_lease_folder *folder, int made)
{
    struct stat there;

    if (made)
        (void)fchmod(folder->fd, 0700); /* whatever the umask took */
    if (fstat(folder->fd, &there) != 0)
        return hdpi_fail_system(errno, "%s: looking at it", folder->path);
    if (there.st_uid != geteuid())
        return refuse(folder, "belongs to another user");
    if (there.st_mode & (S_IRWXG | S_IRWXO))
        return refuse(folder, "others may enter it; its mode should be 700");
    /* Cleaners of temporary files leave a locked folder alone. */
    (void)flock(folder->fd, LOCK_SH | LOCK_NB);
    return HDP_OK;
}

static hdp_status open_own(struct hdpi_lease_folder *folder, const char *base)
{
    char path[HDPI_LEASE_PATH_MAX];
    int made;

    (void)snprintf(path, sizeof path, "%s%lu", base, (unsigned long)geteuid());
    made = mkdir(path, 0700) == 0;
    if (!made && errno != EEXIST)
        return hdpi_fail_system(errno, "%s: making the lease folder", path);
    if (made)
        (void)chmod(path, 0700); /* to be opened at all */
    HDPI_RETURN_IF(open_folder(folder, path));
    return check_own(folder, made);
}

/* ---- which one ----------------------------------------------------------- */

/* The number that the first pid namespace has on every Linux. */
enum { FIRST_PID_SPACE = 0x0ffffffc };

static int in_container(void)
{
    struct stat there;

    if (stat("/proc/self/ns/pid", &there) == 0 &&
        (there.st_ino & 0x0fffffff) != FIRST_PID_SPACE)
        return 1;
    return access("/.dockerenv", F_OK) == 0 ||
           access("/run/.containerenv", F_OK) == 0;
}

static void describe(struct hdpi_lease_folder *folder, const char *scheduler)
{
    size_t used = 0;
    char *note = folder->note;

    note[0] = '\0';
    if (folder->scope == HDP_LEASE_SCHEDULED)
        used = (size_t)snprintf(
            note, sizeof folder->note,
            "%s has given these GPUs to this job: leases keep apart the jobs "
            "of this user alone",
            scheduler);
    else if (folder->scope == HDP_LEASE_USER)
        used = (size_t)snprintf(
            note, sizeof folder->note,
            "other users are not coordinated with: neither HDP_LEASE_DIR nor "
            "%s is there",
            SYSTEM_FOLDER);
    if (in_container())
        (void)snprintf(note + used, sizeof folder->note - used,
                       "%sin a container: others are coordinated with only "
                       "where they share the folder",
                       used ? "; " : "");
}

static hdp_status open_first(struct hdpi_lease_folder *folder,
                             const struct hdpi_lease_wish *wish)
{
    const char *chosen = wish->option ? wish->option : wish->variable;
    struct stat there;

    folder->scope = HDP_LEASE_CHOSEN;
    if (chosen)
        return open_folder(folder, chosen);
    folder->scope = HDP_LEASE_SCHEDULED;
    if (wish->scheduler)
        return open_own(folder, wish->own);
    folder->scope = HDP_LEASE_SYSTEM;
    /* One that is there and cannot be used is a fault to be told: others may
     * well be using it. */
    if (lstat(wish->system, &there) == 0 || errno != ENOENT)
        return open_folder(folder, wish->system);
    folder->scope = HDP_LEASE_USER;
    return open_own(folder, wish->own);
}

hdp_status hdpi_lease_folder_open(struct hdpi_lease_folder *folder,
                                  const struct hdpi_lease_wish *wish,
                                  const struct hdpi_log *log)
{
    hdp_status status;

    memset(folder, 0, sizeof *folder);
    folder->fd = -1;
    HDPI_TRY(open_first(folder, wish));
    describe(folder, wish->scheduler);
    if (folder->note[0])
        hdpi_log(log,
                 folder->scope == HDP_LEASE_USER ? HDP_LOG_WARN : HDP_LOG_INFO,
                 "lease: %s: %s", folder->path, folder->note);
out:
    if (status != HDP_OK && folder->fd >= 0) {
        (void)close(folder->fd);
        folder->fd = -1;
    }
    return status;
}
