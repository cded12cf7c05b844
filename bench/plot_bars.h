/* A bar a device, with its name at the left and words behind it. */
#ifndef BENCH_PLOT_BARS_H
#define BENCH_PLOT_BARS_H
#include "plot_parts.h"

struct plot_bar {
    double value;         /* 0: none is drawn */
    int simulated;        /* hatched then */
    char text[PLOT_TEXT]; /* what stands behind it */
};

/** Bars of the members 0 to count - 1, the longest as long as there is room;
 *  low ones where they are many. Returns where they end. */
double plot_bars(struct plot *plot, const struct plot_bar *bars, int count,
                 double y);
#endif
