/* run: steps of a workload under several rules, in turn, checked first. */
#include <stdlib.h>

#include "adapt.h"
#include "bench.h"
#include "dynamic.h"
#include "empty.h"
#include "interrupt.h"
#include "lanes.h"
#include "nets.h"
#include "results.h"
#include "work/bucket.h"
#include "work/mlp.h"

enum {
    DEFAULT_TOTAL = 4096,
    DEFAULT_STEPS = 20,
    DEFAULT_WARMUP = 3,
    SIZES_MAX = 16
};
static const double least_efficiency = 0.90;

/* What an mlp's step reduces, whatever is asked. */
static int64_t gradient_bytes(const struct options *options)
{
    if (options->net.layers == 0)
        return mlp_reduce_bytes();
    return net_reduce_bytes(&options->net,
                            options->dtype < 0 ? HDP_F32 : options->dtype + 1);
}

static void choose_defaults(struct bench *bench)
{
    static const int32_t usual[] = { HDP_RULE_EQUAL, HDP_RULE_SINGLE,
                                     HDP_RULE_PROPORTIONAL, HDP_RULE_FINISH };
    struct options *options = &bench->options;

    if (options->total < 0)
        options->total = options->dynamic ? DYNAMIC_ITEMS : DEFAULT_TOTAL;
    if (options->steps < 0)
        options->steps = options->adapt     ? adapt_steps(options)
                         : options->dynamic ? DYNAMIC_BATCHES
                                            : DEFAULT_STEPS;
    if (options->warmup < 0)
        options->warmup = options->adapt ? 0 : DEFAULT_WARMUP;
    if (options->reduce_bytes == 0 && options->work == WORK_MLP &&
        !options->dynamic)
        options->reduce_bytes = gradient_bytes(options);
    if (options->rule_count || options->adapt || options->dynamic)
        return;
    for (int i = bench->members > 1 ? 0 : 3; i < 4; ++i)
        options->rules[options->rule_count++] = usual[i];
}

/* Sizes to measure, downwards: the batch, four halves, then quarters to 1; a
 * curve is flat below its least size, and a slow member's share is small. */
static int32_t choose_sizes(const struct bench *bench, int64_t *out)
{
    int64_t down[SIZES_MAX], items = bench->options.total;
    int32_t count = 0;

    for (; items > 0 && count < SIZES_MAX - 1; ++count) {
        down[count] = items;
        items /= count < 4 ? 2 : 4;
    }
    if (count > 0 && down[count - 1] > 1)
        down[count++] = 1;
    for (int32_t i = 0; i < count; ++i)
        out[i] = down[count - 1 - i];
    return count;
}

static int profile_of_work(struct bench *bench, struct workload *workload,
                           hdp_profile **out)
{
    int64_t items[SIZES_MAX];
    int32_t probe = bench->options.probe;
    struct measure measure = {
        .probe = probe < 0 ? HDP_PROBE_WORK : probe,
        .workload = workload,
    };

    if (measure.probe == HDP_PROBE_WORK) {
        measure.item_count = choose_sizes(bench, items);
        measure.items = measure.item_count > 0 ? items : NULL;
    }
    return measure_profile(bench, &measure, out);
}

static int add_lanes(struct bench *bench, const hdp_profile *profile,
                     struct lanes *lanes)
{
    const struct options *options = &bench->options;
    int code = EXIT_OK;

    for (int i = 0; !code && i < options->rule_count; ++i) {
        hdp_plan *plan = NULL;
        code = plans_split(bench, profile, options->rules[i], options->total,
                           &plan);
        if (code)
            break;
        if (i == options->rule_count - 1 ||
            options->rules[i] == HDP_RULE_FINISH) {
            document_set(&bench->document, "plan", plans_json(bench, plan));
        }
        code = lanes_add_rule(lanes, options->rules[i], plan);
    }
    const struct lane *finish = lanes_rule(lanes, HDP_RULE_FINISH);
    if (!code && finish && bench->members > 1 && options->total > 0)
        code = lanes_add_curves(lanes, finish->plan, options->quantum);
    return code;
}

