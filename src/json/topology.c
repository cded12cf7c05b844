/* Topologies. What was asked of a device is written in the grammar of device
 * specifications and read by its one parser. */
#include <string.h>
#include "base/mem.h"
#include "base/text.h"
#include "core/spec.h"
#include "core/visibility.h"
#include "json/reader.h"
#include "json/writer.h"

static const char schema[] = "hdp.topology";

enum { SPEC_ROOM = 2048, NOTE_ROOM = 1024, MASK_MAX = 4096 };

/* ---- writing ------------------------------------------------------------- */

static void write_dtypes(struct hdpi_json *json, const char *key, uint32_t bits)
{
    hdpi_json_open_array(json, key);
    for (int32_t i = 0; i < hdpi_dtype_names.count; i++)
        if (bits >> i & 1)
            hdpi_json_name(json, NULL, &hdpi_dtype_names, i);
    hdpi_json_close(json);
}

static void write_capability(struct hdpi_json *json, const hdp_device *info)
{
    hdpi_json_int(json, "sms", info->sm_count);
    hdpi_json_int(json, "threads", info->thread_count);
    hdpi_json_int(json, "memory_bytes", info->memory_bytes);
    hdpi_json_int(json, "free_bytes", info->free_bytes);
    hdpi_json_int(json, "partition_sms", info->partition_sms);
    hdpi_json_int(json, "compute_major", info->compute_major);
    hdpi_json_int(json, "compute_minor", info->compute_minor);
    hdpi_json_bool(json, "runnable", info->runnable);
    hdpi_json_bool(json, "display", info->display);
    write_dtypes(json, "native_dtypes", info->native_dtypes);
    write_dtypes(json, "slow_dtypes", info->slow_dtypes);
}

static void write_device(struct hdpi_json *json,
                         const struct hdpi_device_row *row)
{
    const hdp_device *info = &row->info;
    char asked[SPEC_ROOM];

    hdpi_json_open_object(json, NULL);
    hdpi_json_text(json, "spec", info->spec);
    hdpi_json_text(json, "backend",
                   hdpi_names_text(&hdpi_backend_names, info->kind));
    hdpi_json_int(json, "logical_id", info->logical_id);
    hdpi_json_text(json, "uuid", info->uuid);
    hdpi_json_text(json, "pci", info->pci);
    hdpi_json_text(json, "name", info->name);
    hdpi_json_bool(json, "simulated", info->kind == HDP_SIM);
    if (info->duty_percent < 100)
        hdpi_json_real(json, "slowdown", 100.0 / info->duty_percent);
    else
        hdpi_json_null(json, "slowdown");
    hdpi_json_int(json, "duty_percent", info->duty_percent);
    write_capability(json, info);
    if (row->ask.kind != 0) {
        hdpi_spec_write(asked, sizeof asked, &row->ask);
        hdpi_json_text(json, "ask", asked);
    }
    hdpi_json_close(json);
}

/* Also of a device that is not visible, and so is no row. */
static const char *named_device(const hdp_topology *topology, int32_t entry)
{
    int32_t index = topology->mask[entry].device;

    if (index >= 0)
        return topology->devices[index].info.uuid;
    return topology->mask_uuids && topology->mask_uuids[entry][0]
               ? topology->mask_uuids[entry]
               : NULL;
}

static void write_visibility(struct hdpi_json *json,
                             const hdp_topology *topology)
{
    hdpi_json_open_object(json, "visibility");
    hdpi_json_bool(json, "mask_set", topology->info.mask_set);
    hdpi_json_bool(json, "mask_changed", topology->info.mask_changed);
    hdpi_json_open_array(json, "entries");
    for (int32_t i = 0; i < topology->info.mask_count; i++) {
        const hdp_mask_entry *entry = &topology->mask[i];
        hdpi_json_open_object(json, NULL);
        hdpi_json_text(json, "text", entry->text);
        hdpi_json_name(json, "verdict", &hdpi_verdict_names, entry->verdict);
        hdpi_json_text(json, "device", named_device(topology, i));
        hdpi_json_known(json, "index", entry->device);
        hdpi_json_close(json);
    }
    hdpi_json_close(json);
    hdpi_json_open_array(json, "visible");
    for (int32_t i = 0; i < topology->info.device_count; i++)
        if (topology->devices[i].place >= 0)
            hdpi_json_int(json, NULL, topology->devices[i].place);
    hdpi_json_close(json);
    hdpi_json_text(json, "error", topology->visibility_error);
    hdpi_json_close(json);
}

