/* stderr: a progress line that is rewritten in place on a terminal and gives
 * way to whatever else has to be said. */
#include "notes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "jsonwriter.h"

static const int64_t second_ns = 1000000000;

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

/* Between lines of progress that a program reads, one more of another type. */
static void put_json(const char *type, const char *text)
{
    json_t *line = json_object();

    json_object_set_new(line, "type", json_string(type));
    json_object_set_new(line, "text", document_text_or_null(text));
    jsonwriter_line(stderr, line);
    json_decref(line);
}

static void put_line(const struct notes *notes, const char *color,
                     const char *prefix, const char *text)
{
    if (notes->progress == PROGRESS_JSONL) {
        put_json(strcmp(prefix, "hdp_bench") ? prefix : "error", text);
        return;
    }
    fprintf(stderr, "%s%s:%s %s\n", notes->color ? color : "", prefix,
            notes->color ? "\033[0m" : "", text);
}

void notes_close(struct notes *notes)
{
    end_line(notes);
    for (int i = 0; i < notes->kept_count; ++i)
        free(notes->kept[i]);
    for (int i = 0; i < notes->cache_count; ++i)
        free(notes->cache[i]);
    pthread_mutex_destroy(&notes->lock);
}

/* Nanoseconds that are left at the pace since the phase began; -1: unknown. */
static int64_t left_ns(const struct notes_phase *phase, int64_t total,
                       int64_t now_ns)
{
    double did = (double)(phase->done - phase->first_done);
    double left = (double)(total - phase->done);

    if (left <= 0)
        return 0;
    if (did <= 0)
        return -1;
    double ns = (double)(now_ns - phase->first_ns) * left / did;
    return ns < 9e18 ? (int64_t)ns : -1;
}

/* Takes note of the call; whether it is to be told. */
static int is_due(struct notes *notes, const char *name, int64_t done,
                  int64_t total, int64_t now_ns)
{
    struct notes_phase *phase = &notes->phase;
    int64_t pause_ns =
        notes->progress == PROGRESS_ALWAYS ? second_ns : second_ns / 10;
    int begins =
        !phase->name || strcmp(phase->name, name) != 0 || done < phase->done;

    if (begins)
        *phase = (struct notes_phase){ name, done, now_ns, done, now_ns };
    phase->done = done;
    if (!begins && done < total && now_ns - phase->told_ns < pause_ns)
        return 0;
    phase->told_ns = now_ns;
    return 1;
}

static void tell_json(const struct notes_phase *phase, int64_t total,
                      int64_t now_ns)
{
    int64_t left = left_ns(phase, total, now_ns);

    /* Phases are this program's own words: nothing to escape. */
    fprintf(stderr,
            "{\"type\":\"progress\",\"phase\":\"%s\",\"done\":%lld,"
            "\"total\":%lld,\"elapsed_ns\":%lld,\"eta_ns\":",
            phase->name, (long long)phase->done, (long long)total,
            (long long)(now_ns - phase->first_ns));
    if (left < 0)
        fputs("null}\n", stderr);
    else
        fprintf(stderr, "%lld}\n", (long long)left);
}

static void tell_people(struct notes *notes, int64_t total, int64_t now_ns)
{
    const struct notes_phase *phase = &notes->phase;
    int64_t left = left_ns(phase, total, now_ns);

    end_line(notes);
    fprintf(stderr, "%s %lld/%lld", phase->name, (long long)phase->done,
            (long long)total);
    if (left > 0)
        fprintf(stderr, ", %lld s left",
                (long long)((left - 1) / second_ns + 1));
    if (notes->progress == PROGRESS_ALWAYS) {
        fputc('\n', stderr);
        return;
    }
    fflush(stderr);
    notes->line_open = 1;
}

void notes_progress(struct notes *notes, const char *phase, int64_t done,
                    int64_t total)
{
    if (notes->progress == PROGRESS_NEVER)
        return;
    pthread_mutex_lock(&notes->lock);
    int64_t now_ns = library_now();
    if (is_due(notes, phase, done, total, now_ns)) {
        if (notes->progress == PROGRESS_JSONL)
            tell_json(&notes->phase, total, now_ns);
        else
            tell_people(notes, total, now_ns);
    }
    pthread_mutex_unlock(&notes->lock);
}

static void keep(struct notes *notes, char **lines, int *count,
                 const char *line)
{
    pthread_mutex_lock(&notes->lock);
    char *copy = *count < NOTES_KEPT_MAX ? strdup(line) : NULL;
    if (copy)
        lines[(*count)++] = copy;
    pthread_mutex_unlock(&notes->lock);
}

void notes_cache(struct notes *notes, const char *line)
{
    keep(notes, notes->cache, &notes->cache_count, line);
}

void notes_log(struct notes *notes, int32_t level, const char *line)
{
    if (level <= HDP_LOG_WARN)
        keep(notes, notes->kept, &notes->kept_count, line);
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
