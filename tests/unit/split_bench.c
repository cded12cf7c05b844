/* Leaving ranks out of the reduce: the numbers of the desk, and thousands of
 * random machines against a dynamic programme over every subset of members.
 *
 *   unit_split_bench [SEED]   replays the machines of a seed */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "unit/chance.h"
#include "unit/dp.h"
#include "unit/splits.h"

static uint64_t seed = 20261130;

/* ---- the desk ------------------------------------------------------------- */

/* f32 rates 25, 33 and 10.5; the first takes 400 ms for 256 rows. */
static hdp_profile *desk(void)
{
    const double rates[3] = { 25, 33, 10.5 }, links[3] = { 24e9, 6.5e9, 3e9 };
    hdp_model models[3];
    hdp_profile *profile;

    memset(models, 0, sizeof models);
    for (int i = 0; i < 3; i++) {
        models[i].size = sizeof models[i];
        models[i].item_ns = 400e6 / 256 * 25 / rates[i];
        models[i].reduce_bytes_per_second = links[i];
    }
    assert_int_equal(hdp_profile_create(&profile, models, 3), HDP_OK);
    return profile;
}

static void expect_ms(const char *what, int64_t ns, int64_t ms)
{
    if ((ns + 500000) / 1000000 != ms)
        fail_msg("%s: expected %" PRId64 " ms, got %" PRId64 " ns", what, ms,
                 ns);
}

static void test_desk(void **state)
{
    (void)state;
    hdp_split_options options = splits_options(HDP_RULE_FINISH);
    hdp_profile *profile = desk();
    hdp_plan_info info;

    options.reduce_bytes = 400000000;
    hdp_plan *plan = splits_plan(&info, profile, 256, &options);
    expect_ms("all three by speed", info.step_ns, 325);
    expect_ms("equal", info.equal_ns, 494);
    expect_ms("single in the ring", info.best_single_ns, 481);
    for (int i = 0; i < 3; i++)
        assert_int_equal(info.state[i], HDP_ACTIVE);
    hdp_plan_destroy(plan);

    options.may_bench = 1;
    plan = splits_plan(&info, profile, 256, &options);
    expect_ms("third benched", info.step_ns, 234);
    expect_ms("equal", info.equal_ns, 494);
    expect_ms("second alone", info.best_single_ns, 303);
    assert_int_equal(info.items[0], 110);
    assert_int_equal(info.items[1], 146);
    assert_int_equal(info.state[0], HDP_ACTIVE);
    assert_int_equal(info.state[2], HDP_BENCHED);
    assert_int_equal(info.bound_by[2], HDP_BOUND_DROPPED);
    assert_int_equal(info.predicted_ns[2], 0);
    /* 146 rows of 1.1837 ms, and 2 * 1/2 * 400 MB / 6.5 GB/s */
    assert_true(llabs(info.step_ns - 172821970 - 61538462) <= 1);
    assert_true(info.gap == 0 && info.lower_bound_ns == info.step_ns);
    hdp_plan_destroy(plan);

    /* with the third empty, but in the ring: never chosen */
    options.may_bench = 0;
    options.max_items = (const int64_t[]){ -1, -1, 0 };
    plan = splits_plan(&info, profile, 256, &options);
    expect_ms("third empty", info.step_ns, 351);
    assert_int_equal(info.state[2], HDP_EMPTY);
    assert_int_equal(info.equal_ns, -1);
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
}

/* The less is reduced, the more ranks are worth their place. */
static void test_desk_threshold(void **state)
{
    (void)state;
    hdp_split_options options = splits_options(HDP_RULE_FINISH);
    hdp_profile *profile = desk();
    int64_t pays = 0, never = 400000000;

    options.may_bench = 1;
    while (never - pays > 1) {
        hdp_plan_info info;
        options.reduce_bytes = pays + (never - pays) / 2;
        hdp_plan *plan = splits_plan(&info, profile, 256, &options);
        if (info.state[2] == HDP_ACTIVE)
            pays = options.reduce_bytes;
        else
            never = options.reduce_bytes;
        hdp_plan_destroy(plan);
    }
    /* 25.2 ms of compute against b * (4/3 / 3e9 - 1 / 6.5e9) */
    if (never < 85000000 || never > 95000000)
        fail_msg("expected about 90 MB, got %" PRId64, never);
    hdp_profile_destroy(profile);
}

