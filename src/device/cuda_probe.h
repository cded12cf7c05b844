/* What the CUDA probes share: buffers, how a product is asked for, and how
 * work is timed. */
#ifndef HDPI_CUDA_PROBE_H
#define HDPI_CUDA_PROBE_H
#include "device/cuda_inner.h"

enum {
    CUDA_SAMPLE_NS = 1500000, /* aimed at by start_items */
    CUDA_ITEMS_MAX = 1 << 24
};

/* How cuBLAS is asked for products of one type. */
struct cuda_product {
    int32_t dtype, compute; /* HDP_*: of elements; what sums are kept in */
    cudaDataType type, result;
    cublasComputeType_t how;
    int32_t bytes, result_bytes; /* of an element */
};

struct cuda_probe {
    int32_t kind;                 /* HDP_PROBE_* */
    struct cuda_product product;  /* HDP_PROBE_GEMM */
    struct cuda_product standard; /* what its speed is compared with */
    int64_t width;
    int64_t room;    /* items that a and c hold; more are done in turn */
    int64_t wanted;  /* of a product: for which there should be room */
    void *a, *b, *c; /* c = a b; a copy goes from a to c */
};

/** A piece of work that is timed: enqueues `items`. The device is current. */
typedef hdp_status (*cuda_probe_fn)(struct cuda *self, int64_t items);

/* None of these is called inside cuda_enter(); all wait for the queue, up to
 * the member's deadline. */

/** Time of `items`, between marks. */
hdp_status cuda_probe_time(struct cuda *self, cuda_probe_fn fn, int64_t items,
                           double *out_ns);
/** The fastest of a few. */
hdp_status cuda_probe_fastest(struct cuda *self, cuda_probe_fn fn,
                              int64_t items, double *out_ns);
/** Items that make a sample, and their time: tried up to `most` first, then
 *  fitted, for which `grow` (or NULL) makes room; not inside cuda_enter(). */
hdp_status cuda_probe_fit(struct cuda *self, cuda_probe_fn work,
                          cuda_probe_fn grow, int64_t most, int64_t *out_items,
                          double *out_ns);
/** Room for `items` in a and c, each of so many bytes an item, or for half as
 *  many, and so on down to `least`, where memory is short: HDP_ERR_MEMORY below
 *  that. What was there goes. */
hdp_status cuda_probe_room(struct cuda *self, int64_t items, int64_t least,
                           int64_t a_bytes, int64_t c_bytes);
/** Fills device memory with random numbers of a type, `element` bytes each. */
hdp_status cuda_probe_fill(struct cuda *self, void *out, int64_t bytes,
                           int32_t dtype, int64_t element);

/* cuda_probe_gemm.c */
/** Opens cuBLAS, makes the matrices and fills in what probe_open is to fill in.
 *  HDP_ERR_UNSUPPORTED for types and sums that cuBLAS has no products of. */
hdp_status cuda_gemm_open(struct cuda *self, struct hdpi_probe *probe);
/** Room for so many rows at once, as far as memory goes. HDP_ERR_MEMORY. */
hdp_status cuda_gemm_grow(struct cuda *self, int64_t items);
/** Enqueues the product of so many rows: a cuda_probe_fn. */
hdp_status cuda_gemm_work(struct cuda *self, int64_t items);
#endif
