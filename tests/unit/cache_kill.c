/* A writer killed before each of its system calls, and each of them made to
 * fail: the file holds the old text or the new one, never a mix, and the next
 * writer has no trouble.
 *
 * The calls are this program's own, which the linker prefers to the C
 * library's; those must not be inline functions for that. */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "cache_file.h"
#include "scenario/process.h"

enum { CALLS_MAX = 200, TEXT_BYTES = 100000 };

/* ---- the calls ------------------------------------------------------------- */

enum { PASS, KILL, FAIL_ONE, FAIL_ON };

static int mode, error_given;
static long calls, chosen; /* so far; the one that is hit, from 1 */

/* what another process does to the lock: it deletes it that often, between its
 * being opened and taken; or makes and deletes it all the time */
static int deletions, comes_and_goes;
static char lock_path[192];

/* 1: this call is to fail. */
static int hit(void)
{
    if (mode == PASS)
        return 0;
    ++calls;
    if (mode == KILL && calls == chosen)
        (void)syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    if ((mode == FAIL_ONE && calls == chosen) ||
        (mode == FAIL_ON && calls >= chosen)) {
        errno = error_given;
        return 1;
    }
    return 0;
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list arguments;
    mode_t bits;

    va_start(arguments, flags);
    bits = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (comes_and_goes && strstr(path, ".lock")) {
        errno = flags & O_CREAT ? EEXIST : ENOENT;
        return -1;
    }
    return hit() ? -1 : (int)syscall(SYS_openat, folder, path, flags, bits);
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    mode_t bits;

    va_start(arguments, flags);
    bits = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return hit() ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, bits);
}

int fstat(int fd, struct stat *out)
{
    return hit() ? -1 : (int)syscall(SYS_fstat, fd, out);
}

int mkdir(const char *path, mode_t bits)
{
    return hit() ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, bits);
}

int fchmod(int fd, mode_t bits)
{
    return hit() ? -1 : (int)syscall(SYS_fchmod, fd, bits);
}

int flock(int fd, int operation)
{
    if (deletions > 0 && operation & LOCK_EX) {
        --deletions;
        assert_int_equal(unlink(lock_path), 0);
    }
    return hit() ? -1 : (int)syscall(SYS_flock, fd, operation);
}

/* Half of what was asked: a writer must go on. */
ssize_t write(int fd, const void *bytes, size_t length)
{
    size_t some = mode == PASS ? length : length / 2 + 1;

    return hit() ? -1 : (ssize_t)syscall(SYS_write, fd, bytes, some);
}

ssize_t read(int fd, void *bytes, size_t length)
{
    return hit() ? -1 : (ssize_t)syscall(SYS_read, fd, bytes, length);
}

int fsync(int fd)
{
    return hit() ? -1 : (int)syscall(SYS_fsync, fd);
}

int renameat(int from, const char *old, int to, const char *new)
{
    return hit() ? -1 : (int)syscall(SYS_renameat, from, old, to, new);
}

int unlinkat(int folder, const char *path, int flags)
{
    return hit() ? -1 : (int)syscall(SYS_unlinkat, folder, path, flags);
}

/* Fails as on Linux: the descriptor is gone all the same. */
int close(int fd)
{
    int failed = hit();

    (void)syscall(SYS_close, fd);
    return failed ? -1 : 0;
}

/* ---- a change -------------------------------------------------------------- */

/* in memory where that is possible: thousands of fsync() */
static char in_memory[] = "/dev/shm/hdp-kill-XXXXXX",
            on_disk[] = "/tmp/hdp-kill-XXXXXX";
static const char *folder;
static char place[128], path[160], beside[192];
static char old_text[TEXT_BYTES], new_text[TEXT_BYTES / 3];

static hdp_status put_new(char **out, size_t *out_length, const char *text,
                          size_t length, void *arg)
{
    (void)text;
    (void)length;
    (void)arg;
    *out = malloc(sizeof new_text);
    assert_non_null(*out);
    memcpy(*out, new_text, sizeof new_text);
    *out_length = sizeof new_text;
    return HDP_OK;
}

static hdp_status put_old(char **out, size_t *out_length, const char *text,
                          size_t length, void *arg)
{
    (void)text;
    (void)length;
    (void)arg;
    *out = malloc(sizeof old_text);
    assert_non_null(*out);
    memcpy(*out, old_text, sizeof old_text);
    *out_length = sizeof old_text;
    return HDP_OK;
}

static hdp_status change(hdpi_cache_change_fn fn)
{
    return hdpi_cache_file_change(path, fn, NULL, 0);
}

static void begin(int there)
{
    static const char *const names[] = { "", ".lock", ".hdp-new" };
    char name[192];

    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        (void)snprintf(name, sizeof name, "%s%s", path, names[i]);
        assert_true(unlink(name) == 0 || errno == ENOENT);
    }
    assert_true(rmdir(place) == 0 || errno == ENOENT);
    if (there && change(put_old) != HDP_OK)
        fail_msg("%s", hdp_last_error());
}

/* 0: none, 1: the old text, 2: the new one. */
static int look(long at)
{
    size_t length = 0;
    char *text = NULL;
    int which = 0;

    if (hdpi_cache_file_read(&text, &length, path) != HDP_OK)
        fail_msg("call %ld: expected a file that can be read: %s", at,
                 hdp_last_error());
    if (text && length == sizeof old_text &&
        memcmp(text, old_text, length) == 0)
        which = 1;
    else if (text && length == sizeof new_text &&
             memcmp(text, new_text, length) == 0)
        which = 2;
    else if (text)
        fail_msg("call %ld: expected the old text or the new, got %zu bytes",
                 at, length);
    free(text);
    return which;
}

