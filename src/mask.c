/* The mask of visible GPUs in its layers: what it was when the process began
 * and when the context was made, what it is now, and which of them the driver
 * has obeyed. The driver read it once; what is visible betrays which. */
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "core/visibility.h"
#include "internal.h"

enum { PLACES_MAX = 1024 }; /* of a mask of numbers: no machine has as many */

struct gpus {
    hdp_topology *topology;
    int32_t first, count; /* of the GPUs among its devices */
    const char *order;
    /* what the driver might have had before its mask: the UUID at each place
     * that the mask shows, "" elsewhere */
    const char *uuids[PLACES_MAX];
};

static int same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : !a && !b;
}

static void find_gpus(struct gpus *gpus)
{
    const hdp_topology *topology = gpus->topology;
    int32_t end = topology->info.device_count, first = 0;

    while (first < end && topology->devices[first].info.kind != HDP_CUDA)
        first++;
    gpus->first = first;
    while (first < end && topology->devices[first].info.kind == HDP_CUDA)
        first++;
    gpus->count = first - gpus->first;
}

static const char *uuid_at(const struct gpus *gpus, int32_t i)
{
    return gpus->topology->devices[gpus->first + i].info.uuid;
}

/* ---- could the driver have obeyed it? -------------------------------------- */

/* The places that a mask of numbers names, with the GPUs that are visible put
 * there in turn. Returns how many places that makes; -1: it names fewer. */
static int32_t place_numbers(struct gpus *gpus,
                             const struct hdpi_visibility *named)
{
    int32_t places = 0;

    if (!named->error && named->visible_count < gpus->count)
        return -1;
    for (int32_t i = 0; i < gpus->count; i++) {
        gpus->uuids[named->visible[i]] = uuid_at(gpus, i);
        if (named->visible[i] >= places)
            places = named->visible[i] + 1;
    }
    return places;
}

static int begins_with_number(const struct hdpi_visibility *named)
{
    return named->entry_count > 0 && named->entries[0].device >= 0;
}

/* Reads the mask against the machine that it would have to be of. *fits 1: it
 * shows just what is visible, and `out` says how. */
static hdp_status explain(struct hdpi_visibility *out, int *fits,
                          struct gpus *gpus, const char *mask)
{
    struct hdpi_visibility named = { 0 };
    hdp_status status;
    int32_t places;

    *fits = 0;
    for (int32_t i = 0; i < PLACES_MAX; i++)
        gpus->uuids[i] = "";
    HDPI_TRY(hdpi_visibility_resolve(&named, mask, gpus->order, gpus->uuids,
                                     PLACES_MAX));
    if (named.error && begins_with_number(&named) && gpus->count == 0) {
        *out = named; /* a repeat, which hides everything */
        memset(&named, 0, sizeof named);
        *fits = 1;
        goto out;
    }
    places =
        begins_with_number(&named) ? place_numbers(gpus, &named) : gpus->count;
    for (int32_t i = 0; i < gpus->count && !begins_with_number(&named); i++)
        gpus->uuids[i] = uuid_at(gpus, i);
    if (places < 0)
        goto out;
    HDPI_TRY(
        hdpi_visibility_resolve(out, mask, gpus->order, gpus->uuids, places));
    *fits = out->visible_count == gpus->count;
    for (int32_t i = 0; *fits && i < gpus->count; i++)
        *fits = same(gpus->uuids[out->visible[i]], uuid_at(gpus, i));
out:
    hdpi_visibility_finish(&named);
    return status;
}

/* ---- which of them it obeyed ----------------------------------------------- */

struct layers {
    const char *now, *context, *start;
    int start_known;
};

static hdp_status could_be(int *fits, struct gpus *gpus, const char *mask)
{
    struct hdpi_visibility seen = { 0 };
    hdp_status status = HDP_OK;

    *fits = 1;
    if (mask)
        status = explain(&seen, fits, gpus, mask);
    hdpi_visibility_finish(&seen);
    return status;
}

/* A program may set the mask before CUDA starts; then all is well. It was set
 * too late where what is visible does not agree with it, and where a context
 * saw another one and nothing visible speaks against that. */
