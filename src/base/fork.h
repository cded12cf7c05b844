/* Whether this process is a forked child of one that had started threads or
 * vendor libraries, which it then cannot use. */
#ifndef HDPI_FORK_H
#define HDPI_FORK_H
#include "base/status.h"

/** The first thread or vendor library is about to be used: from now on a
 *  forked child is refused. Any thread. */
void hdpi_process_started(void);
/** 1 in such a child. */
int hdpi_process_forked(void);
/** HDP_OK, or HDP_ERR_FORKED. */
hdp_status hdpi_fork_check(void);
#endif
