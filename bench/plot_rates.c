/* A profile: for each probe and type a bar a device, and below it what the rate
 * becomes with the number of items, where it was measured at several. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chart.h"
#include "plot_bars.h"
#include "plot_parts.h"

enum { GROUPS_MAX = 32, CURVES_HIGH = 260 };

/* The members of one probe and type. */
struct group {
    const char *probe, *dtype, *compute;
    json_t *member[PLOT_MEMBERS_MAX];
    int members;
    int in_flops; /* all rates are known as operations */
};

static double figure(json_t *member, const char *key)
{
    double value;

    plot_number(json_object_get(member, key), &value);
    return value;
}

static int can_compute(json_t *member)
{
    return !json_is_true(json_object_get(member, "lacks_dtype"));
}

/* In the order of their first members. Returns how many; -1: too many. */
static int find_groups(json_t *members, struct group *groups)
{
    int count = 0;
    json_t *member;
    size_t i;

    json_array_foreach(members, i, member)
    {
        int g = 0;
        while (g < count &&
               (strcmp(groups[g].probe, plot_word(member, "probe")) != 0 ||
                strcmp(groups[g].dtype, plot_word(member, "dtype")) != 0))
            ++g;
        if (g == GROUPS_MAX || groups[g].members == PLOT_MEMBERS_MAX)
            return -1;
        struct group *group = &groups[g];
        if (g == count) {
            group->probe = plot_word(member, "probe");
            group->dtype = plot_word(member, "dtype");
            group->compute = plot_word(member, "compute");
            group->in_flops = 1;
            ++count;
        }
        if (can_compute(member) && figure(member, "rate_flops") <= 0)
            group->in_flops = 0;
        group->member[group->members++] = member;
    }
    return count;
}

static const char *unit_of(const struct group *group)
{
    return group->in_flops ? "FLOP/s" : "items/s";
}

static double rate_of(const struct group *group, json_t *member)
{
    return figure(member, group->in_flops ? "rate_flops" : "rate");
}

/* What stands behind a bar. */
static void describe(const struct group *group, json_t *member, char *out)
{
    char rate[SCALE_TEXT], number[SVG_NUMBER];
    double ratio, spread;
    int used;

    if (!can_compute(member)) {
        snprintf(out, PLOT_TEXT, "cannot compute %.16s", group->dtype);
        return;
    }
    if (rate_of(group, member) <= 0) {
        snprintf(out, PLOT_TEXT, "not known");
        return;
    }
    used = snprintf(out, PLOT_TEXT, "%s",
                    scale_say(rate, rate_of(group, member), unit_of(group)));
    if (plot_number(json_object_get(member, "spread"), &spread) && spread > 0 &&
        spread < 1e3)
        used +=
            snprintf(out + used, PLOT_TEXT - (size_t)used, " \xc2\xb1 %s %%",
                     svg_decimals(number, 100 * spread, 1));
    if (plot_number(json_object_get(member, "ratio"), &ratio) && ratio <= 1)
        used += snprintf(out + used, PLOT_TEXT - (size_t)used, ", ratio %s",
                         svg_decimals(number, ratio, 3));
    if (json_is_false(json_object_get(member, "reliable")))
        snprintf(out + used, PLOT_TEXT - (size_t)used, ", unreliable");
}

static double draw_rates(struct plot *plot, const struct group *group, double y)
{
    struct plot_bar *bars = calloc((size_t)group->members, sizeof *bars);

    for (int m = 0; bars && m < group->members; ++m) {
        json_t *member = group->member[m];
        bars[m].value = rate_of(group, member);
        bars[m].simulated = json_is_true(json_object_get(member, "simulated"));
        describe(group, member, bars[m].text);
    }
    if (bars)
        y = plot_bars(plot, bars, group->members, y);
    free(bars);
    return y;
}

/* ---- time as a function of items ----------------------------------------- */

struct curves {
    struct chart_line line[PLOT_MEMBERS_MAX];
    char name[PLOT_MEMBERS_MAX][PLOT_TEXT];
    int lines, longest;
    double x_least, x_most, y_most;
    double *values; /* of all lines, x and y */
};

