/* Files that somebody named: read whole and with a limit, replaced in one
 * step. Texts of any size are the readers' matter; here nothing is parsed. */
#ifndef HDPI_TEXTFILE_H
#define HDPI_TEXTFILE_H
#include <stddef.h>
#include "base/status.h"

/**
 * Reads a whole file of HDPI_JSON_BYTES_MAX bytes at most; *out is to be
 * free()d, has *length bytes and a '\0' behind them.
 *
 * HDP_ERR_NOT_FOUND: no such file; HDP_ERR_SYSTEM: not to be opened or read,
 * or no regular file (a pipe is not waited for); HDP_ERR_ARGUMENT: larger;
 * HDP_ERR_MEMORY. Each text begins with the path. Blocks for the disk alone.
 */
hdp_status hdpi_textfile_read(char **out, size_t *length, const char *path);

/**
 * The same in two steps, for callers who ask more of a file (who owns it, who
 * may write it) or allow less: `flags` are added to those of open(), as
 * O_NOFOLLOW. The descriptor is never one of the standard three, which may be
 * closed: what others print must not land in a file.
 */
hdp_status hdpi_textfile_open(int *out_fd, const char *path, int flags);
/** Reads on to the end; the descriptor stays open. `path` is for messages. */
hdp_status hdpi_textfile_take(char **out, size_t *length, int fd,
                              const char *path, size_t most_bytes);

/**
 * Makes `text` the file's content in one step and on the disk: a reader, or a
 * crash, finds the old content or the new. Links are followed, and a file that
 * is there keeps its mode. What is there but no regular file (a terminal, a
 * pipe) is written to. HDP_ERR_SYSTEM, HDP_ERR_MEMORY; then the old content
 * stays.
 */
hdp_status hdpi_textfile_replace(const char *path, const char *text,
                                 size_t length);

/**
 * What open() gave, above the standard three: `fd` itself, or a close-on-exec
 * copy of it, and `fd` is closed. -1 and errno, as open() has them, where `fd`
 * is -1 or there is no room for a copy.
 */
int hdpi_textfile_above(int fd);
/** HDP_ERR_SYSTEM; part of the text may be written. `path` is for messages. */
hdp_status hdpi_textfile_put(int fd, const char *text, size_t length,
                             const char *path);
#endif
