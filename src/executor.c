/* Group + balancer: from a specification to steps on every device. In this
 * version the plan follows from the profile and stays; learning comes later. */
#include <stdlib.h>
#include "base/mem.h"
#include "base/options.h"
#include "internal.h"

struct hdp_executor {
    struct hdpi_object object;
    hdp_group *group;       /* one reference */
    hdp_balancer *balancer; /* own */
    int64_t last_total;     /* of the last run; -1: none yet */
    int32_t learn;
};

static void executor_free(hdp_executor *executor)
{
    hdp_balancer_destroy(executor->balancer);
    hdp_group_destroy(executor->group);
    free(executor);
}

static hdp_status check_options(const hdp_executor_options *own)
{
    if (own->learn != 0 && own->learn != -1)
        return hdpi_fail(HDP_ERR_ARGUMENT, "learn is %d", (int)own->learn);
    if (own->on_memory != 0 && own->on_memory != 1)
        return hdpi_fail(HDP_ERR_ARGUMENT, "on_memory is %d",
                         (int)own->on_memory);
    if (own->on_memory == 1)
        return hdpi_fail(HDP_ERR_UNSUPPORTED,
                         "on_memory: running a batch again with a lower cap "
                         "comes in a later version");
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
    executor->last_total = -1;
    if (!own->profile)
        HDPI_TRY(hdp_calibrate(&measured, group, own->calibrate));
    HDPI_TRY(
        make_balancer(executor, own, own->profile ? own->profile : measured));
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

hdp_status hdp_executor_plan(hdp_plan **out, hdp_executor *executor,
                             int64_t total)
{
    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_RETURN_IF(executor_check(executor));
    HDPI_RETURN_IF(hdp_balancer_plan(out, executor->balancer, total));
    executor->last_total = total;
    return HDP_OK;
}

hdp_status hdp_executor_run(hdp_report **out, hdp_executor *executor,
                            int64_t total, const hdp_work *work)
{
    hdp_plan *plan = NULL;
    hdp_status status;

    if (out)
        *out = NULL;
    HDPI_RETURN_IF(hdp_executor_plan(&plan, executor, total));
    status = hdp_run(out, executor->group, plan, work);
    hdp_plan_destroy(plan);
    return status;
}

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
    hdp_plan *plan = NULL;
    hdp_status status;

    HDPI_RETURN_IF(executor_check(executor));
    if (executor->last_total >= 0)
        HDPI_RETURN_IF(
            hdp_balancer_plan(&plan, executor->balancer, executor->last_total));
    else
        HDPI_RETURN_IF(check_weights(buffers));
    status = hdp_all_reduce(executor->group, plan, buffers);
    hdp_plan_destroy(plan);
    return status;
}

hdp_status hdp_executor_observe(hdp_executor *executor, const int64_t *items,
                                const int64_t *compute_ns)
{
    HDPI_RETURN_IF(executor_check(executor));
    if (!items || !compute_ns)
        return hdpi_fail(HDP_ERR_ARGUMENT, "%s is NULL",
                         items ? "compute_ns" : "items");
    if (executor->learn == -1)
        return HDP_OK; /* told to keep the first plan: nothing to learn */
    return hdpi_fail(HDP_ERR_UNSUPPORTED,
                     "learning from steps comes in a later version; with "
                     "learn = -1 observing is accepted and changes nothing");
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
