/* Groups as they are asked for: options kept or refused, memory through the
 * caller's allocator and given back, and what a report tells of a step. */
#include <stdlib.h>
#include <string.h>
#include "job.h"

enum { MEMBERS = 3, ROWS = 11 };

static const int64_t shares[MEMBERS] = { 6, 0, 5 };

/* ---- the caller's allocator ------------------------------------------------------ */

struct ledger {
    _Atomic int64_t held[MEMBERS], given, taken, bad;
    _Atomic int refusing;
};

enum { HEADER = 64 };

static void *lend(int32_t member, size_t bytes, void *stream, void *user)
{
    struct ledger *ledger = user;
    unsigned char *memory;

    if (member < 0 || member >= MEMBERS || bytes == 0 || stream)
        atomic_fetch_add(&ledger->bad, 1);
    if (atomic_load(&ledger->refusing))
        return NULL;
    memory =
        aligned_alloc(HEADER, HEADER + (bytes + HEADER - 1) / HEADER * HEADER);
    if (!memory)
        return NULL;
    memcpy(memory, &bytes, sizeof bytes);
    memcpy(memory + sizeof bytes, &member, sizeof member);
    atomic_fetch_add(&ledger->held[member], (int64_t)bytes);
    atomic_fetch_add(&ledger->given, 1);
    return memory + HEADER;
}

static void take_back(int32_t member, void *p, void *stream, void *user)
{
    struct ledger *ledger = user;
    unsigned char *memory = p;
    size_t bytes;
    int32_t owner;

    memory -= HEADER;
    memcpy(&bytes, memory, sizeof bytes);
    memcpy(&owner, memory + sizeof bytes, sizeof owner);
    if (owner != member || stream)
        atomic_fetch_add(&ledger->bad, 1);
    atomic_fetch_sub(&ledger->held[member], (int64_t)bytes);
    atomic_fetch_add(&ledger->taken, 1);
    free(memory);
}

/* ---- options ----------------------------------------------------------------- */

static void no_alloc(hdp_group_options *options)
{
    options->alloc = NULL;
    options->free = take_back;
}

static void unknown_threads(hdp_group_options *options)
{
    options->threads = 2;
}

static void unknown_comm(hdp_group_options *options)
{
    options->comm = 3;
}

static void unknown_check(hdp_group_options *options)
{
    options->checked = -1;
}

static void check_between(hdp_group_options *options)
{
    options->checked = 1;
}

static void negative_deadline(hdp_group_options *options)
{
    options->timeout_ns = -1;
}

static void negative_spin(hdp_group_options *options)
{
    options->spin_ns = -1;
}

static void negative_staging(hdp_group_options *options)
{
    options->staging_bytes = -1;
}

static void reserved_used(hdp_group_options *options)
{
    options->reserved = 1;
}

static void a_stream(hdp_group_options *options)
{
    static void *const streams[MEMBERS] = { NULL, (void *)(uintptr_t)8, NULL };

    options->streams = streams;
}

static void second_of_one(hdp_group_options *options)
{
    static hdp_world world = { .size = sizeof world };

    world.process_count = 1;
    world.process_index = 1;
    options->world = &world;
}

static void negative_world(hdp_group_options *options)
{
    static hdp_world world = { .size = sizeof world };

    world.process_count = -1;
    options->world = &world;
}

static void two_processes(hdp_group_options *options)
{
    static hdp_world world = { .size = sizeof world };

    world.process_count = 2;
    options->world = &world;
}

