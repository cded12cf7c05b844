/* A million ranks are as easily made up as eight. */
#include "cluster.h"

#include <stdlib.h>

#include "interrupt.h"
#include "learn.h"

enum {
    ITEMS = 1000, /* a rank, in multiples of the quantum */
    /* A balancer takes some hundred steps: of a million ranks, minutes. */
    LEARN_RANKS_MAX = 10000
};
static const double limit_ns_a_rank = 20;

struct cluster {
    int32_t ranks;
    int64_t total;
    hdp_model *models;
    double *rates;   /* items a ns */
    int64_t *items;  /* scratch of hdp_split_rates() */
    double *samples; /* of one kind at a time */
    int64_t batches;
    hdp_profile *profile;
    hdp_split_options split;
};

/* From 0.9 to 1.1, spread evenly and never the same twice. */
static double difference(int32_t rank)
{
    double turns = 0.6180339887498949 * rank;
    return 0.9 + 0.2 * (turns - (double)(int64_t)turns);
}

static int make_models(struct cluster *cluster, struct bench *bench,
                       const hdp_profile *profile)
{
    hdp_profile_info info;
    int code;

    hdp_options_init(&info, sizeof info);
    code = library_try(bench, hdp_profile_get(&info, profile));
    for (int32_t i = 0; !code && i < cluster->ranks; ++i) {
        double one = 0, many = 0, by = difference(i);
        hdp_model *model = &cluster->models[i];
        code = library_try(
            bench, hdp_profile_time(&one, profile, i % info.member_count, 1));
        if (!code)
            code = library_try(
                bench,
                hdp_profile_time(&many, profile, i % info.member_count, ITEMS));
        double item = many > one ? (many - one) / (ITEMS - 1) : many / ITEMS;
        hdp_options_init(model, sizeof *model);
        model->item_ns = by * item;
        model->fixed_ns = by * (one > item ? one - item : 0);
        cluster->rates[i] = 1 / model->item_ns;
    }
    if (!code)
        code = library_try(bench,
                           hdp_profile_create(&cluster->profile,
                                              cluster->models, cluster->ranks));
    return code;
}

static int split_once(struct cluster *cluster, struct bench *bench, int rates)
{
    hdp_plan *plan = NULL;
    int code;

    if (rates)
        return library_try(bench,
                           hdp_split_rates(cluster->items, cluster->rates,
                                           cluster->ranks, cluster->total,
                                           cluster->split.quantum));
    code = library_try(bench, hdp_split(&plan, cluster->profile, cluster->total,
                                        &cluster->split));
    hdp_plan_destroy(plan);
    return code;
}

/* Fills the section's part of one kind; *median_ns is what it comes to. */
static int time_kind(struct cluster *cluster, struct bench *bench, int rates,
                     json_t *section, double *median_ns)
{
    const char *name = rates ? "rates" : "plan";
    int64_t kept = 0;
    struct stats stats;
    int code = 0;

    for (int64_t b = -1; !code && b < cluster->batches && !interrupt_seen();
         ++b) {
        int64_t start_ns = library_now();
        code = split_once(cluster, bench, rates);
        if (b >= 0) /* -1: warm-up */
            cluster->samples[kept++] = (double)(library_now() - start_ns);
        notes_progress(&bench->notes, name, b + 1, cluster->batches);
    }
    *median_ns = 0;
    if (code || kept == 0)
        return code;
    if (!stats_of(&stats, cluster->samples, (size_t)kept))
        return library_no_memory(bench);
    json_object_set_new(section, name,
                        document_sample(cluster->samples, (size_t)kept));
    fprintf(bench->document.text,
            "%d ranks like these, %s: median %.2f ms, MAD %.2f ms, least "
            "%.2f ms; %lld calls\n",
            (int)cluster->ranks, rates ? "rates alone" : "a whole plan",
            stats.median / 1e6, stats.mad / 1e6, stats.min / 1e6,
            (long long)kept);
    *median_ns = stats.median;
    return EXIT_OK;
}

static int time_both(struct cluster *cluster, struct bench *bench)
{
    json_t *section = json_object();
    double limit_ns = limit_ns_a_rank * cluster->ranks, plan_ns, rates_ns;
    int code;

    json_object_set_new(section, "ranks", json_integer(cluster->ranks));
    json_object_set_new(section, "total", json_integer(cluster->total));
    json_object_set_new(section, "limit_ns", document_real(limit_ns));
    code = time_kind(cluster, bench, 0, section, &plan_ns);
    if (!code)
        code = time_kind(cluster, bench, 1, section, &rates_ns);
    document_set(&bench->document, "cluster_bench", section);
    if (!code && bench->options.strict && plan_ns > limit_ns)
        code = failure_own(&bench->failure, EXIT_CHECK, HDP_OK,
                           "a split among %d ranks takes %.1f ms, the limit is "
                           "%.1f ms",
                           (int)cluster->ranks, plan_ns / 1e6, limit_ns / 1e6);
    return code;
}

int cluster_bench(struct bench *bench, const hdp_profile *profile)
{
    const struct options *options = &bench->options;
    size_t count = (size_t)options->ranks;
    struct cluster cluster = { .ranks = (int32_t)options->ranks,
                               .batches = options->batches };
    int code = EXIT_OK;

    hdp_options_init(&cluster.split, sizeof cluster.split);
    cluster.split.quantum = options->quantum > 0 ? options->quantum : 1;
    cluster.total = ITEMS * options->ranks * cluster.split.quantum +
                    cluster.split.quantum / 2;
    cluster.models = calloc(count, sizeof *cluster.models);
    cluster.rates = calloc(count, sizeof *cluster.rates);
    cluster.items = calloc(count, sizeof *cluster.items);
    cluster.samples = calloc((size_t)options->batches, sizeof *cluster.samples);
    if (!cluster.models || !cluster.rates || !cluster.items || !cluster.samples)
        code = library_no_memory(bench);
    if (!code)
        code = make_models(&cluster, bench, profile);
    if (!code)
        code = time_both(&cluster, bench);
    if (!code && cluster.ranks <= LEARN_RANKS_MAX)
        code =
            learn_time(bench, cluster.profile, &cluster.split, cluster.total);
    hdp_profile_destroy(cluster.profile);
    free(cluster.models);
    free(cluster.rates);
    free(cluster.items);
    free(cluster.samples);
    return code;
}
