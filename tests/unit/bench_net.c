/* The net of a chosen size: what `--net` may say, what a step of it counts, and
 * that its check passes what is right and sees what is planted. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <hdp/hdp.h>
#include "nets.h"
#include "work/work.h"

enum { MEMBERS = 2, TOTAL = 200, CAPACITY = 320 };

static const int64_t shares[MEMBERS] = { 140, 60 };

/* ---- the option ---------------------------------------------------------- */

static void reads_what_is_written(void **state)
{
    static const char *const texts[] = { "1x8", "4x8192", "8x1024/train",
                                         "1000x65536/train" };
    char text[NETS_TEXT_MAX];
    struct parse_error error;
    struct net_shape shape;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        assert_true(nets_read(texts[i], &shape, &error));
        assert_string_equal(nets_text(&shape, text), texts[i]);
    }
    shape.layers = 0;
    assert_string_equal(nets_text(&shape, text), "");
}

static void refuses_with_the_place(void **state)
{
    static const struct {
        const char *text;
        int position;
    } rows[] = {
        { "", 1 },
        { "4", 2 },
        { "x8", 1 },
        { "0x8", 1 },
        { "1001x8", 1 },
        { "-4x8", 1 },
        { "4.5x8", 2 },
        { "4x", 3 },
        { "4x0", 3 },
        { "4x12", 3 },
        { "4x8k", 4 },
        { "4x65544", 3 },
        { "4x8192/foo", 7 },
        { "4x8192/", 7 },
        { "4x8192/train/", 7 },
        { "4/train", 2 },
        { "99999999999999999999x8", 1 },
        { "4x9999999999999999999999999999999999999", 3 },
    };
    struct parse_error error;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct net_shape shape = { 7, 7, 7 };
        if (nets_read(rows[i].text, &shape, &error))
            fail_msg("'%s' was taken", rows[i].text);
        if (error.position != rows[i].position)
            fail_msg("'%s': expected character %d, got %d: %s", rows[i].text,
                     rows[i].position, error.position, error.text);
        assert_true(error.text[0] && shape.layers == 7 && shape.width == 7 &&
                    shape.train == 7);
    }
}

static void counts_what_a_step_takes(void **state)
{
    const struct net_shape forward = { 4, 8192, 0 }, train = { 4, 8192, 1 };

    (void)state;
    assert_true(net_item_flops(&forward) == 4 * 2.0 * 8192 * 8192);
    /* 4 forward, 4 for the weights, 3 for what goes in between */
    assert_true(net_item_flops(&train) == 11 * 2.0 * 8192 * 8192);
    assert_int_equal(net_reduce_bytes(&forward, HDP_F32), 0);
    assert_int_equal(net_reduce_bytes(&train, HDP_F32), INT64_C(1) << 30);
    assert_int_equal(net_reduce_bytes(&train, HDP_BF16), INT64_C(1) << 29);
}

/* Weights, rows, results, what is kept, two layers in turn; all f32. */
static void counts_memory(void **state)
{
    struct workload_spec spec = {
        .kind = WORK_MLP, .members = 2, .capacity = 100, .net = { 5, 64, 0 }
    };

    (void)state;
    assert_true(net_member_bytes(&spec, 0) ==
                (5 * 64 * 64 + 5 * 100 * 64) * 4.0);
    assert_true(net_member_bytes(&spec, 1) ==
                (5 * 64 * 64 + 4 * 100 * 64) * 4.0);
    spec.net.train = 1; /* 4 hidden, 2 deltas; turned weights, scratch */
    assert_true(net_member_bytes(&spec, 1) ==
                (2 * 5 * 64 * 64 + 8 * 100 * 64) * 4.0 +
                    (5 * 64 * 64 + 64 * 64 + 256 * 64) * 4.0);
}

/* ---- the check ----------------------------------------------------------- */

enum fault { NONE, OTHER_ROWS, LAST_MISSING, FIRST_WRONG, NOT_CALLED, WEIGHTS };

struct scene {
    hdp_context *context;
    hdp_group *group;
    hdp_plan *plan;
    struct workload *workload;
    enum fault fault;
};

/* The net's own function, with what is planted on the second member. */
static int32_t planted(const hdp_shard *shard, void *user)
{
    const struct scene *scene = user;
    const hdp_work *work = &scene->workload->work;
    hdp_shard copy = *shard;

    if (shard->member == 0 || (shard->flags & HDP_SHARD_PROBE))
        return work->host(shard, work->user);
    if (scene->fault == NOT_CALLED)
        return 0;
    copy.offset -= scene->fault == OTHER_ROWS;
    copy.items -= scene->fault == LAST_MISSING;
    int32_t code = work->host(&copy, work->user);
    if (code || scene->fault != FIRST_WRONG)
        return code;
    copy.offset += 1; /* its result goes where the first one's is */
    copy.items = 1;
    return work->host(&copy, work->user);
}

