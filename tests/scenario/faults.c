/* Functions that fail, are slow or never return, on each member in turn; what
 * the group is afterwards, and who is named.
 *
 *   fault                                   test
 *   host allocation fails, at any site      allocation.c
 *   device allocation fails                 inject.c
 *   out of memory inside a callback         says_why_it_fails
 *   sizes that overflow                     refused.c
 *   callback returns an error on shard k    fails_on_each_shard
 *   callback never returns                  never_returns*
 *   stream, event or handle creation fails  inject.c (alloc, reduce)
 *   a member with zero rows                 fails_on_each_shard, job.h
 *   what a host program is                  host_program.c
 */
#include <stdlib.h>
#include "job.h"
#include "process.h"

enum { MEMBERS = 3, ROWS = 11 };

static const int64_t shares[MEMBERS] = { 6, 0, 5 };

static void expect_who(hdp_status status, int32_t member, uint64_t step,
                       const char *name)
{
    hdp_error error = { .size = sizeof error };

    expect_ok(hdp_error_get(&error));
    expect_number(status, error.status, "%s: status of the error", name);
    expect_number(member, error.member, "%s: member", name);
    expect_number(member, error.rank, "%s: rank", name);
    expect_number((int64_t)step, (int64_t)error.step, "%s: step", name);
}

/* ---- a function that fails ----------------------------------------------- */

/* Floats of a bucket that could not be reduced are NaN on every member. */
static void expect_nan(const struct job *job, const char *name)
{
    int32_t m;
    int c;

    for (m = 0; m < MEMBERS; ++m)
        for (c = 0; c < 2; ++c)
            if (!isnan(job->mean[m][c]))
                fail_msg("%s: member %d, mean %d: expected NaN, got %g", name,
                         (int)m, c, job->mean[m][c]);
}

static void fail_at(struct scene *scene, struct job *job, int32_t member,
                    int64_t offset, int32_t code, const char *way)
{
    hdp_error error = { .size = sizeof error };
    hdp_report *report = NULL;
    hdp_group_info info = { .size = sizeof info };
    char name[96];
    int32_t others = member == 0 ? 3 : 3; /* pieces of 2: 3 of 6, 3 of 5 */

    (void)snprintf(name, sizeof name, "%s, member %d, row %d, code %d", way,
                   (int)member, (int)offset, (int)code);
    job_reset(job);
    job->bad_member = member;
    job->bad_offset = offset;
    job->bad_code = code;
    expect_status(HDP_ERR_CALLBACK,
                  hdp_run(&report, scene->group, scene->plan, &job->work));
    expect_number(0, report != NULL, "%s: a report", name);
    expect_ok(hdp_group_get(&info, scene->group));
    expect_who(HDP_ERR_CALLBACK, member, info.step, name);
    expect_ok(hdp_error_get(&error));
    expect_number(code, error.user_code, "%s: user_code", name);
    expect_number(HDP_RETRY, error.severity, "%s: severity", name);
    expect_nan(job, name);
    if (atomic_load(&job->calls) < others + 1)
        fail_msg("%s: expected the others' %d calls and its own, got %d", name,
                 (int)others, (int)atomic_load(&job->calls));
    expect_number(0, atomic_load(&job->empty_calls), "%s: empty calls", name);

    job->bad_code = 0;
    job_reset(job);
    expect_ok(hdp_run(NULL, scene->group, scene->plan, &job->work));
    expect_right(job, "%s, the next step", name);
}

static void fails_on_each_shard(void **state)
{
    static const int32_t codes[] = { 1, -1, 42, INT32_MAX, INT32_MIN };
    static const int64_t rows[] = { 0, 2, 4, 6, 8, 10 };
    size_t r;
    int w;

    (void)state;
    for (w = 0; w < WAY_COUNT; ++w) {
        struct scene scene;
        struct job job;
        scene_open_way(&scene, &ways[w], shares, MEMBERS);
        job_open(&job, ROWS, MEMBERS);
        job.work.max_piece_items = 2;
        for (r = 0; r < sizeof rows / sizeof *rows; ++r)
            fail_at(&scene, &job, rows[r] < 6 ? 0 : 2, rows[r], codes[r % 5],
                    ways[w].name);
        scene_close(&scene);
    }
}

/* An empty member's function fails: it is called for the optimizer's sake. */
static void fails_without_rows(void **state)
{
    int w;

    (void)state;
    for (w = 0; w < WAY_COUNT; ++w) {
        struct scene scene;
        struct job job;
        scene_open_way(&scene, &ways[w], shares, MEMBERS);
        job_open(&job, ROWS, MEMBERS);
        job.work.flags = HDP_WORK_EMPTY_TOO;
        job.bad_member = 1;
        job.bad_code = 9;
        expect_status(HDP_ERR_CALLBACK,
                      hdp_run(NULL, scene.group, scene.plan, &job.work));
        expect_who(HDP_ERR_CALLBACK, 1, 1, ways[w].name);
        job.bad_code = 0;
        job_reset(&job);
        expect_ok(hdp_run(NULL, scene.group, scene.plan, &job.work));
        expect_number(1, atomic_load(&job.empty_calls), "%s: empty calls",
                      ways[w].name);
        expect_right(&job, "%s, the next step", ways[w].name);
        scene_close(&scene);
    }
}

/* ---- a function that says why -------------------------------------------- */

struct excuse {
    int32_t member, returns;
    hdp_status met[3];
};

