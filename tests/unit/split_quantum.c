/* Quanta that the library chooses: what a curve recommends, and splits of ranks
 * that like unlike multiples, against every split there is.
 *
 *   unit_split_quantum [SEED]   replays the models of a seed */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include "core/profile.h"
#include "unit/chance.h"
#include "unit/dp.h"
#include "unit/splits.h"

static uint64_t seed = 20261130;

/* ---- one curve ------------------------------------------------------------ */

struct table {
    const int64_t *items;
    const double *ns;
    int64_t count;
};

static hdp_profile *profile_of(const struct table *tables, int32_t count)
{
    hdp_model models[8];
    hdp_profile *profile;

    memset(models, 0, sizeof models);
    for (int32_t i = 0; i < count; i++) {
        models[i].size = sizeof models[i];
        models[i].item_ns = tables[i].count ? 0 : 100;
        models[i].point_items = tables[i].items;
        models[i].point_ns = tables[i].ns;
        models[i].point_count = tables[i].count;
    }
    if (hdp_profile_create(&profile, models, count) != HDP_OK)
        fail_msg("profile: %s", hdp_last_error());
    return profile;
}

static int64_t quantum_of(const int64_t *items, const double *ns, int64_t count)
{
    const struct table table = { items, ns, count };
    hdp_profile *profile = profile_of(&table, 1);
    hdp_split_options options = splits_options(HDP_RULE_FINISH);
    hdp_plan_info info;

    options.quantum = -1;
    hdp_plan *plan = splits_plan(&info, profile, 1000, &options);
    int64_t quantum = info.quantum;
    assert_int_equal(info.quanta[0], quantum);
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
    return quantum;
}

/* A 4096 x 4096 layer in bf16 on one H200: microseconds by rows. */
static const int64_t h200_items[] = { 160, 192,  224,  256, 384,
                                      512, 1024, 1792, 2048 };
static const double h200_ns[] = { 30800, 32600, 33300,  26000, 37500,
                                  35100, 56800, 100700, 100500 };

static void test_curves(void **state)
{
    (void)state;
    assert_int_equal(quantum_of(h200_items, h200_ns, 9), 256);
    assert_int_equal(quantum_of(NULL, NULL, 0), 1); /* a line */
    const int64_t even[] = { 64, 128, 256 }, far[] = { 1000, 2000 };
    assert_int_equal(quantum_of(even, (double[]){ 64, 128, 256 }, 3), 1);
    /* padding by 1 % is cheap, but nothing says that it helps */
    assert_int_equal(quantum_of(far, (double[]){ 1000, 2000 }, 2), 1);
    /* steps of 128 without a dip */
    const int64_t steps[] = { 64, 128, 192, 256 };
    assert_int_equal(quantum_of(steps, (double[]){ 10, 10, 20, 20 }, 4), 128);
    assert_int_equal(quantum_of(steps, (double[]){ 10, 10, 15, 20 }, 4), 1);
    const int64_t one[] = { 100 };
    assert_int_equal(quantum_of(one, (double[]){ 5 }, 1), 1);
    const int64_t huge[] = { 1, INT64_MAX };
    assert_int_equal(quantum_of(huge, (double[]){ 5, 5e17 }, 2), 1);
}

/* ---- ranks together ------------------------------------------------------- */

static void test_alike(void **state)
{
    (void)state;
    const struct table tables[2] = { { h200_items, h200_ns, 9 },
                                     { h200_items, h200_ns, 9 } };
    hdp_profile *profile = profile_of(tables, 2);
    hdp_split_options options = splits_options(HDP_RULE_FINISH);
    hdp_plan_info info;

    options.quantum = -1;
    hdp_plan *plan = splits_plan(&info, profile, 1000, &options);
    assert_int_equal(info.quantum, 256);
    assert_int_equal(info.quanta[1], 256);
    assert_int_equal(info.items[0], 512); /* starts are multiples of 256 */
    assert_int_equal(info.items[1], 488);
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
}

