/* The communication port when something fails: every rank learns the same,
 * nothing wrong is taken for right, nobody hangs, and what can go on does. */
#include "contract/parts.h"

static const int32_t float_types[] = { HDP_F32, HDP_F16, HDP_BF16, HDP_F64 };

static void expect_poison(int32_t size, int32_t dtype)
{
    for (int32_t r = 0; r < size; ++r)
        for (int k = 0; k < 2; ++k)
            for (int64_t i = 0; i < parts[r].elements[k]; ++i)
                if (!isnan(element_get(parts[r].data[k], dtype, i)))
                    fail_msg("rank %d, tensor %d, element %lld: expected NaN, "
                             "got %g",
                             (int)r, k, (long long)i,
                             element_get(parts[r].data[k], dtype, i));
}

/* ---- a rank failed --------------------------------------------------------- */

/* Says its failure the way a member does: recorded on its own thread. */
static void fail_before(struct rank *rank)
{
    if (parts[rank->index].call.status != HDP_OK)
        hdpi_fail(parts[rank->index].call.status, "the function of rank %d",
                  (int)rank->index);
    do_part(rank);
}

static void a_rank_that_failed_before(void **state)
{
    (void)state;
    for (int32_t size = 1; size <= RANKS_MAX; size += 2)
        for (int d = 0; d < 4; ++d) {
            struct ranks all;
            int32_t bad = size / 2;
            ranks_open(&all, size);
            prepare(size, float_types[d]);
            parts[bad].call.status = HDP_ERR_CALLBACK;
            ranks_run(&all, fail_before, NULL);
            for (int32_t r = 0; r < size; ++r)
                if (r == bad)
                    expect(&all.rank[r], HDP_ERR_CALLBACK, -1,
                           "the function of rank");
                else
                    expect(&all.rank[r], HDP_ERR_PEER, bad,
                           "the function of rank");
            expect_poison(size, float_types[d]);
            expect_well(&all);
            ranks_close(&all);
        }
}

static void integers_are_left_alone_by_a_failure(void **state)
{
    struct ranks all;
    (void)state;
    ranks_open(&all, 3);
    prepare(3, HDP_I32);
    parts[1].call.status = HDP_ERR_MEMORY;
    ranks_run(&all, do_part, NULL);
    expect(&all.rank[0], HDP_ERR_PEER, 1, "rank 1");
    expect(&all.rank[1], HDP_ERR_MEMORY, 1, "rank 1");
    expect_untouched(3);
    expect_well(&all);
    ranks_close(&all);
}

static void two_ranks_that_failed(void **state)
{
    struct ranks all;
    (void)state;
    ranks_open(&all, 4);
    prepare(4, HDP_F32);
    parts[1].call.status = HDP_ERR_MEMORY;
    parts[3].call.status = HDP_ERR_DEVICE;
    ranks_run(&all, do_part, NULL);
    assert_int_equal(all.rank[0].status, HDP_ERR_PEER);
    assert_int_equal(all.rank[1].status, HDP_ERR_MEMORY);
    assert_int_equal(all.rank[2].status, HDP_ERR_PEER);
    assert_int_equal(all.rank[3].status, HDP_ERR_DEVICE);
    expect_poison(4, HDP_F32);
    expect_well(&all);
    ranks_close(&all);
}

/* A failed rank need not have buffers; the others' are poisoned. */
static void a_failed_rank_without_buffers(void **state)
{
    struct ranks all;
    (void)state;
    ranks_open(&all, 2);
    prepare(2, HDP_F32);
    parts[1].call.status = HDP_ERR_MEMORY;
    parts[1].call.recv = NULL;
    ranks_run(&all, do_part, NULL);
    expect(&all.rank[0], HDP_ERR_PEER, 1, "rank 1");
    assert_true(isnan(element_get(parts[0].data[0], HDP_F32, COUNT - 1)));
    expect_well(&all);
    ranks_close(&all);
}

static void ready_refuses(void **state)
{
    struct ranks all;
    (void)state;
    ranks_open(&all, 3);
    prepare(3, HDP_F32);
    all.rank[2].fail_ready = HDP_ERR_DEVICE;
    ranks_run(&all, do_part, NULL);
    expect(&all.rank[0], HDP_ERR_PEER, 2, "ready refused on request");
    expect(&all.rank[2], HDP_ERR_DEVICE, -1, "ready refused on request");
    expect_poison(3, HDP_F32);
    all.rank[2].fail_ready = 0;
    expect_well(&all);
    ranks_close(&all);
}

