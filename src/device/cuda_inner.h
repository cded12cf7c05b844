/* What the files of the CUDA adapter share: a member's state, the driver's and
 * cuBLAS's functions as they were found, and how calls are made so that the
 * caller's current device and pending error stay as they were. */
#ifndef HDPI_CUDA_INNER_H
#define HDPI_CUDA_INNER_H
#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include "device/adapter.h"
#include "device/cuda_old.h"

/* ---- the driver's functions (cuda_load.c) --------------------------------- */

/* Reached through the runtime, so that both speak of one driver. Those newer
 * than CUDA 12.0 may be NULL, one by one. */
struct cuda_driver {
    CUresult (*error_string)(CUresult code, const char **out);
    CUresult (*device_get)(CUdevice *out, int ordinal);
    CUresult (*device_uuid)(CUuuid *out, CUdevice device);
    CUresult (*context_get)(CUcontext *out);
    CUresult (*context_set)(CUcontext context);
    CUresult (*capture_mode)(CUstreamCaptureMode *mode);
    CUresult (*primary_state)(CUdevice device, unsigned *flags, int *active);
    CUresult (*library_load)(CUlibrary *out, const void *code,
                             CUjit_option *options, void **values,
                             unsigned option_count, CUlibraryOption *library,
                             void **library_values, unsigned library_count);
    CUresult (*library_unload)(CUlibrary library);
    CUresult (*library_kernel)(CUkernel *out, CUlibrary library,
                               const char *name);
    CUresult (*launch)(CUfunction kernel, unsigned grid_x, unsigned grid_y,
                       unsigned grid_z, unsigned block_x, unsigned block_y,
                       unsigned block_z, unsigned shared_bytes, CUstream stream,
                       void **parameters, void **extra);
    CUresult (*stream_context)(CUstream stream, CUcontext *out);
    /* partitions, all or none: CUDA 12.4, and 12.5 for their streams */
    CUresult (*stream_green)(CUstream stream, CUgreenCtx *out);
    CUresult (*device_resource)(CUdevice device, CUdevResource *out,
                                CUdevResourceType type);
    CUresult (*split_sms)(CUdevResource *out, unsigned *count,
                          const CUdevResource *input, CUdevResource *rest,
                          unsigned flags, unsigned least);
    CUresult (*make_descriptor)(CUdevResourceDesc *out,
                                CUdevResource *resources, unsigned count);
    CUresult (*green_create)(CUgreenCtx *out, CUdevResourceDesc descriptor,
                             CUdevice device, unsigned flags);
    CUresult (*green_destroy)(CUgreenCtx green);
    CUresult (*green_context)(CUcontext *out, CUgreenCtx green);
    CUresult (*green_stream)(CUstream *out, CUgreenCtx green, unsigned flags,
                             int priority);
};

/** Fills the table. HDP_ERR_UNSUPPORTED naming the function that lacks. Needs
 *  no context. */
hdp_status cuda_driver_load(struct cuda_driver *out);
/** The file that the driver's functions stand in; "" where it has no name. */
void cuda_driver_path(char *out, size_t capacity,
                      const struct cuda_driver *driver);
/** 12040 is 12.4; 0: there is none. Works without a driver. */
int cuda_driver_version(void);
/** Why the loader does not find a driver. */
void cuda_loader_words(char *out, size_t capacity);
/** "driver 12.4, built for CUDA 13.0": what to say where they do not fit. */
void cuda_versions(char *out, size_t capacity);

/* ---- cuBLAS (cuda_blas.c) ------------------------------------------------- */

struct cuda_rest; /* cuda_kept.c */
struct cuda_blas {
    void *library; /* NULL: not loaded */
    char path[256];
    int version;
    cublasHandle_t handle;   /* NULL until the first use */
    struct cuda_rest *place; /* where it will rest; NULL: nowhere */
    cublasStatus_t (*create)(cublasHandle_t *out);
    cublasStatus_t (*destroy)(cublasHandle_t handle);
    cublasStatus_t (*set_stream)(cublasHandle_t handle, cudaStream_t stream);
    cublasStatus_t (*set_math)(cublasHandle_t handle, cublasMath_t mode);
    cublasStatus_t (*set_pointers)(cublasHandle_t handle,
                                   cublasPointerMode_t mode);
    cublasStatus_t (*set_sms)(cublasHandle_t handle, int count); /* or NULL */
    cublasStatus_t (*get_version)(cublasHandle_t handle, int *out);
    const char *(*status_string)(cublasStatus_t code);
    cublasStatus_t (*gemm)(cublasHandle_t handle, cublasOperation_t transpose_a,
                           cublasOperation_t transpose_b, int m, int n, int k,
                           const void *alpha, const void *a,
                           cudaDataType type_a, int lda, const void *b,
                           cudaDataType type_b, int ldb, const void *beta,
                           void *c, cudaDataType type_c, int ldc,
                           cublasComputeType_t compute,
                           cublasGemmAlgo_t algorithm);
};

