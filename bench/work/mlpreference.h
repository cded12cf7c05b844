/* The mlp's gradient on one device in f64, by plain loops: what every rule's
 * reduced gradient is compared with. Shares no code with the step. */
#ifndef BENCH_WORK_MLPREFERENCE_H
#define BENCH_WORK_MLPREFERENCE_H
#include <stdint.h>

/** Mean gradient of `total` rows of 64 pixels at the given weights, of which
 *  each is the one `period` before it; tensors in the order w2[256][10] b2
 *  w1[64][256] b1, in one block each. */
void mlpreference_gradient(double *out, const float *weights,
                           const uint8_t *pixels, const uint8_t *labels,
                           int64_t total, int64_t period);

/** Largest |got - want| of a tensor over its largest |want|. */
double mlpreference_error(const float *got, const double *want, int64_t count);
#endif
