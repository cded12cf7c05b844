/* Files and folders that are not what they should be: refused
 * at once with the file and the reason, the victim as it was, and no device
 * ever granted twice. */
#include <sys/file.h>
#include <sys/mount.h>
#include "lease_room.h"

static const char ONE[] = "sim:0/uuid=GPU-a";
enum { USER_A = 54321, USER_B = 54322, GROUP = 54323 };

static struct room room;
static char lock_path[128], victim_path[128];
static const char VICTIM[] = "precious\n";

static int open_room(void **state)
{
    FILE *file;

    (void)room_setup(state);
    (void)snprintf(lock_path, sizeof lock_path, "%s/GPU-a.lease", room.path);
    (void)snprintf(victim_path, sizeof victim_path, "%s/victim", room.path);
    file = fopen(victim_path, "we");
    if (!file || fputs(VICTIM, file) < 0 || fclose(file) != 0)
        return -1;
    return chmod(victim_path, 0644);
}

/* Refused within 100 ms, with both names, and nothing of it remains. */
static void expect_refused(const char *file, const char *reason)
{
    hdp_lease *lease = NULL;
    hdp_lease_entry entry;
    int64_t start_ns = now_ns();

    expect_status(HDP_ERR_SYSTEM, room_claim(&lease, &room, ONE, 0, 0));
    int64_t took_ns = now_ns() - start_ns;
    if (took_ns > 100 * MS * (SANITIZED ? 10 : 1))
        fail_msg("expected a refusal within 100 ms, got it after %.1f ms",
                 (double)took_ns / 1e6);
    assert_null(lease);
    expect_has(hdp_last_error(), file);
    expect_has(hdp_last_error(), reason);
    if (file != lock_path)
        return;
    room_look(&entry, &room, ONE);
    expect_number(HDP_LEASE_REFUSED, entry.state, "state");
    expect_has(entry.reason, file);
    expect_has(entry.reason, reason);
}

struct portrait {
    struct stat there;
    char text[sizeof VICTIM];
};

static void portray(struct portrait *out)
{
    int fd = open(victim_path, O_RDONLY | O_NOATIME | O_CLOEXEC);

    memset(out, 0, sizeof *out);
    if (fd < 0)
        fd = open(victim_path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, out->text, sizeof VICTIM - 1),
                     (ssize_t)sizeof VICTIM - 1);
    assert_int_equal(fstat(fd, &out->there), 0);
    (void)close(fd);
}

static void expect_same(const struct portrait *before)
{
    struct portrait now;

    portray(&now);
    assert_string_equal(now.text, VICTIM);
    assert_memory_equal(&now.there.st_mtim, &before->there.st_mtim,
                        sizeof now.there.st_mtim);
    assert_memory_equal(&now.there.st_atim, &before->there.st_atim,
                        sizeof now.there.st_atim);
    assert_memory_equal(&now.there.st_ctim, &before->there.st_ctim,
                        sizeof now.there.st_ctim);
    expect_number(before->there.st_mode, now.there.st_mode, "mode");
}

