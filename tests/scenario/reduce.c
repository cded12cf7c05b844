/* Weighted reduces through the public door: means, empty members and numbers at
 * the ends of a type, on host and simulated members, in both thread modes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "job.h"

enum { MEMBERS_MAX = 8 };

#ifdef HDP_TEST_CUDA
static const int32_t kinds[] = { HDP_CUDA };
#else
static const int32_t kinds[] = { HDP_HOST, HDP_SIM };
#endif
enum { KINDS = sizeof kinds / sizeof *kinds };

struct setting {
    int32_t kind, threads;
};

static void open_weighted(struct scene *scene, const struct setting *setting,
                          const int64_t *items, int32_t count)
{
    hdp_group_options options;
    char spec[JOB_SPEC];

    expect_ok(hdp_options_init(&options, sizeof options));
    options.threads = setting->threads;
    job_spec(spec, sizeof spec, setting->kind, count);
    scene_open(scene, spec, items, count, &options);
}

/* Reduces one tensor in place and checks the status. */
static void reduce(struct scene *scene, int32_t dtype, int32_t op,
                   int64_t elements, void **recv, hdp_status want)
{
    hdp_buffers buffers;

    expect_ok(hdp_options_init(&buffers, sizeof buffers));
    buffers.dtype = dtype;
    buffers.op = op;
    buffers.tensor_count = 1;
    buffers.elements = &elements;
    buffers.recv = recv;
    expect_status(want, hdp_all_reduce(scene->group, scene->plan, &buffers));
}

struct mean_case {
    const char *name;
    int32_t op, count;
    int64_t items[MEMBERS_MAX];
    float values[MEMBERS_MAX];
    float want;
};

static const struct mean_case means[] = {
    { "3:1", HDP_OP_MEAN, 2, { 3, 1 }, { 2, 6 }, 3.0f },
    { "5:2:1", HDP_OP_MEAN, 3, { 5, 2, 1 }, { 1, 2, 3 }, 1.5f },
    { "sums", HDP_OP_SUM_OVER_TOTAL, 3, { 5, 2, 1 }, { 5, 4, 3 }, 1.5f },
    { "thirds", HDP_OP_MEAN, 4, { 1, 1, 1, 0 }, { 3, 6, 9, 99 }, 6.0f },
    { "empty NaN", HDP_OP_MEAN, 2, { 4, 0 }, { 1.5f, NAN }, 1.5f },
    { "empty inf", HDP_OP_MEAN, 2, { 4, 0 }, { 1.5f, INFINITY }, 1.5f },
    { "sum", HDP_OP_SUM, 3, { 1, 1, 1 }, { 1, 2, 4 }, 7.0f },
    { "sum, one empty", HDP_OP_SUM, 3, { 1, 0, 1 }, { 1, 2, 4 }, 5.0f },
    { "min", HDP_OP_MIN, 3, { 1, 1, 1 }, { 3, -2, 4 }, -2.0f },
    { "max", HDP_OP_MAX, 3, { 1, 1, 0 }, { 3, -2, 4 }, 3.0f },
};

static void check_mean(const struct mean_case *c, const struct setting *s)
{
    struct scene scene;
    float values[MEMBERS_MAX];
    void *recv[MEMBERS_MAX];
    int32_t m;

    for (m = 0; m < c->count; ++m) {
        values[m] = c->values[m];
        recv[m] = &values[m];
    }
    open_weighted(&scene, s, c->items, c->count);
    reduce(&scene, HDP_F32, c->op, 1, recv, HDP_OK);
    for (m = 0; m < c->count; ++m)
        if (memcmp(&values[m], &c->want, sizeof c->want) != 0)
            fail_msg("%s, kind %d, member %d: expected %g, got %g", c->name,
                     (int)s->kind, (int)m, (double)c->want, (double)values[m]);
    scene_close(&scene);
}

static void means_are_weighted(void **state)
{
    size_t i, k;
    int32_t threads;

    (void)state;
    for (k = 0; k < KINDS; ++k)
        for (threads = HDP_THREADS_MEMBER; threads <= HDP_THREADS_CALLER;
             ++threads)
            for (i = 0; i < sizeof means / sizeof *means; ++i) {
                struct setting setting = { kinds[k], threads };
                check_mean(&means[i], &setting);
            }
}

/* Rows 0 to 7 whose gradient is the row number, every split of 8 rows
 * over 1 to 8 members: 3.5. All compositions of 8 are walked as bit masks. */
