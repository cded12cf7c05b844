/* What the demo has to say: one screen, one document, one picture. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "demo.h"
#include "table.h"

static const double equal_goal = 1.25, optimum_goal = 0.90;

static const struct demo_run *best_run(const struct demo *demo)
{
    return &demo->run[demo->best];
}

static json_t *run_json(const struct demo_run *run)
{
    const struct results *results = &run->results;
    json_t *json = json_object();

    json_object_set_new(json, "rounds", json_integer(run->lanes->kept));
    json_object_set_new(json, "spread", document_real(results->finish_spread));
    json_object_set_new(json, "efficiency", document_real(results->efficiency));
    json_object_set_new(json, "speedup_vs_equal",
                        document_real(results->equal_ns / results->finish_ns));
    json_object_set_new(json, "results", results_json(results, run->lanes));
    json_object_set_new(json, "optimum",
                        results_optimum_json(results, run->lanes));
    json_object_set_new(json, "curves", results_curves_json(run->lanes));
    return json;
}

static json_t *training_json(const struct demo *demo)
{
    json_t *json = json_object(), *rules = json_object();

    for (int i = 0; i < DEMO_RULES; ++i)
        json_object_set_new(rules, options_rule_name(demo_rules[i]),
                            json_integer(demo->correct[i]));
    json_object_set_new(json, "steps", json_integer(demo->training_steps));
    json_object_set_new(json, "test_images", json_integer(demo->tested));
    json_object_set_new(json, "right", rules);
    return json;
}

/* The sections of `run`, and of the best run again where every command has
 * them. */
static int put_sections(struct demo *demo)
{
    struct document *document = &demo->bench->document;
    const struct demo_run *best = best_run(demo);
    json_t *runs = json_array(), *shown;

    for (int i = 0; i < demo->runs; ++i)
        json_array_append_new(runs, run_json(&demo->run[i]));
    shown = json_array_get(runs, (size_t)demo->best);
    document_set(document, "plan",
                 plans_json(demo->bench,
                            lanes_rule(best->lanes, HDP_RULE_FINISH)->plan));
    document_set(document, "results",
                 json_incref(json_object_get(shown, "results")));
    document_set(document, "optimum",
                 json_incref(json_object_get(shown, "optimum")));
    document_set(document, "curves",
                 json_incref(json_object_get(shown, "curves")));
    document_set(document, "runs", runs);
    document_set(document, "run_used", json_integer(demo->best));
    document_set(document, "training", training_json(demo));
    document_set(document, "gemm_ratio",
                 document_reals(demo->gemm_ratio, demo->bench->members));
    return measure_section(demo->bench, best->profile);
}

static void tell_work(struct demo *demo, FILE *out)
{
    struct bench *bench = demo->bench;
    json_t *check = json_object_get(bench->document.root, "check");
    double ratio = 0;

    fputs("measured  speed in this work ", out);
    for (int m = 0; m < bench->members; ++m) {
        hdp_profile_ratio(&ratio, best_run(demo)->profile, m);
        fprintf(out, "%s%.3f", m ? " : " : "", ratio);
    }
    fputs("; in plain matrix products ", out);
    for (int m = 0; m < bench->members; ++m)
        fprintf(out, "%s%.3f", m ? " : " : "", demo->gemm_ratio[m]);
    fprintf(out,
            "\nwork      a training step of %lld handwritten digits, products "
            "by %s%s%s:\n          forward, backward, weighted mean of "
            "gradients, update\n",
            (long long)demo->total, demo->workload->backend,
            demo->workload->dtype == HDP_F32 ? "" : " in ",
            demo->workload->dtype == HDP_F32
                ? ""
                : options_dtype_name(demo->workload->dtype));
    fprintf(out,
            "checked   gradients of all four rules are those of one device in "
            "f64:\n          largest error %.1e, allowed %.0e\n\n",
            json_real_value(json_object_get(check, "max_rel_error")),
            json_real_value(json_object_get(check, "tolerance")));
}

static void tell_runs(const struct demo *demo, FILE *out)
{
    const struct demo_run *best = best_run(demo);

    results_table(&best->results, best->lanes, out);
    fprintf(out,
            "\n%lld rounds, the rules taking turns; medians; the optimum is "
            "the best split of\ncurves measured in the same rounds\n",
            (long long)best->lanes->kept);
    for (int i = 0; i < demo->runs && demo->runs > 1; ++i) {
        const struct results *results = &demo->run[i].results;
        fprintf(out,
                "run %d: spread %.1f %%, %.2f x equal, %.3f of the optimum%s\n",
                i + 1, 100 * results->finish_spread,
                results->equal_ns / results->finish_ns, results->efficiency,
                i == demo->best ? " (shown)" : "");
    }
    fprintf(out,
            "\ntrained   %lld steps under each rule from the same start; "
            "of %d test images right:\n         ",
            (long long)demo->training_steps, demo->tested);
    for (int i = 0; i < DEMO_RULES; ++i)
        fprintf(out, " %s %d%s", options_rule_name(demo_rules[i]),
                demo->correct[i], i + 1 < DEMO_RULES ? "," : "\n");
}

