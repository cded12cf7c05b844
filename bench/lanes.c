/* Rounds of lanes. Step times come from this program's own clock; where a
 * member is simulated, from the model's clock in the library's report. */
#include "lanes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void lanes_open(struct lanes *lanes, struct bench *bench)
{
    memset(lanes, 0, sizeof *lanes);
    lanes->bench = bench;
    lanes->members = bench->members;
}

void lanes_close(struct lanes *lanes)
{
    for (int i = 0; i < lanes->count; ++i) {
        hdp_plan_destroy(lanes->lane[i].plan);
        free(lanes->lane[i].step_ns);
        free(lanes->lane[i].member_ns);
    }
    lanes->count = 0;
}

static int add(struct lanes *lanes, hdp_plan *plan, struct lane **out)
{
    hdp_plan_info info;

    if (lanes->count == LANES_MAX) {
        hdp_plan_destroy(plan);
        return failure_own(&lanes->bench->failure, EXIT_USAGE, HDP_ERR_ARGUMENT,
                           "too many members to measure each one's curve");
    }
    struct lane *lane = &lanes->lane[lanes->count++];
    memset(lane, 0, sizeof *lane);
    lane->plan = plan;
    lane->rule = lane->alone = -1;
    hdp_options_init(&info, sizeof info);
    int code = library_try(lanes->bench, hdp_plan_get(&info, plan));
    if (code)
        return code;
    lane->items = info.items;
    lane->total = info.total;
    *out = lane;
    return EXIT_OK;
}

int lanes_add_rule(struct lanes *lanes, int32_t rule, hdp_plan *plan)
{
    struct lane *lane;
    int code = add(lanes, plan, &lane);

    if (!code) {
        lane->rule = rule;
        snprintf(lane->name, sizeof lane->name, "%s", options_rule_name(rule));
    }
    return code;
}

/* Part `part` of every share, or of `alone`'s and nothing of the others'. */
static int add_point(struct lanes *lanes, const int64_t *shares,
                     int64_t quantum, int32_t alone, double part)
{
    int64_t *items = calloc((size_t)lanes->members, sizeof *items);
    hdp_plan *plan = NULL;
    struct lane *lane;

    if (!items)
        return library_no_memory(lanes->bench);
    for (int32_t m = 0; m < lanes->members; ++m) {
        if (alone >= 0 && m != alone)
            continue;
        int64_t blocks =
            (int64_t)((double)shares[m] * part / (double)quantum + 0.5);
        items[m] = (blocks < 1 ? 1 : blocks) * quantum;
    }
    int code = library_try(lanes->bench,
                           hdp_plan_create(&plan, items, lanes->members));
    free(items);
    if (!code)
        code = add(lanes, plan, &lane);
    if (!code) {
        lane->alone = alone;
        snprintf(lane->name, sizeof lane->name, "curve");
    }
    return code;
}

int lanes_add_curves(struct lanes *lanes, const hdp_plan *plan, int64_t quantum)
{
    static const double together[] = { 0.8, 0.9, 1.0, 1.1, 1.2 };
    static const double alone[] = { 0.8, 1.2 };
    int64_t *shares = calloc((size_t)lanes->members, sizeof *shares);
    hdp_plan_info info;

    if (!shares)
        return library_no_memory(lanes->bench);
    hdp_options_init(&info, sizeof info);
    int code = library_try(lanes->bench, hdp_plan_get(&info, plan));
    quantum = quantum < 1 ? 1 : quantum;
    /* A member without a share is looked at where a small one would be. */
    for (int32_t m = 0; !code && m < lanes->members; ++m)
        shares[m] = info.items[m] > 0 ? info.items[m]
                                      : info.total / (8 * lanes->members);
    for (int i = 0; !code && i < 5; ++i)
        code = add_point(lanes, shares, quantum, -1, together[i]);
    for (int32_t m = 0; m < lanes->members; ++m)
        for (int i = 0; !code && i < 2; ++i)
            if (lanes->members <= LANE_MEMBERS_ALONE_MAX)
                code = add_point(lanes, shares, quantum, m, alone[i]);
    free(shares);
    return code;
}

