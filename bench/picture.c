/* The timeline as SVG. Colours are Okabe and Ito's, told apart by everyone;
 * idle time is hatched, so that it needs no colour at all; text stays text. */
#include "picture.h"

#include <math.h>
#include <string.h>

enum {
    WIDTH = 960,
    MARGIN = 36,
    BARS_LEFT = 216, /* names stand to the left of it */
    BARS_RIGHT = WIDTH - 72,
    BAR = 38,
    BAR_GAP = 10,
    PANEL_HEAD = 34,
    PANEL_GAP = 26,
    HEAD = 96,
    AXIS = 46,
    LEGEND = 34,
    FOOT = 22
};

static const char *const colours[] = { "#0072b2", "#e69f00", "#009e73",
                                       "#cc79a7", "#56b4e9", "#d55e00" };
static const char *const inks[] = { "#ffffff", "#000000", "#ffffff",
                                    "#000000", "#000000", "#ffffff" };
enum { COLOURS = 6 };

struct drawing {
    FILE *out;
    const struct picture *picture;
    double axis_ns; /* what the width of the bars stands for */
    double tick_ns;
};

static void put_text(FILE *out, const char *text)
{
    for (; *text; ++text) {
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        default:
            fputc((unsigned char)*text < 0x20 ? ' ' : *text, out);
        }
    }
}

static void text_at(FILE *out, double x, double y, const char *attributes,
                    const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\"%s%s>", x, y,
            *attributes ? " " : "", attributes);
    put_text(out, text);
    fputs("</text>\n", out);
}

static double x_of(const struct drawing *drawing, double ns)
{
    return BARS_LEFT + (BARS_RIGHT - BARS_LEFT) * (ns / drawing->axis_ns);
}

/* 1, 2 or 5 times a power of ten, five to ten of them on the axis. */
static void choose_axis(struct drawing *drawing)
{
    static const double steps[] = { 1, 2, 5, 10 };
    double longest = 1;

    for (int p = 0; p < drawing->picture->panels; ++p)
        longest = fmax(longest, drawing->picture->panel[p].step_ns);
    double power = pow(10, floor(log10(longest / 5)));
    int i = 0;
    while (i < 3 && longest / (power * steps[i]) > 8)
        ++i;
    drawing->tick_ns = power * steps[i];
    drawing->axis_ns = longest * 1.02;
}

