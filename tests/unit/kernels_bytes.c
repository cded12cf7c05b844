/* Fill, rows, the pattern and its check, spin, and the table of kernels: the
 * host's forms against plain loops, the device's twins against both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "kernels_data.h"

static const int32_t dtypes[] = { HDP_F32, HDP_TF32, HDP_F16, HDP_BF16, HDP_F64,
                                  HDP_I32, HDP_I64,  HDP_U8,  HDP_I8 };
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* The host's form, or the device's twin, of one launch. */
static void launch(int twin, int32_t kernel, const void *args)
{
    if (twin)
        data_launch(kernel, args);
    else
        hdpk_kernels[kernel].host(args);
}

static void fill_writes_what_it_should(void **state)
{
    const int32_t of_bytes[] = { HDP_U8, HDP_F16, HDP_I32, HDP_I64 };
    (void)state;
    for (int round = 0; round < 800; ++round) {
        int32_t dtype = of_bytes[round % 4], bytes = 1 << round % 4;
        int64_t count = data_count();
        struct data_run run = data_make(dtype, count), before;
        struct hdpk_launch_fill job = { .data = run.data,
                                        .bits = (int64_t)chance_next(),
                                        .bytes = bytes };
        job.first = chance_draw(0, (int)count);
        job.count = chance_draw(0, (int)(count - job.first));
        data_draw(run.data, dtype, count);
        before = data_copy(dtype, &run);
        for (int64_t i = job.first; i < job.first + job.count; ++i)
            memcpy((char *)before.data + i * bytes, &job.bits, (size_t)bytes);
        launch(round & 4, HDPK_FILL, &job);
        assert_memory_equal(run.data, before.data, run.bytes);
        data_drop(&run);
        data_drop(&before);
    }
}

static void rows_of_any_length_at_any_place(void **state)
{
    (void)state;
    for (int round = 0; round < 4000; ++round) {
        struct hdpk_launch_rows job = { .rows = chance_draw(0, 9),
                                        .row_bytes =
                                            chance_of(70)
                                                ? chance_draw(0, 70)
                                                : chance_draw(0, 600) };
        size_t lead = (size_t)chance_draw(0, 17), bytes;
        size_t skip = (size_t)chance_draw(0, 17);
        unsigned char *source, *target, *wanted;
        job.target_stride =
            job.row_bytes + (chance_of(50) ? chance_draw(0, 33) : 0);
        job.source_stride =
            job.row_bytes + (chance_of(50) ? chance_draw(0, 33) : 16);
        if (chance_of(40)) { /* whole words, so that wide reads happen */
            job.row_bytes &= ~INT64_C(3);
            job.target_stride = (job.target_stride + 15) & ~INT64_C(15);
            job.source_stride = (job.source_stride + 3) & ~INT64_C(3);
            skip &= chance_of(50) ? ~(size_t)15 : ~(size_t)3;
        }
        bytes = (size_t)((job.rows + 1) * job.target_stride) + lead;
        source =
            twin_alloc((size_t)((job.rows + 1) * job.source_stride) + skip + 1);
        target = twin_alloc(bytes + 1);
        wanted = twin_alloc(bytes + 1);
        data_draw(source, HDP_U8,
                  (job.rows + 1) * job.source_stride + (int64_t)skip);
        data_draw(target, HDP_U8, (int64_t)bytes);
        memcpy(wanted, target, bytes);
        for (int64_t row = 0; row < job.rows; ++row)
            for (int64_t i = 0; i < job.row_bytes; ++i)
                wanted[lead + (size_t)(row * job.target_stride + i)] =
                    source[skip + (size_t)(row * job.source_stride + i)];
        job.target = target + lead;
        job.source = source + skip;
        launch(round % 4, HDPK_ROWS, &job);
        assert_memory_equal(target, wanted, bytes);
        twin_free(source);
        twin_free(target);
        twin_free(wanted);
    }
}

/* ---- the pattern ----------------------------------------------------------- */

static void the_base_is_small_and_tells_places_apart(void **state)
{
    int64_t seen[64] = { 0 };
    (void)state;
    for (int64_t i = 0; i < 64000; ++i) {
        int64_t base = hdpk_pattern_base(7, i);
        assert_in_range(base, 0, 63);
        ++seen[base];
    }
    for (int k = 0; k < 64; ++k)
        assert_in_range(seen[k], 800, 1200);
    for (int64_t shift = 1; shift < 3000; ++shift) {
        int same = 0;
        for (int64_t i = 0; i < 1000; ++i)
            same += hdpk_pattern_base(7, i) == hdpk_pattern_base(7, i + shift);
        assert_in_range(same, 0, 60);
    }
}

/* What the check has found before it looks. */
static int64_t *found_make(void)
{
    int64_t *out = twin_alloc(2 * sizeof *out);
    out[0] = 0;
    out[1] = INT64_MAX;
    return out;
}

static int64_t wanted_value(const struct hdpk_launch_pattern *job, int64_t i)
{
    return job->factor * hdpk_pattern_base(job->seed, job->origin + i) +
           job->offset;
}

