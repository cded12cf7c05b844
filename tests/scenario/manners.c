/* What the library leaves alone: signals, environment, folder, locale, masks,
 * rounding; and what it says, to the log alone. */
#include <dirent.h>
#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
#include "life.h"

static struct life life;

static void lead_a_life(const char *spec, int32_t threads)
{
    if (life_lead(&life, spec, threads))
        fail_msg("%s: expected a life without failures, got %s", spec,
                 hdp_last_error());
}

static void lead_all_lives(void)
{
    char spec[JOB_SPEC];
    int i;

    for (i = 0; i < LIFE_SPECS; ++i)
        lead_a_life(life_spec(spec, i), i % 2);
}

/* ---- signals ----------------------------------------------------------------- */

enum {
    SIGNALS = 65,
    KILL = 9,
    STOP = 19,
    LIBRARY_FIRST = 32,
    LIBRARY_LAST = 33
};

static void noted(int number)
{
    (void)number;
}

static void handlers_and_mask_stay(void **state)
{
    static struct sigaction before[SIGNALS], after[SIGNALS];
    struct sigaction mine;
    sigset_t own, mask_before, mask_after;
    int i;

    (void)state;
    memset(&mine, 0, sizeof mine);
    mine.sa_handler = noted;
    (void)sigemptyset(&own);
    (void)sigaddset(&own, SIGUSR2);
    expect_number(0, sigaction(SIGUSR1, &mine, NULL), "sigaction");
    expect_number(0, pthread_sigmask(SIG_BLOCK, &own, &mask_before), "mask");
    expect_number(0, pthread_sigmask(SIG_BLOCK, NULL, &mask_before), "mask");
    for (i = 1; i < SIGNALS; ++i)
        (void)sigaction(i, NULL, &before[i]);
    lead_all_lives();
    expect_number(0, pthread_sigmask(SIG_BLOCK, NULL, &mask_after), "mask");
    for (i = 1; i < SIGNALS; ++i) {
        (void)sigaction(i, NULL, &after[i]);
        if (before[i].sa_handler != after[i].sa_handler ||
            before[i].sa_flags != after[i].sa_flags)
            fail_msg("signal %d: expected the handler as before, got another",
                     i);
        expect_number(sigismember(&mask_before, i), sigismember(&mask_after, i),
                      "signal %d blocked", i);
    }
    (void)pthread_sigmask(SIG_UNBLOCK, &own, NULL);
}

enum { TASKS_MAX = 64 };

static int list_tasks(long *tasks)
{
    DIR *folder = opendir("/proc/self/task");
    const struct dirent *entry;
    int count = 0;

    assert_non_null(folder);
    while ((entry = readdir(folder)) && count < TASKS_MAX)
        if (entry->d_name[0] != '.')
            tasks[count++] = strtol(entry->d_name, NULL, 10);
    (void)closedir(folder);
    return count;
}

static unsigned long long blocked_by(long task)
{
    char path[64], line[256];
    unsigned long long mask = 0;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/self/task/%ld/status", task);
    file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        (void)sscanf(line, "SigBlk: %llx", &mask);
    (void)fclose(file);
    return mask;
}

/* Four members, of teams of one and two threads. */
static const char *mixed_group(char spec[JOB_SPEC])
{
#ifdef HDP_TEST_CUDA
    (void)job_group(spec, 2);
    (void)strcat(spec, "+host:8/threads=2+host:9/threads=1");
#else
    (void)snprintf(spec, JOB_SPEC, "host:0/threads=2+host:1/threads=1+sim:0-1");
#endif
    return spec;
}

static void threads_block_every_signal(void **state)
{
    static const int64_t items[4] = { 1, 1, 1, 1 };
    long before[TASKS_MAX], after[TASKS_MAX];
    struct scene scene;
    char spec[JOB_SPEC];
    int old, now, i, k, number, fresh = 0;

    (void)state;
    old = list_tasks(before);
    scene_open(&scene, mixed_group(spec), items, 4, NULL);
    expect_ok(hdp_barrier(scene.group));
    now = list_tasks(after);
    for (i = 0; i < now; ++i) {
        unsigned long long mask = blocked_by(after[i]);
        for (k = 0; k < old && before[k] != after[i]; ++k)
            continue;
        if (k < old)
            continue;
        fresh++;
        for (number = 1; number < SIGNALS; ++number)
            if (number != KILL && number != STOP &&
                (number < LIBRARY_FIRST || number > LIBRARY_LAST) &&
                !(mask >> (number - 1) & 1))
                fail_msg("a thread of the group: expected signal %d blocked, "
                         "got mask %llx",
                         number, mask);
    }
    if (fresh < 4)
        fail_msg("expected 4 threads at least, got %d", fresh);
    scene_close(&scene);
}

static volatile sig_atomic_t rung, elsewhere;
static long main_task;

static void ring(int number)
{
    (void)number;
    rung = rung + 1;
    if (syscall(SYS_gettid) != main_task)
        elsewhere = 1;
}

static int32_t doze(const hdp_shard *shard, void *user)
{
    (void)shard;
    (void)user;
    sleep_ns(3000000);
    return 0;
}

