/* A balancer and the allocator: a steady step and a steady flow of batches ask
 * it for nothing; where it says no, the call says so and the balancer works on.
 * The program brings its own malloc, which a sanitizer would not bear. */
#include "balance_sim.h"
#include "process.h"

enum { SKIPPED = 77 };

#if SANITIZED

int main(void)
{
    (void)printf("skipped: a sanitizer brings an allocator of its own\n");
    return SKIPPED;
}

#else

#include "allocator.h"

/* ---- a steady step ----------------------------------------------------------- */

/* A step of two ranks whose first takes `slow` times as long. */
static hdp_report *report_of(const hdp_plan *plan, double slow, double noise)
{
    hdp_plan_info info = { .size = sizeof info };
    hdp_report *report;
    int64_t ns[2];

    expect_ok(hdp_plan_get(&info, plan));
    for (int r = 0; r < 2; r++)
        ns[r] = info.items[r] > 0 ? (int64_t)(1e6 * (double)info.items[r] *
                                              (r == 0 ? slow : 1) *
                                              (1 + noise * sim_normal()))
                                  : -1;
    expect_ok(hdp_report_create(&report, info.items, ns, 2));
    return report;
}

static hdp_balancer *open_pair(void)
{
    struct sim sim = { 0 };

    sim_line(&sim, 0, 1e6);
    sim_line(&sim, 0, 1e6);
    return sim_balancer(&sim);
}

/* Also while it looks for better plans, changes them, and tries a rank: the
 * caller holds one plan at a time. */
static void a_steady_step_allocates_nothing(void **state)
{
    static const double slow[] = { 1, 2, 1.3, 60, 1 };
    hdp_balancer *balancer = open_pair();
    hdp_plan *plan = NULL;

    (void)state;
    sim_seed(4);
    for (int part = 0; part < 5; part++)
        for (int i = 0; i < 400; i++) {
            arm(0, 0);
            hdp_plan_destroy(plan);
            expect_ok(hdp_balancer_plan(&plan, balancer, 120));
            armed = 0;
            if (part + i > 0)
                expect_number(0, asked, "allocations of plan %d.%d", part, i);
            hdp_report *report = report_of(plan, slow[part], .03);
            arm(0, 0);
            expect_ok(hdp_balancer_observe(balancer, report));
            armed = 0;
            expect_number(0, asked, "allocations of observe %d.%d", part, i);
            hdp_report_destroy(report);
        }
    hdp_plan_destroy(plan);
    hdp_balancer_destroy(balancer);
}

static void a_steady_flow_allocates_nothing(void **state)
{
    enum { FLYING = 100 };
    hdp_balancer *balancer = open_pair();
    uint64_t tickets[FLYING] = { 0 };

    (void)state;
    for (int i = 0; i < 5000; i++) {
        int32_t rank;
        if (i == FLYING)
            arm(0, 0);
        if (i >= FLYING)
            expect_ok(hdp_balancer_done(balancer, tickets[i % FLYING], 100000));
        expect_ok(hdp_balancer_place(&rank, &tickets[i % FLYING], balancer,
                                     1 + i % 50));
    }
    armed = 0;
    expect_number(0, asked, "allocations");
    hdp_balancer_destroy(balancer);
}

/* ---- each allocation fails ------------------------------------------------------ */

static int refusals; /* calls that said so, in one life */

/* Asked again, it succeeds. */
static int again(hdp_status status)
{
    if (status == HDP_OK)
        return 0;
    expect_number(HDP_ERR_MEMORY, status, "status (%s)", hdp_last_error());
    refusals++;
    return 1;
}

enum { LIFE_STEPS = 40, LIFE_BATCHES = 200 };

/* The caller keeps every plan, so that none is used again. */
static void live_once(int64_t nth)
{
    static hdp_plan *plans[LIFE_STEPS];
    static uint64_t tickets[LIFE_BATCHES];
    struct sim sim = { 0 };
    hdp_plan_info info = { .size = sizeof info };
    hdp_balancer *balancer;
    hdp_profile *profile, *learned;
    int32_t rank;

    sim_line(&sim, 0, 1e6);
    sim_line(&sim, 0, 1e6);
    profile = sim_profile(&sim);
    refusals = 0;
    arm(nth, 0);
    while (again(hdp_balancer_create(&balancer, profile, NULL)))
        ;
    for (int i = 0; i < LIFE_STEPS; i++) {
        while (again(
            hdp_balancer_plan(&plans[i], balancer, i % 10 == 9 ? 80 : 120)))
            ;
        armed = 0;
        hdp_report *report = report_of(plans[i], i < 20 ? 1 : 2, 0);
        armed = 1;
        (void)again(hdp_balancer_observe(balancer, report));
        hdp_report_destroy(report);
    }
    for (int i = 0; i < LIFE_BATCHES; i++)
        while (again(hdp_balancer_place(&rank, &tickets[i], balancer, 5)))
            ;
    while (again(hdp_balancer_profile(&learned, balancer)))
        ;
    armed = 0;
    expect_ok(hdp_plan_get(&info, plans[LIFE_STEPS - 2]));
    expect_number(40, info.items[0], "failure %lld: items of the slow rank",
                  (long long)nth);
    for (int i = 0; i < LIFE_BATCHES; i++)
        expect_ok(hdp_balancer_done(balancer, tickets[i], 10000000));
    for (int i = 0; i < LIFE_STEPS; i++)
        hdp_plan_destroy(plans[i]);
    hdp_profile_destroy(learned);
    hdp_profile_destroy(profile);
    hdp_balancer_destroy(balancer);
}

static void each_allocation_fails_once(void **state)
{
    int64_t nth = 1, count;

    (void)state;
    live_once(0);
    count = asked;
    for (; nth <= count; nth++) {
        int64_t before = live;
        live_once(nth);
        expect_number(1, refusals, "allocation %lld of %lld: refusals told",
                      (long long)nth, (long long)count);
        expect_number(before, live, "allocation %lld: blocks left behind",
                      (long long)nth);
    }
    if (count < 30)
        fail_msg("expected 30 allocations at least, got %lld",
                 (long long)count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_steady_step_allocates_nothing),
        cmocka_unit_test(a_steady_flow_allocates_nothing),
        cmocka_unit_test(each_allocation_fails_once),
    };

    return cmocka_run_group_tests_name("balance_memory", tests, NULL, NULL);
}

#endif
