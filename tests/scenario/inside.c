/* What a function may say while it is inside a step: buckets in any order, a
 * join, nothing at all; and what it may not. */
#include <pthread.h>
#include "job.h"

enum { MEMBERS = 3 };

static const int64_t shares[MEMBERS] = { 5, 0, 3 };

/* ---- said inside the function ---------------------------------------------- */

/* What each member's function does with three buckets, and what it met. */
struct script {
    const char *name;
    const char *says;      /* digits: say that bucket; j: join */
    const hdp_status *met; /* one a letter */
    int silent_member;     /* returns at once, saying nothing; -1: none */
};

enum { BUCKETS = 3, LETTERS_MAX = 8 };

struct talk {
    const struct script *script;
    double value[MEMBERS][BUCKETS];
    double joined[MEMBERS][BUCKETS]; /* copied right after a join */
    void *recv[BUCKETS][MEMBERS];
    int64_t element;
    hdp_buffers buckets[BUCKETS];
    hdp_work work;
    hdp_status met[MEMBERS][LETTERS_MAX];
};

static int32_t talk_inside(const hdp_shard *shard, void *user)
{
    struct talk *talk = user;
    int32_t m = shard->member, i;
    const char *at = talk->script->says;

    if (m == talk->script->silent_member)
        return 0;
    for (i = 0; at[i]; ++i) {
        talk->met[m][i] = at[i] == 'j'
                              ? hdp_shard_join(shard)
                              : hdp_shard_all_reduce(shard, at[i] - '0');
        if (at[i] == 'j' && talk->met[m][i] == HDP_OK)
            memcpy(talk->joined[m], talk->value[m], sizeof talk->joined[m]);
    }
    return 0;
}

ON_GPU(talk_inside)

static void talk_open(struct talk *talk, const struct script *script)
{
    int32_t m, b;

    memset(talk, 0, sizeof *talk);
    talk->script = script;
    talk->element = 1;
    expect_ok(hdp_options_init(&talk->work, sizeof talk->work));
    talk->work.host = talk_inside;
    talk->work.cuda = talk_inside_on_gpu;
    talk->work.user = talk;
    talk->work.buckets = talk->buckets;
    talk->work.bucket_count = BUCKETS;
    for (b = 0; b < BUCKETS; ++b) {
        for (m = 0; m < MEMBERS; ++m) {
            talk->value[m][b] =
                shares[m] ? (double)(10 * b + m + 1) : (double)NAN;
            talk->joined[m][b] = -1;
            talk->recv[b][m] = &talk->value[m][b];
        }
        job_bucket(&talk->buckets[b], HDP_F64, HDP_OP_SUM, &talk->element,
                   talk->recv[b]);
    }
}

/* 1 + 3 for the members that have rows, 10 a bucket each. */
static double sum_of(int32_t bucket)
{
    return 20.0 * bucket + 4;
}

static const hdp_status all_ok[LETTERS_MAX] = { HDP_OK };
static const hdp_status twice_met[] = { HDP_OK, HDP_ERR_STATE, HDP_OK, HDP_OK,
                                        HDP_OK };
static const hdp_status early_met[] = { HDP_OK, HDP_ERR_STATE, HDP_OK, HDP_OK,
                                        HDP_OK };
static const hdp_status range_met[] = { HDP_ERR_ARGUMENT, HDP_OK };

static const struct script scripts[] = {
    { "in order", "012j", all_ok, -1 },
    { "joined one by one", "0j1j2j", all_ok, -1 },
    { "backwards", "210j", all_ok, -1 },
    { "mixed", "120j", all_ok, -1 },
    { "never joined", "201", all_ok, -1 },
    { "nothing said", "", all_ok, -1 },
    { "the first alone", "0", all_ok, -1 },
    { "the last alone", "2", all_ok, -1 },
    { "join of nothing", "j", all_ok, -1 },
    { "one member silent", "01j2j", all_ok, 2 },
    { "said twice", "0012j", twice_met, -1 },
    { "joined over a gap", "1j02j", early_met, -1 },
    { "no such bucket", "3", range_met, -1 },
};

static void follow(const struct script *script, const struct way *way)
{
    struct scene scene;
    struct talk talk;
    int32_t m, b, i, letters = (int32_t)strlen(script->says), said;
    int ends_joined = letters >= 4 && script->says[letters - 1] == 'j';

    scene_open_way(&scene, way, shares, MEMBERS);
    talk_open(&talk, script);
    expect_ok(hdp_run(NULL, scene.group, scene.plan, &talk.work));
    for (m = 0; m < MEMBERS; ++m) {
        said = shares[m] > 0 && m != script->silent_member;
        for (b = 0; b < BUCKETS; ++b) {
            if (talk.value[m][b] != sum_of(b))
                fail_msg("%s, %s: member %d, bucket %d: expected %g, got %g",
                         script->name, way->name, (int)m, (int)b, sum_of(b),
                         talk.value[m][b]);
            if (said && ends_joined && talk.joined[m][b] != sum_of(b))
                fail_msg("%s, %s: member %d, bucket %d inside the function: "
                         "expected %g, got %g",
                         script->name, way->name, (int)m, (int)b, sum_of(b),
                         talk.joined[m][b]);
        }
        for (i = 0; said && i < letters; ++i)
            expect_number(script->met[i], talk.met[m][i],
                          "%s, %s: member %d, letter %d", script->name,
                          way->name, (int)m, (int)i);
    }
    scene_close(&scene);
}

