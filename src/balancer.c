/* Shares for engines that run the work themselves: a profile, the rules of the
 * split, and the plan of the last total. Learning from steps and placing
 * independent batches come in a later version and say so. */
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/options.h"
#include "internal.h"

struct hdp_balancer {
    struct hdpi_object object;
    hdp_profile *profile; /* one reference */
    hdp_split_options split;
    int64_t *min_items, *max_items; /* own; one a rank */
    double *ratios;                 /* own, or NULL */
    pthread_mutex_t lock;           /* limits and plan */
    hdp_plan *plan;                 /* of the last total, or NULL */
};

static hdp_status make_tables(hdp_balancer *balancer)
{
    size_t count = (size_t)balancer->profile->info.member_count, i;
    hdp_split_options *split = &balancer->split;

    balancer->min_items = hdpi_alloc(count, sizeof(int64_t), "limits");
    balancer->max_items = hdpi_alloc(count, sizeof(int64_t), "limits");
    if (split->ratios)
        balancer->ratios = hdpi_alloc(count, sizeof(double), "ratios");
    if (!balancer->min_items || !balancer->max_items ||
        (split->ratios && !balancer->ratios))
        return HDP_ERR_MEMORY;
    for (i = 0; i < count; ++i) {
        balancer->min_items[i] = split->min_items ? split->min_items[i] : 0;
        balancer->max_items[i] = split->max_items ? split->max_items[i] : -1;
        if (split->ratios)
            balancer->ratios[i] = split->ratios[i];
    }
    split->min_items = balancer->min_items;
    split->max_items = balancer->max_items;
    split->ratios = balancer->ratios;
    return HDP_OK;
}

static void balancer_free(hdp_balancer *balancer)
{
    hdp_plan_destroy(balancer->plan);
    hdp_profile_destroy(balancer->profile);
    free(balancer->min_items);
    free(balancer->max_items);
    free(balancer->ratios);
    (void)pthread_mutex_destroy(&balancer->lock);
    free(balancer);
}

/* Options that are wrong for every batch are refused now: for the largest one
 * there can be, no minimum is too much. Whether a batch fits is asked with each
 * plan. */
static hdp_status try_options(const hdp_balancer *balancer)
{
    hdp_error before = *hdpi_error();
    hdp_plan *plan = NULL;
    hdp_status status =
        hdpi_plan_split(&plan, balancer->profile, INT64_MAX, &balancer->split);

    hdp_plan_destroy(plan);
    if (status != HDP_ERR_CAPACITY)
        return status;
    *hdpi_error() = before;
    return HDP_OK;
}

hdp_status hdp_balancer_create(hdp_balancer **out, const hdp_profile *profile,
                               const hdp_split_options *options)
{
    hdp_balancer *balancer = NULL;
    hdp_profile *mine = (hdp_profile *)(uintptr_t)profile; /* its count */
    hdp_status status;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_TRY(hdpi_object_check(profile, HDPI_PROFILE, "profile"));
    balancer = hdpi_alloc(1, sizeof *balancer, "balancer");
    if (!balancer) {
        status = HDP_ERR_MEMORY;
        goto out;
    }
    (void)pthread_mutex_init(&balancer->lock, NULL);
    hdpi_object_retain(&mine->object);
    balancer->profile = mine;
    HDPI_TRY(hdpi_options_read(&balancer->split, sizeof balancer->split,
                               options, "hdp_split_options"));
    HDPI_TRY(make_tables(balancer));
    HDPI_TRY(try_options(balancer));
    hdpi_object_init(&balancer->object, HDPI_BALANCER);
    *out = balancer;
    balancer = NULL;
out:
    if (balancer)
        balancer_free(balancer);
    return status;
}

/* The plan of `total`: the one at hand when it fits, so that a steady step
 * allocates nothing. */
