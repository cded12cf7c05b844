/* One object of every kind, and whatever is not the one that a function wants:
 * the other kinds, NULL, and memory that is no handle at all. */
#ifndef WRONGS_H
#define WRONGS_H
#include <hdp/lease.h>
#include <stdlib.h>
#include <unistd.h>
#include "job.h"

enum kind {
    CONTEXT,
    TOPOLOGY,
    GROUP,
    PROFILE,
    PLAN,
    REPORT,
    BALANCER,
    EXECUTOR,
    LEASE,
    LEASE_LIST,
    KINDS,
    NOTHING
};

static const int64_t shares[2] = { 3, 4 };

/* ---- one of each ----------------------------------------------------------- */

static struct {
    hdp_context *context;
    hdp_topology *topology;
    hdp_group *group;
    hdp_profile *profile;
    hdp_plan *plan;
    hdp_report *report;
    hdp_balancer *balancer;
    hdp_executor *executor;
    hdp_lease *lease;
    hdp_lease_list *list;
    char folder[32]; /* of the lease */
    struct job job;
} own;

static _Alignas(64) unsigned char zeros[512], ones[512];

static struct wrong {
    enum kind kind;
    void *pointer;
    const char *name;
} wrongs[KINDS + 4];

static int make_one_of_each(void **state)
{
    hdp_executor_options options = { .size = sizeof options };
    hdp_lease_options claim = { .size = sizeof claim };
    char spec[JOB_SPEC];
    size_t i = 0;

    (void)state;
    expect_ok(hdp_context_create(&own.context, NULL));
    expect_ok(hdp_discover(&own.topology, own.context, NULL));
#ifdef HDP_TEST_CUDA
    job_spec(spec, sizeof spec, HDP_CUDA, 2);
#else
    (void)strcpy(spec, "host:0/threads=1+sim:0");
#endif
    expect_ok(hdp_group_create_spec(&own.group, own.context, spec, NULL));
    expect_ok(hdp_calibrate(
        &own.profile, own.group,
        &(hdp_calibrate_options){ .size = sizeof(hdp_calibrate_options),
                                  .probe = HDP_PROBE_LAUNCH,
                                  .budget_ns = 5000000 }));
    expect_ok(hdp_plan_create(&own.plan, shares, 2));
    job_open(&own.job, 7, 2);
    expect_ok(hdp_run(&own.report, own.group, own.plan, &own.job.work));
    expect_ok(hdp_balancer_create(&own.balancer, own.profile, NULL));
    options.profile = own.profile;
    expect_ok(hdp_executor_create_on(&own.executor, own.group, &options));
    (void)strcpy(own.folder, "/tmp/hdp-wrongs-XXXXXX");
    claim.directory = mkdtemp(own.folder);
    assert_non_null(claim.directory);
    expect_ok(hdp_lease_acquire(&own.lease, own.context, "sim:7", &claim));
    expect_ok(hdp_lease_list_create(&own.list, own.context, "sim:7", &claim));
    memset(ones, 0xff, sizeof ones);
    wrongs[i++] = (struct wrong){ CONTEXT, own.context, "a context" };
    wrongs[i++] = (struct wrong){ TOPOLOGY, own.topology, "a topology" };
    wrongs[i++] = (struct wrong){ GROUP, own.group, "a group" };
    wrongs[i++] = (struct wrong){ PROFILE, own.profile, "a profile" };
    wrongs[i++] = (struct wrong){ PLAN, own.plan, "a plan" };
    wrongs[i++] = (struct wrong){ REPORT, own.report, "a report" };
    wrongs[i++] = (struct wrong){ BALANCER, own.balancer, "a balancer" };
    wrongs[i++] = (struct wrong){ EXECUTOR, own.executor, "an executor" };
    wrongs[i++] = (struct wrong){ LEASE, own.lease, "a lease" };
    wrongs[i++] = (struct wrong){ LEASE_LIST, own.list, "a list of leases" };
    wrongs[i++] = (struct wrong){ NOTHING, NULL, "NULL" };
    wrongs[i++] = (struct wrong){ NOTHING, zeros, "zeros" };
    wrongs[i++] = (struct wrong){ NOTHING, ones, "ones" };
    wrongs[i++] = (struct wrong){ NOTHING, zeros + 1, "an odd address" };
    return 0;
}

