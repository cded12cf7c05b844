/* The built-in workloads of a GPU member: products in cuda_probe_gemm.c, and
 * here copies within the device, empty launches, and what all of them need:
 * time between marks, room as far as memory goes, random numbers. */
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "device/cuda_probe.h"
#include "device/random.h"
#include "launch.h"

enum {
    MIB = 1 << 20,
    COPY_MIB = 128,       /* of each side: more than any cache holds */
    COPY_TRIAL_MIB = 64,  /* grown to, from a sixteenth of it */
    LAUNCH_TRIAL = 256,   /* likewise */
    TRIAL_STEP = 4,       /* how a trial grows */
    REPEATS = 5,          /* of a trial; the fastest counts */
    FITTINGS = 3,         /* at most, from a trial to a sample */
    FREE_PART = 4,        /* one part of what is free may be taken */
    PIECE_BYTES = 1 << 20 /* of random numbers; they repeat after that */
};

/* ---- time ---------------------------------------------------------------- */

static int64_t until(const struct cuda *self)
{
    return self->base.deadline_ns > 0 ? self->base.deadline_ns : INT64_MAX;
}

static hdp_status enqueue(struct cuda *self, cuda_probe_fn fn, int64_t items)
{
    hdp_status status;

    HDPI_RETURN_IF(cuda_enter(self));
    status = fn(self, items);
    cuda_leave(self);
    return status;
}

hdp_status cuda_probe_time(struct cuda *self, cuda_probe_fn fn, int64_t items,
                           double *out_ns)
{
    struct hdpi_device *base = &self->base;
    struct hdpi_mark from = { NULL, 0 }, to = { NULL, 0 };
    hdp_status status;

    HDPI_TRY(cuda_mark(base, &from, HDPI_MARK_TIME));
    HDPI_TRY(enqueue(self, fn, items));
    HDPI_TRY(cuda_mark(base, &to, HDPI_MARK_TIME));
    HDPI_TRY(cuda_wait(base, until(self)));
    HDPI_TRY(cuda_elapsed(base, out_ns, &from, &to));
out:
    cuda_unmark(base, &from);
    cuda_unmark(base, &to);
    return status;
}

/* What is in the way of one is seldom in the way of all: the first loads and
 * chooses, and while other members load, the driver keeps everybody waiting. */
hdp_status cuda_probe_fastest(struct cuda *self, cuda_probe_fn fn,
                              int64_t items, double *out_ns)
{
    double ns;

    HDPI_RETURN_IF(cuda_probe_time(self, fn, items, out_ns));
    for (int i = 1; i < REPEATS; ++i) {
        HDPI_RETURN_IF(cuda_probe_time(self, fn, items, &ns));
        if (ns < *out_ns)
            *out_ns = ns;
    }
    return HDP_OK;
}

static int64_t fitting(int64_t items, double ns)
{
    double count = (double)items * CUDA_SAMPLE_NS / (ns > 1 ? ns : 1);

    if (count < 1)
        return 1;
    return count < CUDA_ITEMS_MAX ? (int64_t)count : CUDA_ITEMS_MAX;
}

hdp_status cuda_probe_fit(struct cuda *self, cuda_probe_fn work,
                          cuda_probe_fn grow, int64_t most, int64_t *out_items,
                          double *out_ns)
{
    int64_t items = most / (TRIAL_STEP * TRIAL_STEP);

    if (items < 1)
        items = 1;
    for (;;) {
        HDPI_RETURN_IF(cuda_probe_fastest(self, work, items, out_ns));
        if (*out_ns >= CUDA_SAMPLE_NS / TRIAL_STEP || items > most / TRIAL_STEP)
            break;
        items *= TRIAL_STEP;
    }
    for (int i = 0; i < FITTINGS; ++i) {
        items = fitting(items, *out_ns);
        if (grow)
            HDPI_RETURN_IF(grow(self, items));
        HDPI_RETURN_IF(cuda_probe_fastest(self, work, items, out_ns));
        if (*out_ns > CUDA_SAMPLE_NS / 1.25 && *out_ns < CUDA_SAMPLE_NS * 1.25)
            break;
    }
    *out_items = items;
    return HDP_OK;
}

/* ---- memory -------------------------------------------------------------- */

static void drop_room(struct cuda *self)
{
    struct cuda_probe *probe = self->probe;

    cuda_free(&self->base, probe->a);
    cuda_free(&self->base, probe->c);
    probe->a = probe->c = NULL;
    probe->room = 0;
}

static hdp_status take_room(struct cuda *self, int64_t items, int64_t a_bytes,
                            int64_t c_bytes)
{
    struct cuda_probe *probe = self->probe;
    struct hdpi_device *base = &self->base;
    hdp_status status;

    HDPI_TRY(cuda_alloc(base, &probe->a, (size_t)(items * a_bytes)));
    HDPI_TRY(cuda_alloc(base, &probe->c, (size_t)(items * c_bytes)));
    probe->room = items;
out:
    if (status != HDP_OK)
        drop_room(self);
    return status;
}

hdp_status cuda_probe_room(struct cuda *self, int64_t items, int64_t least,
                           int64_t a_bytes, int64_t c_bytes)
{
    const hdp_error before = *hdpi_error();
    int64_t held, rest, most;
    hdp_status status;

    drop_room(self);
    cuda_memory(&self->base, &held, &rest);
    most = rest < 0 ? items : rest / FREE_PART / (a_bytes + c_bytes);
    if (items > most)
        items = most > least ? most : least;
    for (;;) {
        status = take_room(self, items, a_bytes, c_bytes);
        if (status != HDP_ERR_MEMORY || items / 2 < least)
            break;
        items /= 2;
        *hdpi_error() = before; /* smaller may do */
    }
    return status;
}

