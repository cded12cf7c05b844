/* What the files of the fake CUDA share. One lock guards all of its state: it
 * is held from fake_enter() to fake_leave(), and never while an effect or a
 * caller's function runs. Codes are those of the family that a call is of. */
#ifndef FAKE_INNER_H
#define FAKE_INNER_H
#include <pthread.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include "core/machine.h"
#include "fake.h"

/* What the linker may show of this library. */
#define FAKE_API __attribute__((visibility("default")))

/* ---- calls --------------------------------------------------------------- */

/* What a call is: its family, and what it may do. */
enum {
    FAKE_RUNTIME = 0,   /* cudaError_t; failures become the thread's pending
                         error */
    FAKE_DRIVER = 1,    /* CUresult */
    FAKE_CUBLAS = 2,    /* cublasStatus_t */
    FAKE_NVML = 3,      /* nvmlReturn_t; knows no poison, no mask */
    FAKE_NCCL = 1 << 6, /* ncclResult_t */
    FAKE_FAMILY = 3 | FAKE_NCCL,
    FAKE_CONTEXT = 1 << 2, /* makes the current device's primary context */
    FAKE_ALWAYS = 1 << 3,  /* works without a driver and after poison */
    FAKE_SAFE = 1 << 4,    /* neither fail= nor sticky= may name it */
    FAKE_UNSAFE = 1 << 5,  /* refused while a stream captures; a breach between
                              ncclGroupStart and ncclGroupEnd */
    FAKE_CLOSED = 1 << 7   /* a breach there */
};

/**
 * Begins a call: counts it, applies what was planted for it, and looks at
 * fork, driver, poison and capture.
 *
 * @param function  A literal, the name that people know.
 * @param usual     The code that fail= means where it names none.
 * @param what      A family and flags.
 * @return 0: the lock is held, and fake_leave() ends the call. Else the code
 *         to return at once; the lock is not held.
 */
int fake_enter(const char *function, int usual, unsigned what);
/** Ends it: releases the lock, makes a failure pending (not cudaErrorNotReady)
 *  and applies late=. Returns the code. */
int fake_leave(int code);
/** The process is poisoned with this code of the runtime (700 and its kin):
 *  all calls but FAKE_ALWAYS return it from now on. The lock is held. */
void fake_poison(int code);

void fake_lock(void);
void fake_unlock(void);

/** A rule is broken; the first one is kept, also for the parent of a forked
 *  child. With or without the lock. */
