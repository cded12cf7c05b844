/* What goes to stderr: progress, warnings and the library's log, one line at a
 * time from any thread. */
#ifndef BENCH_NOTES_H
#define BENCH_NOTES_H
#include <pthread.h>
#include <stdint.h>

#include "options.h"

enum { NOTES_KEPT_MAX = 32 };

/* Where a phase was when it was first heard of, and when last told. */
struct notes_phase {
    const char *name; /* NULL: none yet */
    int64_t first_done, first_ns, done, told_ns;
};

struct notes {
    pthread_mutex_t lock;
    int progress; /* PROGRESS_NEVER, _ALWAYS, _JSONL; _AUTO: on one line */
    int quiet, verbose, color;
    int line_open; /* a progress line waits for its end */
    struct notes_phase phase;
    char *kept[NOTES_KEPT_MAX]; /* the library's warnings, for the document */
    int kept_count;
    char *cache[NOTES_KEPT_MAX]; /* what it said of the cache, for results */
    int cache_count;
};

void notes_open(struct notes *notes, const struct options *options);
void notes_close(struct notes *notes);

/** How far a phase has come, and when it will be over as far as its pace so
 *  far tells. The first and the last call of a phase are always told, those
 *  between when somebody can have read the one before. `phase` is a literal. */
void notes_progress(struct notes *notes, const char *phase, int64_t done,
                    int64_t total);

/** A line of the library's log, from any thread; a warning is kept too. */
void notes_log(struct notes *notes, int32_t level, const char *line);

/** A line about the cache, which is kept and not told. */
void notes_cache(struct notes *notes, const char *line);

/** The one line that says why the program failed; also when quiet. */
void notes_error(struct notes *notes, const char *text);

/** One line with a prefix, "warning" or "log"; nothing when quiet. */
void notes_line(struct notes *notes, const char *prefix, const char *text);
#endif
