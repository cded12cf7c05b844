/* Caches under conditions that need a process of their own: another user, few
 * descriptors, a full disk, a lock that nobody gives back, many writers. */
#include <grp.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <time.h>
#include "cached.h"
#include "child.h"
#include "unit/another_locale.h"

static const char *const CARD = "sim:0/uuid=GPU-aaaa";

enum { NOBODY = 54321, STRANGER = 54322, WRITERS = 64 };

static int become_nobody(void)
{
    return setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY);
}

/* A calibration that warns once (words: of what), or hits (words NULL). */
static int calibrates(const char *path, const char *words)
{
    hdp_calibrate_options options = { .size = sizeof options, .cache = path };
    hdp_profile *profile = cached_try(CARD, &options, NULL);
    int32_t ended_by;

    must(profile, "expected a profile, got %s", hdp_last_error());
    ended_by = cached_ended_by(profile);
    hdp_profile_destroy(profile);
    if (words)
        must(said.warnings == 1 && strstr(said.text, words) &&
                 ended_by != HDP_ENDED_GIVEN,
             "expected one warning (%s), got %d: %s", words, said.warnings,
             said.text);
    else
        must(said.hits == 1 && !said.warnings && ended_by == HDP_ENDED_GIVEN,
             "expected a hit, got %s", said.text);
    return 0;
}

static int keeps(const char *path)
{
    hdp_calibrate_options options = { .size = sizeof options, .cache = path };
    hdp_profile *profile = cached_try(CARD, &options, NULL);

    must(profile, "expected a profile, got %s", hdp_last_error());
    hdp_profile_destroy(profile);
    must(!said.warnings, "expected no warning, got %s", said.text);
    return 0;
}

static void expect_role(const char *role, const char *argument)
{
    struct child child = { .role = role,
                           .argument = argument,
                           .limit_ns = 60 * SECOND_NS };

    expect_child(0, &child);
}

static void need_root(void)
{
    if (geteuid() != 0) {
        print_message("another user takes root to become one\n");
        skip();
    }
}

static int begin(void **state)
{
    char command[300];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf '%s' && mkdir -m 700 '%s'",
                   cached_folder, cached_folder);
    return system(command);
}

/* ---- users ------------------------------------------------------------------ */

static void own(const char *path, uid_t user)
{
    expect_number(0, chown(path, user, (gid_t)user), "chown %s", path);
}

static int role_user(const char *path)
{
    const char *words = getenv("WORDS");

    must(become_nobody() == 0, "setuid: %s", strerror(errno));
    return calibrates(path, words && words[0] ? words : NULL);
}

static void expect_user(const char *words)
{
    static char variable[200];
    struct child child = { .role = "user",
                           .argument = cached_path,
                           .limit_ns = 60 * SECOND_NS };

    (void)snprintf(variable, sizeof variable, "WORDS=%s", words);
    child.set[0] = variable;
    expect_child(0, &child);
}

/* What belongs to a third user is absent; root's may be read by everybody. */
static void files_of_other_users(void **state)
{
    (void)state;
    need_root();
    hdp_profile_destroy(cached(CARD, cached_path));
    expect_number(0, chmod(cached_folder, 0755), "chmod");
    expect_number(0, chmod(cached_path, 0644), "chmod");
    expect_user("");
    own(cached_path, STRANGER);
    expect_user("belongs to another user");
    own(cached_path, NOBODY);
    expect_user("");
    own(cached_folder, STRANGER);
    expect_user("its folder belongs to another user");
    own(cached_folder, 0);

    /* and not even root believes another user */
    hdp_profile *profile = cached(CARD, cached_path);
    expect_doubt(profile, "belongs to another user");
    hdp_profile_destroy(profile);
    own(cached_folder, NOBODY);
    profile = cached(CARD, cached_path);
    expect_doubt(profile, "its folder belongs to another user");
    hdp_profile_destroy(profile);
}

/* Readable, not writable: measured, not kept; nothing in the way of a hit. */
static void a_folder_that_is_read_only(void **state)
{
    (void)state;
    need_root();
    expect_number(0, chmod(cached_folder, 0555), "chmod");
    expect_user("making file.lock");
    own(cached_folder, NOBODY);
    expect_user("making file.lock");
    expect_number(0, chmod(cached_folder, 0), "chmod");
    expect_user("opening the folder");
}

static void a_lock_of_another_user(void **state)
{
    char lock[300];

    (void)state;
    need_root();
    cached_path_of(lock, sizeof lock, "file.lock");
    cached_save(lock, "", 0, 0644);
    own(lock, STRANGER);
    own(cached_folder, NOBODY);
    expect_user("file.lock: belongs to another user");
    expect_number(-1, access(cached_path, F_OK), "nothing was written");
}

/* ---- descriptors -------------------------------------------------------------- */

