/* What is there, or what a specification describes: every adapter looks, the
 * topology keeps what was found and why the rest was not. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/options.h"
#include "base/text.h"
#include "core/spec.h"
#include "internal.h"
#include "json/json.h"

static hdp_status look_around(hdp_topology *topology,
                              const struct hdpi_log *log)
{
    const struct hdpi_device_ops *const *adapter = hdpi_device_adapters();
    for (; *adapter; adapter++)
        HDPI_RETURN_IF((*adapter)->enumerate(topology, NULL, 0, log));
    return HDP_OK;
}

static hdp_status look_at(hdp_topology *topology, const struct hdpi_spec *spec,
                          const struct hdpi_log *log)
{
    if (spec->machine[0])
        return hdpi_fail(HDP_ERR_UNSUPPORTED,
                         "machine \"@%s\": described machines come in a later "
                         "version; a specification like sim:0/item=10us works",
                         spec->machine);
    for (int32_t i = 0; i < spec->count; i++) {
        const struct hdpi_device_ops *adapter =
            hdpi_device_adapter(spec->asks[i].kind);
        HDPI_RETURN_IF(adapter->enumerate(topology, &spec->asks[i], 1, log));
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
    hdpi_log(log, HDPI_LOG_INFO, "discover: %" PRId32 " devices",
             topology->info.device_count);
    for (const char *line = topology->notes; line && *line;) {
        size_t length = strcspn(line, "\n");
        hdpi_log(log, HDPI_LOG_INFO, "discover: %.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static hdp_status read_options(hdp_discover_options *own,
                               const hdp_discover_options *given)
{
    HDPI_RETURN_IF(
        hdpi_options_read(own, sizeof *own, given, "hdp_discover_options"));
    if (own->mask || own->order)
        return hdpi_fail(HDP_ERR_UNSUPPORTED,
                         "%s: explaining a visibility mask comes in a later "
                         "version",
                         own->mask ? "mask" : "order");
    return HDP_OK;
}

static hdp_status discover(hdp_topology **out, const hdp_context *context,
                           const hdp_discover_options *options)
{
    const struct hdpi_log *log = &context->log;
    hdp_topology *topology = NULL;
    struct hdpi_spec spec = { 0 };
    hdp_status status;
    HDPI_TRY(hdpi_topology_new(&topology));
    if (options->machine)
        HDPI_TRY(hdpi_spec_parse(&spec, options->machine));
    if (options->machine && !spec.automatic)
        HDPI_TRY(look_at(topology, &spec, log));
    else
        HDPI_TRY(look_around(topology, log));
    put_in_order(topology);
    hdpi_spec_name_devices(topology);
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
    HDPI_RETURN_IF(read_options(&own, options));
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
    HDPI_RETURN_IF(check_index(index, topology->info.device_count, "index"));
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
    return hdpi_fail(HDP_ERR_UNSUPPORTED,
                     "links between devices are found in a later version");
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
