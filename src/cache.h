/* Calibrations kept in a file that the caller names: measured on one run, used
 * on the next. An answer is given only when nothing about it is in doubt; every
 * doubt is a miss and one warning to the context's log, never an error, and
 * leaves this thread's last error as it was. Every function takes NULL. */
#ifndef HDPI_CACHE_H
#define HDPI_CACHE_H
#include "internal.h"

/* What is measured, as far as it decides whether an old answer fits. */
struct hdpi_cache_ask {
    int32_t probe, dtype; /* HDP_PROBE_*, HDP_* */
    int32_t compute;      /* HDP_* that products accumulate in; 0: usual */
    const int64_t *items; /* the caller's sizes; NULL: chosen */
    int32_t item_count;
    int64_t budget_ns; /* of all members */
};

struct hdpi_cache; /* one question of one group to one file */

/**
 * The question. NULL where it cannot be asked: `path` is NULL, memory is short,
 * or the probe is the caller's own function, which has no name that lasts.
 * @param group  Borrowed until the close.
 * @param path   Copied; as the caller named it.
 */
struct hdpi_cache *hdpi_cache_open(hdp_group *group, const char *path,
                                   const struct hdpi_cache_ask *ask);
void hdpi_cache_close(struct hdpi_cache *cache);

/**
 * 1: *out is a profile of the whole group, as measured then; memory as it is
 * now, HDP_ENDED_GIVEN, no time spent. 0: a miss, *out NULL. Members are
 * measured at once, so one that misses makes all of them miss. Blocks for the
 * disk alone.
 */
int hdpi_cache_answer(hdp_profile **out, struct hdpi_cache *cache);

/** Keeps what was measured, of each member whose figures can be relied on.
 *  Waits for other writers, seconds at most. */
void hdpi_cache_keep(struct hdpi_cache *cache, const hdp_profile *profile);

/** Takes the answers to this question out of the file: the work has shown that
 *  they are stale. Hardly waits: it may happen in the middle of a step. */
void hdpi_cache_forget(struct hdpi_cache *cache);

/* ---- cache_drift.c: when answers are stale ------------------------------- */

enum { HDPI_CACHE_DRIFT_STEPS = 5 };

struct hdpi_cache_drift { /* zeroed before first use */
    int32_t steps;        /* in a row that did not fit */
};

/**
 * Compares a step with the profile that it was planned by.
 *
 * Only ratios count, since the caller's items need not be the calibration's: a
 * step does not fit when measured against predicted time differs by more than
 * 20 % between two ranks.
 *
 * @param items, compute_ns  One a rank; 0 items or a time below 1 is no sample.
 * @return 1 in the fifth step in a row that does not fit, and then after five
 *         more: hdpi_cache_forget() is due. Pure.
 */
int hdpi_cache_drifts(struct hdpi_cache_drift *drift,
                      const hdp_profile *profile, const int64_t *items,
                      const int64_t *compute_ns);

/* Whoever works by an answer of a cache, and forgets it when it is stale. */
struct hdpi_cache_watch;

/**
 * NULL where nothing is to be watched: no cache was asked, or `profile` was
 * measured just now; and when memory is short, which is logged.
 * @param options  As calibrated with; NULL is allowed.
 * @param profile  Keeps a reference.
 */
struct hdpi_cache_watch *
hdpi_cache_watch_open(hdp_group *group, const hdp_calibrate_options *options,
                      hdp_profile *profile);
/** One step's items and times. The first steps at a share are no samples.
 *  Allocates nothing until the answer is forgotten, once. */
void hdpi_cache_watch_step(struct hdpi_cache_watch *watch,
                           const hdp_report *report);
void hdpi_cache_watch_close(struct hdpi_cache_watch *watch);
#endif