static void every_split_of_eight_rows(void **state)
{
    static const struct setting setting = { HDP_HOST, HDP_THREADS_CALLER };
    int32_t mask, row, count;

    (void)state;
    for (mask = 0; mask < 128; ++mask) {
        struct scene scene;
        int64_t items[MEMBERS_MAX] = { 0 };
        float sums[MEMBERS_MAX] = { 0 };
        void *recv[MEMBERS_MAX];
        for (count = 0, row = 0; row < 8; ++row) {
            items[count]++;
            sums[count] += (float)row;
            if (row == 7 || mask & (1 << row))
                count++;
        }
        for (row = 0; row < count; ++row) {
            sums[row] /= (float)items[row];
            recv[row] = &sums[row];
        }
        open_weighted(&scene, &setting, items, count);
        reduce(&scene, HDP_F32, HDP_OP_MEAN, 1, recv, HDP_OK);
        for (row = 0; row < count; ++row)
            if (fabsf(sums[row] - 3.5f) > 2.5e-7f * 3.5f)
                fail_msg("split %#x, member %d: expected 3.5, got %.9g",
                         (unsigned)mask, (int)row, (double)sums[row]);
        scene_close(&scene);
    }
}

/* Nobody has rows. */
static void nothing_to_reduce(void **state)
{
    static const int64_t items[2] = { 0, 0 };
    static const struct setting setting = { HDP_HOST, HDP_THREADS_MEMBER };
    struct scene scene;
    float values[2] = { 1.5f, 2.5f };
    void *recv[2] = { &values[0], &values[1] };

    (void)state;
    open_weighted(&scene, &setting, items, 2);
    reduce(&scene, HDP_F32, HDP_OP_MEAN, 1, recv, HDP_ERR_STATE);
    assert_non_null(strstr(hdp_last_error(), "nothing to reduce"));
    assert_true(values[0] == 1.5f && values[1] == 2.5f);
    scene_close(&scene);
}

/* A NaN of a member that has rows stays visible. */
static void own_nan_stays(void **state)
{
    static const int64_t items[2] = { 3, 1 };
    static const struct setting setting = { HDP_HOST, HDP_THREADS_MEMBER };
    struct scene scene;
    float values[2] = { 1.0f, NAN };
    void *recv[2] = { &values[0], &values[1] };

    (void)state;
    open_weighted(&scene, &setting, items, 2);
    reduce(&scene, HDP_F32, HDP_OP_MEAN, 1, recv, HDP_OK);
    assert_true(isnan(values[0]) && isnan(values[1]));
    scene_close(&scene);
}

struct half_case {
    const char *name;
    int32_t dtype, count;
    int64_t items[4];
    uint16_t values[4];
    uint16_t want, slack; /* codes */
};

/* f16: 30,000 = 0x7753 (29,984 + 16), 60,000 = 0x7b53 with spacing 32, and
 * 6e-8 = 0x0001, the smallest subnormal. bf16: 1 = 0x3f80, 1.5 = 0x3fc0,
 * 2 = 0x4000, 4 = 0x4080, 7 = 0x40e0, 8 = 0x4100. */
static const struct half_case halves[] = {
    { "f16 30,000",
      HDP_F16,
      4,
      { 1, 1, 1, 1 },
      { 0x7753, 0x7753, 0x7753, 0x7753 },
      0x7753,
      0 },
    { "f16 60,000", HDP_F16, 2, { 3, 1 }, { 0x7b53, 0x7b53 }, 0x7b53, 1 },
    { "f16 tiny", HDP_F16, 4, { 1, 1, 1, 1 }, { 1, 1, 1, 1 }, 1, 0 },
    { "bf16 1, 2", HDP_BF16, 2, { 1, 1 }, { 0x3f80, 0x4000 }, 0x3fc0, 0 },
    { "bf16 4, 8", HDP_BF16, 2, { 1, 3 }, { 0x4080, 0x4100 }, 0x40e0, 0 },
    { "f16 NaN", HDP_F16, 2, { 4, 0 }, { 0x3e00, 0x7e00 }, 0x3e00, 0 },
    { "f16 inf", HDP_F16, 2, { 4, 0 }, { 0x3e00, 0x7c00 }, 0x3e00, 0 },
    { "bf16 NaN", HDP_BF16, 2, { 4, 0 }, { 0x3fc0, 0x7fc0 }, 0x3fc0, 0 },
};