/* Every rule leaves those without rows out; a minimum keeps a rank in. */
static void test_rules(void **state)
{
    (void)state;
    hdp_split_options options = splits_options(HDP_RULE_SINGLE);
    hdp_profile *profile = desk();
    hdp_plan_info info;

    options.reduce_bytes = 400000000;
    options.may_bench = 1;
    hdp_plan *plan = splits_plan(&info, profile, 256, &options);
    expect_ms("single", info.step_ns, 303);
    expect_ms("lower bound", info.lower_bound_ns, 234);
    assert_true(fabs(info.gap - (303.030303 - 234.360432) / 234.360432) < 1e-6);
    assert_int_equal(info.state[0], HDP_BENCHED);
    hdp_plan_destroy(plan);
    options.rule = HDP_RULE_PROPORTIONAL;
    plan = splits_plan(&info, profile, 256, &options);
    expect_ms("proportional", info.step_ns, 325);
    hdp_plan_destroy(plan);
    options.rule = HDP_RULE_FINISH;
    options.min_items = (const int64_t[]){ 0, 0, 1 };
    plan = splits_plan(&info, profile, 256, &options);
    expect_ms("third has a minimum", info.step_ns, 325);
    assert_int_equal(info.best_single_ns / 1000000, 952); /* the third alone */
    hdp_plan_destroy(plan);
    options.min_items = NULL;
    options.reduce_bytes = 0; /* nothing to be left out of */
    options.max_items = (const int64_t[]){ -1, -1, 0 };
    plan = splits_plan(&info, profile, 256, &options);
    assert_int_equal(info.state[2], HDP_EMPTY);
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
}

/* ---- random machines ------------------------------------------------------ */

struct machine {
    struct dp_model m;
    double link[DP_RANKS];
    int64_t reduce_bytes;
};

static void draw_machine(struct machine *x, int largest)
{
    struct dp_model *m = &x->m;
    int bytes = chance_of(25), shared = bytes && chance_of(50);

    memset(x, 0, sizeof *x);
    m->ranks = chance_draw(1, DP_RANKS);
    m->quantum = chance_of(60) ? 1 : chance_draw(2, 7);
    m->item_bytes = bytes ? chance_draw(1, 4) : 0;
    m->fixed_bytes = shared && chance_of(50) ? chance_draw(1, 20) : 0;
    x->reduce_bytes = chance_of(10) ? 0 : INT64_C(1) << chance_draw(10, 24);
    for (int i = 0; i < m->ranks; i++) {
        struct dp_rank *r = &m->rank[i];
        r->fixed_ns = chance_of(50) ? chance_real(0, 1e5) : 0;
        r->item_ns = chance_real(1e3, 3e4);
        if (chance_of(30)) {
            r->points = chance_draw(1, DP_POINTS);
            for (int k = 0; k < r->points; k++) {
                int64_t before = k > 0 ? r->point_items[k - 1] : 0;
                r->point_items[k] = before + chance_draw(1, 12);
                r->point_ns[k] = chance_real(0.4, 1) * r->item_ns *
                                 (double)r->point_items[k];
            }
        }
        r->min = chance_of(10) ? chance_draw(1, 4) : 0;
        r->max = chance_of(15) ? chance_draw(r->min, largest) : DP_ITEMS;
        r->domain = shared ? chance_draw(1, 3) : i + 1;
        r->room = -1;
        x->link[i] = chance_of(15) ? 0 : chance_real(1e9, 5e10);
    }
    for (int d = 1; d <= DP_RANKS && bytes; d++) {
        int64_t room = chance_of(60) ? chance_draw(20, 150) : -1;
        for (int i = 0; i < m->ranks; i++)
            if (m->rank[i].domain == d)
                m->rank[i].room = room;
    }
    dp_prepare(m);
}