ON_GPU(doze)

/* A caller whose waits are interrupted all the time: nothing fails, and its
 * handler runs on its own thread. */
static void a_rain_of_signals(void **state)
{
    static const int64_t items[2] = { 3, 4 };
    struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { 0 };
    struct sigaction mine, old;
    struct scene scene;
    hdp_work work;
    char spec[JOB_SPEC];
    int i;

    (void)state;
    memset(&mine, 0, sizeof mine);
    mine.sa_handler = ring; /* no SA_RESTART */
    main_task = syscall(SYS_gettid);
    expect_number(0, sigaction(SIGALRM, &mine, &old), "sigaction");
    scene_open(&scene, job_group(spec, 2), items, 2, NULL);
    expect_ok(hdp_options_init(&work, sizeof work));
    work.host = doze;
    work.cuda = doze_on_gpu;
    expect_number(0, setitimer(ITIMER_REAL, &often, NULL), "setitimer");
    for (i = 0; i < 20; ++i) {
        expect_ok(hdp_run(NULL, scene.group, scene.plan, &work));
        expect_ok(hdp_barrier(scene.group));
    }
    expect_number(0, setitimer(ITIMER_REAL, &never, NULL), "setitimer");
    if (rung == 0)
        fail_msg("expected signals while waiting, got none");
    expect_number(0, elsewhere, "handlers run on other threads");
    scene_close(&scene);
    (void)sigaction(SIGALRM, &old, NULL);
}

/* ---- the process's own ---------------------------------------------------------- */

extern char **environ;

static uint64_t environment(void)
{
    uint64_t hash = 14695981039346656037u;
    char **entry;
    const char *at;

    for (entry = environ; *entry; ++entry)
        for (at = *entry; *at; ++at)
            hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    return hash;
}

static void the_process_is_as_before(void **state)
{
    char folder_before[512], folder_after[512], locale[64];
    uint64_t before = environment();
    mode_t mask = umask(027);
    int rounding;

    (void)state;
    assert_non_null(getcwd(folder_before, sizeof folder_before));
    (void)snprintf(locale, sizeof locale, "%s", setlocale(LC_ALL, NULL));
    rounding = fegetround();
    lead_all_lives();
    assert_non_null(getcwd(folder_after, sizeof folder_after));
    assert_string_equal(folder_before, folder_after);
    assert_string_equal(locale, setlocale(LC_ALL, NULL));
    expect_number(rounding, fegetround(), "rounding mode");
    expect_number(027, (int64_t)umask(mask), "umask");
    if (environment() != before)
        fail_msg("expected the environment as before, got another");
}

/* ---- the log ------------------------------------------------------------------------ */

struct heard {
    _Atomic int lines, bad;
    int32_t most;
};

static void hear(int32_t level, const char *line, void *user)
{
    struct heard *heard = user;

    atomic_fetch_add(&heard->lines, 1);
    if (level < HDP_LOG_ERROR || level > heard->most || !line ||
        line[0] == '\0' || strchr(line, '\n'))
        atomic_fetch_add(&heard->bad, 1);
}

static int lines_at(int32_t level)
{
    hdp_context_options options = { .size = sizeof options };
    struct heard heard = { 0 };
    hdp_context *context = NULL;
    hdp_group *group = NULL;

    heard.most = level ? level : HDP_LOG_WARN;
    options.log = hear;
    options.log_user = &heard;
    options.log_level = level;
    expect_ok(hdp_context_create(&context, &options));
    expect_ok(hdp_group_create_spec(&group, context, "auto", NULL));
    expect_ok(hdp_barrier(group));
    hdp_group_destroy(group);
    hdp_context_destroy(context);
    expect_number(0, atomic_load(&heard.bad), "level %d: unfit lines",
                  (int)level);
    return atomic_load(&heard.lines);
}

static void the_log_tells_as_much_as_asked(void **state)
{
    int32_t level;
    int before = 0, now;

    (void)state;
    for (level = HDP_LOG_ERROR; level <= HDP_LOG_TRACE; ++level) {
        now = lines_at(level);
        if (now < before)
            fail_msg("level %d: expected %d lines at least, got %d", (int)level,
                     before, now);
        before = now;
    }
    if (before == 0)
        fail_msg("expected what auto chose, got no line");
    expect_number(lines_at(HDP_LOG_WARN), lines_at(0), "lines by default");
}

static void *be_brief(void *arg)
{
    return arg;
}

/* A sanitizer's own thread appears with the first one. */
static int have_all_threads(void **state)
{
    pthread_t thread;

    (void)state;
    return pthread_create(&thread, NULL, be_brief, NULL) ||
           pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handlers_and_mask_stay),
        cmocka_unit_test(threads_block_every_signal),
        cmocka_unit_test(a_rain_of_signals),
        cmocka_unit_test(the_process_is_as_before),
        cmocka_unit_test(the_log_tells_as_much_as_asked),
    };

    return cmocka_run_group_tests_name("manners", tests, have_all_threads,
                                       NULL);
}