void fake_break(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- devices ------------------------------------------------------------- */

enum { FAKE_DEVICES_MAX = 64, FAKE_CONTEXT_BYTES = 256 << 20 };

struct fake_device {
    int number;      /* in the machine, before order and mask */
    int visible;     /* CUDA's ordinal of it; -1: masked */
    hdp_device info; /* name, uuid, pci, sm_count, compute_*, native_dtypes,
                        slow_dtypes, display, memory_bytes */
    const struct hdpi_model *model; /* for hdpi_model_find() */
    const struct hdpi_ask *faults;  /* noise, seed, slow, ramp, drift */
    struct hdpi_ask asked;          /* where they stand */
    double in_bytes_per_second, out_bytes_per_second, copy_bytes_per_second;
    double launch_ns, copy_fixed_ns; /* of an empty kernel, of a small copy */
    int64_t used_bytes;   /* of contexts and allocations of this process */
    int64_t tenant_bytes; /* of others */
    int busy;             /* held by another process in exclusive mode */
    int compute_mode;     /* CU_COMPUTEMODE_*, the same in NVML */
    int mig;              /* 1: cut into instances, and no device itself */
    int parent;           /* of an instance: whose; -1: a whole device */
    double share;         /* of a whole device's speed */
    int64_t contexts, touched;
    int64_t refused;          /* contexts, since it is taken or closed */
    int64_t launches;         /* kernels and products, for slow= and noise */
    int64_t products;         /* for firstproduct= */
    int64_t retained;         /* primary context, by the driver's call */
    struct CUctx_st *primary; /* NULL: none yet */
    struct CUstream_st *standard; /* the legacy stream; NULL: none yet */
    uint64_t peers;               /* access enabled to these numbers */
};

/** By CUDA's ordinal; NULL: no such device. The lock is held. */
struct fake_device *fake_device(int ordinal);
/** By its number before the mask, for NVML; instances stand behind the whole
 *  ones. NULL after the last. */
struct fake_device *fake_device_at(int number);
int fake_device_count(void);     /* visible ones */
int fake_device_count_all(void); /* all whole ones, for NVML */
/** The way between two: bytes a second and whether access is possible. */
double fake_link(const struct fake_device *from, const struct fake_device *to,
                 int *peer);
/** Counts that a call named a device. */
void fake_touch(struct fake_device *device);
int fake_driver_version(void); /* 0: none */
/** FLOP a second of products: HDP_* dtype and compute type (0: any); 0: the
 *  device has no such product. */
double fake_flops(const struct fake_device *device, int dtype, int compute);
/** Nanoseconds that firstproduct= adds to this device's next product. */
double fake_first_product(struct fake_device *device);

/* ---- handles ------------------------------------------------------------- */

enum fake_kind {
    FAKE_STREAM = 1,
    FAKE_EVENT,
    FAKE_CTX,     /* primary contexts are not counted as alive */
    FAKE_LIBRARY, /* CUlibrary */
    FAKE_KERNEL,  /* CUkernel, belongs to its library, not counted */
    FAKE_GREEN,   /* CUgreenCtx */
    FAKE_BLAS,    /* cublasHandle_t */
    FAKE_COMM,    /* ncclComm_t */
    FAKE_REDOP,   /* what ncclRedOp_t stands for */
    FAKE_REGION,  /* memory registered with a communicator */
    FAKE_KINDS
};

/* The first member of each handle's struct. */
struct fake_handle {
    uint32_t tag;
    enum fake_kind kind;
    int alive;
    struct fake_device *device;   /* may be NULL */
    void (*forget)(void *handle); /* frees what it owns; may be NULL */
    struct fake_handle *next, *before;
};

/** A zeroed struct of a kind, on the list of all; never NULL. It is kept until
 *  the next fake_start(), so that use after its end can be told; of ended
 *  events only the last thousands are. */
void *fake_handle_new(enum fake_kind kind, size_t bytes,
                      struct fake_device *device);
/** 1: a living handle of the kind. Breaks a rule for one that has ended. */
int fake_handle_is(const void *handle, enum fake_kind kind);
void fake_handle_end(void *handle);

/* Primary and green contexts are the same to a thread. */
struct CUctx_st {
    struct fake_handle handle;
    int sms;                         /* that its streams may use */
    int green;                       /* 1: made of a CUgreenCtx */
    struct CUgreenCtx_st *partition; /* that one */
};

/* ---- threads ------------------------------------------------------------- */

/** The calling thread's current device, also where it has no context yet. */
struct fake_device *fake_current_device(void);
/** NULL: none yet; FAKE_CONTEXT makes one. */
CUcontext fake_current_context(void);
/** NULL: none current. Green contexts too. */
void fake_set_context(CUcontext context);
/** The device's primary context, made when there is none: 0, or the runtime's
 *  code (46 busy, 2 out of memory). The lock is held. */
int fake_primary(struct fake_device *device, CUcontext *out);
/** Virtual nanoseconds that the calling thread has seen pass. */
int64_t fake_host_ns(void);
void fake_host_reach(int64_t ns);
/** Real or virtual time now, as fake_start() chose. */
int64_t fake_now_ns(void);

/* ---- memory -------------------------------------------------------------- */

enum fake_memory {
    FAKE_PAGEABLE = 0, /* nothing that CUDA knows */
    FAKE_DEVICE_MEMORY,
    FAKE_PINNED,    /* cudaHostAlloc */
    FAKE_REGISTERED /* cudaHostRegister */
};

struct fake_block {
    enum fake_memory memory;
    struct fake_device *device; /* where it was made */
    char *address;              /* what the caller has */
    char *bytes;                /* where the fake reads and writes */
    size_t size;
    int alive;
};

/** The living block that holds pointer[0..bytes), or NULL. The lock is held. */
struct fake_block *fake_block_of(const void *pointer, size_t bytes);
/**
 * What an effect on `device` may read and write for pointer[0..bytes): the
 * bytes of its own, pinned or reachable peer memory. NULL: a kernel that goes
 * there dies of an illegal address; the caller poisons with 700.
 */
void *fake_bytes(const struct fake_device *device, const void *pointer,
                 size_t bytes);
/** From `pointer` to the end of its block; 0: not in one. */
size_t fake_room(const void *pointer);

/* ---- streams ------------------------------------------------------------- */

/* CUstream and cudaStream_t; its fields are stream.c's but for these. */
struct fake_queue;
struct CUstream_st {
    struct fake_handle handle; /* handle.device: whose */
    CUcontext context;         /* primary or green */
    unsigned flags;            /* CU_STREAM_NON_BLOCKING */
    int sms;                   /* that its work may use */
    int priority;
    struct fake_queue *queue;
};

enum fake_work_kind {
    FAKE_WORK_KERNEL = 1, /* counted as a launch, paced, noisy, may hang */
    FAKE_WORK_COPY,
    FAKE_WORK_HOST /* a caller's function */
};

enum { FAKE_USES_MAX = 16 };

struct fake_work {
    enum fake_work_kind kind;
    const char *name; /* of a kernel, for hang=; a literal or NULL */
    double cost_ns;   /* at the device's full pace */
    int hangs;        /* 1: never ends, until fake_calm() */
    /* Runs once what stands before is done, without the lock. May be NULL. */
    void (*effect)(void *argument);
    /* Instead of it, where fake_calm() drops it; with the lock. May be NULL. */
    void (*lost)(void *argument);
    const void *argument; /* argument_bytes are copied, and given to effect */
    size_t argument_bytes;
    void *lent;                      /* given to effect where there are none */
    const void *uses[FAKE_USES_MAX]; /* memory that must live until then */
    int use_count;
};

/** A stream of a context (primary or green); never NULL. */
CUstream fake_stream_new(CUcontext context, unsigned flags, int sms);
/** What a caller's handle means for the current device: 0 and 1 are its legacy
 *  stream, made when needed; NULL: no living stream. */
CUstream fake_stream_of(CUstream handle);
/**
 * Queues work. The lock is held and, where effects run at the call, let go and
 * taken again. Breaks rules as they are broken; 0, or the runtime's code (900:
 * not while capturing).
 */
int fake_enqueue(CUstream stream, const struct fake_work *work);
/** Waits until all that was queued is done, on the clock chosen: 0 or a code
 *  of the runtime. The lock is let go meanwhile. */
int fake_stream_finish(CUstream stream);
/** 1: nothing queued is unfinished. */
int fake_stream_idle(CUstream stream);

/* ---- driver functions ---------------------------------------------------- */

struct fake_entry {
    const char *symbol; /* "cuLibraryLoadData" */
    int since;          /* 12000: CUDA_VERSION that first has it */
    void (*function)(void);
};

/* What cudaGetDriverEntryPoint hands out: driver.c. Ends with symbol NULL. */
extern const struct fake_entry fake_entries[];
#endif
