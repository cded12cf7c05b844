/* What the pictures of a document share: its members' names, what is simulated
 * or slowed, numbers that may be missing. */
#ifndef BENCH_PLOT_PARTS_H
#define BENCH_PLOT_PARTS_H
#include "plot.h"
#include "svg.h"

enum {
    PLOT_MEMBERS_MAX = 64,
    PLOT_TEXT = 256,
    PLOT_NOTES_MAX = 8,
    PLOT_NOTE = 640
};

struct plot {
    json_t *root;
    const char *name;
    struct failure *failure;
    FILE *out;
    struct svg svg; /* open while a picture is drawn; not for the timeline */
};

/* What must be said beside any picture of the document. */
struct plot_notes {
    char badge[64]; /* "simulated, declared slowdown"; empty: none */
    char line[PLOT_NOTES_MAX][PLOT_NOTE];
    int count;
};

/** A number of the document, 0 to 10^21, and none so small that it could not
 *  be divided by; 0 (and *out 0) where there is null or another value. */
int plot_number(const json_t *value, double *out);

/** A text of the document; "?" where there is null or another value. */
const char *plot_word(json_t *object, const char *key);

/** "sim:0" or, of a document without devices, "rank 0". */
void plot_member_name(const struct plot *plot, size_t member,
                      char out[PLOT_TEXT]);

/** The device's own name; "simulated" or the declared slowdown behind it.
 *  Empty: nothing is known. */
void plot_member_remark(const struct plot *plot, size_t member,
                        char out[PLOT_TEXT]);

/** @param predicted  The picture shows what a plan predicts, not what ran. */
void plot_notes_of(const struct plot *plot, int predicted,
                   struct plot_notes *out);
void plot_add_note(struct plot_notes *notes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** The lines below a picture, the long ones broken; returns where they end. */
double plot_draw_notes(struct plot *plot, const struct plot_notes *notes,
                       double y);

/** Records "NAME: section: ..." and returns EXIT_USAGE. */
int plot_refuse(const struct plot *plot, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Ends the sheet and writes it. */
int plot_finish(struct plot *plot, double height, const char *title);

int plot_timeline(struct plot *plot);
int plot_rates(struct plot *plot);
int plot_scaling(struct plot *plot);
int plot_busbw(struct plot *plot);
int plot_shares(struct plot *plot);
#endif
