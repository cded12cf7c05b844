/* What hdp_info() says, where that is more than a few lines. */
#ifndef HDPI_INFO_H
#define HDPI_INFO_H
#include "json/json.h"

/** The members of HDP_INFO_DEVICES: the GPUs that this process sees, and what
 *  the management library tells of each. HDP_ERR_FORKED, HDP_ERR_FATAL; blocks
 *  while drivers answer. */
hdp_status hdpi_info_devices(struct hdpi_json *json);
#endif
