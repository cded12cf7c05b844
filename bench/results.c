/* Rounds evaluated. */
#include "results.h"

#include <stdlib.h>
#include <string.h>

#include "table.h"

static double median_of_rule(const struct lanes *lanes, int32_t rule)
{
    const struct lane *lane = lanes_rule(lanes, rule);

    return lane ? lanes_median(lanes, lane) : 0;
}

/* The optimum over one kind of curves; < 0 when a member has none. */
static double optimum_over(const struct lanes *lanes, int alone, int64_t total,
                           int64_t quantum, struct curve *curves,
                           int64_t *out_items)
{
    lanes_curves(lanes, alone, curves);
    for (int m = 0; m < lanes->members; ++m)
        if (curves[m].count == 0)
            return -1;
    return optimum_find(curves, lanes->members, total, quantum, out_items);
}

int results_of(struct results *out, const struct lanes *lanes, int64_t total,
               int64_t quantum)
{
    size_t members = (size_t)lanes->members;
    struct curve *curves = calloc(members, sizeof *curves);
    const struct lane *finish = lanes_rule(lanes, HDP_RULE_FINISH);
    struct stats stats;

    memset(out, 0, sizeof *out);
    out->optimum = calloc(members, sizeof *out->optimum);
    if (!curves || !out->optimum) {
        free(curves);
        return library_no_memory(lanes->bench);
    }
    out->equal_ns = median_of_rule(lanes, HDP_RULE_EQUAL);
    out->single_ns = median_of_rule(lanes, HDP_RULE_SINGLE);
    if (finish && stats_of(&stats, finish->step_ns, (size_t)lanes->kept)) {
        out->finish_ns = stats.median;
        out->finish_spread = stats.spread;
    }
    out->alone_ns = optimum_over(lanes, 1, total, quantum, curves, NULL);
    out->optimum_ns =
        optimum_over(lanes, 0, total, quantum, curves, out->optimum);
    if (out->optimum_ns > 0 && out->finish_ns > 0)
        out->efficiency = out->optimum_ns / out->finish_ns;
    free(curves);
    return EXIT_OK;
}

void results_close(struct results *results)
{
    free(results->optimum);
    results->optimum = NULL;
}

static json_t *ratio_or_null(double above, double below)
{
    return above > 0 && below > 0 ? document_real(above / below) : json_null();
}

static json_t *rule_json(const struct results *results,
                         const struct lanes *lanes, const struct lane *lane)
{
    json_t *json = json_object(), *members = json_array();
    double median = lanes_median(lanes, lane);

    for (int m = 0; m < lanes->members; ++m)
        json_array_append_new(members,
                              document_ns(lanes_member_median(lanes, lane, m)));
    json_object_set_new(json, "rule", json_string(lane->name));
    json_object_set_new(json, "shares",
                        document_ints(lane->items, lanes->members));
    json_object_set_new(json, "step_ns",
                        document_sample(lane->step_ns, (size_t)lanes->kept));
    json_object_set_new(json, "member_ns", members);
    json_object_set_new(json, "efficiency",
                        ratio_or_null(results->optimum_ns, median));
    json_object_set_new(json, "speedup_vs_equal",
                        ratio_or_null(results->equal_ns, median));
    json_object_set_new(json, "speedup_vs_best_single",
                        ratio_or_null(results->single_ns, median));
    return json;
}

json_t *results_json(const struct results *results, const struct lanes *lanes)
{
    json_t *array = json_array();

    for (int i = 0; i < lanes->count; ++i)
        if (lanes->lane[i].rule >= 0)
            json_array_append_new(array,
                                  rule_json(results, lanes, &lanes->lane[i]));
    return array;
}

json_t *results_optimum_json(const struct results *results,
                             const struct lanes *lanes)
{
    json_t *json = json_object();

    json_object_set_new(json, "shares",
                        document_ints(results->optimum, lanes->members));
    json_object_set_new(json, "step_ns", document_ns(results->optimum_ns));
    json_object_set_new(json, "step_ns_if_alone",
                        results->alone_ns > 0 ? document_ns(results->alone_ns)
                                              : json_null());
    return json;
}

