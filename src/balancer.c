/* The balancer as an object: what it learns stands in core/balance, batches in
 * flight in core/queue; here are one mutex, the clock, and the choice of a rank
 * for an independent batch. */
#include <stdlib.h>
#include "balancer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/options.h"
#include "core/queue.h"
#include "internal.h"

enum { PLACES_UNTRIED = 64 }; /* without a batch: a rank is due for one */

/* Of the time placed, what batches may cost that go to a rank only to learn how
 * fast it is now; at most as much as so many batches earn is saved up. */
static const double allowance = 0.005, saved_batches = 4096;

struct hdp_balancer {
    struct hdpi_object object;
    int32_t rank_count;
    pthread_mutex_t lock; /* of all below */
    struct hdpi_balance *balance;
    struct hdpi_queue *queue;
    int64_t *last_place; /* one a rank: the number of its last batch */
    int64_t places;      /* batches placed */
    double credit_ns;    /* what trying a rank may cost */
};

/* ---- life ---------------------------------------------------------------- */

static void balancer_free(hdp_balancer *balancer)
{
    hdpi_balance_free(balancer->balance);
    hdpi_queue_free(balancer->queue);
    free(balancer->last_place);
    (void)pthread_mutex_destroy(&balancer->lock);
    free(balancer);
}

hdp_status hdp_balancer_create(hdp_balancer **out, const hdp_profile *profile,
                               const hdp_split_options *options)
{
    hdp_balancer *balancer = NULL;
    hdp_split_options split;
    hdp_status status;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_TRY(hdpi_object_check(profile, HDPI_PROFILE, "profile"));
    HDPI_TRY(
        hdpi_options_read(&split, sizeof split, options, "hdp_split_options"));
    balancer = hdpi_alloc(1, sizeof *balancer, "balancer");
    if (!balancer) {
        status = HDP_ERR_MEMORY;
        goto out;
    }
    (void)pthread_mutex_init(&balancer->lock, NULL);
    balancer->rank_count = profile->info.member_count;
    HDPI_TRY(hdpi_balance_new(&balancer->balance, profile, &split));
    HDPI_TRY(hdpi_queue_new(&balancer->queue, balancer->rank_count));
    balancer->last_place = hdpi_alloc((size_t)balancer->rank_count,
                                      sizeof *balancer->last_place, "balancer");
    if (!balancer->last_place) {
        status = HDP_ERR_MEMORY;
        goto out;
    }
    hdpi_object_init(&balancer->object, HDPI_BALANCER);
    *out = balancer;
    balancer = NULL;
out:
    if (balancer)
        balancer_free(balancer);
    return status;
}

void hdp_balancer_destroy(hdp_balancer *balancer)
{
    if (hdpi_object_release((struct hdpi_object *)balancer, HDPI_BALANCER))
        balancer_free(balancer);
}

/* ---- steps --------------------------------------------------------------- */

hdp_status hdp_balancer_plan(hdp_plan **out, hdp_balancer *balancer,
                             int64_t total)
{
    hdp_status status;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_RETURN_IF(hdpi_object_check(balancer, HDPI_BALANCER, "balancer"));
    (void)pthread_mutex_lock(&balancer->lock);
    status = hdpi_balance_plan(out, balancer->balance, total);
    (void)pthread_mutex_unlock(&balancer->lock);
    return status;
}

hdp_status hdp_balancer_limit(hdp_balancer *balancer, int32_t rank,
                              int64_t max_items)
{
    HDPI_RETURN_IF(hdpi_object_check(balancer, HDPI_BALANCER, "balancer"));
    if (rank < 0 || rank >= balancer->rank_count)
        return hdpi_fail(HDP_ERR_NOT_FOUND, "rank %d: the profile has %d ranks",
                         (int)rank, (int)balancer->rank_count);
    if (max_items < -1)
        return hdpi_fail(HDP_ERR_ARGUMENT, "max_items is %lld",
                         (long long)max_items);
    (void)pthread_mutex_lock(&balancer->lock);
    hdp_status status = hdpi_balance_limit(balancer->balance, rank, max_items);
    (void)pthread_mutex_unlock(&balancer->lock);
    return status;
}

hdp_status hdpi_balancer_observe(hdp_balancer *balancer,
                                 const hdp_report *report,
                                 struct hdpi_change *change)
{
    hdp_status status;

    HDPI_RETURN_IF(hdpi_object_check(balancer, HDPI_BALANCER, "balancer"));
    HDPI_RETURN_IF(hdpi_object_check(report, HDPI_REPORT, "report"));
    if (report->info.rank_count != balancer->rank_count)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "a report of %d ranks; the balancer's profile has %d",
                         (int)report->info.rank_count,
                         (int)balancer->rank_count);
    (void)pthread_mutex_lock(&balancer->lock);
    status = hdpi_balance_observe(balancer->balance, report->items,
                                  report->compute_ns, report->first_at_share,
                                  change);
    (void)pthread_mutex_unlock(&balancer->lock);
    return status;
}

hdp_status hdp_balancer_observe(hdp_balancer *balancer,
                                const hdp_report *report)
{
    return hdpi_balancer_observe(balancer, report, NULL);
}

hdp_status hdp_balancer_profile(hdp_profile **out, const hdp_balancer *balancer)
{
    hdp_balancer *mine = (hdp_balancer *)(uintptr_t)balancer; /* its lock */
    hdp_status status;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_RETURN_IF(hdpi_object_check(balancer, HDPI_BALANCER, "balancer"));
    (void)pthread_mutex_lock(&mine->lock);
    status = hdpi_balance_profile(out, mine->balance);
    (void)pthread_mutex_unlock(&mine->lock);
    return status;
}

