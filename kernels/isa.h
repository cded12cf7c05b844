/* Which vector instructions a kernel may use. A kernel is written once in
 * plain C and compiled for each level; nothing is ever fused, so every level
 * gives the same bytes and the choice is of speed alone. */
#ifndef HDPK_ISA_H
#define HDPK_ISA_H

enum { HDPK_BASE = 0, HDPK_AVX2 = 1, HDPK_AVX512 = 2 };

#if defined(__CUDACC__)
#define HDPK_INLINE static __host__ __device__ __forceinline__
#else
#define HDPK_INLINE static inline __attribute__((always_inline))
#endif

#if defined(__x86_64__) && !defined(__CUDACC__)
#define HDPK_FOR_AVX2 __attribute__((target("avx2")))
#define HDPK_FOR_AVX512 __attribute__((target("avx512f")))
/** The best level of this machine, the operating system's consent included. */
static inline int hdpk_isa(void)
{
    if (__builtin_cpu_supports("avx512f"))
        return HDPK_AVX512;
    return __builtin_cpu_supports("avx2") ? HDPK_AVX2 : HDPK_BASE;
}
#else
#define HDPK_FOR_AVX2
#define HDPK_FOR_AVX512
static inline int hdpk_isa(void)
{
    return HDPK_BASE;
}
#endif
#endif
