/* Formats only what somebody listens to; a line is cut, never allocated. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/log.h"
#include "base/text.h"

enum { LINE_MAX_BYTES = 1024 };

void hdpi_log(const struct hdpi_log *log, int32_t level, const char *format,
              ...)
{
    if (!log || !log->fn)
        return;
    int32_t most = log->level != 0 ? log->level : HDP_LOG_WARN;
    if (level > most)
        return;
    int saved = errno;
    /* one byte more, so that what is cut here is cut, and marked, there too */
    char raw[LINE_MAX_BYTES + 1], line[LINE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(raw, sizeof raw, format, arguments);
    va_end(arguments);
    if (length < 0)
        raw[0] = '\0';
    hdpi_text_escape(line, sizeof line, raw, strlen(raw));
    log->fn(level, line, log->user);
    errno = saved;
}
