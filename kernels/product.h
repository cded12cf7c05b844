/* A matrix product as one argument, and the kernels at a given level of
 * instructions, so that a test can hold the levels equal. */
#ifndef HDPK_PRODUCT_H
#define HDPK_PRODUCT_H
#include <stdint.h>

struct hdpk_combine;

#define HDPK_PRODUCT(name, type)                                               \
    struct name {                                                              \
        int64_t m, n, k;                                                       \
        const type *a;                                                         \
        int64_t lda;                                                           \
        const type *b;                                                         \
        int64_t ldb;                                                           \
        type *c;                                                               \
        int64_t ldc;                                                           \
    };
HDPK_PRODUCT(hdpk_product_f32, float)
HDPK_PRODUCT(hdpk_product_f64, double)
#undef HDPK_PRODUCT

/** `isa` is a level of isa.h, at most hdpk_isa(). */
void hdpk_product_f32_at(int isa, const struct hdpk_product_f32 *x);
void hdpk_product_f64_at(int isa, const struct hdpk_product_f64 *x);
void hdpk_combine_at(int isa, const struct hdpk_combine *job);
#endif
