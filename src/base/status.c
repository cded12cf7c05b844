/* One list of statuses and one detail a thread. The detail is a fixed struct
 * in thread-local storage, so recording an error can never fail itself; a
 * later success does not touch it. */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/options.h"
#include "base/status.h"
#include "base/text.h"

/* Name, default severity, sentence. Severity says what is left to the caller:
 * RETRY, the same objects work again; GROUP_LOST, the members no longer stand
 * at the same point (or one is gone), make a new group; PROCESS_LOST, only a
 * new process can go on. Whoever knows better for one case (a device whose
 * failure it survived) sets hdpi_error()->severity after hdpi_fail(). */
#define STATUSES(X)                                                            \
    X(HDP_OK, "ok", 0, "success")                                              \
    X(HDP_ERR_ARGUMENT, "argument", HDP_RETRY,                                 \
      "the call is wrong; nothing happened")                                   \
    X(HDP_ERR_MEMORY, "memory", HDP_RETRY,                                     \
      "out of memory; a smaller request works")                                \
    X(HDP_ERR_CAPACITY, "capacity", HDP_RETRY,                                 \
      "it does not fit; the error says what would")                            \
    X(HDP_ERR_UNSUPPORTED, "unsupported", HDP_RETRY,                           \
      "not on this device, library or version")                                \
    X(HDP_ERR_NOT_FOUND, "not found", HDP_RETRY,                               \
      "no such device, file or entry")                                         \
    X(HDP_ERR_BUSY, "busy", HDP_RETRY,                                         \
      "another thread or process has it; try again")                           \
    X(HDP_ERR_STATE, "state", HDP_RETRY,                                       \
      "not now; the object is in another state")                               \
    X(HDP_ERR_CALLBACK, "callback", HDP_RETRY,                                 \
      "the caller's function failed; the group works again")                   \
    X(HDP_ERR_PEER, "peer", HDP_RETRY,                                         \
      "another rank failed, this one is well; retry on every rank")            \
    X(HDP_ERR_DEVICE, "device", HDP_GROUP_LOST,                                \
      "a device failed; the group is lost")                                    \
    X(HDP_ERR_COMM, "comm", HDP_GROUP_LOST,                                    \
      "communication failed; the group is lost")                               \
    X(HDP_ERR_TIMEOUT, "timeout", HDP_GROUP_LOST,                              \
      "the deadline passed; the group is lost")                                \
    X(HDP_ERR_DIVERGED, "diverged", HDP_RETRY,                                 \
      "ranks called different things; refused on all of them")                 \
    X(HDP_ERR_SYSTEM, "system", HDP_RETRY,                                     \
      "the operating system refused a descriptor, thread, lock or file")       \
    X(HDP_ERR_FORKED, "forked", HDP_PROCESS_LOST,                              \
      "made before a fork; the child process cannot use it")                   \
    X(HDP_ERR_FATAL, "fatal", HDP_PROCESS_LOST,                                \
      "a device poisoned the process; only a new process can use devices")     \
    X(HDP_ERR_INTERNAL, "internal", HDP_GROUP_LOST,                            \
      "a defect of this library; the object cannot be trusted")

enum { RAW_MAX = 512 };

static _Thread_local hdp_error detail = { .size = sizeof(hdp_error),
                                          .member = -1,
                                          .rank = -1 };

static int32_t severity_of(hdp_status status)
{
    switch (status) {
#define X(value, name, severity, sentence)                                     \
    case value:                                                                \
        return severity;
        STATUSES(X)
#undef X
    default:
        return HDP_GROUP_LOST;
    }
}

const char *hdp_status_string(hdp_status status)
{
    switch (status) {
#define X(value, name, severity, sentence)                                     \
    case value:                                                                \
        return name ": " sentence;
        STATUSES(X)
#undef X
    default:
        return "unknown status";
    }
}

static hdp_status record(hdp_status status, int32_t member, int32_t rank,
                         const char *format, va_list arguments)
{
    assert(status != HDP_OK);
    int saved = errno;
    /* Through a buffer of our own: an argument may be the old text. */
    char raw[RAW_MAX];
    int length = vsnprintf(raw, sizeof raw, format, arguments);
    if (length < 0)
        raw[0] = '\0';
    detail = (hdp_error){ .size = sizeof detail,
                          .status = status,
                          .severity = severity_of(status),
                          .member = member,
                          .rank = rank };
    hdpi_text_escape(detail.text, sizeof detail.text, raw, strlen(raw));
    errno = saved;
    return status;
}

hdp_status hdpi_fail(hdp_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(status, -1, -1, format, arguments);
    va_end(arguments);
    return status;
}

hdp_status hdpi_fail_system(int error, const char *format, ...)
{
    char raw[RAW_MAX], words[128];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(raw, sizeof raw, format, arguments);
    va_end(arguments);
    hdpi_fail(HDP_ERR_SYSTEM, "%s: %s", length < 0 ? "" : raw,
              strerror_r(error, words, sizeof words));
    detail.vendor = HDPI_VENDOR_SYSTEM;
    detail.vendor_code = error;
    return HDP_ERR_SYSTEM;
}

hdp_status hdpi_fail_member(hdp_status status, int32_t member, int32_t rank,
                            const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(status, member, rank, format, arguments);
    va_end(arguments);
    return status;
}

hdp_error *hdpi_error(void)
{
    return &detail;
}

hdp_status hdpi_error_adopt(const hdp_error *error)
{
    if (error->status != HDP_OK && error != &detail) {
        detail = *error;
        detail.size = sizeof detail;
        detail.text[sizeof detail.text - 1] = '\0';
    }
    return error->status;
}

void hdpi_error_behind(const char *name)
{
    char raw[RAW_MAX];

    (void)snprintf(raw, sizeof raw, "%s: %s", name, detail.text);
    hdpi_text_escape(detail.text, sizeof detail.text, raw, strlen(raw));
}

const char *hdp_last_error(void)
{
    return detail.text;
}

hdp_status hdp_error_get(hdp_error *out)
{
    return hdpi_options_write(out, &detail, sizeof detail, "hdp_error");
}
