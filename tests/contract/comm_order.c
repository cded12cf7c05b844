/* The communication port, the order of things: many calls in flight, one
 * thread for all ranks, barriers, and progress without waiting. */
#include <stdatomic.h>
#include "contract/ranks.h"

enum { FLIGHT = 200 };

/* An all-reduce of one tensor in place. */
static struct hdpi_comm_call reduce_call(int32_t dtype, int32_t op,
                                         const int64_t *elements,
                                         void *const *recv)
{
    return (struct hdpi_comm_call){ .kind = HDPI_COMM_REDUCE,
                                    .dtype = dtype,
                                    .op = op,
                                    .tensor_count = 1,
                                    .elements = elements,
                                    .recv = recv,
                                    .count = 1 };
}

/* ---- many in flight -------------------------------------------------------- */

/* Every collective works on the result of the one before, as in a queue: n
 * sums over s ranks of 1 are s^n, modulo 2^32. */
struct flight {
    int64_t elements;
    int32_t *data;
    void *recv[1];
    struct hdpi_comm_call calls[FLIGHT];
};

static uint32_t power(uint32_t base, int exponent)
{
    uint32_t result = 1;
    while (exponent-- > 0)
        result *= base;
    return result;
}

static void take_off(struct flight *flight, int64_t elements)
{
    flight->elements = elements;
    flight->data = malloc((size_t)elements * sizeof(int32_t));
    assert_non_null(flight->data);
    flight->recv[0] = flight->data;
    for (int64_t i = 0; i < elements; ++i)
        flight->data[i] = 1;
    for (int n = 0; n < FLIGHT; ++n)
        flight->calls[n] =
            reduce_call(HDP_I32, HDP_OP_SUM, &flight->elements, flight->recv);
}

static void land(struct flight *flight, int32_t size)
{
    uint32_t wanted = power((uint32_t)size, FLIGHT);
    for (int64_t i = 0; i < flight->elements; ++i)
        if ((uint32_t)flight->data[i] != wanted)
            fail_msg("%d ranks, element %lld: expected %u, got %u", (int)size,
                     (long long)i, wanted, (uint32_t)flight->data[i]);
    free(flight->data);
}

static void fly(struct rank *rank)
{
    struct flight *flight = (struct flight *)rank->all->arg + rank->index;
    uint64_t ticket = 0;
    for (int n = 0; n < FLIGHT && rank->status == HDP_OK; ++n) {
        uint64_t before = ticket;
        rank->status = rank_post(rank, &flight->calls[n], &ticket);
        if (rank->status == HDP_OK && ticket != before + 1)
            rank->status = HDP_ERR_INTERNAL;
    }
    if (rank->status == HDP_OK)
        rank->status = rank_wait(rank, ticket);
}

static void two_hundred_in_flight(void **state)
{
    static struct flight flights[RANKS_MAX];
    const int64_t elements[] = { 5, 3000, 20000 };
    (void)state;
    for (int k = 0; k < 3; ++k)
        for (int32_t size = 1; size <= RANKS_MAX; size += k == 0 ? 1 : 3) {
            struct ranks all;
            ranks_open(&all, size);
            for (int32_t r = 0; r < size; ++r)
                take_off(&flights[r], elements[k]);
            ranks_run(&all, fly, flights);
            expect_ok(&all);
            for (int32_t r = 0; r < size; ++r)
                land(&flights[r], size);
            ranks_close(&all);
        }
}

/* One thread posts for all ranks in order, then waits for each. */
static void one_thread_for_all_ranks(void **state)
{
    static struct flight flights[RANKS_MAX];
    (void)state;
    for (int32_t size = 1; size <= RANKS_MAX; ++size) {
        struct ranks all;
        ranks_open(&all, size);
        for (int32_t r = 0; r < size; ++r)
            take_off(&flights[r], size % 4 ? 7 : 20000);
        for (int n = 0; n < FLIGHT; ++n)
            for (int32_t r = 0; r < size; ++r) {
                uint64_t ticket;
                assert_int_equal(
                    rank_post(&all.rank[r], &flights[r].calls[n], &ticket),
                    HDP_OK);
                assert_int_equal(ticket, n + 1);
            }
        for (int32_t r = 0; r < size; ++r) {
            assert_int_equal(rank_wait(&all.rank[r], FLIGHT), HDP_OK);
            land(&flights[r], size);
        }
        ranks_close(&all);
    }
}