static void buckets_in_any_order(void **state)
{
    static const struct way both[] = {
        { HDP_HOST, HDP_THREADS_MEMBER, "host" },
        { HDP_SIM, HDP_THREADS_MEMBER, "sim" },
    };
    size_t i;
    int w;

    (void)state;
    for (i = 0; i < sizeof scripts / sizeof *scripts; ++i)
        for (w = 0; w < 2; ++w)
            follow(&scripts[i], &both[w]);
}

/* CALLER: one thread plays all members, so a join inside can be met only by
 * the member that comes last; what is said is reduced when all have spoken. */
static void one_thread_for_all(void **state)
{
    static const struct script script = { "in order", "012j", all_ok, -1 };
    int w;
    int32_t m, b;

    (void)state;
    for (w = 1; w < WAY_COUNT; w += 2) {
        struct scene scene;
        struct talk talk;
        scene_open_way(&scene, &ways[w], shares, MEMBERS);
        talk_open(&talk, &script);
        expect_ok(hdp_run(NULL, scene.group, scene.plan, &talk.work));
        expect_number(HDP_ERR_STATE, talk.met[0][3], "%s: join of member 0",
                      ways[w].name);
        expect_number(HDP_OK, talk.met[2][3], "%s: join of the last member",
                      ways[w].name);
        for (b = 0; b < BUCKETS; ++b) {
            if (talk.joined[2][b] != sum_of(b))
                fail_msg("%s: bucket %d inside the last member: expected %g, "
                         "got %g",
                         ways[w].name, (int)b, sum_of(b), talk.joined[2][b]);
            for (m = 0; m < MEMBERS; ++m)
                if (talk.value[m][b] != sum_of(b))
                    fail_msg("%s: member %d, bucket %d: expected %g, got %g",
                             ways[w].name, (int)m, (int)b, sum_of(b),
                             talk.value[m][b]);
        }
        scene_close(&scene);
    }
}

/* Buckets belong to the last piece; a batch without rows reduces nothing. */
struct early {
    hdp_status met[2];
};

static int32_t say_early(const hdp_shard *shard, void *user)
{
    struct early *early = user;

    if (shard->member == 0)
        early->met[!(shard->flags & HDP_SHARD_FIRST)] =
            hdp_shard_all_reduce(shard, 0);
    return 0;
}

ON_GPU(say_early)

static void too_early_or_nothing(void **state)
{
    static const int64_t none[MEMBERS] = { 0, 0, 0 };
    hdp_plan *empty = NULL;
    int w;

    (void)state;
    expect_ok(hdp_plan_create(&empty, none, MEMBERS));
    for (w = 0; w < WAY_COUNT; ++w) {
        struct scene scene;
        struct talk talk;
        struct early early = { { -99, -99 } };
        scene_open_way(&scene, &ways[w], shares, MEMBERS);
        talk_open(&talk, &scripts[0]);
        talk.work.host = say_early;
        talk.work.cuda = say_early_on_gpu;
        talk.work.user = &early;
        talk.work.max_piece_items = 3;
        expect_ok(hdp_run(NULL, scene.group, scene.plan, &talk.work));
        expect_number(HDP_ERR_STATE, early.met[0], "%s: first of two pieces",
                      ways[w].name);
        expect_number(HDP_OK, early.met[1], "%s: last piece", ways[w].name);
        talk.value[0][0] = 42;
        talk.work.flags = HDP_WORK_EMPTY_TOO;
        expect_ok(hdp_run(NULL, scene.group, empty, &talk.work));
        expect_number(HDP_ERR_STATE, early.met[0], "%s: a batch without rows",
                      ways[w].name);
        expect_number(42, (int64_t)talk.value[0][0], "%s: recv of nothing",
                      ways[w].name);
        scene_close(&scene);
    }
    hdp_plan_destroy(empty);
}

