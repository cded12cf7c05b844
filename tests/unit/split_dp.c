/* The split against a dynamic programme, itself checked by looking at every
 * split: thousands of random models with fixed costs, tables that dip, links,
 * quanta, minimums, maximums and devices shared by several ranks.
 *
 *   unit_split_dp [SEED]   replays the models of a seed */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <hdp/hdp.h>
#include "unit/dp.h"

enum { GiB_SHIFT = 30 };

static uint64_t seed = UINT64_C(0x9e3779b97f4a7c15), state_bits;

/* ---- random models -------------------------------------------------------- */

static uint64_t next_bits(void)
{
    state_bits ^= state_bits >> 12;
    state_bits ^= state_bits << 25;
    state_bits ^= state_bits >> 27;
    return state_bits * UINT64_C(2685821657736338717);
}

static int draw(int low, int high)
{
    return low + (int)(next_bits() % (uint64_t)(high - low + 1));
}

static double draw_real(double low, double high)
{
    return low +
           (high - low) * ((double)(next_bits() >> 11) / 9007199254740992.);
}

static int chance(int percent)
{
    return draw(1, 100) <= percent;
}

static void draw_curve(struct dp_rank *r)
{
    r->fixed_ns = chance(60) ? draw_real(0, 4e6) : 0;
    r->item_ns = chance(10) ? (double)draw(1, 4) : draw_real(1e3, 1e5);
    r->points = 0;
    if (!chance(45))
        return;
    int64_t at = 0;
    double ns = r->fixed_ns + 1;
    r->points = draw(1, DP_POINTS);
    for (int i = 0; i < r->points; i++) {
        int step = draw(1, 70);
        at += step;
        ns += draw_real(-0.5, 1) * r->item_ns * step; /* it may dip */
        if (ns < 1)
            ns = draw_real(1, 1e5);
        r->point_items[i] = at;
        r->point_ns[i] = ns;
    }
}

/* `easy` models have no limits that could make a split impossible. */
static void draw_model(struct dp_model *m, int ranks, int largest, int easy)
{
    int links = chance(30), shared = !easy && chance(35), room[DP_RANKS];

    memset(m, 0, sizeof *m);
    m->ranks = ranks;
    m->quantum = chance(45) ? 1 : draw(2, 16);
    m->overlap = chance(50);
    m->item_bytes = shared || (!easy && chance(20)) ? draw(1, 9) : 0;
    m->fixed_bytes = shared && largest <= 60 && chance(70) ? draw(1, 60) : 0;
    for (int i = 0; i < ranks; i++)
        room[i] = draw(1, (int)m->item_bytes * largest + 100);
    for (int i = 0; i < ranks; i++) {
        struct dp_rank *r = &m->rank[i];
        draw_curve(r);
        if (links && chance(70))
            r->in_ns = draw_real(0, 5e4);
        if (links && chance(40))
            r->out_ns = draw_real(0, 5e4);
        r->min = !easy && chance(15) ? draw(1, largest / 4 + 1) : 0;
        r->max = !easy && chance(25) ? draw(0, largest) : DP_ITEMS;
        if (r->max < r->min)
            r->max = r->min;
        r->domain = shared ? draw(1, ranks) : i + 1;
        r->room = -1;
        if (m->item_bytes + m->fixed_bytes > 0 && (shared || chance(50)))
            r->room = room[r->domain - 1];
    }
    for (int i = 0; i < ranks; i++) /* one device, one memory */
        for (int j = 0; j < i; j++)
            if (m->rank[j].domain == m->rank[i].domain)
                m->rank[i].room = m->rank[j].room;
    dp_prepare(m);
}

static void print_model(const struct dp_model *m, int64_t total)
{
    fprintf(stderr,
            "total %" PRId64 " quantum %d overlap %d bytes %" PRId64
            " + %" PRId64 " an item, seed %" PRIu64 "\n",
            total, m->quantum, m->overlap, m->fixed_bytes, m->item_bytes, seed);
    for (int i = 0; i < m->ranks; i++) {
        const struct dp_rank *r = &m->rank[i];
        fprintf(stderr,
                "  %d: fixed %.17g item %.17g in %.17g out %.17g min %d max %d "
                "domain %d room %" PRId64 "\n",
                i, r->fixed_ns, r->item_ns, r->in_ns, r->out_ns, r->min, r->max,
                r->domain, r->room);
        for (int k = 0; k < r->points; k++)
            fprintf(stderr, "     %" PRId64 ": %.17g\n", r->point_items[k],
                    r->point_ns[k]);
    }
}

