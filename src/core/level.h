/* How much longer one rank takes than its curve says, learned from steps.
 *
 * A scalar Kalman filter on ln(time / curve) whose gain never falls below 0.1:
 * a moving average that starts fast. Two outliers in a row on the same side
 * that agree are a change, one is a hiccup; a rank known for hiccups needs up
 * to four. Plain data, pure arithmetic. */
#ifndef HDPI_LEVEL_H
#define HDPI_LEVEL_H
#include <stdint.h>

/* What a sample was. */
enum {
    HDPI_SAMPLE_TAKEN = 0,
    HDPI_SAMPLE_HELD = 1,   /* an outlier: not believed yet */
    HDPI_SAMPLE_CHANGED = 2 /* enough of them: the level starts anew */
};

struct hdpi_level {
    double log;      /* ln of the factor on the curve; 0: as the curve says */
    double variance; /* of log */
    double noise;    /* variance of one sample, learned */
    double burst;    /* the same of the latest ten samples alone */
    double doubt;    /* how wrong the curve is, squared: of ln(after / before),
                      * the part that a move is off by; learned */
    double way;      /* ln(after / before)^2 since the last sample */
    double held;     /* mean of the outliers waiting for another */
    double alarms;   /* of the latest samples, the part that were hiccups */
    int32_t holding; /* outliers in held; 0: none waits */
    int32_t count;   /* samples since the start */
};

/**
 * A level as calibration leaves it: two steps' worth of belief.
 * @param spread  Relative scatter of the calibration's samples, 0 or more;
 *                2 % at least is assumed.
 */
void hdpi_level_start(struct hdpi_level *level, double spread);

/** Takes a sample in, ln(time / curve): finite. HDPI_SAMPLE_*. */
int32_t hdpi_level_sample(struct hdpi_level *level, double log);

/** 1 when that sample would be further off than 5 standard deviations + 2 %. */
int hdpi_level_is_outlier(const struct hdpi_level *level, double log);

/** The share went from `before` to `after` items (both above 0): as far as the
 *  curve may be wrong between them, the level is less certain. At first that is
 *  a quarter of the way; curves that prove right come to be trusted. */
void hdpi_level_moved(struct hdpi_level *level, int64_t before, int64_t after);

/** The curve turned out to be of this work: less doubt in it. */
void hdpi_level_trust(struct hdpi_level *level);

/** Moves it: all ranks turned out to take longer by about one factor, since the
 *  caller's items are not the calibration's. `error` is how far one may differ
 *  from another in that. */
void hdpi_level_shift(struct hdpi_level *level, double log, double error);

/** exp(log): what the curve is to be multiplied by. */
double hdpi_level_factor(const struct hdpi_level *level);
#endif