static int give_all_back(void **state)
{
    char path[64];

    (void)state;
    hdp_context_destroy(own.context);
    hdp_group_destroy(own.group);
    hdp_profile_destroy(own.profile);
    hdp_topology_destroy(own.topology);
    hdp_executor_destroy(own.executor);
    hdp_balancer_destroy(own.balancer);
    hdp_plan_destroy(own.plan);
    hdp_report_destroy(own.report);
    hdp_lease_destroy(own.lease);
    hdp_lease_list_destroy(own.list);
    (void)snprintf(path, sizeof path, "%s/SIM-7.lease", own.folder);
    (void)unlink(path);
    (void)rmdir(own.folder);
    return 0;
}

/* ---- refusing -------------------------------------------------------------- */

enum { COVERED_MAX = 128 };

static const char *covered[COVERED_MAX];
static size_t covered_count;

static void cover(const char *name)
{
    size_t i;

    for (i = 0; i < covered_count; ++i)
        if (strcmp(covered[i], name) == 0)
            return;
    assert_true(covered_count < COVERED_MAX);
    covered[covered_count++] = name;
}

static void check(hdp_status got, const char *name, const char *arguments,
                  const char *given)
{
    hdp_error error = { .size = sizeof error };

    cover(name);
    if (got != HDP_ERR_ARGUMENT)
        fail_msg("%s(%s) with %s: expected an argument error, got %s", name,
                 arguments, given, hdp_status_string(got));
    expect_ok(hdp_error_get(&error));
    if (error.status != HDP_ERR_ARGUMENT || error.text[0] == '\0')
        fail_msg("%s(%s) with %s: expected the error told, got status %d, "
                 "text \"%s\"",
                 name, arguments, given, (int)error.status, error.text);
}

static void *h; /* the wrong handle of the call at hand */
static void *const UNTOUCHED = ones;

/* An index that is not there; which of the two it is called is the noun's. */
static void check_range(hdp_status got, const char *name, const char *arguments)
{
    cover(name);
    if (got != HDP_ERR_ARGUMENT && got != HDP_ERR_NOT_FOUND)
        fail_msg("%s(%s): expected argument or not found, got %s", name,
                 arguments, hdp_status_string(got));
}

#define OUT_OF_RANGE(function, ...)                                            \
    check_range(function(__VA_ARGS__), #function, #__VA_ARGS__)

/* The call is refused for each wrong handle in the place of `h`. */
#define WRONG(kind_, function, ...)                                            \
    do {                                                                       \
        size_t i_;                                                             \
        for (i_ = 0; i_ < sizeof wrongs / sizeof *wrongs; ++i_)                \
            if (wrongs[i_].kind != (kind_)) {                                  \
                h = wrongs[i_].pointer;                                        \
                check(function(__VA_ARGS__), #function, #__VA_ARGS__,          \
                      wrongs[i_].name);                                        \
            }                                                                  \
    } while (0)

/* The same, and what is handed out through `out` is NULL. */
#define WRONG_OUT(out, kind_, function, ...)                                   \
    do {                                                                       \
        size_t i_;                                                             \
        for (i_ = 0; i_ < sizeof wrongs / sizeof *wrongs; ++i_)                \
            if (wrongs[i_].kind != (kind_)) {                                  \
                h = wrongs[i_].pointer;                                        \
                (out) = UNTOUCHED;                                             \
                check(function(__VA_ARGS__), #function, #__VA_ARGS__,          \
                      wrongs[i_].name);                                        \
                if (out)                                                       \
                    fail_msg("%s(%s) with %s: expected NULL through %s, got "  \
                             "%p",                                             \
                             #function, #__VA_ARGS__, wrongs[i_].name, #out,   \
                             (void *)(out));                                   \
            }                                                                  \
    } while (0)

#define REFUSED(function, ...)                                                 \
    check(function(__VA_ARGS__), #function, #__VA_ARGS__, "the arguments shown")
#endif
