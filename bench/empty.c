/* What a step costs by itself: batches of empty steps and batches of a bare
 * loop take turns in one run, and the medians are compared. */
#include "empty.h"

#include <stdlib.h>

#include "bare.h"

enum { BATCHES = 25, DEFAULT_STEPS = 20000 };
static const double limit_ns = 2000; /* one member: over the bare loop */
static const double limit_ratio = 3; /* several: times the bare loop */

static int library_batch(struct bench *bench, const hdp_plan *plan,
                         const hdp_work *work, int64_t steps, double *out_ns)
{
    int64_t start_ns = library_now();
    int code = EXIT_OK;

    for (int64_t i = 0; !code && i < steps; ++i)
        code = library_try(bench, hdp_run(NULL, bench->group, plan, work));
    *out_ns = (double)(library_now() - start_ns) / (double)steps;
    return code;
}

static void show(struct bench *bench, double *ours, double *bare, int64_t steps)
{
    FILE *out = bench->document.text;
    json_t *json = json_object();
    struct stats step, loop;
    int alone = bench->members == 1;

    json_object_set_new(json, "steps_a_batch", json_integer(steps));
    json_object_set_new(json, "batches", json_integer(BATCHES));
    json_object_set_new(json, "bare_loop",
                        json_string(alone ? "spin" : "yield"));
    json_object_set_new(json, "step_samples_ns", document_reals(ours, BATCHES));
    json_object_set_new(json, "bare_samples_ns", document_reals(bare, BATCHES));
    stats_in_place(&step, ours, BATCHES);
    stats_in_place(&loop, bare, BATCHES);
    double over = step.median - loop.median, ratio = step.median / loop.median;
    json_object_set_new(json, "step_ns", document_real(step.median));
    json_object_set_new(json, "step_mad_ns", document_real(step.mad));
    json_object_set_new(json, "bare_ns", document_real(loop.median));
    json_object_set_new(json, "bare_mad_ns", document_real(loop.mad));
    json_object_set_new(json, "over_ns", document_real(over));
    json_object_set_new(json, "ratio", document_real(ratio));
    json_object_set_new(
        json, "ok",
        json_boolean(alone ? over <= limit_ns : ratio <= limit_ratio));
    document_set(&bench->document, "empty", json);
    fprintf(out,
            "# empty steps, %d members, the caller waits for each; median of "
            "%d batches of %lld\n\n"
            "step        %8.0f ns  (MAD %.0f)\n"
            "bare %-5s  %8.0f ns  (MAD %.0f)\n"
            "difference  %8.0f ns%s\nratio       %8.2f%s\n",
            (int)bench->members, BATCHES, (long long)steps, step.median,
            step.mad, alone ? "spin" : "yield", loop.median, loop.mad, over,
            alone ? ", the limit is 2000" : "", ratio,
            alone ? "" : ", the limit is 3");
    if (bench->options.strict &&
        (alone ? over > limit_ns : ratio > limit_ratio))
        failure_own(&bench->failure, EXIT_CHECK, HDP_OK,
                    "an empty step takes %.0f ns, the bare loop %.0f ns",
                    step.median, loop.median);
}

int empty_measure(struct bench *bench, int64_t steps)
{
    struct workload_spec spec = { .kind = WORK_EMPTY,
                                  .members = bench->members };
    int64_t *items = calloc((size_t)bench->members, sizeof *items);
    struct workload *workload = workload_create(&spec);
    double ours[BATCHES], bare[BATCHES], ignored;
    hdp_plan *plan = NULL;
    int code = items && workload ? EXIT_OK : library_no_memory(bench);

    steps = (steps < 0 ? DEFAULT_STEPS : steps) / BATCHES;
    steps = steps < 1 ? 1 : steps;
    for (int32_t m = 0; !code && m < bench->members; ++m)
        items[m] = 1;
    if (!code)
        code =
            library_try(bench, hdp_plan_create(&plan, items, bench->members));
    if (!code)
        code = library_batch(bench, plan, &workload->work, steps, &ignored);
    for (int b = 0; !code && b < BATCHES; ++b) {
        code = library_batch(bench, plan, &workload->work, steps, &ours[b]);
        bare[b] = bare_step_ns(bench->members, steps);
        if (!code && bare[b] < 0)
            code = failure_own(&bench->failure, EXIT_ENVIRONMENT,
                               HDP_ERR_SYSTEM, "no thread for the bare loop");
        notes_progress(&bench->notes, "empty", b + 1, BATCHES);
    }
    if (!code) {
        show(bench, ours, bare, steps);
        code = bench->failure.exit_code;
    }
    hdp_plan_destroy(plan);
    library_end_work(bench, workload);
    free(items);
    return code;
}
