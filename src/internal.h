/* The live objects as the verbs see them: context, group, members, steps.
 *
 * A group owns one member a device; in MEMBER mode each has a thread. A step
 * is a number: the driving thread captures the caller's arguments in one of
 * two slots and publishes the number; every member works through the numbers
 * in order; the last one to finish a step completes it. */
#ifndef HDPI_INTERNAL_H
#define HDPI_INTERNAL_H
#include <pthread.h>
#include "base/clock.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/object.h"
#include "base/park.h"
#include "comm/comm.h"
#include "core/machine.h"
#include "core/plan.h"
#include "core/profile.h"
#include "core/report.h"
#include "core/shapes.h"
#include "core/topology.h"
#include "device/device.h"

enum { HDPI_STEPS_IN_FLIGHT = 2, HDPI_MEMBER_SPANS = 8 };

/* ---- context ------------------------------------------------------------- */

/* The closed list of variables that the library reads, in context.c alone. The
 * two of CUDA are shown, never obeyed in the driver's place. */
enum {
    HDPI_DEVICES = 0,
    HDPI_CUDA_MASK = 1,
    HDPI_CUDA_ORDER = 2,
    HDPI_LEASE_DIR = 3,
    HDPI_LEASE_FDS = 4,
    /* a scheduler's: that it has given GPUs to this job */
    HDPI_SLURM_JOB_GPUS = 5,
    HDPI_SLURM_STEP_GPUS = 6,
    HDPI_KUBERNETES_HOST = 7,
    HDPI_VARIABLE_COUNT = 8, /* kept by contexts; launchers' are not */
    HDPI_TORCH_RANK = 8,
    HDPI_TORCH_SIZE = 9,
    HDPI_TORCH_LOCAL_RANK = 10,
    HDPI_TORCH_LOCAL_SIZE = 11,
    HDPI_OMPI_RANK = 12,
    HDPI_OMPI_SIZE = 13,
    HDPI_OMPI_LOCAL_RANK = 14,
    HDPI_OMPI_LOCAL_SIZE = 15,
    HDPI_SLURM_RANK = 16,
    HDPI_SLURM_SIZE = 17,
    HDPI_SLURM_LOCAL_RANK = 18,
    HDPI_SLURM_JOB = 19,
    HDPI_SLURM_STEP = 20,
    HDPI_PMI_RANK = 21,
    HDPI_PMI_SIZE = 22,
    HDPI_PMI_LOCAL_RANK = 23,
    HDPI_PMI_LOCAL_SIZE = 24,
    HDPI_NAME_COUNT = 25
};
extern const char *const hdpi_variables[HDPI_NAME_COUNT];
/** What it holds now, for telling; verbs go by what their context read. */
const char *hdpi_variable(int32_t which);
/** What it held when the process began (the caller frees; NULL: not set): 1, or
 *  0 where nobody can say. */
int hdpi_variable_at_start(char **out, int32_t which);

struct hdp_context {
    struct hdpi_object object;
    struct hdpi_log log;
    int64_t timeout_ns;
    char *cublas_path, *nccl_path, *nvml_path;
    char *variables[HDPI_VARIABLE_COUNT]; /* at creation; NULL: not set */
    pthread_mutex_t lock;                 /* of what adapters keep here */
    struct hdpi_kept *kept;
    struct hdpi_site site; /* the above, as adapters see it */
};

/** Refuses a handle that is not a context, and any use in a forked child. */
hdp_status hdpi_context_check(const hdp_context *context);
/** HDP_ERR_FORKED in a child of a process that had made a group; what poisoned
 *  the process once it has lost CUDA. */
hdp_status hdpi_process_check(void);

/* ---- steps ---------------------------------------------------------------- */

struct hdpi_member;
typedef hdp_status (*hdpi_each_fn)(struct hdpi_member *member, void *arg);

/* Memory that one step's captured arguments live in: reserved once as large as
 * the step needs, taken from in order, kept for the next step. */
struct hdpi_arena {
    unsigned char *base;
    size_t used, capacity;
};
hdp_status hdpi_arena_reserve(struct hdpi_arena *arena, size_t bytes);
void *hdpi_arena_take(struct hdpi_arena *arena, size_t count, size_t size);
/** What one take() of count * size costs, for adding up before reserving. */
size_t hdpi_arena_cost(size_t count, size_t size);

struct hdpi_array { /* hdp_array, captured and completed */
    unsigned char *data;
    void **member_data; /* one a member; NULL: data */
    int64_t row_bytes, stride_bytes;
    int32_t memory, member; /* HDP_MEMORY_*; of MEMBER: whose */
    void *stream;           /* the caller's; NULL: none */
};