static void halves_keep_their_range(void **state)
{
    static const struct setting setting = { HDP_HOST, HDP_THREADS_MEMBER };
    size_t i;
    int32_t m;

    (void)state;
    for (i = 0; i < sizeof halves / sizeof *halves; ++i) {
        const struct half_case *c = &halves[i];
        struct scene scene;
        uint16_t values[4];
        void *recv[4];
        for (m = 0; m < c->count; ++m) {
            values[m] = c->values[m];
            recv[m] = &values[m];
        }
        open_weighted(&scene, &setting, c->items, c->count);
        reduce(&scene, c->dtype, HDP_OP_MEAN, 1, recv, HDP_OK);
        for (m = 0; m < c->count; ++m)
            if (abs(values[m] - c->want) > c->slack)
                fail_msg("%s, member %d: expected 0x%04x, got 0x%04x", c->name,
                         (int)m, c->want, values[m]);
        scene_close(&scene);
    }
}

/* f32 and f64 with weights of a third: at most (n + 1) units of rounding
 * times the sum of |weight x value|; the reference is long double. */
static void thirds_are_exact_enough(void **state)
{
    static const struct setting setting = { HDP_HOST, HDP_THREADS_MEMBER };
    static const int64_t items[3] = { 1, 1, 1 };
    struct scene scene;
    double wide[3] = { 0.1, 1e10 / 3, -7.7 };
    float narrow[3] = { 0.1f, 1e10f / 3, -7.7f };
    long double want[2], size[2] = { 0, 0 };
    void *recv[3];
    int32_t m;

    (void)state;
    want[0] = want[1] = 0;
    for (m = 0; m < 3; ++m) {
        want[0] += (long double)narrow[m] / 3;
        want[1] += (long double)wide[m] / 3;
        size[0] += fabsl((long double)narrow[m]) / 3;
        size[1] += fabsl((long double)wide[m]) / 3;
    }
    open_weighted(&scene, &setting, items, 3);
    for (m = 0; m < 3; ++m)
        recv[m] = &narrow[m];
    reduce(&scene, HDP_F32, HDP_OP_MEAN, 1, recv, HDP_OK);
    for (m = 0; m < 3; ++m)
        recv[m] = &wide[m];
    reduce(&scene, HDP_F64, HDP_OP_MEAN, 1, recv, HDP_OK);
    for (m = 0; m < 3; ++m) {
        if (fabsl(narrow[m] - want[0]) > 4 * 0x1p-24L * size[0])
            fail_msg("f32: expected %.12Lg, got %.12g", want[0],
                     (double)narrow[m]);
        if (fabsl(wide[m] - want[1]) > 4 * 0x1p-53L * size[1])
            fail_msg("f64: expected %.18Lg, got %.18g", want[1], wide[m]);
    }
    scene_close(&scene);
}

/* Weights of the caller's own, out of place, two tensors at once. */
static void counts_and_tensors(void **state)
{
    static const struct setting setting = { HDP_SIM, HDP_THREADS_MEMBER };
    static const int64_t elements[2] = { 3, 1 }, counts[2] = { 30, 10 };
    struct scene scene;
    double send[2][4] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } };
    double recv[2][4] = { { 0 } };
    const void *from[4] = { send[0], send[0] + 3, send[1], send[1] + 3 };
    void *to[4] = { recv[0], recv[0] + 3, recv[1], recv[1] + 3 };
    hdp_buffers buffers;
    int32_t m, i;

    (void)state;
    open_weighted(&scene, &setting, NULL, 2);
    expect_ok(hdp_options_init(&buffers, sizeof buffers));
    buffers.dtype = HDP_F64;
    buffers.op = HDP_OP_MEAN;
    buffers.tensor_count = 2;
    buffers.elements = elements;
    buffers.send = from;
    buffers.recv = to;
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_all_reduce(scene.group, NULL, &buffers));
    buffers.counts = counts;
    expect_ok(hdp_all_reduce(scene.group, NULL, &buffers));
    for (m = 0; m < 2; ++m)
        for (i = 0; i < 4; ++i)
            if (recv[m][i] != 0.75 * send[0][i] + 0.25 * send[1][i])
                fail_msg("member %d, element %d: expected %g, got %g", (int)m,
                         (int)i, 0.75 * send[0][i] + 0.25 * send[1][i],
                         recv[m][i]);
    buffers.total_count = 41;
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_all_reduce(scene.group, NULL, &buffers));
    scene_close(&scene);
}

