/* Written beside, then renamed: a reader never sees half a file, and a failed
 * run does not destroy the last good one. */
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options.h"

int32_t outfile_format(const char *path)
{
    static const struct {
        const char *suffix;
        int32_t format;
    } known[] = { { ".json", FORMAT_JSON }, { ".jsonl", FORMAT_JSONL },
                  { ".csv", FORMAT_CSV },   { ".md", FORMAT_MD },
                  { ".txt", FORMAT_TABLE }, { ".svg", FORMAT_SVG } };
    const char *suffix = strrchr(path, '.');

    for (size_t i = 0; suffix && i < sizeof known / sizeof *known; ++i)
        if (strcmp(suffix, known[i].suffix) == 0)
            return known[i].format;
    return -1;
}

int outfile_same(const char *a, const char *b)
{
    struct stat first, second;

    if (stat(a, &first) == 0 && stat(b, &second) == 0)
        return S_ISREG(first.st_mode) && first.st_dev == second.st_dev &&
               first.st_ino == second.st_ino;
    while (strncmp(a, "./", 2) == 0)
        a += 2;
    while (strncmp(b, "./", 2) == 0)
        b += 2;
    return strcmp(a, b) == 0;
}

/* The mode is the user's: 0666 less the umask. */
static int open_beside(struct outfile *out)
{
    enum { TRIES = 100, TAIL = 40 };
    size_t size = strlen(out->path) + TAIL;
    int fd = -1;

    out->temporary = malloc(size);
    if (!out->temporary)
        return -1;
    for (int i = 0; i < TRIES && fd < 0; ++i) {
        snprintf(out->temporary, size, "%s.%ld-%d.tmp", out->path,
                 (long)getpid(), i);
        fd =
            open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0) {
        free(out->temporary);
        out->temporary = NULL;
    }
    return fd;
}

static int open_path(struct outfile *out, const char *path)
{
    struct stat old;

    if (stat(path, &old) != 0) {
        if (errno != ENOENT)
            return -1;
        out->path = strdup(path);
        return out->path ? open_beside(out) : -1;
    }
    out->path = realpath(path, NULL); /* of a link the target is replaced */
    if (!out->path || access(out->path, W_OK) != 0)
        return -1;
    if (!S_ISREG(old.st_mode))
        return open(out->path, O_WRONLY | O_CLOEXEC);
    int fd = open_beside(out);
    if (fd >= 0 && fchmod(fd, old.st_mode & 07777) != 0)
        errno = 0; /* a file system without modes */
    return fd;
}

int outfile_open(struct outfile *out, const char *path)
{
    memset(out, 0, sizeof *out);
    int fd = open_path(out, path);
    out->file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out->file)
        return 1;
    int reason = errno;
    if (fd >= 0)
        close(fd);
    outfile_drop(out);
    errno = reason;
    return 0;
}

static void forget(struct outfile *out)
{
    free(out->path);
    free(out->temporary);
    memset(out, 0, sizeof *out);
}

int outfile_commit(struct outfile *out)
{
    int ok = fclose(out->file) == 0;

    out->file = NULL;
    if (ok && out->temporary)
        ok = rename(out->temporary, out->path) == 0;
    if (ok) {
        forget(out);
        return 1;
    }
    int reason = errno;
    outfile_drop(out);
    errno = reason;
    return 0;
}

void outfile_drop(struct outfile *out)
{
    if (out->file)
        fclose(out->file);
    if (out->temporary)
        unlink(out->temporary);
    forget(out);
}
