/* What every handle starts with: a tag that tells kinds apart and foreign
 * pointers from ours, and a count of who holds it. */
#ifndef HDPI_OBJECT_H
#define HDPI_OBJECT_H
#include <stdatomic.h>
#include "base/status.h"

enum {
    HDPI_CONTEXT = 0x68647001,
    HDPI_TOPOLOGY,
    HDPI_GROUP,
    HDPI_PROFILE,
    HDPI_PLAN,
    HDPI_REPORT,
    HDPI_BALANCER,
    HDPI_EXECUTOR,
    HDPI_MACHINE,
    HDPI_LEASE,
    HDPI_LEASE_LIST,
    HDPI_DEAD = 0x68647fff
};

struct hdpi_object {
    uint32_t tag;
    _Atomic int32_t references;
};

/** Makes a zeroed object live with one reference. */
void hdpi_object_init(struct hdpi_object *object, uint32_t tag);

/** HDP_ERR_ARGUMENT unless `object` is a live handle of that kind; `name` is
 *  the argument's name ("plan"). Asserts on a destroyed one in debug builds. */
hdp_status hdpi_object_check(const void *object, uint32_t tag,
                             const char *name);

void hdpi_object_retain(struct hdpi_object *object);

/** Drops one reference; 1 when it was the last: the tag is then HDPI_DEAD and
 *  the caller frees. 0 for NULL, and for a handle that is not of that kind. */
int hdpi_object_release(struct hdpi_object *object, uint32_t tag);
#endif