static int is_known(const struct hdpi_topology_link *link)
{
    return link->kind != 0 || link->peer || link->bytes_per_second != 0;
}

static void write_links(struct hdpi_json *json, const hdp_topology *topology)
{
    int32_t count = topology->links ? topology->info.device_count : 0;

    hdpi_json_open_array(json, "links");
    for (int32_t from = 0; from < count; from++)
        for (int32_t to = 0; to < count; to++) {
            const struct hdpi_topology_link *link =
                &topology->links[(size_t)from * (size_t)count + (size_t)to];
            if (!is_known(link))
                continue;
            hdpi_json_open_object(json, NULL);
            hdpi_json_int(json, "from", from);
            hdpi_json_int(json, "to", to);
            hdpi_json_bool(json, "peer", link->peer);
            hdpi_json_int(json, "kind", link->kind);
            hdpi_json_int(json, "bytes_per_second", link->bytes_per_second);
            hdpi_json_close(json);
        }
    hdpi_json_close(json);
}

static void write_notes(struct hdpi_json *json, const hdp_topology *topology)
{
    char line[NOTE_ROOM];
    const char *at = topology->notes;

    hdpi_json_open_array(json, "notes");
    while (at && *at) {
        size_t length = strcspn(at, "\n");
        hdpi_text_escape(line, sizeof line, at, length);
        hdpi_json_text(json, NULL, line);
        at += length + (at[length] == '\n');
    }
    hdpi_json_close(json);
}

void hdpi_topology_put_json(struct hdpi_json *json,
                            const hdp_topology *topology)
{
    hdpi_json_open_array(json, "devices");
    for (int32_t i = 0; i < topology->info.device_count; i++)
        write_device(json, &topology->devices[i]);
    hdpi_json_close(json);
    write_visibility(json, topology);
    write_links(json, topology);
    write_notes(json, topology);
}

hdp_status hdpi_topology_write_json(char **out, const hdp_topology *topology)
{
    struct hdpi_json *json;

    *out = NULL;
    HDPI_RETURN_IF(hdpi_json_new_document(&json, schema));
    hdpi_topology_put_json(json, topology);
    return hdpi_json_end(json, out);
}

/* ---- reading: devices ---------------------------------------------------- */

static hdp_status take_dtypes(const struct hdpi_json_at *object,
                              const char *key, uint32_t *bits)
{
    const struct hdpi_json_at array = hdpi_json_member(object, key);
    size_t count;

    HDPI_RETURN_IF(hdpi_json_need_array(
        &array, 0, (size_t)hdpi_dtype_names.count, &count));
    for (size_t i = 0; i < count; i++) {
        const struct hdpi_json_at at = hdpi_json_element(&array, i);
        int32_t dtype = 0;
        HDPI_RETURN_IF(hdpi_json_read_name(&at, &hdpi_dtype_names, &dtype));
        *bits |= UINT32_C(1) << dtype;
    }
    return HDP_OK;
}

