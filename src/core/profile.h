/* What is known of each rank's speed: time as a function of items, links,
 * memory, and where each figure came from. Plain data, immutable. */
#ifndef HDPI_PROFILE_H
#define HDPI_PROFILE_H
#include "base/object.h"

enum {
    HDPI_KEY_MAX = 192,
    HDPI_WEIGHT_MIN = 2, /* of a calibration */
    HDPI_WEIGHT_MAX = 9
};

/* Times of a curve lie between these, 32 years and a billionth of a nanosecond:
 * then no sum or quotient of the arithmetic can overflow. */
#define HDPI_LONGEST_NS 1e18
#define HDPI_SHORTEST_NS 1e-9

/* Where a figure came from. */
enum {
    HDPI_FROM_MODEL = 0, /* the caller or a file gave it */
    HDPI_FROM_MEASURED = 1,
    HDPI_FROM_STEPS = 2,  /* corrected by what real steps took */
    HDPI_FROM_ASSUMED = 3 /* measuring failed: like another's */
};

/* Time of a shard in ns: t(0) = 0; with points, straight lines between them,
 * flat at the first point's time below it, the last segment's slope beyond;
 * made monotone by padding up: t(n) = min over m >= n of the raw curve (doing
 * more rows is always allowed, and real curves dip). Without points,
 * fixed_ns + item_ns * n. Strict double arithmetic, so all compilers agree. */
struct hdpi_rank_profile {
    /* What a split reads of each of a million ranks comes first. */
    double fixed_ns, item_ns;
    int64_t point_count;
    int32_t lacks_dtype;   /* 1: cannot compute in the profile's dtype */
    int32_t memory_domain; /* ranks with the same number share; 0: its own */
    double in_bytes_per_second, out_bytes_per_second; /* 0: not a limit */
    double reduce_bytes_per_second;
    int64_t memory_bytes; /* free for the work; 0: not known, no cap */

    int64_t *point_items; /* strictly increasing, > 0 */
    double *point_ns;     /* as measured or given; monotone_ns is used */
    double *monotone_ns;  /* non-decreasing */
    double *slope_ns;     /* an item after each point, as given; derived */
    int32_t *point_from;  /* HDPI_FROM_*, one a point */
    double copy_bytes_per_second; /* within its memory; 0: not known */
    double launch_ns;             /* of an empty call; 0: not known */
    int32_t simulated;    /* 1: the figures are a model's, not a clock's */
    int32_t provenance;   /* HDPI_FROM_*; of points set from now on too */
    int32_t weight;       /* steps that the curve counts for (core/learn.h) */
    int32_t reliable;     /* 0: samples too far apart, or measuring failed */
    double doubted;       /* a step took so many times the curve, which nobody
                              believes yet; 0: none did */
    int32_t duty_percent; /* declared slowdown; 100: none */
    double rate;          /* items a second; see compare_rates */
    double rate_flops;    /* GEMM probe; 0: not known */
    double spread;        /* relative MAD of the samples */
    double *samples_ns;   /* raw, at the largest size; may be NULL */
    int32_t sample_count;
    char key[HDPI_KEY_MAX]; /* identity; empty: none */
};

struct hdp_profile {
    struct hdpi_object object;
    hdp_profile_info info;           /* member_count = number of ranks */
    struct hdpi_rank_profile *ranks; /* info.member_count */
};

/** A profile of `count` zeroed ranks (memory their own, duty 100, reliable,
 *  of a calibration's weight). */
hdp_status hdpi_profile_new(hdp_profile **out, int32_t count);
void hdpi_profile_free(hdp_profile *profile);

/**
 * Gives a rank its points, each of the rank's provenance, and derives
 * monotone_ns and rate.
 *
 * Items must be strictly increasing and > 0, times finite and > 0.
 * @return HDP_ERR_ARGUMENT naming `rank` and the position; HDP_ERR_MEMORY.
 */
hdp_status hdpi_profile_set_points(hdp_profile *profile, int32_t rank,
                                   const int64_t *items, const double *ns,
                                   int64_t count);

/**
 * Copies everything known of a rank, arrays included.
 * @param rank  Of `profile`, as hdpi_profile_new() left it.
 */
hdp_status hdpi_profile_copy_rank(hdp_profile *profile, int32_t rank,
                                  const struct hdpi_rank_profile *from);
/** A profile of its own with all that `profile` holds. HDP_ERR_MEMORY. */
hdp_status hdpi_profile_copy(hdp_profile **out, const hdp_profile *profile);

/** Items a second at the largest size known; the curve's own where no rate was
 *  measured. 0 for a rank that lacks the dtype. */
double hdpi_profile_rate(const struct hdpi_rank_profile *rank);

/** t(items) in ns; items >= 0, rank in range (not checked). */
double hdpi_profile_time(const struct hdpi_rank_profile *rank, int64_t items);

/** About the largest n with t(n) + extra_ns * n <= ns, as a real number that
 *  rounding may have moved; below 0 when there is none above 0. For a rank
 *  with points. */
double hdpi_profile_guess(const struct hdpi_rank_profile *rank, double ns,
                          double extra_ns);

/** A straight line that resembles the curve; item_ns above 0. */
void hdpi_profile_line(const struct hdpi_rank_profile *rank, double *fixed_ns,
                       double *item_ns);

/** Takes every rank's rate at one size, the largest that any rank has a point
 *  at: a fixed cost weighs more in a smaller one, so rates of different sizes
 *  do not compare. Without points, the rate of ever larger sizes. */
void hdpi_profile_compare_rates(hdp_profile *profile);

int hdpi_profile_is_valid(const hdp_profile *profile);
#endif
