/* Would more devices help? What the plans of the fastest one, two, three ...
 * members predict, against speeds that simply add up. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chart.h"
#include "picture.h"
#include "plot_parts.h"

enum { NAMES_BELOW = 8, VALUES_BESIDE = 12 };

struct scaling {
    struct plot *plot;
    json_t *section;
    int members; /* entries of its lists */
    double x[PLOT_MEMBERS_MAX], step[PLOT_MEMBERS_MAX];
    double ideal_x[PLOT_MEMBERS_MAX], ideal[PLOT_MEMBERS_MAX];
    int steps, ideals;
    double most;
    double other_x, other; /* of --add and --remove; 0: none */
};

static json_t *list_of(const struct scaling *self, const char *key)
{
    return json_object_get(self->section, key);
}

static int gather(struct scaling *self)
{
    json_t *what_if = json_object_get(self->plot->root, "what_if");
    json_t *shares =
        json_object_get(json_object_get(what_if, "plan"), "shares");
    size_t count = json_array_size(list_of(self, "step_ns"));

    if (count > PLOT_MEMBERS_MAX)
        return plot_refuse(self->plot,
                           "scaling: at most %d members can be "
                           "drawn",
                           PLOT_MEMBERS_MAX);
    self->members = (int)count;
    for (size_t i = 0; i < count; ++i) {
        double ns;
        if (plot_number(json_array_get(list_of(self, "step_ns"), i), &ns)) {
            self->x[self->steps] = (double)i + 1;
            self->step[self->steps++] = ns;
            self->most = fmax(self->most, ns);
        }
        if (plot_number(json_array_get(list_of(self, "ideal_ns"), i), &ns)) {
            self->ideal_x[self->ideals] = (double)i + 1;
            self->ideal[self->ideals++] = ns;
            self->most = fmax(self->most, ns);
        }
    }
    if (json_array_size(shares) > 0 &&
        json_array_size(shares) <= PLOT_MEMBERS_MAX &&
        plot_number(json_object_get(what_if, "after_ns"), &self->other)) {
        self->other_x = (double)json_array_size(shares);
        self->most = fmax(self->most, self->other);
    }
    return self->steps
               ? EXIT_OK
               : plot_refuse(self->plot, "scaling: no step_ns is known");
}

/* Whose joining a step of the axis stands for. */
static void draw_names(const struct scaling *self, const struct chart *chart)
{
    double each = chart_x(chart, 2) - chart_x(chart, 1) - 8;
    char name[PLOT_TEXT], text[PLOT_TEXT + 2], short_text[PLOT_TEXT];

    for (int i = 0; i < self->members && self->members <= NAMES_BELOW; ++i) {
        double rank;
        if (!plot_number(json_array_get(list_of(self, "order"), (size_t)i),
                         &rank) ||
            rank >= PLOT_MEMBERS_MAX)
            continue;
        plot_member_name(self->plot, (size_t)rank, name);
        snprintf(text, sizeof text, "%s%s", i ? "+ " : "", name);
        svg_text(chart->svg, chart_x(chart, i + 1),
                 chart->top + chart->height + 36,
                 "class=\"remark\" text-anchor=\"middle\"",
                 svg_fit(short_text, sizeof short_text, text, 12, each));
    }
}

static void draw_values(const struct scaling *self, const struct chart *chart)
{
    char text[SCALE_TEXT];

    for (int i = 0; i < self->steps && self->members <= VALUES_BESIDE; ++i) {
        /* on the side of the line to the next point that is free */
        int falls = i + 1 == self->steps || self->step[i + 1] <= self->step[i];
        svg_text(chart->svg, chart_x(chart, self->x[i]) + 7,
                 chart_y(chart, self->step[i]) + (falls ? -10 : 19),
                 "class=\"bar\"", scale_say_time(text, self->step[i]));
    }
}

static void draw_other(const struct scaling *self, const struct chart *chart)
{
    double x = chart_x(chart, self->other_x);
    double y = chart_y(chart, self->other);
    char text[SCALE_TEXT], time[SCALE_TEXT];

    if (self->other_x <= 0)
        return;
    svg_marker(chart->svg, 3, x, y, "#d55e00");
    snprintf(text, sizeof text, "what if: %s",
             scale_say_time(time, self->other));
    svg_text(chart->svg, x, y + 22,
             "class=\"bar\" fill=\"#a03000\" text-anchor=\"middle\"", text);
}

