/* What collectives leave in memory, against sums done here one by one; how
 * streams wait for each other in them; how long they take. */
#include "selftest_nccl.h"

static const char *const eight = "machine=twin copies=4";

enum { COUNT = 1037, BYTES = 16384 };

/* ---- floats --------------------------------------------------------------- */

static const ncclDataType_t floats[] = { ncclBfloat16, ncclFloat16, ncclFloat32,
                                         ncclFloat64 };

static void fill(const struct ranks *ranks, ncclDataType_t type)
{
    for (int r = 0; r < ranks->count; r++)
        for (size_t i = 0; i < COUNT; i++)
            set_value(bytes_of(ranks->send[r]), type, i,
                      nearest(type, ldexp(noise(i * 8 + (size_t)r), 3)));
}

/* Hop by hop: each rank's number, multiplied where a weight is given. */
static double folded(const struct ranks *ranks, ncclDataType_t type, size_t i,
                     ncclRedOp_t op, const double *weights)
{
    double sum = 0;

    for (int r = 0; r < ranks->count; r++) {
        double x = value_at(bytes_of(ranks->send[r]), type, i);
        if (weights)
            x = nearest(type, x * weights[r]);
        sum = r == 0           ? x
              : op == ncclMax  ? (x > sum ? x : sum)
              : op == ncclMin  ? (x < sum ? x : sum)
              : op == ncclProd ? nearest(type, sum * x)
                               : nearest(type, sum + x);
    }
    return sum;
}

static void expect_folded(const struct ranks *ranks, ncclDataType_t type,
                          ncclRedOp_t op, const double *weights)
{
    for (size_t i = 0; i < COUNT; i++) {
        double wanted = folded(ranks, type, i, op, weights);
        for (int r = 0; r < ranks->count; r++) {
            double got = value_at(bytes_of(ranks->recv[r]), type, i);
            if (got != wanted)
                fail_msg("type %d, operator %d, element %zu of rank %d of %d: "
                         "expected %.17g, got %.17g",
                         (int)type, (int)op, i, r, ranks->count, wanted, got);
        }
    }
}

static void test_floats(void **state)
{
    static const ncclRedOp_t ops[] = { ncclSum, ncclProd, ncclMin, ncclMax };
    static const int counts[] = { 2, 3, 8 };
    struct ranks ranks;

    (void)state;
    begin(eight);
    for (int c = 0; c < 3; c++) {
        ranks_open(&ranks, counts[c], BYTES);
        for (int t = 0; t < 4; t++) {
            fill(&ranks, floats[t]);
            for (int o = 0; o < 4; o++) {
                OK(ranks_sum(&ranks, COUNT, floats[t], ops[o]));
                ranks_finish(&ranks);
                expect_folded(&ranks, floats[t], ops[o], NULL);
            }
        }
        ranks_close(&ranks);
    }
    end();
}

/* NCCL's average of floats multiplies each by what 1/ranks is in the type. */
static void test_averages(void **state)
{
    static const int counts[] = { 2, 3, 8 };
    double weights[RANKS_MAX];
    struct ranks ranks;

    (void)state;
    begin(eight);
    for (int c = 0; c < 3; c++) {
        ranks_open(&ranks, counts[c], BYTES);
        for (int t = 0; t < 4; t++) {
            for (int r = 0; r < RANKS_MAX; r++)
                weights[r] = nearest(floats[t], 1.0 / counts[c]);
            fill(&ranks, floats[t]);
            OK(ranks_sum(&ranks, COUNT, floats[t], ncclAvg));
            ranks_finish(&ranks);
            expect_folded(&ranks, floats[t], ncclSum, weights);
        }
        ranks_close(&ranks);
    }
    end();
}