/* ---- the library's answer ------------------------------------------------- */

struct answer {
    hdp_status status;
    int64_t items[DP_RANKS], largest;
    int64_t step_ns, lower_ns, equal_ns, single_ns;
    double gap;
};

/* Bytes a second over a link on which an item of 2^GiB_SHIFT bytes takes ns. */
static double rate_of(double ns)
{
    return ns > 0 ? (double)(INT64_C(1) << GiB_SHIFT) / ns * 1e9 : 0;
}

/* The library derives the time of an item from bytes and rate; the model takes
 * that very figure, so that both speak of the same link. */
static void round_links(struct dp_model *m)
{
    for (int i = 0; i < m->ranks; i++) {
        struct dp_rank *r = &m->rank[i];
        double bytes = (double)(INT64_C(1) << GiB_SHIFT);
        if (r->in_ns > 0)
            r->in_ns = bytes / rate_of(r->in_ns) * 1e9;
        if (r->out_ns > 0)
            r->out_ns = bytes / rate_of(r->out_ns) * 1e9;
    }
    dp_prepare(m);
}

static hdp_profile *profile_of(const struct dp_model *m)
{
    hdp_model models[DP_RANKS];
    hdp_profile *profile;

    memset(models, 0, sizeof models);
    for (int i = 0; i < m->ranks; i++) {
        const struct dp_rank *r = &m->rank[i];
        models[i].size = sizeof models[i];
        models[i].fixed_ns = r->fixed_ns;
        models[i].item_ns = r->item_ns;
        models[i].in_bytes_per_second = rate_of(r->in_ns);
        models[i].out_bytes_per_second = rate_of(r->out_ns);
        models[i].point_items = r->point_items;
        models[i].point_ns = r->point_ns;
        models[i].point_count = r->points;
        models[i].memory_bytes = r->room > 0 ? r->room : 0;
        models[i].memory_domain = r->domain;
    }
    if (hdp_profile_create(&profile, models, m->ranks) != HDP_OK)
        fail_msg("profile: %s", hdp_last_error());
    return profile;
}

static void ask(struct answer *out, const struct dp_model *m, int64_t total,
                int32_t rule)
{
    hdp_profile *profile = profile_of(m);
    hdp_split_options options;
    hdp_plan_info info;
    hdp_error error;
    hdp_plan *plan;
    int64_t min[DP_RANKS], max[DP_RANKS];

    for (int i = 0; i < m->ranks; i++) {
        min[i] = m->rank[i].min;
        max[i] = m->rank[i].max;
    }
    hdp_options_init(&options, sizeof options);
    hdp_options_init(&info, sizeof info);
    hdp_options_init(&error, sizeof error);
    options.rule = rule;
    options.quantum = m->quantum;
    options.overlap = m->overlap;
    options.item_bytes = m->item_bytes;
    options.fixed_bytes = m->fixed_bytes;
    options.in_bytes = options.out_bytes = INT64_C(1) << GiB_SHIFT;
    options.min_items = min;
    options.max_items = max;
    memset(out, 0, sizeof *out);
    out->status = hdp_split(&plan, profile, total, &options);
    if (out->status != HDP_OK) {
        assert_null(plan);
        hdp_error_get(&error);
        out->largest = error.largest_total;
    } else {
        hdp_plan_get(&info, plan);
        memcpy(out->items, info.items, (size_t)m->ranks * sizeof *out->items);
        out->step_ns = info.step_ns;
        out->lower_ns = info.lower_bound_ns;
        out->equal_ns = info.equal_ns;
        out->single_ns = info.best_single_ns;
        out->gap = info.gap;
    }
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
}

/* ---- checks --------------------------------------------------------------- */

#define CHECK(holds, m, total, ...)                                            \
    do {                                                                       \
        if (!(holds)) {                                                        \
            print_model(m, total);                                             \
            fail_msg(__VA_ARGS__);                                             \
        }                                                                      \
    } while (0)

/* Largest total up to `total` that fits when nobody needs anything. */
static int64_t largest_total(const struct dp_model *m, int64_t total)
{
    struct dp_model free = *m;
    for (int i = 0; i < m->ranks; i++)
        free.rank[i].min = 0;
    while (total > 0 && dp_optimum(&free, total) >= dp_never)
        total--;
    return total;
}