static hdp_status read_capability(hdp_device *info,
                                  const struct hdpi_json_at *at)
{
    const struct {
        const char *key;
        int32_t low, high;
        int32_t *out;
    } numbers[] = {
        { "logical_id", -1, HDPI_JSON_RANKS_MAX - 1, &info->logical_id },
        { "sms", 0, 1 << 16, &info->sm_count },
        { "threads", 0, 1 << 16, &info->thread_count },
        { "partition_sms", 0, 1 << 16, &info->partition_sms },
        { "duty_percent", 1, 100, &info->duty_percent },
        { "compute_major", 0, 999, &info->compute_major },
        { "compute_minor", 0, 999, &info->compute_minor },
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        HDPI_RETURN_IF(hdpi_json_take_int32(at, numbers[i].key, numbers[i].low,
                                            numbers[i].high, numbers[i].out));
    HDPI_RETURN_IF(hdpi_json_take_int(at, "memory_bytes", 0, INT64_MAX,
                                      &info->memory_bytes));
    HDPI_RETURN_IF(
        hdpi_json_take_int(at, "free_bytes", 0, INT64_MAX, &info->free_bytes));
    HDPI_RETURN_IF(hdpi_json_take_bool(at, "runnable", &info->runnable));
    HDPI_RETURN_IF(hdpi_json_take_bool(at, "display", &info->display));
    HDPI_RETURN_IF(take_dtypes(at, "native_dtypes", &info->native_dtypes));
    return take_dtypes(at, "slow_dtypes", &info->slow_dtypes);
}

/* The grammar's refusal is kept, behind the place in this text. */
static hdp_status place(const struct hdpi_json_at *at, hdp_status status)
{
    char words[sizeof((hdp_error *)NULL)->text];

    if (status != HDP_ERR_ARGUMENT)
        return status;
    hdpi_text_copy(words, sizeof words, hdpi_error()->text);
    return hdpi_json_complain(at, words);
}

/* "ask", and without it "spec": a text written by hand has that alone. */
static hdp_status read_ask(struct hdpi_device_row *row,
                           const struct hdpi_json_at *device)
{
    struct hdpi_json_at at = hdpi_json_member(device, "ask");
    struct hdpi_spec spec = { 0 };
    char text[SPEC_ROOM] = "";
    hdp_status status = HDP_OK;

    HDPI_TRY(hdpi_json_read_text(&at, text, sizeof text));
    if (text[0] == '\0') {
        at = hdpi_json_member(device, "spec");
        HDPI_TRY(hdpi_json_read_text(&at, text, sizeof text));
    }
    if (text[0] == '\0')
        goto out;
    HDPI_TRY(place(&at, hdpi_spec_parse(&spec, text)));
    if (spec.count != 1 || spec.asks[0].kind != row->info.kind)
        HDPI_TRY(hdpi_json_refuse(&at, "one device of the same backend"));
    row->ask = spec.asks[0];
out:
    hdpi_spec_finish(&spec);
    return status;
}

static hdp_status read_device(hdp_topology *topology,
                              const struct hdpi_json_at *at)
{
    const struct hdpi_json_at backend = hdpi_json_member(at, "backend");

    HDPI_RETURN_IF(hdpi_json_need_object(at));
    struct hdpi_device_row *row = hdpi_topology_append(topology);
    if (!row)
        return HDP_ERR_MEMORY;
    hdp_device *info = &row->info;
    info->duty_percent = 100;
    if (!backend.value)
        return hdpi_json_refuse(&backend, "host, cuda or sim");
    HDPI_RETURN_IF(
        hdpi_json_read_name(&backend, &hdpi_backend_names, &info->kind));
    HDPI_RETURN_IF(
        hdpi_json_take_text(at, "spec", info->spec, sizeof info->spec));
    HDPI_RETURN_IF(
        hdpi_json_take_text(at, "uuid", info->uuid, sizeof info->uuid));
    HDPI_RETURN_IF(hdpi_json_take_text(at, "pci", info->pci, sizeof info->pci));
    HDPI_RETURN_IF(
        hdpi_json_take_text(at, "name", info->name, sizeof info->name));
    HDPI_RETURN_IF(read_capability(info, at));
    return read_ask(row, at);
}

/* ---- reading: the rest --------------------------------------------------- */

static hdp_status read_entry(hdp_topology *topology,
                             const struct hdpi_json_at *at)
{
    hdp_mask_entry *entry = &topology->mask[topology->info.mask_count];

    HDPI_RETURN_IF(hdpi_json_need_object(at));
    entry->size = sizeof *entry;
    entry->device = -1;
    HDPI_RETURN_IF(
        hdpi_json_take_text(at, "text", entry->text, sizeof entry->text));
    HDPI_RETURN_IF(hdpi_json_take_name(at, "verdict", &hdpi_verdict_names,
                                       &entry->verdict));
    HDPI_RETURN_IF(hdpi_json_take_int32(
        at, "index", -1, topology->info.device_count - 1, &entry->device));
    HDPI_RETURN_IF(hdpi_json_take_text(
        at, "device", topology->mask_uuids[topology->info.mask_count],
        sizeof *topology->mask_uuids));
    topology->info.mask_count++;
    return HDP_OK;
}

/* One place a GPU, in the order of the rows, or none at all. */
static hdp_status read_visible(hdp_topology *topology,
                               const struct hdpi_json_at *visibility)
{
    const struct hdpi_json_at at = hdpi_json_member(visibility, "visible");
    size_t count, gpus = 0, next = 0;
    int32_t devices = topology->info.device_count;

    for (int32_t i = 0; i < devices; i++)
        gpus += topology->devices[i].info.kind != HDP_HOST;
    HDPI_RETURN_IF(hdpi_json_need_array(&at, 0, gpus, &count));
    if (count != 0 && count != gpus)
        return hdpi_json_complain(&at, "needs a place for every GPU, or none");
    for (int32_t i = 0; count > 0 && i < devices; i++) {
        int64_t place = -1;
        if (topology->devices[i].info.kind == HDP_HOST)
            continue;
        const struct hdpi_json_at element = hdpi_json_element(&at, next++);
        HDPI_RETURN_IF(
            hdpi_json_read_int(&element, 0, HDPI_JSON_RANKS_MAX, &place));
        topology->devices[i].place = (int32_t)place;
    }
    return HDP_OK;
}

static hdp_status read_error(hdp_topology *topology,
                             const struct hdpi_json_at *visibility)
{
    const struct hdpi_json_at at = hdpi_json_member(visibility, "error");
    char name[64] = "";

    HDPI_RETURN_IF(hdpi_json_read_text(&at, name, sizeof name));
    topology->visibility_error = hdpi_visibility_error(name);
    if (at.value && !topology->visibility_error)
        return hdpi_json_refuse(
            &at, "cudaErrorNoDevice, cudaErrorInvalidDevice or null");
    return HDP_OK;
}

static hdp_status read_visibility(hdp_topology *topology,
                                  const struct hdpi_json_at *root)
{
    const struct hdpi_json_at at = hdpi_json_member(root, "visibility");
    const struct hdpi_json_at entries = hdpi_json_member(&at, "entries");
    size_t count;

    if (!at.value)
        return HDP_OK;
    HDPI_RETURN_IF(hdpi_json_need_object(&at));
    HDPI_RETURN_IF(
        hdpi_json_take_bool(&at, "mask_set", &topology->info.mask_set));
    HDPI_RETURN_IF(
        hdpi_json_take_bool(&at, "mask_changed", &topology->info.mask_changed));
    HDPI_RETURN_IF(hdpi_json_need_array(&entries, 0, MASK_MAX, &count));
    HDPI_RETURN_IF(hdpi_grow(&topology->mask, &topology->mask_capacity, count,
                             sizeof *topology->mask, "mask entries"));
    topology->mask_uuids =
        hdpi_alloc(count, sizeof *topology->mask_uuids, "mask entries");
    if (!topology->mask_uuids)
        return HDP_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const struct hdpi_json_at entry = hdpi_json_element(&entries, i);
        HDPI_RETURN_IF(read_entry(topology, &entry));
    }
    HDPI_RETURN_IF(read_visible(topology, &at));
    return read_error(topology, &at);
}