/* ---- progress without waiting ---------------------------------------------- */

static void poll_makes_progress(void **state)
{
    static struct flight flights[2];
    struct ranks all;
    uint64_t ticket, reached = 1;
    (void)state;
    ranks_open(&all, 2);
    for (int32_t r = 0; r < 2; ++r)
        take_off(&flights[r], 300000);
    for (int n = 0; n < 3; ++n)
        assert_int_equal(rank_post(&all.rank[0], &flights[0].calls[n], &ticket),
                         HDP_OK);
    assert_int_equal(ops->poll(all.rank[0].comm, &reached), HDP_OK);
    assert_int_equal(reached, 0);
    for (int n = 0; n < 2; ++n)
        assert_int_equal(rank_post(&all.rank[1], &flights[1].calls[n], &ticket),
                         HDP_OK);
    assert_int_equal(ops->poll(all.rank[0].comm, &reached), HDP_OK);
    assert_int_equal(reached, 2);
    assert_int_equal(flights[0].data[299999], 4);
    assert_int_equal(flights[1].data[299999], 4);
    assert_int_equal(rank_post(&all.rank[1], &flights[1].calls[2], &ticket),
                     HDP_OK);
    assert_int_equal(ops->poll(all.rank[1].comm, &reached), HDP_OK);
    assert_int_equal(reached, 3);
    for (int32_t r = 0; r < 2; ++r) {
        assert_int_equal(rank_wait(&all.rank[r], 3), HDP_OK);
        assert_int_equal(rank_wait(&all.rank[r], 1), HDP_OK);
        free(flights[r].data);
    }
    ranks_close(&all);
}

/* Everybody who waits takes a share: with two ranks and much data neither is
 * idle. Who does what is chance, so a few tries are allowed. */
static void reduce_large(struct rank *rank)
{
    struct flight *flight = (struct flight *)rank->all->arg + rank->index;
    rank->status = rank_do(rank, &flight->calls[0]);
}

static void all_ranks_share_the_work(void **state)
{
    static struct flight flights[2];
    int shared = 0;
    (void)state;
    for (int tries = 0; tries < 50 && !shared; ++tries) {
        struct ranks all;
        ranks_open(&all, 2);
        for (int32_t r = 0; r < 2; ++r)
            take_off(&flights[r], 2 << 20);
        ranks_run(&all, reduce_large, flights);
        expect_ok(&all);
        shared = all.rank[0].combined > 0 && all.rank[1].combined > 0;
        for (int32_t r = 0; r < 2; ++r)
            free(flights[r].data);
        ranks_close(&all);
    }
    assert_true(shared);
}

/* ---- barrier --------------------------------------------------------------- */

static _Atomic int32_t arrived;

static void meet(struct rank *rank)
{
    for (int32_t round = 1; round <= 500 && rank->status == HDP_OK; ++round) {
        struct hdpi_comm_call call = { .kind = HDPI_COMM_BARRIER };
        atomic_fetch_add(&arrived, 1);
        rank->status = rank_do(rank, &call);
        if (atomic_load(&arrived) < round * rank->all->size)
            rank->status = HDP_ERR_INTERNAL; /* left before all had come */
    }
}

static void nobody_leaves_a_barrier_early(void **state)
{
    (void)state;
    for (int32_t size = 1; size <= RANKS_MAX; ++size) {
        struct ranks all;
        atomic_store(&arrived, 0);
        ranks_open(&all, size);
        ranks_run(&all, meet, NULL);
        expect_ok(&all);
        ranks_close(&all);
    }
}

/* ---- broadcast ------------------------------------------------------------- */