static void broadcast_and_barrier(void **state)
{
    static const struct setting setting = { HDP_HOST, HDP_THREADS_MEMBER };
    static const int64_t elements = 5;
    struct scene scene;
    float values[3][5] = { { 1, 1, 1, 1, 1 }, { 2, 3, 4, NAN, 6 }, { 0 } };
    void *recv[3] = { values[0], values[1], values[2] };
    hdp_buffers buffers;

    (void)state;
    open_weighted(&scene, &setting, NULL, 3);
    expect_ok(hdp_options_init(&buffers, sizeof buffers));
    buffers.dtype = HDP_F32;
    buffers.tensor_count = 1;
    buffers.elements = &elements;
    buffers.recv = recv;
    expect_status(HDP_ERR_ARGUMENT, hdp_broadcast(scene.group, 3, &buffers));
    expect_ok(hdp_broadcast(scene.group, 1, &buffers));
    assert_memory_equal(values[0], values[1], sizeof values[0]);
    assert_memory_equal(values[2], values[1], sizeof values[0]);
    expect_ok(hdp_barrier(scene.group));
    scene_close(&scene);
}

/* A broadcast has no operation and no weights: what stands there is not looked
 * at, so that integers need no other op than the default, the mean. */
static void broadcast_of_integers(void **state)
{
    static const struct setting setting = { HDP_HOST, HDP_THREADS_MEMBER };
    static const int64_t elements = 4, counts[3] = { 0, -1, 7 };
    struct scene scene;
    int32_t values[3][4] = { { 1, 1, 1, 1 }, { 2, -3, INT32_MAX, 0 }, { 0 } };
    void *recv[3] = { values[0], values[1], values[2] };
    hdp_buffers buffers;

    (void)state;
    open_weighted(&scene, &setting, NULL, 3);
    expect_ok(hdp_options_init(&buffers, sizeof buffers));
    buffers.dtype = HDP_I32;
    buffers.tensor_count = 1;
    buffers.elements = &elements;
    buffers.recv = recv;
    expect_ok(hdp_broadcast(scene.group, 1, &buffers));
    buffers.op = 77;
    buffers.counts = counts;
    buffers.total_count = 2;
    expect_ok(hdp_broadcast(scene.group, 1, &buffers));
    assert_memory_equal(values[0], values[1], sizeof values[0]);
    assert_memory_equal(values[2], values[1], sizeof values[0]);
    scene_close(&scene);
}

/* Sizes that only together pass what memory can be are refused at the door. */
static void sizes_that_overflow_together(void **state)
{
    static const struct setting setting = { HDP_HOST, HDP_THREADS_MEMBER };
    const int64_t elements[2] = { INT64_MAX / 16 + 1, INT64_MAX / 16 + 1 };
    const int64_t counts[2] = { INT64_MAX, 1 };
    const int64_t one[2] = { 1, 1 };
    struct scene scene;
    float values[4] = { 0 };
    void *recv[4] = { values, values + 1, values + 2, values + 3 };
    uint64_t step;
    hdp_buffers buffers;

    (void)state;
    open_weighted(&scene, &setting, NULL, 2);
    expect_ok(hdp_options_init(&buffers, sizeof buffers));
    buffers.dtype = HDP_F32;
    buffers.op = HDP_OP_SUM;
    buffers.tensor_count = 2;
    buffers.elements = elements;
    buffers.recv = recv;
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_all_reduce_async(&step, scene.group, NULL, &buffers));
    assert_non_null(strstr(hdp_last_error(), "bucket 0: elements[1]"));
    buffers.elements = one;
    buffers.counts = counts;
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_all_reduce_async(&step, scene.group, NULL, &buffers));
    assert_non_null(strstr(hdp_last_error(), "bucket 0: counts[1]"));
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_are_weighted),
        cmocka_unit_test(every_split_of_eight_rows),
        cmocka_unit_test(nothing_to_reduce),
        cmocka_unit_test(own_nan_stays),
        cmocka_unit_test(halves_keep_their_range),
        cmocka_unit_test(thirds_are_exact_enough),
        cmocka_unit_test(counts_and_tensors),
        cmocka_unit_test(broadcast_and_barrier),
        cmocka_unit_test(broadcast_of_integers),
        cmocka_unit_test(sizes_that_overflow_together),
    };

    return cmocka_run_group_tests_name("reduce", tests, NULL, NULL);
}
