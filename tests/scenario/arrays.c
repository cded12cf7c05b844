/* Rows of every shape on their way to the members and back: strided, apart,
 * several, odd, in pieces, none, kept back. */
#include <stdlib.h>
#include "job.h"

enum { MEMBERS = 3, ROWS = 11, BYTES_MAX = 4096 };

static const int64_t shares[MEMBERS] = { 7, 0, 4 };

/* ---- shapes ---------------------------------------------------------------- */

/* An array in a block of bytes whose gaps must stay as they are. */
struct shape {
    int64_t row_bytes, stride_bytes, start;
    int apart; /* member_data */
};

struct block {
    unsigned char bytes[BYTES_MAX], before[BYTES_MAX];
    void *bases[MEMBERS];
    hdp_array array;
};

static int64_t stride_of(const struct shape *shape)
{
    return shape->stride_bytes ? shape->stride_bytes : shape->row_bytes;
}

/* Where a row of the batch lies: apart, members stand in reverse order. */
static int64_t place_of(const struct shape *shape, int64_t row)
{
    int64_t stride = stride_of(shape);

    if (!shape->apart)
        return shape->start + row * stride;
    return shape->start +
           (row < shares[0] ? (shares[2] + row) : row - shares[0]) * stride;
}

static void block_open(struct block *block, const struct shape *shape,
                       unsigned seed)
{
    int64_t i;

    for (i = 0; i < BYTES_MAX; ++i)
        block->bytes[i] = (unsigned char)(seed + (unsigned)i * 37u);
    memcpy(block->before, block->bytes, BYTES_MAX);
    expect_ok(hdp_options_init(&block->array, sizeof block->array));
    block->array.row_bytes = shape->row_bytes;
    block->array.row_stride_bytes = shape->stride_bytes;
    if (shape->apart) {
        block->bases[0] = block->bytes + place_of(shape, 0);
        block->bases[1] = NULL;
        block->bases[2] = block->bytes + place_of(shape, shares[0]);
        block->array.member_data = block->bases;
    } else {
        block->array.data = block->bytes + shape->start;
    }
}

/* Output k is input k turned over bit by bit, row by row. */
static int32_t turn_over(const hdp_shard *shard, void *user)
{
    int32_t i;
    int64_t r, b;

    (void)user;
    for (i = 0; i < shard->output_count; ++i) {
        const hdp_view *in = &shard->inputs[i], *out = &shard->outputs[i];
        for (r = 0; r < shard->items; ++r) {
            const unsigned char *from = in->data;
            unsigned char *to = out->data;
            from += r * in->row_stride_bytes;
            to += r * out->row_stride_bytes;
            for (b = 0; b < out->row_bytes; ++b)
                to[b] = (unsigned char)~from[b];
        }
    }
    return 0;
}

ON_GPU(turn_over)

static void block_check(const struct block *in, const struct shape *in_shape,
                        const struct block *out, const struct shape *out_shape,
                        const char *name)
{
    unsigned char want[BYTES_MAX];
    int64_t r, b;

    memcpy(want, out->before, BYTES_MAX);
    for (r = 0; r < ROWS; ++r)
        for (b = 0; b < out_shape->row_bytes; ++b)
            want[place_of(out_shape, r) + b] =
                (unsigned char)~in->bytes[place_of(in_shape, r) + b];
    for (b = 0; b < BYTES_MAX; ++b)
        expect_number(want[b], out->bytes[b], "%s: byte %d of the output", name,
                      (int)b);
    if (memcmp(in->bytes, in->before, BYTES_MAX) != 0)
        fail_msg("%s: expected the input unchanged, got other bytes", name);
}

