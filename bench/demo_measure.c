/* The demo's measurements: everything that takes time. */
#include <stdlib.h>
#include <string.h>

#include "demo.h"
#include "work/digits.h"
#include "work/mlp.h"

enum {
    QUANTUM = 16,
    ROUNDS_MIN = 9, /* odd: the median is a round, which the picture shows */
    ROUNDS_MAX = 25,
    WARMUP = 2,
    TRAINING_STEPS = 150,
    TRAINING_LEAST = 30, /* where a step takes long */
    TRIES = 3,
    BUDGET_NS = 2000000000
};
/* Every step is to take 20 ms at least. */
static const double step_goal_ns = 27e6, step_least_ns = 22e6;
static const double step_most_ns = 81e6;
static const double spread_limit = 0.05;
static const int64_t run_goal_ns = 8000000000;
static const int64_t time_limit_ns = 53000000000;     /* of the whole demo */
static const int64_t training_guess_ns = 10000000000; /* of all rules */

const int32_t demo_rules[DEMO_RULES] = { HDP_RULE_EQUAL, HDP_RULE_SINGLE,
                                         HDP_RULE_PROPORTIONAL,
                                         HDP_RULE_FINISH };

static int calibrate(struct demo *demo, const int64_t *items, int count,
                     int64_t budget_ns, hdp_profile **out)
{
    struct measure measure = { .probe = HDP_PROBE_WORK,
                               .workload = demo->workload,
                               .items = items,
                               .item_count = count,
                               .budget_ns = budget_ns };

    return measure_profile(demo->bench, &measure, out);
}

static int predict(struct demo *demo, const hdp_profile *profile, int64_t total,
                   double *out_ns)
{
    hdp_plan *plan = NULL;
    hdp_plan_info info;
    int code = plans_split(demo->bench, profile, HDP_RULE_FINISH, total, &plan);

    hdp_options_init(&info, sizeof info);
    if (!code)
        code = library_try(demo->bench, hdp_plan_get(&info, plan));
    if (!code)
        *out_ns = (double)info.step_ns;
    hdp_plan_destroy(plan);
    return code;
}

/* A first profile, of sizes that say something of a batch that takes as long as
 * the goal: what a GPU does in microseconds does not. */
static int look_around(struct demo *demo, hdp_profile **out)
{
    enum { SIZES = 4, STEP = 8, FAR = 20 };
    int64_t items[SIZES] = { 512, 1024, 2048, 4096 };

    for (;;) {
        double ns = 0;
        int code = calibrate(demo, items, SIZES, 0, out);
        if (!code)
            code = predict(demo, *out, items[SIZES - 1], &ns);
        if (code || ns * FAR > step_goal_ns ||
            items[SIZES - 1] * STEP > demo->capacity)
            return code;
        hdp_profile_destroy(*out);
        *out = NULL;
        for (int i = 0; i < SIZES; ++i)
            items[i] *= STEP;
    }
}

/* Least batch, in 256s, whose finish step reaches the goal. */
static int guess_total(struct demo *demo)
{
    int64_t low = 1, high = demo->capacity / 256;
    hdp_profile *profile = NULL;
    double ns = 0;
    int code = look_around(demo, &profile);

    while (!code && low < high) {
        int64_t middle = (low + high) / 2;
        code = predict(demo, profile, middle * 256, &ns);
        if (ns >= step_goal_ns)
            high = middle;
        else
            low = middle + 1;
    }
    demo->total = high * 256;
    hdp_profile_destroy(profile);
    return code;
}

static int measure_gemm(struct demo *demo)
{
    struct measure measure = { .probe = HDP_PROBE_GEMM };
    hdp_profile *profile = NULL;
    int code = measure_profile(demo->bench, &measure, &profile);

    for (int32_t m = 0; !code && m < demo->bench->members; ++m)
        code = library_try(demo->bench,
                           hdp_profile_ratio(&demo->gemm_ratio[m], profile, m));
    hdp_profile_destroy(profile);
    return code;
}

