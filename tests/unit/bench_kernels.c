/* The workloads' kernels: what work.cu does, as plain C++, is what kernels_net.c
 * says, byte by byte; and that is right by numbers worked out here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "kernels.h"
#include "work/random.h"
#include "work/workkernels.h"

void bench_twin_run(int32_t kernel, const void *args, unsigned blocks,
                    unsigned threads);

enum { ROOM = 1 << 16, GUARD = 64 };

static const int32_t dtypes[] = { HDP_F32, HDP_TF32, HDP_F16, HDP_BF16 };
static const int64_t some_rows[] = { 0, 1, 7, 64, 65, 130 };

/* Data that every case starts from, and what both forms write to. */
static float numbers[ROOM], other[ROOM];
static uint8_t bytes[ROOM];
static char by_host[ROOM * 4 + GUARD], by_twin[ROOM * 4 + GUARD];

static void make_data(void)
{
    uint64_t state = 1;

    for (int i = 0; i < ROOM; ++i) {
        numbers[i] = (float)(4 * random_unit(&state) - 2);
        other[i] = (float)(random_unit(&state) - 0.5);
        bytes[i] = (uint8_t)(random_next(&state) % 10);
    }
}

/* Both forms of a launch whose target is set by `aim`; on every shape of grid. */
static void hold_equal(int32_t kernel, void *args, void **target)
{
    static const unsigned grids[][2] = { { 1, 1 }, { 3, 32 }, { 2, 7 } };

    for (int g = 0; g < 3; ++g) {
        memset(by_host, 0x5a, sizeof by_host);
        memset(by_twin, 0x5a, sizeof by_twin);
        *target = by_host;
        hdpw_kernels[kernel].host(args);
        *target = by_twin;
        bench_twin_run(kernel, args, grids[g][0], grids[g][1]);
        for (size_t i = 0; i < sizeof by_host; ++i)
            if (by_host[i] != by_twin[i])
                fail_msg("%s: byte %zu: the device has %d, the host %d",
                         hdpw_kernels[kernel].name, i, by_twin[i], by_host[i]);
    }
}

static void test_pixels(void **state)
{
    (void)state;
    for (int d = 0; d < 4; ++d)
        for (int r = 0; r < 6; ++r) {
            struct hdpw_pixels job = { .pixels = bytes,
                                       .rows = some_rows[r],
                                       .first = 3,
                                       .count = 11,
                                       .stride = 67,
                                       .dtype = dtypes[d],
                                       .width = 64 };
            hold_equal(HDPW_PIXELS, &job, &job.target);
        }
    struct hdpw_pixels job = { by_host, bytes, 2, 10, 11, 67, HDP_F32, 64 };
    hdpw_host_pixels(&job); /* rows 10 and, once round, 0 */
    const float *got = (const float *)(void *)by_host;
    assert_true(got[5] == (float)bytes[10 * 67 + 5] / 16);
    assert_true(got[64 + 5] == (float)bytes[5] / 16);
}

static void test_activate(void **state)
{
    (void)state;
    for (int d = 0; d < 4; ++d)
        for (int r = 0; r < 6; ++r) {
            struct hdpw_activate job = { .sums = numbers,
                                         .bias = other,
                                         .rows = some_rows[r],
                                         .dtype = dtypes[d],
                                         .width = 250 };
            hold_equal(HDPW_ACTIVATE, &job, &job.target);
        }
    struct hdpw_activate job = { by_host, numbers, other, 2, HDP_F32, 100 };
    hdpw_host_activate(&job);
    for (int i = 0; i < 200; ++i)
        assert_true(((const float *)(void *)by_host)[i] ==
                    fmaxf(numbers[i] + other[i % 100], 0));
}

static void test_loss(void **state)
{
    double sum = 0;

    (void)state;
    for (int d = 0; d < 4; ++d)
        for (int r = 0; r < 6; ++r) {
            struct hdpw_loss job = { .sums = numbers,
                                     .bias = other,
                                     .labels = bytes,
                                     .rows = some_rows[r],
                                     .first = 2,
                                     .count = 9,
                                     .stride = 3,
                                     .dtype = dtypes[d],
                                     .width = 10 };
            hold_equal(HDPW_LOSS, &job, &job.target);
        }
    struct hdpw_loss job = { by_host, numbers, other, bytes,   1,
                             0,       1,       1,     HDP_F32, 10 };
    hdpw_host_loss(&job);
    for (int j = 0; j < 10; ++j)
        sum += exp((double)numbers[j] + (double)other[j]);
    for (int j = 0; j < 10; ++j) {
        double want =
            exp((double)numbers[j] + (double)other[j]) / sum - (j == bytes[0]);
        double got = (double)((const float *)(void *)by_host)[j];
        if (fabs(got - want) > 1e-6)
            fail_msg("class %d: expected %.9g, got %.9g", j, want, got);
    }
}