/* ---- independent batches ------------------------------------------------- */

struct choice {
    int32_t rank;      /* -1: none */
    int32_t due;       /* the cheapest rank to learn from; -1: none */
    double batch_ns;   /* the batch alone, on `rank` */
    double end_ns;     /* from now, on `rank` */
    double due_end_ns; /* and on `due` */
    int64_t largest;   /* of any batch that could ever be placed */
};

static void choose(struct choice *out, const hdp_balancer *balancer,
                   int64_t items, int64_t now_ns)
{
    *out = (struct choice){ .rank = -1, .due = -1 };
    for (int32_t r = 0; r < balancer->rank_count; r++) {
        int64_t cap = hdpi_balance_cap(balancer->balance, r);
        if (cap < 0)
            cap = INT64_MAX;
        out->largest = cap > out->largest ? cap : out->largest;
        if (items > cap - hdpi_queue_items(balancer->queue, r))
            continue; /* full */
        double ns = hdpi_balance_time(balancer->balance, r, items);
        double end = ns + hdpi_queue_backlog(balancer->queue, r, now_ns);
        if (out->rank < 0 || end < out->end_ns) {
            out->rank = r;
            out->end_ns = end;
            out->batch_ns = ns;
        }
        if (balancer->places - balancer->last_place[r] >= PLACES_UNTRIED &&
            (out->due < 0 || end < out->due_end_ns)) {
            out->due = r;
            out->due_end_ns = end;
        }
    }
}

/* A rank that is always passed over would be slow for ever by what was once
 * seen of it: now and then it gets a batch, where that delays little. */
static int32_t try_due(hdp_balancer *balancer, const struct choice *choice)
{
    double most = allowance * saved_batches * choice->batch_ns;
    double cost = choice->due_end_ns - choice->end_ns;

    balancer->credit_ns += allowance * choice->batch_ns;
    if (balancer->credit_ns > most)
        balancer->credit_ns = most;
    if (choice->due < 0 || cost > balancer->credit_ns)
        return choice->rank;
    balancer->credit_ns -= cost;
    return choice->due;
}

static hdp_status place(hdp_balancer *balancer, int64_t items,
                        int32_t *out_rank, uint64_t *out_ticket)
{
    int64_t now_ns = hdpi_clock_ns();
    struct choice choice;

    choose(&choice, balancer, items, now_ns);
    if (choice.rank < 0 && items <= choice.largest)
        return hdpi_fail(HDP_ERR_BUSY,
                         "%lld items: every rank that could hold them is full",
                         (long long)items);
    if (choice.rank < 0) {
        hdpi_fail(HDP_ERR_CAPACITY,
                  "%lld items do not fit on any rank: the largest holds %lld",
                  (long long)items, (long long)choice.largest);
        hdpi_error()->largest_total = choice.largest;
        return HDP_ERR_CAPACITY;
    }
    int32_t rank = try_due(balancer, &choice);
    double ns = hdpi_balance_time(balancer->balance, rank, items);
    HDPI_RETURN_IF(
        hdpi_queue_push(balancer->queue, rank, items, ns, now_ns, out_ticket));
    balancer->last_place[rank] = ++balancer->places;
    *out_rank = rank;
    return HDP_OK;
}

hdp_status hdp_balancer_place(int32_t *out_rank, uint64_t *out_ticket,
                              hdp_balancer *balancer, int64_t items)
{
    hdp_status status;

    if (!out_rank || !out_ticket)
        return hdpi_fail(HDP_ERR_ARGUMENT, "%s is NULL",
                         out_rank ? "out_ticket" : "out_rank");
    *out_rank = -1;
    *out_ticket = 0;
    HDPI_RETURN_IF(hdpi_object_check(balancer, HDPI_BALANCER, "balancer"));
    if (items <= 0)
        return hdpi_fail(HDP_ERR_ARGUMENT, "items is %lld, not above 0",
                         (long long)items);
    (void)pthread_mutex_lock(&balancer->lock);
    status = place(balancer, items, out_rank, out_ticket);
    (void)pthread_mutex_unlock(&balancer->lock);
    return status;
}

static hdp_status end(hdp_balancer *balancer, uint64_t ticket,
                      int64_t elapsed_ns)
{
    int64_t now_ns = hdpi_clock_ns(), items;
    int32_t rank;

    HDPI_RETURN_IF(
        hdpi_queue_pop(balancer->queue, ticket, now_ns, &rank, &items));
    hdpi_queue_went(balancer->queue, rank, elapsed_ns < 0,
                    hdpi_balance_time(balancer->balance, rank, items), now_ns);
    hdpi_balance_sample(balancer->balance, rank, items, elapsed_ns);
    return HDP_OK;
}

hdp_status hdp_balancer_done(hdp_balancer *balancer, uint64_t ticket,
                             int64_t elapsed_ns)
{
    hdp_status status;

    HDPI_RETURN_IF(hdpi_object_check(balancer, HDPI_BALANCER, "balancer"));
    if (elapsed_ns < -1)
        return hdpi_fail(HDP_ERR_ARGUMENT, "elapsed_ns is %lld",
                         (long long)elapsed_ns);
    (void)pthread_mutex_lock(&balancer->lock);
    status = end(balancer, ticket, elapsed_ns);
    (void)pthread_mutex_unlock(&balancer->lock);
    return status;
}
