/* Each row of weights is drawn once a pass, for all rows of the batch. */
#include "netreference.h"

#include <stdlib.h>
#include <string.h>

#include "work.h"

void netreference_close(struct netreference *self)
{
    free(self->results);
    free(self->gradient);
    free(self->inner);
    free(self->delta[0]);
    free(self->delta[1]);
    free(self->drawn);
    free(self->raw);
    memset(self, 0, sizeof *self);
}

int netreference_open(struct netreference *self, const struct netdata *data,
                      int32_t rows, const int64_t *slots, int32_t slot_count)
{
    size_t width = (size_t)data->shape.width,
           layers = (size_t)data->shape.layers;
    size_t all = (size_t)rows * width;

    memset(self, 0, sizeof *self);
    self->slots = slots;
    self->slot_count = slot_count;
    self->results = workload_alloc(all, sizeof *self->results);
    self->gradient = workload_alloc(layers * (size_t)slot_count * width,
                                    sizeof *self->gradient);
    self->inner = workload_alloc(layers * all, sizeof *self->inner);
    self->delta[0] = workload_alloc(all, sizeof *self->delta[0]);
    self->delta[1] = workload_alloc(all, sizeof *self->delta[1]);
    self->drawn = workload_alloc(width, sizeof *self->drawn);
    self->raw = workload_alloc(width, sizeof *self->drawn);
    return self->results && self->gradient && self->inner && self->delta[0] &&
           self->delta[1] && self->drawn && self->raw;
}

static const float *draw(struct netreference *self, const struct netdata *data,
                         struct hdpw_noise job)
{
    job.target = self->raw;
    hdpw_host_noise(&job);
    netdata_load(data, self->drawn, self->raw, data->shape.width);
    return self->drawn;
}

/* out = in times the layer's weights, in f64. */
static void multiply(struct netreference *self, const struct netdata *data,
                     int32_t layer, const double *in, double *out)
{
    int32_t width = data->shape.width;

    memset(out, 0, (size_t)self->rows * (size_t)width * sizeof *out);
    for (int32_t i = 0; i < width; ++i) {
        const float *weight =
            draw(self, data, netdata_weights(data, layer, i, 1));
        for (int32_t r = 0; r < self->rows; ++r) {
            double x = in[(int64_t)r * width + i];
            double *sum = out + (int64_t)r * width;
            for (int32_t j = 0; j < width; ++j)
                sum[j] += x * (double)weight[j];
        }
    }
}

static double *inner_of(const struct netreference *self,
                        const struct netdata *data, int32_t layer)
{
    return self->inner +
           (int64_t)layer * self->rows * (int64_t)data->shape.width;
}

static void forward(struct netreference *self, const struct netdata *data,
                    int64_t first)
{
    int32_t width = data->shape.width, layers = data->shape.layers;
    int64_t all = (int64_t)self->rows * width;

    for (int32_t r = 0; r < self->rows; ++r) {
        const float *row = draw(self, data, netdata_rows(data, first + r, 1));
        for (int32_t j = 0; j < width; ++j)
            self->inner[(int64_t)r * width + j] = (double)row[j];
    }
    for (int32_t l = 0; l < layers; ++l) {
        double *out =
            l < layers - 1 ? inner_of(self, data, l + 1) : self->results;
        multiply(self, data, l, inner_of(self, data, l), out);
        for (int64_t i = 0; i < all; ++i) {
            out[i] = netdata_rounded(data, out[i]);
            if (l < layers - 1 && !(out[i] > 0))
                out[i] = 0;
        }
    }
}

/* The gradients of a layer's chosen rows of weights: mean over the rows. */
static void gradients(struct netreference *self, const struct netdata *data,
                      int32_t layer, const double *delta)
{
    int32_t width = data->shape.width;
    const double *in = inner_of(self, data, layer);

    for (int32_t s = 0; s < self->slot_count; ++s) {
        double *out =
            self->gradient + ((int64_t)layer * self->slot_count + s) * width;
        for (int32_t j = 0; j < width; ++j) {
            double sum = 0;
            for (int32_t r = 0; r < self->rows; ++r)
                sum += in[(int64_t)r * width + self->slots[s]] *
                       delta[(int64_t)r * width + j];
            out[j] = sum / self->rows;
        }
    }
}

/* The gradient of what went into a layer, where its ReLU let it through. */
static void pass_down(struct netreference *self, const struct netdata *data,
                      int32_t layer, const double *delta, double *out)
{
    int32_t width = data->shape.width;
    const double *in = inner_of(self, data, layer);

    for (int32_t i = 0; i < width; ++i) {
        const float *weight =
            draw(self, data, netdata_weights(data, layer, i, 1));
        for (int32_t r = 0; r < self->rows; ++r) {
            const double *from = delta + (int64_t)r * width;
            double sum = 0;
            for (int32_t j = 0; j < width; ++j)
                sum += from[j] * (double)weight[j];
            out[(int64_t)r * width + i] =
                in[(int64_t)r * width + i] > 0 ? netdata_rounded(data, sum) : 0;
        }
    }
}

void netreference_make(struct netreference *self, const struct netdata *data,
                       int64_t first, int32_t rows)
{
    const double *delta = self->results;

    self->rows = rows;
    forward(self, data, first);
    for (int32_t l = data->shape.layers - 1; data->shape.train && l >= 0; --l) {
        gradients(self, data, l, delta);
        if (l == 0)
            break;
        pass_down(self, data, l, delta, self->delta[l % 2]);
        delta = self->delta[l % 2];
    }
}