struct hdpi_bucket { /* hdp_buffers, captured and completed */
    int32_t kind;    /* HDPI_COMM_* */
    int32_t dtype, op, root, tensor_count;
    int64_t *elements;
    const void **send; /* [member * tensor_count + tensor] */
    void **recv;
    void **staged;   /* likewise: what the others reach in recv's place; NULL in
                       a group without asynchronous members */
    void **streams;  /* the caller's, one a member; NULL: none */
    int64_t *counts; /* one a member of mine */
    int64_t total;
};

enum { HDPI_STEP_RUN = 1, HDPI_STEP_REDUCE = 2, HDPI_STEP_EACH = 3 };

struct hdpi_outcome {  /* what one member made of one step */
    hdp_error error;   /* status HDP_OK: none */
    double compute_ns; /* without waiting for others */
    double step_ns;    /* on the member's own clock */
    int64_t held_bytes, peak_bytes, free_bytes;
    int32_t first_at_share;
    int32_t cause; /* HDP_CAUSE_* */
    int32_t span_count;
    hdp_span spans[HDPI_MEMBER_SPANS];
};

struct hdpi_step {
    uint64_t number; /* written under the group's lock */
    int32_t kind;
    hdp_plan *plan;                 /* one reference, or NULL */
    const int64_t *items, *offsets; /* of my members; NULL without a plan */
    int64_t total;
    hdp_work_fn host, cuda;
    void *user;
    int32_t flags;
    int64_t max_piece_items;
    struct hdpi_array *inputs, *outputs;
    int32_t input_count, output_count;
    struct hdpi_bucket *buckets;
    int32_t bucket_count;
    struct hdpi_comm_call *calls; /* [member * bucket_count + bucket] */
    unsigned char *said;          /* likewise: this member said ready */
    double *ready_ns;             /* likewise: when, on virtual clocks */
    hdpi_each_fn each;
    void *each_arg;
    int64_t accepted_ns;
    _Atomic int64_t deadline_ns;
    struct hdpi_arena arena;
    struct hdpi_outcome *outcomes; /* one a member */
    /* members not yet through computing, settling, the whole step */
    _Atomic int32_t computing, agreeing, settling;
    _Atomic int32_t failing; /* 1: some member recorded an error */
    int32_t nothing;         /* 1: a batch of 0 rows reduces nothing */
    struct hdpi_park agreed; /* agreeing reached 0 */
    hdp_report *fresh;       /* for this step, from opening to accepting */
    /* results, written by the member that completes the step; of the step
     * before last until this one is accepted */
    hdp_error error;
    hdp_report *report;
};

/* ---- group ---------------------------------------------------------------- */

/* Heads a block that a member of a lost group may still be using: it is freed
 * with the group, which the member's thread holds. */
struct hdpi_abandoned {
    struct hdpi_abandoned *next;
};

/* Where a member is, for naming who is late. */
enum {
    HDPI_OUTSIDE = 0,
    HDPI_INSIDE_FUNCTION = 1,
    HDPI_INSIDE_WAIT = 2,  /* its function waits for the others */
    HDPI_INSIDE_DEVICE = 3 /* waits for its device */
};

struct hdpi_store { /* a member's rows of one array, kept between steps */
    void *memory;
    size_t bytes;
    int32_t host; /* 1: the device's host_alloc made it */
};

/* Pinned memory through which an asynchronous member's tensors reduce. */
struct hdpi_stage {
    void *memory;
    size_t bytes;
    size_t used;      /* by the buckets posted */
    int32_t returned; /* buckets whose results are back on the device */
};

struct hdpi_member {
    struct hdp_group *group;
    int32_t index, rank;
    struct hdpi_device *device;
    struct hdpi_comm *comm; /* NULL until the first reduce */
    char key[HDPI_KEY_MAX]; /* lasting identity */

    pthread_t thread;
    int32_t threaded;        /* 1: thread runs */
    _Atomic int32_t inside;  /* HDPI_OUTSIDE ... */
    _Atomic int32_t overdue; /* 1: its device did not finish in time */
    uint64_t next;           /* step this member takes up next */
    struct hdpi_park inbox;