struct cuda;

/** Loads the library where it is not yet and makes the member's handle, bound
 *  to its stream and, on a partition, to its SM count. HDP_ERR_NOT_FOUND naming
 *  the file that is wanted; HDP_ERR_MEMORY. */
hdp_status cuda_blas_open(struct cuda *self);
/** The handle, where there is one, rests in the context; that of a queue which
 *  hung is lost. The library stays. Never fails. */
void cuda_blas_close(struct cuda *self);
/** The open handle as it is for the library's own products, whatever a caller
 *  has set since. */
hdp_status cuda_blas_reset(struct cuda *self);
/** Version of the copy that this member uses or would use (130100 is 13.1.0),
 *  0: there is none. Makes no CUDA call; any thread; leaves this thread's last
 *  error. */
int cuda_blas_version(struct cuda *self);
/** The port's hook `blas`. */
hdp_status cuda_blas(struct hdpi_device *device, void **out);

/* ---- a member ------------------------------------------------------------- */

struct cuda_partition; /* cuda_partition.c; kept in the context */
struct cuda_probe;     /* cuda_probe.c; NULL: none is open */

/* Hooks are entered inside one another: a shard function calls some from within
 * launch, perhaps on a thread of the caller's. */
enum { CUDA_VISITS_MAX = 8 };
struct cuda_visit {
    int guest;        /* 1: the thread's state is put back at cuda_leave() */
    CUcontext before; /* current on that thread; NULL: none was */
    CUstreamCaptureMode mode;
};

enum { CUDA_KERNELS_MAX = 16 };

/* What alloc and host_alloc have given out. */
enum { CUDA_ON_DEVICE = 1, CUDA_PINNED = 2, CUDA_PAGEABLE = 3 };
struct cuda_block {
    void *memory;
    size_t bytes;
    int kind;
};

struct cuda {
    struct hdpi_device base;
    int ordinal; /* as the runtime counts: the logical id */
    cudaStream_t stream;
    int owns_stream;                  /* 0: the caller's, or the partition's */
    struct cuda_partition *partition; /* NULL: the whole device */
    struct cuda_driver driver;
    struct cuda_blas blas;
    struct cuda_probe *probe;
    CUlibrary image;                    /* NULL until the first kernel */
    CUkernel kernels[CUDA_KERNELS_MAX]; /* by hdpk_kernel_id; NULL: not yet */
    CUcontext context; /* the device's primary one, from the first enter on */
    struct hdpi_kept *kept; /* the context's; NULL: there is none */
    struct cuda_visit visits[CUDA_VISITS_MAX];
    int depth;    /* hooks that have entered and not left */
    int unpinned; /* 1: the warning about pinned memory was given */
    int dirty;    /* 1: it is not known that the queue has ended */
    int stuck;    /* 1: the queue did not end in time; what it uses is kept */
    struct cuda_block *blocks;
    size_t block_count, block_capacity;
};

static inline struct cuda *cuda_from(struct hdpi_device *device)
{
    return (struct cuda *)(void *)device;
}

/* ---- calls (cuda_error.c, cuda_apart.c) ----------------------------------- */

/** HDP_OK while this process may make CUDA calls: it has not lost CUDA
 *  (HDP_ERR_FATAL) and is no forked child (HDP_ERR_FORKED). */
hdp_status cuda_may_call(void);

/**
 * Begins a hook: refuses what cuda_may_call() refuses, and makes the member's
 * device current. Where the thread may be the caller's (serial, or inside his
 * function) its current context and capture mode are noted first. Hooks nest.
 * The first one comes from open, on a thread of cuda_apart(), with the driver's
 * table filled: it makes the device's primary context.
 */
hdp_status cuda_enter(struct cuda *self);
/** Ends it, after a success of cuda_enter() alone; puts back what was noted.
 *  Never fails. */
void cuda_leave(struct cuda *self);

/** HDP_OK for success. Else the failure of `call` is born: status, severity,
 *  the runtime's own number and words, the member, its specification and UUID
 *  (self may be NULL: none), and "seen at" where kernels fail late. Takes the
 *  runtime's pending error back. A code that poisons seals the fate. */
hdp_status cuda_check(struct cuda *self, cudaError_t code, const char *call);
hdp_status cuda_check_driver(struct cuda *self, CUresult code,
                             const char *call);
hdp_status cuda_check_blas(struct cuda *self, cublasStatus_t code,
                           const char *call);