static void bad_options_are_refused(void **state)
{
    static const struct {
        const char *says; /* the thing at fault */
        hdp_status want;
        void (*spoil)(hdp_group_options *options);
    } bads[] = {
        { "alloc and free", HDP_ERR_ARGUMENT, no_alloc },
        { "threads", HDP_ERR_ARGUMENT, unknown_threads },
        { "comm", HDP_ERR_ARGUMENT, unknown_comm },
        { "checked is -1", HDP_ERR_ARGUMENT, unknown_check },
        { "checked is 1", HDP_ERR_ARGUMENT, check_between },
        { "timeout_ns", HDP_ERR_ARGUMENT, negative_deadline },
        { "spin_ns", HDP_ERR_ARGUMENT, negative_spin },
        { "staging_bytes", HDP_ERR_ARGUMENT, negative_staging },
        { "reserved is 1", HDP_ERR_ARGUMENT, reserved_used },
        { "streams[1]", HDP_ERR_ARGUMENT, a_stream },
        { "process_index 1 of 1", HDP_ERR_ARGUMENT, second_of_one },
        { "of -1", HDP_ERR_ARGUMENT, negative_world },
        { "process_count is 2", HDP_ERR_UNSUPPORTED, two_processes },
    };
    hdp_context *context = NULL;
    hdp_group *group = NULL;
    size_t i;

    (void)state;
    expect_ok(hdp_context_create(&context, NULL));
    for (i = 0; i < sizeof bads / sizeof *bads; ++i) {
        hdp_group_options options = { .size = sizeof options };
        hdp_status status;
        bads[i].spoil(&options);
        status = hdp_group_create_spec(&group, context, "host:0-2/threads=1",
                                       &options);
        if (status != bads[i].want || group)
            fail_msg("%s: expected %s and no group, got %s", bads[i].says,
                     hdp_status_string(bads[i].want),
                     hdp_status_string(status));
        if (!strstr(hdp_last_error(), bads[i].says))
            fail_msg("expected a text with \"%s\", got \"%s\"", bads[i].says,
                     hdp_last_error());
    }
    hdp_context_destroy(context);
}

static int32_t nothing(const hdp_shard *shard, void *user)
{
    (void)shard;
    (void)user;
    return 0;
}

ON_GPU(nothing)

/* One process is a world as well; when to connect is the caller's choice. */
static void worlds_of_one_and_connections(void **state)
{
    hdp_world world = { .size = sizeof world, .process_count = 1 };
    hdp_group_info info = { .size = sizeof info };
    int32_t comm;

    (void)state;
    for (comm = HDP_COMM_LAZY; comm <= HDP_COMM_NONE; ++comm) {
        hdp_group_options options = { .size = sizeof options,
                                      .world = &world,
                                      .comm = comm };
        hdp_status want = comm == HDP_COMM_NONE ? HDP_ERR_STATE : HDP_OK;
        struct scene scene;
        struct job job;
        scene_open(&scene, "host:0-2/threads=1", shares, MEMBERS, &options);
        expect_ok(hdp_group_get(&info, scene.group));
        expect_number(MEMBERS, info.member_count, "members");
        expect_number(MEMBERS, info.rank_count, "ranks");
        expect_number(0, info.first_rank, "first rank");
        expect_number(1, info.process_count, "processes");
        expect_number(0, (int64_t)info.step, "steps at first");
        job_open(&job, ROWS, MEMBERS);
        expect_status(want, hdp_run(NULL, scene.group, scene.plan, &job.work));
        expect_status(want,
                      hdp_all_reduce(scene.group, scene.plan, &job.buckets[0]));
        if (comm == HDP_COMM_NONE)
            expect_number(0, atomic_load(&job.calls), "functions refused");
        job.work.bucket_count = 0;
        job.work.host = nothing;
        job.work.cuda = nothing_on_gpu;
        expect_ok(hdp_run(NULL, scene.group, scene.plan, &job.work));
        expect_ok(hdp_barrier(scene.group));
        scene_close(&scene);
    }
}

/* The same devices in another order are another group; the same are the same. */
static void fingerprints_tell_groups_apart(void **state)
{
    static const char *const specs[] = { "sim:0-1", "sim:0,1", "sim:1,0",
                                         "sim:0-2", "sim:0,2" };
    uint64_t prints[5];
    hdp_group_info info = { .size = sizeof info };
    int i, k;

    (void)state;
    for (i = 0; i < 5; ++i) {
        struct scene scene;
        scene_open(&scene, specs[i], NULL, 0, NULL);
        expect_ok(hdp_group_get(&info, scene.group));
        prints[i] = info.fingerprint;
        scene_close(&scene);
    }
    for (i = 0; i < 5; ++i)
        for (k = 0; k < i; ++k)
            if ((prints[i] == prints[k]) != (i == 1 && k == 0))
                fail_msg("%s and %s: expected %s fingerprints, got %llx and "
                         "%llx",
                         specs[i], specs[k],
                         i == 1 && k == 0 ? "equal" : "unlike",
                         (unsigned long long)prints[i],
                         (unsigned long long)prints[k]);
}

