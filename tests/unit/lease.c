/* The parts of leases that need no lock: marks, texts, names, moments, and
 * which folder is taken, with what is refused about it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "leases.h"

#define SAID(part)                                                             \
    do {                                                                       \
        if (!strstr(hdp_last_error(), (part)))                                 \
            fail_msg("expected \"%s\" in \"%s\"", (part), hdp_last_error());   \
    } while (0)

/* ---- marks ----------------------------------------------------------------- */

static void a_mark_comes_back(void **state)
{
    static const struct hdpi_lease_mark marks[] = {
        { 0, 0, 0, 0 },
        { 1, 0, 0, 1 },
        { HDPI_LEASE_PID_MAX - 1, UINT32_MAX, 127, (INT64_C(1) << 40) - 2 },
        { 4711, 65534, 60, INT64_C(1796000000) },
        { 2, 1000, 64, INT64_C(1) << 33 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; ++i) {
        struct hdpi_lease_mark got;
        int64_t start = -1, length = -1;
        hdpi_lease_mark_pack(&marks[i], &start, &length);
        assert_true(start >= 0 && length >= 1 && start <= INT64_MAX - length);
        assert_int_equal(hdpi_lease_mark_unpack(&got, start, length), 1);
        assert_int_equal(got.pid, marks[i].pid);
        assert_int_equal(got.uid, marks[i].uid);
        assert_int_equal(got.space, marks[i].space);
        assert_int_equal(got.since_s, marks[i].since_s);
    }
}

static void what_is_no_mark(void **state)
{
    struct hdpi_lease_mark got;

    (void)state;
    assert_int_equal(hdpi_lease_mark_unpack(&got, -1, 5), 0);
    assert_int_equal(hdpi_lease_mark_unpack(&got, 0, 0), 0);
    assert_int_equal(hdpi_lease_mark_unpack(&got, INT64_C(1) << 61, 5), 0);
    assert_int_equal(hdpi_lease_mark_unpack(&got, 0, INT64_MAX), 0);
    hdpi_lease_mark_own(&got);
    assert_int_equal(got.pid, getpid());
    assert_int_equal(got.uid, geteuid());
}

/* ---- texts ----------------------------------------------------------------- */

static void a_hand_over_comes_back(void **state)
{
    struct hdpi_lease_lock locks[] = { { "GPU-a.lease", 0, 8 },
                                       { "GPU-b.lease", 1, 0 },
                                       { "GPU-b+sms48.0.lease", 0, 1023 } };
    struct hdpi_lease_fds given = { 7, locks, 3 }, got;
    char text[128], cut[6];

    (void)state;
    size_t length = hdpi_lease_text_write(text, sizeof text, &given);
    assert_string_equal(text, "7=.,8=GPU-a,0=~GPU-b,1023=GPU-b+sms48.0");
    assert_int_equal(length, strlen(text));
    assert_int_equal(hdpi_lease_text_write(cut, sizeof cut, &given), length);
    assert_string_equal(cut, "7=.,8");
    assert_int_equal(hdpi_lease_text_write(NULL, 0, &given), length);
    assert_int_equal(hdpi_lease_text_read(&got, text), HDP_OK);
    assert_int_equal(got.folder, 7);
    assert_int_equal(got.count, 3);
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(got.locks[i].fd, locks[i].fd);
        assert_int_equal(got.locks[i].shared, locks[i].shared);
        assert_string_equal(got.locks[i].name, locks[i].name);
    }
    free(got.locks);
}

/* As many as a specification can have, each of them with its whole. */
static void a_hand_over_has_room_for_all(void **state)
{
    enum { MANY = 2 * 4096 };
    struct hdpi_lease_lock *locks = calloc(MANY, sizeof *locks);
    struct hdpi_lease_fds given = { 3, locks, MANY }, got;
    size_t length;
    char *text;

    (void)state;
    assert_non_null(locks);
    for (int i = 0; i < MANY; ++i) {
        locks[i].fd = 4 + i;
        (void)snprintf(locks[i].name, sizeof locks[i].name, "SIM-%d.lease", i);
    }
    length = hdpi_lease_text_write(NULL, 0, &given);
    text = malloc(length + 1);
    assert_non_null(text);
    (void)hdpi_lease_text_write(text, length + 1, &given);
    assert_int_equal(hdpi_lease_text_read(&got, text), HDP_OK);
    assert_int_equal(got.count, MANY);
    assert_string_equal(got.locks[MANY - 1].name, "SIM-8191.lease");
    assert_int_equal(got.locks[MANY - 1].fd, 8195);
    free(got.locks);
    free(text);
    free(locks);
}

