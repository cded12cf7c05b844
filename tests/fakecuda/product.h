/* A matrix product computed for real on host memory, as cuBLAS means it:
 * column-major, operands as given or transposed. Knows nothing of devices. */
#ifndef FAKE_PRODUCT_H
#define FAKE_PRODUCT_H
#include <stdint.h>

/* What elements are, and what operands are rounded to before they are
 * multiplied. */
enum fake_type {
    FAKE_F32,
    FAKE_TF32, /* 32 bits in memory, ten of the mantissa used */
    FAKE_F16,
    FAKE_BF16,
    FAKE_F64,
    FAKE_I8,
    FAKE_I32
};

/* c = alpha op(a) op(b) + beta c, `batch` of them. Sums are made in double and
 * rounded once to `sum`; what comes of alpha and beta once to type_c. */
struct fake_product {
    int64_t m, n, k, batch;
    int transpose_a, transpose_b;
    enum fake_type type_a, type_b, type_c, sum;
    const void *a, *b;
    void *c;
    int64_t lda, ldb, ldc;
    int64_t stride_a, stride_b, stride_c; /* elements; batch > 1 */
    double alpha, beta;                   /* beta 0: c is not read */
};

int64_t fake_type_bytes(enum fake_type type);
double fake_type_read(enum fake_type type, const void *base, int64_t i);
void fake_type_write(enum fake_type type, void *base, int64_t i, double value);

/** Elements from the first to behind the last of a matrix of so many stored
 *  rows and columns; 0 of an empty one. */
int64_t fake_product_extent(int64_t rows, int64_t columns, int64_t ld);

void fake_product_run(const struct fake_product *job);

/** In place of a product that would take too long: for the same sizes the same
 *  bytes, small numbers, in as many columns as are cheap. */
void fake_product_fill(const struct fake_product *job);
#endif
