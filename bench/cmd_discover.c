/* discover: the devices, every identity they have, and how the mask is read. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "record.h"
#include "table.h"

/* The library's names of verdicts, and what each says to people. */
static const struct {
    const char *name, *words;
} verdicts[] = {
    { "accepted", "accepted" },
    { "range", "no such device; the list ends here" },
    { "not_a_number", "neither a number nor a UUID; the list ends here" },
    { "repeat", "named before, which spoils the whole mask" },
    { "ambiguous", "begins the UUIDs of several; the list ends here" },
    { "after_cut", "after the end of the list" },
    { "other_kind", "a UUID among numbers or the reverse; the list ends here" },
};

const char *discover_verdict(const char *name)
{
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; ++i)
        if (strcmp(verdicts[i].name, name) == 0)
            return verdicts[i].words;
    return name;
}

/* 0 stands for "none" or "not known": a dash says that better. */
static void count_cell(struct table *table, int32_t count)
{
    if (count)
        table_cell(table, "%d", (int)count);
    else
        table_cell(table, "-");
}

static void bytes_cell(struct table *table, int64_t bytes)
{
    char text[24];

    table_cell(table, "%s", bytes ? table_bytes(text, (double)bytes) : "-");
}

/* What is asked for by, and what must not be missed. */
static void say_device(FILE *out, const hdp_device *device)
{
    char words[TABLE_CELL_MAX];
    const char *slow = library_slowdown(device, words, sizeof words);

    fprintf(out, "# device %d: %s", (int)device->logical_id, device->spec);
    if (device->kind == HDP_HOST && device->name[0])
        fprintf(out, ", %s", device->name);
    if (device->partition_sms)
        fprintf(out, ", a partition of %d SMs", (int)device->partition_sms);
    if (device->display)
        fputs(", drives a display", out);
    if (device->kind == HDP_CUDA && !device->runnable)
        fputs("; this build has no code for it", out);
    fprintf(out, "%s%s\n", slow ? "; " : "", slow ? slow : "");
}

/* Titles alone are no table. */
static void tell_table(struct table *table, int32_t rows, FILE *out)
{
    if (rows > 0)
        table_close(table, out);
    else
        free(table->text);
}

/* What a device is, and by which names it can be told from all others. */
static int show_devices(struct bench *bench, const hdp_topology *topology,
                        int32_t count)
{
    static const char *const titles[] = { "id",      "device",  "SMs",
                                          "threads", "compute", "memory",
                                          "free",    NULL };
    static const char *const names[] = { "id", "UUID", "PCI", NULL };
    FILE *out = bench->document.text;
    json_t *list = json_array();
    struct table table, identities;
    char words[TABLE_CELL_MAX];
    int code = EXIT_OK;

    table_open(&table, "rlrrrrr", titles);
    table_open(&identities, "rll", names);
    for (int32_t i = 0; !code && i < count; ++i) {
        hdp_device device;
        hdp_options_init(&device, sizeof device);
        code = library_try(bench, hdp_topology_device(&device, topology, i));
        if (code)
            break;
        json_array_append_new(list, library_device_json(&device));
        say_device(out, &device);
        table_cell(&table, "%d", (int)device.logical_id);
        table_cell(&table, "%s", library_label(&device, words, sizeof words));
        count_cell(&table, device.sm_count);
        count_cell(&table, device.thread_count);
        if (device.compute_major)
            table_cell(&table, "%d.%d", (int)device.compute_major,
                       (int)device.compute_minor);
        else
            table_cell(&table, "-");
        bytes_cell(&table, device.memory_bytes);
        bytes_cell(&table, device.free_bytes);
        table_cell(&identities, "%d", (int)device.logical_id);
        table_cell(&identities, "%s", device.uuid[0] ? device.uuid : "-");
        table_cell(&identities, "%s", device.pci[0] ? device.pci : "-");
    }
    fputs(count ? "\n" : "no device\n", out);
    tell_table(&table, count, out);
    fputs(count ? "\n" : "", out);
    tell_table(&identities, count, out);
    document_set(&bench->document, "devices", list);
    return code;
}

/* ---- links --------------------------------------------------------------- */

static const json_t *link_between(const json_t *links, int32_t from, int32_t to)
{
    for (size_t i = 0; i < json_array_size(links); ++i) {
        const json_t *link = json_array_get(links, i);
        if (json_integer_value(json_object_get(link, "from")) == from &&
            json_integer_value(json_object_get(link, "to")) == to)
            return link;
    }
    return NULL;
}

