/* Every call by which a lease could fail made to fail, the first, the second,
 * and on until a whole life passes untouched; once and for good. Nothing leaks,
 * what was granted is granted to one alone, and then a claim succeeds. The
 * program brings its own system calls and malloc, so none is missed. */
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include "lease_room.h"

enum { SKIPPED = 77 };

#if SANITIZED

int main(void)
{
    (void)printf("skipped: a sanitizer brings calls of its own\n");
    return SKIPPED;
}

#else

enum { CALLS_MAX = 400 };

/* ---- the calls --------------------------------------------------------------- */

static _Atomic int armed;
static int64_t called, failed, fail_at;
static int lasting;
static const char *last_failed = "";

static int refuse(const char *name, int error)
{
    if (!atomic_load(&armed))
        return 0;
    ++called;
    if (fail_at == 0 || called < fail_at || (called > fail_at && !lasting))
        return 0;
    ++failed;
    last_failed = name;
    errno = error;
    return 1;
}

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);

void *malloc(size_t bytes)
{
    return refuse("malloc", ENOMEM) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return refuse("calloc", ENOMEM) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    return refuse("realloc", ENOMEM) ? NULL : __libc_realloc(memory, bytes);
}

int open(const char *path, int flags, ...)
{
    va_list more;

    va_start(more, flags);
    int mode = flags & O_CREAT ? va_arg(more, int) : 0;
    va_end(more);
    if (refuse("open", EMFILE))
        return -1;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list more;

    va_start(more, flags);
    int mode = flags & O_CREAT ? va_arg(more, int) : 0;
    va_end(more);
    if (refuse("openat", flags & O_CREAT ? ENOSPC : EMFILE))
        return -1;
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

int fcntl(int fd, int command, ...)
{
    va_list more;

    va_start(more, command);
    long argument = va_arg(more, long);
    va_end(more);
    if (refuse("fcntl", ENOLCK))
        return -1;
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

int flock(int fd, int operation)
{
    if (refuse("flock", ENOLCK))
        return -1;
    return (int)syscall(SYS_flock, fd, operation);
}

int fchmod(int fd, mode_t mode)
{
    return refuse("fchmod", EIO) ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

int fstat(int fd, struct stat *out)
{
    if (refuse("fstat", EIO))
        return -1;
    return (int)syscall(SYS_newfstatat, fd, "", out, AT_EMPTY_PATH);
}

int fstatat(int folder, const char *path, struct stat *out, int flags)
{
    if (refuse("fstatat", EIO))
        return -1;
    return (int)syscall(SYS_newfstatat, folder, path, out, flags);
}

int fstatfs(int fd, struct statfs *out)
{
    return refuse("fstatfs", EIO) ? -1 : (int)syscall(SYS_fstatfs, fd, out);
}

static void arm(int64_t nth, int to_the_end)
{
    fail_at = nth;
    lasting = to_the_end;
    called = failed = 0;
    atomic_store(&armed, 1);
}

static void disarm(void)
{
    atomic_store(&armed, 0);
}

/* ---- one life ----------------------------------------------------------------- */

static struct room room;

static int is_documented(hdp_status status)
{
    return status == HDP_OK || status == HDP_ERR_SYSTEM ||
           status == HDP_ERR_MEMORY;
}

static void check_alone(const char *what)
{
    hdp_lease *other = NULL;

    if (room_claim(&other, &room, FOUR, 3, 0) != HDP_ERR_BUSY)
        fail_msg("%s: expected two of four held, got a grant of three", what);
}

/* Claim, look, hand over, let go; what fails ends it. */
static hdp_status live(const char *what)
{
    hdp_lease_options options = HDP_LEASE_OPTIONS_INIT;
    hdp_lease_list *list = NULL;
    hdp_lease *lease = NULL;
    char text[128];
    hdp_status status = room_claim(&lease, &room, FOUR, 2, 0);

    if (status == HDP_OK) {
        disarm();
        check_alone(what);
        atomic_store(&armed, 1);
        options.directory = room.path;
        status = hdp_lease_list_create(&list, room.context, FOUR, &options);
        hdp_lease_list_destroy(list);
    }
    if (status == HDP_OK)
        status = hdp_lease_mask(lease, text, sizeof text, NULL);
    hdp_lease_destroy(lease);
    return status;
}

static void forget_files(void)
{
    char path[96];

    for (const char *name = "abcd"; *name; ++name) {
        (void)snprintf(path, sizeof path, "%s/GPU-%c.lease", room.path, *name);
        (void)unlink(path);
    }
}

static void sweep(int fresh, int to_the_end)
{
    int descriptors = count_descriptors();
    int64_t nth;

    for (nth = 1; nth < CALLS_MAX; ++nth) {
        char what[96];
        hdp_lease *after = NULL;
        if (fresh)
            forget_files();
        (void)snprintf(what, sizeof what, "call %lld%s%s", (long long)nth,
                       to_the_end ? " and on" : "", fresh ? ", fresh" : "");
        arm(nth, to_the_end);
        hdp_status status = live(what);
        disarm();
        if (failed == 0)
            break;
        if (!is_documented(status))
            fail_msg("%s (%s): expected system or memory, got %s (%s)", what,
                     last_failed, hdp_status_string(status), hdp_last_error());
        expect_number(descriptors, count_descriptors(), "%s (%s): descriptors",
                      what, last_failed);
        if (room_claim(&after, &room, FOUR, 0, 0) != HDP_OK)
            fail_msg("%s (%s): expected a claim to succeed then, got %s", what,
                     last_failed, hdp_last_error());
        hdp_lease_destroy(after);
    }
    if (nth < 20 || nth == CALLS_MAX)
        fail_msg("expected 20 to %d calls, got %lld", (int)CALLS_MAX,
                 (long long)nth);
    print_message("%lld calls, each failed%s%s\n", (long long)nth - 1,
                  to_the_end ? " for good" : " once",
                  fresh ? ", in a fresh folder" : "");
}

static void each_call_fails(void **state)
{
    (void)state;
    room_open(&room);
    for (int kind = 0; kind < 4; ++kind)
        sweep(kind & 1, kind >> 1);
    room_close(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_fails),
    };

    return cmocka_run_group_tests_name("lease_faults", tests, NULL, NULL);
}

#endif
