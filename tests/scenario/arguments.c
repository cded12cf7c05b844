/* NULL and foreign handles. Every function of the library meets NULL for
 * each pointer and, for each handle, every other kind of handle and memory
 * that is none; all are refused with a sentence and harm nothing. */
#include <stdlib.h>
#include "lease_arguments.h"

static void library_and_context(void **state)
{
    hdp_error error = { 0 };
    hdp_context *context;
    hdp_topology *topology;
    char text[8];

    (void)state;
    cover("hdp_version");
    cover("hdp_status_string");
    cover("hdp_last_error");
    assert_non_null(hdp_version());
    assert_non_null(hdp_status_string(INT32_MIN));
    assert_non_null(hdp_last_error());
    REFUSED(hdp_error_get, NULL);
    REFUSED(hdp_error_get, &error); /* no size */
    REFUSED(hdp_info, HDP_INFO_BUILD, NULL, sizeof text, NULL);
    REFUSED(hdp_info, 0, text, sizeof text, NULL);
    REFUSED(hdp_options_init, NULL, sizeof error);
    REFUSED(hdp_options_init, &error, 3);
    REFUSED(hdp_context_create, NULL, NULL);
    context = UNTOUCHED;
    REFUSED(hdp_context_create, &context, (void *)zeros); /* no size */
    assert_null(context);
    REFUSED(hdp_discover, NULL, own.context, NULL);
    WRONG_OUT(topology, CONTEXT, hdp_discover, &topology, h, NULL);
}

static void topologies(void **state)
{
    hdp_topology_info info = { .size = sizeof info };
    hdp_device device = { .size = sizeof device };
    hdp_mask_entry entry = { .size = sizeof entry };
    hdp_link joined = { .size = sizeof joined };
    hdp_topology *topology;
    size_t needed;
    char text[64];

    (void)state;
    WRONG(TOPOLOGY, hdp_topology_get, &info, h);
    REFUSED(hdp_topology_get, NULL, own.topology);
    WRONG(TOPOLOGY, hdp_topology_device, &device, h, 0);
    REFUSED(hdp_topology_device, NULL, own.topology, 0);
    OUT_OF_RANGE(hdp_topology_device, &device, own.topology, -1);
    OUT_OF_RANGE(hdp_topology_device, &device, own.topology, 1000);
    WRONG(TOPOLOGY, hdp_topology_mask, &entry, h, 0);
    OUT_OF_RANGE(hdp_topology_mask, &entry, own.topology, -1);
    WRONG(TOPOLOGY, hdp_topology_link, &joined, h, 0, 0);
    WRONG(TOPOLOGY, hdp_topology_to_json, h, text, sizeof text, &needed);
    REFUSED(hdp_topology_to_json, own.topology, NULL, 5, &needed);
    REFUSED(hdp_topology_from_json, NULL, "{}", 2);
    topology = UNTOUCHED;
    REFUSED(hdp_topology_from_json, &topology, NULL, 2);
    assert_null(topology);
}

static void groups(void **state)
{
    hdp_group_info info = { .size = sizeof info };
    hdp_device device = { .size = sizeof device };
    hdp_error error = { .size = sizeof error };
    hdp_link way = { .size = sizeof way };
    const int32_t id = 0;
    hdp_group *group;
    void *stream;

    (void)state;
    WRONG_OUT(group, CONTEXT, hdp_group_create, &group, h, &id, 1, NULL);
    REFUSED(hdp_group_create, NULL, own.context, &id, 1, NULL);
    REFUSED(hdp_group_create, &group, own.context, NULL, 1, NULL);
    WRONG_OUT(group, CONTEXT, hdp_group_create_spec, &group, h, "sim:0", NULL);
    REFUSED(hdp_group_create_spec, NULL, own.context, "sim:0", NULL);
    REFUSED(hdp_group_create_spec, &group, own.context, NULL, NULL);
    REFUSED(hdp_group_create_spec, &group, own.context, "sim:0", (void *)zeros);
    WRONG(GROUP, hdp_group_get, &info, h);
    REFUSED(hdp_group_get, NULL, own.group);
    WRONG(GROUP, hdp_group_device, &device, h, 0);
    REFUSED(hdp_group_device, NULL, own.group, 0);
    REFUSED(hdp_group_device, &device, own.group, 2);
    REFUSED(hdp_group_device, &device, own.group, -1);
    WRONG_OUT(stream, GROUP, hdp_group_stream, &stream, h, 0);
    REFUSED(hdp_group_stream, NULL, own.group, 0);
    REFUSED(hdp_group_stream, &stream, own.group, 2);
    WRONG(GROUP, hdp_group_health, &error, h);
    REFUSED(hdp_group_health, NULL, own.group);
    WRONG(GROUP, hdp_group_abort, h);
    WRONG_OUT(group, GROUP, hdp_group_shrink, &group, h, NULL, 0);
    REFUSED(hdp_group_shrink, NULL, own.group, NULL, 0);
    WRONG(GROUP, hdp_group_trim, h);
    WRONG(GROUP, hdp_group_link, &way, h, 0, 1);
    REFUSED(hdp_group_link, NULL, own.group, 0, 1);
    REFUSED(hdp_group_link, &way, own.group, 1, 1);
    REFUSED(hdp_group_link, &way, own.group, 0, 2);
    REFUSED(hdp_group_link, &way, own.group, -1, 1);
    WRONG(GROUP, hdp_barrier, h);
}