enum { NAME_SIZE = 24 };

/* "cuda:0", "host:1": a specification without its keys. */
static void short_name(const struct bench *bench, int32_t m, char *out)
{
    const char *spec = bench->devices[m].spec;

    snprintf(out, NAME_SIZE, "%.*s", (int)strcspn(spec, "/"), spec);
}

/* The first of those that get the least. */
static int32_t slowest_of(const hdp_plan_info *info)
{
    int32_t slowest = 0;

    for (int32_t m = 1; m < info->rank_count; ++m)
        if (info->items[m] < info->items[slowest])
            slowest = m;
    return slowest;
}

static void tell_changes(const struct demo *demo, const hdp_plan_info *info,
                         const struct whatif *whatif, FILE *out)
{
    const struct bench *bench = demo->bench;
    int32_t last = bench->members - 1;
    char time[24], first[NAME_SIZE], name[NAME_SIZE];
    const char *head = "change   ";

    short_name(bench, 0, first);
    short_name(bench, last, name);
    if (bench->devices[last].duty_percent < 100) {
        fprintf(out, "%s were %s not slowed, it would get %lld, a step %s\n",
                head, name, (long long)whatif->unslowed_items,
                table_ns(time, whatif->unslowed_ns));
        head = "         ";
    }
    fprintf(out, "%s %s device like %s would make it %s\n", head,
            bench->members == 2 ? "a third" : "another", first,
            table_ns(time, whatif->more_ns));
    if (whatif->least_total <= bench->members)
        return;
    if (bench->members == 2)
        short_name(bench, 1 - slowest_of(info), name);
    else
        short_name(bench, slowest_of(info), name);
    fprintf(out, "          a batch below %lld would leave %s to %s\n",
            (long long)whatif->least_total,
            bench->members == 2 ? "everything" : "nothing", name);
}

static int tell_reasons(struct demo *demo, FILE *out)
{
    struct bench *bench = demo->bench;
    const struct lane *finish =
        lanes_rule(best_run(demo)->lanes, HDP_RULE_FINISH);
    const struct results *results = &best_run(demo)->results;
    struct whatif whatif;
    hdp_plan_info info;
    char time[24], name[NAME_SIZE];

    hdp_options_init(&info, sizeof info);
    int code = library_try(bench, hdp_plan_get(&info, finish->plan));
    if (!code)
        code = whatif_ask(bench, best_run(demo)->profile, demo->total, &whatif);
    if (code)
        return code;
    fprintf(out,
            "\ngained    finish is %.2f x as fast as equal shares, %.2f x as "
            "fast as one device\n",
            results->equal_ns / results->finish_ns,
            results->single_ns / results->finish_ns);
    for (int m = 0; m < bench->members; ++m) {
        double each_ns = info.items[m] > 0 ? (double)info.predicted_ns[m] /
                                                 (double)info.items[m]
                                           : 0;
        short_name(bench, m, name);
        fprintf(out, "%s %s gets %lld, measured at %.2f us each: %s,\n",
                m ? "         " : "why      ", name, (long long)info.items[m],
                each_ns / 1e3, table_ns(time, (double)info.predicted_ns[m]));
        fprintf(out, "          %s\n", plans_reason(&info, m));
    }
    tell_changes(demo, &info, &whatif, out);
    return EXIT_OK;
}

/* ---- the picture --------------------------------------------------------- */

/* The round with the median step, as it was: its parts add up. */
static void fill_panel(const struct demo *demo, struct picture_panel *panel,
                       int32_t rule, const char *text)
{
    const struct lanes *lanes = best_run(demo)->lanes;
    const struct lane *lane = lanes_rule(lanes, rule);
    int64_t round = lanes_median_round(lanes, lane);

    panel->rule = lane->name;
    panel->text = text;
    panel->step_ns = lane->step_ns[round];
    for (int m = 0; m < lanes->members; ++m) {
        panel->bar[m].items = lane->items[m];
        panel->bar[m].compute_ns = lane->member_ns[round * lanes->members + m];
    }
}

/* "two host members", "three GPUs", "one GPU and the host's cores" */
static void name_members(const struct demo *demo, char *out, size_t size)
{
    char count[16];
    const char *number =
        demo_count(demo->gpus ? demo->gpus : demo->bench->members, count);

    snprintf(out, size, "%s %s%s", number,
             demo->gpus == 0   ? "host members"
             : demo->gpus == 1 ? "GPU"
                               : "GPUs",
             demo->gpus && demo->gpus < demo->bench->members
                 ? " and the host's cores"
                 : "");
}

/* What the picture says in words. */
struct words {
    char title[128], subtitle[160], footer[2][160];
    char name[PICTURE_MEMBERS_MAX][NAME_SIZE];
};