    /* of the step at hand; only the member's own thread */
    struct hdpi_step *step;
    hdp_shard shard;
    _Atomic int32_t live; /* 1: shard functions may be called */
    pthread_mutex_t door; /* shard functions come from any thread */
    int32_t posted;       /* buckets posted, in table order */
    uint64_t ticket;      /* of the last one */
    int64_t shard_wanted_bytes;
    hdp_status shard_status; /* of hdp_shard_fail() */
    char shard_text[200];
    hdp_view *views; /* inputs, then outputs */
    size_t view_capacity;
    struct hdpi_store *stores; /* inputs, outputs, outputs kept back */
    size_t store_capacity;
    struct hdpi_stage stage;
    struct hdpi_mark begin, from, to, pause_from, pause_to, ready;
    double paused_ns;
    struct hdpi_shapes shapes;      /* shares it has had lately */
    int64_t held_bytes, peak_bytes; /* through hdpi_member_alloc */
    int64_t free_bytes;             /* as the device said at free_asked_ns */
    int64_t free_asked_ns, free_held;
};

struct hdpi_report_pool;

struct hdp_group {
    struct hdpi_object object;
    hdp_context *context;         /* one reference */
    struct hdpi_machine *machine; /* likewise; the members' models, or NULL */
    _Atomic int32_t holders;      /* threads inside, plus one for the handle */
    struct hdpi_member *members;
    int32_t member_count;
    int32_t caller_mode, comm_mode, all_virtual;
    int32_t first_gpu; /* the first asynchronous member; -1: none */
    uint64_t fingerprint;
    int64_t timeout_ns;
    struct hdpi_patience patience;
    hdp_alloc_fn alloc;
    hdp_free_fn free;
    void *alloc_user;

    _Atomic int32_t driving; /* a thread is making a step */
    _Atomic uint64_t accepted, issued, done;
    _Atomic int32_t quit;
    struct hdpi_park outbox; /* issued, done or lost changed */
    pthread_mutex_t lock;    /* results of the slots, failed, health */
    uint64_t failed;         /* step whose failure nobody has seen; 0: none */
    uint64_t tainted;        /* steps up to it end with state */
    hdp_error last_failure;  /* of the last step that failed */
    _Atomic int32_t lost;    /* 1: health holds why */
    hdp_error health;
    struct hdpi_abandoned *abandoned; /* under the lock */
    hdp_profile *calibrated;          /* the last whole calibration, or NULL */
    struct hdpi_report_pool *reports;
    struct hdpi_step steps[HDPI_STEPS_IN_FLIGHT];
};

/** A group of a topology's devices, in its order. */
hdp_status hdpi_group_make(hdp_group **out, hdp_context *context,
                           const hdp_topology *topology,
                           const hdp_group_options *options);
/** Refuses what is no group, forked use, and a lost group (its own error). */
hdp_status hdpi_group_check(const hdp_group *group);
/** The same but a lost group passes: for looking, waiting and leaving. */
hdp_status hdpi_group_check_any(const hdp_group *group);
/** HDP_OK, or what ended the group. Its members ask, also when the handle is
 *  gone already. */
hdp_status hdpi_group_well(const hdp_group *group);
int32_t hdpi_group_rank_count(const hdp_group *group);
/** Identity of a rank as profiles and caches name it. */
const char *hdpi_group_key(const hdp_group *group, int32_t rank);
/** Marks the group lost with this thread's error (the first one stays), wakes
 *  everybody, aborts the communicators. Any thread. */
void hdpi_group_lose(hdp_group *group);
/** Waits a moment for every accepted step to be through: 1, or 0 when a
 *  function is still inside after it. */
int hdpi_group_drained(hdp_group *group);
/** Waits so long for each device that was late in a step: HDP_ERR_TIMEOUT names
 *  one that is still at work. No step is under way. */
hdp_status hdpi_group_idle(hdp_group *group, int64_t grace_ns);
/** Opens the communicators if they are not; driving thread. */
hdp_status hdpi_group_connect(hdp_group *group);
/** Runs fn on every member's thread at once (CALLER mode: one after the other
 *  on this thread) and answers as hdp_group_wait(). Makes a step; timeout_ns 0
 *  is the group's. */
hdp_status hdpi_group_each(hdp_group *group, hdpi_each_fn fn, void *arg,
                           int64_t timeout_ns);
/** Leaves a block from hdpi_alloc() to the group, which frees it last. */
void hdpi_group_abandon(hdp_group *group, struct hdpi_abandoned *block);
/** Drops a holder; the last one frees the group. */
void hdpi_group_leave(hdp_group *group);

/* ---- step.c: accepting, completing, waiting ------------------------------- */

/** Takes the right to make a step and a free slot (waiting for the step before
 *  last, to its deadline). HDP_ERR_BUSY, HDP_ERR_STATE while a failed step has
 *  not been waited for. After HDP_OK call accept or cancel. */
hdp_status hdpi_step_open(struct hdpi_step **out, hdp_group *group,
                          int64_t timeout_ns);
