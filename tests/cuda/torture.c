/* Each call of CUDA that a whole life makes, made to fail once and from then
 * on: no crash, no leak, no hang, no broken rule, a documented status, and a
 * clean life afterwards. Prints the sites, how often they were hit, and what
 * came of it. By itself a few calls of each site, from its first to its last;
 * --all tries every one. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fakecuda/fake.h"
#include "scenario/job.h"

enum { ROWS = 24, CAP = 4, LIFE_SECONDS = 30, WORDS = 256, SITES_MAX = 128 };

struct stage {
    const char *name, *words, *spec, *only; /* sites that begin so; NULL: all */
    int32_t members, threads, probe;
};

/* Products fill much memory, so without --all only cuBLAS fails beside them. */
static const struct stage stages[] = {
    { "desk, MEMBER", "machine=desk", "cuda:0,2", NULL, 2, HDP_THREADS_MEMBER,
      HDP_PROBE_LAUNCH },
    { "twin, CALLER", "machine=twin", "cuda:1,0", NULL, 2, HDP_THREADS_CALLER,
      HDP_PROBE_LAUNCH },
    { "lab, a partition", "machine=lab", "cuda:0+cuda:1/sms=48", NULL, 2,
      HDP_THREADS_MEMBER, HDP_PROBE_LAUNCH },
    { "twin, products", "machine=twin", "cuda:0", "cublas", 1,
      HDP_THREADS_MEMBER, HDP_PROBE_GEMM },
};
enum { STAGES = sizeof stages / sizeof *stages };

/* ---- a life ---------------------------------------------------------------- */

struct things {
    hdp_context *context;
    hdp_topology *topology;
    hdp_group *group;
    hdp_profile *profile;
    hdp_plan *plan;
    struct job job;
    char wrong[200]; /* a result that was delivered and is wrong */
};

#define GO(call)                                                               \
    do {                                                                       \
        hdp_status went_ = (call);                                             \
        if (went_ != HDP_OK)                                                   \
            return went_;                                                      \
    } while (0)

static void judge(struct things *own, const char *when)
{
    const char *wrong = job_wrong(&own->job);

    if (wrong && !own->wrong[0])
        (void)snprintf(own->wrong, sizeof own->wrong, "%s: %s", when, wrong);
}

static hdp_status steps(struct things *own)
{
    for (int i = 0; i < 2; ++i) {
        job_reset(&own->job);
        GO(hdp_run(NULL, own->group, own->plan, &own->job.work));
        judge(own, "run");
    }
    GO(hdp_all_reduce(own->group, own->plan, &own->job.buckets[0]));
    GO(hdp_broadcast(own->group, 0, &own->job.buckets[1]));
    GO(hdp_group_trim(own->group));
    return HDP_OK;
}

static hdp_status live(struct things *own, const struct stage *stage)
{
    const hdp_context_options context = { .size = sizeof context,
                                          .timeout_ns = 5000000000,
                                          .cublas_path =
                                              getenv("HDP_FAKE_CUDA"),
                                          .nvml_path =
                                              getenv("HDP_FAKE_CUDA") };
    const hdp_group_options group = { .size = sizeof group,
                                      .threads = stage->threads };
    const hdp_calibrate_options brief = { .size = sizeof brief,
                                          .dtype = HDP_F32,
                                          .probe = stage->probe,
                                          .budget_ns = 1000000 };

    GO(hdp_context_create(&own->context, &context));
    GO(hdp_discover(&own->topology, own->context, NULL));
    GO(hdp_group_create_spec(&own->group, own->context, stage->spec, &group));
    GO(hdp_calibrate(&own->profile, own->group, &brief));
    GO(hdp_split(&own->plan, own->profile, ROWS, NULL));
    return steps(own);
}

/* The status of the first call that failed; all is given back. */
static hdp_status life(const struct stage *stage, char *wrong, size_t capacity)
{
    static struct things own;
    hdp_status status;

    memset(&own, 0, sizeof own);
    job_open(&own.job, ROWS, stage->members);
    (void)alarm(LIFE_SECONDS);
    status = live(&own, stage);
    hdp_plan_destroy(own.plan);
    hdp_profile_destroy(own.profile);
    hdp_group_destroy(own.group);
    hdp_topology_destroy(own.topology);
    hdp_context_destroy(own.context);
    (void)alarm(0);
    (void)snprintf(wrong, capacity, "%s", own.wrong);
    return status;
}