static void find_words(const struct demo *demo, const struct picture *picture,
                       struct words *out)
{
    const struct bench *bench = demo->bench;
    const struct demo_run *best = best_run(demo);
    int slowed = bench->devices[bench->members - 1].duty_percent;
    char count[32], members[64];

    name_members(demo, members, sizeof members);
    snprintf(out->title, sizeof out->title,
             "One batch, %s%s devices: %.1f ms becomes %.1f ms",
             demo_count(bench->members, count), demo->gpus ? "" : " unequal",
             picture->panel[0].step_ns / 1e6, picture->panel[1].step_ns / 1e6);
    snprintf(out->subtitle, sizeof out->subtitle,
             "a training step of %s handwritten digits on %s; "
             "the median of %lld rounds",
             picture_count(count, demo->total), members,
             (long long)best->lanes->kept);
    snprintf(out->footer[0], sizeof out->footer[0],
             "Equal shares wait for the slowe%s device. With finish %s end "
             "together: %.2f x as fast,",
             bench->members > 2 ? "st" : "r",
             bench->members > 2 ? "all" : "both",
             best->results.equal_ns / best->results.finish_ns);
    int used =
        snprintf(out->footer[1], sizeof out->footer[1],
                 "%.2f of the best split of these %s devices.",
                 best->results.efficiency, demo_count(bench->members, count));
    for (int32_t m = 0; m < bench->members; ++m)
        short_name(bench, m, out->name[m]);
    if (slowed < 100 && used > 0)
        snprintf(out->footer[1] + used, sizeof out->footer[1] - (size_t)used,
                 " %s is slowed for this demonstration: it works %d %% of the "
                 "time.",
                 out->name[bench->members - 1], slowed);
}

static int draw(struct demo *demo, const char *path)
{
    struct bench *bench = demo->bench;
    int32_t last = bench->members - 1;
    struct words *words = calloc(1, sizeof *words);
    struct picture *picture = calloc(1, sizeof *picture);
    int ok = 0;

    if (words && picture) {
        *picture = (struct picture){
            .title = words->title,
            .subtitle = words->subtitle,
            .footer = { words->footer[0], words->footer[1] },
            .unit = "images",
            .members = bench->members,
            .panels = 2,
        };
        fill_panel(demo, &picture->panel[0], HDP_RULE_EQUAL,
                   "each device gets the same");
        fill_panel(demo, &picture->panel[1], HDP_RULE_FINISH,
                   "each gets what it can do in time");
        find_words(demo, picture, words);
        for (int32_t m = 0; m < bench->members; ++m)
            picture->device[m] = words->name[m];
        if (bench->devices[last].duty_percent < 100)
            picture->remark[last] = "declared half as fast";
        FILE *out = fopen(path, "we");
        ok = out && picture_write(out, picture);
        if (out && fclose(out) != 0)
            ok = 0;
    }
    free(words);
    free(picture);
    return ok ? EXIT_OK
              : failure_own(&bench->failure, EXIT_ENVIRONMENT, HDP_ERR_SYSTEM,
                            "%.128s: %s", path, strerror(errno));
}

static int thresholds(struct demo *demo)
{
    const struct results *results = &best_run(demo)->results;
    double gain = results->equal_ns / results->finish_ns;
    /* Like devices leave nothing to gain: the best split is the equal one. */
    int alike = gain < equal_goal * results->efficiency;
    struct bench *bench = demo->bench;

    if ((gain >= equal_goal || alike) && results->efficiency >= optimum_goal)
        return EXIT_OK;
    document_warn(&bench->document, "below_goal",
                  "finish reached %.2f x equal (goal %.2f) and %.3f of the "
                  "optimum (goal %.2f): other programs may be using this "
                  "machine",
                  gain, equal_goal, results->efficiency, optimum_goal);
    if (!bench->options.strict)
        return EXIT_OK;
    return failure_own(&bench->failure, EXIT_CHECK, HDP_OK,
                       "finish reached %.2f x equal and %.3f of the optimum",
                       gain, results->efficiency);
}

int demo_tell(struct demo *demo, const char *folder)
{
    struct bench *bench = demo->bench;
    FILE *out = bench->document.text;
    char path[1024];

    int code = put_sections(demo);
    if (code)
        return code;
    tell_work(demo, out);
    tell_runs(demo, out);
    code = tell_reasons(demo, out);
    if (code)
        return code;
    snprintf(path, sizeof path, "%s/hdp-demo.svg", folder);
    if ((code = draw(demo, path)))
        return code;
    snprintf(bench->json_path, sizeof bench->json_path, "%s/hdp-demo.json",
             folder);
    fprintf(out, "files     %s, %s; took %.0f s\n", path, bench->json_path,
            (double)(library_now() - demo->start_ns) / 1e9);
    return thresholds(demo);
}