/* The `work` section, and what a net's products came to in each rule. */
static void show_work(struct bench *bench, const struct lanes *lanes,
                      const struct workload *workload)
{
    FILE *out = bench->document.text;
    json_t *work = json_object(), *rates = json_object();
    int told = bench->options.net.layers > 0 && !bench->simulated;
    char net[NETS_TEXT_MAX];

    nets_text(&bench->options.net, net);
    json_object_set_new(work, "name",
                        json_string(options_work_name(bench->options.work)));
    json_object_set_new(work, "net", document_text_or_null(*net ? net : NULL));
    json_object_set_new(work, "item_flops",
                        document_real(workload->item_flops));
    json_object_set_new(work, "item_bytes",
                        document_real(workload->item_bytes));
    if (told)
        fprintf(out, "\n# TFLOP/s of all devices together:");
    for (int i = 0; told && i < lanes->count; ++i) {
        const struct lane *lane = &lanes->lane[i];
        double rate = (double)lane->total * workload->item_flops /
                      lanes_median(lanes, lane) * 1e9;
        if (lane->rule < 0)
            continue;
        json_object_set_new(rates, lane->name, document_real(rate));
        fprintf(out, " %s %.4g", lane->name, rate * 1e-12);
    }
    fprintf(out, "%s", told ? "\n" : "");
    json_object_set_new(work, "flops_per_second", rates);
    document_set(&bench->document, "work", work);
}

static int show(struct bench *bench, const struct lanes *lanes,
                const struct workload *workload)
{
    FILE *out = bench->document.text;
    struct results results;
    char net[NETS_TEXT_MAX];
    int code = results_of(&results, lanes, bench->options.total,
                          bench->options.quantum);

    if (!code) {
        fprintf(out,
                "# work %s%s%s (products by %s%s%s), %lld items, %lld rounds, "
                "interleaved; median of the rounds\n"
                "# time of a step: from the call to its return%s\n\n",
                options_work_name(bench->options.work),
                bench->options.net.layers > 0 ? " " : "",
                nets_text(&bench->options.net, net), workload->backend,
                workload->dtype == HDP_F32 ? "" : " in ",
                workload->dtype == HDP_F32
                    ? ""
                    : options_dtype_name(workload->dtype),
                (long long)bench->options.total, (long long)lanes->kept,
                bench->simulated ? ", on the model's clock" : "");
        results_table(&results, lanes, out);
        show_work(bench, lanes, workload);
        document_set(&bench->document, "results",
                     results_json(&results, lanes));
        if (results.optimum_ns > 0) {
            document_set(&bench->document, "curves",
                         results_curves_json(lanes));
            document_set(&bench->document, "optimum",
                         results_optimum_json(&results, lanes));
        }
        if (bench->options.strict && results.efficiency > 0 &&
            results.efficiency < least_efficiency)
            code = failure_own(&bench->failure, EXIT_CHECK, HDP_OK,
                               "finish reaches %.3f of the optimum, at least "
                               "%.2f is asked",
                               results.efficiency, least_efficiency);
    }
    results_close(&results);
    return code;
}

static int run_rules(struct bench *bench, struct workload *workload)
{
    struct lanes *lanes = calloc(1, sizeof *lanes);
    hdp_profile *profile = NULL;

    if (!lanes)
        return library_no_memory(bench);
    lanes_open(lanes, bench);
    int code = profile_of_work(bench, workload, &profile);
    if (!code)
        code = measure_section(bench, profile);
    if (!code)
        code = add_lanes(bench, profile, lanes);
    if (!code)
        code = lanes_check(lanes, workload);
    if (!code)
        code = lanes_run(lanes, &workload->work, bench->options.warmup,
                         bench->options.steps, "run");
    if (!code || (interrupt_seen() && lanes->kept > 0)) {
        int shown = show(bench, lanes, workload);
        code = code ? code : shown;
    }
    lanes_close(lanes);
    free(lanes);
    hdp_profile_destroy(profile);
    return code;
}

/* --adapt and --dynamic begin with one profile and learn from there. */
static int run_learning(struct bench *bench, struct workload *workload)
{
    hdp_profile *profile = NULL;
    int code = profile_of_work(bench, workload, &profile);

    if (!code)
        code = measure_section(bench, profile);
    if (!code)
        code = bench->options.adapt ? adapt_measure(bench, workload, profile)
                                    : dynamic_measure(bench, profile);
    hdp_profile_destroy(profile);
    return code;
}

/* Points of the curves go up to 1.2 times a share, in whole quanta, and give a
 * member without a share one all the same. */
static int64_t largest_batch(const struct bench *bench)
{
    int64_t total = bench->options.total, quantum = bench->options.quantum;

    if (total > INT64_MAX / 4 || quantum > INT64_MAX / 4 / bench->members)
        return INT64_MAX / 2; /* refused as too much memory */
    return total / 2 * 3 + bench->members * (quantum > 0 ? quantum + 1 : 2);
}