/* The least of a few real steps: what a quiet machine would take. */
static int try_steps(struct demo *demo, const hdp_profile *profile,
                     double *out_ns)
{
    struct bench *bench = demo->bench;
    hdp_plan *plan = NULL;
    int code = plans_split(bench, profile, HDP_RULE_FINISH, demo->total, &plan);

    *out_ns = 0;
    for (int i = 0; !code && i < TRIES; ++i) {
        int64_t start_ns = library_now();
        code = library_try(
            bench, hdp_run(NULL, bench->group, plan, &demo->workload->work));
        double ns = (double)(library_now() - start_ns);
        *out_ns = i && *out_ns < ns ? *out_ns : ns;
    }
    hdp_plan_destroy(plan);
    return code;
}

/* A profile at sizes around the shares of the batch chosen. */
static int calibrate_batch(struct demo *demo, hdp_profile **out)
{
    int64_t n = demo->total;
    int64_t items[] = { 64, 256, n / 8, n / 4, n / 2, n * 3 / 4, n };
    int skip = n / 8 > 256 ? 0 : 2; /* sizes must ascend */

    return calibrate(demo, items + skip, 7 - skip,
                     demo->budget_ns > 0 && demo->budget_ns < BUDGET_NS
                         ? demo->budget_ns
                         : BUDGET_NS,
                     out);
}

int demo_choose(struct demo *demo)
{
    double ns = 0;
    int code = guess_total(demo);

    for (int i = 0; !code && i < TRIES; ++i) {
        hdp_profile *profile = NULL;
        code = calibrate_batch(demo, &profile);
        if (!code)
            code = try_steps(demo, profile, &ns);
        hdp_profile_destroy(profile);
        /* Measured in a noisy moment, the batch came out too small; where a
         * probe says little of a step, too large. */
        double wanted = (double)demo->total * (step_goal_ns / ns) / 256;
        if (code || (ns >= step_least_ns && ns <= step_most_ns) ||
            wanted > (double)demo->capacity / 256)
            break;
        demo->total = ((int64_t)wanted + 1) * 256;
    }
    return code ? code : measure_gemm(demo);
}

/* ---- runs ---------------------------------------------------------------- */

static int add_lanes(struct demo *demo, struct demo_run *run)
{
    int code = EXIT_OK;

    for (int i = 0; !code && i < DEMO_RULES; ++i) {
        hdp_plan *plan = NULL;
        code = plans_split(demo->bench, run->profile, demo_rules[i],
                           demo->total, &plan);
        if (!code)
            code = lanes_add_rule(run->lanes, demo_rules[i], plan);
    }
    const struct lane *finish = lanes_rule(run->lanes, HDP_RULE_FINISH);
    return code ? code : lanes_add_curves(run->lanes, finish->plan, QUANTUM);
}

/* As many rounds as the time of a run allows. */
static int choose_rounds(struct demo *demo, struct demo_run *run, int64_t *out)
{
    int64_t goal_ns = demo->budget_ns > 0 ? demo->budget_ns : run_goal_ns;
    int64_t began_ns = library_now();
    int code = lanes_run(run->lanes, &demo->workload->work, WARMUP, 0, "");
    int64_t round_ns = (library_now() - began_ns) / WARMUP;
    int64_t rounds = goal_ns / (round_ns > 0 ? round_ns : 1);

    rounds = rounds < ROUNDS_MIN ? ROUNDS_MIN : rounds | 1;
    *out = rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    return code;
}

static int one_run(struct demo *demo, struct demo_run *run)
{
    int64_t rounds = 0;

    /* Once trained, gradients are too small to be told from rounding. */
    mlp_reset(demo->workload);
    int code = calibrate_batch(demo, &run->profile);
    run->lanes = calloc(1, sizeof *run->lanes);
    if (!run->lanes)
        return library_no_memory(demo->bench);
    lanes_open(run->lanes, demo->bench);
    if (!code)
        code = add_lanes(demo, run);
    if (!code) /* before any speed is told */
        code = lanes_check(run->lanes, demo->workload);
    if (!code)
        code = choose_rounds(demo, run, &rounds);
    if (!code)
        code =
            lanes_run(run->lanes, &demo->workload->work, 0, rounds, "rounds");
    return code ? code
                : results_of(&run->results, run->lanes, demo->total, QUANTUM);
}

