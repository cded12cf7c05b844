/* The device port: what a member can do, one table an adapter. Private: the
 * verbs call it, the adapters implement it, nobody else sees it. */
#ifndef HDPI_DEVICE_H
#define HDPI_DEVICE_H
#include <pthread.h>
#include "base/log.h"
#include "base/symbols.h"
#include "core/topology.h"

struct hdpi_device_ops;
struct hdpi_kept;
struct hdpk_combine; /* kernels/kernels.h */

/* What a context lends its adapters: where libraries are, and a place for what
 * an adapter keeps from one member to the next. Outlives every member. */
struct hdpi_site {
    const struct hdpi_log *log;          /* may be NULL */
    const char *cublas_path, *nvml_path; /* NULL: the usual search */
    const char *mask, *order; /* CUDA's two variables when the context was
                                 made; NULL: not set */
    pthread_mutex_t *lock;    /* of kept */
    struct hdpi_kept **kept;  /* the adapter's; released by its hook forget */
};

/* The base of every adapter's state; the adapter's struct begins with it. */
struct hdpi_device {
    const struct hdpi_device_ops *ops;
    const struct hdpi_site *site;
    struct hdpi_device_row row; /* identity and what was asked */
    int32_t member, rank;       /* for messages */
    void *lent_queue; /* set before open: the caller's own; NULL: none */
    /* set before a step: until when hooks wait for the queue, 0: for ever; any
     * thread may bring it forward, so that a lost group waits no longer */
    _Atomic int64_t deadline_ns;
    int32_t asynchronous; /* set by open: 1: hooks return while their work goes
                              on; 0: all is done when they return */
    int32_t host_memory;  /* set by open: 1: host pointers are its memory, so
                              rows need no copy */
    int32_t virtual_time; /* set by open: 1: elapsed comes from a model */
    int32_t serial;       /* 1: thread-less use; host teams are not started */
    int32_t condemned;    /* set before close: 1: another device may still work
                              with its memory, which is not given back */
    int64_t held_bytes;   /* given out by alloc and not yet freed */
    const struct hdpi_log *log; /* the site's; may be NULL */
};

enum { HDPI_COPY_IN = 1, HDPI_COPY_OUT = 2, HDPI_COPY_INSIDE = 3 };

/* Rows from one place to another; strides may exceed row_bytes. */
struct hdpi_copy {
    void *target;
    const void *source;
    int64_t rows, row_bytes, target_stride, source_stride;
    int32_t direction; /* HDPI_COPY_*; which side is host memory */
};

/** So many bytes that lie together, as one row. */
static inline struct hdpi_copy hdpi_copy_block(void *target, const void *source,
                                               int64_t bytes, int32_t direction)
{
    return (struct hdpi_copy){ .target = target,
                               .source = source,
                               .rows = 1,
                               .row_bytes = bytes,
                               .target_stride = bytes,
                               .source_stride = bytes,
                               .direction = direction };
}

/* A point in the queue's time. Zeroed before first use. */
struct hdpi_mark {
    void *handle;  /* adapter's own, made at the first mark */
    int64_t value; /* adapter's own */
};

enum { HDPI_MARK_TIME = 0, HDPI_MARK_READY = 1 };

/* Where memory is, as one member sees it. */
enum {
    HDPI_AT_HOST = 0,
    HDPI_AT_MEMBER = 1, /* its functions can use the pointer as it is */
    HDPI_AT_OTHER = 2   /* of another device */
};

enum {
    HDPI_ORDER_LOOK = 0,     /* only whether the stream can be used */
    HDPI_ORDER_AFTER = 1,    /* what the stream has so far comes before what the
                             queue gets from now on */
    HDPI_ORDER_BEFORE = 2,   /* the reverse */
    HDPI_ORDER_AFTER_ANY = 3 /* as AFTER; it may be of another device */
};

/* What a member has for a dtype, as its products showed; 0: not looked at. */
enum { HDPI_UNITS_NATIVE = 1, HDPI_UNITS_SLOW = 2, HDPI_UNITS_ABSENT = 3 };

/* A built-in calibration workload: `items` of `kind`, in `dtype`. One item of
 * GEMM is one row times a width x width matrix; of COPY one MiB moved inside
 * the member; of LAUNCH one empty launch. */
