/* on_memory: a member that lacks memory gets less, and the batch runs again;
 * each row exactly once in the attempt that is told. Memory of simulated
 * devices, of the caller's allocator, and of the caller's own function. */
#include <stdlib.h>
#include "job.h"
#include "paced.h"

enum { MEMBERS = 2, TOTAL = 60, ROW_BYTES = JOB_WIDTH * (int)sizeof(double) };

/* ---- an executor and its log -------------------------------------------------- */

struct desk {
    struct paced paced;
    hdp_context *context;
    hdp_executor *executor;
    struct job job;
    int warnings; /* lines of on_memory */
    char line[256];
    hdp_work_fn inner; /* called by the functions below */
    int64_t room;      /* items that the function's own memory holds */
    int32_t member;    /* of this member; -1: of all */
    int64_t wanted;    /* bytes it says it wanted */
};

static void log_line(int32_t level, const char *line, void *user)
{
    struct desk *desk = user;

    if (level != HDP_LOG_WARN || !strstr(line, "out of memory"))
        return;
    desk->warnings++;
    (void)snprintf(desk->line, sizeof desk->line, "%s", line);
}

PACED(job_function)

/* The executor of the desk's devices; on the fake's their lines are known. */
static void desk_start(struct desk *desk, hdp_executor_options *options)
{
    hdp_profile *known = NULL;

    if (!options->profile)
        options->profile = known = paced_profile(&desk->paced);
    expect_ok(hdp_executor_create(&desk->executor, desk->context,
                                  desk->paced.spec, options));
    if (known)
        options->profile = NULL;
    hdp_profile_destroy(known);
}

static void desk_open(struct desk *desk, const char *spec, int32_t threads,
                      hdp_executor_options *options)
{
    hdp_context_options context = { .size = sizeof context };
    hdp_group_options group = { .size = sizeof group, .threads = threads };

    memset(desk, 0, sizeof *desk);
    paced_open(&desk->paced, spec);
    context.log = log_line;
    context.log_user = desk;
    options->on_memory = 1;
    if (!options->group)
        options->group = &group;
    expect_ok(hdp_context_create(&desk->context, &context));
    desk_start(desk, options);
    options->group = NULL;
    job_open(&desk->job, TOTAL, MEMBERS);
    desk->job.work.cuda = job_function_paced;
    desk->member = -1;
}

static void desk_close(struct desk *desk)
{
    hdp_executor_destroy(desk->executor);
    hdp_context_destroy(desk->context);
    paced_close();
}

/* A step that works; returns the first member's share. */
static int64_t run(struct desk *desk, int64_t total, const char *name)
{
    hdp_report_info info = { .size = sizeof info };
    hdp_report *report = NULL;
    int64_t share;

    desk->job.total = total;
    job_reset(&desk->job);
    expect_ok(
        hdp_executor_run(&report, desk->executor, total, &desk->job.work));
    expect_right(&desk->job, "%s", name);
    expect_ok(hdp_report_get(&info, report));
    expect_number(total, info.items[0] + info.items[1], "%s: items told", name);
    share = info.items[0];
    hdp_report_destroy(report);
    return share;
}

static hdp_error fail_run(struct desk *desk, int64_t total)
{
    hdp_error error = { .size = sizeof error };
    hdp_report *report = NULL;

    desk->job.total = total;
    job_reset(&desk->job);
    expect_status(HDP_ERR_MEMORY, hdp_executor_run(&report, desk->executor,
                                                   total, &desk->job.work));
    expect_number(0, report != NULL, "a report of a failed batch");
    expect_ok(hdp_error_get(&error));
    return error;
}

/* ---- the library's own memory ------------------------------------------------- */

/* Stores of a share: input and output, 24 bytes a row each, of which the plan
 * knows one. A member of 1,200 bytes holds 25 rows. With 45, 1,080 bytes are
 * wanted and 120 free: 40 rows too many by what is known, and half a share is
 * given up at most. */
static void what_fits_is_worked_out(void **state)
{
    static const char spec[] = "sim:0/item=10ms/mem=1200B+sim:1/item=30ms";
    hdp_executor_options options = { .size = sizeof options };
    hdp_split_options split = { .size = sizeof split };
    struct desk desk;
    int32_t threads;

    (void)state;
    options.split = &split;
    for (threads = HDP_THREADS_MEMBER; threads <= HDP_THREADS_CALLER;
         ++threads) {
        split.item_bytes = ROW_BYTES;
        desk_open(&desk, spec, threads, &options);
        expect_number(23, run(&desk, TOTAL, "24 bytes a row said"), "share");
        if (desk.warnings != 1 || !strstr(desk.line, "member 0"))
            fail_msg("expected one warning about member 0, got %d: \"%s\"",
                     desk.warnings, desk.line);
        desk_close(&desk);
    }
}

