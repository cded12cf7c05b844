/* A program whose wall clock a test moves: it runs itself again under
 * libfaketime, in the role "clock", with the name of a file whose offset that
 * clock follows. The monotonic clock stays. */
#ifndef FAKETIME_H
#define FAKETIME_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "child.h"
#include "process.h"
#include "scene.h"

enum { FAKETIME_SKIPPED = 77 };

/** Moves the clock of the program that follows `path`, as "+3600". */
static inline int faketime_set(const char *path, const char *offset)
{
    FILE *file = fopen(path, "we");

    if (!file)
        return -1;
    (void)fprintf(file, "%s\n", offset);
    return fclose(file);
}

/** NULL: it is not installed. */
static inline const char *faketime_library(void)
{
    static const char *const paths[] = {
        "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
        "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
        "/usr/lib64/faketime/libfaketime.so.1",
        "/usr/lib/faketime/libfaketime.so.1",
        "/usr/local/lib/faketime/libfaketime.so.1",
    };
    size_t i;

    for (i = 0; i < sizeof paths / sizeof *paths; ++i)
        if (access(paths[i], R_OK) == 0)
            return paths[i];
    return NULL;
}

static inline void the_wall_clock_jumps(void **state)
{
    const char *library = faketime_library();
    char file[] = "/tmp/hdp-faketime-XXXXXX", preload[128], stamp[64];
    struct child child = { .role = "clock",
                           .argument = file,
                           .limit_ns = 30 * SECOND_NS };
    int descriptor;

    (void)state;
    descriptor = mkstemp(file);
    assert_true(descriptor >= 0);
    (void)close(descriptor);
    expect_number(0, faketime_set(file, "+0"), "writing %s", file);
    (void)snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library);
    (void)snprintf(stamp, sizeof stamp, "FAKETIME_TIMESTAMP_FILE=%s", file);
    child.set[0] = preload;
    child.set[1] = stamp;
    child.set[2] = "FAKETIME_NO_CACHE=1";
    child.set[3] = "DONT_FAKE_MONOTONIC=1";
    child.set[4] = "FAKETIME_DONT_FAKE_MONOTONIC=1";
    expect_child(0, &child);
    (void)unlink(file);
}

/** main() of such a test; `role` gets the name of the file. */
static inline int faketime_main(const char *name, int argc, char **argv,
                                int (*role)(const char *file))
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wall_clock_jumps),
    };

    if (argc > 2 && strcmp(argv[1], "clock") == 0)
        return role(argv[2]);
    if (SANITIZED || !faketime_library()) {
        (void)printf("skipped: %s\n",
                     SANITIZED ? "a sanitizer must be loaded before libfaketime"
                               : "libfaketime is not installed");
        return FAKETIME_SKIPPED;
    }
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}
#endif
