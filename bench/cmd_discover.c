/* discover: the devices, every identity they have, and how the mask is read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "table.h"

static const char *const verdicts[] = {
    "accepted",  "out of range", "not a number",
    "repeated",  "ambiguous",    "after the end of the list",
    "other kind"
};
static const char *const verdict_names[] = { "accepted",     "range",
                                             "not_a_number", "repeat",
                                             "ambiguous",    "after_cut",
                                             "other_kind" };

static int known(int32_t verdict)
{
    return verdict >= 0 && verdict <= HDP_MASK_OTHER_KIND;
}

static int show_devices(struct bench *bench, const hdp_topology *topology,
                        int32_t count)
{
    static const char *const titles[] = { "device", "name", "threads", "SMs",
                                          "memory", "free", "note",    NULL };
    json_t *list = json_array();
    struct table table;
    char bytes[24], words[TABLE_CELL_MAX];
    int code = EXIT_OK;

    table_open(&table, "llrrrrl", titles);
    for (int32_t i = 0; !code && i < count; ++i) {
        hdp_device device;
        hdp_options_init(&device, sizeof device);
        code = session_try(bench, hdp_topology_device(&device, topology, i));
        if (code)
            break;
        const char *slow = session_slowdown(&device, words, sizeof words);
        json_array_append_new(list, session_device_json(&device));
        table_cell(&table, "%s", device.spec);
        table_cell(&table, "%.60s", device.name);
        table_cell(&table, "%d", (int)device.thread_count);
        table_cell(&table, "%d", (int)device.sm_count);
        table_cell(&table, "%s",
                   table_bytes(bytes, (double)device.memory_bytes));
        table_cell(&table, "%s", table_bytes(bytes, (double)device.free_bytes));
        table_cell(&table, "%s",
                   slow                      ? slow
                   : device.runnable         ? ""
                   : device.kind == HDP_CUDA ? "this build has no code for it"
                                             : "");
    }
    table_close(&table, bench->document.text);
    document_set(&bench->document, "devices", list);
    return code;
}

static int show_mask(struct bench *bench, const hdp_topology *topology,
                     const hdp_topology_info *info)
{
    const struct options *options = &bench->options;
    const char *mask =
        options->mask ? options->mask : getenv("CUDA_VISIBLE_DEVICES");
    const char *order =
        options->order ? options->order : getenv("CUDA_DEVICE_ORDER");
    FILE *out = bench->document.text;
    json_t *json = json_object(), *entries = json_array();
    json_t *visible = json_array();
    int code = EXIT_OK;

    if (info->mask_set)
        fprintf(out, "\nmask CUDA_VISIBLE_DEVICES='%s':\n", mask ? mask : "");
    for (int32_t i = 0; !code && i < info->mask_count; ++i) {
        hdp_mask_entry entry;
        hdp_device device;
        hdp_options_init(&entry, sizeof entry);
        hdp_options_init(&device, sizeof device);
        code = session_try(bench, hdp_topology_mask(&entry, topology, i));
        if (!code && entry.device >= 0)
            code = session_try(
                bench, hdp_topology_device(&device, topology, entry.device));
        if (code)
            break;
        json_t *row = json_object();
        json_object_set_new(row, "text", document_text_or_null(entry.text));
        json_object_set_new(row, "verdict",
                            json_string(known(entry.verdict)
                                            ? verdict_names[entry.verdict]
                                            : "?"));
        json_object_set_new(
            row, "device",
            document_text_or_null(entry.device >= 0 ? device.uuid : NULL));
        json_array_append_new(entries, row);
        if (entry.device >= 0)
            json_array_append_new(visible, json_integer(device.logical_id));
        fprintf(out, "  '%s': %s%s%s\n", entry.text,
                known(entry.verdict) ? verdicts[entry.verdict] : "?",
                entry.device >= 0 ? ", " : "",
                entry.device >= 0 ? device.spec : "");
    }
    if (info->mask_changed)
        document_warn(&bench->document, "mask_changed",
                      "CUDA_VISIBLE_DEVICES was changed after the driver had "
                      "read it");
    json_object_set_new(json, "mask", document_text_or_null(mask));
    json_object_set_new(json, "order", document_text_or_null(order));
    json_object_set_new(json, "entries", entries);
    json_object_set_new(json, "visible", visible);
    json_object_set_new(json, "error", json_null());
    document_set(&bench->document, "visibility", json);
    return code;
}

static int save(struct bench *bench, const hdp_topology *topology)
{
    const char *path = bench->options.save;
    size_t needed = 0;

    if (!path)
        return EXIT_OK;
    hdp_topology_to_json(topology, NULL, 0, &needed);
    char *text = malloc(needed + 1);
    if (!text)
        return session_no_memory(bench);
    int code = session_try(
        bench, hdp_topology_to_json(topology, text, needed + 1, &needed));
    FILE *out = code ? NULL : fopen(path, "we");
    int written = out && fputs(text, out) >= 0;
    if (out && fclose(out) != 0)
        written = 0;
    if (!code && !written)
        code = failure_own(&bench->failure, EXIT_ENVIRONMENT, HDP_ERR_SYSTEM,
                           "%.128s: %s", path, strerror(errno));
    free(text);
    return code;
}

/* Why there is no GPU, in the driver's own words. */
static void say_absent(struct bench *bench)
{
    json_t *runtime = session_info(HDP_INFO_RUNTIME);
    json_t *libraries = json_object_get(runtime, "libraries");
    json_t *cuda = json_object_get(libraries, "cuda");
    const char *note = json_string_value(json_object_get(cuda, "note"));

    if (note && *note)
        fprintf(bench->document.text, "\nGPUs: %s\n", note);
    json_decref(runtime);
}

int command_discover(struct bench *bench)
{
    hdp_discover_options options;
    hdp_topology *topology = NULL;
    hdp_topology_info info;

    hdp_options_init(&options, sizeof options);
    options.machine = bench->options.machine;
    options.mask = bench->options.mask;
    options.order = bench->options.order;
    hdp_options_init(&info, sizeof info);
    fprintf(bench->document.text, "# hdp_bench %s discover\n\n", hdp_version());
    int code =
        session_try(bench, hdp_discover(&topology, bench->context, &options));
    if (!code)
        code = session_try(bench, hdp_topology_get(&info, topology));
    if (!code)
        code = show_devices(bench, topology, info.device_count);
    if (!code)
        code = show_mask(bench, topology, &info);
    if (!code && !options.machine)
        say_absent(bench);
    if (!code)
        code = save(bench, topology);
    hdp_topology_destroy(topology);
    return code;
}