/* Without a size of an item: three quarters, again and again. 45 rows, 34, 26,
 * 20; the next batches begin where this one ended. */
static void three_quarters_else(void **state)
{
    static const char spec[] = "sim:0/item=10ms/mem=1200B+sim:1/item=30ms";
    hdp_executor_options options = { .size = sizeof options };
    struct desk desk;
    int i;

    (void)state;
    desk_open(&desk, spec, HDP_THREADS_MEMBER, &options);
    expect_number(20, run(&desk, TOTAL, "45 rows of 25"), "share at last");
    expect_number(3, desk.warnings, "lowered caps");
    if (!strstr(desk.line,
                PACED_FAKE ? "member 0 (cuda:0" : "member 0 (sim:0") ||
        !strstr(desk.line, "with 26 items: at most 20"))
        fail_msg("expected the member, 26 items and 20, got \"%s\"", desk.line);
    for (i = 0; i < 20; ++i)
        expect_number(20, run(&desk, TOTAL, "later"), "share of step %d", i);
    expect_number(12, run(&desk, 16, "a small batch"), "share under the cap");
    expect_number(3, desk.warnings, "warnings at the end");
    desk_close(&desk);
}

/* Shares stay whole quanta, and one quantum less is the least that is tried. */
static void in_whole_quanta(void **state)
{
    static const char spec[] = "sim:0/item=10ms/mem=1200B+sim:1/item=30ms";
    hdp_executor_options options = { .size = sizeof options };
    hdp_split_options split = { .size = sizeof split, .quantum = 20 };
    struct desk desk;

    (void)state;
    options.split = &split;
    desk_open(&desk, spec, HDP_THREADS_MEMBER, &options);
    expect_number(20, run(&desk, TOTAL, "quanta of 20"), "share");
    expect_number(2, desk.warnings, "lowered caps"); /* 60, 40, 20 */
    desk_close(&desk);
}

/* Member 0's nth allocation fails, or all from it on. GPUs share one process:
 * there a failure is of whichever member comes to it. */
static void fail_alloc(struct desk *desk, hdp_executor_options *options,
                       int nth, int lasting)
{
    char text[128];

#ifdef HDP_TEST_FAKE
    desk_open(desk, "sim:0-1/item=10ms", HDP_THREADS_MEMBER, options);
    (void)snprintf(text, sizeof text, "fail=cudaMalloc:%d%s", nth,
                   lasting ? "-" : "");
    expect_number(0, fake_plant(text), "%s", text);
#else
    (void)snprintf(text, sizeof text,
                   "sim:0/item=10ms/fail=alloc:%d%s+sim:1/item=10ms", nth,
                   lasting ? "-" : "");
    desk_open(desk, text, HDP_THREADS_MEMBER, options);
#endif
}

/* The allocator says no at one call, or from it on; each hook's call once. */
static void injected_failures_of_alloc(void **state)
{
    hdp_executor_options options = { .size = sizeof options };
    char name[64];
    struct desk desk;
    int nth, lasting, step;

    (void)state;
    for (lasting = 0; lasting < (PACED_FAKE ? 1 : 2); ++lasting)
        for (nth = 1; nth <= 8; ++nth) {
            (void)snprintf(name, sizeof name, "alloc:%d%s", nth,
                           lasting ? "-" : "");
            fail_alloc(&desk, &options, nth, lasting);
            for (step = 0; step < 4; ++step)
                (void)run(&desk, TOTAL - step, name);
            if (nth <= 2 && !desk.warnings)
                fail_msg("%s: expected a lowered cap, got none", name);
            if (lasting && nth <= 2) /* it never gets memory: without rows */
                expect_number(0, run(&desk, TOTAL, name), "%s: share", name);
            desk_close(&desk);
        }
}

/* ---- the caller's allocator ------------------------------------------------------ */

enum { LENT_BYTES = 600 }; /* of member 0: 25 rows of an array */

/* Where the members are: of their devices, or of the host. */
static void *take_bytes(size_t bytes)
{
#ifdef HDP_TEST_FAKE
    void *memory = NULL;

    return cudaMalloc(&memory, bytes) == cudaSuccess ? memory : NULL;
#else
    return malloc(bytes);
#endif
}

