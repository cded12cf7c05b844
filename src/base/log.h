/* One sink: the context's callback. Silent without it. */
#ifndef HDPI_LOG_H
#define HDPI_LOG_H
#include "base/status.h"

struct hdpi_log {
    hdp_log_fn fn; /* NULL: silent */
    void *user;
    int32_t level; /* lines above it are dropped; 0: HDP_LOG_WARN */
};

/** One line, without a newline; control bytes escaped. `log` may be NULL. */
void hdpi_log(const struct hdpi_log *log, int32_t level, const char *format,
              ...) HDPI_PRINTF(3, 4);
#endif
