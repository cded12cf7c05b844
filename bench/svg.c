/* No printf of a real anywhere: its point is the locale's. */
#include "svg.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char *const colours[] = { "#0072b2", "#e69f00", "#009e73",
                                       "#cc79a7", "#56b4e9", "#d55e00" };
static const char *const inks[] = { "#ffffff", "#000000", "#ffffff",
                                    "#000000", "#000000", "#ffffff" };

const char *svg_colour(int i)
{
    return colours[i % SVG_COLOURS];
}

const char *svg_ink(int i)
{
    return inks[i % SVG_COLOURS];
}

/* ---- numbers and text ---------------------------------------------------- */

const char *svg_decimals(char *buffer, double value, int decimals)
{
    static const int64_t powers[] = {
        1, 10, 100, 1000, 10000, 100000, 1000000
    };
    int64_t power = powers[decimals];
    long long all = llround(fmax(-1e12, fmin(value, 1e12)) * (double)power);
    const char *sign = all < 0 ? "-" : "";

    all = all < 0 ? -all : all;
    int used =
        snprintf(buffer, SVG_NUMBER, "%s%lld", sign, (long long)(all / power));
    if (decimals)
        snprintf(buffer + used, SVG_NUMBER - (size_t)used, ".%0*lld", decimals,
                 (long long)(all % power));
    return buffer;
}

const char *svg_number(char *buffer, double value)
{
    double size = fabs(value);
    int decimals = size >= 99.95 || size == 0 ? 0 : size >= 9.995 ? 1 : 2;

    while (decimals >= 2 && decimals < 6 && size < 0.995)
        size *= 10, ++decimals;
    return svg_decimals(buffer, value, decimals);
}

const char *svg_short_number(char *buffer, double value)
{
    svg_number(buffer, value);
    if (strchr(buffer, '.')) {
        size_t length = strlen(buffer);
        while (buffer[length - 1] == '0')
            --length;
        buffer[length - (buffer[length - 1] == '.')] = 0;
    }
    return buffer;
}

/* Bytes of the character at text, which is UTF-8. */
static int character_bytes(const char *text)
{
    int bytes = 1;

    while (((unsigned char)text[bytes] & 0xc0) == 0x80)
        ++bytes;
    return bytes;
}

/* Of an em; wide fonts, as DejaVu Sans, measured generously. */
static double character_width(const char *text, int bytes)
{
    if (bytes >= 3)
        return (unsigned char)*text == 0xe2 ? 0.85 : 1.1; /* an ellipsis; Han */
    if (strchr(" .,:;'|!iljtfrI()[]/-", *text))
        return 0.4;
    if (strchr("mwMW%@", *text))
        return 0.95;
    return *text >= 'A' && *text <= 'Z' ? 0.72 : 0.63;
}

double svg_width_of(const char *text, double font_size)
{
    double width = 0;

    while (*text) {
        int bytes = character_bytes(text);
        width += character_width(text, bytes);
        text += bytes;
    }
    return width * font_size;
}

const char *svg_fit(char *buffer, size_t size, const char *text,
                    double font_size, double width)
{
    static const char ellipsis[] = "\xe2\x80\xa6";
    double room = width / font_size - 0.9, used = 0;
    size_t kept = 0;

    if (strlen(text) < size && svg_width_of(text, font_size) <= width) {
        memcpy(buffer, text, strlen(text) + 1);
        return buffer;
    }
    while (text[kept]) {
        int bytes = character_bytes(text + kept);
        used += character_width(text + kept, bytes);
        if (used > room || kept + (size_t)bytes + sizeof ellipsis > size)
            break;
        kept += (size_t)bytes;
    }
    memcpy(buffer, text, kept);
    memcpy(buffer + kept, ellipsis, sizeof ellipsis);
    return buffer;
}

/* Bytes of the whole character at text; 0: half a one, as a text has that was
 * cut somewhere, or none of XML (controls, U+FFFE, U+FFFF). */
static int whole_character(const char *text)
{
    unsigned char first = (unsigned char)*text;
    int bytes = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

    if ((first >= 0x80 && first < 0xc2) || first > 0xf4 || first < 0x20)
        return 0;
    if (bytes != character_bytes(text))
        return 0;
    return strncmp(text, "\xef\xbf\xbe", 3) != 0 &&
                   strncmp(text, "\xef\xbf\xbf", 3) != 0
               ? bytes
               : 0;
}

