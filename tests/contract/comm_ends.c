/* The communication port when it ends early: a rank that does not come, an
 * abort, a close while others are inside. Nobody hangs and all are told. */
#include <stdatomic.h>
#include "contract/parts.h"

/* ---- ranks that do not come -------------------------------------------------- */

static int64_t limit_ns; /* of the test's waits */

static void wait_with_limit(struct rank *rank)
{
    uint64_t ticket;
    if (rank->index == 2)
        return; /* does not come */
    rank->status = rank_post(rank, &parts[rank->index].call, &ticket);
    if (rank->status == HDP_OK)
        rank->status =
            ops->wait(rank->comm, ticket, hdpi_deadline_ns(limit_ns));
}

static void a_rank_that_does_not_come(void **state)
{
    struct ranks all;
    int64_t start_ns, took_ns;
    uint64_t ticket;
    (void)state;
    limit_ns = 200000000;
    ranks_open(&all, 4);
    expect_well(&all);
    prepare(4, HDP_F32);
    start_ns = hdpi_clock_ns();
    ranks_run(&all, wait_with_limit, NULL);
    took_ns = hdpi_clock_ns() - start_ns;
    assert_true(took_ns >= limit_ns && took_ns < limit_ns + 5 * SECOND_NS);
    for (int32_t r = 0; r < 4; ++r)
        if (r != 2)
            expect(&all.rank[r], HDP_ERR_TIMEOUT, 2,
                   "rank 2 did not come to collective 2");
    expect_untouched(4);
    /* Dead: the late rank and later calls learn the same at once. */
    for (int32_t r = 0; r < 4; ++r) {
        all.rank[r].status = rank_post(&all.rank[r], &parts[r].call, &ticket);
        all.rank[r].error = *hdpi_error();
        expect(&all.rank[r], HDP_ERR_TIMEOUT, 2, "rank 2 did not come");
    }
    assert_int_equal(rank_wait(&all.rank[2], 1), HDP_OK); /* it was done */
    ranks_close(&all);
}

/* The ring fills while a rank is away: post waits, to its deadline. */
static void a_full_ring_times_out(void **state)
{
    struct ranks all;
    hdp_status status = HDP_OK;
    uint64_t ticket;
    int posted = 0;
    (void)state;
    ranks_open(&all, 2);
    prepare(2, HDP_F32);
    while (status == HDP_OK && posted < 1000) {
        status = ops->post(all.rank[0].comm, &parts[0].call,
                           hdpi_deadline_ns(20000000), &ticket);
        posted += status == HDP_OK;
    }
    assert_int_equal(status, HDP_ERR_TIMEOUT);
    assert_int_equal(hdpi_error()->rank, 1);
    assert_true(posted >= 64);
    ranks_close(&all);
}

/* ---- abort and close --------------------------------------------------------- */

static _Atomic int32_t waiting;

static void wait_for_ever(struct rank *rank)
{
    uint64_t ticket;
    rank->status = rank_post(rank, &parts[rank->index].call, &ticket);
    atomic_fetch_add(&waiting, 1);
    if (rank->status == HDP_OK)
        rank->status = ops->wait(rank->comm, ticket, INT64_MAX);
}

/* Rank 0's thread is the one that acts, once the others wait (or sleep). */
static void abort_when_they_wait(struct rank *rank)
{
    struct timespec nap = { 0, 5000000 };
    if (rank->index != 0) {
        wait_for_ever(rank);
        return;
    }
    while (atomic_load(&waiting) < rank->all->size - 1)
        nanosleep(&nap, NULL);
    nanosleep(&nap, NULL);
    ops->abort(rank->comm);
    wait_for_ever(rank);
}

static void abort_wakes_everybody(void **state)
{
    (void)state;
    for (int32_t size = 1; size <= RANKS_MAX; size += 3) {
        struct ranks all;
        uint64_t done;
        atomic_store(&waiting, 0);
        ranks_open(&all, size);
        expect_well(&all);
        prepare(size, HDP_F32);
        ranks_run(&all, abort_when_they_wait, NULL);
        for (int32_t r = 0; r < size; ++r)
            expect(&all.rank[r], HDP_ERR_STATE, -1, "aborted");
        assert_int_equal(rank_wait(&all.rank[0], 1), HDP_ERR_STATE);
        assert_int_equal(ops->poll(all.rank[0].comm, &done), HDP_ERR_STATE);
        ops->abort(all.rank[0].comm);
        expect_untouched(size);
        ranks_close(&all);
    }
}

static void close_when_they_wait(struct rank *rank)
{
    struct timespec nap = { 0, 5000000 };
    if (rank->index != 0) {
        wait_for_ever(rank);
        return;
    }
    while (atomic_load(&waiting) < rank->all->size - 1)
        nanosleep(&nap, NULL);
    hdpi_comm_close(rank->comm);
    rank->comm = NULL;
}

static void close_while_peers_are_inside(void **state)
{
    struct ranks all;
    (void)state;
    atomic_store(&waiting, 0);
    ranks_open(&all, 3);
    prepare(3, HDP_F32);
    ranks_run(&all, close_when_they_wait, NULL);
    for (int32_t r = 1; r < 3; ++r)
        expect(&all.rank[r], HDP_ERR_STATE, 0, "rank 0 closed");
    expect_untouched(3);
    ranks_close(&all);
}

static void close_with_calls_pending(void **state)
{
    struct ranks all;
    uint64_t ticket;
    (void)state;
    ranks_open(&all, 2);
    prepare(2, HDP_F32);
    assert_int_equal(rank_post(&all.rank[0], &parts[0].call, &ticket), HDP_OK);
    hdpi_comm_close(all.rank[0].comm);
    all.rank[0].comm = NULL;
    all.rank[1].status = rank_post(&all.rank[1], &parts[1].call, &ticket);
    all.rank[1].error = *hdpi_error();
    expect(&all.rank[1], HDP_ERR_STATE, 0, "pending");
    ranks_close(&all);
}

/* ---- the table ---------------------------------------------------------------- */

static void open_is_all_or_none(void **state)
{
    const struct hdpi_comm_ops *const *all = hdpi_comm_adapters();
    const char *const names[] = { "local", "nccl", "world" };
    struct hdpi_comm_member tables[2];
    struct hdpi_comm *comms[2];
    (void)state;
    memset(tables, 0, sizeof tables);
    for (int i = 0; i < 3; ++i) {
        assert_non_null(all[i]);
        assert_string_equal(all[i]->name, names[i]);
        assert_ptr_equal(hdpi_comm_adapter(all[i]->engine), all[i]);
        if (i == 0)
            continue;
        comms[0] = comms[1] = (struct hdpi_comm *)&comms;
        assert_int_equal(hdpi_comm_open_all(comms, 2, all[i], tables),
                         HDP_ERR_UNSUPPORTED);
        assert_true(strlen(hdp_last_error()) > 20);
        assert_null(comms[0]);
        assert_null(comms[1]);
    }
    assert_null(all[3]);
    assert_null(hdpi_comm_adapter(77));
    assert_int_equal(hdpi_comm_open_all(comms, 0, ops, tables),
                     HDP_ERR_ARGUMENT);
    hdpi_comm_close(NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_that_does_not_come),
        cmocka_unit_test(a_full_ring_times_out),
        cmocka_unit_test(abort_wakes_everybody),
        cmocka_unit_test(close_while_peers_are_inside),
        cmocka_unit_test(close_with_calls_pending),
        cmocka_unit_test(open_is_all_or_none),
    };
    int code = adapter_pick(argc, argv);
    return code ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