/* Each line is one run: inputs to outputs of equal rows. */
static const struct {
    const char *name;
    int32_t count;
    struct shape in[3], out[3];
} shapes[] = {
    { "contiguous", 1, { { 24, 0, 0, 0 } }, { { 24, 0, 0, 0 } } },
    { "strided in", 1, { { 24, 40, 8, 0 } }, { { 24, 0, 0, 0 } } },
    { "strided out", 1, { { 24, 0, 0, 0 } }, { { 24, 64, 16, 0 } } },
    { "apart", 1, { { 16, 0, 0, 1 } }, { { 16, 0, 0, 1 } } },
    { "apart and strided", 1, { { 16, 24, 8, 1 } }, { { 16, 32, 0, 1 } } },
    { "one byte", 1, { { 1, 0, 3, 0 } }, { { 1, 0, 5, 0 } } },
    { "odd rows", 1, { { 7, 0, 1, 0 } }, { { 7, 9, 1, 1 } } },
    { "three at once",
      3,
      { { 24, 0, 0, 0 }, { 5, 8, 0, 0 }, { 2, 0, 2, 1 } },
      { { 24, 0, 0, 1 }, { 5, 0, 3, 0 }, { 2, 6, 0, 0 } } },
};

static void run_shape(size_t line, const struct way *way, int32_t flags,
                      int64_t piece)
{
    struct scene scene;
    struct block in[3], out[3];
    hdp_array inputs[3], outputs[3];
    hdp_work work;
    char name[128];
    int32_t i;

    scene_open_way(&scene, way, shares, MEMBERS);
    for (i = 0; i < shapes[line].count; ++i) {
        block_open(&in[i], &shapes[line].in[i], 11u + (unsigned)i);
        block_open(&out[i], &shapes[line].out[i], 101u + (unsigned)i);
        inputs[i] = in[i].array;
        outputs[i] = out[i].array;
    }
    expect_ok(hdp_options_init(&work, sizeof work));
    work.host = turn_over;
    work.cuda = turn_over_on_gpu;
    work.inputs = inputs;
    work.outputs = outputs;
    work.input_count = work.output_count = shapes[line].count;
    work.flags = flags;
    work.max_piece_items = piece;
    expect_ok(hdp_run(NULL, scene.group, scene.plan, &work));
    for (i = 0; i < shapes[line].count; ++i) {
        (void)snprintf(name, sizeof name, "%s, %s, flags %d, pieces of %d, %d",
                       shapes[line].name, way->name, (int)flags, (int)piece,
                       (int)i);
        block_check(&in[i], &shapes[line].in[i], &out[i], &shapes[line].out[i],
                    name);
    }
    scene_close(&scene);
}

static void rows_of_every_shape(void **state)
{
    static const int64_t pieces[] = { 0, 1, 3 };
    size_t line, p;
    int w, staged;

    (void)state;
    for (line = 0; line < sizeof shapes / sizeof *shapes; ++line)
        for (w = 0; w < WAY_COUNT; ++w)
            for (staged = 0; staged < 2; ++staged)
                for (p = 0; p < sizeof pieces / sizeof *pieces; ++p)
                    run_shape(line, &ways[w],
                              staged ? HDP_WORK_STAGED : HDP_WORK_EMPTY_TOO,
                              pieces[p]);
}

/* ---- odd offsets ----------------------------------------------------------- */

struct halves {
    int64_t start[2]; /* byte of the array where a member's rows began */
    uint16_t *in;
};

static int32_t copy_halves(const hdp_shard *shard, void *user)
{
    struct halves *halves = user;
    const uint16_t *from = shard->inputs[0].data;
    uint16_t *to = shard->outputs[0].data;
    int64_t i;

    if (shard->kind == HDP_HOST) /* there a view is the caller's memory */
        halves->start[shard->member] =
            (const char *)from - (const char *)halves->in;
    for (i = 0; i < 3 * shard->items; ++i)
        to[i] = from[i];
    return 0;
}

ON_GPU(copy_halves)

/* Rows of three f16 values, 11 rows, weights 1 to 1: a shard begins at
 * byte 30 or 36, and what comes back is what went out. */
