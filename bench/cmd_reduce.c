/* reduce: all-reduce over a range of sizes, in the columns that people know
 * from nccl-tests, on data whose reductions are exact. */
#include <stdlib.h>

#include "bench.h"
#include "exact.h"
#include "interrupt.h"
#include "ways.h"
#include "work/reduced.h"

struct reduction {
    struct bench *bench;
    int32_t dtype, op, members;
    int64_t counts[OPTIONS_RATIOS_MAX], total_count; /* weights */
    hdp_plan *plan;
    struct reduced *data;
    json_t *rows;
    int64_t wrong_in_all;
};

static int prepare(struct reduction *self, int64_t bytes)
{
    struct bench *bench = self->bench;
    int code = library_gpus(bench, 0);
    const struct reduced_spec spec = { .gpu = bench->gpu,
                                       .members = self->members,
                                       .bytes = bytes,
                                       .dtype = self->dtype,
                                       .op = self->op,
                                       .counts = self->counts };
    int32_t member;

    if (code)
        return code;
    self->data = reduced_create(&spec, &member);
    if (!self->data)
        return failure_own(&bench->failure, EXIT_RUNTIME, HDP_ERR_MEMORY,
                           "out of memory: member %d of %d wants 2 buffers "
                           "of %lld bytes",
                           (int)member, (int)self->members, (long long)bytes);
    return library_try(
        bench, hdp_plan_create(&self->plan, self->counts, self->members));
}

static void release(struct reduction *self)
{
    hdp_plan_destroy(self->plan);
    if (library_settle(self->bench))
        reduced_destroy(self->data);
}

/* The member whose GPU failed, or -1: none. */
static int tell_failure(struct reduction *self, int32_t member)
{
    if (member < 0)
        return EXIT_OK;
    return failure_own(&self->bench->failure, EXIT_RUNTIME, HDP_ERR_DEVICE,
                       "%s", gpu_reason(self->bench->gpu, member));
}

static int choose(struct reduction *self)
{
    struct bench *bench = self->bench;
    struct options *options = &bench->options;

    self->members = bench->members;
    self->dtype = options->dtype < 0 ? HDP_F32 : options->dtype + 1;
    self->op = options->op >= 0        ? options->op
               : options->weight_count ? HDP_OP_MEAN
                                       : HDP_OP_SUM;
    if (options->weight_count && self->op != HDP_OP_MEAN &&
        self->op != HDP_OP_SUM_OVER_TOTAL)
        return failure_usage(&bench->failure, "--weights", 0,
                             "--weights: %s knows no weights; mean and "
                             "sum_over_total do",
                             options_op_name(self->op));
    if (options->weight_count && options->weight_count != self->members)
        return failure_usage(&bench->failure, "--weights", 0,
                             "--weights: %d weights for %d members",
                             options->weight_count, (int)self->members);
    if (self->members > OPTIONS_RATIOS_MAX)
        return failure_usage(&bench->failure, "-d", 0,
                             "reduce takes at most %d members",
                             OPTIONS_RATIOS_MAX);
    for (int32_t m = 0; m < self->members; ++m) {
        double weight = options->weight_count ? options->weights[m] : 1;
        self->counts[m] = (int64_t)weight;
        if ((double)self->counts[m] != weight || weight > 1e15)
            return failure_usage(&bench->failure, "--weights", 0,
                                 "--weights: weight %d is no whole number of "
                                 "items below 10^15",
                                 (int)m + 1);
        self->total_count += self->counts[m];
    }
    if (options->warmup < 0)
        options->warmup = 2;
    if (options->begin_bytes > options->end_bytes)
        return failure_usage(&bench->failure, "-b", 0,
                             "-b: first size is larger than the last (-e)");
    return EXIT_OK;
}

static void add_row(struct reduction *self, int64_t bytes, int64_t elements,
                    double *samples, int64_t n, int64_t wrong)
{
    FILE *out = self->bench->document.text;
    const char *name = options_op_name(self->op);
    int weighted = self->bench->options.weight_count > 0;
    json_t *row = json_object(), *sample = document_sample(samples, (size_t)n);
    struct stats stats;

    stats_in_place(&stats, samples, (size_t)n);
    double algbw = stats.median > 0 ? (double)bytes / stats.median : 0;
    double busbw = algbw * 2 * (self->members - 1) / self->members;
    if (weighted && self->op == HDP_OP_MEAN)
        name = "weighted_mean";
    json_object_set_new(row, "bytes", json_integer(bytes));
    json_object_set_new(row, "count", json_integer(elements));
    json_object_set_new(row, "dtype",
                        json_string(options_dtype_name(self->dtype)));
    json_object_set_new(row, "op", json_string(name));
    json_object_set_new(row, "time_ns", document_ns(stats.median));
    json_object_set_new(row, "algbw", document_real(algbw));
    json_object_set_new(row, "busbw", document_real(busbw));
    json_object_set_new(row, "wrong",
                        wrong < 0 ? json_null() : json_integer(wrong));
    json_object_set_new(row, "step_ns", sample);
    json_array_append_new(self->rows, row);
    fprintf(out, "%12lld %12lld %6s %14s %10.2f %8.2f %8.2f ", (long long)bytes,
            (long long)elements, options_dtype_name(self->dtype), name,
            stats.median / 1e3, algbw, busbw);
    if (wrong < 0)
        fprintf(out, "%7s\n", "N/A");
    else
        fprintf(out, "%7lld\n", (long long)wrong);
}