void svg_escape(struct svg *svg, const char *text)
{
    while (*text) {
        int whole = whole_character(text);
        if (*text == '<')
            fputs("&lt;", svg->body);
        else if (*text == '>')
            fputs("&gt;", svg->body);
        else if (*text == '&')
            fputs("&amp;", svg->body);
        else if (whole)
            fwrite(text, 1, (size_t)whole, svg->body);
        else
            fputc((unsigned char)*text < 0x20 ? ' ' : '?', svg->body);
        text += whole ? whole : character_bytes(text);
    }
}

void svg_put(struct svg *svg, const char *format, ...)
{
    char number[SVG_NUMBER];
    va_list args;

    va_start(args, format);
    for (; *format; ++format) {
        if (*format != '%') {
            fputc(*format, svg->body);
            continue;
        }
        switch (*++format) {
        case 'f':
            fputs(svg_decimals(number, va_arg(args, double), 1), svg->body);
            break;
        case 'd':
            fprintf(svg->body, "%d", va_arg(args, int));
            break;
        default:
            fputs(va_arg(args, const char *), svg->body);
        }
    }
    va_end(args);
}

/* ---- shapes -------------------------------------------------------------- */

void svg_text(struct svg *svg, double x, double y, const char *attributes,
              const char *text)
{
    svg_put(svg, "<text x=\"%f\" y=\"%f\" %s>", x, y, attributes);
    svg_escape(svg, text);
    svg_put(svg, "</text>\n");
}

void svg_heading(struct svg *svg, int x, double y, const char *head,
                 const char *about)
{
    svg_put(svg, "<text x=\"%d\" y=\"%f\" class=\"rule\">", x, y);
    svg_escape(svg, head);
    if (*about) {
        svg_put(svg, "<tspan class=\"about\" dx=\"10\">");
        svg_escape(svg, about);
        svg_put(svg, "</tspan>");
    }
    svg_put(svg, "</text>\n");
}

void svg_rectangle(struct svg *svg, double x, double y, double width,
                   double height, const char *attributes)
{
    svg_put(svg, "<rect x=\"%f\" y=\"%f\" width=\"%f\" height=\"%f\" %s/>\n", x,
            y, width > 0 ? width : 0, height > 0 ? height : 0, attributes);
}

void svg_line(struct svg *svg, double x1, double y1, double x2, double y2,
              const char *attributes)
{
    svg_put(svg, "<line x1=\"%f\" y1=\"%f\" x2=\"%f\" y2=\"%f\" %s/>\n", x1, y1,
            x2, y2, attributes);
}

void svg_marker(struct svg *svg, int shape, double x, double y,
                const char *colour)
{
    static const double corners[][8] = {
        { -4.5, -4.5, 4.5, -4.5, 4.5, 4.5, -4.5, 4.5 }, /* square */
        { 0, -5.5, 0, -5.5, 5.5, 4.5, -5.5, 4.5 },      /* triangle */
        { 0, -6, 6, 0, 0, 6, -6, 0 },                   /* diamond */
        { -5.5, -4.5, 5.5, -4.5, 0, 5.5, 0, 5.5 },      /* upside down */
        { -2, -6.5, 2, -6.5, 2, 6.5, -2, 6.5 },         /* bar */
    };
    static const char outline[] = "stroke=\"#ffffff\" stroke-width=\"1\"";

    if (shape % 6 == 0) {
        svg_put(svg, "<circle cx=\"%f\" cy=\"%f\" r=\"5\" fill=\"%s\" %s/>\n",
                x, y, colour, outline);
        return;
    }
    const double *at = corners[shape % 6 - 1];
    svg_put(svg, "<path d=\"M%f %fL%f %fL%f %fL%f %fZ\" fill=\"%s\" %s/>\n",
            x + at[0], y + at[1], x + at[2], y + at[3], x + at[4], y + at[5],
            x + at[6], y + at[7], colour, outline);
}

/* ---- the sheet ----------------------------------------------------------- */

