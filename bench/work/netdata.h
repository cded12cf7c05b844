/* What a net computes with: weights and rows are drawn by their number and the
 * seed, so that every member and the reference have the same without a copy. */
#ifndef BENCH_WORK_NETDATA_H
#define BENCH_WORK_NETDATA_H
#include <stddef.h>

#include "net.h"
#include "workkernels.h"

struct netdata {
    struct net_shape shape;
    int32_t dtype; /* HDP_F32, HDP_TF32, HDP_F16 or HDP_BF16 */
    int64_t capacity;
    uint64_t seed;
};

/** Bytes of an element, of a row, of a layer's weights. */
size_t netdata_element(const struct netdata *data);
size_t netdata_row(const struct netdata *data);
size_t netdata_layer(const struct netdata *data);

/** Jobs without a target: rows first to first + rows - 1 of a layer's weights,
 *  whose spread keeps a layer's results at the size of what goes in; and of the
 *  batch, which grow from half to one and a half over the capacity, so that no
 *  member's rows are like another's. */
struct hdpw_noise netdata_weights(const struct netdata *data, int32_t layer,
                                  int64_t first, int64_t rows);
struct hdpw_noise netdata_rows(const struct netdata *data, int64_t first,
                               int64_t rows);

/** Elements of the dtype as floats; a number as the dtype holds it. */
void netdata_load(const struct netdata *data, float *out, const void *from,
                  int64_t count);
double netdata_rounded(const struct netdata *data, double value);
#endif
