/* Products read the rows where they are; operands of 16 bits are made first, a
 * tile at a time. */
#include "rowsgpu.h"

#include <stdlib.h>

#include "workkernels.h"

enum { TILE = 16384, PIECE = 16 /* bytes that a thread copies */ };

struct rowsgpu {
    struct gpu *gpu;
    int32_t member, dtype;
    int k, n;
    void *right, *left; /* of dtype; left: only where that is not f32 */
};

static int is_short(int32_t dtype)
{
    return dtype == HDP_F16 || dtype == HDP_BF16;
}

void rowsgpu_destroy(struct rowsgpu *self)
{
    if (!self)
        return;
    gpu_free(self->gpu, self->member, self->right);
    gpu_free(self->gpu, self->member, self->left);
    free(self);
}

static int lower(struct rowsgpu *self, void *target, const void *source,
                 int64_t rows, int64_t stride, int width)
{
    const struct hdpw_lower job = { .target = target,
                                    .source = source,
                                    .rows = rows,
                                    .stride = stride,
                                    .dtype = self->dtype,
                                    .width = width };

    return gpu_launch(self->gpu, self->member, HDPW_LOWER, &job, rows * width);
}

/* By way of f32 on the device, so that the host converts nothing. */
static int bring_right(struct rowsgpu *self, const float *right)
{
    size_t count = (size_t)self->k * (size_t)self->n;
    size_t bytes = count * sizeof *right;
    void *plain = gpu_alloc(self->gpu, self->member, bytes);
    int well = plain &&
               gpu_upload(self->gpu, self->member, plain, right, bytes) &&
               lower(self, self->right, plain, 1, 0, (int)count) &&
               gpu_wait(self->gpu, self->member);

    gpu_free(self->gpu, self->member, plain);
    return well;
}

struct rowsgpu *rowsgpu_create(struct gpu *gpu, int32_t member, int32_t dtype,
                               int k, int n, const float *right)
{
    struct rowsgpu *self = calloc(1, sizeof *self);
    size_t element = is_short(dtype) ? 2 : sizeof(float);

    if (!self)
        return NULL;
    self->gpu = gpu;
    self->member = member;
    self->dtype = dtype;
    self->k = k;
    self->n = n;
    self->right = gpu_alloc(gpu, member, (size_t)k * (size_t)n * element);
    if (is_short(dtype))
        self->left = gpu_alloc(gpu, member, TILE * (size_t)k * element);
    if (self->right && (self->left || !is_short(dtype)) &&
        bring_right(self, right))
        return self;
    rowsgpu_destroy(self);
    return NULL;
}

static int multiply_tile(struct rowsgpu *self, char *out, int64_t out_stride,
                         const char *in, int64_t in_stride, int64_t rows)
{
    struct gpu_product product = {
        .m = (int)rows,
        .n = self->n,
        .k = self->k,
        .a = in,
        .b = self->right,
        .c = (float *)(void *)out,
        .lda = (int)(in_stride / (int64_t)sizeof(float)),
        .ldb = self->n,
        .ldc = (int)(out_stride / (int64_t)sizeof(float)),
        .alpha = 1,
        .dtype = self->dtype,
    };

    if (self->left) {
        if (!lower(self, self->left, in, rows, in_stride, self->k))
            return 0;
        product.a = self->left;
        product.lda = self->k;
    }
    return gpu_multiply(self->gpu, self->member, &product);
}

int rowsgpu_multiply(struct rowsgpu *self, const hdp_view *out,
                     const hdp_view *in)
{
    int well = 1;

    for (int64_t first = 0; well && first < in->rows; first += TILE) {
        int64_t rows = in->rows - first < TILE ? in->rows - first : TILE;
        well = multiply_tile(
            self, (char *)out->data + first * out->row_stride_bytes,
            out->row_stride_bytes,
            (const char *)in->data + first * in->row_stride_bytes,
            in->row_stride_bytes, rows);
    }
    return well;
}

int rowsgpu_copy(struct gpu *gpu, int32_t member, const hdp_view *out,
                 size_t out_at, const hdp_view *in, size_t in_at, size_t bytes)
{
    const struct hdpk_launch_rows job = {
        .target = (char *)out->data + out_at,
        .source = (const char *)in->data + in_at,
        .rows = in->rows,
        .row_bytes = (int64_t)bytes,
        .target_stride = out->row_stride_bytes,
        .source_stride = in->row_stride_bytes,
    };

    return gpu_launch(gpu, member, HDPW_ROWS, &job,
                      in->rows * ((int64_t)bytes / PIECE + 1));
}
