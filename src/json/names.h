/* Words for the public enumerations, as the documents spell them. */
#ifndef HDPI_JSON_NAMES_H
#define HDPI_JSON_NAMES_H
#include <stdint.h>

/* texts[value]; NULL: that value has no name and is written as null. */
struct hdpi_names {
    const char *const *texts;
    int32_t count;
};

extern const struct hdpi_names hdpi_backend_names; /* HDP_HOST ... */
extern const struct hdpi_names hdpi_dtype_names;   /* HDP_F32 ... */
extern const struct hdpi_names hdpi_verdict_names; /* HDP_MASK_* */
extern const struct hdpi_names hdpi_probe_names;   /* HDP_PROBE_* */
extern const struct hdpi_names hdpi_ended_names;   /* HDP_ENDED_* */
extern const struct hdpi_names hdpi_origin_names;  /* HDPI_FROM_* */
extern const struct hdpi_names hdpi_rule_names;    /* HDP_RULE_* */
extern const struct hdpi_names hdpi_state_names;   /* HDP_ACTIVE ... */
extern const struct hdpi_names hdpi_bound_names;   /* HDP_BOUND_* */
extern const struct hdpi_names hdpi_cause_names;   /* HDP_CAUSE_* */
extern const struct hdpi_names hdpi_engine_names;  /* HDP_ENGINE_* */
extern const struct hdpi_names hdpi_lane_names;    /* HDP_LANE_* */
extern const struct hdpi_names hdpi_phase_names;   /* HDP_PHASE_* */

/** NULL when there is none. */
const char *hdpi_names_text(const struct hdpi_names *names, int32_t value);

/** -1 when no value has that name. */
int32_t hdpi_names_value(const struct hdpi_names *names, const char *text);
#endif