struct hdpi_probe {
    int32_t kind;  /* HDP_PROBE_GEMM, _COPY, _LAUNCH */
    int32_t dtype; /* HDP_* */
    int64_t width;
    int64_t items; /* set by the caller of probe */
    /* filled by probe_open: */
    int64_t start_items; /* about 1-2 ms of work */
    double item_flops, item_bytes;
    int32_t compute; /* HDP_*: what products accumulate in; before the open:
                        what they are to, 0: the usual */
    int32_t units;   /* HDPI_UNITS_*, also where the open is refused */
    /* sizes that make up the whole curve, ascending, for as long as the probe
     * is open; NULL: the caller's choice */
    const int64_t *sizes;
    int32_t size_count;
};

/* Common to all hooks, so that none repeats it: all hooks of one device are
 * called by one thread at a time, its member's (in CALLER mode the caller's);
 * those that take no device may be called by any. Hooks never call a verb. A
 * status other than HDP_OK was born with hdpi_fail(); the member is then as
 * before the call unless the hook says otherwise. "Queue" is the member's own
 * queue; where an adapter works synchronously, queue order is program order. */
struct hdpi_device_ops {
    const char *name;  /* "host" */
    int32_t kind;      /* HDP_HOST ... */
    size_t state_size; /* of the adapter's struct, base included */

    /**
     * Appends one row per device that the asks name (asks may be NULL: what
     * is there). Called by discover and by group_create, on the caller's
     * thread; may open vendor libraries, creates no device context. No driver
     * or no device is HDP_OK with zero rows and hdpi_topology_note() saying
     * why. An ask that cannot be met is HDP_ERR_NOT_FOUND ("no device: ...")
     * or HDP_ERR_ARGUMENT, and nothing is appended. Required.
     */
    hdp_status (*enumerate)(hdp_topology *topology, const struct hdpi_ask *asks,
                            int32_t count, const struct hdpi_site *site);

    /** The way between two different devices of this kind, as the driver tells
     *  it; makes no context. Optional: nothing known, HDP_OK. */
    hdp_status (*link)(struct hdpi_topology_link *out,
                       const struct hdpi_device_row *from,
                       const struct hdpi_device_row *to,
                       const struct hdpi_site *site);

    /** Tries the direct way from a member's device to that of another member of
     *  this kind: a pattern goes there and is read back on the other side; the
     *  queues of neither are used. out->peer 1: every byte arrived, at that
     *  rate; 0: there is no such way, or (one warning names both) it loses
     *  bytes. HDP_ERR_TIMEOUT where a copy has not ended by deadline_ns; what it
     *  uses is never given back. Optional: no such way. */
    hdp_status (*peer)(struct hdpi_device *from, const struct hdpi_device *to,
                       int64_t deadline_ns, struct hdpi_topology_link *out);

    /** Versions of what a member's speed hangs on besides the device, as one
     *  line ("driver 13.0, runtime 13.0, cuBLAS 13.1.0"), for keys of caches.
     *  Optional: "". */
    hdp_status (*software)(struct hdpi_device *device, char *out,
                           size_t capacity);

    /** Releases what the adapter kept in the context; no member is open.
     *  Optional: nothing. */
    void (*forget)(const struct hdpi_site *site);

    /**
     * Takes what one member needs: threads, queue, library handles are made
     * here or at first use. The base is filled, the rest of the state is
     * zero. On error the port calls close, so open cleans nothing up.
     * Statuses: HDP_ERR_MEMORY, _SYSTEM, _NOT_FOUND, _BUSY. Required.
     */
    hdp_status (*open)(struct hdpi_device *device);

    /** Releases all; never fails; accepts a zeroed or half-opened state.
     *  The queue is empty. Required. */
    void (*close)(struct hdpi_device *device);

    /** Memory of the member; zero bytes gives NULL and HDP_OK.
     *  HDP_ERR_MEMORY with wanted_bytes. Optional: host memory, 64-byte
     *  aligned. */
    hdp_status (*alloc)(struct hdpi_device *device, void **out, size_t bytes);
    /** NULL is allowed; never fails. Optional: free(). */
    void (*free)(struct hdpi_device *device, void *memory);

    /** Host memory that the member's copies move fastest: pinned. What cannot
     *  be pinned is pageable, with one warning. Optional: as alloc's default.
     *  Freed by host_free alone. */
    hdp_status (*host_alloc)(struct hdpi_device *device, void **out,
                             size_t bytes);
    void (*host_free)(struct hdpi_device *device, void *memory);

    /** Where memory of the caller's is, HDPI_AT_*. Any thread; never fails: what
     *  the driver cannot say is host memory. Optional: HDPI_AT_HOST. */
    int32_t (*locate)(struct hdpi_device *device, const void *memory);