static void profiles(void **state)
{
    hdp_profile_info info = { .size = sizeof info };
    hdp_model model = { .size = sizeof model, .item_ns = 1 };
    hdp_profile *profile;
    double number;
    size_t needed;
    char text[64];

    (void)state;
    WRONG_OUT(profile, GROUP, hdp_calibrate, &profile, h, NULL);
    REFUSED(hdp_calibrate, NULL, own.group, NULL);
    REFUSED(hdp_calibrate, &profile, own.group, (void *)zeros);
    REFUSED(hdp_profile_create, NULL, &model, 1);
    REFUSED(hdp_profile_create, &profile, NULL, 1);
    REFUSED(hdp_profile_create, &profile, &model, 0);
    REFUSED(hdp_profile_create, &profile, (void *)zeros, 1);
    WRONG_OUT(profile, PROFILE, hdp_profile_select, &profile, h, own.group);
    WRONG_OUT(profile, GROUP, hdp_profile_select, &profile, own.profile, h);
    REFUSED(hdp_profile_select, NULL, own.profile, own.group);
    WRONG_OUT(profile, PROFILE, hdp_profile_update, &profile, h, own.report);
    WRONG_OUT(profile, REPORT, hdp_profile_update, &profile, own.profile, h);
    REFUSED(hdp_profile_update, NULL, own.profile, own.report);
    WRONG(PROFILE, hdp_profile_get, &info, h);
    REFUSED(hdp_profile_get, NULL, own.profile);
    WRONG(PROFILE, hdp_profile_time, &number, h, 0, 1);
    REFUSED(hdp_profile_time, NULL, own.profile, 0, 1);
    OUT_OF_RANGE(hdp_profile_time, &number, own.profile, 2, 1);
    REFUSED(hdp_profile_time, &number, own.profile, 0, -1);
    WRONG(PROFILE, hdp_profile_ratio, &number, h, 0);
    REFUSED(hdp_profile_ratio, NULL, own.profile, 0);
    OUT_OF_RANGE(hdp_profile_ratio, &number, own.profile, -1);
    WRONG(PROFILE, hdp_profile_to_json, h, text, sizeof text, &needed);
    REFUSED(hdp_profile_to_json, own.profile, NULL, 5, NULL);
    REFUSED(hdp_profile_from_json, NULL, "{}", 2);
    REFUSED(hdp_profile_from_json, &profile, NULL, 2);
    REFUSED(hdp_profile_load, NULL, "/nowhere");
    REFUSED(hdp_profile_load, &profile, NULL);
    WRONG(PROFILE, hdp_profile_save, h, "/nowhere/at/all");
    REFUSED(hdp_profile_save, own.profile, NULL);
}

static void plans(void **state)
{
    hdp_plan_info info = { .size = sizeof info };
    const double rates[2] = { 1, 1 };
    int64_t items[2];
    hdp_plan *plan;
    size_t needed;
    char text[64];

    (void)state;
    WRONG_OUT(plan, PROFILE, hdp_split, &plan, h, 5, NULL);
    REFUSED(hdp_split, NULL, own.profile, 5, NULL);
    REFUSED(hdp_split, &plan, own.profile, -1, NULL);
    REFUSED(hdp_split, &plan, own.profile, 5, (void *)zeros);
    REFUSED(hdp_split_rates, NULL, rates, 2, 5, 1);
    REFUSED(hdp_split_rates, items, NULL, 2, 5, 1);
    REFUSED(hdp_split_rates, items, rates, 0, 5, 1);
    REFUSED(hdp_plan_create, NULL, shares, 2);
    REFUSED(hdp_plan_create, &plan, NULL, 2);
    REFUSED(hdp_plan_create, &plan, shares, 0);
    WRONG(PLAN, hdp_plan_get, &info, h);
    REFUSED(hdp_plan_get, NULL, own.plan);
    WRONG(PLAN, hdp_plan_to_json, h, text, sizeof text, &needed);
    REFUSED(hdp_plan_to_json, own.plan, NULL, 5, NULL);
    REFUSED(hdp_plan_from_json, NULL, "{}", 2);
    REFUSED(hdp_plan_from_json, &plan, NULL, 2);
}

