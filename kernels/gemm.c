/* Matrix product in blocks. A panel of b that fits the first-level cache is
 * packed on the stack; tiles of c stay in registers while rows of a stream
 * by. Each element is summed over k in order, one rounding a product and one
 * a sum, so every instruction level and every blocking gives the bytes of the
 * plain triple loop. */
#include <string.h>
#include "kernels.h"
#include "isa.h"
#include "product.h"

/* Rows of b in a panel: with the widest tile a panel takes 16 KiB. */
enum { DEPTH = 128 };

/* What one panel of b takes part in: m rows of a, `depth` deep, against the
 * panel, set (or added) into m rows of c. */
#define PART(name, type)                                                       \
    struct name##_part {                                                       \
        int64_t m, depth, lda, ldc;                                            \
        const type *a, *panel;                                                 \
        type *c;                                                               \
        int add;                                                               \
    };
PART(f32, float)
PART(f64, double)

/* The kernels of one element type for one vector width: a vector has `size`
 * bytes, a tile is `rows` x `vectors` of them. */
#define GEMM(name, type, kind, size, rows, vectors, level)                     \
    typedef type name##_vector                                                 \
        __attribute__((vector_size(size), aligned(sizeof(type)), may_alias));  \
    enum { name##_wide = (vectors) * (size) / (int)sizeof(type) };             \
                                                                               \
    /* `count` rows, from row i on, of full width. */                          \
    level HDPK_INLINE void name##_tile(const struct kind##_part *x, int64_t i, \
                                       const int count)                        \
    {                                                                          \
        name##_vector sum[rows][vectors];                                      \
        const type *a = x->a + i * x->lda, *panel = x->panel;                  \
        type *c = x->c + i * x->ldc;                                           \
        int64_t lda = x->lda, ldc = x->ldc, depth = x->depth;                  \
        for (int r = 0; r < count; ++r)                                        \
            for (int v = 0; v < (vectors); ++v)                                \
                sum[r][v] = x->add ? ((name##_vector *)(c + r * ldc))[v]       \
                                   : (name##_vector){ 0 };                     \
        for (int64_t p = 0; p < depth; ++p) {                                  \
            const name##_vector *b = (const name##_vector *)panel;             \
            for (int r = 0; r < count; ++r)                                    \
                for (int v = 0; v < (vectors); ++v)                            \
                    sum[r][v] += a[r * lda + p] * b[v];                        \
            panel += name##_wide;                                              \
        }                                                                      \
        for (int r = 0; r < count; ++r)                                        \
            for (int v = 0; v < (vectors); ++v)                                \
                ((name##_vector *)(c + r * ldc))[v] = sum[r][v];               \
    }                                                                          \
                                                                               \
    level static void name##_rows(const struct kind##_part *x)                 \
    {                                                                          \
        int64_t i = 0;                                                         \
        for (; i + (rows) <= x->m; i += (rows))                                \
            name##_tile(x, i, rows);                                           \
        for (; i < x->m; ++i)                                                  \
            name##_tile(x, i, 1);                                              \
    }                                                                          \
                                                                               \
    /* The last columns, fewer than a panel's, pass through full-width rows \
     * on the stack. */  \
    level static void name##_narrow(const struct kind##_part *x,               \
                                    int64_t width)                             \
    {                                                                          \
        type edge[(rows)*name##_wide];                                         \
        size_t bytes = (size_t)width * sizeof(type);                           \
        struct kind##_part y = *x;                                             \
        y.c = edge;                                                            \
        y.ldc = name##_wide;                                                   \
        memset(edge, 0, sizeof(edge));                                         \
        for (int64_t i = 0; i < x->m; i += (rows)) {                           \
            type *c = x->c + i * x->ldc;                                       \
            y.m = x->m - i < (rows) ? x->m - i : (rows);                       \
            y.a = x->a + i * x->lda;                                           \
            for (int64_t r = 0; x->add && r < y.m; ++r)                        \
                memcpy(edge + r * name##_wide, c + r * x->ldc, bytes);         \
            name##_rows(&y);                                                   \
            for (int64_t r = 0; r < y.m; ++r)                                  \
                memcpy(c + r * x->ldc, edge + r * name##_wide, bytes);         \
        }                                                                      \
    }                                                                          \
                                                                               \
    level static void name##_panel(const struct hdpk_product_##kind *x,        \
                                   int64_t p, int64_t j)                       \
    {                                                                          \
        type panel[DEPTH * name##_wide];                                       \
        int64_t width = x->n - j < name##_wide ? x->n - j : name##_wide;       \
        int64_t depth = x->k - p < DEPTH ? x->k - p : DEPTH;                   \
        struct kind##_part y = { x->m,     depth, x->lda,   x->ldc,            \
                                 x->a + p, panel, x->c + j, p > 0 };           \
        if (width < name##_wide)                                               \
            memset(panel, 0, sizeof(panel));                                   \
        for (int64_t q = 0; q < depth; ++q)                                    \
            memcpy(panel + q * name##_wide, x->b + (p + q) * x->ldb + j,       \
                   (size_t)width * sizeof(type));                              \
        if (width == name##_wide)                                              \
            name##_rows(&y);                                                   \
        else                                                                   \
            name##_narrow(&y, width);                                          \
    }                                                                          \
                                                                               \
    level static void name(const struct hdpk_product_##kind *x)                \
    {                                                                          \
        for (int64_t p = 0; p < x->k; p += DEPTH)                              \
            for (int64_t j = 0; j < x->n; j += name##_wide)                    \
                name##_panel(x, p, j);                                         \
    }

GEMM(f32_base, float, f32, 16, 3, 3, )
GEMM(f64_base, double, f64, 16, 3, 3, )
GEMM(f32_avx2, float, f32, 32, 3, 3, HDPK_FOR_AVX2)
GEMM(f64_avx2, double, f64, 32, 3, 3, HDPK_FOR_AVX2)
GEMM(f32_avx512, float, f32, 64, 12, 2, HDPK_FOR_AVX512)
GEMM(f64_avx512, double, f64, 64, 12, 2, HDPK_FOR_AVX512)

#define LEVELS(kind, type)                                                     \
    void hdpk_product_##kind##_at(int isa,                                     \
                                  const struct hdpk_product_##kind *x)         \
    {                                                                          \
        if (x->m <= 0 || x->n <= 0)                                            \
            return;                                                            \
        for (int64_t i = 0; x->k <= 0 && i < x->m; ++i)                        \
            memset(x->c + i * x->ldc, 0, (size_t)x->n * sizeof(type));         \
        if (isa == HDPK_AVX512)                                                \
            kind##_avx512(x);                                                  \
        else if (isa == HDPK_AVX2)                                             \
            kind##_avx2(x);                                                    \
        else                                                                   \
            kind##_base(x);                                                    \
    }
LEVELS(f32, float)
LEVELS(f64, double)

void hdpk_gemm_f32(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                   const float *b, int64_t ldb, float *c, int64_t ldc)
{
    struct hdpk_product_f32 x = { m, n, k, a, lda, b, ldb, c, ldc };
    hdpk_product_f32_at(hdpk_isa(), &x);
}

void hdpk_gemm_f64(int64_t m, int64_t n, int64_t k, const double *a,
                   int64_t lda, const double *b, int64_t ldb, double *c,
                   int64_t ldc)
{
    struct hdpk_product_f64 x = { m, n, k, a, lda, b, ldb, c, ldc };
    hdpk_product_f64_at(hdpk_isa(), &x);
}
