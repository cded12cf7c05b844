/* What a balancer takes of a step: plan and observe, with 3 % of noise, first
 * of a steady machine, then of one whose first rank is half as fast now and
 * then, where the steps that bring another plan are told apart. */
#include "learn.h"

#include <math.h>
#include <stdlib.h>

#include "interrupt.h"
#include "work/random.h"

enum { WARM_STEPS = 50, STEPS_OF_A_SPEED = 10, RANKS_LIMITED = 1000 };
static const double limit_ns = 50000; /* of up to a thousand ranks */
static const double noise = 0.03;

struct learn {
    struct bench *bench;
    const hdp_profile *profile;
    hdp_balancer *balancer;
    int64_t *compute_ns;
    int32_t ranks;
    int64_t total;
    uint64_t random;
    uint64_t hash;  /* of the step's plan */
    double step_ns; /* what plan and observe took */
};

/* About normal: six uniform numbers. */
static double draw(uint64_t *state)
{
    double sum = -3;

    for (int i = 0; i < 6; i++)
        sum += random_unit(state);
    return sum * sqrt(2);
}

static int fill_times(struct learn *learn, const hdp_plan_info *info,
                      double slow)
{
    for (int32_t r = 0; r < learn->ranks; r++) {
        double ns;
        int code =
            library_try(learn->bench, hdp_profile_time(&ns, learn->profile, r,
                                                       info->items[r]));
        if (code)
            return code;
        ns *= (r == 0 ? slow : 1) * (1 + noise * draw(&learn->random));
        learn->compute_ns[r] = info->items[r] > 0 ? (int64_t)ns : -1;
    }
    return EXIT_OK;
}

static int take_step(struct learn *learn, double slow)
{
    struct bench *bench = learn->bench;
    int64_t start_ns = library_now(), plan_ns;
    hdp_plan_info info;
    hdp_report *report = NULL;
    hdp_plan *plan = NULL;
    int code = library_try(
        bench, hdp_balancer_plan(&plan, learn->balancer, learn->total));

    plan_ns = library_now() - start_ns;
    hdp_options_init(&info, sizeof info);
    if (!code)
        code = library_try(bench, hdp_plan_get(&info, plan));
    if (!code)
        code = fill_times(learn, &info, slow);
    if (!code)
        code = library_try(bench,
                           hdp_report_create(&report, info.items,
                                             learn->compute_ns, learn->ranks));
    if (!code) {
        start_ns = library_now();
        code =
            library_try(bench, hdp_balancer_observe(learn->balancer, report));
        learn->step_ns = (double)(library_now() - start_ns + plan_ns);
        learn->hash = info.hash;
    }
    hdp_report_destroy(report);
    hdp_plan_destroy(plan);
    return code;
}

/* Fills `samples` with what steps took: of all, or of those after which the
 * plan was another. Returns how many; < 0: a failure. */
static int64_t walk(struct learn *learn, double *samples, int64_t steps,
                    int changing)
{
    int64_t kept = 0;
    double before_ns = 0;
    uint64_t before = 0;

    for (int64_t i = -WARM_STEPS; i < steps && !interrupt_seen(); i++) {
        int slow = changing && i / STEPS_OF_A_SPEED % 2 != 0;
        if (take_step(learn, slow ? 2 : 1))
            return -1;
        if (i > 0 && (!changing || learn->hash != before))
            samples[kept++] = changing ? before_ns : learn->step_ns;
        before = learn->hash;
        before_ns = learn->step_ns;
    }
    return kept;
}

static void show(struct learn *learn, json_t *json, const char *key,
                 const char *text, double *samples, int64_t count)
{
    struct bench *bench = learn->bench;
    struct stats stats;

    json_object_set_new(json, key,
                        count > 0 ? document_sample(samples, (size_t)count)
                                  : json_null());
    if (count <= 0 || !stats_of(&stats, samples, (size_t)count))
        return;
    fprintf(bench->document.text,
            "balancer's plan and observe, %s: median %.1f us, MAD %.1f us, "
            "least %.1f us; %lld steps\n",
            text, stats.median / 1e3, stats.mad / 1e3, stats.min / 1e3,
            (long long)count);
    if (bench->options.strict && learn->ranks <= RANKS_LIMITED &&
        stats.median > limit_ns)
        failure_own(&bench->failure, EXIT_CHECK, HDP_OK,
                    "a balancer's step, %s, takes %.1f us, the limit is %.0f "
                    "us",
                    text, stats.median / 1e3, limit_ns / 1e3);
}

int learn_time(struct bench *bench, const hdp_profile *profile,
               const hdp_split_options *split, int64_t total)
{
    int64_t steps = bench->options.batches;
    struct learn learn = {
        .bench = bench, .profile = profile, .total = total, .random = 1
    };
    double *samples = calloc((size_t)steps, sizeof *samples);
    hdp_profile_info info;
    int code = samples ? EXIT_OK : library_no_memory(bench);

    hdp_options_init(&info, sizeof info);
    if (!code)
        code = library_try(bench, hdp_profile_get(&info, profile));
    learn.ranks = info.member_count;
    learn.compute_ns = calloc((size_t)learn.ranks + 1, sizeof(int64_t));
    if (!code && !learn.compute_ns)
        code = library_no_memory(bench);
    if (!code)
        code = library_try(
            bench, hdp_balancer_create(&learn.balancer, profile, split));
    if (!code) {
        json_t *json = json_object();
        int64_t count = walk(&learn, samples, steps, 0);
        json_object_set_new(json, "ranks", json_integer(learn.ranks));
        json_object_set_new(json, "limit_ns", document_real(limit_ns));
        show(&learn, json, "steady_ns", "steady", samples, count);
        if (count >= 0)
            count = walk(&learn, samples, steps, 1);
        show(&learn, json, "moving_ns", "to another plan", samples, count);
        document_set(&bench->document, "balancer_bench", json);
        code = bench->failure.exit_code;
    }
    hdp_balancer_destroy(learn.balancer);
    free(learn.compute_ns);
    free(samples);
    return code;
}
