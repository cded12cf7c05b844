/* A run that adapted: what each step took and, below it on the same axis, who
 * had which part of the batch. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chart.h"
#include "plot_parts.h"

enum { COLUMNS = 800, TIMES_HIGH = 200, SHARES_HIGH = 220, MARKS_MAX = 64 };

/* What holds from step `from` on, up to the next one. */
struct stretch {
    double from;
    double part[PLOT_MEMBERS_MAX]; /* of the batch, summed up to the member */
};

struct shares {
    struct plot *plot;
    json_t *steps; /* the section */
    double *x, *y; /* a line: one a step, or two a column of many steps */
    int points;
    double best_x[2 * MARKS_MAX], best[2 * MARKS_MAX]; /* the optimum, level */
    int bests;
    double count, most; /* steps; ns of the slowest */
    struct stretch *stretch;
    int stretches, members;
    struct chart times, parts;
};

/* ---- what the section says ----------------------------------------------- */

/* Of many steps the fastest and the slowest of each column. */
static void add_column(struct shares *self, json_t *list, size_t first,
                       size_t end)
{
    size_t low = end, high = end;
    double ns, least = 0, most = 0;

    for (size_t i = first; i < end; ++i) {
        if (!plot_number(json_array_get(list, i), &ns))
            continue;
        if (low == end || ns < least)
            low = i, least = ns;
        if (high == end || ns > most)
            high = i, most = ns;
    }
    if (low == end)
        return;
    size_t at[2] = { low < high ? low : high, low < high ? high : low };
    for (int i = 0; i < (low == high ? 1 : 2); ++i) {
        self->x[self->points] = (double)at[i];
        self->y[self->points++] = at[i] == low ? least : most;
    }
    self->most = fmax(self->most, most);
}

static int gather_times(struct shares *self)
{
    json_t *list = json_object_get(self->steps, "step_ns");
    size_t count = json_array_size(list);
    size_t columns = count <= 2 * COLUMNS ? count : COLUMNS;

    self->count = (double)count;
    self->x = calloc(4 * columns + 4, sizeof *self->x);
    if (!self->x)
        return failure_no_memory(self->plot->failure);
    self->y = self->x + 2 * columns + 2;
    for (size_t c = 0; c < columns; ++c)
        add_column(self, list, c * count / columns, (c + 1) * count / columns);
    return self->points ? EXIT_OK
                        : plot_refuse(self->plot, "steps: no step_ns is known");
}

/* The optimum holds from its phase's first step to the next one's. */
static void gather_optimum(struct shares *self)
{
    json_t *phases = json_object_get(self->steps, "phases"), *phase;
    double step, ns;
    size_t i;

    json_array_foreach(phases, i, phase)
    {
        double last = self->bests ? self->best_x[self->bests - 2] : 0;
        if (self->bests == 2 * MARKS_MAX ||
            !plot_number(json_object_get(phase, "optimum_ns"), &ns) ||
            !plot_number(json_object_get(phase, "step"), &step) ||
            step < last || step >= self->count)
            continue;
        if (self->bests)
            self->best_x[self->bests - 1] = step;
        self->best_x[self->bests] = step;
        self->best[self->bests++] = ns;
        self->best_x[self->bests] = self->count;
        self->best[self->bests++] = ns;
        self->most = fmax(self->most, ns);
    }
}

static int add_stretch(struct shares *self, double from, json_t *shares)
{
    struct stretch *stretch = &self->stretch[self->stretches];
    size_t count = json_array_size(shares);
    double sum = 0, items;

    if (count < 1 || count > PLOT_MEMBERS_MAX ||
        (self->members && count != (size_t)self->members))
        return plot_refuse(self->plot,
                           "steps: shares of %zu members; 1 to %d, the same "
                           "number throughout, can be drawn",
                           count, PLOT_MEMBERS_MAX);
    self->members = (int)count;
    for (size_t m = 0; m < count; ++m) {
        plot_number(json_array_get(shares, m), &items);
        stretch->part[m] = sum += items;
    }
    for (size_t m = 0; m < count && sum > 0; ++m)
        stretch->part[m] /= sum;
    stretch->from = from;
    self->stretches += sum > 0;
    return EXIT_OK;
}

/* The run begins with the shares that the section says, else those of the
 * result or the plan. */