static void a_bad_hand_over_is_refused_where_it_is_bad(void **state)
{
    static const struct {
        const char *text, *said;
    } bad[] = {
        { "", "number of a descriptor at 1" },
        { "x", "number of a descriptor at 1" },
        { "-1=.", "number of a descriptor at 1" },
        { "99999999999=.", "number of a descriptor at 1" },
        { "3", "'=' at 2" },
        { "3=", "'.', the folder, at 3" },
        { "3=GPU-a", "'.', the folder, at 3" },
        { "3=.", "a lock at 4" },
        { "3=.,", "number of a descriptor at 5" },
        { "3=.,4", "'=' at 6" },
        { "3=.,4=", "name of a device at 7" },
        { "3=.,4=~", "name of a device at 8" },
        { "3=.,4=..", "name of a device at 7" },
        { "3=.,4=a/b", "name of a device at 7" },
        { "3=.,4=a,5=a", "no repeat at 11" },
        { "3=.,4=a,4=b", "no repeat at 11" },
        { "3=.,3=a", "no repeat at 7" },
        { "3=.x", "',' or the end at 4" },
        { "3=.,4=a,", "number of a descriptor at 9" },
    };
    static char many[64 * 1024];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        struct hdpi_lease_fds got;
        assert_int_equal(hdpi_lease_text_read(&got, bad[i].text),
                         HDP_ERR_ARGUMENT);
        assert_null(got.locks);
        SAID(bad[i].said);
    }
    memset(many, ',', sizeof many - 1);
    many[sizeof many - 1] = '\0';
    struct hdpi_lease_fds got;
    assert_int_equal(hdpi_lease_text_read(&got, many), HDP_ERR_ARGUMENT);
    SAID("8192 at most");
}

static void names_of_files(void **state)
{
    char longest[HDPI_LEASE_NAME_MAX + 1];

    (void)state;
    assert_int_equal(hdpi_lease_name_ok("GPU-0a_b.c+d", 12), 1);
    assert_int_equal(hdpi_lease_name_ok("", 0), 0);
    assert_int_equal(hdpi_lease_name_ok(".", 1), 0);
    assert_int_equal(hdpi_lease_name_ok("..", 2), 0);
    assert_int_equal(hdpi_lease_name_ok("a/b", 3), 0);
    assert_int_equal(hdpi_lease_name_ok("a b", 3), 0);
    assert_int_equal(hdpi_lease_name_ok("a\nb", 3), 0);
    assert_int_equal(hdpi_lease_name_ok("\303\244", 2), 0);
    memset(longest, 'a', sizeof longest);
    assert_int_equal(hdpi_lease_name_ok(longest, HDPI_LEASE_NAME_MAX - 7), 1);
    assert_int_equal(hdpi_lease_name_ok(longest, HDPI_LEASE_NAME_MAX - 6), 0);
}

static void moments(void **state)
{
    char text[32];

    (void)state;
    hdpi_lease_time(text, 0);
    assert_string_equal(text, "");
    hdpi_lease_time(text, 1);
    assert_string_equal(text, "1970-01-01T00:00:01Z");
    hdpi_lease_time(text, INT64_C(951782400));
    assert_string_equal(text, "2000-02-29T00:00:00Z");
    hdpi_lease_time(text, INT64_C(4102444799));
    assert_string_equal(text, "2099-12-31T23:59:59Z");
    hdpi_lease_time(text, -1);
    assert_string_equal(text, "");
    hdpi_lease_time(text, INT64_MAX);
    assert_string_equal(text, "");
}

static void file_systems(void **state)
{
    (void)state;
    assert_string_equal(hdpi_lease_network(0x6969), "NFS");
    assert_string_equal(hdpi_lease_network(0xff534d42), "CIFS");
    assert_string_equal(hdpi_lease_network(UINT64_C(0xffffffffff534d42)),
                        "CIFS"); /* sign-extended, as some kernels give it */
    assert_string_equal(hdpi_lease_network(0x0bd00bd0), "Lustre");
    assert_null(hdpi_lease_network(0xef53));     /* ext4 */
    assert_null(hdpi_lease_network(0x01021994)); /* tmpfs */
    assert_null(hdpi_lease_network(0x58465342)); /* xfs */
    assert_null(hdpi_lease_network(0x9123683e)); /* btrfs */
    assert_null(hdpi_lease_network(0x794c7630)); /* overlay */
}

/* ---- which folder ----------------------------------------------------------- */

static char base[64], chosen[96], shared[96], own[96], own_path[128];

static int make_folders(void **state)
{
    (void)state;
    (void)strcpy(base, "/tmp/hdp-lease-unit-XXXXXX");
    if (!mkdtemp(base))
        return -1;
    (void)snprintf(chosen, sizeof chosen, "%s/chosen", base);
    (void)snprintf(shared, sizeof shared, "%s/system", base);
    (void)snprintf(own, sizeof own, "%s/own-", base);
    (void)snprintf(own_path, sizeof own_path, "%s%lu", own,
                   (unsigned long)geteuid());
    return mkdir(chosen, 0755);
}

