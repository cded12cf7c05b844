/* The wall clock jumps an hour either way while a claim waits. It waits as
 * long as it was told to, since deadlines are the monotonic clock's. */
#include <pthread.h>
#include "child.h"
#include "lease_room.h"

enum { SKIPPED = 77 };

static const char *find_faketime(void)
{
    static const char *const paths[] = {
        "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
        "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
        "/usr/lib64/faketime/libfaketime.so.1",
        "/usr/lib/faketime/libfaketime.so.1",
    };

    for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i)
        if (access(paths[i], R_OK) == 0)
            return paths[i];
    return NULL;
}

static int write_offset(const char *path, const char *offset)
{
    FILE *file = fopen(path, "we");

    if (!file)
        return -1;
    (void)fprintf(file, "%s\n", offset);
    return fclose(file);
}

struct jump {
    const char *file, *offset;
};

static void *jump_later(void *arg)
{
    const struct jump *jump = arg;

    sleep_ns(100 * MS);
    (void)write_offset(jump->file, jump->offset);
    return NULL;
}

static int wait_over(const struct room *room, struct jump *jump)
{
    hdp_lease *lease = NULL;
    pthread_t thread;
    time_t before = time(NULL);
    int64_t start_ns = now_ns();

    must(pthread_create(&thread, NULL, jump_later, jump) == 0, "no thread");
    hdp_status status =
        room_claim(&lease, room, "sim:0/uuid=GPU-a", 0, 400 * MS);
    int64_t took_ns = now_ns() - start_ns, jumped_s = time(NULL) - before;
    (void)pthread_join(thread, NULL);
    must(jumped_s > 3000 || jumped_s < -3000,
         "%s: expected the clock to jump, it moved %lld s", jump->offset,
         (long long)jumped_s);
    must(status == HDP_ERR_TIMEOUT, "%s: expected the time-out, got %s",
         jump->offset, hdp_status_string(status));
    must(took_ns >= 400 * MS && took_ns < 3000 * MS,
         "%s: expected 0.4 s, got %lld ms", jump->offset,
         (long long)(took_ns / MS));
    return 0;
}

static int role_clock(const char *file)
{
    struct room room;
    hdp_lease *lease = NULL;
    struct jump there = { file, "+3600" }, back = { file, "-3600" };

    room_open(&room);
    must(room_claim(&lease, &room, "sim:0/uuid=GPU-a", 0, 0) == HDP_OK, "%s",
         hdp_last_error());
    int wrong = wait_over(&room, &there);
    (void)write_offset(file, "+0");
    wrong = wrong ? wrong : wait_over(&room, &back);
    hdp_lease_destroy(lease);
    room_close(&room);
    return wrong;
}

static void the_wall_clock_jumps(void **state)
{
    char file[] = "/tmp/hdp-lease-clock-XXXXXX", preload[128], stamp[96];
    struct child child = { .role = "clock",
                           .argument = file,
                           .limit_ns = 30 * SECOND_NS };
    int descriptor = mkstemp(file);

    (void)state;
    assert_true(descriptor >= 0);
    (void)close(descriptor);
    expect_number(0, write_offset(file, "+0"), "writing %s", file);
    (void)snprintf(preload, sizeof preload, "LD_PRELOAD=%s", find_faketime());
    (void)snprintf(stamp, sizeof stamp, "FAKETIME_TIMESTAMP_FILE=%s", file);
    child.set[0] = preload;
    child.set[1] = stamp;
    child.set[2] = "FAKETIME_NO_CACHE=1";
    child.set[3] = "DONT_FAKE_MONOTONIC=1";
    child.set[4] = "FAKETIME_DONT_FAKE_MONOTONIC=1";
    expect_child(0, &child);
    (void)unlink(file);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wall_clock_jumps),
    };

    if (argc > 2 && strcmp(argv[1], "clock") == 0)
        return role_clock(argv[2]);
    if (SANITIZED || !find_faketime()) {
        (void)printf("skipped: %s\n",
                     SANITIZED ? "a sanitizer must be loaded before libfaketime"
                               : "libfaketime is not installed");
        return SKIPPED;
    }
    return cmocka_run_group_tests_name("lease_clock", tests, NULL, NULL);
}