static void test_unlike(void **state)
{
    (void)state;
    const struct table tables[3] = { { h200_items, h200_ns, 9 },
                                     { NULL, NULL, 0 },
                                     { h200_items, h200_ns, 9 } };
    hdp_profile *profile = profile_of(tables, 2);
    hdp_split_options options = splits_options(HDP_RULE_FINISH);
    hdp_plan_info info;

    options.quantum = -1;
    hdp_plan *plan = splits_plan(&info, profile, 1000, &options);
    assert_int_equal(info.quantum, 0);
    assert_int_equal(info.quanta[0], 256);
    assert_int_equal(info.quanta[1], 1);
    assert_int_equal(info.items[0], 768); /* 45.95 us; 512 leave 48.8 */
    assert_int_equal(info.items[1], 232);
    hdp_plan_destroy(plan);
    for (options.rule = 0; options.rule <= HDP_RULE_SINGLE; options.rule++) {
        plan = splits_plan(&info, profile, 1000, &options);
        assert_true(info.items[0] % 256 == 0 || info.items[1] == 0);
        assert_true(info.equal_ns >= info.lower_bound_ns);
        hdp_plan_destroy(plan);
    }
    options.rule = HDP_RULE_FINISH;
    options.max_items = (const int64_t[]){ 300, 300 };
    splits_refused(profile, 1000, &options, HDP_ERR_CAPACITY, -1,
                   "556 at most");
    splits_expect(profile, 556, &options, (int64_t[]){ 256, 300 }, 2);
    options.min_items = (const int64_t[]){ 0, 300 };
    splits_refused(profile, 500, &options, HDP_ERR_ARGUMENT, -1,
                   "multiples of up to 256");
    splits_expect(profile, 556, &options, (int64_t[]){ 256, 300 }, 2);
    hdp_profile_destroy(profile);
    /* partitions of one memory count in one quantum */
    profile = profile_of(tables, 3);
    options = splits_options(HDP_RULE_FINISH);
    options.quantum = -1;
    options.item_bytes = 1;
    for (int i = 0; i < 2; i++) {
        profile->ranks[i].memory_bytes = 900;
        profile->ranks[i].memory_domain = 7;
    }
    plan = splits_plan(&info, profile, 2000, &options);
    assert_int_equal(info.quantum, 256);
    assert_true(info.items[0] + info.items[1] <= 900);
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
}

/* ---- every split ---------------------------------------------------------- */

/* By the definition, over all powers of two. */
static int naive_quantum(const struct dp_model *m, int i)
{
    const struct dp_rank *r = &m->rank[i];
    int found = 1;

    for (int q = 2; r->points > 0 && q <= r->point_items[r->points - 1];
         q *= 2) {
        int pays = 0, costs = 0;
        for (int k = 0; k < r->points; k++) {
            int at = (int)r->point_items[k], up = (at + q - 1) / q * q;
            costs |= m->time[i][up] > 1.01 * m->time[i][at];
            pays |= up > at && m->time[i][up] <= r->point_ns[k];
        }
        if (!costs && pays)
            found = q;
    }
    return found;
}

static void draw_model(struct dp_model *m, int largest)
{
    memset(m, 0, sizeof *m);
    m->ranks = chance_draw(2, 4);
    m->quantum = 1;
    for (int i = 0; i < m->ranks; i++) {
        struct dp_rank *r = &m->rank[i];
        int step = 1 << chance_draw(0, 4);
        r->fixed_ns = chance_of(50) ? chance_real(0, 3e4) : 0;
        r->item_ns = chance_real(1e3, 2e4);
        r->points = chance_of(75) ? chance_draw(2, DP_POINTS) : 0;
        int64_t at = 0;
        for (int k = 0; k < r->points; k++) {
            at += chance_draw(1, 6);
            int64_t padded = (at + step - 1) / step * step;
            r->point_items[k] = at;
            r->point_ns[k] = r->fixed_ns + r->item_ns * (double)padded;
        }
        r->min = chance_of(12) ? chance_draw(1, 6) : 0;
        r->max = chance_of(20) ? chance_draw(r->min, largest) : DP_ITEMS;
        r->domain = i + 1;
        r->room = -1;
    }
    dp_prepare(m);
}

static int obeys(const struct dp_model *m, const int64_t *items,
                 const int64_t *quanta)
{
    int last = m->ranks - 1;
    while (last > 0 && items[last] == 0)
        last--;
    for (int i = 0; i < m->ranks; i++)
        if (items[i] < m->rank[i].min || items[i] > m->rank[i].max ||
            (i != last && items[i] % quanta[i] != 0))
            return 0;
    return 1;
}

static void look_at_all(const struct dp_model *m, int i, int64_t left,
                        int64_t *items, const int64_t *quanta, double *best)
{
    if (i == m->ranks - 1) {
        items[i] = left;
        double ns = dp_slowest(m, items);
        if (ns < *best && obeys(m, items, quanta))
            *best = ns;
        return;
    }
    for (items[i] = 0; items[i] <= left; items[i]++)
        look_at_all(m, i + 1, left - items[i], items, quanta, best);
}

static void print_model(const struct dp_model *m, int64_t total)
{
    fprintf(stderr, "total %" PRId64 ", seed %" PRIu64 "\n", total, seed);
    for (int i = 0; i < m->ranks; i++) {
        const struct dp_rank *r = &m->rank[i];
        fprintf(stderr, "  %d: fixed %.17g item %.17g min %d max %d q %d\n", i,
                r->fixed_ns, r->item_ns, r->min, r->max, naive_quantum(m, i));
        for (int k = 0; k < r->points; k++)
            fprintf(stderr, "     %" PRId64 ": %.17g\n", r->point_items[k],
                    r->point_ns[k]);
    }
}

