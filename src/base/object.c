/* Handles: a tag first, then the count. A foreign pointer is refused by its
 * tag; a destroyed handle keeps HDPI_DEAD until its memory is used again, so
 * that debug builds stop where it is used. */
#include <assert.h>
#include "base/object.h"

static const char *kind_name(uint32_t tag)
{
    static const char *const names[] = { "context",  "topology", "group",
                                         "profile",  "plan",     "report",
                                         "balancer", "executor" };
    if (tag < HDPI_CONTEXT || tag > HDPI_EXECUTOR)
        return NULL;
    return names[tag - HDPI_CONTEXT];
}

void hdpi_object_init(struct hdpi_object *object, uint32_t tag)
{
    object->tag = tag;
    atomic_init(&object->references, 1);
}

hdp_status hdpi_object_check(const void *object, uint32_t tag, const char *name)
{
    if (!object)
        return hdpi_fail(HDP_ERR_ARGUMENT, "%s is NULL", name);
    if ((uintptr_t)object % _Alignof(struct hdpi_object) != 0)
        return hdpi_fail(HDP_ERR_ARGUMENT, "%s is no handle of this library",
                         name);
    uint32_t found = ((const struct hdpi_object *)object)->tag;
    if (found == tag)
        return HDP_OK;
    assert(found != HDPI_DEAD && "a destroyed handle was used");
    if (found == HDPI_DEAD)
        return hdpi_fail(HDP_ERR_ARGUMENT, "%s was destroyed", name);
    const char *kind = kind_name(found);
    return hdpi_fail(HDP_ERR_ARGUMENT, "%s is %s%s, not a %s", name,
                     kind ? "a handle of kind " : "no handle of this library",
                     kind ? kind : "", kind_name(tag));
}

void hdpi_object_retain(struct hdpi_object *object)
{
    int32_t before =
        atomic_fetch_add_explicit(&object->references, 1, memory_order_relaxed);
    assert(before > 0);
    (void)before;
}

int hdpi_object_release(struct hdpi_object *object, uint32_t tag)
{
    if (!object || (uintptr_t)object % _Alignof(struct hdpi_object) != 0)
        return 0;
    assert(object->tag != HDPI_DEAD && "a destroyed handle was destroyed");
    if (object->tag != tag)
        return 0;
    /* acq_rel: what others did with the object is seen before it is freed */
    if (atomic_fetch_sub_explicit(&object->references, 1,
                                  memory_order_acq_rel) != 1)
        return 0;
    object->tag = HDPI_DEAD;
    return 1;
}
