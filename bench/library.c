/* The library's live objects of one run, and what they say about themselves. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

int64_t library_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int library_try(struct bench *bench, hdp_status status)
{
    return failure_library(&bench->failure, status);
}

int library_no_memory(struct bench *bench)
{
    return failure_no_memory(&bench->failure);
}

/* By how often -v was given. */
static int32_t log_level(int verbose)
{
    static const int32_t levels[] = { HDP_LOG_WARN, HDP_LOG_INFO,
                                      HDP_LOG_TRACE };
    return levels[verbose > 2 ? 2 : verbose];
}

/* What a cache did is part of the result, so it is kept at any level. */
static void log_line(int32_t level, const char *line, void *user)
{
    struct notes *notes = user;

    if (strncmp(line, "cache: ", 7) == 0)
        notes_cache(notes, line + 7);
    if (level <= log_level(notes->verbose))
        notes_log(notes, level, line);
}

json_t *library_info(int32_t what)
{
    size_t needed = 0;
    json_t *json = NULL;

    hdp_info(what, NULL, 0, &needed);
    if (!needed)
        return NULL;
    char *text = malloc(needed + 1);
    if (text && hdp_info(what, text, needed + 1, &needed) == HDP_OK)
        json = json_loads(text, 0, NULL);
    free(text);
    return json;
}

static void put_tool(struct bench *bench)
{
    json_t *tool = json_object(), *build = library_info(HDP_INFO_BUILD);
    json_t *runtime = library_info(HDP_INFO_RUNTIME);

    json_object_set_new(tool, "name", json_string("hdp_bench"));
    json_object_set_new(tool, "version", json_string(hdp_version()));
    json_object_set_new(tool, "build", build ? build : json_null());
    json_object_set_new(tool, "runtime", runtime ? runtime : json_null());
    document_set(&bench->document, "tool", tool);
}

int library_open(struct bench *bench)
{
    hdp_context_options options;

    hdp_options_init(&options, sizeof options);
    options.log = log_line;
    options.log_user = &bench->notes;
    options.log_level = log_level(bench->options.verbose);
    if (bench->options.cache && options.log_level < HDP_LOG_INFO)
        options.log_level = HDP_LOG_INFO;
    options.timeout_ns = bench->options.timeout_ns;
    int code =
        library_try(bench, hdp_context_create(&bench->context, &options));
    if (!code)
        put_tool(bench);
    return code;
}

/* Where hdp_info names an OpenBLAS, the workloads use that very copy. */
static void find_blas(struct bench *bench)
{
    json_t *runtime = library_info(HDP_INFO_RUNTIME);
    json_t *libraries = json_object_get(runtime, "libraries");
    json_t *blas = json_object_get(libraries, "openblas");
    const char *path = json_string_value(json_object_get(blas, "path"));

    free(bench->blas_path);
    bench->blas_path = path ? strdup(path) : NULL;
    json_decref(runtime);
}

const char *library_slowdown(const hdp_device *device, char *text, size_t size)
{
    if (device->kind == HDP_SIM)
        snprintf(text, size, "simulated: times come from a model");
    else if (device->duty_percent > 0 && device->duty_percent < 100)
        snprintf(text, size, "declared: works %d %% of the time, then waits",
                 (int)device->duty_percent);
    else
        return NULL;
    return text;
}

static const char *backend_name(int32_t kind)
{
    return kind == HDP_HOST ? "host" : kind == HDP_CUDA ? "cuda" : "sim";
}

