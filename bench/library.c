/* The library's live objects of one run, and what they say about themselves. */
#include <dlfcn.h>
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

/* Each asking starts NVML anew, so one is enough where the text is not huge. */
json_t *library_info(int32_t what)
{
    size_t needed = 16384, room = 0;
    hdp_status status = HDP_ERR_CAPACITY;
    json_t *json = NULL;
    char *text = NULL;

    while (status == HDP_ERR_CAPACITY && needed > room) {
        room = needed + 4096; /* what GPUs do changes meanwhile */
        free(text);
        text = malloc(room);
        status = text ? hdp_info(what, text, room, &needed) : HDP_ERR_MEMORY;
    }
    if (status == HDP_OK)
        json = json_loads(text, 0, NULL);
    free(text);
    return json;
}

static void put_tool(struct bench *bench)
{
    json_t *tool = json_object(), *build = library_info(HDP_INFO_BUILD);

    json_object_set_new(tool, "name", json_string("hdp_bench"));
    json_object_set_new(tool, "version", json_string(hdp_version()));
    json_object_set_new(tool, "build", build ? build : json_null());
    json_object_set_new(tool, "runtime", json_null());
    document_set(&bench->document, "tool", tool);
}

const json_t *library_runtime(struct bench *bench)
{
    json_t *tool = json_object_get(bench->document.root, "tool");

    if (!bench->runtime) {
        bench->runtime = library_info(HDP_INFO_RUNTIME);
        if (!bench->runtime)
            bench->runtime = json_null(); /* not a second time */
        json_object_set(tool, "runtime", bench->runtime);
    }
    return bench->runtime;
}

const char *library_path(const struct bench *bench, const char *name)
{
    const json_t *libraries = json_object_get(bench->runtime, "libraries");

    return json_string_value(
        json_object_get(json_object_get(libraries, name), "path"));
}

/* A copy that the program has is the one that hdp_info() takes. */
static int load_nvml(struct bench *bench)
{
    const char *path = bench->options.nvml, *words;
    void *library =
        path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE) : NULL;

    if (!path || (library && dlsym(library, "nvmlInit_v2")))
        return EXIT_OK;
    words = library ? "has no nvmlInit_v2 and is no NVML" : dlerror();
    return failure_own(&bench->failure, EXIT_ENVIRONMENT, HDP_ERR_UNSUPPORTED,
                       "--nvml %.128s: %s", path, words ? words : "not loaded");
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
    options.cublas_path = bench->options.cublas;
    options.nvml_path = bench->options.nvml;
    options.nccl_path = bench->options.nccl;
    int code = load_nvml(bench);
    if (!code)
        code =
            library_try(bench, hdp_context_create(&bench->context, &options));
    if (!code)
        put_tool(bench);
    return code;
}

int library_gpus_of(struct bench *bench, hdp_group *group,
                    const hdp_device *devices, int32_t members, int products,
                    struct gpu **out)
{
    const struct gpu_spec spec = { .group = group,
                                   .devices = devices,
                                   .members = members,
                                   .products = products,
                                   .driver_path = library_path(bench, "cuda"),
                                   .cublas_path = bench->options.cublas,
                                   .image = bench->image };
    char reason[GPU_REASON];
    hdp_status status = gpu_open(out, &spec, reason);

    if (status == HDP_OK)
        return EXIT_OK;
    return failure_own(&bench->failure, failure_exit_code(status), status, "%s",
                       reason);
}

int library_gpus(struct bench *bench, int products)
{
    if (bench->gpu)
        return EXIT_OK;
    return library_gpus_of(bench, bench->group, bench->devices, bench->members,
                           products, &bench->gpu);
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

hdp_status library_create(struct bench *bench, const char *spec)
{
    hdp_group_options options;

    hdp_options_init(&options, sizeof options);
    options.threads = bench->options.threads;
    options.timeout_ns = bench->options.timeout_ns;
    return hdp_group_create_spec(&bench->group, bench->context, spec, &options);
}

int library_describe(struct bench *bench)
{
    hdp_group_info info;
    json_t *list = json_array();
    int real = 0;

    document_set(&bench->document, "devices", list);
    hdp_options_init(&info, sizeof info);
    int code = library_try(bench, hdp_group_get(&info, bench->group));
    if (code)
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
        real |= device->kind != HDP_SIM;
        json_array_append_new(list, library_device_json(device));
    }
    if (real)
        (void)library_runtime(bench);
    return EXIT_OK;
}

