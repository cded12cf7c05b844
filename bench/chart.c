/* A line is told from the others by colour, by the shape of its points and,
 * where colours come again, by its dashes. */
#include "chart.h"

#include <math.h>
#include <stdio.h>

enum { POINTS_SHOWN = 64 }; /* of more, the line alone */

double chart_x(const struct chart *chart, double value)
{
    return chart->left + chart->width * scale_place(&chart->x, value);
}

double chart_y(const struct chart *chart, double value)
{
    return chart->top + chart->height * (1 - scale_place(&chart->y, value));
}

void chart_axes(const struct chart *chart)
{
    struct svg *svg = chart->svg;
    double bottom = chart->top + chart->height;
    double right = chart->left + chart->width;
    char label[SCALE_TEXT];

    for (int i = 0; i < chart->y.ticks; ++i) {
        double y = chart_y(chart, scale_tick(&chart->y, i));
        svg_line(svg, chart->left, y, right, y, "stroke=\"#dddddd\"");
        svg_text(svg, chart->left - 8, y + 4.5,
                 "class=\"tick\" text-anchor=\"end\"",
                 scale_label(label, &chart->y, i));
    }
    for (int i = 0; i < chart->x.ticks; ++i) {
        double x = chart_x(chart, scale_tick(&chart->x, i));
        svg_line(svg, x, chart->top, x, bottom + 5, "stroke=\"#dddddd\"");
        svg_text(svg, x, bottom + 20, "class=\"tick\" text-anchor=\"middle\"",
                 scale_label(label, &chart->x, i));
    }
    svg_line(svg, chart->left, chart->top, chart->left, bottom,
             "stroke=\"#000000\"");
    svg_line(svg, chart->left, bottom, right, bottom, "stroke=\"#000000\"");
    if (chart->y_title)
        svg_text(svg, SVG_MARGIN, chart->top - 14, "class=\"tick\"",
                 chart->y_title);
    if (chart->x_title)
        svg_text(svg, right, bottom + 40, "class=\"tick\" text-anchor=\"end\"",
                 chart->x_title);
}

static int shape_of(int style)
{
    return style + style / SVG_COLOURS;
}

static void stroke(struct svg *svg, const struct chart_line *line)
{
    static const char *const dashes[] = { "", " stroke-dasharray=\"9 3\"",
                                          " stroke-dasharray=\"3 3\"",
                                          " stroke-dasharray=\"9 3 3 3\"" };

    svg_put(svg, "fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"%s",
            line->dashed ? "#555555" : svg_colour(line->style),
            line->dashed ? "1.8" : "2.2",
            line->dashed ? " stroke-dasharray=\"6 4\""
                         : dashes[line->style / SVG_COLOURS % 4]);
}

void chart_draw(const struct chart *chart, const struct chart_line *line)
{
    struct svg *svg = chart->svg;

    if (line->count > 1) {
        svg_put(svg, "<polyline points=\"");
        for (int i = 0; i < line->count; ++i)
            svg_put(svg, "%s%f,%f", i ? " " : "", chart_x(chart, line->x[i]),
                    chart_y(chart, line->y[i]));
        svg_put(svg, "\" ");
        stroke(svg, line);
        svg_put(svg, "/>\n");
    }
    if (line->dashed || line->count > POINTS_SHOWN)
        return;
    for (int i = 0; i < line->count; ++i)
        svg_marker(svg, shape_of(line->style), chart_x(chart, line->x[i]),
                   chart_y(chart, line->y[i]), svg_colour(line->style));
}

const char *chart_hatch(int style)
{
    int again = style / SVG_COLOURS;

    return !again ? NULL : again % 2 ? "url(#lines)" : "url(#dots)";
}

static void draw_sample(struct svg *svg, const struct chart_line *line,
                        double x, double y)
{
    char fill[48];

    if (!line->filled) {
        svg_put(svg, "<path d=\"M%f %fh34\" ", x, y);
        stroke(svg, line);
        svg_put(svg, "/>\n");
        if (!line->dashed)
            svg_marker(svg, shape_of(line->style), x + 17, y,
                       svg_colour(line->style));
        return;
    }
    snprintf(fill, sizeof fill, "fill=\"%s\"", svg_colour(line->style));
    svg_rectangle(svg, x, y - 7, 34, 14, fill);
    if (!chart_hatch(line->style))
        return;
    snprintf(fill, sizeof fill, "fill=\"%s\"", chart_hatch(line->style));
    svg_rectangle(svg, x, y - 7, 34, 14, fill);
}

double chart_legend(struct svg *svg, const struct chart_line *lines, int count,
                    double y)
{
    enum { SAMPLE = 44, GAP = 24, ROW = 22 };
    double room = SVG_WIDTH - 2 * SVG_MARGIN, widest = 60;
    char text[128];

    for (int i = 0; i < count; ++i)
        widest = fmax(widest, svg_width_of(lines[i].name, 13));
    widest = fmin(widest + SAMPLE + GAP, room);
    int columns = (int)(room / widest);
    for (int i = 0; i < count; ++i) {
        double x = SVG_MARGIN + i % columns * widest;
        double middle = y + i / columns * ROW;
        draw_sample(svg, &lines[i], x, middle);
        svg_text(svg, x + SAMPLE, middle + 4.5, "class=\"tick\"",
                 svg_fit(text, sizeof text, lines[i].name, 13,
                         widest - SAMPLE - GAP / 2.0));
    }
    return y + (count + columns - 1) / columns * ROW;
}