/** Publishes the captured step; CALLER mode: works through it here. */
uint64_t hdpi_step_accept(hdp_group *group, struct hdpi_step *step);
void hdpi_step_cancel(hdp_group *group, struct hdpi_step *step);
/** Called by the last member whose function returned, and by the last one
 *  through. */
void hdpi_step_issued(hdp_group *group, struct hdpi_step *step);
void hdpi_step_complete(hdp_group *group, struct hdpi_step *step);
/** Says that this thread now runs a function of the group (NULL: none) and
 *  returns what it said before; such a thread may make or await no step. */
const hdp_group *hdpi_step_working_for(const hdp_group *group);
hdp_status hdpi_step_wait(hdp_report **out, hdp_group *group, uint64_t number);
/** Refuses the number of no step so far. */
hdp_status hdpi_step_known(const hdp_group *group, uint64_t number);
/** What was free on a member of mine when a done step, failed or not, ended;
 *  -1: not known, or no longer. */
int64_t hdpi_step_free_bytes(hdp_group *group, uint64_t number, int32_t member);
/** Releases all that the slot holds. */
void hdpi_step_finish(struct hdpi_step *step);

/* ---- report_pool.c: reports, used again ----------------------------------- */

hdp_status hdpi_report_pool_create(struct hdpi_report_pool **out,
                                   int32_t rank_count, int32_t span_capacity);
/** An empty report; its last destroy brings it back. */
hdp_status hdpi_report_pool_take(hdp_report **out,
                                 struct hdpi_report_pool *pool);
/** Ends with the last report that is out. NULL is allowed. */
void hdpi_report_pool_destroy(struct hdpi_report_pool *pool);

/* ---- member.c: a member's part of a step ---------------------------------- */

hdp_status hdpi_member_start(struct hdpi_member *member); /* its thread */
/** The three phases of a step, in order: the caller's function and what goes
 *  with it; the wait for the reduces; handing over. In CALLER mode all members
 *  pass one phase before any enters the next. */
void hdpi_member_compute(struct hdpi_member *member, struct hdpi_step *step);
void hdpi_member_settle(struct hdpi_member *member, struct hdpi_step *step);
void hdpi_member_commit(struct hdpi_member *member, struct hdpi_step *step);
/** 1 when buckets are posted after all functions, since one thread plays
 *  several members and none may wait for another. */
int hdpi_member_defers(const struct hdpi_member *member);
/** Posts this member's buckets up to, not including, `end`. */
hdp_status hdpi_member_post(struct hdpi_member *member, int32_t end);
/** Waits for the buckets posted; a deadline passed loses the group. */
hdp_status hdpi_member_await(struct hdpi_member *member);
/** Notes this thread's error as the member's of this step; the first stays. */
void hdpi_member_record(struct hdpi_member *member);
/** What the communicator may do with this member. */
void hdpi_member_lend(struct hdpi_member *member,
                      struct hdpi_comm_member *table);
/** Notes a span in its place, by lane and time; dropped when there are
 *  HDPI_MEMBER_SPANS. */
void hdpi_member_span(struct hdpi_member *member, int32_t lane, int32_t phase,
                      int32_t piece, int64_t start_ns, int64_t end_ns);
/** Workspace of a member, from the caller's allocator where one was given. */
hdp_status hdpi_member_alloc(struct hdpi_member *member, void **out,
                             size_t bytes);
void hdpi_member_free(struct hdpi_member *member, void *memory, size_t bytes);
/** What became of a wait for the member's device: HDP_ERR_TIMEOUT loses the
 *  group; in one that is lost already it is told why. Others pass. */
hdp_status hdpi_member_judge(struct hdpi_member *member, hdp_status status);
/** Waits for the device, to the step's deadline; the time between two marks. */
hdp_status hdpi_member_wait(struct hdpi_member *member);
hdp_status hdpi_member_elapsed(struct hdpi_member *member, double *out_ns,
                               const struct hdpi_mark *from,
                               const struct hdpi_mark *to);
/** Gives idle workspace back. */
void hdpi_member_trim(struct hdpi_member *member);
/** Bytes free on the device, -1: not known; after a failure as they are now,
 *  else perhaps as they were a second ago. */
int64_t hdpi_member_free_bytes(struct hdpi_member *member, int failed);

/* ---- stage.c: tensors that the others cannot reach ------------------------ */

/** Makes this member's part of the next bucket one that the others can reach:
 *  in pinned memory, filled from the device unless it contributes nothing or
 *  has failed (call->status). Nothing for a member that is not asynchronous.
 *  Waits for the device. */
