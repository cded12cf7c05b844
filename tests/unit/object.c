/* Handles: kinds told apart, foreign pointers refused, the last holder known. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/object.h"

enum { THREADS = 4, ROUNDS = 20000 };

static void refuses(const void *object, uint32_t tag, const char *message)
{
    hdp_status status = hdpi_object_check(object, tag, "thing");
    if (status != HDP_ERR_ARGUMENT || strcmp(hdp_last_error(), message) != 0)
        fail_msg("expected %d \"%s\", got %d \"%s\"", HDP_ERR_ARGUMENT, message,
                 (int)status, hdp_last_error());
}

static void kinds_are_told_apart(void **state)
{
    (void)state;
    for (uint32_t made = HDPI_CONTEXT; made <= HDPI_EXECUTOR; made++) {
        struct hdpi_object object;
        hdpi_object_init(&object, made);
        for (uint32_t asked = HDPI_CONTEXT; asked <= HDPI_EXECUTOR; asked++) {
            hdp_status wanted = asked == made ? HDP_OK : HDP_ERR_ARGUMENT;
            hdp_status got = hdpi_object_check(&object, asked, "thing");
            if (got != wanted)
                fail_msg("kind %x asked as %x: expected %d, got %d", made,
                         asked, (int)wanted, (int)got);
        }
    }
}

static void foreign_pointers_are_refused(void **state)
{
    (void)state;
    struct hdpi_object object;
    _Alignas(16) unsigned char foreign[64];
    memset(foreign, 0x5a, sizeof foreign);
    hdpi_object_init(&object, HDPI_PLAN);
    refuses(NULL, HDPI_PLAN, "thing is NULL");
    refuses(foreign, HDPI_PLAN,
            "thing is no handle of this library, not a plan");
    refuses(foreign + 1, HDPI_PLAN, "thing is no handle of this library");
    refuses(&object, HDPI_GROUP, "thing is a handle of kind plan, not a group");
    assert_int_equal(hdpi_object_release(NULL, HDPI_PLAN), 0);
    assert_int_equal(hdpi_object_release((void *)foreign, HDPI_PLAN), 0);
    assert_int_equal(hdpi_object_release(&object, HDPI_GROUP), 0);
    assert_int_equal(hdpi_object_release(&object, HDPI_PLAN), 1);
}

struct shared {
    struct hdpi_object object;
    pthread_barrier_t start;
    _Atomic int32_t next;
    int64_t work[THREADS]; /* plain: the last holder must see all of it */
    int64_t sum;           /* what the last holder saw */
};

static void *hold_and_drop(void *user)
{
    struct shared *shared = user;
    int32_t mine =
        atomic_fetch_add_explicit(&shared->next, 1, memory_order_relaxed);
    intptr_t last = 0;
    pthread_barrier_wait(&shared->start);
    for (int i = 0; i < ROUNDS; i++) {
        hdpi_object_retain(&shared->object);
        shared->work[mine]++;
        last += hdpi_object_release(&shared->object, HDPI_GROUP);
    }
    if (hdpi_object_release(&shared->object, HDPI_GROUP)) {
        last++;
        for (int i = 0; i < THREADS; i++)
            shared->sum += shared->work[i];
    }
    return (void *)last;
}

static void exactly_one_holder_is_the_last(void **state)
{
    (void)state;
    struct shared shared = { .sum = 0 };
    pthread_t threads[THREADS];
    intptr_t last = 0;
    hdpi_object_init(&shared.object, HDPI_GROUP);
    assert_int_equal(pthread_barrier_init(&shared.start, NULL, THREADS), 0);
    for (int i = 1; i < THREADS; i++)
        hdpi_object_retain(&shared.object);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, hold_and_drop, &shared), 0);
    for (int i = 0; i < THREADS; i++) {
        void *got;
        assert_int_equal(pthread_join(threads[i], &got), 0);
        last += (intptr_t)got;
    }
    pthread_barrier_destroy(&shared.start);
    if (last != 1)
        fail_msg("expected 1 last holder, got %d", (int)last);
    assert_int_equal(shared.sum, THREADS * ROUNDS);
    assert_int_equal(shared.object.tag, HDPI_DEAD);
}

/* Debug builds stop; others answer. In a child, because stopping kills. */
static void a_destroyed_handle_is_caught(void **state)
{
    (void)state;
    struct hdpi_object object;
    int how = 0;
    hdpi_object_init(&object, HDPI_PLAN);
    assert_int_equal(hdpi_object_release(&object, HDPI_PLAN), 1);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        _exit(hdpi_object_check(&object, HDPI_PLAN, "plan") == HDP_ERR_ARGUMENT
                  ? 40
                  : 41);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
#ifdef NDEBUG
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 40);
#else
    assert_true(WIFSIGNALED(how));
    assert_int_equal(WTERMSIG(how), SIGABRT);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_told_apart),
        cmocka_unit_test(foreign_pointers_are_refused),
        cmocka_unit_test(exactly_one_holder_is_the_last),
        cmocka_unit_test(a_destroyed_handle_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