/* "direct" and "host" where nobody knows a rate. */
static void link_cell(FILE *out, const json_t *link, int rated)
{
    double rate = json_number_value(json_object_get(link, "bytes_per_second"));
    int peer = json_is_true(json_object_get(link, "peer"));
    char text[32] = "-";

    if (link && rate > 0)
        snprintf(text, sizeof text, "%.1f%s", rate / 1e9, peer ? "*" : "");
    else if (link && rated)
        snprintf(text, sizeof text, "?%s", peer ? "*" : "");
    else if (link)
        snprintf(text, sizeof text, "%s", peer ? "direct" : "host");
    fprintf(out, "%8s", text);
}

static int is_rated(const json_t *links)
{
    for (size_t i = 0; i < json_array_size(links); ++i)
        if (json_number_value(json_object_get(json_array_get(links, i),
                                              "bytes_per_second")) > 0)
            return 1;
    return 0;
}

/* Those that a link begins or ends at; hosts have none. */
static int is_linked(const json_t *links, int32_t device)
{
    for (size_t i = 0; i < json_array_size(links); ++i) {
        const json_t *link = json_array_get(links, i);
        if (json_integer_value(json_object_get(link, "from")) == device ||
            json_integer_value(json_object_get(link, "to")) == device)
            return 1;
    }
    return 0;
}

static int id_of(const json_t *devices, int32_t device)
{
    return (int)json_integer_value(
        json_object_get(json_array_get(devices, (size_t)device), "logical_id"));
}

static void tell_links(FILE *out, const json_t *links, const json_t *devices,
                       const int32_t *linked, int count)
{
    int rated = is_rated(links);

    fprintf(out, "\n%s from a row's device to a column's%s\n",
            rated ? "GB/s" : "the way",
            rated ? ", * with peer access"
                  : ": direct, with peer access, or by the host");
    fprintf(out, "%4s", "");
    for (int i = 0; i < count; ++i)
        fprintf(out, "%8d", id_of(devices, linked[i]));
    for (int from = 0; from < count; ++from) {
        fprintf(out, "\n%4d", id_of(devices, linked[from]));
        for (int to = 0; to < count; ++to)
            link_cell(out, link_between(links, linked[from], linked[to]),
                      rated);
    }
    fputc('\n', out);
}

/* One way, from the row's device to the column's. */
static void show_links(struct bench *bench, json_t *topology, int32_t count)
{
    enum { COUNT_MAX = 9 }; /* in 80 columns */
    json_t *links = json_object_get(topology, "links");
    int32_t linked[COUNT_MAX];
    int found = 0;

    if (json_array_size(links) == 0)
        return;
    document_set(&bench->document, "links", json_incref(links));
    for (int32_t i = 0; i < count; ++i)
        if (is_linked(links, i) && found++ < COUNT_MAX)
            linked[found - 1] = i;
    if (found > COUNT_MAX)
        fprintf(bench->document.text, "\nlinks: %zu, which -o json lists\n",
                json_array_size(links));
    else
        tell_links(bench->document.text, links,
                   json_object_get(topology, "devices"), linked, found);
}

/* ---- the mask ------------------------------------------------------------ */

static json_t *entry_json(const json_t *entry)
{
    static const char *const keys[] = { "text", "verdict", "device" };
    json_t *row = json_object();

    for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i)
        json_object_set(row, keys[i], json_object_get(entry, keys[i]));
    return row;
}

static void tell_entry(FILE *out, const json_t *entry)
{
    const char *verdict = json_string_value(json_object_get(entry, "verdict"));
    const char *device = json_string_value(json_object_get(entry, "device"));
    const char *words = verdict ? discover_verdict(verdict) : NULL;

    fprintf(out, "  '%s': %s%s%s\n",
            json_string_value(json_object_get(entry, "text")),
            words ? words : "?", device ? ", " : "", device ? device : "");
}

/* Places in the machine, or the runtime's error. */
static void tell_visible(FILE *out, const json_t *visible, const json_t *error)
{
    size_t i, count = json_array_size(visible);

    if (json_is_string(error))
        fprintf(out, "the process sees no GPU: %s\n", json_string_value(error));
    else if (count > 0) {
        fputs("the process sees, in this order:", out);
        for (i = 0; i < count; ++i)
            fprintf(out, " %lld",
                    (long long)json_integer_value(json_array_get(visible, i)));
        fputs("\n", out);
    }
}

static int order_known(const char *order)
{
    return strcmp(order, "PCI_BUS_ID") == 0 ||
           strcmp(order, "FASTEST_FIRST") == 0;
}