/* A point's rate in the group's unit; 0: the point says nothing. */
static double rate_at(const struct group *group, json_t *member, json_t *point,
                      double *items)
{
    double ns, each = 1;

    if (!plot_number(json_array_get(point, 0), items) ||
        !plot_number(json_array_get(point, 1), &ns) || *items <= 0 || ns <= 0)
        return 0;
    if (group->in_flops) {
        if (figure(member, "rate") <= 0)
            return 0;
        each = figure(member, "rate_flops") / figure(member, "rate");
    }
    return *items / ns * 1e9 * each;
}

static int gather(struct plot *plot, const struct group *group,
                  struct curves *out)
{
    size_t all = 0, used = 0, i;

    for (int m = 0; m < group->members; ++m)
        all += json_array_size(json_object_get(group->member[m], "points"));
    out->values = calloc(2 * all + 1, sizeof *out->values);
    if (!out->values)
        return failure_no_memory(plot->failure);
    for (int m = 0; m < group->members; ++m) {
        struct chart_line *line = &out->line[out->lines];
        double *x = out->values + used, items, rate;
        json_t *points = json_object_get(group->member[m], "points"), *point;
        size_t room = json_array_size(points);
        double *y = x + room;
        json_array_foreach(points, i, point)
        {
            rate = rate_at(group, group->member[m], point, &items);
            if (rate <= 0 || rate > 1e21)
                continue;
            x[line->count] = items;
            y[line->count++] = rate;
            out->x_least = out->x_least > 0 ? fmin(out->x_least, items) : items;
            out->x_most = fmax(out->x_most, items);
            out->y_most = fmax(out->y_most, rate);
        }
        used += 2 * room;
        if (!line->count)
            continue;
        line->x = x;
        line->y = y;
        line->style = m;
        line->name = out->name[out->lines];
        plot_member_name(plot, (size_t)m, out->name[out->lines++]);
        out->longest = line->count > out->longest ? line->count : out->longest;
    }
    return EXIT_OK;
}

static double draw_curves(struct plot *plot, const struct group *group,
                          const struct curves *curves, double y)
{
    char title[SCALE_TEXT];
    const char *prefix;
    struct chart chart = { .svg = &plot->svg,
                           .left = SVG_MARGIN + 48,
                           .top = y + 40,
                           .width = SVG_WIDTH - 2 * SVG_MARGIN - 60,
                           .height = CURVES_HIGH,
                           .x_title = "items in one call",
                           .y_title = title };

    chart.y.unit = scale_prefix(curves->y_most, &prefix);
    snprintf(title, sizeof title, "%s%s%s", prefix,
             *prefix && !group->in_flops ? " " : "", unit_of(group));
    if (curves->x_least >= 8 && curves->x_most < 8 * curves->x_least) {
        double room = fmax(curves->x_most - curves->x_least, 2) * 0.03;
        chart.x.least = curves->x_least - room;
        chart.x.most = curves->x_most + room;
        scale_ticks(&chart.x, 10);
    } else {
        chart.x.kind = SCALE_DECADES;
        scale_fit(&chart.x, curves->x_least, curves->x_most, 10);
    }
    scale_fit(&chart.y, 0, curves->y_most, 7);
    chart_axes(&chart);
    for (int i = 0; i < curves->lines; ++i)
        chart_draw(&chart, &curves->line[i]);
    return chart_legend(&plot->svg, curves->line, curves->lines,
                        chart.top + chart.height + 62);
}

/* ---- what the other probes found ----------------------------------------- */

static void say_bytes(char *out, double value)
{
    scale_say(out, value, "B/s");
}

static void say_time(char *out, double value)
{
    scale_say_time(out, value);
}

static const struct figure {
    const char *key, *name, *about;
    void (*say)(char *out, double value);
} figures[] = {
    { "copy_bytes_per_second", "copy", "inside the device", say_bytes },
    { "in_bytes_per_second", "link in", "from the host to it", say_bytes },
    { "out_bytes_per_second", "link out", "back to the host", say_bytes },
    { "launch_ns", "launch", "of a call that does nothing; less is better",
      say_time },
};

