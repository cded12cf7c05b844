/* The run verb on whole groups: times that are the plan's to the nanosecond on
 * simulated members, rows that come back in order, and nothing left behind by
 * ten thousand steps. */
#include <stdlib.h>
#include "job.h"
#include "process.h"

static const char issue_spec[] =
    "sim:0/fixed=500us/item=10us+sim:1/fixed=1.5ms/item=50us";

/* ---- predicted and measured ------------------------------------------------ */

static int32_t nothing(const hdp_shard *shard, void *user)
{
    (void)shard;
    (void)user;
    return 0;
}

ON_GPU(nothing)

static void open_calibrated(struct scene *scene, const char *spec,
                            int32_t threads, int64_t total)
{
    hdp_group_options options;
    hdp_profile *profile = NULL;

    expect_ok(hdp_options_init(&options, sizeof options));
    options.threads = threads;
    scene_open(scene, spec, NULL, 0, &options);
    expect_ok(hdp_calibrate(&profile, scene->group, NULL));
    expect_ok(hdp_split(&scene->plan, profile, total, NULL));
    hdp_profile_destroy(profile);
}

/* Runs the plan once; the report must say what the plan said. */
static void run_as_planned(struct scene *scene, hdp_plan_info *plan,
                           const char *name)
{
    hdp_report *report = NULL;
    hdp_report_info info;
    hdp_work work;
    int32_t r;

    expect_ok(hdp_options_init(plan, sizeof *plan));
    expect_ok(hdp_plan_get(plan, scene->plan));
    expect_ok(hdp_options_init(&work, sizeof work));
    work.host = nothing;
    work.cuda = nothing_on_gpu;
    expect_ok(hdp_run(&report, scene->group, scene->plan, &work));
    expect_ok(hdp_options_init(&info, sizeof info));
    expect_ok(hdp_report_get(&info, report));
    expect_number(plan->step_ns, info.step_ns, "%s: step_ns", name);
    expect_number(plan->rank_count, info.rank_count, "%s: ranks", name);
    for (r = 0; r < plan->rank_count; ++r) {
        expect_number(plan->items[r], info.items[r], "%s: items[%d]", name,
                      (int)r);
        expect_number(plan->predicted_ns[r], info.compute_ns[r],
                      "%s: compute_ns[%d]", name, (int)r);
    }
    hdp_report_destroy(report);
}

/* The numbers of the issue: 500 us + 230 x 10 us = 1.5 ms + 26 x 50 us. */
static void the_issues_numbers(void **state)
{
    struct scene scene;
    hdp_plan_info plan;
    int32_t threads;

    (void)state;
    for (threads = HDP_THREADS_MEMBER; threads <= HDP_THREADS_CALLER;
         ++threads) {
        open_calibrated(&scene, issue_spec, threads, 256);
        run_as_planned(&scene, &plan, issue_spec);
        expect_number(230, plan.items[0], "items of sim:0");
        expect_number(26, plan.items[1], "items of sim:1");
        expect_number(2800000, plan.step_ns, "step_ns");
        expect_number(2800000, plan.predicted_ns[0], "time of sim:0");
        expect_number(2800000, plan.predicted_ns[1], "time of sim:1");
        expect_number(2800000, plan.lower_bound_ns, "lower bound");
        expect_number(7900000, plan.equal_ns, "equal_ns");
        expect_number(3060000, plan.best_single_ns, "best_single_ns");
        scene_close(&scene);
    }
}

static uint64_t draw(uint64_t *seed, uint64_t below)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (*seed >> 11) % below;
}

enum { MODELS = 150, MODEL_MEMBERS = 6 };

struct model {
    int32_t count;
    int64_t fixed_ns[MODEL_MEMBERS], item_ns[MODEL_MEMBERS], total;
    char spec[512];
};

