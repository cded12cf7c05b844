/* What the balance tells of a step beside the plan: whose level changed, who is
 * out, whether the next plan differs; and what it hands on as a profile. */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include "chance.h"
#include "core/balance.h"

enum { RANKS = 3 };

struct bench {
    struct hdpi_balance *balance;
    double item_ns[RANKS]; /* the truth */
    int64_t items[RANKS];  /* of the last step */
};

static void open_bench(struct bench *bench, const double *item_ns,
                       const double *truth_ns)
{
    hdp_split_options split = { .size = sizeof split };
    hdp_profile *profile;

    assert_int_equal(hdpi_profile_new(&profile, RANKS), HDP_OK);
    for (int r = 0; r < RANKS; r++) {
        profile->ranks[r].item_ns = item_ns[r];
        bench->item_ns[r] = truth_ns[r];
    }
    assert_int_equal(hdpi_balance_new(&bench->balance, profile, &split),
                     HDP_OK);
    hdpi_profile_free(profile);
}

static struct hdpi_change step(struct bench *bench, int64_t total)
{
    struct hdpi_change change;
    int64_t ns[RANKS];
    hdp_plan *plan;

    assert_int_equal(hdpi_balance_plan(&plan, bench->balance, total), HDP_OK);
    for (int r = 0; r < RANKS; r++) {
        bench->items[r] = plan->items[r];
        ns[r] = plan->items[r] > 0
                    ? (int64_t)(bench->item_ns[r] * (double)plan->items[r])
                    : -1;
    }
    if (hdpi_object_release(&plan->object, HDPI_PLAN))
        fail_msg("expected the balance to hold its plan");
    assert_int_equal(
        hdpi_balance_observe(bench->balance, bench->items, ns, NULL, &change),
        HDP_OK);
    return change;
}

static void expect_change(const struct hdpi_change *got, int32_t changed,
                          int32_t slow, int32_t replan, const char *when)
{
    if (got->changed_rank != changed || got->too_slow_rank != slow ||
        got->replan != replan)
        fail_msg("%s: expected rank %d changed, rank %d out, replan %d, got "
                 "%d, %d, %d",
                 when, (int)changed, (int)slow, (int)replan,
                 (int)got->changed_rank, (int)got->too_slow_rank,
                 (int)got->replan);
}

static void a_change_is_told_once(void **state)
{
    static const double ns[] = { 1e6, 1e6, 1e6 };
    struct bench bench;
    struct hdpi_change change;

    (void)state;
    open_bench(&bench, ns, ns);
    for (int i = 0; i < 20; i++) {
        change = step(&bench, 120);
        expect_change(&change, -1, -1, 0, "steady");
    }
    bench.item_ns[1] = 2e6;
    change = step(&bench, 120);
    expect_change(&change, -1, -1, 0, "once is a hiccup");
    change = step(&bench, 120);
    expect_change(&change, 1, -1, 1, "twice is a change");
    for (int i = 0; i < 20; i++) {
        change = step(&bench, 120);
        expect_change(&change, -1, -1, 0, "afterwards");
    }
    assert_int_equal(bench.items[1], 24);
    hdpi_balance_free(bench.balance);
}

/* One warning, however often it is tried and found as slow again. */
static void one_warning_of_a_slow_rank(void **state)
{
    static const double ns[] = { 1e6, 1e6, 1e6 };
    struct bench bench;
    int warnings = 0, tries = 0;

    (void)state;
    open_bench(&bench, ns, ns);
    for (int i = 0; i < 20; i++)
        (void)step(&bench, 120);
    bench.item_ns[2] = 50e6;
    for (int i = 0; i < 2000; i++) {
        struct hdpi_change change = step(&bench, 120);
        warnings += change.too_slow_rank == 2;
        tries += i > 5 && bench.items[2] > 0;
        if (change.too_slow_rank >= 0 && change.too_slow_rank != 2)
            fail_msg("expected rank 2 out, got %d", (int)change.too_slow_rank);
    }
    assert_int_equal(warnings, 1);
    if (tries < 4 || tries > 40)
        fail_msg("expected 4 to 40 steps of tries in 2,000, got %d", tries);
    hdpi_balance_free(bench.balance);
}