/* Only rank 0 works, so that it is the one whose combine fails. */
static void combine_refuses(void **state)
{
    struct ranks all;
    uint64_t ticket;
    (void)state;
    for (int d = 0; d < 4; ++d) {
        ranks_open(&all, 2);
        prepare(2, float_types[d]);
        all.rank[0].fail_combine = HDP_ERR_DEVICE;
        for (int32_t r = 0; r < 2; ++r)
            assert_int_equal(rank_post(&all.rank[r], &parts[r].call, &ticket),
                             HDP_OK);
        for (int32_t r = 0; r < 2; ++r) {
            all.rank[r].status = rank_wait(&all.rank[r], 1);
            all.rank[r].error = *hdpi_error();
        }
        expect(&all.rank[0], HDP_ERR_DEVICE, -1, "combine refused");
        expect(&all.rank[1], HDP_ERR_PEER, 0, "combine refused");
        expect_poison(2, float_types[d]);
        all.rank[0].fail_combine = 0;
        expect_well(&all);
        ranks_close(&all);
    }
}

/* Several failures in flight: each wait tells the first up to its ticket, and
 * none is lost when the ring went round in between. */
static void failures_in_flight(void **state)
{
    enum { FLIGHT = 150 };
    static struct hdpi_comm_call calls[2][FLIGHT];
    static const int bad[] = { 2, 4, 80 };
    struct ranks all;
    (void)state;
    ranks_open(&all, 2);
    prepare(2, HDP_F32);
    for (int n = 0; n < FLIGHT; ++n)
        for (int32_t r = 0; r < 2; ++r) {
            uint64_t ticket;
            calls[r][n] = parts[r].call;
            for (int k = 0; k < 3; ++k)
                if (r == 1 && n + 1 == bad[k])
                    calls[r][n].status = HDP_ERR_CALLBACK;
            assert_int_equal(rank_post(&all.rank[r], &calls[r][n], &ticket),
                             HDP_OK);
        }
    assert_int_equal(rank_wait(&all.rank[0], 1), HDP_OK);
    assert_int_equal(rank_wait(&all.rank[0], 3), HDP_ERR_PEER);
    assert_int_equal(rank_wait(&all.rank[0], 4), HDP_ERR_PEER);
    assert_int_equal(rank_wait(&all.rank[0], 90), HDP_ERR_PEER);
    assert_int_equal(rank_wait(&all.rank[0], FLIGHT), HDP_OK);
    assert_int_equal(rank_wait(&all.rank[1], FLIGHT), HDP_ERR_CALLBACK);
    assert_int_equal(rank_wait(&all.rank[1], FLIGHT), HDP_OK);
    expect_well(&all);
    ranks_close(&all);
}

/* ---- ranks that call different things --------------------------------------- */

static void expect_diverged(struct ranks *all, const char *words)
{
    ranks_run(all, do_part, NULL);
    for (int32_t r = 0; r < 3; ++r)
        expect(&all->rank[r], HDP_ERR_DIVERGED, 2, words);
    for (int32_t r = 0; r < 3; ++r)
        if (!strstr(all->rank[r].error.text, "ranks 0 and 2"))
            fail_msg("expected both ranks in \"%s\"", all->rank[r].error.text);
    expect_untouched(3);
    prepare(3, HDP_F32);
}

static void different_calls_are_refused(void **state)
{
    struct ranks all;
    (void)state;
    ranks_open(&all, 3);
    prepare(3, HDP_F32);
    parts[2].call.kind = HDPI_COMM_BARRIER;
    expect_diverged(&all, "kind 1 and 3");
    parts[2].call.kind = HDPI_COMM_BROADCAST;
    expect_diverged(&all, "kind 1 and 2");
    parts[2].call.dtype = HDP_I32;
    expect_diverged(&all, "dtype 1 and 6");
    parts[2].call.op = HDP_OP_MAX;
    expect_diverged(&all, "op 1 and 3");
    parts[2].call.tensor_count = 1;
    expect_diverged(&all, "tensor_count 2 and 1");
    parts[2].elements[1] = 2;
    expect_diverged(&all, "elements[1] 3 and 2");
    parts[2].call.total = 99;
    expect_diverged(&all, "total 3 and 99");
    for (int32_t r = 0; r < 3; ++r) {
        parts[r].call.kind = HDPI_COMM_BROADCAST;
        parts[r].call.root = r / 2;
    }
    expect_diverged(&all, "root 0 and 1");
    expect_well(&all);
    ranks_close(&all);
}

