/* One all-reduce a rank that a test may spoil, and what may be left of it. */
#ifndef HDP_TEST_PARTS_H
#define HDP_TEST_PARTS_H
#include "contract/ranks.h"

enum { COUNT = 40000 };

struct part {
    int64_t elements[2];
    char data[2][COUNT * 8], before[2][COUNT * 8];
    void *recv[2];
    struct hdpi_comm_call call;
};

static struct part parts[RANKS_MAX];

static inline void prepare(int32_t size, int32_t dtype)
{
    for (int32_t r = 0; r < size; ++r) {
        struct part *part = &parts[r];
        part->elements[0] = COUNT;
        part->elements[1] = 3;
        for (int k = 0; k < 2; ++k) {
            part->recv[k] = part->data[k];
            for (int64_t i = 0; i < part->elements[k]; ++i)
                element_set(part->data[k], dtype, i, r + 1);
        }
        part->call = (struct hdpi_comm_call){ .kind = HDPI_COMM_REDUCE,
                                              .dtype = dtype,
                                              .op = HDP_OP_SUM,
                                              .tensor_count = 2,
                                              .elements = part->elements,
                                              .recv = part->recv,
                                              .count = 1,
                                              .total = size };
        memcpy(part->before, part->data, sizeof part->data);
    }
}

static inline void do_part(struct rank *rank)
{
    rank->status = rank_do(rank, &parts[rank->index].call);
}

static inline void expect(const struct rank *rank, hdp_status status,
                          int32_t culprit, const char *words)
{
    if (rank->status != status)
        fail_msg("rank %d: expected status %d, got %d: %s", (int)rank->index,
                 (int)status, (int)rank->status, rank->error.text);
    assert_int_equal(rank->error.status, status);
    assert_int_equal(rank->error.rank, culprit);
    if (!strstr(rank->error.text, words))
        fail_msg("rank %d: expected \"%s\" in \"%s\"", (int)rank->index, words,
                 rank->error.text);
}

static inline void expect_untouched(int32_t size)
{
    for (int32_t r = 0; r < size; ++r)
        assert_memory_equal(parts[r].data, parts[r].before,
                            sizeof parts[r].data);
}

/* The communicator works on: the next collective is right on every rank. */
static inline void expect_well(struct ranks *all)
{
    double wanted = all->size * (all->size + 1) / 2;
    prepare(all->size, HDP_F32);
    ranks_run(all, do_part, NULL);
    expect_ok(all);
    for (int32_t r = 0; r < all->size; ++r)
        for (int64_t i = 0; i < COUNT; ++i)
            assert_true(element_get(parts[r].data[0], HDP_F32, i) == wanted);
}
#endif