/* A rank that the profile already calls slow is out from the first plan. */
static void slow_from_the_start(void **state)
{
    static const double ns[] = { 1e6, 1e6, 41e6 }, near[] = { 1e6, 1e6, 39e6 };
    struct bench bench;
    struct hdpi_change change;

    (void)state;
    open_bench(&bench, ns, ns);
    change = step(&bench, 300);
    expect_change(&change, -1, 2, 0, "41 times as slow");
    assert_int_equal(bench.items[2], 0);
    hdpi_balance_free(bench.balance);
    open_bench(&bench, near, near);
    change = step(&bench, 300);
    expect_change(&change, -1, -1, 0, "39 times as slow");
    assert_int_equal(bench.items[2], 3);
    hdpi_balance_free(bench.balance);
}

/* When the others cannot hold the batch, a slow rank has to help. */
static void slow_is_better_than_not_at_all(void **state)
{
    static const double ns[] = { 1e6, 1e6, 100e6 };
    struct bench bench;

    (void)state;
    open_bench(&bench, ns, ns);
    assert_int_equal(hdpi_balance_limit(bench.balance, 0, 50), HDP_OK);
    assert_int_equal(hdpi_balance_limit(bench.balance, 1, 50), HDP_OK);
    (void)step(&bench, 103);
    assert_int_equal(bench.items[2], 3);
    assert_true(hdpi_balance_cap(bench.balance, 0) == 50);
    assert_true(hdpi_balance_cap(bench.balance, 2) == -1);
    assert_int_equal(hdpi_balance_limit(bench.balance, 0, -1), HDP_OK);
    (void)step(&bench, 103);
    assert_int_equal(bench.items[2], 0);
    hdpi_balance_free(bench.balance);
}

/* A reduce of 10 MB over 1 GB/s takes 10 ms of two ranks and 13.3 of three:
 * more than a third one brings that is 35 times as slow. When that one is as
 * fast as the others, a try finds it so, which has to save up for the replica
 * and the longer reduces first: 36.7 ms at half a percent of 70. */
static void a_benched_rank_comes_back(void **state)
{
    static const double ns[] = { 1e6, 1e6, 35e6 };
    hdp_split_options split = { .size = sizeof split,
                                .may_bench = 1,
                                .reduce_bytes = 10000000 };
    struct bench bench;
    hdp_profile *profile;
    hdp_plan *plan;
    int step_back = -1;

    (void)state;
    assert_int_equal(hdpi_profile_new(&profile, RANKS), HDP_OK);
    for (int r = 0; r < RANKS; r++) {
        profile->ranks[r].item_ns = bench.item_ns[r] = ns[r];
        profile->ranks[r].reduce_bytes_per_second = 1e9;
    }
    assert_int_equal(hdpi_balance_new(&bench.balance, profile, &split), HDP_OK);
    hdpi_profile_free(profile);
    assert_int_equal(hdpi_balance_plan(&plan, bench.balance, 120), HDP_OK);
    assert_int_equal(plan->state[2], HDP_BENCHED);
    if (hdpi_object_release(&plan->object, HDPI_PLAN))
        fail_msg("expected the balance to hold its plan");
    bench.item_ns[2] = 1e6;
    for (int i = 0; i < 300 && step_back < 0; i++) {
        (void)step(&bench, 120);
        if (bench.items[2] == 40)
            step_back = i;
    }
    if (step_back < 105 || step_back > 130)
        fail_msg("expected it back after 105 to 130 steps, got %d", step_back);
    hdpi_balance_free(bench.balance);
}

static void it_hands_on_what_it_knows(void **state)
{
    static const double was[] = { 1e4, 2e4, 4e4 }, is[] = { 1e6, 1e6, 1e6 };
    hdp_profile *profile;
    struct bench bench;

    (void)state;
    open_bench(&bench, was, is);
    for (int i = 0; i < 50; i++)
        (void)step(&bench, 300);
    assert_int_equal(hdpi_balance_profile(&profile, bench.balance), HDP_OK);
    assert_true(hdpi_profile_is_valid(profile));
    for (int r = 0; r < RANKS; r++) {
        double got = hdpi_profile_time(&profile->ranks[r], 100);
        assert_int_equal(profile->ranks[r].provenance, HDPI_FROM_STEPS);
        if (fabs(got / 100e6 - 1) > .005)
            fail_msg("rank %d: expected 100 ms for 100 items, got %.3f", r,
                     got / 1e6);
    }
    hdpi_profile_free(profile);
    hdpi_balance_free(bench.balance);
}