static void steps(void **state)
{
    const hdp_work *work = &own.job.work;
    hdp_report *report;
    uint64_t step;
    int32_t reached;

    (void)state;
    WRONG_OUT(report, GROUP, hdp_run, &report, h, own.plan, work);
    WRONG_OUT(report, PLAN, hdp_run, &report, own.group, h, work);
    REFUSED(hdp_run, NULL, own.group, own.plan, NULL);
    REFUSED(hdp_run, NULL, own.group, own.plan, (void *)zeros);
    WRONG(GROUP, hdp_run_async, &step, h, own.plan, work);
    WRONG(PLAN, hdp_run_async, &step, own.group, h, work);
    REFUSED(hdp_run_async, NULL, own.group, own.plan, work);
    REFUSED(hdp_run_async, &step, own.group, own.plan, NULL);
    expect_number(0, (int64_t)step, "a refused step");
    WRONG_OUT(report, GROUP, hdp_group_wait, &report, h, 1);
    WRONG(GROUP, hdp_group_poll, &reached, h, 1, HDP_DONE, 0);
    REFUSED(hdp_group_poll, NULL, own.group, 1, HDP_DONE, 0);
    WRONG(GROUP, hdp_group_order, h, 1, 0, NULL);
}

static void shards(void **state)
{
    hdp_shard none = { .size = sizeof none };
    void *blas = UNTOUCHED;

    (void)state;
    REFUSED(hdp_shard_all_reduce, NULL, 0);
    REFUSED(hdp_shard_all_reduce, &none, 0);
    REFUSED(hdp_shard_join, NULL);
    REFUSED(hdp_shard_join, &none);
    REFUSED(hdp_shard_fail, NULL, HDP_ERR_MEMORY, 0, NULL);
    REFUSED(hdp_shard_fail, &none, HDP_ERR_MEMORY, 0, NULL);
    REFUSED(hdp_shard_blas, NULL, &none);
    REFUSED(hdp_shard_blas, &blas, NULL);
    assert_null(blas);
    REFUSED(hdp_shard_blas, &blas, &none);
}

static void reduces(void **state)
{
    hdp_buffers *buffers = &own.job.buckets[0];
    hdp_buffers spoilt = *buffers;
    hdp_array *rows = &own.job.arrays[0], *all = &own.job.arrays[1];
    uint64_t step;

    (void)state;
    WRONG(GROUP, hdp_all_reduce, h, own.plan, buffers);
    REFUSED(hdp_all_reduce, own.group, own.plan, NULL);
    REFUSED(hdp_all_reduce, own.group, NULL, buffers); /* a mean wants it */
    REFUSED(hdp_all_reduce, own.group, (void *)own.profile, buffers);
    REFUSED(hdp_all_reduce, own.group, own.plan, (void *)zeros);
    WRONG(GROUP, hdp_all_reduce_async, &step, h, own.plan, buffers);
    REFUSED(hdp_all_reduce_async, NULL, own.group, own.plan, buffers);
    REFUSED(hdp_all_reduce_async, &step, own.group, own.plan, NULL);
    spoilt.recv = NULL;
    REFUSED(hdp_all_reduce, own.group, own.plan, &spoilt);
    spoilt = *buffers;
    spoilt.elements = NULL;
    REFUSED(hdp_all_reduce, own.group, own.plan, &spoilt);
    WRONG(GROUP, hdp_broadcast, h, 0, buffers);
    REFUSED(hdp_broadcast, own.group, 0, NULL);
    REFUSED(hdp_broadcast, own.group, 2, buffers);
    REFUSED(hdp_broadcast, own.group, -1, buffers);
    WRONG(GROUP, hdp_all_gather, h, own.plan, rows, all);
}

static void reports(void **state)
{
    hdp_report_info info = { .size = sizeof info };
    hdp_report *report;
    size_t needed;
    char text[64];

    (void)state;
    REFUSED(hdp_report_create, NULL, shares, shares, 2);
    REFUSED(hdp_report_create, &report, NULL, shares, 2);
    REFUSED(hdp_report_create, &report, shares, NULL, 2);
    REFUSED(hdp_report_create, &report, shares, shares, 0);
    WRONG(REPORT, hdp_report_get, &info, h);
    REFUSED(hdp_report_get, NULL, own.report);
    WRONG(REPORT, hdp_report_to_json, h, text, sizeof text, &needed);
    REFUSED(hdp_report_to_json, own.report, NULL, 5, NULL);
    REFUSED(hdp_report_from_json, NULL, "{}", 2);
    REFUSED(hdp_report_from_json, &report, NULL, 2);
}