int library_group(struct bench *bench, const char *spec)
{
    if (!spec)
        spec = bench->options.spec[0] ? bench->options.spec : "auto";
    document_set(&bench->document, "devices", json_array());
    int code = library_try(bench, library_create(bench, spec));
    return code ? code : library_describe(bench);
}

int library_work_dtype(struct bench *bench, int32_t kind,
                       const hdp_device *devices, int32_t members, int32_t *out)
{
    int32_t dtype =
        bench->options.dtype < 0 ? HDP_F32 : bench->options.dtype + 1;
    int has = dtype != HDP_F64 && workload_multiplies(kind);

    for (int32_t m = 0; m < members; ++m)
        has &= devices[m].kind == HDP_CUDA;
    *out = dtype;
    if (dtype == HDP_F32 || has)
        return EXIT_OK;
    return failure_usage(&bench->failure, "--dtype", 0,
                         "--dtype %s: the work %s computes in f32%s; other "
                         "types are for --probe gemm",
                         options_dtype_name(dtype), options_work_name(kind),
                         dtype != HDP_F64 && workload_multiplies(kind)
                             ? " on these devices"
                             : "");
}

int library_work(struct bench *bench, struct workload_spec *spec,
                 struct workload **out)
{
    *out = NULL;
    int code = library_work_dtype(bench, spec->kind, bench->devices,
                                  bench->members, &spec->dtype);
    if (!code)
        code = library_gpus(bench, workload_multiplies(spec->kind));
    if (code)
        return code;
    spec->members = bench->members;
    spec->seed = (uint64_t)bench->options.seed;
    spec->blas_path = library_path(bench, "openblas");
    spec->devices = bench->devices;
    spec->gpu = bench->gpu;
    *out = workload_create(spec);
    if (*out)
        return EXIT_OK;
    return failure_own(&bench->failure, EXIT_RUNTIME, HDP_ERR_MEMORY,
                       "out of memory for a work of up to %lld items and "
                       "buckets of %lld bytes",
                       (long long)spec->capacity,
                       (long long)spec->reduce_bytes);
}

/* A second a time: functions return sooner or later, a device that hangs does
 * not. */
static hdp_status abort_group(struct bench *bench)
{
    enum { PATIENCE = 5 };
    int tries = PATIENCE;
    hdp_status status;

    for (int32_t m = 0; m < bench->members; ++m)
        if (bench->devices && bench->devices[m].kind == HDP_CUDA)
            tries = 1;
    do
        status = hdp_group_abort(bench->group);
    while (status == HDP_ERR_TIMEOUT && --tries > 0);
    return status;
}

int library_settle(struct bench *bench)
{
    hdp_error error;
    hdp_status status;

    hdp_options_init(&error, sizeof error);
    if (bench->abandoned)
        return 0;
    if (!bench->group || hdp_group_health(&error, bench->group) == HDP_OK)
        return 1;
    status = abort_group(bench);
    bench->abandoned = status != HDP_OK;
    if (bench->abandoned)
        document_warn(&bench->document, "abandoned",
                      "%s; left behind with its memory, which ends with this "
                      "process",
                      hdp_last_error());
    return !bench->abandoned;
}

void library_end_work(struct bench *bench, struct workload *workload)
{
    if (library_settle(bench))
        workload_destroy(workload);
}

void library_close(struct bench *bench)
{
    if (library_settle(bench))
        gpu_close(bench->gpu);
    hdp_group_destroy(bench->group);
    hdp_context_destroy(bench->context);
    free(bench->devices);
    json_decref(bench->runtime);
    bench->gpu = NULL;
    bench->group = NULL;
    bench->context = NULL;
    bench->devices = NULL;
    bench->runtime = NULL;
}