/** 1 when only a new process can use CUDA after that code. */
int cuda_is_fatal(cudaError_t code);

/** Runs fn(arg) on a thread of the library's own that has all signals blocked,
 *  and waits for it: so neither the caller's current device nor its pending
 *  error can change. cuda_enter() relaxes its capture mode. Its error becomes
 *  this thread's. Where no CUDA call may be made it runs on this thread: it
 *  will make none. HDP_ERR_SYSTEM without a thread: fn was not run. */
hdp_status cuda_apart(hdp_status (*fn)(void *), void *arg);

/* ---- looking (cuda_row.c) -------------------------------------------------- */

/* One look at the devices, on a thread of cuda_apart(). */
struct cuda_look {
    hdp_topology *topology;
    const struct hdpi_ask *asks; /* NULL: what is there */
    int32_t ask_count;
    const struct hdpi_site *site; /* may be NULL */
    int device_count;             /* visible ones */
    struct hdpi_nvml *nvml;       /* NULL: absent, or not needed so far */
    int asked_nvml;
};

/** What the driver says of a device, besides what was asked of it; and in
 *  `barred` why `auto` would leave it alone. */
hdp_status cuda_row_fill(struct hdpi_device_row *row, struct cuda_look *look,
                         int ordinal);
/** HDP_OK, or why a device cannot serve that was asked for by name. */
hdp_status cuda_row_accept(const struct hdpi_device_row *row);
/** Its lasting identity: "GPU-..." or "MIG-...". */
hdp_status cuda_uuid(char *out, size_t capacity, int ordinal);
/** 1 when the text is a UUID's beginning, as the driver reads one in a mask:
 *  dashes and the case of digits count for nothing. */
int cuda_uuid_begins(const char *uuid, const char *text);
/** Where an ask stands in its text, as " (at 7)"; "" for one of a list. */
void cuda_ask_place(char *out, size_t capacity, const struct hdpi_ask *ask);

/* ---- the hooks, by file --------------------------------------------------- */

/* cuda_enumerate.c */
hdp_status cuda_enumerate(hdp_topology *topology, const struct hdpi_ask *asks,
                          int32_t count, const struct hdpi_site *site);
/* cuda_link.c */
hdp_status cuda_link(struct hdpi_topology_link *out,
                     const struct hdpi_device_row *from,
                     const struct hdpi_device_row *to,
                     const struct hdpi_site *site);
/* cuda_peer.c */
hdp_status cuda_peer(struct hdpi_device *from, const struct hdpi_device *to,
                     int64_t deadline_ns, struct hdpi_topology_link *out);
/* cuda_member.c */
hdp_status cuda_open(struct hdpi_device *device);
void cuda_close(struct hdpi_device *device);
hdp_status cuda_software(struct hdpi_device *device, char *out,
                         size_t capacity);
hdp_status cuda_aside(struct hdpi_device *device, hdp_status (*fn)(void *),
                      void *arg); /* the hook `apart` */
/** Refuses a stream that this member cannot use or wait for: capturing, of
 *  another device (any_device 0) or, on a partition, not of it. Device is
 *  current. */
hdp_status cuda_stream_check(struct cuda *self, cudaStream_t stream,
                             int any_device);
/* cuda_partition.c */
/** Takes a kept partition of as many multiprocessors as were asked for, or makes
 *  one: sets partition, stream and context. HDP_ERR_UNSUPPORTED by a driver
 *  without them, HDP_ERR_ARGUMENT where the device is too small, HDP_ERR_BUSY
 *  while others have too much of it. To make one waits for all work on the
 *  device, as the driver does, but not with the site's lock. */
hdp_status cuda_partition_take(struct cuda *self);
/** Back to the context, for the next member; none is allowed. Never fails. */
void cuda_partition_give(struct cuda *self);
/** 1 when the stream was made in the member's partition. */
int cuda_partition_owns(const struct cuda *self, cudaStream_t stream);
/** Ends all, with the context; nobody uses one. */
void cuda_partitions_end(struct hdpi_kept *kept);
/* cuda_kept.c */
struct hdpi_kept {
    struct cuda_driver driver; /* for ends, when no member is open */
    struct cuda_pool *pools;   /* devices in parts, cuda_partition.c */
    struct cuda_rest *rest;    /* cuBLAS handles that no member uses */
    struct cuda_late *late;    /* queues that did not end in time */
};
/** Sets self->kept to what the context keeps, made where there is nothing yet;
 *  NULL, and HDP_OK, where there is no context. HDP_ERR_MEMORY. */
hdp_status cuda_kept_open(struct cuda *self);
/** What the stream, of this member's GPU, has so far did not end in time. Does
 *  not wait and never fails. */
