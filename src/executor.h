/* An executor inside: what its own files share. */
#ifndef HDPI_EXECUTOR_H
#define HDPI_EXECUTOR_H
#include "internal.h"

struct hdp_executor {
    struct hdpi_object object;
    hdp_group *group;       /* one reference */
    hdp_balancer *balancer; /* own */
    hdp_plan *plan;         /* of the last run or plan; NULL: none yet */
    hdp_report *seen;       /* filled by each hdp_executor_observe() */
    int64_t *caps;          /* one a member as the balancer has it; -1: none */
    int64_t item_bytes;     /* of the split's options; 0: not known */
    struct hdpi_cache_watch *watch; /* of the answer it began with, or NULL */
    int32_t learn, on_memory;
};

/** Makes the plan of `total` the executor's; errors of hdp_balancer_plan(),
 *  which leave the one before. */
hdp_status hdpi_executor_replan(hdp_executor *executor, int64_t total);

/**
 * After a step that ended with HDP_ERR_MEMORY: lowers the cap of the member
 * that lacked it and divides the same batch anew (executor_memory.c).
 *
 * @return 1: the executor's plan is another one, worth running. 0: nothing can
 *         be done, or nothing is to be; this thread's error is the memory's,
 *         with largest_total where the batch no longer fits.
 */
int hdpi_executor_shrink(hdp_executor *executor);
#endif
