/* The executor: from a specification to steps, with plans used again, limits
 * and memory caps. */
#include <stdlib.h>
#include "job.h"
#include "paced.h"
#include "process.h"

/* ---- a user in ten statements -------------------------------------------- */

enum { FLOATS = 64, ROWS = 512 };

static float x[ROWS][FLOATS], y[ROWS][FLOATS];

static int32_t twice(const hdp_shard *shard, void *user)
{
    const float *from = shard->inputs[0].data;
    float *to = shard->outputs[0].data;
    int64_t i;

    (void)user;
    for (i = 0; i < shard->items * FLOATS; ++i)
        to[i] = 2 * from[i];
    return 0;
}

ON_GPU(twice)

static void twice_work(hdp_work *work, hdp_array arrays[2])
{
    int i, k;

    for (i = 0; i < ROWS; ++i)
        for (k = 0; k < FLOATS; ++k) {
            x[i][k] = (float)(i * FLOATS + k);
            y[i][k] = -1;
        }
    for (i = 0; i < 2; ++i) {
        expect_ok(hdp_options_init(&arrays[i], sizeof arrays[i]));
        arrays[i].data = i ? (void *)y : (void *)x;
        arrays[i].row_bytes = sizeof x[0];
    }
    expect_ok(hdp_options_init(work, sizeof *work));
    work->host = twice;
    work->cuda = twice_on_gpu;
    work->inputs = &arrays[0];
    work->outputs = &arrays[1];
    work->input_count = work->output_count = 1;
}

static void expect_doubled(int rows, const char *name)
{
    int i, k;

    for (i = 0; i < ROWS; ++i)
        for (k = 0; k < FLOATS; ++k)
            if (y[i][k] != (i < rows ? 2 * x[i][k] : -1))
                fail_msg("%s: row %d, value %d: expected %g, got %g", name, i,
                         k, (double)(i < rows ? 2 * x[i][k] : -1),
                         (double)y[i][k]);
}

/* Enough to divide by; products are slow on a GPU that is not there. */
static const hdp_calibrate_options brief = { .size = sizeof brief,
                                             .probe = HDP_PROBE_LAUNCH };

/* Each GPU of the machine; without any, the host, whole and unslowed. */
static void expect_auto(hdp_group *group)
{
    hdp_device device = { .size = sizeof device };
    hdp_group_info info = { .size = sizeof info };

    expect_ok(hdp_group_get(&info, group));
    expect_ok(hdp_group_device(&device, group, 0));
#ifdef HDP_TEST_FAKE
    int gpus = -1;

    expect_number(cudaSuccess, cudaGetDeviceCount(&gpus), "GPUs");
    expect_number(HDP_CUDA, device.kind, "kind of auto");
    expect_number(gpus, info.member_count, "members of auto");
#else
    expect_number(HDP_HOST, device.kind, "kind of auto");
    expect_number(1, info.member_count, "members of auto");
    expect_number(100, device.duty_percent, "duty of auto");
    expect_number(count_cores(), device.thread_count, "threads of auto");
#endif
}

static void from_nothing_to_steps(void **state)
{
    hdp_context *context = NULL;
    hdp_executor *executor = NULL;
    hdp_executor_options options = { .size = sizeof options };
    hdp_array arrays[2];
    hdp_work work;
    int step;

    (void)state;
    twice_work(&work, arrays);
    expect_ok(hdp_context_create(&context, NULL));
    if (PACED_FAKE)
        options.calibrate = &brief;
    expect_ok(hdp_executor_create(&executor, context, "auto", &options));
    for (step = 0; step < 20; ++step)
        expect_ok(hdp_executor_run(NULL, executor, ROWS, &work));
    expect_doubled(ROWS, "auto");
    expect_auto(hdp_executor_group(executor));
    hdp_executor_destroy(executor);
    hdp_context_destroy(context);
}

/* ---- plans ------------------------------------------------------------------- */

