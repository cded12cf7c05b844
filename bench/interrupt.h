/* Ctrl-C: the work is stopped, what is known is still handed out. A thread of
 * its own waits for the signal, so that nothing runs in a handler. */
#ifndef BENCH_INTERRUPT_H
#define BENCH_INTERRUPT_H
#include <hdp/hdp.h>

/** From now on SIGINT stops the work instead of the program; a second one ends
 *  the program at once. Before any other thread. Does nothing where SIGINT is
 *  ignored, as under nohup. */
void interrupt_open(void);

/** The group that an interrupt aborts: at once when there was one already.
 *  Borrowed until interrupt_leave(). */
void interrupt_watch(hdp_group *group);

/** Whether there was one; for loops that no group is part of. */
int interrupt_seen(void);

/** Forgets the group; afterwards an interrupt changes nothing any more.
 *  Returns interrupt_seen(). */
int interrupt_leave(void);
#endif
