/* A file that others may have had their hands on. Every name is looked up once,
 * in a folder held open, and what was opened is judged, not the name. Nothing
 * is deleted but the unfinished file of a writer that died: the lock is held,
 * so it has no writer any more. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "cache_file.h"
#include "cache_text.h"
#include "textfile.h"

enum { NAP_NS = 500000, LOCK_TRIES = 16 };

/* Not followed, not waited for, not inherited, no terminal taken. */
static const int careful = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;

static const char lock_suffix[] = ".lock", new_suffix[] = ".hdp-new";

struct place {
    const char *path; /* the caller's, for messages */
    char *folder, *name, *lock, *fresh;
    int fd; /* of the folder; -1: not open */
};

static hdp_status no_good(const struct place *place, const char *name,
                          const char *what)
{
    if (strcmp(name, place->name) == 0)
        return hdpi_fail(HDP_ERR_SYSTEM, "%s: %s", place->path, what);
    return hdpi_fail(HDP_ERR_SYSTEM, "%s: %s: %s", place->path, name, what);
}

/* ---- descriptors --------------------------------------------------------- */

static void shut(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

static int open_in(const struct place *place, const char *name, int flags)
{
    return hdpi_textfile_above(openat(place->fd, name, flags | careful, 0600));
}

/* NULL, or why one may not rely on it. */
static const char *distrust(const struct stat *it)
{
    if (it->st_uid != geteuid() && it->st_uid != 0)
        return "belongs to another user";
    if (it->st_mode & (S_IWGRP | S_IWOTH))
        return "may be written by others (chmod go-w)";
    return NULL;
}

static hdp_status judge(const struct place *place, const char *name, int fd)
{
    const char *what;
    struct stat it;

    if (fstat(fd, &it) != 0)
        return hdpi_fail_system(errno, "%s: looking at %s", place->path, name);
    if (!S_ISREG(it.st_mode))
        return no_good(place, name, "not a regular file");
    if (it.st_nlink > 1) /* 0: replaced since, and whole all the same */
        return no_good(place, name, "has other names as well (hard links)");
    what = distrust(&it);
    return what ? no_good(place, name, what) : HDP_OK;
}

/* *out -1 with HDP_OK: no such file. */
static hdp_status open_judged(int *out, const struct place *place,
                              const char *name)
{
    hdp_status status = HDP_OK;
    int fd = open_in(place, name, O_RDONLY);

    *out = -1;
    if (fd < 0 && errno == ENOENT)
        return HDP_OK;
    if (fd < 0 && errno == ELOOP)
        return no_good(place, name, "a symbolic link");
    if (fd < 0)
        return hdpi_fail_system(errno, "%s: opening %s", place->path, name);
    HDPI_TRY(judge(place, name, fd));
    *out = fd;
    fd = -1;
out:
    shut(&fd);
    return status;
}

/* ---- the place ----------------------------------------------------------- */

static char *joined(const char *first, size_t length, const char *second)
{
    size_t more = strlen(second);
    char *text = hdpi_alloc(length + more + 1, 1, "a file name");

    if (text) {
        memcpy(text, first, length);
        memcpy(text + length, second, more);
    }
    return text;
}

static hdp_status place_init(struct place *place, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length = strlen(name);

    *place = (struct place){ .path = path, .fd = -1 };
    if (length == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return hdpi_fail(HDP_ERR_SYSTEM, "%s: names no file", path);
    if (!slash)
        place->folder = joined(".", 1, "");
    else /* the root is all slash */
        place->folder =
            joined(path, slash > path ? (size_t)(slash - path) : 1, "");
    place->name = joined(name, length, "");
    place->lock = joined(name, length, lock_suffix);
    place->fresh = joined(name, length, new_suffix);
    return place->folder && place->name && place->lock && place->fresh
               ? HDP_OK
               : HDP_ERR_MEMORY;
}

static void place_finish(struct place *place)
{
    shut(&place->fd);
    free(place->folder);
    free(place->name);
    free(place->lock);
    free(place->fresh);
}

static hdp_status judge_folder(const struct place *place)
{
    const char *what;
    struct stat it;

    if (fstat(place->fd, &it) != 0)
        return hdpi_fail_system(errno, "%s: looking at the folder",
                                place->path);
    what = distrust(&it);
    if (what)
        return hdpi_fail(HDP_ERR_SYSTEM, "%s: its folder %s", place->path,
                         what);
    return HDP_OK;
}

static int open_folder(const struct place *place, int flags)
{
    return hdpi_textfile_above(open(
        place->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY | flags));
}

/* Of the last component alone, and not where somebody put a link meanwhile. */
static int make_folder(const struct place *place)
{
    int fd;

    if (mkdir(place->folder, 0700) != 0)
        return errno == EEXIST ? open_folder(place, 0) : -1;
    fd = open_folder(place, O_NOFOLLOW);
    if (fd >= 0)
        (void)fchmod(fd, 0700); /* whatever the umask; judged next */
    return fd;
}

/* place->fd -1 with HDP_OK: there is no folder and none was to be made. */
static hdp_status enter(struct place *place, int make)
{
    place->fd = open_folder(place, 0);
    if (place->fd < 0 && errno == ENOENT) {
        if (!make)
            return HDP_OK;
        place->fd = make_folder(place);
    }
    if (place->fd < 0)
        return hdpi_fail_system(errno, "%s: opening the folder", place->path);
    return judge_folder(place);
}

/* ---- reading ------------------------------------------------------------- */

static hdp_status take(char **out, size_t *length, const struct place *place)
{
    hdp_status status;
    int fd = -1;

    HDPI_TRY(open_judged(&fd, place, place->name));
    if (fd >= 0)
        HDPI_TRY(hdpi_textfile_take(out, length, fd, place->path,
                                    HDPI_CACHE_BYTES_MAX));
out:
    shut(&fd);
    return status;
}

hdp_status hdpi_cache_file_read(char **out, size_t *length, const char *path)
{
    struct place place;
    hdp_status status;

    *out = NULL;
    *length = 0;
    HDPI_TRY(place_init(&place, path));
    HDPI_TRY(enter(&place, 0));
    if (place.fd >= 0)
        HDPI_TRY(take(out, length, &place));
out:
    place_finish(&place);
    return status;
}

/* ---- the lock ------------------------------------------------------------ */

static hdp_status open_lock(int *out, const struct place *place)
{
    hdp_status status;
    int fd = -1;

    *out = -1;
    for (int i = 0; i < LOCK_TRIES && *out < 0; ++i) {
        HDPI_TRY(open_judged(out, place, place->lock));
        if (*out >= 0)
            break;
        fd = open_in(place, place->lock, O_RDONLY | O_CREAT | O_EXCL);
        if (fd < 0 && errno != EEXIST)
            HDPI_TRY(hdpi_fail_system(errno, "%s: making %s", place->path,
                                      place->lock));
        if (fd >= 0)
            (void)fchmod(fd, 0600);
        shut(&fd); /* judged like any other */
    }
    if (*out < 0)
        status =
            hdpi_fail(HDP_ERR_BUSY, "%s: its lock comes and goes", place->path);
out:
    return status;
}

/* Whether the name still means what is locked: one file, one lock. */
static int is_current(const struct place *place, int fd)
{
    struct stat held, named;

    return fstat(fd, &held) == 0 &&
           fstatat(place->fd, place->lock, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

/* Not all at the same moment again. */
static void nap(void)
{
    const struct timespec pause = { .tv_nsec = NAP_NS +
                                               hdpi_clock_ns() % (4 * NAP_NS) };

    (void)nanosleep(&pause, NULL);
}

/* A held lock may be deleted from under its holder, so the name is compared
 * after the lock was taken; a blocking wait could not be ended. */
static hdp_status lock(int *out, const struct place *place, int64_t deadline_ns)
{
    hdp_status status;
    int fd = -1;

    for (;;) {
        if (fd < 0)
            HDPI_TRY(open_lock(&fd, place));
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            if (is_current(place, fd))
                break;
            shut(&fd);
        } else if (errno != EWOULDBLOCK && errno != EINTR) {
            HDPI_TRY(hdpi_fail_system(errno, "%s: locking %s", place->path,
                                      place->lock));
        }
        if (hdpi_clock_ns() >= deadline_ns)
            HDPI_TRY(hdpi_fail(HDP_ERR_BUSY, "%s: others keep %s locked",
                               place->path, place->lock));
        nap();
    }
    *out = fd;
    fd = -1;
out:
    shut(&fd);
    return status;
}

/* A child that was forked meanwhile has the descriptor too: closing alone would
 * leave it locked. */
static void unlock(int *fd)
{
    if (*fd >= 0)
        (void)flock(*fd, LOCK_UN);
    shut(fd);
}

/* ---- writing ------------------------------------------------------------- */

static hdp_status replace(const struct place *place, const char *text,
                          size_t length)
{
    hdp_status status = HDP_OK;
    int fd = -1, made = 0;

    if (unlinkat(place->fd, place->fresh, 0) != 0 && errno != ENOENT)
        HDPI_TRY(hdpi_fail_system(errno, "%s: removing %s", place->path,
                                  place->fresh));
    fd = open_in(place, place->fresh, O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0)
        HDPI_TRY(hdpi_fail_system(errno, "%s: making %s", place->path,
                                  place->fresh));
    made = 1;
    if (fchmod(fd, 0600) != 0) /* whatever the umask */
        HDPI_TRY(hdpi_fail_system(errno, "%s: mode of %s", place->path,
                                  place->fresh));
    HDPI_TRY(hdpi_textfile_put(fd, text, length, place->path));
    if (fsync(fd) != 0)
        HDPI_TRY(hdpi_fail_system(errno, "%s: writing", place->path));
    if (renameat(place->fd, place->fresh, place->fd, place->name) != 0)
        HDPI_TRY(hdpi_fail_system(errno, "%s: replacing", place->path));
    made = 0;
    /* Some file systems have nothing to synchronise here and say so; the text
     * is in place either way. */
    (void)fsync(place->fd);
out:
    shut(&fd);
    if (made)
        (void)unlinkat(place->fd, place->fresh, 0);
    return status;
}

hdp_status hdpi_cache_file_change(const char *path, hdpi_cache_change_fn fn,
                                  void *arg, int64_t wait_ns)
{
    size_t old_length = 0, length = 0;
    char *old = NULL, *text = NULL;
    struct place place;
    hdp_status status;
    int fd = -1;

    HDPI_TRY(place_init(&place, path));
    HDPI_TRY(enter(&place, 1));
    HDPI_TRY(lock(&fd, &place, hdpi_deadline_ns(wait_ns)));
    HDPI_TRY(take(&old, &old_length, &place));
    HDPI_TRY(fn(&text, &length, old, old_length, arg));
    if (text)
        HDPI_TRY(replace(&place, text, length));
out:
    unlock(&fd);
    place_finish(&place);
    free(old);
    free(text);
    return status;
}
