/* The definition of the mlp's gradient, row by row, in f64. */
#include "mlpreference.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { IN = 64, HIDDEN = 256, OUT = 10 };

struct tensors {
    double w2[HIDDEN][OUT], b2[OUT], w1[IN][HIDDEN], b1[HIDDEN];
};

static void load_weights(struct tensors *out, const float *weights)
{
    double *flat = (double *)out;

    for (size_t i = 0; i < sizeof *out / sizeof *flat; ++i)
        flat[i] = weights[i];
}

/* A row that is there so many times. */
static void add_row(struct tensors *sum, const struct tensors *net,
                    const uint8_t *pixels, int label, double times)
{
    double x[IN], hidden[HIDDEN], out[OUT], d_hidden[HIDDEN], total = 0;

    for (int i = 0; i < IN; ++i)
        x[i] = pixels[i] / 16.0;
    memcpy(hidden, net->b1, sizeof hidden);
    for (int i = 0; i < IN; ++i)
        for (int j = 0; j < HIDDEN; ++j)
            hidden[j] += x[i] * net->w1[i][j];
    for (int j = 0; j < HIDDEN; ++j)
        hidden[j] = hidden[j] > 0 ? hidden[j] : 0;
    memcpy(out, net->b2, sizeof out);
    for (int j = 0; j < HIDDEN; ++j)
        for (int k = 0; k < OUT; ++k)
            out[k] += hidden[j] * net->w2[j][k];
    for (int k = 0; k < OUT; ++k)
        total += out[k] = exp(out[k]);
    for (int k = 0; k < OUT; ++k)
        out[k] = times * (out[k] / total - (k == label));

    for (int j = 0; j < HIDDEN; ++j) {
        d_hidden[j] = 0;
        for (int k = 0; k < OUT; ++k) {
            sum->w2[j][k] += hidden[j] * out[k];
            d_hidden[j] += net->w2[j][k] * out[k];
        }
        d_hidden[j] = hidden[j] > 0 ? d_hidden[j] : 0;
        sum->b1[j] += d_hidden[j];
    }
    for (int k = 0; k < OUT; ++k)
        sum->b2[k] += out[k];
    for (int i = 0; i < IN; ++i)
        for (int j = 0; j < HIDDEN; ++j)
            sum->w1[i][j] += x[i] * d_hidden[j];
}

void mlpreference_gradient(double *out, const float *weights,
                           const uint8_t *pixels, const uint8_t *labels,
                           int64_t total, int64_t period)
{
    struct tensors net, sum;
    size_t count = sizeof sum / sizeof *out;
    const double *flat = (const double *)&sum;

    load_weights(&net, weights);
    memset(&sum, 0, sizeof sum);
    for (int64_t row = 0; row < total && row < period; ++row)
        add_row(&sum, &net, pixels + row * IN, labels[row],
                (double)(total / period + (row < total % period)));
    for (size_t i = 0; i < count; ++i)
        out[i] = total > 0 ? flat[i] / (double)total : 0;
}

double mlpreference_error(const float *got, const double *want, int64_t count)
{
    double largest = 0, worst = 0;

    for (int64_t i = 0; i < count; ++i) {
        double error = fabs((double)got[i] - want[i]);
        if (isnan(error))
            return NAN;
        worst = error > worst ? error : worst;
        largest = fabs(want[i]) > largest ? fabs(want[i]) : largest;
    }
    return largest > 0 ? worst / largest : worst;
}
