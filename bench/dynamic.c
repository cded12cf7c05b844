/* The same batches under two policies, and the time that no policy could go
 * below. */
#include "dynamic.h"

#include <math.h>
#include <stdlib.h>

#include "interrupt.h"
#include "table.h"
#include "work/random.h"

static const double ratio_most = 1.03; /* of the bound, on a model's clock */

int dynamic_choose(const struct dynamic *dynamic, hdp_balancer *balancer,
                   int64_t index, int32_t *out_member, uint64_t *out_ticket)
{
    *out_member = (int32_t)(index % dynamic->members);
    *out_ticket = 0;
    if (!balancer)
        return EXIT_OK;
    hdp_status status = hdp_balancer_place(out_member, out_ticket, balancer,
                                           dynamic->items[index]);
    if (status != HDP_ERR_BUSY)
        return library_try(dynamic->bench, status);
    *out_member = -1;
    return EXIT_OK;
}

/* ---- the bound ----------------------------------------------------------- */

/* Whatever prices the members have, a schedule costs no less than each batch
 * where it is cheapest; at prices that sum to 1 that is no more than the time
 * of the busiest member. Each round raises the prices of the busy. */
static double bound_at(const struct dynamic *self, const double *ns,
                       double *price, double *load, double gain)
{
    double sum = 0, all = 0, total = 0;

    for (int32_t m = 0; m < self->members; ++m) {
        all += price[m];
        load[m] = 0;
    }
    for (int64_t i = 0; i < self->count; ++i) {
        const double *row = ns + i * self->members;
        int32_t best = 0;
        for (int32_t m = 1; m < self->members; ++m)
            if (price[m] * row[m] < price[best] * row[best])
                best = m;
        sum += price[best] * row[best];
        load[best] += row[best];
    }
    for (int32_t m = 0; m < self->members; ++m)
        total += load[m];
    for (int32_t m = 0; m < self->members; ++m)
        price[m] *= exp(gain * (load[m] * self->members / total - 1));
    return sum / all;
}

static int fill_times(const struct dynamic *self, const hdp_profile *profile,
                      double *ns, double *longest)
{
    int code = EXIT_OK;

    *longest = 0; /* the largest batch where it takes least */
    for (int64_t i = 0; !code && i < self->count; ++i) {
        double *row = ns + i * self->members, least = HUGE_VAL;
        for (int32_t m = 0; !code && m < self->members; ++m) {
            code =
                library_try(self->bench, hdp_profile_time(&row[m], profile, m,
                                                          self->items[i]));
            least = fmin(least, row[m]);
        }
        *longest = fmax(*longest, least);
    }
    return code;
}

/* By what the members were seen to take in this run. */
static int lower_bound(const struct dynamic *self, const hdp_balancer *balancer,
                       double *out)
{
    enum { ROUNDS = 60 };
    size_t members = (size_t)self->members;
    double *ns = calloc((size_t)self->count * members, sizeof *ns);
    double *price = calloc(members, sizeof *price);
    double *load = calloc(members, sizeof *load);
    hdp_profile *profile = NULL;
    int code = ns && price && load ? EXIT_OK : library_no_memory(self->bench);

    *out = 0;
    if (!code)
        code =
            library_try(self->bench, hdp_balancer_profile(&profile, balancer));
    if (!code)
        code = fill_times(self, profile, ns, out);
    for (int32_t m = 0; !code && m < self->members; ++m)
        price[m] = 1 / fmax(ns[m], 1e-9);
    for (int round = 0; !code && round < ROUNDS; ++round)
        *out = fmax(*out, bound_at(self, ns, price, load, 0.2 / (1 + round)));
    hdp_profile_destroy(profile);
    free(ns);
    free(price);
    free(load);
    return code;
}

/* ---- telling ------------------------------------------------------------- */

static json_t *tally_json(const struct dynamic *self, const char *name,
                          const struct tally *tally, double bound_ns)
{
    json_t *row = json_object();

    json_object_set_new(row, "policy", json_string(name));
    json_object_set_new(row, "clock",
                        json_string(self->simulated ? "model" : "real"));
    json_object_set_new(row, "batches", json_integer(self->count));
    json_object_set_new(row, "largest_items",
                        json_integer(self->bench->options.total));
    json_object_set_new(row, "makespan_ns", document_ns(tally->makespan_ns));
    json_object_set_new(row, "lower_bound_ns", document_ns(bound_ns));
    json_object_set_new(row, "ratio",
                        document_real(tally->makespan_ns / bound_ns));
    json_object_set_new(row, "member_batches",
                        document_ints(tally->batches, self->members));
    json_object_set_new(row, "member_items",
                        document_ints(tally->items, self->members));
    json_object_set_new(row, "member_busy_ns",
                        document_reals(tally->busy_ns, self->members));
    return row;
}