static void balancers(void **state)
{
    hdp_balancer *balancer;
    hdp_profile *profile;
    hdp_plan *plan;
    int32_t rank;
    uint64_t ticket;

    (void)state;
    WRONG_OUT(balancer, PROFILE, hdp_balancer_create, &balancer, h, NULL);
    REFUSED(hdp_balancer_create, NULL, own.profile, NULL);
    REFUSED(hdp_balancer_create, &balancer, own.profile, (void *)zeros);
    WRONG_OUT(plan, BALANCER, hdp_balancer_plan, &plan, h, 5);
    REFUSED(hdp_balancer_plan, NULL, own.balancer, 5);
    REFUSED(hdp_balancer_plan, &plan, own.balancer, -1);
    WRONG(BALANCER, hdp_balancer_limit, h, 0, 5);
    WRONG(BALANCER, hdp_balancer_observe, h, own.report);
    WRONG(REPORT, hdp_balancer_observe, own.balancer, h);
    WRONG(BALANCER, hdp_balancer_place, &rank, &ticket, h, 1);
    REFUSED(hdp_balancer_place, NULL, &ticket, own.balancer, 1);
    REFUSED(hdp_balancer_place, &rank, NULL, own.balancer, 1);
    WRONG(BALANCER, hdp_balancer_done, h, 1, 1);
    WRONG_OUT(profile, BALANCER, hdp_balancer_profile, &profile, h);
    REFUSED(hdp_balancer_profile, NULL, own.balancer);
}

static void executors(void **state)
{
    hdp_executor_options options = { .size = sizeof options };
    const hdp_work *work = &own.job.work;
    hdp_executor *executor;
    hdp_profile *profile;
    hdp_report *report;
    hdp_plan *plan;
    size_t i;

    (void)state;
    WRONG_OUT(executor, CONTEXT, hdp_executor_create, &executor, h, "sim:0",
              NULL);
    REFUSED(hdp_executor_create, NULL, own.context, "sim:0", NULL);
    REFUSED(hdp_executor_create, &executor, own.context, NULL, NULL);
    REFUSED(hdp_executor_create, &executor, own.context, "sim:0",
            (void *)zeros);
    WRONG_OUT(executor, GROUP, hdp_executor_create_on, &executor, h, NULL);
    REFUSED(hdp_executor_create_on, NULL, own.group, NULL);
    options.profile = (void *)own.plan;
    REFUSED(hdp_executor_create_on, &executor, own.group, &options);
    for (i = 0; i < sizeof wrongs / sizeof *wrongs; ++i)
        if (wrongs[i].kind != EXECUTOR)
            assert_null(hdp_executor_group(wrongs[i].pointer));
    cover("hdp_executor_group");
    WRONG_OUT(plan, EXECUTOR, hdp_executor_plan, &plan, h, 5);
    REFUSED(hdp_executor_plan, NULL, own.executor, 5);
    WRONG_OUT(report, EXECUTOR, hdp_executor_run, &report, h, 7, work);
    REFUSED(hdp_executor_run, NULL, own.executor, 7, NULL);
    REFUSED(hdp_executor_run, NULL, own.executor, -1, work);
    WRONG(EXECUTOR, hdp_executor_all_reduce, h, &own.job.buckets[0]);
    REFUSED(hdp_executor_all_reduce, own.executor, NULL);
    WRONG(EXECUTOR, hdp_executor_observe, h, shares, shares);
    REFUSED(hdp_executor_observe, own.executor, NULL, shares);
    REFUSED(hdp_executor_observe, own.executor, shares, NULL);
    WRONG_OUT(profile, EXECUTOR, hdp_executor_profile, &profile, h);
    REFUSED(hdp_executor_profile, NULL, own.executor);
}

/* ---- destroying what is something else ----------------------------------------- */

typedef void (*destroy_fn)(void *handle);

#define DESTROYS(noun)                                                         \
    static void destroy_##noun(void *handle)                                   \
    {                                                                          \
        hdp_##noun##_destroy(handle);                                          \
    }
DESTROYS(context)
DESTROYS(topology)
DESTROYS(group)
DESTROYS(profile)
DESTROYS(plan)
DESTROYS(report)
DESTROYS(balancer)
DESTROYS(executor)

