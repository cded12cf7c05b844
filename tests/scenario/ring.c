/* A simulated step takes what its plan has said, its reduces included: as a
 * ring over the slowest link once every member is ready, in table order. */
#include <stdlib.h>
#include <string.h>
#include "scene.h"

enum { BUCKETS = 3, MEMBERS_MAX = 3, FLOATS = 40000 };

/* 3 * 40000 floats over three members at 3 GB/s: 213 us of ring */
static const char DESK[] = "@desk";
static const char PAIR[] = "sim:0/fixed=500us/item=10us/link=8GB+"
                           "sim:1/fixed=1.5ms/item=50us/link=0.4GB";

/* How a function treats the buckets. */
enum { SAYS_NOTHING, SAYS_ALL, JOINS, JOINS_EACH, WAYS };

static int32_t work_function(const hdp_shard *shard, void *user)
{
    int way = *(const int *)user;

    if (!(shard->flags & HDP_SHARD_LAST) || way == SAYS_NOTHING)
        return 0;
    for (int32_t b = 0; b < BUCKETS; ++b) {
        if (hdp_shard_all_reduce(shard, b) != HDP_OK)
            return 1;
        if (way == JOINS_EACH && hdp_shard_join(shard) != HDP_OK)
            return 2;
    }
    return way == JOINS && hdp_shard_join(shard) != HDP_OK ? 3 : 0;
}

struct tensors {
    float *memory;
    void *recv[BUCKETS][MEMBERS_MAX];
    int64_t elements;
    hdp_buffers buckets[BUCKETS];
};

static void make_tensors(struct tensors *out, int32_t members)
{
    memset(out, 0, sizeof *out);
    out->elements = FLOATS;
    out->memory = calloc(BUCKETS * MEMBERS_MAX * FLOATS, sizeof *out->memory);
    assert_non_null(out->memory);
    for (int32_t b = 0; b < BUCKETS; ++b) {
        for (int32_t m = 0; m < members; ++m)
            out->recv[b][m] = out->memory + (b * MEMBERS_MAX + m) * FLOATS;
        out->buckets[b].size = sizeof out->buckets[b];
        out->buckets[b].dtype = HDP_F32;
        out->buckets[b].op = HDP_OP_MEAN;
        out->buckets[b].tensor_count = 1;
        out->buckets[b].elements = &out->elements;
        out->buckets[b].recv = out->recv[b];
    }
}

static void plan_of(hdp_plan **out, struct scene *scene, int32_t rule)
{
    hdp_split_options options;
    hdp_profile *profile;

    expect_ok(hdp_options_init(&options, sizeof options));
    options.rule = rule;
    options.reduce_bytes = BUCKETS * FLOATS * (int64_t)sizeof(float);
    expect_ok(hdp_calibrate(&profile, scene->group, NULL));
    expect_ok(hdp_split(out, profile, 256, &options));
    hdp_profile_destroy(profile);
}

/* To the nanosecond, which both figures are rounded to. */
static void expect_ns(int64_t want, int64_t got, const char *what,
                      const char *spec, int32_t rule, int way)
{
    if (got < want - 1 || got > want + 1)
        fail_msg("%s of %s, rule %d, way %d: expected %lld, got %lld", what,
                 spec, (int)rule, way, (long long)want, (long long)got);
}

static void check_step(const char *spec, int32_t rule, int way, int32_t threads)
{
    hdp_group_options options;
    struct scene scene;
    struct tensors tensors;
    hdp_report *report = NULL;
    hdp_report_info info = { .size = sizeof info };
    hdp_plan_info plan = { .size = sizeof plan };
    hdp_group_info group = { .size = sizeof group };

    expect_ok(hdp_options_init(&options, sizeof options));
    options.threads = threads;
    scene_open(&scene, spec, NULL, 0, &options);
    expect_ok(hdp_group_get(&group, scene.group));
    make_tensors(&tensors, group.member_count);
    plan_of(&scene.plan, &scene, rule);
    expect_ok(hdp_plan_get(&plan, scene.plan));
    const hdp_work work = { .size = sizeof work,
                            .host = work_function,
                            .user = &way,
                            .buckets = tensors.buckets,
                            .bucket_count = BUCKETS };
    for (int step = 0; step < 3; ++step) {
        expect_ok(hdp_run(&report, scene.group, scene.plan, &work));
        expect_ok(hdp_report_get(&info, report));
        expect_ns(plan.step_ns, info.step_ns, "step", spec, rule, way);
        for (int32_t m = 0; m < info.rank_count; ++m)
            expect_ns(plan.predicted_ns[m], info.compute_ns[m], "compute", spec,
                      rule, way);
        hdp_report_destroy(report);
    }
    free(tensors.memory);
    scene_close(&scene);
}

static void a_step_takes_what_was_planned(void **state)
{
    static const int32_t rules[] = { HDP_RULE_FINISH, HDP_RULE_EQUAL,
                                     HDP_RULE_SINGLE };

    (void)state;
    for (size_t r = 0; r < sizeof rules / sizeof *rules; ++r)
        for (int way = 0; way < WAYS; ++way) {
            check_step(DESK, rules[r], way, HDP_THREADS_MEMBER);
            check_step(PAIR, rules[r], way, HDP_THREADS_MEMBER);
        }
    for (int way = 0; way < JOINS; ++way)
        check_step(PAIR, HDP_RULE_FINISH, way, HDP_THREADS_CALLER);
}

/* Known by hand: 480,000 bytes over 0.4 GB/s are 1.2 ms, which a ring of two
 * passes once; the equal shares take 7.9 ms before it. */
static void the_ring_is_the_slowest_links(void **state)
{
    struct scene scene;
    hdp_plan_info plan = { .size = sizeof plan };

    (void)state;
    scene_open(&scene, PAIR, NULL, 0, NULL);
    plan_of(&scene.plan, &scene, HDP_RULE_EQUAL);
    expect_ok(hdp_plan_get(&plan, scene.plan));
    expect_number(9100000, plan.step_ns, "equal shares and the ring");
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_takes_what_was_planned),
        cmocka_unit_test(the_ring_is_the_slowest_links),
    };

    return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
