/* Programs that end without destroying anything, with a step in flight or
 * threads parked, or that unload the library under its own threads; and, since
 * it is seen from outside as well, that nothing is ever printed. */
#include <dlfcn.h>
#include <sys/stat.h>
#include "life.h"

enum { OWN_CODE = 7 };

static struct life life;
static struct gate gate = GATE_CLOSED;

static int32_t never_return(const hdp_shard *shard, void *user)
{
    if (shard->member == 0)
        gate_pass(user);
    return 0;
}

ON_GPU(never_return)

/* ---- exit ---------------------------------------------------------------- */

/* Everything alive, nothing given back. */
static int role_exit(const char *how)
{
    static hdp_work work;
    char spec[JOB_SPEC];
    uint64_t step;

    must(life_pass(&life, life_spec(spec, how[0] - '0'), HDP_THREADS_MEMBER) ==
             0,
         "before the exit");
    must(hdp_options_init(&work, sizeof work) == HDP_OK, "work");
    work.host = never_return;
    work.cuda = never_return_on_gpu;
    work.user = &gate;
    work.flags = HDP_WORK_EMPTY_TOO; /* whatever member 0's share is */
    if (strstr(how, "step")) {
        must(hdp_run_async(&step, life.group, life.plan, &work) == HDP_OK,
             "expected a step, got %s", hdp_last_error());
        gate_await(&gate, &gate.came, 1);
    }
    if (strstr(how, "_exit"))
        _exit(OWN_CODE);
    exit(OWN_CODE);
}

static void exits_without_destroy(void **state)
{
    static const char *const how[] = {
        "0 idle", "1 idle", "0 step", "1 step", "0 step _exit", "1 step _exit"
    };
    struct child child = { .role = "exit",
                           .limit_ns = 5 * SECOND_NS * life_patience() };
    size_t i;

    (void)state;
    child.set[0] = "ASAN_OPTIONS=detect_leaks=0"; /* nothing is given back */
    child.set[1] = "TSAN_OPTIONS=report_thread_leaks=0";
    for (i = 0; i < sizeof how / sizeof *how; ++i) {
        child.argument = how[i];
        expect_child(OWN_CODE, &child);
    }
}

/* ---- unload -------------------------------------------------------------- */

/* The library as a plug-in: nothing of it is linked, all is looked up. */
struct door {
    void *handle;
    const char *(*version)(void);
    hdp_status (*context_create)(hdp_context **out,
                                 const hdp_context_options *options);
    hdp_status (*group_create_spec)(hdp_group **out, hdp_context *context,
                                    const char *spec,
                                    const hdp_group_options *options);
    hdp_status (*barrier)(hdp_group *group);
    void (*group_destroy)(hdp_group *group);
    void (*context_destroy)(hdp_context *context);
};

static int find(void *out, void *handle, const char *name)
{
    void *symbol = dlsym(handle, name);

    memcpy(out, &symbol, sizeof symbol);
    return symbol == NULL;
}

static int door_open(struct door *door)
{
    const char *path = getenv("HDP_LIBRARY");

    must(path, "HDP_LIBRARY is not set");
    door->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    must(door->handle, "%s", dlerror());
    must(!find(&door->version, door->handle, "hdp_version") &&
             !find(&door->context_create, door->handle, "hdp_context_create") &&
             !find(&door->group_create_spec, door->handle,
                   "hdp_group_create_spec") &&
             !find(&door->barrier, door->handle, "hdp_barrier") &&
             !find(&door->group_destroy, door->handle, "hdp_group_destroy") &&
             !find(&door->context_destroy, door->handle, "hdp_context_destroy"),
         "a function is missing");
    return 0;
}

/* Members that wait in every way. */
static const char *parked_group(char spec[JOB_SPEC])
{
#ifdef HDP_TEST_CUDA
    return job_group(spec, 2);
#else
    (void)snprintf(spec, JOB_SPEC,
                   "host:0-2/threads=1+host:3/threads=2+sim:0-1");
    return spec;
#endif
}

