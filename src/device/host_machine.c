/* The machine under a host member: cores, memory, processor and a lasting
 * identity, from /proc, sysinfo and the control groups. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/text.h"
#include "device/host.h"

enum { FILE_MAX = 4096, PATH_LENGTH_MAX = 1024 };

/* The first FILE_MAX - 1 bytes; an empty text when it cannot be read. */
static void read_file(char text[FILE_MAX], const char *path)
{
    size_t length = 0;
    ssize_t got = 1;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    while (file >= 0 && got > 0 && length < FILE_MAX - 1) {
        got = read(file, text + length, FILE_MAX - 1 - length);
        length += got > 0 ? (size_t)got : 0;
    }
    if (file >= 0)
        close(file);
    text[length] = '\0';
}

/* What follows `key` and blanks, colons or tabs; NULL when it is not there at
 * the start of a line. */
static const char *value_of(const char *text, const char *key)
{
    size_t length = strlen(key);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0)
            return line + length + strspn(line + length, " \t:");
    }
    return NULL;
}

static int64_t number_at(const char *text)
{
    struct hdpi_text cursor = { text, text ? strlen(text) : 0, 0 };
    int64_t number;

    return text && hdpi_text_int(&cursor, &number) ? number : -1;
}

static int64_t number_in(const char *folder, const char *file)
{
    char path[PATH_LENGTH_MAX], text[FILE_MAX];

    if (snprintf(path, sizeof path, "%s/%s", folder, file) >= (int)sizeof path)
        return -1;
    read_file(text, path);
    return number_at(text);
}

static void limit_by(struct hdpi_host_machine *out, int64_t limit, int64_t used)
{
    if (limit < 0)
        return;
    if (limit < out->memory_bytes)
        out->memory_bytes = limit;
    if (used >= 0 && limit - used < out->free_bytes)
        out->free_bytes = limit > used ? limit - used : 0;
}

/* Version 2: every group from ours up to the root may set a limit. Version 1:
 * the one that a container sees at the mount. */
static void read_control_groups(struct hdpi_host_machine *out)
{
    static const char mount[] = "/sys/fs/cgroup";
    static const char old[] = "/sys/fs/cgroup/memory";
    char text[FILE_MAX], folder[PATH_LENGTH_MAX];
    const char *own;

    read_file(text, "/proc/self/cgroup");
    own = value_of(text, "0::");
    if (own)
        snprintf(folder, sizeof folder, "%s%.*s", mount,
                 (int)strcspn(own, "\n"), own);
    while (own && strlen(folder) >= sizeof mount - 1) {
        limit_by(out, number_in(folder, "memory.max"),
                 number_in(folder, "memory.current"));
        *strrchr(folder, '/') = '\0';
    }
    limit_by(out, number_in(old, "memory.limit_in_bytes"),
             number_in(old, "memory.usage_in_bytes"));
}

static void read_memory(struct hdpi_host_machine *out)
{
    char text[FILE_MAX];
    struct sysinfo info;
    int64_t kib;

    if (sysinfo(&info) == 0) {
        out->memory_bytes = (int64_t)info.totalram * info.mem_unit;
        out->free_bytes = (int64_t)info.freeram * info.mem_unit;
    }
    read_file(text, "/proc/meminfo");
    kib = number_at(value_of(text, "MemAvailable:"));
    if (kib >= 0 && kib <= INT64_MAX / 1024)
        out->free_bytes = kib * 1024;
    read_control_groups(out);
}

/* 1 when the line at `text` holds the word. */
static int has_word(const char *text, const char *word)
{
    size_t length = strlen(word), at;

    for (; text && *text && *text != '\n'; text += at + (text[at] == ' ')) {
        at = strcspn(text, " \n");
        if (at == length && strncmp(text, word, length) == 0)
            return 1;
    }
    return 0;
}

static void read_model(struct hdpi_host_machine *out)
{
    char text[FILE_MAX];
    const char *from;
    size_t length = 0;

    read_file(text, "/proc/cpuinfo");
    out->has_avx2 = has_word(value_of(text, "flags"), "avx2");
    from = value_of(text, "model name");
    for (; from && *from && *from != '\n' && length < sizeof out->model - 1;
         ++from)
        out->model[length++] = *from >= ' ' && *from <= '~' ? *from : '?';
    out->model[length] = '\0';
    if (length == 0)
        hdpi_text_copy(out->model, sizeof out->model, "processor");
}

/* The machine's id is for its own programs only (machine-id(5)): what is
 * shown is a hash of it, salted with our name. */
static void read_identity(struct hdpi_host_machine *out)
{
    char text[FILE_MAX];
    uint64_t hash = hdpi_hash_text(HDPI_HASH_START, "hdp host member");

    read_file(text, "/etc/machine-id");
    hash = hdpi_hash_text(hdpi_hash_text(hash, text), out->model);
    snprintf(out->identity, sizeof out->identity, "HOST-%08x%08x",
             (unsigned)(hash >> 32), (unsigned)(hash & 0xffffffffu));
}

void hdpi_host_machine_read(struct hdpi_host_machine *out)
{
    memset(out, 0, sizeof *out);
    out->cores = hdpi_cores_allowed();
    read_memory(out);
    read_model(out);
    read_identity(out);
}
