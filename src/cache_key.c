/* Keys. A name alone would make two cards of one kind share their figures, an
 * index would hand one card's figures to the next; so a device is known by its
 * uuid, and whatever else may have changed since stands beside it. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/hash.h"
#include "base/text.h"
#include "cache_key.h"
#include "core/spec_keys.h"
#include "json/names.h"
#include "sample.h"

enum { VALUE_ROOM = 640 };

struct lines {
    char *text;
    size_t capacity, used;
    int cut; /* 1: something did not fit */
};

/* One line whatever the value holds: names come from files and drivers. */
static void put(struct lines *lines, const char *name, const char *format, ...)
    HDPI_PRINTF(3, 4);

static void put(struct lines *lines, const char *name, const char *format, ...)
{
    char value[VALUE_ROOM], line[VALUE_ROOM];
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    if (length < 0 || length >= (int)sizeof value ||
        !hdpi_text_escape(line, sizeof line, value, (size_t)length)) {
        lines->cut = 1;
        return;
    }
    size_t room = lines->capacity - lines->used;
    length = snprintf(lines->text + lines->used, room, "%s=%s\n", name, line);
    if (length < 0 || (size_t)length >= room)
        lines->cut = 1;
    else
        lines->used += (size_t)length;
}

/* ---- the device ---------------------------------------------------------- */

/* A simulated device without a uuid of its own got one made of its index: it
 * is then known by its whole model. */
static int is_unnamed(const struct hdpi_device_row *row)
{
    char made[sizeof row->info.uuid];

    (void)snprintf(made, sizeof made, "SIM-%d", (int)row->info.logical_id);
    return row->info.kind == HDP_SIM && strcmp(row->info.uuid, made) == 0;
}

static const char *put_device(struct lines *lines,
                              const struct hdpi_device_row *row)
{
    const hdp_device *info = &row->info;
    char model[VALUE_ROOM];

    if (!info->uuid[0])
        return "it has no uuid";
    if (!is_unnamed(row)) {
        put(lines, "device", "%s %s", hdpi_spec_kind_name(info->kind),
            info->uuid);
    } else {
        if (row->model)
            return "its machine's file gives it no uuid";
        hdpi_spec_write(model, sizeof model, &row->ask);
        if (strlen(model) + HDPI_NAME_MAX + 32 > sizeof model)
            return "its keys are too long"; /* one may have been left out */
        put(lines, "device", "%s", model);
    }
    put(lines, "part", "%d multiprocessors, %d threads, %d %%",
        (int)info->partition_sms, (int)info->thread_count,
        (int)info->duty_percent);
    return NULL;
}

/* ---- the question -------------------------------------------------------- */

static void put_question(struct lines *lines, const hdp_group *group,
                         int32_t member, const struct hdpi_cache_ask *ask)
{
    const struct hdpi_ask *asked = &group->members[member].device->row.ask;
    const char *compute = hdpi_names_text(&hdpi_dtype_names, asked->compute);
    const char *sums = hdpi_names_text(&hdpi_dtype_names, ask->compute);
    uint64_t sizes = 0;

    put(lines, "probe", "%s", hdpi_names_text(&hdpi_probe_names, ask->probe));
    put(lines, "dtype", "%s", hdpi_names_text(&hdpi_dtype_names, ask->dtype));
    put(lines, "compute", "%s", compute ? compute : "as it is");
    put(lines, "sums", "%s", sums ? sums : "as usual");
    if (ask->probe == HDP_PROBE_GEMM || ask->probe == HDP_PROBE_ALL)
        put(lines, "width", "%d", (int)hdpi_course_width(group));
    for (int32_t i = 0; i < ask->item_count; ++i) /* in whatever order */
        sizes += hdpi_hash_bytes(HDPI_HASH_START, &ask->items[i],
                                 sizeof *ask->items);
    if (ask->item_count)
        put(lines, "sizes", "%d, %016" PRIx64, (int)ask->item_count, sizes);
    else
        put(lines, "sizes", "chosen");
    put(lines, "threads", group->caller_mode ? "caller" : "member");
}

/* ---- its surroundings ---------------------------------------------------- */

static int contend(const hdp_device *a, const hdp_device *b)
{
    if (a->kind != b->kind)
        return 0;
    return a->kind == HDP_HOST || strcmp(a->uuid, b->uuid) == 0;
}

/* Their order does not matter, so their hashes are added. */
static void put_others(struct lines *lines, const hdp_group *group,
                       int32_t member)
{
    const hdp_device *own = &group->members[member].device->row.info;
    uint64_t sum = 0;
    int32_t count = 0;

    for (int32_t m = 0; m < group->member_count; ++m) {
        const struct hdpi_member *other = &group->members[m];
        if (m == member || !contend(own, &other->device->row.info))
            continue;
        sum += hdpi_hash_text(HDPI_HASH_START, other->key);
        ++count;
    }
    if (count)
        put(lines, "beside", "%d, %016" PRIx64, (int)count, sum);
    else
        put(lines, "beside", "nobody");
}