#define CHECK(holds, m, total, ...)                                            \
    do {                                                                       \
        if (!(holds)) {                                                        \
            print_model(m, total);                                             \
            fail_msg(__VA_ARGS__);                                             \
        }                                                                      \
    } while (0)

static hdp_profile *profile_of_model(const struct dp_model *m)
{
    hdp_model models[DP_RANKS];
    hdp_profile *profile;

    memset(models, 0, sizeof models);
    for (int i = 0; i < m->ranks; i++) {
        const struct dp_rank *r = &m->rank[i];
        models[i].size = sizeof models[i];
        models[i].fixed_ns = r->points ? 0 : r->fixed_ns;
        models[i].item_ns = r->points ? 0 : r->item_ns;
        models[i].point_items = r->point_items;
        models[i].point_ns = r->point_ns;
        models[i].point_count = r->points;
    }
    if (hdp_profile_create(&profile, models, m->ranks) != HDP_OK)
        fail_msg("profile: %s", hdp_last_error());
    return profile;
}

/* Returns 1 when the quanta differed. */
static int check_model(const struct dp_model *m, int64_t total)
{
    hdp_profile *profile = profile_of_model(m);
    hdp_split_options options = splits_options(HDP_RULE_FINISH);
    int64_t min[DP_RANKS], max[DP_RANKS], quanta[DP_RANKS], items[DP_RANKS];
    double best = dp_never;
    int differ = 0;
    hdp_plan *plan;

    for (int i = 0; i < m->ranks; i++) {
        min[i] = m->rank[i].min;
        max[i] = m->rank[i].max;
        quanta[i] = naive_quantum(m, i);
        differ |= quanta[i] != quanta[0];
    }
    options.quantum = -1;
    options.min_items = min;
    options.max_items = max;
    look_at_all(m, 0, total, items, quanta, &best);
    for (options.rule = 0; options.rule <= HDP_RULE_EQUAL; options.rule++) {
        hdp_plan_info info;
        hdp_status status = hdp_split(&plan, profile, total, &options);
        if (best >= dp_never) {
            CHECK(status == HDP_ERR_CAPACITY || status == HDP_ERR_ARGUMENT, m,
                  total, "a split where there is none");
            continue;
        }
        CHECK(status == HDP_OK, m, total, "refused: %s", hdp_last_error());
        hdp_options_init(&info, sizeof info);
        assert_int_equal(hdp_plan_get(&info, plan), HDP_OK);
        CHECK(info.quantum == (differ ? 0 : quanta[0]), m, total,
              "quantum %" PRId64, info.quantum);
        for (int i = 0; i < m->ranks; i++)
            CHECK(info.quanta[i] == quanta[i], m, total,
                  "rank %d: expected quantum %" PRId64 ", got %" PRId64, i,
                  quanta[i], info.quanta[i]);
        CHECK(obeys(m, info.items, quanta), m, total, "rule %d breaks a limit",
              (int)options.rule);
        double ns = dp_slowest(m, info.items);
        CHECK(ns >= best * (1 - 1e-12), m, total, "better than the best");
        if (options.rule == HDP_RULE_FINISH) {
            CHECK(ns <= best * (1 + 1e-12), m, total,
                  "expected %.17g ns, got %.17g", best, ns);
            CHECK(info.gap == 0, m, total, "gap %g", info.gap);
            CHECK(info.equal_ns == -1 || info.equal_ns >= info.step_ns, m,
                  total, "slower than equal");
            CHECK(info.best_single_ns == -1 ||
                      info.best_single_ns >= info.step_ns,
                  m, total, "slower than single");
        }
        hdp_plan_destroy(plan);
    }
    hdp_profile_destroy(profile);
    return differ;
}

static void test_models(void **state)
{
    (void)state;
    struct dp_model m;
    int differ = 0;

    for (int k = 0; k < 3000; k++) {
        draw_model(&m, 30);
        differ += check_model(&m, chance_draw(1, m.ranks > 3 ? 22 : 30));
    }
    assert_in_range(differ, 500, 2999);
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
        cmocka_unit_test(test_curves),
        cmocka_unit_test(test_alike),
        cmocka_unit_test(test_unlike),
        cmocka_unit_test_setup(test_models, set_up),
    };
    if (argc > 1)
        seed = strtoull(argv[1], NULL, 10);
    if (seed == 0)
        seed = 1;
    printf("seed %" PRIu64 "\n", seed);
    return cmocka_run_group_tests_name("quanta", tests, NULL, NULL);
}
