/* The communication port, the results: every type and operation, every size,
 * in place and not, against sums written here. The argument is the adapter. */
#include "contract/ranks.h"

enum { GUARD_BYTES = 64, GUARD = 0xa5 };

/* A random collective: every rank's tensors between guard bands. */
struct job {
    int32_t dtype, op, tensors, in_place;
    int64_t elements[TENSORS_MAX], most; /* of one tensor */
    int64_t counts[RANKS_MAX], total;
    double bound; /* magnitude of the values */
    char *send_memory[RANKS_MAX], *recv_memory[RANKS_MAX];
    size_t bytes; /* of one rank's memory */
    void *send[RANKS_MAX][TENSORS_MAX], *recv[RANKS_MAX][TENSORS_MAX];
    struct hdpi_comm_call calls[RANKS_MAX];
};

static double value_for(const struct job *job, uint64_t *seed)
{
    double value = ((double)(noise(seed) >> 11) * 0x1p-53 - 0.5) * 2;
    if (is_integer(job->dtype))
        value = floor(value * 100) + (job->dtype == HDP_U8 ? 100 : 0);
    return is_integer(job->dtype) ? value : value * job->bound;
}

static void lay_out(struct job *job, int32_t size)
{
    size_t width = hdpk_dtype_bytes(job->dtype), at = GUARD_BYTES;
    size_t offset[TENSORS_MAX];
    for (int32_t k = 0; k < job->tensors; ++k) {
        at += width; /* aligned to an element, no more */
        offset[k] = at;
        at += (size_t)job->elements[k] * width + GUARD_BYTES;
    }
    job->bytes = at;
    for (int32_t r = 0; r < size; ++r) {
        job->send_memory[r] = malloc(at);
        job->recv_memory[r] = malloc(at);
        assert_true(job->send_memory[r] && job->recv_memory[r]);
        memset(job->send_memory[r], GUARD, at);
        memset(job->recv_memory[r], GUARD, at);
        for (int32_t k = 0; k < job->tensors; ++k) {
            job->send[r][k] = job->send_memory[r] + offset[k];
            job->recv[r][k] = job->recv_memory[r] + offset[k];
        }
    }
}

/* Fills what each rank sends. A rank of weight 0 holds NaN and infinity. */
static void fill(struct job *job, int32_t size, uint64_t *seed)
{
    for (int32_t r = 0; r < size; ++r)
        for (int32_t k = 0; k < job->tensors; ++k)
            for (int64_t i = 0; i < job->elements[k]; ++i) {
                double value = value_for(job, seed);
                if (job->counts[r] == 0 && !is_integer(job->dtype))
                    value = i % 2 ? (double)INFINITY : (double)NAN;
                element_set(job->send[r][k], job->dtype, i, value);
            }
    for (int32_t r = 0; job->in_place && r < size; ++r)
        memcpy(job->recv_memory[r], job->send_memory[r], job->bytes);
}

static void make(struct job *job, int32_t size, uint64_t *seed)
{
    job->total = 0;
    for (int32_t r = 0; r < size; ++r)
        job->total += job->counts[r];
    lay_out(job, size);
    fill(job, size, seed);
    for (int32_t r = 0; r < size; ++r)
        job->calls[r] = (struct hdpi_comm_call){
            .kind = HDPI_COMM_REDUCE,
            .dtype = job->dtype,
            .op = job->op,
            .tensor_count = job->tensors,
            .elements = job->elements,
            .send = job->in_place ? NULL : (const void *const *)job->send[r],
            .recv = job->recv[r],
            .count = job->counts[r],
            .total = job->total
        };
}

static void unmake(struct job *job, int32_t size)
{
    for (int32_t r = 0; r < size; ++r) {
        free(job->send_memory[r]);
        free(job->recv_memory[r]);
    }
}

/* One element by the definition, and how far off it may be: f64 by (n + 1)
 * roundings of the sum of |weight x|, the others by one rounding of the
 * result and the f64 sum before it. */
