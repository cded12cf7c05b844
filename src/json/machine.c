/* Machines: a topology and profiles as their own documents, and what goes
 * wrong on each device in the keys of a simulated one. */
#include <string.h>
#include "core/spec_keys.h"
#include "json/reader.h"
#include "json/writer.h"

static const char schema[] = "hdp.machine";
static const char topology_schema[] = "hdp.topology";
static const char profile_schema[] = "hdp.profile";

enum { KEYS_ROOM = 2048 };

/* ---- writing ------------------------------------------------------------- */

static void write_envelope(struct hdpi_json *json, const char *name)
{
    hdpi_json_text(json, "schema", name);
    hdpi_json_int(json, "schema_version", HDPI_JSON_SCHEMA_VERSION);
}

static void write_faults(struct hdpi_json *json,
                         const struct hdpi_machine *machine)
{
    char asked[KEYS_ROOM];

    hdpi_json_open_array(json, "faults");
    for (int32_t i = 0; i < machine->topology->info.device_count; i++) {
        hdpi_spec_write(asked, sizeof asked, &machine->faults[i]);
        const char *keys = strchr(asked, '/'); /* behind "sim:0" */
        if (!keys)
            continue;
        hdpi_json_open_object(json, NULL);
        hdpi_json_int(json, "device", i);
        hdpi_json_text(json, "keys", keys + 1);
        hdpi_json_close(json);
    }
    hdpi_json_close(json);
}

hdp_status hdpi_machine_write_json(char **out,
                                   const struct hdpi_machine *machine)
{
    struct hdpi_json *json;

    *out = NULL;
    HDPI_RETURN_IF(hdpi_json_new_document(&json, schema));
    hdpi_json_text(json, "name", machine->name);
    hdpi_json_text(json, "text", machine->text);
    hdpi_json_open_object(json, "topology");
    write_envelope(json, topology_schema);
    hdpi_topology_put_json(json, machine->topology);
    hdpi_json_close(json);
    hdpi_json_open_array(json, "profiles");
    for (int32_t i = 0; i < machine->profile_count; i++) {
        hdpi_json_open_object(json, NULL);
        write_envelope(json, profile_schema);
        hdpi_profile_put_json(json, machine->profiles[i]);
        hdpi_json_close(json);
    }
    hdpi_json_close(json);
    write_faults(json, machine);
    return hdpi_json_end(json, out);
}

/* ---- reading: faults ----------------------------------------------------- */

/* What is no fault belongs to the device or its profile. */
static int is_fault(const struct hdpi_ask *ask)
{
    return !ask->given_fixed && !ask->given_item && !ask->memory_bytes &&
           ask->margin_bytes < 0 && ask->link_bytes_per_second <= 0 &&
           !ask->sms && !ask->compute && !ask->display && !ask->uuid[0] &&
           !ask->name[0];
}

static hdp_status read_keys(struct hdpi_ask *ask, const struct hdpi_json_at *at)
{
    char text[KEYS_ROOM] = "", words[sizeof((hdp_error *)NULL)->text];
    uint32_t seen = 0;
    size_t start = 0, end;

    HDPI_RETURN_IF(hdpi_json_read_text(at, text, sizeof text));
    for (;;) {
        end = start + strcspn(text + start, "/");
        if (hdpi_spec_read_key(ask, &seen, text, start, end) != HDP_OK) {
            hdpi_text_copy(words, sizeof words, hdpi_error()->text);
            return hdpi_json_complain(at, words);
        }
        if (!is_fault(ask))
            return hdpi_json_complain(
                at, "only noise, seed, drift, ramp, newshape, slow and fail "
                    "go wrong");
        if (text[end] == '\0')
            return HDP_OK;
        start = end + 1;
    }
}

static hdp_status read_fault(struct hdpi_machine *machine,
                             const struct hdpi_json_at *at)
{
    const struct hdpi_json_at device = hdpi_json_member(at, "device");
    const struct hdpi_json_at keys = hdpi_json_member(at, "keys");
    struct hdpi_ask blank = { .kind = HDP_SIM, .margin_bytes = -1 };
    int64_t index = -1;

    HDPI_RETURN_IF(hdpi_json_need_object(at));
    HDPI_RETURN_IF(hdpi_json_read_int(
        &device, 0, machine->topology->info.device_count - 1, &index));
    if (index < 0)
        return hdpi_json_refuse(&device, "the index of a device");
    if (!keys.value)
        return hdpi_json_refuse(&keys, "the keys of a simulated device");
    if (memcmp(&machine->faults[index], &blank, sizeof blank) != 0)
        return hdpi_json_complain(&device, "its faults were given before");
    return read_keys(&machine->faults[index], &keys);
}

