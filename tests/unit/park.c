/* Parking: no wake is lost, deadlines hold, a signal to nobody costs no system
 * call. Nothing here is timed but "not before" and "not never". */
#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/park.h"

static const int64_t ms = 1000000;
static const int64_t never_ns = INT64_C(20000000000); /* for a lost wake */

static const struct patience {
    const char *name;
    struct hdpi_patience is;
} patiences[] = {
    { "sleep at once", { 0, 0 } },
    { "look 2 us", { 2000, 0 } },
    { "look 50 us", { 50000, 0 } },
    { "yield 50 us", { 50000, 1 } },
};
enum { PATIENCES = sizeof patiences / sizeof patiences[0] };

/* ---- ping-pong ----------------------------------------------------------- */

/* Everything but the parks is plain: what one side wrote before its signal,
 * the other side sees after its wait, or TSan tells. Event k of a park is the
 * k-th hand-over. */
struct table {
    struct hdpi_park to_ping, to_pong;
    const struct hdpi_patience *patience;
    int64_t ball;
    int over, lost;
};

static int wait_for(struct table *table, struct hdpi_park *park, uint32_t event)
{
    int64_t deadline_ns = hdpi_deadline_ns(never_ns);
    for (uint32_t seen; (seen = hdpi_park_read(park)) != event;)
        if (!hdpi_park_wait(park, seen, table->patience, deadline_ns))
            return 0;
    /* at its deadline a wait finds what it was never woken for */
    return hdpi_clock_ns() < deadline_ns;
}

static void *pong(void *user)
{
    struct table *table = user;
    for (uint32_t event = 1;; event++) {
        if (!wait_for(table, &table->to_pong, event))
            table->lost = 1;
        if (table->over || table->lost)
            return NULL;
        table->ball++;
        hdpi_park_signal(&table->to_ping);
    }
}

static int64_t play(const struct hdpi_patience *patience, int64_t for_ns)
{
    struct table table = { .patience = patience };
    pthread_t thread;
    int64_t rounds = 0, end_ns = hdpi_deadline_ns(for_ns);
    assert_int_equal(pthread_create(&thread, NULL, pong, &table), 0);
    while (hdpi_clock_ns() < end_ns) {
        table.ball++;
        hdpi_park_signal(&table.to_pong);
        rounds++;
        if (!wait_for(&table, &table.to_ping, (uint32_t)rounds))
            fail_msg("%lld rounds, then a wake was lost", (long long)rounds);
    }
    table.over = 1;
    hdpi_park_signal(&table.to_pong);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(table.lost, 0);
    assert_int_equal(table.ball, 2 * rounds);
    return rounds;
}

static void ping_pong_loses_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < PATIENCES; i++) {
        int64_t rounds = play(&patiences[i].is, 250 * ms);
        print_message("%s: %lld rounds\n", patiences[i].name,
                      (long long)rounds);
        if (rounds < 10)
            fail_msg("%s: expected 10 rounds at least, got %lld",
                     patiences[i].name, (long long)rounds);
    }
}

/* ---- deadlines ----------------------------------------------------------- */

static void deadlines_hold(void **state)
{
    (void)state;
    for (int i = 0; i < PATIENCES; i++) {
        struct hdpi_park park = { 0 };
        int64_t begin_ns = hdpi_clock_ns();
        errno = EXDEV;
        int got = hdpi_park_wait(&park, hdpi_park_read(&park), &patiences[i].is,
                                 begin_ns + 20 * ms);
        int64_t took_ns = hdpi_clock_ns() - begin_ns;
        if (got != 0 || took_ns < 20 * ms || took_ns > never_ns)
            fail_msg("%s: expected 0 after 20 ms, got %d after %lld us",
                     patiences[i].name, got, (long long)(took_ns / 1000));
        assert_int_equal(errno, EXDEV);
        assert_int_equal(park.sleepers, 0);
    }
}

/* A long look must not outlive a near deadline. */
static void the_deadline_ends_the_look(void **state)
{
    (void)state;
    for (int32_t yield = 0; yield < 2; yield++) {
        struct hdpi_park park = { 0 };
        struct hdpi_patience endless = { INT64_MAX, yield };
        assert_int_equal(
            hdpi_park_wait(&park, 0, &endless, hdpi_deadline_ns(5 * ms)), 0);
    }
}

static void passed_deadlines_return_at_once(void **state)
{
    static const int64_t deadlines[] = { INT64_MIN, -1, 0, 1 };
    (void)state;
    for (size_t d = 0; d < sizeof deadlines / sizeof deadlines[0]; d++)
        for (int i = 0; i < PATIENCES; i++) {
            struct hdpi_park park = { 0 };
            assert_int_equal(
                hdpi_park_wait(&park, 0, &patiences[i].is, deadlines[d]), 0);
            /* but what has happened is seen first */
            hdpi_park_signal(&park);
            assert_int_equal(
                hdpi_park_wait(&park, 0, &patiences[i].is, deadlines[d]), 1);
        }
}

