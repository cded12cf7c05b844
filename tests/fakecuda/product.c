/* Matrix products for real: operands are widened to double, so that the one
 * blocked kernel serves every type, and sums rounded as the type says. */
#include "product.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../../kernels/half.h"
#include "../../kernels/kernels.h"

int64_t fake_type_bytes(enum fake_type type)
{
    switch (type) {
    case FAKE_F16:
    case FAKE_BF16:
        return 2;
    case FAKE_F64:
        return 8;
    case FAKE_I8:
        return 1;
    case FAKE_F32:
    case FAKE_TF32:
    case FAKE_I32:
        break;
    }
    return 4;
}

/* To ten bits of mantissa, to nearest even; a NaN stays one. */
static float round_tf32(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7f800000u) == 0x7f800000u)
        return value;
    bits += 0xfffu + (bits >> 13 & 1);
    bits &= ~UINT32_C(0x1fff);
    memcpy(&value, &bits, sizeof value);
    return value;
}

double fake_type_read(enum fake_type type, const void *base, int64_t i)
{
    const unsigned char *at =
        (const unsigned char *)base + i * fake_type_bytes(type);
    union {
        float f32;
        double f64;
        uint16_t half;
        int32_t i32;
    } held;

    if (type == FAKE_I8)
        return (double)(int8_t)*at;
    memcpy(&held, at, (size_t)fake_type_bytes(type));
    switch (type) {
    case FAKE_F32:
        return (double)held.f32;
    case FAKE_TF32:
        return (double)round_tf32(held.f32);
    case FAKE_F16:
        return (double)half_from_f16(held.half);
    case FAKE_BF16:
        return (double)half_from_bf16(held.half);
    case FAKE_I32:
        return (double)held.i32;
    case FAKE_F64:
    case FAKE_I8:
        break;
    }
    return held.f64;
}

static int32_t wrap_i32(double value)
{
    return (int32_t)(uint32_t)(uint64_t)(int64_t)value;
}

void fake_type_write(enum fake_type type, void *base, int64_t i, double value)
{
    unsigned char *at = (unsigned char *)base + i * fake_type_bytes(type);
    union {
        float f32;
        double f64;
        uint16_t half;
        int32_t i32;
        int8_t i8;
    } held;

    switch (type) {
    case FAKE_F32:
    case FAKE_TF32:
        held.f32 = (float)value;
        break;
    case FAKE_F16:
        held.half = half_to_f16(value);
        break;
    case FAKE_BF16:
        held.half = half_to_bf16(value);
        break;
    case FAKE_F64:
        held.f64 = value;
        break;
    case FAKE_I8:
        held.i8 = (int8_t)wrap_i32(value);
        break;
    case FAKE_I32:
        held.i32 = wrap_i32(value);
        break;
    }
    memcpy(at, &held, (size_t)fake_type_bytes(type));
}

/* One rounding to the type that sums are kept in. */
static double round_to(enum fake_type type, double value)
{
    double held;

    fake_type_write(type, &held, 0, value);
    return fake_type_read(type, &held, 0);
}

int64_t fake_product_extent(int64_t rows, int64_t columns, int64_t ld)
{
    return rows > 0 && columns > 0 ? (columns - 1) * ld + rows : 0;
}

/* lines x columns of doubles, whatever lies where. */
static void widen(double *out, enum fake_type type, const void *base,
                  int64_t lines, int64_t columns, int64_t line_step,
                  int64_t column_step)
{
    for (int64_t line = 0; line < lines; ++line)
        for (int64_t i = 0; i < columns; ++i)
            out[line * columns + i] =
                fake_type_read(type, base, line * line_step + i * column_step);
}

static const void *element(const void *base, enum fake_type type, int64_t i)
{
    return (const unsigned char *)base + i * fake_type_bytes(type);
}

/* Columns of sums into columns of c. */
static void deliver(const struct fake_product *job, const double *sums, void *c)
{
    for (int64_t j = 0; j < job->n; ++j)
        for (int64_t i = 0; i < job->m; ++i) {
            int64_t at = j * job->ldc + i;
            double value =
                job->alpha * round_to(job->sum, sums[j * job->m + i]);
            if (job->beta != 0)
                value += job->beta * fake_type_read(job->type_c, c, at);
            fake_type_write(job->type_c, c, at, value);
        }
}

/* Columns of c are rows of its transpose, which is op(b)' op(a)'. */
void fake_product_run(const struct fake_product *job)
{
    int64_t m = job->m, n = job->n, k = job->k;
    double *b = malloc((size_t)(n * k + k * m + n * m) * sizeof *b);
    double *a = b + n * k, *sums = a + k * m;

    if (!b)
        abort(); /* this machine is out of memory */
    for (int64_t i = 0; i < job->batch; ++i) {
        widen(b, job->type_b, element(job->b, job->type_b, i * job->stride_b),
              n, k, job->transpose_b ? 1 : job->ldb,
              job->transpose_b ? job->ldb : 1);
        widen(a, job->type_a, element(job->a, job->type_a, i * job->stride_a),
              k, m, job->transpose_a ? 1 : job->lda,
              job->transpose_a ? job->lda : 1);
        memset(sums, 0, (size_t)(n * m) * sizeof *sums);
        if (k > 0)
            hdpk_gemm_f64(n, m, k, b, k, a, m, sums, m);
        deliver(job, sums,
                (unsigned char *)job->c +
                    i * job->stride_c * fake_type_bytes(job->type_c));
    }
    free(b);
}

/* The first column number by number, others as copies of it, turned by a few
 * rows so that they differ. Of a large matrix only every so many columns: what
 * they hold says nothing, and memory never touched costs nothing. */
static void fill_one(const struct fake_product *job, unsigned char *first,
                     int64_t round)
{
    const int64_t most = 1 << 22; /* bytes */
    int64_t size = fake_type_bytes(job->type_c), bytes = job->m * size;
    int64_t step = job->n * bytes / most + 1;

    for (int64_t row = 0; row < job->m; ++row)
        fake_type_write(job->type_c, first, row,
                        (double)((row * 37 + round) % 61 - 30));
    for (int64_t j = step; j < job->n; j += step) {
        unsigned char *column = first + j * job->ldc * size;
        int64_t turn = j % 7 < job->m ? j % 7 * size : 0;
        memcpy(column, first + turn, (size_t)(bytes - turn));
        memcpy(column + bytes - turn, first, (size_t)turn);
    }
}

void fake_product_fill(const struct fake_product *job)
{
    int64_t size = fake_type_bytes(job->type_c);

    for (int64_t i = 0; i < job->batch; ++i)
        fill_one(job, (unsigned char *)job->c + i * job->stride_c * size, i);
}