static const char sim_spec[] = "sim:0/item=10ms+sim:1/item=30ms";

PACED(job_function)

static void paced_job(struct job *job, int64_t total)
{
    job_open(job, total, 2);
    job->work.cuda = job_function_paced;
}

struct desk {
    struct paced paced;
    hdp_context *context;
    hdp_group *group;
    hdp_executor *executor;
};

static void desk_start(struct desk *desk, const char *spec)
{
    memset(desk, 0, sizeof *desk);
    paced_open(&desk->paced, spec);
    expect_ok(hdp_context_create(&desk->context, NULL));
}

/* Paced members are as fast as they are described. */
static void desk_open(struct desk *desk, const char *spec,
                      const hdp_executor_options *options)
{
    hdp_executor_options own = { .size = sizeof own };
    hdp_profile *profile;

    desk_start(desk, spec);
    profile = paced_profile(&desk->paced);
    if (options)
        own = *options;
    own.profile = profile;
    expect_ok(hdp_executor_create(&desk->executor, desk->context,
                                  desk->paced.spec, &own));
    hdp_profile_destroy(profile);
}

static void desk_close(struct desk *desk)
{
    hdp_executor_destroy(desk->executor);
    hdp_group_destroy(desk->group);
    hdp_context_destroy(desk->context);
    paced_close();
}

/* The shares of a plan that the executor makes for `total` rows. */
static void expect_shares(hdp_executor *executor, int64_t total, int64_t first,
                          int64_t second, const char *name)
{
    hdp_plan_info info = { .size = sizeof info };
    hdp_plan *plan = NULL;

    expect_ok(hdp_executor_plan(&plan, executor, total));
    expect_ok(hdp_plan_get(&info, plan));
    expect_number(first, info.items[0], "%s: first share of %d", name,
                  (int)total);
    expect_number(second, info.items[1], "%s: second share of %d", name,
                  (int)total);
    hdp_plan_destroy(plan);
}

static void a_plan_is_used_again(void **state)
{
    struct desk desk;
    hdp_plan *first = NULL, *second = NULL, *other = NULL;

    (void)state;
    desk_open(&desk, sim_spec, NULL);
    expect_ok(hdp_executor_plan(&first, desk.executor, 100));
    expect_ok(hdp_executor_plan(&second, desk.executor, 100));
    if (first != second)
        fail_msg("expected the same plan %p for the same total, got %p",
                 (void *)first, (void *)second);
    expect_ok(hdp_executor_plan(&other, desk.executor, 101));
    if (other == first)
        fail_msg("expected another plan for another total, got the same");
    expect_shares(desk.executor, 100, 75, 25, "3 to 1");
    expect_shares(desk.executor, 0, 0, 0, "nothing");
    hdp_executor_destroy(desk.executor);
    desk.executor = NULL;
    expect_number(
        0,
        hdp_plan_get(&(hdp_plan_info){ .size = sizeof(hdp_plan_info) }, first),
        "a plan after its executor");
    hdp_plan_destroy(first);
    hdp_plan_destroy(second);
    hdp_plan_destroy(other);
    desk_close(&desk);
}

static const char mixed_spec[] =
#ifdef HDP_TEST_FAKE
    "host:0/threads=1+cuda:0";
#else
    "host:0/threads=1+sim:0/item=1us";
#endif

/* Totals change from step to step; rows are right each time. */
static void any_total_next(void **state)
{
    static const int totals[] = { 512, 1, 0, 7, 511, 512, 512, 2 };
    hdp_context *context = NULL;
    hdp_executor *executor = NULL;
    hdp_array arrays[2];
    hdp_work work;
    size_t i;

    (void)state;
    expect_ok(hdp_context_create(&context, NULL));
    expect_ok(hdp_executor_create(&executor, context, mixed_spec, NULL));
    for (i = 0; i < sizeof totals / sizeof *totals; ++i) {
        twice_work(&work, arrays);
        expect_ok(hdp_executor_run(NULL, executor, totals[i], &work));
        expect_doubled(totals[i], "a new total");
    }
    hdp_executor_destroy(executor);
    hdp_context_destroy(context);
}

