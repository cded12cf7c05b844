/* A member's own copies carry the rows, so what is measured is what a step
 * pays, on whatever link the adapter has; all members copy at once. */
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "host_link.h"

enum { BYTES = HDPI_LINK_ITEM_BYTES * HDPI_LINK_ITEMS_MAX };

hdp_status hdpi_link_open(struct hdpi_link **out, struct hdpi_device *device)
{
    struct hdpi_link *link = hdpi_alloc(1, sizeof *link, "a link's rows");
    hdp_status status = HDP_OK;

    *out = NULL;
    if (!link)
        return HDP_ERR_MEMORY;
    HDPI_TRY(device->ops->alloc(device, &link->there, BYTES));
    HDPI_TRY(device->ops->host_alloc(device, &link->out, BYTES));
    HDPI_TRY(device->ops->host_alloc(device, &link->back, BYTES));
    memset(link->out, 0x5a, BYTES);
    memset(link->back, 0, BYTES);
    *out = link;
    link = NULL;
out:
    hdpi_link_close(link, device);
    return status;
}

void hdpi_link_close(struct hdpi_link *link, struct hdpi_device *device)
{
    if (!link)
        return;
    device->ops->free(device, link->there);
    device->ops->unmark(device, &link->half);
    device->ops->host_free(device, link->out);
    device->ops->host_free(device, link->back);
    free(link);
}

hdp_status hdpi_link_copy(struct hdpi_link *link, struct hdpi_device *device,
                          int64_t items)
{
    struct hdpi_copy copy = { .target = link->there,
                              .source = link->out,
                              .rows = items,
                              .row_bytes = HDPI_LINK_ITEM_BYTES,
                              .target_stride = HDPI_LINK_ITEM_BYTES,
                              .source_stride = HDPI_LINK_ITEM_BYTES,
                              .direction = HDPI_COPY_IN };

    HDPI_RETURN_IF(device->ops->copy(device, &copy));
    HDPI_RETURN_IF(device->ops->mark(device, &link->half, HDPI_MARK_TIME));
    copy.target = link->back;
    copy.source = link->there;
    copy.direction = HDPI_COPY_OUT;
    return device->ops->copy(device, &copy);
}

hdp_status hdpi_link_times(struct hdpi_link *link, struct hdpi_device *device,
                           const struct hdpi_mark *from,
                           const struct hdpi_mark *to)
{
    HDPI_RETURN_IF(
        device->ops->elapsed(device, &link->in_ns, from, &link->half));
    return device->ops->elapsed(device, &link->out_ns, &link->half, to);
}