int demo_runs(struct demo *demo)
{
    int64_t took_ns = 0;

    while (demo->runs < DEMO_RUNS_MAX) {
        int64_t began_ns = library_now();
        int64_t left_ns =
            demo->start_ns + time_limit_ns - training_guess_ns - began_ns;
        if (demo->runs && took_ns > left_ns)
            break;
        struct demo_run *run = &demo->run[demo->runs++];
        int code = one_run(demo, run);
        if (code)
            return code;
        took_ns = library_now() - began_ns;
        if (run->results.finish_spread <
            demo->run[demo->best].results.finish_spread)
            demo->best = demo->runs - 1;
        if (run->results.finish_spread <= spread_limit)
            break;
    }
    return EXIT_OK;
}

/* ---- training ------------------------------------------------------------ */

static int train_rule(struct demo *demo, int index)
{
    hdp_plan *plan = NULL;
    struct bench *bench = demo->bench;
    int code = plans_split(bench, demo->run[demo->best].profile,
                           demo_rules[index], DIGITS_TRAIN, &plan);

    mlp_reset(demo->workload);
    for (int64_t step = 0; !code && step < demo->training_steps; ++step) {
        code = library_try(
            bench, hdp_run(NULL, bench->group, plan, &demo->workload->work));
        if (step % 10 == 9)
            notes_progress(&bench->notes, "training",
                           index * demo->training_steps + step + 1,
                           DEMO_RULES * demo->training_steps);
    }
    hdp_plan_destroy(plan);
    if (!code && !mlp_replicas_agree(demo->workload))
        code = failure_own(&bench->failure, EXIT_CHECK, HDP_OK,
                           "after training under rule %s the replicas differ",
                           options_rule_name(demo_rules[index]));
    if (!code)
        demo->correct[index] = mlp_correct(demo->workload, 0, &demo->tested);
    return code;
}

/* Of all rules; in proportion to what a run may take. */
static int64_t training_ns(const struct demo *demo)
{
    return demo->budget_ns > 0 ? demo->budget_ns / 4 * 5 : training_guess_ns;
}

/* As many steps as the time for them allows. */
static int choose_steps(struct demo *demo)
{
    struct bench *bench = demo->bench;
    hdp_plan *plan = NULL;
    int64_t left_ns = demo->start_ns + time_limit_ns - library_now();
    int code = plans_split(bench, demo->run[demo->best].profile, demo_rules[0],
                           DIGITS_TRAIN, &plan);

    left_ns = left_ns < training_ns(demo) ? left_ns : training_ns(demo);
    for (int i = 0; !code && i < TRIES; ++i) {
        int64_t began_ns = library_now();
        code = library_try(
            bench, hdp_run(NULL, bench->group, plan, &demo->workload->work));
        int64_t ns = library_now() - began_ns + 1;
        int64_t steps = left_ns / DEMO_RULES / ns;
        steps = steps > TRAINING_STEPS   ? TRAINING_STEPS
                : steps < TRAINING_LEAST ? TRAINING_LEAST
                                         : steps;
        if (steps > demo->training_steps)
            demo->training_steps = steps;
    }
    hdp_plan_destroy(plan);
    return code;
}

int demo_train(struct demo *demo)
{
    int code = choose_steps(demo), least, most;

    for (int i = 0; !code && i < DEMO_RULES; ++i)
        code = train_rule(demo, i);
    least = most = demo->correct[0];
    for (int i = 1; i < DEMO_RULES; ++i) {
        least = demo->correct[i] < least ? demo->correct[i] : least;
        most = demo->correct[i] > most ? demo->correct[i] : most;
    }
    if (!code && most - least > 1)
        code = failure_own(&demo->bench->failure, EXIT_CHECK, HDP_OK,
                           "rules differ by %d test images after training",
                           most - least);
    return code;
}

void demo_close(struct demo *demo)
{
    for (int i = 0; i < demo->runs; ++i) {
        struct demo_run *run = &demo->run[i];
        results_close(&run->results);
        if (run->lanes)
            lanes_close(run->lanes);
        free(run->lanes);
        hdp_profile_destroy(run->profile);
    }
    library_end_work(demo->bench, demo->workload);
}