/* The reduce's weights are the last plan's: of a run, or one asked for. */
static void reduces_by_the_last_plan(void **state)
{
    struct desk desk;
    struct job job;
    hdp_plan *plan = NULL;

    (void)state;
    desk_open(&desk, sim_spec, NULL);
    paced_job(&job, 8);
    expect_status(HDP_ERR_STATE,
                  hdp_executor_all_reduce(desk.executor, &job.buckets[0]));
    job.sum[0] = 3; /* a sum needs no plan */
    job.sum[1] = 4;
    expect_ok(hdp_executor_all_reduce(desk.executor, &job.buckets[1]));
    expect_number(7, job.sum[0], "a sum before any plan");
    expect_ok(hdp_executor_run(NULL, desk.executor, 8, &job.work)); /* 6 : 2 */
    expect_right(&job, "run of 8");
    job.mean[0][0] = job.mean[0][1] = 1;
    job.mean[1][0] = job.mean[1][1] = 5;
    expect_ok(hdp_executor_all_reduce(desk.executor, &job.buckets[0]));
    if (job.mean[0][0] != 2 || job.mean[1][1] != 2)
        fail_msg("weights 6 to 2: expected (6 x 1 + 2 x 5) / 8 = 2, got %g",
                 job.mean[0][0]);
    expect_ok(hdp_executor_plan(&plan, desk.executor, 1)); /* 1 : 0 */
    hdp_plan_destroy(plan);
    job.mean[0][0] = 1;
    job.mean[1][0] = (double)NAN;
    expect_ok(hdp_executor_all_reduce(desk.executor, &job.buckets[0]));
    if (job.mean[0][0] != 1 || job.mean[1][0] != 1)
        fail_msg("weights 1 to 0: expected 1, got %g and %g", job.mean[0][0],
                 job.mean[1][0]);
    desk_close(&desk);
}

/* ---- limits -------------------------------------------------------------------- */

static void limits_of_members(void **state)
{
    static const int64_t least[2] = { 0, 40 }, most[2] = { 60, -1 };
    static const int64_t raised[2] = { 61, 0 };
    hdp_executor_options options = { .size = sizeof options };
    hdp_split_options split = { .size = sizeof split };
    hdp_error error = { .size = sizeof error };
    hdp_profile *profile = NULL;
    hdp_plan *plan = NULL;
    struct desk desk;

    (void)state;
    options.min_items = least;
    desk_open(&desk, sim_spec, &options);
    expect_shares(desk.executor, 100, 60, 40, "at least 40");
    desk_close(&desk);
    options.min_items = NULL;
    options.max_items = most;
    desk_open(&desk, sim_spec, &options);
    expect_shares(desk.executor, 100, 60, 40, "at most 60");
    desk_close(&desk);

    options.split = &split;
    split.max_items = most;
    desk_start(&desk, sim_spec);
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_executor_create(&desk.executor, desk.context,
                                      desk.paced.spec,
                                      &options)); /* given twice */
    options.max_items = NULL;
    options.min_items = raised; /* 61 of at most 60 */
    options.profile = profile = paced_profile(&desk.paced);
    if (hdp_executor_create(&desk.executor, desk.context, desk.paced.spec,
                            &options) == HDP_OK)
        expect_status(HDP_ERR_ARGUMENT,
                      hdp_executor_plan(&plan, desk.executor, 100));
    expect_ok(hdp_error_get(&error));
    expect_number(HDP_ERR_ARGUMENT, error.status, "a minimum over the maximum");
    hdp_profile_destroy(profile);
    desk_close(&desk);
}

/* 24 MiB beside 8 MiB, equal speeds, 1 MiB kept free, half a MiB a row: caps
 * of 46 and 14. */
