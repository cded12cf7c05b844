/* The rules of a run, or the plans of a split, on one time axis: equal on top,
 * finish at the bottom. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"
#include "plot_parts.h"
#include "scale.h"

struct timeline {
    struct plot *plot;
    struct picture picture;
    int predicted;
    double steps; /* whose median a bar is; 0: not known */
    double items;
    char names[PLOT_MEMBERS_MAX][PLOT_TEXT];
    char remarks[PLOT_MEMBERS_MAX][PLOT_TEXT];
    struct plot_notes notes;
};

static const char *rule_text(const char *rule)
{
    static const char *const texts[][2] = {
        { "equal", "each device gets the same" },
        { "finish", "each gets what it can do in time" },
        { "proportional", "shares by measured speed alone" },
        { "single", "one device does all" },
        { "manual", "shares as asked" },
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
        if (strcmp(texts[i][0], rule) == 0)
            return texts[i][1];
    return "";
}

static int is_benched(json_t *state)
{
    const char *name = json_string_value(state);

    return name && strcmp(name, "benched") == 0;
}

/* A result has `member_ns` and its step is a sample; a plan has `rank_ns`. */
static int fill_panel(struct timeline *self, json_t *row)
{
    struct picture *picture = &self->picture;
    struct picture_panel *panel = &picture->panel[picture->panels];
    json_t *shares = json_object_get(row, "shares");
    json_t *sample = json_object_get(row, "step_ns");
    json_t *states = json_object_get(row, "state");
    json_t *ends =
        json_object_get(row, self->predicted ? "rank_ns" : "member_ns");
    int members = (int)json_array_size(shares);
    double items, most = 0;

    if (members < 1 || members > PICTURE_MEMBERS_MAX ||
        (picture->panels && members != picture->members))
        return plot_refuse(
            self->plot,
            "rule %.32s: shares of %d members; 1 to %d, the same "
            "number for each rule, can be drawn",
            plot_word(row, "rule"), members, PICTURE_MEMBERS_MAX);
    panel->rule = plot_word(row, "rule");
    panel->text = rule_text(panel->rule);
    if (!plot_number(self->predicted ? json_object_get(row, "predicted_ns")
                                     : json_object_get(sample, "median"),
                     &panel->step_ns))
        return plot_refuse(self->plot,
                           "rule %.32s: the step's time is not "
                           "known",
                           panel->rule);
    plot_number(json_object_get(sample, "n"), &self->steps);
    self->items = 0;
    for (int m = 0; m < members; ++m) {
        plot_number(json_array_get(shares, (size_t)m), &items);
        plot_number(json_array_get(ends, (size_t)m), &most);
        items = items < 9e18 ? items : 9e18;
        self->items += items;
        panel->bar[m].benched = is_benched(json_array_get(states, (size_t)m));
        panel->bar[m].items = (int64_t)items;
        panel->bar[m].compute_ns = /* medians of both need not fit */
            most < panel->step_ns ? most : panel->step_ns;
    }
    picture->members = members;
    picture->panels++;
    return EXIT_OK;
}

/* equal first, finish last, the others as they come. */
static int fill_panels(struct timeline *self, json_t *rows)
{
    static const char *const ends[] = { "equal", NULL, "finish" };
    int code = EXIT_OK;
    json_t *row;
    size_t i;

    for (int pass = 0; pass < 3; ++pass)
        json_array_foreach(rows, i, row)
        {
            const char *rule = plot_word(row, "rule");
            int end = strcmp(rule, "equal") == 0 || strcmp(rule, "finish") == 0;
            int here = ends[pass] ? strcmp(rule, ends[pass]) == 0 : !end;
            int room = ends[pass] ? PICTURE_PANELS_MAX : PICTURE_PANELS_MAX - 1;
            if (!code && here && self->picture.panels < room)
                code = fill_panel(self, row);
        }
    return code;
}

static void fill_names(struct timeline *self)
{
    struct picture *picture = &self->picture;

    for (int m = 0; m < picture->members; ++m) {
        plot_member_name(self->plot, (size_t)m, self->names[m]);
        plot_member_remark(self->plot, (size_t)m, self->remarks[m]);
        picture->device[m] = self->names[m];
        picture->remark[m] = self->remarks[m][0] ? self->remarks[m] : NULL;
    }
    plot_notes_of(self->plot, self->predicted, &self->notes);
    picture->badge = self->notes.badge[0] ? self->notes.badge : NULL;
    for (int i = 0; i < self->notes.count; ++i)
        picture->footer[i] = self->notes.line[i];
}

static int draw(struct timeline *self)
{
    struct picture *picture = &self->picture;
    const struct picture_panel *first = &picture->panel[0],
                               *last = first + picture->panels - 1;
    const char *command =
        json_string_value(json_object_get(self->plot->root, "command"));
    char title[PLOT_TEXT], subtitle[PLOT_TEXT], from[SCALE_TEXT],
        to[SCALE_TEXT], count[32], steps[64] = "";
    int compared =
        strcmp(first->rule, "equal") == 0 && strcmp(last->rule, "finish") == 0;

    scale_say_time(from, first->step_ns);
    scale_say_time(to, last->step_ns);
    snprintf(title, sizeof title, "One batch, %d device%s: %s%s%s",
             picture->members, picture->members == 1 ? "" : "s",
             compared ? from : "a step of ", compared ? " becomes " : "", to);
    if (!self->predicted && self->steps > 0)
        snprintf(steps, sizeof steps, "; medians of %.0f steps", self->steps);
    snprintf(subtitle, sizeof subtitle, "%s items a step%s; hdp_bench %.16s%s",
             picture_count(count, (int64_t)fmin(self->items, 9e18)),
             self->predicted ? ", as the plan predicts it" : steps,
             command ? command : "?",
             self->predicted ? ", nothing was run" : "");
    picture->title = title;
    picture->subtitle = subtitle;
    picture->unit = "items";
    if (picture_write(self->plot->out, picture))
        return EXIT_OK;
    return failure_own(self->plot->failure, EXIT_ENVIRONMENT, HDP_ERR_SYSTEM,
                       "the picture of %.128s cannot be written",
                       self->plot->name);
}

int plot_timeline(struct plot *plot)
{
    json_t *rows = json_object_get(plot->root, "results");
    struct timeline *self = calloc(1, sizeof *self);
    int code = EXIT_OK;

    if (!self)
        return failure_no_memory(plot->failure);
    self->plot = plot;
    self->predicted = json_array_size(rows) == 0;
    if (self->predicted)
        rows = json_object_get(plot->root, "plans");
    if (json_array_size(rows) > 0)
        code = fill_panels(self, rows);
    else
        code = fill_panel(self, json_object_get(plot->root, "plan"));
    if (!code && !self->picture.panels)
        code = plot_refuse(plot, "no rule to draw");
    if (!code) {
        fill_names(self);
        code = draw(self);
    }
    free(self);
    return code;
}