/* ---- one failure ----------------------------------------------------------- */

static int is_documented(hdp_status status)
{
    switch (status) {
    case HDP_OK:
    case HDP_ERR_MEMORY:
    case HDP_ERR_UNSUPPORTED:
    case HDP_ERR_NOT_FOUND:
    case HDP_ERR_BUSY:
    case HDP_ERR_CALLBACK: /* the scenario's own function calls CUDA too */
    case HDP_ERR_DEVICE:
    case HDP_ERR_SYSTEM:
    case HDP_ERR_FATAL:
        return 1;
    default:
        return 0;
    }
}

static int complain(const struct stage *stage, const char *fault,
                    const char *what)
{
    print_error("%s, %s: %s\n", stage->name, fault, what);
    return 1;
}

/* What makes something fails for want of room, as the fake has it; all else of
 * the runtime and the driver with a failed call of the system, which any may
 * answer: a caller's own mistakes would be the library's to explain. */
static void describe(char *out, size_t capacity, const char *site, int64_t nth,
                     int lasting)
{
    int makes = strstr(site, "Alloc") || strstr(site, "Malloc") ||
                strstr(site, "Create") || strstr(site, "Load") ||
                strstr(site, "Retain");
    int own =
        makes || strncmp(site, "cu", 2) != 0 || strncmp(site, "cublas", 6) == 0;

    (void)snprintf(out, capacity, "fail=%.64s:%lld%s%s", site, (long long)nth,
                   lasting ? "-" : "", own ? "" : ":304");
}

/* What cannot be given back stays: that is no leak of the library's. */
static int gives_back(const char *fault)
{
    return strstr(fault, "Free") || strstr(fault, "Destroy") ||
           strstr(fault, "Unload") || strstr(fault, "Release");
}

/* 0 well, 1 a fault of the library's; 2 the process is lost, as it should be
 * after that: the next failure needs a new one. */
static int fail_once(const struct stage *stage, const char *fault)
{
    char words[2 * WORDS], wrong[200], text[1024];
    hdp_status status;
    int bad = 0;

    (void)snprintf(words, sizeof words, "%s %s", stage->words, fault);
    if (fake_start(words) != 0)
        return complain(stage, fault, fake_words());
    status = life(stage, wrong, sizeof wrong);
    (void)snprintf(text, sizeof text, "%s (%s)", hdp_status_string(status),
                   hdp_last_error());
    if (!is_documented(status))
        bad |= complain(stage, fault, text);
    if (wrong[0])
        bad |= complain(stage, fault, wrong);
    if (fake_breach() && !gives_back(fault))
        bad |= complain(stage, fault, fake_breach());
    if (status == HDP_ERR_FATAL)
        return bad ? 1 : 2;
    if (fake_alive()[0] && !gives_back(fault))
        bad |= complain(stage, fault, fake_alive());
    (void)fake_start(stage->words);
    status = life(stage, wrong, sizeof wrong);
    if (status != HDP_OK || wrong[0]) {
        (void)snprintf(text, sizeof text, "afterwards: %s (%s) %s",
                       hdp_status_string(status), hdp_last_error(), wrong);
        bad |= complain(stage, fault, text);
    }
    return bad;
}

/* ---- all failures of a site, each process as far as it comes ---------------- */

struct count {
    int64_t tried, bad, lost;
};

/* The calls of one site, of which `hits` are made to fail. */
struct target {
    const char *site;
    int64_t calls, hits;
};

/* Failure number i: a call once, the same for good, and so on to the last. */
static void aim(char *out, size_t capacity, const struct target *target,
                int64_t i)
{
    int64_t nth = 1;

    if (target->hits > 1)
        nth += i / 2 * (target->calls - 1) / (target->hits - 1);
    describe(out, capacity, target->site, nth, (int)(i % 2));
}

/* In a child: failures number `from` on; its exit code is the number of the
 * first that it did not get through, counted from `from`, over a pipe. */
