/* A file that is complete or not there: written under another name beside its
 * own, then renamed. Opened before the work, so that what cannot be written is
 * known at once. */
#ifndef BENCH_OUTFILE_H
#define BENCH_OUTFILE_H
#include <stdint.h>
#include <stdio.h>

struct outfile {
    FILE *file;      /* NULL: not open */
    char *path;      /* where it ends up; links followed */
    char *temporary; /* NULL: written in place, as it is no regular file */
};

/** FORMAT_* by suffix: .json .jsonl .csv .md .txt .svg; -1: none of them. */
int32_t outfile_format(const char *path);

/** Whether both paths lead to one file, also one that is not there yet. */
int outfile_same(const char *a, const char *b);

/** Returns 0 on failure; errno says why, and nothing is left behind. An
 *  existing file keeps its mode and, until the commit, its contents. */
int outfile_open(struct outfile *out, const char *path);

/** Closes and renames. Returns 0 on failure as outfile_open(). */
int outfile_commit(struct outfile *out);

/** Closes and removes what was written; also of one that is not open. */
void outfile_drop(struct outfile *out);
#endif