static void odd_offsets(const struct way *way)
{
    static const double rates[2] = { 1, 1 };
    struct scene scene;
    struct halves halves = { { -1, -1 }, NULL };
    uint16_t in[34], out[34];
    int64_t items[2];
    hdp_array arrays[2];
    hdp_work work;
    int i;

    expect_ok(hdp_split_rates(items, rates, 2, 11, 1));
    scene_open_way(&scene, way, items, 2);
    for (i = 0; i < 34; ++i) {
        in[i] = (uint16_t)(0x3c00 + i);
        out[i] = 0xffff;
    }
    halves.in = in;
    for (i = 0; i < 2; ++i) {
        expect_ok(hdp_options_init(&arrays[i], sizeof arrays[i]));
        arrays[i].data = i ? out : in;
        arrays[i].row_bytes = 6;
    }
    expect_ok(hdp_options_init(&work, sizeof work));
    work.host = copy_halves;
    work.cuda = copy_halves_on_gpu;
    work.user = &halves;
    work.inputs = &arrays[0];
    work.outputs = &arrays[1];
    work.input_count = work.output_count = 1;
    expect_ok(hdp_run(NULL, scene.group, scene.plan, &work));
    for (i = 0; i < 34; ++i)
        expect_number(i < 33 ? in[i] : 0xffff, out[i], "%s: value %d",
                      way->name, i);
    if (way->kind == HDP_HOST && halves.start[1] != 30 && halves.start[1] != 36)
        fail_msg("%s: expected shard 1 at byte 30 or 36, got %d", way->name,
                 (int)halves.start[1]);
    scene_close(&scene);
}

static void halves_at_odd_offsets(void **state)
{
    int w;

    (void)state;
    for (w = 0; w < WAY_COUNT; ++w)
        odd_offsets(&ways[w]);
}

/* ---- pieces and empty calls ------------------------------------------------ */

struct call {
    int64_t offset, items, share, total;
    int32_t flags;
};

struct calls {
    struct call made[MEMBERS][8];
    int32_t count[MEMBERS];
};

static int32_t note_call(const hdp_shard *shard, void *user)
{
    struct calls *calls = user;
    int32_t n = calls->count[shard->member]++;
    struct call *call = &calls->made[shard->member][n];

    if (n >= 8)
        return 1;
    call->offset = shard->offset;
    call->items = shard->items;
    call->share = shard->share_items;
    call->total = shard->total_items;
    call->flags = shard->flags;
    return 0;
}

ON_GPU(note_call)

struct wanted {
    const char *name;
    int64_t piece;
    int32_t flags, count[MEMBERS];
    struct call calls[MEMBERS][3];
};

enum { F = HDP_SHARD_FIRST, L = HDP_SHARD_LAST };

static const struct wanted wanted[] = {
    { "whole",
      0,
      0,
      { 1, 0, 1 },
      { { { 0, 7, 7, 11, F | L } }, { { 0 } }, { { 7, 4, 4, 11, F | L } } } },
    { "pieces of 3",
      3,
      0,
      { 3, 0, 2 },
      { { { 0, 3, 7, 11, F }, { 3, 3, 7, 11, 0 }, { 6, 1, 7, 11, L } },
        { { 0 } },
        { { 7, 3, 4, 11, F }, { 10, 1, 4, 11, L } } } },
    { "pieces of 4, empty too",
      4,
      HDP_WORK_EMPTY_TOO,
      { 2, 1, 1 },
      { { { 0, 4, 7, 11, F }, { 4, 3, 7, 11, L } },
        { { 7, 0, 0, 11, F | L } },
        { { 7, 4, 4, 11, F | L } } } },
    { "pieces larger than any share",
      100,
      0,
      { 1, 0, 1 },
      { { { 0, 7, 7, 11, F | L } }, { { 0 } }, { { 7, 4, 4, 11, F | L } } } },
};