static hdp_status plan_for(hdp_balancer *balancer, int64_t total)
{
    hdp_plan *fresh = NULL;

    if (balancer->plan && balancer->plan->info.total == total)
        return HDP_OK;
    HDPI_RETURN_IF(
        hdpi_plan_split(&fresh, balancer->profile, total, &balancer->split));
    hdp_plan_destroy(balancer->plan);
    balancer->plan = fresh;
    return HDP_OK;
}

hdp_status hdp_balancer_plan(hdp_plan **out, hdp_balancer *balancer,
                             int64_t total)
{
    hdp_status status;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_RETURN_IF(hdpi_object_check(balancer, HDPI_BALANCER, "balancer"));
    (void)pthread_mutex_lock(&balancer->lock);
    status = plan_for(balancer, total);
    if (status == HDP_OK) {
        hdpi_object_retain(&balancer->plan->object);
        *out = balancer->plan;
    }
    (void)pthread_mutex_unlock(&balancer->lock);
    return status;
}

hdp_status hdp_balancer_limit(hdp_balancer *balancer, int32_t rank,
                              int64_t max_items)
{
    HDPI_RETURN_IF(hdpi_object_check(balancer, HDPI_BALANCER, "balancer"));
    if (rank < 0 || rank >= balancer->profile->info.member_count)
        return hdpi_fail(HDP_ERR_NOT_FOUND, "rank %d: the profile has %d ranks",
                         (int)rank, (int)balancer->profile->info.member_count);
    if (max_items < -1)
        return hdpi_fail(HDP_ERR_ARGUMENT, "max_items is %lld",
                         (long long)max_items);
    (void)pthread_mutex_lock(&balancer->lock);
    balancer->max_items[rank] = max_items;
    hdp_plan_destroy(balancer->plan);
    balancer->plan = NULL;
    (void)pthread_mutex_unlock(&balancer->lock);
    return HDP_OK;
}

hdp_status hdp_balancer_observe(hdp_balancer *balancer,
                                const hdp_report *report)
{
    HDPI_RETURN_IF(hdpi_object_check(balancer, HDPI_BALANCER, "balancer"));
    HDPI_RETURN_IF(hdpi_object_check(report, HDPI_REPORT, "report"));
    return hdpi_fail(HDP_ERR_UNSUPPORTED,
                     "learning from steps comes in a later version; the "
                     "balancer plans from the profile it was given");
}

hdp_status hdp_balancer_place(int32_t *out_rank, uint64_t *out_ticket,
                              hdp_balancer *balancer, int64_t items)
{
    (void)items;
    if (!out_rank || !out_ticket)
        return hdpi_fail(HDP_ERR_ARGUMENT, "%s is NULL",
                         out_rank ? "out_ticket" : "out_rank");
    *out_rank = -1;
    *out_ticket = 0;
    HDPI_RETURN_IF(hdpi_object_check(balancer, HDPI_BALANCER, "balancer"));
    return hdpi_fail(HDP_ERR_UNSUPPORTED,
                     "placing independent batches comes in a later version");
}

hdp_status hdp_balancer_done(hdp_balancer *balancer, uint64_t ticket,
                             int64_t elapsed_ns)
{
    (void)ticket;
    (void)elapsed_ns;
    HDPI_RETURN_IF(hdpi_object_check(balancer, HDPI_BALANCER, "balancer"));
    return hdpi_fail(HDP_ERR_UNSUPPORTED,
                     "placing independent batches comes in a later version");
}

hdp_status hdp_balancer_profile(hdp_profile **out, const hdp_balancer *balancer)
{
    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_RETURN_IF(hdpi_object_check(balancer, HDPI_BALANCER, "balancer"));
    hdpi_object_retain(&balancer->profile->object);
    *out = balancer->profile;
    return HDP_OK;
}

void hdp_balancer_destroy(hdp_balancer *balancer)
{
    if (hdpi_object_release((struct hdpi_object *)balancer, HDPI_BALANCER))
        balancer_free(balancer);
}