static int gather_shares(struct shares *self)
{
    json_t *root = self->plot->root, *resplit, *first;
    json_t *resplits = json_object_get(self->steps, "resplits");
    double step, last = 0;
    size_t i;

    self->stretch =
        calloc(json_array_size(resplits) + 1, sizeof *self->stretch);
    if (!self->stretch)
        return failure_no_memory(self->plot->failure);
    first = json_object_get(self->steps, "shares");
    if (!first)
        first = json_object_get(
            json_array_get(json_object_get(root, "results"), 0), "shares");
    if (!first)
        first = json_object_get(json_object_get(root, "plan"), "shares");
    if (!first)
        return plot_refuse(self->plot, "steps: the shares at the beginning are "
                                       "in neither steps, results nor plan");
    int code = add_stretch(self, 0, first);
    json_array_foreach(resplits, i, resplit)
    {
        if (code || !plot_number(json_object_get(resplit, "step"), &step) ||
            step < last || step >= self->count)
            continue;
        last = step;
        code = add_stretch(self, step, json_object_get(resplit, "shares"));
    }
    if (!code && !self->stretches)
        code = plot_refuse(self->plot, "steps: no share has any items");
    return code;
}

/* ---- drawing ------------------------------------------------------------- */

static void draw_band(struct shares *self, int member)
{
    struct svg *svg = &self->plot->svg;
    const struct chart *chart = &self->parts;
    const char *hatch = chart_hatch(member);

    for (int layer = 0; layer < (hatch ? 2 : 1); ++layer) {
        svg_put(svg, "<path d=\"");
        for (int i = 0; i < self->stretches; ++i) {
            const struct stretch *s = &self->stretch[i];
            double end = i + 1 < self->stretches ? s[1].from : self->count;
            double x = chart_x(chart, s->from), right = chart_x(chart, end);
            double top = chart_y(chart, s->part[member]);
            double low = chart_y(chart, member ? s->part[member - 1] : 0);
            if (low - top > 0.04 && right > x)
                svg_put(svg, "M%f %fH%fV%fH%fZ", x, top, right, low, x);
        }
        svg_put(svg, "\" fill=\"%s\"/>\n", layer ? hatch : svg_colour(member));
    }
}

/* A member's share in the middle of the stretch where it can be read. */
static void draw_share_words(struct shares *self)
{
    const struct chart *chart = &self->parts;
    char text[PLOT_TEXT], number[SVG_NUMBER], attributes[96], name[PLOT_TEXT];

    for (int i = 0; i < self->stretches; ++i)
        for (int m = 0; m < self->members && m < SVG_COLOURS; ++m) {
            const struct stretch *s = &self->stretch[i];
            double end = i + 1 < self->stretches ? s[1].from : self->count;
            double low = m ? s->part[m - 1] : 0, part = s->part[m] - low;
            double left = chart_x(chart, s->from);
            double room = chart_x(chart, end) - left;
            plot_member_name(self->plot, (size_t)m, name);
            svg_decimals(number, 100 * part, 1);
            snprintf(text, sizeof text, "%.40s: %s %%", name, number);
            if (svg_width_of(text, 13) + 12 > room)
                snprintf(text, sizeof text, "%s %%", number);
            if (svg_width_of(text, 13) + 8 > room || part * chart->height < 18)
                continue;
            snprintf(attributes, sizeof attributes,
                     "class=\"bar\" fill=\"%s\" text-anchor=\"middle\"",
                     svg_ink(m));
            svg_text(chart->svg, left + room / 2,
                     chart_y(chart, low + part / 2) + 5, attributes, text);
        }
}

/* Through both charts, not through the figures between them. */
static void draw_mark(struct shares *self, double step, double above,
                      const char *attributes)
{
    double x = chart_x(&self->times, step);

    svg_line(&self->plot->svg, x, self->times.top - above, x,
             self->times.top + self->times.height, attributes);
    svg_line(&self->plot->svg, x, self->parts.top, x,
             self->parts.top + self->parts.height, attributes);
}

static void draw_resplits(struct shares *self)
{
    for (int i = 1; i < self->stretches; ++i)
        draw_mark(self, self->stretch[i].from, 0,
                  "stroke=\"#000000\" stroke-dasharray=\"4 3\"");
}

/* The i-th disturbance, where it is one that can be shown. */
static int disturbance(const struct shares *self, size_t i, double *step,
                       char text[PLOT_TEXT])
{
    json_t *list = json_object_get(self->steps, "disturbances");
    json_t *row = json_array_get(list, i);
    char name[PLOT_TEXT], number[SVG_NUMBER];
    double device, factor;

    if (!plot_number(json_object_get(row, "step"), step) ||
        *step >= self->count)
        return 0;
    plot_number(json_object_get(row, "device"), &device);
    plot_number(json_object_get(row, "factor"), &factor);
    plot_member_name(self->plot, (size_t)fmin(device, 1e6), name);
    if (factor > 1)
        snprintf(text, PLOT_TEXT, "%.40s declared %sx slower", name,
                 svg_short_number(number, fmin(factor, 1e9)));
    else
        snprintf(text, PLOT_TEXT, "%.40s as before", name);
    return 1;
}