static void work_on(const struct stage *stage, const struct target *target,
                    int64_t from, int out)
{
    for (int64_t i = from; i < 2 * target->hits; ++i) {
        char fault[WORDS], result;
        aim(fault, sizeof fault, target, i);
        result = (char)fail_once(stage, fault);
        if (write(out, &result, 1) != 1 || result == 2)
            break;
    }
    _exit(0);
}

/* How many failures a child got through; what it died of is a fault. */
static int64_t one_child(const struct stage *stage, const struct target *target,
                         int64_t from, struct count *count)
{
    int pipes[2], status = 0;
    int64_t through = 0;
    char result, fault[WORDS];
    pid_t child;

    assert_int_equal(pipe(pipes), 0);
    (void)fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(pipes[0]);
        work_on(stage, target, from, pipes[1]);
    }
    (void)close(pipes[1]);
    while (read(pipes[0], &result, 1) == 1) {
        ++through;
        ++count->tried;
        count->bad += result == 1;
        count->lost += result == 2;
    }
    (void)close(pipes[0]);
    (void)waitpid(child, &status, 0);
    if (!WIFSIGNALED(status))
        return through;
    aim(fault, sizeof fault, target, from + through);
    print_error("%s, %s: %s\n", stage->name, fault,
                WTERMSIG(status) == SIGALRM ? "hangs"
                                            : strsignal(WTERMSIG(status)));
    ++count->tried;
    ++count->bad;
    return through + 1;
}

static int64_t torture(const struct stage *stage, const char *site,
                       int64_t calls, int64_t cap)
{
    const struct target target = { site, calls, calls < cap ? calls : cap };
    struct count count = { 0, 0, 0 };
    int64_t at = 0;

    while (at < 2 * target.hits) {
        int64_t through = one_child(stage, &target, at, &count);
        if (through == 0)
            fail_msg("%s, %s: no failure could be tried", stage->name, site);
        at += through;
    }
    print_message("%-18s %-36s %6lld calls %6lld failures %4lld lost %4lld "
                  "bad\n",
                  stage->name, site, (long long)calls, (long long)count.tried,
                  (long long)count.lost, (long long)count.bad);
    return count.bad;
}

/* ---- the sites -------------------------------------------------------------- */

struct site {
    char name[64];
    int64_t calls;
};

/* Found in a child, so that this process never starts CUDA. */
static int find_sites(const struct stage *stage, struct site *sites)
{
    int pipes[2], count = 0;
    pid_t child;

    assert_int_equal(pipe(pipes), 0);
    (void)fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct site site;
        char wrong[200];
        const char *name;
        int fallible, bad;
        (void)fake_start(stage->words);
        bad = life(stage, wrong, sizeof wrong) != HDP_OK || wrong[0];
        if (bad)
            print_error("%s without a fault: %s %s\n", stage->name,
                        hdp_last_error(), wrong);
        for (int i = 0; !bad && (name = fake_site(i, &site.calls, &fallible));
             ++i) {
            (void)snprintf(site.name, sizeof site.name, "%s", name);
            if (fallible && write(pipes[1], &site, sizeof site) < 0)
                break;
        }
        _exit(bad);
    }
    (void)close(pipes[1]);
    while (count < SITES_MAX &&
           read(pipes[0], &sites[count], sizeof *sites) == sizeof *sites)
        ++count;
    (void)close(pipes[0]);
    (void)waitpid(child, NULL, 0);
    return count;
}

static int64_t cap = CAP;
static int whole; /* 1: --all */

static void every_call_fails(void **state)
{
    static struct site sites[SITES_MAX];
    int64_t bad = 0;

    (void)state;
    for (int s = 0; s < STAGES; ++s) {
        int count = find_sites(&stages[s], sites);
        if (count == 0)
            fail_msg("%s: expected sites, got none", stages[s].name);
        for (int i = 0; i < count; ++i)
            if (whole || !stages[s].only ||
                strncmp(sites[i].name, stages[s].only,
                        strlen(stages[s].only)) == 0)
                bad += torture(&stages[s], sites[i].name, sites[i].calls, cap);
    }
    expect_number(0, bad, "failures that were not survived as promised");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_fails),
    };

    /* --all [CALLS]: of every site all, or so many from first to last */
    if (argc > 1 && strcmp(argv[1], "--all") == 0) {
        cap = argc > 2 ? strtoll(argv[2], NULL, 10) : INT64_MAX / 4;
        whole = 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
