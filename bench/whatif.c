/* Questions to the plan layer alone: the measured curves with one thing
 * changed, split again. */
#include <stdlib.h>

#include "demo.h"

enum { POINTS = 12, RANKS = PICTURE_MEMBERS_MAX + 1 };

struct table {
    int64_t items[POINTS];
    double ns[POINTS];
};

/* A member's curve at a few sizes, its times multiplied by `factor`. */
static int sample(struct bench *bench, const hdp_profile *profile, int32_t rank,
                  int64_t total, double factor, struct table *table,
                  hdp_model *out)
{
    int code = EXIT_OK, count = 0;

    for (int i = POINTS - 1; !code && i >= 0; --i) {
        int64_t items = total >> i;
        if (items < 1)
            continue;
        table->items[count] = items;
        code = library_try(
            bench, hdp_profile_time(&table->ns[count], profile, rank, items));
        table->ns[count++] *= factor;
    }
    hdp_options_init(out, sizeof *out);
    out->point_items = table->items;
    out->point_ns = table->ns;
    out->point_count = count;
    return code;
}

/* The finish split of `count` such models. */
static int ask(struct bench *bench, const hdp_model *models, int32_t count,
               int64_t total, double *out_ns, int64_t *out_last)
{
    hdp_profile *profile = NULL;
    hdp_plan *plan = NULL;
    hdp_plan_info info;
    int code = library_try(bench, hdp_profile_create(&profile, models, count));

    hdp_options_init(&info, sizeof info);
    if (!code)
        code = library_try(bench, hdp_split(&plan, profile, total, NULL));
    if (!code)
        code = library_try(bench, hdp_plan_get(&info, plan));
    if (!code) {
        *out_ns = (double)info.step_ns;
        *out_last = info.items[count - 1];
    }
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
    return code;
}

static int all_work(struct bench *bench, const hdp_profile *profile,
                    int64_t total, int *out)
{
    hdp_plan *plan = NULL;
    hdp_plan_info info;
    int code = library_try(bench, hdp_split(&plan, profile, total, NULL));

    hdp_options_init(&info, sizeof info);
    if (!code)
        code = library_try(bench, hdp_plan_get(&info, plan));
    *out = !code;
    for (int32_t r = 0; !code && r < info.rank_count; ++r)
        *out &= info.items[r] > 0;
    hdp_plan_destroy(plan);
    return code;
}

static int find_least(struct bench *bench, const hdp_profile *profile,
                      int64_t total, int64_t *out)
{
    int64_t low = 0, high = total;
    int works = 0;
    int code = all_work(bench, profile, total, &works);

    *out = 0;
    if (code || !works)
        return code;
    while (!code && low + 1 < high) { /* it works at high, not at low */
        int64_t middle = low + (high - low) / 2;
        code = all_work(bench, profile, middle, &works);
        if (works)
            high = middle;
        else
            low = middle;
    }
    *out = high;
    return code;
}

static int ask_all(struct bench *bench, const hdp_profile *profile,
                   int64_t total, struct table *tables, hdp_model *models,
                   struct whatif *out)
{
    int32_t count = bench->members, last = count - 1;
    double duty = bench->devices[last].duty_percent / 100.0;
    int64_t ignored;
    int code = EXIT_OK;

    for (int32_t r = 0; !code && r < count; ++r)
        code = sample(bench, profile, r, total,
                      r == last && duty > 0 ? duty : 1, &tables[r], &models[r]);
    if (!code)
        code = ask(bench, models, count, total, &out->unslowed_ns,
                   &out->unslowed_items);
    if (!code)
        code = sample(bench, profile, last, total, 1, &tables[last],
                      &models[last]);
    if (!code)
        code =
            sample(bench, profile, 0, total, 1, &tables[count], &models[count]);
    if (!code)
        code = ask(bench, models, count + 1, total, &out->more_ns, &ignored);
    return code ? code : find_least(bench, profile, total, &out->least_total);
}

int whatif_ask(struct bench *bench, const hdp_profile *profile, int64_t total,
               struct whatif *out)
{
    struct table *tables = calloc(RANKS, sizeof *tables);
    hdp_model *models = calloc(RANKS, sizeof *models);

    *out = (struct whatif){ 0 };
    int code = tables && models
                   ? ask_all(bench, profile, total, tables, models, out)
                   : library_no_memory(bench);
    free(tables);
    free(models);
    return code;
}
