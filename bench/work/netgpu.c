/* A net on a GPU: a product and a gate a layer, enqueued. Products write the
 * type that the next one reads, so that no row goes through f32 in memory. */
#include "netmember.h"

static int gate(struct netmember *self, void *target, const void *gates,
                int64_t rows)
{
    const struct hdpw_gate job = {
        .target = target,
        .gate = gates,
        .count = rows * self->data->shape.width,
        .dtype = self->data->dtype,
    };
    int64_t word = 8 / (int64_t)netdata_element(self->data);

    return gpu_launch(self->gpu, self->member, HDPW_GATE, &job,
                      job.count / word);
}

/* c (m x width) = alpha op(a) op(b), k long inside. */
static int multiply(struct netmember *self, struct gpu_product product)
{
    product.n = product.lda = product.ldb = product.ldc =
        self->data->shape.width;
    product.dtype = self->data->dtype;
    product.rounded = 1;
    return gpu_multiply(self->gpu, self->member, &product);
}

int netgpu_forward(struct netmember *self, int64_t first, int64_t rows)
{
    int32_t layers = self->data->shape.layers;
    int well = 1;

    for (int32_t l = 0; well && l < layers; ++l) {
        void *result = netmember_result(self, l);
        const struct gpu_product product = {
            .m = (int)rows,
            .k = self->data->shape.width,
            .a = netmember_below(self, l, first),
            .b = netmember_of_layer(self, self->weights, l),
            .c = result,
            .alpha = 1,
        };
        well = multiply(self, product) &&
               (l == layers - 1 || gate(self, result, result, rows));
    }
    return well;
}

int netgpu_backward(struct netmember *self, int64_t first, int64_t rows,
                    int32_t layer)
{
    int32_t width = self->data->shape.width;
    const void *below = netmember_below(self, layer, first);
    const struct gpu_product gradient = {
        .m = width,
        .k = (int)rows,
        .transposed_a = 1,
        .a = below,
        .b = netmember_delta(self, layer),
        .c = netmember_of_layer(self, self->gradient, layer),
        .alpha = 1.0f / (float)rows,
    };

    if (!multiply(self, gradient))
        return 0;
    if (layer == 0)
        return 1;
    void *delta = netmember_delta(self, layer - 1);
    const struct gpu_product back = {
        .m = (int)rows,
        .k = width,
        .transposed_b = 1,
        .a = netmember_delta(self, layer),
        .b = netmember_of_layer(self, self->weights, layer),
        .c = delta,
        .alpha = 1,
    };
    return multiply(self, back) && gate(self, delta, below, rows);
}