    /** Orders the queue against a stream of the caller's, HDPI_ORDER_*. Any
     *  thread, also while others are in hooks. HDP_ERR_ARGUMENT for a stream of
     *  another device or partition, HDP_ERR_STATE for one that is capturing.
     *  Optional: HDP_ERR_ARGUMENT, "has no streams". */
    hdp_status (*order)(struct hdpi_device *device, void *stream, int32_t way);

    /** Calls fn(arg) where other hooks of this device may fail without a trace
     *  in the calling thread, and waits for it; its error becomes this thread's.
     *  Optional: calls it. */
    hdp_status (*apart)(struct hdpi_device *device, hdp_status (*fn)(void *),
                        void *arg);

    /** Rows in queue order; returns before completion where the adapter can.
     *  Source and target stay valid until the queue passes. Optional:
     *  memcpy. */
    hdp_status (*copy)(struct hdpi_device *device,
                       const struct hdpi_copy *copy);

    /**
     * Runs the caller's function on a shard in queue order, and charges its
     * time to the member: host runs it on this thread and pays the declared
     * slowdown, sim also moves the virtual clock by the model's time of
     * shard->items, cuda makes its device current around it. *out_code gets
     * what the function returned; that is no error of launch. The function
     * may call shard functions and so wait for other members. Required.
     */
    hdp_status (*launch)(struct hdpi_device *device, hdp_work_fn fn,
                         const hdp_shard *shard, void *user, int32_t *out_code);

    /** The function running inside launch is about to announce or await a
     *  reduce: pay a declared slowdown up to now, then stop charging (pause);
     *  compute goes on (resume). Optional: nothing. */
    void (*pause)(struct hdpi_device *device);
    void (*resume)(struct hdpi_device *device);

    /** Time-stamps the queue. HDPI_MARK_READY besides says: the data of one
     *  reduce is complete here (sim counts it as the hook `reduce`).
     *  HDP_ERR_DEVICE, HDP_ERR_MEMORY. Required. */
    hdp_status (*mark)(struct hdpi_device *device, struct hdpi_mark *mark,
                       int32_t purpose);
    /** Releases what mark made; zeroed marks allowed. Optional: nothing. */
    void (*unmark)(struct hdpi_device *device, struct hdpi_mark *mark);
    /** Nanoseconds from one mark to another, on the adapter's own clock (sim:
     *  the virtual one, exact to 1 ps). Blocks until both are reached, at most
     *  to device->deadline_ns: HDP_ERR_TIMEOUT. Required. */
    hdp_status (*elapsed)(struct hdpi_device *device, double *out_ns,
                          const struct hdpi_mark *from,
                          const struct hdpi_mark *to);

    /** Waits for others for so long, in queue order: a virtual clock moves on.
     *  Optional: nothing, since where clocks are real the waiting is. */
    void (*idle)(struct hdpi_device *device, double ns);

    /** Combines sources into targets (kernels.h) in queue order; all pointers
     *  are reachable by this member. Optional: the C kernel on this thread. */
    hdp_status (*combine)(struct hdpi_device *device,
                          const struct hdpk_combine *job);

    /** Prepares a probe: checks kind and dtype (HDP_ERR_UNSUPPORTED: lacks
     *  it), allocates and fills its buffers with random data, warms up, fills
     *  the plan fields of `probe`. One probe open at a time. Optional:
     *  HDP_ERR_UNSUPPORTED. */
    hdp_status (*probe_open)(struct hdpi_device *device,
                             struct hdpi_probe *probe);
    /** Enqueues probe->items items. */
    hdp_status (*probe)(struct hdpi_device *device,
                        const struct hdpi_probe *probe);
    /** Gives the buffers back; allowed when none is open. */
    void (*probe_close)(struct hdpi_device *device);

    /** Blocks until the queue is empty, or deadline_ns (hdpi_clock_ns() time) or
     *  device->deadline_ns has passed: HDP_ERR_TIMEOUT. Where asynchronous
     *  faults are born. Required. */
    hdp_status (*wait)(struct hdpi_device *device, int64_t deadline_ns);

    /** The vendor's queue handle. Optional: NULL. */
    void *(*native)(struct hdpi_device *device);

    /** The vendor's BLAS handle on the queue, made at the first call.
     *  Optional: HDP_ERR_UNSUPPORTED. */
    hdp_status (*blas)(struct hdpi_device *device, void **out);

