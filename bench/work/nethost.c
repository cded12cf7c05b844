/* A net on a host member: each thread of its crew has a part of the rows, and
 * for backward a gradient of its own, which are added up layer by layer. */
#include <string.h>

#include "netmember.h"

/* A pass over rows `first` to first + rows - 1 of the batch, for all threads. */
struct errand {
    struct netmember *self;
    int64_t first, rows;
    int32_t layer; /* of a backward pass */
};

static void part_of(int64_t count, int index, int parts, int64_t *first,
                    int64_t *end)
{
    *first = count / parts * index + count % parts * index / parts;
    *end = count / parts * (index + 1) + count % parts * (index + 1) / parts;
}

static int tile_of(int64_t at, int64_t end)
{
    return end - at < NETHOST_TILE ? (int)(end - at) : NETHOST_TILE;
}

static void gate(float *restrict target, const float *gates, int64_t count)
{
    for (int64_t i = 0; i < count; ++i)
        target[i] = gates[i] > 0 ? target[i] : 0;
}

static void relu(float *values, int64_t count)
{
    for (int64_t i = 0; i < count; ++i)
        values[i] = values[i] > 0 ? values[i] : 0;
}

static void forward_part(int index, int parts, void *argument)
{
    const struct errand *errand = argument;
    struct netmember *self = errand->self;
    int32_t layers = self->data->shape.layers, width = self->data->shape.width;
    int64_t at, end;

    part_of(errand->rows, index, parts, &at, &end);
    for (; at < end; at += NETHOST_TILE) {
        int rows = tile_of(at, end);
        const float *in = netmember_below(self, 0, errand->first + at);
        for (int32_t l = 0; l < layers; ++l) {
            float *out = (float *)netmember_result(self, l) + at * width;
            gemm_f32(self->gemm, rows, width, width, in, width,
                     netmember_of_layer(self, self->weights, l), width, out,
                     width);
            if (l < layers - 1)
                relu(out, (int64_t)rows * width);
            in = out;
        }
    }
}

void nethost_forward(struct netmember *self, int64_t first, int64_t rows)
{
    struct errand errand = { .self = self, .first = first, .rows = rows };

    crew_run(self->crew, forward_part, &errand);
}

/* A thread's sum of the layer's gradient: the first one's stands in the net's. */
static float *sum_of(const struct netmember *self, int32_t layer, int index)
{
    size_t square = netdata_layer(self->data) / sizeof(float);

    return index == 0 ? netmember_of_layer(self, self->gradient, layer)
                      : self->partial + (size_t)(index - 1) * square;
}

static void backward_part(int index, int parts, void *argument)
{
    const struct errand *errand = argument;
    struct netmember *self = errand->self;
    int32_t layer = errand->layer, width = self->data->shape.width;
    size_t square = netdata_layer(self->data) / sizeof(float);
    const float *below = netmember_below(self, layer, errand->first);
    const float *delta = netmember_delta(self, layer);
    float *sum = sum_of(self, layer, index);
    float *scratch =
        self->scratch + (size_t)index * (square + NETHOST_TILE * (size_t)width);
    int64_t at, end;

    memset(sum, 0, square * sizeof *sum);
    part_of(errand->rows, index, parts, &at, &end);
    for (; at < end; at += NETHOST_TILE) {
        int rows = tile_of(at, end);
        const float *gates = below + at * width, *from = delta + at * width;
        gemm_f32_add_transposed(self->gemm, width, width, rows, gates, from,
                                sum, scratch);
        if (layer == 0)
            continue;
        float *to = (float *)netmember_delta(self, layer - 1) + at * width;
        gemm_f32(self->gemm, rows, width, width, from, width,
                 self->transposed + (size_t)layer * square, width, to, width);
        gate(to, gates, (int64_t)rows * width);
    }
}

static void sum_part(int index, int parts, void *argument)
{
    const struct errand *errand = argument;
    const struct netmember *self = errand->self;
    float *sum = sum_of(self, errand->layer, 0);
    float scale = 1.0f / (float)errand->rows;
    int64_t first, end;

    part_of((int64_t)(netdata_layer(self->data) / sizeof *sum), index, parts,
            &first, &end);
    for (int part = 1; part < parts; ++part) {
        const float *other = sum_of(self, errand->layer, part);
        for (int64_t i = first; i < end; ++i)
            sum[i] += other[i];
    }
    for (int64_t i = first; i < end; ++i)
        sum[i] *= scale;
}

void nethost_backward(struct netmember *self, int64_t first, int64_t rows,
                      int32_t layer)
{
    struct errand errand = { self, first, rows, layer };

    crew_run(self->crew, backward_part, &errand);
    crew_run(self->crew, sum_part, &errand);
}
