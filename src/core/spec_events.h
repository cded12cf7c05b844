/* Values of the keys that say what happens to a simulated device, and when:
 * fail=HOOK:N[-], slow=Fx@N, ramp=P%@T. */
#ifndef HDPI_SPEC_EVENTS_H
#define HDPI_SPEC_EVENTS_H
#include "base/text.h"
#include "core/topology.h"

/* Each reads the whole rest of `value` into the ask, fail and slow as the next
 * of their list; HDP_ERR_ARGUMENT with the position. */
hdp_status hdpi_spec_read_fault(struct hdpi_ask *ask,
                                const struct hdpi_text *value);
hdp_status hdpi_spec_read_slow(struct hdpi_ask *ask,
                               const struct hdpi_text *value);
hdp_status hdpi_spec_read_ramp(struct hdpi_ask *ask,
                               const struct hdpi_text *value);

enum { HDPI_SPEC_EVENT_MAX = 80 };

/* Each writes one value to out[HDPI_SPEC_EVENT_MAX]. */
void hdpi_spec_write_fault(char *out, const struct hdpi_fault *fault);
void hdpi_spec_write_slow(char *out, const struct hdpi_slow *slow);
void hdpi_spec_write_ramp(char *out, const struct hdpi_ask *ask);
#endif
