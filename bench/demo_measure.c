/* The demo's measurements: everything that takes time. */
#include <stdlib.h>
#include <string.h>

#include "demo.h"
#include "work/digits.h"
#include "work/mlp.h"

enum {
    CAPACITY = 1 << 17,
    QUANTUM = 16,
    ROUNDS_MIN = 8,
    ROUNDS_MAX = 24,
    WARMUP = 2,
    TRAINING_STEPS = 150,
    TRIES = 3,
    BUDGET_NS = 2000000000
};
/* Every step is to take 20 ms at least. */
static const double step_goal_ns = 27e6, step_least_ns = 22e6;
static const double spread_limit = 0.05;
static const int64_t run_goal_ns = 8000000000;
static const int64_t time_limit_ns = 52000000000; /* of the whole demo */
static const int64_t training_guess_ns = 10000000000;

const int32_t demo_rules[DEMO_RULES] = { HDP_RULE_EQUAL, HDP_RULE_SINGLE,
                                         HDP_RULE_PROPORTIONAL,
                                         HDP_RULE_FINISH };

static int calibrate_work(struct demo *demo, const int64_t *items, int count,
                          int64_t budget_ns)
{
    struct measure measure = { .probe = HDP_PROBE_WORK,
                               .workload = demo->workload,
                               .items = items,
                               .item_count = count,
                               .budget_ns = budget_ns };

    hdp_profile_destroy(demo->profile);
    demo->profile = NULL;
    return measure_profile(demo->bench, &measure, &demo->profile);
}

static int predict(struct demo *demo, int64_t total, double *out_ns)
{
    hdp_plan *plan = NULL;
    hdp_plan_info info;
    int code =
        plans_split(demo->bench, demo->profile, HDP_RULE_FINISH, total, &plan);

    hdp_options_init(&info, sizeof info);
    if (!code)
        code = session_try(demo->bench, hdp_plan_get(&info, plan));
    if (!code)
        *out_ns = (double)info.step_ns;
    hdp_plan_destroy(plan);
    return code;
}

/* Least batch, in 256s, whose finish step reaches the goal. */
static int choose_total(struct demo *demo)
{
    int64_t low = 1, high = CAPACITY / 256;
    double ns = 0;
    int code = EXIT_OK;

    while (!code && low < high) {
        int64_t middle = (low + high) / 2;
        code = predict(demo, middle * 256, &ns);
        if (ns >= step_goal_ns)
            high = middle;
        else
            low = middle + 1;
    }
    demo->total = high * 256;
    return code;
}

static int measure_gemm(struct demo *demo)
{
    struct measure measure = { .probe = HDP_PROBE_GEMM };
    hdp_profile *profile = NULL;
    int code = measure_profile(demo->bench, &measure, &profile);

    for (int32_t m = 0; !code && m < demo->bench->members; ++m)
        code = session_try(demo->bench,
                           hdp_profile_ratio(&demo->gemm_ratio[m], profile, m));
    hdp_profile_destroy(profile);
    return code;
}

/* The least of a few real steps: what a quiet machine would take. */
static int try_steps(struct demo *demo, double *out_ns)
{
    struct bench *bench = demo->bench;
    hdp_plan *plan = NULL;
    int code =
        plans_split(bench, demo->profile, HDP_RULE_FINISH, demo->total, &plan);

    *out_ns = 0;
    for (int i = 0; !code && i < TRIES; ++i) {
        int64_t start_ns = session_now();
        code = session_try(
            bench, hdp_run(NULL, bench->group, plan, &demo->workload->work));
        double ns = (double)(session_now() - start_ns);
        *out_ns = i && *out_ns < ns ? *out_ns : ns;
    }
    hdp_plan_destroy(plan);
    return code;
}

/* A profile at sizes around the shares of the batch chosen. */
static int calibrate_batch(struct demo *demo)
{
    int64_t n = demo->total;
    int64_t items[] = { 64, 256, n / 8, n / 4, n / 2, n * 3 / 4, n };
    int skip = n / 8 > 256 ? 0 : 2; /* sizes must ascend */

    return calibrate_work(demo, items + skip, 7 - skip, BUDGET_NS);
}

int demo_calibrate(struct demo *demo)
{
    static const int64_t first[] = { 512, 1024, 2048, 4096 };
    double ns = 0;
    int code = calibrate_work(demo, first, 4, 0);

    if (!code)
        code = choose_total(demo);
    for (int i = 0; !code && i < TRIES; ++i) {
        code = calibrate_batch(demo);
        if (!code)
            code = try_steps(demo, &ns);
        /* Measured in a noisy moment, the batch came out too small. */
        double wanted = (double)demo->total * (step_goal_ns / ns) / 256;
        if (code || ns >= step_least_ns || wanted > CAPACITY / 256)
            break;
        demo->total = ((int64_t)wanted + 1) * 256;
    }
    if (!code)
        code = measure_section(demo->bench, demo->profile);
    if (!code)
        code = measure_gemm(demo);
    return code;
}