static void print_machine(const struct machine *x, int64_t total)
{
    const struct dp_model *m = &x->m;
    fprintf(stderr,
            "total %" PRId64 " quantum %d bytes %" PRId64 " + %" PRId64
            " an item, %" PRId64 " reduced, seed %" PRIu64 "\n",
            total, m->quantum, m->fixed_bytes, m->item_bytes, x->reduce_bytes,
            seed);
    for (int i = 0; i < m->ranks; i++) {
        const struct dp_rank *r = &m->rank[i];
        fprintf(stderr,
                "  %d: fixed %.17g item %.17g min %d max %d domain %d room "
                "%" PRId64 " link %.17g\n",
                i, r->fixed_ns, r->item_ns, r->min, r->max, r->domain, r->room,
                x->link[i]);
        for (int k = 0; k < r->points; k++)
            fprintf(stderr, "     %" PRId64 ": %.17g\n", r->point_items[k],
                    r->point_ns[k]);
    }
}

#define CHECK(holds, x, total, ...)                                            \
    do {                                                                       \
        if (!(holds)) {                                                        \
            print_machine(x, total);                                           \
            fail_msg(__VA_ARGS__);                                             \
        }                                                                      \
    } while (0)

/* 2(n - 1)/n of the bytes over the slowest link of the set. */
static double ring(const struct machine *x, unsigned set)
{
    double slowest = INFINITY;
    int n = 0;

    for (int i = 0; i < x->m.ranks; i++)
        if (set >> i & 1) {
            n++;
            if (x->link[i] > 0 && x->link[i] < slowest)
                slowest = x->link[i];
        }
    return n < 2 ? 0
                 : 2. * (n - 1) / n * (double)x->reduce_bytes / slowest * 1e9;
}

static unsigned all_of(const struct machine *x)
{
    return (1u << x->m.ranks) - 1;
}

static unsigned active(const struct machine *x, const int64_t *items)
{
    unsigned set = 0;
    for (int i = 0; i < x->m.ranks; i++)
        set |= (unsigned)(items[i] > 0) << i;
    return set;
}

/* Least time of a step when only `set` may have items and only it reduces. */
static double best_of(const struct machine *x, int64_t total, unsigned set)
{
    struct dp_model part = x->m;
    for (int i = 0; i < part.ranks; i++) {
        if (set >> i & 1)
            continue;
        if (part.rank[i].min > 0)
            return dp_never;
        part.rank[i].max = 0;
    }
    double ns = dp_optimum(&part, total);
    return ns < dp_never ? ns + ring(x, set) : dp_never;
}

static hdp_profile *profile_of(const struct machine *x)
{
    hdp_model models[DP_RANKS];
    hdp_profile *profile;

    memset(models, 0, sizeof models);
    for (int i = 0; i < x->m.ranks; i++) {
        const struct dp_rank *r = &x->m.rank[i];
        models[i].size = sizeof models[i];
        models[i].fixed_ns = r->fixed_ns;
        models[i].item_ns = r->item_ns;
        models[i].reduce_bytes_per_second = x->link[i];
        models[i].point_items = r->point_items;
        models[i].point_ns = r->point_ns;
        models[i].point_count = r->points;
        models[i].memory_bytes = r->room > 0 ? r->room : 0;
        models[i].memory_domain = r->domain;
    }
    if (hdp_profile_create(&profile, models, x->m.ranks) != HDP_OK)
        fail_msg("profile: %s", hdp_last_error());
    return profile;
}

/* NULL when it is refused. */
static hdp_plan *split(hdp_plan_info *info, const struct machine *x,
                       int64_t total, int32_t rule, int may_bench)
{
    hdp_profile *profile = profile_of(x);
    hdp_split_options options = splits_options(rule);
    int64_t min[DP_RANKS], max[DP_RANKS];
    hdp_plan *plan;

    for (int i = 0; i < x->m.ranks; i++) {
        min[i] = x->m.rank[i].min;
        max[i] = x->m.rank[i].max;
    }
    options.quantum = x->m.quantum;
    options.item_bytes = x->m.item_bytes;
    options.fixed_bytes = x->m.fixed_bytes;
    options.reduce_bytes = x->reduce_bytes;
    options.may_bench = may_bench;
    options.min_items = min;
    options.max_items = max;
    hdp_options_init(info, sizeof *info);
    if (hdp_split(&plan, profile, total, &options) == HDP_OK)
        assert_int_equal(hdp_plan_get(info, plan), HDP_OK);
    hdp_profile_destroy(profile);
    return plan;
}