/* Each rank's own operator: weights 1/36 to 8/36, as the type has them. */
static void weigh(const struct ranks *ranks, ncclDataType_t type, int on_device)
{
    ncclRedOp_t ops[RANKS_MAX];
    double weights[RANKS_MAX];
    unsigned char scalar[8];
    void *memory[RANKS_MAX] = { NULL };

    for (int r = 0; r < ranks->count; r++) {
        weights[r] = nearest(type, (r + 1) / 36.0);
        set_value(scalar, type, 0, weights[r]);
        OK(cudaSetDevice(r));
        if (on_device) {
            memory[r] = device_memory(8);
            memset(bytes_of(memory[r]), 0, 8); /* not yet */
        }
        OK(ncclRedOpCreatePreMulSum(
            &ops[r], on_device ? memory[r] : scalar, type,
            on_device ? ncclScalarDevice : ncclScalarHostImmediate,
            ranks->comm[r]));
        memset(scalar, 0, sizeof scalar);
        if (on_device)
            set_value(bytes_of(memory[r]), type, 0, weights[r]);
    }
    OK(ncclGroupStart());
    for (int r = 0; r < ranks->count; r++) {
        OK(ncclAllReduce(ranks->send[r], ranks->recv[r], COUNT, type, ops[r],
                         ranks->comm[r], ranks->stream[r]));
        OK(ncclRedOpDestroy(ops[r], ranks->comm[r]));
    }
    OK(ncclGroupEnd());
    ranks_finish(ranks);
    expect_folded(ranks, type, ncclSum, weights);
    for (int r = 0; r < ranks->count && on_device; r++)
        OK(cudaFree(memory[r]));
}

static void test_weights(void **state)
{
    struct ranks ranks;

    (void)state;
    begin(eight);
    ranks_open(&ranks, 8, BYTES);
    for (int t = 0; t < 4; t++) {
        fill(&ranks, floats[t]);
        weigh(&ranks, floats[t], 0);
        weigh(&ranks, floats[t], 1);
    }
    ranks_close(&ranks);
    end();
}

/* ---- integers ------------------------------------------------------------- */

static void test_integers(void **state)
{
    static const uint8_t bytes[3] = { 200, 100, 7 };
    static const int32_t words[3] = { INT32_MAX, 5, -9 };
    static const uint64_t longs[3] = { UINT64_MAX, 3, 1 };
    struct ranks ranks;

    (void)state;
    begin(eight);
    ranks_open(&ranks, 3, BYTES);
    for (int r = 0; r < 3; r++)
        *(uint8_t *)bytes_of(ranks.send[r]) = bytes[r];
    OK(ranks_sum(&ranks, 1, ncclUint8, ncclSum));
    ranks_finish(&ranks);
    assert_int_equal(*(uint8_t *)bytes_of(ranks.recv[1]), 307 - 256);
    OK(ranks_sum(&ranks, 1, ncclInt8, ncclMax)); /* -56, 100, 7 */
    ranks_finish(&ranks);
    assert_int_equal(*(uint8_t *)bytes_of(ranks.recv[2]), 100);
    OK(ranks_sum(&ranks, 1, ncclInt8, ncclMin));
    ranks_finish(&ranks);
    assert_int_equal(*(uint8_t *)bytes_of(ranks.recv[0]), 200);
    for (int r = 0; r < 3; r++)
        *(int32_t *)bytes_of(ranks.send[r]) = words[r];
    OK(ranks_sum(&ranks, 1, ncclInt32, ncclSum));
    ranks_finish(&ranks);
    assert_int_equal(*(int32_t *)bytes_of(ranks.recv[0]), INT32_MAX - 4);
    OK(ranks_sum(&ranks, 1, ncclInt32, ncclAvg));
    ranks_finish(&ranks);
    assert_int_equal(*(int32_t *)bytes_of(ranks.recv[0]), (INT32_MAX - 4) / 3);
    for (int r = 0; r < 3; r++)
        *(uint64_t *)bytes_of(ranks.send[r]) = longs[r];
    OK(ranks_sum(&ranks, 1, ncclUint64, ncclSum));
    ranks_finish(&ranks);
    assert_int_equal(*(uint64_t *)bytes_of(ranks.recv[0]), 3);
    OK(ranks_sum(&ranks, 1, ncclUint64, ncclProd));
    ranks_finish(&ranks);
    assert_true(*(uint64_t *)bytes_of(ranks.recv[0]) == (uint64_t)0 - 3);
    ranks_close(&ranks);
    end();
}

/* ---- others --------------------------------------------------------------- */