static void open_scene(struct scene *scene, const char *devices,
                       const struct net_shape *shape)
{
    static const hdp_device two_threads[MEMBERS] = { { .thread_count = 2 },
                                                     { .thread_count = 1 } };
    const struct workload_spec spec = { .kind = WORK_MLP,
                                        .members = MEMBERS,
                                        .capacity = CAPACITY,
                                        .net = *shape,
                                        .seed = 3,
                                        .devices = two_threads };

    *scene = (struct scene){ .fault = NONE };
    assert_int_equal(hdp_context_create(&scene->context, NULL), HDP_OK);
    assert_int_equal(
        hdp_group_create_spec(&scene->group, scene->context, devices, NULL),
        HDP_OK);
    assert_int_equal(hdp_plan_create(&scene->plan, shares, MEMBERS), HDP_OK);
    scene->workload = workload_create(&spec);
    assert_non_null(scene->workload);
}

static void close_scene(struct scene *scene)
{
    workload_destroy(scene->workload);
    hdp_plan_destroy(scene->plan);
    hdp_group_destroy(scene->group);
    hdp_context_destroy(scene->context);
}

static struct workload_check step(struct scene *scene, enum fault fault)
{
    static const int64_t alike[MEMBERS] = { 1, 1 };
    hdp_buffers buckets[8];
    hdp_work work = scene->workload->work;
    struct workload_check check;

    scene->fault = fault;
    work.host = planted;
    work.user = scene;
    for (int b = 0; fault == WEIGHTS && b < work.bucket_count; ++b) {
        buckets[b] = work.buckets[b];
        buckets[b].counts = alike;
        buckets[b].total_count = 2;
    }
    if (fault == WEIGHTS)
        work.buckets = buckets;
    assert_int_equal(hdp_run(NULL, scene->group, scene->plan, &work), HDP_OK);
    workload_check(scene->workload, shares, TOTAL, &check);
    assert_true(check.tolerance > 0 && check.tolerance < 0.1);
    return check;
}

static void expect_right(struct scene *scene)
{
    struct workload_check check = step(scene, NONE);

    if (!check.ok)
        fail_msg("what is right is told from it by %g, tolerance %g",
                 check.max_rel_error, check.tolerance);
    assert_true(check.max_rel_error > 0); /* f64 rounds otherwise */
}

static void expect_seen(struct scene *scene, enum fault fault)
{
    struct workload_check check = step(scene, fault);

    if (check.ok)
        fail_msg("fault %d is not seen: %g, tolerance %g", (int)fault,
                 check.max_rel_error, check.tolerance);
    expect_right(scene); /* and nothing of it is left */
}

static void sees_rows_that_are_wrong(void **state)
{
    static const struct net_shape shapes[] = { { 1, 64, 0 }, { 5, 64, 0 } };
    struct scene scene;

    (void)state;
    for (int i = 0; i < 2; ++i) {
        open_scene(&scene, "host:0/threads=2+host:1/threads=1", &shapes[i]);
        expect_right(&scene);
        expect_seen(&scene, OTHER_ROWS);
        expect_seen(&scene, LAST_MISSING);
        expect_seen(&scene, FIRST_WRONG);
        expect_seen(&scene, NOT_CALLED);
        close_scene(&scene);
    }
}

static void sees_gradients_that_are_wrong(void **state)
{
    static const struct net_shape shapes[] = { { 1, 64, 1 }, { 4, 40, 1 } };
    struct scene scene;

    (void)state;
    for (int i = 0; i < 2; ++i) {
        open_scene(&scene, "host:0/threads=2+host:1/threads=1", &shapes[i]);
        assert_int_equal(scene.workload->work.bucket_count, shapes[i].layers);
        expect_right(&scene);
        expect_seen(&scene, OTHER_ROWS);
        expect_seen(&scene, NOT_CALLED);
        expect_seen(&scene, WEIGHTS);
        close_scene(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_is_written),
        cmocka_unit_test(refuses_with_the_place),
        cmocka_unit_test(counts_what_a_step_takes),
        cmocka_unit_test(counts_memory),
        cmocka_unit_test(sees_rows_that_are_wrong),
        cmocka_unit_test(sees_gradients_that_are_wrong),
    };

    return cmocka_run_group_tests_name("bench_net", tests, NULL, NULL);
}
