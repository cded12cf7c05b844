/* One sink: the context's callback. Silent without it. */
#ifndef HDPI_LOG_H
#define HDPI_LOG_H
#include "base/status.h"

enum {
    HDPI_LOG_ERROR = 1,
    HDPI_LOG_WARN = 2,
    HDPI_LOG_INFO = 3,
    HDPI_LOG_DEBUG = 4,
    HDPI_LOG_TRACE = 5
};

struct hdpi_log {
    hdp_log_fn fn; /* NULL: silent */
    void *user;
    int32_t level; /* lines above it are dropped; 0: HDPI_LOG_WARN */
};

/** One line, without a newline; control bytes escaped. `log` may be NULL. */
void hdpi_log(const struct hdpi_log *log, int32_t level, const char *format,
              ...) HDPI_PRINTF(3, 4);
#endif
