/* The file of a cache: opened so that nothing planted in its place is read,
 * followed or waited for, and replaced so that no writer's work is lost. */
#ifndef HDPI_CACHE_FILE_H
#define HDPI_CACHE_FILE_H
#include "base/status.h"

/**
 * Reads the file. *out NULL with HDP_OK: there is none, or no folder for it;
 * else *out is to be free()d.
 *
 * Taken is a regular file of HDPI_CACHE_BYTES_MAX bytes at most, with one link,
 * of this user's or root's and in such a folder, neither writable by group or
 * others, and not through a symbolic link. Anything else is HDP_ERR_SYSTEM
 * (HDP_ERR_ARGUMENT when it is larger), beginning with the path. Blocks for the
 * disk alone.
 */
hdp_status hdpi_cache_file_read(char **out, size_t *length, const char *path);

/**
 * Makes the new text from the old one (NULL: there is none); malloc'ed.
 * *out left NULL: nothing is to be written. An error ends the change.
 */
typedef hdp_status (*hdpi_cache_change_fn)(char **out, size_t *out_length,
                                           const char *text, size_t length,
                                           void *arg);

/**
 * Changes the file in one step, under a lock of its own (FILE.lock, which stays
 * behind): a reader, or a crash at any moment, finds the old text or the new
 * one. The file gets mode 600; a folder that is missing is made, its last
 * component alone, with mode 700.
 *
 * @param wait_ns  How long to wait for another writer: HDP_ERR_BUSY.
 * @return As hdpi_cache_file_read() and `fn`; the file is then as it was.
 */
hdp_status hdpi_cache_file_change(const char *path, hdpi_cache_change_fn fn,
                                  void *arg, int64_t wait_ns);
#endif
