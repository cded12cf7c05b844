/* Where a number stands on an axis, and what its ticks are called. Pure. */
#ifndef BENCH_SCALE_H
#define BENCH_SCALE_H

enum { SCALE_TEXT = 48 };

/* Logarithmic ones have least > 0. */
enum scale_kind { SCALE_LINEAR, SCALE_DECADES, SCALE_BYTES };

struct scale {
    enum scale_kind kind;
    double least, most; /* ends of the axis */
    double unit;        /* labels count in it; 0: as they are, 1k for 1000 */
    double first, step; /* of the ticks; a factor on logarithmic axes */
    int ticks;
};

struct scale_unit {
    double ns;
    const char *name, *word; /* "ms", "milliseconds" */
};

/** The unit in which times up to `ns` are best told. */
const struct scale_unit *scale_time(double ns);

/** "12.3 ms"; returns buffer, of SCALE_TEXT bytes. */
const char *scale_say_time(char *buffer, double ns);

/** Factor and prefix ("G") in which figures up to `most` are best told. */
double scale_prefix(double most, const char **prefix);

/** "12.3 G" and then the unit. */
const char *scale_say(char *buffer, double value, const char *unit);

/** "64 KiB", "1000 B". */
const char *scale_say_bytes(char *buffer, double bytes);

/** Chooses at most `wanted` ticks (at least 2) between the ends. */
void scale_ticks(struct scale *scale, int wanted);

/** Ends that hold least to most of the data with some room, and the ticks. A
 *  linear axis begins at 0 where the data is not negative. */
void scale_fit(struct scale *scale, double least, double most, int wanted);

/** 0 at the beginning of the axis, 1 at its end; never beyond. */
double scale_place(const struct scale *scale, double value);

double scale_tick(const struct scale *scale, int i);
const char *scale_label(char *buffer, const struct scale *scale, int i);
#endif
