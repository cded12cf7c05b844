/* Marks and guards: read locks whose byte range says something. They are bound
 * to the open file description as the flock beside them is, so they live and
 * die with it, and asking for them takes nothing. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/hash.h"
#include "leases.h"

enum { PID_BITS = 22, UID_BITS = 32, SPACE_BITS = 7, SINCE_BITS = 40 };

static const int64_t END = INT64_C(1) << (PID_BITS + UID_BITS + SPACE_BITS);

static int64_t low_bits(int64_t value, int bits)
{
    return value & ((INT64_C(1) << bits) - 1);
}

void hdpi_lease_mark_pack(const struct hdpi_lease_mark *mark, int64_t *start,
                          int64_t *length)
{
    *start = low_bits(mark->space, SPACE_BITS) << (PID_BITS + UID_BITS) |
             (int64_t)mark->uid << PID_BITS | low_bits(mark->pid, PID_BITS);
    *length = low_bits(mark->since_s, SINCE_BITS) + 1;
}

int hdpi_lease_mark_unpack(struct hdpi_lease_mark *mark, int64_t start,
                           int64_t length)
{
    if (start < 0 || start >= END || length < 1 ||
        length > INT64_C(1) << SINCE_BITS)
        return 0;
    mark->pid = (int32_t)low_bits(start, PID_BITS);
    mark->uid = (uint32_t)low_bits(start >> PID_BITS, UID_BITS);
    mark->space =
        (uint32_t)low_bits(start >> (PID_BITS + UID_BITS), SPACE_BITS);
    mark->since_s = length - 1;
    return 1;
}

void hdpi_lease_mark_own(struct hdpi_lease_mark *mark)
{
    struct stat space;

    memset(mark, 0, sizeof *mark);
    mark->pid = (int32_t)getpid();
    mark->uid = (uint32_t)geteuid();
    mark->since_s = (int64_t)time(NULL);
    if (stat("/proc/self/ns/pid", &space) == 0)
        mark->space = (uint32_t)low_bits((int64_t)space.st_ino, SPACE_BITS);
}

/* ---- ranges -------------------------------------------------------------- */

static int set_range(int fd, short type, int64_t start, int64_t length)
{
    struct flock range;

    memset(&range, 0, sizeof range); /* l_pid must be 0 */
    range.l_type = type;
    range.l_whence = SEEK_SET;
    range.l_start = start;
    range.l_len = length; /* 0: to the end of all offsets */
    return fcntl(fd, F_OFD_SETLK, &range);
}

/* A lock of another description within the range. */
static int find_range(int fd, int64_t *start, int64_t *length)
{
    struct flock range;

    memset(&range, 0, sizeof range);
    range.l_type = F_WRLCK; /* what any other lock is in the way of */
    range.l_whence = SEEK_SET;
    range.l_start = *start;
    range.l_len = *length;
    if (fcntl(fd, F_OFD_GETLK, &range) != 0)
        return -1;
    *start = range.l_start;
    *length = range.l_len;
    return range.l_type != F_UNLCK;
}

/* The new mark first, so that there always is one. */
void hdpi_lease_mark_set(int fd, const struct hdpi_lease_mark *mark)
{
    int64_t start, length;

    hdpi_lease_mark_pack(mark, &start, &length);
    if (set_range(fd, F_RDLCK, start, length) != 0)
        return;
    if (start > 0)
        (void)set_range(fd, F_UNLCK, 0, start);
    (void)set_range(fd, F_UNLCK, start + length, 0);
}

void hdpi_lease_mark_clear(int fd)
{
    (void)set_range(fd, F_UNLCK, 0, 0);
}

int hdpi_lease_mark_get(int fd, struct hdpi_lease_mark *mark)
{
    int64_t start = 0, length = 0;
    int found = find_range(fd, &start, &length);

    memset(mark, 0, sizeof *mark);
    if (found == 1 && !hdpi_lease_mark_unpack(mark, start, length))
        memset(mark, 0, sizeof *mark); /* held, by whom is not known */
    return found;
}

/* ---- the guard ----------------------------------------------------------- */

/* A hash, cut to leave room for the two bytes of a name: of those who hold it
 * alone and of those who share it. */
static int64_t place_of(const char *name, int shared)
{
    uint64_t hash = hdpi_hash_text(HDPI_HASH_START, name);

    return (int64_t)(hash >> 3) * 2 + (shared != 0);
}

void hdpi_lease_guard_set(int folder, const char *name, int shared)
{
    (void)set_range(folder, F_RDLCK, place_of(name, shared), 1);
}

int hdpi_lease_guarded(int folder, const char *name, int shared)
{
    int64_t start = place_of(name, 0), length = shared ? 1 : 2;

    return find_range(folder, &start, &length);
}

void hdpi_lease_guard_clear(int folder, const char *name, int shared)
{
    (void)set_range(folder, F_UNLCK, place_of(name, shared), 1);
}
