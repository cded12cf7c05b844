/* What is there, or what a specification describes: every adapter looks, the
 * topology keeps what was found and why the rest was not. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/options.h"
#include "base/text.h"
#include "core/spec.h"
#include "core/visibility.h"
#include "internal.h"
#include "json/json.h"

static hdp_status look_around(hdp_topology *topology,
                              const struct hdpi_site *site)
{
    const struct hdpi_device_ops *const *adapter = hdpi_device_adapters();
    for (; *adapter; adapter++)
        HDPI_RETURN_IF((*adapter)->enumerate(topology, NULL, 0, site));
    return HDP_OK;
}

/* Neighbours of one kind are asked for together: host members share the cores
 * out among themselves. */
hdp_status hdpi_discover_asked(hdp_topology *topology,
                               const struct hdpi_ask *asks, int32_t count,
                               const struct hdpi_site *site)
{
    for (int32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && asks[end].kind == asks[i].kind; ++end)
            continue;
        HDPI_RETURN_IF(hdpi_device_adapter(asks[i].kind)
                           ->enumerate(topology, &asks[i], end - i, site));
    }
    return HDP_OK;
}

static hdp_status look_at(hdp_topology *topology, const struct hdpi_spec *spec,
                          const struct hdpi_site *site)
{
    if (spec->machine[0])
        return hdpi_machine_list(topology, spec->machine);
    return hdpi_discover_asked(topology, spec->asks, spec->count, site);
}

/* ---- the ways between devices ---------------------------------------------- */

static hdp_status find_links(hdp_topology *topology,
                             const struct hdpi_site *site)
{
    const struct hdpi_device_ops *ops = hdpi_device_adapter(HDP_CUDA);
    size_t count = (size_t)topology->info.device_count;
    const struct hdpi_device_row *rows = topology->devices;
    int32_t gpus = 0;

    for (size_t i = 0; i < count; i++)
        gpus += rows[i].info.kind == HDP_CUDA;
    if (gpus < 2 || topology->links)
        return HDP_OK;
    topology->links =
        hdpi_alloc(count * count, sizeof *topology->links, "links");
    if (!topology->links)
        return HDP_ERR_MEMORY;
    for (size_t i = 0; i < count * count; i++) {
        size_t from = i / count, to = i % count;
        if (from != to && rows[from].info.kind == HDP_CUDA &&
            rows[to].info.kind == HDP_CUDA)
            HDPI_RETURN_IF(
                ops->link(&topology->links[i], &rows[from], &rows[to], site));
    }
    return HDP_OK;
}

/* Hosts first, then by logical id; parts of one GPU as they were asked for. */
static int compare(const void *a, const void *b)
{
    const struct hdpi_device_row *x = a, *y = b;
    if (x->info.kind != y->info.kind)
        return x->info.kind < y->info.kind ? -1 : 1;
    if (x->info.logical_id != y->info.logical_id)
        return x->info.logical_id < y->info.logical_id ? -1 : 1;
    return (x->ask.position > y->ask.position) -
           (x->ask.position < y->ask.position);
}

static void put_in_order(hdp_topology *topology)
{
    if (topology->info.device_count > 1)
        qsort(topology->devices, (size_t)topology->info.device_count,
              sizeof *topology->devices, compare);
}

