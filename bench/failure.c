/* One failure and its exit code. The first one wins: what came after is
 * mostly its consequence. */
#include "failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int failure_exit_code(hdp_status status)
{
    switch (status) {
    case HDP_OK:
        return EXIT_OK;
    case HDP_ERR_CAPACITY: /* "would it fit?" is answered with no */
        return EXIT_CHECK;
    case HDP_ERR_ARGUMENT:
        return EXIT_USAGE;
    case HDP_ERR_NOT_FOUND:
    case HDP_ERR_SYSTEM:
        return EXIT_ENVIRONMENT;
    case HDP_ERR_TIMEOUT:
        return EXIT_TIMEOUT;
    default:
        return EXIT_RUNTIME;
    }
}

const char *failure_status_name(hdp_status status)
{
    static const char *const names[] = {
        "ok",        "argument", "memory",   "capacity", "unsupported",
        "not_found", "busy",     "state",    "callback", "peer",
        "device",    "comm",     "timeout",  "diverged", "system",
        "forked",    "fatal",    "internal",
    };
    int count = (int)(sizeof names / sizeof names[0]);

    return status <= 0 && status > -count ? names[-status] : "unknown";
}

const char *failure_exit_name(int exit_code)
{
    static const char *const names[] = { "ok",      "check_failed",
                                         "usage",   "environment",
                                         "runtime", "timeout" };
    int count = (int)(sizeof names / sizeof names[0]);

    if (exit_code == EXIT_INTERRUPTED)
        return "interrupted";
    return exit_code >= 0 && exit_code < count ? names[exit_code] : "runtime";
}

static void clear(struct failure *failure, int exit_code)
{
    memset(failure, 0, sizeof *failure);
    failure->exit_code = exit_code;
    failure->error.size = sizeof failure->error;
    failure->error.member = failure->error.rank = -1;
}

int failure_interrupted(struct failure *failure)
{
    clear(failure, EXIT_INTERRUPTED);
    failure->error.status = HDP_OK;
    snprintf(failure->error.text, sizeof failure->error.text,
             "interrupted; what was done until then is reported");
    return failure->exit_code;
}

int failure_library(struct failure *failure, hdp_status status)
{
    if (failure->exit_code || status == HDP_OK)
        return failure->exit_code;
    clear(failure, failure_exit_code(status));
    if (hdp_error_get(&failure->error) != HDP_OK ||
        failure->error.status != status) {
        clear(failure, failure->exit_code);
        failure->error.status = status;
        snprintf(failure->error.text, sizeof failure->error.text, "%s",
                 hdp_status_string(status));
    }
    return failure->exit_code;
}

/* A message may quote what somebody wrote, and goes to a terminal: of control
 * characters, also those of two bytes, and of a character cut in half nothing
 * is left but '?'. */
static void clean(char *text)
{
    unsigned char *at = (unsigned char *)text;

    while (*at) {
        int more = *at < 0xc2 ? 0 : *at < 0xe0 ? 1 : *at < 0xf0 ? 2 : 3, i = 1;
        int bad = *at < 0x20 || (*at >= 0x7f && *at < 0xc2) || *at > 0xf4 ||
                  (*at == 0xc2 && at[1] < 0xa0);
        while (i <= more && (at[i] & 0xc0) == 0x80)
            ++i;
        if (bad || i <= more)
            memset(at, '?', (size_t)i);
        at += i;
    }
}

int failure_usage(struct failure *failure, const char *option, int position,
                  const char *format, ...)
{
    va_list args;

    if (failure->exit_code)
        return failure->exit_code;
    clear(failure, EXIT_USAGE);
    failure->error.status = HDP_ERR_ARGUMENT;
    failure->position = position;
    snprintf(failure->option, sizeof failure->option, "%s",
             option ? option : "");
    va_start(args, format);
    vsnprintf(failure->error.text, sizeof failure->error.text, format, args);
    va_end(args);
    clean(failure->error.text);
    return EXIT_USAGE;
}

int failure_own(struct failure *failure, int exit_code, hdp_status status,
                const char *format, ...)
{
    va_list args;

    if (failure->exit_code)
        return failure->exit_code;
    clear(failure, exit_code);
    failure->error.status = status;
    va_start(args, format);
    vsnprintf(failure->error.text, sizeof failure->error.text, format, args);
    va_end(args);
    clean(failure->error.text);
    return exit_code;
}

int failure_no_memory(struct failure *failure)
{
    return failure_own(failure, EXIT_RUNTIME, HDP_ERR_MEMORY, "out of memory");
}
