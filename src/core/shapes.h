/* The shares that a rank has had lately: a size it has not seen costs extra
 * (autotuning, graphs), so its first step is no sample. Plain data. */
#ifndef HDPI_SHAPES_H
#define HDPI_SHAPES_H
#include <stdint.h>

enum { HDPI_SHAPES_MAX = 8 };

struct hdpi_shapes {                /* zeroed: none seen */
    int64_t items[HDPI_SHAPES_MAX]; /* latest first; 0: free */
};

/** Notes that the rank now has `items`; 1 when that is none of its last eight
 *  sizes. Never for 0 items, which cost nothing. */
int hdpi_shapes_is_new(struct hdpi_shapes *shapes, int64_t items);
#endif