static void give_bytes(void *memory)
{
#ifdef HDP_TEST_FAKE
    (void)cudaFree(memory);
#else
    free(memory);
#endif
}

static void *lend(int32_t member, size_t bytes, void *stream, void *user)
{
    _Atomic int32_t *lent = user;
    void *memory = NULL;

    (void)stream;
    if (member != 0 || bytes <= LENT_BYTES)
        memory = take_bytes(bytes);
    if (memory)
        atomic_fetch_add(lent, 1);
    return memory;
}

static void take_back(int32_t member, void *memory, void *stream, void *user)
{
    _Atomic int32_t *lent = user;

    (void)member;
    (void)stream;
    atomic_fetch_sub(lent, 1);
    give_bytes(memory);
}

/* What it refuses is a member out of memory like any other. */
static void the_allocator_says_no(void **state)
{
    _Atomic int32_t lent = 0;
    hdp_group_options group = { .size = sizeof group };
    hdp_executor_options options = { .size = sizeof options };
    struct desk desk;

    (void)state;
    group.alloc = lend;
    group.free = take_back;
    group.alloc_user = &lent;
    options.group = &group;
    desk_open(&desk, "sim:0/item=10ms+sim:1/item=30ms", HDP_THREADS_MEMBER,
              &options);
    expect_number(20, run(&desk, TOTAL, "a stingy allocator"), "share");
    expect_number(3, desk.warnings, "lowered caps"); /* 45 34 26 20 */
    desk_close(&desk);
    expect_number(0, atomic_load(&lent), "blocks not given back");
}

/* ---- the caller's own memory ---------------------------------------------------- */

static struct desk *hungry;

static int32_t hungry_function(const hdp_shard *shard, void *user)
{
    struct desk *desk = hungry;

    if (shard->items > desk->room &&
        (desk->member < 0 || desk->member == shard->member)) {
        (void)hdp_shard_fail(shard, HDP_ERR_MEMORY, desk->wanted,
                             "no room for activations");
        return 7;
    }
    return desk->inner(shard, user);
}

PACED(hungry_function)

static void be_hungry(struct desk *desk, int64_t room, int32_t member)
{
    hungry = desk;
    desk->inner = desk->job.work.host;
    desk->job.work.host = hungry_function;
    desk->job.work.cuda = hungry_function_paced;
    desk->room = room;
    desk->member = member;
}

/* A function that says it is out of memory, on members of every kind. */
static void functions_out_of_memory(void **state)
{
    static const int32_t flags[] = { 0, HDP_WORK_STAGED };
    static const hdp_model models[MEMBERS] = {
        { .size = sizeof models[0], .item_ns = 10000 },
        { .size = sizeof models[0], .item_ns = 30000 },
    };
    hdp_profile *profile = NULL;
    size_t f;
    int w;

    (void)state;
    expect_ok(hdp_profile_create(&profile, models, MEMBERS));
    for (w = 0; w < WAY_COUNT; ++w)
        for (f = 0; f < sizeof flags / sizeof *flags; ++f) {
            hdp_executor_options options = { .size = sizeof options };
            struct desk desk;
            char spec[64];
            job_spec(spec, sizeof spec, ways[w].kind, MEMBERS);
            options.profile = profile;
            options.learn = -1;
            desk_open(&desk, spec, ways[w].threads, &options);
            desk.job.work.flags = flags[f];
            be_hungry(&desk, 30, 0);
            expect_number(26, run(&desk, TOTAL, ways[w].name), /* 45 34 26 */
                          "%s: share", ways[w].name);
            expect_number(2, desk.warnings, "%s: lowered caps", ways[w].name);
            expect_number(26, run(&desk, TOTAL, ways[w].name), "%s: later",
                          ways[w].name);
            /* both in turn, and nothing is left that holds the batch */
            desk.member = -1;
            hdp_error error = fail_run(&desk, TOTAL);
            if (error.largest_total < 2 || error.largest_total >= TOTAL)
                fail_msg("%s: expected a largest total below %d, got %lld",
                         ways[w].name, TOTAL, (long long)error.largest_total);
            expect_number(7, error.user_code, "%s: user_code", ways[w].name);
            if (!strstr(error.text, "no room for activations"))
                fail_msg("%s: expected the function's words, got \"%s\"",
                         ways[w].name, error.text);
            (void)run(&desk, error.largest_total, "the largest total told");
            desk_close(&desk);
        }
    hdp_profile_destroy(profile);
}