static void open_line(struct hdpi_balance **out, double fixed_ns,
                      double item_ns)
{
    hdp_split_options split = { .size = sizeof split };
    hdp_profile *profile;

    assert_int_equal(hdpi_profile_new(&profile, 1), HDP_OK);
    profile->ranks[0].fixed_ns = fixed_ns;
    profile->ranks[0].item_ns = item_ns;
    assert_int_equal(hdpi_balance_new(out, profile, &split), HDP_OK);
    hdpi_profile_free(profile);
}

static void expect_time(const struct hdpi_balance *balance, int64_t items,
                        double ns, double within)
{
    double got = hdpi_balance_time(balance, 0, items);

    if (!(fabs(got / ns - 1) <= within))
        fail_msg("%lld items: expected %.4f ms, got %.4f", (long long)items,
                 ns / 1e6, got / 1e6);
}

/* Of a batch of one item 1 ms is fixed and 1 us is not: it says nothing of how
 * much longer a thousand take. */
static void small_batches_say_nothing_of_large_ones(void **state)
{
    static const int64_t sizes[] = { 1, 1000, 1000, 1, 7, 300 };
    struct hdpi_balance *balance;

    (void)state;
    open_line(&balance, 1e6, 1000); /* right from the start */
    for (int i = 0; i < 120; i++) {
        int64_t items = sizes[i % 6];
        hdpi_balance_sample(balance, 0, items, 1000000 + 1000 * items);
        expect_time(balance, 1, 1.001e6, 1e-4);
        expect_time(balance, 300, 1.3e6, 1e-4);
        expect_time(balance, 1000, 2e6, 1e-4);
    }
    hdpi_balance_free(balance);
    open_line(&balance, 2e5, 1800); /* most of it taken for work */
    for (int i = 0; i < 120; i++)
        hdpi_balance_sample(balance, 0, sizes[i % 6],
                            1000000 + 1000 * sizes[i % 6]);
    expect_time(balance, 1, 1.001e6, .005);
    expect_time(balance, 300, 1.3e6, .005);
    expect_time(balance, 1000, 2e6, .005);
    hdpi_balance_free(balance);
}

/* With a profile that is right, of sizes from ten to a hundred thousand: 2 % of
 * a large batch is many times what is fixed, and says nothing of it. */
static void noise_of_large_batches_is_not_fixed(void **state)
{
    static const int64_t scales[] = { 10, 100, 1000, 10000 };
    struct hdpi_balance *balance;

    (void)state;
    open_line(&balance, 2e4, 1000);
    for (int i = 0; i < 1000; i++) {
        int64_t items = scales[chance_draw(0, 3)] * chance_draw(1, 10);
        int64_t ns = 20000 + 1000 * items;
        hdpi_balance_sample(balance, 0, items,
                            ns * chance_draw(970, 1030) / 1000);
        expect_time(balance, 1, 2.1e4, .35);
        expect_time(balance, 100, 1.2e5, .06);
        expect_time(balance, 100000, 1.0002e8, .06);
    }
    hdpi_balance_free(balance);
}

/* From an item to all there can be, from a nanosecond to a lifetime. */
static void wild_times_leave_a_profile(void **state)
{
    static const int64_t sizes[] = { 1, INT64_MAX, 1000, INT64_MAX / 3, 1 };
    static const int64_t times[] = { 1, 7, INT64_MAX, 1000000, 3, 1, 1 };
    struct hdpi_balance *balance;
    hdp_profile *profile;

    (void)state;
    open_line(&balance, 1e6, 1000);
    for (int i = 0; i < 2000; i++) {
        hdpi_balance_sample(balance, 0, sizes[i % 5], times[i % 7]);
        double ns = hdpi_balance_time(balance, 0, 1000);
        if (!(ns > 0 && ns < 1e60))
            fail_msg("sample %d: expected some time, got %g", i, ns);
    }
    assert_int_equal(hdpi_balance_profile(&profile, balance), HDP_OK);
    assert_true(hdpi_profile_is_valid(profile));
    hdpi_profile_free(profile);
    hdpi_balance_free(balance);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_is_told_once),
        cmocka_unit_test(one_warning_of_a_slow_rank),
        cmocka_unit_test(slow_from_the_start),
        cmocka_unit_test(slow_is_better_than_not_at_all),
        cmocka_unit_test(a_benched_rank_comes_back),
        cmocka_unit_test(it_hands_on_what_it_knows),
        cmocka_unit_test(small_batches_say_nothing_of_large_ones),
        cmocka_unit_test(noise_of_large_batches_is_not_fixed),
        cmocka_unit_test(wild_times_leave_a_profile),
    };

    return cmocka_run_group_tests_name("balance", tests, NULL, NULL);
}
