/* From ids or a specification to a group: the devices are looked for, and what
 * was found becomes the members. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "core/spec.h"
#include "internal.h"

/* The rows that the asks name, in their order. */
static hdp_status find_devices(hdp_topology **out, hdp_context *context,
                               const struct hdpi_ask *asks, int32_t count)
{
    hdp_topology *topology = NULL;
    hdp_status status;

    HDPI_TRY(hdpi_topology_new(&topology));
    HDPI_TRY(hdpi_discover_asked(topology, asks, count, &context->site));
    if (topology->info.device_count == 0) {
        status = hdpi_fail(HDP_ERR_NOT_FOUND, "no device");
        goto out;
    }
    hdpi_spec_name_devices(topology);
    assert(hdpi_topology_is_valid(topology));
    *out = topology;
    topology = NULL;
out:
    hdpi_topology_free(topology);
    return status;
}

static hdp_status create_from_asks(hdp_group **out, hdp_context *context,
                                   const struct hdpi_ask *asks, int32_t count,
                                   const hdp_group_options *options)
{
    hdp_topology *topology = NULL;
    hdp_status status;

    HDPI_TRY(find_devices(&topology, context, asks, count));
    HDPI_TRY(hdpi_group_make(out, context, topology, options));
out:
    hdpi_topology_free(topology);
    return status;
}

/* ---- by ids ---------------------------------------------------------------- */

static hdp_status check_ids(const int32_t *ids, int32_t count)
{
    int32_t i, j;

    if (!ids || count < 1 || count > HDPI_SPEC_DEVICES_MAX)
        return hdpi_fail(HDP_ERR_ARGUMENT, "%s",
                         !ids        ? "ids is NULL"
                         : count < 1 ? "the list of ids is empty"
                                     : "the list of ids is longer than 4096");
    for (i = 0; i < count; ++i) {
        if (ids[i] < 0)
            return hdpi_fail(HDP_ERR_ARGUMENT, "ids[%d] is %d", (int)i,
                             (int)ids[i]);
        for (j = 0; j < i; ++j)
            if (ids[j] == ids[i])
                return hdpi_fail(HDP_ERR_ARGUMENT,
                                 "ids[%d] repeats ids[%d]: %d", (int)i, (int)j,
                                 (int)ids[i]);
    }
    return HDP_OK;
}

hdp_status hdp_group_create(hdp_group **out, hdp_context *context,
                            const int32_t *ids, int32_t count,
                            const hdp_group_options *options)
{
    struct hdpi_ask *asks = NULL;
    hdp_status status;
    int32_t i;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_TRY(hdpi_context_check(context));
    HDPI_TRY(check_ids(ids, count));
    asks = hdpi_alloc((size_t)count, sizeof *asks, "list of devices");
    if (!asks) {
        status = HDP_ERR_MEMORY;
        goto out;
    }
    for (i = 0; i < count; ++i) {
        asks[i].kind = HDP_CUDA;
        asks[i].logical_id = ids[i];
        asks[i].position = -1;
        asks[i].margin_bytes = -1;
    }
    HDPI_TRY(create_from_asks(out, context, asks, count, options));
out:
    free(asks);
    return status;
}

/* ---- by specification ------------------------------------------------------ */

/* Leaves what this build can run and nobody else has for himself. */
static void leave_out(hdp_topology *topology, const struct hdpi_log *log)
{
    int32_t kept = 0;

    for (int32_t i = 0; i < topology->info.device_count; ++i) {
        struct hdpi_device_row *row = &topology->devices[i];
        if (!row->barred[0]) {
            if (kept != i)
                topology->devices[kept] = *row;
            kept++;
            continue;
        }
        hdpi_log(log, HDP_LOG_WARN, "auto: %s (%s) is left out: %s",
                 row->info.spec, row->info.name, row->barred);
    }
    topology->info.device_count = kept;
}

/* `auto`: every GPU this build can run, else the host with all its cores. */
static hdp_status create_automatic(hdp_group **out, hdp_context *context,
                                   const hdp_group_options *options)
{
    struct hdpi_ask ask = { 0 };
    hdp_topology *topology = NULL;
    const char *notes;
    hdp_status status;

    HDPI_TRY(hdpi_topology_new(&topology));
    HDPI_TRY(hdpi_device_adapter(HDP_CUDA)->enumerate(topology, NULL, 0,
                                                      &context->site));
    hdpi_spec_name_devices(topology);
    leave_out(topology, &context->log);
    if (topology->info.device_count > 0) {
        HDPI_TRY(hdpi_group_make(out, context, topology, options));
        goto out;
    }
    notes = topology->notes ? topology->notes : "no reason known";
    hdpi_log(&context->log, HDP_LOG_INFO, "auto: no GPU (%.*s); the host does",
             (int)strcspn(notes, "\n"), notes);
    ask.kind = HDP_HOST;
    ask.margin_bytes = -1;
    HDPI_TRY(create_from_asks(out, context, &ask, 1, options));
out:
    hdpi_topology_free(topology);
    return status;
}

static hdp_status create_from_machine(hdp_group **out, hdp_context *context,
                                      const char *reference,
                                      const hdp_group_options *options)
{
    hdp_topology *topology = NULL;
    hdp_status status;

    HDPI_TRY(hdpi_topology_new(&topology));
    HDPI_TRY(hdpi_machine_members(topology, reference));
    if (topology->info.device_count == 0) {
        status = hdpi_fail(HDP_ERR_NOT_FOUND, "@%s: no device", reference);
        goto out;
    }
    hdpi_spec_name_devices(topology);
    HDPI_TRY(hdpi_group_make(out, context, topology, options));
out:
    hdpi_topology_free(topology);
    return status;
}

/* The caller never saw that text: an error in it says where it stands. */
static hdp_status parse_variable(struct hdpi_spec *out, const char *text)
{
    hdp_status status = hdpi_spec_parse(out, text);

    if (status == HDP_ERR_ARGUMENT)
        hdpi_error_behind(hdpi_variables[HDPI_DEVICES]);
    return status;
}

hdp_status hdp_group_create_spec(hdp_group **out, hdp_context *context,
                                 const char *spec,
                                 const hdp_group_options *options)
{
    struct hdpi_spec parsed = { 0 };
    hdp_status status;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_TRY(hdpi_context_check(context));
    if (!spec) {
        status = hdpi_fail(HDP_ERR_ARGUMENT, "spec is NULL");
        goto out;
    }
    HDPI_TRY(hdpi_spec_parse(&parsed, spec));
    if (parsed.automatic && context->variables[HDPI_DEVICES]) {
        hdpi_spec_finish(&parsed);
        memset(&parsed, 0, sizeof parsed);
        HDPI_TRY(parse_variable(&parsed, context->variables[HDPI_DEVICES]));
    }
    if (parsed.machine[0])
        status = create_from_machine(out, context, parsed.machine, options);
    else if (parsed.automatic)
        status = create_automatic(out, context, options);
    else
        status =
            create_from_asks(out, context, parsed.asks, parsed.count, options);
out:
    hdpi_spec_finish(&parsed);
    return status;
}
