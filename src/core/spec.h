/* The one grammar of devices, text to a list of asks. Knows nothing of which
 * devices exist. */
#ifndef HDPI_SPEC_H
#define HDPI_SPEC_H
#include "core/topology.h"

enum { HDPI_SPEC_DEVICES_MAX = 4096 };

struct hdpi_spec {
    struct hdpi_ask *asks; /* in the order written; ranges expanded */
    int32_t count;
    size_t capacity;
    int32_t automatic; /* the whole text is `auto` */
    char machine[256]; /* @NAME or @./FILE without the @; empty: none */
};

/**
 * Parses a specification.
 *
 * Items joined by `;` or `+`; item = [adapter:]ids(/key=value)*; ids = comma
 * list with ranges a-b, or `all`; bare ids mean cuda; a cuda id may be a UUID
 * or prefix (GPU-..., MIG-...). A key that the adapter does not have, a value
 * outside its range, a repeated key, an id above 255 (host) or 1,048,575
 * (sim), a repeat of a device are refused. `@NAME` and `@./FILE` stand alone.
 *
 *   all   mem=SIZE          memory that may be used
 *         margin=SIZE       of it, kept free
 *   host  threads=N duty=P  its threads; works P percent of the time
 *   cuda  sms=N             a partition of so many SMs
 *         compute=DTYPE     computes in it where the dtype asked is lacking
 *   sim   fixed=T item=T    time of a shard and of each item in it (10us)
 *         link=RATE         of rows in, rows out and in reduces
 *         sms=N compute=DTYPE display=1   what it says of itself
 *         uuid=WORD name=WORD driver=WORD
 *         noise=P% seed=N   each time varies by that standard deviation
 *         drift=P%          so much more time for each second on its clock
 *         ramp=P%@T         so much less at first, falling to nothing in T
 *         newshape=T        more for the first launch with a count of items,
 *                           unless it was among the last 64 counts
 *         slow=Fx@N         F times the time from launch N on, the first is 1;
 *                           until the next slow= (1x: as before)
 *         fail=HOOK:N[-]    alloc, copy, launch, wait or reduce fails at call
 *                           N, with - also after it
 *
 * slow and fail may repeat. A second of drift and ramp is one of the device's
 * own virtual clock since it was opened; the launches counted are those of
 * functions, not the library's probes.
 *
 * @param out  Zeroed by the caller; release with hdpi_spec_finish(), also
 *             after an error.
 * @return HDP_ERR_ARGUMENT with a text that quotes the part and gives its
 *         1-based position ("at 7"); HDP_ERR_MEMORY.
 */
hdp_status hdpi_spec_parse(struct hdpi_spec *out, const char *text);
void hdpi_spec_finish(struct hdpi_spec *spec);

/** Writes one ask back in the grammar ("sim:0/fixed=500us/item=10us"), in the
 *  shortest form that reads back the same: what hdp_device.spec shows. A key
 *  that does not fit is left out whole. Always terminated. */
void hdpi_spec_write(char *out, size_t capacity, const struct hdpi_ask *ask);

/** Gives each device that has no spec yet the item that asks for it again. The
 *  adapters cannot: they do not know the grammar. */
void hdpi_spec_name_devices(hdp_topology *topology);
#endif
