/* A picture of a document, made from its JSON alone: what a run says of itself
 * and what a file says later give the same bytes. */
#ifndef BENCH_PLOT_H
#define BENCH_PLOT_H
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "failure.h"

enum plot_kind {
    PLOT_TIMELINE, /* who computes and who waits, rule by rule */
    PLOT_RATES,    /* a profile: rates, and time as a function of items */
    PLOT_SCALING,  /* predicted step time of the fastest 1, 2, 3 ... */
    PLOT_BUSBW,    /* reduce: bytes against GB/s */
    PLOT_SHARES,   /* shares and step time while a run adapted */
    PLOT_KINDS
};

const char *plot_kind_name(int32_t kind);

/** Whether the document has what the kind draws. */
int plot_can(json_t *root, int32_t kind);

/** The kind that tells most of the document; -1: none can be drawn. */
int32_t plot_best_kind(json_t *root);

/**
 * Writes the picture of a finished document.
 * @param kind  PLOT_*; -1: plot_best_kind().
 * @param name  Of the document, for messages: its file.
 * @return EXIT_OK, or the failure recorded: EXIT_USAGE where the document lacks
 *         the section or holds nothing to draw in it.
 */
int plot_draw(FILE *out, json_t *root, int32_t kind, const char *name,
              struct failure *failure);
#endif