/* ---- memory --------------------------------------------------------------- */

/* What the report says is held is what the allocator gave; trim gives it all
 * back. */
static void step_and_trim(struct scene *scene, struct job *job,
                          struct ledger *ledger, int round)
{
    hdp_report_info info = { .size = sizeof info };
    hdp_report *report = NULL;
    int32_t m;

    job_reset(job);
    expect_ok(hdp_run(&report, scene->group, scene->plan, &job->work));
    expect_right(job, "round %d", round);
    expect_ok(hdp_report_get(&info, report));
    for (m = 0; m < MEMBERS; ++m) {
        int64_t rows = shares[m] * JOB_WIDTH * (int64_t)sizeof(double);
        expect_number(atomic_load(&ledger->held[m]), info.held_bytes[m],
                      "round %d: held_bytes[%d]", round, (int)m);
        if (info.held_bytes[m] < 2 * rows ||
            info.peak_bytes[m] < info.held_bytes[m])
            fail_msg("member %d: expected %lld held bytes at least, got %lld, "
                     "peak %lld",
                     (int)m, (long long)(2 * rows),
                     (long long)info.held_bytes[m],
                     (long long)info.peak_bytes[m]);
    }
    hdp_report_destroy(report);
    expect_ok(hdp_group_trim(scene->group));
    for (m = 0; m < MEMBERS; ++m)
        expect_number(0, atomic_load(&ledger->held[m]),
                      "held by member %d after trim", (int)m);
}

/* The next step takes the same again; what is refused is said, and passes. */
static void memory_is_the_callers(void **state)
{
    int32_t threads;
    int round;

    (void)state;
    for (threads = HDP_THREADS_MEMBER; threads <= HDP_THREADS_CALLER;
         ++threads) {
        struct ledger ledger = { { 0 }, 0, 0, 0, 0 };
        hdp_group_options options = { .size = sizeof options,
                                      .threads = threads,
                                      .alloc = lend,
                                      .free = take_back,
                                      .alloc_user = &ledger };
        hdp_error error = { .size = sizeof error };
        struct scene scene;
        struct job job;
        scene_open(&scene, "sim:0-2/item=1us", shares, MEMBERS, &options);
        job_open(&job, ROWS, MEMBERS);
        for (round = 0; round < 3; ++round)
            step_and_trim(&scene, &job, &ledger, round);
        atomic_store(&ledger.refusing, 1);
        expect_status(HDP_ERR_MEMORY,
                      hdp_run(NULL, scene.group, scene.plan, &job.work));
        expect_ok(hdp_error_get(&error));
        if (error.wanted_bytes <= 0 || (error.member != 0 && error.member != 2))
            fail_msg("expected bytes wanted by member 0 or 2, got %lld by %d",
                     (long long)error.wanted_bytes, (int)error.member);
        atomic_store(&ledger.refusing, 0);
        job_reset(&job);
        expect_ok(hdp_run(NULL, scene.group, scene.plan, &job.work));
        expect_right(&job, "after a refusal");
        scene_close(&scene);
        expect_number(atomic_load(&ledger.given), atomic_load(&ledger.taken),
                      "blocks given back");
        expect_number(0, atomic_load(&ledger.bad),
                      "calls with wrong arguments");
    }
}

/* ---- the report --------------------------------------------------------------------- */

/* Spans lie within the step, in order of rank, lane and time, and spans of one
 * lane do not overlap. */
static void check_spans(const hdp_report_info *info, const char *name)
{
    int32_t i;

    for (i = 0; i < info->span_count; ++i) {
        const hdp_span *b = &info->spans[i], *a = b - 1;
        if (b->start_ns < 0 || b->end_ns < b->start_ns || b->rank < 0 ||
            b->rank >= info->rank_count || b->lane < HDP_LANE_COMPUTE ||
            b->lane > HDP_LANE_REDUCE || b->phase < HDP_PHASE_IN ||
            b->phase > HDP_PHASE_WAIT)
            fail_msg("%s, span %d: expected a piece of a timeline, got rank "
                     "%d, lane %d, phase %d, %lld to %lld ns",
                     name, (int)i, (int)b->rank, (int)b->lane, (int)b->phase,
                     (long long)b->start_ns, (long long)b->end_ns);
        if (i == 0)
            continue;
        if (b->rank < a->rank || (b->rank == a->rank && b->lane < a->lane) ||
            (b->rank == a->rank && b->lane == a->lane &&
             b->start_ns < a->end_ns))
            fail_msg("%s, span %d: expected order without overlap, got rank "
                     "%d, lane %d, %lld ns after rank %d, lane %d, %lld ns",
                     name, (int)i, (int)b->rank, (int)b->lane,
                     (long long)b->start_ns, (int)a->rank, (int)a->lane,
                     (long long)a->end_ns);
    }
}