static void a_pattern_is_written_and_found(void **state)
{
    (void)state;
    for (int round = 0; round < 120 * DTYPES; ++round) {
        int32_t dtype = dtypes[round % DTYPES];
        int64_t count = data_count() + 1, broken;
        int64_t *out = found_make();
        struct data_run run = data_make(dtype, count);
        struct hdpk_launch_pattern job = { .data = run.data,
                                           .seed = chance_draw(-9, 9),
                                           .origin = chance_draw(0, 99999),
                                           .factor = chance_draw(0, 1),
                                           .offset = chance_draw(0, 60),
                                           .count = count,
                                           .dtype = dtype };
        struct hdpk_launch_check check = { run.data,   out,        job.seed,
                                           job.origin, job.factor, job.offset,
                                           0,          count,      dtype,
                                           0 };
        launch(round & 1, HDPK_PATTERN, &job);
        for (int64_t i = 0; i < count; ++i)
            assert_true(data_at(run.data, dtype, i) ==
                        (long double)wanted_value(&job, i));
        launch(round & 2, HDPK_CHECK, &check);
        assert_int_equal(out[0], 0);
        assert_true(out[1] == INT64_MAX);
        broken = chance_draw(0, (int)count - 1);
        for (int64_t i = broken; i < count; i += 7)
            ((unsigned char *)run.data)[(size_t)i * hdpk_dtype_bytes(dtype) +
                                        hdpk_dtype_bytes(dtype) - 1] ^= 0x40;
        launch(round & 2, HDPK_CHECK, &check);
        assert_int_equal(out[0], (count - broken + 6) / 7);
        assert_int_equal(out[1], job.origin + broken);
        data_drop(&run);
        twin_free(out);
    }
}

/* NaN is wrong wherever it stands, and -0 is 0. */
static void what_counts_as_wrong(void **state)
{
    (void)state;
    for (int twin = 0; twin < 2; ++twin) {
        struct data_run run = data_make(HDP_F32, 40);
        float *data = run.data;
        int64_t *out = found_make();
        struct hdpk_launch_check job = { data, out, 0,  0,       0,
                                         0,    0,   40, HDP_F32, 0 };
        for (int i = 0; i < 40; ++i)
            data[i] = i & 1 ? -0.0F : 0.0F;
        launch(twin, HDPK_CHECK, &job);
        assert_int_equal(out[0], 0);
        data[33] = NAN;
        launch(twin, HDPK_CHECK, &job);
        assert_int_equal(out[0], 1);
        assert_int_equal(out[1], 33);
        data_drop(&run);
        twin_free(out);
    }
}

/* Members whose counts and offsets differ: the mean is a pattern again, and it
 * is another one where a weight is wrong. */
static void a_mean_of_patterns_is_a_pattern(void **state)
{
    const int32_t floats[] = { HDP_F32, HDP_F16, HDP_BF16, HDP_F64 };
    (void)state;
    for (int round = 0; round < 200; ++round) {
        enum { MEMBERS = 4, COUNT = 333 };
        int32_t dtype = floats[round % 4];
        int64_t offsets[MEMBERS], counts[MEMBERS], mean;
        int64_t *out = found_make();
        struct data_run runs[MEMBERS];
        struct hdpk_launch_combine job = { .dtype = dtype,
                                           .op = HDP_OP_MEAN,
                                           .source_count = MEMBERS,
                                           .target_count = 1,
                                           .count = COUNT };
        struct hdpk_launch_check check = { NULL, out, round, 0,     1,
                                           0,    0,   COUNT, dtype, 0 };
        for (int s = 0; s < MEMBERS; ++s)
            counts[s] = chance_draw(1, 90);
        if (dtype == HDP_F64)
            counts[3] = 512 - counts[0] - counts[1] - counts[2];
        assert_int_equal(
            hdpk_pattern_offsets(offsets, &mean, counts, MEMBERS, 90), 1);
        for (int s = 0; s < MEMBERS; ++s) {
            struct hdpk_launch_pattern write = { .seed = round,
                                                 .factor = 1,
                                                 .offset = offsets[s],
                                                 .count = COUNT,
                                                 .dtype = dtype };
            runs[s] = data_make(dtype, COUNT);
            write.data = runs[s].data;
            launch(round & 4, HDPK_PATTERN, &write);
            job.sources[s] = runs[s].data;
            job.counts[s] = counts[s];
            job.total += counts[s];
        }
        job.targets[0] = runs[0].data;
        check.data = runs[0].data;
        check.offset = mean;
        if (round % 5 == 0)
            for (int s = 0; s < MEMBERS; ++s)
                if (offsets[s] > 0) {
                    job.counts[s] += 1 + counts[s] / 2;
                    job.total += 1 + counts[s] / 2;
                }
        launch(round & 4, HDPK_COMBINE, &job);
        launch(round & 4, HDPK_CHECK, &check);
        if (round % 5 == 0) /* 16 bits may round the difference away */
            assert_in_range(out[0], dtype == HDP_F32 ? 300 : 1, COUNT);
        else
            assert_int_equal(out[0], 0);
        for (int s = 0; s < MEMBERS; ++s)
            data_drop(&runs[s]);
        twin_free(out);
    }
}