static void destroy_lease(void *object)
{
    hdp_lease_destroy(object);
}

static void destroy_list(void *object)
{
    hdp_lease_list_destroy(object);
}

static const struct {
    enum kind kind;
    destroy_fn destroy;
    const char *name;
} destroys[KINDS] = {
    { CONTEXT, destroy_context, "hdp_context_destroy" },
    { TOPOLOGY, destroy_topology, "hdp_topology_destroy" },
    { GROUP, destroy_group, "hdp_group_destroy" },
    { PROFILE, destroy_profile, "hdp_profile_destroy" },
    { PLAN, destroy_plan, "hdp_plan_destroy" },
    { REPORT, destroy_report, "hdp_report_destroy" },
    { BALANCER, destroy_balancer, "hdp_balancer_destroy" },
    { EXECUTOR, destroy_executor, "hdp_executor_destroy" },
    { LEASE, destroy_lease, "hdp_lease_destroy" },
    { LEASE_LIST, destroy_list, "hdp_lease_list_destroy" },
};

static void destroy_takes_its_own_alone(void **state)
{
    hdp_topology_info topology = { .size = sizeof topology };
    hdp_profile_info profile = { .size = sizeof profile };
    hdp_report_info report = { .size = sizeof report };
    hdp_lease_info lease = { .size = sizeof lease };
    hdp_lease_list_info list = { .size = sizeof list };
    hdp_group *group = NULL;
    hdp_plan *plan = NULL;
    size_t i, d;

    (void)state;
    for (d = 0; d < KINDS; ++d) {
        cover(destroys[d].name);
        for (i = 0; i < sizeof wrongs / sizeof *wrongs; ++i)
            if (wrongs[i].kind != destroys[d].kind)
                destroys[d].destroy(wrongs[i].pointer);
    }
    job_reset(&own.job);
    expect_ok(hdp_run(NULL, own.group, own.plan, &own.job.work));
    expect_right(&own.job, "after all destroys");
    expect_ok(hdp_topology_get(&topology, own.topology));
    expect_ok(hdp_profile_get(&profile, own.profile));
    expect_ok(hdp_report_get(&report, own.report));
    expect_ok(hdp_balancer_plan(&plan, own.balancer, 9));
    hdp_plan_destroy(plan);
    expect_ok(hdp_executor_run(NULL, own.executor, 7, &own.job.work));
    expect_ok(hdp_group_create_spec(&group, own.context, "sim:0", NULL));
    hdp_group_destroy(group);
    expect_ok(hdp_lease_get(&lease, own.lease));
    expect_ok(hdp_lease_list_get(&list, own.list));
}

/* ---- none is forgotten ----------------------------------------------------------- */

static void every_function_was_tried(void **state)
{
    const char *folder = getenv("HDP_SOURCE_DIR");
    char path[512], line[256], name[128];
    size_t i, found = 0;
    FILE *map;

    (void)state;
    expect_ok(hdp_world_detect(&(hdp_world){ .size = sizeof(hdp_world) }));
    REFUSED(hdp_world_detect, NULL);
    REFUSED(hdp_world_detect, &(hdp_world){ .size = 1 });
    (void)snprintf(path, sizeof path, "%s/src/hdp.map", folder ? folder : ".");
    map = fopen(path, "r");
    if (!map)
        fail_msg("expected %s, got no such file", path);
    while (map && fgets(line, sizeof line, map)) {
        if (sscanf(line, " hdp_%100[a-z0-9_];", name) != 1)
            continue;
        found++;
        for (i = 0; i < covered_count; ++i)
            if (strcmp(covered[i] + 4, name) == 0)
                break;
        if (i == covered_count)
            fail_msg("hdp_%s: expected to be tried, got no call", name);
    }
    if (map)
        (void)fclose(map);
    expect_number((int64_t)found, (int64_t)covered_count, "functions tried");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(library_and_context),
        cmocka_unit_test(topologies),
        cmocka_unit_test(groups),
        cmocka_unit_test(profiles),
        cmocka_unit_test(plans),
        cmocka_unit_test(steps),
        cmocka_unit_test(shards),
        cmocka_unit_test(reduces),
        cmocka_unit_test(reports),
        cmocka_unit_test(balancers),
        cmocka_unit_test(executors),
        cmocka_unit_test(leases),
        cmocka_unit_test(destroy_takes_its_own_alone),
        cmocka_unit_test(every_function_was_tried),
    };

    return cmocka_run_group_tests_name("arguments", tests, make_one_of_each,
                                       give_all_back);
}