static int role_few(const char *path)
{
    struct rlimit before, three;
    int code;

    must(getrlimit(RLIMIT_NOFILE, &before) == 0, "getrlimit");
    three = before;
    three.rlim_cur = 3;
    must(setrlimit(RLIMIT_NOFILE, &three) == 0, "setrlimit");
    code = calibrates(path, "Too many open files");
    (void)setrlimit(RLIMIT_NOFILE, &before); /* a sanitizer looks at the end */
    return code;
}

static void no_descriptor_is_left(void **state)
{
    (void)state;
    expect_role("few", cached_path);
    expect_number(-1, access(cached_path, F_OK), "nothing was written");
}

/* What others then print must not land in the file. */
static int role_closed(const char *path)
{
    for (int fd = 0; fd < 3; ++fd)
        (void)close(fd);
    if (keeps(path))
        return 1;
    return calibrates(path, NULL);
}

static void the_standard_three_are_closed(void **state)
{
    (void)state;
    expect_role("closed", cached_path);
}

/* ---- a disk --------------------------------------------------------------------- */

static void a_full_disk(void **state)
{
    char disk[300], file[320], filler[320];
    hdp_profile *profile;

    (void)state;
    cached_path_of(disk, sizeof disk, "disk");
    expect_number(0, mkdir(disk, 0700), "mkdir");
    if (mount("none", disk, "tmpfs", 0, "size=16k,mode=0700") != 0) {
        print_message("a small disk takes the right to mount: %s\n",
                      strerror(errno));
        skip();
    }
    (void)snprintf(file, sizeof file, "%s/file", disk);
    (void)snprintf(filler, sizeof filler, "%s/filler", disk);
    hdp_profile_destroy(cached(CARD, file));
    cached_save(filler, "", 0, 0600);
    expect_number(0, said.warnings, "warnings: %s", said.text);
    int full = open(filler, O_WRONLY | O_CLOEXEC);
    while (write(full, said.text, sizeof said.text) > 0)
        continue;
    (void)close(full);
    profile = cached("sim:0/uuid=GPU-bbbb", file);
    expect_doubt(profile, "No space left on device; not kept");
    hdp_profile_destroy(profile);
    profile = cached(CARD, file); /* the old content stayed */
    expect_hit(profile);
    hdp_profile_destroy(profile);
    expect_number(-1, access(strcat(file, ".hdp-new"), F_OK),
                  "nothing unfinished is left");
    expect_number(0, umount(disk), "umount");
}

/* ---- a locale -------------------------------------------------------------------- */

static int role_locale(const char *path)
{
    if (!another_locale(getenv("LOCPATH"), "de_DE"))
        return 77;
    if (keeps(path))
        return 1;
    return calibrates(path, NULL);
}

/* Written under a comma, read under a point. */
static void a_comma_for_a_point(void **state)
{
    struct child child = { .role = "locale",
                           .argument = cached_path,
                           .limit_ns = 60 * SECOND_NS };
    static char locales[300];
    hdp_profile *profile;

    (void)state;
    (void)snprintf(locales, sizeof locales, "LOCPATH=%s", cached_folder);
    child.set[0] = locales;
    expect_number(0, child_run(&child), "starting it");
    if (child.code == 77) {
        print_message("no locale with a comma can be made here\n");
        skip();
    }
    if (child.code != 0)
        fail_msg("expected 0, got %d (%s)", child.code, child.text);
    profile = cached(CARD, cached_path);
    expect_hit(profile);
    hdp_profile_destroy(profile);
}

/* ---- other writers ------------------------------------------------------------- */

/* Bounded: a holder that stands still costs seconds, not for ever. */
static void a_lock_that_nobody_gives_back(void **state)
{
    char lock[300];
    int64_t start_ns, took_ns;
    hdp_profile *profile;
    int fd;

    (void)state;
    cached_path_of(lock, sizeof lock, "file.lock");
    cached_save(lock, "", 0, 0600);
    fd = open(lock, O_RDONLY | O_CLOEXEC);
    expect_number(0, flock(fd, LOCK_EX), "flock");
    start_ns = now_ns();
    profile = cached(CARD, cached_path);
    took_ns = now_ns() - start_ns;
    (void)close(fd);
    expect_doubt(profile, "others keep file.lock locked; not kept");
    hdp_profile_destroy(profile);
    if (took_ns < 5 * SECOND_NS || took_ns > 8 * SECOND_NS)
        fail_msg("expected 5 s of waiting, got %lld ms",
                 (long long)(took_ns / 1000000));
}

/* A lock file deleted from under its holder is no lock any more. */
static void a_lock_that_is_deleted(void **state)
{
    char lock[300];
    hdp_profile *profile;
    int fd;

    (void)state;
    cached_path_of(lock, sizeof lock, "file.lock");
    cached_save(lock, "", 0, 0600);
    fd = open(lock, O_RDONLY | O_CLOEXEC);
    expect_number(0, flock(fd, LOCK_EX), "flock");
    expect_number(0, unlink(lock), "unlink");
    profile = cached(CARD, cached_path);
    (void)close(fd);
    expect_miss(profile, "no such file yet");
    hdp_profile_destroy(profile);
    expect_number(0, access(lock, F_OK), "a new lock is there");
}

