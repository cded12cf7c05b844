/* The threads that a host member may keep busy: a work function hands its
 * parts out and waits for them. */
#ifndef BENCH_WORK_CREW_H
#define BENCH_WORK_CREW_H

struct crew;

/** Part `index` of `count`, on some thread. */
typedef void (*crew_part)(int index, int count, void *argument);

/** A crew of `threads`, the caller of crew_run() included; NULL when a thread
 *  or memory cannot be had. */
struct crew *crew_create(int threads);
void crew_destroy(struct crew *crew); /* accepts NULL */

int crew_size(const struct crew *crew);

/** Runs `part` for index 0 to size - 1 and returns when all are done. One
 *  caller at a time. */
void crew_run(struct crew *crew, crew_part part, void *argument);
#endif
