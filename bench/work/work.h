/* The built-in workloads: an hdp_work each, with honest compute and a check of
 * its results against one device. */
#ifndef BENCH_WORK_WORK_H
#define BENCH_WORK_WORK_H
#include <hdp/hdp.h>

#include "net.h"

enum { WORK_MLP, WORK_GEMM, WORK_COPY, WORK_MIXED, WORK_EMPTY };

struct gpu; /* gpu.h */

struct workload_spec {
    int32_t kind, members; /* WORK_*; this process's members */
    struct net_shape net;  /* of WORK_MLP */
    int64_t capacity;      /* most items a batch may have */
    int64_t reduce_bytes;  /* a bucket besides the work's own; 0: none */
    uint64_t seed;
    const char *blas_path;     /* the library's OpenBLAS, or NULL */
    const hdp_device *devices; /* one a member, for its threads; or NULL */
    struct gpu *gpu;           /* the members' GPUs; NULL: none is one */
    int32_t dtype; /* HDP_*: of GPUs' products; 0: HDP_F32, which others have */
};

struct workload_check {
    int ok;
    double max_rel_error, tolerance;
    const char *against; /* static text: what it was compared with */
};

struct bucket;

/* First member of every workload. */
struct workload {
    const struct workload_ops *ops;
    hdp_work work; /* borrowed by hdp_run */
    double item_flops, item_bytes;
    const char *backend; /* static text: what computes the products */
    int32_t dtype;       /* HDP_*: what their operands are */
    /* one a member: its own work takes so many times as long (pace.h); NULL:
     * as long as it takes. Changed between steps alone. */
    const double *pace;
    struct bucket *bucket; /* NULL: the work's own buckets alone */
};

struct workload_ops {
    /* Called before a step that will be checked, and after the check: an mlp
     * keeps its weights in between. */
    void (*hold)(struct workload *self, int on);
    /* Compares the last step, `items` a member and `total` in all, with one
     * device. */
    void (*check)(struct workload *self, const int64_t *items, int64_t total,
                  struct workload_check *out);
    void (*destroy)(struct workload *self);
};

/** 1: it has products. */
int workload_multiplies(int32_t kind);

/** NULL when memory is short. */
struct workload *workload_create(const struct workload_spec *spec);
void workload_destroy(struct workload *workload); /* accepts NULL */

/** Compares the last step, which gave the members `items`, with one device.
 *  Everything is as before a first step then. */
void workload_check(struct workload *workload, const int64_t *items,
                    int64_t total, struct workload_check *out);

/** What computes the products of such a group; static text. */
const char *workload_backend(const struct workload_spec *spec,
                             const char *host);

/** Threads that a member's function may keep busy, at least 1. */
int workload_threads(const struct workload_spec *spec, int32_t member);

/** Zeroed memory at a cache line's boundary; free() releases it. */
void *workload_alloc(size_t count, size_t size);

struct workload *mlp_create(const struct workload_spec *spec);
struct workload *rows_create(const struct workload_spec *spec);
#endif