/* What it wanted, what is free (600 bytes) and what an item takes (10) say how
 * many rows are too many. */
static void the_bytes_that_a_function_wanted(void **state)
{
    static const struct {
        int64_t wanted, room, share;
    } cases[] = {
        { 700, 40, 35 },     /* 100 bytes too many: 10 rows less */
        { 605, 44, 44 },     /* one row less */
        { 600, 44, 34 },     /* would have fitted: three quarters */
        { 1000000, 44, 23 }, /* half at most */
        { 0, 44, 34 },       /* not said: three quarters */
    };
    hdp_executor_options options = { .size = sizeof options };
    hdp_split_options split = { .size = sizeof split, .item_bytes = 10 };
    struct desk desk;
    size_t c;

    (void)state;
    options.split = &split;
    for (c = 0; c < sizeof cases / sizeof *cases; ++c) {
        desk_open(&desk, "sim:0/item=10ms/mem=2760B+sim:1/item=30ms",
                  HDP_THREADS_MEMBER, &options);
        be_hungry(&desk, cases[c].room, 0);
        desk.wanted = cases[c].wanted; /* 45 rows are 2,160 of 2,760 bytes */
        expect_number(cases[c].share, run(&desk, TOTAL, "wanted bytes"),
                      "case %d: share", (int)c);
        expect_number(1, desk.warnings, "case %d: lowered caps", (int)c);
        desk_close(&desk);
    }
}

/* ---- what it does not do --------------------------------------------------------- */

/* Minimums are never undercut, and the executor is as before. */
static void minimums_hold(void **state)
{
    static const int64_t least[MEMBERS] = { 40, 0 };
    hdp_executor_options options = { .size = sizeof options };
    struct desk desk;

    (void)state;
    options.min_items = least;
    desk_open(&desk, "sim:0/item=10ms+sim:1/item=30ms", HDP_THREADS_MEMBER,
              &options);
    be_hungry(&desk, 42, 0);
    (void)fail_run(&desk, TOTAL);
    desk.room = TOTAL;
    expect_number(45, run(&desk, TOTAL, "with room again"), "share");
    desk_close(&desk);
}

/* Without the option, or for another failure, a step fails once. */
static void only_when_it_is_asked_for(void **state)
{
    static const hdp_model models[MEMBERS] = {
        { .size = sizeof models[0], .item_ns = 10000 },
        { .size = sizeof models[0], .item_ns = 10000 },
    };
    hdp_profile *profile = NULL;
    hdp_executor_options options = { .size = sizeof options };
    struct desk desk;

    (void)state;
    desk_open(&desk, "sim:0-1/item=10ms", HDP_THREADS_MEMBER, &options);
    hdp_executor_destroy(desk.executor);
    options.on_memory = 0;
    desk_start(&desk, &options);
    be_hungry(&desk, 20, 0);
    (void)fail_run(&desk, TOTAL);
    expect_number(1, atomic_load(&desk.job.calls), "functions that worked");
    expect_number(0, desk.warnings, "warnings without on_memory");
    desk_close(&desk);

    expect_ok(hdp_profile_create(&profile, models, MEMBERS));
    options.profile = profile; /* calibration would wait */
    desk_open(&desk,
              PACED_FAKE ? "sim:0-1/item=10ms"
                         : "sim:0-1/item=10ms/fail=wait:1",
              HDP_THREADS_MEMBER, &options);
    hdp_profile_destroy(profile);
#ifdef HDP_TEST_FAKE
    expect_number(0, fake_plant("fail=cudaEventRecord:1:98"), "planted");
#endif
    expect_status(HDP_ERR_DEVICE,
                  hdp_executor_run(NULL, desk.executor, TOTAL, &desk.job.work));
    expect_number(0, desk.warnings, "warnings after another failure");
    (void)run(&desk, TOTAL, "after it");
    desk_close(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_worked_out),
        cmocka_unit_test(three_quarters_else),
        cmocka_unit_test(in_whole_quanta),
        cmocka_unit_test(injected_failures_of_alloc),
        cmocka_unit_test(the_allocator_says_no),
        cmocka_unit_test(functions_out_of_memory),
        cmocka_unit_test(the_bytes_that_a_function_wanted),
        cmocka_unit_test(minimums_hold),
        cmocka_unit_test(only_when_it_is_asked_for),
    };

    return cmocka_run_group_tests_name("executor_memory", tests, NULL, NULL);
}