static void check_refusal(const struct dp_model *m, int64_t total,
                          const struct answer *got)
{
    int64_t least = 0, largest = largest_total(m, total);
    int fits = 1; /* each minimum alone */

    for (int i = 0; i < m->ranks; i++) {
        least += m->rank[i].min;
        if (m->rank[i].room >= 0 && m->rank[i].min > 0 &&
            m->fixed_bytes + m->rank[i].min * m->item_bytes > m->rank[i].room)
            fits = 0;
    }
    if (got->status == HDP_ERR_ARGUMENT) {
        CHECK(least > 0, m, total, "refused as wrong without minimums: %s",
              hdp_last_error());
        return;
    }
    CHECK(got->status == HDP_ERR_CAPACITY, m, total, "status %d: %s",
          (int)got->status, hdp_last_error());
    if (!fits)
        largest = 0;
    CHECK(got->largest == largest, m, total,
          "largest total: expected %" PRId64 ", got %" PRId64, largest,
          got->largest);
}

/* No plan of the model beats the optimum, and the finish rule meets it. */
static void check_model(const struct dp_model *m, int64_t total)
{
    double optimum = dp_optimum(m, total);
    struct answer got;

    ask(&got, m, total, HDP_RULE_FINISH);
    if (optimum >= dp_never) {
        CHECK(got.status != HDP_OK, m, total, "a split where there is none");
        check_refusal(m, total, &got);
        return;
    }
    CHECK(got.status == HDP_OK, m, total, "refused: %s", hdp_last_error());
    CHECK(dp_obeys(m, got.items, total), m, total,
          "shares %d %d %d %d %d break a limit", (int)got.items[0],
          (int)got.items[1], (int)got.items[2], (int)got.items[3],
          (int)got.items[4]);
    double slowest = dp_slowest(m, got.items);
    CHECK(slowest <= optimum * (1 + 1e-12), m, total,
          "expected %.17g ns, got %.17g ns from %d %d %d %d %d", optimum,
          slowest, (int)got.items[0], (int)got.items[1], (int)got.items[2],
          (int)got.items[3], (int)got.items[4]);
    CHECK(slowest >= optimum * (1 - 1e-12), m, total,
          "better than the optimum: %.17g against %.17g", slowest, optimum);
    CHECK(got.gap == 0 && got.step_ns == got.lower_ns, m, total, "gap %g",
          got.gap);
    double off = (double)got.step_ns - slowest;
    CHECK(off <= 0.5 + 1e-9 * slowest && off >= -0.5 - 1e-9 * slowest, m, total,
          "step %" PRId64 " ns is not %.17g", got.step_ns, slowest);
    CHECK(got.equal_ns == -1 || got.equal_ns >= got.step_ns, m, total,
          "slower than equal: %" PRId64 " > %" PRId64, got.step_ns,
          got.equal_ns);
    CHECK(got.single_ns == -1 || got.single_ns >= got.step_ns, m, total,
          "slower than single: %" PRId64 " > %" PRId64, got.step_ns,
          got.single_ns);
}

/* Every other rule obeys the limits, and its times tell the truth. */
static void check_rules(const struct dp_model *m, int64_t total)
{
    struct answer finish, got;

    ask(&finish, m, total, HDP_RULE_FINISH);
    if (finish.status != HDP_OK)
        return;
    for (int32_t rule = HDP_RULE_PROPORTIONAL; rule <= HDP_RULE_SINGLE;
         rule++) {
        ask(&got, m, total, rule);
        if (rule == HDP_RULE_SINGLE && finish.single_ns == -1) {
            CHECK(got.status == HDP_ERR_CAPACITY ||
                      got.status == HDP_ERR_ARGUMENT,
                  m, total, "a single rank where none can");
            continue;
        }
        CHECK(got.status == HDP_OK, m, total, "rule %d refused: %s", (int)rule,
              hdp_last_error());
        CHECK(dp_obeys(m, got.items, total), m, total,
              "rule %d: shares %d %d %d %d %d break a limit", (int)rule,
              (int)got.items[0], (int)got.items[1], (int)got.items[2],
              (int)got.items[3], (int)got.items[4]);
        CHECK(got.lower_ns == finish.step_ns, m, total,
              "rule %d: lower bound %" PRId64 ", finish has %" PRId64,
              (int)rule, got.lower_ns, finish.step_ns);
        int64_t wanted = rule == HDP_RULE_EQUAL    ? finish.equal_ns
                         : rule == HDP_RULE_SINGLE ? finish.single_ns
                                                   : got.step_ns;
        if (wanted == -1)
            wanted = got.step_ns; /* as even as the limits allow */
        CHECK(got.step_ns == wanted, m, total,
              "rule %d: expected %" PRId64 " ns, got %" PRId64, (int)rule,
              wanted, got.step_ns);
    }
}

