/* The reports of a group, used again: one comes back when its last reference is
 * given up, so that a steady step allocates nothing. The pool outlives its
 * group while the caller holds reports of it. */
#include <stdlib.h>
#include "base/mem.h"
#include "internal.h"

struct hdpi_report_pool {
    pthread_mutex_t lock;
    hdp_report *idle[2 * HDPI_STEPS_IN_FLIGHT];
    int32_t idle_count, outstanding, closed;
    int32_t rank_count, span_capacity;
};

hdp_status hdpi_report_pool_create(struct hdpi_report_pool **out,
                                   int32_t rank_count, int32_t span_capacity)
{
    struct hdpi_report_pool *pool = hdpi_alloc(1, sizeof *pool, "reports");

    if (!pool)
        return HDP_ERR_MEMORY;
    (void)pthread_mutex_init(&pool->lock, NULL);
    pool->rank_count = rank_count;
    pool->span_capacity = span_capacity;
    *out = pool;
    return HDP_OK;
}

static void release(struct hdpi_report_pool *pool)
{
    while (pool->idle_count)
        hdpi_report_free(pool->idle[--pool->idle_count]);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static void take_back(hdp_report *report, void *owner)
{
    struct hdpi_report_pool *pool = owner;
    int keep, last;

    (void)pthread_mutex_lock(&pool->lock);
    keep = !pool->closed &&
           pool->idle_count < (int32_t)(sizeof pool->idle / sizeof *pool->idle);
    if (keep)
        pool->idle[pool->idle_count++] = report;
    last = --pool->outstanding == 0 && pool->closed;
    (void)pthread_mutex_unlock(&pool->lock);
    if (!keep)
        hdpi_report_free(report);
    if (last)
        release(pool);
}

hdp_status hdpi_report_pool_take(hdp_report **out,
                                 struct hdpi_report_pool *pool)
{
    hdp_report *report = NULL;
    hdp_status status = HDP_OK;

    (void)pthread_mutex_lock(&pool->lock);
    if (pool->idle_count)
        report = pool->idle[--pool->idle_count];
    else
        status =
            hdpi_report_new(&report, pool->rank_count, pool->span_capacity);
    if (report)
        pool->outstanding++;
    (void)pthread_mutex_unlock(&pool->lock);
    if (status != HDP_OK)
        return status;
    hdpi_report_clear(report);
    hdpi_object_init(&report->object, HDPI_REPORT);
    report->recycle = take_back;
    report->owner = pool;
    *out = report;
    return HDP_OK;
}

void hdpi_report_pool_destroy(struct hdpi_report_pool *pool)
{
    int last;

    if (!pool)
        return;
    (void)pthread_mutex_lock(&pool->lock);
    pool->closed = 1;
    last = pool->outstanding == 0;
    (void)pthread_mutex_unlock(&pool->lock);
    if (last)
        release(pool);
}
