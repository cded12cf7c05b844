/* What collectives compute: sums in the data's type, rounded after each hop, in
 * the order of the ranks. NCCL begins at another rank in each chunk; here all
 * begin at the first, so that results do not depend on counts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "half.h"
#include "nccl_inner.h"

enum { BLOCK = 1024 }; /* elements at a time */

size_t fake_nccl_size(ncclDataType_t type)
{
    static const unsigned char sizes[] = {
        [ncclInt8] = 1,
        [ncclUint8] = 1,
        [ncclInt32] = 4,
        [ncclUint32] = 4,
        [ncclInt64] = 8,
        [ncclUint64] = 8,
        [ncclFloat16] = 2,
        [ncclFloat32] = 4,
        [ncclFloat64] = 8,
        [ncclBfloat16] = 2,
        1,
        1 /* floats of 8 bits, where there are any */
    };

    return (unsigned)type < sizeof sizes / sizeof sizes[0] ? sizes[type] : 0;
}

int fake_nccl_adds(ncclDataType_t type)
{
    return (unsigned)type <= ncclBfloat16;
}

/* ---- arithmetic ----------------------------------------------------------- */

/* What the operator does to an element on its way in, at each hop, at last. */
struct sum {
    int kind; /* ncclSum, ncclProd, ncclMax, ncclMin */
    int multiplies;
    const void *scalar;
    int divides; /* by so many, 0: not */
};

/* A double holds a sum or product of two shorter floats so well that rounding
 * it once more gives what rounding the exact one gives. */
#define EACH(type, write, read, result)                                        \
    for (size_t i = 0; i < count; i++) {                                       \
        double left = (double)read(out[i]), right = (double)read(in[i]);       \
        out[i] = (type)write(result);                                          \
    }

#define FLOAT(name, type, read, write)                                         \
    static void name##_in(void *to, const void *from, size_t count,            \
                          const struct sum *sum)                               \
    {                                                                          \
        double scalar = (double)read(*(const type *)sum->scalar);              \
        const type *in = from;                                                 \
        type *out = to;                                                        \
        if (!sum->multiplies)                                                  \
            memcpy(to, from, count * sizeof(type));                            \
        else                                                                   \
            for (size_t i = 0; i < count; i++)                                 \
                out[i] = (type)write((double)read(in[i]) * scalar);            \
    }                                                                          \
    static void name##_hop(void *to, const void *from, size_t count,           \
                           const struct sum *sum)                              \
    {                                                                          \
        const type *in = from;                                                 \
        type *out = to;                                                        \
        if (sum->kind == ncclSum)                                              \
            EACH(type, write, read, left + right)                              \
        else if (sum->kind == ncclProd)                                        \
            EACH(type, write, read, left *right)                               \
        else if (sum->kind == ncclMax)                                         \
            EACH(type, write, read, fmax(left, right))                         \
        else                                                                   \
            EACH(type, write, read, fmin(left, right))                         \
    }

#define AS_IT_IS(x) (x)
FLOAT(f16, uint16_t, half_from_f16, half_to_f16)
FLOAT(bf16, uint16_t, half_from_bf16, half_to_bf16)
FLOAT(f32, float, AS_IT_IS, AS_IT_IS)
FLOAT(f64, double, AS_IT_IS, AS_IT_IS)

