/* What another program hands over: the text of HDP_LEASE_FDS, and the range of
 * a lock that names its holder. An input is the text; its first 16 bytes are
 * also the range. Whatever is taken reads the same once it was written. */
#include <stdlib.h>
#include <string.h>
#include "fuzz/fuzz.h"
#include "leases.h"

static void check_lock(const struct hdpi_lease_lock *lock, const char *text)
{
    size_t length = strlen(lock->name);

    FUZZ_CHECK(length > 6 && strcmp(lock->name + length - 6, ".lease") == 0,
               "\"%s\" of \"%s\" is no lock file", lock->name, text);
    FUZZ_CHECK(!strchr(lock->name, '/') && lock->name[0] != '.',
               "\"%s\" leaves the folder", lock->name);
    FUZZ_CHECK(lock->fd >= 0, "descriptor %d", lock->fd);
    FUZZ_CHECK(lock->shared == 0 || lock->shared == 1, "shared is %d",
               (int)lock->shared);
}

static void check_taken(const struct hdpi_lease_fds *fds, const char *text)
{
    struct hdpi_lease_fds again = { 0 };
    size_t length = hdpi_lease_text_write(NULL, 0, fds);
    char *written = malloc(length + 1);

    FUZZ_CHECK(written, "no memory");
    FUZZ_CHECK(fds->count > 0 && fds->count <= HDPI_LEASE_LOCKS_MAX, "%d locks",
               (int)fds->count);
    for (int32_t i = 0; i < fds->count; ++i)
        check_lock(&fds->locks[i], text);
    FUZZ_CHECK(hdpi_lease_text_write(written, length + 1, fds) == length,
               "another length");
    FUZZ_CHECK(strlen(written) == length, "\"%s\" is cut", written);
    FUZZ_CHECK(hdpi_lease_text_read(&again, written) == HDP_OK,
               "\"%s\" is refused: %s", written, hdp_last_error());
    FUZZ_CHECK(again.folder == fds->folder && again.count == fds->count,
               "\"%s\" becomes \"%s\"", text, written);
    for (int32_t i = 0; i < fds->count; ++i)
        FUZZ_CHECK(again.locks[i].fd == fds->locks[i].fd &&
                       again.locks[i].shared == fds->locks[i].shared &&
                       strcmp(again.locks[i].name, fds->locks[i].name) == 0,
                   "lock %d of \"%s\" is lost", (int)i, written);
    free(again.locks);
    free(written);
}

static void check_mark(const uint8_t *data)
{
    struct hdpi_lease_mark mark;
    int64_t start, length, again_start, again_length;
    char words[32];

    memcpy(&start, data, sizeof start);
    memcpy(&length, data + sizeof start, sizeof length);
    hdpi_lease_time(words, length);
    FUZZ_CHECK(memchr(words, '\0', sizeof words) && fuzz_is_clean(words),
               "a moment is no text");
    if (!hdpi_lease_mark_unpack(&mark, start, length))
        return;
    FUZZ_CHECK(mark.pid >= 0 && mark.pid < HDPI_LEASE_PID_MAX &&
                   mark.since_s >= 0,
               "pid %d", (int)mark.pid);
    hdpi_lease_mark_pack(&mark, &again_start, &again_length);
    FUZZ_CHECK(again_start == start && again_length == length,
               "a range becomes another");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hdpi_lease_fds fds = { 0 };
    char *text = fuzz_copy(data, size, 1);

    if (fuzz_taken(hdpi_lease_text_read(&fds, text), fds.locks))
        check_taken(&fds, text);
    free(fds.locks);
    free(text);
    if (size >= 16)
        check_mark(data);
    return 0;
}
