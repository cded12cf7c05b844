/* A whole life through the public door, for roles outside the harness: made,
 * measured, divided, run, reduced, written, gone. Says what went wrong. */
#ifndef LIFE_H
#define LIFE_H
#include "child.h"
#include "job.h"

enum { LIFE_ROWS = 32, LIFE_TEXT = 1 << 16, LIFE_SPECS = 4 };

#ifdef HDP_TEST_CUDA
enum { LIFE_PROBE = HDP_PROBE_LAUNCH }; /* products take long on a fake GPU */
#else
enum { LIFE_PROBE = HDP_PROBE_GEMM };
#endif

struct life {
    hdp_context *context;
    hdp_topology *topology;
    hdp_group *group;
    hdp_profile *profile, *again;
    hdp_plan *plan;
    hdp_executor *executor;
    hdp_report *report;
    struct job job;
    char text[LIFE_TEXT];
};

#define life_must(call)                                                        \
    do {                                                                       \
        hdp_status got_ = (call);                                              \
        if (got_ != HDP_OK) {                                                  \
            child_say("%s: expected success, got %s (%s); ", #call,            \
                      hdp_status_string(got_), hdp_last_error());              \
            return 1;                                                          \
        }                                                                      \
    } while (0)

static inline int life_right(struct life *life, const char *when)
{
    const char *wrong = job_wrong(&life->job);

    if (wrong)
        child_say("%s: %s; ", when, wrong);
    return wrong != NULL;
}

static inline int life_steps(struct life *life)
{
    hdp_group_info info = { .size = sizeof info };
    int i;

    life_must(hdp_group_get(&info, life->group));
    job_open(&life->job, LIFE_ROWS, info.member_count);
    for (i = 0; i < 3; ++i) {
        job_reset(&life->job);
        life_must(
            hdp_run(&life->report, life->group, life->plan, &life->job.work));
        hdp_report_destroy(life->report);
        life->report = NULL;
        if (life_right(life, "run"))
            return 1;
    }
    life_must(hdp_all_reduce(life->group, life->plan, &life->job.buckets[0]));
    life_must(hdp_executor_create_on(
        &life->executor, life->group,
        &(hdp_executor_options){ .size = sizeof(hdp_executor_options),
                                 .profile = life->profile }));
    job_reset(&life->job);
    life_must(
        hdp_executor_run(NULL, life->executor, LIFE_ROWS, &life->job.work));
    return life_right(life, "executor");
}

static inline int life_pass(struct life *life, const char *spec,
                            int32_t threads)
{
    hdp_group_options options = { .size = sizeof options, .threads = threads };
    hdp_calibrate_options brief = { .size = sizeof brief,
                                    .probe = LIFE_PROBE,
                                    .budget_ns = 20000000 };

    life_must(hdp_context_create(&life->context, NULL));
    life_must(hdp_discover(&life->topology, life->context, NULL));
    life_must(
        hdp_group_create_spec(&life->group, life->context, spec, &options));
    life_must(hdp_calibrate(&life->profile, life->group, &brief));
    life_must(hdp_profile_to_json(life->profile, life->text, LIFE_TEXT, NULL));
    life_must(
        hdp_profile_from_json(&life->again, life->text, strlen(life->text)));
    life_must(hdp_split(&life->plan, life->again, LIFE_ROWS, NULL));
    life_must(hdp_plan_to_json(life->plan, life->text, LIFE_TEXT, NULL));
    return life_steps(life);
}

/* 0, or 1 with the reason said. The struct is large: not for small stacks. */
static inline int life_lead(struct life *life, const char *spec,
                            int32_t threads)
{
    int wrong;

    memset(life, 0, sizeof *life);
    wrong = life_pass(life, spec, threads);
    hdp_context_destroy(life->context);
    hdp_report_destroy(life->report);
    hdp_topology_destroy(life->topology);
    hdp_profile_destroy(life->profile);
    hdp_group_destroy(life->group);
    hdp_executor_destroy(life->executor);
    hdp_profile_destroy(life->again);
    hdp_plan_destroy(life->plan);
    return wrong;
}

/* One of LIFE_SPECS groups; the first two have two members each and differ. */
static inline const char *life_spec(char out[JOB_SPEC], int which)
{
#ifdef HDP_TEST_CUDA
    static const int32_t gpus[] = { 2, 1, 1 };
    static const char *const more[] = { "", "+host:0/threads=2", "" };
#else
    static const char *const specs[] = {
        "host:0-1/threads=1", "sim:0/fixed=1.5us/item=0.5us+sim:1/item=2us",
        "host:0/threads=2+sim:0/item=1us"
    };
#endif

    if (which == LIFE_SPECS - 1) {
        (void)strcpy(out, "auto");
        return out;
    }
#ifdef HDP_TEST_CUDA
    job_spec(out, JOB_SPEC, HDP_CUDA, gpus[which]);
    (void)strcat(out, more[which]);
#else
    (void)strcpy(out, specs[which]);
#endif
    return out;
}

/* What a GPU's driver adds to the time of a life. */
static inline int64_t life_patience(void)
{
    return SANITIZED || on_real_gpu() ? 6 : 1;
}

/* Every kind of group in every mode. */
static inline int life_of_all(struct life *life)
{
    char spec[JOB_SPEC];
    int i;
    int32_t threads;

    for (i = 0; i < LIFE_SPECS; ++i)
        for (threads = HDP_THREADS_MEMBER; threads <= HDP_THREADS_CALLER;
             ++threads)
            if (life_lead(life, life_spec(spec, i), threads)) {
                child_say("with %s, threads %d", spec, (int)threads);
                return 1;
            }
    return 0;
}
#endif
