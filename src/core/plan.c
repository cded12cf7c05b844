/* Plans as nouns: one block of memory, and what follows from the items. */
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/mem.h"
#include "core/plan.h"

/* ---- life ---------------------------------------------------------------- */

hdp_status hdpi_plan_new(hdp_plan **out, int32_t count)
{
    const size_t each =
        4 * sizeof(int64_t) + sizeof(double) + 2 * sizeof(int32_t);
    size_t n = count > 0 ? (size_t)count : 0;
    size_t heads = (sizeof(hdp_plan) + each - 1) / each;

    *out = NULL;
    if (count < 1)
        return hdpi_fail(HDP_ERR_ARGUMENT, "a plan of %d ranks", (int)count);
    hdp_plan *plan = hdpi_alloc(heads + n, each, "a plan");
    if (!plan)
        return HDP_ERR_MEMORY;
    hdpi_object_init(&plan->object, HDPI_PLAN);
    plan->items = (int64_t *)(void *)((char *)plan + heads * each);
    plan->offsets = plan->items + n;
    plan->predicted_ns = plan->offsets + n;
    plan->quanta = plan->predicted_ns + n;
    plan->weights = (double *)(void *)(plan->quanta + n);
    plan->bound_by = (int32_t *)(void *)(plan->weights + n);
    plan->state = plan->bound_by + n;
    plan->info = (hdp_plan_info){ .size = sizeof plan->info,
                                  .rank_count = count,
                                  .quanta = plan->quanta,
                                  .items = plan->items,
                                  .offsets = plan->offsets,
                                  .weights = plan->weights,
                                  .predicted_ns = plan->predicted_ns,
                                  .bound_by = plan->bound_by,
                                  .state = plan->state };
    *out = plan;
    return HDP_OK;
}

void hdpi_plan_free(hdp_plan *plan)
{
    free(plan);
}

void hdpi_plan_clear(hdp_plan *plan)
{
    hdp_plan_info *info = &plan->info;
    char *start = (char *)plan->items;

    memset(start, 0,
           (size_t)((char *)(plan->state + info->rank_count) - start));
    *info = (hdp_plan_info){ .size = sizeof *info,
                             .rank_count = info->rank_count,
                             .quanta = info->quanta,
                             .items = info->items,
                             .offsets = info->offsets,
                             .weights = info->weights,
                             .predicted_ns = info->predicted_ns,
                             .bound_by = info->bound_by,
                             .state = info->state };
    hdpi_object_init(&plan->object, HDPI_PLAN);
}

/* FNV-1a over whole counts instead of bytes, the last bits mixed once more. */
static uint64_t hash_items(uint64_t hash, int64_t items)
{
    hash = hdpi_hash_step(hash, (uint64_t)items);
    return hash ^ (hash >> 32);
}

static uint64_t hash_end(uint64_t hash, int32_t count)
{
    hash = hdpi_hash_step(hash, (uint32_t)count);
    return hash ^ (hash >> 29);
}

static hdp_status sum_items(const hdp_plan *plan, int64_t *total)
{
    *total = 0;
    for (int32_t i = 0; i < plan->info.rank_count; i++) {
        int64_t items = plan->items[i];
        if (items < 0)
            return hdpi_fail_member(HDP_ERR_ARGUMENT, -1, i,
                                    "rank %d: %lld items, below 0", (int)i,
                                    (long long)items);
        if (items > INT64_MAX - *total)
            return hdpi_fail_member(HDP_ERR_ARGUMENT, -1, i,
                                    "rank %d: the sum of the items up to it "
                                    "passes 2^63 - 1",
                                    (int)i);
        *total += items;
    }
    return HDP_OK;
}

hdp_status hdpi_plan_seal(hdp_plan *plan)
{
    int32_t count = plan->info.rank_count;
    uint64_t hash = HDPI_HASH_START;
    int64_t total, offset = 0;

    HDPI_RETURN_IF(sum_items(plan, &total));
    const double whole = total > 0 ? (double)total : 1;
    for (int32_t i = 0; i < count; i++) {
        int64_t items = plan->items[i];
        plan->offsets[i] = offset;
        plan->weights[i] = (double)items / whole;
        offset += items;
        hash = hash_items(hash, items);
    }
    plan->info.total = total;
    plan->info.hash = hash_end(hash, count);
    return HDP_OK;
}

int hdpi_plan_is_valid(const hdp_plan *plan)
{
    if (!plan || plan->object.tag != HDPI_PLAN || plan->info.rank_count < 1 ||
        plan->info.quantum < 0)
        return 0;
    uint64_t hash = HDPI_HASH_START;
    int64_t total = 0;
    for (int32_t i = 0; i < plan->info.rank_count; i++) {
        int64_t items = plan->items[i];
        int active = plan->state[i] == HDP_ACTIVE;
        if (items < 0 || items > INT64_MAX - total || active != (items > 0) ||
            plan->offsets[i] != total || plan->quanta[i] < 1 ||
            plan->predicted_ns[i] < -1 || plan->bound_by[i] < HDP_BOUND_SPEED ||
            plan->bound_by[i] > HDP_BOUND_DROPPED ||
            plan->state[i] < HDP_ACTIVE || plan->state[i] > HDP_BENCHED)
            return 0;
        total += items;
        hash = hash_items(hash, items);
    }
    return total == plan->info.total &&
           plan->info.hash == hash_end(hash, plan->info.rank_count);
}
