/* Matrix products. The own kernel keeps the innermost loop along rows of b and
 * c, which a compiler turns into vector code, and blocks the rest for cache. */
#include "gemm.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112, BLOCK = 64 };

void gemm_open(struct gemm *out, const char *path)
{
    out->library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    out->cblas = NULL;
    out->source = "own kernel";
    if (!out->library)
        return;
    void *symbol = dlsym(out->library, "cblas_sgemm");
    /* A function pointer out of a void pointer, the way POSIX asks for. */
    memcpy(&out->cblas, &symbol, sizeof symbol);
    if (out->cblas)
        out->source = "OpenBLAS";
}

void gemm_close(struct gemm *gemm)
{
    if (gemm->library)
        dlclose(gemm->library);
    memset(gemm, 0, sizeof *gemm);
}

static int lesser(int a, int b)
{
    return a < b ? a : b;
}

/* c[n] += sum over p < k of a[p * step] * b[p][n] */
static void rows_into(int n, int k, const float *a, size_t step, const float *b,
                      size_t ldb, float *restrict c)
{
    int p = 0;

    for (; p + 4 <= k; p += 4) {
        float a0 = a[(size_t)p * step], a1 = a[(size_t)(p + 1) * step];
        float a2 = a[(size_t)(p + 2) * step], a3 = a[(size_t)(p + 3) * step];
        const float *b0 = b + (size_t)p * ldb, *b1 = b0 + ldb;
        const float *b2 = b1 + ldb, *b3 = b2 + ldb;
        for (int j = 0; j < n; ++j)
            c[j] += a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j];
    }
    for (; p < k; ++p) {
        float a0 = a[(size_t)p * step];
        const float *b0 = b + (size_t)p * ldb;
        for (int j = 0; j < n; ++j)
            c[j] += a0 * b0[j];
    }
}

/* c += a b with b transposed: dot products along rows of both. */
static void dots_into(int m, int n, int k, const float *a, size_t lda,
                      const float *b, size_t ldb, float *c, size_t ldc)
{
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            const float *x = a + (size_t)i * lda, *y = b + (size_t)j * ldb;
            float sum = 0;
            for (int p = 0; p < k; ++p)
                sum += x[p] * y[p];
            c[(size_t)i * ldc + (size_t)j] += sum;
        }
}

static void own(int trans_a, int trans_b, int m, int n, int k, const float *a,
                size_t lda, const float *b, size_t ldb, float *c, size_t ldc)
{
    if (trans_b) {
        dots_into(m, n, k, a, lda, b, ldb, c, ldc);
        return;
    }
    for (int p = 0; p < k; p += BLOCK)
        for (int i = 0; i < m; ++i) {
            const float *x = trans_a ? a + (size_t)p * lda + (size_t)i
                                     : a + (size_t)i * lda + (size_t)p;
            rows_into(n, lesser(BLOCK, k - p), x, trans_a ? lda : 1,
                      b + (size_t)p * ldb, ldb, c + (size_t)i * ldc);
        }
}

void gemm_f32(const struct gemm *gemm, int trans_a, int trans_b, int m, int n,
              int k, const float *a, int lda, const float *b, int ldb,
              float beta, float *c, int ldc)
{
    if (gemm->cblas) {
        gemm->cblas(ROW_MAJOR, trans_a ? TRANS : NO_TRANS,
                    trans_b ? TRANS : NO_TRANS, m, n, k, 1, a, lda, b, ldb,
                    beta, c, ldc);
        return;
    }
    if (beta == 0)
        for (int i = 0; i < m; ++i)
            memset(c + (size_t)i * (size_t)ldc, 0, (size_t)n * sizeof *c);
    own(trans_a, trans_b, m, n, k, a, (size_t)lda, b, (size_t)ldb, c,
        (size_t)ldc);
}