static void check_states(const struct machine *x, int64_t total,
                         const hdp_plan_info *info, int may_bench)
{
    int benches = may_bench && ring(x, all_of(x)) > 0;
    for (int i = 0; i < x->m.ranks; i++) {
        int32_t idle = benches ? HDP_BENCHED : HDP_EMPTY;
        CHECK(info->state[i] == (info->items[i] > 0 ? HDP_ACTIVE : idle), x,
              total, "rank %d of %d items has state %d", i, (int)info->items[i],
              (int)info->state[i]);
    }
}

static void check_compared(const struct machine *x, int64_t total,
                           const hdp_plan_info *info)
{
    CHECK(info->equal_ns == -1 || info->equal_ns >= info->step_ns, x, total,
          "slower than equal: %" PRId64 " > %" PRId64, info->step_ns,
          info->equal_ns);
    CHECK(info->best_single_ns == -1 || info->best_single_ns >= info->step_ns,
          x, total, "slower than single: %" PRId64 " > %" PRId64, info->step_ns,
          info->best_single_ns);
    CHECK(info->gap == 0 && info->lower_bound_ns == info->step_ns, x, total,
          "gap %g", info->gap);
}

static void check_machine(const struct machine *x, int64_t total, int may_bench)
{
    double optimum = best_of(x, total, all_of(x));
    hdp_plan_info info;

    for (unsigned set = 1; may_bench && set < all_of(x); set++) {
        double ns = best_of(x, total, set);
        optimum = ns < optimum ? ns : optimum;
    }
    hdp_plan *plan = split(&info, x, total, HDP_RULE_FINISH, may_bench);
    if (optimum >= dp_never) {
        CHECK(!plan, x, total, "a split where there is none");
        return;
    }
    CHECK(plan, x, total, "refused: %s", hdp_last_error());
    CHECK(dp_obeys(&x->m, info.items, total), x, total, "a limit is broken");
    unsigned in_ring = may_bench ? active(x, info.items) : all_of(x);
    double ns = dp_slowest(&x->m, info.items) + ring(x, in_ring);
    CHECK(ns <= optimum * (1 + 1e-12) && ns >= optimum * (1 - 1e-12), x, total,
          "expected %.17g ns, got %.17g", optimum, ns);
    CHECK(fabs((double)info.step_ns - ns) <= 0.5 + 1e-9 * ns, x, total,
          "step %" PRId64 " ns is not %.17g", info.step_ns, ns);
    check_compared(x, total, &info);
    check_states(x, total, &info, may_bench);
    hdp_plan_destroy(plan);
}

static void test_machines(void **state)
{
    (void)state;
    enum { LARGEST = 26 };
    static struct machine x;

    for (int k = 0; k < 10000; k++) {
        int64_t total = chance_draw(1, LARGEST);
        draw_machine(&x, LARGEST);
        check_machine(&x, total, 1);
        if (k % 4 == 0)
            check_machine(&x, total, 0);
    }
}

/* ---- what is compared with ------------------------------------------------ */

/* Looks at every split for one that is equal within a quantum. */
static int has_equal(const struct dp_model *m, int i, int64_t left,
                     int64_t *items, int64_t total)
{
    int64_t least = INT64_MAX, most = 0;

    if (i < m->ranks - 1) {
        for (items[i] = 0; items[i] <= left; items[i]++)
            if (has_equal(m, i + 1, left - items[i], items, total))
                return 1;
        return 0;
    }
    items[i] = left;
    for (int k = 0; k < m->ranks; k++) {
        least = items[k] < least ? items[k] : least;
        most = items[k] > most ? items[k] : most;
    }
    return most - least <= m->quantum && dp_obeys(m, items, total);
}

