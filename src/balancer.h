/* Inner door of the balancer: what observing told, for those who log it. */
#ifndef HDPI_BALANCER_H
#define HDPI_BALANCER_H
#include "core/balance.h"

/** hdp_balancer_observe(); `change` receives what it changed, also with
 *  HDP_ERR_MEMORY, and may be NULL. */
hdp_status hdpi_balancer_observe(hdp_balancer *balancer,
                                 const hdp_report *report,
                                 struct hdpi_change *change);
#endif
