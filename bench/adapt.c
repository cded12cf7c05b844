/* A simulated member is slowed in what its model says it took, so that one of a
 * machine file can be slowed too: the step runs by the executor's plan, and the
 * executor learns from the times so changed. */
#include "adapt.h"

#include <math.h>
#include <stdlib.h>

#include "interrupt.h"
#include "lanes.h"

enum { DEFAULT_STEPS = 200, STEPS_AFTER = 100 };

/* To be back within so many steps, with --check: on a model, or for real. */
static const double model_goal = 0.97, real_goal = 0.90;
enum { MODEL_STEPS = 4, REAL_STEPS = 10, RESPLITS_MOST = 3 };

struct adapt {
    struct bench *bench;
    struct workload *workload;
    const hdp_profile *profile;
    hdp_executor *executor;
    hdp_work work;
    double *pace;        /* one a member: of real ones, for their functions */
    double *model_pace;  /* and of simulated ones */
    int64_t *compute_ns; /* what the members took in the step */
    int64_t *seen_ns;    /* and what the executor may learn of that */
    struct trajectory trajectory;
    int all_simulated, slows_models;
};

int64_t adapt_steps(const struct options *options)
{
    int64_t last = -1;

    for (int i = 0; i < options->slow_count; ++i)
        if (options->slows[i].step > last)
            last = options->slows[i].step;
    return last < 0 ? DEFAULT_STEPS : last + STEPS_AFTER;
}

int adapt_check(struct bench *bench)
{
    struct options *options = &bench->options;

    return slows_resolve(bench, options->slows, options->slow_count,
                         options->steps);
}

static int32_t rule_of(const struct bench *bench)
{
    return bench->options.rule_count ? bench->options.rules[0]
                                     : HDP_RULE_FINISH;
}

/* The first plan: shown, and its results checked before anything is timed. */
static int check_first(struct adapt *self)
{
    struct bench *bench = self->bench;
    struct lanes *lanes = calloc(1, sizeof *lanes);
    hdp_plan *plan = NULL;

    if (!lanes)
        return library_no_memory(bench);
    lanes_open(lanes, bench);
    int code = plans_split(bench, self->profile, rule_of(bench),
                           bench->options.total, &plan);
    if (!code) {
        document_set(&bench->document, "plan", plans_json(bench, plan));
        code = lanes_add_rule(lanes, rule_of(bench), plan);
    }
    if (!code)
        code = lanes_check(lanes, self->workload);
    lanes_close(lanes);
    free(lanes);
    return code;
}

/* ---- before the steps ---------------------------------------------------- */

static int make_executor(struct adapt *self)
{
    struct bench *bench = self->bench;
    hdp_executor_options options;
    hdp_split_options split;
    int code = plans_options(bench, self->profile, rule_of(bench), &split);

    if (code)
        return code;
    hdp_options_init(&options, sizeof options);
    options.profile = self->profile;
    options.split = &split;
    return library_try(
        bench, hdp_executor_create_on(&self->executor, bench->group, &options));
}

/* Points from one item to the batch; straight lines lie between them. */
static int make_curves(struct adapt *self)
{
    struct trajectory *trajectory = &self->trajectory;
    int64_t total = self->bench->options.total;
    int code = EXIT_OK;

    for (int32_t m = 0; m < trajectory->members; ++m) {
        struct curve *curve = &trajectory->curves[m];
        int64_t last = 0;
        for (int i = 0; i < OPTIMUM_POINTS_MAX; ++i) {
            int64_t items = i < 4 ? 1 + (total >> 8) * i * i
                                  : total * (i - 3) / (OPTIMUM_POINTS_MAX - 4);
            double ns = 0;
            if (items <= last || items > total)
                continue;
            code = library_try(self->bench,
                               hdp_profile_time(&ns, self->profile, m, items));
            if (code)
                return code;
            curve->items[curve->count] = last = items;
            curve->ns[curve->count++] = ns;
        }
    }
    return code;
}

