/* Single-precision matrix products for the workloads: the library's OpenBLAS
 * where it found one, else a blocked kernel of our own. */
#ifndef BENCH_WORK_GEMM_H
#define BENCH_WORK_GEMM_H

struct gemm {
    void *library; /* dlopen handle; NULL: the own kernel */
    void (*cblas)(int order, int trans_a, int trans_b, int m, int n, int k,
                  float alpha, const float *a, int lda, const float *b, int ldb,
                  float beta, float *c, int ldc);
    const char *source; /* "OpenBLAS" or "own kernel"; static */
};

/** Opens the copy at `path`; with NULL, or when it lacks the symbol, the own
 *  kernel. Never fails. */
void gemm_open(struct gemm *out, const char *path);
void gemm_close(struct gemm *gemm);

/** Row-major c = op(a) op(b) + beta c; c is m x n, k the inner length. */
void gemm_f32(const struct gemm *gemm, int trans_a, int trans_b, int m, int n,
              int k, const float *a, int lda, const float *b, int ldb,
              float beta, float *c, int ldc);
#endif
