/* Axes with lines and points in them, and the legend: what the pictures of
 * curves are made of. */
#ifndef BENCH_CHART_H
#define BENCH_CHART_H
#include "scale.h"
#include "svg.h"

struct chart {
    struct svg *svg;
    double left, top, width, height; /* of what the axes enclose */
    struct scale x, y;
    const char *x_title, *y_title;
};

/* A curve; also its line in the legend. */
struct chart_line {
    const char *name;
    const double *x, *y;
    int count;
    int style;  /* colour, shape and dashes, told apart up to 36 */
    int dashed; /* 1: dashed whatever the style, and without points */
    int filled; /* legend: a box of the colour stands for an area */
};

/** Grid, ticks and titles. */
void chart_axes(const struct chart *chart);

double chart_x(const struct chart *chart, double value);
double chart_y(const struct chart *chart, double value);

/** Points in the order given, joined; a single one stands alone. */
void chart_draw(const struct chart *chart, const struct chart_line *line);

/** `svg_colour(style)` over what was drawn, hatched where colours come again:
 *  attributes of the layer above; NULL: none is needed. */
const char *chart_hatch(int style);

/** The names of the lines in as many columns as fit; returns where it ends. */
double chart_legend(struct svg *svg, const struct chart_line *lines, int count,
                    double y);
#endif
