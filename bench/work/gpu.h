/* The GPUs of a group as the workloads use them: memory, copies, kernels and
 * products by the driver and the cuBLAS that the library found, on the member's
 * own stream. Nothing is linked: without a driver no group has a GPU. */
#ifndef BENCH_WORK_GPU_H
#define BENCH_WORK_GPU_H
#include <stddef.h>

#include <hdp/hdp.h>

struct gpu;

/* The image of work.cu, in the program (bench/CMakeLists.txt). */
struct gpu_image {
    const void *data;
    size_t bytes; /* 0: this build has none */
};

struct gpu_spec {
    hdp_group *group;
    const hdp_device *devices; /* one a member */
    int32_t members;
    int32_t products;        /* 1: cuBLAS is needed as well */
    const char *driver_path; /* as hdp_info names it */
    const char *cublas_path; /* what the context was given; or NULL */
    struct gpu_image image;
};

enum { GPU_REASON = 256 };

/**
 * Makes the members' GPUs known, by one step of the group; nothing else may be
 * in flight. The group outlives it.
 *
 * @param out     NULL on error, and where no member is a GPU.
 * @param reason  Receives one line on error; GPU_REASON bytes.
 */
hdp_status gpu_open(struct gpu **out, const struct gpu_spec *spec,
                    char *reason);
/** Accepts NULL. Memory has been freed. */
void gpu_close(struct gpu *gpu);

/** 1: the member is a GPU; gpu may be NULL: none is. */
int gpu_is(const struct gpu *gpu, int32_t member);

/** Device memory that was free at gpu_open(); 0: not known, or no GPU. */
int64_t gpu_free_bytes(const struct gpu *gpu, int32_t member);

/* Between steps, on the thread that drives the group: */

/** Device memory, zeroed; NULL: none left. */
void *gpu_alloc(struct gpu *gpu, int32_t member, size_t bytes);
/** Accepts NULL. */
void gpu_free(struct gpu *gpu, int32_t member, void *memory);
/** Sets every byte and waits. 0: it failed, see gpu_reason(). */
int gpu_set(struct gpu *gpu, int32_t member, void *target, unsigned char byte,
            size_t bytes);
/** Copies and waits. */
int gpu_upload(struct gpu *gpu, int32_t member, void *target,
               const void *source, size_t bytes);
int gpu_download(struct gpu *gpu, int32_t member, void *target,
                 const void *source, size_t bytes);

/* Inside a work function, and between steps; in the order of the stream: */

/** Launches a kernel of workkernels.h for so many places. 0: it failed. */
int gpu_launch(struct gpu *gpu, int32_t member, int32_t kernel,
               const void *args, int64_t places);

/* Row-major c[m x n] = alpha op(a) op(b) + beta c. a and b are of dtype
 * (HDP_F32, _TF32, _F16, _BF16), sums are f32; c is f32, or of dtype too. */
struct gpu_product {
    int m, n, k;
    int transposed_a, transposed_b; /* 1: stored k x m, n x k */
    const void *a, *b;
    void *c;
    int lda, ldb, ldc; /* elements from row to row, as stored */
    float alpha, beta;
    int32_t dtype;
    int32_t rounded; /* 1: c is of dtype */
};
/** Enqueues it. 0: it failed. */
int gpu_multiply(struct gpu *gpu, int32_t member,
                 const struct gpu_product *product);

/** Waits until the stream is empty. 0: it failed. */
int gpu_wait(struct gpu *gpu, int32_t member);

/** What failed last on that member; "" nothing. */
const char *gpu_reason(const struct gpu *gpu, int32_t member);

/** For a work function whose call failed: says so, and returns what the
 *  function is to return. */
int32_t gpu_give_up(const struct gpu *gpu, const hdp_shard *shard);
#endif
