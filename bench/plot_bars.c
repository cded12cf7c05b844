/* All bars of a block on one scale, from 0. */
#include "plot_bars.h"

#include <math.h>

enum { LEFT = 216, WIDTH = 400, LOW_FROM = 17 };

static void draw_name(struct plot *plot, int member, double base, int low)
{
    char name[PLOT_TEXT], remark[PLOT_TEXT], text[PLOT_TEXT];

    plot_member_name(plot, (size_t)member, name);
    plot_member_remark(plot, (size_t)member, remark);
    if (low) {
        svg_text(&plot->svg, LEFT - 12, base,
                 "class=\"small\" text-anchor=\"end\"",
                 svg_fit(text, sizeof text, name, 10, 168));
        return;
    }
    svg_text(&plot->svg, LEFT - 12, base - (remark[0] ? 7 : 0),
             "class=\"name\" text-anchor=\"end\"",
             svg_fit(text, sizeof text, name, 15, 186));
    svg_text(&plot->svg, LEFT - 12, base + 9,
             "class=\"remark\" text-anchor=\"end\"",
             svg_fit(text, sizeof text, remark, 12, 186));
}

double plot_bars(struct plot *plot, const struct plot_bar *bars, int count,
                 double y)
{
    struct svg *svg = &plot->svg;
    int low = count >= LOW_FROM;
    double high = low ? 12 : 28, each = low ? 15 : 42, most = 0;
    char attributes[64];

    for (int m = 0; m < count; ++m)
        most = fmax(most, bars[m].value);
    for (int m = 0; m < count; ++m) {
        double top = y + m * each, base = top + high / 2 + (low ? 3.5 : 5);
        double wide = most > 0 ? WIDTH * (bars[m].value / most) : 0;
        draw_name(plot, m, base, low);
        snprintf(attributes, sizeof attributes, "fill=\"%s\"", svg_colour(m));
        svg_rectangle(svg, LEFT, top, fmax(wide, bars[m].value > 0 ? 1.5 : 0),
                      high, attributes);
        if (bars[m].simulated)
            svg_rectangle(svg, LEFT, top, wide, high, "fill=\"url(#lines)\"");
        svg_text(svg, LEFT + wide + 8, base,
                 low ? "class=\"small\"" : "class=\"bar\"", bars[m].text);
    }
    svg_line(svg, LEFT, y - 4, LEFT, y + (count - 1) * each + high + 4,
             "stroke=\"#000000\"");
    return y + count * each;
}