static long double wanted_at(const struct job *job, int32_t size, int32_t k,
                             int64_t i, long double *out_bound)
{
    long double sum = 0, magnitude = 0, unit, step;
    int32_t sources = 0;
    for (int32_t r = 0; r < size; ++r) {
        long double x = element_get(job->send[r][k], job->dtype, i);
        long double weight = 1;
        if (job->counts[r] == 0)
            continue;
        if (job->op == HDP_OP_MEAN)
            weight = (long double)job->counts[r] / (long double)job->total;
        else if (job->op == HDP_OP_SUM_OVER_TOTAL)
            weight = 1 / (long double)job->total;
        if (job->op == HDP_OP_MIN)
            sum = sources == 0 || x < sum ? x : sum;
        else if (job->op == HDP_OP_MAX)
            sum = sources == 0 || x > sum ? x : sum;
        else
            sum += weight * x;
        magnitude += fabsl(weight * x);
        sources++;
    }
    *out_bound = 0;
    if (is_integer(job->dtype) || job->op == HDP_OP_MIN ||
        job->op == HDP_OP_MAX)
        return sum;
    unit = job->dtype == HDP_F16    ? 0x1p-11L
           : job->dtype == HDP_BF16 ? 0x1p-8L
                                    : 0x1p-24L;
    step = job->dtype == HDP_F16 ? 0x1p-24L : 0x1p-133L;
    *out_bound = job->dtype == HDP_F64
                     ? (sources + 1) * 0x1p-53L * magnitude
                     : unit * fabsl(sum) + magnitude * 0x1p-48L + step;
    return sum;
}

static int wraps_equal(int32_t dtype, long double wanted, double got)
{
    uint64_t difference = (uint64_t)((int64_t)wanted - (int64_t)got);
    int bits = (int)hdpk_dtype_bytes(dtype) * 8;
    return bits == 64 ? difference == 0 : difference << (64 - bits) == 0;
}

static void check_guards(const struct job *job, int32_t r, const char *memory,
                         void *const *tensors)
{
    size_t width = hdpk_dtype_bytes(job->dtype), at = 0;
    for (int32_t k = 0; k <= job->tensors; ++k) {
        size_t end = k == job->tensors ? job->bytes
                                       : (size_t)((char *)tensors[k] - memory);
        for (; at < end; ++at)
            if ((unsigned char)memory[at] != GUARD)
                fail_msg("rank %d: a byte before tensor %d was written", (int)r,
                         (int)k);
        if (k < job->tensors)
            at += (size_t)job->elements[k] * width;
    }
}

static void check(struct job *job, int32_t size)
{
    for (int32_t k = 0; k < job->tensors; ++k)
        for (int64_t i = 0; i < job->elements[k]; ++i) {
            long double bound, wanted = wanted_at(job, size, k, i, &bound);
            double got = element_get(job->recv[0][k], job->dtype, i);
            int right = is_integer(job->dtype)
                            ? wraps_equal(job->dtype, wanted, got)
                            : fabsl(got - wanted) <= bound;
            if (!right)
                fail_msg("dtype %d op %d, %d ranks, tensor %d of %d, element "
                         "%lld: expected %.17Lg +- %.3Lg, got %.17g",
                         (int)job->dtype, (int)job->op, (int)size, (int)k,
                         (int)job->tensors, (long long)i, wanted, bound, got);
        }
    for (int32_t r = 0; r < size; ++r) {
        check_guards(job, r, job->recv_memory[r], job->recv[r]);
        for (int32_t k = 0; k < job->tensors; ++k)
            assert_memory_equal(job->recv[r][k], job->recv[0][k],
                                (size_t)job->elements[k] *
                                    hdpk_dtype_bytes(job->dtype));
    }
}

static void do_call(struct rank *rank)
{
    struct job *job = rank->all->arg;
    rank->status = rank_do(rank, &job->calls[rank->index]);
}

