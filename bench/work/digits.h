/* The handwritten digits that the demo trains on; see examples/data. */
#ifndef BENCH_WORK_DIGITS_H
#define BENCH_WORK_DIGITS_H
#include <stdint.h>

enum {
    DIGITS_COUNT = 1797,
    DIGITS_TRAIN = 1500, /* the first of them; the rest is for testing */
    DIGITS_PIXELS = 64,
    DIGITS_CLASSES = 10,
    DIGITS_LEVELS = 16 /* a pixel is 0 to 16 */
};

extern const char digits_table[DIGITS_COUNT][DIGITS_PIXELS + 2];

/** Pixels (0 to 16) of image `index`; returns its label. */
int digits_image(int index, uint8_t pixels[DIGITS_PIXELS]);
#endif