void cuda_late_note(const struct cuda *self, cudaStream_t stream);
/** 1 while something that was late on the GPU, or (-1) on any of this context's,
 *  has not ended: cudaFree(), cudaFreeHost(), cuLibraryUnload() and
 *  cublasDestroy() would wait with it. Does not wait; leaves the last error. */
int cuda_late(const struct cuda *self, int ordinal);
/** HDP_ERR_BUSY while something that was late on its GPU has not ended: `what`,
 *  which is to be done, would wait with it. */
hdp_status cuda_late_check(const struct cuda *self, const char *what);
/** cuda_late() for who has the site's lock, or is the last. */
int cuda_late_look(struct hdpi_kept *kept, int ordinal);
/** A place for a handle to rest at, so that resting cannot fail; free(). NULL,
 *  and HDP_OK, where there is no context. */
hdp_status cuda_rest_place(struct cuda_rest **out, const struct cuda *self);
/** A handle of this member's CUDA context, made by the same copy of cuBLAS, with
 *  its place; NULL: none rests. */
cublasHandle_t cuda_rest_take(struct cuda_rest **out, struct cuda *self);
/** The member's handle rests from now on. */
void cuda_rest_give(struct cuda_rest *place, struct cuda *self);
/** Takes the handles of a CUDA context, or (NULL) all, out of those at rest, as
 *  a list. The caller has the site's lock, or is the last. */
struct cuda_rest *cuda_rest_take_out(struct hdpi_kept *kept, CUcontext context);
/** Ends the handles of that list, except where something was late. Waits for the
 *  work on their GPUs: not with the site's lock. The thread's current context
 *  stays. */
void cuda_rest_end(const struct hdpi_kept *kept, struct cuda_rest *list);
/** The context's end: nobody uses anything any more. Waits for the work on GPUs
 *  where handles rest, except where something was late. */
void cuda_forget(const struct hdpi_site *site);
/* cuda_memory.c */
hdp_status cuda_alloc(struct hdpi_device *device, void **out, size_t bytes);
void cuda_free(struct hdpi_device *device, void *memory);
hdp_status cuda_host_alloc(struct hdpi_device *device, void **out,
                           size_t bytes);
void cuda_host_free(struct hdpi_device *device, void *memory);
hdp_status cuda_copy(struct hdpi_device *device, const struct hdpi_copy *copy);
void cuda_memory(struct hdpi_device *device, int64_t *out_held,
                 int64_t *out_free);
/** 1 when a kernel of this member may use the pointer: its device's memory, or
 *  pinned host memory. Device is current. */
int cuda_reaches(struct cuda *self, const void *pointer);
int32_t cuda_locate(struct hdpi_device *device, const void *memory);
/** Gives all of it back; what a stuck queue may use stays. */
void cuda_memory_close(struct cuda *self);
/* cuda_queue.c */
hdp_status cuda_launch(struct hdpi_device *device, hdp_work_fn fn,
                       const hdp_shard *shard, void *user, int32_t *out_code);
hdp_status cuda_mark(struct hdpi_device *device, struct hdpi_mark *mark,
                     int32_t purpose);
void cuda_unmark(struct hdpi_device *device, struct hdpi_mark *mark);
hdp_status cuda_elapsed(struct hdpi_device *device, double *out_ns,
                        const struct hdpi_mark *from,
                        const struct hdpi_mark *to);
hdp_status cuda_wait(struct hdpi_device *device, int64_t deadline_ns);
/** Looks until the queue has ended, whatever failed before, for a second at
 *  most, once if it is stuck already: 1 when what it used can be given back.
 *  Needs no current device. */
int cuda_queue_end(struct cuda *self);
hdp_status cuda_order(struct hdpi_device *device, void *stream, int32_t way);
void *cuda_native(struct hdpi_device *device);
/* cuda_kernel.c */
hdp_status cuda_combine(struct hdpi_device *device,
                        const struct hdpk_combine *job);
/** Loads the image where it is not yet: HDP_ERR_UNSUPPORTED where it has no code
 *  for this device. Device is current, here and below. */
hdp_status cuda_kernel_load(struct cuda *self);
/** Not loaded is allowed. Waits for the device. */
void cuda_kernel_unload(struct cuda *self);
/** Launches a kernel of launch.h on the member's stream with its struct; about
 *  so many threads have work. Loads the image first where it is not yet. */
hdp_status cuda_kernel_launch(struct cuda *self, int32_t kernel,
                              const void *args, int64_t threads);
/* cuda_probe.c */
hdp_status cuda_probe_open(struct hdpi_device *device,
                           struct hdpi_probe *probe);
hdp_status cuda_probe(struct hdpi_device *device,
                      const struct hdpi_probe *probe);
void cuda_probe_close(struct hdpi_device *device);
#endif