static void caps_from_memory(void **state)
{
    static const struct {
        const char *spec;
        int64_t total, first, second;
    } cases[] = {
        { "sim:0/mem=24MiB+sim:1/mem=8MiB", 20, 10, 10 },
        { "sim:0/mem=24MiB+sim:1/mem=8MiB", 40, 26, 14 },
        { "sim:0/mem=24MiB+sim:1/mem=8MiB", 60, 46, 14 },
        { "sim:0/mem=24MiB+sim:1/mem=4MiB", 40, 34, 6 },
    };
    hdp_executor_options options = { .size = sizeof options };
    hdp_split_options split = { .size = sizeof split,
                                .item_bytes = INT64_C(1) << 19,
                                .keep_free_bytes = INT64_C(1) << 20 };
    hdp_error error = { .size = sizeof error };
    struct desk desk;
    hdp_plan *plan = NULL;
    struct job job;
    size_t i;

    (void)state;
    options.split = &split;
    for (i = 0; i < sizeof cases / sizeof *cases; ++i) {
        desk_open(&desk, cases[i].spec, &options);
        expect_shares(desk.executor, cases[i].total, cases[i].first,
                      cases[i].second, cases[i].spec);
        desk_close(&desk);
    }
    desk_open(&desk, cases[0].spec, &options);
    paced_job(&job, 61);
    expect_status(HDP_ERR_CAPACITY,
                  hdp_executor_plan(&plan, desk.executor, 61));
    expect_number(0, plan != NULL, "a plan of 61");
    expect_status(HDP_ERR_CAPACITY,
                  hdp_executor_run(NULL, desk.executor, 61, &job.work));
    expect_ok(hdp_error_get(&error));
    expect_number(60, error.largest_total, "largest_total");
    expect_number(0, atomic_load(&job.calls), "functions of a refused batch");
    if (!strstr(error.text, "60"))
        fail_msg("expected 60 in the text, got \"%s\"", error.text);
    desk_close(&desk);
}

/* ---- options ---------------------------------------------------------------------- */

static void options_are_checked(void **state)
{
    hdp_executor_options options = { .size = sizeof options };
    hdp_group_options group = { .size = sizeof group };
    hdp_model models[3] = { { .size = sizeof models[0], .item_ns = 1 },
                            { .size = sizeof models[0], .item_ns = 1 },
                            { .size = sizeof models[0], .item_ns = 1 } };
    const int64_t ones[2] = { 1, 1 };
    hdp_profile *profile = NULL;
    struct desk desk;
    hdp_executor *executor = NULL;

    (void)state;
    desk_open(&desk, sim_spec, NULL);
    options.on_memory = 2;
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_executor_create(&executor, desk.context, desk.paced.spec,
                                      &options));
    options.on_memory = 0;
    options.learn = 1;
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_executor_create(&executor, desk.context, desk.paced.spec,
                                      &options));
    options.learn = 0;
    options.group = &group;
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_executor_create_on(
                      &executor, hdp_executor_group(desk.executor), &options));
    options.group = NULL;
    expect_ok(hdp_profile_create(&profile, models, 3));
    options.profile = profile;
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_executor_create(&executor, desk.context, desk.paced.spec,
                                      &options));
    expect_number(0, executor != NULL, "an executor after refusals");
    expect_ok(hdp_executor_observe(desk.executor, ones, ones));
    hdp_profile_destroy(profile);
    desk_close(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_nothing_to_steps),
        cmocka_unit_test(a_plan_is_used_again),
        cmocka_unit_test(any_total_next),
        cmocka_unit_test(reduces_by_the_last_plan),
        cmocka_unit_test(limits_of_members),
        cmocka_unit_test(caps_from_memory),
        cmocka_unit_test(options_are_checked),
    };

#ifndef HDP_TEST_FAKE
    (void)setenv("CUDA_VISIBLE_DEVICES", "", 1); /* auto is the host */
#endif
    return cmocka_run_group_tests_name("executor", tests, NULL, NULL);
}