/* One block of bars, where any member has the figure. */
static int draw_figure(struct plot *plot, const struct group *group,
                       const struct figure *what, double *y)
{
    struct plot_bar *bars = calloc((size_t)group->members, sizeof *bars);
    int known = 0;

    if (!bars)
        return failure_no_memory(plot->failure);
    for (int m = 0; m < group->members; ++m) {
        json_t *member = group->member[m];
        bars[m].value = figure(member, what->key);
        bars[m].simulated = json_is_true(json_object_get(member, "simulated"));
        known += bars[m].value > 0;
        if (bars[m].value > 0)
            what->say(bars[m].text, bars[m].value);
        else
            snprintf(bars[m].text, PLOT_TEXT, "not known");
    }
    if (known) {
        svg_heading(&plot->svg, SVG_MARGIN, *y + 22, what->name, what->about);
        *y = plot_bars(plot, bars, group->members, *y + 38) + 12;
    }
    free(bars);
    return EXIT_OK;
}

/* ---- the picture --------------------------------------------------------- */

static int draw_group(struct plot *plot, struct group *group, double *y)
{
    struct curves *curves = calloc(1, sizeof *curves);
    char head[64], about[32];
    int code =
        curves ? gather(plot, group, curves) : failure_no_memory(plot->failure);

    if (!code) {
        /* of all probes, the rate is that of products */
        snprintf(head, sizeof head, "%.40s, %.16s",
                 strcmp(group->probe, "all") ? group->probe : "gemm",
                 group->dtype);
        snprintf(about, sizeof about, "accumulated in %.16s", group->compute);
        svg_heading(&plot->svg, SVG_MARGIN, *y + 22, head,
                    strcmp(group->dtype, group->compute) ? about : "");
        *y = draw_rates(plot, group, *y + 38);
        if (curves->longest > 1)
            *y = draw_curves(plot, group, curves, *y);
        *y += 12;
    }
    free(curves ? curves->values : NULL);
    free(curves);
    return code;
}

static int draw(struct plot *plot, struct group *groups, int count)
{
    json_t *profile = json_object_get(plot->root, "profile");
    struct plot_notes notes;
    char title[PLOT_TEXT], subtitle[PLOT_TEXT], took[SCALE_TEXT];
    double elapsed, y;
    int code = EXIT_OK;

    plot_notes_of(plot, 0, &notes);
    if (json_is_true(json_object_get(profile, "drifting")))
        plot_add_note(&notes, "clocks were still drifting when the measuring "
                              "ended");
    snprintf(title, sizeof title, "Rates of %d device%s", groups[0].members,
             groups[0].members == 1 ? "" : "s");
    snprintf(subtitle, sizeof subtitle,
             "what each does in a second; ratio: its part of the sum; "
             "\xc2\xb1: MAD of the samples");
    if (plot_number(json_object_get(profile, "elapsed_ns"), &elapsed) &&
        elapsed > 0) {
        size_t used = strlen(subtitle);
        snprintf(subtitle + used, sizeof subtitle - used, "; %s for %s",
                 strstr(notes.badge, "simulated") ? "calibrated" : "measured",
                 scale_say_time(took, elapsed));
    }
    y = svg_head(&plot->svg, title, subtitle,
                 notes.badge[0] ? notes.badge : NULL);
    for (int g = 0; !code && g < count; ++g)
        code = draw_group(plot, &groups[g], &y);
    for (size_t f = 0; !code && f < sizeof figures / sizeof *figures; ++f)
        code = draw_figure(plot, &groups[0], &figures[f], &y);
    y = plot_draw_notes(plot, &notes, y + 20);
    if (!code)
        return plot_finish(plot, y + 4, title);
    svg_close(&plot->svg, NULL, 0, "");
    return code;
}

int plot_rates(struct plot *plot)
{
    json_t *members =
        json_object_get(json_object_get(plot->root, "profile"), "members");
    struct group *groups = calloc(GROUPS_MAX + 1, sizeof *groups);
    int count = groups ? find_groups(members, groups) : 0, code;

    if (!groups || (count > 0 && !svg_open(&plot->svg)))
        code = failure_no_memory(plot->failure);
    else if (count < 0)
        code = plot_refuse(plot,
                           "profile: at most %d members of one probe and type, "
                           "and %d such groups, can be drawn",
                           PLOT_MEMBERS_MAX, GROUPS_MAX);
    else
        code = draw(plot, groups, count);
    free(groups);
    return code;
}