/* ---- tests ---------------------------------------------------------------- */

static void test_the_programme(void **state)
{
    (void)state;
    struct dp_model m;
    int possible = 0;

    for (int k = 0; k < 3000; k++) {
        int ranks = draw(1, 4), largest = ranks == 4 ? 16 : 30;
        int64_t total = draw(1, largest);
        draw_model(&m, ranks, largest, 0);
        double every = dp_enumerate(&m, total), found = dp_optimum(&m, total);
        CHECK(every == found, &m, total, "enumeration %.17g, programme %.17g",
              every, found);
        possible += every < dp_never;
    }
    assert_in_range(possible, 600, 2999); /* both outcomes were seen */
}

static void test_small(void **state)
{
    (void)state;
    struct dp_model m;

    for (int k = 0; k < 20000; k++) {
        int largest = draw(1, 60);
        draw_model(&m, draw(1, DP_RANKS), largest, k % 3 == 0);
        round_links(&m);
        int64_t total = draw(1, largest);
        check_model(&m, total);
        check_rules(&m, total);
    }
}

static void test_large(void **state)
{
    (void)state;
    struct dp_model m;

    for (int k = 0; k < 8000; k++) {
        draw_model(&m, draw(2, DP_RANKS), DP_ITEMS, k % 3 == 0);
        round_links(&m);
        check_model(&m, draw(60, DP_ITEMS));
    }
}

/* More blocks never take a block away from anybody. */
static void test_monotone(void **state)
{
    (void)state;
    struct dp_model m;

    for (int k = 0; k < 1000; k++) {
        int64_t before[DP_RANKS] = { 0 };
        draw_model(&m, draw(2, DP_RANKS), DP_ITEMS, k % 2);
        m.fixed_bytes = 0; /* a replica less may make room for more */
        for (int64_t total = m.quantum; total <= DP_ITEMS; total += m.quantum) {
            struct answer got;
            ask(&got, &m, total, HDP_RULE_FINISH);
            if (got.status != HDP_OK)
                continue;
            for (int i = 0; i < m.ranks; i++) {
                CHECK(got.items[i] >= before[i], &m, total,
                      "rank %d fell from %d to %d", i, (int)before[i],
                      (int)got.items[i]);
                before[i] = got.items[i];
            }
        }
    }
}

/* The order of members changes nothing but who wins a tie; with times drawn
 * from the reals there is none. */
static void test_order(void **state)
{
    (void)state;
    struct dp_model m, other;

    for (int k = 0; k < 6000; k++) {
        int order[DP_RANKS], largest = draw(20, DP_ITEMS);
        struct answer got, moved;
        draw_model(&m, draw(2, DP_RANKS), largest, k % 2);
        int ties = 0;
        for (int i = 0; i < m.ranks; i++) {
            order[i] = i;
            ties |= m.rank[i].item_ns == (int)m.rank[i].item_ns;
        }
        if (ties)
            continue;
        for (int i = m.ranks - 1; i > 0; i--) {
            int j = draw(0, i), kept = order[i];
            order[i] = order[j];
            order[j] = kept;
        }
        other = m;
        for (int i = 0; i < m.ranks; i++)
            other.rank[i] = m.rank[order[i]];
        int64_t total = largest / m.quantum * m.quantum;
        ask(&got, &m, total, HDP_RULE_FINISH);
        ask(&moved, &other, total, HDP_RULE_FINISH);
        CHECK(got.status == moved.status && got.step_ns == moved.step_ns, &m,
              total, "another order: %" PRId64 " ns instead of %" PRId64,
              moved.step_ns, got.step_ns);
        for (int i = 0; i < m.ranks; i++)
            CHECK(moved.items[i] == got.items[order[i]], &m, total,
                  "rank %d has %d items, in another order %d", order[i],
                  (int)got.items[order[i]], (int)moved.items[i]);
    }
}

static int set_up(void **state)
{
    (void)state;
    state_bits = seed;
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_the_programme, set_up),
        cmocka_unit_test_setup(test_small, set_up),
        cmocka_unit_test_setup(test_large, set_up),
        cmocka_unit_test_setup(test_monotone, set_up),
        cmocka_unit_test_setup(test_order, set_up),
    };
    if (argc > 1)
        seed = strtoull(argv[1], NULL, 10);
    if (seed == 0)
        seed = 1;
    printf("seed %" PRIu64 "\n", seed);
    return cmocka_run_group_tests_name("split against a dynamic programme",
                                       tests, NULL, NULL);
}
