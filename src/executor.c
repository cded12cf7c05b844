/* Group + balancer: from a specification to steps on every device, whose times
 * are learned from, so that the next ones are divided better. */
#include <stdio.h>
#include <stdlib.h>
#include "balancer.h"
#include "base/mem.h"
#include "base/options.h"
#include "cache.h"
#include "executor.h"
#include "json/names.h"

static void executor_free(hdp_executor *executor)
{
    hdp_plan_destroy(executor->plan);
    hdp_report_destroy(executor->seen);
    hdpi_cache_watch_close(executor->watch);
    hdp_balancer_destroy(executor->balancer);
    hdp_group_destroy(executor->group);
    free(executor->caps);
    free(executor);
}

static hdp_status check_options(const hdp_executor_options *own)
{
    if (own->learn != 0 && own->learn != -1)
        return hdpi_fail(HDP_ERR_ARGUMENT, "learn is %d", (int)own->learn);
    if (own->on_memory != 0 && own->on_memory != 1)
        return hdpi_fail(HDP_ERR_ARGUMENT, "on_memory is %d",
                         (int)own->on_memory);
    return HDP_OK;
}

static hdp_status check_profile(const hdp_profile *profile,
                                const hdp_group *group)
{
    HDPI_RETURN_IF(hdpi_object_check(profile, HDPI_PROFILE, "profile"));
    if (profile->info.member_count != group->member_count)
        return hdpi_fail(
            HDP_ERR_ARGUMENT, "the profile has %d ranks, the group %d",
            (int)profile->info.member_count, (int)group->member_count);
    if (profile->info.fingerprint &&
        profile->info.fingerprint != group->fingerprint)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "the profile is of other devices than the group's; "
                         "hdp_profile_select() picks what fits");
    return HDP_OK;
}

static hdp_status make_caps(hdp_executor *executor, const int64_t *max_items)
{
    int32_t count = executor->group->member_count, m;

    executor->caps = hdpi_alloc((size_t)count, sizeof(int64_t), "limits");
    if (!executor->caps)
        return HDP_ERR_MEMORY;
    for (m = 0; m < count; ++m)
        executor->caps[m] = max_items ? max_items[m] : -1;
    return HDP_OK;
}

static hdp_status make_balancer(hdp_executor *executor,
                                const hdp_executor_options *own,
                                const hdp_profile *profile)
{
    hdp_split_options split;

    HDPI_RETURN_IF(hdpi_options_read(&split, sizeof split, own->split,
                                     "hdp_split_options"));
    if ((own->min_items && split.min_items) ||
        (own->max_items && split.max_items))
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "%s are given twice, in the executor's options and "
                         "in split",
                         own->min_items && split.min_items ? "min_items"
                                                           : "max_items");
    if (own->min_items)
        split.min_items = own->min_items;
    if (own->max_items)
        split.max_items = own->max_items;
    executor->item_bytes = split.item_bytes;
    HDPI_RETURN_IF(make_caps(executor, split.max_items));
    return hdp_balancer_create(&executor->balancer, profile, &split);
}

static hdp_status create_on(hdp_executor **out, hdp_group *group,
                            const hdp_executor_options *own)
{
    hdp_executor *executor = NULL;
    hdp_profile *measured = NULL;
    hdp_status status;

    HDPI_TRY(check_options(own));
    if (own->profile)
        HDPI_TRY(check_profile(own->profile, group));
    executor = hdpi_alloc(1, sizeof *executor, "executor");
    if (!executor) {
        status = HDP_ERR_MEMORY;
        goto out;
    }
    hdpi_object_retain(&group->object);
    executor->group = group;
    executor->learn = own->learn;
    executor->on_memory = own->on_memory;
    HDPI_TRY(hdpi_report_new(&executor->seen, group->member_count, 0));
    if (!own->profile)
        HDPI_TRY(hdp_calibrate(&measured, group, own->calibrate));
    HDPI_TRY(
        make_balancer(executor, own, own->profile ? own->profile : measured));
    if (measured)
        executor->watch =
            hdpi_cache_watch_open(group, own->calibrate, measured);
    hdpi_object_init(&executor->object, HDPI_EXECUTOR);
    *out = executor;
    executor = NULL;
out:
    if (executor)
        executor_free(executor);
    hdp_profile_destroy(measured);
    return status;
}

