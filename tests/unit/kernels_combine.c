/* Combine for the device: its twin against hdpk_combine byte for byte, and both
 * against sums in long double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "kernels_data.h"

enum { RUNS = HDPK_LAUNCH_SOURCES };

static const int32_t dtypes[] = { HDP_F32, HDP_TF32, HDP_F16, HDP_BF16, HDP_F64,
                                  HDP_I32, HDP_I64,  HDP_U8,  HDP_I8 };

/* One job and what it works on. */
struct trial {
    struct hdpk_launch_combine job;
    struct data_run sources[RUNS], targets[RUNS];
    int64_t count; /* of every run */
    int in_place;
};

static void trial_make(struct trial *t, int32_t dtype, int32_t op, int sources,
                       int targets)
{
    struct hdpk_launch_combine *job = &t->job;
    memset(t, 0, sizeof *t);
    t->count = data_count();
    t->in_place = chance_of(40) && targets <= sources;
    job->dtype = dtype;
    job->op = op;
    job->source_count = sources;
    job->target_count = targets;
    job->first = chance_draw(0, (int)t->count);
    job->count = chance_draw(0, (int)(t->count - job->first));
    for (int s = 0; s < sources; ++s) {
        t->sources[s] = data_make(dtype, t->count);
        data_draw(t->sources[s].data, dtype, t->count);
        job->sources[s] = t->sources[s].data;
        job->counts[s] = chance_draw(1, 100000);
        job->total += job->counts[s];
    }
    for (int k = 0; k < targets; ++k) {
        if (!t->in_place) {
            t->targets[k] = data_make(dtype, t->count);
            data_draw(t->targets[k].data, dtype, t->count);
        }
        job->targets[k] =
            t->in_place ? t->sources[targets - 1 - k].data : t->targets[k].data;
    }
    if (job->total == 0)
        job->total = 1;
}

/* The same bytes elsewhere, at another offset. */
static void trial_copy(struct trial *to, const struct trial *from)
{
    *to = *from;
    for (int s = 0; s < from->job.source_count; ++s) {
        to->sources[s] = data_copy(from->job.dtype, &from->sources[s]);
        to->job.sources[s] = to->sources[s].data;
    }
    for (int k = 0; k < from->job.target_count; ++k) {
        if (!from->in_place)
            to->targets[k] = data_copy(from->job.dtype, &from->targets[k]);
        to->job.targets[k] =
            from->in_place ? to->sources[from->job.target_count - 1 - k].data
                           : to->targets[k].data;
    }
}

static void trial_drop(struct trial *t)
{
    for (int i = 0; i < RUNS; ++i) {
        data_drop(&t->sources[i]);
        data_drop(&t->targets[i]);
    }
}

static void expect_same(const struct trial *a, const struct trial *b)
{
    const struct hdpk_launch_combine *job = &a->job;
    for (int i = 0; i < RUNS; ++i) {
        int64_t at = -1;
        if (a->sources[i].data)
            at = data_differs(a->sources[i].data, b->sources[i].data,
                              job->dtype, a->count);
        if (at < 0 && a->targets[i].data)
            at = data_differs(a->targets[i].data, b->targets[i].data,
                              job->dtype, a->count);
        if (at >= 0)
            fail_msg("dtype %d op %d sources %d targets %d in place %d, run %d "
                     "element %lld of [%lld, +%lld): the twin's differs",
                     job->dtype, job->op, job->source_count, job->target_count,
                     a->in_place, i, (long long)at, (long long)job->first,
                     (long long)job->count);
    }
}

static void run_both(int32_t dtype, int32_t op, int sources, int targets)
{
    static struct trial host, twin;
    trial_make(&host, dtype, op, sources, targets);
    trial_copy(&twin, &host);
    hdpk_host_combine(&host.job);
    data_launch(HDPK_COMBINE, &twin.job);
    expect_same(&host, &twin);
    trial_drop(&host);
    trial_drop(&twin);
}

static void the_twin_gives_the_same_bytes(void **state)
{
    (void)state;
    for (int round = 0; round < 40; ++round)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; ++d)
            for (int32_t op = HDP_OP_MEAN; op <= HDP_OP_SUM_OVER_TOTAL; ++op)
                if (hdpk_combine_supported(dtypes[d], op))
                    run_both(dtypes[d], op, chance_draw(0, 5),
                             chance_draw(1, 4));
}

