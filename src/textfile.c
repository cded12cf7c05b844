/* Named files. One way in, whoever asks, so that all refuse the same things
 * with the same words; a new file beside the old one is the way out. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "json/json.h"
#include "textfile.h"

int hdpi_textfile_above(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int error = errno;
    (void)close(fd);
    errno = error;
    return moved;
}

static int open_above(const char *path, int flags)
{
    return hdpi_textfile_above(open(path, flags | O_CLOEXEC | O_NOCTTY, 0644));
}

/* ---- in ------------------------------------------------------------------ */

/* Not waiting for the other end of a pipe, which is refused afterwards. */
hdp_status hdpi_textfile_open(int *out_fd, const char *path, int flags)
{
    int fd = open_above(path, O_RDONLY | O_NONBLOCK | flags);

    *out_fd = fd;
    if (fd >= 0)
        return HDP_OK;
    if (errno == ENOENT)
        return hdpi_fail(HDP_ERR_NOT_FOUND, "%s: no such file", path);
    return hdpi_fail_system(errno, "%s: opening", path);
}

static hdp_status refuse_size(const char *path, size_t most_bytes)
{
    return hdpi_fail(HDP_ERR_ARGUMENT, "%s: larger than the %zu bytes allowed",
                     path, most_bytes);
}

/* The size may be wrong by now, or 0 though there is content (/proc). */
hdp_status hdpi_textfile_take(char **out, size_t *length, int fd,
                              const char *path, size_t most_bytes)
{
    hdp_status status = HDP_OK;
    struct stat there;
    char *text = NULL;
    size_t capacity = 0, used = 0;

    if (fstat(fd, &there) != 0)
        HDPI_TRY(hdpi_fail_system(errno, "%s: looking at it", path));
    if (!S_ISREG(there.st_mode))
        HDPI_TRY(hdpi_fail(HDP_ERR_SYSTEM, "%s: not a regular file", path));
    if ((uintmax_t)there.st_size > most_bytes)
        HDPI_TRY(refuse_size(path, most_bytes));
    HDPI_TRY(hdpi_grow(&text, &capacity, (size_t)there.st_size + 2, 1, path));
    for (;;) {
        HDPI_TRY(hdpi_grow(&text, &capacity, used + 2, 1, path));
        ssize_t got = read(fd, text + used, capacity - used - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            HDPI_TRY(hdpi_fail_system(errno, "%s: reading", path));
        if (got == 0)
            break;
        used += (size_t)got;
        if (used > most_bytes)
            HDPI_TRY(refuse_size(path, most_bytes));
    }
    text[used] = '\0';
    *out = text;
    *length = used;
    text = NULL;
out:
    free(text);
    return status;
}

hdp_status hdpi_textfile_read(char **out, size_t *length, const char *path)
{
    hdp_status status;
    int fd = -1;

    HDPI_TRY(hdpi_textfile_open(&fd, path, 0));
    HDPI_TRY(hdpi_textfile_take(out, length, fd, path, HDPI_JSON_BYTES_MAX));
out:
    if (fd >= 0)
        (void)close(fd);
    return status;
}

/* ---- out ----------------------------------------------------------------- */

hdp_status hdpi_textfile_put(int fd, const char *text, size_t length,
                             const char *path)
{
    while (length > 0) {
        ssize_t put = write(fd, text, length);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return hdpi_fail_system(errno, "%s: writing", path);
        text += put;
        length -= (size_t)put;
    }
    return HDP_OK;
}

hdp_status hdpi_textfile_replace(const char *path, const char *text,
                                 size_t length)
{
    hdp_status status = HDP_OK;
    struct stat there;
    char *real = realpath(path, NULL), *beside = NULL; /* links followed */
    const char *place = real ? real : path;
    size_t room = strlen(place) + 64;
    int fd = -1, made = 0;

    int known = stat(place, &there) == 0;
    int special = known && !S_ISREG(there.st_mode);
    beside = hdpi_alloc(room, 1, "a file name");
    if (!beside)
        HDPI_TRY(HDP_ERR_MEMORY);
    (void)snprintf(beside, room, "%s.%ld-%llx.new", place, (long)getpid(),
                   (unsigned long long)hdpi_clock_ns() ^ (uintptr_t)&there);
    if (special)
        fd = open_above(place, O_WRONLY);
    else
        fd = open_above(beside, O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0)
        HDPI_TRY(hdpi_fail_system(errno, "%s: opening for writing", path));
    made = !special;
    if (made && known)
        (void)fchmod(fd, there.st_mode & 07777);
    HDPI_TRY(hdpi_textfile_put(fd, text, length, path));
    if (made && fsync(fd) != 0)
        HDPI_TRY(hdpi_fail_system(errno, "%s: writing", path));
    if (made && rename(beside, place) != 0)
        HDPI_TRY(hdpi_fail_system(errno, "%s: replacing", path));
    made = 0;
out:
    if (fd >= 0)
        (void)close(fd);
    if (made)
        (void)unlink(beside);
    free(beside);
    free(real);
    return status;
}
