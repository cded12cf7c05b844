/* What others put where a cache, its lock or its folder should be: measured
 * without it, one warning, nothing waited for, nothing followed, and what was
 * planted or aimed at as it was. */
#include <time.h>
#include "cached.h"

static const char *const CARD = "sim:0/uuid=GPU-aaaa";
static const char secret[] = "somebody else's bytes";
static const int64_t limit_ns = 100000000;

enum { TRIES = 3 }; /* of which the fastest counts: the machine may be busy */

static char victim[300], lock[300], unfinished[300];

static int64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- a victim ------------------------------------------------------------- */

static struct stat before;

static int begin(void **state)
{
    char command[300];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf '%s' && mkdir -m 700 '%s'",
                   cached_folder, cached_folder);
    if (system(command))
        return -1;
    cached_path_of(victim, sizeof victim, "victim");
    cached_path_of(lock, sizeof lock, "file.lock");
    cached_path_of(unfinished, sizeof unfinished, "file.hdp-new");
    cached_save(victim, secret, sizeof secret - 1, 0600);
    return stat(victim, &before);
}

static void expect_victim(void)
{
    struct stat after;

    expect_number(0, stat(victim, &after), "the victim is there");
    expect_number((int64_t)before.st_ino, (int64_t)after.st_ino, "its inode");
    expect_number(before.st_mode, after.st_mode, "its mode");
    expect_number(before.st_mtim.tv_sec, after.st_mtim.tv_sec, "its time");
    expect_number(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec, "its time");
    expect_number(before.st_atim.tv_nsec, after.st_atim.tv_nsec, "its reading");
    assert_string_equal(cached_load(NULL, victim), secret);
    expect_number(0, stat(victim, &before), "read by this test");
}

/* One warning, in time, with the words. */
static void expect_refused(const char *words)
{
    int64_t best_ns = INT64_MAX;

    for (int i = 0; i < TRIES; ++i) {
        int64_t start_ns = now_ns(), took_ns;
        hdp_profile *profile = cached(CARD, cached_path);
        took_ns = now_ns() - start_ns;
        best_ns = took_ns < best_ns ? took_ns : best_ns;
        expect_doubt(profile, words);
        if (!strstr(said.text, cached_path))
            fail_msg("expected the file's name, got %s", said.text);
        hdp_profile_destroy(profile);
    }
    if (best_ns > limit_ns)
        fail_msg("%s: expected %lld ms at most, took %lld", words,
                 (long long)limit_ns / 1000000, (long long)best_ns / 1000000);
}

/* ---- in the place of the cache -------------------------------------------- */

static void a_symbolic_link(void **state)
{
    struct stat link;

    (void)state;
    expect_number(0, symlink(victim, cached_path), "symlink");
    expect_refused("a symbolic link");
    expect_number(0, lstat(cached_path, &link), "the link is there");
    expect_number(1, S_ISLNK(link.st_mode), "as a link");
    expect_victim();
}

static void a_link_to_nowhere(void **state)
{
    (void)state;
    expect_number(0, symlink("elsewhere", cached_path), "symlink");
    expect_refused("a symbolic link");
    cached_path_of(victim, sizeof victim, "elsewhere");
    expect_number(-1, access(victim, F_OK), "nothing was made behind it");
}

static void a_hard_link(void **state)
{
    (void)state;
    expect_number(0, link(victim, cached_path), "link");
    before.st_nlink = 2;
    expect_refused("has other names as well (hard links)");
    expect_victim();
}

static void a_pipe(void **state)
{
    (void)state;
    expect_number(0, mkfifo(cached_path, 0600), "mkfifo");
    expect_refused("not a regular file");
}

static void a_folder(void **state)
{
    (void)state;
    expect_number(0, mkdir(cached_path, 0700), "mkdir");
    expect_refused("not a regular file");
}

static void a_file_that_others_may_write(void **state)
{
    static const mode_t modes[] = { 0620, 0602, 0666 };

    (void)state;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; ++i) {
        hdp_profile_destroy(cached(CARD, cached_path));
        expect_number(0, chmod(cached_path, modes[i]), "chmod");
        expect_refused("may be written by others");
        expect_number(0, unlink(cached_path), "unlink");
    }
}

