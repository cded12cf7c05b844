/* Products of rows with a square matrix, by cuBLAS, in each type and way of
 * summing that it has; and whether a device has units for the type, which its
 * speed beside f32 tells. */
#include <string.h>
#include "device/cuda_probe.h"

enum {
    WIDTH_MAX = 16384,
    TRIAL_ROWS = 512,       /* grown to, from a sixteenth of it */
    ROOM_BYTES = 128 << 20, /* of rows at most; more are done in turn */
    ROOM_ROWS_LEAST = 32
};

/* A type without units of its own is converted and multiplied as f32, which
 * costs more than f32 itself. One that has them is at least as fast; the rest
 * of a tenth is for the clock. */
static const double NATIVE = 0.9;
/* f64: a half with units, a thirty-second or less without. */
static const double NATIVE_F64 = 0.25;

/* The first of a type is its usual one. */
static const struct cuda_product products[] = {
    { HDP_F32, HDP_F32, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 4, 4 },
    { HDP_TF32, HDP_TF32, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32,
      4, 4 },
    { HDP_F16, HDP_F32, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, 2, 2 },
    { HDP_F16, HDP_F16, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F, 2, 2 },
    { HDP_BF16, HDP_F32, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 2, 2 },
    { HDP_F64, HDP_F64, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, 8, 8 },
    { HDP_I8, HDP_I32, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, 1, 4 },
};

static const struct cuda_product *product_of(int32_t dtype, int32_t compute)
{
    for (size_t i = 0; i < sizeof products / sizeof *products; ++i)
        if (products[i].dtype == dtype &&
            (compute == 0 || products[i].compute == compute))
            return &products[i];
    return NULL;
}

/* ---- one product --------------------------------------------------------- */

/* 1 and 0 in the type that sums are kept in. */
union scalar {
    float f32;
    double f64;
    uint16_t f16;
    int32_t i32;
};

static void set_scalars(union scalar *one, union scalar *zero, int32_t compute)
{
    memset(zero, 0, sizeof *zero);
    memset(one, 0, sizeof *one);
    switch (compute) {
    case HDP_F64:
        one->f64 = 1;
        break;
    case HDP_F16:
        one->f16 = 0x3c00;
        break;
    case HDP_I32:
        one->i32 = 1;
        break;
    default:
        one->f32 = 1;
        break;
    }
}

/* Rows of a with a width x width matrix. cuBLAS counts by columns, so what it
 * computes is the transpose of both sides. */
static hdp_status multiply(struct cuda *self,
                           const struct cuda_product *product, int64_t rows,
                           int64_t width)
{
    const struct cuda_probe *probe = self->probe;
    const struct cuda_blas *blas = &self->blas;
    int w = (int)width;
    union scalar one, zero;

    set_scalars(&one, &zero, product->compute);
    return cuda_check_blas(self,
                           blas->gemm(blas->handle, CUBLAS_OP_N, CUBLAS_OP_N, w,
                                      (int)rows, w, &one, probe->b,
                                      product->type, w, probe->a, product->type,
                                      w, &zero, probe->c, product->result, w,
                                      product->how, CUBLAS_GEMM_DEFAULT),
                           "cublasGemmEx");
}

hdp_status cuda_gemm_work(struct cuda *self, int64_t items)
{
    const struct cuda_probe *probe = self->probe;

    while (items > 0) {
        int64_t rows = items < probe->room ? items : probe->room;
        HDPI_RETURN_IF(multiply(self, &probe->product, rows, probe->width));
        items -= rows;
    }
    return HDP_OK;
}

/* ---- what the device has for the type ------------------------------------ */

/* The same buffers, read as f32 matrices of half the width: they fit. */
static hdp_status standard_work(struct cuda *self, int64_t items)
{
    return multiply(self, &self->probe->standard, items,
                    self->probe->width / 2);
}

static int is_float(int32_t dtype)
{
    return dtype >= HDP_F32 && dtype <= HDP_F64;
}

static hdp_status judge(struct cuda *self, int64_t items, double ns,
                        struct hdpi_probe *out)
{
    struct cuda_probe *probe = self->probe;
    int64_t rows = items < probe->room ? items : probe->room;
    int32_t dtype = probe->product.dtype;
    double standard_ns, ratio;

    if (dtype != out->dtype)
        return HDP_OK; /* it lacks the one, and nobody asked for the other */
    if (dtype == HDP_F32)
        out->units = HDPI_UNITS_NATIVE;
    if (dtype == HDP_F32 || !is_float(dtype) || probe->width < 2)
        return HDP_OK;
    probe->standard = *product_of(HDP_F32, 0);
    HDPI_RETURN_IF(cuda_probe_fastest(self, standard_work, rows, &standard_ns));
    /* a row of it is a quarter of the work */
    ratio = 4 * (standard_ns / (double)rows) / (ns / (double)items);
    out->units = ratio >= (dtype == HDP_F64 ? NATIVE_F64 : NATIVE)
                     ? HDPI_UNITS_NATIVE
                     : HDPI_UNITS_SLOW;
    return HDP_OK;
}

/* ---- opening ------------------------------------------------------------- */

static hdp_status lacks(const struct cuda *self, const char *what,
                        int32_t number)
{
    return hdpi_fail_member(HDP_ERR_UNSUPPORTED, self->base.member,
                            self->base.rank, "%s has no products %s %d",
                            self->base.row.info.spec, what, (int)number);
}

