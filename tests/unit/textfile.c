/* Named files: what is refused, and in the same words by all who read one. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <hdp/hdp.h>
#include "internal.h"
#include "json/json.h"
#include "textfile.h"

static char folder[] = "/tmp/hdp-textfile-XXXXXX";
static char path[128];

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(path, sizeof path, "%s/file", folder);
    return 0;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path) != 0 && errno != ENOENT ? -1 : 0;
}

static int teardown(void **state)
{
    (void)remove_file(state);
    return rmdir(folder);
}

static void put(const char *text)
{
    FILE *out = fopen(path, "we");

    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static void expect_read(const char *file, const char *expected)
{
    char *text = NULL;
    size_t length = 0;

    if (hdpi_textfile_read(&text, &length, file) != HDP_OK)
        fail_msg("%s", hdp_last_error());
    assert_int_equal(length, strlen(expected));
    assert_string_equal(text, expected);
    free(text);
}

/* The three who read a file that somebody named. */
static void expect_refused(hdp_status status, const char *words)
{
    char *text = (char *)(uintptr_t)1;
    char expected[256];
    struct hdpi_machine *machine;
    hdp_profile *profile;
    size_t length = 0;

    (void)snprintf(expected, sizeof expected, "%s: %s", path, words);
    assert_int_equal(hdpi_textfile_read(&text, &length, path), status);
    assert_string_equal(hdp_last_error(), expected);
    assert_ptr_equal(text, (char *)(uintptr_t)1);
    assert_int_equal(hdp_profile_load(&profile, path), status);
    assert_string_equal(hdp_last_error(), expected);
    assert_null(profile);
    assert_int_equal(hdpi_machine_find(&machine, path), status);
    assert_string_equal(hdp_last_error(), expected);
    assert_null(machine);
}

static void a_text_comes_whole(void **state)
{
    char large[20000];

    (void)state;
    put("");
    expect_read(path, "");
    put("one\ntwo");
    expect_read(path, "one\ntwo");
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    put(large);
    expect_read(path, large);
}

/* Of /proc, whose files say that they have 0 bytes. */
static void content_counts_not_the_size(void **state)
{
    char *text = NULL;
    size_t length = 0;

    (void)state;
    assert_int_equal(hdpi_textfile_read(&text, &length, "/proc/self/limits"),
                     HDP_OK);
    assert_memory_equal(text, "Limit", 5);
    free(text);
}

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    expect_refused(HDP_ERR_NOT_FOUND, "no such file");
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_refused(HDP_ERR_SYSTEM, "not a regular file"); /* and at once */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("file", path), 0);
    expect_refused(HDP_ERR_SYSTEM,
                   "opening: Too many levels of symbolic links");
    assert_int_equal(hdpi_error()->vendor_code, ELOOP);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    expect_refused(HDP_ERR_SYSTEM, "not a regular file");
    assert_int_equal(rmdir(path), 0);
}

static void what_is_too_large_is_refused(void **state)
{
    (void)state;
    put("x");
    assert_int_equal(truncate(path, HDPI_JSON_BYTES_MAX + 1), 0);
    expect_refused(HDP_ERR_ARGUMENT, "larger than the 67108864 bytes allowed");
}

/* A limit and flags of the caller's own. */
static void a_caller_may_allow_less(void **state)
{
    char link[160], *text = NULL;
    size_t length = 0;
    int fd = -1;

    (void)state;
    put("12345");
    assert_int_equal(hdpi_textfile_open(&fd, path, O_NOFOLLOW), HDP_OK);
    assert_int_equal(hdpi_textfile_take(&text, &length, fd, path, 4),
                     HDP_ERR_ARGUMENT);
    assert_null(text);
    assert_int_equal(hdpi_textfile_take(&text, &length, fd, path, 5), HDP_OK);
    assert_string_equal(text, "12345");
    free(text);
    (void)close(fd);
    (void)snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(symlink("file", link), 0);
    assert_int_equal(hdpi_textfile_open(&fd, link, O_NOFOLLOW), HDP_ERR_SYSTEM);
    assert_int_equal(fd, -1);
    assert_int_equal(unlink(link), 0);
}

static void old_content_stays_until_the_new_is_there(void **state)
{
    static const char text[] = "new";
    char below[160];

    (void)state;
    put("old");
    int before = open(path, O_RDONLY | O_CLOEXEC);
    char kept[8] = "";
    assert_int_equal(hdpi_textfile_replace(path, text, 3), HDP_OK);
    expect_read(path, text);
    assert_int_equal(read(before, kept, sizeof kept), 3);
    assert_string_equal(kept, "old");
    (void)close(before);
    (void)snprintf(below, sizeof below, "%s/below", path);
    assert_int_equal(hdpi_textfile_replace(below, text, 3), HDP_ERR_SYSTEM);
    expect_read(path, text);
    assert_int_equal(hdpi_textfile_replace("/dev/full", text, 3),
                     HDP_ERR_SYSTEM);
    assert_string_equal(hdp_last_error(),
                        "/dev/full: writing: No space left on device");
    assert_int_equal(hdpi_textfile_replace("/dev/null", text, 3), HDP_OK);
}

static void links_and_modes_stay(void **state)
{
    char link[160];
    struct stat there;

    (void)state;
    put("old");
    assert_int_equal(chmod(path, 0640), 0);
    (void)snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(symlink("file", link), 0);
    assert_int_equal(hdpi_textfile_replace(link, "new", 3), HDP_OK);
    expect_read(path, "new");
    assert_int_equal(lstat(link, &there), 0);
    assert_true(S_ISLNK(there.st_mode));
    assert_int_equal(stat(path, &there), 0);
    assert_int_equal(there.st_mode & 07777, 0640);
    assert_int_equal(unlink(link), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_text_comes_whole, remove_file),
        cmocka_unit_test(content_counts_not_the_size),
        cmocka_unit_test_teardown(what_is_no_file_is_refused, remove_file),
        cmocka_unit_test_teardown(what_is_too_large_is_refused, remove_file),
        cmocka_unit_test_teardown(a_caller_may_allow_less, remove_file),
        cmocka_unit_test_teardown(old_content_stays_until_the_new_is_there,
                                  remove_file),
        cmocka_unit_test_teardown(links_and_modes_stay, remove_file),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