static int32_t give_excuse(const hdp_shard *shard, void *user)
{
    struct excuse *excuse = user;

    if (shard->member != excuse->member)
        return 0;
    excuse->met[0] = hdp_shard_fail(shard, HDP_OK, 0, "no failure");
    excuse->met[1] = hdp_shard_fail(shard, HDP_ERR_SYSTEM, 0, NULL);
    excuse->met[2] =
        hdp_shard_fail(shard, HDP_ERR_MEMORY, 123456789, "scratch\nof layer 3");
    return excuse->returns;
}

ON_GPU(give_excuse)

static void says_why_it_fails(void **state)
{
    int32_t member;
    int w;

    (void)state;
    for (w = 0; w < WAY_COUNT; ++w)
        for (member = 0; member < MEMBERS; member += 2) {
            struct scene scene;
            struct excuse excuse = { member,
                                     member ? 3 : 0,
                                     { -99, -99, -99 } };
            hdp_error error = { .size = sizeof error };
            hdp_work work;
            scene_open_way(&scene, &ways[w], shares, MEMBERS);
            expect_ok(hdp_options_init(&work, sizeof work));
            work.host = give_excuse;
            work.cuda = give_excuse_on_gpu;
            work.user = &excuse;
            expect_status(HDP_ERR_MEMORY,
                          hdp_run(NULL, scene.group, scene.plan, &work));
            expect_who(HDP_ERR_MEMORY, member, 1, ways[w].name);
            expect_ok(hdp_error_get(&error));
            expect_number(123456789, error.wanted_bytes, "wanted_bytes");
            expect_number(excuse.returns, error.user_code, "user_code");
            expect_number(HDP_RETRY, error.severity, "severity");
            if (!strstr(error.text, "of layer 3") || strchr(error.text, '\n'))
                fail_msg("expected one line with the reason, got \"%s\"",
                         error.text);
            expect_number(HDP_ERR_ARGUMENT, excuse.met[0], "fail with success");
            expect_number(HDP_OK, excuse.met[1], "fail");
            expect_number(HDP_OK, excuse.met[2], "fail again");
            excuse.member = -1;
            expect_ok(hdp_run(NULL, scene.group, scene.plan, &work));
            scene_close(&scene);
        }
}

/* What the member at fault said is told, also when it says "not now", and not
 * what the members before it heard of it in their reduces. */
static int32_t not_now(const hdp_shard *shard, void *user)
{
    const struct job *job = user;

    if (shard->member != job->bad_member)
        return 0;
    (void)hdp_shard_fail(shard, HDP_ERR_STATE, 0, "the optimizer is asleep");
    return 0;
}

ON_GPU(not_now)

static void tells_the_cause(void **state)
{
    int w;

    (void)state;
    for (w = 0; w < WAY_COUNT; ++w) {
        struct scene scene;
        struct job job;
        scene_open_way(&scene, &ways[w], shares, MEMBERS);
        job_open(&job, ROWS, MEMBERS);
        job.bad_member = 2;
        job.work.host = not_now;
        job.work.cuda = not_now_on_gpu;
        expect_status(HDP_ERR_STATE,
                      hdp_run(NULL, scene.group, scene.plan, &job.work));
        expect_who(HDP_ERR_STATE, 2, 1, ways[w].name);
        if (!strstr(hdp_last_error(), "asleep"))
            fail_msg("%s: expected the reason, got \"%s\"", ways[w].name,
                     hdp_last_error());
        scene_close(&scene);
    }
}

/* ---- a slow function ----------------------------------------------------------- */

struct slow {
    int32_t member;
};

static int32_t be_slow(const hdp_shard *shard, void *user)
{
    const struct slow *slow = user;

    if (shard->member == slow->member)
        sleep_ns(30000000);
    return hdp_shard_all_reduce(shard, 0);
}

ON_GPU(be_slow)

static void slow_on_each_member(void **state)
{
    int32_t member;
    int w;

    (void)state;
    for (w = 0; w < WAY_COUNT; ++w)
        for (member = 0; member < MEMBERS; member += 2) {
            struct scene scene;
            struct slow slow = { member };
            struct job job;
            hdp_report *report = NULL;
            hdp_report_info info = { .size = sizeof info };
            scene_open_way(&scene, &ways[w], shares, MEMBERS);
            job_open(&job, ROWS, MEMBERS);
            job.work.host = be_slow;
            job.work.cuda = be_slow_on_gpu;
            job.work.user = &slow;
            job.work.bucket_count = 1;
            job.mean[0][0] = job.mean[0][1] = 1;
            job.mean[2][0] = job.mean[2][1] = 12;
            expect_ok(hdp_run(&report, scene.group, scene.plan, &job.work));
            /* (6 x 1 + 5 x 12) / 11 */
            if (job.mean[1][0] != 6)
                fail_msg("%s, slow member %d: expected 6, got %g", ways[w].name,
                         (int)member, job.mean[1][0]);
            expect_ok(hdp_report_get(&info, report));
            if (ways[w].kind == HDP_HOST && info.compute_ns[member] < 30000000)
                fail_msg("%s: expected 30 ms of member %d at least, got %lld "
                         "ns",
                         ways[w].name, (int)member,
                         (long long)info.compute_ns[member]);
            if (ways[w].kind == HDP_SIM)
                expect_number(shares[member] * 1000, info.compute_ns[member],
                              "%s: virtual time of member %d", ways[w].name,
                              (int)member);
            hdp_report_destroy(report);
            scene_close(&scene);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fails_on_each_shard),
        cmocka_unit_test(fails_without_rows),
        cmocka_unit_test(says_why_it_fails),
        cmocka_unit_test(tells_the_cause),
        cmocka_unit_test(slow_on_each_member),
    };

    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