/* A mistyped name must not cost a file. */
static void a_file_of_something_else(void **state)
{
    (void)state;
    expect_number(0, rename(victim, cached_path), "rename");
    expect_refused("not a cache of hdp");
    (void)snprintf(victim, sizeof victim, "%s", cached_path);
    assert_string_equal(cached_load(NULL, victim), secret);
}

static void a_huge_file(void **state)
{
    struct stat huge;

    (void)state;
    hdp_profile_destroy(cached(CARD, cached_path));
    expect_number(0, truncate(cached_path, INT64_C(1) << 40), "truncate");
    expect_refused("larger than the 1048576 bytes allowed");
    expect_number(0, stat(cached_path, &huge), "it is there");
    expect_number(INT64_C(1) << 40, huge.st_size, "its size");
}

/* An empty or a cut file is a cache that somebody damaged: begun anew. */
static void a_damaged_file_is_begun_anew(void **state)
{
    static const size_t lengths[] = { 0, 3, 10, 60, 400 };
    hdp_profile *profile;

    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
        hdp_profile_destroy(cached(CARD, cached_path));
        expect_number(0, truncate(cached_path, (off_t)lengths[i]), "truncate");
        profile = cached(CARD, cached_path);
        expect_doubt(profile, "damaged");
        hdp_profile_destroy(profile);
        profile = cached(CARD, cached_path);
        expect_hit(profile);
        hdp_profile_destroy(profile);
    }
}

/* ---- in the place of its lock, and of an unfinished file ------------------- */

static void expect_not_kept(const char *words)
{
    expect_refused(words);
    expect_number(-1, access(cached_path, F_OK), "nothing was written");
    expect_victim();
}

static void links_for_a_lock(void **state)
{
    (void)state;
    expect_number(0, symlink(victim, lock), "symlink");
    expect_not_kept("file.lock: a symbolic link");
    expect_number(0, unlink(lock), "unlink");
    expect_number(0, symlink("elsewhere", lock), "symlink");
    expect_not_kept("file.lock: a symbolic link");
    expect_number(0, unlink(lock), "unlink");
    expect_number(0, link(victim, lock), "link");
    expect_not_kept("file.lock: has other names as well");
}

static void no_file_for_a_lock(void **state)
{
    (void)state;
    expect_number(0, mkfifo(lock, 0600), "mkfifo");
    expect_not_kept("file.lock: not a regular file");
    expect_number(0, unlink(lock), "unlink");
    expect_number(0, mkdir(lock, 0700), "mkdir");
    expect_not_kept("file.lock: not a regular file");
    expect_number(0, rmdir(lock), "rmdir");
    cached_save(lock, "", 0, 0666);
    expect_not_kept("file.lock: may be written by others");
}

/* A dead writer's file goes; a link in its place goes, not what it names. */
static void an_unfinished_file(void **state)
{
    hdp_profile *profile;

    (void)state;
    cached_save(unfinished, "half", 4, 0600);
    hdp_profile_destroy(cached(CARD, cached_path));
    expect_number(-1, access(unfinished, F_OK), "the unfinished file is gone");
    expect_number(0, unlink(cached_path), "unlink");
    expect_number(0, symlink(victim, unfinished), "symlink");
    profile = cached(CARD, cached_path);
    expect_miss(profile, "no such file yet");
    hdp_profile_destroy(profile);
    expect_victim();
    profile = cached(CARD, cached_path);
    expect_hit(profile);
    hdp_profile_destroy(profile);
    expect_number(0, unlink(cached_path), "unlink");
    expect_number(0, mkdir(unfinished, 0700), "mkdir");
    expect_not_kept("removing file.hdp-new");
}

/* ---- the folder ----------------------------------------------------------- */

static void a_folder_that_others_may_write(void **state)
{
    static const mode_t modes[] = { 0770, 0702, 0777, 01777 };

    (void)state;
    hdp_profile_destroy(cached(CARD, cached_path));
    for (size_t i = 0; i < sizeof modes / sizeof *modes; ++i) {
        expect_number(0, chmod(cached_folder, modes[i]), "chmod");
        expect_refused("its folder may be written by others");
    }
    expect_number(0, chmod(cached_folder, 0700), "chmod");
}

