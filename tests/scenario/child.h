/* The test program started again in a role of its own, under conditions that
 * the harness could not bear. A role says what is wrong through a pipe. */
#ifndef CHILD_H
#define CHILD_H
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "process.h"

enum { CHILD_REPORT = 40, CHILD_VARIABLES = 8 };

static const int64_t SECOND_NS = 1000000000;

struct child {
    const char *role, *argument;      /* argv[1] and [2] */
    const char *set[CHILD_VARIABLES]; /* NAME=VALUE, NULL ends */
    const char *output; /* file for descriptors 1 and 2, or NULL */
    int64_t limit_ns;
    /* filled: */
    int code, signal, late; /* late: killed at its limit */
    int64_t took_ns;
    char text[512]; /* what the role said */
};

/* In the child: what went wrong, to whoever started it. */
#define child_say(...) ((void)dprintf(CHILD_REPORT, __VA_ARGS__))

static inline _Noreturn void child_become(const struct child *child, int report)
{
    char *const arguments[] = { (char *)(uintptr_t) "test",
                                (char *)(uintptr_t)child->role,
                                (char *)(uintptr_t)child->argument, NULL };
    int i, file;

    if (report != CHILD_REPORT && dup2(report, CHILD_REPORT) < 0)
        _exit(120);
    for (i = 0; i < CHILD_VARIABLES && child->set[i]; ++i)
        (void)putenv((char *)(uintptr_t)child->set[i]);
    if (child->output) {
        file = open(child->output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (file < 0 || dup2(file, 1) < 0 || dup2(file, 2) < 0)
            _exit(121);
    }
    (void)execv("/proc/self/exe", arguments);
    _exit(122);
}

/* Reads what the child says until it ends or its time is up. */
static inline void child_listen(struct child *child, pid_t pid, int report)
{
    struct pollfd wait = { report, POLLIN, 0 };
    int64_t end_ns = now_ns() + child->limit_ns;
    size_t used = 0;

    for (;;) {
        int64_t left_ns = end_ns - now_ns();
        ssize_t got;
        if (left_ns <= 0 || poll(&wait, 1, (int)(left_ns / 1000000) + 1) == 0) {
            child->late = 1;
            (void)kill(pid, SIGKILL);
            return;
        }
        got = read(report, child->text + used, sizeof child->text - 1 - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return;
        used += (size_t)got;
    }
}

/* 0, or errno when it could not be started. */
static inline int child_run(struct child *child)
{
    int64_t start_ns = now_ns();
    int ends[2], status = 0;
    pid_t pid;

    memset(child->text, 0, sizeof child->text);
    child->code = child->signal = -1;
    child->late = 0;
    if (pipe2(ends, O_CLOEXEC))
        return errno;
    pid = fork();
    if (pid == 0)
        child_become(child, ends[1]);
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        return errno;
    }
    child_listen(child, pid, ends[0]);
    (void)close(ends[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    child->took_ns = now_ns() - start_ns;
    if (WIFEXITED(status))
        child->code = WEXITSTATUS(status);
    if (WIFSIGNALED(status))
        child->signal = WTERMSIG(status);
    return 0;
}

/* In a role: says what was expected and leaves the function with 1. */
#define must(condition, ...)                                                   \
    do {                                                                       \
        if (!(condition)) {                                                    \
            child_say("line %d: ", __LINE__);                                  \
            child_say(__VA_ARGS__);                                            \
            return 1;                                                          \
        }                                                                      \
    } while (0)

/* It ended by itself in time with the code wanted. */
#define expect_child(want, child)                                              \
    do {                                                                       \
        expect_number(0, child_run(child), "starting role %s", (child)->role); \
        if ((child)->late || (child)->code != (want))                          \
            fail_msg("role %s %s: expected exit code %d, got %s %d after "     \
                     "%lld ms (%s)",                                           \
                     (child)->role,                                            \
                     (child)->argument ? (child)->argument : "", (want),       \
                     (child)->late         ? "its time limit, signal"          \
                     : (child)->signal < 0 ? "exit code"                       \
                                           : "signal",                         \
                     (child)->signal < 0 ? (child)->code : (child)->signal,    \
                     (long long)((child)->took_ns / 1000000), (child)->text);  \
    } while (0)
#endif