static void expect_old_or_new(int there, long at)
{
    int which = look(at);

    if (which == (there ? 0 : 1))
        fail_msg("call %ld: expected the %s text or the new, got %s", at,
                 there ? "old" : "no", which ? "the old" : "none");
}

static void expect_next_writer(long at)
{
    if (change(put_new) != HDP_OK)
        fail_msg("call %ld: expected the next writer to get through: %s", at,
                 hdp_last_error());
    assert_int_equal(look(at), 2);
    if (access(beside, F_OK) == 0)
        fail_msg("call %ld: expected the unfinished file gone", at);
}

/* ---- killed ---------------------------------------------------------------- */

/* How the writer ended that is killed before its call `at`; 0: it was not. */
static int kill_before(long at)
{
    int status = 0;
    pid_t pid;

    (void)fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        mode = KILL;
        chosen = at;
        calls = 0;
        _exit(change(put_new) == HDP_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return SIGKILL;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    return 0;
}

static void kill_before_each(int there)
{
    int seen[3] = { 0, 0, 0 };
    long at = 1;

    for (;; ++at) {
        int killed;
        assert_true(at < CALLS_MAX);
        begin(there);
        killed = kill_before(at);
        expect_old_or_new(there, at);
        ++seen[look(at)];
        expect_next_writer(at);
        if (!killed)
            break;
    }
    print_message("killed before each of %ld calls: %d times the %s text "
                  "stayed, %d times the new one was there\n",
                  at - 1, seen[there ? 1 : 0], there ? "old" : "missing",
                  seen[2]);
    assert_true(at > 10 && seen[there ? 1 : 0] > 5 && seen[2] > 1);
}

static void a_writer_of_a_new_file_killed(void **state)
{
    (void)state;
    kill_before_each(0);
}

static void a_writer_of_an_old_file_killed(void **state)
{
    (void)state;
    kill_before_each(1);
}

/* ---- failing ---------------------------------------------------------------- */

static void fail_each(int there, int how, int error)
{
    long at = 1;

    for (;; ++at) {
        int before = count_descriptors();
        hdp_status status;
        assert_true(at < CALLS_MAX);
        begin(there);
        mode = how;
        error_given = error;
        chosen = at;
        calls = 0;
        status = change(put_new);
        mode = PASS;
        if (count_descriptors() != before)
            fail_msg("call %ld, %s: expected %d descriptors, got %d", at,
                     strerror(error), before, count_descriptors());
        expect_old_or_new(there, at);
        if (status == HDP_OK && look(at) != 2)
            fail_msg("call %ld, %s: expected the new text with success", at,
                     strerror(error));
        expect_next_writer(at);
        if (calls < chosen)
            break;
    }
    assert_true(at > 10);
}

static void a_call_that_fails(void **state)
{
    static const int errors[] = { EIO, ENOSPC, EMFILE, EACCES, EINTR, ENOLCK };

    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; ++i)
        for (int there = 0; there < 2; ++there)
            fail_each(there, FAIL_ONE, errors[i]);
}

static void all_calls_fail_from_one_on(void **state)
{
    static const int errors[] = { EIO, ENOSPC, EROFS, ENOMEM };

    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; ++i)
        for (int there = 0; there < 2; ++there)
            fail_each(there, FAIL_ON, errors[i]);
}

/* ---- a lock that others play with -------------------------------------------- */

/* What was locked is no longer what the name means: locked again. */
static void a_lock_deleted_while_it_is_taken(void **state)
{
    int before = count_descriptors();

    (void)state;
    begin(1);
    deletions = 3;
    if (hdpi_cache_file_change(path, put_new, NULL, 1000000000) != HDP_OK)
        fail_msg("%s", hdp_last_error());
    assert_int_equal(deletions, 0);
    assert_int_equal(look(0), 2);
    assert_int_equal(access(lock_path, F_OK), 0);

    begin(1);
    deletions = 1000000;
    assert_int_equal(hdpi_cache_file_change(path, put_new, NULL, 20000000),
                     HDP_ERR_BUSY);
    deletions = 0;
    assert_int_equal(look(0), 1);
    assert_int_equal(count_descriptors(), before);
}

static void a_lock_that_comes_and_goes(void **state)
{
    (void)state;
    begin(1);
    comes_and_goes = 1;
    assert_int_equal(change(put_new), HDP_ERR_BUSY);
    comes_and_goes = 0;
    assert_non_null(strstr(hdp_last_error(), "its lock comes and goes"));
    assert_int_equal(look(0), 1);
}

static int setup(void **state)
{
    (void)state;
    folder = mkdtemp(in_memory);
    if (!folder)
        folder = mkdtemp(on_disk);
    if (!folder)
        return -1;
    (void)snprintf(place, sizeof place, "%s/cache", folder);
    (void)snprintf(path, sizeof path, "%s/file", place);
    (void)snprintf(beside, sizeof beside, "%s.hdp-new", path);
    (void)snprintf(lock_path, sizeof lock_path, "%s.lock", path);
    memset(old_text, 'o', sizeof old_text);
    memset(new_text, 'n', sizeof new_text);
    return 0;
}

static int teardown(void **state)
{
    char command[160];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_writer_of_a_new_file_killed),
        cmocka_unit_test(a_writer_of_an_old_file_killed),
        cmocka_unit_test(a_call_that_fails),
        cmocka_unit_test(all_calls_fail_from_one_on),
        cmocka_unit_test(a_lock_deleted_while_it_is_taken),
        cmocka_unit_test(a_lock_that_comes_and_goes),
    };

    return cmocka_run_group_tests_name("cache_kill", tests, setup, teardown);
}