/* What the process would see, as the topology's own JSON says it. */
static void show_mask(struct bench *bench, const json_t *visibility)
{
    const struct options *options = &bench->options;
    const char *mask = options->mask      ? options->mask
                       : options->machine ? NULL
                                          : getenv("CUDA_VISIBLE_DEVICES");
    const char *order = options->order     ? options->order
                        : options->machine ? NULL
                                           : getenv("CUDA_DEVICE_ORDER");
    const json_t *list = json_object_get(visibility, "entries");
    json_t *visible = json_object_get(visibility, "visible");
    json_t *error = json_object_get(visibility, "error");
    FILE *out = bench->document.text;
    json_t *json = json_object(), *entries = json_array();

    fputs(json_array_size(list) > 0 ? "\nthe mask, entry by entry:\n"
          : mask && !*mask          ? "\nthe mask is empty\n"
          : json_array_size(visible) > 0 || json_is_string(error) ||
                  (order && !order_known(order))
              ? "\n"
              : "",
          out);
    for (size_t i = 0; i < json_array_size(list); ++i) {
        json_array_append_new(entries, entry_json(json_array_get(list, i)));
        tell_entry(out, json_array_get(list, i));
    }
    if (order && !order_known(order))
        fputs("the order must be PCI_BUS_ID or FASTEST_FIRST, written exactly "
              "so; with any other text every CUDA call fails\n",
              out);
    tell_visible(out, visible, error);
    if (mask && !json_is_true(json_object_get(visibility, "mask_set")))
        document_warn(&bench->document, "mask_too_long",
                      "the driver takes a mask of %zu bytes as not set",
                      strlen(mask));
    if (json_is_true(json_object_get(visibility, "mask_changed")))
        document_warn(&bench->document, "mask_changed",
                      "CUDA_VISIBLE_DEVICES was changed after the driver had "
                      "read it");
    json_object_set_new(json, "mask", document_text_or_null(mask));
    json_object_set_new(json, "order", document_text_or_null(order));
    json_object_set_new(json, "entries", entries);
    json_object_set(json, "visible", visible);
    json_object_set(json, "error", error);
    document_set(&bench->document, "visibility", json);
}

/* Why there is no GPU, in the driver's own words; which are there and left out
 * by `auto`. */
static void say_absent(struct bench *bench, const json_t *topology)
{
    json_t *libraries = json_object_get(library_runtime(bench), "libraries");
    json_t *cuda = json_object_get(libraries, "cuda");
    const char *note = json_string_value(json_object_get(cuda, "note"));
    const json_t *notes = json_object_get(topology, "notes");

    if (note && *note)
        fprintf(bench->document.text, "\nGPUs: %s\n", note);
    for (size_t i = 0; i < json_array_size(notes); ++i) {
        const char *line = json_string_value(json_array_get(notes, i));
        if (line && strncmp(line, "cuda: cuda:", 11) == 0)
            fprintf(bench->document.text, "left out by auto: %s\n", line + 6);
    }
}

/* A plain path is a file's: it has a '/' or ends in .json, and does not begin
 * as a specification does, which may have '/' inside. */
static int is_path(const char *machine)
{
    static const char *const starts[] = { "@", "sim:", "host:", "cuda:" };
    size_t length = strlen(machine);

    for (size_t i = 0; i < sizeof starts / sizeof *starts; ++i)
        if (strncmp(machine, starts[i], strlen(starts[i])) == 0)
            return 0;
    return strchr(machine, '/') ||
           (length > 5 && strcmp(machine + length - 5, ".json") == 0);
}

/* The library's name of a file: @./FILE or @/FILE. */
static char *machine_reference(const char *machine)
{
    size_t size = strlen(machine) + sizeof "@./";
    char *text = malloc(size);
    int anchored = machine[0] == '/' || strncmp(machine, "./", 2) == 0;

    if (text)
        snprintf(text, size, "%s%s",
                 !is_path(machine) ? ""
                 : anchored        ? "@"
                                   : "@./",
                 machine);
    return text;
}

int command_discover(struct bench *bench)
{
    char *machine = NULL;
    hdp_discover_options options;
    hdp_topology *topology = NULL;
    hdp_topology_info info;
    json_t *json = NULL;
    char *text = NULL;

    hdp_options_init(&options, sizeof options);
    if (bench->options.machine) {
        machine = machine_reference(bench->options.machine);
        if (!machine)
            return library_no_memory(bench);
    }
    options.machine = machine;
    options.mask = bench->options.mask;
    options.order = bench->options.order;
    hdp_options_init(&info, sizeof info);
    fprintf(bench->document.text, "# hdp_bench %s discover\n", hdp_version());
    int code =
        library_try(bench, hdp_discover(&topology, bench->context, &options));
    if (!code)
        code = library_try(bench, hdp_topology_get(&info, topology));
    if (!code)
        code = show_devices(bench, topology, info.device_count);
    if (!code)
        code = record_topology(bench, topology, &text);
    if (!code && !(json = json_loads(text, 0, NULL)))
        code = library_no_memory(bench);
    if (!code) {
        show_links(bench, json, info.device_count);
        show_mask(bench, json_object_get(json, "visibility"));
    }
    if (!code && !options.machine)
        say_absent(bench, json);
    if (!code)
        code = record_machine(bench, text, NULL);
    json_decref(json);
    free(text);
    free(machine);
    hdp_topology_destroy(topology);
    return code;
}
