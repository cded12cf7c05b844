/* One sheet of SVG: shapes are gathered, then written with a head that knows
 * how high the sheet became. The same calls give the same bytes in every
 * locale; colours are Okabe and Ito's, told apart by everyone; the background
 * is white, whatever the viewer's is; text stays text. */
#ifndef BENCH_SVG_H
#define BENCH_SVG_H
#include <stddef.h>
#include <stdio.h>

enum { SVG_WIDTH = 960, SVG_MARGIN = 36, SVG_COLOURS = 6, SVG_NUMBER = 32 };

struct svg {
    FILE *body; /* a memory stream */
    char *data;
    size_t size;
};

/** Returns 0 when memory is short; svg_close() is legal then too. */
int svg_open(struct svg *svg);

/** Writes the sheet and ends it; `title` is the one that viewers show. `out`
 *  NULL: only ends it. Returns 0 when memory or the stream fails. */
int svg_close(struct svg *svg, FILE *out, double height, const char *title);

/** Title and subtitle at the top; `badge` in a frame at the right, NULL: none.
 *  Returns where the picture may begin. */
double svg_head(struct svg *svg, const char *title, const char *subtitle,
                const char *badge);

/** Text as it is, but %f has one decimal and a point, and of the rest only %d
 *  and %s are known. What comes from outside goes through svg_text(). */
void svg_put(struct svg *svg, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Any UTF-8 as text of XML, without an element. */
void svg_escape(struct svg *svg, const char *text);

/** The heading of a block and, in smaller type, what it is about; may be "". */
void svg_heading(struct svg *svg, int x, double y, const char *head,
                 const char *about);

/* `attributes` are written as they are: class="tick" ... */
void svg_text(struct svg *svg, double x, double y, const char *attributes,
              const char *text);
void svg_rectangle(struct svg *svg, double x, double y, double width,
                   double height, const char *attributes);
void svg_line(struct svg *svg, double x1, double y1, double x2, double y2,
              const char *attributes);

/** One of six shapes around a point. */
void svg_marker(struct svg *svg, int shape, double x, double y,
                const char *colour);

/** The i-th colour, and one that is read on it; any i from 0. */
const char *svg_colour(int i);
const char *svg_ink(int i);

/** About how wide a text is, rather too wide than too narrow. */
double svg_width_of(const char *text, double font_size);

/** The text, cut short by an ellipsis where it is wider than `width`. */
const char *svg_fit(char *buffer, size_t size, const char *text,
                    double font_size, double width);

/** `value`, from -10^12 to 10^12, with that many decimals (at most 6) and a
 *  point. Into SVG_NUMBER bytes; returns buffer. */
const char *svg_decimals(char *buffer, double value, int decimals);

/** About three digits: 1234, 123, 12.3, 1.23; 0.00123. */
const char *svg_number(char *buffer, double value);

/** The same without zeros at the end. */
const char *svg_short_number(char *buffer, double value);
#endif
