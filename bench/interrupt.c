/* A process has one SIGINT, so this state is the program's. The library is
 * told by hdp_group_abort(), after which every call on the group returns. */
#include "interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "failure.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hdp_group *watched;
static int seen, left;

static void stop_work(void)
{
    pthread_mutex_lock(&lock);
    if (!left)
        seen = 1;
    if (watched)
        hdp_group_abort(watched);
    pthread_mutex_unlock(&lock);
}

static void *wait_for_signal(void *user)
{
    const sigset_t *set = user;
    int number;

    if (sigwait(set, &number) == 0)
        stop_work();
    if (sigwait(set, &number) == 0)
        _exit(EXIT_INTERRUPTED);
    return NULL;
}

void interrupt_open(void)
{
    static sigset_t set; /* of the thread, which outlives the call */
    struct sigaction old;
    pthread_t thread;

    if (sigaction(SIGINT, NULL, &old) != 0 || old.sa_handler == SIG_IGN)
        return;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (pthread_create(&thread, NULL, wait_for_signal, &set) == 0)
        pthread_detach(thread);
    else
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void interrupt_watch(hdp_group *group)
{
    pthread_mutex_lock(&lock);
    watched = group;
    if (seen && watched)
        hdp_group_abort(watched);
    pthread_mutex_unlock(&lock);
}

int interrupt_seen(void)
{
    pthread_mutex_lock(&lock);
    int was = seen;
    pthread_mutex_unlock(&lock);
    return was;
}

int interrupt_leave(void)
{
    pthread_mutex_lock(&lock);
    watched = NULL;
    left = 1;
    int was = seen;
    pthread_mutex_unlock(&lock);
    return was;
}