hdp_status hdp_executor_create_on(hdp_executor **out, hdp_group *group,
                                  const hdp_executor_options *options)
{
    hdp_executor_options own;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_RETURN_IF(hdpi_group_check(group));
    HDPI_RETURN_IF(
        hdpi_options_read(&own, sizeof own, options, "hdp_executor_options"));
    if (own.group)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "group options are given, but the group is there");
    return create_on(out, group, &own);
}

hdp_status hdp_executor_create(hdp_executor **out, hdp_context *context,
                               const char *spec,
                               const hdp_executor_options *options)
{
    hdp_executor_options own;
    hdp_group *group = NULL;
    hdp_status status;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_TRY(
        hdpi_options_read(&own, sizeof own, options, "hdp_executor_options"));
    HDPI_TRY(hdp_group_create_spec(&group, context, spec, own.group));
    HDPI_TRY(create_on(out, group, &own));
out:
    hdp_group_destroy(group); /* the executor holds its own reference */
    return status;
}

static hdp_status executor_check(const hdp_executor *executor)
{
    HDPI_RETURN_IF(hdpi_process_check());
    return hdpi_object_check(executor, HDPI_EXECUTOR, "executor");
}

hdp_group *hdp_executor_group(hdp_executor *executor)
{
    return executor_check(executor) == HDP_OK ? executor->group : NULL;
}

/* ---- plans --------------------------------------------------------------- */

/* Who had how much, and has now: for a log. Of many ranks the first ones. */
static void say_resplit(const hdp_executor *executor, const hdp_plan *before,
                        const hdp_plan *now)
{
    char text[160] = "";
    size_t used = 0;
    int32_t r;

    for (r = 0; r < now->info.rank_count && used < sizeof text; ++r)
        if (before->items[r] != now->items[r])
            used += (size_t)snprintf(
                text + used, sizeof text - used, "%srank %d: %lld to %lld",
                used ? ", " : "", (int)r, (long long)before->items[r],
                (long long)now->items[r]);
    hdpi_log(&executor->group->context->log, HDP_LOG_INFO,
             "%lld items divided anew: %s%s", (long long)now->info.total, text,
             used < sizeof text ? "" : " ...");
}

hdp_status hdpi_executor_replan(hdp_executor *executor, int64_t total)
{
    hdp_plan *before = executor->plan, *now = NULL;

    HDPI_RETURN_IF(hdp_balancer_plan(&now, executor->balancer, total));
    if (before && before->info.total == total &&
        before->info.hash != now->info.hash)
        say_resplit(executor, before, now);
    hdp_plan_destroy(before);
    executor->plan = now;
    return HDP_OK;
}

hdp_status hdp_executor_plan(hdp_plan **out, hdp_executor *executor,
                             int64_t total)
{
    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_RETURN_IF(executor_check(executor));
    HDPI_RETURN_IF(hdpi_executor_replan(executor, total));
    hdpi_object_retain(&executor->plan->object);
    *out = executor->plan;
    return HDP_OK;
}

/* ---- learning ------------------------------------------------------------ */

static const char *spec_of(const hdp_executor *executor, int32_t rank)
{
    return executor->group->members[rank].device->row.info.spec;
}

static void say_change(const hdp_executor *executor, const hdp_report *report,
                       const struct hdpi_change *change)
{
    const struct hdpi_log *log = &executor->group->context->log;
    int32_t slow = change->too_slow_rank, other = change->changed_rank;

    if (slow >= 0)
        hdpi_log(log, HDP_LOG_WARN,
                 "rank %d (%s) takes more than %d times as long per item as "
                 "the fastest: it gets none, and is tried again now and then",
                 (int)slow, spec_of(executor, slow), HDPI_BALANCE_TOO_SLOW);
    if (other >= 0)
        hdpi_log(log, HDP_LOG_INFO,
                 "rank %d (%s) takes a different time than before; cause: %s",
                 (int)other, spec_of(executor, other),
                 hdpi_names_text(&hdpi_cause_names, report->cause[other]));
}

static hdp_status observe(hdp_executor *executor, const hdp_report *report)
{
    struct hdpi_change change = { -1, -1, 0 };
    hdp_status status =
        hdpi_balancer_observe(executor->balancer, report, &change);

    say_change(executor, report, &change);
    if (status == HDP_OK)
        hdpi_cache_watch_step(executor->watch, report);
    return status;
}