static void draw_model(struct model *model, uint64_t *seed)
{
    size_t used = 0;
    int32_t m;

    model->count = 1 + (int32_t)draw(seed, MODEL_MEMBERS);
    model->total = (int64_t)draw(seed, draw(seed, 4) ? 3000 : 12);
    for (m = 0; m < model->count; ++m) {
        model->fixed_ns[m] = (int64_t)draw(seed, draw(seed, 3) ? 300000 : 1);
        model->item_ns[m] = 1 + (int64_t)draw(seed, 40000);
        used += (size_t)snprintf(
            model->spec + used, sizeof model->spec - used,
            "%ssim:%d/fixed=%lldns/item=%lldns", m ? "+" : "", (int)m,
            (long long)model->fixed_ns[m], (long long)model->item_ns[m]);
    }
}

/* Whatever the models are, a step takes what the models say: the plan's
 * prediction and the report are both held against the formula. */
static void any_model_is_met(void **state)
{
    const char *given = getenv("HDP_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 20261130;
    struct scene scene;
    hdp_plan_info plan;
    struct model model;
    char name[640];
    int32_t i, r;

    (void)state;
    for (i = 0; i < MODELS; ++i) {
        uint64_t from = seed;
        draw_model(&model, &seed);
        (void)snprintf(name, sizeof name, "HDP_TEST_SEED=%llu -d %s -N %lld",
                       (unsigned long long)from, model.spec,
                       (long long)model.total);
        open_calibrated(&scene, model.spec, i % 2, model.total);
        run_as_planned(&scene, &plan, name);
        for (r = 0; r < model.count; ++r)
            expect_number(plan.items[r] ? model.fixed_ns[r] +
                                              model.item_ns[r] * plan.items[r]
                                        : 0,
                          plan.predicted_ns[r], "%s: time of %d", name, (int)r);
        scene_close(&scene);
    }
}

/* ---- what a step leaves behind --------------------------------------------- */

#ifdef HDP_TEST_CUDA
/* On each of five machines. The C library keeps a few hundred bytes a thread
 * that came and went, however many at once; 16 a group would be 8,192. */
enum { STEPS = 2000, HEAP_SLACK = 2048, ROUNDS = 256 };
#else
enum { STEPS = 10000, HEAP_SLACK = 0, ROUNDS = 60 };
#endif
enum { WARM_STEPS = 100, RSS_SLACK_KIB = 1024 };

static void run_steps(struct scene *scene, struct job *job, int32_t count,
                      const char *name)
{
    hdp_report *report;
    int32_t i;

    for (i = 0; i < count; ++i) {
        hdp_status status =
            hdp_run(&report, scene->group, scene->plan, &job->work);
        if (status != HDP_OK)
            fail_msg("%s, step %d: expected success, got %s (%s)", name, (int)i,
                     hdp_status_string(status), hdp_last_error());
        hdp_report_destroy(report);
    }
}

static void ten_thousand_steps(const struct way *way)
{
    static const int64_t items[3] = { 5, 0, 3 };
    struct scene scene;
    struct job job;
    size_t heap;
    long resident;
    int descriptors, threads;

    scene_open_way(&scene, way, items, 3);
    job_open(&job, 8, 3);
    /* a real driver takes memory step by step at first, then no more */
    run_steps(&scene, &job, on_real_gpu() ? STEPS : WARM_STEPS, way->name);
    (void)status_kib("VmRSS"); /* looking takes memory too, the first time */
    (void)count_descriptors();
    heap = heap_bytes();
    resident = status_kib("VmRSS");
    descriptors = count_descriptors();
    threads = count_threads();
    run_steps(&scene, &job, STEPS, way->name);
    if (!on_real_gpu())
        expect_number((int64_t)heap, (int64_t)heap_bytes(), "%s: heap bytes",
                      way->name);
    expect_number(descriptors, count_descriptors(), "%s: descriptors",
                  way->name);
    expect_number(threads, count_threads(), "%s: threads", way->name);
    if (!SANITIZED && status_kib("VmRSS") > resident + RSS_SLACK_KIB)
        fail_msg("%s: expected %ld kB resident as before, got %ld", way->name,
                 resident, status_kib("VmRSS"));
    expect_right(&job, "%s, last step", way->name);
    scene_close(&scene);
}

static void steps_leave_nothing_behind(void **state)
{
    int i;

    (void)state;
    for (i = 0; i < WAY_COUNT; ++i)
        ten_thousand_steps(&ways[i]);
}

/* Groups come and go without a trace; what a driver keeps of them is its own
 * matter. */
static void groups_leave_nothing_behind(void **state)
{
    enum { WARM_ROUNDS = 8, ROUNDS_OF_DRIVER = 60 };
    static const int64_t items[3] = { 3, 0, 5 };
    size_t heap = 0;
    int rounds = on_real_gpu() ? ROUNDS_OF_DRIVER : ROUNDS;
    int i, w, threads = 0, descriptors = 0;

    (void)state;
    for (i = 0; i < WARM_ROUNDS + rounds; ++i) {
        if (i == WARM_ROUNDS) {
            (void)count_descriptors();
            heap = heap_bytes();
            threads = count_threads();
            descriptors = count_descriptors();
        }
        for (w = 0; w < WAY_COUNT; ++w) {
            struct scene scene;
            struct job job;
            scene_open_way(&scene, &ways[w], items, 3);
            job_open(&job, 8, 3);
            expect_ok(hdp_run(NULL, scene.group, scene.plan, &job.work));
            expect_right(&job, "round %d, %s", i, ways[w].name);
            scene_close(&scene);
        }
    }
    if (heap_bytes() > heap + HEAP_SLACK && !on_real_gpu())
        expect_number((int64_t)heap, (int64_t)heap_bytes(), "heap bytes");
    expect_number(descriptors, count_descriptors(), "descriptors");
    for (i = 0; i < 1000 && count_threads() != threads; ++i)
        sleep_ns(1000000); /* a joined thread leaves /proc a little later */
    expect_number(threads, count_threads(), "threads");
}

/* ---- who gets which rows --------------------------------------------------- */

struct seen {
    _Atomic int32_t calls, empty_calls;
    int32_t logical_id[4], kind[4];
    int64_t offset[4], items[4];
};

/* Copies rows of one int64 and notes who was called with what. */
static int32_t note_rows(const hdp_shard *shard, void *user)
{
    struct seen *seen = user;
    const int64_t *from = shard->inputs[0].data;
    int64_t *to = shard->outputs[0].data;
    int64_t r;

    atomic_fetch_add(&seen->calls, 1);
    if (shard->items == 0)
        atomic_fetch_add(&seen->empty_calls, 1);
    seen->logical_id[shard->member] = shard->logical_id;
    seen->kind[shard->member] = shard->kind;
    seen->offset[shard->member] = shard->offset;
    seen->items[shard->member] = shard->items;
    for (r = 0; r < shard->items; ++r)
        to[r] = from[r];
    return 0;
}

ON_GPU(note_rows)

static void copy_rows(struct scene *scene, struct seen *seen, int64_t *from,
                      int64_t *to)
{
    hdp_array in, out;
    hdp_work work;

    memset(seen, 0, sizeof *seen);
    expect_ok(hdp_options_init(&in, sizeof in));
    expect_ok(hdp_options_init(&out, sizeof out));
    expect_ok(hdp_options_init(&work, sizeof work));
    in.data = from;
    out.data = to;
    in.row_bytes = out.row_bytes = sizeof *from;
    work.host = note_rows;
    work.cuda = note_rows_on_gpu;
    work.user = seen;
    work.inputs = &in;
    work.outputs = &out;
    work.input_count = work.output_count = 1;
    expect_ok(hdp_run(NULL, scene->group, scene->plan, &work));
}

/* Group [2,0], rows 0 to 9; shard 0 is on device 2, nobody else is. */
static void gaps_and_other_orders(void **state)
{
    struct scene scene;
    struct seen seen;
    hdp_device device;
    int64_t from[10], to[10];
    int i;

    (void)state;
    open_calibrated(&scene, "sim:2,0", HDP_THREADS_MEMBER, 10);
    for (i = 0; i < 10; ++i) {
        from[i] = i;
        to[i] = -1;
    }
    copy_rows(&scene, &seen, from, to);
    for (i = 0; i < 10; ++i)
        expect_number(i, to[i], "gathered row %d", i);
    expect_number(2, atomic_load(&seen.calls), "calls");
    expect_number(2, seen.logical_id[0], "device of shard 0");
    expect_number(0, seen.logical_id[1], "device of shard 1");
    for (i = 0; i < 2; ++i) {
        expect_number(5, seen.items[i], "rows of shard %d", i);
        expect_number(5 * i, seen.offset[i], "offset of shard %d", i);
        expect_number(HDP_SIM, seen.kind[i], "kind of shard %d", i);
        expect_ok(hdp_options_init(&device, sizeof device));
        expect_ok(hdp_group_device(&device, scene.group, i));
        expect_number(i ? 0 : 2, device.logical_id, "device of member %d", i);
    }
    scene_close(&scene);
}

/* Repeats, holes in the text and nothing at all are refused with the
 * position, for ids and for specifications. */
static void bad_lists_are_refused(void **state)
{
    static const struct {
        int32_t ids[3], count;
        const char *text;
    } lists[] = { { { 0, 0 }, 2, "ids[1]" },
                  { { 0, 1, 0 }, 3, "ids[2]" },
                  { { -1 }, 1, "ids[0]" },
                  { { 0 }, 0, "empty" } };
    static const char *const specs[] = {
        "sim:0,0", "sim:0,1,0", "sim:-1", "", "sim:", "sim:0+sim:0"
    };
    hdp_context *context = NULL;
    hdp_group *group = NULL;
    size_t i;

    (void)state;
    expect_ok(hdp_context_create(&context, NULL));
    for (i = 0; i < sizeof lists / sizeof *lists; ++i) {
        expect_status(HDP_ERR_ARGUMENT,
                      hdp_group_create(&group, context, lists[i].ids,
                                       lists[i].count, NULL));
        if (!strstr(hdp_last_error(), lists[i].text))
            fail_msg("list %d: expected \"%s\" in the text, got \"%s\"", (int)i,
                     lists[i].text, hdp_last_error());
    }
    for (i = 0; i < sizeof specs / sizeof *specs; ++i) {
        hdp_status status =
            hdp_group_create_spec(&group, context, specs[i], NULL);
        if (status != HDP_ERR_ARGUMENT || group)
            fail_msg("\"%s\": expected an argument error and NULL, got %s",
                     specs[i], hdp_status_string(status));
    }
    hdp_context_destroy(context);
}

/* 3 rows on 4 equal members, 1 row on 3 to 1, no rows at all. */
static void fewer_rows_than_members(void **state)
{
    struct scene scene;
    struct seen seen;
    hdp_plan_info plan;
    int64_t from[3] = { 10, 11, 12 }, to[3] = { -1, -1, -1 };
    int i;

    (void)state;
    open_calibrated(&scene, "sim:0-3/item=1us", HDP_THREADS_MEMBER, 3);
    copy_rows(&scene, &seen, from, to);
    expect_number(3, atomic_load(&seen.calls), "calls for 3 rows on 4");
    expect_number(0, atomic_load(&seen.empty_calls), "calls without rows");
    for (i = 0; i < 3; ++i)
        expect_number(10 + i, to[i], "row %d", i);
    scene_close(&scene);

    open_calibrated(&scene, "sim:0/item=1us+sim:1/item=3us", HDP_THREADS_MEMBER,
                    1);
    expect_ok(hdp_options_init(&plan, sizeof plan));
    expect_ok(hdp_plan_get(&plan, scene.plan));
    expect_number(1, plan.items[0], "rows of the fast one");
    expect_number(0, plan.items[1], "rows of the slow one");
    copy_rows(&scene, &seen, from, to);
    expect_number(1, atomic_load(&seen.calls), "calls for 1 row");
    scene_close(&scene);

    open_calibrated(&scene, "sim:0-3/item=1us", HDP_THREADS_MEMBER, 0);
    to[0] = -5;
    copy_rows(&scene, &seen, from, to);
    expect_number(0, atomic_load(&seen.calls), "calls for no rows");
    expect_number(-5, to[0], "output of no rows");
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_issues_numbers),
        cmocka_unit_test(any_model_is_met),
        cmocka_unit_test(gaps_and_other_orders),
        cmocka_unit_test(bad_lists_are_refused),
        cmocka_unit_test(fewer_rows_than_members),
        cmocka_unit_test(steps_leave_nothing_behind),
        cmocka_unit_test(groups_leave_nothing_behind),
    };

    return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