/* Sums and products wrap: they are taken of numbers without a sign. */
#define INTEGER(name, type, wraps)                                             \
    static void name##_in(void *to, const void *from, size_t count,            \
                          const struct sum *sum)                               \
    {                                                                          \
        type *out = to;                                                        \
        const type *in = from;                                                 \
        const type *scalar = sum->scalar;                                      \
        for (size_t i = 0; i < count; i++)                                     \
            out[i] = sum->multiplies ? (type)((wraps)in[i] * (wraps)*scalar)   \
                                     : in[i];                                  \
    }                                                                          \
    static void name##_hop(void *to, const void *from, size_t count,           \
                           const struct sum *sum)                              \
    {                                                                          \
        type *out = to;                                                        \
        const type *in = from;                                                 \
        for (size_t i = 0; i < count; i++)                                     \
            out[i] =                                                           \
                sum->kind == ncclSum    ? (type)((wraps)out[i] + (wraps)in[i]) \
                : sum->kind == ncclProd ? (type)((wraps)out[i] * (wraps)in[i]) \
                : (sum->kind == ncclMax) == (in[i] > out[i]) ? in[i]           \
                                                             : out[i];         \
    }                                                                          \
    static void name##_divide(void *to, size_t count, int by)                  \
    {                                                                          \
        type *out = to;                                                        \
        for (size_t i = 0; i < count; i++)                                     \
            out[i] = (type)(out[i] / (type)by);                                \
    }

INTEGER(i8, int8_t, uint32_t)
INTEGER(u8, uint8_t, uint32_t)
INTEGER(i32, int32_t, uint32_t)
INTEGER(u32, uint32_t, uint32_t)
INTEGER(i64, int64_t, uint64_t)
INTEGER(u64, uint64_t, uint64_t)

static const struct {
    void (*in)(void *to, const void *from, size_t count, const struct sum *sum);
    void (*hop)(void *to, const void *from, size_t count,
                const struct sum *sum);
    void (*divide)(void *to, size_t count, int by); /* NULL: floats */
} arithmetic[] = {
    [ncclInt8] = { i8_in, i8_hop, i8_divide },
    [ncclUint8] = { u8_in, u8_hop, u8_divide },
    [ncclInt32] = { i32_in, i32_hop, i32_divide },
    [ncclUint32] = { u32_in, u32_hop, u32_divide },
    [ncclInt64] = { i64_in, i64_hop, i64_divide },
    [ncclUint64] = { u64_in, u64_hop, u64_divide },
    [ncclFloat16] = { f16_in, f16_hop, NULL },
    [ncclFloat32] = { f32_in, f32_hop, NULL },
    [ncclFloat64] = { f64_in, f64_hop, NULL },
    [ncclBfloat16] = { bf16_in, bf16_hop, NULL },
};

/* An average of floats multiplies by 1/ranks on the way in, as NCCL does; one
 * of integers divides at last. */
static void set_part(void *out, ncclDataType_t type, int ranks)
{
    float f32 = (float)(1.0 / ranks);
    double f64 = 1.0 / ranks;
    uint16_t f16 = half_to_f16(f32), bf16 = half_to_bf16(f32);

    if (type == ncclFloat16)
        memcpy(out, &f16, sizeof f16);
    else if (type == ncclBfloat16)
        memcpy(out, &bf16, sizeof bf16);
    else if (type == ncclFloat32)
        memcpy(out, &f32, sizeof f32);
    else
        memcpy(out, &f64, sizeof f64);
}

static struct sum sum_of(const struct fake_nccl_op *op,
                         const struct fake_nccl_red *red, int ranks,
                         uint64_t *place)
{
    struct sum sum = { .kind = red->kind };

    memcpy(place, red->at ? red->at : red->scalar, fake_nccl_size(op->type));
    if (red->kind == ncclAvg && arithmetic[op->type].divide)
        sum.divides = ranks;
    else if (red->kind == ncclAvg)
        set_part(place, op->type, ranks);
    sum.multiplies =
        red->kind == FAKE_NCCL_PREMUL || (red->kind == ncclAvg && !sum.divides);
    sum.scalar = place;
    if (red->kind >= ncclAvg)
        sum.kind = ncclSum;
    return sum;
}

/* ---- collectives ---------------------------------------------------------- */

