/* Blocks are as large as the largest batch from the start: a step allocates
 * nothing, whatever share a plan gives its member. */
#include "netmember.h"

#include <stdlib.h>
#include <string.h>

#include "work.h"

/* ---- parts of blocks ----------------------------------------------------- */

void *netmember_result(const struct netmember *self, int32_t layer)
{
    return layer == self->data->shape.layers - 1
               ? self->out
               : self->hidden[layer % self->hidden_count];
}

const void *netmember_below(const struct netmember *self, int32_t layer,
                            int64_t first)
{
    return layer > 0
               ? netmember_result(self, layer - 1)
               : (char *)self->rows + (size_t)first * netdata_row(self->data);
}

/* Half the square of a result has the result itself for a gradient. */
void *netmember_delta(const struct netmember *self, int32_t layer)
{
    return layer == self->data->shape.layers - 1 ? self->out
                                                 : self->delta[layer % 2];
}

void *netmember_of_layer(const struct netmember *self, void *block,
                         int32_t layer)
{
    return (char *)block + (size_t)layer * netdata_layer(self->data);
}

/* ---- passes -------------------------------------------------------------- */

int netmember_forward(struct netmember *self, int64_t first, int64_t rows)
{
    if (self->gpu)
        return netgpu_forward(self, first, rows);
    nethost_forward(self, first, rows);
    return 1;
}

int netmember_backward(struct netmember *self, int64_t first, int64_t rows,
                       int32_t layer)
{
    if (self->gpu)
        return netgpu_backward(self, first, rows, layer);
    nethost_backward(self, first, rows, layer);
    return 1;
}

/* ---- between steps ------------------------------------------------------- */

static int read_row(struct netmember *self, const void *block, int64_t row,
                    float *out)
{
    const struct netdata *data = self->data;
    size_t bytes = netdata_row(data);
    const char *from = (const char *)block + (size_t)row * bytes;

    if (!self->gpu) {
        memcpy(out, from, bytes);
        return 1;
    }
    void *raw = malloc(bytes);
    int well = raw && gpu_download(self->gpu, self->member, raw, from, bytes);
    if (well)
        netdata_load(data, out, raw, data->shape.width);
    free(raw);
    return well;
}

int netmember_output(struct netmember *self, int64_t row, float *out)
{
    return read_row(self, self->out, row, out);
}

int netmember_kept(struct netmember *self, int64_t row, float *out)
{
    return read_row(self, self->kept, row, out);
}

int netmember_slope(struct netmember *self, int32_t layer, int64_t row,
                    float *out)
{
    return read_row(self, netmember_of_layer(self, self->gradient, layer), row,
                    out);
}

void netmember_keep(struct netmember *self)
{
    void *out = self->out;

    self->out = self->kept;
    self->kept = out;
}

/* All bits set is a NaN in every type. */
static int blot(struct netmember *self, void *block, size_t bytes)
{
    if (self->gpu)
        return gpu_set(self->gpu, self->member, block, 0xff, bytes);
    memset(block, 0xff, bytes);
    return 1;
}

int netmember_blot(struct netmember *self)
{
    const struct netdata *data = self->data;

    return blot(self, self->out, (size_t)data->capacity * netdata_row(data)) &&
           (!data->shape.train ||
            blot(self, self->gradient,
                 (size_t)data->shape.layers * netdata_layer(data)));
}

/* ---- life ---------------------------------------------------------------- */

/* What a member has of each kind of block. */
struct needs {
    int32_t hidden;
    int batches, nets; /* capacity x width; layers x width x width */
    double host_floats;
};

static struct needs needs_of(const struct netmember_spec *spec)
{
    const struct net_shape *shape = &spec->data->shape;
    double square = (double)shape->width * shape->width;
    int32_t inner = shape->layers - 1;
    struct needs needs = { .hidden = shape->train || inner < 2 ? inner : 2 };

    needs.batches = 2 + !!spec->keeps + needs.hidden;
    needs.nets = 1;
    if (!shape->train)
        return needs;
    needs.batches += inner > 0 ? 2 : 0;
    needs.nets += 1;
    if (!gpu_is(spec->gpu, spec->member))
        needs.host_floats =
            square * shape->layers + square * (spec->threads - 1) +
            (square + NETHOST_TILE * (double)shape->width) * spec->threads;
    return needs;
}

double netmember_bytes(const struct netmember_spec *spec)
{
    const struct netdata *data = spec->data;
    struct needs needs = needs_of(spec);

    return needs.batches * (double)data->capacity * (double)netdata_row(data) +
           needs.nets * (double)netdata_layer(data) * data->shape.layers +
           needs.host_floats * (double)sizeof(float);
}

