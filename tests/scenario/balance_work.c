/* A balancer whose profile was measured on other work: other ratios, other
 * fixed costs, tables with dips that the work lacks, and totals that change. */
#include "balance_sim.h"

enum { STEPS_TO_LEARN = 10 };

static hdp_balancer *open_on(const hdp_profile *profile)
{
    hdp_balancer *balancer;

    expect_ok(hdp_balancer_create(&balancer, profile, NULL));
    return balancer;
}

static hdp_profile *lines(const double *fixed_ns, const double *item_ns,
                          int32_t count)
{
    struct sim sim = { 0 };

    for (int32_t r = 0; r < count; r++)
        sim_line(&sim, fixed_ns[r], item_ns[r]);
    return sim_profile(&sim);
}

/* What the step after the first ten takes of the best. */
static double learned(struct sim *sim, const hdp_profile *profile,
                      int64_t total)
{
    hdp_balancer *balancer = open_on(profile);

    for (int i = 0; i <= STEPS_TO_LEARN; i++)
        sim_step(sim, balancer, total);
    hdp_balancer_destroy(balancer);
    return sim_best(sim, total) / sim->truth_ns;
}

static void expect_learned(struct sim *sim, const hdp_profile *profile,
                           int64_t total, const char *name)
{
    double got = learned(sim, profile, total);
    double least = sim->noise > 0 ? .94 : .95;

    if (got < least)
        fail_msg("%s, %lld items, noise %.2f: expected %.2f of the best after "
                 "%d steps, got %.3f",
                 name, (long long)total, sim->noise, least, STEPS_TO_LEARN,
                 got);
}

/* ---- lines -------------------------------------------------------------------- */

/* Calibrated 1 : 0.36 by products; the work is bound by copies, 1 : 1, takes
 * 100 times as long per item, and has fixed costs of its own. */