/* Elements [first, first + count) of what was sent, added up over the ranks. */
static void add_block(char *out, const struct fake_nccl_op *op,
                      const struct fake_nccl_part *parts, int ranks,
                      size_t first, size_t count)
{
    size_t size = fake_nccl_size(op->type);
    uint64_t other[BLOCK], scalar = 0;
    struct sum sum = { 0 };

    for (int r = 0; r < ranks; r++) {
        sum = sum_of(op, &parts[r].red, ranks, &scalar);
        arithmetic[op->type].in(r == 0 ? (void *)out : other,
                                parts[r].send + first * size, count, &sum);
        if (r > 0)
            arithmetic[op->type].hop(out, other, count, &sum);
    }
    if (sum.divides)
        arithmetic[op->type].divide(out, count, sum.divides);
}

/* Before 2.29.7 one rank's multiplying kernel stops at the last whole 16 bytes
 * of what it was given. */
static size_t reaches(const struct fake_nccl_op *op,
                      const struct fake_nccl_part *parts, int ranks,
                      int version)
{
    size_t size = fake_nccl_size(op->type);

    if (ranks > 1 || version >= NCCL_VERSION(2, 29, 7) ||
        parts[0].red.kind < ncclAvg)
        return op->count;
    return op->count * size / 16 * 16 / size;
}

static void reduce(const struct fake_nccl_op *op,
                   const struct fake_nccl_part *parts, int ranks, int version)
{
    size_t size = fake_nccl_size(op->type);
    size_t count = reaches(op, parts, ranks, version);
    uint64_t block[BLOCK];

    for (size_t first = 0; first < count; first += BLOCK) {
        size_t some = count - first < BLOCK ? count - first : BLOCK;
        add_block((char *)block, op, parts, ranks, first, some);
        for (int r = 0; r < ranks; r++)
            if (op->kind == FAKE_NCCL_ALL_REDUCE || r == op->root)
                memcpy(parts[r].recv + first * size, block, some * size);
    }
}

static void reduce_scatter(const struct fake_nccl_op *op,
                           const struct fake_nccl_part *parts, int ranks,
                           int version)
{
    size_t size = fake_nccl_size(op->type);
    size_t count = reaches(op, parts, ranks, version);
    uint64_t block[BLOCK];

    for (int r = 0; r < ranks; r++)
        for (size_t first = 0; first < count; first += BLOCK) {
            size_t some = count - first < BLOCK ? count - first : BLOCK;
            add_block((char *)block, op, parts, ranks,
                      (size_t)r * op->count + first, some);
            memcpy(parts[r].recv + first * size, block, some * size);
        }
}

static void all_gather(const struct fake_nccl_op *op,
                       const struct fake_nccl_part *parts, int ranks)
{
    size_t bytes = op->count * fake_nccl_size(op->type);

    for (int r = 0; r < ranks; r++)
        for (int from = 0; from < ranks; from++)
            memmove(parts[r].recv + (size_t)from * bytes, parts[from].send,
                    bytes);
}

static void broadcast(const struct fake_nccl_op *op,
                      const struct fake_nccl_part *parts, int ranks)
{
    size_t bytes = op->count * fake_nccl_size(op->type);

    for (int r = 0; r < ranks; r++)
        memmove(parts[r].recv, parts[op->root].send, bytes);
}

void fake_nccl_compute(const struct fake_nccl_op *op,
                       const struct fake_nccl_part *parts, int ranks,
                       int version)
{
    switch (op->kind) {
    case FAKE_NCCL_ALL_REDUCE:
    case FAKE_NCCL_REDUCE:
        reduce(op, parts, ranks, version);
        break;
    case FAKE_NCCL_REDUCE_SCATTER:
        reduce_scatter(op, parts, ranks, version);
        break;
    case FAKE_NCCL_BROADCAST:
        broadcast(op, parts, ranks);
        break;
    case FAKE_NCCL_ALL_GATHER:
        all_gather(op, parts, ranks);
        break;
    case FAKE_NCCL_SEND: /* parts: the sender's, the receiver's */
    case FAKE_NCCL_RECV:
        memmove(parts[1].recv, parts[0].send,
                op->count * fake_nccl_size(op->type));
        break;
    default:
        break;
    }
}