static void nothing_to_reduce(void **state)
{
    struct ranks all;
    (void)state;
    ranks_open(&all, 2);
    for (int32_t op = HDP_OP_MEAN; op <= HDP_OP_SUM_OVER_TOTAL; ++op) {
        prepare(2, HDP_F32);
        for (int32_t r = 0; r < 2; ++r) {
            parts[r].call.op = op;
            parts[r].call.count = parts[r].call.total = 0;
        }
        ranks_run(&all, do_part, NULL);
        for (int32_t r = 0; r < 2; ++r)
            expect(&all.rank[r], HDP_ERR_STATE, -1, "nothing to reduce");
        expect_untouched(2);
    }
    prepare(2, HDP_F32);
    parts[0].call.total = parts[1].call.total = 7;
    ranks_run(&all, do_part, NULL);
    for (int32_t r = 0; r < 2; ++r)
        expect(&all.rank[r], HDP_ERR_ARGUMENT, -1,
               "total is 7, the counts add up to 2");
    expect_untouched(2);
    expect_well(&all);
    ranks_close(&all);
}

static void refuse(struct ranks *all, hdp_status status, const char *words)
{
    uint64_t ticket = 9;
    struct rank *rank = &all->rank[0];
    rank->status = rank_post(rank, &parts[0].call, &ticket);
    rank->error = *hdpi_error();
    expect(rank, status, -1, words);
    assert_int_equal(ticket, 0);
    prepare(2, HDP_F32);
}

/* A refused call was not posted: the rank comes again with a better one. */
static void bad_arguments_cost_nothing(void **state)
{
    struct ranks all;
    (void)state;
    ranks_open(&all, 2);
    prepare(2, HDP_F32);
    parts[0].call.kind = 7;
    refuse(&all, HDP_ERR_ARGUMENT, "kind is 7");
    parts[0].call.dtype = 42;
    refuse(&all, HDP_ERR_ARGUMENT, "dtype is 42");
    parts[0].call.count = -1;
    refuse(&all, HDP_ERR_ARGUMENT, "count is -1");
    parts[0].call.tensor_count = -1;
    refuse(&all, HDP_ERR_ARGUMENT, "tensor_count is -1");
    parts[0].elements[0] = -4;
    refuse(&all, HDP_ERR_ARGUMENT, "elements");
    parts[0].elements[0] = INT64_MAX / 2;
    refuse(&all, HDP_ERR_ARGUMENT, "bytes of a collective");
    parts[0].call.elements = NULL;
    refuse(&all, HDP_ERR_ARGUMENT, "elements is NULL");
    parts[0].call.recv = NULL;
    refuse(&all, HDP_ERR_ARGUMENT, "recv is NULL");
    parts[0].call.dtype = HDP_I64;
    parts[0].call.op = HDP_OP_MEAN;
    refuse(&all, HDP_ERR_UNSUPPORTED, "op 0 of dtype 7");
    parts[0].call.kind = HDPI_COMM_BROADCAST;
    parts[0].call.root = 2;
    refuse(&all, HDP_ERR_ARGUMENT, "root is 2 of 2 ranks");
    assert_int_equal(rank_wait(&all.rank[0], 1), HDP_ERR_ARGUMENT);
    expect_well(&all);
    ranks_close(&all);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_that_failed_before),
        cmocka_unit_test(integers_are_left_alone_by_a_failure),
        cmocka_unit_test(two_ranks_that_failed),
        cmocka_unit_test(a_failed_rank_without_buffers),
        cmocka_unit_test(ready_refuses),
        cmocka_unit_test(combine_refuses),
        cmocka_unit_test(failures_in_flight),
        cmocka_unit_test(different_calls_are_refused),
        cmocka_unit_test(nothing_to_reduce),
        cmocka_unit_test(bad_arguments_cost_nothing),
    };
    int code = adapter_pick(argc, argv);
    return code ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
