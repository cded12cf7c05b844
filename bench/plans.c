/* Plans, asked for with the command line's options and shown with reasons. */
#include <string.h>

#include "bench.h"
#include "table.h"

static const char *const states[] = { "active", "empty", "benched" };
static const char *const bounds[] = { "speed", "memory", "quantum", "min",
                                      "max",   "link",   "dtype",   "dropped" };

static const char *state_name(int32_t state)
{
    return state >= 0 && state <= HDP_BENCHED ? states[state] : "?";
}

static const char *bound_name(int32_t bound)
{
    return bound >= 0 && bound <= HDP_BOUND_DROPPED ? bounds[bound] : "?";
}

/* A share that nothing but the rule itself bounds. */
static const char *rule_reason(const hdp_plan_info *info, int rank)
{
    static const char *const reasons[] = {
        [HDP_RULE_FINISH] = "as much as it can do while the others work",
        [HDP_RULE_PROPORTIONAL] = "in proportion to its speed",
        [HDP_RULE_EQUAL] = "as many as the others",
        [HDP_RULE_SINGLE] = "all: it is the fastest alone",
        [HDP_RULE_MANUAL] = "its part of what was asked",
    };

    if (info->total == 0)
        return "nothing: there are no items";
    if (info->items[rank] == 0 && info->rule == HDP_RULE_FINISH)
        return "nothing: the others end as soon without it";
    if (info->items[rank] == 0 && info->rule == HDP_RULE_SINGLE)
        return "nothing: another does it all";
    return info->rule >= 0 && info->rule <= HDP_RULE_MANUAL
               ? reasons[info->rule]
               : "?";
}

const char *plans_reason(const hdp_plan_info *info, int rank)
{
    static const char *const reasons[] = {
        [HDP_BOUND_SPEED] = NULL,
        [HDP_BOUND_MEMORY] = "as much as its memory holds",
        [HDP_BOUND_QUANTUM] = "the nearest multiple of the quantum",
        [HDP_BOUND_MIN] = "its minimum, though the step gets longer",
        [HDP_BOUND_MAX] = "its maximum",
        [HDP_BOUND_LINK] = "as much as its link can carry in that time",
        [HDP_BOUND_DTYPE] = "nothing: it cannot compute this type",
        [HDP_BOUND_DROPPED] = "nothing: any share would lengthen the step",
    };
    int32_t bound = info->bound_by[rank];

    if (info->state[rank] == HDP_BENCHED)
        return "nothing, and left out of the reduce as well";
    if (bound == HDP_BOUND_SPEED ||
        (bound == HDP_BOUND_LINK && info->rule != HDP_RULE_FINISH))
        return rule_reason(info, rank);
    return bound >= 0 && bound <= HDP_BOUND_DROPPED ? reasons[bound] : "?";
}

int plans_options(struct bench *bench, const hdp_profile *profile, int32_t rule,
                  hdp_split_options *split)
{
    const struct options *from = &bench->options;
    hdp_profile_info info;

    hdp_options_init(&info, sizeof info);
    int code = library_try(bench, hdp_profile_get(&info, profile));
    if (code)
        return code;
    hdp_options_init(split, sizeof *split);
    split->rule = rule;
    split->quantum = from->quantum;
    split->item_bytes = from->item_bytes;
    split->fixed_bytes = from->fixed_bytes;
    split->keep_free_bytes = from->keep_free_bytes;
    split->in_bytes = from->in_bytes;
    split->out_bytes = from->out_bytes;
    split->reduce_bytes = from->reduce_bytes;
    split->overlap = from->overlap > 0;
    split->may_bench = from->bench_members > 0;
    if (rule == HDP_RULE_MANUAL) {
        if (from->ratio_count != info.member_count)
            return failure_usage(&bench->failure, "--rule", 0,
                                 "--rule manual: %d ratios for %d members",
                                 from->ratio_count, (int)info.member_count);
        split->ratios = from->ratios;
    }
    return EXIT_OK;
}

int plans_split(struct bench *bench, const hdp_profile *profile, int32_t rule,
                int64_t total, hdp_plan **out)
{
    hdp_split_options split;
    int code = plans_options(bench, profile, rule, &split);

    if (code)
        return code;
    return library_try(bench, hdp_split(out, profile, total, &split));
}

static json_t *names_json(const int32_t *values, int32_t count,
                          const char *(*name)(int32_t))
{
    json_t *array = json_array();

    for (int32_t i = 0; i < count; ++i)
        json_array_append_new(array, json_string(name(values[i])));
    return array;
}