    /** Bytes of the member's memory: held by hdp, free; -1: not known. May
     *  take as long as a step, so steady steps do not ask. Never fails.
     *  Optional: held counted by alloc, free -1. */
    void (*memory)(struct hdpi_device *device, int64_t *out_held,
                   int64_t *out_free);

    /** Why launches take another time now than they did before, as far as the
     *  adapter knows: HDP_CAUSE_*, of what lasted when the last one ended. A
     *  new count of items is not its matter. Never fails or blocks; asked once
     *  a step. Optional: HDP_CAUSE_NONE. */
    int32_t (*cause)(struct hdpi_device *device);
};

/** Every adapter of this build, in order host, cuda, sim; ends with NULL.
 *  Defaults of optional hooks are filled, so no caller tests for NULL. */
const struct hdpi_device_ops *const *hdpi_device_adapters(void);
const struct hdpi_device_ops *hdpi_device_adapter(int32_t kind);

/** Makes the member of one row: allocates state_size zeroed bytes, fills the
 *  base and calls open; closes and frees on error. *out NULL then. The site (may
 *  be NULL) and a lent queue (NULL: none) must outlive the member. */
hdp_status hdpi_device_open(struct hdpi_device **out,
                            const struct hdpi_device_row *row, int32_t member,
                            int32_t rank, const struct hdpi_site *site,
                            void *lent_queue);
/** NULL allowed. */
void hdpi_device_close(struct hdpi_device *device);

/** OpenBLAS as the host adapter uses it (opens it if nobody has yet). */
void hdpi_host_blas_describe(struct hdpi_library *out);
/** The CUDA driver: path, version or the loader's reason. */
void hdpi_cuda_describe(struct hdpi_library *out);
/** The cuBLAS that is in the process, if there is one; loads none. */
void hdpi_cuda_blas_describe(struct hdpi_library *out);
/** CUDA version this library was built with (13000), 0: without. */
int32_t hdpi_cuda_build_version(void);

/* ---- what the management library tells (nvml.c) --------------------------- */

struct hdpi_nvml; /* opened; of the thread that opened it */

struct hdpi_nvml_version {
    char path[256];
    char own[80], driver[80]; /* "13.580.95.05"; "": not told */
};

enum { HDPI_GPU_PROCESSES_MAX = 64 };

/* One GPU now, whoever uses it. -1: not known. */
struct hdpi_gpu_state {
    int32_t use_percent; /* of the last sample period */
    int64_t memory_bytes, free_bytes;
    int32_t clock_mhz, clock_max_mhz, memory_clock_mhz, memory_clock_max_mhz;
    uint64_t reasons;      /* why clocks are low: bits of hdpi_nvml_reason() */
    int32_t reasons_known; /* 0: nobody says */
    int32_t celsius, milliwatts, milliwatts_max;
    int32_t link_generation, link_generation_max, link_width, link_width_max;
    int32_t compute_mode, display, mig;
    int32_t process_count; /* with a CUDA context; at most the maximum */
    struct {
        int64_t pid, bytes;
    } processes[HDPI_GPU_PROCESSES_MAX];
};

/** Opens `path`, or (NULL) a copy that the program has, else the driver's. No
 *  context, no CUDA. HDP_ERR_UNSUPPORTED with the file and why: absent, other
 *  than the driver, lacking. Blocks while the driver answers. */
hdp_status hdpi_nvml_open(struct hdpi_nvml **out, const char *path);
/** NULL allowed. */
void hdpi_nvml_close(struct hdpi_nvml *nvml);
const struct hdpi_nvml_version *hdpi_nvml_version(const struct hdpi_nvml *nvml);
/** All of one device; HDP_ERR_UNSUPPORTED when it knows none of that UUID. */
hdp_status hdpi_nvml_state(struct hdpi_gpu_state *out,
                           const struct hdpi_nvml *nvml, const char *uuid);
/** use_percent, memory_bytes and free_bytes alone, and none of them unknown:
 *  HDP_ERR_UNSUPPORTED else. */
hdp_status hdpi_nvml_use(struct hdpi_gpu_state *out,
                         const struct hdpi_nvml *nvml, const char *uuid);
/** What bit 1 << `bit` of `reasons` means; NULL: nobody knows. Static. */
const char *hdpi_nvml_reason(int32_t bit);
/** "default", ...; NULL: nobody knows. Static. */
const char *hdpi_nvml_compute_mode(int32_t mode);
#endif
