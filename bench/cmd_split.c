/* split: plans only, and how long making one takes. */
#include <stdlib.h>

#include "bench.h"
#include "change.h"
#include "cluster.h"
#include "compare.h"
#include "interrupt.h"
#include "learn.h"
#include "scaling.h"
#include "table.h"

enum { CALLS = 100 }; /* of one batch; the clock is read around a batch */
static const double limit_ns = 2000;

static int time_split(struct bench *bench, const hdp_profile *profile,
                      int32_t rule)
{
    int64_t batches = bench->options.batches, kept = 0;
    double *samples = calloc((size_t)batches, sizeof *samples);
    hdp_split_options split;
    struct stats stats;
    int code = samples ? plans_options(bench, profile, rule, &split)
                       : library_no_memory(bench);

    for (int64_t b = -1; !code && b < batches && !interrupt_seen(); ++b) {
        int64_t start_ns = library_now();
        for (int i = 0; !code && i < CALLS; ++i) {
            hdp_plan *plan = NULL;
            code = library_try(
                bench, hdp_split(&plan, profile, bench->options.total, &split));
            hdp_plan_destroy(plan);
        }
        if (b >= 0) /* -1: warm-up */
            samples[kept++] = (double)(library_now() - start_ns) / CALLS;
        notes_progress(&bench->notes, "split", b + 1, batches);
    }
    if (!code && kept > 0 && stats_of(&stats, samples, (size_t)kept)) {
        json_t *json = json_object();
        json_object_set_new(json, "calls_a_batch", json_integer(CALLS));
        json_object_set_new(json, "median_ns", document_real(stats.median));
        json_object_set_new(json, "mad_ns", document_real(stats.mad));
        json_object_set_new(json, "min_ns", document_real(stats.min));
        json_object_set_new(json, "limit_ns", document_real(limit_ns));
        json_object_set_new(json, "samples_ns",
                            document_reals(samples, (int)kept));
        document_set(&bench->document, "split_bench", json);
        fprintf(bench->document.text,
                "\none split and its release: median %.0f ns, MAD %.0f ns, "
                "least %.0f ns; %lld batches of %d\n",
                stats.median, stats.mad, stats.min, (long long)kept, CALLS);
        if (bench->options.strict && stats.median > limit_ns)
            code = failure_own(&bench->failure, EXIT_CHECK, HDP_OK,
                               "a split takes %.0f ns, the limit is %.0f ns",
                               stats.median, limit_ns);
    }
    if (!code && bench->options.ranks == 0 && !interrupt_seen())
        code = learn_time(bench, profile, &split, bench->options.total);
    free(samples);
    return code;
}

/* What would change each share: `change` in the document, a line where there
 * is something to say. Of a whole cluster nobody reads it. */
static int tell_changes(struct bench *bench, const hdp_profile *profile,
                        int32_t rule, const hdp_plan *plan, json_t *json)
{
    enum { MOST = 64 };
    json_t *changes = json_array();
    hdp_split_options split;
    hdp_plan_info info;

    hdp_options_init(&info, sizeof info);
    int code = plans_options(bench, profile, rule, &split);
    if (!code)
        code = library_try(bench, hdp_plan_get(&info, plan));
    for (int i = 0; !code && info.rank_count <= MOST && i < info.rank_count;
         ++i) {
        struct change change;
        char text[CHANGE_TEXT];
        code = library_try(
            bench, change_find(&change, profile, info.total, &split, plan, i));
        if (code)
            break;
        change_say(&change, info.items[i], text);
        json_array_append_new(changes,
                              text[0] ? json_string(text) : json_null());
        if (text[0])
            fprintf(bench->document.text, "rank %-7d %s\n", i, text);
    }
    json_object_set_new(json, "change", changes);
    return code;
}

static int show_rules(struct bench *bench, const hdp_profile *profile)
{
    json_t *plans = json_array();
    int code = EXIT_OK;

    for (int i = 0; !code && i < bench->options.rule_count; ++i) {
        hdp_plan *plan = NULL;
        code = plans_split(bench, profile, bench->options.rules[i],
                           bench->options.total, &plan);
        if (!code) {
            json_t *json = plans_json(bench, plan);
            plans_table(bench, profile, plan);
            code = tell_changes(bench, profile, bench->options.rules[i], plan,
                                json);
            json_array_append_new(plans, json);
        }
        hdp_plan_destroy(plan);
    }
    if (json_array_size(plans) > 0)
        document_set(&bench->document, "plan",
                     json_incref(json_array_get(plans, 0)));
    if (json_array_size(plans) > 1)
        document_set(&bench->document, "plans", json_incref(plans));
    json_decref(plans);
    return code;
}

int command_split(struct bench *bench)
{
    struct options *options = &bench->options;
    hdp_profile *profile = NULL;
    int code;

    if (options->total < 0)
        return failure_usage(&bench->failure, "-N", 0,
                             "split needs -N, the items to divide");
    if (options->ranks > 0 && options->batches <= 0)
        return failure_usage(&bench->failure, "--ranks", 0,
                             "--ranks is for --bench: it is what is timed");
    if (options->strict && options->batches <= 0)
        return failure_usage(&bench->failure, "--check", 0,
                             "--check is for --bench: nothing else of a split "
                             "has a limit");
    if (options->rule_count == 0)
        options->rules[options->rule_count++] = HDP_RULE_FINISH;
    fprintf(bench->document.text, "# hdp_bench %s split\n", hdp_version());
    /* A saved profile alone is enough: the devices may be elsewhere. */
    if (!options->profile || options->spec[0])
        if ((code = library_group(bench, NULL)))
            return code;
    library_say_devices(bench);
    code = measure_by_options(bench, &profile);
    if (!code)
        code = measure_section(bench, profile);
    if (!code)
        code = show_rules(bench, profile);
    if (!code)
        code = scaling_section(bench, profile);
    if (!code && (options->add[0] || options->remove_count))
        code = compare_members(bench, profile);
    if (!code && options->batches > 0)
        code = time_split(bench, profile, options->rules[0]);
    if (!code && options->batches > 0 && options->ranks > 0)
        code = cluster_bench(bench, profile);
    hdp_profile_destroy(profile);
    return code;
}