static void run_job(struct ranks *all, struct job *job, uint64_t *seed)
{
    make(job, all->size, seed);
    ranks_run(all, do_call, job);
    expect_ok(all);
    check(job, all->size);
    for (int32_t r = 0; r < all->size; ++r)
        assert_true(job->calls[r].start_ns > 0 &&
                    job->calls[r].start_ns <= job->calls[r].end_ns);
    unmake(job, all->size);
}

static void random_counts(struct job *job, int32_t size, uint64_t *seed)
{
    for (int32_t r = 0; r < size; ++r)
        job->counts[r] = (int64_t)(noise(seed) % 5000);
    if (size > 1)
        job->counts[noise(seed) % (uint64_t)size] = 0; /* an empty member */
    job->counts[noise(seed) % (uint64_t)size] += 1;
}

/* ---- tests ---------------------------------------------------------------- */

static struct job job; /* large */

static void every_type_and_operation(void **state)
{
    uint64_t seed = 1234567;
    (void)state;
    for (int32_t size = 1; size <= RANKS_MAX; ++size) {
        struct ranks all;
        ranks_open(&all, size);
        for (int32_t dtype = HDP_F32; dtype <= HDP_I8; ++dtype)
            for (int32_t op = 0; op <= HDP_OP_SUM_OVER_TOTAL; ++op) {
                if (!hdpk_combine_supported(dtype, op))
                    continue;
                job.dtype = dtype;
                job.op = op;
                job.bound = 1000;
                job.tensors = 3;
                for (int k = 0; k < 3; ++k)
                    job.elements[k] = (int64_t)(noise(&seed) % 3000);
                job.in_place = (int32_t)(noise(&seed) % 2);
                random_counts(&job, size, &seed);
                run_job(&all, &job, &seed);
            }
        ranks_close(&all);
    }
}

/* Thread starts would outweigh the work: one thread a rank does them all. */
static void all_sizes_body(struct rank *rank)
{
    static const int64_t counts[2] = { 3, 1 };
    int32_t me = rank->index;
    float *data = malloc(sizeof(float) * ((1 << 20) + 3));
    rank->status = data ? HDP_OK : HDP_ERR_MEMORY;
    for (int64_t n = 0; rank->status == HDP_OK && n <= (1 << 20) + 1;) {
        void *recv[1] = { data };
        struct hdpi_comm_call call = { .kind = HDPI_COMM_REDUCE,
                                       .dtype = HDP_F32,
                                       .op = HDP_OP_MEAN,
                                       .tensor_count = 1,
                                       .elements = &n,
                                       .recv = recv,
                                       .count = counts[me],
                                       .total = 4 };
        for (int64_t i = 0; i < n; ++i)
            data[i] = (float)(i % 1000 + me * 4);
        data[n] = data[n + 1] = -7;
        rank->status = rank_do(rank, &call);
        /* 3/4 i + 1/4 (i + 4) is i + 1, exactly. */
        for (int64_t i = 0; i < n; ++i)
            if (data[i] != (float)(i % 1000 + 1))
                rank->status = HDP_ERR_INTERNAL;
        if (data[n] != -7 || data[n + 1] != -7)
            rank->status = HDP_ERR_INTERNAL;
        if (n < 4096)
            n++;
        else if ((n & (n - 1)) == 0)
            n = n + 1; /* 2^k + 1 */
        else if (((n + 1) & n) == 0)
            n = n + 1; /* 2^k */
        else
            n = (n - 1) * 2 - 1; /* the next 2^k - 1 */
    }
    free(data);
}

static void every_count(void **state)
{
    struct ranks all;
    (void)state;
    ranks_open(&all, 2);
    ranks_run(&all, all_sizes_body, NULL);
    expect_ok(&all);
    ranks_close(&all);
}

