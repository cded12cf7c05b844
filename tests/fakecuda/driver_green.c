/* Partitions: green contexts, whose SMs come from one split of a device. What
 * a resource is of stands in its padding, where the driver keeps that too. */
#include <string.h>
#include "driver.h"
#include "state.h"

enum {
    GRANULE_BYTES = 4 << 20, /* that each creation loses for good */
    CREATE_NS = 2000000,
    DESCRIPTORS_MAX = 64,
    MARK = 0x47524e53
};

/* Which SMs a resource is: [first, first + sms) of a device. */
struct origin {
    uint32_t mark;
    int device; /* its number */
    int first;
    int split; /* 0: the whole of something, which can be split */
};

/* Nothing destroys a descriptor, so they are used again in turn. */
struct CUdevResourceDesc_st {
    uint32_t mark;
    struct origin origin;
    int sms;
};

static struct CUdevResourceDesc_st descriptors[DESCRIPTORS_MAX];
static int descriptor_count, split_count;

static void set_origin(CUdevResource *resource, const struct origin *origin)
{
    memcpy(resource->_internal_padding, origin, sizeof *origin);
}

static int get_origin(struct origin *out, const CUdevResource *resource)
{
    memcpy(out, resource->_internal_padding, sizeof *out);
    return resource->type == CU_DEV_RESOURCE_TYPE_SM && out->mark == MARK;
}

/* The least partition, and what every larger one is a multiple of. */
static void granule(const struct fake_device *device, int *least, int *step)
{
    int major = device->info.compute_major;

    *step = major >= 9 ? 8 : 2;
    *least = major >= 9 ? 8 : major == 8 ? 4 : 2;
}

static void fill(CUdevResource *out, const struct fake_device *device,
                 int first, int sms, int split)
{
    struct origin origin = { MARK, device->number, first, split };
    int least, step;

    granule(device, &least, &step);
    memset(out, 0, sizeof *out);
    out->type =
        sms > 0 ? CU_DEV_RESOURCE_TYPE_SM : CU_DEV_RESOURCE_TYPE_INVALID;
    out->sm.smCount = (unsigned)sms;
#if CUDA_VERSION >= 13000
    out->sm.minSmPartitionSize = (unsigned)least;
    out->sm.smCoscheduledAlignment = (unsigned)step;
#endif
    set_origin(out, &origin);
}

FAKE_API CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource *out,
                                         CUdevResourceType type)
{
    struct fake_device *found;

    DRIVER_ENTER("cuDeviceGetDevResource", CUDA_ERROR_INVALID_RESOURCE_TYPE, 0);
    found = fake_device(device);
    if (!found)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_DEVICE);
    if (!out)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (type != CU_DEV_RESOURCE_TYPE_SM)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_RESOURCE_TYPE);
    fake_touch(found);
    fill(out, found, 0, found->info.sm_count, 0);
    DRIVER_LEAVE(CUDA_SUCCESS);
}

FAKE_API CUresult cuCtxGetDevResource(CUcontext context, CUdevResource *out,
                                      CUdevResourceType type)
{
    CUgreenCtx green;

    DRIVER_ENTER("cuCtxGetDevResource", CUDA_ERROR_INVALID_CONTEXT, 0);
    if (!context)
        context = fake_current_context();
    if (!context || !fake_handle_is(context, FAKE_CTX))
        DRIVER_LEAVE(CUDA_ERROR_INVALID_CONTEXT);
    if (!out)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (type != CU_DEV_RESOURCE_TYPE_SM)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_RESOURCE_TYPE);
    green = fake_green_of(context);
    fill(out, context->handle.device, green ? green->first_sm : 0, context->sms,
         0);
    DRIVER_LEAVE(CUDA_SUCCESS);
}

FAKE_API CUresult cuGreenCtxGetDevResource(CUgreenCtx green, CUdevResource *out,
                                           CUdevResourceType type)
{
    DRIVER_ENTER("cuGreenCtxGetDevResource", CUDA_ERROR_INVALID_RESOURCE_TYPE,
                 0);
    if (!green || !fake_handle_is(green, FAKE_GREEN))
        DRIVER_LEAVE(CUDA_ERROR_INVALID_CONTEXT);
    if (!out)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (type != CU_DEV_RESOURCE_TYPE_SM)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_RESOURCE_TYPE);
    fill(out, green->handle.device, green->first_sm, green->sms, 0);
    DRIVER_LEAVE(CUDA_SUCCESS);
}