json_t *plans_json(const struct bench *bench, const hdp_plan *plan)
{
    const struct options *from = &bench->options;
    hdp_plan_info info;
    json_t *json = json_object(), *why = json_array();

    hdp_options_init(&info, sizeof info);
    if (hdp_plan_get(&info, plan) != HDP_OK)
        return json;
    int count = info.rank_count;
    json_object_set_new(json, "rule",
                        json_string(options_rule_name(info.rule)));
    json_object_set_new(json, "total", json_integer(info.total));
    json_object_set_new(json, "quantum", json_integer(info.quantum));
    if (info.quantum == 0) /* they differ */
        json_object_set_new(json, "quanta", document_ints(info.quanta, count));
    json_object_set_new(json, "asked",
                        info.rule == HDP_RULE_MANUAL && from->ratio_count
                            ? document_reals(from->ratios, from->ratio_count)
                            : json_null());
    json_object_set_new(json, "shares", document_ints(info.items, count));
    json_object_set_new(json, "offsets", document_ints(info.offsets, count));
    json_object_set_new(json, "weights", document_reals(info.weights, count));
    json_object_set_new(json, "rank_ns",
                        document_ints(info.predicted_ns, count));
    json_object_set_new(json, "predicted_ns", json_integer(info.step_ns));
    json_object_set_new(json, "lower_bound_ns",
                        json_integer(info.lower_bound_ns));
    json_object_set_new(json, "gap", document_real(info.gap));
    json_object_set_new(json, "state",
                        names_json(info.state, count, state_name));
    json_object_set_new(json, "bound_by",
                        names_json(info.bound_by, count, bound_name));
    for (int i = 0; i < count; ++i)
        json_array_append_new(why, json_string(plans_reason(&info, i)));
    json_object_set_new(json, "why", why);
    json_object_set_new(json, "equal_ns",
                        info.equal_ns < 0 ? json_null()
                                          : json_integer(info.equal_ns));
    json_object_set_new(json, "best_single_ns",
                        info.best_single_ns < 0
                            ? json_null()
                            : json_integer(info.best_single_ns));
    return json;
}

static void compare_line(FILE *out, const char *what, int64_t ns,
                         int64_t step_ns, const char *impossible)
{
    char time[24];

    if (ns < 0) {
        fprintf(out, "%-12s %s\n", what, impossible);
        return;
    }
    fprintf(out, "%-12s %s", what, table_ns(time, (double)ns));
    if (step_ns > 0 && ns < INT64_MAX)
        fprintf(out, ", %.2f x the time", (double)ns / (double)step_ns);
    fputc('\n', out);
}

/* What keeps shares from being equal shows in the plan that comes closest. */
static void why_not_equal(struct bench *bench, const hdp_profile *profile,
                          int64_t total, char *text, size_t size)
{
    static const char *const words[] = {
        [HDP_BOUND_SPEED] = NULL,
        [HDP_BOUND_MEMORY] = "holds no more in its memory",
        [HDP_BOUND_QUANTUM] = "gets the rest of the quantum",
        [HDP_BOUND_MIN] = "has a larger minimum",
        [HDP_BOUND_MAX] = "has a lower maximum",
        [HDP_BOUND_LINK] = NULL,
        [HDP_BOUND_DTYPE] = "cannot compute this type",
        [HDP_BOUND_DROPPED] = NULL,
    };
    hdp_split_options split;
    hdp_plan_info info;
    hdp_plan *plan = NULL;

    snprintf(text, size, "does not fit");
    hdp_options_init(&info, sizeof info);
    if (!plans_options(bench, profile, HDP_RULE_EQUAL, &split) &&
        hdp_split(&plan, profile, total, &split) == HDP_OK &&
        hdp_plan_get(&info, plan) == HDP_OK) {
        snprintf(text, size, "not possible");
        for (int i = info.rank_count; i-- > 0;) {
            const char *why = words[info.bound_by[i]];
            if (why)
                snprintf(text, size, "not possible: rank %d %s", i, why);
        }
    }
    hdp_plan_destroy(plan);
}

/* Ranks that got their share for the same reason, 0-2, 5. */
static int tell_ranks(FILE *out, const hdp_plan_info *info, int first)
{
    const char *reason = plans_reason(info, first);
    int length = 0;

    for (int i = first; i < info->rank_count; ++i) {
        int begin = i;
        if (plans_reason(info, i) != reason)
            continue;
        while (i + 1 < info->rank_count && plans_reason(info, i + 1) == reason)
            ++i;
        length += fprintf(out, "%s%d", length ? ", " : "", begin);
        if (i > begin)
            length += fprintf(out, "-%d", i);
    }
    return length;
}