static void many_tensors_in_one_call(void **state)
{
    uint64_t seed = 99;
    (void)state;
    for (int32_t size = 1; size <= RANKS_MAX; size += 3)
        for (int32_t in_place = 0; in_place < 2; ++in_place) {
            struct ranks all;
            ranks_open(&all, size);
            job.dtype = in_place ? HDP_BF16 : HDP_F64;
            job.op = HDP_OP_MEAN;
            job.bound = 1;
            job.in_place = in_place;
            job.tensors = TENSORS_MAX;
            for (int k = 0; k < TENSORS_MAX; ++k)
                job.elements[k] = (int64_t)(noise(&seed) % 700) * (k % 5 != 0);
            job.elements[TENSORS_MAX / 2] = 100000; /* several chunks */
            random_counts(&job, size, &seed);
            run_job(&all, &job, &seed);
            ranks_close(&all);
        }
}

/* How many results are not the weighted mean, rounded once, when one rank's
 * weight is off by a factor. */
static int64_t wrong_weight(int32_t hot, double factor)
{
    int64_t wrong = 0;
    for (int64_t i = 0; i < job.elements[0]; ++i) {
        uint64_t rounded = 0;
        double sum = 0;
        for (int32_t r = 0; r < 4; ++r)
            sum += (double)job.counts[r] * (r == hot ? factor : 1) *
                   element_get(job.send[r][0], job.dtype, i);
        element_set(&rounded, job.dtype, 0, sum / (double)job.total);
        wrong += element_get(job.recv[0][0], job.dtype, i) !=
                 element_get(&rounded, job.dtype, 0);
    }
    return wrong;
}

/* Each member's own weight is right to 1e-4: were it off by that, some of the
 * results would have been rounded to another number. The others' values are
 * made small, so that this rank's weight decides. */
static void each_weight_by_itself(void **state)
{
    static const int64_t counts[4] = { 341, 171, 1000, 3 };
    const int32_t dtypes[] = { HDP_F16, HDP_BF16, HDP_F32 };
    uint64_t seed = 4711;
    struct ranks all;
    (void)state;
    ranks_open(&all, 4);
    for (int d = 0; d < 3; ++d)
        for (int32_t hot = 0; hot < 4; ++hot) {
            memset(&job, 0, sizeof job);
            job.dtype = dtypes[d];
            job.op = HDP_OP_MEAN;
            job.bound = 100;
            job.tensors = 1;
            job.elements[0] = 20000;
            memcpy(job.counts, counts, sizeof counts);
            make(&job, 4, &seed);
            for (int32_t r = 0; r < 4; ++r)
                for (int64_t i = 0; r != hot && i < job.elements[0]; ++i)
                    element_set(job.send[r][0], job.dtype, i,
                                value_for(&job, &seed) * 0.1 *
                                    (double)counts[hot] / (double)counts[r]);
            ranks_run(&all, do_call, &job);
            expect_ok(&all);
            assert_int_equal(wrong_weight(hot, 1), 0);
            assert_true(wrong_weight(hot, 1.0001) > 0);
            assert_true(wrong_weight(hot, 0.9999) > 0);
            unmake(&job, 4);
        }
    ranks_close(&all);
}

/* One element from each rank; what rank 0 receives. All receive the same. */
static double one(int32_t dtype, int32_t op, int32_t size, const double *values,
                  const int64_t *counts)
{
    struct ranks all;
    uint64_t seed = 1;
    double got;
    ranks_open(&all, size);
    memset(&job, 0, sizeof job);
    job.dtype = dtype;
    job.op = op;
    job.tensors = 1;
    job.elements[0] = 2;
    memcpy(job.counts, counts, (size_t)size * sizeof *counts);
    make(&job, size, &seed);
    for (int32_t r = 0; r < size; ++r)
        for (int i = 0; i < 2; ++i)
            element_set(job.send[r][0], dtype, i, values[r]);
    ranks_run(&all, do_call, &job);
    expect_ok(&all);
    got = element_get(job.recv[0][0], dtype, 0);
    for (int32_t r = 1; r < size; ++r)
        assert_memory_equal(job.recv[r][0], job.recv[0][0],
                            2 * hdpk_dtype_bytes(dtype));
    unmake(&job, size);
    ranks_close(&all);
    return got;
}

