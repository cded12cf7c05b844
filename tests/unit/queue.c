/* The queue of batches in flight against a plain list that is searched from
 * front to back. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include "chance.h"
#include "core/queue.h"

enum { RANKS = 3, MOST = 400, CALLS = 60000 };

struct entry {
    uint64_t ticket;
    int32_t rank;
    int64_t items, predicted_ns,
        head_ns; /* head_ns: when it came to be first */
};

struct list {
    struct entry entries[MOST];
    int count;
};

static struct entry *head_of(struct list *list, int32_t rank)
{
    for (int i = 0; i < list->count; i++)
        if (list->entries[i].rank == rank)
            return &list->entries[i];
    return NULL;
}

static double backlog_of(struct list *list, int32_t rank, int64_t now_ns)
{
    const struct entry *head = head_of(list, rank);
    int64_t left, sum = 0;

    if (!head)
        return 0;
    left = head->predicted_ns - (now_ns - head->head_ns);
    for (int i = 0; i < list->count; i++)
        if (list->entries[i].rank == rank && &list->entries[i] != head)
            sum += list->entries[i].predicted_ns;
    return (double)((left > 0 ? left : 0) + sum);
}

static void expect_same(struct hdpi_queue *queue, struct list *list,
                        int64_t now_ns)
{
    for (int32_t r = 0; r < RANKS; r++) {
        int64_t items = 0;
        double want = backlog_of(list, r, now_ns);
        double got = hdpi_queue_backlog(queue, r, now_ns);
        for (int i = 0; i < list->count; i++)
            if (list->entries[i].rank == r)
                items += list->entries[i].items;
        if (want < got || want > got)
            fail_msg("rank %d: expected a backlog of %.0f, got %.0f", (int)r,
                     want, got);
        if (items != hdpi_queue_items(queue, r))
            fail_msg("rank %d: expected %lld items, got %lld", (int)r,
                     (long long)items, (long long)hdpi_queue_items(queue, r));
    }
}

static void push(struct hdpi_queue *queue, struct list *list, int64_t now_ns)
{
    struct entry entry = { .rank = chance_draw(0, RANKS - 1),
                           .items = chance_draw(1, 100),
                           .predicted_ns = chance_draw(0, 5000),
                           .head_ns = now_ns };

    assert_int_equal(hdpi_queue_push(queue, entry.rank, entry.items,
                                     (double)entry.predicted_ns, now_ns,
                                     &entry.ticket),
                     HDP_OK);
    for (int i = 0; i < list->count; i++)
        if (list->entries[i].ticket >= entry.ticket)
            fail_msg("expected a new ticket above %llu, got %llu",
                     (unsigned long long)list->entries[i].ticket,
                     (unsigned long long)entry.ticket);
    list->entries[list->count++] = entry;
}

/* Mostly the oldest, sometimes any: some stay for long. */
static void pop(struct hdpi_queue *queue, struct list *list, int64_t now_ns)
{
    int at = chance_of(70) ? 0 : chance_draw(0, list->count - 1);
    struct entry entry = list->entries[at];
    int was_head = head_of(list, entry.rank) == &list->entries[at];
    int32_t rank;
    int64_t items;

    assert_int_equal(hdpi_queue_pop(queue, entry.ticket, now_ns, &rank, &items),
                     HDP_OK);
    assert_int_equal(rank, entry.rank);
    assert_true(items == entry.items);
    assert_int_equal(hdpi_queue_pop(queue, entry.ticket, now_ns, &rank, &items),
                     HDP_ERR_NOT_FOUND);
    for (int i = at; i + 1 < list->count; i++)
        list->entries[i] = list->entries[i + 1];
    list->count--;
    struct entry *next = head_of(list, entry.rank);
    if (was_head && next)
        next->head_ns = now_ns;
}

static void it_does_as_a_plain_list(void **state)
{
    static struct list list;
    struct hdpi_queue *queue;
    int64_t now_ns = 1000;

    (void)state;
    assert_int_equal(hdpi_queue_new(&queue, RANKS), HDP_OK);
    for (int i = 0; i < CALLS; i++) {
        int filling = i / 1000 % 2 == 0;
        now_ns += chance_draw(0, 800);
        if (list.count < MOST &&
            (list.count == 0 || chance_of(filling ? 60 : 40)))
            push(queue, &list, now_ns);
        else
            pop(queue, &list, now_ns);
        expect_same(queue, &list, now_ns + chance_draw(0, 500));
    }
    hdpi_queue_free(queue);
}

/* Busy for twice a batch after a failure, then four times as long, until one
 * goes well. */
static void failures_count_as_work(void **state)
{
    struct hdpi_queue *queue;
    double want = 2000;

    (void)state;
    assert_int_equal(hdpi_queue_new(&queue, 1), HDP_OK);
    for (int i = 0; i < 14; i++) {
        hdpi_queue_went(queue, 0, 1, 1000, 50);
        double got = hdpi_queue_backlog(queue, 0, 50);
        if (got < want || got > want)
            fail_msg("failure %d: expected %.0f, got %.0f", i, want, got);
        want = want < 1024000 ? 2 * want : want;
    }
    assert_true(hdpi_queue_backlog(queue, 0, 50 + 1024000) <= 0);
    hdpi_queue_went(queue, 0, 0, 1000, 60);
    assert_true(hdpi_queue_backlog(queue, 0, 60) <= 0);
    hdpi_queue_free(queue);
}

/* 20,000 times eleven days are more than 63 bits of nanoseconds. */
static void ages_add_up_to_no_overflow(void **state)
{
    enum { BATCHES = 20000 };
    static uint64_t tickets[BATCHES];
    struct hdpi_queue *queue;
    double before = 0;
    int32_t rank;
    int64_t items;

    (void)state;
    assert_int_equal(hdpi_queue_new(&queue, 1), HDP_OK);
    for (int i = 0; i < BATCHES; i++) {
        assert_int_equal(hdpi_queue_push(queue, 0, 1, 1e30, 0, &tickets[i]),
                         HDP_OK);
        double now = hdpi_queue_backlog(queue, 0, 0);
        if (now < before)
            fail_msg("batch %d: expected a backlog of %g or more, got %g", i,
                     before, now);
        before = now;
    }
    for (int i = 0; i < BATCHES; i++)
        assert_int_equal(hdpi_queue_pop(queue, tickets[i], 0, &rank, &items),
                         HDP_OK);
    if (hdpi_queue_backlog(queue, 0, 0) > 0)
        fail_msg("expected no backlog, got %g",
                 hdpi_queue_backlog(queue, 0, 0));
    hdpi_queue_free(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_does_as_a_plain_list),
        cmocka_unit_test(failures_count_as_work),
        cmocka_unit_test(ages_add_up_to_no_overflow),
    };

    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