static void print_tally(struct table *table, const struct dynamic *self,
                        const char *name, const struct tally *tally,
                        double bound_ns)
{
    char time[24];
    char text[TABLE_CELL_MAX];
    size_t used = 0;

    table_cell(table, "%s", name);
    table_cell(table, "%s", table_ns(time, tally->makespan_ns));
    table_cell(table, "%.3f", tally->makespan_ns / bound_ns);
    text[0] = '\0';
    for (int32_t m = 0; m < self->members && used < sizeof text; ++m)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld",
                                 m ? " " : "", (long long)tally->batches[m]);
    table_cell(table, "%s", text);
}

static int show(const struct dynamic *self, const struct tally *turns,
                const struct tally *placed, double bound_ns)
{
    static const char *const titles[] = { "policy", "makespan", "of the bound",
                                          "batches a member", NULL };
    struct bench *bench = self->bench;
    FILE *out = bench->document.text;
    json_t *list = json_array();
    struct table table;
    char time[24];

    fprintf(out,
            "# %lld independent batches of 1 to %lld items%s%s, %d in flight a "
            "member%s\n\n",
            (long long)self->count, (long long)bench->options.total,
            self->simulated ? "" : " of work ",
            self->simulated ? "" : options_work_name(bench->options.work),
            DYNAMIC_DEPTH,
            self->simulated ? "; on the model's clock, without the work" : "");
    table_open(&table, "lrrl", titles);
    print_tally(&table, self, "in turn", turns, bound_ns);
    print_tally(&table, self, "ends first", placed, bound_ns);
    table_close(&table, out);
    fprintf(out,
            "\nno policy takes less than %s; placing where it ends first is "
            "%.2f times as fast as in turn\n",
            table_ns(time, bound_ns), turns->makespan_ns / placed->makespan_ns);
    json_array_append_new(list,
                          tally_json(self, "round_robin", turns, bound_ns));
    json_array_append_new(list, tally_json(self, "place", placed, bound_ns));
    document_set(&bench->document, "dynamic", list);
    if (!bench->options.strict)
        return EXIT_OK;
    double most = self->simulated ? ratio_most * bound_ns : turns->makespan_ns;
    if (placed->makespan_ns <= most)
        return EXIT_OK;
    return failure_own(&bench->failure, EXIT_CHECK, HDP_OK,
                       "placed batches take %.3f of the lower bound, in turn "
                       "%.3f",
                       placed->makespan_ns / bound_ns,
                       turns->makespan_ns / bound_ns);
}

/* ---- all of it ----------------------------------------------------------- */

static int open_tally(struct tally *out, size_t members)
{
    out->batches = calloc(members, sizeof *out->batches);
    out->items = calloc(members, sizeof *out->items);
    out->busy_ns = calloc(members, sizeof *out->busy_ns);
    return out->batches && out->items && out->busy_ns;
}

static void close_tally(struct tally *tally)
{
    free(tally->batches);
    free(tally->items);
    free(tally->busy_ns);
}

static int check_members(struct dynamic *self)
{
    struct bench *bench = self->bench;
    int32_t simulated = 0;

    for (int32_t m = 0; m < self->members; ++m)
        simulated += bench->devices[m].kind == HDP_SIM;
    self->simulated = simulated > 0;
    if (simulated == 0 || simulated == self->members)
        return EXIT_OK;
    return failure_usage(&bench->failure, "--devices", 0,
                         "--dynamic: %d of %d members are simulated; a model's "
                         "clock and a real one do not compare",
                         (int)simulated, (int)self->members);
}

static int draw_items(struct dynamic *self)
{
    uint64_t state = (uint64_t)self->bench->options.seed;
    uint64_t most = (uint64_t)self->bench->options.total;

    self->items = calloc((size_t)self->count, sizeof *self->items);
    if (!self->items)
        return library_no_memory(self->bench);
    for (int64_t i = 0; i < self->count; ++i)
        self->items[i] = 1 + (int64_t)(random_next(&state) % most);
    return EXIT_OK;
}

int dynamic_measure(struct bench *bench, const hdp_profile *profile)
{
    struct dynamic self = { .bench = bench,
                            .members = bench->members,
                            .count = bench->options.steps,
                            .window = (int64_t)DYNAMIC_DEPTH * bench->members };
    struct tally turns = { 0 }, placed = { 0 };
    hdp_balancer *balancer = NULL;
    double bound_ns = 0;
    int code = check_members(&self);

    if (!code)
        code = draw_items(&self);
    if (!code && (!open_tally(&turns, (size_t)self.members) ||
                  !open_tally(&placed, (size_t)self.members)))
        code = library_no_memory(bench);
    if (!code)
        code =
            library_try(bench, hdp_balancer_create(&balancer, profile, NULL));
    int (*run)(const struct dynamic *, hdp_balancer *, struct tally *) =
        self.simulated ? dynamic_model_run : dynamic_real_run;
    if (!code)
        code = run(&self, NULL, &turns);
    if (!code)
        code = run(&self, balancer, &placed);
    if (!code)
        code = lower_bound(&self, balancer, &bound_ns);
    if (!code && !interrupt_seen())
        code = show(&self, &turns, &placed, bound_ns);
    hdp_balancer_destroy(balancer);
    close_tally(&turns);
    close_tally(&placed);
    free(self.items);
    return code;
}
