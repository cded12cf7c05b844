/* What each kernel of the workloads takes: one plain struct by value, pointers
 * first, the same in C and on the device. hdpw_host_x() says what hdpw_cuda_x
 * does, bit for bit but for the exponentials of the loss. Rows lie one after the
 * other unless a stride is given. */
#ifndef BENCH_WORK_WORKKERNELS_H
#define BENCH_WORK_WORKKERNELS_H
#include <stddef.h>
#include <stdint.h>

#include "launch.h"

/* `dtype` is what a target's elements are: HDP_F32, HDP_TF32 (f32 in memory),
 * HDP_F16 or HDP_BF16, rounded once to nearest even. All else is f32. A kernel
 * has a thread a place and goes on in strides of the whole grid. */

/** target[r][j] = pixel / 16, of row (first + r) % count, `stride` bytes from
 *  row to row. */
struct hdpw_pixels {
    void *target;
    const void *pixels;
    int64_t rows, first, count, stride;
    int32_t dtype, width;
};

/** target[r][j] = max(sums[r][j] + bias[j], 0). */
struct hdpw_activate {
    void *target;
    const void *sums, *bias;
    int64_t rows;
    int32_t dtype, width;
};

/** target[r][j] = softmax(sums[r] + bias)[j] - (j is the label): the gradient of
 *  the loss -log softmax[label]. Labels as pixels, a byte each; width is 16 at
 *  most. */
struct hdpw_loss {
    void *target;
    const void *sums, *bias, *labels;
    int64_t rows, first, count, stride;
    int32_t dtype, width;
};

/** target[r][j] = active[r][j] > 0 ? sums[r][j] : 0; active is of dtype too. */
struct hdpw_backward {
    void *target;
    const void *sums, *active;
    int64_t rows;
    int32_t dtype, width;
};

/** target[c][j] (f32) = factor * the sum of source[r][j] over the `chunk` rows
 *  from c * chunk on, in order; with `add` it is added to the target. dtype is
 *  the source's. */
struct hdpw_columns {
    void *target;
    const void *source;
    int64_t rows, chunk;
    double factor;
    int32_t dtype, width, add, reserved;
};

/** velocity = momentum * velocity + gradient; weights -= rate * velocity. */
struct hdpw_update {
    void *weights, *velocity;
    const void *gradient;
    int64_t count;
    double rate, momentum;
};

/** target[r][j] = source[r][j], of f32 rows `stride` bytes apart. */
struct hdpw_lower {
    void *target;
    const void *source;
    int64_t rows, stride;
    int32_t dtype, width;
};

/** target[r][j] (of dtype) = n * (base + slope * row) of row = first + r, where n
 *  is drawn from -32768 to 32767 by the seed and the element's own number, row *
 *  width + j: the same wherever it is made. */
struct hdpw_noise {
    void *target;
    int64_t rows, first, seed;
    double base, slope;
    int32_t dtype, width;
};

/** target[i] stays where gate[i] is above 0 and becomes +0 elsewhere; both are
 *  of dtype, on 8 bytes, and memory reaches to the next 8. They may be the same,
 *  which is the ReLU. A NaN without a sign counts as above. */
struct hdpw_gate {
    void *target;
    const void *gate;
    int64_t count;
    int32_t dtype, reserved;
};

#ifdef __cplusplus
extern "C" {
#endif

void hdpw_host_pixels(const struct hdpw_pixels *job);
void hdpw_host_activate(const struct hdpw_activate *job);
void hdpw_host_loss(const struct hdpw_loss *job);
void hdpw_host_backward(const struct hdpw_backward *job);
void hdpw_host_columns(const struct hdpw_columns *job);
void hdpw_host_update(const struct hdpw_update *job);
void hdpw_host_lower(const struct hdpw_lower *job);
void hdpw_host_noise(const struct hdpw_noise *job);
void hdpw_host_gate(const struct hdpw_gate *job);

enum hdpw_kernel_id {
    HDPW_PIXELS,
    HDPW_ACTIVATE,
    HDPW_LOSS,
    HDPW_BACKWARD,
    HDPW_COLUMNS,
    HDPW_UPDATE,
    HDPW_LOWER,
    HDPW_NOISE,
    HDPW_GATE,
    HDPW_ROWS,    /* the library's kernels, in this image as well: */
    HDPW_PATTERN, /* structs and meanings in launch.h */
    HDPW_CHECK,
    HDPW_KERNELS
};

/** In the order of hdpw_kernel_id. */
extern const struct hdpk_kernel hdpw_kernels[HDPW_KERNELS];

#ifdef __cplusplus
}
#endif
#endif