static int role_unload(const char *how)
{
    struct door door = { 0 };
    hdp_context *context = NULL;
    hdp_group *group = NULL;
    char spec[JOB_SPEC];

    if (door_open(&door))
        return 1;
    must(door.context_create(&context, NULL) == HDP_OK, "no context");
    must(door.group_create_spec(&group, context, parked_group(spec), NULL) ==
             HDP_OK,
         "no group");
    must(door.barrier(group) == HDP_OK, "no barrier");
    sleep_ns(2000000); /* all are parked */
    if (strstr(how, "destroyed")) {
        door.group_destroy(group);
        door.context_destroy(context);
    }
    must(dlclose(door.handle) == 0, "%s", dlerror());
    sleep_ns(20000000);
    if (strstr(how, "again")) {
        must(door_open(&door) == 0, "opened again");
        must(strcmp(door.version(), "") != 0, "expected a version, got none");
        if (!strstr(how, "destroyed")) {
            must(door.barrier(group) == HDP_OK, "no barrier any more");
            door.group_destroy(group);
            door.context_destroy(context);
        }
    }
    return OWN_CODE;
}

static void unloads_with_threads_parked(void **state)
{
    static const char *const how[] = { "alive", "destroyed", "alive, again",
                                       "destroyed, again" };
    struct child child = { .role = "unload",
                           .limit_ns = 5 * SECOND_NS * life_patience() };
    size_t i;

    (void)state;
    child.set[0] = "ASAN_OPTIONS=detect_leaks=0";
    for (i = 0; i < sizeof how / sizeof *how; ++i) {
        child.argument = how[i];
        expect_child(OWN_CODE, &child);
    }
}

/* ---- silence ------------------------------------------------------------- */

static int fail_in_all_ways(void)
{
    hdp_group_options options = { .size = sizeof options,
                                  .timeout_ns = SECOND_NS / 20 };
    hdp_context *context = NULL;
    hdp_executor *executor = NULL;
    hdp_group *group = NULL;
    struct job job;
    hdp_plan *plan = NULL;
    const int64_t items[2] = { 3, 4 };
    char spec[JOB_SPEC];
    int i;

    must(hdp_context_create(&context, NULL) == HDP_OK, "no context");
    must(hdp_plan_create(&plan, items, 2) == HDP_OK, "no plan");
    must(hdp_group_create_spec(&group, context, "cuda:99", NULL) != HDP_OK &&
             hdp_group_create_spec(&group, context, "sim:0/bogus=1", NULL) !=
                 HDP_OK &&
             hdp_executor_create(&executor, context, "sim:0/item=-1", NULL) !=
                 HDP_OK,
         "expected refusals, got success");
    must(hdp_group_create_spec(&group, context,
                               "sim:0/fail=launch:1+sim:1/fail=alloc:3",
                               NULL) == HDP_OK,
         "no group");
    job_open(&job, 7, 2);
    for (i = 0; i < 4; ++i)
        (void)hdp_run(NULL, group, plan, &job.work);
    hdp_group_destroy(group);
    must(hdp_group_create_spec(&group, context, job_group(spec, 2), &options) ==
             HDP_OK,
         "no group");
    job.work.host = never_return;
    job.work.cuda = never_return_on_gpu;
    job.work.user = &gate;
    must(hdp_run(NULL, group, plan, &job.work) == HDP_ERR_TIMEOUT,
         "expected a timeout, got another end");
    gate_open(&gate);
    must(hdp_group_abort(group) == HDP_OK, "%s", hdp_last_error());
    hdp_group_destroy(group);
    hdp_plan_destroy(plan);
    hdp_context_destroy(context);
    return 0;
}

static int role_quiet(void)
{
    return life_of_all(&life) || fail_in_all_ways();
}

static void prints_nothing(void **state)
{
    char file[] = "/tmp/hdp-output-XXXXXX";
    struct child child = { .role = "quiet",
                           .output = file,
                           .limit_ns = 20 * SECOND_NS * life_patience() };
    struct stat found;
    int descriptor = mkstemp(file);

    (void)state;
    assert_true(descriptor >= 0);
    expect_child(0, &child);
    expect_number(0, fstat(descriptor, &found), "fstat");
    expect_number(0, (int64_t)found.st_size, "bytes printed");
    (void)close(descriptor);
    (void)unlink(file);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exits_without_destroy),
        cmocka_unit_test(unloads_with_threads_parked),
        cmocka_unit_test(prints_nothing),
    };
    const char *role = argc > 1 ? argv[1] : "";

    if (strcmp(role, "exit") == 0 && argc > 2)
        return role_exit(argv[2]);
    if (strcmp(role, "unload") == 0 && argc > 2)
        return role_unload(argv[2]);
    if (strcmp(role, "quiet") == 0)
        return role_quiet();
    return cmocka_run_group_tests_name("leaving", tests, NULL, NULL);
}