static int prepare(struct adapt *self)
{
    struct bench *bench = self->bench;
    struct options *options = &bench->options;

    self->pace = calloc((size_t)bench->members, sizeof *self->pace);
    self->model_pace = calloc((size_t)bench->members, sizeof *self->model_pace);
    self->compute_ns = calloc((size_t)bench->members, sizeof *self->compute_ns);
    self->seen_ns = calloc((size_t)bench->members, sizeof *self->seen_ns);
    if (!self->pace || !self->model_pace || !self->compute_ns ||
        !self->seen_ns ||
        !trajectory_open(&self->trajectory, bench->members, options->steps))
        return library_no_memory(bench);
    self->all_simulated = 1;
    for (int32_t m = 0; m < bench->members; ++m) {
        self->pace[m] = self->model_pace[m] = 1;
        self->all_simulated &= bench->devices[m].kind == HDP_SIM;
    }
    self->trajectory.total = options->total;
    self->trajectory.quantum = options->quantum > 1 ? options->quantum : 1;
    self->trajectory.slows = options->slows;
    self->trajectory.slow_count = options->slow_count;
    self->trajectory.goal = self->all_simulated ? model_goal : real_goal;
    self->slows_models =
        slows_simulated(bench, options->slows, options->slow_count);
    slows_declare(bench, options->slows, options->slow_count);
    int code = make_curves(self);
    if (!code)
        code = check_first(self);
    return code ? code : make_executor(self);
}

/* ---- the steps ----------------------------------------------------------- */

static void change_pace(struct adapt *self, int64_t step)
{
    const struct options *options = &self->bench->options;

    for (int i = 0; i < options->slow_count; ++i) {
        const struct slow *slow = &options->slows[i];
        int is_model = self->bench->devices[slow->member].kind == HDP_SIM;
        if (slow->step == step)
            (is_model ? self->model_pace : self->pace)[slow->member] =
                slow->factor;
    }
}

/* Into compute_ns, whose longest time is as much longer as the step is. */
static int64_t pace_models(struct adapt *self, const hdp_report_info *info)
{
    int64_t slowest = 0, paced_slowest = 0;

    for (int32_t m = 0; m < self->bench->members; ++m) {
        int64_t ns = info->compute_ns[m];
        if (ns > 0 && self->model_pace[m] != 1)
            ns = (int64_t)fmin((double)ns * self->model_pace[m] + 0.5, 1e18);
        if (info->compute_ns[m] > slowest)
            slowest = info->compute_ns[m];
        if (ns > paced_slowest)
            paced_slowest = ns;
        self->compute_ns[m] = ns;
    }
    return info->step_ns + paced_slowest - slowest;
}

static void keep(struct adapt *self, const hdp_report_info *info,
                 int64_t step_ns)
{
    struct trajectory *to = &self->trajectory;
    int64_t at = to->kept * to->members;

    for (int32_t m = 0; m < to->members; ++m) {
        to->shares[at + m] = info->items[m];
        to->member_ns[at + m] =
            self->compute_ns[m] < 0 ? 0 : (double)self->compute_ns[m];
        to->is_new[at + m] = (unsigned char)info->first_at_share[m];
    }
    to->step_ns[to->kept++] = (double)step_ns;
}

/* What hdp_executor_run() does but for the learning. */
static int run_planned(struct adapt *self, hdp_report **out)
{
    struct bench *bench = self->bench;
    hdp_plan *plan = NULL;
    int code = library_try(
        bench, hdp_executor_plan(&plan, self->executor, bench->options.total));

    if (!code)
        code =
            library_try(bench, hdp_run(out, bench->group, plan, &self->work));
    hdp_plan_destroy(plan);
    return code;
}

/* The first step of a share is no sample for the executor either. */
static int learn(struct adapt *self, const hdp_report_info *info)
{
    for (int32_t m = 0; m < self->bench->members; ++m)
        self->seen_ns[m] = info->first_at_share[m] ? -1 : self->compute_ns[m];
    return library_try(
        self->bench,
        hdp_executor_observe(self->executor, info->items, self->seen_ns));
}

