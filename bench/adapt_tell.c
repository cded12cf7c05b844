/* A trajectory as a table for people and as the section that pictures are made
 * from. */
#include <stdio.h>

#include "adapt.h"
#include "table.h"

/* "start", or what was declared for the step. */
static void name_phase(const struct trajectory *trajectory,
                       const struct bench *bench, const struct phase *phase,
                       char *out, size_t size)
{
    size_t used = 0;

    for (int i = 0; i < trajectory->slow_count && used < size; ++i) {
        const struct slow *slow = &trajectory->slows[i];
        if (slow->step != phase->begin)
            continue;
        used += (size_t)snprintf(out + used, size - used,
                                 "%smember %d (%.20s) "
                                 "%sx",
                                 used ? ", " : "", (int)slow->member,
                                 bench->devices[slow->member].spec,
                                 slow->factor_text);
    }
    if (used == 0)
        snprintf(out, size, "start");
}

/* ---- for programs -------------------------------------------------------- */

static json_t *resplits_json(const struct trajectory *trajectory)
{
    json_t *list = json_array();

    for (int64_t s = 1; s < trajectory->kept; ++s) {
        if (!trajectory_resplit(trajectory, s))
            continue;
        json_t *row = json_object();
        json_object_set_new(row, "step", json_integer(s));
        json_object_set_new(
            row, "shares",
            document_ints(trajectory->shares + s * trajectory->members,
                          trajectory->members));
        json_array_append_new(list, row);
    }
    return list;
}

static json_t *disturbances_json(const struct trajectory *trajectory)
{
    json_t *list = json_array();

    for (int i = 0; i < trajectory->slow_count; ++i) {
        const struct slow *slow = &trajectory->slows[i];
        json_t *row = json_object();
        json_object_set_new(row, "step", json_integer(slow->step));
        json_object_set_new(row, "device", json_integer(slow->member));
        json_object_set_new(row, "factor", document_real(slow->factor));
        json_array_append_new(list, row);
    }
    return list;
}

static json_t *phase_json(const struct trajectory *trajectory,
                          const struct bench *bench, const struct phase *phase)
{
    json_t *row = json_object();
    char name[160];

    name_phase(trajectory, bench, phase, name, sizeof name);
    json_object_set_new(row, "step", json_integer(phase->begin));
    json_object_set_new(row, "text", json_string(name));
    json_object_set_new(row, "optimum_ns", document_ns(phase->optimum_ns));
    json_object_set_new(row, "optimum",
                        document_ints(phase->optimum, trajectory->members));
    json_object_set_new(row, "steps_to_goal",
                        phase->reached < 0 ? json_null()
                                           : json_integer(phase->reached));
    json_object_set_new(row, "resplits", json_integer(phase->resplits));
    json_object_set_new(row, "lost_steps", document_real(phase->lost_steps));
    json_object_set_new(row, "efficiency",
                        phase->efficiency > 0 ? document_real(phase->efficiency)
                                              : json_null());
    return row;
}

json_t *adapt_json(const struct trajectory *trajectory,
                   const struct bench *bench)
{
    json_t *json = json_object(), *times = json_array(), *phases = json_array();

    for (int64_t s = 0; s < trajectory->kept; ++s)
        json_array_append_new(times, document_ns(trajectory->step_ns[s]));
    for (int i = 0; i < trajectory->phase_count; ++i)
        json_array_append_new(
            phases, phase_json(trajectory, bench, &trajectory->phases[i]));
    json_object_set_new(json, "goal", document_real(trajectory->goal));
    json_object_set_new(json, "step_ns", times);
    json_object_set_new(json, "shares",
                        document_ints(trajectory->shares, trajectory->members));
    json_object_set_new(json, "resplits", resplits_json(trajectory));
    json_object_set_new(json, "disturbances", disturbances_json(trajectory));
    json_object_set_new(json, "phases", phases);
    return json;
}

/* ---- for people ---------------------------------------------------------- */

static void print_shares(FILE *out, const struct trajectory *trajectory,
                         int64_t step)
{
    const int64_t *shares = trajectory->shares + step * trajectory->members;

    fprintf(out, "step %-6lld", (long long)step);
    for (int32_t m = 0; m < trajectory->members; ++m)
        fprintf(out, " %lld", (long long)shares[m]);
    fprintf(out, "\n");
}

/* The first, and those after each re-split; of many the last ones. */
static void print_all_shares(FILE *out, const struct trajectory *trajectory)
{
    enum { LINES_MAX = 20 };
    int64_t skip = -LINES_MAX;

    for (int64_t s = 1; s < trajectory->kept; ++s)
        skip += trajectory_resplit(trajectory, s);
    fprintf(out, "\nshares\n");
    print_shares(out, trajectory, 0);
    if (skip > 0)
        fprintf(out, "... %lld re-splits\n", (long long)skip);
    for (int64_t s = 1; s < trajectory->kept; ++s)
        if (trajectory_resplit(trajectory, s) && skip-- <= 0)
            print_shares(out, trajectory, s);
}

void adapt_table(const struct trajectory *trajectory, struct bench *bench)
{
    FILE *out = bench->document.text;
    char goal[24], name[160], time[24];
    const char *const titles[] = { "from step",  "declared",  "optimum",
                                   goal,         "re-splits", "lost steps",
                                   "efficiency", NULL };
    struct table table;

    snprintf(goal, sizeof goal, "to %.2f of it", trajectory->goal);
    table_open(&table, "rlrrrrr", titles);
    for (int i = 0; i < trajectory->phase_count; ++i) {
        const struct phase *phase = &trajectory->phases[i];
        name_phase(trajectory, bench, phase, name, sizeof name);
        table_cell(&table, "%lld", (long long)phase->begin);
        table_cell(&table, "%s", name);
        table_cell(&table, "%s", table_ns(time, phase->optimum_ns));
        if (phase->reached < 0)
            table_cell(&table, "never");
        else
            table_cell(&table, "%lld steps", (long long)phase->reached);
        table_cell(&table, "%lld", (long long)phase->resplits);
        table_cell(&table, "%.2f", phase->lost_steps);
        if (phase->efficiency > 0)
            table_cell(&table, "%.3f", phase->efficiency);
        else
            table_cell(&table, "-");
    }
    table_close(&table, out);
    print_all_shares(out, trajectory);
}