/* Against every pair within the bound. */
static void offsets_are_found_where_there_are_any(void **state)
{
    (void)state;
    for (int round = 0; round < 3000; ++round) {
        int64_t counts[3], offsets[3], mean = -1, sum = 0, most;
        int exists = 0, used = 0, found;
        for (int s = 0; s < 3; ++s)
            counts[s] = chance_draw(0, 12);
        most = chance_draw(1, 12);
        found = hdpk_pattern_offsets(offsets, &mean, counts, 3, most);
        for (int s = 0; s < 3; ++s) {
            assert_true(llabs(offsets[s]) <= most);
            used += offsets[s] != 0;
            sum += offsets[s] * counts[s];
        }
        assert_int_equal(sum, mean * (counts[0] + counts[1] + counts[2]));
        for (int64_t a = 1; a <= most; ++a)
            for (int64_t b = 1; b <= most; ++b)
                for (int s = 0; s < 3; ++s)
                    exists |= counts[s] > 0 && counts[(s + 1) % 3] > 0 &&
                              a * counts[s] == b * counts[(s + 1) % 3];
        assert_int_equal(found, exists);
        assert_int_equal(used, found ? 2 : 0);
    }
}

/* ---- spin and the table ---------------------------------------------------- */

static void spin_takes_its_time_and_no_more(void **state)
{
    const int64_t ns[] = { -5, 0, 300000, 2000000, INT64_MAX };
    int64_t *out = twin_alloc(sizeof *out);
    (void)state;
    for (int twin = 0; twin < 2; ++twin)
        for (int i = 0; i < 5; ++i) {
            struct hdpk_launch_spin job = { out, ns[i] };
            int64_t least = ns[i] < 0                  ? 0
                            : ns[i] < HDPK_SPIN_NS_MAX ? ns[i]
                                                       : HDPK_SPIN_NS_MAX;
            *out = -1;
            launch(twin, HDPK_SPIN, &job);
            assert_in_range(*out, least, INT64_C(10000000000));
            job.out_ns = NULL;
            if (i < 3)
                launch(twin, HDPK_SPIN, &job);
        }
    twin_free(out);
}

static void the_table_is_right(void **state)
{
    (void)state;
    for (int k = 0; k < HDPK_KERNELS; ++k) {
        const struct hdpk_kernel *kernel = &hdpk_kernels[k];
        assert_non_null(kernel->name);
        assert_non_null(kernel->host);
        assert_int_equal(strncmp(kernel->name, "hdpk_cuda_", 10), 0);
        assert_in_range(kernel->bytes, 16, 4000);
        assert_int_equal(kernel->bytes % 8, 0);
        for (int p = 0; p < 2; ++p)
            assert_true(kernel->pointers[p].offset +
                            (size_t)kernel->pointers[p].count *
                                sizeof(void *) <=
                        kernel->bytes);
        assert_true(kernel->pointers[0].count > 0);
    }
}

/* What no kernel has a form for changes nothing. */
static void unknown_types_are_left_alone(void **state)
{
    uint16_t *data = twin_alloc(8 * sizeof *data);
    const uint16_t before[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    (void)state;
    memcpy(data, before, sizeof before);
    for (int twin = 0; twin < 2; ++twin) {
        struct hdpk_launch_accumulate add = { data, data, 1, 0, 1, HDP_I32, 0 };
        struct hdpk_launch_scale scale = { data, 2, 0, 1, HDP_U8, 0 };
        struct hdpk_launch_convert to = { data, data, 0, 1, HDP_I8, HDP_F16 };
        struct hdpk_launch_convert from = { data, data, 0, 1, HDP_F32, 0 };
        struct hdpk_launch_fill fill = { data, 0, 0, 1, 3, 0 };
        struct hdpk_launch_pattern write = { data, 0, 0, 1, 0, 0, 4, 99, 0 };
        launch(twin, HDPK_ACCUMULATE, &add);
        launch(twin, HDPK_SCALE, &scale);
        launch(twin, HDPK_CONVERT, &to);
        launch(twin, HDPK_CONVERT, &from);
        launch(twin, HDPK_FILL, &fill);
        launch(twin, HDPK_PATTERN, &write);
        assert_memory_equal(data, before, sizeof before);
    }
    twin_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fill_writes_what_it_should),
        cmocka_unit_test(rows_of_any_length_at_any_place),
        cmocka_unit_test(the_base_is_small_and_tells_places_apart),
        cmocka_unit_test(a_pattern_is_written_and_found),
        cmocka_unit_test(what_counts_as_wrong),
        cmocka_unit_test(a_mean_of_patterns_is_a_pattern),
        cmocka_unit_test(offsets_are_found_where_there_are_any),
        cmocka_unit_test(spin_takes_its_time_and_no_more),
        cmocka_unit_test(the_table_is_right),
        cmocka_unit_test(unknown_types_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