static void as_many_as_one_launch_takes(void **state)
{
    (void)state;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; ++d)
        for (int32_t op = HDP_OP_MEAN; op <= HDP_OP_SUM_OVER_TOTAL; ++op)
            if (hdpk_combine_supported(dtypes[d], op))
                run_both(dtypes[d], op, HDPK_LAUNCH_SOURCES,
                         HDPK_LAUNCH_TARGETS);
}

/* More targets go by a second launch from the first one. */
static void passing_on_changes_nothing(void **state)
{
    (void)state;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; ++d) {
        struct data_run from = data_make(dtypes[d], 300);
        struct data_run to = data_make(dtypes[d], 300);
        struct hdpk_launch_combine job = { .dtype = dtypes[d],
                                           .op = HDP_OP_SUM,
                                           .source_count = 1,
                                           .target_count = 1,
                                           .total = 1,
                                           .count = 300 };
        data_draw(from.data, dtypes[d], 300);
        job.sources[0] = from.data;
        job.targets[0] = to.data;
        data_launch(HDPK_COMBINE, &job);
        assert_int_equal(data_differs(from.data, to.data, dtypes[d], 300), -1);
        data_drop(&from);
        data_drop(&to);
    }
}

/* The largest numbers: means stay in range, as in the host's form. */
static void the_edge_of_f64(void **state)
{
    (void)state;
    for (int32_t op = HDP_OP_MEAN; op <= HDP_OP_SUM_OVER_TOTAL; ++op)
        for (int sources = 1; sources <= 6; ++sources) {
            static struct trial host, twin;
            double most = 0x1.fffffffffffffp1023;
            trial_make(&host, HDP_F64, op, sources, 1);
            for (int s = 0; s < sources; ++s)
                for (int64_t i = 0; i < host.count; ++i)
                    ((double *)host.sources[s].data)[i] =
                        chance_of(10)
                            ? -most
                            : most * (1 - chance_draw(0, 3) * 0x1p-53);
            trial_copy(&twin, &host);
            hdpk_host_combine(&host.job);
            data_launch(HDPK_COMBINE, &twin.job);
            expect_same(&host, &twin);
            trial_drop(&host);
            trial_drop(&twin);
        }
}

/* Whole numbers and counts: one rounding of the exact mean, in f32 and the
 * 16-bit floats; the twin alone, since the host's form has its own test. */
static void one_rounding_of_the_exact_mean(void **state)
{
    const int32_t floats[] = { HDP_F32, HDP_F16, HDP_BF16 };
    (void)state;
    for (int round = 0; round < 2000; ++round) {
        int32_t dtype = floats[round % 3];
        struct data_run from[3], to = data_make(dtype, 1);
        struct hdpk_launch_combine job = { .dtype = dtype,
                                           .op = HDP_OP_MEAN,
                                           .source_count = 3,
                                           .target_count = 1,
                                           .count = 1 };
        long double sum = 0, wanted, got;
        for (int s = 0; s < 3; ++s) {
            int value = chance_draw(-128, 128);
            from[s] = data_make(dtype, 1);
            if (dtype == HDP_F32)
                *(float *)from[s].data = (float)value;
            else
                *(uint16_t *)from[s].data = data_nearest16(dtype, value);
            job.sources[s] = from[s].data;
            job.counts[s] = chance_draw(1, 64);
            job.total += job.counts[s];
            sum += (long double)job.counts[s] * value;
        }
        job.targets[0] = to.data;
        data_launch(HDPK_COMBINE, &job);
        wanted = sum / (long double)job.total;
        wanted = dtype == HDP_F32
                     ? (long double)data_nearest32(wanted)
                     : data_value16(dtype, data_nearest16(dtype, wanted));
        got = data_at(to.data, dtype, 0);
        if (got != wanted)
            fail_msg("dtype %d: expected %.9Lg, got %.9Lg", dtype, wanted, got);
        for (int s = 0; s < 3; ++s)
            data_drop(&from[s]);
        data_drop(&to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_twin_gives_the_same_bytes),
        cmocka_unit_test(as_many_as_one_launch_takes),
        cmocka_unit_test(passing_on_changes_nothing),
        cmocka_unit_test(the_edge_of_f64),
        cmocka_unit_test(one_rounding_of_the_exact_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
