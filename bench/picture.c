/* The timeline as SVG. Idle time is hatched, so that it needs no colour; the
 * more members there are, the lower their bars. */
#include "picture.h"

#include <math.h>
#include <string.h>

#include "scale.h"
#include "svg.h"

enum {
    BARS_LEFT = 216, /* names stand to the left of it */
    BARS_RIGHT = SVG_WIDTH - 72,
    PANEL_HEAD = 34,
    PANEL_GAP = 26,
    FOOT = 22
};

struct drawing {
    struct svg svg;
    const struct picture *picture;
    struct scale axis; /* of nanoseconds, over the width of the bars */
    const struct scale_unit *unit;
    double bar, gap; /* of one member, in pixels */
};

static double x_of(const struct drawing *drawing, double ns)
{
    return BARS_LEFT +
           (BARS_RIGHT - BARS_LEFT) * scale_place(&drawing->axis, ns);
}

static void choose_axis(struct drawing *drawing)
{
    const struct picture *picture = drawing->picture;
    double longest = 1;

    for (int p = 0; p < picture->panels; ++p)
        longest = fmax(longest, picture->panel[p].step_ns);
    drawing->unit = scale_time(longest);
    drawing->axis =
        (struct scale){ .most = longest * 1.02, .unit = drawing->unit->ns };
    scale_ticks(&drawing->axis, 9);
    drawing->bar = picture->members <= 6    ? 38
                   : picture->members <= 16 ? 24
                                            : 12;
    drawing->gap = picture->members <= 16 ? drawing->bar * 0.26 : 2;
}

const char *picture_count(char *buffer, int64_t count)
{
    char plain[24];
    int length = snprintf(plain, sizeof plain, "%lld", (long long)count);
    char *out = buffer;

    for (int i = 0; i < length; ++i) {
        if (i && plain[i - 1] != '-' && (length - i) % 3 == 0)
            *out++ = ',';
        *out++ = plain[i];
    }
    *out = 0;
    return buffer;
}

/* Middle of a bar's words. */
static double base_line(const struct drawing *drawing, double y)
{
    return y + drawing->bar / 2 + (drawing->bar < 20 ? 3.5 : 5);
}

static double font_size(const struct drawing *drawing)
{
    return drawing->bar < 20 ? 10 : 13;
}

static const char *font_class(const struct drawing *drawing)
{
    return drawing->bar < 20 ? "small" : "bar";
}

static void draw_busy(struct drawing *drawing, const struct picture_bar *bar,
                      int member, double y, double left, double right)
{
    const struct picture *picture = drawing->picture;
    char attributes[96], words[160], count[32], time[SCALE_TEXT];

    snprintf(attributes, sizeof attributes, "rx=\"2\" fill=\"%s\"",
             svg_colour(member));
    svg_rectangle(&drawing->svg, left, y, right - left, drawing->bar,
                  attributes);
    snprintf(words, sizeof words, "%s %.80s, %s",
             picture_count(count, bar->items), picture->unit,
             scale_say_time(time, bar->compute_ns));
    if (right - left < svg_width_of(words, font_size(drawing)) + 14)
        snprintf(words, sizeof words, "%s", count);
    if (right - left < svg_width_of(words, font_size(drawing)) + 14)
        return;
    snprintf(attributes, sizeof attributes, "class=\"%s\" fill=\"%s\"",
             font_class(drawing), svg_ink(member));
    svg_text(&drawing->svg, left + 10, base_line(drawing, y), attributes,
             words);
}

static void draw_idle(struct drawing *drawing, double ns, double y, double left,
                      double right)
{
    char attributes[96], words[64], time[SCALE_TEXT];

    svg_rectangle(&drawing->svg, left, y, right - left, drawing->bar,
                  "fill=\"url(#idle)\" stroke=\"#777777\" "
                  "stroke-width=\"0.8\"");
    snprintf(words, sizeof words, "idle %s", scale_say_time(time, ns));
    double half = svg_width_of(words, font_size(drawing)) / 2 + 5;
    if (right - left < 2 * half + 12)
        return;
    svg_rectangle(&drawing->svg, (left + right) / 2 - half,
                  y + drawing->bar * 0.2, 2 * half, drawing->bar * 0.6,
                  "rx=\"3\" fill=\"#ffffff\"");
    snprintf(attributes, sizeof attributes,
             "class=\"%s\" fill=\"#333333\" text-anchor=\"middle\"",
             font_class(drawing));
    svg_text(&drawing->svg, (left + right) / 2, base_line(drawing, y),
             attributes, words);
}

static void draw_bar(struct drawing *drawing, const struct picture_panel *panel,
                     int member, double y, double last_ns)
{
    const struct picture_bar *bar = &panel->bar[member];
    double left = x_of(drawing, 0), busy = x_of(drawing, bar->compute_ns);
    double wait = x_of(drawing, last_ns), end = x_of(drawing, panel->step_ns);

    if (bar->benched) {
        draw_idle(drawing, panel->step_ns, y, left, end);
        return;
    }
    if (bar->items > 0)
        draw_busy(drawing, bar, member, y, left, busy);
    if (wait - busy > 1)
        draw_idle(drawing, last_ns - bar->compute_ns, y, busy, wait);
    svg_rectangle(&drawing->svg, wait, y, fmax(end - wait, 1.5), drawing->bar,
                  "fill=\"#333333\"");
}