static hdp_status choose(const char **obeyed, int *changed, struct gpus *gpus,
                         const struct layers *layers)
{
    int differ = !same(layers->now, layers->context);
    int fits;

    *changed = 0;
    *obeyed = layers->context;
    if (!differ && (!layers->start_known || same(layers->now, layers->start)))
        return HDP_OK;
    HDPI_RETURN_IF(could_be(&fits, gpus, layers->context));
    if (fits) {
        *changed = differ;
        return HDP_OK;
    }
    *obeyed = layers->now;
    HDPI_RETURN_IF(could_be(&fits, gpus, layers->now));
    if (fits)
        return HDP_OK;
    *changed = 1;
    *obeyed = layers->start_known ? layers->start : layers->context;
    return HDP_OK;
}

/* ---- into the topology ----------------------------------------------------- */

static hdp_status take(struct gpus *gpus, struct hdpi_visibility *seen)
{
    hdp_topology *topology = gpus->topology;
    size_t count = (size_t)seen->entry_count;
    int32_t next = 0;

    topology->mask_uuids =
        hdpi_alloc(count, sizeof *topology->mask_uuids, "mask entries");
    if (!topology->mask_uuids)
        return HDP_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        hdp_mask_entry *entry = &seen->entries[i];
        int shown = entry->verdict == HDP_MASK_ACCEPTED && next < gpus->count;
        entry->device = shown ? gpus->first + next : -1;
        if (shown)
            memcpy(topology->mask_uuids[i], uuid_at(gpus, next++),
                   sizeof *topology->mask_uuids);
    }
    topology->mask = seen->entries;
    topology->mask_capacity = seen->entry_capacity;
    topology->info.mask_count = seen->entry_count;
    topology->info.mask_set = seen->mask_set;
    topology->visibility_error = seen->error;
    seen->entries = NULL;
    return HDP_OK;
}

static void warn(const struct hdpi_log *log, const struct layers *layers,
                 const char *obeyed)
{
    hdpi_log(log, HDP_LOG_WARN,
             "discover: CUDA_VISIBLE_DEVICES changed too late: the driver has "
             "obeyed %s%s%s, now it is %s%s%s",
             obeyed ? "\"" : "", obeyed ? obeyed : "no mask",
             obeyed ? "\"" : "", layers->now ? "\"" : "",
             layers->now ? layers->now : "not set", layers->now ? "\"" : "");
}

hdp_status hdpi_mask_look(hdp_topology *topology, const hdp_context *context)
{
    struct layers layers = { hdpi_variable(HDPI_CUDA_MASK),
                             context->variables[HDPI_CUDA_MASK], NULL, 0 };
    struct gpus gpus = { .topology = topology,
                         .order = context->variables[HDPI_CUDA_ORDER] };
    struct hdpi_visibility seen = { 0 };
    const char *obeyed;
    char *start = NULL;
    hdp_status status;
    int changed, fits;

    topology->info.mask_set = layers.context != NULL;
    if (!topology->driver)
        return HDP_OK;
    find_gpus(&gpus);
    layers.start_known = hdpi_variable_at_start(&start, HDPI_CUDA_MASK);
    layers.start = start;
    HDPI_TRY(choose(&obeyed, &changed, &gpus, &layers));
    topology->info.mask_changed = changed;
    topology->info.mask_set = obeyed != NULL;
    if (changed)
        warn(&context->log, &layers, obeyed);
    if (!obeyed)
        goto out;
    HDPI_TRY(explain(&seen, &fits, &gpus, obeyed));
    if (fits)
        status = take(&gpus, &seen);
out:
    hdpi_visibility_finish(&seen);
    free(start);
    return status;
}

/* CUDA numbers the fastest first, the vendor's tools by slot. */
void hdpi_mask_warn_order(const hdp_topology *topology,
                          const hdp_context *context)
{
    const hdp_device *first = NULL;

    for (int32_t i = 0; i < topology->info.device_count; i++) {
        const hdp_device *info = &topology->devices[i].info;
        if (info->kind != HDP_CUDA)
            continue;
        if (!first)
            first = info;
        if (strcmp(first->name, info->name) == 0 ||
            context->variables[HDPI_CUDA_ORDER])
            continue;
        hdpi_log(&context->log, HDP_LOG_WARN,
                 "discover: the GPUs differ and CUDA_DEVICE_ORDER is not set, "
                 "so their numbers are CUDA's, fastest first, and need not be "
                 "those of nvidia-smi; UUIDs and addresses are the same");
        return;
    }
}