static int one_size(struct reduction *self, int64_t bytes)
{
    const struct options *options = &self->bench->options;
    int64_t elements = bytes / exact_size(self->dtype), wrong = -1;
    double *samples = calloc((size_t)options->iterations, sizeof *samples);
    hdp_buffers buffers;
    int code = samples ? EXIT_OK : library_no_memory(self->bench);

    hdp_options_init(&buffers, sizeof buffers);
    buffers.dtype = self->dtype;
    buffers.op = self->op;
    buffers.memory = reduced_memory(self->data);
    buffers.tensor_count = 1;
    buffers.elements = &elements;
    buffers.send = reduced_send(self->data);
    buffers.recv = reduced_recv(self->data);
    buffers.counts = self->counts;
    buffers.total_count = self->total_count;
    if (!code)
        code = tell_failure(self, reduced_fill(self->data, elements));
    for (int64_t i = -options->warmup; !code && i < options->iterations; ++i) {
        int64_t start_ns = library_now();
        code = library_try(self->bench, hdp_all_reduce(self->bench->group,
                                                       self->plan, &buffers));
        if (i >= 0)
            samples[i] = (double)(library_now() - start_ns);
    }
    if (!code && options->verify)
        code = tell_failure(self, reduced_wrong(self->data, elements, &wrong));
    if (!code) {
        add_row(self, elements * exact_size(self->dtype), elements, samples,
                options->iterations, wrong);
        self->wrong_in_all += wrong > 0 ? wrong : 0;
    }
    free(samples);
    return code;
}

static int all_sizes(struct reduction *self)
{
    const struct options *options = &self->bench->options;
    int64_t least = exact_size(self->dtype), bytes = options->begin_bytes;
    int code = EXIT_OK;

    fprintf(self->bench->document.text,
            "# members %d, iterations %lld after %lld, out of place, median; "
            "GB/s = 10^9 bytes/s\n"
            "# busbw = algbw * 2(n-1)/n; #wrong over all members\n"
            "#%11s %12s %6s %14s %10s %8s %8s %7s\n"
            "#%11s %12s %6s %14s %10s %8s %8s %7s\n",
            (int)self->members, (long long)options->iterations,
            (long long)options->warmup, "size", "count", "type", "redop",
            "time", "algbw", "busbw", "#wrong", "(B)", "(elements)", "", "",
            "(us)", "(GB/s)", "(GB/s)", "");
    if (bytes < least)
        bytes = least;
    while (!code && bytes <= options->end_bytes) {
        code = one_size(self, bytes);
        notes_progress(&self->bench->notes, "reduce", bytes,
                       options->end_bytes);
        if (bytes > options->end_bytes / options->factor)
            break;
        bytes *= options->factor;
    }
    return code;
}

static void put_check(const struct reduction *self)
{
    json_t *json = json_object();

    if (!self->bench->options.verify)
        document_warn(&self->bench->document, "not_checked",
                      "results were not checked (-c 0)");
    json_object_set_new(json, "ok", json_boolean(self->wrong_in_all == 0));
    json_object_set_new(json, "wrong", json_integer(self->wrong_in_all));
    json_object_set_new(json, "against",
                        json_string(reduced_against(self->data)));
    if (self->bench->options.verify)
        document_set(&self->bench->document, "check", json_incref(json));
    json_decref(json);
}

int command_reduce(struct bench *bench)
{
    struct reduction self = { .bench = bench, .rows = json_array() };

    fprintf(bench->document.text, "# hdp_bench %s reduce\n", hdp_version());
    int code = library_group(bench, NULL);
    library_say_devices(bench);
    interrupt_watch(bench->group);
    if (!code && bench->options.peer)
        code = ways_try(bench, NULL);
    if (!code)
        code = choose(&self);
    if (!code)
        code = prepare(&self, bench->options.end_bytes);
    if (!code)
        code = all_sizes(&self);
    document_set(&bench->document, "reduce", self.rows);
    if (!code) {
        put_check(&self);
        fprintf(bench->document.text, "# wrong elements in all: %lld %s\n",
                (long long)self.wrong_in_all,
                self.wrong_in_all ? "FAILED" : "OK");
    }
    if (!code && self.wrong_in_all)
        code = failure_own(&bench->failure, EXIT_CHECK, HDP_OK,
                           "%lld elements are wrong",
                           (long long)self.wrong_in_all);
    release(&self);
    return code;
}