/* What a limit takes from a GPU's clocks; nobody may say it. */
static void put_power(struct lines *lines, const struct hdpi_device *device)
{
    const char *path = device->site ? device->site->nvml_path : NULL;
    hdp_error before = *hdpi_error();
    struct hdpi_gpu_state state;
    struct hdpi_nvml *nvml = NULL;
    int32_t milliwatts = -1;

    if (hdpi_nvml_open(&nvml, path) == HDP_OK &&
        hdpi_nvml_state(&state, nvml, device->row.info.uuid) == HDP_OK)
        milliwatts = state.milliwatts_max;
    hdpi_nvml_close(nvml);
    *hdpi_error() = before;
    if (milliwatts > 0)
        put(lines, "power", "%d mW", (int)milliwatts);
    else
        put(lines, "power", "not known");
}

/* Versions of what lies between a program and its GPU. */
static const char *put_vendor(struct lines *lines, struct hdpi_device *device)
{
    char software[192] = "";
    hdp_error before = *hdpi_error();

    if (device->ops->software(device, software, sizeof software) != HDP_OK) {
        software[0] = '\0';
        *hdpi_error() = before;
    }
    if (!software[0])
        return "the versions of its driver and libraries are not known";
    put(lines, "software", "%s", software);
    put_power(lines, device);
    return NULL;
}

/* What its figures depend on that is no part of it. */
static const char *put_software(struct lines *lines, struct hdpi_device *device)
{
    const struct hdpi_device_row *row = &device->row;
    struct hdpi_library blas;

    memset(&blas, 0, sizeof blas);
    switch (row->info.kind) {
    case HDP_HOST:
        hdpi_host_blas_describe(&blas);
        put(lines, "cores", "%d", (int)hdpi_cores_allowed());
        put(lines, "blas", "%s, %s", blas.path, blas.note);
        return NULL;
    case HDP_SIM:
        put(lines, "driver", "%s",
            row->ask.driver[0] ? row->ask.driver : "none");
        return NULL;
    default:
        return put_vendor(lines, device);
    }
}

const char *hdpi_cache_key(char *out, size_t capacity, const hdp_group *group,
                           int32_t member, const struct hdpi_cache_ask *ask)
{
    const struct hdpi_device_row *row = &group->members[member].device->row;
    struct lines lines = { out, capacity, 0, 0 };
    const char *why;

    out[0] = '\0';
    why = put_device(&lines, row);
    if (!why) {
        put_question(&lines, group, member, ask);
        put_others(&lines, group, member);
        put(&lines, "name", "%s", row->info.name);
        put(&lines, "capability", "%d.%d", (int)row->info.compute_major,
            (int)row->info.compute_minor);
        put(&lines, "multiprocessors", "%d", (int)row->info.sm_count);
        put(&lines, "memory", "%" PRId64, row->info.memory_bytes);
        why = put_software(&lines, group->members[member].device);
        put(&lines, "library", "%s", HDP_VERSION);
    }
    if (!why && lines.cut)
        why = "what it says of itself is too long";
    if (why)
        out[0] = '\0';
    return why;
}

/* ---- two keys ------------------------------------------------------------ */

/* Length of the line at `at`, its end included; 0: there is none. */
static size_t line_at(const char *text, size_t length, size_t at)
{
    const char *end = at < length ? memchr(text + at, '\n', length - at) : NULL;

    if (at >= length)
        return 0;
    return end ? (size_t)(end - (text + at)) + 1 : length - at;
}

/* Where both are alike up to, at the start of a line. */
static size_t alike(int32_t *count, const char *a, size_t a_length,
                    const char *b, size_t b_length)
{
    size_t at = 0;

    for (*count = 0;; ++*count) {
        size_t length = line_at(a, a_length, at);
        if (length == 0 || line_at(b, b_length, at) != length ||
            memcmp(a + at, b + at, length) != 0)
            return at;
        at += length;
    }
}

int32_t hdpi_cache_key_alike(const char *a, size_t a_length, const char *b,
                             size_t b_length)
{
    int32_t count;

    (void)alike(&count, a, a_length, b, b_length);
    return count;
}

/* What stands behind the '=' of a line, without its end. */
static int value_of(const char **out, const char *line, size_t length)
{
    const char *equals = memchr(line, '=', length);
    size_t ended = length > 0 && line[length - 1] == '\n';

    *out = equals ? equals + 1 : line;
    return (int)(length - ended - (size_t)(*out - line));
}

void hdpi_cache_key_why(char *out, size_t capacity, const char *was,
                        size_t was_length, const char *is, size_t is_length)
{
    int32_t count;
    size_t at = alike(&count, was, was_length, is, is_length);
    size_t was_line = line_at(was, was_length, at);
    size_t is_line = line_at(is, is_length, at);
    const char *before, *now;
    int before_length = value_of(&before, was + at, was_line);
    int now_length = value_of(&now, is + at, is_line);
    size_t name = strcspn(is + at, "=\n");

    (void)snprintf(out, capacity, "%.*s was %.*s, is %.*s", (int)name, is + at,
                   before_length, before, now_length, now);
}