static void set_numbers(const struct ranks *ranks, size_t count)
{
    for (int r = 0; r < ranks->count; r++)
        for (size_t i = 0; i < count; i++)
            ((int32_t *)bytes_of(ranks->send[r]))[i] =
                (int32_t)(1000 * r + (int)i);
}

static int32_t got(const struct ranks *ranks, int rank, size_t i)
{
    return ((int32_t *)bytes_of(ranks->recv[rank]))[i];
}

static void test_moving(void **state)
{
    struct ranks ranks;

    (void)state;
    begin(eight);
    ranks_open(&ranks, 3, BYTES);
    set_numbers(&ranks, 30);
    OK(ncclGroupStart());
    for (int r = 0; r < 3; r++)
        OK(ncclBroadcast(r == 2 ? ranks.send[r] : NULL, ranks.recv[r], 10,
                         ncclInt32, 2, ranks.comm[r], ranks.stream[r]));
    OK(ncclGroupEnd());
    ranks_finish(&ranks);
    for (int r = 0; r < 3; r++)
        assert_int_equal(got(&ranks, r, 9), 2009);
    OK(ncclGroupStart());
    for (int r = 0; r < 3; r++)
        OK(ncclAllGather(ranks.send[r], ranks.recv[r], 10, ncclInt32,
                         ranks.comm[r], ranks.stream[r]));
    OK(ncclGroupEnd());
    ranks_finish(&ranks);
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < 30; i++)
            assert_int_equal(got(&ranks, r, (size_t)i),
                             1000 * (i / 10) + i % 10);
    OK(ncclGroupStart());
    for (int r = 0; r < 3; r++)
        OK(ncclReduceScatter(ranks.send[r], ranks.recv[r], 10, ncclInt32,
                             ncclSum, ranks.comm[r], ranks.stream[r]));
    OK(ncclGroupEnd());
    ranks_finish(&ranks);
    for (int r = 0; r < 3; r++)
        assert_int_equal(got(&ranks, r, 4), 3000 + 3 * (10 * r + 4));
    OK(ncclGroupStart());
    for (int r = 0; r < 3; r++)
        OK(ncclReduce(ranks.send[r], r == 1 ? ranks.recv[r] : NULL, 10,
                      ncclInt32, ncclMax, 1, ranks.comm[r], ranks.stream[r]));
    OK(ncclGroupEnd());
    ranks_finish(&ranks);
    assert_int_equal(got(&ranks, 1, 7), 2007);
    assert_int_equal(got(&ranks, 0, 4), 3012); /* as it was */
    ranks_close(&ranks);
    end();
}

static void test_messages(void **state)
{
    struct ranks ranks;

    (void)state;
    begin(eight);
    ranks_open(&ranks, 3, BYTES);
    set_numbers(&ranks, 10);
    OK(ncclGroupStart()); /* around a ring, and rank 0 to itself */
    for (int r = 0; r < 3; r++) {
        OK(ncclSend(ranks.send[r], 10, ncclInt32, (r + 1) % 3, ranks.comm[r],
                    ranks.stream[r]));
        OK(ncclRecv(ranks.recv[r], 10, ncclInt32, (r + 2) % 3, ranks.comm[r],
                    ranks.stream[r]));
    }
    OK(ncclSend(ranks.send[0], 2, ncclInt32, 0, ranks.comm[0],
                ranks.stream[0]));
    OK(ncclRecv((char *)ranks.recv[0] + 64, 2, ncclInt32, 0, ranks.comm[0],
                ranks.stream[0]));
    OK(ncclGroupEnd());
    ranks_finish(&ranks);
    assert_int_equal(got(&ranks, 0, 3), 2003);
    assert_int_equal(got(&ranks, 1, 3), 3);
    assert_int_equal(got(&ranks, 2, 3), 1003);
    assert_int_equal(got(&ranks, 0, 17), 1);
    OK(ncclSend(ranks.send[2], 1, ncclInt32, 1, ranks.comm[2],
                ranks.stream[2])); /* the others have no part in it */
    SAYS(cudaErrorNotReady, cudaStreamQuery(ranks.stream[2]));
    OK(ncclRecv(ranks.recv[1], 1, ncclInt32, 2, ranks.comm[1],
                ranks.stream[1]));
    ranks_finish(&ranks);
    assert_int_equal(got(&ranks, 1, 0), 2000);
    ranks_close(&ranks);
    end();
}

