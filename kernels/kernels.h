/* The library's own kernels as plain C functions: x.c says what each means;
 * a CUDA form may say how it is fast, a test holds the two equal. Knows only
 * <stddef.h>, <stdint.h> and the numbers of hdp.h. */
#ifndef HDPK_KERNELS_H
#define HDPK_KERNELS_H
#include <hdp/hdp.h>

enum { HDPK_SOURCES_MAX = 4096 };

/* targets[t][i] = op over s of sources[s][i], i in [first, first + count).
 *
 * Weighted (HDP_OP_MEAN): sum of counts[s] * sources[s][i], divided by total.
 * f32, f16, bf16 accumulate counts[s] * x in f64 and round once; f64 uses the
 * weights counts[s] / total, so that nothing overflows that the mean would
 * not. HDP_OP_SUM_OVER_TOTAL: sum of sources divided by total. HDP_OP_SUM:
 * sum (f64 accumulation, one rounding; integers wrap). MIN, MAX: a NaN in any
 * source gives NaN. No sources: the identity (sum 0, min the largest value,
 * max the lowest; infinities for floats). The same bytes reach every target.
 * Any source may be a target. Elements may be unaligned to more than their
 * own size. TF32 is f32 in memory. */
struct hdpk_combine {
    int32_t dtype, op;
    int32_t source_count, target_count;
    const void *const *sources; /* contributing members only */
    const int64_t *counts;      /* one a source; MEAN only */
    void *const *targets;
    int64_t total;
    int64_t first, count; /* elements */
};

/** Bytes of one element of an HDP_* dtype; 0 for an unknown one. */
size_t hdpk_dtype_bytes(int32_t dtype);
/** 1 when the pair is meaningful (MEAN and SUM_OVER_TOTAL of integers are
 *  not). */
int hdpk_combine_supported(int32_t dtype, int32_t op);
/** Single-threaded, no allocation, at most 8 KiB of stack. The job must be
 *  supported. */
void hdpk_combine(const struct hdpk_combine *job);
/** Fills targets with quiet NaN (floats) or leaves integers alone. */
void hdpk_poison(void *target, int32_t dtype, int64_t first, int64_t count);

/** Conversions with one rounding to nearest even; NaN stays NaN. */
double hdpk_from_f16(uint16_t bits);
double hdpk_from_bf16(uint16_t bits);
uint16_t hdpk_to_f16(double value);
uint16_t hdpk_to_bf16(double value);

/** c[m x n] = a[m x k] b[k x n], row-major, no aliasing: the blocked kernel
 *  that is the reference for any BLAS found, and its stand-in. lda, ldb, ldc
 *  in elements. */
void hdpk_gemm_f32(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                   const float *b, int64_t ldb, float *c, int64_t ldc);
void hdpk_gemm_f64(int64_t m, int64_t n, int64_t k, const double *a,
                   int64_t lda, const double *b, int64_t ldb, double *c,
                   int64_t ldc);
#endif
