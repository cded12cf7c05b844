/* One member's part of a net: its blocks of memory, made once, and the passes
 * over some of its rows. Results of layers are of the dtype, sums f32. */
#ifndef BENCH_WORK_NETMEMBER_H
#define BENCH_WORK_NETMEMBER_H
#include "crew.h"
#include "gemm.h"
#include "gpu.h"
#include "netdata.h"

struct netmember {
    const struct netdata *data;
    const struct gemm *gemm;
    struct gpu *gpu; /* NULL: on the host */
    int32_t member;
    struct crew *crew; /* host */
    /* Rows of the width, `capacity` of them in a block. */
    void *rows, *out; /* the whole batch; results of this member's rows */
    void *kept;       /* results set aside; NULL: it keeps none */
    void **hidden;    /* after each ReLU: in training all, else two in turn */
    int32_t hidden_count;
    void *delta[2]; /* training: gradients of results, in turn */
    /* Layers one after the other. */
    void *weights, *gradient;
    /* Host, training: weights turned round; a layer's gradient of each thread
     * but the first; what products need. */
    float *transposed, *partial, *scratch;
};

struct netmember_spec {
    const struct netdata *data;
    const struct gemm *gemm;
    struct gpu *gpu; /* of the group, or NULL */
    int32_t member;
    int threads;
    int keeps; /* 1: netmember_keep() will be called */
};

/** NULL: no room. */
struct netmember *netmember_create(const struct netmember_spec *spec);
void netmember_destroy(struct netmember *self); /* accepts NULL */
/** What that takes of the device, or of the host for a member that is none. */
double netmember_bytes(const struct netmember_spec *spec);

/* In the work function, enqueued on a GPU; or between steps. 0: it failed, see
 * gpu_reason(). */

/** Results of `rows` rows of the batch from `first` on. */
int netmember_forward(struct netmember *self, int64_t first, int64_t rows);
/** Then, from the last layer to the first: the layer's mean gradient over these
 *  rows, of the loss that is half a result's square. */
int netmember_backward(struct netmember *self, int64_t first, int64_t rows,
                       int32_t layer);

/* Between steps. 0: it failed. */

/** A row of the results, of those set aside, of a layer's gradient, as floats;
 *  waits for what is enqueued. */
int netmember_output(struct netmember *self, int64_t row, float *out);
int netmember_kept(struct netmember *self, int64_t row, float *out);
int netmember_slope(struct netmember *self, int32_t layer, int64_t row,
                    float *out);
/** Sets the results aside: netmember_kept() reads them from now on. */
void netmember_keep(struct netmember *self);
/** Makes results and gradients what no step leaves behind: NaN. */
int netmember_blot(struct netmember *self);

/* Where the parts of the blocks are. */
void *netmember_result(const struct netmember *self, int32_t layer);
/** What a layer multiplies: rows of the batch from `first`, or results. */
const void *netmember_below(const struct netmember *self, int32_t layer,
                            int64_t first);
/** The gradient of a layer's sums. */
void *netmember_delta(const struct netmember *self, int32_t layer);
void *netmember_of_layer(const struct netmember *self, void *block,
                         int32_t layer);

/* The two kinds' passes; see above. */
void nethost_forward(struct netmember *self, int64_t first, int64_t rows);
void nethost_backward(struct netmember *self, int64_t first, int64_t rows,
                      int32_t layer);
int netgpu_forward(struct netmember *self, int64_t first, int64_t rows);
int netgpu_backward(struct netmember *self, int64_t first, int64_t rows,
                    int32_t layer);
enum { NETHOST_TILE = 256 }; /* rows of a product on the host */
#endif