static void broadcast_body(struct rank *rank)
{
    enum { COUNT = 50003 };
    uint32_t *data = malloc(COUNT * 4), *own = malloc(COUNT * 4);
    int64_t elements[2] = { 3, COUNT - 3 };
    rank->status = data && own ? HDP_OK : HDP_ERR_MEMORY;
    for (int32_t root = 0; rank->status == HDP_OK && root < rank->all->size;
         ++root)
        for (int in_place = 0; in_place < 2; ++in_place) {
            const void *send[2] = { own, own + 3 };
            void *recv[2] = { data, data + 3 };
            struct hdpi_comm_call call = { .kind = HDPI_COMM_BROADCAST,
                                           .dtype = HDP_F32,
                                           .root = root,
                                           .tensor_count = 2,
                                           .elements = elements,
                                           .send = in_place ? NULL : send,
                                           .recv = recv };
            uint32_t *from = in_place ? data : own;
            for (uint32_t i = 0; i < COUNT; ++i) {
                data[i] = i;
                /* signalling NaNs with payloads: the bits must survive */
                from[i] = 0x7f800000u + i + 7u * (uint32_t)rank->index + 1u;
            }
            if (rank_do(rank, &call) != HDP_OK)
                rank->status = HDP_ERR_INTERNAL;
            for (uint32_t i = 0; i < COUNT; ++i)
                if (data[i] != 0x7f800000u + i + 7u * (uint32_t)root + 1u)
                    rank->status = HDP_ERR_INTERNAL;
        }
    free(data);
    free(own);
}

static void broadcast_copies_bits(void **state)
{
    (void)state;
    for (int32_t size = 1; size <= RANKS_MAX; size = size * 2 + 1) {
        struct ranks all;
        ranks_open(&all, size);
        ranks_run(&all, broadcast_body, NULL);
        expect_ok(&all);
        ranks_close(&all);
    }
}

/* ---- at random -------------------------------------------------------------- */

/* The same random course on every rank: sizes from nothing to some chunks,
 * waits now and then, all three kinds mixed. */
static void wander(struct rank *rank)
{
    enum { MOST = 60000, STEPS = 400, OPEN = 20 };
    struct hdpi_comm_call calls[OPEN];
    int64_t elements[OPEN];
    void *recv[OPEN][1];
    float *data = malloc(sizeof(float) * OPEN * MOST);
    uint64_t course = 777, ticket = 0;
    float wanted[OPEN];
    int open = 0;
    rank->status = data ? HDP_OK : HDP_ERR_MEMORY;
    for (int step = 0; step < STEPS && rank->status == HDP_OK; ++step) {
        uint64_t dice = noise(&course);
        int32_t root = (int32_t)(dice >> 8) % rank->all->size;
        float *mine = data + (size_t)open * MOST;
        elements[open] = (int64_t)(dice >> 20) % (dice % 3 ? 500 : MOST);
        recv[open][0] = mine;
        calls[open] =
            reduce_call(HDP_F32, HDP_OP_MAX, &elements[open], recv[open]);
        calls[open].kind = dice % 16 ? HDPI_COMM_REDUCE : HDPI_COMM_BROADCAST;
        calls[open].root = root < 0 ? 0 : root;
        wanted[open] = (float)(step + (dice % 16 ? rank->all->size - 1
                                                 : calls[open].root));
        for (int64_t i = 0; i < elements[open]; ++i)
            mine[i] = (float)(step + rank->index);
        rank->status = rank_post(rank, &calls[open++], &ticket);
        if (rank->status != HDP_OK || (dice % 7 && open < OPEN))
            continue;
        rank->status = rank_wait(rank, ticket);
        while (rank->status == HDP_OK && open-- > 0)
            for (int64_t i = 0; i < elements[open]; ++i)
                if (data[(size_t)open * MOST + (size_t)i] != wanted[open])
                    rank->status = HDP_ERR_INTERNAL;
        open = 0;
    }
    if (rank->status == HDP_OK)
        rank->status = rank_wait(rank, ticket);
    free(data);
}

static void a_random_course(void **state)
{
    (void)state;
    for (int32_t size = 2; size <= RANKS_MAX; size += 3) {
        struct ranks all;
        ranks_open(&all, size);
        ranks_run(&all, wander, NULL);
        expect_ok(&all);
        ranks_close(&all);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_hundred_in_flight),
        cmocka_unit_test(one_thread_for_all_ranks),
        cmocka_unit_test(poll_makes_progress),
        cmocka_unit_test(all_ranks_share_the_work),
        cmocka_unit_test(nobody_leaves_a_barrier_early),
        cmocka_unit_test(broadcast_copies_bits),
        cmocka_unit_test(a_random_course),
    };
    int code = adapter_pick(argc, argv);
    return code ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
