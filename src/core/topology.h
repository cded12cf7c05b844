/* The machine as plain data: devices found, what was asked of each, links, and
 * the visibility mask. Immutable once a verb has handed it out. */
#ifndef HDPI_TOPOLOGY_H
#define HDPI_TOPOLOGY_H
#include "base/object.h"

enum {
    HDPI_FAULT_MAX = 8,
    HDPI_SLOW_MAX = 8,
    HDPI_NAME_MAX = 128,
    HDPI_SIM_ITEM_NS = 10000 /* of a simulated device that was given none */
};

/* Where a simulated device can be told to fail. */
enum {
    HDPI_HOOK_ALLOC = 0,
    HDPI_HOOK_COPY = 1,
    HDPI_HOOK_LAUNCH = 2,
    HDPI_HOOK_WAIT = 3,
    HDPI_HOOK_REDUCE = 4,
    HDPI_HOOK_COUNT = 5
};

/* fail=alloc:3 (only the third) and fail=alloc:3- (from the third on). */
struct hdpi_fault {
    int32_t hook;
    int32_t lasting;
    int64_t nth; /* 1-based */
};

/* slow=2x@100: from the 100th launch on each takes twice its time. */
struct hdpi_slow {
    double factor;
    int64_t nth; /* 1-based; ascending in the list */
};

/* What a specification asks of one device; zero means not given. */
struct hdpi_ask {
    int32_t kind;       /* HDP_HOST, HDP_CUDA, HDP_SIM */
    int32_t logical_id; /* -1: by uuid, or `all` */
    int32_t all;
    int32_t position; /* byte offset in the text, for messages; -1: none */
    char uuid[64];    /* cuda: full or unique prefix; sim: the name it bears */
    char name[HDPI_NAME_MAX];
    char driver[32];      /* sim: the version that it claims to run on */
    int32_t threads;      /* host */
    int32_t duty_percent; /* host: 1..100 */
    int32_t sms;          /* cuda: partition; sim: all it has */
    int32_t compute;      /* HDP_*: compute in this type where it is lacking */
    int32_t display;      /* sim: 1: drives a display */
    int64_t memory_bytes; /* cap, or the simulated size */
    int64_t margin_bytes; /* kept free; -1: not given */
    double fixed_ns, item_ns;     /* sim: time of a shard */
    double link_bytes_per_second; /* sim: in, out and reduce */
    double noise;                 /* sim: relative standard deviation */
    uint64_t seed;                /* sim */
    struct hdpi_fault faults[HDPI_FAULT_MAX]; /* sim */
    int32_t fault_count;
    int32_t given_fixed, given_item, given_newshape; /* 1: even if zero */
    double drift;         /* sim: more time for each second on its clock */
    double ramp, ramp_ns; /* sim: less time at first, falling to nothing */
    double newshape_ns;   /* sim: of the first launch with a count of items */
    struct hdpi_slow slows[HDPI_SLOW_MAX]; /* sim */
    int32_t slow_count;
};

/* How fast a device of a machine file is (core/machine.h). A simulated device
 * asks the functions below and knows nothing of files and profiles. */
struct hdpi_model;
struct hdpi_rank_profile;

struct hdpi_figures {
    const struct hdpi_rank_profile *rank;
    const int64_t *sizes; /* where the curve has its points; NULL: a line */
    int64_t size_count;
    double item_flops; /* 0: not known */
    int32_t compute;   /* HDP_*: what products accumulate in; 0: not known */
};

/** What the file says of a probe (HDP_PROBE_*) in a dtype. 0: nothing, or that
 *  the device lacks it. The caller's own function, which has no probe and no
 *  dtype that anyone could know, is -1 and 0: the file's first profile. */
int hdpi_model_find(struct hdpi_figures *out, const struct hdpi_model *model,
                    int32_t probe, int32_t dtype);
/** The same of products that accumulate in `compute` (HDP_*), 0: in any. */
int hdpi_model_find_sums(struct hdpi_figures *out,
                         const struct hdpi_model *model, int32_t probe,
                         int32_t dtype, int32_t compute);
/** NULL, or why nobody can say how long its work takes: the name of a machine
 *  that has no profile of it. A device that was itself simulated when its
 *  machine was recorded says so in its keys. */
const char *hdpi_model_unknown(const struct hdpi_model *model);
/** Time in ns of exactly so many items, dips included: what a probe takes. */
double hdpi_figures_raw_ns(const struct hdpi_figures *figures, int64_t items);
/** The same made monotone by padding up: what a launch takes. */
double hdpi_figures_ns(const struct hdpi_figures *figures, int64_t items);

/* One row that an adapter's enumerate appends. */
struct hdpi_device_row {
    hdp_device info;
    struct hdpi_ask ask;
    int32_t place;    /* among the machine's GPUs before order and mask were
                      applied; -1: they were not */
    char barred[192]; /* why `auto` leaves it alone; "": it does not */
    int32_t taken;    /* 1: because somebody else has it for himself */
    /* the topology's machine has it; NULL: the ask says all */
    const struct hdpi_model *model;
    /* of a simulated device's links; 0: not a limit */
    double in_bytes_per_second, out_bytes_per_second, reduce_bytes_per_second;
};

/* hdp_link.kind: where bytes pass between two GPUs. */
enum { HDPI_LINK_HOST = 1, HDPI_LINK_PCI = 2, HDPI_LINK_NVLINK = 3 };

struct hdpi_topology_link {
    int32_t kind;             /* HDPI_LINK_*; 0: not known */
    int32_t peer;             /* 1: direct access works */
    int64_t bytes_per_second; /* 0: not known */
};

struct hdp_topology {
    struct hdpi_object object;
    hdp_topology_info info;
    struct hdpi_device_row *devices; /* info.device_count */
    size_t device_capacity;
    hdp_mask_entry *mask; /* info.mask_count */
    size_t mask_capacity;
    char (*mask_uuids)[64]; /* one an entry: what it names, visible or not;
                               "": nothing. NULL: not known */
    int32_t driver; /* 1: one of GPUs has answered, so it has read its mask */
    const char *visibility_error; /* of hdpi_visibility_error(); NULL: none */
    struct hdpi_topology_link *links; /* device_count^2 row-major, or NULL */
    struct hdpi_machine *machine;     /* where the rows' models live, or NULL */
    char *notes; /* one line an absent adapter: why it found nothing */
    size_t note_bytes, note_capacity;
};

hdp_status hdpi_topology_new(hdp_topology **out);
void hdpi_topology_free(hdp_topology *topology);

/** Appends a zeroed row (info.size set, logical_id -1) for the adapter to
 *  fill; NULL with the error set when out of memory. */
struct hdpi_device_row *hdpi_topology_append(hdp_topology *topology);

/** Adds "adapter: reason" to the notes. */
hdp_status hdpi_topology_note(hdp_topology *topology, const char *adapter,
                              const char *reason);

/** The lasting identity of a device, never its index: what a profile or a cache
 *  may rely on. One without a uuid is known by its specification. */
void hdpi_device_key(char *out, size_t capacity, const hdp_device *info);

/** 1 when every invariant holds; for debug builds and readers of files. */
int hdpi_topology_is_valid(const hdp_topology *topology);
#endif