static hdp_status read_link(hdp_topology *topology,
                            const struct hdpi_json_at *at)
{
    int32_t count = topology->info.device_count, from = -1, to = -1;
    struct hdpi_topology_link *link, value = { 0 };

    HDPI_RETURN_IF(hdpi_json_need_object(at));
    HDPI_RETURN_IF(hdpi_json_take_int32(at, "from", 0, count - 1, &from));
    HDPI_RETURN_IF(hdpi_json_take_int32(at, "to", 0, count - 1, &to));
    if (from < 0 || to < 0)
        return hdpi_json_complain(at, "from and to must be given");
    HDPI_RETURN_IF(hdpi_json_take_bool(at, "peer", &value.peer));
    HDPI_RETURN_IF(hdpi_json_take_int32(at, "kind", 0, INT32_MAX, &value.kind));
    HDPI_RETURN_IF(hdpi_json_take_int(at, "bytes_per_second", 0, INT64_MAX,
                                      &value.bytes_per_second));
    link = &topology->links[(size_t)from * (size_t)count + (size_t)to];
    if (is_known(link))
        return hdpi_json_complain(at, "this link was given before");
    *link = value;
    return HDP_OK;
}

static hdp_status read_links(hdp_topology *topology,
                             const struct hdpi_json_at *root)
{
    const struct hdpi_json_at links = hdpi_json_member(root, "links");
    size_t devices = (size_t)topology->info.device_count, count;

    HDPI_RETURN_IF(hdpi_json_need_array(&links, 0, devices * devices, &count));
    if (count == 0)
        return HDP_OK;
    topology->links =
        hdpi_alloc(devices * devices, sizeof *topology->links, "links");
    if (!topology->links)
        return HDP_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const struct hdpi_json_at link = hdpi_json_element(&links, i);
        HDPI_RETURN_IF(read_link(topology, &link));
    }
    return HDP_OK;
}

