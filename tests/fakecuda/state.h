/* The state of the fake's process, for the files that make it: words, devices,
 * what was planted, threads, marks in streams. */
#ifndef FAKE_STATE_H
#define FAKE_STATE_H
#include <stdatomic.h>
#include <sys/types.h>
#include "inner.h"

enum {
    FAKE_PLANTS_MAX = 256,
    FAKE_SITES_MAX = 512,
    FAKE_PEERS_MAX = 64,
    FAKE_KEYS_MAX = 16,
    FAKE_NAME_MAX = 64,
    FAKE_TEXT_MAX = 1024
};

/* ---- what was said in words ---------------------------------------------- */

enum fake_planted { FAKE_FAIL, FAKE_STICKY, FAKE_LATE, FAKE_HANG };

struct fake_plant_row {
    enum fake_planted kind;
    char name[FAKE_NAME_MAX]; /* of a function; FAKE_HANG: of a kernel */
    int64_t nth, seen;        /* calls since it was planted */
    int lasting, spent;
    int code; /* -1: the usual one */
    int64_t late_ns;
};

enum fake_peering { FAKE_PEER_REFUSE, FAKE_PEER_LIE, FAKE_PEER_HANG };

struct fake_peer_row {
    enum fake_peering kind;
    int one, other; /* numbers of devices */
};

struct fake_keys_row {
    int device;
    char keys[128];
};

/* Who may use a device: any process, one at a time, none. */
enum fake_mode { FAKE_MODE_SHARED, FAKE_MODE_EXCLUSIVE, FAKE_MODE_PROHIBITED };

enum { FAKE_SLICES_MAX = 7 };

struct fake_mig {
    int on, count;
    int sevenths[FAKE_SLICES_MAX]; /* of each instance */
};

struct fake_config {
    char machine[FAKE_TEXT_MAX];
    int copies, real_clock, threads;
    int driver; /* 0: none */
    uint64_t seed;
    int64_t first_product_ns;
    uint64_t busy; /* bit 1 << number */
    int64_t tenant_bytes[FAKE_DEVICES_MAX];
    int sick[FAKE_DEVICES_MAX]; /* what its kernels end with; 0: healthy */
    struct fake_peer_row peers[FAKE_PEERS_MAX];
    int peer_count;
    struct fake_keys_row keys[FAKE_KEYS_MAX];
    int keys_count;
    enum fake_mode modes[FAKE_DEVICES_MAX];
    struct fake_mig migs[FAKE_DEVICES_MAX];
    int nccl_version;      /* 0: that of the headers */
    int no_nccl, shm_full; /* it cannot serve; not make communicators */
    struct fake_plant_row plants[FAKE_PLANTS_MAX];
    int plant_count;
};

/** Adds words to a configuration, once a process has started only those that
 *  plant something: 0, or -1 with the reason in why. */
int fake_words_read(struct fake_config *config, const char *words, int started,
                    char why[FAKE_TEXT_MAX]);

/* ---- the process --------------------------------------------------------- */

struct fake_site_row {
    char name[FAKE_NAME_MAX];
    int64_t calls;
    int fallible;
};

struct fake_state {
    pthread_mutex_t lock;
    pthread_cond_t moved; /* a queue went on, something was calmed */
    int started;
    atomic_int generation; /* of the process; threads compare theirs */
    atomic_int pid;
    char words[FAKE_TEXT_MAX];
    struct fake_config config;
    struct hdpi_machine *machine;
    struct fake_device devices[FAKE_DEVICES_MAX];
    int device_count; /* whole ones; instances stand behind them */
    int instance_count;
    int visible[FAKE_DEVICES_MAX]; /* their numbers */
    int visible_count;
    int mask_error; /* 0, 100 or 101: what the mask leads to */
    int poison;     /* 0: healthy */
    struct fake_site_row sites[FAKE_SITES_MAX];
    int site_count;
    int64_t all_calls;
    struct fake_handle *handles;
    int64_t alive[FAKE_KINDS];
    int64_t calms;   /* how often fake_calm() was called */
    int workers;     /* threads of streams that still run */
    int waiters;     /* threads in calls that wait for streams */
    int capturing;   /* streams that capture globally */
    int64_t zero_ns; /* when a real clock began */
    uint64_t queued; /* number of the last thing queued, of all streams */
};