static void copies_after_products(void **state)
{
    static const double item[] = { 1e4, 1e4 / .36 };
    static const struct {
        double was[2], is[2]; /* fixed costs, ns */
        int64_t total;
    } rows[] = {
        { { 0, 0 }, { 0, 0 }, 512 },        { { 0, 0 }, { 5e7, 1e7 }, 512 },
        { { 0, 0 }, { 2e8, 2e8 }, 512 },    { { 5e6, 5e6 }, { 0, 0 }, 64 },
        { { 5e5, 5e5 }, { 5e7, 5e7 }, 64 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int noise = 0; noise <= 1; noise++) {
            struct sim sim = { .noise = .03 * noise };
            hdp_profile *profile = lines(rows[i].was, item, 2);
            char name[32];
            sim_seed(1);
            sim_line(&sim, rows[i].is[0], 1e6);
            sim_line(&sim, rows[i].is[1], 1e6);
            (void)snprintf(name, sizeof name, "row %d", (int)i);
            expect_learned(&sim, profile, rows[i].total, name);
            hdp_profile_destroy(profile);
        }
}

/* ---- tables -------------------------------------------------------------------- */

enum { RANKS = 3, POINTS = 64 };

/* Points at multiples of 8; with dips, a part of each item's time is that of
 * the wave it fills up: 64 items on the first rank, 128 and 192 on the others,
 * as in products whose rows are tiled. */
static hdp_profile *table(const double *item_ns, double fixed_ns, double dips,
                          double scale)
{
    static int64_t items[POINTS];
    double ns[RANKS][POINTS];
    hdp_model models[RANKS];
    hdp_profile *profile;

    for (int r = 0; r < RANKS; r++) {
        expect_ok(hdp_options_init(&models[r], sizeof models[r]));
        for (int i = 0; i < POINTS; i++) {
            int wave = 64 * (r + 1), n = 8 * (i + 1);
            int full = (n + wave - 1) / wave * wave;
            items[i] = n;
            ns[r][i] = scale *
                       (fixed_ns + item_ns[r] * (dips * full + (1 - dips) * n));
        }
        models[r].point_items = items;
        models[r].point_ns = ns[r];
        models[r].point_count = POINTS;
    }
    expect_ok(hdp_profile_create(&profile, models, RANKS));
    return profile;
}

static void dips_are_believed_where_they_are(void **state)
{
    static const double gemm[] = { 1e6, 1e6 / .6, 1e6 / .36 };
    static const double copy[] = { 1e6, 1e6, 1e6 };
    static const struct {
        const char *name;
        const double *is;
        double dips_were, dips_are, fixed_ns;
        double least; /* after 10 steps */
    } rows[] = {
        { "the same work, dips and all", gemm, .2, .2, 0, .99 },
        { "dips that the work lacks", gemm, .2, 0, 0, .95 },
        { "dips of other work", copy, .2, .2, 0, .95 },
        { "dips, and the work is a copy", copy, .2, 0, 2e7, .95 },
        { "dips that the profile lacks", gemm, 0, .2, 0, .95 },
        { "and other ratios", copy, 0, .2, 0, .95 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int noise = 0; noise <= 1; noise++) {
            hdp_profile *was = table(gemm, 0, rows[i].dips_were, 1);
            hdp_profile *is =
                table(rows[i].is, rows[i].fixed_ns, rows[i].dips_are, 50);
            struct sim sim = { .noise = .03 * noise };
            sim_seed(3);
            sim_curves(&sim, is);
            double got = learned(&sim, was, 512);
            if (got < rows[i].least)
                fail_msg("%s, noise %d: expected %.2f of the best, got %.3f",
                         rows[i].name, noise, rows[i].least, got);
            hdp_profile_destroy(was);
            hdp_profile_destroy(is);
        }
}

/* ---- machines -------------------------------------------------------------------- */

static hdp_profile *measure(const char *machine, int32_t probe)
{
    hdp_calibrate_options options;
    hdp_profile *profile;
    struct scene scene;

    expect_ok(hdp_options_init(&options, sizeof options));
    options.probe = probe;
    scene_open(&scene, machine, NULL, 0, NULL);
    expect_ok(hdp_calibrate(&profile, scene.group, &options));
    scene_close(&scene);
    return profile;
}

static void every_shipped_machine_learns_other_work(void **state)
{
    static const char *const names[] = { "@desk", "@turing", "@twin", "@laptop",
                                         "@lab" };
    static const int64_t totals[] = { 256, 1000, 4096 };

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        hdp_profile *gemm = measure(names[i], HDP_PROBE_GEMM);
        hdp_profile *copy = measure(names[i], HDP_PROBE_COPY);
        for (int row = 0; row < 12; row++) {
            struct sim sim = { .noise = .03 * (row & 1) };
            sim_seed(row);
            sim_curves(&sim, row & 2 ? gemm : copy);
            expect_learned(&sim, row & 2 ? copy : gemm, totals[row / 4],
                           names[i]);
        }
        hdp_profile_destroy(gemm);
        hdp_profile_destroy(copy);
    }
}

/* ---- totals that change ------------------------------------------------------------ */

static int64_t total_of(int mode, int step)
{
    if (mode == 0)
        return sim_draw(100, 1000);
    if (mode == 1)
        return step & 1 ? 300 : 500;
    return step % 100 == 99 ? 77 : 512; /* the end of an epoch */
}

/* From a profile of equal ranks to three unequal ones, and again when one of
 * them slows down after 200 steps. Shares come back with their totals, so of
 * two totals in turn no step has a new share. */
static void changing_totals_learn_as_well(void **state)
{
    static const double was[] = { 1e4, 1e4, 1e4 }, fixed[] = { 2e5, 1e5, 0 };

    (void)state;
    for (int row = 0; row < 6; row++) {
        struct sim sim = { .noise = .03 * (row & 1) };
        hdp_profile *profile = lines(fixed, was, 3);
        double sum = 0;
        sim_seed(2);
        sim_line(&sim, 2e5, 1e6);
        sim_line(&sim, 1e5, 2e6);
        sim_line(&sim, 0, 4e6);
        hdp_balancer *balancer = open_on(profile);
        for (int step = 0; step < 400; step++) {
            int64_t total = total_of(row / 2, step);
            if (step == 200)
                sim.ranks[0].slow = 2;
            sim_step(&sim, balancer, total);
            if (step % 200 == 0)
                sum = 0;
            if (step % 200 >= 50)
                sum += sim_best(&sim, total) / sim.truth_ns / 150;
            if (step % 200 == 199 && sum < .965)
                fail_msg("totals %d, noise %d, to step %d: expected 0.965 of "
                         "the best in the mean, got %.3f",
                         row / 2, row & 1, step, sum);
        }
        hdp_balancer_destroy(balancer);
        hdp_profile_destroy(profile);
    }
}

/* ---- ranks without items ------------------------------------------------------------- */

/* The profile says that rank 2 needs longer for one item than the others for
 * all of them; in truth, or from step 100 on, it is as fast as they are. */
static void a_rank_without_items_is_found_again(void **state)
{
    static const double item[] = { 1e6, 1e6, 1e6 }, fixed[] = { 0, 0, 9e7 };
    hdp_profile *profile = lines(fixed, item, 3);

    (void)state;
    for (int noise = 0; noise <= 1; noise++) {
        struct sim sim = { .noise = .03 * noise };
        sim_seed(5);
        for (int r = 0; r < 3; r++)
            sim_line(&sim, fixed[r], item[r]);
        hdp_balancer *balancer = open_on(profile);
        for (int i = 0; i < 600; i++)
            sim_step(&sim, balancer, 120);
        expect_number(0, sim.share[2], "items of the slow one");
        /* tries have cost half a percent at most */
        if (sim.truth_sum > 1.006 * 600 * sim_best(&sim, 120))
            fail_msg("expected 1.006 of the best, got %.4f",
                     sim.truth_sum / (600 * sim_best(&sim, 120)));
        sim.ranks[2].fixed_ns = 0;
        for (int i = 0; i < 2500; i++)
            sim_step(&sim, balancer, 120);
        double got = sim_best(&sim, 120) / sim.truth_ns;
        if (got < .95)
            fail_msg("noise %d: expected 0.95 of the best with the third rank, "
                     "got %.3f",
                     noise, got);
        hdp_balancer_destroy(balancer);
    }
    hdp_profile_destroy(profile);
}

/* ---- limits ---------------------------------------------------------------------------- */

struct bounds {
    hdp_split_options options;
    int64_t min[SIM_RANKS], max[SIM_RANKS], limit[SIM_RANKS];
    int64_t memory[SIM_RANKS]; /* bytes; 0: no cap */
};

static void expect_obeyed(const struct sim *sim, const struct bounds *bounds,
                          int32_t last, int machine)
{
    const hdp_split_options *options = &bounds->options;
    int64_t sum = 0;

    for (int32_t r = 0; r < sim->count; r++) {
        int64_t items = sim->share[r];
        int64_t bytes = options->fixed_bytes + items * options->item_bytes;
        int broken =
            items < bounds->min[r] ||
            (bounds->max[r] >= 0 && items > bounds->max[r]) ||
            (bounds->limit[r] >= 0 && items > bounds->limit[r]) ||
            (r != last && items % options->quantum != 0) ||
            (bounds->memory[r] > 0 && items > 0 && bytes > bounds->memory[r]);
        if (broken)
            fail_msg("machine %d, step %d, rank %d: expected its limits "
                     "obeyed, got %lld items (%lld to %lld, limit %lld, "
                     "quantum %lld, %lld bytes of %lld)",
                     machine, (int)sim->steps, (int)r, (long long)items,
                     (long long)bounds->min[r], (long long)bounds->max[r],
                     (long long)bounds->limit[r], (long long)options->quantum,
                     (long long)bytes, (long long)bounds->memory[r]);
        sum += items;
    }
    expect_number(sim->total, sum, "machine %d: items", machine);
}

static hdp_balancer *draw_machine(struct sim *sim, struct bounds *bounds)
{
    hdp_model models[SIM_RANKS];
    hdp_profile *profile;
    hdp_balancer *balancer;
    int32_t count = (int32_t)sim_draw(1, 6);

    memset(bounds, 0, sizeof *bounds);
    expect_ok(hdp_options_init(&bounds->options, sizeof bounds->options));
    bounds->options.quantum = sim_draw(1, 3) == 1 ? sim_draw(2, 16) : 1;
    bounds->options.keep_all = sim_draw(1, 5) == 1;
    bounds->options.reduce_bytes = sim_draw(1, 3) == 1 ? 1 << 20 : 0;
    bounds->options.may_bench = sim_draw(0, 1) == 1;
    bounds->options.item_bytes = sim_draw(0, 1) * 1000;
    bounds->options.fixed_bytes = sim_draw(0, 1) * 5000;
    for (int32_t r = 0; r < count; r++) {
        double item_ns = exp(sim_real(log(1e3), log(1e6)));
        sim_line(sim, sim_draw(0, 1) ? 0 : sim_real(0, 1e7),
                 item_ns * exp(sim_real(-1, sim_draw(1, 8) == 1 ? 5 : 1)));
        expect_ok(hdp_options_init(&models[r], sizeof models[r]));
        models[r].item_ns = item_ns;
        models[r].fixed_ns = sim_draw(0, 1) ? 0 : sim_real(0, 1e7);
        models[r].reduce_bytes_per_second = sim_real(1e8, 1e10);
        bounds->memory[r] = sim_draw(1, 3) == 1 ? sim_draw(5000, 500000) : 0;
        models[r].memory_bytes = bounds->memory[r];
        if (bounds->options.item_bytes + bounds->options.fixed_bytes == 0)
            bounds->memory[r] = 0;
        bounds->min[r] = sim_draw(1, 6) == 1 ? sim_draw(0, 20) : 0;
        bounds->max[r] = sim_draw(1, 4) == 1 ? sim_draw(20, 300) : -1;
        bounds->limit[r] = -1;
    }
    bounds->options.min_items = bounds->min;
    bounds->options.max_items = bounds->max;
    expect_ok(hdp_profile_create(&profile, models, count));
    expect_ok(hdp_balancer_create(&balancer, profile, &bounds->options));
    hdp_profile_destroy(profile);
    return balancer;
}

static int32_t last_with_items(const struct sim *sim)
{
    int32_t last = sim->count - 1;

    while (last > 0 && sim->share[last] == 0)
        last--;
    return last;
}

/* What a balancer is asked for in a dozen steps of a machine that slows down,
 * is limited and tries: no plan may break a limit, and what a plain split can
 * divide it can as well. */
static void no_plan_breaks_a_limit(void **state)
{
    int walked = 0;

    (void)state;
    for (int machine = 0; machine < 10000; machine++) {
        struct sim sim = { .noise = .02 };
        struct bounds bounds;
        sim_seed(machine);
        hdp_balancer *balancer = draw_machine(&sim, &bounds);
        int64_t total = sim_draw(1, 600);
        for (int step = 0; step < 12; step++) {
            hdp_plan *plan;
            int32_t some = (int32_t)sim_draw(0, sim.count - 1);
            if (step == 5)
                sim.ranks[some].slow = sim_real(.3, 60);
            if (step == 8 && bounds.min[some] == 0) {
                bounds.limit[some] = sim_draw(0, 100);
                expect_ok(
                    hdp_balancer_limit(balancer, some, bounds.limit[some]));
            }
            if (hdp_balancer_plan(&plan, balancer, total) != HDP_OK)
                break;
            hdp_plan_destroy(plan);
            sim_step(&sim, balancer, total);
            expect_obeyed(&sim, &bounds, last_with_items(&sim), machine);
            walked++;
        }
        hdp_balancer_destroy(balancer);
    }
    if (walked < 60000)
        fail_msg("expected 60,000 steps at least, got %d", walked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_after_products),
        cmocka_unit_test(dips_are_believed_where_they_are),
        cmocka_unit_test(every_shipped_machine_learns_other_work),
        cmocka_unit_test(changing_totals_learn_as_well),
        cmocka_unit_test(a_rank_without_items_is_found_again),
        cmocka_unit_test(no_plan_breaks_a_limit),
    };

    return cmocka_run_group_tests_name("balance_work", tests, NULL, NULL);
}
