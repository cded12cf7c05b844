/* Children of this program that do one thing each and may hang: started, read,
 * and killed at their deadline. */
#ifndef BENCH_CHILD_H
#define BENCH_CHILD_H
#include <stdint.h>
#include <sys/types.h>

enum child_end {
    CHILD_WAITS, /* not started */
    CHILD_RUNS,
    CHILD_EXITED, /* code: its exit code */
    CHILD_KILLED, /* code: the signal, not ours */
    CHILD_LATE,   /* killed at the deadline */
    CHILD_UNBORN  /* code: errno */
};

struct child {
    enum child_end end;
    int code;
    pid_t pid;
    int fd;     /* its stdout */
    char *text; /* what it wrote there, ended by NUL; NULL: nothing */
    size_t used, room;
    int64_t started_ns, ended_ns, deadline_ns;
};

/** This program once more, with words ended by NULL (the first is its name),
 *  its messages dropped. */
void child_start(struct child *child, char *const *words, int64_t deadline_ns);

/** Waits until one of those that run has ended; each is read meanwhile, and
 *  killed once its deadline is over. Returns how many still run. */
int child_wait(struct child *const *children, int count);

/** Kills it where it runs; frees the text. */
void child_drop(struct child *child);
#endif