/* A good step stays good whatever becomes of its times. */
static void learn(hdp_executor *executor, const hdp_report *report)
{
    hdp_error before = *hdpi_error();

    if (executor->learn == -1 || observe(executor, report) == HDP_OK)
        return;
    hdpi_log(&executor->group->context->log, HDP_LOG_WARN,
             "step %llu succeeded, but nothing is learned from it: %s",
             (unsigned long long)report->info.step, hdp_last_error());
    *hdpi_error() = before;
}

hdp_status hdp_executor_run(hdp_report **out, hdp_executor *executor,
                            int64_t total, const hdp_work *work)
{
    hdp_report *report = NULL;
    hdp_status status;

    if (out)
        *out = NULL;
    HDPI_RETURN_IF(executor_check(executor));
    HDPI_RETURN_IF(hdpi_executor_replan(executor, total));
    do
        status = hdp_run(&report, executor->group, executor->plan, work);
    while (status == HDP_ERR_MEMORY && hdpi_executor_shrink(executor));
    HDPI_RETURN_IF(status);
    learn(executor, report);
    if (out)
        *out = report;
    else
        hdp_report_destroy(report);
    return HDP_OK;
}

static hdp_status check_seen(const hdp_executor *executor, const int64_t *items,
                             const int64_t *compute_ns)
{
    int64_t total = 0;
    int32_t m;

    if (!items || !compute_ns)
        return hdpi_fail(HDP_ERR_ARGUMENT, "%s is NULL",
                         items ? "compute_ns" : "items");
    for (m = 0; m < executor->group->member_count; ++m) {
        if (items[m] < 0)
            return hdpi_fail(HDP_ERR_ARGUMENT, "items[%d] is %lld", (int)m,
                             (long long)items[m]);
        if (compute_ns[m] < -1)
            return hdpi_fail(HDP_ERR_ARGUMENT, "compute_ns[%d] is %lld", (int)m,
                             (long long)compute_ns[m]);
        HDPI_RETURN_IF(hdpi_add(&total, total, items[m], "the sum of items"));
    }
    return HDP_OK;
}

hdp_status hdp_executor_observe(hdp_executor *executor, const int64_t *items,
                                const int64_t *compute_ns)
{
    hdp_report *seen;
    int32_t m;

    HDPI_RETURN_IF(executor_check(executor));
    HDPI_RETURN_IF(check_seen(executor, items, compute_ns));
    if (executor->learn == -1)
        return HDP_OK; /* told to keep the first plan: nothing to learn */
    seen = executor->seen;
    hdpi_report_clear(seen);
    for (m = 0; m < executor->group->member_count; ++m) {
        seen->items[executor->group->members[m].rank] = items[m];
        seen->compute_ns[executor->group->members[m].rank] = compute_ns[m];
    }
    return observe(executor, seen);
}

/* ---- reduces ------------------------------------------------------------- */

/* Before the first plan only reduces that bring their weights can be done. */
static hdp_status check_weights(const hdp_buffers *buffers)
{
    hdp_buffers own;

    if (!buffers)
        return hdpi_fail(HDP_ERR_ARGUMENT, "buffers is NULL");
    HDPI_RETURN_IF(hdpi_options_read(&own, sizeof own, buffers, "hdp_buffers"));
    if (!own.counts &&
        (own.op == HDP_OP_MEAN || own.op == HDP_OP_SUM_OVER_TOTAL))
        return hdpi_fail(HDP_ERR_STATE,
                         "a mean needs weights: run or plan a batch first, or "
                         "give counts");
    return HDP_OK;
}

hdp_status hdp_executor_all_reduce(hdp_executor *executor,
                                   const hdp_buffers *buffers)
{
    HDPI_RETURN_IF(executor_check(executor));
    if (!executor->plan)
        HDPI_RETURN_IF(check_weights(buffers));
    return hdp_all_reduce(executor->group, executor->plan, buffers);
}

hdp_status hdp_executor_profile(hdp_profile **out, const hdp_executor *executor)
{
    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_RETURN_IF(executor_check(executor));
    return hdp_balancer_profile(out, executor->balancer);
}

void hdp_executor_destroy(hdp_executor *executor)
{
    if (hdpi_object_release((struct hdpi_object *)executor, HDPI_EXECUTOR))
        executor_free(executor);
}