/* The type that is really computed in, where the member lacks the one asked. */
static hdp_status choose(struct cuda *self, const struct hdpi_probe *probe)
{
    const struct hdpi_device_row *row = &self->base.row;
    uint32_t dtypes = row->info.native_dtypes | row->info.slow_dtypes;
    int instead = row->ask.compute && !(dtypes >> probe->dtype & 1u);
    const struct cuda_product *found =
        instead ? product_of(row->ask.compute, 0)
                : product_of(probe->dtype, probe->compute);

    if (!found)
        return product_of(probe->dtype, 0)
                   ? lacks(self, "that accumulate in", probe->compute)
                   : lacks(self, "in dtype", probe->dtype);
    if (probe->width < 1 || probe->width > WIDTH_MAX)
        return hdpi_fail(HDP_ERR_ARGUMENT, "width is %lld, not 1 to %d",
                         (long long)probe->width, WIDTH_MAX);
    self->probe->product = *found;
    return HDP_OK;
}

static hdp_status open_blas(struct cuda *self)
{
    hdp_status status;

    HDPI_RETURN_IF(cuda_enter(self));
    HDPI_TRY(cuda_blas_open(self));
    HDPI_TRY(cuda_blas_reset(self));
out:
    cuda_leave(self);
    return status;
}

static hdp_status make_rows(struct cuda *self, int64_t rows)
{
    struct cuda_probe *probe = self->probe;
    const struct cuda_product *product = &probe->product;
    int64_t row = probe->width * product->bytes;

    HDPI_RETURN_IF(cuda_probe_room(
        self, rows, rows < ROOM_ROWS_LEAST ? rows : ROOM_ROWS_LEAST, row,
        probe->width * product->result_bytes));
    return cuda_probe_fill(self, probe->a, probe->room * row, product->dtype,
                           product->bytes);
}

static hdp_status make_square(struct cuda *self)
{
    struct cuda_probe *probe = self->probe;
    const struct cuda_product *product = &probe->product;
    int64_t bytes = probe->width * probe->width * product->bytes;

    HDPI_RETURN_IF(cuda_alloc(&self->base, &probe->b, (size_t)bytes));
    return cuda_probe_fill(self, probe->b, bytes, product->dtype,
                           product->bytes);
}

static int64_t most_rows(const struct cuda *self)
{
    const struct cuda_probe *probe = self->probe;

    return ROOM_BYTES / (probe->width * probe->product.bytes);
}

/* One product for all rows that are asked for, as far as the most goes: several
 * small ones would be another shape. */
hdp_status cuda_gemm_grow(struct cuda *self, int64_t items)
{
    struct cuda_probe *probe = self->probe;
    int64_t most = most_rows(self);

    if (items > most)
        items = most;
    if (items <= probe->wanted)
        return HDP_OK;
    probe->wanted = items; /* also where memory gives less */
    return make_rows(self, items);
}

/* The nearest of 2, 3, 4, 6, 8, 12 and so on. Tiles fill such sizes, and equal
 * devices, timed a little apart, still come to one size: a row more can cost a
 * tenth of the time. Without matrix units a tile takes so long that a usual
 * sample holds three or four waves of them, and what the last one lacks would
 * tell: there it is the next power of two above twice the rows. */
static int64_t round_rows(const struct cuda *self, int64_t rows)
{
    int32_t dtype = self->probe->product.dtype;
    int64_t whole = 1;

    while (whole <= rows / 2)
        whole *= 2;
    if (dtype == HDP_F32 || dtype == HDP_F64)
        return whole == rows ? 2 * whole : 4 * whole;
    if (rows < 2)
        return 1;
    if (rows * 4 < whole * 5)
        return whole;
    return rows * 4 < whole * 7 ? whole + whole / 2 : 2 * whole;
}

/* From a few rows, which also a slow device has soon done, to a sample. */
static hdp_status fit(struct cuda *self, struct hdpi_probe *out)
{
    int64_t items;
    double ns;

    HDPI_RETURN_IF(cuda_gemm_grow(self, TRIAL_ROWS));
    HDPI_RETURN_IF(cuda_probe_fit(self, cuda_gemm_work, cuda_gemm_grow,
                                  self->probe->room, &items, &ns));
    HDPI_RETURN_IF(judge(self, items, ns, out));
    out->start_items = round_rows(self, items);
    HDPI_RETURN_IF(cuda_gemm_grow(self, out->start_items));
    return cuda_probe_time(self, cuda_gemm_work, out->start_items, &ns);
}

hdp_status cuda_gemm_open(struct cuda *self, struct hdpi_probe *probe)
{
    hdp_status status;

    HDPI_TRY(choose(self, probe));
    HDPI_TRY(open_blas(self));
    HDPI_TRY(make_square(self));
    HDPI_TRY(fit(self, probe));
    probe->item_flops = 2.0 * (double)probe->width * (double)probe->width;
    probe->compute = self->probe->product.compute;
out:
    if (status == HDP_ERR_UNSUPPORTED && is_float(probe->dtype) &&
        self->probe->product.dtype == probe->dtype)
        probe->units = HDPI_UNITS_ABSENT;
    return status;
}
