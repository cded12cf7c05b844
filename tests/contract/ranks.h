/* What the suites of the communication port share: some ranks opened through
 * the adapter under test, a thread for each, and elements as numbers. */
#ifndef HDP_TEST_RANKS_H
#define HDP_TEST_RANKS_H
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "base/clock.h"
#include "comm/comm.h"
#include "kernels.h"

enum { RANKS_MAX = 8, TENSORS_MAX = 400, SKIPPED = 77 };

static const int64_t SECOND_NS = 1000000000;
static const struct hdpi_comm_ops *ops;

/* One rank as a member would be: its calls, and faults on demand. */
struct rank {
    struct ranks *all;
    int32_t index;
    struct hdpi_comm *comm;
    int32_t combined;     /* chunks this member combined */
    int32_t fail_combine; /* status of the next combine; 0: well */
    int32_t fail_ready;
    hdp_status status; /* what the thread ended with */
    hdp_error error;
    pthread_t thread;
};

struct ranks {
    int32_t size;
    struct rank rank[RANKS_MAX];
    void (*body)(struct rank *rank);
    void *arg;
};

static inline hdp_status member_combine(void *member,
                                        const struct hdpk_combine *job)
{
    struct rank *rank = member;
    rank->combined++;
    if (rank->fail_combine)
        return hdpi_fail(rank->fail_combine, "combine refused on request");
    hdpk_combine(job);
    return HDP_OK;
}

static inline hdp_status member_ready(void *member)
{
    struct rank *rank = member;
    if (rank->fail_ready)
        return hdpi_fail(rank->fail_ready, "ready refused on request");
    return HDP_OK;
}

static inline void ranks_open(struct ranks *all, int32_t size)
{
    struct hdpi_comm *comms[RANKS_MAX];
    struct hdpi_comm_member tables[RANKS_MAX];
    memset(all, 0, sizeof *all);
    memset(tables, 0, sizeof tables);
    all->size = size;
    for (int32_t r = 0; r < size; ++r) {
        all->rank[r].all = all;
        all->rank[r].index = r;
        tables[r] = (struct hdpi_comm_member){ .member = &all->rank[r],
                                               .combine = member_combine,
                                               .ready = member_ready,
                                               .patience = { .look_ns = 50000,
                                                             .yield = 1 } };
    }
    if (hdpi_comm_open_all(comms, size, ops, tables) != HDP_OK)
        fail_msg("open of %d ranks: %s", (int)size, hdp_last_error());
    for (int32_t r = 0; r < size; ++r)
        all->rank[r].comm = comms[r];
}

static inline void ranks_close(struct ranks *all)
{
    for (int32_t r = 0; r < all->size; ++r) {
        hdpi_comm_close(all->rank[r].comm);
        all->rank[r].comm = NULL;
    }
}

static inline void *rank_main(void *arg)
{
    struct rank *rank = arg;
    rank->all->body(rank);
    rank->error = *hdpi_error();
    return NULL;
}

/* Runs body once a rank, each on a thread of its own. */
static inline void ranks_run(struct ranks *all, void (*body)(struct rank *),
                             void *arg)
{
    all->body = body;
    all->arg = arg;
    for (int32_t r = 0; r < all->size; ++r)
        assert_int_equal(pthread_create(&all->rank[r].thread, NULL, rank_main,
                                        &all->rank[r]),
                         0);
    for (int32_t r = 0; r < all->size; ++r)
        assert_int_equal(pthread_join(all->rank[r].thread, NULL), 0);
}

static inline hdp_status
rank_post(struct rank *rank, struct hdpi_comm_call *call, uint64_t *ticket)
{
    return ops->post(rank->comm, call, hdpi_deadline_ns(50 * SECOND_NS),
                     ticket);
}

static inline hdp_status rank_wait(struct rank *rank, uint64_t ticket)
{
    return ops->wait(rank->comm, ticket, hdpi_deadline_ns(50 * SECOND_NS));
}

/* Post and wait; the status of the wait, or of a post that posted nothing. */
static inline hdp_status rank_do(struct rank *rank, struct hdpi_comm_call *call)
{
    uint64_t ticket;
    hdp_status status = rank_post(rank, call, &ticket);
    return ticket ? rank_wait(rank, ticket) : status;
}

static inline void expect_ok(struct ranks *all)
{
    for (int32_t r = 0; r < all->size; ++r)
        if (all->rank[r].status != HDP_OK)
            fail_msg("rank %d of %d: expected success, got %d: %s", (int)r,
                     (int)all->size, (int)all->rank[r].status,
                     all->rank[r].error.text);
}

/* ---- random numbers and elements ------------------------------------------ */

static inline uint64_t noise(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static inline double element_get(const void *data, int32_t dtype, int64_t i)
{
    switch (dtype) {
    case HDP_F64:
        return ((const double *)data)[i];
    case HDP_F16:
        return hdpk_from_f16(((const uint16_t *)data)[i]);
    case HDP_BF16:
        return hdpk_from_bf16(((const uint16_t *)data)[i]);
    case HDP_I32:
        return ((const int32_t *)data)[i];
    case HDP_I64:
        return (double)((const int64_t *)data)[i];
    case HDP_U8:
        return ((const uint8_t *)data)[i];
    case HDP_I8:
        return ((const int8_t *)data)[i];
    default:
        return (double)((const float *)data)[i];
    }
}

static inline void element_set(void *data, int32_t dtype, int64_t i,
                               double value)
{
    switch (dtype) {
    case HDP_F64:
        ((double *)data)[i] = value;
        break;
    case HDP_F16:
        ((uint16_t *)data)[i] = hdpk_to_f16(value);
        break;
    case HDP_BF16:
        ((uint16_t *)data)[i] = hdpk_to_bf16(value);
        break;
    case HDP_I32:
        ((int32_t *)data)[i] = (int32_t)value;
        break;
    case HDP_I64:
        ((int64_t *)data)[i] = (int64_t)value;
        break;
    case HDP_U8:
        ((uint8_t *)data)[i] = (uint8_t)value;
        break;
    case HDP_I8:
        ((int8_t *)data)[i] = (int8_t)value;
        break;
    default:
        ((float *)data)[i] = (float)value;
        break;
    }
}

static inline int is_integer(int32_t dtype)
{
    return dtype >= HDP_I32;
}

/* Picks the adapter named by the argument. SKIPPED where this build's entry
 * refuses, with its own reason. */
static inline int adapter_pick(int argc, char **argv)
{
    const struct hdpi_comm_ops *const *all = hdpi_comm_adapters();
    const char *name = argc > 1 ? argv[1] : "local";
    void *id = NULL;
    for (; *all && strcmp((*all)->name, name) != 0; ++all)
        ;
    if (!*all) {
        printf("no adapter of the name %s\n", name);
        return 2;
    }
    ops = *all;
    if (ops->make_id(&id, 2) != HDP_OK) {
        printf("skipped: %s: %s\n", name, hdp_last_error());
        return SKIPPED;
    }
    ops->release_id(id);
    return 0;
}
#endif