int64_t lanes_largest_total(const struct lanes *lanes)
{
    int64_t largest = 0;

    for (int i = 0; i < lanes->count; ++i)
        if (lanes->lane[i].total > largest)
            largest = lanes->lane[i].total;
    return largest;
}

static int grow(struct lanes *lanes, int64_t rounds)
{
    size_t capacity = (size_t)(lanes->kept + rounds) + 1; /* never 0 */

    for (int i = 0; i < lanes->count; ++i) {
        struct lane *lane = &lanes->lane[i];
        double *steps = realloc(lane->step_ns, capacity * sizeof *steps);
        if (!steps)
            return library_no_memory(lanes->bench);
        lane->step_ns = steps;
        double *members =
            realloc(lane->member_ns,
                    capacity * (size_t)lanes->members * sizeof *members);
        if (!members)
            return library_no_memory(lanes->bench);
        lane->member_ns = members;
    }
    lanes->capacity = (int64_t)capacity;
    return EXIT_OK;
}

/* One step; round < 0: not kept. */
static int step(struct lanes *lanes, const struct lane *lane,
                const hdp_work *work, int64_t round)
{
    struct bench *bench = lanes->bench;
    hdp_report *report = NULL;
    hdp_report_info info;

    hdp_options_init(&info, sizeof info);
    int64_t start_ns = library_now();
    int code =
        library_try(bench, hdp_run(&report, bench->group, lane->plan, work));
    int64_t took_ns = library_now() - start_ns;
    if (!code)
        code = library_try(bench, hdp_report_get(&info, report));
    if (!code && round >= 0) {
        lane->step_ns[round] =
            (double)(bench->simulated ? info.step_ns : took_ns);
        for (int m = 0; m < lanes->members; ++m)
            lane->member_ns[round * lanes->members + m] =
                info.compute_ns[m] < 0 ? 0 : (double)info.compute_ns[m];
    }
    hdp_report_destroy(report);
    return code;
}

int lanes_step(struct lanes *lanes, const struct lane *lane,
               const hdp_work *work)
{
    return step(lanes, lane, work, -1);
}

int lanes_run(struct lanes *lanes, const hdp_work *work, int64_t warmup,
              int64_t rounds, const char *phase)
{
    int code = grow(lanes, rounds);

    for (int64_t r = -warmup; !code && r < rounds; ++r) {
        int64_t slot = r < 0 ? -1 : lanes->kept;
        /* Each round starts one lane further: none is always the first. */
        for (int i = 0; !code && i < lanes->count; ++i) {
            int64_t at = (i + r + warmup) % lanes->count;
            code = step(lanes, &lanes->lane[at], work, slot);
        }
        lanes->kept += r >= 0 && !code;
        if (r >= 0)
            notes_progress(&lanes->bench->notes, phase, r + 1, rounds);
    }
    return code;
}

const struct lane *lanes_rule(const struct lanes *lanes, int32_t rule)
{
    for (int i = 0; i < lanes->count; ++i)
        if (lanes->lane[i].rule == rule)
            return &lanes->lane[i];
    return NULL;
}

double lanes_median(const struct lanes *lanes, const struct lane *lane)
{
    struct stats stats;

    stats_of(&stats, lane->step_ns, (size_t)lanes->kept);
    return stats.median;
}

double lanes_member_median(const struct lanes *lanes, const struct lane *lane,
                           int32_t member)
{
    double *values = calloc((size_t)lanes->kept + 1, sizeof *values);
    double median = 0;

    for (int64_t r = 0; values && r < lanes->kept; ++r)
        values[r] = lane->member_ns[r * lanes->members + member];
    if (values)
        median = stats_median(values, (size_t)lanes->kept);
    free(values);
    return median;
}

