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

static void put_sections(struct demo *demo)
{
    struct document *document = &demo->bench->document;
    const struct demo_run *best = best_run(demo);
    json_t *runs = json_array();
    json_t *training = json_object(), *rules = json_object();

    for (int i = 0; i < demo->runs; ++i) {
        const struct results *results = &demo->run[i].results;
        json_t *run = json_object();
        json_object_set_new(run, "rounds", json_integer(demo->run[i].rounds));
        json_object_set_new(run, "spread",
                            document_real(results->finish_spread));
        json_object_set_new(run, "efficiency",
                            document_real(results->efficiency));
        json_object_set_new(
            run, "speedup_vs_equal",
            document_real(results->equal_ns / results->finish_ns));
        json_object_set_new(run, "results", json_incref(demo->run[i].rules));
        json_object_set_new(run, "curves", json_incref(demo->run[i].curves));
        json_array_append_new(runs, run);
    }
    for (int i = 0; i < DEMO_RULES; ++i)
        json_object_set_new(rules, options_rule_name(demo_rules[i]),
                            json_integer(demo->correct[i]));
    json_object_set_new(training, "steps", json_integer(demo->training_steps));
    json_object_set_new(training, "test_images", json_integer(demo->tested));
    json_object_set_new(training, "right", rules);
    document_set(document, "results", json_incref(best->rules));
    document_set(document, "optimum", json_incref(best->optimum));
    document_set(document, "curves", json_incref(best->curves));
    document_set(document, "runs", runs);
    document_set(document, "run_used", json_integer(demo->best));
    document_set(document, "training", training);
    document_set(document, "gemm_ratio",
                 document_reals(demo->gemm_ratio, demo->bench->members));
}

static void tell_work(struct demo *demo, FILE *out)
{
    struct bench *bench = demo->bench;
    json_t *check = json_object_get(bench->document.root, "check");
    double ratio = 0;

    fputs("measured  speed in this work ", out);
    for (int m = 0; m < bench->members; ++m) {
        hdp_profile_ratio(&ratio, demo->profile, m);
        fprintf(out, "%s%.3f", m ? " : " : "", ratio);
    }
    fputs("; in plain matrix products ", out);
    for (int m = 0; m < bench->members; ++m)
        fprintf(out, "%s%.3f", m ? " : " : "", demo->gemm_ratio[m]);
    fprintf(out,
            "\nwork      a training step of %lld handwritten digits, products "
            "by %s:\n          forward, backward, weighted mean of gradients, "
            "update\n",
            (long long)demo->total, demo->workload->backend);
    fprintf(out,
            "checked   gradients of all four rules are those of one device in "
            "f64:\n          largest error %.1e, allowed %.0e\n\n",
            json_real_value(json_object_get(check, "max_rel_error")),
            json_real_value(json_object_get(check, "tolerance")));
}