static json_t *points_json(const struct curve *curve)
{
    json_t *points = json_array();

    for (int i = 0; i < curve->count; ++i) {
        json_t *point = json_array();
        json_array_append_new(point, json_integer(curve->items[i]));
        json_array_append_new(point, document_ns(curve->ns[i]));
        json_array_append_new(points, point);
    }
    return points;
}

json_t *results_curves_json(const struct lanes *lanes)
{
    size_t members = (size_t)lanes->members;
    struct curve *all = calloc(2 * members, sizeof *all);
    json_t *array = json_array();

    if (all) {
        lanes_curves(lanes, 0, all);
        lanes_curves(lanes, 1, all + members);
    }
    for (int m = 0; all && m < lanes->members; ++m) {
        json_t *curve = json_object();
        json_object_set_new(curve, "member", json_integer(m));
        json_object_set_new(curve, "together", points_json(&all[m]));
        json_object_set_new(curve, "alone",
                            points_json(&all[members + (size_t)m]));
        json_array_append_new(array, curve);
    }
    free(all);
    return array;
}

enum { SHARES_SHOWN = 6 };

static void share_text(char *out, size_t size, const struct lanes *lanes,
                       const int64_t *items)
{
    size_t used = 0;
    int64_t least = items[0], most = items[0];

    out[0] = 0;
    for (int m = 1; m < lanes->members; ++m) {
        least = items[m] < least ? items[m] : least;
        most = items[m] > most ? items[m] : most;
    }
    if (lanes->members > SHARES_SHOWN) {
        snprintf(out, size, "%lld to %lld each", (long long)least,
                 (long long)most);
        return;
    }
    for (int m = 0; m < lanes->members && used + 1 < size; ++m)
        used += (size_t)snprintf(out + used, size - used, "%s%lld",
                                 m ? " + " : "", (long long)items[m]);
}

static void ratio_cell(struct table *table, const char *format, double above,
                       double below)
{
    if (above > 0 && below > 0)
        table_cell(table, format, above / below);
    else
        table_cell(table, "-");
}

void results_table(const struct results *results, const struct lanes *lanes,
                   FILE *out)
{
    static const char *const titles[] = { "rule",           "shares",
                                          "step",           "MAD",
                                          "vs equal",       "vs single",
                                          "of the optimum", NULL };
    struct table table;
    struct stats stats;
    char text[TABLE_CELL_MAX];

    table_open(&table, "lrrrrrr", titles);
    for (int i = 0; i < lanes->count; ++i) {
        const struct lane *lane = &lanes->lane[i];
        if (lane->rule < 0 ||
            !stats_of(&stats, lane->step_ns, (size_t)lanes->kept))
            continue;
        table_cell(&table, "%s", lane->name);
        share_text(text, sizeof text, lanes, lane->items);
        table_cell(&table, "%s", text);
        table_cell(&table, "%s", table_ns(text, stats.median));
        table_cell(&table, "%.1f %%", 100 * stats.spread);
        ratio_cell(&table, "%.2f x", results->equal_ns, stats.median);
        ratio_cell(&table, "%.2f x", results->single_ns, stats.median);
        ratio_cell(&table, "%.3f", results->optimum_ns, stats.median);
    }
    if (results->optimum_ns > 0) {
        share_text(text, sizeof text, lanes, results->optimum);
        table_cell(&table, "(optimum)");
        table_cell(&table, "%s", text);
        table_cell(&table, "%s", table_ns(text, results->optimum_ns));
        table_cell(&table, "-");
        ratio_cell(&table, "%.2f x", results->equal_ns, results->optimum_ns);
        ratio_cell(&table, "%.2f x", results->single_ns, results->optimum_ns);
        table_cell(&table, "1");
    }
    table_close(&table, out);
}
