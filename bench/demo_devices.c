/* What the demo runs on: every GPU that this build can run, in the fastest type
 * that all of them have; one GPU works with the host's cores beside it; without
 * one two halves of the host do. What is left out is said, and why. */
#include <stdlib.h>
#include <string.h>

#include "demo.h"

/* Two halves of any machine; that the second is slowed is said everywhere. */
static const char pair[] = "host:0/threads=1+host:1/threads=1/duty=50";

/* The GPUs found, and of each why the demo does without it. */
struct found {
    hdp_device *devices;
    char (*reasons)[192]; /* empty: it takes part */
    int32_t count;
};

static int look(struct bench *bench, struct found *out)
{
    hdp_topology *topology = NULL;
    hdp_topology_info info;

    hdp_options_init(&info, sizeof info);
    int code =
        library_try(bench, hdp_discover(&topology, bench->context, NULL));
    if (!code)
        code = library_try(bench, hdp_topology_get(&info, topology));
    size_t room = (size_t)info.device_count + 1;
    out->devices = calloc(room, sizeof *out->devices);
    out->reasons = calloc(room, sizeof *out->reasons);
    if (!code && (!out->devices || !out->reasons))
        code = library_no_memory(bench);
    for (int32_t i = 0; !code && i < info.device_count; ++i) {
        hdp_device *device = &out->devices[out->count];
        hdp_options_init(device, sizeof *device);
        code = library_try(bench, hdp_topology_device(device, topology, i));
        if (device->kind != HDP_CUDA)
            continue;
        if (!device->runnable)
            snprintf(out->reasons[out->count], sizeof *out->reasons,
                     "this build has no code for compute capability %d.%d",
                     (int)device->compute_major, (int)device->compute_minor);
        ++out->count;
    }
    hdp_topology_destroy(topology);
    return code;
}

/* The GPUs that take part, joined by +; returns how many. */
static int join(const struct found *found, char *out, size_t size)
{
    size_t used = 0;
    int count = 0;

    out[0] = '\0';
    for (int32_t i = 0; i < found->count; ++i) {
        size_t length = strlen(found->devices[i].spec);
        if (found->reasons[i][0] || count == PICTURE_MEMBERS_MAX ||
            used + length + 2 > size)
            continue;
        used += (size_t)snprintf(out + used, size - used, "%s%s",
                                 count ? "+" : "", found->devices[i].spec);
        ++count;
    }
    return count;
}

/* Whether the library's line about a failure is about that device. */
static int is_about(const hdp_error *error, const hdp_device *device)
{
    size_t length = strlen(device->spec);
    const char *at = strstr(error->text, device->spec);

    return at && !(at[length] >= '0' && at[length] <= '9');
}

/* Somebody else has it: the others do without. 0: it was something else. */
static int leave_out_busy(struct found *found)
{
    hdp_error error;

    hdp_options_init(&error, sizeof error);
    hdp_error_get(&error);
    for (int32_t i = 0; error.status == HDP_ERR_BUSY && i < found->count; ++i)
        if (!found->reasons[i][0] && is_about(&error, &found->devices[i])) {
            snprintf(found->reasons[i], sizeof *found->reasons,
                     "another process has it");
            return 1;
        }
    return 0;
}

static int open_group(struct demo *demo, struct found *found)
{
    struct bench *bench = demo->bench;
    char spec[OPTIONS_SPEC_MAX];
    hdp_status status;

    do {
        demo->gpus = join(found, spec, sizeof spec - sizeof "+host:0");
        if (demo->gpus == 0)
            memcpy(spec, pair, sizeof pair);
        else if (demo->gpus == 1)
            strcat(spec, "+host:0");
        status = library_create(bench, spec);
    } while (status != HDP_OK && leave_out_busy(found));
    int code = library_try(bench, status);
    return code ? code : library_describe(bench);
}

/* ---- the type ------------------------------------------------------------ */

/* The members that have it slowly or not at all, by name. */
static int list_without(const struct bench *bench, int32_t dtype, int slow,
                        char *out, size_t size)
{
    char label[160];
    size_t used = 0;
    int count = 0;

    out[0] = '\0';
    for (int32_t m = 0; m < bench->members; ++m) {
        const hdp_device *device = &bench->devices[m];
        uint32_t bit = 1u << dtype;
        if (device->native_dtypes & bit ||
            ((device->slow_dtypes & bit) != 0) != slow)
            continue;
        if (used < size)
            used += (size_t)snprintf(
                out + used, size - used, "%s%s", count ? ", " : "",
                library_label(device, label, sizeof label));
        ++count;
    }
    return count;
}