/* ---- splitting ------------------------------------------------------------ */

/* How many groups of at least `least` SMs come out of so many, and how large
 * each is. Clusters of eight do not span the chip's uneven parts: 132 SMs have
 * 15 of them and a rest of 12. */
static int groups_of(const struct fake_device *device, int sms, int wanted,
                     int *size)
{
    int least, step, granules;

    granule(device, &least, &step);
    *size = wanted < least ? least : (wanted + step - 1) / step * step;
    granules = sms / step;
    if (step > 2 && sms % step != 0)
        granules--;
    return granules / (*size / step);
}

FAKE_API CUresult cuDevSmResourceSplitByCount(
    CUdevResource *result, unsigned int *count, const CUdevResource *input,
    CUdevResource *remaining, unsigned int flags, unsigned int least)
{
    struct origin origin;
    struct fake_device *device;
    int size, most, taken, sms;

    DRIVER_ENTER("cuDevSmResourceSplitByCount",
                 CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, 0);
    if (!count || !input || flags > 3)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (!get_origin(&origin, input))
        DRIVER_LEAVE(CUDA_ERROR_INVALID_RESOURCE_TYPE);
    sms = (int)input->sm.smCount;
    if (origin.split != 0)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    if (least > (unsigned)sms)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    device = fake_device_at(origin.device);
    most = groups_of(device, sms, (int)least, &size);
    if (most == 0)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    taken = result && *count < (unsigned)most ? (int)*count : most;
    *count = (unsigned)taken;
    if (!result)
        DRIVER_LEAVE(CUDA_SUCCESS);
    split_count++;
    for (int i = 0; i < taken; ++i)
        fill(&result[i], device, origin.first + i * size, size, split_count);
    if (remaining)
        fill(remaining, device, origin.first + taken * size, sms - taken * size,
             split_count);
    DRIVER_LEAVE(CUDA_SUCCESS);
}

FAKE_API CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *out,
                                            CUdevResource *resources,
                                            unsigned int count)
{
    struct origin first, next;
    CUdevResourceDesc made;
    int sms = 0;

    DRIVER_ENTER("cuDevResourceGenerateDesc",
                 CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, 0);
    if (!out || !resources || count == 0)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < count; ++i) {
        if (!get_origin(&next, &resources[i]))
            DRIVER_LEAVE(CUDA_ERROR_INVALID_RESOURCE_TYPE);
        if (i == 0)
            first = next;
        else if (next.split == 0 || next.split != first.split ||
                 next.device != first.device)
            DRIVER_LEAVE(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
        sms += (int)resources[i].sm.smCount;
    }
    made = &descriptors[descriptor_count++ % DESCRIPTORS_MAX];
    *made = (struct CUdevResourceDesc_st){ MARK, first, sms };
    *out = made;
    DRIVER_LEAVE(CUDA_SUCCESS);
}

/* ---- green contexts ------------------------------------------------------- */

CUgreenCtx fake_green_of(CUcontext context)
{
    return context ? context->partition : NULL;
}

static CUgreenCtx make(struct fake_device *device, CUdevResourceDesc wanted)
{
    CUgreenCtx green =
        fake_handle_new(FAKE_GREEN, sizeof(struct CUgreenCtx_st), device);
    CUcontext context =
        fake_handle_new(FAKE_CTX, sizeof(struct CUctx_st), device);

    context->sms = green->sms = wanted->sms;
    context->green = 1;
    context->partition = green;
    green->context = context;
    green->first_sm = wanted->origin.first;
    device->used_bytes += GRANULE_BYTES;
    fake_host_reach(fake_host_ns() + CREATE_NS);
    return green;
}

FAKE_API CUresult cuGreenCtxCreate(CUgreenCtx *out, CUdevResourceDesc wanted,
                                   CUdevice device, unsigned int flags)
{
    struct fake_device *found;
    CUcontext primary;
    int code;

    DRIVER_ENTER("cuGreenCtxCreate", CUDA_ERROR_OUT_OF_MEMORY, FAKE_CLOSED);
    found = fake_device(device);
    if (!found)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_DEVICE);
    if (!out || !wanted || wanted->mark != MARK ||
        flags != CU_GREEN_CTX_DEFAULT_STREAM ||
        wanted->origin.device != found->number)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    fake_touch(found);
    code = fake_primary(found, &primary);
    if (code == 0 && fake_memory_free_bytes(found) < GRANULE_BYTES)
        code = CUDA_ERROR_OUT_OF_MEMORY;
    if (code != 0)
        DRIVER_LEAVE(code);
    code = fake_device_finish(found); /* as an H200 */
    if (code != 0)
        DRIVER_LEAVE(code);
    *out = make(found, wanted);
    DRIVER_LEAVE(CUDA_SUCCESS);
}

