/* The host link as a workload: rows from the host to a member and back. */
#ifndef HDPI_HOST_LINK_H
#define HDPI_HOST_LINK_H
#include "device/device.h"

enum { HDPI_LINK_ITEM_BYTES = 1 << 20, HDPI_LINK_ITEMS_MAX = 16 };

struct hdpi_link {
    void *out, *back;      /* of the host, as fast as it goes: pinned */
    void *there;           /* on the member */
    struct hdpi_mark half; /* between in and out */
    double in_ns, out_ns;  /* of the last copy */
};

/** Room on both sides, every page touched. HDP_ERR_MEMORY. What is the host's
 *  counts as held, too, until the close. */
hdp_status hdpi_link_open(struct hdpi_link **out, struct hdpi_device *device);
/** NULL is allowed. */
void hdpi_link_close(struct hdpi_link *link, struct hdpi_device *device);

/** Enqueues `items` MiB in, then the same out; at most HDPI_LINK_ITEMS_MAX. By
 *  the member's own copies, which a step's rows take too. */
hdp_status hdpi_link_copy(struct hdpi_link *link, struct hdpi_device *device,
                          int64_t items);

/** After the queue is empty: how long each way took, between marks around. */
hdp_status hdpi_link_times(struct hdpi_link *link, struct hdpi_device *device,
                           const struct hdpi_mark *from,
                           const struct hdpi_mark *to);
#endif
