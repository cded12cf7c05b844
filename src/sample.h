/* Measuring all members at once: what the verb sets up, what each member's
 * thread fills in. Shared by calibrate.c, which judges nothing before all are
 * through, and sample.c, which runs on the members' threads. */
#ifndef HDPI_SAMPLE_H
#define HDPI_SAMPLE_H
#include "internal.h"

enum {
    HDPI_SIZES_MAX = 256,
    HDPI_SIZES_CHOSEN = 8,
    HDPI_SAMPLES_MAX = 1024, /* newest kept, a size */
    HDPI_BLOCK = 5,          /* samples of which one median is taken */
    HDPI_BLOCKS = 5          /* medians that must agree */
};

struct hdpi_series {
    int64_t items;
    int64_t seen;
    double ns[HDPI_SAMPLES_MAX]; /* sample i at i % HDPI_SAMPLES_MAX */
};

static inline size_t hdpi_series_kept(const struct hdpi_series *series)
{
    return series->seen < HDPI_SAMPLES_MAX ? (size_t)series->seen
                                           : HDPI_SAMPLES_MAX;
}

/* One member's measurement; only its own thread writes it. */
struct hdpi_sampler {
    struct hdpi_sampling *whole;
    struct hdpi_member *member;
    struct hdpi_probe probe;
    struct hdpi_mark from, to;
    struct hdpi_series *series; /* ascending sizes */
    int32_t size_count;
    int32_t lacks; /* 1: cannot compute in the dtype; nothing measured */
    int32_t virtual_time, settled;
    int32_t position;  /* in the cycle */
    int64_t cycles;    /* complete ones recorded */
    int64_t discarded; /* samples before the first recorded one */
    int64_t warmup_ns, begin_ns;
    double elapsed_ns; /* since the gate, on this member's own clock */
    double recent[HDPI_BLOCK], medians[HDPI_BLOCKS], first_median;
    int64_t median_count;
};

struct hdpi_sampling {
    struct hdpi_abandoned abandoned; /* first: the group frees it by this */
    hdp_group *group;
    int32_t kind, dtype;
    const hdp_work *work; /* own_work, or NULL: a built-in probe */
    hdp_work own_work;
    int64_t items_max; /* of a call of the caller's function */
    int32_t given_count;
    int64_t given[HDPI_SIZES_MAX]; /* ascending; given_count 0: chosen */
    double budget_ns, warm_ns;     /* of one member */
    int64_t begin_ns;
    struct hdpi_park gate;
    _Atomic int32_t arrived;
    _Atomic int32_t unsettled; /* members with a real clock still sampling */
    _Atomic int32_t failed;
    struct hdpi_sampler members[]; /* one a member; their series follow */
};

/** A member's part (hdpi_each_fn; arg is the struct hdpi_sampling): opens the
 *  workload, waits for the others, samples, closes. A dtype that it lacks is a
 *  finding. Errors as the device's hooks and the caller's function have them;
 *  the others then stop at their next sample. */
hdp_status hdpi_sample_member(struct hdpi_member *member, void *arg);
#endif
