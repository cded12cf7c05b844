/* What bound each share of a plan. */
#ifndef HDPI_REASONS_H
#define HDPI_REASONS_H
#include "core/limits.h"

/* A split whose shares are given. */
struct hdpi_reasons {
    const hdp_split_options *options;
    const struct hdpi_limits *limits;
    const int64_t *items;
    double level;  /* see hdpi_finish() */
    double latest; /* when the last share ends */
    int benches;   /* ranks without items are out of the reduce */
};

/** Fills HDP_BOUND_* for every rank: what kept it from a larger share. */
void hdpi_reasons_fill(const struct hdpi_reasons *reasons, int32_t *bound_by);
#endif
