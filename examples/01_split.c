/* Who gets how many rows? Plans without a device: two machines' speeds as an
 * engine may know them, and the shares that let both finish together. */
#include <hdp/hdp.h>
#include <inttypes.h>
#include <stdio.h>

/* Time of a shard: fixed + items * item. The second card is five times slower
 * and has three times the fixed cost. */
static void describe(hdp_model *models)
{
    hdp_options_init(&models[0], sizeof models[0]);
    hdp_options_init(&models[1], sizeof models[1]);
    models[0].fixed_ns = 500e3;
    models[0].item_ns = 10e3;
    models[1].fixed_ns = 1500e3;
    models[1].item_ns = 50e3;
}

static hdp_status print_plan(const hdp_plan *plan)
{
    hdp_plan_info info;
    int32_t rank;
    hdp_status status;

    hdp_options_init(&info, sizeof info);
    status = hdp_plan_get(&info, plan);
    if (status)
        return status;
    for (rank = 0; rank < info.rank_count; ++rank)
        printf("rank %d: rows %" PRId64 " to %" PRId64 ", done after %.2f ms\n",
               (int)rank, info.offsets[rank],
               info.offsets[rank] + info.items[rank] - 1,
               (double)info.predicted_ns[rank] / 1e6);
    printf("step %.2f ms; equal shares %.2f ms; the fast card alone %.2f ms\n",
           (double)info.step_ns / 1e6, (double)info.equal_ns / 1e6,
           (double)info.best_single_ns / 1e6);
    return HDP_OK;
}

int main(void)
{
    hdp_model models[2];
    hdp_profile *profile = NULL;
    hdp_plan *plan = NULL;
    hdp_status status;

    describe(models);
    status = hdp_profile_create(&profile, models, 2);
    if (!status)
        status = hdp_split(&plan, profile, 256, NULL);
    if (!status)
        status = print_plan(plan);
    if (status)
        fprintf(stderr, "%s: %s\n", hdp_status_string(status),
                hdp_last_error());
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
    return status ? 1 : 0;
}
