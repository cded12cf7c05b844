/* Matrix products for real, block by block: operands are widened to double, so
 * that one kernel serves every type, and sums rounded as the type says. */
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

/* ---- lines of doubles ----------------------------------------------------- */

/* Elements of a type, `step` apart, as doubles; a loop a type. */
#define READER(name, element, value)                                           \
    static void read_##name(double *out, const void *base, int64_t count,      \
                            int64_t step)                                      \
    {                                                                          \
        const element *at = base;                                              \
        for (int64_t i = 0; i < count; ++i) {                                  \
            element x = at[i * step];                                          \
            out[i] = (double)(value);                                          \
        }                                                                      \
    }
READER(f32, float, x)
READER(tf32, float, round_tf32(x))
READER(f16, uint16_t, half_from_f16(x))
READER(bf16, uint16_t, half_from_bf16(x))
READER(f64, double, x)
READER(i8, int8_t, x)
READER(i32, int32_t, x)
#undef READER

#define WRITER(name, element, value)                                           \
    static void write_##name(void *base, const double *from, int64_t count)    \
    {                                                                          \
        element *at = base;                                                    \
        for (int64_t i = 0; i < count; ++i) {                                  \
            double x = from[i];                                                \
            at[i] = (element)(value);                                          \
        }                                                                      \
    }
WRITER(f32, float, x)
WRITER(f16, uint16_t, half_to_f16(x))
WRITER(bf16, uint16_t, half_to_bf16(x))
WRITER(f64, double, x)
WRITER(i8, int8_t, wrap_i32(x))
WRITER(i32, int32_t, wrap_i32(x))
#undef WRITER

static const struct {
    void (*read)(double *out, const void *base, int64_t count, int64_t step);
    void (*write)(void *base, const double *from, int64_t count);
} lines[] = {
    [FAKE_F32] = { read_f32, write_f32 },
    [FAKE_TF32] = { read_tf32, write_f32 },
    [FAKE_F16] = { read_f16, write_f16 },
    [FAKE_BF16] = { read_bf16, write_bf16 },
    [FAKE_F64] = { read_f64, write_f64 },
    [FAKE_I8] = { read_i8, write_i8 },
    [FAKE_I32] = { read_i32, write_i32 },
};

int64_t fake_product_extent(int64_t rows, int64_t columns, int64_t ld)
{
    return rows > 0 && columns > 0 ? (columns - 1) * ld + rows : 0;
}

/* ---- blocks --------------------------------------------------------------- */

enum { ROWS = 256, COLUMNS = 256, DEPTH = 512 };

/* What a product needs besides its operands: a part of each, as doubles. */
struct blocks {
    double *a; /* op(a), transposed */
    double *b; /* columns of op(b) */
    double *part, *sums, *line;
};

static const void *element(const void *base, enum fake_type type, int64_t i)
{
    return (const unsigned char *)base + i * fake_type_bytes(type);
}

static int64_t least(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

/* Columns of c are rows of its transpose, which is op(b)' op(a)'. */
static void add_up(struct blocks *blocks, const struct fake_product *job,
                   const void *a, const void *b, int64_t rows, int64_t columns)
{
    int64_t a_row = job->transpose_a ? job->lda : 1;
    int64_t a_deep = job->transpose_a ? 1 : job->lda;
    int64_t b_deep = job->transpose_b ? job->ldb : 1;
    int64_t b_column = job->transpose_b ? 1 : job->ldb;

    memset(blocks->sums, 0, (size_t)(rows * columns) * sizeof(double));
    for (int64_t l = 0; l < job->k; l += DEPTH) {
        int64_t depth = least(DEPTH, job->k - l);
        for (int64_t i = 0; i < depth; ++i)
            lines[job->type_a].read(blocks->a + i * rows,
                                    element(a, job->type_a, (l + i) * a_deep),
                                    rows, a_row);
        for (int64_t j = 0; j < columns; ++j)
            lines[job->type_b].read(
                blocks->b + j * depth,
                element(b, job->type_b, l * b_deep + j * b_column), depth,
                b_deep);
        hdpk_gemm_f64(columns, rows, depth, blocks->b, depth, blocks->a, rows,
                      blocks->part, rows);
        for (int64_t i = 0; i < rows * columns; ++i)
            blocks->sums[i] += blocks->part[i];
    }
}

/* Sums are rounded to their type once, what comes of alpha and beta to c's. */
static void deliver(struct blocks *blocks, const struct fake_product *job,
                    void *c, int64_t rows, int64_t columns)
{
    for (int64_t j = 0; j < columns; ++j) {
        double *sums = blocks->sums + j * rows;
        void *column =
            (unsigned char *)c + j * job->ldc * fake_type_bytes(job->type_c);
        lines[job->sum].write(blocks->part, sums, rows);
        lines[job->sum].read(sums, blocks->part, rows, 1);
        if (job->beta != 0)
            lines[job->type_c].read(blocks->line, column, rows, 1);
        else
            memset(blocks->line, 0, (size_t)rows * sizeof(double));
        for (int64_t i = 0; i < rows; ++i)
            sums[i] = job->alpha * sums[i] + job->beta * blocks->line[i];
        lines[job->type_c].write(column, sums, rows);
    }
}

static void run_one(struct blocks *blocks, const struct fake_product *job,
                    const void *a, const void *b, void *c)
{
    int64_t a_row = job->transpose_a ? job->lda : 1;
    int64_t b_column = job->transpose_b ? 1 : job->ldb;

    for (int64_t i = 0; i < job->m; i += ROWS)
        for (int64_t j = 0; j < job->n; j += COLUMNS) {
            int64_t rows = least(ROWS, job->m - i);
            int64_t columns = least(COLUMNS, job->n - j);
            add_up(blocks, job, element(a, job->type_a, i * a_row),
                   element(b, job->type_b, j * b_column), rows, columns);
            deliver(blocks, job,
                    (unsigned char *)c +
                        (j * job->ldc + i) * fake_type_bytes(job->type_c),
                    rows, columns);
        }
}

void fake_product_run(const struct fake_product *job)
{
    int64_t rows = least(ROWS, job->m), columns = least(COLUMNS, job->n);
    int64_t depth = least(DEPTH, job->k);
    int64_t all = depth * (rows + columns) + 2 * rows * columns + rows;
    double *memory = malloc((size_t)all * sizeof *memory);
    struct blocks blocks;

    if (!memory)
        abort(); /* this machine is out of memory */
    blocks.a = memory;
    blocks.b = blocks.a + depth * rows;
    blocks.part = blocks.b + depth * columns;
    blocks.sums = blocks.part + rows * columns;
    blocks.line = blocks.sums + rows * columns;
    for (int64_t i = 0; i < job->batch; ++i)
        run_one(&blocks, job, element(job->a, job->type_a, i * job->stride_a),
                element(job->b, job->type_b, i * job->stride_b),
                (unsigned char *)job->c +
                    i * job->stride_c * fake_type_bytes(job->type_c));
    free(memory);
}

/* ---- in place of it -------------------------------------------------------- */

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
