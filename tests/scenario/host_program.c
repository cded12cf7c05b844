/* The library inside programs of every kind: forked, with odd locales, few
 * descriptors, small stacks.
 *
 *   fault                                   test
 *   wall clock jumps an hour either way     clock.c
 *   fork after start, use in the child      forked_after_start
 *   locale, umask, fds, SIGCHLD, stacks     a_hostile_host
 *   two threads make steps on one group     threads.c
 *   NULL, foreign handles                   arguments.c
 *   exit without destroy, unload            leaving.c
 */
#include <locale.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "life.h"

static struct life life;

/* ---- forked -------------------------------------------------------------- */

#define forked(call)                                                           \
    do {                                                                       \
        hdp_status got_ = (call);                                              \
        must(got_ == HDP_ERR_FORKED, "%s: expected forked, got %s (%s)",       \
             #call, hdp_status_string(got_), hdp_last_error());                \
    } while (0)

static int groups_in_the_child(struct life *own)
{
    hdp_device device = { .size = sizeof device };
    hdp_group_info info = { .size = sizeof info };
    hdp_error error = { .size = sizeof error };
    hdp_group *group = NULL;
    const int32_t id = 0;
    void *stream;

    forked(hdp_group_create(&group, own->context, &id, 1, NULL));
    forked(hdp_group_create_spec(&group, own->context, "sim:0", NULL));
    forked(hdp_group_get(&info, own->group));
    forked(hdp_group_device(&device, own->group, 0));
    forked(hdp_group_stream(&stream, own->group, 0));
    forked(hdp_group_health(&error, own->group));
    forked(hdp_group_abort(own->group));
    forked(hdp_group_shrink(&group, own->group, NULL, 0));
    forked(hdp_group_trim(own->group));
    must(!group, "expected no group, got one");
    return 0;
}

static int steps_in_the_child(struct life *own)
{
    hdp_profile *profile = NULL;
    hdp_report *report = NULL;
    uint64_t step = 5;
    int32_t reached = 5;

    forked(hdp_calibrate(&profile, own->group, NULL));
    forked(hdp_profile_select(&profile, own->profile, own->group));
    forked(hdp_run(&report, own->group, own->plan, &own->job.work));
    forked(hdp_run_async(&step, own->group, own->plan, &own->job.work));
    forked(hdp_group_wait(&report, own->group, 1));
    forked(hdp_group_poll(&reached, own->group, 1, HDP_DONE, 0));
    forked(hdp_group_order(own->group, 1, 0, NULL));
    forked(hdp_all_reduce(own->group, own->plan, &own->job.buckets[0]));
    forked(hdp_all_reduce_async(&step, own->group, own->plan,
                                &own->job.buckets[0]));
    forked(hdp_broadcast(own->group, 0, &own->job.buckets[0]));
    forked(hdp_all_gather(own->group, own->plan, &own->job.arrays[0],
                          &own->job.arrays[1]));
    forked(hdp_barrier(own->group));
    must(step == 0 && !report && !profile, "expected nothing handed out");
    return 0;
}

static int executors_in_the_child(struct life *own)
{
    hdp_context *context = NULL;
    hdp_topology *topology = NULL;
    hdp_executor *executor = NULL;
    hdp_profile *profile = NULL;
    hdp_plan *plan = NULL;
    const int64_t one = 1;

    forked(hdp_context_create(&context, NULL));
    forked(hdp_discover(&topology, own->context, NULL));
    forked(hdp_executor_create(&executor, own->context, "sim:0", NULL));
    forked(hdp_executor_create_on(&executor, own->group, NULL));
    forked(hdp_executor_plan(&plan, own->executor, 8));
    forked(hdp_executor_run(NULL, own->executor, 8, &own->job.work));
    forked(hdp_executor_all_reduce(own->executor, &own->job.buckets[0]));
    forked(hdp_executor_observe(own->executor, &one, &one));
    forked(hdp_executor_profile(&profile, own->executor));
    must(!hdp_executor_group(own->executor), "expected no group, got one");
    return 0;
}

/* What needs no device goes on: texts, errors, facts. */
static int library_in_the_child(void)
{
    hdp_error error = { .size = sizeof error };
    hdp_work work;
    char text[4096];

    must(strcmp(hdp_version(), "") != 0, "expected a version, got none");
    must(hdp_error_get(&error) == HDP_OK && error.status == HDP_ERR_FORKED,
         "expected the last failure, got %d", (int)error.status);
    must(error.severity == HDP_PROCESS_LOST, "expected severity %d, got %d",
         HDP_PROCESS_LOST, (int)error.severity);
    must(strstr(hdp_last_error(), "fork"), "expected the word fork, got \"%s\"",
         hdp_last_error());
    must(hdp_options_init(&work, sizeof work) == HDP_OK, "options_init failed");
    must(hdp_info(HDP_INFO_BUILD, text, sizeof text, NULL) == HDP_OK,
         "info failed: %s", hdp_last_error());
    return 0;
}

static int be_the_child(struct life *own)
{
    char *const arguments[] = { (char *)(uintptr_t) "test",
                                (char *)(uintptr_t) "plain", NULL };

    if (groups_in_the_child(own) || steps_in_the_child(own) ||
        executors_in_the_child(own) || library_in_the_child())
        return 1;
    hdp_executor_destroy(own->executor);
    hdp_group_destroy(own->group);
    hdp_context_destroy(own->context);
    (void)execv("/proc/self/exe", arguments); /* a fresh program works */
    return 123;
}

static int await_child(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int role_fork(const char *spec)
{
    static struct life other;
    hdp_status status;
    int code, wrong;
    pid_t pid;

    memset(&other, 0, sizeof other);
    must(life_pass(&other, spec, HDP_THREADS_MEMBER) == 0, "before the fork");
    pid = fork();
    if (pid == 0)
        _exit(be_the_child(&other));
    code = await_child(pid);
    must(code == 0, "child: expected exit code 0, got %d", code);
    job_reset(&other.job);
    status = hdp_run(NULL, other.group, other.plan, &other.job.work);
    must(status == HDP_OK, "parent: expected success, got %s",
         hdp_status_string(status));
    wrong = life_right(&other, "parent after the fork");
    hdp_executor_destroy(other.executor);
    hdp_group_destroy(other.group);
    hdp_context_destroy(other.context);
    hdp_topology_destroy(other.topology);
    hdp_profile_destroy(other.profile);
    hdp_profile_destroy(other.again);
    hdp_plan_destroy(other.plan);
    return wrong || life_of_all(&life);
}

/* Nothing was started before: the child is as good as any program. */
static int role_early_fork(void)
{
    hdp_context *context = NULL;
    hdp_profile *profile = NULL;
    hdp_model model = { .size = sizeof model, .item_ns = 1 };
    int code;
    pid_t pid;

    must(hdp_context_create(&context, NULL) == HDP_OK, "no context");
    must(hdp_profile_create(&profile, &model, 1) == HDP_OK, "no profile");
    pid = fork();
    if (pid == 0)
        _exit(life_of_all(&life));
    code = await_child(pid);
    must(code == 0, "child: expected exit code 0, got %d", code);
    hdp_profile_destroy(profile);
    hdp_context_destroy(context);
    return life_of_all(&life);
}

static void forked_after_start(void **state)
{
    char spec[JOB_SPEC];
    struct child child = { .role = "fork",
                           .limit_ns = 20 * SECOND_NS * life_patience() };
    int i;

    (void)state;
    for (i = 0; i < 2; ++i) {
        child.argument = life_spec(spec, i);
        expect_child(0, &child);
    }
}

static void forked_before_start(void **state)
{
    struct child child = { .role = "early_fork",
                           .limit_ns = 20 * SECOND_NS * life_patience() };

    (void)state;
    expect_child(0, &child);
}

/* ---- hostile hosts ------------------------------------------------------- */

/* A driver of GPUs opens dozens of files, and in CALLER mode works here. */
enum {
    STACK_BYTES = 64 << 10,
    STACK_BYTES_OF_DRIVER = 1 << 20,
    DESCRIPTORS = 64,
    DESCRIPTORS_OF_DRIVER = 1024
};

static void *live_on_a_small_stack(void *arg)
{
    int *wrong = arg;

    *wrong = life_of_all(&life);
    return NULL;
}

/* Numbers that a comma would spoil, as JSON. */
static int write_numbers(char *text, size_t capacity)
{
    hdp_model model = { .size = sizeof model,
                        .fixed_ns = 0.5,
                        .item_ns = 1234.5678 };
    hdp_profile *profile = NULL, *again = NULL;
    double ns = 0;

    must(hdp_profile_create(&profile, &model, 1) == HDP_OK, "no profile");
    must(hdp_profile_to_json(profile, text, capacity, NULL) == HDP_OK,
         "no JSON: %s", hdp_last_error());
    must(hdp_profile_from_json(&again, text, strlen(text)) == HDP_OK,
         "expected the JSON read back, got %s", hdp_last_error());
    must(hdp_profile_time(&ns, again, 0, 2) == HDP_OK && ns > 2469.6 &&
             ns < 2469.7,
         "expected 2469.6356 ns, got %g", ns);
    hdp_profile_destroy(profile);
    hdp_profile_destroy(again);
    return 0;
}

static int role_hostile(const char *locale)
{
    static char before[LIFE_TEXT], after[LIFE_TEXT];
    int driver = on_gpu_machine(), wrong = 1, i;
    rlim_t files = driver ? DESCRIPTORS_OF_DRIVER : DESCRIPTORS;
    size_t stack = driver      ? STACK_BYTES_OF_DRIVER
                   : SANITIZED ? 16 * STACK_BYTES
                               : STACK_BYTES;
    struct rlimit few = { files, files };
    struct sigaction child_action;
    pthread_attr_t attributes;
    pthread_t thread;

    for (i = 0; i < 3; ++i)
        (void)close(i);
    must(write_numbers(before, sizeof before) == 0, "before the locale");
    if (locale) {
        must(setlocale(LC_ALL, locale), "no locale %s", locale);
        must(localeconv()->decimal_point[0] == ',', "expected a comma, got %s",
             localeconv()->decimal_point);
    }
    must(write_numbers(after, sizeof after) == 0, "after the locale");
    must(strcmp(before, after) == 0, "expected %s, got %s", before, after);
    (void)umask(0);
    must(signal(SIGCHLD, SIG_IGN) != SIG_ERR, "signal");
    must(setrlimit(RLIMIT_NOFILE, &few) == 0, "setrlimit");
    must(pthread_attr_init(&attributes) == 0, "attributes");
    must(pthread_attr_setstacksize(&attributes, stack) == 0, "stack size");
    must(pthread_create(&thread, &attributes, live_on_a_small_stack, &wrong) ==
             0,
         "pthread_create");
    must(pthread_join(thread, NULL) == 0, "pthread_join");
    must(wrong == 0, " on the small stack");
    must(umask(022) == 0, "expected umask 0, got another");
    must(sigaction(SIGCHLD, NULL, &child_action) == 0 &&
             child_action.sa_handler == SIG_IGN,
         "expected SIGCHLD ignored, got another handler");
    must(!locale || strcmp(setlocale(LC_ALL, NULL), locale) == 0,
         "expected locale %s, got %s", locale, setlocale(LC_ALL, NULL));
    for (i = 0; i < 3 && !driver; ++i)
        must(fcntl(i, F_GETFD) < 0, "expected descriptor %d closed, got it", i);
    return 0;
}

/* Makes a locale with a comma; NULL where that cannot be done. */
static const char *make_locale(char *folder)
{
    static const char *const names[] = { "de_DE", "fr_FR", "nl_NL" };
    char command[256];
    size_t i;

    for (i = 0; i < sizeof names / sizeof *names; ++i) {
        (void)snprintf(command, sizeof command,
                       "localedef -i %s -f UTF-8 %s/%s.UTF-8 >%s/log 2>&1",
                       names[i], folder, names[i], folder);
        if (system(command) == 0) {
            (void)snprintf(folder + strlen(folder) + 1, 32, "%s.UTF-8",
                           names[i]);
            return folder + strlen(folder) + 1;
        }
    }
    return NULL;
}

static void a_hostile_host(void **state)
{
    char folder[96] = "/tmp/hdp-locale-XXXXXX", path[128], command[128];
    struct child child = { .role = "hostile",
                           .limit_ns = 20 * SECOND_NS * life_patience() };

    (void)state;
    expect_child(0, &child); /* all but the locale */
    assert_non_null(mkdtemp(folder));
    child.argument = make_locale(folder);
    (void)snprintf(path, sizeof path, "LOCPATH=%s", folder);
    child.set[0] = path;
    if (child.argument)
        expect_number(0, child_run(&child), "starting role hostile");
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    expect_number(0, system(command), "removing %s", folder);
    if (!child.argument) {
        print_message("comma locale skipped: localedef made none\n");
        skip();
    }
    if (child.late || child.code != 0)
        fail_msg("locale %s: expected exit code 0, got %d, signal %d (%s)",
                 child.argument, child.code, child.signal, child.text);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forked_after_start),
        cmocka_unit_test(forked_before_start),
        cmocka_unit_test(a_hostile_host),
    };
    const char *role = argc > 1 ? argv[1] : "";
    const char *argument = argc > 2 ? argv[2] : NULL;

    if (strcmp(role, "plain") == 0)
        return life_of_all(&life);
    if (strcmp(role, "fork") == 0)
        return role_fork(argument);
    if (strcmp(role, "early_fork") == 0)
        return role_early_fork();
    if (strcmp(role, "hostile") == 0)
        return role_hostile(argument);
    return cmocka_run_group_tests_name("host_program", tests, NULL, NULL);
}