FAKE_API CUresult cuGreenCtxDestroy(CUgreenCtx green)
{
    DRIVER_ENTER("cuGreenCtxDestroy", CUDA_ERROR_INVALID_CONTEXT, 0);
    if (!green || !fake_handle_is(green, FAKE_GREEN))
        DRIVER_LEAVE(CUDA_ERROR_INVALID_CONTEXT);
    for (int i = 0; i < FAKE_GREEN_STREAMS; ++i)
        if (green->streams[i] && green->streams[i]->handle.alive)
            fake_break("cuGreenCtxDestroy before the streams made in it");
    if (fake_current_context() == green->context)
        fake_break("cuGreenCtxDestroy of the context that is current");
    fake_handle_end(green->context);
    fake_handle_end(green);
    DRIVER_LEAVE(CUDA_SUCCESS);
}

FAKE_API CUresult cuCtxFromGreenCtx(CUcontext *out, CUgreenCtx green)
{
    DRIVER_ENTER("cuCtxFromGreenCtx", CUDA_ERROR_INVALID_CONTEXT, 0);
    if (!green || !fake_handle_is(green, FAKE_GREEN))
        DRIVER_LEAVE(CUDA_ERROR_INVALID_CONTEXT);
    if (!out)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    *out = green->context;
    DRIVER_LEAVE(CUDA_SUCCESS);
}

FAKE_API CUresult cuGreenCtxStreamCreate(CUstream *out, CUgreenCtx green,
                                         unsigned int flags, int priority)
{
    CUstream stream;

    DRIVER_ENTER("cuGreenCtxStreamCreate", CUDA_ERROR_OUT_OF_MEMORY,
                 FAKE_CLOSED);
    if (!green || !fake_handle_is(green, FAKE_GREEN))
        DRIVER_LEAVE(CUDA_ERROR_INVALID_CONTEXT);
    if (!out || flags != CU_STREAM_NON_BLOCKING)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    stream = fake_stream_new(green->context, flags, green->sms);
    stream->priority = priority;
    for (int i = 0; i < FAKE_GREEN_STREAMS; ++i)
        if (!green->streams[i] || !green->streams[i]->handle.alive) {
            green->streams[i] = stream;
            break;
        }
    *out = stream;
    DRIVER_LEAVE(CUDA_SUCCESS);
}

/* ---- events of a whole partition ------------------------------------------ */

/* The first living stream waits for the others, and is marked. */
static struct fake_mark *mark_all(CUgreenCtx green)
{
    CUstream first = NULL;

    for (int i = 0; i < FAKE_GREEN_STREAMS; ++i) {
        CUstream stream = green->streams[i];
        struct fake_mark *mark;
        if (!stream || !stream->handle.alive)
            continue;
        if (!first) {
            first = stream;
            continue;
        }
        mark = fake_mark_new(stream);
        fake_mark_wait(first, mark);
        fake_mark_drop(mark);
    }
    return first ? fake_mark_new(first) : NULL;
}

static CUresult check_event(CUgreenCtx green, CUevent event)
{
    if (!green || !fake_handle_is(green, FAKE_GREEN))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!event || !fake_handle_is(event, FAKE_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuGreenCtxRecordEvent(CUgreenCtx green, CUevent event)
{
    CUresult result;

    DRIVER_ENTER("cuGreenCtxRecordEvent", CUDA_ERROR_INVALID_HANDLE, 0);
    result = check_event(green, event);
    if (result == CUDA_SUCCESS && event->handle.device != green->handle.device)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS) {
        fake_mark_drop(event->mark);
        event->mark = mark_all(green);
    }
    DRIVER_LEAVE(result);
}

FAKE_API CUresult cuGreenCtxWaitEvent(CUgreenCtx green, CUevent event)
{
    CUresult result;

    DRIVER_ENTER("cuGreenCtxWaitEvent", CUDA_ERROR_INVALID_HANDLE, 0);
    result = check_event(green, event);
    for (int i = 0; i < FAKE_GREEN_STREAMS && result == CUDA_SUCCESS; ++i)
        if (event->mark && green->streams[i] && green->streams[i]->handle.alive)
            fake_mark_wait(green->streams[i], event->mark);
    DRIVER_LEAVE(result);
}