/* The best of those ranks that may have all. */
static double best_single(const struct machine *x, int64_t total, int may_bench)
{
    double best = dp_never;

    for (int i = 0; i < x->m.ranks; i++) {
        int64_t items[DP_RANKS] = { 0 };
        items[i] = total;
        double ns =
            dp_slowest(&x->m, items) + ring(x, may_bench ? 1u << i : all_of(x));
        if (dp_obeys(&x->m, items, total) && ns < best)
            best = ns;
    }
    return best;
}

static void test_compared(void **state)
{
    (void)state;
    static struct machine x;
    int64_t items[DP_RANKS];
    int possible = 0, impossible = 0;

    for (int k = 0; k < 4000; k++) {
        hdp_plan_info info;
        int64_t total = chance_draw(1, 20);
        draw_machine(&x, 20);
        if (x.m.ranks > 4)
            continue;
        hdp_plan *plan = split(&info, &x, total, HDP_RULE_FINISH, k % 2);
        if (!plan)
            continue;
        int equal = has_equal(&x.m, 0, total, items, total);
        CHECK((info.equal_ns >= 0) == equal, &x, total,
              "equal is %spossible, got %" PRId64, equal ? "" : "im",
              info.equal_ns);
        possible += equal;
        impossible += !equal;
        double single = best_single(&x, total, k % 2);
        double got = (double)info.best_single_ns;
        CHECK(single >= dp_never ? got < 0
                                 : fabs(got - single) <= 0.5 + 1e-9 * single,
              &x, total, "single: expected %.17g, got %.17g", single, got);
        hdp_plan_destroy(plan);
    }
    if (possible < 1000 || impossible < 100)
        fail_msg("equal: %d possible, %d not", possible, impossible);
}

/* ---- many ranks ----------------------------------------------------------- */

/* Beyond the exact number: never worse than all, single, or fast links alone. */
static void test_many(void **state)
{
    (void)state;
    static hdp_model models[200];
    const int counts[] = { 12, 13, 40, 64, 65, 200 };

    for (size_t c = 0; c < 6 * sizeof counts / sizeof *counts; c++) {
        int count = counts[c / 6];
        hdp_split_options options = splits_options(HDP_RULE_FINISH);
        hdp_plan_info info, benched;
        hdp_profile *profile;
        memset(models, 0, sizeof models);
        for (int i = 0; i < count; i++) {
            models[i].size = sizeof models[i];
            models[i].item_ns = chance_real(1e5, 1e6);
            models[i].reduce_bytes_per_second = c % 2   ? chance_real(1e9, 3e10)
                                                : i % 3 ? 2e10
                                                        : 1e9;
        }
        assert_int_equal(hdp_profile_create(&profile, models, count), HDP_OK);
        options.reduce_bytes = INT64_C(4000000) << c % 6;
        hdp_plan *plan = splits_plan(&info, profile, 3000, &options);
        options.may_bench = 1;
        hdp_plan *other = splits_plan(&benched, profile, 3000, &options);
        assert_true(benched.step_ns <= info.step_ns);
        assert_true(benched.step_ns <= benched.best_single_ns);
        assert_true(benched.gap == 0);
        if (c % 2 == 0) { /* the slow links out: one of the candidates */
            static int64_t max[200];
            for (int i = 0; i < count; i++)
                max[i] = i % 3 ? -1 : 0;
            options.max_items = max;
            hdp_plan *fast = splits_plan(&info, profile, 3000, &options);
            assert_true(benched.step_ns <= info.step_ns);
            hdp_plan_destroy(fast);
        }
        hdp_plan_destroy(plan);
        hdp_plan_destroy(other);
        hdp_profile_destroy(profile);
    }
}

static int set_up(void **state)
{
    (void)state;
    chance_bits = seed;
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_desk),
        cmocka_unit_test(test_desk_threshold),
        cmocka_unit_test(test_rules),
        cmocka_unit_test_setup(test_machines, set_up),
        cmocka_unit_test_setup(test_compared, set_up),
        cmocka_unit_test_setup(test_many, set_up),
    };
    if (argc > 1)
        seed = strtoull(argv[1], NULL, 10);
    if (seed == 0)
        seed = 1;
    printf("seed %" PRIu64 "\n", seed);
    return cmocka_run_group_tests_name("benched ranks", tests, NULL, NULL);
}
