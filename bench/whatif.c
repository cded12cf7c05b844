/* Questions to the plan layer alone: the measured curves with one thing
 * changed, split again. */

#include "demo.h"

enum { POINTS = 12, RANKS = 3 };

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
               int64_t total, double *out_ns, int64_t *out_second)
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
        *out_second = info.items[1];
    }
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
    return code;
}

static int second_works(struct bench *bench, const hdp_profile *profile,
                        int64_t total, int *out)
{
    hdp_plan *plan = NULL;
    hdp_plan_info info;
    int code = library_try(bench, hdp_split(&plan, profile, total, NULL));

    hdp_options_init(&info, sizeof info);
    if (!code)
        code = library_try(bench, hdp_plan_get(&info, plan));
    if (!code)
        *out = info.items[1] > 0;
    hdp_plan_destroy(plan);
    return code;
}

int whatif_ask(struct bench *bench, const hdp_profile *profile, int64_t total,
               struct whatif *out)
{
    struct table tables[RANKS];
    hdp_model models[RANKS];
    double duty = bench->devices[1].duty_percent / 100.0;
    int64_t low = 0, high = total, ignored;
    int works = 0;

    *out = (struct whatif){ 0 };
    int code = sample(bench, profile, 0, total, 1, &tables[0], &models[0]);
    if (!code)
        code = sample(bench, profile, 1, total, duty > 0 ? duty : 1, &tables[1],
                      &models[1]);
    if (!code)
        code = ask(bench, models, 2, total, &out->unslowed_ns,
                   &out->unslowed_items);
    if (!code)
        code = sample(bench, profile, 1, total, 1, &tables[1], &models[1]);
    if (!code)
        code = sample(bench, profile, 0, total, 1, &tables[2], &models[2]);
    if (!code)
        code = ask(bench, models, 3, total, &out->third_ns, &ignored);
    while (!code && low + 1 < high) { /* it works at high, not at low */
        int64_t middle = low + (high - low) / 2;
        code = second_works(bench, profile, middle, &works);
        if (works)
            high = middle;
        else
            low = middle;
    }
    out->least_total = high;
    return code;
}
