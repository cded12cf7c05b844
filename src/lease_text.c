/* Texts of leases: what a hand-over says, which names a file may have, and a
 * moment in words. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/mem.h"
#include "base/text.h"
#include "leases.h"

static const char SUFFIX[] = ".lease";

static int is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' ||
           c == '+';
}

int hdpi_lease_name_ok(const char *name, size_t length)
{
    if (length == 0 || length + sizeof SUFFIX > HDPI_LEASE_NAME_MAX ||
        name[0] == '.')
        return 0;
    for (size_t i = 0; i < length; ++i)
        if (!is_name_byte(name[i]))
            return 0;
    return 1;
}

/* ---- writing ------------------------------------------------------------- */

struct line {
    char *out;
    size_t capacity, used; /* used counts what did not fit too */
};

static void put(struct line *line, const char *text, size_t length)
{
    for (size_t i = 0; i < length; ++i, ++line->used)
        if (line->used + 1 < line->capacity)
            line->out[line->used] = text[i];
}

static void put_number(struct line *line, int value)
{
    char digits[16];

    put(line, digits, (size_t)snprintf(digits, sizeof digits, "%d", value));
}

size_t hdpi_lease_text_write(char *out, size_t capacity,
                             const struct hdpi_lease_fds *fds)
{
    struct line line = { out, capacity, 0 };

    put_number(&line, fds->folder);
    put(&line, "=.", 2);
    for (int32_t i = 0; i < fds->count; ++i) {
        const struct hdpi_lease_lock *lock = &fds->locks[i];
        put(&line, ",", 1);
        put_number(&line, lock->fd);
        put(&line, lock->shared ? "=~" : "=", lock->shared ? 2 : 1);
        put(&line, lock->name, strlen(lock->name) - (sizeof SUFFIX - 1));
    }
    if (capacity > 0)
        out[line.used < capacity ? line.used : capacity - 1] = '\0';
    return line.used;
}

/* ---- reading ------------------------------------------------------------- */

static hdp_status refuse(const struct hdpi_text *text, const char *what)
{
    return hdpi_fail(HDP_ERR_ARGUMENT,
                     "descriptors of a lease: expected %s at %zu", what,
                     text->at + 1);
}

static int take(struct hdpi_text *text, char c)
{
    if (text->at >= text->length || text->text[text->at] != c)
        return 0;
    ++text->at;
    return 1;
}

static hdp_status read_fd(int *out, struct hdpi_text *text)
{
    struct hdpi_text here = *text;
    int64_t value;

    if (!hdpi_text_int(text, &value) || value > INT_MAX)
        return refuse(&here, "the number of a descriptor");
    *out = (int)value;
    return take(text, '=') ? HDP_OK : refuse(text, "'='");
}

static hdp_status read_lock(struct hdpi_lease_fds *out, struct hdpi_text *text)
{
    struct hdpi_lease_lock *lock = &out->locks[out->count];
    const char *name;
    size_t length = 0;

    HDPI_RETURN_IF(read_fd(&lock->fd, text));
    lock->shared = take(text, '~');
    name = text->text + text->at;
    while (text->at + length < text->length && name[length] != ',')
        ++length;
    if (!hdpi_lease_name_ok(name, length))
        return refuse(text, "the name of a device");
    memcpy(lock->name, name, length);
    memcpy(lock->name + length, SUFFIX, sizeof SUFFIX);
    for (int32_t i = 0; i < out->count; ++i)
        if (strcmp(out->locks[i].name, lock->name) == 0 ||
            out->locks[i].fd == lock->fd)
            return refuse(text, "no repeat");
    if (lock->fd == out->folder)
        return refuse(text, "no repeat");
    text->at += length;
    ++out->count;
    return HDP_OK;
}

hdp_status hdpi_lease_text_read(struct hdpi_lease_fds *out, const char *text)
{
    struct hdpi_text at = { text, strlen(text), 0 };
    size_t commas = 0;
    hdp_status status;

    memset(out, 0, sizeof *out);
    for (const char *p = text; *p; ++p)
        commas += *p == ',';
    if (commas > HDPI_LEASE_LOCKS_MAX)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "descriptors of a lease: %zu locks, %d at most",
                         commas, (int)HDPI_LEASE_LOCKS_MAX);
    out->locks = hdpi_alloc(commas, sizeof *out->locks, "locks of a lease");
    if (!out->locks)
        return HDP_ERR_MEMORY;
    HDPI_TRY(read_fd(&out->folder, &at));
    if (!take(&at, '.'))
        HDPI_TRY(refuse(&at, "'.', the folder,"));
    while (take(&at, ','))
        HDPI_TRY(read_lock(out, &at));
    if (at.at < at.length)
        HDPI_TRY(refuse(&at, "',' or the end"));
    if (out->count == 0)
        HDPI_TRY(refuse(&at, "a lock"));
out:
    if (status != HDP_OK) {
        free(out->locks);
        memset(out, 0, sizeof *out);
    }
    return status;
}

/* ---- moments ------------------------------------------------------------- */

void hdpi_lease_time(char out[32], int64_t unix_s)
{
    time_t at = (time_t)unix_s;
    struct tm utc;

    out[0] = '\0';
    if (unix_s > 0 && gmtime_r(&at, &utc) &&
        strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        out[0] = '\0';
}