static mode_t mode_of(const char *path)
{
    struct stat it;

    expect_number(0, stat(path, &it), "%s is there", path);
    return it.st_mode & 07777;
}

static void modes_are_private_whatever_the_umask(void **state)
{
    static const mode_t masks[] = { 0, 022, 077, 0777 };
    char folder[300], file[320], beside[340];

    (void)state;
    for (size_t i = 0; i < sizeof masks / sizeof *masks; ++i) {
        hdp_profile *profile;
        mode_t own;
        cached_path_of(folder, sizeof folder, "made");
        (void)snprintf(file, sizeof file, "%s/file", folder);
        (void)snprintf(beside, sizeof beside, "%s.lock", file);
        own = umask(masks[i]);
        profile = cached(CARD, file);
        hdp_profile_destroy(profile);
        (void)umask(own);
        if (masks[i] == 0777 && geteuid() != 0)
            continue; /* nobody else can open what he just made */
        expect_number(0700, mode_of(folder), "the folder under umask %o",
                      (unsigned)masks[i]);
        expect_number(0600, mode_of(file), "the file under umask %o",
                      (unsigned)masks[i]);
        expect_number(0600, mode_of(beside), "the lock under umask %o",
                      (unsigned)masks[i]);
        expect_number(0, unlink(file) | unlink(beside) | rmdir(folder),
                      "cleaning up");
    }
}

static void only_the_last_folder_is_made(void **state)
{
    char file[320], folder[300];
    hdp_profile *profile;

    (void)state;
    cached_path_of(folder, sizeof folder, "a");
    (void)snprintf(file, sizeof file, "%s/b/file", folder);
    profile = cached(CARD, file);
    expect_doubt(profile, "opening the folder");
    hdp_profile_destroy(profile);
    expect_number(-1, access(folder, F_OK), "nothing was made");
}

static void names_that_name_no_file(void **state)
{
    static const char *const names[] = { "", "/", ".", "..", "x/", "x/.." };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        hdp_profile *profile = cached(CARD, names[i]);
        expect_doubt(profile, "names no file");
        hdp_profile_destroy(profile);
    }
}

static void a_long_name(void **state)
{
    char name[5000];
    hdp_profile *profile;

    (void)state;
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    profile = cached(CARD, name);
    expect_number(1, said.warnings, "warnings");
    hdp_profile_destroy(profile);
}

static void a_name_without_a_folder(void **state)
{
    char here[300];
    hdp_profile *profile;

    (void)state;
    assert_non_null(getcwd(here, sizeof here));
    expect_number(0, chdir(cached_folder), "chdir");
    hdp_profile_destroy(cached(CARD, "file"));
    profile = cached(CARD, "file");
    expect_number(0, chdir(here), "chdir");
    expect_hit(profile);
    hdp_profile_destroy(profile);
}

int main(void)
{
#define PLANTED_TEST(name) cmocka_unit_test_setup(name, begin)
    const struct CMUnitTest tests[] = {
        PLANTED_TEST(a_symbolic_link),
        PLANTED_TEST(a_link_to_nowhere),
        PLANTED_TEST(a_hard_link),
        PLANTED_TEST(a_pipe),
        PLANTED_TEST(a_folder),
        PLANTED_TEST(a_file_that_others_may_write),
        PLANTED_TEST(a_file_of_something_else),
        PLANTED_TEST(a_huge_file),
        PLANTED_TEST(a_damaged_file_is_begun_anew),
        PLANTED_TEST(links_for_a_lock),
        PLANTED_TEST(no_file_for_a_lock),
        PLANTED_TEST(an_unfinished_file),
        PLANTED_TEST(a_folder_that_others_may_write),
        PLANTED_TEST(modes_are_private_whatever_the_umask),
        PLANTED_TEST(only_the_last_folder_is_made),
        PLANTED_TEST(names_that_name_no_file),
        PLANTED_TEST(a_long_name),
        PLANTED_TEST(a_name_without_a_folder),
    };

    return cmocka_run_group_tests_name("cache_planted", tests, cached_setup,
                                       cached_teardown);
}