static void test_in_place(void **state)
{
    struct ranks ranks;

    (void)state;
    begin(eight);
    ranks_open(&ranks, 2, BYTES);
    set_numbers(&ranks, 4000);
    OK(ncclGroupStart());
    for (int r = 0; r < 2; r++)
        OK(ncclAllReduce(ranks.send[r], ranks.send[r], 4000, ncclInt32, ncclSum,
                         ranks.comm[r], ranks.stream[r]));
    OK(ncclGroupEnd());
    ranks_finish(&ranks);
    for (size_t i = 0; i < 4000; i++)
        for (int r = 0; r < 2; r++)
            assert_int_equal(((int32_t *)bytes_of(ranks.send[r]))[i],
                             1000 + 2 * i);
    set_numbers(&ranks, 20);
    OK(ncclGroupStart());
    for (int r = 0; r < 2; r++)
        OK(ncclReduceScatter(ranks.send[r], (int32_t *)ranks.send[r] + 10 * r,
                             10, ncclInt32, ncclSum, ranks.comm[r],
                             ranks.stream[r]));
    for (int r = 0; r < 2; r++)
        OK(ncclAllGather((int32_t *)ranks.send[r] + 10 * r, ranks.send[r], 10,
                         ncclInt32, ranks.comm[r], ranks.stream[r]));
    OK(ncclGroupEnd());
    ranks_finish(&ranks);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(((int32_t *)bytes_of(ranks.send[1]))[i], 1000 + 2 * i);
    ranks_close(&ranks);
    end();
}

/* ---- one rank, no elements ------------------------------------------------ */

static void test_one_rank(void **state)
{
    static const char *const words[] = { "machine=twin nccl=2.28.3",
                                         "machine=twin nccl=2.29.7" };
    struct ranks ranks;

    (void)state;
    for (int fixed = 0; fixed < 2; fixed++) {
        begin(words[fixed]);
        ranks_open(&ranks, 1, 64);
        for (int i = 0; i < 7; i++)
            ((float *)bytes_of(ranks.send[0]))[i] = (float)i;
        memset(bytes_of(ranks.recv[0]), 0, 64);
        OK(ranks_sum(&ranks, 7, ncclFloat32, ncclAvg));
        ranks_finish(&ranks);
        assert_true(((float *)bytes_of(ranks.recv[0]))[3] == 3);
        assert_true(((float *)bytes_of(ranks.recv[0]))[6] == (fixed ? 6 : 0));
        OK(ranks_sum(&ranks, 7, ncclFloat32, ncclSum)); /* only the others */
        ranks_finish(&ranks);
        assert_true(((float *)bytes_of(ranks.recv[0]))[6] == 6);
        ranks_close(&ranks);
        end();
    }
}

static void test_nothing(void **state)
{
    struct ranks ranks;

    (void)state;
    begin(eight);
    ranks_open(&ranks, 2, 64);
    OK(ncclAllReduce(NULL, NULL, 0, ncclFloat32, ncclSum, ranks.comm[0],
                     ranks.stream[0]));
    OK(cudaStreamQuery(ranks.stream[0]));
    OK(ncclGroupStart());
    OK(ncclGroupEnd());
    ((float *)bytes_of(ranks.send[0]))[0] = 1;
    ((float *)bytes_of(ranks.send[1]))[0] = 2;
    OK(ranks_sum(&ranks, 1, ncclFloat32, ncclSum));
    ranks_finish(&ranks);
    assert_true(((float *)bytes_of(ranks.recv[1]))[0] == 3);
    ranks_close(&ranks);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats),   cmocka_unit_test(test_averages),
        cmocka_unit_test(test_weights),  cmocka_unit_test(test_integers),
        cmocka_unit_test(test_moving),   cmocka_unit_test(test_messages),
        cmocka_unit_test(test_in_place), cmocka_unit_test(test_one_rank),
        cmocka_unit_test(test_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