static void tell_runs(const struct demo *demo, FILE *out)
{
    const struct demo_run *best = best_run(demo);

    fprintf(out,
            "%s\n%lld rounds, the rules taking turns; medians; the optimum is "
            "the best split of\ncurves measured in the same rounds\n",
            best->table, (long long)best->rounds);
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

static int tell_reasons(struct demo *demo, FILE *out)
{
    struct bench *bench = demo->bench;
    const struct lane *finish = lanes_rule(demo->lanes, HDP_RULE_FINISH);
    const struct results *results = &best_run(demo)->results;
    struct whatif whatif;
    hdp_plan_info info;
    char time[24];

    hdp_options_init(&info, sizeof info);
    int code = session_try(bench, hdp_plan_get(&info, finish->plan));
    if (!code)
        code = whatif_ask(bench, demo->profile, demo->total, &whatif);
    if (code)
        return code;
    fprintf(
        out,
        "\ngained    finish is %.2f x as fast as equal shares and %.2f x as "
        "fast as one device\n",
        results->equal_ns / results->finish_ns,
        results->single_ns / results->finish_ns);
    for (int m = 0; m < bench->members; ++m) {
        double each_ns = info.items[m] > 0 ? (double)info.predicted_ns[m] /
                                                 (double)info.items[m]
                                           : 0;
        fprintf(out, "%s %s gets %lld: measured at %.2f us each,\n",
                m ? "         " : "why      ", bench->devices[m].spec,
                (long long)info.items[m], each_ns / 1e3);
        fprintf(out, "          they take %s; it is %s\n",
                table_ns(time, (double)info.predicted_ns[m]),
                plans_reason(info.bound_by[m], info.state[m]));
    }
    fprintf(out, "change    were %s not slowed, it would get %lld, a step ",
            bench->devices[1].spec, (long long)whatif.unslowed_items);
    fprintf(out, "%s\n", table_ns(time, whatif.unslowed_ns));
    fprintf(out, "          a third device like %s would make it %s\n",
            bench->devices[0].spec, table_ns(time, whatif.third_ns));
    if (whatif.least_total > 2)
        fprintf(out,
                "          a batch below %lld would leave everything to %s\n",
                (long long)whatif.least_total, bench->devices[0].spec);
    return EXIT_OK;
}

/* ---- the picture --------------------------------------------------------- */

static void fill_panel(const struct demo *demo, struct picture_panel *panel,
                       int which, const char *text)
{
    const struct lane *lane =
        lanes_rule(demo->lanes, which ? HDP_RULE_FINISH : HDP_RULE_EQUAL);

    panel->rule = lane->name;
    panel->text = text;
    panel->step_ns = best_run(demo)->step_ns[which];
    for (int m = 0; m < demo->bench->members; ++m) {
        panel->bar[m].items = lane->items[m];
        panel->bar[m].compute_ns = best_run(demo)->member_ns[which][m];
    }
}

static int draw(struct demo *demo, const char *path)
{
    struct bench *bench = demo->bench;
    const struct demo_run *best = best_run(demo);
    char title[128], subtitle[160], footer[2][160], name[2][24], count[32];
    struct picture picture = { .title = title,
                               .subtitle = subtitle,
                               .footer = { footer[0], footer[1] },
                               .unit = "images",
                               .members = 2,
                               .panels = 2 };

    snprintf(title, sizeof title,
             "One batch, two unequal devices: %.1f ms becomes %.1f ms",
             best->step_ns[0] / 1e6, best->step_ns[1] / 1e6);
    snprintf(subtitle, sizeof subtitle,
             "a training step of %s handwritten digits on two host members; "
             "the median of %lld rounds",
             picture_count(count, demo->total), (long long)best->rounds);
    snprintf(footer[0], sizeof footer[0],
             "Equal shares wait for the slower device. With finish both end "
             "together: %.2f x as fast,",
             best->results.equal_ns / best->results.finish_ns);
    snprintf(footer[1], sizeof footer[1],
             "%.2f of the best split of these two devices. host:1 is slowed "
             "for this demonstration: it works %d %% of the time.",
             best->results.efficiency, (int)bench->devices[1].duty_percent);
    for (int m = 0; m < 2; ++m) {
        snprintf(name[m], sizeof name[m], "host:%d",
                 (int)bench->devices[m].logical_id);
        picture.device[m] = name[m];
    }
    picture.remark[1] = "declared half as fast";
    fill_panel(demo, &picture.panel[0], 0, "each device gets the same");
    fill_panel(demo, &picture.panel[1], 1, "each gets what it can do in time");
    FILE *out = fopen(path, "we");
    int ok = out && picture_write(out, &picture);
    if (out && fclose(out) != 0)
        ok = 0;
    return ok ? EXIT_OK
              : failure_own(&bench->failure, EXIT_ENVIRONMENT, HDP_ERR_SYSTEM,
                            "%.128s: %s", path, strerror(errno));
}

static int thresholds(struct demo *demo)
{
    const struct results *results = &best_run(demo)->results;
    double gain = results->equal_ns / results->finish_ns;
    struct bench *bench = demo->bench;

    if (gain >= equal_goal && results->efficiency >= optimum_goal)
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

    put_sections(demo);
    tell_work(demo, out);
    tell_runs(demo, out);
    int code = tell_reasons(demo, out);
    if (code)
        return code;
    snprintf(path, sizeof path, "%s/hdp-demo.svg", folder);
    if ((code = draw(demo, path)))
        return code;
    snprintf(bench->json_path, sizeof bench->json_path, "%s/hdp-demo.json",
             folder);
    fprintf(out, "files     %s, %s; took %.0f s\n", path, bench->json_path,
            (double)(session_now() - demo->start_ns) / 1e9);
    return thresholds(demo);
}
