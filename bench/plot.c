/* Which picture a document asks for, and what is missing where it cannot be
 * drawn. */
#include "plot.h"

#include <string.h>

#include "plot_parts.h"

static json_t *at(json_t *root, const char *section, const char *key)
{
    return json_object_get(json_object_get(root, section), key);
}

static int has_timeline(json_t *root)
{
    return json_array_size(json_object_get(root, "results")) > 0 ||
           json_is_array(at(root, "plan", "rank_ns"));
}

static int has_rates(json_t *root)
{
    return json_array_size(at(root, "profile", "members")) > 0;
}

static int has_scaling(json_t *root)
{
    return json_array_size(at(root, "scaling", "step_ns")) > 0;
}

static int has_busbw(json_t *root)
{
    return json_array_size(json_object_get(root, "reduce")) > 0;
}

static int has_shares(json_t *root)
{
    return json_array_size(at(root, "steps", "step_ns")) > 0;
}

static const struct kind {
    const char *name, *section;
    int (*has)(json_t *root);
    int (*draw)(struct plot *plot);
} kinds[PLOT_KINDS] = {
    [PLOT_TIMELINE] = { "timeline", "results or plan", has_timeline,
                        plot_timeline },
    [PLOT_RATES] = { "rates", "profile", has_rates, plot_rates },
    [PLOT_SCALING] = { "scaling", "scaling", has_scaling, plot_scaling },
    [PLOT_BUSBW] = { "busbw", "reduce", has_busbw, plot_busbw },
    [PLOT_SHARES] = { "shares", "steps", has_shares, plot_shares },
};

const char *plot_kind_name(int32_t kind)
{
    return kinds[kind].name;
}

int plot_can(json_t *root, int32_t kind)
{
    return kinds[kind].has(root);
}

int32_t plot_best_kind(json_t *root)
{
    static const int32_t order[] = { PLOT_SCALING, PLOT_TIMELINE, PLOT_RATES };
    int several = json_array_size(json_object_get(root, "plans")) > 1;

    if (has_shares(root))
        return PLOT_SHARES;
    if (has_busbw(root))
        return PLOT_BUSBW;
    if (json_object_get(root, "results") || several)
        return has_timeline(root) ? PLOT_TIMELINE : -1;
    for (int i = 0; i < 3; ++i)
        if (plot_can(root, order[i]))
            return order[i];
    return -1;
}

/* "rates, scaling" */
static void list_kinds(json_t *root, char *out, size_t size)
{
    size_t used = 0;

    out[0] = 0;
    for (int32_t kind = 0; kind < PLOT_KINDS; ++kind)
        if (plot_can(root, kind))
            used += (size_t)snprintf(out + used, size - used, "%s%s",
                                     used ? ", " : "", kinds[kind].name);
}

int plot_draw(FILE *out, json_t *root, int32_t kind, const char *name,
              struct failure *failure)
{
    struct plot plot = {
        .root = root, .name = name, .failure = failure, .out = out
    };
    const char *command = json_string_value(json_object_get(root, "command"));
    char others[64];

    list_kinds(root, others, sizeof others);
    if (kind < 0)
        kind = plot_best_kind(root);
    if (kind < 0)
        return plot_refuse(&plot,
                           "a document of '%.16s' without anything to draw: no "
                           "steps, reduce, results, plan, scaling or profile",
                           command ? command : "?");
    if (!plot_can(root, kind))
        return plot_refuse(&plot,
                           "it has no section \"%s\", which %s draws; this "
                           "document can be drawn as %s",
                           kinds[kind].section, kinds[kind].name,
                           others[0] ? others : "nothing");
    return kinds[kind].draw(&plot);
}
