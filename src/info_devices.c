/* The GPUs of this process as they are now: the adapter lists them, and the
 * management library, where there is one, tells what they do and why they are
 * slow. Neither makes a context. */
#include <string.h>
#include "core/spec.h"
#include "info.h"
#include "internal.h"
#include "json/writer.h"

/* Thousandths, as a number with a fraction. */
static void put_milli(struct hdpi_json *json, const char *key, int32_t value)
{
    if (value < 0)
        hdpi_json_null(json, key);
    else
        hdpi_json_real(json, key, (double)value / 1000);
}

static void put_yes(struct hdpi_json *json, const char *key, int32_t value)
{
    if (value < 0)
        hdpi_json_null(json, key);
    else
        hdpi_json_bool(json, key, value);
}

static void put_clocks(struct hdpi_json *json,
                       const struct hdpi_gpu_state *state)
{
    hdpi_json_known(json, "clock_mhz", state->clock_mhz);
    hdpi_json_known(json, "clock_max_mhz", state->clock_max_mhz);
    hdpi_json_known(json, "memory_clock_mhz", state->memory_clock_mhz);
    hdpi_json_known(json, "memory_clock_max_mhz", state->memory_clock_max_mhz);
    if (!state->reasons_known) {
        hdpi_json_null(json, "low_because");
    } else {
        hdpi_json_open_array(json, "low_because");
        for (int32_t bit = 0; hdpi_nvml_reason(bit); ++bit)
            if (state->reasons >> bit & 1)
                hdpi_json_text(json, NULL, hdpi_nvml_reason(bit));
        hdpi_json_close(json);
    }
    put_milli(json, "power_watts", state->milliwatts);
    put_milli(json, "power_limit_watts", state->milliwatts_max);
    hdpi_json_known(json, "temperature_celsius", state->celsius);
}

static void put_processes(struct hdpi_json *json,
                          const struct hdpi_gpu_state *state)
{
    if (state->process_count < 0) {
        hdpi_json_null(json, "processes");
        return;
    }
    hdpi_json_open_array(json, "processes");
    for (int32_t i = 0; i < state->process_count; ++i) {
        hdpi_json_open_object(json, NULL);
        hdpi_json_int(json, "pid", state->processes[i].pid);
        hdpi_json_known(json, "bytes", state->processes[i].bytes);
        hdpi_json_close(json);
    }
    hdpi_json_close(json);
}

static void put_state(struct hdpi_json *json,
                      const struct hdpi_gpu_state *state)
{
    hdpi_json_known(json, "use_percent", state->use_percent);
    hdpi_json_known(json, "memory_bytes", state->memory_bytes);
    hdpi_json_known(json, "free_bytes", state->free_bytes);
    put_clocks(json, state);
    hdpi_json_open_object(json, "pcie");
    hdpi_json_known(json, "generation", state->link_generation);
    hdpi_json_known(json, "generation_max", state->link_generation_max);
    hdpi_json_known(json, "width", state->link_width);
    hdpi_json_known(json, "width_max", state->link_width_max);
    hdpi_json_close(json);
    hdpi_json_text(json, "compute_mode",
                   hdpi_nvml_compute_mode(state->compute_mode));
    put_yes(json, "display", state->display);
    put_yes(json, "mig", state->mig);
    put_processes(json, state);
}

/* One a GPU, in the order of `devices`; note says why there is no more. */
static void put_states(struct hdpi_json *json, const hdp_topology *topology,
                       const struct hdpi_nvml *nvml)
{
    hdpi_json_open_array(json, "states");
    for (int32_t i = 0; i < topology->info.device_count; ++i) {
        const hdp_device *device = &topology->devices[i].info;
        struct hdpi_gpu_state state;
        hdp_status status;
        hdpi_json_open_object(json, NULL);
        hdpi_json_text(json, "spec", device->spec);
        hdpi_json_text(json, "uuid", device->uuid);
        status = nvml ? hdpi_nvml_state(&state, nvml, device->uuid) : HDP_OK;
        hdpi_json_text(json, "note",
                       status != HDP_OK ? hdp_last_error() : NULL);
        if (nvml && status == HDP_OK)
            put_state(json, &state);
        hdpi_json_close(json);
    }
    hdpi_json_close(json);
}

static void put_text_or_null(struct hdpi_json *json, const char *key,
                             const char *text)
{
    hdpi_json_text(json, key, text && *text ? text : NULL);
}

/* What cannot be opened is told, and is no failure: all else works. */
static void put_telemetry(struct hdpi_json *json, struct hdpi_nvml **out)
{
    const struct hdpi_nvml_version *version = NULL;
    hdp_status status = hdpi_nvml_open(out, NULL);

    if (status == HDP_OK)
        version = hdpi_nvml_version(*out);
    hdpi_json_open_object(json, "telemetry");
    put_text_or_null(json, "path", version ? version->path : NULL);
    put_text_or_null(json, "version", version ? version->own : NULL);
    put_text_or_null(json, "driver", version ? version->driver : NULL);
    put_text_or_null(json, "note", version ? NULL : hdp_last_error());
    hdpi_json_close(json);
}

/* The topology of a process alone, without a context of the library. */
static hdp_status look(hdp_topology **out, const struct hdpi_site *site)
{
    hdp_topology *topology = NULL;
    hdp_status status;

    HDPI_TRY(hdpi_topology_new(&topology));
    HDPI_TRY(hdpi_device_adapter(HDP_CUDA)->enumerate(topology, NULL, 0, site));
    hdpi_spec_name_devices(topology);
    topology->info.mask_set = site->mask != NULL;
    *out = topology;
    topology = NULL;
out:
    hdpi_topology_free(topology);
    return status;
}

hdp_status hdpi_info_devices(struct hdpi_json *json)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct hdpi_kept *kept = NULL;
    struct hdpi_site site = { .mask = hdpi_variable(HDPI_CUDA_MASK),
                              .order = hdpi_variable(HDPI_CUDA_ORDER),
                              .lock = &lock,
                              .kept = &kept };
    struct hdpi_nvml *nvml = NULL;
    hdp_topology *topology = NULL;
    hdp_status status;

    HDPI_TRY(hdpi_process_check());
    HDPI_TRY(look(&topology, &site));
    hdpi_topology_put_json(json, topology);
    put_telemetry(json, &nvml);
    put_states(json, topology, nvml);
out:
    hdpi_nvml_close(nvml);
    hdpi_topology_free(topology);
    if (kept)
        hdpi_device_adapter(HDP_CUDA)->forget(&site);
    return status;
}
