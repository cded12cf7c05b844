/* Questions to the planner. A profile is changed through its text, since that
 * is the public way to one that differs in a single figure. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "change.h"

static const double x16 = 24e9; /* what a PCIe 4.0 slot with 16 lanes brings */

/* ---- the profile, changed ------------------------------------------------ */

static json_t *text_of(const hdp_profile *profile)
{
    size_t needed = 0;
    char *text = NULL;
    json_t *json = NULL;

    if (hdp_profile_to_json(profile, NULL, 0, &needed) != HDP_OK)
        return NULL;
    text = malloc(needed);
    if (text && hdp_profile_to_json(profile, text, needed, NULL) == HDP_OK)
        json = json_loads(text, 0, NULL);
    free(text);
    return json;
}

static void raise_links(json_t *member)
{
    static const char *const names[] = { "in_bytes_per_second",
                                         "out_bytes_per_second",
                                         "reduce_bytes_per_second" };

    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        double rate = json_number_value(json_object_get(member, names[i]));
        if (rate > 0 && rate < x16)
            json_object_set_new(member, names[i], json_real(x16));
    }
}

/* Ranks of one memory share the figure, so all of them get the change. */
static void free_memory(json_t *members, const json_t *member)
{
    json_int_t domain =
        json_integer_value(json_object_get(member, "memory_domain"));
    json_t *other;
    size_t i;

    json_array_foreach(members, i, other)
    {
        json_t *theirs = json_object_get(other, "memory_domain");
        if (other == member ||
            (domain > 0 && domain == json_integer_value(theirs)))
            json_object_set_new(other, "memory_bytes", json_integer(0));
    }
}

static hdp_status changed(hdp_profile **out, const hdp_profile *profile,
                          int32_t rank, int memory)
{
    json_t *json = text_of(profile);
    json_t *members = json_object_get(json, "members");
    json_t *member = json_array_get(members, (size_t)rank);
    char *text = NULL;
    hdp_status status = HDP_ERR_MEMORY;

    *out = NULL;
    if (member && memory)
        free_memory(members, member);
    else if (member)
        raise_links(member);
    if (member)
        text = json_dumps(json, JSON_COMPACT);
    if (text)
        status = hdp_profile_from_json(out, text, strlen(text));
    free(text);
    json_decref(json);
    return status;
}

/* ---- questions ----------------------------------------------------------- */

static hdp_status items_with(int64_t *out, const hdp_profile *profile,
                             int64_t total, const hdp_split_options *options,
                             int32_t rank)
{
    hdp_plan *plan = NULL;
    hdp_plan_info info;
    hdp_status status = hdp_split(&plan, profile, total, options);

    hdp_options_init(&info, sizeof info);
    if (status == HDP_OK)
        status = hdp_plan_get(&info, plan);
    *out = status == HDP_OK ? info.items[rank] : -1;
    hdp_plan_destroy(plan);
    return status;
}

static hdp_status items_changed(int64_t *out, const hdp_profile *profile,
                                int64_t total, const hdp_split_options *options,
                                int32_t rank, int memory)
{
    hdp_profile *other = NULL;
    hdp_status status = changed(&other, profile, rank, memory);

    if (status == HDP_OK)
        status = items_with(out, other, total, options, rank);
    hdp_profile_destroy(other);
    return status;
}

/* Most reduced bytes with which the rank has items, to less than a percent. */
static hdp_status threshold(int64_t *out, const hdp_profile *profile,
                            int64_t total, const hdp_split_options *options,
                            int32_t rank)
{
    hdp_split_options less = *options;
    int64_t works = 0, never = options->reduce_bytes, items;

    less.reduce_bytes = 0;
    hdp_status status = items_with(&items, profile, total, &less, rank);
    *out = -1;
    if (status != HDP_OK || items == 0)
        return status;
    while (status == HDP_OK && never - works > 1 + never / 256) {
        less.reduce_bytes = works + (never - works) / 2;
        status = items_with(&items, profile, total, &less, rank);
        if (items > 0)
            works = less.reduce_bytes;
        else
            never = less.reduce_bytes;
    }
    *out = works > 0 ? works : -1;
    return status;
}

hdp_status change_find(struct change *out, const hdp_profile *profile,
                       int64_t total, const hdp_split_options *options,
                       const hdp_plan *plan, int32_t rank)
{
    hdp_plan_info info;
    hdp_status status;

    *out = (struct change){ -1, -1, -1 };
    hdp_options_init(&info, sizeof info);
    status = hdp_plan_get(&info, plan);
    if (status != HDP_OK || rank < 0 || rank >= info.rank_count)
        return status;
    int64_t items = info.items[rank];
    int32_t bound = info.bound_by[rank];
    if (bound == HDP_BOUND_DTYPE || bound == HDP_BOUND_MAX)
        return HDP_OK;
    status = items_changed(&out->slot_items, profile, total, options, rank, 0);
    if (out->slot_items <= items)
        out->slot_items = -1;
    if (status == HDP_OK && bound == HDP_BOUND_MEMORY) {
        status =
            items_changed(&out->memory_items, profile, total, options, rank, 1);
        if (out->memory_items <= items)
            out->memory_items = -1;
    }
    if (status == HDP_OK && info.state[rank] == HDP_BENCHED &&
        options->reduce_bytes > 0)
        status = threshold(&out->reduce_bytes, profile, total, options, rank);
    return status;
}

/* ---- words --------------------------------------------------------------- */

static void append(char *text, const char *sentence)
{
    size_t length = strlen(text);
    (void)snprintf(text + length, CHANGE_TEXT - length, "%s%s",
                   length > 0 ? "; " : "", sentence);
}

const char *change_say(const struct change *change, int64_t items,
                       char text[CHANGE_TEXT])
{
    char part[CHANGE_TEXT];

    text[0] = '\0';
    if (change->slot_items >= 0) {
        (void)snprintf(part, sizeof part, "in an x16 slot it would %s %lld",
                       items == 0 ? "pay, with" : "get",
                       (long long)change->slot_items);
        append(text, part);
    }
    if (change->reduce_bytes >= 0) {
        (void)snprintf(part, sizeof part,
                       "below %.3g MB of gradients it would pay",
                       (double)change->reduce_bytes / 1e6);
        append(text, part);
    }
    if (change->memory_items >= 0) {
        (void)snprintf(part, sizeof part, "with more memory it would get %lld",
                       (long long)change->memory_items);
        append(text, part);
    }
    return text;
}