/* Before anything is measured: the digits' mlp updates its weights inside the
 * function, after the reduce, for which the one thread would have to be in all
 * members at once. */
static int check_ways(struct bench *bench)
{
    const struct options *options = &bench->options;

    if (options->slow_count && !options->adapt)
        return failure_usage(&bench->failure, "--slow", 0,
                             "--slow is for --adapt: other runs tell nothing "
                             "of a change");
    if (options->adapt && options->dynamic)
        return failure_usage(&bench->failure, "--dynamic", 0,
                             "--adapt divides a batch, --dynamic places whole "
                             "ones: one of them at a time");
    if (options->rule_count > (options->adapt ? 1 : OPTIONS_RULES_MAX) ||
        (options->rule_count && options->dynamic))
        return failure_usage(&bench->failure, "--rule", 0,
                             "--rule: one for --adapt, none for --dynamic");
    if ((options->adapt || options->dynamic) && options->work == WORK_EMPTY)
        return failure_usage(&bench->failure, "--work", 0,
                             "--work empty: nothing in it takes time that "
                             "could be learned");
    if (options->dynamic && options->net.layers > 0)
        return failure_usage(&bench->failure, "--net", 0,
                             "--net: --dynamic places batches of the other "
                             "works");
    if (options->threads != HDP_THREADS_CALLER || bench->members < 2 ||
        options->work != WORK_MLP || options->net.layers > 0)
        return EXIT_OK;
    return failure_usage(&bench->failure, "--threads", 0,
                         "--threads caller: mlp waits for its reduce inside "
                         "the function, which %d members cannot on one "
                         "thread; gemm, copy, mixed and empty can",
                         (int)bench->members);
}

static int refuse_reduce(struct bench *bench, const char *why)
{
    return failure_usage(&bench->failure, "--reduce-bytes", 0,
                         "--reduce-bytes %lld: %s",
                         (long long)bench->options.reduce_bytes, why);
}

/* What a plan counts on must be what its steps do. */
static int check_reduce(struct bench *bench)
{
    const struct options *options = &bench->options;
    int64_t bytes = options->reduce_bytes;
    char why[128];

    if (options->bench_members)
        return failure_usage(&bench->failure, "--bench-members", 0,
                             "--bench-members: steps that leave a member out "
                             "of the reduce cannot be run yet; hdp_bench split "
                             "plans them");
    if (bytes == 0)
        return EXIT_OK;
    if (options->dynamic)
        return refuse_reduce(bench, "independent batches reduce nothing");
    if (options->work == WORK_EMPTY && !bench->simulated)
        return refuse_reduce(bench, "an empty step is timed without anything");
    if (options->work == WORK_MLP && bytes != gradient_bytes(options)) {
        snprintf(why, sizeof why,
                 "mlp reduces its gradients, %lld bytes; gemm, copy and mixed "
                 "reduce what is asked",
                 (long long)gradient_bytes(options));
        return refuse_reduce(bench,
                             gradient_bytes(options) > 0
                                 ? why
                                 : "a net reduces its gradients, with /train");
    }
    if (bytes % BUCKET_ELEMENT_BYTES != 0)
        return refuse_reduce(bench, "floats are reduced: a multiple of 4");
    return EXIT_OK;
}

int command_run(struct bench *bench)
{
    struct workload_spec spec = { .kind = bench->options.work,
                                  .net = bench->options.net };
    struct workload *workload = NULL;
    int64_t steps = bench->options.steps;

    fprintf(bench->document.text, "# hdp_bench %s run\n", hdp_version());
    int code = library_group(bench, NULL);
    if (code)
        return code;
    library_say_devices(bench);
    interrupt_watch(bench->group);
    choose_defaults(bench);
    code = check_ways(bench);
    if (!code)
        code = check_reduce(bench);
    if (!code && bench->options.adapt)
        code = adapt_check(bench);
    if (code)
        return code;
    if (spec.kind == WORK_EMPTY && !bench->simulated)
        return empty_measure(bench, steps);
    spec.capacity = largest_batch(bench);
    spec.reduce_bytes = spec.kind == WORK_MLP ? 0 : bench->options.reduce_bytes;
    code = nets_fit(bench, &spec);
    if (!code)
        code = library_work(bench, &spec, &workload);
    if (code)
        return code;
    code = bench->options.adapt || bench->options.dynamic
               ? run_learning(bench, workload)
               : run_rules(bench, workload);
    library_end_work(bench, workload);
    return code;
}
