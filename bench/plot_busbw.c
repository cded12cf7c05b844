/* reduce: what the wires carry at each size, a curve a type and operation. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chart.h"
#include "plot_parts.h"

enum { CURVES_MAX = 24, ROWS_MAX = 4096 };

struct curve {
    const char *dtype, *op;
    char name[96];
    double *x, *y, *low, *high; /* GB/s of the 95th percentile, of the best */
    struct chart_line line;
};

struct busbw {
    struct plot *plot;
    struct curve curve[CURVES_MAX];
    struct chart_line lines[CURVES_MAX];
    int curves;
    double *values;
    double x_least, x_most, y_most;
    double wrong; /* elements, in all */
};

/* NULL: too many. Each has room for all rows. */
static struct curve *curve_of(struct busbw *self, json_t *row, size_t rows)
{
    const char *dtype = plot_word(row, "dtype"), *op = plot_word(row, "op");
    struct curve *curve = self->curve;
    int i = 0;

    for (; i < self->curves; ++i, ++curve)
        if (strcmp(curve->dtype, dtype) == 0 && strcmp(curve->op, op) == 0)
            return curve;
    if (i == CURVES_MAX)
        return NULL;
    curve->dtype = dtype;
    curve->op = op;
    curve->x = self->values + 4 * rows * (size_t)i;
    curve->y = curve->x + rows;
    curve->low = curve->y + rows;
    curve->high = curve->low + rows;
    snprintf(curve->name, sizeof curve->name, "%.40s, %.16s", op, dtype);
    self->curves++;
    return curve;
}

/* busbw at another of the row's times than the median. */
static double at_time(json_t *row, const char *which, double busbw)
{
    double median, ns;

    if (!plot_number(json_object_get(row, "time_ns"), &median) ||
        !plot_number(json_object_get(json_object_get(row, "step_ns"), which),
                     &ns) ||
        ns <= 0)
        return busbw;
    busbw *= median / ns;
    return busbw < 1e21 ? busbw : 1e21;
}

static int gather(struct busbw *self, json_t *rows)
{
    size_t count = json_array_size(rows), i;
    json_t *row;

    if (count > ROWS_MAX)
        return plot_refuse(self->plot, "reduce: at most %d rows can be drawn",
                           ROWS_MAX);
    self->values = calloc(4 * count * CURVES_MAX, sizeof *self->values);
    if (!self->values)
        return failure_no_memory(self->plot->failure);
    json_array_foreach(rows, i, row)
    {
        double bytes, busbw, wrong;
        if (plot_number(json_object_get(row, "wrong"), &wrong))
            self->wrong += wrong;
        if (!plot_number(json_object_get(row, "bytes"), &bytes) ||
            !plot_number(json_object_get(row, "busbw"), &busbw) || bytes <= 0)
            continue;
        struct curve *curve = curve_of(self, row, count);
        if (!curve)
            return plot_refuse(self->plot,
                               "reduce: at most %d types and operations can "
                               "be drawn",
                               CURVES_MAX);
        int at = curve->line.count++;
        curve->x[at] = bytes;
        curve->y[at] = busbw;
        curve->low[at] = at_time(row, "p95", busbw);
        curve->high[at] = at_time(row, "min", busbw);
        self->x_least = self->x_least > 0 ? fmin(self->x_least, bytes) : bytes;
        self->x_most = fmax(self->x_most, bytes);
        self->y_most = fmax(self->y_most, fmax(busbw, curve->high[at]));
    }
    return self->curves
               ? EXIT_OK
               : plot_refuse(self->plot, "reduce: no row has bytes and busbw");
}

static void draw_range(const struct chart *chart, const struct curve *curve)
{
    char attributes[64];

    snprintf(attributes, sizeof attributes,
             "stroke=\"%s\" stroke-width=\"1.2\"",
             svg_colour(curve->line.style));
    for (int i = 0; i < curve->line.count; ++i) {
        double x = chart_x(chart, curve->x[i]);
        if (curve->high[i] > curve->low[i])
            svg_line(chart->svg, x, chart_y(chart, curve->low[i]), x,
                     chart_y(chart, curve->high[i]), attributes);
    }
}

static double draw_chart(struct busbw *self, double y)
{
    struct chart chart = { .svg = &self->plot->svg,
                           .left = SVG_MARGIN + 48,
                           .top = y + 26,
                           .width = SVG_WIDTH - 2 * SVG_MARGIN - 60,
                           .height = 340,
                           .x = { .kind = SCALE_BYTES },
                           .y = { .unit = 1 },
                           .x_title = "bytes reduced",
                           .y_title = "GB/s (10^9 bytes in a second)" };

    scale_fit(&chart.x, self->x_least, self->x_most, 12);
    scale_fit(&chart.y, 0, self->y_most, 8);
    chart_axes(&chart);
    for (int i = 0; i < self->curves; ++i) {
        struct curve *curve = &self->curve[i];
        curve->line.x = curve->x;
        curve->line.y = curve->y;
        curve->line.name = curve->name;
        curve->line.style = i;
        draw_range(&chart, curve);
        chart_draw(&chart, &curve->line);
        self->lines[i] = curve->line;
    }
    return chart_legend(&self->plot->svg, self->lines, self->curves,
                        chart.top + chart.height + 64);
}

static int draw(struct busbw *self)
{
    struct plot *plot = self->plot;
    struct plot_notes notes;
    char title[PLOT_TEXT], most[SVG_NUMBER];
    size_t members = json_array_size(json_object_get(plot->root, "devices"));

    plot_notes_of(plot, 0, &notes);
    if (strstr(notes.badge, "simulated"))
        plot_add_note(&notes, "the times of this reduce are this machine's: "
                              "simulated members add in its memory");
    if (self->wrong > 0)
        plot_add_note(&notes, "WRONG: %.0f elements differ from the reference",
                      self->wrong);
    snprintf(title, sizeof title, "All-reduce of %zu member%s: up to %s GB/s",
             members, members == 1 ? "" : "s",
             svg_short_number(most, self->y_most));
    double y = svg_head(&plot->svg, title,
                        "bus bandwidth = bytes / time \xc2\xb7 2(n - 1)/n; "
                        "points: median, lines: best to 95th percentile",
                        notes.badge[0] ? notes.badge : NULL);
    y = draw_chart(self, y);
    y = plot_draw_notes(plot, &notes, y + 16);
    return plot_finish(plot, y + 4, title);
}

int plot_busbw(struct plot *plot)
{
    struct busbw *self = calloc(1, sizeof *self);
    int code;

    if (!self || !svg_open(&plot->svg)) {
        free(self);
        return failure_no_memory(plot->failure);
    }
    self->plot = plot;
    code = gather(self, json_object_get(plot->root, "reduce"));
    if (!code)
        code = draw(self);
    else
        svg_close(&plot->svg, NULL, 0, "");
    free(self->values);
    free(self);
    return code;
}