/* One step; before 0: to warm up, and not kept. */
static int step(struct adapt *self, int64_t number)
{
    struct bench *bench = self->bench;
    hdp_report *report = NULL;
    hdp_report_info info;

    hdp_options_init(&info, sizeof info);
    change_pace(self, number);
    int64_t began_ns = library_now();
    int code =
        self->slows_models
            ? run_planned(self, &report)
            : library_try(bench,
                          hdp_executor_run(&report, self->executor,
                                           bench->options.total, &self->work));
    int64_t took_ns = library_now() - began_ns;
    if (!code)
        code = library_try(bench, hdp_report_get(&info, report));
    if (!code) {
        int64_t model_ns = pace_models(self, &info);
        if (self->slows_models)
            code = learn(self, &info);
        if (!code && number >= 0)
            keep(self, &info, self->all_simulated ? model_ns : took_ns);
    }
    hdp_report_destroy(report);
    return code;
}

static int run_steps(struct adapt *self)
{
    struct options *options = &self->bench->options;
    int code = EXIT_OK;

    self->work = self->workload->work;
    self->workload->pace = self->pace;
    for (int64_t s = -options->warmup; !code && s < options->steps; ++s) {
        code = step(self, s);
        if (s >= 0)
            notes_progress(&self->bench->notes, "run", s + 1, options->steps);
    }
    return code;
}

/* ---- after them ---------------------------------------------------------- */

static int judge(const struct adapt *self)
{
    const struct trajectory *trajectory = &self->trajectory;
    int64_t most = self->all_simulated ? MODEL_STEPS : REAL_STEPS;

    for (int i = 1; i < trajectory->phase_count; ++i) {
        const struct phase *phase = &trajectory->phases[i];
        if (phase->reached >= 0 && phase->reached <= most &&
            phase->resplits <= RESPLITS_MOST)
            continue;
        return failure_own(&self->bench->failure, EXIT_CHECK, HDP_OK,
                           "after step %lld: %.2f of the optimum after %lld "
                           "steps and %lld re-splits; at most %lld and %d are "
                           "asked (-1: never)",
                           (long long)phase->begin, trajectory->goal,
                           (long long)phase->reached,
                           (long long)phase->resplits, (long long)most,
                           RESPLITS_MOST);
    }
    return EXIT_OK;
}

static int show(struct adapt *self)
{
    struct bench *bench = self->bench;

    if (!trajectory_evaluate(&self->trajectory))
        return library_no_memory(bench);
    fprintf(bench->document.text,
            "# work %s (products by %s), %lld items, %lld steps from 0 on, by "
            "an executor that learns\n"
            "# times are of the slowest member's compute%s\n\n",
            options_work_name(bench->options.work), self->workload->backend,
            (long long)bench->options.total, (long long)self->trajectory.kept,
            self->all_simulated ? ", on the model's clock" : "");
    adapt_table(&self->trajectory, bench);
    document_set(&bench->document, "steps",
                 adapt_json(&self->trajectory, bench));
    return bench->options.strict ? judge(self) : EXIT_OK;
}

int adapt_measure(struct bench *bench, struct workload *workload,
                  const hdp_profile *profile)
{
    struct adapt self = { .bench = bench,
                          .workload = workload,
                          .profile = profile };
    int code = prepare(&self);

    if (!code)
        code = run_steps(&self);
    if (self.trajectory.kept > 0 && (!code || interrupt_seen())) {
        int shown = show(&self);
        code = code ? code : shown;
    }
    hdp_executor_destroy(self.executor);
    trajectory_close(&self.trajectory);
    free(self.model_pace);
    free(self.compute_ns);
    free(self.seen_ns);
    if (library_settle(bench)) { /* no function looks at it any more */
        workload->pace = NULL;
        free(self.pace);
    }
    return code;
}