/* From its step on what ran was slowed: hatched above the times. */
static void draw_disturbances(struct shares *self, struct plot_notes *notes)
{
    struct svg *svg = &self->plot->svg;
    const struct chart *chart = &self->times;
    double right = chart->left + chart->width, step, last = 0;
    char text[PLOT_TEXT];

    for (size_t i = 0; i < MARKS_MAX; ++i) {
        if (!disturbance(self, i, &step, text))
            continue;
        double x = chart_x(chart, step);
        svg_rectangle(svg, x, chart->top - 6, right - x, 6,
                      "fill=\"url(#idle)\" stroke=\"#777777\" "
                      "stroke-width=\"0.6\"");
        draw_mark(self, step, 18, "stroke=\"#a03000\" stroke-width=\"2\"");
        plot_add_note(notes, "from step %.0f on: %s", step, text);
    }
    for (size_t i = 0; i < MARKS_MAX; ++i) { /* over all marks */
        if (!disturbance(self, i, &step, text))
            continue;
        double x = chart_x(chart, step), wide = svg_width_of(text, 12);
        double at = x + 6 + wide < right ? x + 6 : x - 6 - wide;
        if (at > last)
            svg_text(svg, at, chart->top - 11, "class=\"mark\"", text);
        last = fmax(last, fmax(x, at + wide) + 8);
    }
}

static struct chart_line optimum_line(const struct shares *self)
{
    return (struct chart_line){ .name = "optimum of the time, phase by phase",
                                .x = self->best_x,
                                .y = self->best,
                                .count = self->bests,
                                .dashed = 1 };
}

static void draw_times(struct shares *self)
{
    struct chart_line line = {
        .x = self->x, .y = self->y, .count = self->points, .style = 0
    };

    struct chart_line best = optimum_line(self);

    chart_axes(&self->times);
    chart_draw(&self->times, &best);
    chart_draw(&self->times, &line);
}

static double draw_parts(struct shares *self)
{
    struct chart_line lines[PLOT_MEMBERS_MAX + 1] = { { 0 } };
    char names[PLOT_MEMBERS_MAX][PLOT_TEXT];

    lines[self->members] = optimum_line(self);
    chart_axes(&self->parts);
    for (int m = 0; m < self->members; ++m) {
        draw_band(self, m);
        plot_member_name(self->plot, (size_t)m, names[m]);
        lines[m].name = names[m];
        lines[m].style = m;
        lines[m].filled = 1;
    }
    draw_share_words(self);
    draw_resplits(self);
    return chart_legend(&self->plot->svg, lines,
                        self->members + (self->bests > 0),
                        self->parts.top + self->parts.height + 64);
}

static void place_charts(struct shares *self, double y, char *title)
{
    const struct scale_unit *unit = scale_time(self->most);
    struct chart both = { .svg = &self->plot->svg,
                          .left = SVG_MARGIN + 48,
                          .width = SVG_WIDTH - 2 * SVG_MARGIN - 60,
                          .x = { .most = self->count } };

    scale_ticks(&both.x, 12);
    self->times = self->parts = both;
    self->times.top = y + 44;
    self->times.height = TIMES_HIGH;
    self->times.y.unit = unit->ns;
    snprintf(title, SCALE_TEXT, "step time in %s", unit->word);
    self->times.y_title = title;
    scale_fit(&self->times.y, 0, self->most, 6);
    self->parts.top = self->times.top + TIMES_HIGH + 62;
    self->parts.height = SHARES_HIGH;
    self->parts.y =
        (struct scale){ .most = 1, .unit = 0.01, .step = 0.25, .ticks = 5 };
    self->parts.y_title = "share of the batch in %";
    self->parts.x_title = "step";
}

static int draw(struct shares *self)
{
    struct plot *plot = self->plot;
    struct plot_notes notes;
    char title[PLOT_TEXT], axis[SCALE_TEXT];
    int resplits = self->stretches - 1;

    plot_notes_of(plot, 0, &notes);
    snprintf(title, sizeof title, "%.0f steps, the shares changed %d time%s",
             self->count, resplits, resplits == 1 ? "" : "s");
    double y = svg_head(&plot->svg, title,
                        "above: what each step took; below: who had which "
                        "part of it; dashed: the batch was split anew",
                        notes.badge[0] ? notes.badge : NULL);
    place_charts(self, y, axis);
    draw_times(self);
    y = draw_parts(self);
    draw_disturbances(self, &notes);
    y = plot_draw_notes(plot, &notes, y + 16);
    return plot_finish(plot, y + 4, title);
}

int plot_shares(struct plot *plot)
{
    struct shares *self = calloc(1, sizeof *self);
    int code;

    if (!self || !svg_open(&plot->svg)) {
        free(self);
        return failure_no_memory(plot->failure);
    }
    self->plot = plot;
    self->steps = json_object_get(plot->root, "steps");
    code = gather_times(self);
    gather_optimum(self);
    if (!code)
        code = gather_shares(self);
    if (!code)
        code = draw(self);
    else
        svg_close(&plot->svg, NULL, 0, "");
    free(self->stretch);
    free(self->x);
    free(self);
    return code;
}
