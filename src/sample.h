/* Measuring all members at once: what the verb sets up, what each member's
 * thread fills in. Shared by calibrate.c, which judges nothing before all are
 * through, and sample.c, which runs on the members' threads. */
#ifndef HDPI_SAMPLE_H
#define HDPI_SAMPLE_H
#include "internal.h"
#include "host_link.h"

enum {
    HDPI_SIZES_MAX = HDPI_MACHINE_POINTS_MAX,
    HDPI_SIZES_CHOSEN = 8,
    HDPI_SAMPLES_MAX = 1024, /* newest kept, a size */
    HDPI_BLOCK = 5,          /* samples of which one median is taken */
    HDPI_BLOCKS = 5          /* medians that must agree */
};

#define HDPI_GRAIN_NS 1e-3 /* no time is shorter */

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

/* What the courses found besides the curve; 0: not known. */
struct hdpi_figure_set {
    double in_bytes_per_second, out_bytes_per_second;
    double copy_bytes_per_second, launch_ns;
};

/* One member's measurement; only its own thread writes it. */
struct hdpi_sampler {
    struct hdpi_sampling *whole;
    struct hdpi_member *member;
    struct hdpi_figure_set found;
    hdp_error failure;   /* of the course at hand: it goes on without this
                          member's figures; status HDP_OK: none */
    hdp_error missed;    /* the latest of a course before the last */
    int32_t missed_kind; /* HDP_PROBE_* of that */
    int64_t warmup_ns;   /* not measuring: opening, waiting at gates */
    double measured_ns;  /* of all courses */
    int32_t virtual_time;
    /* of the course at hand; the last one's stay */
    int32_t course;
    struct hdpi_probe probe;
    struct hdpi_mark from, to;
    struct hdpi_link *link;     /* HDP_PROBE_LINK; else NULL */
    struct hdpi_series *ways;   /* of it: in and out, at the largest size */
    struct hdpi_series *series; /* ascending sizes */
    int32_t size_count;
    int32_t lacks; /* 1: cannot compute in the dtype; nothing measured */
    int32_t settled;
    int32_t position;  /* in the cycle */
    int64_t cycles;    /* complete ones recorded */
    int64_t discarded; /* samples before the first recorded one */
    int64_t begin_ns;
    double elapsed_ns; /* since the gate, on this member's own clock */
    double busy_ns;    /* of it inside samples */
    double recent[HDPI_BLOCK], medians[HDPI_BLOCKS], first_median;
    int64_t median_count;
    double scratch[HDPI_SAMPLES_MAX]; /* for medians: stacks may be small */
};

/* One kind of thing measured, by all members at once. HDP_PROBE_ALL has four,
 * all other probes one; the last course gives the curve. */
struct hdpi_course {
    int32_t kind;              /* HDP_PROBE_*, never _ALL */
    double budget_ns, warm_ns; /* of one member */
    int32_t patient;           /* 1: the whole budget is spent, and only what
                                  came in its newer half is believed */
    _Atomic int32_t arrived;   /* at the gate */
    _Atomic int32_t unsettled; /* members with a real clock still sampling */
};

enum { HDPI_COURSES_MAX = 4 };

struct hdpi_sampling {
    struct hdpi_abandoned abandoned; /* first: the group frees it by this */
    hdp_group *group;
    int32_t kind, dtype;
    int32_t compute;      /* what products are to accumulate in; 0: the usual */
    int32_t width;        /* of products; the same for all members */
    const hdp_work *work; /* own_work, or NULL: a built-in probe */
    hdp_work own_work;
    int64_t items_max; /* of a call of the caller's function */
    int32_t given_count;
    int64_t given[HDPI_SIZES_MAX]; /* ascending; given_count 0: chosen */
    struct hdpi_course courses[HDPI_COURSES_MAX];
    int32_t course_count;
    struct hdpi_park gate;
    _Atomic int32_t failed;
    struct hdpi_sampler members[]; /* one a member; their series follow */
};

/** The course that a member is at. */
static inline struct hdpi_course *hdpi_sampler_course(struct hdpi_sampler *own)
{
    return &own->whole->courses[own->course];
}

/** 1: the course that gives the curve. */
static inline int hdpi_sampler_at_last(const struct hdpi_sampler *own)
{
    return own->course == own->whole->course_count - 1;
}

/* ---- course.c: what is measured -------------------------------------------- */

/** Rows and columns of the matrix in products of a group: one for all members,
 *  so that their items are the same. */
int32_t hdpi_course_width(const hdp_group *group);

/** Opens the course's workload and chooses its sizes; lacks is set where the
 *  member cannot do it, which is a finding. Warms up. */
hdp_status hdpi_course_open(struct hdpi_sampler *own);

/** Time of `items` once, above 0. */
hdp_status hdpi_course_sample(struct hdpi_sampler *own, int64_t items,
                              double *out_ns);

/** Gives back what open took, also after its failure; this thread's error
 *  stays. */
void hdpi_course_close(struct hdpi_sampler *own);

/* ---- sample.c: sampling it -------------------------------------------------- */

/** A member's part (hdpi_each_fn; arg is the struct hdpi_sampling): opens each
 *  course, waits for the others, samples, closes. A dtype that it lacks, and a
 *  device that fails in a built-in probe while the group stays well, are
 *  findings. Other errors as the hooks and the caller's function have them; the
 *  others then stop at their next sample. */
hdp_status hdpi_sample_member(struct hdpi_member *member, void *arg);

/* ---- findings.c: what the samples say --------------------------------------- */

/** A profile of what was found, kept by the group for members that fail in its
 *  next calibration. HDP_ERR_UNSUPPORTED where all lack the dtype. */
hdp_status hdpi_findings(hdp_profile **out, struct hdpi_sampling *whole);

/** What a rank's profile says of a member without measuring it; `out` is
 *  zeroed. */
void hdpi_sample_describe(struct hdpi_rank_profile *out,
                          const struct hdpi_member *member);
#endif