int demo_lanes(struct demo *demo)
{
    int code = EXIT_OK;

    for (int i = 0; !code && i < DEMO_RULES; ++i) {
        hdp_plan *plan = NULL;
        code = plans_split(demo->bench, demo->profile, demo_rules[i],
                           demo->total, &plan);
        if (!code && demo_rules[i] == HDP_RULE_FINISH)
            document_set(&demo->bench->document, "plan",
                         plans_json(demo->bench, plan));
        if (!code)
            code = lanes_add_rule(demo->lanes, demo_rules[i], plan);
    }
    const struct lane *finish = lanes_rule(demo->lanes, HDP_RULE_FINISH);
    return code ? code : lanes_add_curves(demo->lanes, finish->plan, QUANTUM);
}

/* Evaluates the rounds kept and keeps what has to be told. */
static int keep_run(struct demo *demo)
{
    static const int32_t drawn[2] = { HDP_RULE_EQUAL, HDP_RULE_FINISH };
    struct demo_run *run = &demo->run[demo->runs++];
    struct lanes *lanes = demo->lanes;
    size_t size = 0;
    int code = results_of(&run->results, lanes, demo->total, QUANTUM);

    if (code)
        return code;
    run->rounds = lanes->kept;
    run->rules = results_json(&run->results, lanes);
    run->optimum = results_optimum_json(&run->results, lanes);
    run->curves = results_curves_json(lanes);
    FILE *out = open_memstream(&run->table, &size);
    if (!out)
        return session_no_memory(demo->bench);
    results_table(&run->results, lanes, out);
    fclose(out);
    for (int i = 0; i < 2; ++i) {
        const struct lane *lane = lanes_rule(lanes, drawn[i]);
        int64_t round = lanes_median_round(lanes, lane);
        run->step_ns[i] = lane->step_ns[round];
        for (int m = 0; m < lanes->members; ++m)
            run->member_ns[i][m] = lane->member_ns[round * lanes->members + m];
    }
    return EXIT_OK;
}

int demo_rounds(struct demo *demo)
{
    const hdp_work *work = &demo->workload->work;
    int64_t began_ns = session_now(), run_ns = 0;
    int code = lanes_run(demo->lanes, work, 1, 1, "warm-up");
    int64_t round_ns = (session_now() - began_ns) / 2;
    int64_t goal_ns = demo->budget_ns > 0 ? demo->budget_ns : run_goal_ns;
    int64_t rounds = goal_ns / (round_ns > 0 ? round_ns : 1);

    rounds = rounds < ROUNDS_MIN ? ROUNDS_MIN : rounds;
    rounds = rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    while (!code && demo->runs < DEMO_RUNS_MAX) {
        int64_t left_ns =
            demo->start_ns + time_limit_ns - training_guess_ns - session_now();
        if (demo->runs && run_ns > left_ns)
            break;
        began_ns = session_now();
        lanes_clear(demo->lanes);
        code = lanes_run(demo->lanes, work, 1, rounds, "rounds");
        if (!code)
            code = keep_run(demo);
        run_ns = session_now() - began_ns;
        if (code)
            break;
        int last = demo->runs - 1;
        double spread = demo->run[last].results.finish_spread;
        if (spread < demo->run[demo->best].results.finish_spread)
            demo->best = last;
        if (spread <= spread_limit)
            break;
    }
    return code;
}

static int train_rule(struct demo *demo, int index)
{
    hdp_plan *plan = NULL;
    struct bench *bench = demo->bench;
    int code = plans_split(bench, demo->profile, demo_rules[index],
                           DIGITS_TRAIN, &plan);

    mlp_reset(demo->workload);
    for (int64_t step = 0; !code && step < TRAINING_STEPS; ++step) {
        code = session_try(
            bench, hdp_run(NULL, bench->group, plan, &demo->workload->work));
        if (step % 10 == 9)
            notes_progress(&bench->notes, "training",
                           index * TRAINING_STEPS + step + 1,
                           DEMO_RULES * TRAINING_STEPS);
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

int demo_train(struct demo *demo)
{
    int code = EXIT_OK, least, most;

    demo->training_steps = TRAINING_STEPS;
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
        results_close(&demo->run[i].results);
        json_decref(demo->run[i].rules);
        json_decref(demo->run[i].optimum);
        json_decref(demo->run[i].curves);
        free(demo->run[i].table);
    }
    if (demo->lanes)
        lanes_close(demo->lanes);
    free(demo->lanes);
    hdp_profile_destroy(demo->profile);
    workload_destroy(demo->workload);
}