static hdp_status send(struct cuda *self, void *target, const void *source,
                       int64_t bytes, int32_t direction)
{
    const struct hdpi_copy copy =
        hdpi_copy_block(target, source, bytes, direction);

    return cuda_copy(&self->base, &copy);
}

/* One piece from the host, then the device doubles what it has. */
hdp_status cuda_probe_fill(struct cuda *self, void *out, int64_t bytes,
                           int32_t dtype, int64_t element)
{
    int64_t done = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
    uint64_t seed = 1 + (uint64_t)self->base.member;
    void *piece = hdpi_alloc_aligned((size_t)done, 64, "a probe's numbers");
    hdp_status status = HDP_OK;

    if (!piece)
        return HDP_ERR_MEMORY;
    hdpi_random_fill(piece, dtype, done / element, &seed);
    HDPI_TRY(send(self, out, piece, done, HDPI_COPY_IN));
    while (done < bytes) {
        int64_t more = bytes - done < done ? bytes - done : done;
        HDPI_TRY(send(self, (char *)out + done, out, more, HDPI_COPY_INSIDE));
        done += more;
    }
    HDPI_TRY(cuda_wait(&self->base, until(self)));
out:
    free(piece); /* pageable: it was read before the copy returned */
    return status;
}

/* ---- copies and launches ------------------------------------------------- */

static hdp_status copy_work(struct cuda *self, int64_t items)
{
    const struct cuda_probe *probe = self->probe;

    while (items > 0) {
        int64_t now = items < probe->room ? items : probe->room;
        HDPI_RETURN_IF(
            cuda_check(self,
                       cudaMemcpyAsync(probe->c, probe->a, (size_t)now * MIB,
                                       cudaMemcpyDeviceToDevice, self->stream),
                       "cudaMemcpyAsync"));
        items -= now;
    }
    return HDP_OK;
}

static hdp_status launch_work(struct cuda *self, int64_t items)
{
    const struct hdpk_launch_spin nothing = { NULL, 0 };

    for (int64_t i = 0; i < items; ++i)
        HDPI_RETURN_IF(cuda_kernel_launch(self, HDPK_SPIN, &nothing, 1));
    return HDP_OK;
}

static hdp_status open_copy(struct cuda *self, struct hdpi_probe *probe)
{
    struct cuda_probe *own = self->probe;
    double ns;

    HDPI_RETURN_IF(cuda_probe_room(self, COPY_MIB, 1, MIB, MIB));
    HDPI_RETURN_IF(cuda_probe_fill(self, own->a, own->room * MIB, HDP_F32, 4));
    HDPI_RETURN_IF(cuda_probe_fit(self, copy_work, NULL, COPY_TRIAL_MIB,
                                  &probe->start_items, &ns));
    probe->item_bytes = MIB;
    probe->compute = probe->dtype;
    return HDP_OK;
}

static hdp_status open_launch(struct cuda *self, struct hdpi_probe *probe)
{
    double ns;

    HDPI_RETURN_IF(cuda_probe_fit(self, launch_work, NULL, LAUNCH_TRIAL,
                                  &probe->start_items, &ns));
    probe->compute = probe->dtype;
    return HDP_OK;
}

/* ---- the hooks ----------------------------------------------------------- */

static hdp_status open_kind(struct cuda *self, struct hdpi_probe *probe)
{
    switch (probe->kind) {
    case HDP_PROBE_GEMM:
        return cuda_gemm_open(self, probe);
    case HDP_PROBE_COPY:
        return open_copy(self, probe);
    case HDP_PROBE_LAUNCH:
        return open_launch(self, probe);
    default:
        return hdpi_fail_member(HDP_ERR_UNSUPPORTED, self->base.member,
                                self->base.rank, "%s has no probe of kind %d",
                                self->base.row.info.spec, (int)probe->kind);
    }
}

hdp_status cuda_probe_open(struct hdpi_device *device, struct hdpi_probe *probe)
{
    struct cuda *self = cuda_from(device);
    hdp_status status;

    cuda_probe_close(device);
    self->probe = hdpi_alloc(1, sizeof *self->probe, "a probe");
    if (!self->probe)
        return HDP_ERR_MEMORY;
    self->probe->kind = probe->kind;
    self->probe->width = probe->width;
    status = open_kind(self, probe);
    if (status != HDP_OK)
        cuda_probe_close(device);
    return status;
}

hdp_status cuda_probe(struct hdpi_device *device,
                      const struct hdpi_probe *probe)
{
    struct cuda *self = cuda_from(device);

    if (!self->probe)
        return hdpi_fail_member(HDP_ERR_STATE, device->member, device->rank,
                                "%s: no probe is open", device->row.info.spec);
    switch (self->probe->kind) {
    case HDP_PROBE_COPY:
        return enqueue(self, copy_work, probe->items);
    case HDP_PROBE_LAUNCH:
        return enqueue(self, launch_work, probe->items);
    default:
        HDPI_RETURN_IF(cuda_gemm_grow(self, probe->items));
        return enqueue(self, cuda_gemm_work, probe->items);
    }
}

/* Leaves this thread's error, which may be the one of a failed open. */
void cuda_probe_close(struct hdpi_device *device)
{
    struct cuda *self = cuda_from(device);
    const hdp_error before = *hdpi_error();

    if (!self->probe)
        return;
    drop_room(self);
    cuda_free(device, self->probe->b);
    free(self->probe);
    self->probe = NULL;
    *hdpi_error() = before;
}
