/* A net on a few rows in f64, by plain loops, rounded where a member rounds:
 * after each layer and nowhere else. Shares no code with the passes. */
#ifndef BENCH_WORK_NETREFERENCE_H
#define BENCH_WORK_NETREFERENCE_H
#include "netdata.h"

struct netreference {
    int32_t rows;         /* how many, in the last that were asked for */
    double *results;      /* [row][width] */
    double *gradient;     /* [layer][slot][width]: of rows of weights */
    const int64_t *slots; /* those rows; the caller's */
    int32_t slot_count;
    double *inner, *delta[2]; /* what goes into each layer; backward */
    float *drawn;             /* a row of weights */
    void *raw;                /* the same, of the dtype */
};

/** 0: no room. netreference_close() in every case. */
int netreference_open(struct netreference *self, const struct netdata *data,
                      int32_t rows, const int64_t *slots, int32_t slot_count);
void netreference_close(struct netreference *self);

/** Rows `first` and on of the batch, `rows` of them, as netreference_open()
 *  allows; the gradient is their mean. */
void netreference_make(struct netreference *self, const struct netdata *data,
                       int64_t first, int32_t rows);
#endif
