/* Errors are born here: one list of statuses, one detail a thread. The detail
 * is set where the fault is seen and carried, never reworded, on the way up. */
#ifndef HDPI_STATUS_H
#define HDPI_STATUS_H
#include <hdp/hdp.h>

#if defined(__GNUC__)
#define HDPI_PRINTF(a, b) __attribute__((format(printf, a, b)))
#else
#define HDPI_PRINTF(a, b)
#endif

/* Propagation. TRY is for functions that own something (they have one label
 * `out` and a variable `status`), RETURN_IF for those that own nothing. */
#define HDPI_TRY(call)                                                         \
    do {                                                                       \
        status = (call);                                                       \
        if (status != HDP_OK)                                                  \
            goto out;                                                          \
    } while (0)
#define HDPI_RETURN_IF(call)                                                   \
    do {                                                                       \
        hdp_status returned_ = (call);                                         \
        if (returned_ != HDP_OK)                                               \
            return returned_;                                                  \
    } while (0)

enum {
    HDPI_VENDOR_NONE = 0,
    HDPI_VENDOR_SYSTEM = 1, /* errno */
    HDPI_VENDOR_CUDA = 2,
    HDPI_VENDOR_DRIVER = 3,
    HDPI_VENDOR_CUBLAS = 4,
    HDPI_VENDOR_NCCL = 5
};

/**
 * Records this thread's error and returns its status.
 *
 * Replaces the whole detail: member and rank become -1, sizes and codes 0,
 * severity follows from the status. Text is cut to the detail's room; control
 * bytes are written as \xNN, so that names from files cannot forge lines.
 * Never allocates; any thread.
 */
hdp_status hdpi_fail(hdp_status status, const char *format, ...)
    HDPI_PRINTF(2, 3);

/** HDP_ERR_SYSTEM with errno's words behind the text and its number in
 *  vendor_code. */
hdp_status hdpi_fail_system(int error, const char *format, ...)
    HDPI_PRINTF(2, 3);

/** This thread's detail, for adding fields right after hdpi_fail(). */
hdp_error *hdpi_error(void);

/** Puts "name: " before this thread's text: for what is wrong with a text that
 *  the caller of the library did not hand in himself. */
void hdpi_error_behind(const char *name);

/** Takes over an error that was born on another thread; returns its status.
 *  A detail whose status is HDP_OK leaves this thread's untouched. */
hdp_status hdpi_error_adopt(const hdp_error *error);

/** hdpi_fail() with the member that failed and its rank. */
hdp_status hdpi_fail_member(hdp_status status, int32_t member, int32_t rank,
                            const char *format, ...) HDPI_PRINTF(4, 5);
#endif
