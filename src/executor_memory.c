/* A member out of memory gets less: its cap is lowered and the batch divided
 * anew, as often as it takes. A cap that was lowered stays for later batches;
 * it is never raised again by the library, since nobody tells it that memory
 * has come back, and each attempt would cost a failed step. */
#include "executor.h"

/* Items by which the share would have to shrink for what was wanted to fit into
 * what was free; 0 where one of the figures is not known. */
static int64_t missing_items(const hdp_executor *executor,
                             const hdp_error *error)
{
    int64_t item_bytes = executor->item_bytes, missing;
    int64_t free_bytes =
        hdpi_step_free_bytes(executor->group, error->step, error->member);

    if (item_bytes <= 0 || free_bytes < 0 || error->wanted_bytes <= free_bytes)
        return 0;
    missing = error->wanted_bytes - free_bytes;
    return missing / item_bytes + (missing % item_bytes != 0);
}

/* Less by what is missing, but by half at most (what an item takes is somebody's
 * guess), or where that is not known by a quarter; whole quanta, at least one of
 * them less. */
static int64_t lower_cap(const hdp_executor *executor, const hdp_error *error)
{
    int64_t share = executor->plan->items[error->rank];
    int64_t quantum = executor->plan->quanta[error->rank];
    int64_t less = missing_items(executor, error), cap;

    if (less == 0)
        less = share / 4;
    else if (less > share / 2)
        less = share / 2;
    cap = share - less;
    if (quantum > 1)
        cap -= cap % quantum;
    else
        quantum = 1;
    if (cap > share - quantum)
        cap = share - quantum;
    return cap > 0 ? cap : 0;
}

static int may_shrink(const hdp_executor *executor, const hdp_error *error)
{
    return executor->on_memory && error->status == HDP_ERR_MEMORY &&
           error->severity == HDP_RETRY && error->member >= 0 &&
           error->member < executor->group->member_count && error->step != 0 &&
           executor->plan->items[error->rank] > 0;
}

static void say_shrunk(const hdp_executor *executor, const hdp_error *error,
                       int64_t share, int64_t cap)
{
    hdpi_log(&executor->group->context->log, HDP_LOG_WARN,
             "member %d (%s) is out of memory with %lld items: at most %lld "
             "from now on, and the batch is run again",
             (int)error->member,
             executor->group->members[error->member].device->row.info.spec,
             (long long)share, (long long)cap);
}

/* The batch under the new cap. Where no plan comes of it that gives the member
 * less, the cap goes back to what it was; but a batch that no longer fits
 * leaves it, for smaller ones. */
static int divide_anew(hdp_executor *executor, hdp_error *error, int64_t cap)
{
    int32_t rank = error->rank;
    int64_t share = executor->plan->items[rank];
    int64_t total = executor->plan->info.total;
    hdp_status status = hdp_balancer_limit(executor->balancer, rank, cap);

    if (status == HDP_OK)
        status = hdpi_executor_replan(executor, total);
    if (status == HDP_ERR_CAPACITY)
        error->largest_total = hdpi_error()->largest_total;
    else if (status != HDP_OK || executor->plan->items[rank] >= share) {
        (void)hdp_balancer_limit(executor->balancer, rank,
                                 executor->caps[error->member]);
        return 0;
    }
    executor->caps[error->member] = cap;
    return status == HDP_OK;
}

int hdpi_executor_shrink(hdp_executor *executor)
{
    hdp_error error = *hdpi_error();
    int64_t share, cap;

    if (!may_shrink(executor, &error))
        return 0;
    share = executor->plan->items[error.rank];
    cap = lower_cap(executor, &error);
    /* what was kept for larger shares would be missing again */
    (void)hdp_group_trim(executor->group);
    if (divide_anew(executor, &error, cap)) {
        say_shrunk(executor, &error, share, cap);
        return 1;
    }
    *hdpi_error() = error;
    return 0;
}
