/* Single-precision matrix products for the workloads: the OpenBLAS that the
 * library found and trusts, else the library's own blocked kernel. */
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

/** Row-major c = a b; c is m x n, k the inner length. */
void gemm_f32(const struct gemm *gemm, int m, int n, int k, const float *a,
              int lda, const float *b, int ldb, float *c, int ldc);

/** c += transposed(a) b, rows without gaps; a is k x m. `scratch` has room for
 *  m * k + m * n elements. */
void gemm_f32_add_transposed(const struct gemm *gemm, int m, int n, int k,
                             const float *a, const float *b, float *c,
                             float *scratch);
#endif
