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

/** HDP_BOUND_*: what kept this rank from a larger share. */
int32_t hdpi_reason(const struct hdpi_reasons *reasons, int32_t rank);
#endif
