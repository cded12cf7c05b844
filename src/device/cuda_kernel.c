/* The library's own kernels on a GPU: one image, loaded by the driver at the
 * first launch and launched by name, and the combine of reduces, which falls
 * back to the host's form where a kernel cannot reach the memory. */
#include <string.h>
#include "device/cuda_inner.h"
#include "image.h"
#include "kernels.h"
#include "launch.h"

_Static_assert((int)HDPK_KERNELS <= (int)CUDA_KERNELS_MAX, "room for all");

enum {
    BLOCK = 256,        /* threads */
    BLOCKS_PER_SM = 16, /* enough to hide latency; the rest is strides */
    ACCESS = 16,        /* bytes a thread moves at a time */
    /* What a launch may move where a display waits for it: at the 250 MB/s of
     * the slowest slot that is a third of HDPK_SPIN_NS_MAX. */
    DISPLAY_BYTES = 4 << 20
};

hdp_status cuda_kernel_load(struct cuda *self)
{
    CUlibrary image = NULL;
    CUresult code;

    if (self->image)
        return HDP_OK;
    if (!self->base.row.info.runnable)
        return hdpi_fail_member(
            HDP_ERR_UNSUPPORTED, self->base.member, self->base.rank,
            "%s: this build has no kernels for compute "
            "capability %d.%d",
            self->base.row.info.spec, (int)self->base.row.info.compute_major,
            (int)self->base.row.info.compute_minor);
    code = self->driver.library_load(&image, hdpk_image_data, NULL, NULL, 0,
                                     NULL, NULL, 0);
    HDPI_RETURN_IF(cuda_check_driver(self, code, "cuLibraryLoadData"));
    self->image = image;
    return HDP_OK;
}

void cuda_kernel_unload(struct cuda *self)
{
    if (self->image && cuda_may_call() == HDP_OK)
        self->driver.library_unload(self->image);
    self->image = NULL;
    memset(self->kernels, 0, sizeof self->kernels);
}

/* Whole blocks for all threads that have work, up to what fills the device. */
static unsigned blocks_for(const struct cuda *self, int64_t threads)
{
    int64_t sms = self->base.row.info.sm_count;
    int64_t most = (sms > 0 ? sms : 1) * BLOCKS_PER_SM;
    int64_t wanted = threads / BLOCK + (threads % BLOCK != 0);

    wanted = wanted < most ? wanted : most;
    return wanted > 1 ? (unsigned)wanted : 1;
}

hdp_status cuda_kernel_launch(struct cuda *self, int32_t kernel,
                              const void *args, int64_t threads)
{
    CUkernel *known = &self->kernels[kernel];
    /* The driver copies the struct during the call and writes nothing. */
    void *parameters[1] = { (void *)(uintptr_t)args };
    CUresult code;

    HDPI_RETURN_IF(cuda_kernel_load(self));
    if (!*known) {
        CUkernel found = NULL;
        HDPI_RETURN_IF(cuda_late_check(self, "the first use of a kernel"));
        code = self->driver.library_kernel(&found, self->image,
                                           hdpk_kernels[kernel].name);
        HDPI_RETURN_IF(cuda_check_driver(self, code, "cuLibraryGetKernel"));
        *known = found;
    }
    self->dirty = 1;
    code =
        self->driver.launch((CUfunction)*known, blocks_for(self, threads), 1, 1,
                            BLOCK, 1, 1, 0, self->stream, parameters, NULL);
    return cuda_check_driver(self, code, "cuLaunchKernel");
}

/* ---- combine --------------------------------------------------------------- */

/* The job as a launch takes it; 0 where a kernel cannot do it all. */
static int fits(struct hdpk_launch_combine *out, struct cuda *self,
                const struct hdpk_combine *job)
{
    if (!self->base.row.info.runnable ||
        job->source_count > HDPK_LAUNCH_SOURCES ||
        job->target_count > HDPK_LAUNCH_TARGETS)
        return 0;
    memset(out, 0, sizeof *out);
    out->dtype = job->dtype;
    out->op = job->op;
    out->source_count = job->source_count;
    out->target_count = job->target_count;
    out->total = job->total;
    out->first = job->first;
    out->count = job->count;
    for (int32_t s = 0; s < job->source_count; ++s) {
        if (!cuda_reaches(self, job->sources[s]))
            return 0;
        out->sources[s] = job->sources[s];
        out->counts[s] = job->op == HDP_OP_MEAN ? job->counts[s] : 0;
    }
    for (int32_t t = 0; t < job->target_count; ++t) {
        if (!cuda_reaches(self, job->targets[t]))
            return 0;
        out->targets[t] = job->targets[t];
    }
    return 1;
}

/* In pieces where a display must not wait; their bytes do not differ. */
static hdp_status launch_combine(struct cuda *self,
                                 struct hdpk_launch_combine *job)
{
    int64_t size = (int64_t)hdpk_dtype_bytes(job->dtype);
    int64_t end = job->first + job->count, piece = job->count;

    if (self->base.row.info.display)
        piece =
            DISPLAY_BYTES / (size * (job->source_count + job->target_count));
    for (int64_t at = job->first; at < end; at += piece) {
        job->first = at;
        job->count = end - at < piece ? end - at : piece;
        /* One chunk more: the first may be cut. */
        HDPI_RETURN_IF(cuda_kernel_launch(self, HDPK_COMBINE, job,
                                          job->count / (ACCESS / size) + 2));
    }
    return HDP_OK;
}

static hdp_status combine_entered(struct cuda *self,
                                  const struct hdpk_combine *job)
{
    struct hdpk_launch_combine launch;

    if (fits(&launch, self, job)) {
        HDPI_RETURN_IF(launch_combine(self, &launch));
        return cuda_wait(&self->base, INT64_MAX);
    }
    /* As a kernel would, after what the queue holds. */
    HDPI_RETURN_IF(cuda_wait(&self->base, INT64_MAX));
    hdpk_combine(job);
    return HDP_OK;
}

/* Complete on return: the members that wait for it read the bytes themselves.
 * No longer than to the device's deadline, as every wait. */
hdp_status cuda_combine(struct hdpi_device *device,
                        const struct hdpk_combine *job)
{
    struct cuda *self = cuda_from(device);
    hdp_status status;

    if (job->count <= 0 || job->target_count <= 0)
        return HDP_OK;
    HDPI_RETURN_IF(cuda_enter(self));
    status = combine_entered(self, job);
    cuda_leave(self);
    return status;
}