static double draw_chart(struct scaling *self, double y)
{
    const struct scale_unit *unit = scale_time(self->most);
    char title[SCALE_TEXT];
    double last = fmax(self->members, self->other_x);
    struct chart chart = { .svg = &self->plot->svg,
                           .left = SVG_MARGIN + 56,
                           .top = y + 30,
                           .width = SVG_WIDTH - 2 * SVG_MARGIN - 70,
                           .height = 320,
                           .x = { .least = 0.5, .most = last + 0.5 },
                           .y = { .unit = unit->ns },
                           .y_title = title };
    struct chart_line lines[] = {
        { .name = "predicted step, rule finish",
          .x = self->x,
          .y = self->step,
          .count = self->steps },
        { .name = "ideal: speeds add up, nothing else costs",
          .x = self->ideal_x,
          .y = self->ideal,
          .count = self->ideals,
          .dashed = 1 },
    };

    snprintf(title, sizeof title, "step time in %s", unit->word);
    scale_ticks(&chart.x, 16);
    if (chart.x.step < 1) /* there are no half devices */
        chart.x.first = 1, chart.x.step = 1, chart.x.ticks = (int)last;
    scale_fit(&chart.y, 0, self->most * 1.06, 8);
    chart_axes(&chart);
    chart_draw(&chart, &lines[1]);
    chart_draw(&chart, &lines[0]);
    draw_names(self, &chart);
    draw_values(self, &chart);
    draw_other(self, &chart);
    y = chart.top + chart.height + (self->members <= NAMES_BELOW ? 58 : 42);
    svg_text(chart.svg, chart.left + chart.width, y,
             "class=\"tick\" text-anchor=\"end\"",
             "devices, the fastest first");
    return chart_legend(chart.svg, lines, self->ideals ? 2 : 1, y + 26);
}

/* The fewest devices with the least time, against the fastest alone. */
static void say_title(const struct scaling *self, char *out)
{
    char from[SCALE_TEXT], to[SCALE_TEXT];
    int best = 0;

    for (int i = 1; i < self->steps; ++i)
        if (self->step[i] < self->step[best])
            best = i;
    scale_say_time(from, self->step[0]);
    scale_say_time(to, self->step[best]);
    if (best > 0)
        snprintf(out, PLOT_TEXT, "More devices: %s becomes %s with %.0f", from,
                 to, self->x[best]);
    else
        snprintf(out, PLOT_TEXT, "%s a step of %s",
                 self->members > 1 ? "More devices would not help:"
                                   : "One device:",
                 from);
}

static int draw(struct scaling *self)
{
    struct plot *plot = self->plot;
    const char *answer = json_string_value(
        json_object_get(json_object_get(plot->root, "what_if"), "answer"));
    struct plot_notes notes;
    char title[PLOT_TEXT], subtitle[PLOT_TEXT], count[32];
    double total;

    plot_notes_of(plot, 1, &notes);
    if (answer)
        plot_add_note(&notes, "what if: %.560s", answer);
    if (self->steps < self->members)
        plot_add_note(&notes, "where there is no point the batch does not fit");
    plot_number(list_of(self, "total"), &total);
    say_title(self, title);
    snprintf(subtitle, sizeof subtitle,
             "%s items a step; each point is the best split of the fastest "
             "devices, as the plan predicts it; nothing was run",
             picture_count(count, (int64_t)fmin(total, 9e18)));
    double y = svg_head(&plot->svg, title, subtitle, notes.badge);
    y = draw_chart(self, y);
    y = plot_draw_notes(plot, &notes, y + 16);
    return plot_finish(plot, y + 4, title);
}

int plot_scaling(struct plot *plot)
{
    struct scaling *self = calloc(1, sizeof *self);
    int code;

    if (!self || !svg_open(&plot->svg)) {
        free(self);
        return failure_no_memory(plot->failure);
    }
    self->plot = plot;
    self->section = json_object_get(plot->root, "scaling");
    code = gather(self);
    if (!code)
        code = draw(self);
    else
        svg_close(&plot->svg, NULL, 0, "");
    free(self);
    return code;
}