static void test_backward(void **state)
{
    static uint16_t active[ROOM];

    (void)state;
    for (int d = 0; d < 4; ++d) {
        int is_short = hdpk_dtype_bytes(dtypes[d]) == 2;
        for (int i = 0; is_short && i < ROOM; ++i)
            active[i] = dtypes[d] == HDP_F16 ? hdpk_to_f16((double)other[i])
                                             : hdpk_to_bf16((double)other[i]);
        for (int r = 0; r < 6; ++r) {
            struct hdpw_backward job = { .sums = numbers,
                                         .active = is_short
                                                       ? (const void *)active
                                                       : other,
                                         .rows = some_rows[r],
                                         .dtype = dtypes[d],
                                         .width = 250 };
            hold_equal(HDPW_BACKWARD, &job, &job.target);
        }
    }
    struct hdpw_backward job = { by_host, numbers, other, 1, HDP_F32, 100 };
    hdpw_host_backward(&job);
    for (int i = 0; i < 100; ++i)
        assert_true(((const float *)(void *)by_host)[i] ==
                    (other[i] > 0 ? numbers[i] : 0));
}

static void test_columns(void **state)
{
    (void)state;
    for (int d = 0; d < 2; ++d)
        for (int r = 0; r < 6; ++r)
            for (int add = 0; add < 2; ++add) {
                struct hdpw_columns job = { .source = numbers,
                                            .rows = some_rows[r],
                                            .chunk = 64,
                                            .factor = 0.125,
                                            .dtype = dtypes[d],
                                            .width = 33,
                                            .add = add };
                hold_equal(HDPW_COLUMNS, &job, &job.target);
            }
    struct hdpw_columns job = { .target = by_host,
                                .source = numbers,
                                .rows = 130,
                                .chunk = 130,
                                .factor = 2,
                                .dtype = HDP_F32,
                                .width = 3 };
    hdpw_host_columns(&job);
    for (int j = 0; j < 3; ++j) {
        double want = 0;
        for (int r = 0; r < 130; ++r)
            want += 2 * (double)numbers[r * 3 + j];
        assert_true(fabs((double)((const float *)(void *)by_host)[j] - want) <
                    1e-4);
    }
}

static void test_update(void **state)
{
    enum { COUNT = 1001 };
    float weights[2][COUNT], velocity[2][COUNT];
    struct hdpw_update job = {
        .gradient = other, .count = COUNT, .rate = 0.2, .momentum = 0.9
    };

    (void)state;
    for (int f = 0; f < 2; ++f) {
        memcpy(weights[f], numbers, sizeof weights[f]);
        memcpy(velocity[f], numbers + COUNT, sizeof velocity[f]);
    }
    job.weights = weights[0];
    job.velocity = velocity[0];
    hdpw_host_update(&job);
    job.weights = weights[1];
    job.velocity = velocity[1];
    bench_twin_run(HDPW_UPDATE, &job, 2, 37);
    assert_memory_equal(weights[0], weights[1], sizeof weights[0]);
    assert_memory_equal(velocity[0], velocity[1], sizeof velocity[0]);
    float moved = 0.9f * numbers[COUNT] + other[0];
    assert_true(velocity[0][0] == moved);
    assert_true(weights[0][0] == numbers[0] - 0.2f * moved);
}

static void test_lower(void **state)
{
    (void)state;
    for (int d = 0; d < 4; ++d)
        for (int r = 0; r < 6; ++r) {
            struct hdpw_lower job = { .source = numbers,
                                      .rows = some_rows[r],
                                      .stride = 300 * sizeof(float),
                                      .dtype = dtypes[d],
                                      .width = 256 };
            hold_equal(HDPW_LOWER, &job, &job.target);
        }
    struct hdpw_lower job = { by_host,  numbers, 2, 300 * sizeof(float),
                              HDP_BF16, 256 };
    hdpw_host_lower(&job);
    assert_int_equal(((const uint16_t *)(void *)by_host)[256 + 7],
                     hdpk_to_bf16((double)numbers[300 + 7]));
}

