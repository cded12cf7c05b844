/* What hdp_info() says, where that is more than a few lines. */
#ifndef HDPI_INFO_H
#define HDPI_INFO_H
#include "json/json.h"

/**
 * The members of HDP_INFO_DEVICES: devices, visibility, links and notes as in a
 * topology; telemetry {path, version, driver, note: why it is absent}; states,
 * one a device {spec, uuid, note: why no more is told, use_percent,
 * memory_bytes, free_bytes, clock_mhz, clock_max_mhz, memory_clock_mhz,
 * memory_clock_max_mhz, low_because: [words], power_watts, power_limit_watts,
 * temperature_celsius, pcie {generation, generation_max, width, width_max},
 * compute_mode, display, mig, processes: [{pid, bytes}]}. What is not known is
 * null.
 *
 * HDP_ERR_FORKED, HDP_ERR_FATAL. Makes no context. Blocks while drivers answer.
 */
hdp_status hdpi_info_devices(struct hdpi_json *json);
#endif