static int remove_folders(void **state)
{
    (void)state;
    (void)rmdir(chosen);
    (void)rmdir(shared);
    if (rmdir(own_path) != 0)
        (void)unlink(own_path);
    return rmdir(base);
}

static hdp_status take(struct hdpi_lease_folder *out,
                       const struct hdpi_lease_wish *wish)
{
    hdp_status status = hdpi_lease_folder_open(out, wish, NULL);

    assert_int_equal(status == HDP_OK, out->fd >= 0);
    if (out->fd >= 0)
        (void)close(out->fd);
    return status;
}

static void the_first_that_applies(void **state)
{
    struct hdpi_lease_wish wish = { .system = shared, .own = own };
    struct hdpi_lease_folder got;
    struct stat there;

    (void)state;
    mode_t before = umask(0777);
    assert_int_equal(take(&got, &wish), HDP_OK); /* none is there: own */
    (void)umask(before);
    assert_int_equal(got.scope, HDP_LEASE_USER);
    assert_string_equal(got.path, own_path);
    assert_non_null(strstr(got.note, "other users are not coordinated with"));
    assert_int_equal(stat(own_path, &there), 0);
    assert_int_equal(there.st_mode & 07777, 0700);
    assert_int_equal(take(&got, &wish), HDP_OK); /* and again */
    wish.scheduler = "Slurm";
    assert_int_equal(mkdir(shared, 0755), 0);
    assert_int_equal(take(&got, &wish), HDP_OK);
    assert_int_equal(got.scope, HDP_LEASE_SCHEDULED);
    assert_string_equal(got.path, own_path);
    assert_non_null(strstr(got.note, "Slurm has given these GPUs"));
    wish.scheduler = NULL;
    assert_int_equal(take(&got, &wish), HDP_OK);
    assert_int_equal(got.scope, HDP_LEASE_SYSTEM);
    assert_string_equal(got.path, shared);
    wish.variable = chosen;
    assert_int_equal(take(&got, &wish), HDP_OK);
    assert_int_equal(got.scope, HDP_LEASE_CHOSEN);
    assert_string_equal(got.path, chosen);
    wish.scheduler = "Slurm"; /* a chosen one goes before it */
    wish.variable = "/no/such";
    wish.option = chosen;
    assert_int_equal(take(&got, &wish), HDP_OK);
    assert_string_equal(got.path, chosen);
    wish.option = NULL;
    assert_int_equal(take(&got, &wish), HDP_ERR_SYSTEM);
    SAID("/no/such");
}

/* One that is there and wrong is told, and not passed over. */
static void a_bad_one_is_not_passed_over(void **state)
{
    struct hdpi_lease_wish wish = { .system = shared, .own = own };
    struct hdpi_lease_folder got;
    char long_path[HDPI_LEASE_PATH_MAX + 8];

    (void)state;
    assert_int_equal(mkdir(shared, 0755), 0);
    assert_int_equal(chmod(shared, 0777), 0);
    assert_int_equal(take(&got, &wish), HDP_ERR_SYSTEM);
    SAID("sticky bit");
    assert_int_equal(rmdir(shared), 0);
    assert_int_equal(mkdir(own_path, 0700), 0);
    assert_int_equal(chmod(own_path, 0750), 0);
    assert_int_equal(take(&got, &wish), HDP_ERR_SYSTEM);
    SAID("others may enter it");
    assert_int_equal(rmdir(own_path), 0);
    assert_int_equal(symlink(chosen, own_path), 0);
    assert_int_equal(take(&got, &wish), HDP_ERR_SYSTEM);
    SAID("a symbolic link");
    assert_int_equal(unlink(own_path), 0);
    if (geteuid() == 0) {
        assert_int_equal(mkdir(own_path, 0700), 0);
        assert_int_equal(chown(own_path, 54321, 54321), 0);
        assert_int_equal(take(&got, &wish), HDP_ERR_SYSTEM);
        SAID("belongs to another user");
        assert_int_equal(rmdir(own_path), 0);
    }
    wish.own = "/no/such/folder-";
    assert_int_equal(take(&got, &wish), HDP_ERR_SYSTEM);
    assert_int_equal(hdpi_error()->vendor_code, ENOENT);
    memset(long_path, 'a', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    wish.option = long_path;
    assert_int_equal(take(&got, &wish), HDP_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mark_comes_back),
        cmocka_unit_test(what_is_no_mark),
        cmocka_unit_test(a_hand_over_comes_back),
        cmocka_unit_test(a_hand_over_has_room_for_all),
        cmocka_unit_test(a_bad_hand_over_is_refused_where_it_is_bad),
        cmocka_unit_test(names_of_files),
        cmocka_unit_test(moments),
        cmocka_unit_test(file_systems),
        cmocka_unit_test_setup_teardown(the_first_that_applies, make_folders,
                                        remove_folders),
        cmocka_unit_test_setup_teardown(a_bad_one_is_not_passed_over,
                                        make_folders, remove_folders),
    };

    return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