int svg_open(struct svg *svg)
{
    svg->data = NULL;
    svg->size = 0;
    svg->body = open_memstream(&svg->data, &svg->size);
    return svg->body != NULL;
}

static void draw_badge(struct svg *svg, const char *badge, double x, double y,
                       double wide)
{
    svg_rectangle(svg, x, y, wide, 26,
                  "rx=\"4\" fill=\"#ffffff\" stroke=\"#a03000\" "
                  "stroke-width=\"2\"");
    svg_text(svg, x + wide / 2, y + 18,
             "class=\"badge\" text-anchor=\"middle\"", badge);
}

double svg_head(struct svg *svg, const char *title, const char *subtitle,
                const char *badge)
{
    double room = SVG_WIDTH - 2 * SVG_MARGIN, top = 96;
    double wide = badge ? svg_width_of(badge, 15) + 20 : 0;
    char text[256];

    if (badge && svg_width_of(title, 24) + wide < room) {
        draw_badge(svg, badge, SVG_WIDTH - SVG_MARGIN - wide, 22, wide);
    } else if (badge) { /* a line of its own */
        draw_badge(svg, badge, SVG_MARGIN, 82, wide);
        top = 126;
    }
    svg_text(svg, SVG_MARGIN, 42, "class=\"title\"",
             svg_fit(text, sizeof text, title, 24, room));
    svg_text(svg, SVG_MARGIN, 68, "class=\"subtitle\"",
             svg_fit(text, sizeof text, subtitle, 13.2, room));
    return top;
}

static const char style[] =
    "<style>\n"
    ".title{font-size:23px;font-weight:bold}\n"
    ".subtitle{font-size:14px;fill:#444444}\n"
    ".badge{font-size:15px;font-weight:bold;fill:#a03000}\n"
    ".rule{font-size:16px;font-weight:bold}\n"
    ".about{font-size:14px;font-weight:normal;fill:#444444}\n"
    ".name{font-size:15px;font-weight:bold}\n"
    ".remark{font-size:12px;fill:#444444}\n"
    ".bar{font-size:13px}\n"
    ".end{font-size:15px;font-weight:bold}\n"
    ".tick{font-size:13px;fill:#333333}\n"
    ".foot{font-size:14px}\n"
    ".mark{font-size:12px;fill:#a03000;paint-order:stroke;stroke:#ffffff;"
    "stroke-width:4px}\n"
    ".small{font-size:10px}\n"
    "</style>\n"
    "<defs>"
    "<pattern id=\"idle\" width=\"8\" height=\"8\" "
    "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
    "<rect width=\"8\" height=\"8\" fill=\"#ffffff\"/>"
    "<line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"8\" stroke=\"#777777\" "
    "stroke-width=\"2.5\"/></pattern>\n"
    /* over a colour, where a colour comes again */
    "<pattern id=\"lines\" width=\"10\" height=\"10\" "
    "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(-45)\">"
    "<line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"10\" stroke=\"#ffffff\" "
    "stroke-width=\"3\"/></pattern>\n"
    "<pattern id=\"dots\" width=\"10\" height=\"10\" "
    "patternUnits=\"userSpaceOnUse\"><circle cx=\"5\" cy=\"5\" r=\"2\" "
    "fill=\"#ffffff\"/></pattern></defs>\n";

int svg_close(struct svg *svg, FILE *out, double height, const char *title)
{
    int ok = svg->body != NULL;

    if (ok)
        ok = !ferror(svg->body) && fclose(svg->body) == 0;
    svg->body = NULL;
    if (ok && out) {
        struct svg head = { .body = out };
        svg_put(&head,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
                "height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"'Segoe UI', "
                "'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif\">\n"
                "<title>",
                SVG_WIDTH, (int)ceil(height), SVG_WIDTH, (int)ceil(height));
        svg_escape(&head, title);
        svg_put(&head, "</title>\n%s", style);
        svg_rectangle(&head, 0, 0, SVG_WIDTH, ceil(height), "fill=\"#ffffff\"");
        fwrite(svg->data, 1, svg->size, out);
        fputs("</svg>\n", out);
        ok = !ferror(out);
    }
    free(svg->data);
    svg->data = NULL;
    return ok;
}
