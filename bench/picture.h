/* The picture that explains the library: one batch under two rules on one time
 * axis, what each device computes, where it idles. Self-contained SVG. */
#ifndef BENCH_PICTURE_H
#define BENCH_PICTURE_H
#include <stdint.h>
#include <stdio.h>

enum {
    PICTURE_MEMBERS_MAX = 64,
    PICTURE_PANELS_MAX = 4,
    PICTURE_FOOTERS_MAX = 12
};

struct picture_bar {
    int64_t items;
    double compute_ns; /* from the start of the step */
    int benched;       /* out of the reduce as well */
};

struct picture_panel {
    const char *rule, *text; /* its name; what it means, in a few words */
    double step_ns;          /* with reduce and update */
    struct picture_bar bar[PICTURE_MEMBERS_MAX];
};

struct picture {
    const char *title, *subtitle;
    const char *badge; /* "simulated"; NULL: none */
    const char *footer[PICTURE_FOOTERS_MAX];
    const char *unit;                        /* of items: "images" */
    const char *device[PICTURE_MEMBERS_MAX]; /* "host:0" */
    const char *remark[PICTURE_MEMBERS_MAX]; /* "declared half as fast" */
    int members, panels;
    struct picture_panel panel[PICTURE_PANELS_MAX];
};

/** 12,345 in a buffer of at least 32 bytes, whatever the locale. */
const char *picture_count(char *buffer, int64_t count);

/** Writes the same bytes for the same data, in every locale. Returns 0 when
 *  memory or the stream fails. */
int picture_write(FILE *out, const struct picture *picture);
#endif