extern struct fake_state fake;

/** Starts from the variable FAKE_CUDA where nothing was started. */
void fake_begin(void);
int64_t fake_monotonic_ns(void);

/** Reads the machine file and makes its devices: 0, or -1 with the reason. */
int fake_machine_open(char why[FAKE_TEXT_MAX]);
void fake_machine_close(void);
/** Who else is on a device and who may use it, as the words say by now. */
void fake_machine_others(struct fake_device *device);
/** What CUDA_VISIBLE_DEVICES and _ORDER leave of the devices. */
void fake_mask_read(void);
/** How a pair was spoiled; -1: it was not. */
int fake_peering(const struct fake_device *one,
                 const struct fake_device *other);

/* ---- threads ------------------------------------------------------------- */

struct fake_thread {
    int generation;
    int ordinal; /* of the current device */
    CUcontext context;
    int pending;
    int inside; /* 1: runs a caller's function on a stream */
    int capture_mode;
    int window; /* ncclGroupStart, so often */
    int64_t host_ns;
    unsigned what; /* the call that it is in */
    int64_t late_ns;
};

/** The calling thread's, new after a fake_start(). */
struct fake_thread *fake_self(void);

/* ---- rules --------------------------------------------------------------- */

void fake_rules_start(void);
/** Frees every handle's struct. */
void fake_handles_forget(void);

/* ---- memory -------------------------------------------------------------- */

void fake_memory_start(void);
/** Breaks a rule for each block whose guard bands were written. */
void fake_memory_check(void);
/** Bytes alive: device >= 0: of that number; -1: pinned. */
int64_t fake_memory_alive(int device);
/** The block of a pointer is in use up to that place of a stream. */
void fake_memory_use(const void *pointer, CUstream stream, uint64_t place);
int64_t fake_memory_free_bytes(const struct fake_device *device);

/* ---- streams ------------------------------------------------------------- */

/* A place in a stream's queue, that events and waits keep. */
struct fake_mark {
    int references;
    int done;  /* what stands before has run; with a real clock it is over at
                 time_ns */
    int stuck; /* it will not be, before fake_calm() */
    int64_t time_ns;
    CUstream stream;
    uint64_t place;
};

struct CUevent_st {
    struct fake_handle handle;
    unsigned flags;
    struct fake_mark *mark; /* NULL: never recorded */
};

/** While more were added than taken away, nothing that is queued begins. */
void fake_streams_hold(int more);
/** Marks where a stream stands; a reference for the caller. */
struct fake_mark *fake_mark_new(CUstream stream);
void fake_mark_drop(struct fake_mark *mark);
/** What the stream gets from now on waits for the mark. */
void fake_mark_wait(CUstream stream, struct fake_mark *mark);
/** 1: over, and the host knows it from now on. */
int fake_mark_over(struct fake_mark *mark);
/** Waits for it: 0 or the poison. */
int fake_mark_finish(struct fake_mark *mark);

/** 1: the host has seen that the stream went past. */
int fake_stream_passed(const struct CUstream_st *stream, uint64_t place);
/** No work is added; its thread ends with the last. */
void fake_stream_end(CUstream stream);
/** 0: not; else cudaStreamCaptureStatusActive or -Invalidated. */
int fake_stream_capturing(const struct CUstream_st *stream);
int fake_stream_capture(CUstream stream, int mode);
int fake_stream_capture_end(CUstream stream);
/** Somebody asked the stream what it may not be asked: 900. */
int fake_capture_spoil(CUstream stream);
/** 1: a stream's capture forbids what this thread is about to do; the capture
 *  is spoiled. */
int fake_capture_forbids(void);
void fake_capture_spoil_all(const struct fake_device *device);
/** Waits for every stream of a device, or of all where it is NULL. */
int fake_device_finish(const struct fake_device *device);
/** Ends hanging work. It and what was queued behind it have no effect: their
 *  memory may be gone. */
void fake_streams_calm(void);
/** Drops what is queued and waits until the streams' threads have ended. */
void fake_streams_stop(void);
/** 1: the next launch of a kernel was planted to hang. */
int fake_hangs(const char *kernel);
#endif
