/* Holders that die, stop, fork or live on in another. The kernel lets go
 * at death and not before; what was written anywhere by a dead process keeps
 * nobody out. */
#include "lease_room.h"

enum { ROUNDS = SANITIZED ? 100 : 1000 };

static const char ONE[] = "sim:0/uuid=GPU-a";
static const int64_t AT_ONCE_NS = 50000000 * (SANITIZED ? 10 : 1);

static void a_killed_holder_lets_go(void **state)
{
    struct room room;
    int64_t worst_ns = 0;

    (void)state;
    room_open(&room);
    for (int i = 0; i < ROUNDS; ++i) {
        hdp_lease *lease = NULL;
        pid_t child = room_holder(&room, ONE);
        expect_status(HDP_ERR_BUSY, room_claim(&lease, &room, ONE, 0, 0));
        int64_t start_ns = now_ns(), took_ns;
        assert_int_equal(kill(child, SIGKILL), 0);
        while (room_claim(&lease, &room, ONE, 0, 0) == HDP_ERR_BUSY &&
               now_ns() - start_ns < 20 * AT_ONCE_NS)
            (void)sched_yield();
        took_ns = now_ns() - start_ns;
        worst_ns = took_ns > worst_ns ? took_ns : worst_ns;
        if (!lease || took_ns > AT_ONCE_NS)
            fail_msg("round %d: expected it within %lld ms of the kill, got "
                     "%s after %.1f ms",
                     i, (long long)(AT_ONCE_NS / MS), lease ? "it" : "nothing",
                     (double)took_ns / 1e6);
        assert_int_equal(room_child_answer(child), 1000 + SIGKILL);
        hdp_lease_destroy(lease);
    }
    print_message("%d kills, granted after %.3f ms at worst\n", (int)ROUNDS,
                  (double)worst_ns / 1e6);
    char path[128];
    struct stat there;
    (void)snprintf(path, sizeof path, "%s/GPU-a.lease", room.path);
    assert_int_equal(stat(path, &there), 0); /* never deleted */
    assert_int_equal(there.st_size, 0);      /* never written */
    room_close(&room);
}

/* One who waits in hdp_lease_acquire() gets it as quickly. */
static void a_waiter_gets_it(void **state)
{
    struct room room;

    (void)state;
    room_open(&room);
    for (int i = 0; i < 5; ++i) {
        hdp_lease *lease = NULL;
        pid_t child = room_holder(&room, ONE), killer = room_fork();
        int64_t start_ns = now_ns(), killed_after_ns = 200 * MS;
        if (killer == 0) {
            sleep_ns(killed_after_ns);
            _exit(kill(child, SIGKILL) != 0);
        }
        expect_ok(room_claim(&lease, &room, ONE, 0, 10000 * MS));
        int64_t took_ns = now_ns() - start_ns;
        if (took_ns < killed_after_ns ||
            took_ns > killed_after_ns + 4 * AT_ONCE_NS)
            fail_msg("expected it soon after 200 ms, got it after %.1f ms",
                     (double)took_ns / 1e6);
        hdp_lease_destroy(lease);
        assert_int_equal(room_child_answer(killer), 0);
        (void)room_child_answer(child);
    }
    room_close(&room);
}

static void a_stopped_holder_still_holds(void **state)
{
    hdp_lease *lease = NULL;
    hdp_lease_entry entry;
    hdp_error error = { .size = sizeof error };
    struct room room;
    char words[64];
    int status;

    (void)state;
    room_open(&room);
    pid_t child = room_holder(&room, ONE);
    assert_int_equal(kill(child, SIGSTOP), 0);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    int64_t start_ns = now_ns();
    expect_status(HDP_ERR_TIMEOUT,
                  room_claim(&lease, &room, ONE, 0, 1000 * MS));
    int64_t took_ns = now_ns() - start_ns;
    if (took_ns < 1000 * MS || took_ns > 1200 * MS + 4 * AT_ONCE_NS)
        fail_msg("expected the time-out after 1 s, got it after %.3f s",
                 (double)took_ns / 1e9);
    expect_ok(hdp_error_get(&error));
    expect_number(HDP_RETRY, error.severity, "severity of the time-out");
    (void)snprintf(words, sizeof words, "GPU-a by process %d", (int)child);
    expect_has(error.text, "1 wanted, 0 free of 1; held: ");
    expect_has(error.text, words);
    room_look(&entry, &room, ONE);
    expect_number(HDP_LEASE_HELD, entry.state, "state");
    expect_number(child, entry.pid, "its holder");
    assert_int_equal(kill(child, SIGKILL), 0);
    (void)room_child_answer(child);
    expect_ok(room_claim(&lease, &room, ONE, 0, 0));
    hdp_lease_destroy(lease);
    room_close(&room);
}

