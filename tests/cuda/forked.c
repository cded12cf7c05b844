/* CUDA does not survive fork: whoever forks after it started is told so in the
 * child, by every call and without one of CUDA; the parent goes on, and a fresh
 * program works. */
#include <sys/wait.h>
#include <unistd.h>
#include "looked.h"
#include "scenario/child.h"
#include "scenario/job.h"

enum { ROWS = 12, MEMBERS = 2 };

struct room {
    struct looked own;
    hdp_group *group;
    hdp_plan *plan;
    struct job job;
};

static void make(struct room *room, int32_t threads)
{
    const hdp_group_options options = { .size = sizeof options,
                                        .threads = threads };
    static const int64_t items[MEMBERS] = { 5, 7 };

    looked_start("machine=twin", NULL);
    looked_open(&room->own);
    expect_ok(hdp_group_create_spec(&room->group, room->own.context, "cuda:0,1",
                                    &options));
    expect_ok(hdp_plan_create(&room->plan, items, MEMBERS));
    job_open(&room->job, ROWS, MEMBERS);
}

static void step(struct room *room)
{
    job_reset(&room->job);
    expect_ok(hdp_run(NULL, room->group, room->plan, &room->job.work));
    if (job_wrong(&room->job))
        fail_msg("%s", job_wrong(&room->job));
}

/* The first call that did not refuse, by its place; 0: none. */
static int refuse_all(struct room *room)
{
    hdp_topology *topology = NULL;
    hdp_context *context = NULL;
    hdp_profile *profile = NULL;
    hdp_group *group = NULL;
    hdp_error error = { .size = sizeof error };
    hdp_group_info info = { .size = sizeof info };
    const int32_t id = 0;
    int64_t calls = fake_calls(NULL);
    size_t needed = 0;
    hdp_status got[] = {
        hdp_run(NULL, room->group, room->plan, &room->job.work),
        hdp_all_reduce(room->group, room->plan, &room->job.buckets[0]),
        hdp_broadcast(room->group, 0, &room->job.buckets[1]),
        hdp_group_wait(NULL, room->group, 1),
        hdp_group_get(&info, room->group),
        hdp_group_health(&error, room->group),
        hdp_group_abort(room->group),
        hdp_group_trim(room->group),
        hdp_calibrate(&profile, room->group, NULL),
        hdp_discover(&topology, room->own.context, NULL),
        hdp_group_create(&group, room->own.context, &id, 1, NULL),
        hdp_group_create_spec(&group, room->own.context, "auto", NULL),
        hdp_context_create(&context, NULL),
    };

    for (int i = 0; i < (int)(sizeof got / sizeof *got); ++i)
        if (got[i] != HDP_ERR_FORKED)
            return i + 1;
    /* facts may be asked for; leaving does nothing */
    if (hdp_info(HDP_INFO_RUNTIME, NULL, 0, &needed) == HDP_ERR_FORKED)
        return 100;
    hdp_group_destroy(room->group);
    hdp_plan_destroy(room->plan);
    hdp_topology_destroy(room->own.topology);
    hdp_context_destroy(room->own.context);
    return fake_calls(NULL) == calls ? 0 : 101;
}

static void expect_refusing_child(struct room *room)
{
    int status = -1;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        _exit(refuse_all(room));
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg(
            "the child's status is %x: exit code %d (of a call: its place; "
            "101: CUDA was called)",
            status, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void every_call_is_refused_in_the_child(void **state)
{
    static const int32_t threads[] = { HDP_THREADS_MEMBER, HDP_THREADS_CALLER };
    struct room room;

    (void)state;
    for (int i = 0; i < 2; ++i) {
        make(&room, threads[i]);
        step(&room);
        expect_refusing_child(&room);
        step(&room); /* the parent is as before */
        hdp_plan_destroy(room.plan);
        hdp_group_destroy(room.group);
        looked_close(&room.own);
    }
}

/* Looking has started CUDA already. */
static void a_look_is_enough(void **state)
{
    struct looked own;
    int status = -1;
    pid_t child;

    (void)state;
    looked_start("machine=twin", NULL);
    looked_open(&own);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        hdp_topology *topology = NULL;
        _exit(hdp_discover(&topology, own.context, NULL) != HDP_ERR_FORKED);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    expect_number(0, status, "status of the child");
    looked_again(&own);
    looked_close(&own);
}

static int role_fresh(void)
{
    struct looked own;
    hdp_group *group;

    looked_start("machine=twin", NULL);
    looked_open(&own);
    must(looked_count(&own) == 2, "%d GPUs", looked_count(&own));
    must(hdp_group_create_spec(&group, own.context, "cuda:0,1", NULL) == HDP_OK,
         "%s", hdp_last_error());
    hdp_group_destroy(group);
    looked_close(&own);
    return 0;
}

static void a_fresh_program_works(void **state)
{
    struct child child = { .role = "fresh",
                           .argument = "",
                           .limit_ns = 20 * SECOND_NS };
    struct room room;

    (void)state;
    make(&room, HDP_THREADS_MEMBER);
    expect_child(0, &child);
    step(&room);
    hdp_plan_destroy(room.plan);
    hdp_group_destroy(room.group);
    looked_close(&room.own);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_is_refused_in_the_child),
        cmocka_unit_test(a_look_is_enough),
        cmocka_unit_test(a_fresh_program_works),
    };

    if (count == 3 && strcmp(arguments[1], "fresh") == 0)
        return role_fresh();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