static void *block_create(struct netmember *self, size_t count, size_t bytes)
{
    size_t all;

    if (__builtin_mul_overflow(count, bytes, &all))
        return NULL;
    return self->gpu ? gpu_alloc(self->gpu, self->member, all)
                     : workload_alloc(count, bytes);
}

static void block_destroy(struct netmember *self, void *block)
{
    if (self->gpu)
        gpu_free(self->gpu, self->member, block);
    else
        free(block);
}

void netmember_destroy(struct netmember *self)
{
    if (!self)
        return;
    if (self->gpu) /* of a step that failed some may be under way */
        gpu_wait(self->gpu, self->member);
    for (int32_t l = 0; self->hidden && l < self->hidden_count; ++l)
        block_destroy(self, self->hidden[l]);
    block_destroy(self, self->rows);
    block_destroy(self, self->out);
    block_destroy(self, self->kept);
    block_destroy(self, self->delta[0]);
    block_destroy(self, self->delta[1]);
    block_destroy(self, self->weights);
    block_destroy(self, self->gradient);
    crew_destroy(self->crew);
    free(self->hidden);
    free(self->transposed);
    free(self->partial);
    free(self->scratch);
    free(self);
}

/* 0: no room. */
static int make_batches(struct netmember *self, int keeps)
{
    size_t rows = (size_t)self->data->capacity;
    size_t bytes = netdata_row(self->data);
    int complete = 1;

    self->rows = block_create(self, rows, bytes);
    self->out = block_create(self, rows, bytes);
    complete = self->rows && self->out;
    if (keeps)
        complete = (self->kept = block_create(self, rows, bytes)) && complete;
    self->hidden =
        workload_alloc((size_t)self->hidden_count + 1, sizeof *self->hidden);
    if (!self->hidden)
        return 0;
    for (int32_t l = 0; complete && l < self->hidden_count; ++l)
        complete = (self->hidden[l] = block_create(self, rows, bytes)) != NULL;
    if (self->data->shape.train && self->data->shape.layers > 1)
        for (int i = 0; complete && i < 2; ++i)
            complete =
                (self->delta[i] = block_create(self, rows, bytes)) != NULL;
    return complete;
}

static int make_nets(struct netmember *self, int threads)
{
    const struct net_shape *shape = &self->data->shape;
    size_t layers = (size_t)shape->layers, bytes = netdata_layer(self->data);
    size_t width = (size_t)shape->width, mates = (size_t)threads - 1;

    self->weights = block_create(self, layers, bytes);
    if (shape->train)
        self->gradient = block_create(self, layers, bytes);
    if (!self->weights || (shape->train && !self->gradient))
        return 0;
    if (self->gpu)
        return 1;
    self->crew = crew_create(threads);
    if (!shape->train)
        return self->crew != NULL;
    self->transposed = workload_alloc(layers, bytes);
    self->partial = workload_alloc(mates, bytes);
    self->scratch =
        workload_alloc(mates + 1, bytes + NETHOST_TILE * width * sizeof(float));
    return self->crew && self->transposed && self->partial && self->scratch;
}

/* 0: the device failed. */
static int draw(struct netmember *self, struct hdpw_noise job, void *target)
{
    job.target = target;
    if (self->gpu)
        return gpu_launch(self->gpu, self->member, HDPW_NOISE, &job,
                          job.rows * job.width);
    hdpw_host_noise(&job);
    return 1;
}

static int fill(struct netmember *self)
{
    const struct netdata *data = self->data;
    size_t width = (size_t)data->shape.width;
    int well = draw(self, netdata_rows(data, 0, data->capacity), self->rows);

    for (int32_t l = 0; well && l < data->shape.layers; ++l) {
        void *layer = netmember_of_layer(self, self->weights, l);
        well =
            draw(self, netdata_weights(data, l, 0, data->shape.width), layer);
        const float *from = layer;
        float *to = self->transposed;
        for (size_t i = 0; to && i < width; ++i)
            for (size_t j = 0; j < width; ++j)
                to[((size_t)l * width + j) * width + i] = from[i * width + j];
    }
    return well && netmember_blot(self) &&
           (!self->gpu || gpu_wait(self->gpu, self->member));
}

struct netmember *netmember_create(const struct netmember_spec *spec)
{
    struct netmember *self = calloc(1, sizeof *self);

    if (!self)
        return NULL;
    self->data = spec->data;
    self->gemm = spec->gemm;
    self->gpu = gpu_is(spec->gpu, spec->member) ? spec->gpu : NULL;
    self->member = spec->member;
    self->hidden_count = needs_of(spec).hidden;
    if (make_batches(self, spec->keeps) && make_nets(self, spec->threads) &&
        fill(self))
        return self;
    netmember_destroy(self);
    return NULL;
}