static void tell(const hdp_topology *topology, const struct hdpi_log *log)
{
    hdpi_log(log, HDP_LOG_INFO, "discover: %" PRId32 " devices",
             topology->info.device_count);
    for (const char *line = topology->notes; line && *line;) {
        size_t length = strcspn(line, "\n");
        hdpi_log(log, HDP_LOG_INFO, "discover: %.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

/* ---- what mask and order let through --------------------------------------- */

struct view {
    const char *mask, *order; /* NULL: not set */
    struct hdpi_device_row *gpus;
    int32_t hosts, gpu_count;
};

/* Hosts stand first and no mask reaches them. */
static void find_gpus(struct view *view, hdp_topology *topology)
{
    int32_t count = topology->info.device_count;

    view->hosts = 0;
    while (view->hosts < count &&
           topology->devices[view->hosts].info.kind == HDP_HOST)
        view->hosts++;
    view->gpus = count > 0 ? topology->devices + view->hosts : NULL;
    view->gpu_count = count - view->hosts;
}

/* CUDA's own choice is the fastest first; like ones keep their places. */
static int compare_speed(const void *a, const void *b)
{
    const struct hdpi_device_row *x = a, *y = b;

    if (x->info.kind != y->info.kind)
        return x->info.kind < y->info.kind ? -1 : 1;
    if (x->info.kind == HDP_SIM && x->ask.item_ns != y->ask.item_ns)
        return x->ask.item_ns < y->ask.item_ns ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static hdp_status resolve(struct hdpi_visibility *out, const struct view *view)
{
    size_t count = (size_t)view->gpu_count;
    const char **uuids = hdpi_alloc(count, sizeof *uuids, "uuids");
    hdp_status status = HDP_ERR_MEMORY;

    if (!uuids)
        return status;
    for (size_t i = 0; i < count; i++)
        uuids[i] = view->gpus[i].info.uuid;
    status = hdpi_visibility_resolve(out, view->mask, view->order, uuids,
                                     view->gpu_count);
    free(uuids);
    return status;
}

/* The entries go over to the topology and point at its rows to be. */
static hdp_status take_entries(hdp_topology *topology, const struct view *view,
                               struct hdpi_visibility *seen)
{
    size_t count = (size_t)seen->entry_count;
    int32_t next = view->hosts;

    topology->mask_uuids =
        hdpi_alloc(count, sizeof *topology->mask_uuids, "mask entries");
    if (!topology->mask_uuids)
        return HDP_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        hdp_mask_entry *entry = &seen->entries[i];
        if (entry->device < 0)
            continue;
        memcpy(topology->mask_uuids[i], view->gpus[entry->device].info.uuid,
               sizeof *topology->mask_uuids);
        entry->device = seen->error ? -1 : next++;
    }
    topology->mask = seen->entries;
    topology->mask_capacity = seen->entry_capacity;
    topology->info.mask_count = seen->entry_count;
    topology->info.mask_set = seen->mask_set;
    topology->visibility_error = seen->error;
    seen->entries = NULL;
    return HDP_OK;
}

static hdp_status keep_visible(hdp_topology *topology, const struct view *view,
                               const struct hdpi_visibility *seen)
{
    size_t count = (size_t)seen->visible_count;
    struct hdpi_device_row *kept = hdpi_alloc(count, sizeof *kept, "devices");

    if (!kept)
        return HDP_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        kept[i] = view->gpus[seen->visible[i]];
        kept[i].info.logical_id = (int32_t)i;
    }
    if (count > 0)
        memcpy(view->gpus, kept, count * sizeof *kept);
    topology->info.device_count = view->hosts + seen->visible_count;
    free(kept);
    return HDP_OK;
}

/* The links of the rows that are left; `before` devices had some. */
static hdp_status keep_links(hdp_topology *topology, const struct view *view,
                             size_t before)
{
    size_t count = (size_t)topology->info.device_count;
    struct hdpi_topology_link *kept;

    if (!topology->links)
        return HDP_OK;
    kept = hdpi_alloc(count * count, sizeof *kept, "links");
    if (!kept)
        return HDP_ERR_MEMORY;
    for (size_t i = 0; i < count * count; i++) {
        size_t from = i / count, to = i % count, hosts = (size_t)view->hosts;
        if (from >= hosts)
            from = hosts + (size_t)topology->devices[from].place;
        if (to >= hosts)
            to = hosts + (size_t)topology->devices[to].place;
        kept[i] = topology->links[from * before + to];
    }
    free(topology->links);
    topology->links = kept;
    return HDP_OK;
}

/* Leaves the GPUs that a process with this mask and order would see, numbered
 * as it would number them. Each keeps the spec that it had. */
static hdp_status look_through(hdp_topology *topology, struct view *view)
{
    struct hdpi_visibility seen = { 0 };
    hdp_status status;

    for (int32_t i = 0; i < view->gpu_count; i++)
        view->gpus[i].place = i;
    if (view->gpu_count > 1 &&
        hdpi_visibility_order(view->order) == HDPI_ORDER_FASTEST)
        qsort(view->gpus, (size_t)view->gpu_count, sizeof *view->gpus,
              compare_speed);
    HDPI_TRY(resolve(&seen, view));
    HDPI_TRY(take_entries(topology, view, &seen));
    HDPI_TRY(keep_visible(topology, view, &seen));
    status = keep_links(topology, view,
                        (size_t)view->hosts + (size_t)view->gpu_count);
out:
    hdpi_visibility_finish(&seen);
    return status;
}

/* A described machine is seen by a process that has just what the options say;
 * this one by this process, whose driver has obeyed its own mask already. */
static hdp_status apply_mask(hdp_topology *topology, const hdp_context *context,
                             const hdp_discover_options *own, int described)
{
    struct view view = { .mask = own->mask, .order = own->order };
    int asked = own->mask || own->order;

    find_gpus(&view, topology);
    if (!described) {
        if (!view.mask)
            view.mask = context->variables[HDPI_CUDA_MASK];
        if (!view.order)
            view.order = context->variables[HDPI_CUDA_ORDER];
        if (!asked) {
            hdpi_mask_warn_order(topology, context);
            return hdpi_mask_look(topology, context);
        }
        topology->info.mask_set = view.mask != NULL;
    }
    /* a GPU of this process that was named has its number already */
    if (!asked && (topology->driver || view.gpu_count == 0))
        return HDP_OK;
    return look_through(topology, &view);
}

/* ---- the verb -------------------------------------------------------------- */

static hdp_status discover(hdp_topology **out, const hdp_context *context,
                           const hdp_discover_options *options)
{
    const struct hdpi_log *log = &context->log;
    hdp_topology *topology = NULL;
    struct hdpi_spec spec = { 0 };
    int described = options->machine != NULL;
    hdp_status status;
    HDPI_TRY(hdpi_topology_new(&topology));
    if (described)
        HDPI_TRY(hdpi_spec_parse(&spec, options->machine));
    described = described && !spec.automatic;
    if (described)
        HDPI_TRY(look_at(topology, &spec, &context->site));
    else
        HDPI_TRY(look_around(topology, &context->site));
    put_in_order(topology);
    hdpi_spec_name_devices(topology);
    HDPI_TRY(find_links(topology, &context->site));
    HDPI_TRY(apply_mask(topology, context, options, described));
    assert(hdpi_topology_is_valid(topology));
    tell(topology, log);
    *out = topology;
    topology = NULL;
out:
    hdpi_spec_finish(&spec);
    hdpi_topology_free(topology);
    return status;
}

hdp_status hdp_discover(hdp_topology **out, hdp_context *context,
                        const hdp_discover_options *options)
{
    hdp_discover_options own;
    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_RETURN_IF(hdpi_context_check(context));
    HDPI_RETURN_IF(
        hdpi_options_read(&own, sizeof own, options, "hdp_discover_options"));
    return discover(out, context, &own);
}

/* ---- the topology's door ------------------------------------------------- */

static hdp_status check(const hdp_topology *topology)
{
    return hdpi_object_check(topology, HDPI_TOPOLOGY, "topology");
}

static hdp_status check_index(int32_t index, int32_t count, const char *name)
{
    if (index < 0)
        return hdpi_fail(HDP_ERR_ARGUMENT, "%s is %" PRId32, name, index);
    if (index >= count)
        return hdpi_fail(HDP_ERR_NOT_FOUND,
                         "%s is %" PRId32 ", but there are %" PRId32, name,
                         index, count);
    return HDP_OK;
}

/* Who passes a physical number on learns which ones there are. */
static hdp_status check_device(const hdp_topology *topology, int32_t index)
{
    int32_t count = topology->info.device_count, first = 0;

    while (first < count && topology->devices[first].info.kind == HDP_HOST)
        first++;
    if (index < count || first == count)
        return check_index(index, count, "index");
    return hdpi_fail(HDP_ERR_NOT_FOUND,
                     "index is %" PRId32 ", but there are %" PRId32
                     " devices (GPUs: logical ids %" PRId32 " to %" PRId32 ")",
                     index, count, topology->devices[first].info.logical_id,
                     topology->devices[count - 1].info.logical_id);
}

hdp_status hdp_topology_get(hdp_topology_info *out,
                            const hdp_topology *topology)
{
    HDPI_RETURN_IF(check(topology));
    return hdpi_options_write(out, &topology->info, sizeof topology->info,
                              "hdp_topology_info");
}

hdp_status hdp_topology_device(hdp_device *out, const hdp_topology *topology,
                               int32_t index)
{
    HDPI_RETURN_IF(check(topology));
    HDPI_RETURN_IF(check_device(topology, index));
    const hdp_device *info = &topology->devices[index].info;
    return hdpi_options_write(out, info, sizeof *info, "hdp_device");
}

hdp_status hdp_topology_mask(hdp_mask_entry *out, const hdp_topology *topology,
                             int32_t index)
{
    HDPI_RETURN_IF(check(topology));
    HDPI_RETURN_IF(check_index(index, topology->info.mask_count, "index"));
    const hdp_mask_entry *entry = &topology->mask[index];
    return hdpi_options_write(out, entry, sizeof *entry, "hdp_mask_entry");
}

hdp_status hdp_topology_link(hdp_link *out, const hdp_topology *topology,
                             int32_t from, int32_t to)
{
    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "hdp_link: out is NULL");
    HDPI_RETURN_IF(check(topology));
    HDPI_RETURN_IF(check_index(from, topology->info.device_count, "from"));
    HDPI_RETURN_IF(check_index(to, topology->info.device_count, "to"));
    if (!topology->links)
        return hdpi_fail(HDP_ERR_UNSUPPORTED,
                         "no links are known: there are not two GPUs, or their "
                         "machine's file does not tell");
    const struct hdpi_topology_link *link =
        &topology->links[(size_t)from * (size_t)topology->info.device_count +
                         (size_t)to];
    const hdp_link known = { .size = sizeof known,
                             .peer = link->peer,
                             .kind = link->kind,
                             .bytes_per_second = link->bytes_per_second };
    return hdpi_options_write(out, &known, sizeof known, "hdp_link");
}

hdp_status hdp_topology_to_json(const hdp_topology *topology, char *text,
                                size_t capacity, size_t *needed)
{
    char *json = NULL;
    HDPI_RETURN_IF(check(topology));
    HDPI_RETURN_IF(hdpi_topology_write_json(&json, topology));
    hdp_status status =
        hdpi_text_give(json, strlen(json), text, capacity, needed);
    free(json);
    return status;
}

hdp_status hdp_topology_from_json(hdp_topology **out, const char *text,
                                  size_t length)
{
    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    if (!text)
        return hdpi_fail(HDP_ERR_ARGUMENT, "text is NULL");
    return hdpi_topology_read_json(out, text, length);
}

void hdp_topology_destroy(hdp_topology *topology)
{
    if (hdpi_object_release((struct hdpi_object *)topology, HDPI_TOPOLOGY))
        hdpi_topology_free(topology);
}
