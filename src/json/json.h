/* Nouns to and from JSON; nothing else in the library knows the format. */
#ifndef HDPI_JSON_H
#define HDPI_JSON_H
#include "core/machine.h"
#include "core/plan.h"
#include "core/profile.h"
#include "core/report.h"
#include "core/topology.h"

enum {
    HDPI_JSON_SCHEMA_VERSION = 1,   /* of every noun; a newer one is refused */
    HDPI_JSON_BYTES_MAX = 64 << 20, /* refused above, before parsing */
    HDPI_JSON_DEPTH_MAX = 32 /* a deeper text would eat the caller's stack */
};

/** The text of a noun as one malloc'ed string (caller frees); numbers exact,
 *  locale-free, keys in a fixed order. */
hdp_status hdpi_topology_write_json(char **out, const hdp_topology *topology);
hdp_status hdpi_profile_write_json(char **out, const hdp_profile *profile);
hdp_status hdpi_plan_write_json(char **out, const hdp_plan *plan);
hdp_status hdpi_report_write_json(char **out, const hdp_report *report);

/** The noun of a text. HDP_ERR_ARGUMENT naming what and where
 *  ("members[2].item_ns: expected a number from 0 to 1e18, got -1", "line 3
 *  column 9: ..."); nothing else happens. Every value is range-checked: a text
 *  from anyone is safe. */
hdp_status hdpi_topology_read_json(hdp_topology **out, const char *text,
                                   size_t length);
/** Of a machine's text its first profile. */
hdp_status hdpi_profile_read_json(hdp_profile **out, const char *text,
                                  size_t length);
hdp_status hdpi_plan_read_json(hdp_plan **out, const char *text, size_t length);
hdp_status hdpi_report_read_json(hdp_report **out, const char *text,
                                 size_t length);

/**
 * A machine: {"schema":"hdp.machine","schema_version":1,"name","text",
 * "topology":{...},"profiles":[{...}],"faults":[{"device","keys"}]}.
 *
 * topology and profiles are what their own writers write, the envelope may be
 * missing; keys are those of a simulated device that say what goes wrong
 * ("slow=2x@100/fail=alloc:3"). A topology's document is read as a machine
 * that nothing else is known of.
 */
hdp_status hdpi_machine_write_json(char **out,
                                   const struct hdpi_machine *machine);
hdp_status hdpi_machine_read_json(struct hdpi_machine **out, const char *text,
                                  size_t length);

/** The documents of hdp_info() that need more than a fixed text are built
 *  with these: an object with string, integer and nested members. */
struct hdpi_json; /* an object being built */
hdp_status hdpi_json_new(struct hdpi_json **out);
void hdpi_json_text(struct hdpi_json *json, const char *key, const char *value);
void hdpi_json_int(struct hdpi_json *json, const char *key, int64_t value);
void hdpi_json_null(struct hdpi_json *json, const char *key);
/** Opens a nested object (key NULL inside an array) or array; close ends it. */
void hdpi_json_open_object(struct hdpi_json *json, const char *key);
void hdpi_json_open_array(struct hdpi_json *json, const char *key);
void hdpi_json_close(struct hdpi_json *json);
/** Ends the document: *out is malloc'ed; an error in any earlier call
 *  surfaces here. Frees the builder in every case. */
hdp_status hdpi_json_end(struct hdpi_json *json, char **out);
#endif