static void deadlines_do_not_wrap(void **state)
{
    (void)state;
    assert_int_equal(hdpi_deadline_ns(INT64_MAX), INT64_MAX);
    assert_int_equal(hdpi_deadline_ns(INT64_MAX - 1), INT64_MAX);
    int64_t before = hdpi_clock_ns(), at = hdpi_deadline_ns(-5);
    assert_in_range(at, before, hdpi_clock_ns());
    at = hdpi_deadline_ns(1000 * ms);
    assert_in_range(at, before + 1000 * ms, hdpi_clock_ns() + 1000 * ms);
}

/* ---- many sleepers, interruptions ---------------------------------------- */

enum { SLEEPERS = 8 };

struct room {
    struct hdpi_park park;
    _Atomic int32_t woken;
};

static void *sleeper(void *user)
{
    struct room *room = user;
    uint32_t seen = hdpi_park_read(&room->park);
    int64_t deadline_ns = hdpi_deadline_ns(never_ns);
    if (hdpi_park_wait(&room->park, seen, NULL, deadline_ns) &&
        hdpi_clock_ns() < deadline_ns)
        atomic_fetch_add(&room->woken, 1);
    return NULL;
}

static void await(const _Atomic uint32_t *word, uint32_t wanted)
{
    int64_t end_ns = hdpi_deadline_ns(never_ns);
    while (atomic_load(word) != wanted)
        if (hdpi_clock_ns() > end_ns)
            fail_msg("expected %u sleepers, got %u", (unsigned)wanted,
                     (unsigned)atomic_load(word));
        else
            sched_yield();
}

static void one_signal_wakes_everybody(void **state)
{
    (void)state;
    struct room room = { 0 };
    pthread_t threads[SLEEPERS];
    for (int i = 0; i < SLEEPERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, sleeper, &room), 0);
    await(&room.park.sleepers, SLEEPERS);
    hdpi_park_signal(&room.park);
    for (int i = 0; i < SLEEPERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(room.woken, SLEEPERS);
    assert_int_equal(room.park.sleepers, 0);
}

static void nothing(int number)
{
    (void)number;
}

/* A handler runs in the sleeping thread: the wait goes on to its end. */
static void interruptions_are_no_events(void **state)
{
    (void)state;
    struct room room = { 0 };
    struct sigaction action = { .sa_handler = nothing }; /* no SA_RESTART */
    pthread_t thread;
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, sleeper, &room), 0);
    await(&room.park.sleepers, 1);
    for (int i = 0; i < 50; i++) {
        pthread_kill(thread, SIGUSR1);
        sched_yield();
    }
    assert_int_equal(room.woken, 0);
    hdpi_park_signal(&room.park);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(room.woken, 1);
}

/* ---- cost ---------------------------------------------------------------- */

/* In strict mode the kernel kills a thread at its first call that is not read,
 * write or exit. */
static void signal_in_strict_mode(int out)
{
    struct hdpi_park park = { 0 };
    char verdict = 'y';
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) != 0)
        verdict = 'n';
    for (int i = 0; i < 1000; i++)
        hdpi_park_signal(&park);
    if (atomic_load_explicit(&park.word, memory_order_relaxed) != 1000)
        verdict = 'w';
    syscall(SYS_write, out, &verdict, 1);
    syscall(SYS_exit, 0);
}

static void a_signal_to_nobody_makes_no_system_call(void **state)
{
    (void)state;
    int ends[2];
    char verdict = 'k';
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        signal_in_strict_mode(ends[1]);
    close(ends[1]);
    struct pollfd said = { .fd = ends[0], .events = POLLIN };
    if (poll(&said, 1, 20000) == 1 && read(ends[0], &verdict, 1) != 1)
        verdict = 'k';
    close(ends[0]);
    kill(child, SIGKILL); /* a sanitizer's own thread may live on */
    assert_int_equal(waitpid(child, NULL, 0), child);
    if (verdict == 'n')
        print_message("not checked: no seccomp here\n");
    else if (verdict != 'y')
        fail_msg("expected 'y' (done), got '%c' (k: killed, w: wrong count)",
                 verdict);
}

static void cores(void **state)
{
    (void)state;
    cpu_set_t all, one;
    CPU_ZERO(&one);
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    assert_int_equal(hdpi_cores_allowed(), CPU_COUNT(&all));
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(hdpi_cores_allowed(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ping_pong_loses_nothing),
        cmocka_unit_test(deadlines_hold),
        cmocka_unit_test(the_deadline_ends_the_look),
        cmocka_unit_test(passed_deadlines_return_at_once),
        cmocka_unit_test(deadlines_do_not_wrap),
        cmocka_unit_test(one_signal_wakes_everybody),
        cmocka_unit_test(interruptions_are_no_events),
        cmocka_unit_test(a_signal_to_nobody_makes_no_system_call),
        cmocka_unit_test(cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
