/* More than 2^31 elements in one collective: 2^31 + 5 of one byte on two
 * members, in place. Needs 5 GiB, so it asks first, and an optimised build. */
#include <sys/mman.h>
#include "contract/ranks.h"

static const int64_t ELEMENTS = (1LL << 31) + 5;
static const int64_t NEEDED_BYTES = 5LL << 30;

/* What both members' combines were given. */
struct large {
    int8_t *data[2];
    int64_t bytes[2], last[2];
};

static int8_t value_of(int32_t rank, int64_t i)
{
    return (int8_t)(rank == 0 ? i * 31 + (i >> 24) : (i >> 7) + 3);
}

/* Large pages, or the kernel's zeroing of small ones takes most of the time. */
static int8_t *room(void)
{
    size_t page = 2 << 20;
    size_t bytes = ((size_t)ELEMENTS / page + 1) * page;
    void *memory = aligned_alloc(page, bytes);
    assert_non_null(memory);
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

static int64_t available_bytes(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    long long kib = -1;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %lld kB", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib * 1024;
}

static hdp_status counted_combine(void *member, const struct hdpk_combine *job)
{
    struct rank *rank = member;
    struct large *large = rank->all->arg;
    int64_t end = job->first + job->count;
    large->bytes[rank->index] +=
        job->count * (int64_t)hdpk_dtype_bytes(job->dtype);
    if (large->last[rank->index] < end)
        large->last[rank->index] = end;
    hdpk_combine(job);
    return HDP_OK;
}

static void reduce(struct rank *rank)
{
    struct large *large = rank->all->arg;
    int32_t me = rank->index;
    void *recv[1] = { large->data[me] };
    struct hdpi_comm_call call = { .kind = HDPI_COMM_REDUCE,
                                   .dtype = HDP_I8,
                                   .op = HDP_OP_SUM,
                                   .tensor_count = 1,
                                   .elements = &ELEMENTS,
                                   .recv = recv,
                                   .count = 1 };
    uint64_t ticket;
    for (int64_t i = 0; i < ELEMENTS; ++i)
        large->data[me][i] = value_of(me, i);
    rank->status = ops->post(rank->comm, &call, INT64_MAX, &ticket);
    if (rank->status == HDP_OK)
        rank->status = ops->wait(rank->comm, ticket, INT64_MAX);
    for (int64_t i = 0; i < ELEMENTS && rank->status == HDP_OK; ++i)
        if (large->data[me][i] != (int8_t)(value_of(0, i) + value_of(1, i)))
            rank->status = HDP_ERR_INTERNAL;
}

static void more_than_two_to_the_31(void **state)
{
    struct large large;
    struct ranks all;
    (void)state;
    memset(&large, 0, sizeof large);
    ranks_open(&all, 2);
    for (int32_t r = 0; r < 2; ++r) {
        all.rank[r].comm->table.combine = counted_combine;
        large.data[r] = room();
    }
    ranks_run(&all, reduce, &large);
    expect_ok(&all);
    for (int32_t r = 0; r < 2; ++r) {
        int8_t wanted =
            (int8_t)(value_of(0, ELEMENTS - 1) + value_of(1, ELEMENTS - 1));
        assert_int_equal(large.data[r][ELEMENTS - 1], wanted);
        free(large.data[r]);
    }
    assert_true(large.bytes[0] + large.bytes[1] == 2147483653LL);
    assert_true(large.last[0] == ELEMENTS || large.last[1] == ELEMENTS);
    ranks_close(&all);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_than_two_to_the_31),
    };
    const char *sanitizer = getenv("HDP_SANITIZE");
    int64_t available = available_bytes();
    int code;
#ifndef __OPTIMIZE__
    sanitizer = "no optimiser";
#endif
    if (sanitizer && *sanitizer) {
        printf("skipped: needs a plain release build (%s)\n", sanitizer);
        return SKIPPED;
    }
    if (available < NEEDED_BYTES) {
        printf("skipped: needs %lld bytes of memory, %lld are available\n",
               (long long)NEEDED_BYTES, (long long)available);
        return SKIPPED;
    }
    code = adapter_pick(argc, argv);
    return code ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