static void planted_files_are_refused(void **state)
{
    struct portrait before;

    (void)state;
    portray(&before);
    assert_int_equal(symlink(victim_path, lock_path), 0);
    expect_refused(lock_path, "a symbolic link");
    expect_same(&before);
    assert_int_equal(unlink(lock_path), 0);

    assert_int_equal(link(victim_path, lock_path), 0);
    portray(&before); /* a second name changes its ctime */
    expect_refused(lock_path, "a second name");
    expect_same(&before);
    assert_int_equal(unlink(lock_path), 0);

    assert_int_equal(mkfifo(lock_path, 0644), 0);
    expect_refused(lock_path, "a pipe");
    assert_int_equal(unlink(lock_path), 0);

    assert_int_equal(mkdir(lock_path, 0755), 0);
    expect_refused(lock_path, "a folder");
    assert_int_equal(rmdir(lock_path), 0);

    assert_int_equal(symlink("nowhere", lock_path), 0);
    expect_refused(lock_path, "a symbolic link"); /* and not made */
    assert_int_equal(unlink(lock_path), 0);

    int fd = open(lock_path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    assert_int_equal(fchmod(fd, 0666), 0);
    (void)close(fd);
    expect_refused(lock_path, "everybody may write");
}

static void bad_folders_are_refused(void **state)
{
    struct room other = room;
    hdp_lease *lease = NULL;
    char link_path[64];

    (void)state;
    assert_int_equal(chmod(room.path, 0777), 0);
    expect_refused(room.path, "without the sticky bit");
    assert_int_equal(chmod(room.path, 01777), 0);
    expect_ok(room_claim(&lease, &room, ONE, 0, 0));
    hdp_lease_destroy(lease);
    (void)snprintf(link_path, sizeof link_path, "/tmp/hdp-lease-link-%ld",
                   (long)getpid());
    assert_int_equal(symlink(room.path, link_path), 0);
    (void)snprintf(other.path, sizeof other.path, "%s", link_path);
    expect_status(HDP_ERR_SYSTEM, room_claim(&lease, &other, ONE, 0, 0));
    expect_has(hdp_last_error(), link_path);
    expect_has(hdp_last_error(), "a symbolic link");
    (void)snprintf(other.path, sizeof other.path, "%.60s//", link_path);
    expect_status(HDP_ERR_SYSTEM, room_claim(&lease, &other, ONE, 0, 0));
    expect_has(hdp_last_error(), "a symbolic link");
    assert_int_equal(unlink(link_path), 0);
    expect_status(HDP_ERR_SYSTEM, room_claim(&lease, &other, ONE, 0, 0));
    expect_has(hdp_last_error(), "No such file");
    other.path[0] = '\0';
    expect_status(HDP_ERR_ARGUMENT, room_claim(&lease, &other, ONE, 0, 0));
    expect_has(hdp_last_error(), "empty");
    (void)snprintf(other.path, sizeof other.path, "%.48s/victim", room.path);
    expect_status(HDP_ERR_SYSTEM, room_claim(&lease, &other, ONE, 0, 0));
    expect_has(hdp_last_error(), victim_path);
}

/* ---- removed or swapped while held --------------------------------------- */

static void expect_held(const hdp_lease *lease, const char *what)
{
    hdp_lease_entry entry;
    hdp_lease *other = NULL;

    (void)lease;
    if (room_claim(&other, &room, ONE, 0, 30 * MS) != HDP_ERR_TIMEOUT)
        fail_msg("%s: expected no second grant, got %s", what,
                 other ? "one" : hdp_last_error());
    room_look(&entry, &room, ONE);
    expect_number(HDP_LEASE_HELD, entry.state, "%s: state", what);
}

static void no_second_grant_after_a_swap(void **state)
{
    hdp_lease *lease = NULL, *other = NULL;
    char spare[160];

    (void)state;
    expect_ok(room_claim(&lease, &room, ONE, 0, 0));
    expect_held(lease, "as it is");
    assert_int_equal(unlink(lock_path), 0);
    expect_held(lease, "removed");
    (void)snprintf(spare, sizeof spare, "%s/spare", room.path);
    int fd = open(spare, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(rename(spare, lock_path), 0);
    expect_held(lease, "swapped");
    hdp_lease_destroy(lease);
    expect_ok(room_claim(&other, &room, ONE, 0, 0));
    hdp_lease_destroy(other);
}

/* Whether a process has the room's folder open. */
static int has_open(pid_t pid)
{
    char path[320], target[128];
    struct dirent *entry;
    int found = 0;

    (void)snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
    DIR *folder = opendir(path);
    while (folder && !found && (entry = readdir(folder))) {
        (void)snprintf(path, sizeof path, "/proc/%ld/fd/%s", (long)pid,
                       entry->d_name);
        ssize_t length = readlink(path, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        found = strcmp(target, room.path) == 0;
    }
    if (folder)
        (void)closedir(folder);
    return found;
}

/* Who waits in a folder that was replaced is not let in there: others ask in
 * the new one. */
static void a_waiter_sees_its_folder_replaced(void **state)
{
    hdp_lease *other = NULL;
    char aside[80];
    pid_t holder, waiter;

    (void)state;
    (void)snprintf(aside, sizeof aside, "%s-aside", room.path);
    holder = room_holder(&room, ONE);
    waiter = room_fork();
    if (waiter == 0) {
        hdp_status status = room_claim(&other, &room, ONE, 0, 20000 * MS);
        _exit(status == HDP_ERR_SYSTEM &&
                      strstr(hdp_last_error(), "moved or replaced")
                  ? 0
                  : 1);
    }
    for (int i = 0; i < 5000 && !has_open(waiter); ++i)
        (void)usleep(1000);
    assert_true(has_open(waiter));
    assert_int_equal(rename(room.path, aside), 0);
    assert_int_equal(mkdir(room.path, 0755), 0);
    expect_ok(room_claim(&other, &room, ONE, 0, 0));
    (void)kill(holder, SIGKILL);
    (void)room_child_answer(holder);
    expect_number(0, room_child_answer(waiter), "the waiter");
    hdp_lease_destroy(other);
    (void)unlink(lock_path);
    assert_int_equal(rmdir(room.path), 0);
    assert_int_equal(rename(aside, room.path), 0);
}

/* Told as it is found from anywhere, so that a job which goes elsewhere asks
 * in the same one. */
static void a_relative_folder_is_told_absolute(void **state)
{
    struct room other = room;
    hdp_lease *lease = NULL;
    hdp_lease_info info = { .size = sizeof info };
    char want[4096];
    int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)state;
    assert_true(here >= 0);
    assert_non_null(realpath(room.path, want));
    assert_int_equal(chdir("/tmp"), 0);
    (void)snprintf(other.path, sizeof other.path, "%s",
                   strrchr(room.path, '/') + 1);
    expect_ok(room_claim(&lease, &other, ONE, 0, 0));
    assert_int_equal(fchdir(here), 0);
    (void)close(here);
    expect_ok(hdp_lease_get(&info, lease));
    assert_string_equal(info.directory, want);
    hdp_lease_destroy(lease);
}

/* Somebody who locks the file by other means is respected too. */
static void a_plain_flock_counts(void **state)
{
    hdp_lease *lease = NULL;
    int fd;

    (void)state;
    expect_ok(room_claim(&lease, &room, ONE, 0, 0));
    hdp_lease_destroy(lease);
    fd = open(lock_path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    expect_status(HDP_ERR_BUSY, room_claim(&lease, &room, ONE, 0, 0));
    expect_has(hdp_last_error(), "1 wanted, 0 free of 1; held: GPU-a");
    (void)close(fd);
    expect_ok(room_claim(&lease, &room, ONE, 0, 0));
    hdp_lease_destroy(lease);
}

/* ---- two users ----------------------------------------------------------- */

/* What a child of another user gets: the negated status, or 91. */
static int try_as(uid_t user, gid_t group, int64_t timeout_ns)
{
    pid_t child = room_fork();

    if (child == 0) {
        hdp_lease *lease = NULL;
        room_become(user, group);
        hdp_status status = room_claim(&lease, &room, ONE, 0, timeout_ns);
        _exit(status == HDP_OK && !lease ? 91 : -status);
    }
    return room_child_answer(child);
}

static pid_t hold_as(uid_t user, gid_t group)
{
    return room_holder_as(&room, ONE, user, group);
}

static void let_go(pid_t child)
{
    (void)kill(child, SIGKILL);
    (void)room_child_answer(child);
}

static void two_users_share(void **state)
{
    hdp_lease_entry entry;

    (void)state;
    if (geteuid() != 0)
        skip();
    /* root's folder: root's file is used by anybody */
    assert_int_equal(chmod(room.path, 01777), 0);
    pid_t holder = hold_as(0, 0);
    expect_number(-HDP_ERR_BUSY, try_as(USER_B, USER_B, 0), "B beside root");
    let_go(holder);
    expect_number(0, try_as(USER_B, USER_B, 0), "B after root");
    assert_int_equal(unlink(lock_path), 0);
    /* A's own folder for all: A's file */
    assert_int_equal(chown(room.path, USER_A, USER_A), 0);
    holder = hold_as(USER_A, USER_A);
    expect_number(-HDP_ERR_BUSY, try_as(USER_B, USER_B, 0), "B beside A");
    room_look(&entry, &room, ONE);
    expect_number(USER_A, entry.uid, "its user");
    expect_number(holder, entry.pid, "its process");
    let_go(holder);
    expect_number(0, try_as(USER_B, USER_B, 0), "B after A");
    holder = hold_as(USER_B, USER_B); /* with A's file */
    expect_number(-HDP_ERR_BUSY, try_as(USER_A, USER_A, 0), "A beside B");
    room_look(&entry, &room, ONE);
    expect_number(USER_B, entry.uid, "its user, of A's file");
    let_go(holder);
    assert_int_equal(unlink(lock_path), 0);
    /* a group's folder: whoever may be in it, in either order */
    assert_int_equal(chown(room.path, 0, GROUP), 0);
    assert_int_equal(chmod(room.path, 02770), 0);
    holder = hold_as(USER_A, GROUP);
    expect_number(-HDP_ERR_BUSY, try_as(USER_B, GROUP, 0), "B in A's group");
    let_go(holder);
    expect_number(0, try_as(USER_B, GROUP, 0), "B in A's group, after A");
    expect_number(-HDP_ERR_SYSTEM, try_as(USER_B, USER_B, 0),
                  "B outside the group");
}

static void a_strangers_file_is_refused(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(room.path, 01777), 0);
    int fd = open(lock_path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    assert_int_equal(fchown(fd, USER_A, USER_A), 0);
    (void)close(fd);
    expect_refused(lock_path, "belongs to user 54321");
    expect_number(-HDP_ERR_SYSTEM, try_as(USER_B, USER_B, 0), "B's try");
}

static void no_umask_matters(void **state)
{
    static const mode_t masks[] = { 0, 077, 0777 };

    (void)state;
    for (size_t i = 0; i < sizeof masks / sizeof *masks; ++i) {
        hdp_lease *lease = NULL;
        struct stat there;
        mode_t before = umask(masks[i]);
        expect_ok(room_claim(&lease, &room, ONE, 0, 0));
        (void)umask(before);
        hdp_lease_destroy(lease);
        assert_int_equal(stat(lock_path, &there), 0);
        expect_number(0644, there.st_mode & 07777, "mode under umask %o",
                      (unsigned)masks[i]);
        assert_int_equal(unlink(lock_path), 0);
    }
}

/* ---- nothing to work with ------------------------------------------------ */

/* In a child: the folder is on a disk of its own. 0: as it should be. */
static int on_a_disk(unsigned long flags, const char *options, int want)
{
    hdp_lease *lease = NULL;

    if (mount("hdp", room.path, "tmpfs", flags, options) != 0)
        return 77;
    hdp_status status = room_claim(&lease, &room, ONE, 0, 0);
    hdp_error error = { .size = sizeof error };
    (void)hdp_error_get(&error);
    (void)umount(room.path);
    return status != HDP_ERR_SYSTEM || error.vendor_code != want ||
           error.severity != HDP_RETRY;
}

static int on_a_read_only_disk(void)
{
    return on_a_disk(MS_RDONLY, "mode=755", EROFS);
}

static int on_a_full_disk(void)
{
    return on_a_disk(0, "mode=755,nr_inodes=1", ENOSPC);
}

/* None left, then one, which is not enough for folder and file. */
static int without_descriptors(void)
{
    hdp_lease *lease = NULL;
    int spare, fd;

    for (spare = -1; (fd = dup(2)) >= 0; spare = fd)
        continue;
    if (errno != EMFILE)
        return 77;
    for (int left = 0; left < 2; ++left) {
        if (left > 0)
            (void)close(spare);
        if (room_claim(&lease, &room, ONE, 0, 0) != HDP_ERR_SYSTEM)
            return 1 + left;
        hdp_error error = { .size = sizeof error };
        if (hdp_error_get(&error) != HDP_OK || error.vendor_code != EMFILE ||
            error.severity != HDP_RETRY)
            return 3 + left;
    }
    return 0;
}

/* A host without the standard three, which opens them anew afterwards. */
static int without_standard_descriptors(void)
{
    hdp_lease *lease = NULL, *other = NULL;

    for (int fd = 0; fd < 3; ++fd)
        (void)close(fd);
    if (room_claim(&lease, &room, ONE, 0, 0) != HDP_OK)
        return 1;
    for (int32_t i = 0, fd; i < 2; ++i)
        if (hdp_lease_descriptor(&fd, lease, i) != HDP_OK || fd < 3)
            return 2;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; ++fd)
        if (fd != null && dup2(null, fd) != fd)
            return 3;
    return room_claim(&other, &room, ONE, 0, 0) == HDP_ERR_BUSY ? 0 : 4;
}

static void in_a_child(int (*role)(void), const char *name)
{
    pid_t child = room_fork();

    if (child == 0)
        _exit(role());
    int code = room_child_answer(child);
    if (code == 77)
        print_message("%s: not possible here\n", name);
    else
        expect_number(0, code, "%s", name);
}

static void no_disk_and_no_descriptors(void **state)
{
    hdp_lease *lease = NULL;

    (void)state;
    if (geteuid() == 0) {
        in_a_child(on_a_read_only_disk, "a read-only disk");
        in_a_child(on_a_full_disk, "a full disk");
    }
    in_a_child(without_descriptors, "no descriptors");
    in_a_child(without_standard_descriptors, "no standard descriptors");
    expect_ok(room_claim(&lease, &room, ONE, 0, 0));
    hdp_lease_destroy(lease);
}

#define TEST(name)                                                             \
    cmocka_unit_test_prestate_setup_teardown(name, open_room, room_teardown,   \
                                             &room)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(planted_files_are_refused),
        TEST(bad_folders_are_refused),
        TEST(no_second_grant_after_a_swap),
        TEST(a_waiter_sees_its_folder_replaced),
        TEST(a_relative_folder_is_told_absolute),
        TEST(a_plain_flock_counts),
        TEST(two_users_share),
        TEST(a_strangers_file_is_refused),
        TEST(no_umask_matters),
        TEST(no_disk_and_no_descriptors),
    };

    return cmocka_run_group_tests_name("lease_hostile", tests, NULL, NULL);
}
