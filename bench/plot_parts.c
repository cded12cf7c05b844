/* A figure that is simulated, predicted or slowed says so twice: in a frame
 * beside the title and in words below. */
#include "plot_parts.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

int plot_number(const json_t *value, double *out)
{
    static const double nothing = 1e-30, beyond = 1e21;
    double number = json_number_value(value); /* of no number: 0 */

    *out = 0;
    if (!json_is_number(value) || !(number >= 0 && number < beyond))
        return 0;
    *out = number < nothing ? 0 : number;
    return 1;
}

const char *plot_word(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "?";
}

static json_t *member_of(const struct plot *plot, const char *section,
                         size_t member)
{
    json_t *list = json_object_get(plot->root, section);

    if (json_is_object(list))
        list = json_object_get(list, "members");
    return json_array_get(list, member);
}

static const char *text_of(json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

void plot_member_name(const struct plot *plot, size_t member,
                      char out[PLOT_TEXT])
{
    const char *spec = text_of(member_of(plot, "devices", member), "spec");

    if (!spec)
        spec = text_of(member_of(plot, "profile", member), "spec");
    if (spec && *spec)
        snprintf(out, PLOT_TEXT, "%.*s", (int)strcspn(spec, "/"), spec);
    else
        snprintf(out, PLOT_TEXT, "rank %zu", member);
}

static int is_simulated(const struct plot *plot, size_t member)
{
    json_t *device = member_of(plot, "devices", member);

    if (!device)
        device = member_of(plot, "profile", member);
    return json_is_true(json_object_get(device, "simulated"));
}

/* In words; empty: it runs as fast as it can. */
static void slowdown_of(const struct plot *plot, size_t member, char *out)
{
    json_t *device = member_of(plot, "devices", member);
    const char *text = text_of(device, "slowdown");
    double duty;

    out[0] = 0;
    if (text)
        snprintf(out, PLOT_TEXT, "%.160s", text);
    else if (is_simulated(plot, member))
        snprintf(out, PLOT_TEXT, "simulated: times come from a model");
    else if (!device &&
             plot_number(json_object_get(member_of(plot, "profile", member),
                                         "duty_percent"),
                         &duty) &&
             duty > 0 && duty < 100)
        snprintf(out, PLOT_TEXT, "declared: works %d %% of the time",
                 (int)duty);
}

void plot_member_remark(const struct plot *plot, size_t member,
                        char out[PLOT_TEXT])
{
    static const char declared[] = "declared: "; /* the badge says it */
    const char *name = text_of(member_of(plot, "devices", member), "name");
    char slow[PLOT_TEXT];

    slowdown_of(plot, member, slow);
    if (is_simulated(plot, member))
        snprintf(slow, sizeof slow, "simulated");
    slow[strcspn(slow, ",")] = 0;
    if (strncmp(slow, declared, strlen(declared)) == 0)
        memmove(slow, slow + strlen(declared),
                strlen(slow + strlen(declared)) + 1);
    if (slow[0] && (!is_simulated(plot, member) || !name || !*name))
        snprintf(out, PLOT_TEXT, "%.*s", PLOT_TEXT - 1, slow);
    else
        snprintf(out, PLOT_TEXT, "%.160s", name ? name : "");
}

/* ---- what must be said --------------------------------------------------- */

void plot_add_note(struct plot_notes *notes, const char *format, ...)
{
    va_list args;

    if (notes->count == PLOT_NOTES_MAX)
        return;
    va_start(args, format);
    vsnprintf(notes->line[notes->count++], PLOT_NOTE, format, args);
    va_end(args);
}

static void add_badge(struct plot_notes *notes, const char *word)
{
    size_t used = strlen(notes->badge);

    snprintf(notes->badge + used, sizeof notes->badge - used, "%s%s",
             used ? ", " : "", word);
}

/* The names of those who have this slowdown, behind `used` of the line. */
static void name_slowed(const struct plot *plot, size_t members,
                        const char *text, char *line, size_t used)
{
    char other[PLOT_TEXT], name[PLOT_TEXT];
    const char *between = " (";
    size_t count = 0;

    for (size_t m = 0; m < members; ++m) {
        slowdown_of(plot, m, other);
        count += strcmp(text, other) == 0;
    }
    if (count > 8) {
        snprintf(line + used, PLOT_NOTE - used, " (%s%zu devices)",
                 count == members ? "all " : "", count);
        return;
    }
    for (size_t m = 0; m < members; ++m) {
        slowdown_of(plot, m, other);
        if (strcmp(text, other) != 0)
            continue;
        plot_member_name(plot, m, name);
        used += (size_t)snprintf(line + used, PLOT_NOTE - used, "%s%.40s",
                                 between, name);
        between = ", ";
    }
    snprintf(line + used, PLOT_NOTE - used, ")");
}

/* One line a slowdown, with all who have it. */
static void note_slowdowns(const struct plot *plot, size_t members,
                           struct plot_notes *out)
{
    char text[PLOT_TEXT], other[PLOT_TEXT];

    for (size_t m = 0; m < members; ++m) {
        int seen = 0;
        slowdown_of(plot, m, text);
        for (size_t i = 0; i < m && !seen; ++i) {
            slowdown_of(plot, i, other);
            seen = strcmp(text, other) == 0;
        }
        if (!text[0] || seen || out->count == PLOT_NOTES_MAX)
            continue;
        char *line = out->line[out->count++];
        int used = snprintf(line, PLOT_NOTE, "%.160s", text);
        name_slowed(plot, members, text, line, (size_t)used);
    }
}

void plot_notes_of(const struct plot *plot, int predicted,
                   struct plot_notes *out)
{
    json_t *list = json_object_get(plot->root, "devices");
    const char *status = text_of(plot->root, "status");
    int simulated = 0, slowed = 0;
    char text[PLOT_TEXT];

    memset(out, 0, sizeof *out);
    if (!list)
        list =
            json_object_get(json_object_get(plot->root, "profile"), "members");
    for (size_t m = 0; m < json_array_size(list); ++m) {
        slowdown_of(plot, m, text);
        simulated |= is_simulated(plot, m);
        slowed |= strstr(text, "declared") != NULL;
    }
    if (!predicted &&
        json_array_size(json_object_get(json_object_get(plot->root, "steps"),
                                        "disturbances")) > 0)
        slowed = 1;
    if (predicted)
        add_badge(out, "predicted");
    if (simulated)
        add_badge(out, "simulated");
    if (slowed)
        add_badge(out, "declared slowdown");
    note_slowdowns(plot, json_array_size(list), out);
    if (status && strcmp(status, "ok") != 0)
        plot_add_note(out, "how the run ended: %.64s", status);
}

/* As many words as fit; returns what is left. */
static const char *take_line(const char *text, char *out, size_t size)
{
    size_t end = 0, next = 0;

    while (text[next]) {
        next += strcspn(text + next + 1, " ") + 1;
        if (next >= size)
            break;
        memcpy(out, text, next);
        out[next] = 0;
        if (end && svg_width_of(out, 13.2) > SVG_WIDTH - 2 * SVG_MARGIN)
            break;
        end = next;
    }
    out[end] = 0;
    return text + (end ? end : strlen(text));
}

double plot_draw_notes(struct plot *plot, const struct plot_notes *notes,
                       double y)
{
    char text[PLOT_NOTE], line[PLOT_NOTE];

    for (int i = 0; i < notes->count; ++i)
        for (const char *rest = notes->line[i]; *rest; y += 20) {
            rest = take_line(rest, text, sizeof text);
            svg_text(&plot->svg, SVG_MARGIN, y, "class=\"foot\"",
                     svg_fit(line, sizeof line, text + (*text == ' '), 13.2,
                             SVG_WIDTH - 2 * SVG_MARGIN));
        }
    return y;
}

int plot_refuse(const struct plot *plot, const char *format, ...)
{
    char text[PLOT_TEXT];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return failure_usage(plot->failure, "plot", 0, "%.128s: %s", plot->name,
                         text);
}

int plot_finish(struct plot *plot, double height, const char *title)
{
    errno = 0;
    if (svg_close(&plot->svg, plot->out, height, title))
        return EXIT_OK;
    return failure_own(plot->failure, EXIT_ENVIRONMENT, HDP_ERR_SYSTEM,
                       "the picture of %.128s: %s", plot->name,
                       strerror(errno ? errno : ENOMEM));
}
