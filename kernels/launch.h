/* What each kernel takes: one plain struct by value, the same in C, C++ and on
 * the device, and the table of kernels by name. hdpk_host_x() says what
 * hdpk_cuda_x does, bit for bit: only which NaN comes out is left open. */
#ifndef HDPK_LAUNCH_H
#define HDPK_LAUNCH_H
#include <stddef.h>
#include <stdint.h>

/* Members are pointers, int64_t, double and int32_t; a struct has at most
 * 4,000 bytes, which every launch can carry.
 *
 * Common to all: an element of `dtype` (HDP_* of hdp.h; TF32 is f32 in memory)
 * lies at a multiple of its own size and may lie at no more. Elements are
 * those with index [first, first + count) from the pointer; counts of 0 do
 * nothing, and no count is too large. Grids and blocks have one dimension and
 * any size: a thread goes on in strides of the whole grid. Work cut at any
 * `first` gives the same bytes, so a long launch may be made in pieces. */

enum {
    HDPK_LAUNCH_SOURCES = 64,
    HDPK_LAUNCH_TARGETS = 64,
    HDPK_SPIN_NS_MAX = 50000000 /* a display notices more */
};

/** Many sources become one and go to all targets: `struct hdpk_combine` of
 *  kernels.h with room for 64 of each. More targets: launch again with
 *  HDP_OP_SUM from the first target alone, to the rest. More sources:
 *  hdpk_combine(), since sums kept between launches would be rounded more than
 *  once. */
struct hdpk_launch_combine {
    int32_t dtype, op;
    int32_t source_count, target_count;
    int64_t total;
    int64_t first, count;
    const void *sources[HDPK_LAUNCH_SOURCES];
    int64_t counts[HDPK_LAUNCH_SOURCES]; /* HDP_OP_MEAN only */
    void *targets[HDPK_LAUNCH_TARGETS];
};

/** target += weight * source. f32, f16 and bf16 compute in f32: the weight, the
 *  product and the sum are each rounded to f32, then the sum once to the
 *  element; f64 computes in f64. Floats only. The source may be the target. */
struct hdpk_launch_accumulate {
    void *target;
    const void *source;
    double weight;
    int64_t first, count;
    int32_t dtype, reserved;
};

/** data *= factor, computed as in accumulate. Floats only. */
struct hdpk_launch_scale {
    void *data;
    double factor;
    int64_t first, count;
    int32_t dtype, reserved;
};

/** Floats of one type become floats of another, rounded once to nearest even.
 *  `first` counts elements of either. The target may be the source where both
 *  types have one size; otherwise the two do not overlap. */
struct hdpk_launch_convert {
    void *target;
    const void *source;
    int64_t first, count;
    int32_t target_dtype, source_dtype;
};

/** Every element becomes the lowest `bytes` bytes of `bits`. */
struct hdpk_launch_fill {
    void *data;
    int64_t bits;
    int64_t first, count;
    int32_t bytes; /* of an element: 1, 2, 4 or 8 */
    int32_t reserved;
};

/**
 * Element i is factor * base + offset, where base is hdpk_pattern_base(seed,
 * origin + i), one of the integers 0 to 63. All arithmetic is exact while the
 * value is exact in the type: up to 256 in bf16, 2,048 in f16, 2^24 in f32,
 * 2^53 in f64, the own range for integers.
 *
 * So sums of patterns are patterns. Members that write with one seed, factor
 * f_s and offset d_s must find, after a reduce with counts n_s:
 *   SUM              factor sum f_s,          offset sum d_s
 *   MEAN             factor sum n_s f_s / N,  offset sum n_s d_s / N
 *   SUM_OVER_TOTAL   factor sum f_s / N,      offset sum d_s / N
 *   MIN, MAX         with equal factors, the least or largest offset
 * In f64 a mean's weights n_s / N are rounded, so there N is a power of two.
 * hdpk_pattern_offsets() finds offsets that make the mean's a whole number.
 */
struct hdpk_launch_pattern {
    void *data;
    int64_t seed, origin;
    int64_t factor, offset;
    int64_t first, count;
    int32_t dtype, reserved;
};

/** Compares with what hdpk_launch_pattern writes: out[0] grows by the number
 *  of elements of another value, out[1] falls to the least `origin + i` of
 *  them. The caller sets out to { 0, INT64_MAX } before the first launch.
 *  -0 equals 0; NaN equals nothing. */
struct hdpk_launch_check {
    const void *data;
    int64_t *out;
    int64_t seed, origin;
    int64_t factor, offset;
    int64_t first, count;
    int32_t dtype, reserved;
};

/** Rows of bytes from one place to another, at any address and of any length:
 *  packs when the target's stride is row_bytes, unpacks when the source's is.
 *  Strides may exceed row_bytes. Bytes between rows stay. No overlap. */
struct hdpk_launch_rows {
    void *target;
    const void *source;
    int64_t rows, row_bytes, target_stride, source_stride;
};

/** Takes so long, and writes how long that was to out_ns (NULL: to nobody).
 *  Ends after HDPK_SPIN_NS_MAX whatever was asked. One thread of the grid
 *  waits, the others leave at once. */
struct hdpk_launch_spin {
    int64_t *out_ns;
    int64_t ns;
};

#ifdef __cplusplus
extern "C" {
#endif

/** The meanings: single-threaded, no allocation. */
void hdpk_host_combine(const struct hdpk_launch_combine *job);
void hdpk_host_accumulate(const struct hdpk_launch_accumulate *job);
void hdpk_host_scale(const struct hdpk_launch_scale *job);
void hdpk_host_convert(const struct hdpk_launch_convert *job);
void hdpk_host_fill(const struct hdpk_launch_fill *job);
void hdpk_host_pattern(const struct hdpk_launch_pattern *job);
void hdpk_host_check(const struct hdpk_launch_check *job);
void hdpk_host_rows(const struct hdpk_launch_rows *job);
void hdpk_host_spin(const struct hdpk_launch_spin *job);

/** The pattern's base at a position: 0 to 63. */
int64_t hdpk_pattern_base(int64_t seed, int64_t position);

/**
 * Offsets that differ between members, whose mean weighted by counts is a
 * whole number: *out_mean. At most two are not 0, none is larger than `most`.
 *
 * @param counts  Items of each member, 0 or more.
 * @return 1; 0 where no such offsets exist but 0 for all, which are given.
 */
int hdpk_pattern_offsets(int64_t *offsets, int64_t *out_mean,
                         const int64_t *counts, int32_t count, int64_t most);

enum hdpk_kernel_id {
    HDPK_COMBINE,
    HDPK_ACCUMULATE,
    HDPK_SCALE,
    HDPK_CONVERT,
    HDPK_FILL,
    HDPK_PATTERN,
    HDPK_CHECK,
    HDPK_ROWS,
    HDPK_SPIN,
    HDPK_KERNELS
};

/* One kernel as the driver and its stand-in know it. */
struct hdpk_kernel {
    const char *name; /* in the image: "hdpk_cuda_combine" */
    size_t bytes;     /* of its struct */
    void (*host)(const void *args);
    /* Where the struct holds pointers: arrays, { 0, 0 } past the last. */
    struct {
        size_t offset;
        int32_t count;
    } pointers[2];
};

/** In the order of hdpk_kernel_id. */
extern const struct hdpk_kernel hdpk_kernels[HDPK_KERNELS];

#ifdef __cplusplus
}
#endif
#endif