static void reports_tell_the_step(void **state)
{
    static const int32_t first[3] = { 1, 0, 0 };
    int w, step;
    int32_t r, i;

    (void)state;
    for (w = 0; w < WAY_COUNT; ++w) {
        struct scene scene;
        struct job job;
        scene_open_way(&scene, &ways[w], shares, MEMBERS);
        job_open(&job, ROWS, MEMBERS);
        job.work.max_piece_items = 2;
        for (step = 0; step < 3; ++step) {
            hdp_report *report = NULL;
            hdp_report_info info = { .size = sizeof info };
            int32_t pieces[MEMBERS] = { 0 };
            expect_ok(hdp_run(&report, scene.group, scene.plan, &job.work));
            expect_ok(hdp_report_get(&info, report));
            expect_number(step + 1, (int64_t)info.step, "step");
            expect_number(HDP_ENGINE_LOCAL, info.reduce_engine, "engine");
            check_spans(&info, ways[w].name);
            for (i = 0; i < info.span_count; ++i)
                pieces[info.spans[i].rank] +=
                    info.spans[i].phase == HDP_PHASE_COMPUTE;
            for (r = 0; r < MEMBERS; ++r) {
                expect_number(shares[r], info.items[r], "items[%d]", (int)r);
                expect_number((shares[r] + 1) / 2, pieces[r],
                              "%s: compute spans of %d", ways[w].name, (int)r);
                if (shares[r])
                    expect_number(first[step], info.first_at_share[r],
                                  "%s: first_at_share[%d]", ways[w].name,
                                  (int)r);
                if (info.compute_ns[r] < 0 || info.step_ns < info.compute_ns[r])
                    fail_msg("%s: expected a step of %lld ns at least, got "
                             "%lld",
                             ways[w].name, (long long)info.compute_ns[r],
                             (long long)info.step_ns);
            }
            hdp_report_destroy(report);
        }
        scene_close(&scene);
    }
}

static int32_t join_twice(const hdp_shard *shard, void *user)
{
    (void)user;
    return hdp_shard_all_reduce(shard, 0) || hdp_shard_join(shard) ||
           hdp_shard_all_reduce(shard, 1) || hdp_shard_join(shard);
}

ON_GPU(join_twice)

/* A wait ends before the call that it is part of, and stands behind it. */
static void waits_stand_in_their_lane(void **state)
{
    static const struct way way = { HDP_HOST, HDP_THREADS_MEMBER, "host" };
    struct scene scene;
    struct job job;
    hdp_report *report = NULL;
    hdp_report_info info = { .size = sizeof info };
    int32_t i, waits = 0;

    (void)state;
    scene_open_way(&scene, &way, shares, MEMBERS);
    job_open(&job, ROWS, MEMBERS);
    job.work.host = join_twice;
    job.work.cuda = join_twice_on_gpu;
    expect_ok(hdp_run(&report, scene.group, scene.plan, &job.work));
    expect_ok(hdp_report_get(&info, report));
    check_spans(&info, "two joins");
    for (i = 0; i < info.span_count; ++i)
        waits += info.spans[i].phase == HDP_PHASE_WAIT;
    expect_number(4, waits, "waits of two members");
    expect_number(6, info.span_count, "spans");
    hdp_report_destroy(report);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(worlds_of_one_and_connections),
        cmocka_unit_test(fingerprints_tell_groups_apart),
        cmocka_unit_test(memory_is_the_callers),
        cmocka_unit_test(reports_tell_the_step),
        cmocka_unit_test(waits_stand_in_their_lane),
    };

    return cmocka_run_group_tests_name("group", tests, NULL, NULL);
}