#define V(...) ((const double[]){ __VA_ARGS__ })
#define N(...) ((const int64_t[]){ __VA_ARGS__ })

static void unequal_shards_as_one_device(void **state)
{
    (void)state;
    assert_true(one(HDP_F32, HDP_OP_MEAN, 2, V(2, 6), N(3, 1)) == 3);
    assert_true(one(HDP_F32, HDP_OP_MEAN, 3, V(1, 2, 3), N(5, 2, 1)) == 1.5);
    assert_true(
        one(HDP_F32, HDP_OP_SUM_OVER_TOTAL, 3, V(5, 4, 3), N(5, 2, 1)) == 1.5);
}

/* Rows 0 to 7, the gradient of a row is its number: every split means 3.5. */
static void every_split_of_eight_rows(void **state)
{
    (void)state;
    for (int cuts = 0; cuts < 128; cuts += 1 + cuts % 3) {
        double values[RANKS_MAX] = { 0 };
        int64_t counts[RANKS_MAX] = { 0 };
        int32_t size = 1;
        for (int row = 0; row < 8; ++row) {
            values[size - 1] += row;
            counts[size - 1]++;
            size += row < 7 && cuts >> row & 1;
        }
        for (int32_t r = 0; r < size; ++r)
            values[r] /= (double)counts[r];
        assert_true(one(HDP_F64, HDP_OP_MEAN, size, values, counts) == 3.5);
        assert_true(one(HDP_F32, HDP_OP_MEAN, size, values, counts) == 3.5);
    }
}

static void an_empty_member_counts_for_nothing(void **state)
{
    const int32_t dtypes[] = { HDP_F32, HDP_F16, HDP_BF16, HDP_F64 };
    (void)state;
    for (int d = 0; d < 4; ++d)
        for (int32_t op = HDP_OP_MEAN; op <= HDP_OP_SUM_OVER_TOTAL; ++op) {
            double x = op == HDP_OP_SUM_OVER_TOTAL ? 6 : 1.5;
            assert_true(one(dtypes[d], op, 2, V(x, NAN), N(4, 0)) == 1.5);
            assert_true(one(dtypes[d], op, 2, V(INFINITY, x), N(0, 4)) == 1.5);
            assert_true(isnan(one(dtypes[d], op, 2, V(1, NAN), N(3, 1))));
        }
}

static void half_precision_stays_in_range(void **state)
{
    double got;
    (void)state;
    assert_true(one(HDP_F16, HDP_OP_MEAN, 4, V(30000, 30000, 30000, 30000),
                    N(1, 1, 1, 1)) == 30000);
    got = one(HDP_F16, HDP_OP_MEAN, 2, V(60000, 60000), N(3, 1));
    assert_true(fabs(got - 60000) <= 32);
    assert_true(one(HDP_BF16, HDP_OP_MEAN, 2, V(1, 2), N(1, 1)) == 1.5);
    assert_true(one(HDP_BF16, HDP_OP_MEAN, 2, V(4, 8), N(1, 3)) == 7);
    got =
        one(HDP_F16, HDP_OP_MEAN, 4, V(6e-8, 6e-8, 6e-8, 6e-8), N(1, 1, 1, 1));
    assert_true(got == 0x1p-24);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_operation),
        cmocka_unit_test(every_count),
        cmocka_unit_test(many_tensors_in_one_call),
        cmocka_unit_test(each_weight_by_itself),
        cmocka_unit_test(unequal_shards_as_one_device),
        cmocka_unit_test(every_split_of_eight_rows),
        cmocka_unit_test(an_empty_member_counts_for_nothing),
        cmocka_unit_test(half_precision_stays_in_range),
    };
    int code = adapter_pick(argc, argv);
    return code ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
