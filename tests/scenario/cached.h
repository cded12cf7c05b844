/* Calibrations with a cache, for scenarios: a folder of their own, and what the
 * library said of the file. */
#ifndef CACHED_H
#define CACHED_H
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "scene.h"

enum { SAID_MAX = 4096, TEXT_MAX = 1 << 21 };

/* GPUs are measured in real time, the fake's without noise; simulated devices
 * take none: the default. */
#ifdef HDP_TEST_CUDA
enum { CACHED_BUDGET_NS = 20000000 };
#else
enum { CACHED_BUDGET_NS = 0 };
#endif

/* What the log said since the last look. */
struct said {
    int warnings, hits, misses;
    char text[SAID_MAX];
};

static struct said said;
static char cached_folder[] = "/tmp/hdp-cache-XXXXXX";
static char cached_path[256];

static inline void cached_note(int32_t level, const char *line, void *user)
{
    size_t used = strlen(said.text);

    (void)user;
    if (strncmp(line, "cache: ", 7) != 0)
        return;
    said.warnings += level <= HDP_LOG_WARN;
    said.hits += strstr(line, ": hit: ") != NULL;
    said.misses += strstr(line, ": miss: ") != NULL;
    (void)snprintf(said.text + used, sizeof said.text - used, "%s\n", line);
}

static inline int cached_setup(void **state)
{
    (void)state;
    if (!mkdtemp(cached_folder))
        return -1;
    (void)snprintf(cached_path, sizeof cached_path, "%s/file", cached_folder);
    return 0;
}

/* Before each test: no file. */
static inline int cached_fresh(void **state)
{
    (void)state;
    (void)unlink(cached_path);
    return 0;
}

/* Files and folders of one level. */
static inline int cached_teardown(void **state)
{
    char command[300];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", cached_folder);
    return system(command);
}

static inline void cached_path_of(char *out, size_t capacity, const char *name)
{
    (void)snprintf(out, capacity, "%s/%s", cached_folder, name);
}

/* One calibration of a group of its own; NULL when it failed. */
static inline hdp_profile *cached_try(const char *spec,
                                      const hdp_calibrate_options *options,
                                      const hdp_group_options *group_options)
{
    hdp_context_options context_options = { .size = sizeof context_options,
                                            .log = cached_note,
                                            .log_level = HDP_LOG_INFO };
    hdp_context *context = NULL;
    hdp_profile *profile = NULL;
    hdp_group *group = NULL;

    memset(&said, 0, sizeof said);
    if (hdp_context_create(&context, &context_options) == HDP_OK &&
        hdp_group_create_spec(&group, context, spec, group_options) == HDP_OK)
        (void)hdp_calibrate(&profile, group, options);
    hdp_group_destroy(group);
    hdp_context_destroy(context);
    return profile;
}

static inline hdp_profile *cached_with(const char *spec,
                                       const hdp_calibrate_options *options)
{
    hdp_profile *profile = cached_try(spec, options, NULL);

    if (!profile)
        fail_msg("%s: expected a profile, got: %s", spec, hdp_last_error());
    return profile;
}

static inline hdp_profile *cached(const char *spec, const char *path)
{
    hdp_calibrate_options options = { .size = sizeof options,
                                      .budget_ns = CACHED_BUDGET_NS,
                                      .cache = path };

    return cached_with(spec, &options);
}

/* Items a second, by the time of so many. */
static inline double cached_rate(const hdp_profile *profile, int32_t rank)
{
    double ns = 0;

    expect_ok(hdp_profile_time(&ns, profile, rank, 1000));
    return 1000 / ns * 1e9;
}

static inline int32_t cached_ended_by(const hdp_profile *profile)
{
    hdp_profile_info info = { .size = sizeof info };

    expect_ok(hdp_profile_get(&info, profile));
    return info.ended_by;
}

#define expect_hit(profile)                                                    \
    do {                                                                       \
        if (said.hits != 1 || said.misses || said.warnings ||                  \
            cached_ended_by(profile) != HDP_ENDED_GIVEN)                       \
            fail_msg("expected a hit, got %s", said.text);                     \
    } while (0)

/* A miss that says why, without a warning. */
#define expect_miss(profile, words)                                            \
    do {                                                                       \
        if (said.hits || !said.misses || said.warnings ||                      \
            !strstr(said.text, words) ||                                       \
            cached_ended_by(profile) == HDP_ENDED_GIVEN)                       \
            fail_msg("expected a miss (%s), got %s", words, said.text);        \
    } while (0)

/* A miss with the one warning. */
#define expect_doubt(profile, words)                                           \
    do {                                                                       \
        if (said.hits || said.warnings != 1 || !strstr(said.text, words) ||    \
            cached_ended_by(profile) == HDP_ENDED_GIVEN)                       \
            fail_msg("expected one warning (%s), got %d: %s", words,           \
                     said.warnings, said.text);                                \
    } while (0)

/* The file's bytes with a NUL behind them, until the next call. */
static inline const char *cached_load(size_t *length, const char *path)
{
    static char text[TEXT_MAX + 1];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? 0 : read(file, text, TEXT_MAX);

    if (file >= 0)
        (void)close(file);
    text[got < 0 ? 0 : got] = '\0';
    if (length)
        *length = got < 0 ? 0 : (size_t)got;
    return text;
}

static inline void cached_save(const char *path, const char *text,
                               size_t length, mode_t mode)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

    expect_number(1, file >= 0, "%s: opened", path);
    expect_number((int64_t)length, write(file, text, length), "%s: written",
                  path);
    (void)fchmod(file, mode);
    (void)close(file);
}
#endif