json_t *library_device_json(const hdp_device *device)
{
    char text[128];
    json_t *json = json_object();

    json_object_set_new(json, "spec", document_text_or_null(device->spec));
    json_object_set_new(json, "logical_id", json_integer(device->logical_id));
    json_object_set_new(json, "uuid", document_text_or_null(device->uuid));
    json_object_set_new(
        json, "pci",
        document_text_or_null(device->pci[0] ? device->pci : NULL));
    json_object_set_new(json, "name", document_text_or_null(device->name));
    json_object_set_new(json, "sms",
                        device->sm_count ? json_integer(device->sm_count)
                                         : json_null());
    json_object_set_new(json, "partition_sms",
                        device->partition_sms
                            ? json_integer(device->partition_sms)
                            : json_null());
    json_object_set_new(json, "threads",
                        device->thread_count
                            ? json_integer(device->thread_count)
                            : json_null());
    json_object_set_new(json, "memory_bytes",
                        json_integer(device->memory_bytes));
    json_object_set_new(json, "free_bytes", json_integer(device->free_bytes));
    json_object_set_new(json, "backend",
                        json_string(backend_name(device->kind)));
    json_object_set_new(json, "simulated",
                        json_boolean(device->kind == HDP_SIM));
    json_object_set_new(
        json, "slowdown",
        document_text_or_null(library_slowdown(device, text, sizeof text)));
    return json;
}

/* A simulated device of a specification has no name but its own text. */
static int has_name(const hdp_device *device)
{
    return device->kind != HDP_HOST && device->name[0] &&
           !(device->kind == HDP_SIM && strcmp(device->name, "simulated") == 0);
}

const char *library_label(const hdp_device *device, char *text, size_t size)
{
    int spec = (int)(device->kind == HDP_SIM ? strcspn(device->spec, "/")
                                             : strlen(device->spec));

    if (!has_name(device))
        return device->spec;
    snprintf(text, size, "%.*s %s", spec, device->spec, device->name);
    return text;
}

void library_say_devices(struct bench *bench)
{
    char text[128];

    for (int32_t m = 0; m < bench->members; ++m) {
        const hdp_device *device = &bench->devices[m];
        const char *slow = library_slowdown(device, text, sizeof text);
        const char *name =
            device->kind == HDP_HOST || has_name(device) ? device->name : "";
        fprintf(bench->document.text, "# member %d: %s, %s%s%s\n", (int)m,
                device->spec, name, slow && *name ? "; " : "",
                slow ? slow : "");
    }
}

int library_group(struct bench *bench, const char *spec)
{
    hdp_group_options options;
    hdp_group_info info;
    json_t *list = json_array();

    if (!spec)
        spec = bench->options.spec[0] ? bench->options.spec : "auto";
    hdp_options_init(&options, sizeof options);
    options.threads = bench->options.threads;
    options.timeout_ns = bench->options.timeout_ns;
    document_set(&bench->document, "devices", list);
    int code =
        library_try(bench, hdp_group_create_spec(&bench->group, bench->context,
                                                 spec, &options));
    if (code)
        return code;
    hdp_options_init(&info, sizeof info);
    if ((code = library_try(bench, hdp_group_get(&info, bench->group))))
        return code;
    bench->members = info.member_count;
    bench->devices = calloc((size_t)info.member_count, sizeof *bench->devices);
    if (!bench->devices)
        return library_no_memory(bench);
    for (int32_t m = 0; m < bench->members; ++m) {
        hdp_device *device = &bench->devices[m];
        hdp_options_init(device, sizeof *device);
        code = library_try(bench, hdp_group_device(device, bench->group, m));
        if (code)
            return code;
        bench->simulated |= device->kind == HDP_SIM;
        json_array_append_new(list, library_device_json(device));
    }
    find_blas(bench);
    return EXIT_OK;
}

int library_settle(struct bench *bench)
{
    enum { PATIENCE = 5 }; /* an abort waits for a second */
    hdp_error error;

    hdp_options_init(&error, sizeof error);
    if (!bench->group || hdp_group_health(&error, bench->group) == HDP_OK)
        return 1;
    for (int tries = 0; tries < PATIENCE; ++tries)
        if (hdp_group_abort(bench->group) == HDP_OK)
            return 1;
    return 0;
}

void library_end_work(struct bench *bench, struct workload *workload)
{
    if (library_settle(bench))
        workload_destroy(workload);
}

void library_close(struct bench *bench)
{
    hdp_group_destroy(bench->group);
    hdp_context_destroy(bench->context);
    free(bench->devices);
    free(bench->blas_path);
    bench->group = NULL;
    bench->context = NULL;
    bench->devices = NULL;
    bench->blas_path = NULL;
}
