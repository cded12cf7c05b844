/* Ratios are what a split hangs on, so they are what is compared. Those of the
 * long measurement are of the mean of all its samples, early ones too: what work
 * of that length would have seen. */
#include "repeat.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "interrupt.h"
#include "stats.h"
#include "table.h"

enum { NAP_NS = 100000000 }; /* an interrupt is seen so soon */

struct repeat {
    int64_t count;
    int32_t members;
    double *ratios;    /* [member * count + measurement] */
    double *reference; /* one a member; NULL: there is none */
    json_t *runs;
};

static const json_t *member_of(const json_t *profile, int32_t member)
{
    return json_array_get(json_object_get(profile, "members"), (size_t)member);
}

static double figure(const json_t *from, const char *key)
{
    return json_number_value(json_object_get(from, key));
}

static void rest(int64_t left_ns)
{
    for (; left_ns > 0 && !interrupt_seen(); left_ns -= NAP_NS) {
        long nap_ns = left_ns < NAP_NS ? (long)left_ns : NAP_NS;
        (void)nanosleep(&(struct timespec){ .tv_nsec = nap_ns }, NULL);
    }
}

/* ---- one measurement ------------------------------------------------------- */

static void note(struct repeat *self, int64_t index, const json_t *profile)
{
    static const char *const kept[] = { "elapsed_ns", "warmup_ns", "ended_by",
                                        "drifting", NULL };
    json_t *run = json_object(), *ratios = json_array();

    for (int32_t m = 0; m < self->members; ++m) {
        double ratio = figure(member_of(profile, m), "ratio");
        self->ratios[m * self->count + index] = ratio;
        json_array_append_new(ratios, json_real(ratio));
    }
    json_object_set_new(run, "ratios", ratios);
    for (int i = 0; kept[i]; ++i)
        json_object_set(run, kept[i], json_object_get(profile, kept[i]));
    json_array_append_new(self->runs, run);
}

static int measure_one(struct bench *bench, struct repeat *self, int64_t index,
                       hdp_profile **out)
{
    json_t *profile;
    int code;

    rest(bench->options.rest_ns);
    if (interrupt_seen())
        return EXIT_INTERRUPTED;
    hdp_profile_destroy(*out);
    *out = NULL;
    code = measure_by_options(bench, out);
    if (code)
        return code;
    profile = measure_json(bench, *out);
    if (!profile)
        return bench->failure.exit_code;
    note(self, index, profile);
    json_decref(profile);
    return EXIT_OK;
}

/* ---- the long one ------------------------------------------------------------ */

/* A member's rate had its largest size taken its samples' mean. */
static double mean_rate(const json_t *member)
{
    const json_t *samples = json_object_get(member, "samples");
    const json_t *points = json_object_get(member, "points");
    size_t count = json_array_size(samples), last = json_array_size(points);
    double sum = 0;

    if (count == 0 || last == 0)
        return figure(member, "rate");
    for (size_t i = 0; i < count; ++i)
        sum += json_number_value(json_array_get(samples, i));
    return figure(member, "rate") *
           json_number_value(
               json_array_get(json_array_get(points, last - 1), 1)) *
           (double)count / sum;
}

static int measure_reference(struct bench *bench, struct repeat *self)
{
    struct options *options = &bench->options;
    const int64_t budget_ns = options->budget_ns;
    hdp_profile *profile = NULL;
    json_t *json = NULL;
    double sum = 0;

    options->budget_ns = options->reference_ns;
    int code = measure_by_options(bench, &profile);
    options->budget_ns = budget_ns;
    if (!code)
        json = measure_json(bench, profile);
    hdp_profile_destroy(profile);
    if (!json)
        return code ? code : bench->failure.exit_code;
    for (int32_t m = 0; m < self->members; ++m) {
        self->reference[m] = mean_rate(member_of(json, m));
        sum += self->reference[m];
    }
    for (int32_t m = 0; sum > 0 && m < self->members; ++m)
        self->reference[m] /= sum;
    json_decref(json);
    return EXIT_OK;
}

/* ---- telling ------------------------------------------------------------------ */

static double worst_error(const struct repeat *self, int32_t member)
{
    double worst = 0;

    for (int64_t i = 0; i < self->count; ++i)
        worst = fmax(worst, fabs(self->ratios[member * self->count + i] /
                                     self->reference[member] -
                                 1));
    return worst;
}

static void tell_member(const struct repeat *self, int32_t member,
                        struct table *table, json_t *rows)
{
    json_t *row = json_object();
    struct stats stats;
    double worst = 0;

    if (self->reference)
        worst = worst_error(self, member);
    stats_in_place(&stats, self->ratios + member * self->count,
                   (size_t)self->count);
    json_object_set_new(row, "ratio_median", json_real(stats.median));
    json_object_set_new(row, "ratio_mad", json_real(stats.mad));
    json_object_set_new(row, "spread", json_real(stats.spread));
    table_cell(table, "%d", (int)member);
    table_cell(table, "%.4f", stats.median);
    table_cell(table, "%.2f %%", 100 * stats.spread);
    if (self->reference) {
        json_object_set_new(row, "reference",
                            json_real(self->reference[member]));
        json_object_set_new(
            row, "error",
            json_real(stats.median / self->reference[member] - 1));
        json_object_set_new(row, "worst_error", json_real(worst));
        table_cell(table, "%.4f", self->reference[member]);
        table_cell(table, "%.2f %%", 100 * worst);
    }
    json_array_append_new(rows, row);
}

static void tell(struct bench *bench, const struct repeat *self)
{
    static const char *const alone[] = { "member", "ratio", "spread", NULL };
    static const char *const against[] = { "member",   "ratio",     "spread",
                                           "long run", "worst off", NULL };
    json_t *section = json_object(), *rows = json_array();
    struct table table;

    fprintf(bench->document.text, "\nratios of %lld measurements\n\n",
            (long long)self->count);
    table_open(&table, self->reference ? "rrrrr" : "rrr",
               self->reference ? against : alone);
    for (int32_t m = 0; m < self->members; ++m)
        tell_member(self, m, &table, rows);
    table_close(&table, bench->document.text);
    json_object_set_new(section, "count", json_integer(self->count));
    json_object_set_new(section, "rest_ns",
                        json_integer(bench->options.rest_ns));
    json_object_set_new(section, "reference_ns",
                        self->reference
                            ? json_integer(bench->options.reference_ns)
                            : json_null());
    json_object_set_new(section, "members", rows);
    json_object_set(section, "measurements", self->runs);
    document_set(&bench->document, "repeat", section);
}

int repeat_measure(struct bench *bench, hdp_profile **out)
{
    const struct options *options = &bench->options;
    struct repeat self = { .count = options->repeat,
                           .members = bench->members,
                           .runs = json_array() };
    int code = EXIT_OK;

    self.ratios =
        calloc((size_t)self.members * (size_t)self.count, sizeof *self.ratios);
    if (options->reference_ns)
        self.reference = calloc((size_t)self.members, sizeof *self.reference);
    if (!self.ratios || (options->reference_ns && !self.reference))
        code = library_no_memory(bench);
    for (int64_t i = 0; !code && i < self.count; ++i)
        code = measure_one(bench, &self, i, out);
    if (!code && self.reference)
        code = measure_reference(bench, &self);
    if (!code)
        tell(bench, &self);
    json_decref(self.runs);
    free(self.reference);
    free(self.ratios);
    return code;
}