hdp_status hdpi_stage_in(struct hdpi_member *member, int32_t bucket);
/** Brings the results of the buckets posted back to the device, or what stands
 *  in their place once they have failed, and waits for it. */
hdp_status hdpi_stage_out(struct hdpi_member *member);
/** Gives the pinned memory back. */
void hdpi_stage_trim(struct hdpi_member *member);

/* ---- streams.c: streams of the caller's ----------------------------------- */

/** Puts the members' queues behind what the caller's streams hold now: those of
 *  arrays and buckets. Refuses streams that cannot be used, lent ones too. */
hdp_status hdpi_streams_join(hdp_group *group, struct hdpi_step *step);

/* ---- ring.c: what reduces take on virtual clocks --------------------------- */

/** Notes when the bucket that is about to be posted is ready. */
hdp_status hdpi_ring_ready(struct hdpi_member *member);
/** After the wait for what was posted: the member's clock moves on to the end
 *  of those reduces. Nothing in a group with real clocks. */
hdp_status hdpi_ring_idle(struct hdpi_member *member);

/* ---- shard.c: the caller's function on a member's rows -------------------- */

/** Rows in, the function in pieces, rows out. */
hdp_status hdpi_shard_run(struct hdpi_member *member);
/** STAGED: the rows kept back so far reach the caller's arrays. */
hdp_status hdpi_shard_deliver(struct hdpi_member *member);
/** Time of the caller's function on `items` rows of library-made inputs,
 *  flagged HDP_SHARD_PROBE; on the member's thread. */
hdp_status hdpi_member_probe_work(struct hdpi_member *member,
                                  const hdp_work *work, int64_t items,
                                  double *out_ns);

/* ---- run.c: the caller's work --------------------------------------------- */

/** Refuses a work that has no function for some member of the group. */
hdp_status hdpi_work_check_functions(const hdp_work *work,
                                     const hdp_group *group);
/** Refuses a plan that is not of this group, or benches a rank of it; the step
 *  keeps a reference and the rows of my members. NULL is allowed. */
hdp_status hdpi_plan_capture(struct hdpi_step *step, hdp_group *group,
                             const hdp_plan *plan);

/* ---- reduce.c: the caller's buckets into a step --------------------------- */

/** Checks what a bucket is, and adds to *bytes what capturing these will take
 *  from the arena. */
hdp_status hdpi_buckets_cost(size_t *bytes, const hdp_group *group,
                             const hdp_buffers *buffers, int32_t count,
                             int32_t kind);
/** Checks and copies them; the arena has the room. The weights are the given
 *  counts, else the step's items, else 1 a member. HDP_ERR_ARGUMENT names
 *  bucket, member and tensor. */
hdp_status hdpi_buckets_capture(struct hdpi_step *step, hdp_group *group,
                                const hdp_buffers *buffers, int32_t count,
                                int32_t kind, int32_t root_rank);

/* ---- discover.c: what is there -------------------------------------------- */

/** Appends what the asks name, in their order; errors of the adapters. */
hdp_status hdpi_discover_asked(hdp_topology *topology,
                               const struct hdpi_ask *asks, int32_t count,
                               const struct hdpi_site *site);

/* ---- mask.c: what the driver made of the mask ------------------------------- */

/** Fills the mask of a topology of this machine, its devices in order; warns
 *  where the variable was changed too late. */
hdp_status hdpi_mask_look(hdp_topology *topology, const hdp_context *context);
/** Warns where numbers of devices mislead. */
void hdpi_mask_warn_order(const hdp_topology *topology,
                          const hdp_context *context);

/* ---- machine.c: described machines ---------------------------------------- */

/* A machine that comes with the library, as the text of its file. */
struct hdpi_shipped {
    const char *name;
    const unsigned char *text;
    size_t length;
};
extern const struct hdpi_shipped hdpi_shipped_machines[]; /* ends with NULL */

/** What `@REFERENCE` names: a shipped machine, or a file for a reference that
 *  begins with `.` or `/`; release with hdpi_machine_free(). HDP_ERR_NOT_FOUND
 *  (with the names that there are), _SYSTEM, and _ARGUMENT behind the file's
 *  name. */
hdp_status hdpi_machine_find(struct hdpi_machine **out, const char *reference);

/** Appends its devices to an empty topology, which keeps the machine: GPUs as
 *  simulated devices, hosts as what they are. */
hdp_status hdpi_machine_list(hdp_topology *topology, const char *reference);
/** The same for a group: the GPUs alone, of a machine without any its hosts,
 *  simulated too. One whose speed nobody knows can be planned for with a
 *  profile, but neither probed nor used. */
hdp_status hdpi_machine_members(hdp_topology *topology, const char *reference);
#endif
