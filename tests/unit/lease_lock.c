/* One lock file at a time, below the looking that a claim does first: what two
 * takers of one name make of each other, also when the file was swapped. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>
#include "leases.h"

static char base[64], path[96];
static struct hdpi_lease_folder first, second; /* of two leases */

static void open_folder(struct hdpi_lease_folder *folder)
{
    struct hdpi_lease_wish wish = { .option = base };

    assert_int_equal(hdpi_lease_folder_open(folder, &wish, NULL), HDP_OK);
}

static int set_up(void **state)
{
    (void)state;
    (void)strcpy(base, "/tmp/hdp-lease-lock-XXXXXX");
    if (!mkdtemp(base))
        return -1;
    (void)snprintf(path, sizeof path, "%s/GPU-a.lease", base);
    open_folder(&first);
    open_folder(&second);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)close(first.fd);
    (void)close(second.fd);
    (void)unlink(path);
    return rmdir(base);
}

static struct hdpi_lease_lock lock_of(int shared)
{
    struct hdpi_lease_lock lock = { "GPU-a.lease", shared, -1 };

    return lock;
}

/* Whether a second taker is let in beside the first, and after it. */
static void beside(int one, int other, hdp_status want, int swapped)
{
    struct hdpi_lease_lock a = lock_of(one), b = lock_of(other);

    assert_int_equal(hdpi_lease_take(&a, &first), HDP_OK);
    if (swapped)
        assert_int_equal(unlink(path), 0);
    assert_int_equal(hdpi_lease_take(&b, &second), want);
    if (want == HDP_OK)
        hdpi_lease_drop(&b, &second);
    assert_int_equal(b.fd, -1);
    hdpi_lease_drop(&a, &first);
    assert_int_equal(hdpi_lease_take(&b, &second), HDP_OK);
    hdpi_lease_drop(&b, &second);
    hdpi_lease_drop(&b, &second); /* what is not held is left alone */
}

static void who_is_let_in(void **state)
{
    (void)state;
    for (int swapped = 0; swapped < 2; ++swapped) {
        beside(0, 0, HDP_ERR_BUSY, swapped);
        beside(0, 1, HDP_ERR_BUSY, swapped);
        beside(1, 0, HDP_ERR_BUSY, swapped);
        beside(1, 1, HDP_OK, swapped);
    }
}

static void how_it_stands(void **state)
{
    struct hdpi_lease_lock a = lock_of(0);

    (void)state;
    assert_int_equal(hdpi_lease_state(&second, a.name, 0), HDP_LEASE_FREE);
    assert_int_equal(access(path, F_OK), -1); /* looking makes no file */
    assert_int_equal(hdpi_lease_take(&a, &first), HDP_OK);
    assert_int_equal(hdpi_lease_state(&second, a.name, 0), HDP_LEASE_HELD);
    assert_int_equal(hdpi_lease_state(&second, a.name, 1), HDP_LEASE_HELD);
    hdpi_lease_drop(&a, &first);
    a.shared = 1;
    assert_int_equal(hdpi_lease_take(&a, &first), HDP_OK);
    assert_int_equal(hdpi_lease_state(&second, a.name, 0), HDP_LEASE_PARTLY);
    assert_int_equal(hdpi_lease_state(&second, a.name, 1), HDP_LEASE_FREE);
    hdpi_lease_drop(&a, &first);
    assert_int_equal(hdpi_lease_state(&second, a.name, 0), HDP_LEASE_FREE);
}

static void a_socket_is_refused(void **state)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct hdpi_lease_lock a = lock_of(0);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    assert_int_equal(
        bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(hdpi_lease_take(&a, &first), HDP_ERR_SYSTEM);
    assert_non_null(strstr(hdp_last_error(), "GPU-a.lease: a socket"));
    (void)close(fd);
}

/* Looking sets no error of its own, whatever it finds. */
static void looking_leaves_the_error(void **state)
{
    hdp_lease_entry entry;

    (void)state;
    assert_int_equal(mkfifo(path, 0644), 0);
    (void)hdpi_fail(HDP_ERR_BUSY, "as before");
    hdpi_lease_look(&entry, &first, "GPU-a.lease", 0);
    assert_int_equal(entry.state, HDP_LEASE_REFUSED);
    assert_string_equal(hdp_last_error(), "as before");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_is_let_in),
        TEST(how_it_stands),
        TEST(a_socket_is_refused),
        TEST(looking_leaves_the_error),
    };

    return cmocka_run_group_tests_name("lease_lock", tests, NULL, NULL);
}