/* 16 bits are the faster ones, and of those bf16 needs no care for its range. */
static void choose_dtype(struct demo *demo)
{
    static const int32_t wanted[] = { HDP_BF16, HDP_F16, HDP_F32 };
    struct bench *bench = demo->bench;
    json_t *json = json_object(), *reasons = json_array();
    int all_gpus = demo->gpus == bench->members;
    char names[512];
    int32_t dtype = HDP_F32;

    for (int i = 0; all_gpus && i < 3; ++i) {
        const char *name = options_dtype_name(dtype = wanted[i]);
        int lack = list_without(bench, dtype, 0, names, sizeof names);
        if (lack && dtype == HDP_BF16)
            document_warn(&bench->document, "dtype", "%s lack%s %s", names,
                          lack > 1 ? "" : "s", name);
        if (lack)
            json_array_append_new(
                reasons,
                json_sprintf("%s lack%s %s", names, lack > 1 ? "" : "s", name));
        int slow = list_without(bench, dtype, 1, names, sizeof names);
        if (slow)
            json_array_append_new(
                reasons, json_sprintf("%s is slow on %s", name, names));
        if (lack + slow == 0)
            break;
    }
    bench->options.dtype = dtype - 1;
    json_object_set_new(json, "chosen", json_string(options_dtype_name(dtype)));
    json_object_set_new(json, "reasons", reasons);
    document_set(&bench->document, "dtype", json);
}

/* ---- what is told -------------------------------------------------------- */

static void tell_type(struct demo *demo, FILE *out)
{
    const json_t *json = json_object_get(demo->bench->document.root, "dtype");
    const json_t *reasons = json_object_get(json, "reasons");

    if (demo->gpus == 0)
        return;
    fprintf(out, "type      %s",
            json_string_value(json_object_get(json, "chosen")));
    if (demo->gpus < demo->bench->members)
        fputs(", which the host's cores have", out);
    for (size_t i = 0; i < json_array_size(reasons); ++i)
        fprintf(out, "%s%s", i ? ";\n            " : ": ",
                json_string_value(json_array_get(reasons, i)));
    fputs("\n", out);
}

static void tell_absent(struct bench *bench)
{
    const json_t *libraries =
        json_object_get(library_runtime(bench), "libraries");
    const char *note =
        document_text(json_object_get(libraries, "cuda"), "note");

    fprintf(bench->document.text, "GPUs      %s\n", *note ? note : "none");
}

static void tell(struct demo *demo, const struct found *found)
{
    struct bench *bench = demo->bench;
    FILE *out = bench->document.text;
    char text[128], label[160];

    if (found->count == 0)
        tell_absent(bench);
    for (int32_t m = 0; m < bench->members; ++m) {
        const hdp_device *device = &bench->devices[m];
        const char *slow = library_slowdown(device, text, sizeof text);
        fprintf(out, "%s %-26s%s\n", m ? "         " : "devices  ",
                device->spec, slow ? slow : device->name);
    }
    for (int32_t i = 0; i < found->count; ++i) {
        if (!found->reasons[i][0])
            continue;
        library_label(&found->devices[i], label, sizeof label);
        fprintf(out, "left out  %s: %s\n", label, found->reasons[i]);
        document_warn(&bench->document, "left_out", "%s is left out: %s", label,
                      found->reasons[i]);
    }
    tell_type(demo, out);
}

const char *demo_count(int count, char text[16])
{
    static const char *const words[] = { "no",    "one",   "two",
                                         "three", "four",  "five",
                                         "six",   "seven", "eight" };

    if (count >= 0 && count < (int)(sizeof words / sizeof *words))
        return words[count];
    snprintf(text, 16, "%d", count);
    return text;
}

int demo_devices(struct demo *demo)
{
    struct bench *bench = demo->bench;
    struct found found = { 0 };
    char count[16];
    int code = look(bench, &found);

    if (!code)
        code = open_group(demo, &found);
    if (!code) {
        fprintf(bench->document.text, "hdp %s: one batch on %s%s devices\n\n",
                hdp_version(), demo_count(bench->members, count),
                demo->gpus ? "" : " unequal");
        choose_dtype(demo);
        tell(demo, &found);
    }
    free(found.devices);
    free(found.reasons);
    return code;
}