static void compare_calls(const struct wanted *want, const struct calls *got,
                          const char *way)
{
    int32_t m, n;

    for (m = 0; m < MEMBERS; ++m) {
        expect_number(want->count[m], got->count[m], "%s, %s: calls of %d",
                      want->name, way, (int)m);
        for (n = 0; n < want->count[m]; ++n) {
            const struct call *a = &want->calls[m][n], *b = &got->made[m][n];
            expect_number(a->offset, b->offset, "%s, %s: offset, call %d of %d",
                          want->name, way, (int)n, (int)m);
            expect_number(a->items, b->items, "%s, %s: items, call %d of %d",
                          want->name, way, (int)n, (int)m);
            expect_number(a->share, b->share, "%s, %s: share, call %d of %d",
                          want->name, way, (int)n, (int)m);
            expect_number(a->total, b->total, "%s, %s: total, call %d of %d",
                          want->name, way, (int)n, (int)m);
            expect_number(a->flags, b->flags, "%s, %s: flags, call %d of %d",
                          want->name, way, (int)n, (int)m);
        }
    }
}

static void pieces_and_flags(void **state)
{
    size_t i;
    int w;

    (void)state;
    for (i = 0; i < sizeof wanted / sizeof *wanted; ++i)
        for (w = 0; w < WAY_COUNT; ++w) {
            struct scene scene;
            struct calls calls;
            hdp_work work;
            memset(&calls, 0, sizeof calls);
            scene_open_way(&scene, &ways[w], shares, MEMBERS);
            expect_ok(hdp_options_init(&work, sizeof work));
            work.host = note_call;
            work.cuda = note_call_on_gpu;
            work.user = &calls;
            work.max_piece_items = wanted[i].piece;
            work.flags = wanted[i].flags;
            expect_ok(hdp_run(NULL, scene.group, scene.plan, &work));
            compare_calls(&wanted[i], &calls, ways[w].name);
            scene_close(&scene);
        }
}

/* ---- kept back ------------------------------------------------------------- */

/* STAGED: whichever member fails, in whichever piece, not one byte of the old
 * outputs is touched; the next step delivers. */
static void staged_keeps_old_bytes(void **state)
{
    static const int64_t failing[] = { 0, 3, 6, 7, 10 }; /* first rows */
    size_t i;
    int w;

    (void)state;
    for (w = 0; w < WAY_COUNT; ++w) {
        struct scene scene;
        struct job job;
        double before[JOB_ROWS_MAX][JOB_WIDTH];
        scene_open_way(&scene, &ways[w], shares, MEMBERS);
        job_open(&job, ROWS, MEMBERS);
        job.work.flags = HDP_WORK_STAGED;
        job.work.max_piece_items = 3;
        for (i = 0; i < sizeof failing / sizeof *failing; ++i) {
            job_reset(&job);
            memcpy(before, job.out, sizeof before);
            job.bad_code = 5;
            job.bad_offset = failing[i];
            job.bad_member = failing[i] < 7 ? 0 : 2;
            expect_status(HDP_ERR_CALLBACK,
                          hdp_run(NULL, scene.group, scene.plan, &job.work));
            if (memcmp(before, job.out, sizeof before) != 0)
                fail_msg("%s, row %d fails: expected the old output, got new "
                         "bytes",
                         ways[w].name, (int)failing[i]);
            job.bad_code = 0;
            job_reset(&job);
            expect_ok(hdp_run(NULL, scene.group, scene.plan, &job.work));
            expect_right(&job, "%s, after row %d failed", ways[w].name,
                         (int)failing[i]);
        }
        scene_close(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_every_shape),
        cmocka_unit_test(halves_at_odd_offsets),
        cmocka_unit_test(pieces_and_flags),
        cmocka_unit_test(staged_keeps_old_bytes),
    };

    return cmocka_run_group_tests_name("arrays", tests, NULL, NULL);
}