static void draw_name(struct drawing *drawing, int member, double y)
{
    const struct picture *picture = drawing->picture;
    const char *remark = picture->remark[member];
    double room = BARS_LEFT - 14 - 16, middle = y + drawing->bar / 2;
    int tall = drawing->bar > 30;
    char text[128];

    if (!tall) { /* one line */
        snprintf(text, sizeof text, "class=\"%s\" text-anchor=\"end\"",
                 drawing->bar < 20 ? "small" : "remark");
        svg_text(&drawing->svg, BARS_LEFT - 14, base_line(drawing, y) - 0.5,
                 text, picture->device[member]);
        return;
    }
    svg_text(&drawing->svg, BARS_LEFT - 14, middle + (remark ? -2 : 5),
             "class=\"name\" text-anchor=\"end\"",
             svg_fit(text, sizeof text, picture->device[member], 15, room));
    if (remark)
        svg_text(&drawing->svg, BARS_LEFT - 14, middle + 14,
                 "class=\"remark\" text-anchor=\"end\"",
                 svg_fit(text, sizeof text, remark, 12, room));
}

static double panel_height(const struct drawing *drawing)
{
    return PANEL_HEAD +
           drawing->picture->members * (drawing->bar + drawing->gap);
}

static void draw_panel(struct drawing *drawing, int index, double y)
{
    const struct picture *picture = drawing->picture;
    const struct picture_panel *panel = &picture->panel[index];
    struct svg *svg = &drawing->svg;
    double last_ns = 0, end = x_of(drawing, panel->step_ns);
    double bottom = y + panel_height(drawing) - drawing->gap + 6;
    char time[SCALE_TEXT];

    for (int m = 0; m < picture->members; ++m)
        last_ns = fmax(last_ns, panel->bar[m].compute_ns);
    last_ns = fmin(last_ns, panel->step_ns);
    svg_heading(svg, BARS_LEFT, y + 22, panel->rule, panel->text);
    for (int m = 0; m < picture->members; ++m) {
        double top = y + PANEL_HEAD + m * (drawing->bar + drawing->gap);
        draw_name(drawing, m, top);
        draw_bar(drawing, panel, m, top, last_ns);
    }
    svg_line(svg, end, y + PANEL_HEAD - 6, end, bottom,
             "stroke=\"#000000\" stroke-width=\"1.5\"");
    svg_text(svg, end + 6, (y + PANEL_HEAD + bottom) / 2 + 3, "class=\"end\"",
             scale_say_time(time, panel->step_ns));
}

static void draw_axis(struct drawing *drawing, double top, double y)
{
    struct svg *svg = &drawing->svg;
    char label[SCALE_TEXT];

    for (int i = 0; i < drawing->axis.ticks; ++i) {
        double x = x_of(drawing, scale_tick(&drawing->axis, i));
        svg_line(svg, x, top, x, y, "stroke=\"#dddddd\"");
        svg_text(svg, x, y + 18, "class=\"tick\" text-anchor=\"middle\"",
                 scale_label(label, &drawing->axis, i));
    }
    svg_line(svg, BARS_LEFT, y, BARS_RIGHT, y, "stroke=\"#000000\"");
    snprintf(label, sizeof label, "%s since the step began",
             drawing->unit->word);
    svg_text(svg, BARS_RIGHT, y + 36, "class=\"tick\" text-anchor=\"end\"",
             label);
}

static void draw_legend(struct drawing *drawing, double y)
{
    struct svg *svg = &drawing->svg;
    double x = BARS_LEFT;

    for (int m = 0; m < drawing->picture->members && m < SVG_COLOURS; ++m) {
        char attributes[48];
        snprintf(attributes, sizeof attributes, "fill=\"%s\"", svg_colour(m));
        svg_rectangle(svg, x, y, 16, 14, attributes);
        x += 18;
    }
    svg_text(svg, x + 4, y + 12, "class=\"tick\"", "computing");
    x += 92;
    svg_rectangle(svg, x, y, 30, 14,
                  "fill=\"url(#idle)\" stroke=\"#777777\" "
                  "stroke-width=\"0.8\"");
    svg_text(svg, x + 38, y + 12, "class=\"tick\"", "idle, waiting");
    x += 142;
    svg_rectangle(svg, x, y, 6, 14, "fill=\"#333333\"");
    svg_text(svg, x + 14, y + 12, "class=\"tick\"", "reduce and update");
}

int picture_write(FILE *out, const struct picture *picture)
{
    struct drawing drawing = { .picture = picture };
    struct svg *svg = &drawing.svg;

    if (!svg_open(svg))
        return 0;
    choose_axis(&drawing);
    double head =
        svg_head(svg, picture->title, picture->subtitle, picture->badge);
    double panels = picture->panels * (panel_height(&drawing) + PANEL_GAP);
    double y = head, axis_y = head + panels - PANEL_GAP + 14;
    draw_axis(&drawing, head + PANEL_HEAD - 6, axis_y);
    for (int p = 0; p < picture->panels; ++p) {
        draw_panel(&drawing, p, y);
        y += panel_height(&drawing) + PANEL_GAP;
    }
    draw_legend(&drawing, axis_y + 48);
    y = axis_y + 98;
    for (int i = 0; i < PICTURE_FOOTERS_MAX && picture->footer[i]; ++i) {
        char text[256];
        svg_text(svg, SVG_MARGIN, y, "class=\"foot\"",
                 svg_fit(text, sizeof text, picture->footer[i], 13.2,
                         SVG_WIDTH - 2 * SVG_MARGIN));
        y += FOOT;
    }
    return svg_close(svg, out, y + 4, picture->title);
}
