/* Plans from any text. Beyond the round trip: shares, offsets and total say
 * the same, whoever wrote the text. */
#include "core/plan.h"
#include "fuzz/noun.h"

FUZZ_NOUN(hdp_plan, plan)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hdp_plan *plan = plan_taken(data, size);
    int64_t sum = 0;

    if (!plan)
        return 0;
    for (int32_t i = 0; i < plan->info.rank_count; i++) {
        FUZZ_CHECK(plan->items[i] >= 0 && plan->items[i] <= INT64_MAX - sum,
                   "rank %d: %lld items after %lld", (int)i,
                   (long long)plan->items[i], (long long)sum);
        FUZZ_CHECK(plan->offsets[i] == sum, "rank %d: offset %lld, not %lld",
                   (int)i, (long long)plan->offsets[i], (long long)sum);
        FUZZ_CHECK(plan->quanta[i] > 0, "rank %d: quantum %lld", (int)i,
                   (long long)plan->quanta[i]);
        sum += plan->items[i];
    }
    FUZZ_CHECK(plan->info.total == sum, "total %lld, not %lld",
               (long long)plan->info.total, (long long)sum);
    hdpi_plan_free(plan);
    return 0;
}