int64_t lanes_median_round(const struct lanes *lanes, const struct lane *lane)
{
    double median = lanes_median(lanes, lane);
    int64_t best = 0;

    for (int64_t r = 1; r < lanes->kept; ++r)
        if (fabs(lane->step_ns[r] - median) <
            fabs(lane->step_ns[best] - median))
            best = r;
    return best;
}

/* What a member took in a lane where all work: its own compute, and what the
 * step took beyond the slowest member's (reduce, hand-over). Median. */
static double time_within(const struct lanes *lanes, const struct lane *lane,
                          int32_t member)
{
    double *values = calloc((size_t)lanes->kept + 1, sizeof *values);
    double median = 0;

    for (int64_t r = 0; values && r < lanes->kept; ++r) {
        const double *row = lane->member_ns + r * lanes->members;
        double slowest = 0;
        for (int m = 0; m < lanes->members; ++m)
            slowest = row[m] > slowest ? row[m] : slowest;
        values[r] = row[member] + (lane->step_ns[r] - slowest);
    }
    if (values)
        median = stats_median(values, (size_t)lanes->kept);
    free(values);
    return median;
}

static void curve_add(struct curve *curve, int64_t items, double ns)
{
    if (curve->count == OPTIMUM_POINTS_MAX ||
        (curve->count && curve->items[curve->count - 1] >= items))
        return; /* small shares: several parts of them are the same */
    curve->items[curve->count] = items;
    curve->ns[curve->count++] = ns;
}

void lanes_curves(const struct lanes *lanes, int alone, struct curve *out)
{
    memset(out, 0, (size_t)lanes->members * sizeof *out);
    for (int i = 0; i < lanes->count; ++i) {
        const struct lane *lane = &lanes->lane[i];
        if (lane->rule >= 0)
            continue;
        if (alone && lane->alone >= 0)
            curve_add(&out[lane->alone], lane->total,
                      lanes_median(lanes, lane));
        for (int m = 0; !alone && lane->alone < 0 && m < lanes->members; ++m)
            curve_add(&out[m], lane->items[m], time_within(lanes, lane, m));
    }
    for (int m = 0; m < lanes->members; ++m)
        curve_smooth(&out[m]);
}

int lanes_check(struct lanes *lanes, struct workload *workload)
{
    struct bench *bench = lanes->bench;
    struct workload_check check, worst = { .ok = 1 };
    json_t *json = json_object(), *rules = json_object();
    const char *failed = NULL;
    int code = EXIT_OK;

    workload->ops->hold(workload, 1);
    for (int i = 0; !code && i < lanes->count; ++i) {
        struct lane *lane = &lanes->lane[i];
        if (lane->rule < 0)
            continue;
        if ((code = lanes_step(lanes, lane, &workload->work)))
            break;
        workload_check(workload, lane->items, lane->total, &check);
        json_object_set_new(rules, lane->name,
                            document_real(check.max_rel_error));
        if (!check.ok && !failed)
            failed = lane->name;
        if (!worst.against || !(check.max_rel_error <= worst.max_rel_error))
            worst = check;
    }
    workload->ops->hold(workload, 0);
    json_object_set_new(json, "ok", json_boolean(!code && !failed));
    json_object_set_new(json, "max_rel_error",
                        document_real(worst.max_rel_error));
    json_object_set_new(json, "tolerance", document_real(worst.tolerance));
    json_object_set_new(json, "against", document_text_or_null(worst.against));
    json_object_set_new(json, "rules", rules);
    document_set(&bench->document, "check", json);
    if (!code && failed)
        code = failure_own(&bench->failure, EXIT_CHECK, HDP_OK,
                           "results under rule %s differ from %s: %.3g, "
                           "tolerance %.3g",
                           failed, worst.against, worst.max_rel_error,
                           worst.tolerance);
    return code;
}
