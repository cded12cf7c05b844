/* A thousand groups made, used and destroyed in one context: after a hundred and
 * at the end the GPUs have as much free memory as after the first three. */
#include "real.h"

enum { WARM_UP = 3, SOME = 100, ALL = 1000, ROWS = 32, GPUS_MAX = 2 };

static const int64_t tolerated = 2 << 20;

static struct real real;

static void one_round(hdp_context *context, const hdp_plan *plan)
{
    static struct job job;
    hdp_group *group = NULL;

    expect_ok(hdp_group_create_spec(&group, context, real.spec, NULL));
    job_open(&job, ROWS, 2);
    expect_ok(hdp_run(NULL, group, plan, &job.work));
    expect_right(&job, "a round");
    hdp_group_destroy(group);
}

static void look(int64_t *out_free)
{
    size_t left, all;

    for (int32_t i = 0; i < real.gpus && i < GPUS_MAX; ++i) {
        expect_cuda(cudaSetDevice(i));
        expect_cuda(cudaMemGetInfo(&left, &all));
        out_free[i] = (int64_t)left;
    }
}

static void expect_same(const int64_t *before, const char *when)
{
    int64_t now[GPUS_MAX];

    look(now);
    for (int32_t i = 0; i < real.gpus && i < GPUS_MAX; ++i)
        if (llabs(before[i] - now[i]) > tolerated)
            fail_msg("GPU %d, %s: expected %lld bytes free within 2 MiB, got "
                     "%lld",
                     (int)i, when, (long long)before[i], (long long)now[i]);
}

static void memory_comes_back(void **state)
{
    static const int64_t items[] = { 20, 12 };
    int64_t before[GPUS_MAX];
    hdp_context *context = NULL;
    hdp_plan *plan = NULL;

    (void)state;
    expect_ok(hdp_context_create(&context, NULL));
    expect_ok(hdp_plan_create(&plan, items, 2));
    for (int i = 0; i < WARM_UP; ++i)
        one_round(context, plan);
    look(before);
    for (int i = 0; i < ALL; ++i) {
        if (i == SOME)
            expect_same(before, "after 100 rounds");
        one_round(context, plan);
    }
    expect_same(before, "after 1,000 rounds");
    hdp_plan_destroy(plan);
    hdp_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_comes_back),
    };
    int code = real_look(&real);

    return code ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