/* Of a scheme that believed files: it names a living process. */
static void a_file_of_old_means_nothing(void **state)
{
    hdp_lease *lease = NULL;
    hdp_lease_entry entry;
    struct room room;
    struct stat there;
    char path[128];
    FILE *file;
    int length;

    (void)state;
    room_open(&room);
    (void)snprintf(path, sizeof path, "%s/GPU-a.lease", room.path);
    file = fopen(path, "we");
    assert_non_null(file);
    length = fprintf(file, "pid %ld\nheld\n", (long)getppid());
    assert_int_equal(fclose(file), 0);
    room_look(&entry, &room, ONE);
    expect_number(HDP_LEASE_FREE, entry.state, "state");
    expect_ok(room_claim(&lease, &room, ONE, 0, 0));
    room_look(&entry, &room, ONE);
    expect_number(getpid(), entry.pid, "its holder");
    hdp_lease_destroy(lease);
    assert_int_equal(stat(path, &there), 0);
    expect_number(length, there.st_size, "bytes, untouched");
    room_close(&room);
}

/* ---- fork ---------------------------------------------------------------- */

static int child_of_a_holder(hdp_lease *lease)
{
    hdp_lease_info info = { .size = sizeof info };
    hdp_lease_device_info device = { .size = sizeof device };
    char text[64];
    int32_t fd;

    if (hdp_lease_get(&info, lease) != HDP_ERR_FORKED ||
        hdp_lease_device(&device, lease, 0) != HDP_ERR_FORKED ||
        hdp_lease_mask(lease, text, sizeof text, NULL) != HDP_ERR_FORKED ||
        hdp_lease_hand_over(lease, text, sizeof text, NULL) != HDP_ERR_FORKED ||
        hdp_lease_descriptor(&fd, lease, 0) != HDP_ERR_FORKED)
        return 1;
    int before = count_descriptors();
    hdp_lease_destroy(lease);
    return count_descriptors() == before - 2 ? 0 : 2;
}

static void a_child_cannot_let_go(void **state)
{
    hdp_lease *lease = NULL, *other = NULL;
    struct room room;
    pid_t child;

    (void)state;
    room_open(&room);
    expect_ok(room_claim(&lease, &room, ONE, 0, 0));
    child = room_fork();
    if (child == 0)
        _exit(child_of_a_holder(lease));
    expect_number(0, room_child_answer(child), "the child");
    expect_status(HDP_ERR_BUSY, room_claim(&other, &room, ONE, 0, 0));
    hdp_lease_destroy(lease);
    expect_ok(room_claim(&other, &room, ONE, 0, 0));
    hdp_lease_destroy(other);
    room_close(&room);
}

/* The owner's release counts, whatever a forgotten child still has open. */
static void the_owner_lets_go_at_once(void **state)
{
    hdp_lease *lease = NULL, *other = NULL;
    struct room room;
    pid_t child;

    (void)state;
    room_open(&room);
    expect_ok(room_claim(&lease, &room, ONE, 0, 0));
    child = room_fork();
    if (child == 0)
        for (;;)
            (void)pause();
    hdp_lease_destroy(lease);
    expect_ok(room_claim(&other, &room, ONE, 0, 0));
    hdp_lease_destroy(other);
    (void)kill(child, SIGKILL);
    (void)room_child_answer(child);
    room_close(&room);
}

/* Nor does that child name the former holder in place of the next one. */
static void the_next_holder_is_named(void **state)
{
    hdp_lease *lease = NULL;
    hdp_lease_entry entry;
    struct room room;
    pid_t child, holder;

    (void)state;
    room_open(&room);
    expect_ok(room_claim(&lease, &room, ONE, 0, 0));
    child = room_fork();
    if (child == 0)
        for (;;)
            (void)pause();
    hdp_lease_destroy(lease);
    room_look(&entry, &room, ONE);
    expect_number(HDP_LEASE_FREE, entry.state, "state after the release");
    holder = room_holder(&room, ONE);
    room_look(&entry, &room, ONE);
    expect_number(HDP_LEASE_HELD, entry.state, "state");
    expect_number(holder, entry.pid, "the process named");
    (void)kill(child, SIGKILL);
    (void)room_child_answer(child);
    (void)kill(holder, SIGKILL);
    (void)room_child_answer(holder);
    room_close(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_holder_lets_go),
        cmocka_unit_test(a_waiter_gets_it),
        cmocka_unit_test(a_stopped_holder_still_holds),
        cmocka_unit_test(a_file_of_old_means_nothing),
        cmocka_unit_test(a_child_cannot_let_go),
        cmocka_unit_test(the_owner_lets_go_at_once),
        cmocka_unit_test(the_next_holder_is_named),
    };

    return cmocka_run_group_tests_name("lease_death", tests, NULL, NULL);
}