static void test_noise(void **state)
{
    const double most = 32768 * (0.5 + 2 * 0.25);
    const float *got = (const float *)(void *)by_host;
    double sum = 0;

    (void)state;
    for (int d = 0; d < 4; ++d)
        for (int r = 0; r < 6; ++r) {
            struct hdpw_noise job = { .rows = some_rows[r],
                                      .first = 70000,
                                      .seed = -5,
                                      .base = 3e-5,
                                      .slope = 1e-9,
                                      .dtype = dtypes[d],
                                      .width = 250 };
            hold_equal(HDPW_NOISE, &job, &job.target);
        }
    struct hdpw_noise whole = { by_host, 3, 0, 9, 0.5, 0.25, HDP_F32, 5000 };
    hdpw_host_noise(&whole);
    for (int i = 0; i < 15000; ++i) {
        sum += (double)got[i] / (0.5 + i / 5000 * 0.25);
        assert_true(fabs((double)got[i]) <= most);
    }
    assert_true(fabs(sum / 15000) < 700); /* 4 x 18918 / sqrt(15000) */
    /* a row made alone is the same row */
    struct hdpw_noise row = { by_twin, 1, 2, 9, 0.5, 0.25, HDP_F32, 5000 };
    hdpw_host_noise(&row);
    assert_memory_equal(by_twin, got + 10000, 5000 * sizeof *got);
}

/* All values of 16 bits but the NaNs without a sign, whose fate differs. */
static void test_gate(void **state)
{
    static uint16_t gates[ROOM], kept[ROOM], twin[ROOM];

    (void)state;
    for (int d = 2; d < 4; ++d) {
        uint16_t infinite = dtypes[d] == HDP_F16 ? 0x7c00 : 0x7f80;
        for (int i = 0; i < ROOM; ++i) {
            gates[i] = (uint16_t)(i > infinite && i < 0x8000 ? 1 : i);
            kept[i] = twin[i] = (uint16_t)(3 * i + 1);
        }
        struct hdpw_gate job = { kept, gates, ROOM, dtypes[d], 0 };
        hdpw_host_gate(&job);
        for (int i = 0; i < ROOM; ++i)
            if (kept[i] !=
                (gates[i] > 0 && gates[i] < 0x8000 ? (uint16_t)(3 * i + 1) : 0))
                fail_msg("gate %#x of dtype %d: %#x", gates[i], dtypes[d],
                         kept[i]);
        job.target = twin;
        bench_twin_run(HDPW_GATE, &job, 3, 32);
        assert_memory_equal(kept, twin, sizeof kept);
    }
    memcpy(by_host, numbers, sizeof numbers);
    memcpy(by_twin, numbers, sizeof numbers);
    struct hdpw_gate job = { by_host, by_host, ROOM - 2, HDP_F32, 0 };
    hdpw_host_gate(&job);
    job.target = by_twin;
    job.gate = by_twin;
    bench_twin_run(HDPW_GATE, &job, 2, 7);
    assert_memory_equal(by_host, by_twin, sizeof numbers);
    for (int i = 0; i < ROOM - 2; ++i)
        assert_true(((const float *)(void *)by_host)[i] ==
                    fmaxf(numbers[i], 0));
}

/* A launch carries 4,000 bytes, and the stand-in finds pointers at the front. */
static void test_table(void **state)
{
    (void)state;
    for (int k = 0; k < HDPW_KERNELS; ++k) {
        const struct hdpk_kernel *kernel = &hdpw_kernels[k];
        assert_non_null(kernel->name);
        assert_non_null(kernel->host);
        assert_in_range(kernel->bytes, 1, 4000);
        assert_true(kernel->pointers[0].count > 0 &&
                    (size_t)kernel->pointers[0].count * sizeof(void *) <=
                        kernel->bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pixels),  cmocka_unit_test(test_activate),
        cmocka_unit_test(test_loss),    cmocka_unit_test(test_backward),
        cmocka_unit_test(test_columns), cmocka_unit_test(test_update),
        cmocka_unit_test(test_lower),   cmocka_unit_test(test_noise),
        cmocka_unit_test(test_gate),    cmocka_unit_test(test_table),
    };

    make_data();
    return cmocka_run_group_tests_name("the workloads' kernels", tests, NULL,
                                       NULL);
}