static int role_writer(const char *number)
{
    hdp_calibrate_options options = { .size = sizeof options,
                                      .cache = getenv("CACHE") };
    hdp_profile *profile;
    char spec[64];

    (void)snprintf(spec, sizeof spec, "sim:0/uuid=writer-%s", number);
    profile = cached_try(spec, &options, NULL);
    must(profile, "expected a profile, got %s", hdp_last_error());
    hdp_profile_destroy(profile);
    must(!said.warnings, "%s", said.text);
    return 0;
}

/* Started all at once; who is killed on the way spoils nobody's entry. */
static void many_writers_at_once(void **state)
{
    pid_t writers[WRITERS], doomed[WRITERS / 4];
    char number[16], spec[WRITERS * 40], *at = spec;
    hdp_profile *profile;
    int status;

    (void)state;
    expect_number(0, setenv("CACHE", cached_path, 1), "setenv");
    for (int i = 0; i < WRITERS + WRITERS / 4; ++i) {
        struct child child = { .role = "writer", .argument = number };
        pid_t pid;
        (void)snprintf(number, sizeof number, "%d", i);
        pid = fork();
        expect_number(1, pid >= 0, "fork");
        if (pid == 0)
            child_become(&child, open("/dev/null", O_WRONLY));
        if (i % 5 == 4)
            doomed[i / 5] = pid;
        else
            writers[i - i / 5] = pid;
    }
    for (int i = 0; i < WRITERS / 4; ++i) {
        const struct timespec moment = { .tv_nsec = 7000000 };
        (void)nanosleep(&moment, NULL);
        (void)kill(doomed[i], SIGKILL);
        expect_number(doomed[i], waitpid(doomed[i], &status, 0), "waitpid");
    }
    for (int i = 0; i < WRITERS; ++i) {
        expect_number(writers[i], waitpid(writers[i], &status, 0), "waitpid");
        expect_number(0, status, "the end of writer %d", i);
    }
    for (int i = 0; i < WRITERS + WRITERS / 4; ++i)
        if (i % 5 != 4)
            at += snprintf(at, sizeof spec - (size_t)(at - spec),
                           "%ssim:%d/uuid=writer-%d", i ? "+" : "", i, i);
    profile = cached(spec, cached_path);
    expect_hit(profile);
    hdp_profile_destroy(profile);
}

/* What was opened and has no name any more by the time it is judged was whole
 * when it had one. */
static void a_file_replaced_while_it_is_read(void **state)
{
    char beside[300];
    size_t length;
    pid_t writer;

    (void)state;
    cached_path_of(beside, sizeof beside, "beside");
    hdp_profile_destroy(cached(CARD, cached_path));
    const char *text = cached_load(&length, cached_path);
    writer = fork();
    expect_number(1, writer >= 0, "fork");
    while (writer == 0) {
        int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (write(fd, text, length) != (ssize_t)length || close(fd) != 0 ||
            rename(beside, cached_path) != 0)
            _exit(1);
    }
    for (int i = 0; i < 1000; ++i) {
        hdp_profile *profile = cached(CARD, cached_path);
        int missed = said.warnings || said.hits != 1;
        hdp_profile_destroy(profile);
        if (missed)
            (void)kill(writer, SIGKILL);
        if (missed)
            fail_msg("read %d: expected a hit, got %s", i, said.text);
    }
    expect_number(0, kill(writer, SIGKILL), "kill");
    expect_number(writer, waitpid(writer, NULL, 0), "waitpid");
}

int main(int argc, char **argv)
{
#define CHILDREN_TEST(name) cmocka_unit_test_setup(name, begin)
    const struct CMUnitTest tests[] = {
        CHILDREN_TEST(files_of_other_users),
        CHILDREN_TEST(a_folder_that_is_read_only),
        CHILDREN_TEST(a_lock_of_another_user),
        CHILDREN_TEST(no_descriptor_is_left),
        CHILDREN_TEST(the_standard_three_are_closed),
        CHILDREN_TEST(a_full_disk),
        CHILDREN_TEST(a_comma_for_a_point),
        CHILDREN_TEST(a_lock_that_nobody_gives_back),
        CHILDREN_TEST(a_lock_that_is_deleted),
        CHILDREN_TEST(many_writers_at_once),
        CHILDREN_TEST(a_file_replaced_while_it_is_read),
    };
    const char *role = argc > 2 ? argv[1] : "";

    if (strcmp(role, "user") == 0)
        return role_user(argv[2]);
    if (strcmp(role, "few") == 0)
        return role_few(argv[2]);
    if (strcmp(role, "closed") == 0)
        return role_closed(argv[2]);
    if (strcmp(role, "locale") == 0)
        return role_locale(argv[2]);
    if (strcmp(role, "writer") == 0)
        return role_writer(argv[2]);
    return cmocka_run_group_tests_name("cache_children", tests, cached_setup,
                                       cached_teardown);
}
