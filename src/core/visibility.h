/* How the CUDA driver reads CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER, and why
 * each entry of the mask became what it did. Texts in, verdicts out: the
 * environment and the devices are the caller's. */
#ifndef HDPI_VISIBILITY_H
#define HDPI_VISIBILITY_H
#include "base/status.h"

/* A mask of more bytes is to the driver as if it were not set (found with
 * driver 580.159: 64 full UUIDs and a comma each). */
enum { HDPI_MASK_BYTES_MAX = 2624 };

struct hdpi_visibility {
    /* In the mask's order. `device` is the place in the list of uuids that the
     * entry names, also of a repeat; -1: none. */
    hdp_mask_entry *entries;
    int32_t entry_count;
    size_t entry_capacity;
    /* Places in the list of uuids, in the order the process sees them. */
    int32_t *visible;
    int32_t visible_count;
    size_t visible_capacity;
    int32_t mask_set; /* 0: every device; also for a mask that is too long */
    /* What cudaGetDeviceCount() says: NULL, "cudaErrorNoDevice" or
     * "cudaErrorInvalidDevice", static; with an error nothing is visible. */
    const char *error;
};

enum { HDPI_ORDER_FASTEST = 0, HDPI_ORDER_PCI = 1, HDPI_ORDER_UNKNOWN = 2 };

/** What CUDA_DEVICE_ORDER asks for; NULL (not set) is FASTEST. UNKNOWN makes
 *  every CUDA call of the process fail. */
int32_t hdpi_visibility_order(const char *order);

/**
 * Reads a mask as the driver does.
 *
 * @param out    Zeroed by the caller; release with hdpi_visibility_finish(),
 *               also after an error.
 * @param mask   CUDA_VISIBLE_DEVICES; NULL: not set.
 * @param order  CUDA_DEVICE_ORDER; NULL: not set.
 * @param uuids  One a device in the order that `order` puts them, "GPU-..." or
 *               "MIG-..."; "" or another text is reached by number alone.
 * @param count  Devices, 0 or more.
 * @return HDP_OK also where the process would see an error; HDP_ERR_MEMORY.
 */
hdp_status hdpi_visibility_resolve(struct hdpi_visibility *out,
                                   const char *mask, const char *order,
                                   const char *const *uuids, int32_t count);
void hdpi_visibility_finish(struct hdpi_visibility *visibility);

/** The static text of an error's name, to compare and keep; NULL: no name of
 *  an error that a mask can lead to. */
const char *hdpi_visibility_error(const char *name);
#endif