static void ms_text(char *buffer, size_t size, double ns)
{
    double ms = ns / 1e6;

    snprintf(buffer, size, ms >= 100 ? "%.0f ms" : "%.1f ms", ms);
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

static void rectangle(FILE *out, double x, double y, double width,
                      double height, const char *attributes)
{
    fprintf(out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" %s/>\n",
            x, y, width > 0 ? width : 0, height, attributes);
}

static void draw_bar(const struct drawing *drawing,
                     const struct picture_panel *panel, int member, double y,
                     double last_ns)
{
    const struct picture *picture = drawing->picture;
    const struct picture_bar *bar = &panel->bar[member];
    FILE *out = drawing->out;
    double left = x_of(drawing, 0), busy = x_of(drawing, bar->compute_ns);
    double wait = x_of(drawing, last_ns), end = x_of(drawing, panel->step_ns);
    char attributes[96], words[96], count[32], time[24];

    if (bar->items > 0) {
        snprintf(attributes, sizeof attributes, "rx=\"2\" fill=\"%s\"",
                 colours[member % COLOURS]);
        rectangle(out, left, y, busy - left, BAR, attributes);
        ms_text(time, sizeof time, bar->compute_ns);
        snprintf(words, sizeof words, "%s %s, %s",
                 picture_count(count, bar->items), picture->unit, time);
        snprintf(attributes, sizeof attributes, "class=\"bar\" fill=\"%s\"",
                 inks[member % COLOURS]);
        if (busy - left > 7.2 * (double)strlen(words) + 16)
            text_at(out, left + 10, y + BAR / 2.0 + 5, attributes, words);
    }
    if (wait - busy > 1) {
        rectangle(out, busy, y, wait - busy, BAR,
                  "fill=\"url(#idle)\" stroke=\"#777777\" "
                  "stroke-width=\"0.8\"");
        ms_text(time, sizeof time, last_ns - bar->compute_ns);
        snprintf(words, sizeof words, "idle %s", time);
        if (wait - busy > 7.2 * (double)strlen(words) + 24) {
            double middle = (busy + wait) / 2,
                   half = 4.0 * (double)strlen(words) + 6;
            rectangle(out, middle - half, y + 8, 2 * half, BAR - 16,
                      "rx=\"3\" fill=\"#ffffff\"");
            text_at(out, middle, y + BAR / 2.0 + 5,
                    "class=\"bar\" fill=\"#333333\" text-anchor=\"middle\"",
                    words);
        }
    }
    rectangle(out, wait, y, fmax(end - wait, 1.5), BAR, "fill=\"#333333\"");
}

static void draw_name(const struct drawing *drawing, int member, double y)
{
    const struct picture *picture = drawing->picture;
    const char *remark = picture->remark[member];

    text_at(drawing->out, BARS_LEFT - 14, y + (remark ? 17 : 24),
            "class=\"name\" text-anchor=\"end\"", picture->device[member]);
    if (remark)
        text_at(drawing->out, BARS_LEFT - 14, y + 33,
                "class=\"remark\" text-anchor=\"end\"", remark);
}

static double panel_height(const struct picture *picture)
{
    return PANEL_HEAD + picture->members * (BAR + BAR_GAP);
}

static void draw_panel(const struct drawing *drawing, int index, double y)
{
    const struct picture *picture = drawing->picture;
    const struct picture_panel *panel = &picture->panel[index];
    FILE *out = drawing->out;
    double last_ns = 0, end = x_of(drawing, panel->step_ns);
    double bottom = y + panel_height(picture) - BAR_GAP + 6;
    char time[24];

    for (int m = 0; m < picture->members; ++m)
        last_ns = fmax(last_ns, panel->bar[m].compute_ns);
    last_ns = fmin(last_ns, panel->step_ns);
    fprintf(out, "<text x=\"%d\" y=\"%.1f\" class=\"rule\">", BARS_LEFT,
            y + 22);
    put_text(out, panel->rule);
    fputs("<tspan class=\"about\" dx=\"10\">", out);
    put_text(out, panel->text);
    fputs("</tspan></text>\n", out);
    for (int m = 0; m < picture->members; ++m) {
        double top = y + PANEL_HEAD + m * (BAR + BAR_GAP);
        draw_name(drawing, m, top);
        draw_bar(drawing, panel, m, top, last_ns);
    }
    fprintf(out,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
            "stroke=\"#000000\" stroke-width=\"1.5\"/>\n",
            end, y + PANEL_HEAD - 6, end, bottom);
    ms_text(time, sizeof time, panel->step_ns);
    text_at(out, end + 6, y + PANEL_HEAD + picture->members * 24.0,
            "class=\"end\"", time);
}

static void draw_axis(const struct drawing *drawing, double top, double y)
{
    FILE *out = drawing->out;
    char label[24];

    for (int i = 0; i * drawing->tick_ns <= drawing->axis_ns; ++i) {
        double x = x_of(drawing, i * drawing->tick_ns);
        fprintf(out,
                "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                "stroke=\"#dddddd\"/>\n",
                x, top, x, y);
        snprintf(label, sizeof label, "%.4g", i * drawing->tick_ns / 1e6);
        text_at(out, x, y + 18, "class=\"tick\" text-anchor=\"middle\"", label);
    }
    fprintf(out,
            "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" "
            "stroke=\"#000000\"/>\n",
            BARS_LEFT, y, BARS_RIGHT, y);
    text_at(out, BARS_RIGHT, y + 36, "class=\"tick\" text-anchor=\"end\"",
            "milliseconds since the step began");
}

static void draw_legend(const struct drawing *drawing, double y)
{
    FILE *out = drawing->out;
    double x = BARS_LEFT;

    for (int m = 0; m < drawing->picture->members && m < COLOURS; ++m) {
        char attributes[48];
        snprintf(attributes, sizeof attributes, "fill=\"%s\"", colours[m]);
        rectangle(out, x, y, 16, 14, attributes);
        x += 18;
    }
    text_at(out, x + 4, y + 12, "class=\"tick\"", "computing");
    x += 92;
    rectangle(out, x, y, 30, 14,
              "fill=\"url(#idle)\" stroke=\"#777777\" stroke-width=\"0.8\"");
    text_at(out, x + 38, y + 12, "class=\"tick\"", "idle, waiting");
    x += 142;
    rectangle(out, x, y, 6, 14, "fill=\"#333333\"");
    text_at(out, x + 14, y + 12, "class=\"tick\"", "reduce and update");
}

static void open_svg(FILE *out, double height)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%.0f\" viewBox=\"0 0 %d %.0f\" font-family=\""
            "'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', "
            "sans-serif\">\n",
            WIDTH, height, WIDTH, height);
    fputs("<style>\n"
          ".title{font-size:23px;font-weight:bold}\n"
          ".subtitle{font-size:14px;fill:#444444}\n"
          ".rule{font-size:16px;font-weight:bold}\n"
          ".about{font-size:14px;font-weight:normal;fill:#444444}\n"
          ".name{font-size:15px;font-weight:bold}\n"
          ".remark{font-size:12px;fill:#444444}\n"
          ".bar{font-size:13px}\n"
          ".end{font-size:15px;font-weight:bold}\n"
          ".tick{font-size:13px;fill:#333333}\n"
          ".foot{font-size:14px}\n"
          "</style>\n"
          "<defs><pattern id=\"idle\" width=\"8\" height=\"8\" "
          "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
          "<rect width=\"8\" height=\"8\" fill=\"#ffffff\"/>"
          "<line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"8\" stroke=\"#777777\" "
          "stroke-width=\"2.5\"/></pattern></defs>\n",
          out);
    fprintf(out, "<rect width=\"%d\" height=\"%.0f\" fill=\"#ffffff\"/>\n",
            WIDTH, height);
}

int picture_write(FILE *out, const struct picture *picture)
{
    struct drawing drawing = { .out = out, .picture = picture };
    double panels = picture->panels * (panel_height(picture) + PANEL_GAP);
    double height = HEAD + panels + AXIS + LEGEND + 2 * FOOT;
    double y = HEAD, axis_y = HEAD + panels - PANEL_GAP + 14;

    choose_axis(&drawing);
    open_svg(out, height);
    fputs("<title>", out);
    put_text(out, picture->title);
    fputs("</title>\n", out);
    text_at(out, MARGIN, 42, "class=\"title\"", picture->title);
    text_at(out, MARGIN, 68, "class=\"subtitle\"", picture->subtitle);
    draw_axis(&drawing, HEAD + PANEL_HEAD - 6, axis_y);
    for (int p = 0; p < picture->panels; ++p) {
        draw_panel(&drawing, p, y);
        y += panel_height(picture) + PANEL_GAP;
    }
    draw_legend(&drawing, axis_y + 24);
    for (int i = 0; i < 2; ++i)
        if (picture->footer[i])
            text_at(out, MARGIN, axis_y + 78 + 22 * i, "class=\"foot\"",
                    picture->footer[i]);
    fputs("</svg>\n", out);
    return !ferror(out);
}