static hdp_status read_faults(struct hdpi_machine *machine,
                              const struct hdpi_json_at *root)
{
    const struct hdpi_json_at faults = hdpi_json_member(root, "faults");
    size_t devices = (size_t)machine->topology->info.device_count, count;

    HDPI_RETURN_IF(hdpi_json_need_array(&faults, 0, devices, &count));
    for (size_t i = 0; i < count; i++) {
        const struct hdpi_json_at fault = hdpi_json_element(&faults, i);
        HDPI_RETURN_IF(read_fault(machine, &fault));
    }
    return HDP_OK;
}

/* ---- reading: the whole -------------------------------------------------- */

/* A document inside another may leave its envelope out, not bear a wrong one. */
static hdp_status check_inner(const struct hdpi_json_at *at, const char *name)
{
    if (!hdpi_json_member(at, "schema").value &&
        !hdpi_json_member(at, "schema_version").value)
        return HDP_OK;
    return hdpi_json_need_schema(at, name);
}

static hdp_status read_profiles(struct hdpi_machine *machine,
                                const struct hdpi_json_at *root)
{
    const struct hdpi_json_at profiles = hdpi_json_member(root, "profiles");
    size_t count;

    HDPI_RETURN_IF(
        hdpi_json_need_array(&profiles, 0, HDPI_MACHINE_PROFILES_MAX, &count));
    HDPI_RETURN_IF(hdpi_machine_reserve(machine, count));
    for (size_t i = 0; i < count; i++) {
        const struct hdpi_json_at at = hdpi_json_element(&profiles, i);
        HDPI_RETURN_IF(hdpi_json_need_object(&at));
        HDPI_RETURN_IF(check_inner(&at, profile_schema));
        HDPI_RETURN_IF(hdpi_profile_read_at(&machine->profiles[i], &at));
        machine->profile_count++;
    }
    return HDP_OK;
}

static hdp_status read_machine(struct hdpi_machine **out,
                               const struct hdpi_json_at *root)
{
    const struct hdpi_json_at inner = hdpi_json_member(root, "topology");
    hdp_topology *topology = NULL;
    struct hdpi_machine *machine = NULL;
    hdp_status status = HDP_OK;

    HDPI_TRY(hdpi_json_need_object(&inner));
    HDPI_TRY(check_inner(&inner, topology_schema));
    HDPI_TRY(hdpi_topology_read_at(&topology, &inner));
    HDPI_TRY(hdpi_machine_new(&machine, topology));
    HDPI_TRY(
        hdpi_json_take_text(root, "name", machine->name, sizeof machine->name));
    HDPI_TRY(
        hdpi_json_take_text(root, "text", machine->text, sizeof machine->text));
    HDPI_TRY(read_profiles(machine, root));
    HDPI_TRY(read_faults(machine, root));
    HDPI_TRY(hdpi_machine_seal(machine));
    *out = machine;
    machine = NULL;
out:
    hdpi_machine_free(machine);
    return status;
}

static hdp_status read_bare(struct hdpi_machine **out,
                            const struct hdpi_json_at *root)
{
    hdp_topology *topology = NULL;
    struct hdpi_machine *machine = NULL;
    hdp_status status = HDP_OK;

    HDPI_TRY(hdpi_json_need_schema(root, topology_schema));
    HDPI_TRY(hdpi_topology_read_at(&topology, root));
    HDPI_TRY(hdpi_machine_new(&machine, topology));
    HDPI_TRY(hdpi_machine_seal(machine));
    *out = machine;
    machine = NULL;
out:
    hdpi_machine_free(machine);
    return status;
}

hdp_status hdpi_machine_read_json(struct hdpi_machine **out, const char *text,
                                  size_t length)
{
    hdp_status status = HDP_OK;
    json_t *document = NULL;

    *out = NULL;
    HDPI_TRY(hdpi_json_parse(&document, text, length));
    const struct hdpi_json_at root = { .value = document };
    const struct hdpi_json_at name = hdpi_json_member(&root, "schema");
    const char *given = json_string_value(name.value);
    if (given && strcmp(given, topology_schema) == 0) {
        status = read_bare(out, &root);
        goto out;
    }
    HDPI_TRY(hdpi_json_need_schema(&root, schema));
    status = read_machine(out, &root);
out:
    json_decref(document);
    return status;
}