static hdp_status read_notes(hdp_topology *topology,
                             const struct hdpi_json_at *root)
{
    const struct hdpi_json_at notes = hdpi_json_member(root, "notes");
    size_t count;

    HDPI_RETURN_IF(hdpi_json_need_array(&notes, 0, MASK_MAX, &count));
    for (size_t i = 0; i < count; i++) {
        const struct hdpi_json_at at = hdpi_json_element(&notes, i);
        char line[NOTE_ROOM] = "";
        HDPI_RETURN_IF(hdpi_json_read_text(&at, line, sizeof line));
        char *reason = strstr(line, ": ");
        if (!reason)
            return hdpi_json_refuse(&at, "\"adapter: reason\"");
        *reason = '\0';
        HDPI_RETURN_IF(hdpi_topology_note(topology, line, reason + 2));
    }
    return HDP_OK;
}

static hdp_status read_topology(hdp_topology *topology,
                                const struct hdpi_json_at *root)
{
    const struct hdpi_json_at devices = hdpi_json_member(root, "devices");
    size_t count;

    if (!devices.value)
        return hdpi_json_refuse(&devices, "an array");
    HDPI_RETURN_IF(
        hdpi_json_need_array(&devices, 0, HDPI_SPEC_DEVICES_MAX, &count));
    for (size_t i = 0; i < count; i++) {
        const struct hdpi_json_at at = hdpi_json_element(&devices, i);
        HDPI_RETURN_IF(read_device(topology, &at));
    }
    HDPI_RETURN_IF(read_visibility(topology, root));
    HDPI_RETURN_IF(read_links(topology, root));
    HDPI_RETURN_IF(read_notes(topology, root));
    if (!hdpi_topology_is_valid(topology))
        return hdpi_json_complain(root, "not a topology: its parts disagree");
    return HDP_OK;
}

hdp_status hdpi_topology_read_at(hdp_topology **out,
                                 const struct hdpi_json_at *at)
{
    hdp_status status = HDP_OK;
    hdp_topology *topology = NULL;

    *out = NULL;
    HDPI_TRY(hdpi_json_need_object(at));
    HDPI_TRY(hdpi_topology_new(&topology));
    HDPI_TRY(read_topology(topology, at));
    *out = topology;
    topology = NULL;
out:
    hdpi_topology_free(topology);
    return status;
}

hdp_status hdpi_topology_read_json(hdp_topology **out, const char *text,
                                   size_t length)
{
    hdp_status status = HDP_OK;
    json_t *document = NULL;

    *out = NULL;
    HDPI_TRY(hdpi_json_load(&document, text, length, schema));
    const struct hdpi_json_at root = { .value = document };
    status = hdpi_topology_read_at(out, &root);
out:
    json_decref(document);
    return status;
}