/* A function written for buckets, in a step that has none. */
static void a_step_without_buckets(void **state)
{
    static const hdp_status met[] = { HDP_OK, HDP_ERR_ARGUMENT, HDP_OK };
    static const struct script script = { "no buckets", "j0j", met, -1 };
    int w, i;

    (void)state;
    for (w = 0; w < WAY_COUNT; ++w) {
        struct scene scene;
        struct talk talk;
        scene_open_way(&scene, &ways[w], shares, MEMBERS);
        talk_open(&talk, &script);
        talk.work.buckets = NULL;
        talk.work.bucket_count = 0;
        expect_ok(hdp_run(NULL, scene.group, scene.plan, &talk.work));
        for (i = 0; i < 3; ++i)
            expect_number(met[i], talk.met[0][i], "%s: letter %d", ways[w].name,
                          i);
        scene_close(&scene);
    }
}

/* ---- at the wrong time or place -------------------------------------------- */

struct stray {
    struct scene *scene;
    hdp_shard kept;
    hdp_status inside[4];
};

static int32_t stray_inside(const hdp_shard *shard, void *user)
{
    struct stray *stray = user;
    hdp_work work = { .size = sizeof work,
                      .host = stray_inside,
                      .cuda = stray_inside };
    uint64_t step;

    if (shard->member != 0)
        return 0;
    stray->kept = *shard;
    work.user = stray;
    stray->inside[0] =
        hdp_run_async(&step, stray->scene->group, stray->scene->plan, &work);
    stray->inside[1] = hdp_group_wait(NULL, stray->scene->group, shard->step);
    stray->inside[2] = hdp_barrier(stray->scene->group);
    return 0;
}

ON_GPU(stray_inside)

static void shards_outlive_nothing(void **state)
{
    int w, i;

    (void)state;
    for (w = 0; w < WAY_COUNT; ++w) {
        struct scene scene;
        struct stray stray;
        hdp_work work;
        hdp_shard none;
        void *blas = &scene;
        memset(&stray, 0, sizeof stray);
        stray.scene = &scene;
        scene_open_way(&scene, &ways[w], shares, MEMBERS);
        expect_ok(hdp_options_init(&work, sizeof work));
        work.host = stray_inside;
        work.cuda = stray_inside_on_gpu;
        work.user = &stray;
        expect_ok(hdp_run(NULL, scene.group, scene.plan, &work));
        for (i = 0; i < 3; ++i)
            if (stray.inside[i] != HDP_ERR_STATE &&
                stray.inside[i] != HDP_ERR_BUSY)
                fail_msg("%s: call %d inside the function: expected state or "
                         "busy, got %s",
                         ways[w].name, i, hdp_status_string(stray.inside[i]));
        expect_status(HDP_ERR_STATE, hdp_shard_all_reduce(&stray.kept, 0));
        expect_status(HDP_ERR_STATE, hdp_shard_join(&stray.kept));
        expect_status(HDP_ERR_STATE, hdp_shard_fail(&stray.kept, HDP_ERR_MEMORY,
                                                    1, "too late"));
        expect_status(HDP_ERR_STATE, hdp_shard_blas(&blas, &stray.kept));
        expect_number(0, blas != NULL, "a handle after the call");
        memset(&none, 0, sizeof none);
        expect_status(HDP_ERR_ARGUMENT, hdp_shard_join(&none));
        expect_ok(hdp_run(NULL, scene.group, scene.plan, &work));
        scene_close(&scene);
    }
}

/* A thread that the function waits for may speak for it. */
static void *speak(void *arg)
{
    const hdp_shard *shard = arg;
    hdp_status status = hdp_shard_all_reduce(shard, 0);

    return (void *)(intptr_t)status;
}

static int32_t let_speak(const hdp_shard *shard, void *user)
{
    hdp_shard own = *shard;
    pthread_t thread;
    void *got;

    (void)user;
    if (pthread_create(&thread, NULL, speak, &own) ||
        pthread_join(thread, &got))
        return 1;
    return got == (void *)(intptr_t)HDP_OK ? 0 : 2;
}

ON_GPU(let_speak)

static void another_thread_speaks(void **state)
{
    int w;

    (void)state;
    for (w = 0; w < WAY_COUNT; ++w) {
        struct scene scene;
        struct talk talk;
        scene_open_way(&scene, &ways[w], shares, MEMBERS);
        talk_open(&talk, &scripts[0]);
        talk.work.host = let_speak;
        talk.work.cuda = let_speak_on_gpu;
        expect_ok(hdp_run(NULL, scene.group, scene.plan, &talk.work));
        if (talk.value[1][0] != sum_of(0))
            fail_msg("%s: expected %g, got %g", ways[w].name, sum_of(0),
                     talk.value[1][0]);
        scene_close(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_in_any_order),
        cmocka_unit_test(one_thread_for_all),
        cmocka_unit_test(too_early_or_nothing),
        cmocka_unit_test(a_step_without_buckets),
        cmocka_unit_test(shards_outlive_nothing),
        cmocka_unit_test(another_thread_speaks),
    };

    return cmocka_run_group_tests_name("inside", tests, NULL, NULL);
}
