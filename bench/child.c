/* A child is one process, one pipe and one deadline; poll() serves them all. */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum { CHILDREN_MAX = 64, TEXT_MAX = 4 << 20 };
static const int64_t ms_ns = 1000000;

/* An empty signal mask and SIGPIPE as it was: what this program set for itself
 * is not the child's. */
static int spawn(struct child *child, char *const *words, int fd)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    int error;

    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, fd, 1);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    error = posix_spawn(&child->pid, "/proc/self/exe", &files, &attributes,
                        words, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return error;
}

void child_start(struct child *child, char *const *words, int64_t deadline_ns)
{
    int ends[2], error;

    memset(child, 0, sizeof *child);
    child->started_ns = library_now();
    child->deadline_ns = deadline_ns;
    child->end = CHILD_UNBORN;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        child->code = errno;
        return;
    }
    error = spawn(child, words, ends[1]);
    close(ends[1]);
    if (error) {
        close(ends[0]);
        child->code = error;
        return;
    }
    child->fd = ends[0];
    child->end = CHILD_RUNS;
}

/* 0 at the end of what it writes. */
static int read_some(struct child *child)
{
    ssize_t got;

    if (child->room - child->used < 4096 && child->room < TEXT_MAX) {
        size_t room = child->room ? 2 * child->room : 16384;
        char *text = realloc(child->text, room);
        if (!text)
            return 0;
        child->text = text;
        child->room = room;
    }
    if (child->room - child->used < 2)
        return 0;
    got = read(child->fd, child->text + child->used,
               child->room - child->used - 1);
    if (got < 0)
        return errno == EINTR || errno == EAGAIN;
    child->used += (size_t)got;
    child->text[child->used] = 0;
    return got > 0;
}

/* Its process may live on for a moment behind its output, or, inside a driver
 * that hangs, for ever: nobody waits for that. */
static int reap(struct child *child, int64_t until_ns)
{
    int status = 0;
    pid_t got;

    while ((got = waitpid(child->pid, &status, WNOHANG)) == 0 &&
           library_now() < until_ns)
        usleep(1000);
    if (got != child->pid)
        return 0;
    child->end = WIFEXITED(status) ? CHILD_EXITED : CHILD_KILLED;
    child->code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
    return 1;
}

static void finish(struct child *child, int late)
{
    if (late || !reap(child, child->deadline_ns)) {
        kill(child->pid, SIGKILL);
        (void)reap(child, library_now() + 200 * ms_ns);
        child->end = CHILD_LATE;
        child->code = 0;
    }
    child->ended_ns = library_now();
    close(child->fd);
}

static int64_t least_deadline(struct child *const *children, int count)
{
    int64_t least = INT64_MAX;

    for (int i = 0; i < count; ++i)
        if (children[i]->end == CHILD_RUNS && children[i]->deadline_ns < least)
            least = children[i]->deadline_ns;
    return least;
}

/* One round of poll(); how many ended in it. */
static int serve(struct child *const *children, int count)
{
    struct pollfd fds[CHILDREN_MAX];
    struct child *running[CHILDREN_MAX];
    int n = 0, ended = 0;

    for (int i = 0; i < count && n < CHILDREN_MAX; ++i)
        if (children[i]->end == CHILD_RUNS) {
            running[n] = children[i];
            fds[n++] = (struct pollfd){ children[i]->fd, POLLIN, 0 };
        }
    if (n == 0)
        return -1;
    int64_t left = least_deadline(children, count) - library_now();
    (void)poll(fds, (nfds_t)n, left > 0 ? (int)(left / ms_ns) + 1 : 0);
    for (int i = 0; i < n; ++i) {
        int late = library_now() >= running[i]->deadline_ns;
        if (!late && (!fds[i].revents || read_some(running[i])))
            continue;
        finish(running[i], late);
        ended++;
    }
    return ended;
}

int child_wait(struct child *const *children, int count)
{
    int running = 0;

    while (serve(children, count) == 0)
        continue;
    for (int i = 0; i < count; ++i)
        running += children[i]->end == CHILD_RUNS;
    return running;
}

void child_drop(struct child *child)
{
    if (child->end == CHILD_RUNS)
        finish(child, 1);
    free(child->text);
    child->text = NULL;
}
