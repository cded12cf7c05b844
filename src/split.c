/* The public door of plans. */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/options.h"
#include "base/text.h"
#include "core/finish.h"
#include "core/plan.h"
#include "json/json.h"

hdp_status hdp_split(hdp_plan **out, const hdp_profile *profile, int64_t total,
                     const hdp_split_options *options)
{
    hdp_split_options own;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_RETURN_IF(hdpi_object_check(profile, HDPI_PROFILE, "profile"));
    HDPI_RETURN_IF(
        hdpi_options_read(&own, sizeof own, options, "hdp_split_options"));
    HDPI_RETURN_IF(hdpi_plan_split(out, profile, total, &own));
    assert(hdpi_plan_is_valid(*out));
    return HDP_OK;
}

static hdp_status check_rates(const double *rates, int32_t count, int64_t total,
                              double *largest)
{
    *largest = 0;
    for (int32_t i = 0; i < count; i++) {
        if (!(rates[i] >= 0) || rates[i] > DBL_MAX)
            return hdpi_fail_member(HDP_ERR_ARGUMENT, -1, i,
                                    "rates[%d] is not a finite number of 0 or "
                                    "more",
                                    (int)i);
        *largest = rates[i] > *largest ? rates[i] : *largest;
    }
    if (total > 0 && !(*largest > 0))
        return hdpi_fail(HDP_ERR_ARGUMENT, "all %d rates are 0", (int)count);
    return HDP_OK;
}

hdp_status hdp_split_rates(int64_t *items, const double *rates, int32_t count,
                           int64_t total, int64_t quantum)
{
    double largest;
    int exponent = 0;

    if (!items || !rates)
        return hdpi_fail(HDP_ERR_ARGUMENT, "%s is NULL",
                         items ? "rates" : "items");
    if (count < 1)
        return hdpi_fail(HDP_ERR_ARGUMENT, "count is %d, below 1", (int)count);
    if (total < 0)
        return hdpi_fail(HDP_ERR_ARGUMENT, "total is %lld, below 0",
                         (long long)total);
    if (quantum < 0)
        return hdpi_fail(HDP_ERR_ARGUMENT, "quantum is %lld, below 0",
                         (long long)quantum);
    HDPI_RETURN_IF(check_rates(rates, count, total, &largest));
    if (total == 0) {
        memset(items, 0, (size_t)count * sizeof *items);
        return HDP_OK;
    }
    /* a power of two alters no quotient, and keeps times away from the ends */
    (void)frexp(largest, &exponent);
    if (exponent < -1000)
        exponent = -1000;
    const double scale = ldexp(1, -exponent);
    const struct hdpi_finish finish = { .count = count,
                                        .total = total,
                                        .quantum = quantum ? quantum : 1,
                                        .rates = rates,
                                        .scale = scale,
                                        /* the fastest alone */
                                        .enough_ns =
                                            (double)total / (largest * scale),
                                        .items = items };
    if (!hdpi_finish(&finish, NULL))
        return hdpi_fail(HDP_ERR_INTERNAL, "no split of %lld items was found",
                         (long long)total);
    return HDP_OK;
}

hdp_status hdp_plan_create(hdp_plan **out, const int64_t *items, int32_t count)
{
    hdp_status status = HDP_OK;
    hdp_plan *plan = NULL;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    if (!items)
        return hdpi_fail(HDP_ERR_ARGUMENT, "items is NULL");
    HDPI_TRY(hdpi_plan_new(&plan, count));
    for (int32_t i = 0; i < count; i++) {
        plan->items[i] = items[i];
        plan->quanta[i] = 1;
        plan->predicted_ns[i] = -1;
        plan->state[i] = items[i] > 0 ? HDP_ACTIVE : HDP_EMPTY;
    }
    plan->info.rule = HDP_RULE_MANUAL;
    plan->info.quantum = 1;
    plan->info.step_ns = plan->info.lower_bound_ns = -1;
    plan->info.equal_ns = plan->info.best_single_ns = -1;
    HDPI_TRY(hdpi_plan_seal(plan));
    assert(hdpi_plan_is_valid(plan));
    *out = plan;
    plan = NULL;
out:
    hdpi_plan_free(plan);
    return status;
}

hdp_status hdp_plan_get(hdp_plan_info *out, const hdp_plan *plan)
{
    HDPI_RETURN_IF(hdpi_object_check(plan, HDPI_PLAN, "plan"));
    return hdpi_options_write(out, &plan->info, sizeof plan->info,
                              "hdp_plan_info");
}

hdp_status hdp_plan_to_json(const hdp_plan *plan, char *text, size_t capacity,
                            size_t *needed)
{
    hdp_status status = HDP_OK;
    char *whole = NULL;

    HDPI_TRY(hdpi_object_check(plan, HDPI_PLAN, "plan"));
    HDPI_TRY(hdpi_plan_write_json(&whole, plan));
    HDPI_TRY(hdpi_text_give(whole, strlen(whole), text, capacity, needed));
out:
    free(whole);
    return status;
}

hdp_status hdp_plan_from_json(hdp_plan **out, const char *text, size_t length)
{
    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    if (!text)
        return hdpi_fail(HDP_ERR_ARGUMENT, "text is NULL");
    return hdpi_plan_read_json(out, text, length);
}

void hdp_plan_destroy(hdp_plan *plan)
{
    if (hdpi_object_release((struct hdpi_object *)plan, HDPI_PLAN))
        hdpi_plan_free(plan);
}