/* Each reason once, below the shares: beside them it would be too wide. */
static void tell_reasons(FILE *out, const hdp_plan_info *info)
{
    enum { REASONS_MAX = 16 };
    const char *told[REASONS_MAX];
    int count = 0, t;

    fputc('\n', out);
    for (int i = 0; i < info->rank_count && count < REASONS_MAX; ++i) {
        const char *reason = plans_reason(info, i);
        for (t = 0; t < count && told[t] != reason;)
            ++t;
        if (t < count)
            continue;
        told[count++] = reason;
        fputs("rank ", out);
        int width = 7 - tell_ranks(out, info, i);
        fprintf(out, "%*s %s\n", width > 0 ? width : 0, "", reason);
    }
}

/* The device; of a saved profile alone, whom it was measured on. */
static const char *rank_label(struct bench *bench, int rank, char *text,
                              size_t size)
{
    json_t *profile = json_object_get(bench->document.root, "profile");
    json_t *member =
        json_array_get(json_object_get(profile, "members"), (size_t)rank);
    const char *key = json_string_value(json_object_get(member, "key"));

    if (rank < bench->members)
        return library_label(&bench->devices[rank], text, size);
    return key && !bench->group ? key : "-";
}

/* With what was asked, and each rank's quantum, where there is such. */
static void tell_shares(struct bench *bench, const hdp_plan_info *info)
{
    const struct options *options = &bench->options;
    int asked = info->rule == HDP_RULE_MANUAL &&
                options->ratio_count == info->rank_count;
    int quanta = info->quantum == 0, columns = 0;
    const char *titles[TABLE_COLUMNS_MAX + 1] = { NULL };
    struct table table;
    char time[24], text[TABLE_CELL_MAX], alignment[TABLE_COLUMNS_MAX + 1];
    double sum = 0;

    titles[columns++] = "rank";
    titles[columns++] = "device";
    titles[columns++] = "items";
    titles[columns++] = "share";
    if (asked)
        titles[columns++] = "asked";
    if (quanta)
        titles[columns++] = "quantum";
    titles[columns++] = "from";
    titles[columns++] = "takes";
    for (int i = 0; asked && i < info->rank_count; ++i)
        sum += options->ratios[i] / 2; /* two of the largest fit */
    snprintf(alignment, sizeof alignment, "%.*s", columns, "rlrrrrrr");
    table_open(&table, alignment, titles);
    for (int i = 0; i < info->rank_count; ++i) {
        table_cell(&table, "%d", i);
        table_cell(&table, "%s", rank_label(bench, i, text, sizeof text));
        table_cell(&table, "%lld", (long long)info->items[i]);
        table_cell(&table, "%.2f %%", 100 * info->weights[i]);
        if (asked)
            table_cell(&table, "%.2f %%", 50 * (options->ratios[i] / sum));
        if (quanta)
            table_cell(&table, "%lld", (long long)info->quanta[i]);
        table_cell(&table, "%lld", (long long)info->offsets[i]);
        table_cell(&table, "%s", table_ns(time, (double)info->predicted_ns[i]));
    }
    table_close(&table, bench->document.text);
}

void plans_table(struct bench *bench, const hdp_profile *profile,
                 const hdp_plan *plan)
{
    FILE *out = bench->document.text;
    hdp_plan_info info;
    char time[24], text[TABLE_CELL_MAX] = "";

    hdp_options_init(&info, sizeof info);
    if (hdp_plan_get(&info, plan) != HDP_OK)
        return;
    fprintf(out, "\nrule %s: %lld items, ", options_rule_name(info.rule),
            (long long)info.total);
    if (info.quantum)
        fprintf(out, "quantum %lld\n\n", (long long)info.quantum);
    else
        fputs("each rank with its own quantum\n\n", out);
    tell_shares(bench, &info);
    tell_reasons(out, &info);
    fprintf(out, "\n%-12s %s", "step", table_ns(time, (double)info.step_ns));
    fprintf(out, " predicted; lower bound %s, gap %.3g\n",
            table_ns(time, (double)info.lower_bound_ns), info.gap);
    if (info.equal_ns < 0)
        why_not_equal(bench, profile, info.total, text, sizeof text);
    compare_line(out, "equal", info.equal_ns, info.step_ns, text);
    compare_line(out, "best single", info.best_single_ns, info.step_ns,
                 "no device holds it alone");
}
