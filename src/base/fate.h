/* Whether this process can still use its GPUs. One poisoned device poisons them
 * all and only a new process cures it; so the first such failure is kept, and
 * everybody is answered with it from then on. */
#ifndef HDPI_FATE_H
#define HDPI_FATE_H
#include "base/status.h"

/** Seals this thread's last error (its status is HDP_ERR_FATAL) as the fate of
 *  the process; the first one stays. Any thread. */
void hdpi_fate_seal(void);
/** HDP_OK, or the sealed failure as this thread's own. One atomic load while
 *  all is well. */
hdp_status hdpi_fate_check(void);
/** The same question without an error being set. */
int hdpi_fate_is_sealed(void);
#endif
