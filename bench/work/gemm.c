/* Matrix products by one of two; which one it was is part of the output. */
#include "gemm.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "kernels.h"

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112, BLOCK = 16 };

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

void gemm_f32(const struct gemm *gemm, int m, int n, int k, const float *a,
              int lda, const float *b, int ldb, float *c, int ldc)
{
    if (gemm->cblas)
        gemm->cblas(ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, 1, a, lda, b, ldb,
                    0, c, ldc);
    else
        hdpk_gemm_f32(m, n, k, a, lda, b, ldb, c, ldc);
}

/* Square blocks, so that both sides stay in the cache. */
static void transpose(float *restrict out, const float *a, int rows, int width)
{
    for (int i = 0; i < rows; i += BLOCK)
        for (int j = 0; j < width; ++j)
            for (int p = i; p < i + BLOCK && p < rows; ++p)
                out[(size_t)j * (size_t)rows + (size_t)p] =
                    a[(size_t)p * (size_t)width + (size_t)j];
}

void gemm_f32_add_transposed(const struct gemm *gemm, int m, int n, int k,
                             const float *a, const float *b, float *c,
                             float *scratch)
{
    size_t count = (size_t)m * (size_t)n;

    if (gemm->cblas) {
        gemm->cblas(ROW_MAJOR, TRANS, NO_TRANS, m, n, k, 1, a, m, b, n, 1, c,
                    n);
        return;
    }
    float *product = scratch + (size_t)m * (size_t)k;
    transpose(scratch, a, k, m);
    hdpk_gemm_f32(m, n, k, scratch, k, b, n, product, n);
    for (size_t i = 0; i < count; ++i)
        c[i] += product[i];
}
