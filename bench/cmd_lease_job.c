/* The command under a lease. It is in this program's process group, so what a
 * terminal sends reaches it anyway; what is sent to this program alone is sent
 * on. This program may die at any moment: the descriptors that the command has
 * keep the lease. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd_lease.h"

enum { EXIT_CANNOT_RUN = 126, EXIT_NOT_THERE = 127, EXIT_BY_SIGNAL = 128 };

static const int forwarded[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                 SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT };

/* How signals stood before, for the command to find them so. */
struct manners {
    sigset_t mask, waited_for;
    struct sigaction child;
};

static void take_signals(struct manners *before)
{
    struct sigaction plain;

    memset(&plain, 0, sizeof plain);
    plain.sa_handler = SIG_DFL; /* ignored, its end would not be told */
    sigaction(SIGCHLD, &plain, &before->child);
    sigemptyset(&before->waited_for);
    sigaddset(&before->waited_for, SIGCHLD);
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; ++i)
        sigaddset(&before->waited_for, forwarded[i]);
    sigprocmask(SIG_BLOCK, &before->waited_for, &before->mask);
}

static void give_signals_back(const struct manners *before)
{
    sigaction(SIGCHLD, &before->child, NULL);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

/* ---- its environment ----------------------------------------------------- */

static int is_replaced(const char *entry)
{
    static const char *const names[] = { "CUDA_VISIBLE_DEVICES=",
                                         "HDP_LEASE_FDS=", "HDP_LEASE_DIR=" };

    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (strncmp(entry, names[i], strlen(names[i])) == 0)
            return 1;
    return 0;
}

static char *join(const char *name, const char *value)
{
    size_t size = strlen(name) + strlen(value) + 2;
    char *text = malloc(size);

    if (text)
        snprintf(text, size, "%s=%s", name, value);
    return text;
}

/* Ours first, then all others as they are; NULL: no memory. The first three
 * are the caller's to free. */
static char **make_environment(const struct job *job)
{
    size_t count = 0, used = 3;

    while (environ[count])
        ++count;
    char **made = calloc(count + used + 1, sizeof *made);
    if (!made)
        return NULL;
    made[0] = join("CUDA_VISIBLE_DEVICES", job->mask);
    made[1] = join("HDP_LEASE_FDS", job->fds);
    made[2] = join("HDP_LEASE_DIR", job->directory);
    for (size_t i = 0; i < count; ++i)
        if (!is_replaced(environ[i]))
            made[used++] = environ[i];
    if (made[0] && made[1] && made[2])
        return made;
    for (int i = 0; i < 3; ++i)
        free(made[i]);
    free(made);
    return NULL;
}

/* ---- starting ------------------------------------------------------------ */

static _Noreturn void become(const struct bench *bench, const struct job *job,
                             char **environment, const struct manners *before,
                             int report)
{
    int error;

    for (int32_t i = 0; i < job->descriptor_count; ++i)
        fcntl(job->descriptors[i], F_SETFD, 0);
    if (!bench->pipe_ignored)
        signal(SIGPIPE, SIG_DFL);
    give_signals_back(before);
    execvpe(job->words[0], job->words, environment);
    error = errno;
    while (write(report, &error, sizeof error) < 0 && errno == EINTR)
        continue;
    _exit(EXIT_CANNOT_RUN);
}

static int not_started(struct bench *bench, const struct job *job, int error)
{
    return failure_own(&bench->failure,
                       error == ENOENT ? EXIT_NOT_THERE : EXIT_CANNOT_RUN,
                       error == ENOENT ? HDP_ERR_NOT_FOUND : HDP_ERR_SYSTEM,
                       "%.128s: %s", job->words[0], strerror(error));
}

/* Returns when the command runs, or why it does not. */
static int start(struct bench *bench, struct job *job, char **environment,
                 const struct manners *before, pid_t *out_child)
{
    int ends[2], error = 0;
    ssize_t got;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return not_started(bench, job, errno);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        become(bench, job, environment, before, ends[1]);
    error = child < 0 ? errno : 0;
    close(ends[1]);
    if (child > 0) {
        do
            got = read(ends[0], &error, sizeof error);
        while (got < 0 && errno == EINTR);
    }
    close(ends[0]);
    if (child > 0 && error)
        waitpid(child, NULL, 0);
    if (error)
        return not_started(bench, job, error);
    *out_child = child;
    return EXIT_OK;
}

/* ---- waiting ------------------------------------------------------------- */

/* A terminal signals the whole process group, so the command has it already,
 * unless it has left the group. */
static void forward(pid_t child, const siginfo_t *info)
{
    if (info->si_code != SI_KERNEL || getpgid(child) != getpgrp())
        kill(child, info->si_signo);
}

/* The shell that started us learns of it, and goes on with us; SIGCONT is then
 * sent on. A command stopped by hand, with SIGSTOP, is not our matter. */
static void stop_too(int number)
{
    if (number == SIGTSTP || number == SIGTTIN || number == SIGTTOU)
        kill(getpid(), SIGSTOP);
}

static int await(pid_t child, const sigset_t *set)
{
    siginfo_t info;
    int status = 0;

    for (;;) {
        pid_t told = waitpid(child, &status, WNOHANG | WUNTRACED);
        if (told == child && WIFSTOPPED(status)) {
            stop_too(WSTOPSIG(status));
            continue;
        }
        if (told == child || (told < 0 && errno != EINTR))
            return status;
        if (sigwaitinfo(set, &info) > 0 && info.si_signo != SIGCHLD)
            forward(child, &info);
    }
}

int job_run(struct bench *bench, struct job *job)
{
    char **environment = make_environment(job);
    struct manners before;
    pid_t child = 0;

    if (!environment)
        return library_no_memory(bench);
    take_signals(&before);
    int code = start(bench, job, environment, &before, &child);
    if (!code) {
        /* Whoever asks is to be told of the command, not of us. */
        (void)hdp_lease_name_holder(job->lease, child);
        int status = await(child, &before.waited_for);
        job->pid = child;
        job->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        job->code =
            job->signal ? EXIT_BY_SIGNAL + job->signal : WEXITSTATUS(status);
    }
    give_signals_back(&before);
    for (int i = 0; i < 3; ++i)
        free(environment[i]);
    free(environment);
    return code;
}
