/* stderr: a progress line that is rewritten in place on a terminal and gives
 * way to whatever else has to be said. */
#include "notes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void notes_open(struct notes *notes, const struct options *options)
{
    memset(notes, 0, sizeof *notes);
    pthread_mutex_init(&notes->lock, NULL);
    notes->quiet = options->quiet > 0;
    notes->verbose = options->verbose;
    notes->color = options->color == COLOR_ALWAYS ||
                   (options->color == COLOR_AUTO && isatty(2));
    notes->progress = options->progress;
    if (notes->progress == PROGRESS_AUTO && (notes->quiet || !isatty(2)))
        notes->progress = PROGRESS_NEVER;
}

static void end_line(struct notes *notes)
{
    if (notes->line_open)
        fputs("\r\033[K", stderr);
    notes->line_open = 0;
}

static void put_line(const struct notes *notes, const char *color,
                     const char *prefix, const char *text)
{
    fprintf(stderr, "%s%s:%s %s\n", notes->color ? color : "", prefix,
            notes->color ? "\033[0m" : "", text);
}

void notes_close(struct notes *notes)
{
    end_line(notes);
    for (int i = 0; i < notes->kept_count; ++i)
        free(notes->kept[i]);
    pthread_mutex_destroy(&notes->lock);
}

void notes_progress(struct notes *notes, const char *phase, int64_t done,
                    int64_t total)
{
    if (notes->progress == PROGRESS_NEVER)
        return;
    pthread_mutex_lock(&notes->lock);
    if (notes->progress == PROGRESS_JSONL) {
        /* Phases are this program's own words: nothing to escape. */
        fprintf(stderr, "{\"phase\":\"%s\",\"done\":%lld,\"total\":%lld}\n",
                phase, (long long)done, (long long)total);
    } else if (notes->progress == PROGRESS_AUTO) {
        end_line(notes);
        fprintf(stderr, "%s %lld/%lld", phase, (long long)done,
                (long long)total);
        fflush(stderr);
        notes->line_open = 1;
    } else {
        fprintf(stderr, "%s %lld/%lld\n", phase, (long long)done,
                (long long)total);
    }
    pthread_mutex_unlock(&notes->lock);
}

void notes_log(struct notes *notes, int32_t level, const char *line)
{
    if (level <= HDP_LOG_WARN) {
        pthread_mutex_lock(&notes->lock);
        char *copy = notes->kept_count < NOTES_KEPT_MAX ? strdup(line) : NULL;
        if (copy)
            notes->kept[notes->kept_count++] = copy;
        pthread_mutex_unlock(&notes->lock);
    }
    notes_line(notes, level <= HDP_LOG_WARN ? "warning" : "log", line);
}

void notes_line(struct notes *notes, const char *prefix, const char *text)
{
    if (notes->quiet)
        return;
    pthread_mutex_lock(&notes->lock);
    end_line(notes);
    put_line(notes, "\033[33m", prefix, text);
    pthread_mutex_unlock(&notes->lock);
}

void notes_error(struct notes *notes, const char *text)
{
    pthread_mutex_lock(&notes->lock);
    end_line(notes);
    put_line(notes, "\033[31m", "hdp_bench", text);
    pthread_mutex_unlock(&notes->lock);
}
